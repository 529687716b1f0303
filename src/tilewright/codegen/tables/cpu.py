"""C kernels of recurrences: orthogonal tiles in wavefronts, anti-diagonals in vectors inside a tile.

A thread owns every so many rows of tiles and walks to the right; it waits for the tile above, so that the tiles of an
anti-diagonal run at the same time. In a tile, value (r, c) of a table lies at place r of the row d = r + c of a ring,
so that a read at (-p, -q) is a read at place r - p of the row d - p - q, contiguous along the anti-diagonal: the inner
loop has no dependence and the compiler turns it into vectors. What a tile needs from around it is copied into the ring
as its rows come up, and what others need is copied out, so memory is linear in the extents unless the tables are
wanted. Wanted tables get their cells some anti-diagonals at a time, in runs along their rows.
"""

import re

from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.print.elements import C_ELEMENTS
from tilewright.codegen.source import KernelSource, c_source
from tilewright.codegen.tables.expression import C, Places, lower
from tilewright.programs.expression import Read
from tilewright.programs.table import Recurrence

SIZES = ("m", "n", "t", "s", "threads", "tables", "fold", "own")
"""What ``size`` holds: extents, the tile, threads, whether tables are wanted, whether all cells are folded, and bytes
of ``work`` per thread; then the columns of every matrix."""


def work_bytes(program: Recurrence, itemsize: int, tile: tuple[int, int], kept: int) -> int:
    """Return the bytes that a thread works in, a multiple of 64.

    Args:
        program: The recurrence.
        itemsize: Bytes per value.
        tile: Rows and columns of a tile.
        kept: Anti-diagonals after which a wanted table's cells are copied into it.
    """
    up, left = program.reach
    rows = (up + left + 1) * (tile[0] + up) + tile[0] * left + 2 * up * left + kept * (tile[0] + kept)
    columns = sum(each.kind == "column" for each in program.inputs)
    return (len(program.tables) * rows * itemsize + 64 + columns * 8 * tile[1] + 127) // 64 * 64


def emit_table(program: Recurrence, dtype: str, floating: tuple[str, ...], kept: int) -> KernelSource[None]:
    """Write the kernel of a recurrence; extents, tiles, scalars and matrices are its parameters.

    ``array`` holds pointers to, for every table: the rows above (``up`` x ``left + n``), the columns on the left
    (``m`` x ``left``) and the table (``m`` x ``n``); then the inputs in order, the flags (128 bytes per row of tiles)
    and the results: the last cell of the first table, and what its cells fold to, one per row of tiles. ``size`` holds
    what :data:`SIZES` says, the last argument pointers to the scalars.

    Args:
        program: The recurrence; no read goes up and to the right.
        dtype: Element type of the tables.
        floating: Inputs whose values are of the tables' type; the others are whole numbers of 32 bits.
        kept: Anti-diagonals after which a wanted table's cells are copied into it.

    Returns:
        The source.

    Raises:
        UsageError: If the recurrence cannot be cut into orthogonal tiles, or an operator has no C code.
    """
    offsets = [offset for many in program.reads.values() for offset in many]
    if dtype not in C_ELEMENTS or any(o[1] > 0 for o in offsets):
        raise UsageError(f"{program.name!r} has no kernel of orthogonal tiles in {dtype}", "use backend='numpy'")
    key = fingerprint("table", program, dtype, floating, _UNIT, _TILE, kept)[:12]
    entry = f"tw_table_{re.sub(r'[^a-z0-9]+', '_', program.name.lower())[:40]}_{key}"
    kinds = tuple(
        C_ELEMENTS[dtype] if each.kind == "matrix" or each.name in floating else "int32_t" for each in program.inputs
    )
    up, left = program.reach
    names = {
        "ENTRY": entry,
        "TYPE": C_ELEMENTS[dtype],
        "TABLES": str(len(program.tables)),
        "UP": str(up),
        "LEFT": str(left),
        "KEPT": str(kept),
        "FOLD": fold_text(program, dtype),
        "BODY": "\n".join(_body(program, dtype)),
        "DECLARE": "\n".join(_declarations(program, kinds)),
        "ROWS": "\n".join(_rows(program, kinds)),
        "BACK": "\n".join(_reversed(program, kinds)),
    }
    text = _UNIT.replace("$TILE", _TILE)
    for name, value in names.items():
        text = text.replace(f"${name}$", value)
    return c_source(text, entry, strict=True)


def fold_text(program: Recurrence, dtype: str) -> str:
    """Write how a and b are joined by the semiring's addition."""
    nan = " | (b != b)" if dtype.startswith("float") else ""
    return {
        "maximum": f"((b > a){nan}) ? b : a",
        "minimum": f"((b < a){nan}) ? b : a",
        "or": "a | b",
    }[program.semiring.plus]


