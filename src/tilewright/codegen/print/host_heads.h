/* What host programs start with: checked calls, and for OpenCL opening a device and building a text. */

//: cuda
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
//: opencl
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
