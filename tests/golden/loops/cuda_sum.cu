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

extern "C" __global__ void tw_kernel1(const int tw_first, const int tw_last, const int n, const double *__restrict__ x, const double *__restrict__ y, double *__restrict__ tw_part_r) {
  const int tw_t = (int)threadIdx.x;
  __shared__ double tw_all_r[32];
  double r = 0.0;
  for (int i = tw_first + (int)blockIdx.x * 32 + tw_t; i <= tw_last; i += (int)gridDim.x * 32) {
    r += x[i] * y[i];
  }
  tw_all_r[tw_t] = r;
  __syncthreads();
  int tw_half_r = 16;
  while (tw_half_r > 0) {
    if (tw_t < tw_half_r) {
      tw_all_r[tw_t] = tw_all_r[tw_t] + tw_all_r[tw_t + tw_half_r];
    }
    __syncthreads();
    tw_half_r >>= 1;
  }
  if (tw_t == 0) {
    tw_part_r[(int)blockIdx.x] = tw_all_r[0];
  }
}

extern "C" __global__ void tw_kernel1_finish(const int tw_blocks, double *tw_part_r, const double tw_before_r) {
  const int tw_t = (int)threadIdx.x;
  __shared__ double tw_all_r[32];
  double r = 0.0;
  for (int tw_b = tw_t; tw_b < tw_blocks; tw_b += 32) {
    r = r + tw_part_r[tw_b];
  }
  tw_all_r[tw_t] = r;
  __syncthreads();
  int tw_half_r = 16;
  while (tw_half_r > 0) {
    if (tw_t < tw_half_r) {
      tw_all_r[tw_t] = tw_all_r[tw_t] + tw_all_r[tw_t + tw_half_r];
    }
    __syncthreads();
    tw_half_r >>= 1;
  }
  if (tw_t == 0) {
    tw_part_r[0] = tw_before_r + tw_all_r[0];
  }
}

  {
    double *dev_x;
    double *dev_y;
    TW_CUDA(cudaMalloc((void **)&dev_x, (size_t)n * sizeof(double)));
    TW_CUDA(cudaMalloc((void **)&dev_y, (size_t)n * sizeof(double)));
    TW_CUDA(cudaMemcpy(dev_x, x, (size_t)n * sizeof(double), cudaMemcpyHostToDevice));
    TW_CUDA(cudaMemcpy(dev_y, y, (size_t)n * sizeof(double), cudaMemcpyHostToDevice));
    {
      const int tw_first = 0;
      const int tw_last = n - 1;
      if (tw_first <= tw_last) {
        double *tw_part_r;
        TW_CUDA(cudaMalloc((void **)&tw_part_r, 14 * sizeof(double)));
        tw_kernel1<<<14, 32>>>(tw_first, tw_last, n, dev_x, dev_y, tw_part_r);
        TW_CUDA(cudaGetLastError());
        tw_kernel1_finish<<<1, 32>>>(14, tw_part_r, r);
        TW_CUDA(cudaGetLastError());
        TW_CUDA(cudaMemcpy(&r, tw_part_r, sizeof(double), cudaMemcpyDeviceToHost));
        TW_CUDA(cudaFree(tw_part_r));
      }
    }
    TW_CUDA(cudaFree(dev_x));
    TW_CUDA(cudaFree(dev_y));
  }
