/* the host program of exported kernels, CUDA */

/* Runs the kernels of kernels.cu on 64 cells for 6 steps, from made-up values.
Build: nvcc -O3 -std=c++17 -arch=native kernels_main.cu -o kernels
An argument names a file for the results, the fields one after the other; written by tilewright. */
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
#include <stdint.h>
#include "kernels.cu"

typedef float real;
enum { RANK = 1, FIELDS = 1, KERNELS = 1, STEPS = 6, NEWEST = 6, TURNS = 3, REPEATED = 3, REST = 0, TEXT = 6243 };
static const real SCALE = 11;
static const int64_t SLOT = 64, CELLS = 64, GRID = 64;
static const int64_t WHOLE[] = {64};
static const int64_t SHAPE[] = {64};
static const int64_t BELOW[] = {0};
static const int COPIES[] = {2};
static const int UPDATED[] = {1};
static const char *const NAMES[] = {"u"};
/* Kernel, groups and numbers of every launch; the first 3 are made 3 times. */
static const int LAUNCHES[][5] = {
  {0, 8, 0, -1, 2},
  {0, 8, 1, 0, 2},
  {0, 8, 0, 1, 2},
};
static real *fields[FIELDS];

static void set_up(void) {
  for (int i = 0; i < FIELDS; ++i) TW_CUDA(cudaMalloc((void **)&fields[i], COPIES[i] * SLOT * sizeof(real)));
  TW_CUDA(cudaFuncSetAttribute(tw_jacobi1d_0, cudaFuncAttributePreferredSharedMemoryCarveout, 100));
}
static void upload(int field, int64_t at, const real *values) {
  TW_CUDA(cudaMemcpy(fields[field] + at, values, CELLS * sizeof *values, cudaMemcpyHostToDevice));
}
static void download(int field, int64_t at, real *values) {
  TW_CUDA(cudaMemcpy(values, fields[field] + at, CELLS * sizeof *values, cudaMemcpyDeviceToHost));
}
static void launch(const int *each) {
  switch (each[0]) {
    case 0: tw_jacobi1d_0<<<each[1], 32, 0>>>(fields[0], 64, 64, each[2], each[3], each[4]); break;
  }
  TW_CUDA(cudaGetLastError());
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
