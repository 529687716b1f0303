/* CUDA dataOnDevice=True */

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <float.h>
#include <limits.h>
#ifndef TW_CUDA
#define TW_CUDA(call) do { cudaError_t tw_e = (call); if (tw_e != cudaSuccess) { \
  fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(tw_e)); exit(1); } } while (0)
#endif
#ifndef DBL_MAX
#define DBL_MAX 1.7976931348623157e308
#define FLT_MAX 3.402823466e38f
#define INT_MAX 2147483647
#define LONG_MAX 9223372036854775807L
#endif

extern "C" __global__ void tw_kernel1(const int tw_first, const int tw_last, const int n, const double *__restrict__ x, double *__restrict__ y) {
  const int tw_t = (int)threadIdx.x;
  for (int i = tw_first + (int)blockIdx.x * 32 + tw_t; i <= tw_last; i += (int)gridDim.x * 32) {
    y[i] = x[i - 1] + x[i + 1];
  }
}

extern "C" __global__ void tw_kernel2(const int tw_first, const int tw_last, const int n, double *__restrict__ x, const double *__restrict__ y) {
  const int tw_t = (int)threadIdx.x;
  for (int i = tw_first + (int)blockIdx.x * 32 + tw_t; i <= tw_last; i += (int)gridDim.x * 32) {
    x[i] = y[i];
  }
}

  {
    for (int t = 0; t <= T - 1; t++) {
      {
        const int tw_first = 1;
        const int tw_last = n - 1 - 1;
        if (tw_first <= tw_last) {
          tw_kernel1<<<14, 32>>>(tw_first, tw_last, n, x, y);
          TW_CUDA(cudaGetLastError());
        }
      }
      {
        const int tw_first = 1;
        const int tw_last = n - 1 - 1;
        if (tw_first <= tw_last) {
          tw_kernel2<<<14, 32>>>(tw_first, tw_last, n, x, y);
          TW_CUDA(cudaGetLastError());
        }
      }
    }
    TW_CUDA(cudaDeviceSynchronize());
  }
