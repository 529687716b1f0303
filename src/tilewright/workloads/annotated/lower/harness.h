/* A translation unit around a region; words such as @body are the region's own. */

//: heads
#define _GNU_SOURCE
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
//: aliases
#include <stdbool.h>
#include <stddef.h>
typedef double PetscScalar;
typedef double PetscReal;
typedef int PetscInt;
//: extremum
#define @name(a, b) ((a) @compare (b) ? (a) : (b))
//: clock
static double tw_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
//: run
double @entry(void **tw_p) {
  double tw_begin, tw_end;
@inputs  tw_begin = tw_now();
  {
@body    tw_end = tw_now();
@results  }
@arrays  return tw_end - tw_begin;
}
