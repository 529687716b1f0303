"""GPU kernels of recurrences: orthogonal tiles in wavefronts, a group per tile and a thread per sub-tile.

A launch computes the tiles of one anti-diagonal. In a tile, thread p owns the ``sub`` columns of its sub-tile and
computes row r in turn r + p, so that a tile takes t + s / sub - 1 turns, as the time model counts them. The rows above
that reads need stay in the thread's registers; the last columns of a row are handed to the next thread on chip, two
sets in turn, so that one barrier per turn is enough. Small matrices are copied to the chip.

Between tiles, edges lie in memory: for every table three sets of the rows above (tile (a, b) reads set a mod 3 and
writes the next one, while tile (a + 1, b - 1) reads that and writes the third) and two of the columns on the left.
Memory is linear in the extents unless the tables are wanted.
"""

import re

from tilewright.base.constants import MAX_BLOCK_THREADS, STATIC_SHARED
from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.print.elements import GPU_ELEMENTS, itemsize
from tilewright.codegen.print.gpu import gpu_literal
from tilewright.codegen.print.gpu_prelude import helper_name, prelude
from tilewright.codegen.source import EntryPoint, KernelSource
from tilewright.codegen.tables.cpu import fold_text
from tilewright.codegen.tables.expression import Places, Words, check_fits, lower
from tilewright.programs.expression import Apply, Read
from tilewright.programs.table import Recurrence
from tilewright.tilings.orthogonal import passed_bytes
from tilewright.tilings.unrolling import TableShape

ABOVE, BESIDE = 3, 2
"""Sets of edges that are kept."""
_UNSIGNED = {
    "opencl": {"int32": "uint", "int64": "ulong"},
    "cuda": {"int32": "unsigned int", "int64": "unsigned long long"},
}
_FUNCTIONS = ("exp", "log", "sqrt")


def emit_gpu_table(
    program: Recurrence, dtype: str, floating: tuple[str, ...], shape: TableShape, dialect: str
) -> KernelSource[None]:
    """Write the kernel of a recurrence; extents, rows of a tile, scalars and matrices are its parameters.

    Its arguments are, for every table, the rows above (3 x ``up`` x ``left + n``), the columns on the left
    (2 x ``m`` x ``left``) and the table (``m`` x ``n``, or anything unless it is wanted); then the inputs in order, the
    last cell of the first table, what its cells join to (one value per row of tiles and thread) and the scalars, all
    of them pointers; then m, n, t, the number of the wavefront, its first row of tiles, whether tables are wanted and
    whether cells are joined; then rows and columns of every matrix; and memory on chip for all matrices, if any.

    Args:
        program: The recurrence; no read goes up and to the right.
        dtype: Element type of the tables.
        floating: Inputs whose values are of the tables' type; the others are whole numbers of 32 bits.
        shape: Threads and sub-tiles.
        dialect: ``opencl`` or ``cuda``.

    Returns:
        The source, with one kernel.

    Raises:
        UsageError: If a tile cannot be run by one group, or an operator has no code.
    """
    up, left = program.reach
    passed = passed_bytes(program, shape.threads, itemsize(dtype))
    _check(program, shape, passed)
    key = fingerprint("gpu table", program, dtype, floating, shape, dialect, _KERNEL)[:12]
    entry = f"tw_table_{re.sub(r'[^a-z0-9]+', '_', program.name.lower())[:40]}_{key}"
    values = {
        "ENTRY": entry,
        "THREADS": str(shape.threads),
        "PARAMETERS": "\n    ".join(_parameters(program, floating)),
        "BEGIN": "\n".join(_begin(program, floating, shape)),
        "TURN": "\n".join(_turn(program, floating)),
        "BODY": "\n".join(_body(program, dtype, floating, shape, dialect)),
        "END": "\n".join(_end(program)),
        "ROOM": " TW_ROOM_PARAM(real, room)" if _on_chip(program, shape) else "",
        "CHIP": "  TW_ROOM(real, room)\n" if _on_chip(program, shape) else "",
    }
    text = _KERNEL
    for name, value in values.items():
        text = text.replace(f"${name}$", value)
    ops = {node.op for s in program.statements for node in s.tape if isinstance(node, Apply)}
    head = prelude(dialect, [dtype], [(name, dtype) for name in _FUNCTIONS if name in ops], strict=True)
    numbers = {"TABLES": len(program.tables), "UP": up, "LEFT": left, "SUB": shape.sub, "THREADS": shape.threads}
    names = ", ".join(f"{name} = {value}" for name, value in numbers.items())
    fold = f"TW_FUNCTION real fold(real a, real b) {{ return {fold_text(program, dtype)}; }}"
    return KernelSource(
        text=f"{head}typedef {GPU_ELEMENTS[dtype]} real;\nenum {{ {names}, HALO = {max(1, left)} }};\n{fold}\n\n{text}",
        dialect=dialect,
        kernels=(EntryPoint(entry=entry, threads=shape.threads, shared_bytes=passed),),
        layout=None,
        strict=True,
        double=dtype == "float64",
    )


