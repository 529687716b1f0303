/* (A1 A2) A3 with A1 A2 in shared memory, float64 */

#define TW_KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads, 1)
#define TW_FUNCTION static __device__ __forceinline__
#define TW_GLOBAL
#define TW_LOCAL
#define TW_SHARED __shared__
#define TW_ROOM_PARAM(type, name)
#define TW_ROOM(type, name) extern __shared__ __align__(16) unsigned char tw_room[]; type *const name = (type *)tw_room;
#define TW_GROUP ((int)blockIdx.x)
#define TW_GROUPS ((int)gridDim.x)
#define TW_THREAD ((int)threadIdx.x)
#define TW_BARRIER() __syncthreads()
#define TW_BARRIER_MEMORY() __syncthreads()
#define TW_COUNT(at) atomicAdd(at, 1u)
#define TW_ALIGNED(type, pointer, bytes) ((type)__builtin_assume_aligned(pointer, bytes))
#define TW_PRAGMA(text) _Pragma(#text)
#define TW_UNROLL TW_PRAGMA(unroll)
#define TW_UNROLL_BY(n) TW_PRAGMA(unroll n)
#define TW_INF_f32 __int_as_float(0x7f800000)
#define TW_NAN_f32 __int_as_float(0x7fc00000)
#define TW_INF_f64 __longlong_as_double(0x7ff0000000000000L)
#define TW_NAN_f64 __longlong_as_double(0x7ff8000000000000L)
typedef long long tw_wide;
typedef unsigned long long tw_unsigned;

typedef double real;
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

TW_KERNEL(THREADS) tw_fused_left(TW_GLOBAL const real *a1, TW_GLOBAL const real *a2, TW_GLOBAL const real *a3,
                         TW_GLOBAL real *r, int p0, int p1, int p2, int p3 COUNTER) {
  TW_SHARED real t[X * Y];
  TW_SHARED real sa[X * Z];
  TW_SHARED real sb[Z * Y];
  real cell[ROWS * COLUMNS];
  const int i0 = TW_GROUP * X;
  for (int j0 = 0; j0 < p2; j0 += Y) {
    fill(a1, a2, t, sa, sb, i0, p0, j0, p2, p1 PASS);
    for (int l0 = 0; l0 < p3; l0 += Y) {
      for (int c = 0; c < ROWS * COLUMNS; ++c) cell[c] = 0;
      for (int k0 = 0; k0 < Y && j0 + k0 < p2; k0 += Z) {
        stage(a3, sb, j0 + k0, j0 + Y < p2 ? j0 + Y : p2, l0, p3, p3, Z, Y PASS);
        TW_BARRIER();
        multiply(t + k0, Y, sb, Y - k0 < Z ? Y - k0 : Z, cell);
        TW_BARRIER();
      }
      add(r, cell, i0, p0, l0, p3, j0 > 0 PASS);
    }
  }
}
