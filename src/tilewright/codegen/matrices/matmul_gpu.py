"""OpenCL and CUDA kernels of two fused products that never store the intermediate.

One text for both, behind the macros of every GPU text (``gpu_prelude``). A group owns a block of R's rows (left
fusion) or columns (right) and keeps a block X by Y of the intermediate T in shared memory, as
:mod:`tilewright.costs.chain` counts it. Both products run on the same routine: slices of depth Z of the two operands
are staged in shared memory, and every thread multiplies ROWS by COLUMNS cells in registers. Off-chip words move
through LOAD and STORE only, which count them if asked to.
"""

from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.print.elements import GPU_ELEMENTS
from tilewright.codegen.print.gpu_prelude import DIALECTS, prelude
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.tilings.unrolling import GroupBlock

_BYTES = {"float32": 4, "float64": 8}


def emit_gpu(fusion: str, dtype: str, dialect: str, block: GroupBlock, *, counting: bool = False) -> KernelSource[None]:
    """Write a fused kernel for a GPU; all matrix sizes are its parameters.

    Arguments are A1, A2, A3, R (row-major, contiguous) and P0 … P3 as ints; a counting kernel takes a pointer to one
    unsigned int after them.

    Args:
        fusion: ``left`` or ``right``.
        dtype: ``float32`` or ``float64``.
        dialect: ``opencl`` or ``cuda``.
        block: How a group cuts its work.
        counting: Count the words that move between memory and chip.

    Returns:
        The source.

    Raises:
        UsageError: If there is no such kernel, or the block's sizes do not divide.
    """
    if dialect not in DIALECTS or fusion not in {"left", "right"} or dtype not in _BYTES:
        raise UsageError(
            f"there is no fused kernel {fusion!r} for {dtype!r} in {dialect!r}",
            f"fusions are left and right, types {', '.join(_BYTES)}, dialects {', '.join(DIALECTS)}",
        )
    (x, y), (rows, columns) = block.tile, block.cells
    if min(x, y, rows, columns, block.depth) < 1 or x % rows or y % columns:
        raise UsageError(f"a thread's cells {block.cells} must divide the tile {block.tile}")
    entry = f"tw_fused_{fusion}_{fingerprint(fusion, dtype, dialect, block, counting)[:12]}"
    constants = {
        "X": x,
        "Y": y,
        "Z": block.depth,
        "ROWS": rows,
        "COLUMNS": columns,
        "ACROSS": y // columns,
        "DOWN": x // rows,
        "THREADS": block.threads,
    }
    lines = [
        prelude(dialect, (dtype,), index=False),
        f"typedef {GPU_ELEMENTS[dtype]} real;",
        *(f"#define {key} {value}" for key, value in constants.items()),
    ]
    lines += [
        _COUNTED if counting else _UNCOUNTED,
        _MULTIPLY,
        (_LEFT if fusion == "left" else _RIGHT).replace("ENTRY", entry),
    ]
    shared = (x * y + (x + y) * block.depth) * _BYTES[dtype]
    return KernelSource(
        text="\n".join(lines) + "\n",
        dialect=dialect,
        kernels=(EntryPoint(entry=entry, threads=block.threads, shared_bytes=shared),),
        layout=None,
        double=dtype == "float64",
    )


_UNCOUNTED = """#define COUNTER
#define PASS
#define LOAD(a, i) ((a)[i])
#define STORE(a, i, v) ((a)[i] = (v))"""

_COUNTED = """#define COUNTER , TW_GLOBAL unsigned int *count
#define PASS , count
#define LOAD(a, i) (TW_COUNT(count), (a)[i])
#define STORE(a, i, v) (TW_COUNT(count), (a)[i] = (v))"""

_MULTIPLY = """
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
}"""

_START = """
TW_KERNEL(THREADS) ENTRY(TW_GLOBAL const real *a1, TW_GLOBAL const real *a2, TW_GLOBAL const real *a3,
                         TW_GLOBAL real *r, int p0, int p1, int p2, int p3 COUNTER) {
  TW_SHARED real t[X * Y];
  TW_SHARED real sa[X * Z];
  TW_SHARED real sb[Z * Y];
  real cell[ROWS * COLUMNS];"""

_LEFT = (
    _START
    + """
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
}"""
)

_RIGHT = (
    _START
    + """
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
}"""
)
