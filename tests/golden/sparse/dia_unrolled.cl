/* four diagonals at a time */

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
#define THREADS 64

/* A row per turn of a thread: neighbours in the group read neighbours of every diagonal. */
KERNEL tw_dia_gpu(GLOBAL const real *values, GLOBAL const wide *start, GLOBAL const wide *offset, GLOBAL const real *x,
             GLOBAL real *y, wide rows, wide columns, wide diagonals) {
  for (wide i = (wide)GROUP * THREADS + THREAD; i < rows; i += (wide)GROUPS * THREADS) {
    real s = 0;
#pragma unroll 4
    for (wide d = 0; d < diagonals; ++d) {
      const wide column = i + offset[d];
      if (column >= 0 && column < columns) s += values[start[d] + (column < i ? column : i)] * x[column];
    }
    y[i] = s;
  }
}