def _check(program: Recurrence, shape: TableShape, passed: int) -> None:
    left = program.reach[1]
    if any(offset[1] > 0 for offsets in program.reads.values() for offset in offsets):
        raise UsageError(f"{program.name!r} has no kernel of orthogonal tiles: a read goes up and to the right")
    if shape.sub < left:
        raise UsageError(
            f"a thread's sub-tile of {shape.sub} columns is smaller than the {left} that {program.name!r} reaches back",
            f"make sub at least {left}",
        )
    if shape.threads > MAX_BLOCK_THREADS or passed > STATIC_SHARED:
        raise UsageError(
            f"a tile of {shape.threads} sub-tiles is more than one group of threads can run", "make s / sub smaller"
        )


def _on_chip(program: Recurrence, shape: TableShape) -> tuple[str, ...]:
    """Matrices that are copied to the chip."""
    return tuple(each.name for each in program.inputs if each.kind == "matrix" and shape.chip)


def _kind(name: str, program: Recurrence, floating: tuple[str, ...]) -> str:
    """The type of an input's values."""
    matrix = next(each.kind for each in program.inputs if each.name == name) == "matrix"
    return "real" if matrix or name in floating else "int"


def _parameters(program: Recurrence, floating: tuple[str, ...]) -> list[str]:
    lines = [
        f"TW_GLOBAL real *above_{name}, TW_GLOBAL real *beside_{name}, TW_GLOBAL real *whole_{name},"
        for name in program.tables
    ]
    lines += [f"TW_GLOBAL const {_kind(each.name, program, floating)} *in_{each.name}," for each in program.inputs]
    matrices = [each.name for each in program.inputs if each.kind == "matrix"]
    sizes = "".join(f", int tall_{name}, int wide_{name}" for name in matrices)
    lines.append("TW_GLOBAL real *last, TW_GLOBAL real *folded, TW_GLOBAL const real *scalars,")
    lines.append(f"int m, int n, int t, int wave, int first, int wanted, int joined{sizes}")
    return lines


def _begin(program: Recurrence, floating: tuple[str, ...], shape: TableShape) -> list[str]:
    """Scalars, matrices, the columns' inputs and the rows above."""
    lines = [f"  const real c_{name} = scalars[{number}];" for number, name in enumerate(program.scalars)]
    place = "room"
    for name in _on_chip(program, shape):
        lines.append(f"  TW_LOCAL real *const chip_{name} = {place};")
        place = f"chip_{name} + tall_{name} * wide_{name}"
        lines.append(f"  for (int z = p; z < tall_{name} * wide_{name}; z += THREADS) chip_{name}[z] = in_{name}[z];")
    for each in program.inputs:
        if each.kind == "column":
            lines.append(f"  {_kind(each.name, program, floating)} x_{each.name}[SUB];")
            lines.append(f"  TW_UNROLL\n  for (int c = 0; c < SUB; ++c) x_{each.name}[c] = in_{each.name}[AT(c)];")
    for name in program.tables:
        lines.append(f"  real w_{name}[UP + 1][LEFT + SUB];")
        lines.append(
            "  TW_UNROLL\n  for (int u = 1; u <= UP; ++u)\n    TW_UNROLL\n    for (int c = 0; c < LEFT + SUB; ++c)\n"
            f"      w_{name}[u][c] = above_{name}[ROW(a, u) + tw_min(j0 + c, LEFT + n - 1)];"
        )
    corners = "; ".join(f"above_{name}[ROW(a + 1, u) + q] = beside_{name}[z]" for name in program.tables)
    lines.append(
        "  if (b == 0 && p == 0 && a + 1 < tall)\n    for (int u = 1; u <= UP; ++u)\n"
        f"      for (int q = 0; q < LEFT; ++q) {{ const tw_wide z = (tw_wide)(i0 + t - u) * LEFT + q; {corners}; }}"
    )
    return lines


def _turn(program: Recurrence, floating: tuple[str, ...]) -> list[str]:
    """The rows' inputs, and what comes from the left."""
    lines = [
        f"      const {_kind(each.name, program, floating)} y_{each.name} = in_{each.name}[i];"
        for each in program.inputs
        if each.kind == "row"
    ]
    lines += [
        "      TW_UNROLL\n      for (int q = 0; q < LEFT; ++q)\n"
        f"        w_{name}[0][q] = p ? passed[PASSED(d + 1, p - 1, {number}) + q] : beside_{name}[LEFTS(b) + q];"
        for number, name in enumerate(program.tables)
    ]
    return lines


