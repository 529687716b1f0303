/* CUDA */

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

extern "C" __global__ void tw_kernel1(const int tw_first, const int tw_last, const int n, const double *__restrict__ a, const double *__restrict__ x, double *__restrict__ y) {
  const int tw_t = (int)threadIdx.x;
  for (int i = tw_first + (int)blockIdx.x * 32 + tw_t; i <= tw_last; i += (int)gridDim.x * 32) {
    for (int j = 0; j <= 4; j++) {
      y[i] += a[j] * x[i];
    }
  }
}

  {
    double *dev_a;
    double *dev_x;
    double *dev_y;
    TW_CUDA(cudaMalloc((void **)&dev_a, (size_t)5 * sizeof(double)));
    TW_CUDA(cudaMalloc((void **)&dev_x, (size_t)n * sizeof(double)));
    TW_CUDA(cudaMalloc((void **)&dev_y, (size_t)n * sizeof(double)));
    TW_CUDA(cudaMemcpy(dev_a, a, (size_t)5 * sizeof(double), cudaMemcpyHostToDevice));
    TW_CUDA(cudaMemcpy(dev_x, x, (size_t)n * sizeof(double), cudaMemcpyHostToDevice));
    TW_CUDA(cudaMemcpy(dev_y, y, (size_t)n * sizeof(double), cudaMemcpyHostToDevice));
    {
      const int tw_first = 0;
      const int tw_last = n - 1;
      if (tw_first <= tw_last) {
        tw_kernel1<<<14, 32>>>(tw_first, tw_last, n, dev_a, dev_x, dev_y);
        TW_CUDA(cudaGetLastError());
      }
    }
    TW_CUDA(cudaMemcpy((void *)y, dev_y, (size_t)n * sizeof(double), cudaMemcpyDeviceToHost));
    TW_CUDA(cudaFree(dev_a));
    TW_CUDA(cudaFree(dev_x));
    TW_CUDA(cudaFree(dev_y));
  }
