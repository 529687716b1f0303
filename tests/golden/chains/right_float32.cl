/* A1 (A2 A3) with A2 A3 in shared memory, float32 */

#define TW_KERNEL(threads) __kernel __attribute__((reqd_work_group_size(threads, 1, 1))) void
#define TW_FUNCTION static inline
#define TW_GLOBAL __global
#define TW_LOCAL __local
#define TW_SHARED __local
#define TW_ROOM_PARAM(type, name) , __local type *name
#define TW_ROOM(type, name)
#define TW_GROUP ((int)get_group_id(0))
#define TW_GROUPS ((int)get_num_groups(0))
#define TW_THREAD ((int)get_local_id(0))
#define TW_BARRIER() barrier(CLK_LOCAL_MEM_FENCE)
#define TW_BARRIER_MEMORY() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define TW_COUNT(at) atomic_inc(at)
#define TW_ALIGNED(type, pointer, bytes) (pointer)
#if defined(__NV_CL_C_VERSION)
#define TW_PRAGMA(text) _Pragma(#text)
#define TW_UNROLL TW_PRAGMA(unroll)
#define TW_UNROLL_BY(n) TW_PRAGMA(unroll n)
#else
#define TW_UNROLL
#define TW_UNROLL_BY(n)
#endif
#define TW_INF_f32 INFINITY
#define TW_NAN_f32 NAN
#define TW_INF_f64 ((double)INFINITY)
#define TW_NAN_f64 ((double)NAN)
typedef long tw_wide;
typedef ulong tw_unsigned;

typedef float real;
#define X 16
#define Y 16
#define Z 8
#define ROWS 2
#define COLUMNS 2
#define ACROSS 8
#define DOWN 8
#define THREADS 64
#define COUNTER
#define PASS
#define LOAD(a, i) ((a)[i])
#define STORE(a, i, v) ((a)[i] = (v))

/* Stage rows i0 ... of height down and columns j0 ... of width across of a (rows x columns); zeros outside. */
TW_FUNCTION void stage(TW_GLOBAL const real *a, TW_LOCAL real *to, int i0, int i1, int j0, int j1, int columns,
                       int down, int across COUNTER) {
  for (int n = TW_THREAD; n < down * across; n += THREADS) {
    const int i = i0 + n / across, j = j0 + n % across;
    to[n] = i < i1 && j < j1 ? LOAD(a, (size_t)i * columns + j) : (real)0;
  }
}
/* cell += left (X x Z, rows apart by pitch) times right (Z x Y, rows apart by Y), for this thread's cells. */
TW_FUNCTION void multiply(TW_LOCAL const real *left, int pitch, TW_LOCAL const real *right, int deep, real *cell) {
  const int i0 = TW_THREAD / ACROSS, j0 = TW_THREAD % ACROSS;
  for (int k = 0; k < deep; ++k)
    for (int i = 0; i < ROWS; ++i)
      for (int j = 0; j < COLUMNS; ++j)
        cell[i * COLUMNS + j] += left[(i0 + i * DOWN) * pitch + k] * right[k * Y + j0 + j * ACROSS];
}
/* T = A B for rows i0 ... and columns j0 ..., A of n x depth, B of depth x m. */
TW_FUNCTION void fill(TW_GLOBAL const real *a, TW_GLOBAL const real *b, TW_LOCAL real *t, TW_LOCAL real *sa,
            TW_LOCAL real *sb, int i0, int n, int j0, int m, int depth COUNTER) {
  real cell[ROWS * COLUMNS];
  for (int c = 0; c < ROWS * COLUMNS; ++c) cell[c] = 0;
  for (int k0 = 0; k0 < depth; k0 += Z) {
    stage(a, sa, i0, n, k0, depth, depth, X, Z PASS);
    stage(b, sb, k0, depth, j0, m, m, Z, Y PASS);
    TW_BARRIER();
    multiply(sa, Z, sb, Z, cell);
    TW_BARRIER();
  }
  for (int c = 0; c < ROWS * COLUMNS; ++c)
    t[(TW_THREAD / ACROSS + c / COLUMNS * DOWN) * Y + TW_THREAD % ACROSS + c % COLUMNS * ACROSS] = cell[c];
  TW_BARRIER();
}
/* R (+)= cells, for rows i0 ... and columns j0 .... */
TW_FUNCTION void add(TW_GLOBAL real *r, const real *cell, int i0, int n, int j0, int m, int more COUNTER) {
  for (int c = 0; c < ROWS * COLUMNS; ++c) {
    const int i = i0 + TW_THREAD / ACROSS + c / COLUMNS * DOWN, j = j0 + TW_THREAD % ACROSS + c % COLUMNS * ACROSS;
    if (i < n && j < m) {
      const size_t at = (size_t)i * m + j;
      const real before = more ? LOAD(r, at) : (real)0;
      STORE(r, at, before + cell[c]);
    }
  }
}

TW_KERNEL(THREADS) tw_fused_right(TW_GLOBAL const real *a1, TW_GLOBAL const real *a2, TW_GLOBAL const real *a3,
                         TW_GLOBAL real *r, int p0, int p1, int p2, int p3 COUNTER) {
  TW_SHARED real t[X * Y];
  TW_SHARED real sa[X * Z];
  TW_SHARED real sb[Z * Y];
  real cell[ROWS * COLUMNS];
  const int j0 = TW_GROUP * Y;
  for (int i0 = 0; i0 < p1; i0 += X) {
    fill(a2, a3, t, sa, sb, i0, p1, j0, p3, p2 PASS);
    for (int l0 = 0; l0 < p0; l0 += X) {
      for (int c = 0; c < ROWS * COLUMNS; ++c) cell[c] = 0;
      for (int k0 = 0; k0 < X && i0 + k0 < p1; k0 += Z) {
        stage(a1, sa, l0, p0, i0 + k0, i0 + X < p1 ? i0 + X : p1, p1, X, Z PASS);
        TW_BARRIER();
        multiply(sa, Z, t + k0 * Y, X - k0 < Z ? X - k0 : Z, cell);
        TW_BARRIER();
      }
      add(r, cell, l0, p0, j0, p3, i0 > 0 PASS);
    }
  }
}
