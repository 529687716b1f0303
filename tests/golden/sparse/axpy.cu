/* axpy, float32 */

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
typedef float real;
#define THREADS 256

KERNEL tw_vectors_gpu(GLOBAL const real *p_x, GLOBAL real *p_y, real a, wide n) {
  
  
  for (wide i = (wide)GROUP * THREADS + THREAD; i < n; i += (wide)GROUPS * THREADS) { real x = p_x[i]; real y = p_y[i]; y = a * x + y; p_y[i] = y; }

}
