/* CUDA streamCount=3 */

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

  {
    double *dev_x;
    double *dev_y;
    TW_CUDA(cudaMalloc((void **)&dev_x, (size_t)n * sizeof(double)));
    TW_CUDA(cudaMalloc((void **)&dev_y, (size_t)n * sizeof(double)));
    {
      const int tw_first = 1;
      const int tw_last = n - 1 - 1;
      if (tw_first <= tw_last) {
        cudaStream_t tw_stream[3];
        cudaEvent_t tw_event[3];
        for (int tw_s = 0; tw_s < 3; tw_s++) { TW_CUDA(cudaStreamCreate(&tw_stream[tw_s])); TW_CUDA(cudaEventCreate(&tw_event[tw_s])); }
        for (int tw_s = 0; tw_s < 3; tw_s++) {
          const int tw_size = (tw_last - tw_first + 3) / 3;
          const int tw_a = tw_first + tw_s * tw_size;
          const int tw_b = tw_a + tw_size - 1 < tw_last ? tw_a + tw_size - 1 : tw_last;
          if (tw_a > tw_last) break;
          {
            long tw_from = tw_s == 0 ? (long)tw_a - 1 : tw_a;
            long tw_to = tw_b == tw_last ? (long)tw_b + 1 : tw_b;
            if (tw_from < 0) tw_from = 0;
            if (tw_to > (long)n - 1) tw_to = (long)n - 1;
            if (tw_from <= tw_to) TW_CUDA(cudaMemcpyAsync(dev_x + tw_from, x + tw_from, (size_t)(tw_to - tw_from + 1) * sizeof(double), cudaMemcpyHostToDevice, tw_stream[tw_s]));
          }
          {
            long tw_from = tw_s == 0 ? (long)tw_a - 0 : tw_a;
            long tw_to = tw_b == tw_last ? (long)tw_b + 0 : tw_b;
            if (tw_from < 0) tw_from = 0;
            if (tw_to > (long)n - 1) tw_to = (long)n - 1;
            if (tw_from <= tw_to) TW_CUDA(cudaMemcpyAsync(dev_y + tw_from, y + tw_from, (size_t)(tw_to - tw_from + 1) * sizeof(double), cudaMemcpyHostToDevice, tw_stream[tw_s]));
          }
          TW_CUDA(cudaEventRecord(tw_event[tw_s], tw_stream[tw_s]));
        }
        for (int tw_s = 0; tw_s < 3; tw_s++) {
          const int tw_size = (tw_last - tw_first + 3) / 3;
          const int tw_a = tw_first + tw_s * tw_size;
          const int tw_b = tw_a + tw_size - 1 < tw_last ? tw_a + tw_size - 1 : tw_last;
          if (tw_a > tw_last) break;
          for (int tw_n = 0; tw_n < 3; tw_n++) TW_CUDA(cudaStreamWaitEvent(tw_stream[tw_s], tw_event[tw_n], 0));
          tw_kernel1<<<14, 32, 0, tw_stream[tw_s]>>>(tw_a, tw_b, n, dev_x, dev_y);
          TW_CUDA(cudaGetLastError());
          {
            long tw_from = tw_s == 0 ? (long)tw_a - 0 : tw_a;
            long tw_to = tw_b == tw_last ? (long)tw_b + 0 : tw_b;
            if (tw_from < 0) tw_from = 0;
            if (tw_to > (long)n - 1) tw_to = (long)n - 1;
            if (tw_from <= tw_to) TW_CUDA(cudaMemcpyAsync(y + tw_from, dev_y + tw_from, (size_t)(tw_to - tw_from + 1) * sizeof(double), cudaMemcpyDeviceToHost, tw_stream[tw_s]));
          }
        }
        TW_CUDA(cudaDeviceSynchronize());
        for (int tw_s = 0; tw_s < 3; tw_s++) { TW_CUDA(cudaStreamDestroy(tw_stream[tw_s])); TW_CUDA(cudaEventDestroy(tw_event[tw_s])); }
      }
    }
    TW_CUDA(cudaFree(dev_x));
    TW_CUDA(cudaFree(dev_y));
  }
