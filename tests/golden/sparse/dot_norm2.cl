/* dot_norm2, float32 */

#define KERNEL __kernel void
#define DEVICE inline
#define GLOBAL __global
#define SHARED __local
#define POINTS_SHARED __local
#define GROUP ((int)get_group_id(0))
#define GROUPS ((int)get_num_groups(0))
#define THREAD ((int)get_local_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE)
typedef long wide;
typedef float real;
#define THREADS 256

/* The sum of a value over the threads of a group, for thread 0. */
DEVICE real total(POINTS_SHARED real *chip, real value) {
  chip[THREAD] = value;
  BARRIER;
  for (int span = THREADS / 2; span > 0; span /= 2) {
    if (THREAD < span) chip[THREAD] += chip[THREAD + span];
    BARRIER;
  }
  const real all = chip[0];
  BARRIER;
  return all;
}

KERNEL tw_vectors_gpu(GLOBAL const real *p_x, GLOBAL const real *p_y, GLOBAL real *part, wide n) {
  SHARED real chip[THREADS];
  real t0 = 0; real t1 = 0;
  for (wide i = (wide)GROUP * THREADS + THREAD; i < n; i += (wide)GROUPS * THREADS) { real x = p_x[i]; real y = p_y[i]; t0 += x * y; t1 += x * x; }
  t0 = total(chip, t0);
  if (THREAD == 0) part[GROUP * 2 + 0] = t0;
  t1 = total(chip, t1);
  if (THREAD == 0) part[GROUP * 2 + 1] = t1;
}

KERNEL tw_vectors_gpu_finish(GLOBAL real *part, int groups) {
  SHARED real chip[THREADS];
  for (int k = 0; k < 2; ++k) {
    real t = 0;
    for (int g = THREAD; g < groups; g += THREADS) t += part[g * 2 + k];
    t = total(chip, t);
    if (THREAD == 0) part[k] = t;
  }
}
