/* the kernels of OpenCL */

#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#ifndef DBL_MAX
#define DBL_MAX 1.7976931348623157e308
#define FLT_MAX 3.402823466e38f
#define INT_MAX 2147483647
#define LONG_MAX 9223372036854775807L
#endif

__kernel void tw_kernel1(const int tw_first, const int tw_last, const int n, __global const double *restrict x, __global const double *restrict y, __global double *restrict tw_part_r) {
  const int tw_t = (int)get_local_id(0);
  __local double tw_all_r[128];
  double r = 0.0;
  for (int i = tw_first + (int)get_group_id(0) * 128 + tw_t; i <= tw_last; i += (int)get_num_groups(0) * 128) {
    r += x[i] * y[i];
  }
  tw_all_r[tw_t] = r;
  barrier(CLK_LOCAL_MEM_FENCE);
  int tw_half_r = 64;
  while (tw_half_r > 0) {
    if (tw_t < tw_half_r) {
      tw_all_r[tw_t] = tw_all_r[tw_t] + tw_all_r[tw_t + tw_half_r];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tw_half_r >>= 1;
  }
  if (tw_t == 0) {
    tw_part_r[(int)get_group_id(0)] = tw_all_r[0];
  }
}

__kernel void tw_kernel1_finish(const int tw_blocks, __global double *tw_part_r, const double tw_before_r) {
  const int tw_t = (int)get_local_id(0);
  __local double tw_all_r[128];
  double r = 0.0;
  for (int tw_b = tw_t; tw_b < tw_blocks; tw_b += 128) {
    r = r + tw_part_r[tw_b];
  }
  tw_all_r[tw_t] = r;
  barrier(CLK_LOCAL_MEM_FENCE);
  int tw_half_r = 64;
  while (tw_half_r > 0) {
    if (tw_t < tw_half_r) {
      tw_all_r[tw_t] = tw_all_r[tw_t] + tw_all_r[tw_t + tw_half_r];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    tw_half_r >>= 1;
  }
  if (tw_t == 0) {
    tw_part_r[0] = tw_before_r + tw_all_r[0];
  }
}
