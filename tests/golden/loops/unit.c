/* a unit that binds x, y, A and r, and takes the time */

#define _GNU_SOURCE
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
static double tw_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
#define N (16)
static double *restrict x;
static double *restrict y;
static double (*A)[16];
double tw_run(void **tw_p) {
  double tw_begin, tw_end;
  x = (double *)tw_p[0];
  y = (double *)tw_p[1];
  A = (double (*)[16])tw_p[2];
  double r = *(double *)tw_p[3];
  tw_begin = tw_now();
  {
    for (int i = 0; i <= N - 1; i++) {
      y[i] = y[i] + 2.0 * x[i];
    }
    for (int i = 0; i <= N - 1; i++) {
      r += A[i][i];
    }
    tw_end = tw_now();
    *(double *)tw_p[3] = r;
  }
  return tw_end - tw_begin;
}