def _declarations(program: Recurrence, kinds: tuple[str, ...]) -> list[str]:
    """Name the inputs and the scalars."""
    first = 3 * len(program.tables)
    lines = [
        f"  const {kind} *const in_{each.name} = array[{first + number}];"
        for number, (each, kind) in enumerate(zip(program.inputs, kinds, strict=True))
    ]
    lines.append(f"  flag *const flags = array[{first + len(kinds)}];")
    lines.append(
        f"  real *const last = array[{first + len(kinds) + 1}], *const folded = array[{first + len(kinds) + 2}];"
    )
    matrices = [each.name for each in program.inputs if each.kind == "matrix"]
    lines += [f"  const int64_t wide_{name} = size[{len(SIZES) + number}];" for number, name in enumerate(matrices)]
    lines += [
        f"  const real c_{name} = *(const real *)scalar[{number}];" for number, name in enumerate(program.scalars)
    ]
    return lines


def _reversed(program: Recurrence, kinds: tuple[str, ...]) -> list[str]:
    """Copy the columns' inputs backwards, so that they are contiguous along an anti-diagonal."""
    lines = []
    pairs = [(each.name, kind) for each, kind in zip(program.inputs, kinds, strict=True) if each.kind == "column"]
    for number, (name, kind) in enumerate(pairs):
        lines.append(f"        {kind} *const back_{name} = ({kind} *)(backs + {number} * 8 * s);")
        lines.append(f"        for (int64_t c = 0; c < columns; ++c) back_{name}[columns - 1 - c] = in_{name}[j0 + c];")
    return lines


def _rows(program: Recurrence, kinds: tuple[str, ...]) -> list[str]:
    """Name the rows of the ring that the inner loop reads and writes."""
    distances = {(name, -o[0] - o[1]) for name, offsets in program.reads.items() for o in offsets}
    place = {name: number for number, name in enumerate(program.tables)}
    lines = [
        f"        const real *restrict const {name}_{far} = AT({place[name]}, d - {far});"
        for name, far in sorted(distances)
    ]
    lines += [f"        real *restrict const {name}_0 = AT({number}, d);" for name, number in place.items()]
    for each, kind in zip(program.inputs, kinds, strict=True):
        if each.kind == "row":
            lines.append(f"        const {kind} *restrict const at_{each.name} = in_{each.name} + i0;")
        elif each.kind == "column":
            lines.append(f"        const {kind} *restrict const at_{each.name} = back_{each.name} + columns - 1 - d;")
    return lines


def _body(program: Recurrence, dtype: str) -> list[str]:
    kinds = {each.name: each.kind for each in program.inputs}

    def read(node: Read) -> str:
        if node.field not in kinds:
            if not any(node.offset):
                return f"now_{node.field}"
            return f"{node.field}_{-node.offset[0] - node.offset[1]}[r - {-node.offset[0]}]"
        if kinds[node.field] == "cell":
            return f"in_{node.field}[(i0 + r) * n + j0 + d - r]"
        return f"at_{node.field}[r]"

    places = Places(
        read=read,
        lookup=lambda name, row, column: f"in_{name}[{row} * wide_{name} + {column}]",
        dtype=dtype,
        words=C,
    )
    lines = []
    for number, statement in enumerate(program.statements):
        body, value = lower(statement.tape, places, f"v{number}_")
        lines += [f"          {line}" for line in body]
        lines.append(f"          const real now_{statement.table} = {value};")
        lines.append(f"          {statement.table}_0[r] = now_{statement.table};")
    return lines


_TILE = """
      for (int64_t k = 0; k < TABLES; ++k)
        for (int64_t p = 0; p < UP; ++p)
          for (int64_t q = 0; q < LEFT; ++q)
            if (columns - LEFT + q >= 0)
              next[(k * UP + p) * LEFT + q] = above(k)[p * (LEFT + n) + j0 + columns + q];
      for (int64_t d = -(UP + LEFT); d < rows + columns - 1; ++d) {
        for (int64_t k = 0; k < TABLES; ++k) {
          real *const row = AT(k, d);
          for (int64_t r = -UP; r < 0; ++r) {
            const int64_t c = d - r;
            if (c >= -LEFT && c < columns)
              row[r] = c < 0 ? corner[(k * UP + r + UP) * LEFT + c + LEFT]
                             : above(k)[(r + UP) * (LEFT + n) + LEFT + j0 + c];
          }
          for (int64_t c = -LEFT; c < 0; ++c)
            if (d - c >= 0 && d - c < rows) row[d - c] = beside[(k * t + d - c) * LEFT + c + LEFT];
        }
        const int64_t low = max64(0, d - columns + 1), high = min64(rows - 1, d);
        if (d < 0) continue;
$ROWS$
#pragma GCC ivdep
        for (int64_t r = low; r <= high; ++r) {
$BODY$
        }
        for (int64_t k = 0; k < TABLES; ++k) {
          const real *const row = AT(k, d);
          for (int64_t r = max64(low, rows - UP); r <= high; ++r)
            above(k)[(r - rows + UP) * (LEFT + n) + LEFT + j0 + d - r] = row[r];
          for (int64_t c = max64(0, columns - LEFT); c < columns; ++c)
            if (d - c >= low && d - c <= high) beside[(k * t + d - c) * LEFT + c - columns + LEFT] = row[d - c];
          if (size[5]) {
            memcpy(kept + (k * KEPT + d % KEPT) * (t + KEPT) + low, row + low, (size_t)(high - low + 1) * sizeof(real));
            if (d % KEPT == KEPT - 1 || d == rows + columns - 2)
              keep((real *)array[3 * k + 2] + i0 * n + j0, n, kept + k * KEPT * (t + KEPT), t + KEPT, d, rows, columns);
          }
        }
        if (size[6]) {
          const real *const row = AT(0, d);
          for (int64_t r = low; r <= high; ++r) sum = fold(sum, row[r]);
        }
        if (a == tall - 1 && b == wide - 1 && d == rows + columns - 2) *last = AT(0, d)[rows - 1];
      }
      real *const old = corner;
      corner = next;
      next = old;
"""

