/* the kernels of CUDA cacheBlocks=True */

#ifndef DBL_MAX
#define DBL_MAX 1.7976931348623157e308
#define FLT_MAX 3.402823466e38f
#define INT_MAX 2147483647
#define LONG_MAX 9223372036854775807L
#endif

extern "C" __global__ void tw_kernel1(const int tw_first, const int tw_last, const int n, const double *__restrict__ x, double *__restrict__ y, const int tw_len_x) {
  const int tw_t = (int)threadIdx.x;
  __shared__ double tw_near_x[34];
  for (int tw_base = tw_first + (int)blockIdx.x * 32; tw_base <= tw_last; tw_base += (int)gridDim.x * 32) {
    for (int tw_c = tw_t; tw_c < 34; tw_c += 32) {
      const int tw_e = tw_base - 1 + tw_c;
      if (tw_e >= 0 && tw_e < tw_len_x && tw_e <= tw_last + 1) {
        tw_near_x[tw_c] = x[tw_e];
      }
    }
    __syncthreads();
    const int i = tw_base + tw_t;
    if (i <= tw_last) {
      y[i] = tw_near_x[tw_t] + tw_near_x[tw_t + 2];
    }
    __syncthreads();
  }
}
