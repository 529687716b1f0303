/* the kernels of OpenCL unrollInner=4 */

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#ifndef DBL_MAX
#define DBL_MAX 1.7976931348623157e308
#define FLT_MAX 3.402823466e38f
#define INT_MAX 2147483647
#define LONG_MAX 9223372036854775807L
#endif

__kernel void tw_kernel1(const int tw_first, const int tw_last, const int K, const int M, const int N, __global const double *restrict A, __global const double *restrict B, __global double *restrict C) {
  const int tw_t = (int)get_local_id(0);
  for (int i = tw_first + (int)get_group_id(0) * 128 + tw_t; i <= tw_last; i += (int)get_num_groups(0) * 128) {
    for (int j = 0; j <= N - 1; j++) {
#pragma unroll 4
      for (int k = 0; k <= K - 1; k++) {
        C[i * N + j] = C[i * N + j] + A[i * N + k] * B[k * N + j];
      }
    }
  }
}
