"""C kernels of matrices stored by diagonals without padding.

Diagonal ``o`` holds the elements A[t + max(0, -o), t + max(0, o)] for t from 0. With the offsets ascending, the
diagonals that a row meets are consecutive, and the rows fall into at most 2 D + 1 ranges that meet the same ones: in a
range nothing is tested, every diagonal is read from front to back, and a row of y is stored once. The transposed
matrix has the same diagonals under the negated offsets in reverse order, so one kernel serves both.

More than ``depth`` diagonals are taken in several passes over a block of rows whose results stay in the
nearest cache.
"""

from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.print.elements import C_ELEMENTS, REALS, itemsize
from tilewright.codegen.source import KernelSource, c_source
from tilewright.tilings.unrolling import Unrolling

SIZES = ("rows", "columns", "diagonals", "threads", "stream", "add")
"""What ``size`` holds: the matrix' extents, its number of diagonals, threads, whether results go past the caches, and
whether they are added to what y holds."""


def emit_dia(dtype: str, how: Unrolling) -> KernelSource[None]:
    """Write y = A x (or y += A x) for any matrix of diagonals.

    ``array`` holds x, y, the offsets (int64, ascending) and the table of the diagonals' addresses; ``size`` holds what
    :data:`SIZES` says.

    Args:
        dtype: ``float32`` or ``float64``.
        how: Unrolling; vectors wider than the machine's work, slower.

    Returns:
        The source.

    Raises:
        UsageError: If there is no such kernel.
    """
    entry = f"tw_dia_{fingerprint(dtype, how, _ROWS, _RANGES, _ENTRY)[:12]}"
    return c_source(library(dtype, how) + _ENTRY.replace("ENTRY", entry), entry)


def library(dtype: str, how: Unrolling) -> str:
    """Write the part that other units build on: ``dia_rows(m, x, y, from, to, stream, add)`` for a ``struct dia``.

    Raises:
        UsageError: If there are no such kernels.
    """
    head = vector_head(dtype, how.vector_bytes)
    passes = [_pass(count, how.vectors) for count in range(1, how.depth + 1)]
    table = ", ".join(f"dia_pass{count}" for count in range(1, how.depth + 1))
    tail = _RANGES.replace("TABLE", table).replace("DEPTH", str(how.depth)).replace("BLOCK", str(how.block))
    return "\n".join([head, *passes, tail])


def vector_head(dtype: str, vector_bytes: int) -> str:
    """Write types, the vector width and a store past the caches.

    Raises:
        UsageError: If C kernels do not compute in the element type.
    """
    if dtype not in REALS:
        raise UsageError(f"sparse kernels compute in {' or '.join(REALS)}, got {dtype!r}")
    name, size = C_ELEMENTS[dtype], itemsize(dtype)
    lanes = vector_bytes // size
    return _HEAD.format(type=name, bytes=vector_bytes, lanes=lanes, word=_WORDS[size])


def _pass(count: int, vectors: int) -> str:
    """Write y (+)= the products of ``count`` diagonals, for consecutive rows; pointers stand at the first row.

    Whether to add and how to store are constants of each of the four copies that the compiler makes: with a choice
    inside the loop it would round the products of some rows before adding them, and of others not.
    """
    each = range(count)
    names = ", ".join(f"*const a{d} = a[{d}], *const x{d} = x[{d}]" for d in each)
    wide = []
    for v in range(vectors):
        at = f"i + {v} * LANES" if v else "i"
        term = [f"*(const vec *)(a{d} + {at}) * *(const vec *)(x{d} + {at})" for d in each]
        wide += [f"    vec s{v};", f"    if (add) {{ s{v} = *(const vec *)(y + {at}); s{v} += {term[0]}; }}"]
        wide += [f"    else s{v} = {term[0]};", *(f"    s{v} += {product};" for product in term[1:])]
    places = [(f"y + i + {v} * LANES", f"s{v}") for v in range(vectors)]
    single = "real s; if (add) { s = y[i]; s += a0[i] * x0[i]; } else s = a0[i] * x0[i]; "
    single += " ".join(f"s += a{d}[i] * x{d}[i];" for d in each[1:])
    return _ROWS.format(
        count=count,
        names=names,
        single=single,
        step=vectors,
        wide="\n".join(wide),
        past="\n".join(f"      past({place}, {value});" for place, value in places),
        plain="\n".join(f"      *(vec *)({place}) = {value};" for place, value in places),
    )


_WORDS = {4: "int", 8: "long long"}

