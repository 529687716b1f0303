/* the kernels of CUDA */

#ifndef DBL_MAX
#define DBL_MAX 1.7976931348623157e308
#define FLT_MAX 3.402823466e38f
#define INT_MAX 2147483647
#define LONG_MAX 9223372036854775807L
#endif

extern "C" __global__ void tw_kernel1(const int tw_first, const int tw_last, const int K, const int M, const int N, const double *__restrict__ A, const double *__restrict__ B, double *__restrict__ C) {
  const int tw_t = (int)threadIdx.x;
  for (int i = tw_first + (int)blockIdx.x * 32 + tw_t; i <= tw_last; i += (int)gridDim.x * 32) {
    for (int j = 0; j <= N - 1; j++) {
      for (int k = 0; k <= K - 1; k++) {
        C[i * N + j] = C[i * N + j] + A[i * N + k] * B[k * N + j];
      }
    }
  }
}
