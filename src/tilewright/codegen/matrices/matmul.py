"""C kernels of two fused products that never store the intermediate.

    left   R = (A1 A2) A3: per block of rows and of the intermediate's columns, T = A1 A2 on chip, then R (+)= T A3
    right  R = A1 (A2 A3): per block of columns and of the intermediate's rows, T = A2 A3 on chip, then R (+)= A1 T

(thesis of Prajapati, algorithms 5 and 9, tiled). Both run on one register-blocked micro-kernel, C (+)= A B for a few
rows of A, whose elements are broadcast, and a panel of B: columns for a few vectors, row after row. T is the broadcast
operand of a left fusion and the panel operand of a right one, so it is laid out accordingly and used in place. What is
read again and again is packed into panels once: A2 and A3 of a left fusion, a block of A3's columns of a right one.
"""

from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.print.elements import C_ELEMENTS, REALS, itemsize
from tilewright.codegen.source import KernelSource, c_source
from tilewright.tilings.unrolling import Blocking

SIZES = ("p0", "p1", "p2", "p3", "s1", "s2", "t2", "s3", "t3", "sr", "x", "y", "threads")
"""What ``size`` holds: P0 … P3, row and column strides in elements (A1 and, of a right fusion, A2 have unit column
stride), the tile and the number of threads."""


