/* pipeline mean_edges, float32, border nearest, 2 rows at a time */

#pragma OPENCL FP_CONTRACT OFF
#define KERNEL __kernel void
#define GLOBAL __global
#define SHARED __local
#define SHARED_POINTER __local
#define GROUP ((int)get_group_id(0))
#define THREAD ((int)get_local_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)

#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define MODULO(a, n) (((a) % (n) + (n)) % (n))
#define FOLD(a, n, p, last) (MODULO(a, p) < (n) ? MODULO(a, p) : (last) - MODULO(a, p))
#define MAP_NEAREST(a, n) ((a) < 0 ? 0 : (n) - 1)
#define MAP_WRAP(a, n) MODULO(a, n)
#define MAP_REFLECT(a, n) FOLD(a, n, 2 * (n), 2 * (n) - 1)
#define MAP_MIRROR(a, n) ((n) == 1 ? 0 : FOLD(a, n, 2 * (n) - 2, 2 * (n) - 2))
KERNEL tw_pipe(GLOBAL const float *in_G1, GLOBAL float *to_G3, int n0, int n1) {
  SHARED int2 memory[160];
  const int across = (n1 + 15) / 16;
  const int y0 = GROUP / across * 4, x0 = GROUP % across * 16;
  const int ty = THREAD / 8, tx = THREAD % 8;
  for (int y = y0 - 1 + ty; y < SMALLER(y0 + 4, n0) + 1; y += 4)
    for (int x = x0 - 1 + tx; x < SMALLER(x0 + 16, n1) + 1; x += 8) {
      float value;
      int v = y, u = x;
      { u = u < 0 ? MAP_NEAREST(u, n1) : u; u = u >= n1 ? MAP_NEAREST(u, n1) : u; v = v < 0 ? MAP_NEAREST(v, n0) : v; v = v >= n0 ? MAP_NEAREST(v, n0) : v; value = in_G1[(size_t)v * n1 + u]; }
      ((SHARED_POINTER float *)(memory + 0))[(y - y0 + 1) * 24 + x - x0 + 1] = value;
    }
  BARRIER;
  /* S1 mean */
  for (int y = y0 - 1 + ty; y < SMALLER(y0 + 4, n0) + 1; y += 4)
    for (int x = x0 - 0 + tx; x < SMALLER(x0 + 16, n1) + 0; x += 8) {
      if (y >= 0 && y < n0 && x >= 0 && x < n1) {
        const float t0 = ((SHARED_POINTER float *)(memory + 0))[((y + 0) - y0 + 1) * 24 + (x + -1) - x0 + 1];
        const float t1 = ((SHARED_POINTER float *)(memory + 0))[((y + 0) - y0 + 1) * 24 + (x + 0) - x0 + 1];
        const float t2 = t0 + t1;
        const float t3 = ((SHARED_POINTER float *)(memory + 0))[((y + 0) - y0 + 1) * 24 + (x + 1) - x0 + 1];
        const float t4 = t2 + t3;
        const float t5 = 3.0f;
        const float t6 = t4 / t5;
        const float result = t6;
        ((SHARED_POINTER float *)(memory + 96))[(y - y0 + 1) * 16 + x - x0 + 0] = result;
      }
    }
  BARRIER;
  for (int y = y0 - 1 + ty; y < SMALLER(y0 + 4, n0) + 1; y += 4)
    for (int x = x0 - 0 + tx; x < SMALLER(x0 + 16, n1) + 0; x += 8) {
      if (y < 0 || y >= n0 || x < 0 || x >= n1) {
      float value;
      int v = y, u = x;
      { u = u < 0 ? MAP_NEAREST(u, n1) : u; u = u >= n1 ? MAP_NEAREST(u, n1) : u; v = v < 0 ? MAP_NEAREST(v, n0) : v; v = v >= n0 ? MAP_NEAREST(v, n0) : v; value = ((SHARED_POINTER float *)(memory + 96))[(v - y0 + 1) * 16 + u - x0 + 0]; }
      ((SHARED_POINTER float *)(memory + 96))[(y - y0 + 1) * 16 + x - x0 + 0] = value;
      }
    }
  BARRIER;
  /* S2 edges */
  for (int y = y0 - 0 + ty; y < SMALLER(y0 + 4, n0) + 0; y += 4)
    for (int x = x0 - 0 + tx; x < SMALLER(x0 + 16, n1) + 0; x += 8) {
      {
        const float t0 = ((SHARED_POINTER float *)(memory + 96))[((y + 1) - y0 + 1) * 16 + (x + 0) - x0 + 0];
        const float t1 = ((SHARED_POINTER float *)(memory + 96))[((y + -1) - y0 + 1) * 16 + (x + 0) - x0 + 0];
        const float t2 = t0 - t1;
        const float t3 = fabs(t2);
        const float t4 = ((SHARED_POINTER float *)(memory + 0))[((y + 0) - y0 + 1) * 24 + (x + 0) - x0 + 1];
        const float t5 = t3 + t4;
        const float result = t5;
        if (y >= y0 && y < SMALLER(y0 + 4, n0) && x >= x0 && x < SMALLER(x0 + 16, n1)) to_G3[(size_t)y * n1 + x] = result;
      }
    }
}
