/* y = A x of diagonals, float64 */

#define KERNEL extern "C" __global__ void
#define DEVICE __device__ __forceinline__
#define GLOBAL
#define SHARED __shared__
#define POINTS_SHARED
#define GROUP ((int)blockIdx.x)
#define GROUPS ((int)gridDim.x)
#define THREAD ((int)threadIdx.x)
#define BARRIER __syncthreads()
typedef long long wide;
typedef double real;
#define THREADS 256

/* A row per turn of a thread: neighbours in the group read neighbours of every diagonal. */
KERNEL tw_dia_gpu(GLOBAL const real *values, GLOBAL const wide *start, GLOBAL const wide *offset, GLOBAL const real *x,
             GLOBAL real *y, wide rows, wide columns, wide diagonals) {
  for (wide i = (wide)GROUP * THREADS + THREAD; i < rows; i += (wide)GROUPS * THREADS) {
    real s = 0;

    for (wide d = 0; d < diagonals; ++d) {
      const wide column = i + offset[d];
      if (column >= 0 && column < columns) s += values[start[d] + (column < i ? column : i)] * x[column];
    }
    y[i] = s;
  }
}
