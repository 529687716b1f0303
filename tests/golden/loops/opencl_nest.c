/* OpenCL workGroups=3, workItemsPerGroup=32, vecHint=4 */

#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <float.h>
#include <limits.h>
#ifndef TW_OPENCL
#define TW_OPENCL(call) do { cl_int tw_e = (call); if (tw_e != CL_SUCCESS) { \
  fprintf(stderr, "%s: OpenCL error %d\n", #call, (int)tw_e); exit(1); } } while (0)
struct tw_device { cl_device_id id; cl_context context; };
static struct tw_device tw_open(int platform, int device) {
  static struct tw_device found;
  static int open = 0;
  if (!open) {
    cl_platform_id platforms[64];
    cl_device_id devices[64];
    cl_uint count = 0;
    cl_int error;
    TW_OPENCL(clGetPlatformIDs(64, platforms, &count));
    if ((cl_uint)platform >= count) { fprintf(stderr, "there is no OpenCL platform %d\n", platform); exit(1); }
    TW_OPENCL(clGetDeviceIDs(platforms[platform], CL_DEVICE_TYPE_ALL, 64, devices, &count));
    if ((cl_uint)device >= count) { fprintf(stderr, "there is no OpenCL device %d\n", device); exit(1); }
    found.id = devices[device];
    found.context = clCreateContext(NULL, 1, &found.id, NULL, NULL, &error);
    TW_OPENCL(error);
    open = 1;
  }
  return found;
}
static cl_program tw_build(struct tw_device device, const char *text, const char *options) {
  cl_int error;
  cl_program program = clCreateProgramWithSource(device.context, 1, &text, NULL, &error);
  TW_OPENCL(error);
  if (clBuildProgram(program, 1, &device.id, options, NULL, NULL) != CL_SUCCESS) {
    char log[4096] = "";
    clGetProgramBuildInfo(program, device.id, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
    fprintf(stderr, "%s\n", log);
    exit(1);
  }
  return program;
}
#endif
static const char *tw_text =
  "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
  "#ifndef DBL_MAX\n"
  "#define DBL_MAX 1.7976931348623157e308\n"
  "#define FLT_MAX 3.402823466e38f\n"
  "#define INT_MAX 2147483647\n"
  "#define LONG_MAX 9223372036854775807L\n"
  "#endif\n"
  "\n"
  "__kernel __attribute__((vec_type_hint(double4))) void tw_kernel1(const int tw_first, const int tw_last, const int n, __global const double *restrict a, __global const double *restrict x, __global double *restrict y) {\n"
  "  const int tw_t = (int)get_local_id(0);\n"
  "  for (int i = tw_first + (int)get_group_id(0) * 32 + tw_t; i <= tw_last; i += (int)get_num_groups(0) * 32) {\n"
  "    for (int j = 0; j <= 4; j++) {\n"
  "      y[i] += a[j] * x[i];\n"
  "    }\n"
  "  }\n"
  "}\n";
static cl_program tw_text_program = NULL;

  {
    cl_int tw_error;
    struct tw_device tw_dev = tw_open(0, 0);
    cl_command_queue tw_queue[1];
    for (int tw_q = 0; tw_q < 1; tw_q++) {
      tw_queue[tw_q] = clCreateCommandQueue(tw_dev.context, tw_dev.id, 0, &tw_error);
      TW_OPENCL(tw_error);
    }
    if (tw_text_program == NULL) tw_text_program = tw_build(tw_dev, tw_text, "");
    cl_mem dev_a = clCreateBuffer(tw_dev.context, CL_MEM_READ_WRITE, (size_t)5 * sizeof(double), NULL, &tw_error);
    TW_OPENCL(tw_error);
    cl_mem dev_x = clCreateBuffer(tw_dev.context, CL_MEM_READ_WRITE, (size_t)n * sizeof(double), NULL, &tw_error);
    TW_OPENCL(tw_error);
    cl_mem dev_y = clCreateBuffer(tw_dev.context, CL_MEM_READ_WRITE, (size_t)n * sizeof(double), NULL, &tw_error);
    TW_OPENCL(tw_error);
    cl_kernel tw_kernel1 = clCreateKernel(tw_text_program, "tw_kernel1", &tw_error);
    TW_OPENCL(tw_error);
    TW_OPENCL(clEnqueueWriteBuffer(tw_queue[0], dev_a, CL_TRUE, 0, (size_t)5 * sizeof(double), (void *)a, 0, NULL, NULL));
    TW_OPENCL(clEnqueueWriteBuffer(tw_queue[0], dev_x, CL_TRUE, 0, (size_t)n * sizeof(double), (void *)x, 0, NULL, NULL));
    TW_OPENCL(clEnqueueWriteBuffer(tw_queue[0], dev_y, CL_TRUE, 0, (size_t)n * sizeof(double), (void *)y, 0, NULL, NULL));
    {
      const int tw_first = 0;
      const int tw_last = n - 1;
      if (tw_first <= tw_last) {
        { int tw_x = tw_first; TW_OPENCL(clSetKernelArg(tw_kernel1, 0, sizeof tw_x, &tw_x)); }
        { int tw_x = tw_last; TW_OPENCL(clSetKernelArg(tw_kernel1, 1, sizeof tw_x, &tw_x)); }
        { int tw_x = n; TW_OPENCL(clSetKernelArg(tw_kernel1, 2, sizeof tw_x, &tw_x)); }
        { cl_mem tw_x = dev_a; TW_OPENCL(clSetKernelArg(tw_kernel1, 3, sizeof tw_x, &tw_x)); }
        { cl_mem tw_x = dev_x; TW_OPENCL(clSetKernelArg(tw_kernel1, 4, sizeof tw_x, &tw_x)); }
        { cl_mem tw_x = dev_y; TW_OPENCL(clSetKernelArg(tw_kernel1, 5, sizeof tw_x, &tw_x)); }
        { size_t tw_global = (size_t)3 * 32, tw_local = 32;
          TW_OPENCL(clEnqueueNDRangeKernel(tw_queue[0], tw_kernel1, 1, NULL, &tw_global, &tw_local, 
            0, NULL, NULL)); }
      }
    }
    TW_OPENCL(clEnqueueReadBuffer(tw_queue[0], dev_y, CL_TRUE, 0, (size_t)n * sizeof(double), (void *)y, 0, NULL, NULL));
    TW_OPENCL(clReleaseKernel(tw_kernel1));
    TW_OPENCL(clReleaseMemObject(dev_a));
    TW_OPENCL(clReleaseMemObject(dev_x));
    TW_OPENCL(clReleaseMemObject(dev_y));
    for (int tw_q = 0; tw_q < 1; tw_q++) TW_OPENCL(clReleaseCommandQueue(tw_queue[tw_q]));
  }
