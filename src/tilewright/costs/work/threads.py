"""What generated code of hybrid tiles does on a GPU: counted from the tiling, the thread block and the program alone.

The code (Grosser et al., CGO 2014, as PPCG generates it): a thread block takes one prism or slab and runs its tiles in
sequence. For every tile it copies the bounding box of what the tile touches into shared memory, computes the rows of
the hexagon one after the other with a barrier after each, and copies the results out. All loops of a tile are
unrolled; points go to threads in turn, point i of an axis to thread i mod n_thr. Where the box does not fit into shared
memory, nothing is copied and every access goes through L1.
"""

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.base.constants import BANKS, WARP
from tilewright.base.facts import fact
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div
from tilewright.costs.facts import Facts
from tilewright.costs.work import hexagonal
from tilewright.programs.stencil.expression import Apply
from tilewright.programs.stencil.operators import SPECIAL
from tilewright.programs.stencil.program import Program

_ADDITIVE = frozenset({"add", "sub"})
_SPECIAL_SLOTS = 2

Flags = NDArray[np.bool_]
Threads = tuple[Ints, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeCounts:
    """What one point of a program costs, in instructions and accesses."""

    arithmetic: float  # arithmetic instructions per cell and step, multiplications and additions fused in pairs
    specials: int  # divisions, roots and functions, which are among them
    # for every column of reads along the hexagon's axis the offsets along that axis: the reads of ``u[-1, 0], u[0, 0],
    # u[1, 0], u[0, 1]`` are two columns, ``(-1, 0, 1)`` and ``(0,)``
    columns: tuple[tuple[int, ...], ...]
    stores: int  # values written per cell and step
    rows: int  # contiguous rows that a point reads
    rows_kept: int  # the same of a thread that keeps in registers what it has read along the hexagon's axis

    @property
    def reads(self) -> int:
        """Reads per cell and step."""
        return sum(len(column) for column in self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadWork:
    """What the code of n tilings does per tile; arrays of shape (n,)."""

    threads: Ints  # threads per block
    warps: Ints  # warps per block
    rows: Ints  # rows of the hexagon, each followed by a barrier
    # points that the busiest thread computes, idle turns included: the unrolled statements of a tile
    statements: Floats
    reads: Floats  # accesses that a thread reads for them, each from shared memory or L1
    reads_plain: Floats  # the same without any re-use in registers
    stores: Floats  # values that a thread stores for them
    straight: Flags  # one column of the tile per thread: no guards, and copies without guards
    even: Flags  # rows deal evenly to the threads, so that no statement is guarded
    copies: Floats  # rounds of copying per thread, in and out
    copy_warps: Floats  # instructions of copying per block, in and out, by warps
    box_values: Floats  # values in the bounding box that a tile touches, every copy of every field
    box_rows: Floats  # segments of contiguous values in that box
    core_values: Floats  # the box without the halo along the classic axes: what neighbouring tiles do not share
    core_rows: Floats  # segments of it
    out_values: Floats  # values copied out
    out_rows: Floats  # segments of them
    point_rows: Floats  # segments of contiguous values that a tile computes
    points: Floats  # points of a whole tile
    last: Ints  # tile size along the innermost axis
    conflicts: Ints  # most lanes of a warp that meet in one bank of shared memory
    segments: Floats  # rows that one warp spans
    step_rows: Floats  # segments of contiguous values that a row of the hexagon reads on average, over all that is read
    held_rows: Floats  # the same of all that it reads and writes
    # the same between two uses by one point of the hexagon's axis and the next: the planes that a point reads and the
    # one that it writes
    near_rows: Floats
    again: Floats  # further rows that a point reads, each of which another point has read first


@fact
def body(program: Program) -> CodeCounts:
    """Count the instructions and accesses of one point.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> body(program("j2d5pt")).arithmetic, body(program("j2d5pt")).columns
    (5.0, ((0,), (-1, 0, 1), (0,)))
    """
    ops = [node.op for statement in program.statements for node in statement.tape if isinstance(node, Apply)]
    adds, products = sum(op in _ADDITIVE for op in ops), ops.count("mul")
    specials = sum(op in SPECIAL for op in ops)
    plain = len(ops) - specials - min(adds, products)
    columns: dict[tuple[object, ...], set[int]] = {}
    for statement in program.statements:
        for read in statement.reads:
            columns.setdefault((read.field, read.level, read.offset[1:]), set()).add(read.offset[0])
    return CodeCounts(
        arithmetic=float(plain + _SPECIAL_SLOTS * specials),
        specials=specials,
        columns=tuple(tuple(sorted(columns[key])) for key in sorted(columns, key=str)),
        stores=len(program.statements),
        rows=len({(read.field, read.level, read.offset[:-1]) for each in program.statements for read in each.reads}),
        rows_kept=len(
            {(read.field, read.level, read.offset[1:-1]) for each in program.statements for read in each.reads}
        ),
    )


def count(program: Program, sizes: TileSizes, threads: Threads, facts: Facts) -> ThreadWork:
    """Count what the code of every tiling does."""
    point = body(program)
    rows = hexagonal.height(sizes, facts)
    classic = [ceil_div(size, n) for size, n in zip(sizes.space[1:], threads[1:], strict=True)]
    across = functools.reduce(np.multiply, classic, np.ones_like(rows))
    along, reads = _along(point, sizes, threads[0], rows, facts)
    block = functools.reduce(np.multiply, threads, np.ones_like(rows))
    reach = facts.slopes[0]
    alone = across == 1
    boxes = _box(sizes, rows, facts)
    fields = float(facts.copies)
    out = hexagonal.live_out(sizes, facts) * facts.levels * sizes.inner
    turns = functools.reduce(np.multiply, [ceil_div(b, n) for b, n in zip(boxes, threads, strict=True)])
    segments = fields * functools.reduce(np.multiply, boxes[:-1])
    inner = sizes.inner // sizes.space[-1]
    face = hexagonal.face_points(sizes, facts)
    read, written = _step_rows(sizes, face / rows, facts)
    return ThreadWork(
        threads=block,
        warps=ceil_div(block, WARP),
        rows=rows,
        statements=along * across / facts.stages,
        reads=np.where(alone, reads, along * across * point.reads) / facts.stages,
        reads_plain=along * across * point.reads / facts.stages,
        stores=along * across * point.stores / facts.stages,
        straight=alone & (threads[0] == 1),
        even=alone & ((2 * reach) % threads[0] == 0),
        copies=fields * turns + out / block,
        copy_warps=segments * ceil_div(boxes[-1], WARP) + out / WARP,
        box_values=segments * boxes[-1],
        box_rows=segments,
        core_values=fields * boxes[0] * sizes.inner,
        core_rows=fields * boxes[0] * inner,
        out_values=1.0 * out,
        out_rows=out / sizes.space[-1],
        point_rows=1.0 * sizes.inner * face / sizes.space[-1] / facts.stages,
        points=1.0 * sizes.inner * face / facts.stages,
        last=sizes.space[-1],
        conflicts=bank_conflicts(boxes[-1], threads[-1]),
        segments=np.maximum(1.0, WARP / threads[-1]),
        step_rows=read,
        held_rows=read + written,
        near_rows=_near_rows(sizes, facts),
        again=np.where(alone, point.rows_kept, point.rows) - 1.0,
    )


def bank_conflicts(pitch: Ints, inner: Ints) -> Ints:
    """Return the most lanes of a warp that access different words of one bank of shared memory.

    Lane l of a warp works at row ``l // inner``, column ``l % inner`` of a box with ``pitch`` words per row; a bank
    serves one word per cycle (CUDA C++ programming guide, shared memory).

    >>> bank_conflicts(np.array([273, 32, 33]), np.array([256, 16, 16])).tolist()
    [1, 2, 2]
    """
    return _conflict_table()[np.minimum(inner, WARP), pitch % BANKS]


@functools.cache
def _conflict_table() -> Ints:
    """Conflicts by the columns of a warp's rows, from 0 on, and by the pitch modulo the banks."""
    lanes = np.arange(WARP)
    columns, pitches = np.arange(1, WARP + 1)[:, None, None], np.arange(BANKS)[None, :, None]
    banks = (lanes // columns * pitches + lanes % columns) % BANKS
    most = (banks[..., None] == np.arange(BANKS)).sum(axis=2).max(axis=2)
    return np.concatenate([most[:1], most])


def distinct_reads(columns: tuple[tuple[int, ...], ...], stride: int, most: int) -> Floats:
    """Return how many distinct values a thread reads for 0 … ``most`` points that lie ``stride`` apart along the axis.

    A value that several of the points read is read once and kept in a register.

    >>> distinct_reads(((-1, 0, 1),), 1, 4).tolist(), distinct_reads(((-1, 0, 1),), 2, 3).tolist()
    ([0.0, 3.0, 4.0, 5.0, 6.0], [0.0, 3.0, 5.0, 7.0])
    """
    total = np.zeros(most + 1)
    for column in columns:
        # Beyond the span of a column every further point adds the same number.
        span = min(most, (column[-1] - column[0]) // stride + 2)
        values: set[int] = set()
        first = [0.0]
        for point in range(span):
            values |= {point * stride + offset for offset in column}
            first.append(float(len(values)))
        grown = first[-1] - first[-2] if span else 0.0
        total += np.concatenate([first, first[-1] + grown * np.arange(1, most - span + 1)])
    return total


def _along(point: CodeCounts, sizes: TileSizes, threads: Ints, rows: Ints, facts: Facts) -> tuple[Floats, Floats]:
    """Count the busiest thread's points and reads along the hexagon's axis, over all rows."""
    half = rows // 2
    strides, which = np.unique(threads, return_inverse=True)
    widest = int((hexagonal.width(sizes, facts) // threads).max(initial=0)) + 1
    tables = np.stack([distinct_reads(point.columns, int(stride), widest) for stride in strides])
    divisor: Ints | int = threads
    if len(strides) == 1:  # as most often, and then many times faster
        divisor, which = int(strides[0]), np.zeros((), dtype=np.int64)
    points, reads = np.zeros(len(half)), np.zeros(len(half))
    for row in range(int(half.max(initial=0))):
        turns = ceil_div(sizes.space[0] + 2 * facts.slopes[0] * row, divisor) * (row < half)
        points += 2 * turns
        reads += 2 * tables[which, turns]
    return points, reads


def _box(sizes: TileSizes, rows: Ints, facts: Facts) -> list[Ints]:
    """Return the extents of the bounding box of what a tile touches (19): t_S1 + r t_T, then t_Si + r (t_T + 1)."""
    first = sizes.space[0] + facts.slopes[0] * rows
    others = zip(sizes.space[1:], facts.slopes[1:], strict=True)
    return [first, *(size + slope * (rows + 1) for size, slope in others)]


def _step_rows(sizes: TileSizes, width: Floats, facts: Facts) -> tuple[Floats, Floats]:
    """Count the segments that a row of the hexagon, as wide as the mean, reads and those that it writes."""
    middle = list(zip(sizes.space[1:-1], facts.slopes[1:-1], strict=True))
    read = functools.reduce(np.multiply, [size + 2 * reach for size, reach in middle], width + 2 * facts.slopes[0])
    written = functools.reduce(np.multiply, [size for size, _ in middle], width)
    updated = facts.copies - facts.levels - facts.constants
    return np.asarray((facts.levels + facts.constants) * read), np.asarray(max(1, updated) * written)


def _near_rows(sizes: TileSizes, facts: Facts) -> Floats:
    """Count the segments of the planes that a point reads, and of the one that it writes."""
    middle = list(zip(sizes.space[1:-1], facts.slopes[1:-1], strict=True))
    one = np.ones(len(sizes.time))
    read = functools.reduce(np.multiply, [size + 2 * reach for size, reach in middle], one)
    written = functools.reduce(np.multiply, [size for size, _ in middle], one)
    return np.asarray((facts.levels + facts.constants) * (2 * facts.slopes[0] + 1) * read + written)
