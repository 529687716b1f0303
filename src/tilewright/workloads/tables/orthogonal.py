"""Orthogonal tiles of a recurrence's table: rectangles, run along anti-diagonals.

``orthogonal:t=rows,s=columns,sub=columns`` cuts the table into tiles of t rows (the thesis' time axis) and s columns,
and tiles into sub-tiles of ``sub`` columns, one per lane or thread. It is legal if no dependence points up and to the
right: then a tile needs only tiles above it, on its left, and diagonally between. Counts are those of a whole tile,
with all its sub-tiles: what passes between these stays on chip.
"""

import functools
from dataclasses import replace

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.family import Family, Legal, Tiling, Verdict, Violation, require
from tilewright.schedules.tree.affine import STEPS, Name, Whole, ceiling, extent_of
from tilewright.schedules.tree.nodes import Compute, Loop, Node, Range, Wavefronts, nest
from tilewright.workloads.tables.problem import Offset, Recurrence, reach_of

_ROWS, _COLUMNS, _SUB = 64, 256, 8  # sizes of the tile that the family's name alone stands for


def _sweep_program(problem: Problem) -> Program:
    """Return the program of a stencil that sweeps over its own new values, as a recurrence does."""
    analysis = problem.program.analysis
    if not analysis.sweep or len(analysis.stages) > 1:
        raise UsageError(
            f"orthogonal tiles cut a table that is filled in one sweep, {problem.program.name!r} is not",
            "take hexagonal or hybrid tiles, which cut time",
        )
    return problem.program


class Orthogonal(Family):
    """Rectangles of a table."""

    ranks = (2,)
    summary = "rectangles of a table that a recurrence fills, in wavefronts along anti-diagonals, cut into sub-tiles"
    tables = True

    def complete(self, problem: Problem, tiling: Tiling) -> Tiling:
        """Fill in the sub-tile, the whole tile by default; the family's name alone stands for a tile of usual sizes."""
        if problem.program.rank != 2:
            raise UsageError(f"orthogonal tiles cut tables, {problem.program.name!r} has rank {problem.program.rank}")
        return complete_table(_sweep_program(problem), tiling)

    def check(self, problem: Problem, tiling: Tiling, storage: Storage = PLAIN) -> Verdict:  # noqa: ARG002
        """Say whether tiles can run along anti-diagonals; see :func:`check_table`."""
        return check_table(_sweep_program(problem), tiling)

    def tree(self, problem: Problem, tiling: Tiling) -> Node:  # noqa: ARG002
        """Return the order of a completed tiling; see :func:`table_tree`."""
        return table_tree(tiling)


FAMILY = Orthogonal("orthogonal")


def complete_table(program: Recurrence | Program, tiling: Tiling) -> Tiling:
    """Do the same for whatever fills a table."""
    if not tiling.family.tables:
        raise UsageError(
            f"the table of {program.name!r} is cut into orthogonal tiles, got {str(tiling)!r}", "orthogonal:t=64,s=128"
        )
    if not tiling.space and tiling.time == 1:
        tiling = replace(tiling, time=_ROWS, space=(_COLUMNS,), sub=tiling.sub or (_SUB,))
    if len(tiling.space) != 1:
        raise UsageError(f"an orthogonal tile has rows t and columns s, got {str(tiling)!r}", "orthogonal:t=64,s=128")
    for key in ("rows", "unroll"):
        if getattr(tiling, key):
            raise UsageError(f"orthogonal tiles have no {key}, got {str(tiling)!r}")
    sub = tiling.sub or tiling.space
    if len(sub) != 1 or tiling.space[0] % sub[0]:
        raise UsageError(
            f"a sub-tile is a whole part of the columns of its tile, got sub={'x'.join(map(str, sub))} for "
            f"s={tiling.space[0]}",
            "take a sub that divides s",
        )
    return replace(tiling, sub=sub)


def legal_table(program: Recurrence, tiling: Tiling) -> Tiling:
    """Return a tiling of a recurrence's table, complete and known to be legal."""
    whole = complete_table(program, tiling)
    require(check_table(program, whole))
    return whole


def check_table(program: Recurrence | Program, tiling: Tiling) -> Verdict:
    """Say whether tiles can run along anti-diagonals: no dependence on a cell above and to the right.

    Tiles must hold the reach, since what a tile passes on is kept for its neighbours only.
    """
    name = program.name
    dependences = program.dependences if isinstance(program, Recurrence) else program.analysis.sweep
    for dependence in dependences:
        if dependence.offset[1] > 0:
            return Violation(
                reason=f"orthogonal tiles of {name!r} would wait for each other: the {dependence} points "
                "up and to the right",
                dependence=dependence,
                hint="use the tiling none",
            )
    sizes = (tiling.time, "rows", "t"), (tiling.space[0], "columns", "s")
    for (size, axis, key), reach in zip(sizes, reach_of(each.offset for each in dependences), strict=True):
        if size < reach:
            return Violation(
                reason=f"a tile of {size} {axis} is smaller than the {reach} that {name!r} reaches back",
                hint=f"make {key} at least {reach}",
            )
    return Legal()


def live(program: Recurrence, t: int, s: int) -> tuple[int, int]:
    """Return the values that a t x s tile far from every edge reads from outside, and its own that others read."""
    inputs = program.kinds["row"] * t + program.kinds["column"] * s + program.kinds["cell"] * t * s
    tables = [_live(offsets, t, s) for offsets in program.reads.values()]
    return inputs + sum(cells for cells, _ in tables), sum(cells for _, cells in tables)


def passed_bytes(program: Recurrence, threads: int, itemsize: int) -> int:
    """Return the bytes of shared memory in which a GPU's threads hand the ends of their rows to the next one."""
    return 2 * threads * len(program.tables) * max(1, program.reach[1]) * itemsize


@functools.lru_cache(maxsize=4096)
def _live(offsets: tuple[Offset, ...], t: int, s: int) -> tuple[int, int]:
    """Cells outside a tile that it reads, the union of the tile's shifts less the tile; and its own that others read.

    Above the tile, a row is read by all offsets that reach it, from the farthest to the left to the nearest; beside it,
    a row is read as far to the left as the offsets reach that stay inside the tile. Others read its last rows, and the
    last columns of its other rows. Sizes hold the reach.
    """
    back, (up, left) = [(-o[0], -o[1]) for o in offsets], reach_of(offsets)
    read = (t - up) * left
    for row in range(1, up + 1):
        columns = [q for p, q in back if p >= row]
        read += s + max(columns) - min(columns)
    for last in range(up):
        read += max([0, *(q for p, q in back if p <= last)])
    return read, up * s + (t - up) * left


def table_tree(tiling: Tiling) -> Node:
    """Return the order in which tiles fill a table: anti-diagonals of tiles, sub-tiles from left to right inside each.

    The cells of a sub-tile are computed row by row.
    """
    t, s, sub = tiling.time, tiling.space[0], tiling.sub[0]
    row, column = Name("row"), Name("column")
    low = column * s + Name("sub") * sub
    cells = Compute(Name("t"), Whole(0), ((row * t, row * t + t), (low, low + sub)))
    inside = Loop(name="sub", low=Whole(0), high=Whole(s // sub), child=cells, subtile=True)
    ranges = Range("column", Whole(0), Name("wide")), Range("row", Whole(0), Name("tall"))
    fronts = Wavefronts(ranges=ranges, child=inside)
    return nest(
        Loop(name="t", low=Whole(0), high=STEPS, child=fronts),
        ("tall", ceiling(extent_of(0), t)),
        ("wide", ceiling(extent_of(1), s)),
    )
