/* pipeline mean, float32, border reflect, 1 row at a time */

#define KERNEL extern "C" __global__ void
#define GLOBAL
#define SHARED __shared__
#define SHARED_POINTER
#define GROUP ((int)blockIdx.x)
#define THREAD ((int)threadIdx.x)
#define BARRIER __syncthreads()

#define SMALLER(a, b) ((a) < (b) ? (a) : (b))
#define MODULO(a, n) (((a) % (n) + (n)) % (n))
#define FOLD(a, n, p, last) (MODULO(a, p) < (n) ? MODULO(a, p) : (last) - MODULO(a, p))
#define MAP_NEAREST(a, n) ((a) < 0 ? 0 : (n) - 1)
#define MAP_WRAP(a, n) MODULO(a, n)
#define MAP_REFLECT(a, n) FOLD(a, n, 2 * (n), 2 * (n) - 1)
#define MAP_MIRROR(a, n) ((n) == 1 ? 0 : FOLD(a, n, 2 * (n) - 2, 2 * (n) - 2))
KERNEL tw_pipe(GLOBAL const float *in_G1, GLOBAL float *to_G2, int n0, int n1) {
  SHARED int2 memory[32];
  const int across = (n1 + 7) / 8;
  const int y0 = GROUP / across * 4, x0 = GROUP % across * 8;
  const int ty = THREAD / 8, tx = THREAD % 8;
  for (int y = y0 - 0 + ty; y < SMALLER(y0 + 4, n0) + 0; y += 4)
    for (int x = x0 - 1 + tx; x < SMALLER(x0 + 8, n1) + 1; x += 8) {
      float value;
      int v = y, u = x;
      { u = u < 0 ? MAP_REFLECT(u, n1) : u; u = u >= n1 ? MAP_REFLECT(u, n1) : u; v = v < 0 ? MAP_REFLECT(v, n0) : v; v = v >= n0 ? MAP_REFLECT(v, n0) : v; value = in_G1[(size_t)v * n1 + u]; }
      ((SHARED_POINTER float *)(memory + 0))[(y - y0 + 0) * 16 + x - x0 + 1] = value;
    }
  BARRIER;
  /* S1 mean */
  for (int y = y0 - 0 + ty; y < SMALLER(y0 + 4, n0) + 0; y += 4)
    for (int x = x0 - 0 + tx; x < SMALLER(x0 + 8, n1) + 0; x += 8) {
      {
        const float t0 = ((SHARED_POINTER float *)(memory + 0))[((y + 0) - y0 + 0) * 16 + (x + -1) - x0 + 1];
        const float t1 = ((SHARED_POINTER float *)(memory + 0))[((y + 0) - y0 + 0) * 16 + (x + 0) - x0 + 1];
        const float t2 = t0 + t1;
        const float t3 = ((SHARED_POINTER float *)(memory + 0))[((y + 0) - y0 + 0) * 16 + (x + 1) - x0 + 1];
        const float t4 = t2 + t3;
        const float t5 = 3.0f;
        const float t6 = t4 / t5;
        const float result = t6;
        if (y >= y0 && y < SMALLER(y0 + 4, n0) && x >= x0 && x < SMALLER(x0 + 8, n1)) to_G2[(size_t)y * n1 + x] = result;
      }
    }
}