_HEAD = """#include <stdint.h>
#ifdef _OPENMP
#include <omp.h>
#endif
typedef {type} real;
typedef real vec __attribute__((vector_size({bytes}), aligned(sizeof(real)), may_alias));
typedef {word} lanes __attribute__((vector_size({bytes}), aligned(sizeof(real)), may_alias));
enum {{ LANES = {lanes}, BYTES = {bytes} }};
static inline int64_t least(int64_t a, int64_t b) {{ return a < b ? a : b; }}
static inline int64_t most(int64_t a, int64_t b) {{ return a > b ? a : b; }}
/* Store to a vector's own boundary, past the caches where the CPU can. */
static inline void past(real *to, vec v) {{
#if defined(__clang__)
  typedef real whole __attribute__((vector_size({bytes}), may_alias));
  __builtin_nontemporal_store((whole)v, (whole *)to);
#elif defined(__AVX512F__) && {bytes} == 64
  typedef float wide __attribute__((vector_size(64)));
  __builtin_ia32_movntps512((float *)to, (wide)v);
#elif defined(__AVX__) && {bytes} == 32
  typedef float wide __attribute__((vector_size(32)));
  __builtin_ia32_movntps256((float *)to, (wide)v);
#elif defined(__SSE__) && {bytes} == 16
  typedef float wide __attribute__((vector_size(16)));
  __builtin_ia32_movntps((float *)to, (wide)v);
#else
  *(vec *)to = v;
#endif
}}
/* What went past the caches is seen by whoever comes after. */
static inline void settle(void) {{
#ifdef __SSE__
  __builtin_ia32_sfence();
#endif
}}
/* The share of a thread: consecutive, at whole cache lines. */
static inline int64_t share(int64_t n, int thread, int threads) {{
  const int64_t units = (n + 63) / 64;
  return least(n, units * thread / threads * 64);
}}"""

_ROWS = """
static inline __attribute__((always_inline)) void dia_loop{count}(const real *const *a, const real *const *x, real *y,
                                                                 int64_t n, const int stream, const int add) {{
  const real {names};
  int64_t i = 0;
  if (stream)
    for (; i < n && ((uintptr_t)(y + i) & (BYTES - 1)); ++i) {{
      {single} y[i] = s;
    }}
  for (; i + {step} * LANES <= n; i += {step} * LANES) {{
{wide}
    if (stream) {{
{past}
    }} else {{
{plain}
    }}
  }}
  for (; i < n; ++i) {{
    {single} y[i] = s;
  }}
}}
static void dia_pass{count}(const real *const *a, const real *const *x, real *y, int64_t n, int stream, int add) {{
  if (stream) add ? dia_loop{count}(a, x, y, n, 1, 1) : dia_loop{count}(a, x, y, n, 1, 0);
  else add ? dia_loop{count}(a, x, y, n, 0, 1) : dia_loop{count}(a, x, y, n, 0, 0);
}}"""

_RANGES = """
struct dia { int64_t rows, columns, count; const int64_t *offset; const real *const *diagonal; };
typedef void dia_pass(const real *const *, const real *const *, real *, int64_t, int, int);
static dia_pass *const dia_passes[DEPTH] = {TABLE};
/* y[from ... to - 1] (+)= the products of diagonals first ... last - 1, which all these rows meet. */
static void dia_range(const struct dia *m, int64_t first, int64_t last, const real *x, real *y, int64_t from,
                      int64_t to, int stream, int add) {
  const int one = last - first <= DEPTH;
  const int64_t high = one ? to - from : BLOCK;
  if (first == last && !add)
    for (int64_t i = from; i < to; ++i) y[i] = 0;
  for (int64_t row = from; row < to; row += high) {
    const int64_t n = least(high, to - row);
    for (int64_t d = first; d < last; d += DEPTH) {
      const int64_t k = least(DEPTH, last - d);
      const real *a[DEPTH], *b[DEPTH];
      for (int64_t j = 0; j < k; ++j) {
        const int64_t o = m->offset[d + j];
        a[j] = m->diagonal[d + j] + (o < 0 ? row + o : row);
        b[j] = x + row + o;
      }
      dia_passes[k - 1](a, b, y + row, n, one && stream, add || d > first);
    }
  }
}
/* y[from ... to - 1] (+)= these rows of A x. */
static void dia_rows(const struct dia *m, const real *x, real *y, int64_t from, int64_t to, int stream, int add) {
  for (int64_t row = from; row < to;) {
    int64_t first = 0, last = m->count, end = to;
    while (first < last && m->offset[first] < -row) ++first;
    while (last > first && m->offset[last - 1] >= m->columns - row) --last;
    /* the next row that meets one more below, or one less above */
    if (first > 0) end = least(end, -m->offset[first - 1]);
    if (last > first) end = least(end, m->columns - m->offset[last - 1]);
    dia_range(m, first, last, x, y, row, end, stream, add);
    row = end;
  }
  if (stream) settle();
}
"""

_ENTRY = """
void ENTRY(void *const *array, const int64_t *size, void *work, const void *unused) {
  (void)work; (void)unused;
  const struct dia m = {size[0], size[1], size[2], array[2], array[3]};
  const real *x = array[0];
  real *y = array[1];
  const int stream = (int)size[4], add = (int)size[5];
#ifdef _OPENMP
  const int threads = (int)size[3];
  if (threads > 1) {
#pragma omp parallel num_threads(threads)
    {
      const int t = omp_get_thread_num(), all = omp_get_num_threads();
      dia_rows(&m, x, y, share(m.rows, t, all), share(m.rows, t + 1, all), stream, add);
    }
    return;
  }
#endif
  dia_rows(&m, x, y, 0, m.rows, stream, add);
}
"""
