"""A whole iteration of the conjugate-gradient method in two passes over memory.

With residual r, search direction p, solution x and matrix A the method does, one after the other, q = A p, p.q,
x += a p, r -= a q, r.r and p = r + b p: six passes that read every vector anew. Here

1.  x += a p and p' = r + b p run ahead of the rows of q = A p' just far enough, and p'.q is summed with them: p, r and
    x are read once, and p' is multiplied while it lies in the nearest caches;
2.  r -= a' q with r.r.

What a thread needs of its neighbours' p' is computed by them before a barrier. Sums are taken over the same blocks
whatever the number of threads, so the result does not depend on it.
"""

from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.matrices.dia import library
from tilewright.codegen.source import KernelSource, c_source
from tilewright.tilings.unrolling import Unrolling

SIZES = ("rows", "diagonals", "threads", "reach", "first")
"""What ``size`` holds; ``reach`` is the largest distance of a diagonal, ``first`` says that p' is given and x is
not due."""


def emit_cg(dtype: str, how: Unrolling, block: int) -> KernelSource[None]:
    """Write one iteration.

    ``array`` holds x, r, p, p', q, the offsets and the table of diagonals. ``work`` holds a (of the previous iteration)
    and b, receives p'.q, a' and r.r, and after these five has room for a partial sum per block, in doubles.

    Args:
        dtype: ``float32`` or ``float64``.
        how: Unrolling of the product.
        block: Rows that are multiplied at a time.

    Returns:
        The source.

    Raises:
        UsageError: If there are no such kernels.
    """
    entry = f"tw_cg_{fingerprint(dtype, how, block, _TEXT, library(dtype, how))[:12]}"
    return c_source(library(dtype, how) + _TEXT.replace("ENTRY", entry).replace("ROWS", str(block)), entry)


_TEXT = """
static inline double lanes_of(vec v) {
  double s = 0;
  for (int l = 0; l < LANES; ++l) s += v[l];
  return s;
}
/* x += a p and p' = r + b p on elements from ... to - 1. */
static void direct(real *x, const real *r, const real *p, real *next, int64_t from, int64_t to, real a, real b) {
  int64_t i = from;
  for (; i + 2 * LANES <= to; i += 2 * LANES) {
    const vec p0 = *(const vec *)(p + i), p1 = *(const vec *)(p + i + LANES);
    *(vec *)(x + i) += a * p0;
    *(vec *)(x + i + LANES) += a * p1;
    *(vec *)(next + i) = *(const vec *)(r + i) + b * p0;
    *(vec *)(next + i + LANES) = *(const vec *)(r + i + LANES) + b * p1;
  }
  for (; i < to; ++i) {
    x[i] += a * p[i];
    next[i] = r[i] + b * p[i];
  }
}
static double dot(const real *x, const real *y, int64_t n) {
  vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  double s = 0;
  int64_t i = 0;
  for (; i + 4 * LANES <= n; i += 4 * LANES) {
    s0 += *(const vec *)(x + i) * *(const vec *)(y + i);
    s1 += *(const vec *)(x + i + LANES) * *(const vec *)(y + i + LANES);
    s2 += *(const vec *)(x + i + 2 * LANES) * *(const vec *)(y + i + 2 * LANES);
    s3 += *(const vec *)(x + i + 3 * LANES) * *(const vec *)(y + i + 3 * LANES);
  }
  for (; i < n; ++i) s += (double)x[i] * y[i];
  return s + lanes_of((s0 + s1) + (s2 + s3));
}
/* r -= a q; returns r.r. */
static double reduce(real *r, const real *q, int64_t n, real a) {
  vec s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
  double s = 0;
  int64_t i = 0;
  for (; i + 4 * LANES <= n; i += 4 * LANES) {
    const vec r0 = *(vec *)(r + i) - a * *(const vec *)(q + i);
    const vec r1 = *(vec *)(r + i + LANES) - a * *(const vec *)(q + i + LANES);
    const vec r2 = *(vec *)(r + i + 2 * LANES) - a * *(const vec *)(q + i + 2 * LANES);
    const vec r3 = *(vec *)(r + i + 3 * LANES) - a * *(const vec *)(q + i + 3 * LANES);
    *(vec *)(r + i) = r0;
    *(vec *)(r + i + LANES) = r1;
    *(vec *)(r + i + 2 * LANES) = r2;
    *(vec *)(r + i + 3 * LANES) = r3;
    s0 += r0 * r0; s1 += r1 * r1; s2 += r2 * r2; s3 += r3 * r3;
  }
  for (; i < n; ++i) {
    r[i] -= a * q[i];
    s += (double)r[i] * r[i];
  }
  return s + lanes_of((s0 + s1) + (s2 + s3));
}
static inline double total(const double *part, int64_t n) {
  double s = 0;
  for (int64_t b = 0; b < n; ++b) s += part[b];
  return s;
}

void ENTRY(void *const *array, const int64_t *size, double *work, const void *unused) {
  (void)unused;
  const int64_t n = size[0], reach = size[3], blocks = (n + ROWS - 1) / ROWS;
  const struct dia m = {n, n, size[1], array[5], array[6]};
  real *x = array[0], *r = array[1], *next = array[3], *q = array[4];
  const real *p = array[2];
  const int first = (int)size[4];
  const real a = (real)work[0], b = (real)work[1];
  double *part = work + 5;
#ifdef _OPENMP
#pragma omp parallel num_threads((int)size[2])
#endif
  {
#ifdef _OPENMP
    const int t = omp_get_thread_num(), threads = omp_get_num_threads();
#else
    const int t = 0, threads = 1;
#endif
    const int64_t begin = blocks * t / threads, end = blocks * (t + 1) / threads;
    const int64_t low = least(begin * ROWS, n), high = least(end * ROWS, n);
    /* what the neighbours need of mine */
    const int64_t head = t > 0 ? least(low + reach, high) : low;
    const int64_t tail = t + 1 < threads ? most(high - reach, head) : high;
    int64_t done = head;
    if (!first) {
      direct(x, r, p, next, low, head, a, b);
      direct(x, r, p, next, tail, high, a, b);
    }
#ifdef _OPENMP
#pragma omp barrier
#endif
    for (int64_t k = begin; k < end; ++k) {
      const int64_t row = k * ROWS, until = least(row + ROWS, n), ahead = least(until + reach, tail);
      if (!first && ahead > done) {
        direct(x, r, p, next, done, ahead, a, b);
        done = ahead;
      }
      dia_rows(&m, next, q, row, until, 0, 0);
      part[k] = dot(next + row, q + row, until - row);
    }
#ifdef _OPENMP
#pragma omp barrier
#pragma omp single
#endif
    {
      work[2] = total(part, blocks);
      work[3] = work[4] / work[2];
    }
    const real step = (real)work[3];
    for (int64_t k = begin; k < end; ++k) {
      const int64_t row = k * ROWS;
      part[k] = reduce(r + row, q + row, least(ROWS, n - row), step);
    }
  }
  work[4] = total(part, blocks);
}
"""
