/* the host program of exported kernels, OpenCL */

/* Runs the kernels of kernels.cl on 64 cells for 6 steps, from made-up values.
Build: cc -O2 kernels_main.c -o kernels -lOpenCL
An argument names a file for the results, the fields one after the other; written by tilewright. */
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
#include <stdint.h>

typedef float real;
enum { RANK = 1, FIELDS = 1, KERNELS = 1, STEPS = 6, NEWEST = 6, TURNS = 3, REPEATED = 3, REST = 0, TEXT = 6118 };
static const real SCALE = 11;
static const int64_t SLOT = 64, CELLS = 64, GRID = 64;
static const int64_t WHOLE[] = {64};
static const int64_t SHAPE[] = {64};
static const int64_t BELOW[] = {0};
static const int COPIES[] = {2};
static const int UPDATED[] = {1};
static const char *const NAMES[] = {"u"};
static const char *const ENTRIES[] = {"tw_jacobi1d_0"};
static const int THREADS[] = {32};
static const int NUMBERS[] = {3};
static const size_t ROOM[] = {0};
/* Kernel, groups and numbers of every launch; the first 3 are made 3 times. */
static const int LAUNCHES[][5] = {
  {0, 8, 0, -1, 2},
  {0, 8, 1, 0, 2},
  {0, 8, 0, 1, 2},
};
static cl_mem fields[FIELDS];
static cl_kernel kernels[KERNELS];
static cl_command_queue queue;

static cl_mem room_for(struct tw_device device, int64_t count) {
  cl_int error;
  cl_mem memory = clCreateBuffer(device.context, CL_MEM_READ_WRITE, count * sizeof(real), NULL, &error);
  TW_OPENCL(error);
  return memory;
}
static void set_up(void) {
  static char text[TEXT + 1];
  struct tw_device device = tw_open(0, 0);
  FILE *file = fopen("kernels.cl", "rb");
  cl_int error;
  if (!file || fread(text, 1, TEXT, file) != TEXT) { fprintf(stderr, "cannot read %s\n", "kernels.cl"); exit(1); }
  fclose(file);
  cl_program program = tw_build(device, text, "");
  for (int i = 0; i < KERNELS; ++i) { kernels[i] = clCreateKernel(program, ENTRIES[i], &error); TW_OPENCL(error); }
  queue = clCreateCommandQueue(device.context, device.id, 0, &error);
  TW_OPENCL(error);
  for (int i = 0; i < FIELDS; ++i) fields[i] = room_for(device, COPIES[i] * SLOT);
}
static void upload(int field, int64_t at, const real *values) {
  TW_OPENCL(clEnqueueWriteBuffer(
    queue, fields[field], CL_TRUE, at * sizeof(real), CELLS * sizeof *values, (void *)values, 0, NULL, NULL));
}
static void download(int field, int64_t at, real *values) {
  TW_OPENCL(clEnqueueReadBuffer(
    queue, fields[field], CL_TRUE, at * sizeof(real), CELLS * sizeof *values, values, 0, NULL, NULL));
}
static void argument(cl_kernel kernel, cl_uint *place, size_t size, const void *value) {
  TW_OPENCL(clSetKernelArg(kernel, (*place)++, size, value));
}
static void launch(const int *each) {
  cl_kernel kernel = kernels[each[0]];
  cl_uint place = 0;
  const size_t threads = THREADS[each[0]], all = each[1] * threads;
  for (int i = 0; i < FIELDS; ++i) argument(kernel, &place, sizeof fields[i], &fields[i]);
  static const cl_int cl_int_given[] = {64};
  for (int i = 0; i < 1; ++i) argument(kernel, &place, sizeof(cl_int), &cl_int_given[i]);
  static const int64_t int64_t_given[] = {64};
  for (int i = 0; i < 1; ++i) argument(kernel, &place, sizeof(int64_t), &int64_t_given[i]);
  for (int i = 0; i < NUMBERS[each[0]]; ++i) argument(kernel, &place, sizeof(cl_int), &each[2 + i]);
  if (ROOM[each[0]]) argument(kernel, &place, ROOM[each[0]], NULL);
  TW_OPENCL(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &all, &threads, 0, NULL, NULL));
}

/* The cell of the grid that a place in memory holds: of periodic copies the one that is copied. */
static int64_t cell_at(int64_t place, int *proper) {
  int64_t at[RANK], cell = 0;
  for (int axis = RANK - 1; axis >= 0; --axis) { at[axis] = place % WHOLE[axis] - BELOW[axis]; place /= WHOLE[axis]; }
  *proper = 1;
  for (int axis = 0; axis < RANK; ++axis) {
    if (at[axis] < 0 || at[axis] >= SHAPE[axis]) *proper = 0;
    cell = cell * SHAPE[axis] + (at[axis] % SHAPE[axis] + SHAPE[axis]) % SHAPE[axis];
  }
  return cell;
}

int main(int argc, char **argv) {
  int proper;
  real *values = (real *)malloc(CELLS * sizeof *values);
  FILE *file = argc > 1 ? fopen(argv[1], "wb") : NULL;
  if (!values || (argc > 1 && !file)) { fprintf(stderr, "no memory, or no file to write\n"); return 1; }
  set_up();
  for (int field = 0; field < FIELDS; ++field) {
    for (int64_t i = 0; i < CELLS; ++i) values[i] = (real)((cell_at(i, &proper) * 7 + field) % 11) / SCALE;
    for (int slot = 0; slot < COPIES[field]; ++slot) upload(field, slot * SLOT, values);
  }
  for (int turn = 0; turn < TURNS; ++turn)
    for (int i = 0; i < REPEATED; ++i) launch(LAUNCHES[i]);
  for (int i = REPEATED; i < REPEATED + REST; ++i) launch(LAUNCHES[i]);
  for (int field = 0; field < FIELDS; ++field) {
    double sum = 0;
    if (!UPDATED[field]) continue;
    download(field, NEWEST % COPIES[field] * SLOT, values);
    for (int64_t i = 0; i < CELLS; ++i) {
      cell_at(i, &proper);
      if (proper) sum += (double)values[i];
      if (proper && file) fwrite(&values[i], sizeof values[i], 1, file);
    }
    printf("%s after %d steps: mean %.9g\n", NAMES[field], STEPS, sum / GRID);
  }
  if (file) fclose(file);
  free(values);
  return 0;
}
