/* Calls a kernel that was written by

     tilewright tune j2d5pt --shape 512x512 --steps 64 --effort none --export kernel.c

   kernel.h says what the arguments hold. The kernel's name ends in a digest of its text; CMakeLists.txt reads it. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

enum { ROWS = 300, COLUMNS = 200, STEPS = 50, STRIDE = 256, PAGE = 4096 };

int main(void) {
  const int64_t slot = (int64_t)ROWS * STRIDE; /* distance between the two versions of the field */
  float *u = aligned_alloc(PAGE, 2 * slot * sizeof *u);
  if (!u) return 1;
  for (int64_t i = 0; i < 2 * slot; ++i) u[i] = 0;
  for (int version = 0; version < 2; ++version) /* the edge, which no step updates, is alike in both */
    for (int64_t row = 0; row < ROWS; ++row) u[version * slot + row * STRIDE] = 1;
  float *const field[] = {u};
  const int64_t size[] = {STEPS, 1, ROWS, COLUMNS, STRIDE, slot, 0, 0, STRIDE};
  const int64_t scratch = (int64_t)1 << 26; /* more than the header asks for */
  float *memory = aligned_alloc(PAGE, (size_t)scratch);
  const float *const constant[] = {memory, memory};
  KERNEL(field, size, NULL, constant);
  const float *newest = u + (STEPS % 2) * slot;
  printf("%.9g\n", (double)newest[150 * STRIDE + 3]);
  free(memory);
  free(u);
  return 0;
}