def _words(program: Recurrence, floating: tuple[str, ...], dialect: str) -> Words:
    def literal(value: float, dtype: str) -> str:
        if not dtype.startswith("float"):
            check_fits(value, dtype)
        return f"((real){gpu_literal(value, dtype)})"

    return Words(
        types=dict.fromkeys(GPU_ELEMENTS, "real"),
        leaf=lambda read: "real" if read.field in program.tables else _kind(read.field, program, floating),
        literal=literal,
        function=helper_name,
        unsigned=_UNSIGNED[dialect],
    )


def _body(program: Recurrence, dtype: str, floating: tuple[str, ...], shape: TableShape, dialect: str) -> list[str]:
    kinds = {each.name: each.kind for each in program.inputs}
    left = program.reach[1]

    def read(node: Read) -> str:
        if node.field not in kinds:
            if not any(node.offset):
                return f"now_{node.field}"
            return f"w_{node.field}[{-node.offset[0]}][c + {left + node.offset[1]}]"
        if kinds[node.field] == "cell":
            return f"in_{node.field}[(tw_wide)i * n + AT(c)]"
        return f"x_{node.field}[c]" if kinds[node.field] == "column" else f"y_{node.field}"

    places = Places(
        read=read,
        lookup=lambda name, row, column: f"{'chip' if shape.chip else 'in'}_{name}[{row} * wide_{name} + {column}]",
        dtype=dtype,
        words=_words(program, floating, dialect),
    )
    lines = []
    for number, statement in enumerate(program.statements):
        body, value = lower(statement.tape, places, f"v{number}_")
        lines += [f"        {line}" for line in body]
        lines.append(f"        const real now_{statement.table} = {value};")
        lines.append(f"        w_{statement.table}[0][LEFT + c] = now_{statement.table};")
    first = program.tables[0]
    stores = " ".join(f"whole_{name}[(tw_wide)i * n + j0 + c] = now_{name};" for name in program.tables)
    lines.append(f"        if (wanted && c < own) {{ {stores} }}")
    lines.append(f"        if (joined && c < own) sum = fold(sum, now_{first});")
    lines.append(f"        if (i == m - 1 && j0 + c == n - 1) *last = now_{first};")
    return lines


def _end(program: Recurrence) -> list[str]:
    """What goes to the right and, a row further, up."""
    lines = []
    for number, name in enumerate(program.tables):
        lines.append(
            "      TW_UNROLL\n      for (int q = 0; q < LEFT; ++q) {\n"
            f"        if (p == THREADS - 1) beside_{name}[LEFTS(b + 1) + q] = w_{name}[0][SUB + q];\n"
            f"        else passed[PASSED(d, p, {number}) + q] = w_{name}[0][SUB + q];\n      }}"
        )
        lines.append(
            "      TW_UNROLL\n      for (int u = UP; u > 0; --u)\n        TW_UNROLL\n"
            f"        for (int c = 0; c < LEFT + SUB; ++c) w_{name}[u][c] = w_{name}[u - 1][c];"
        )
    lines.append("    }\n    TW_BARRIER();\n  }\n  if (a + 1 < tall) {")
    lines += [
        "    TW_UNROLL\n    for (int u = 1; u <= UP; ++u)\n      TW_UNROLL\n      for (int c = 0; c < SUB; ++c)\n"
        f"        if (c < own) above_{name}[ROW(a + 1, u) + LEFT + j0 + c] = w_{name}[u][LEFT + c];"
        for name in program.tables
    ]
    return lines


_KERNEL = """#define AT(c) tw_min(j0 + (c), n - 1)
#define ROW(a, u) ((tw_wide)((a) % 3 * UP + UP - (u)) * (LEFT + n))
#define LEFTS(b) (((tw_wide)((b) & 1) * m + i) * LEFT)
#define PASSED(d, p, k) (((((d) & 1) * THREADS + (p)) * TABLES + (k)) * HALO)
TW_KERNEL($THREADS$) $ENTRY$(
    $PARAMETERS$$ROOM$) {
$CHIP$  TW_SHARED real passed[2 * THREADS * TABLES * HALO];
  const int a = first + TW_GROUP, b = wave - a, p = TW_THREAD;
  const int tall = (m + t - 1) / t, i0 = a * t, rows = tw_min(t, m - i0);
  const int j0 = (b * THREADS + p) * SUB, own = tw_min(SUB, n - j0);
$BEGIN$
  real sum = folded[a * THREADS + p];
  TW_BARRIER();
  for (int d = 0; d < rows + THREADS - 1; ++d) {
    const int r = d - p;
    if (r >= 0 && r < rows) {
      const int i = i0 + r;
$TURN$
      TW_UNROLL
      for (int c = 0; c < SUB; ++c) {
$BODY$
      }
$END$
  }
  folded[a * THREADS + p] = sum;
}
"""