_UNIT = """#include <stdint.h>
#include <string.h>
#include <sched.h>
#ifdef _OPENMP
#include <omp.h>
#endif
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif
typedef $TYPE$ real;
typedef struct { int64_t value; char away[120]; } flag;
enum { TABLES = $TABLES$, UP = $UP$, LEFT = $LEFT$, RING = UP + LEFT + 1, KEPT = $KEPT$ };
static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
static inline real fold(real a, real b) { return $FOLD$; }
/* Copies the last anti-diagonals of a tile, up to d, into the table's rows: runs of neighbours, not single cells. */
static void keep(real *whole, int64_t n, const real *kept, int64_t apart, int64_t d, int64_t rows, int64_t columns) {
  const int64_t first = d - d % KEPT, end = min64(rows - 1, d);
  for (int64_t r = max64(0, first - columns + 1); r <= end; ++r) {
    const int64_t from = max64(first, r), to = min64(d, r + columns - 1);
    real *const row = whole + r * (n - 1);
    const real *const column = kept + r - first * apart;
    if (to - from == KEPT - 1)
      for (int64_t e = 0; e < KEPT; ++e) row[first + e] = column[(first + e) * apart];
    else
      for (int64_t e = from; e <= to; ++e) row[e] = column[e * apart];
  }
}
static void await(const flag *other, int64_t value) {
  for (int64_t turn = 0; __atomic_load_n(&other->value, __ATOMIC_ACQUIRE) < value; ++turn)
    if (turn > 256) sched_yield();
}

void $ENTRY$(void *const *array, const int64_t *size, char *work, void *const *scalar) {
  const int64_t m = size[0], n = size[1], t = size[2], s = size[3];
  const int64_t tall = (m + t - 1) / t, wide = (n + s - 1) / s;
  (void)scalar;
$DECLARE$
#define AT(k, d) (ring + ((k) * RING + ((d) + 2 * RING) % RING) * (t + UP) + UP)
#define above(k) ((real *)array[3 * (k)])
  #pragma omp parallel num_threads((int)size[4])
  {
#ifdef _OPENMP
    const int64_t me = omp_get_thread_num(), all = omp_get_num_threads();
#else
    const int64_t me = 0, all = 1;
#endif
    char *const mine = work + me * size[7];
    real *const ring = (real *)mine, *const beside = ring + TABLES * RING * (t + UP);
    real *corner = beside + TABLES * t * LEFT, *next = corner + TABLES * UP * LEFT;
    real *const kept = next + TABLES * UP * LEFT;
    char *const backs = (char *)(((uintptr_t)(kept + TABLES * KEPT * (t + KEPT)) + 63) & ~(uintptr_t)63);
    (void)backs;
    for (int64_t a = me; a < tall; a += all) {
      const int64_t i0 = a * t, rows = min64(t, m - i0);
      real sum = folded[a];
      for (int64_t k = 0; k < TABLES; ++k) {
        const real *const edge = (const real *)array[3 * k + 1];
        memcpy(beside + k * t * LEFT, edge + i0 * LEFT, (size_t)(rows * LEFT) * sizeof(real));
        for (int64_t p = 0; p < UP; ++p)
          for (int64_t q = 0; q < LEFT; ++q)
            corner[(k * UP + p) * LEFT + q] = a ? edge[(i0 - UP + p) * LEFT + q] : above(k)[p * (LEFT + n) + q];
      }
      for (int64_t b = 0; b < wide; ++b) {
        const int64_t j0 = b * s, columns = min64(s, n - j0);
        if (a) await(flags + a - 1, b + 1);
$BACK$
$TILE
        __atomic_store_n(&flags[a].value, b + 1, __ATOMIC_RELEASE);
      }
      folded[a] = sum;
    }
  }
}
"""
