/* Plain loops of the five schedules of tilewright.workloads.chains (in the order of its SCHEDULES), instrumented: they count
   what they move.

   Words move between memory and chip through READ, FETCH and WRITE, which count; accesses to what is kept on chip go
   through CHIP, which does not. Given a trace buffer, all accesses are written there too, for a cache simulator: a word
   is matrix * 2^40 + index, negated minus one for a write. Matrices are 0 for R, 1 to 3 for A1 to A3, 4 for T's tile. */

enum { R, A1, A2, A3, T };
typedef struct { double *at[5]; long columns[5]; long p0, p1, p2, p3, x, y, reads, writes, used, room; long *trace; }
    run;
static inline long least(long a, long b) { return a < b ? a : b; }
static inline double *touch(run *g, int m, long i, long j, int write) {
  const long index = i * g->columns[m] + j, word = ((long)m << 40) + index;
  if (g->used < g->room) g->trace[g->used++] = write ? -word - 1 : word;
  return g->at[m] + index;
}
static inline double read_(run *g, int m, long i, long j) { ++g->reads; return *touch(g, m, i, j, 0); }
static inline void write_(run *g, int m, long i, long j, double v) { ++g->writes; *touch(g, m, i, j, 1) = v; }
#define READ(m, i, j) read_(g, m, i, j)
#define WRITE(m, i, j, v) write_(g, m, i, j, v)
#define FETCH(m, i, j) ((void)read_(g, m, i, j))
#define CHIP(m, i, j) (*touch(g, m, i, j, 0))
#define CHIP_SET(m, i, j, v) (*touch(g, m, i, j, 1) = (v))
#define BLOCKS(n, size, b, e) for (long b = 0, e; e = least(b + (size), (n)), b < (n); b += (size))
#define EACH(v, b, e) for (long v = b; v < e; ++v)

static void keep_r(run *g, double *s) {
  BLOCKS(g->p0, g->x, i0, i1) BLOCKS(g->p2, g->y, j0, j1) {
    EACH(i, i0, i1) EACH(j, j0, j1) CHIP_SET(R, i, j, 0);
    EACH(k, 0, g->p1) {
      EACH(j, j0, j1) s[j - j0] = READ(A2, k, j);
      EACH(i, i0, i1) {
        const double a = READ(A1, i, k);
        EACH(j, j0, j1) CHIP_SET(R, i, j, CHIP(R, i, j) + a * s[j - j0]);
      }
    }
    EACH(i, i0, i1) EACH(j, j0, j1) WRITE(R, i, j, CHIP(R, i, j));
  }
}
static void keep_a1(run *g, double *s) {
  BLOCKS(g->p0, g->x, i0, i1) BLOCKS(g->p1, g->y, k0, k1) {
    EACH(i, i0, i1) EACH(k, k0, k1) FETCH(A1, i, k);
    EACH(j, 0, g->p2) {
      EACH(k, k0, k1) s[k - k0] = READ(A2, k, j);
      EACH(i, i0, i1) {
        double r = k0 ? READ(R, i, j) : 0;
        EACH(k, k0, k1) r += CHIP(A1, i, k) * s[k - k0];
        WRITE(R, i, j, r);
      }
    }
  }
}
static void keep_a2(run *g, double *s) {
  BLOCKS(g->p1, g->x, k0, k1) BLOCKS(g->p2, g->y, j0, j1) {
    EACH(k, k0, k1) EACH(j, j0, j1) FETCH(A2, k, j);
    EACH(i, 0, g->p0) {
      EACH(k, k0, k1) s[k - k0] = READ(A1, i, k);
      EACH(j, j0, j1) {
        double r = k0 ? READ(R, i, j) : 0;
        EACH(k, k0, k1) r += s[k - k0] * CHIP(A2, k, j);
        WRITE(R, i, j, r);
      }
    }
  }
}
static void fill(run *g, double *s, int a, int b, long depth, const long *at) {
  EACH(i, at[0], at[1]) EACH(j, at[2], at[3]) CHIP_SET(T, i - at[0], j - at[2], 0);
  EACH(k, 0, depth) {
    EACH(j, at[2], at[3]) s[j - at[2]] = READ(b, k, j);
    EACH(i, at[0], at[1]) {
      const double v = READ(a, i, k);
      EACH(j, at[2], at[3]) CHIP_SET(T, i - at[0], j - at[2], CHIP(T, i - at[0], j - at[2]) + v * s[j - at[2]]);
    }
  }
}
static void fuse_left(run *g, double *s) {
  BLOCKS(g->p0, g->x, i0, i1) BLOCKS(g->p2, g->y, j0, j1) {
    const long at[4] = {i0, i1, j0, j1};
    fill(g, s, A1, A2, g->p1, at);
    EACH(l, 0, g->p3) {
      EACH(j, j0, j1) s[j - j0] = READ(A3, j, l);
      EACH(i, i0, i1) {
        double r = j0 ? READ(R, i, l) : 0;
        EACH(j, j0, j1) r += CHIP(T, i - i0, j - j0) * s[j - j0];
        WRITE(R, i, l, r);
      }
    }
  }
}
static void fuse_right(run *g, double *s) {
  BLOCKS(g->p1, g->x, i0, i1) BLOCKS(g->p3, g->y, j0, j1) {
    const long at[4] = {i0, i1, j0, j1};
    fill(g, s, A2, A3, g->p2, at);
    EACH(l, 0, g->p0) {
      EACH(i, i0, i1) s[i - i0] = READ(A1, l, i);
      EACH(j, j0, j1) {
        double r = i0 ? READ(R, l, j) : 0;
        EACH(i, i0, i1) r += s[i - i0] * CHIP(T, i - i0, j - j0);
        WRITE(R, l, j, r);
      }
    }
  }
}

/* array: R, A1, A2, A3, a tile of x * y and a line of max(x, y). size: schedule, P0 ... P3, x, y, room in the trace.
   counts: reads, writes, used trace. A single product ignores P3. */
void tw_counted_loops(double *const *array, const long *size, long *trace, long *counts) {
  static void (*const schedules[])(run *, double *) = {keep_r, keep_a1, keep_a2, fuse_left, fuse_right};
  const long last = size[0] < 3 ? size[3] : size[4];
  run g = {{array[0], array[1], array[2], array[3], array[4]}, {last, size[2], size[3], size[4], size[6]},
           size[1], size[2], size[3], size[4], size[5], size[6], 0, 0, 0, trace ? size[7] : 0, trace};
  schedules[size[0]](&g, array[5]);
  counts[0] = g.reads, counts[1] = g.writes, counts[2] = g.used;
}
