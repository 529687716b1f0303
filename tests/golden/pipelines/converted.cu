/* pipeline converted, int16, border mirror, 1 row at a time */

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
KERNEL tw_pipe(GLOBAL const short *in_G1, GLOBAL unsigned char *to_G4, int n0, int n1, float c_part) {
  SHARED int2 memory[32];
  const int across = (n1 + 7) / 8;
  const int y0 = GROUP / across * 4, x0 = GROUP % across * 8;
  const int ty = THREAD / 8, tx = THREAD % 8;
  for (int y = y0 - 0 + ty; y < SMALLER(y0 + 4, n0) + 0; y += 4)
    for (int x = x0 - 0 + tx; x < SMALLER(x0 + 8, n1) + 0; x += 8) {
      short value;
      int v = y, u = x;
      { u = u < 0 ? MAP_MIRROR(u, n1) : u; u = u >= n1 ? MAP_MIRROR(u, n1) : u; v = v < 0 ? MAP_MIRROR(v, n0) : v; v = v >= n0 ? MAP_MIRROR(v, n0) : v; value = in_G1[(size_t)v * n1 + u]; }
      ((SHARED_POINTER short *)(memory + 0))[(y - y0 + 0) * 8 + x - x0 + 0] = value;
    }
  BARRIER;
  /* S1 to_float32 */
  for (int y = y0 - 0 + ty; y < SMALLER(y0 + 4, n0) + 0; y += 4)
    for (int x = x0 - 0 + tx; x < SMALLER(x0 + 8, n1) + 0; x += 8) {
      if (y >= 0 && y < n0 && x >= 0 && x < n1) {
        const short t0 = ((SHARED_POINTER short *)(memory + 0))[((y + 0) - y0 + 0) * 8 + (x + 0) - x0 + 0];
        const float result = (float)t0;
        ((SHARED_POINTER float *)(memory + 16))[(y - y0 + 0) * 8 + x - x0 + 0] = result;
      }
    }
  BARRIER;
  /* S2 share */
  for (int y = y0 - 0 + ty; y < SMALLER(y0 + 4, n0) + 0; y += 4)
    for (int x = x0 - 0 + tx; x < SMALLER(x0 + 8, n1) + 0; x += 8) {
      if (y >= 0 && y < n0 && x >= 0 && x < n1) {
        const float t0 = ((SHARED_POINTER float *)(memory + 16))[((y + 0) - y0 + 0) * 8 + (x + 0) - x0 + 0];
        const float t1 = (float)c_part;
        const float t2 = t0 * t1;
        const float result = t2;
        ((SHARED_POINTER float *)(memory + 0))[(y - y0 + 0) * 8 + x - x0 + 0] = result;
      }
    }
  BARRIER;
  /* S3 to_uint8 */
  for (int y = y0 - 0 + ty; y < SMALLER(y0 + 4, n0) + 0; y += 4)
    for (int x = x0 - 0 + tx; x < SMALLER(x0 + 8, n1) + 0; x += 8) {
      {
        const float t0 = ((SHARED_POINTER float *)(memory + 0))[((y + 0) - y0 + 0) * 8 + (x + 0) - x0 + 0];
        const unsigned char result = (t0 != t0) ? (unsigned char)0 : (floor(t0) >= (float)255.0) ? (unsigned char)255 : (floor(t0) <= (float)0.0) ? (unsigned char)(1 - 1) : (unsigned char)floor(t0);
        if (y >= y0 && y < SMALLER(y0 + 4, n0) && x >= x0 && x < SMALLER(x0 + 8, n1)) to_G4[(size_t)y * n1 + x] = result;
      }
    }
}