def work_elements(
    fusion: str, width: int, sizes: tuple[int, int, int, int], tile: tuple[int, int], threads: int
) -> int:
    """Return how many elements of memory a kernel works in: its tiles of the intermediate, and its panels.

    Args:
        fusion: ``left`` or ``right``.
        width: Columns of a panel.
        sizes: P0 … P3.
        tile: Rows and columns of the intermediate's block.
        threads: Threads.

    >>> work_elements("left", 24, (100, 24, 24, 24), (8, 24), 2)
    1536
    """
    _, p1, p2, p3 = sizes
    x, y = tile
    columns = -(-y // width) * width
    if fusion == "left":
        blocks, rest = divmod(p2, y)
        second = blocks * columns + -(-rest // width) * width
        return p1 * second + p2 * -(-p3 // width) * width + threads * x * columns
    return threads * (p2 + x) * columns


def emit_fused(fusion: str, dtype: str, blocking: Blocking) -> KernelSource[None]:
    """Write a fused kernel; all sizes are its parameters.

    ``array`` holds pointers to A1, A2, A3 and R, ``size`` what :data:`SIZES` says, ``work`` points to as many elements
    as :func:`work_elements` says, aligned to a vector.

    Args:
        fusion: ``left`` or ``right``.
        dtype: ``float32`` or ``float64``.
        blocking: Register blocking; vectors wider than the machine's work, slower.

    Returns:
        The source.

    Raises:
        UsageError: If there is no such kernel.
    """
    if dtype not in REALS:
        raise UsageError(f"fused products compute in {' or '.join(REALS)}, got {dtype!r}")
    if fusion not in {"left", "right"}:
        raise UsageError(f"a fusion is 'left' or 'right', got {fusion!r}")
    entry = f"tw_fused_{fusion}_{fingerprint(fusion, dtype, blocking)[:12]}"
    name, size = C_ELEMENTS[dtype], itemsize(dtype)
    head = _HEAD.format(
        type=name,
        bytes=blocking.vector_bytes,
        lanes=blocking.vector_bytes // size,
        rows=blocking.rows,
        vectors=blocking.vectors,
        depth=blocking.depth,
    )
    micro = [
        _micro(rows, vectors) for rows in range(1, blocking.rows + 1) for vectors in range(1, blocking.vectors + 1)
    ]
    parts = (
        head,
        *micro,
        _table(blocking),
        _BLOCK,
        _PACK,
        (_LEFT if fusion == "left" else _RIGHT).replace("ENTRY", entry),
    )
    return c_source("\n".join(parts), entry)


def _micro(rows: int, vectors: int) -> str:
    """Write C[rows x vectors] (+)= A[rows x k] B[k x vectors], everything in registers while k runs."""
    cells = [(i, j) for i in range(rows) for j in range(vectors)]
    place = "*(vector *)(c + {i} * sc + {j} * LANES)"
    first = " ".join(f"vector c{i}_{j} = add ? {place.format(i=i, j=j)} : zero;" for i, j in cells)
    loads = " ".join(f"const vector b{j} = *(const vector *)(b + {j} * LANES);" for j in range(vectors))
    work = " ".join(f"c{i}_{j} += a[{i} * sa] * b{j};" for i, j in cells)
    last = " ".join(f"{place.format(i=i, j=j)} = c{i}_{j};" for i, j in cells)
    return (
        f"static void micro{rows}_{vectors}(long k, const real *a, long sa, const real *b, real *c, long sc, int add)"
        f" {{\n  const vector zero = {{0}};\n  {first}\n"
        f"  for (; k > 0; --k, ++a, b += PANEL) {{ {loads} {work} }}\n  {last}\n}}"
    )


def _table(blocking: Blocking) -> str:
    rows = [
        "{" + ", ".join(f"micro{i}_{j}" for j in range(1, blocking.vectors + 1)) + "}"
        for i in range(1, blocking.rows + 1)
    ]
    return (
        "typedef void kernel(long, const real *, long, const real *, real *, long, int);\n"
        f"static kernel *const kernels[ROWS][VECTORS] = {{{', '.join(rows)}}};"
    )


_HEAD = """#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif
typedef {type} real;
typedef real vector __attribute__((vector_size({bytes}), aligned(sizeof(real)), may_alias));
enum {{ LANES = {lanes}, ROWS = {rows}, VECTORS = {vectors}, PANEL = VECTORS * LANES, DEPTH = {depth} }};
static inline long least(long a, long b) {{ return a < b ? a : b; }}"""

_BLOCK = """
/* C[m x n] (+)= A[m x k] B. Row stride of A: sa; panels of B lie pb apart; rows of C sc, its panels pc. */
static void block(long m, long n, long k, const real *a, long sa, const real *b, long pb, real *c, long sc, long pc,
                  int add) {
  for (long k0 = 0; k0 < k; k0 += DEPTH) {
    const long deep = least(DEPTH, k - k0);
    const int more = add || k0;
    for (long j = 0; j < n; j += PANEL) {
      const real *panel = b + j / PANEL * pb + k0 * PANEL;
      real *target = c + j / PANEL * pc;
      const long wide = least(PANEL, n - j), vectors = (wide + LANES - 1) / LANES;
      for (long i = 0; i < m; i += ROWS) {
        const long tall = least(ROWS, m - i);
        kernel *run = kernels[tall - 1][vectors - 1];
        if (wide == vectors * LANES) {
          run(deep, a + i * sa + k0, sa, panel, target + i * sc, sc, more);
        } else {
          real edge[ROWS * PANEL] __attribute__((aligned(64)));
          if (more)
            for (long r = 0; r < tall; ++r) memcpy(edge + r * PANEL, target + (i + r) * sc, wide * sizeof(real));
          run(deep, a + i * sa + k0, sa, panel, edge, PANEL, more);
          for (long r = 0; r < tall; ++r) memcpy(target + (i + r) * sc, edge + r * PANEL, wide * sizeof(real));
        }
      }
    }
  }
}"""

_PACK = """
/* Columns first … first + PANEL - 1 of A[k x n] as a panel; columns from n on are zeros. */
static void pack(long k, long n, long first, const real *a, long sa, long ta, real *panel) {
  const long wide = least(PANEL, n - first);
  for (long i = 0; i < k; ++i, panel += PANEL) {
    const real *row = a + i * sa + first * ta;
    if (ta == 1) memcpy(panel, row, wide * sizeof(real));
    else for (long j = 0; j < wide; ++j) panel[j] = row[j * ta];
    for (long j = wide; j < PANEL; ++j) panel[j] = 0;
  }
}
static inline long panels(long n) { return (n + PANEL - 1) / PANEL; }
static inline long whole(long n) { return (n + LANES - 1) / LANES * LANES; }"""

_ARGUMENTS = """
void ENTRY(void *const *array, const long *size, real *work, const void *unused) {
  (void)unused;
  const real *a1 = array[0], *a2 = array[1], *a3 = array[2];
  real *r = array[3];
  const long p0 = size[0], p1 = size[1], p2 = size[2], p3 = size[3], s1 = size[4], s2 = size[5], t2 = size[6];
  const long s3 = size[7], t3 = size[8], sr = size[9], x = size[10], y = size[11];
  const int threads = (int)size[12];
  const long columns = panels(y) * PANEL;
  (void)threads; (void)t2;"""

_LEFT = (
    _ARGUMENTS
    + """
  const long per = panels(y), full = p2 / y, second = full * per + panels(p2 - full * y), third = panels(p3);
  real *const packed2 = work, *const packed3 = packed2 + second * PANEL * p1;
  real *const tiles = packed3 + third * PANEL * p2;
  #pragma omp parallel num_threads(threads)
  {
    #pragma omp for schedule(static) nowait
    for (long n = 0; n < second; ++n) {
      const long j0 = n / per * y;
      pack(p1, least(y, p2 - j0), n % per * PANEL, a2 + j0 * t2, s2, t2, packed2 + n * PANEL * p1);
    }
    #pragma omp for schedule(static)
    for (long n = 0; n < third; ++n) pack(p2, p3, n * PANEL, a3, s3, t3, packed3 + n * PANEL * p2);
    #pragma omp for schedule(dynamic)
    for (long i = 0; i < p0; i += x) {
      const long tall = least(x, p0 - i);
#ifdef _OPENMP
      real *const tile = tiles + omp_get_thread_num() * x * columns;
#else
      real *const tile = tiles;
#endif
      for (long j = 0; j < p2; j += y) {
        const long wide = least(y, p2 - j);
        block(tall, whole(wide), p1, a1 + i * s1, s1, packed2 + j / y * per * PANEL * p1, PANEL * p1,
              tile, columns, PANEL, 0);
        block(tall, p3, wide, tile, columns, packed3 + j * PANEL, PANEL * p2, r + i * sr, sr, PANEL, j > 0);
      }
    }
  }
}"""
)

_RIGHT = (
    _ARGUMENTS
    + """
  #pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (long j = 0; j < p3; j += y) {
    const long wide = least(y, p3 - j), count = panels(wide);
#ifdef _OPENMP
    real *const own = work + omp_get_thread_num() * (p2 + x) * columns;
#else
    real *const own = work;
#endif
    real *const tile = own + p2 * columns;
    for (long n = 0; n < count; ++n) pack(p2, wide, n * PANEL, a3 + j * t3, s3, t3, own + n * PANEL * p2);
    for (long i = 0; i < p1; i += x) {
      const long tall = least(x, p1 - i);
      block(tall, whole(wide), p2, a2 + i * s2, s2, own, PANEL * p2, tile, PANEL, x * PANEL, 0);
      block(p0, wide, tall, a1 + i, s1, tile, x * PANEL, r + j, sr, PANEL, i > 0);
    }
  }
}"""
)
