"""Exact counts of what a tiling runs and moves, in closed form: independent of the number of cells and steps."""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.base.intmath import ceil_div
from tilewright.programs.dependences import analyse
from tilewright.programs.problem import Problem
from tilewright.programs.stencil import Program, Statement
from tilewright.tilings.geometry import Face, Skew
from tilewright.tilings.prism import Prism

Interval = tuple[int, int]
_LOOKAHEAD = 4
"""A value is read at most this many time steps after its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a tiling runs and moves.

    A *tile* runs at once with the others of its wavefront (a thread block's or a thread's work); its *sub-tiles* run
    in sequence. What must be on chip at once is a *block*: a sub-tile of a prism (hexagonal, hybrid, diamond), a
    whole tile of the other families. A block is *full* if no row of it is cut by the grid or by the first or last step
    and no read of it leaves the grid. ``points`` to ``footprint`` describe one full block far from every edge; words
    are values of the problem's dtype.

    Attributes:
        wavefronts: Wavefronts with any cell.
        tiles_per_wavefront: Tiles in the widest wavefront.
        tiles: Tiles in all wavefronts.
        subtiles_per_tile: Sub-tiles in the longest tile.
        subtiles: Sub-tiles with any cell, in all tiles.
        full: Full blocks.
        total_points: Cells times logical steps of the whole problem.
        points: Cells that a block computes, summed over its logical steps.
        live_in: Words that it reads, that its own tile does not compute and that no earlier sub-tile of its tile has
            read: what must be loaded if a tile keeps on chip whatever its later sub-tiles need.
        live_out: Words that it computes and that another tile reads.
        footprint: Words of the boxes, one per field and kept version, that hold all that it reads and writes.
        blocks: Number of blocks where they are not the sub-tiles, else None.
        computed: Cells times logical steps that all tiles together compute where they overlap and compute some more
            than once; None where every cell is computed once, or where nobody counts.
    """

    wavefronts: int
    tiles_per_wavefront: int
    tiles: int
    subtiles_per_tile: int
    subtiles: int
    full: int
    total_points: int
    points: int
    live_in: int
    live_out: int
    footprint: int
    blocks: int | None = None
    computed: int | None = None

    @property
    def partial(self) -> int:
        """Blocks that are not full."""
        return (self.subtiles if self.blocks is None else self.blocks) - self.full

    @property
    def redundancy(self) -> float:
        """Share of the problem's cells that overlapping tiles compute again; 0 where nothing overlaps."""
        return 0.0 if not self.computed or not self.total_points else self.computed / self.total_points - 1.0


def of_sweeps(problem: Problem) -> Counts:
    """Count the sweeps of the tiling none: a tile is one logical step, the costliest where stages differ."""
    analysis = analyse(problem.program)
    stages = [[problem.program.statements[i] for i in stage] for stage in analysis.stages]
    arrays_in = [len({(read.field, read.level) for s in stage for read in s.reads}) for stage in stages]
    steps = problem.steps * len(stages)
    whole = all(high - low == extent for (low, high), extent in zip(interior(problem), problem.shape, strict=True))
    return Counts(
        wavefronts=steps,
        tiles_per_wavefront=min(steps, 1),
        tiles=steps,
        subtiles_per_tile=min(steps, 1),
        subtiles=steps,
        full=steps if whole else 0,
        total_points=steps * problem.cells,
        points=problem.cells,
        live_in=max(arrays_in) * problem.cells,
        live_out=max(len(stage) for stage in stages) * problem.cells,
        footprint=sum(analysis.copies) * problem.cells,
    )


def of_prism(problem: Problem, prism: Prism) -> Counts:
    """Count the tiles of hexagonal prisms."""
    hexagon, steps = prism.hexagon, problem.steps * prism.stages
    wavefronts = tiles = widest = subtiles = longest = full = 0
    for colour in (0, 1):
        for times, rows in _windows(hexagon, colour, steps):
            groups = list(_groups(hexagon, colour, rows, problem.shape[0]))
            here = sum(number for number, _ in groups)
            per_tile = [_subtiles(prism.skews, met, problem.shape[1:]) for _, met in groups]
            wavefronts += times if here else 0
            tiles += times * here
            widest = max(widest, here)
            longest = max([longest, *per_tile])
            subtiles += times * sum(number * each for (number, _), each in zip(groups, per_tile, strict=True))
            if rows == (0, hexagon.height):
                full += times * _full(problem, prism, colour)
    size = math.prod(skew.size for skew in prism.skews)
    plane = _plane_words(problem.program, hexagon)
    return Counts(
        wavefronts=wavefronts,
        tiles_per_wavefront=widest,
        tiles=tiles,
        subtiles_per_tile=longest,
        subtiles=subtiles,
        full=full,
        total_points=steps * problem.cells,
        points=hexagon.points * size,
        live_in=plane[0] * size,
        live_out=plane[1] * size,
        footprint=_footprint(problem.program, prism),
    )


def _windows(hexagon: Face, colour: int, steps: int) -> Iterator[tuple[int, Interval]]:
    """The rows that lie inside time, as half-open ranges, each with the number of phases that have it."""
    phases = hexagon.phases(colour, steps)
    for phase in sorted({0, phases - 1} if phases else ()):
        start = hexagon.time_origin(colour, phase)
        yield 1, (max(0, -start), min(hexagon.height, steps - start))
    if phases > 2:
        yield phases - 2, (0, hexagon.height)


def _groups(hexagon: Face, colour: int, rows: Interval, extent: int) -> Iterator[tuple[int, Interval]]:
    """The rows that meet the grid, as half-open ranges, each with the number of tiles that have it.

    Only the outermost tiles on either side can be cut: a tile between two others that meet the grid lies inside.
    """
    tiles = hexagon.tiles(colour, extent)
    for tile in sorted({0, tiles - 1} if tiles else ()):
        origin = hexagon.space_origin(colour, tile)
        spans = ((i, hexagon.row(i)) for i in range(*rows))
        met = [i for i, (low, high) in spans if origin + low < extent and origin + high > 0]
        if met:
            yield 1, (met[0], met[-1] + 1)
    if tiles > 2:
        yield tiles - 2, rows


@functools.lru_cache(maxsize=4096)
def _subtiles(skews: tuple[Skew, ...], rows: Interval, extents: tuple[int, ...]) -> int:
    """Sub-tiles with any cell in these rows: the union over the rows of the boxes of cuts that meet the grid.

    Both ends of every range of cuts only grow from row to row, so what a row adds to all earlier ones is what it adds
    to the last of them.
    """
    total = 0
    before: list[Interval] | None = None
    for i in range(*rows):
        moved = [skew.slope * i for skew in skews]
        box = [
            (shift // skew.size, (extent - 1 + shift) // skew.size + 1)
            for skew, extent, shift in zip(skews, extents, moved, strict=True)
        ]
        total += math.prod(high - low for low, high in box)
        if before is not None:
            shared = (min(h, h0) - max(low, l0) for (low, h), (l0, h0) in zip(box, before, strict=True))
            total -= math.prod(max(0, length) for length in shared)
        before = box
    return total


def interior(problem: Problem) -> tuple[Interval, ...]:
    """Per axis, the cells all of whose reads lie inside the grid; perhaps empty, with the end before the start."""
    offsets = [read.offset for statement in problem.program.statements for read in statement.reads]
    return tuple(
        (max([0, *(-o[axis] for o in offsets)]), extent - max([0, *(o[axis] for o in offsets)]))
        for axis, extent in enumerate(problem.shape)
    )


def _full(problem: Problem, prism: Prism, colour: int) -> int:
    """Full sub-tiles of one wavefront that is not cut in time."""
    hexagon = prism.hexagon
    (low, high), *others = interior(problem)
    overhang = hexagon.overhang
    origin = hexagon.space_origin(colour, 0)
    first = ceil_div(low + overhang - origin, hexagon.pitch)
    last = (high - hexagon.base - overhang - origin) // hexagon.pitch
    total = max(0, last - first + 1)
    for skew, (low, high) in zip(prism.skews, others, strict=True):
        first = ceil_div(low + skew.slope * (hexagon.height - 1), skew.size)
        total *= max(0, high // skew.size - first)
    return total


@functools.lru_cache(maxsize=4096)
def _plane_words(program: Program, hexagon: Face) -> tuple[int, int]:
    """Live-in and live-out words of a hexagon per cell of the classic axes.

    Exact for any rank: a value that a tile reads or computes belongs to another tile only through its time and its
    place on axis 0, so counts of the projection times the sizes of the other axes are the counts of a sub-tile.
    """
    stages = analyse(program).stages
    stage_of = {i: number for number, stage in enumerate(stages) for i in stage}
    writer = {statement.field: i for i, statement in enumerate(program.statements)}
    needed: dict[tuple[str, int], list[Interval]] = {}
    kept: dict[tuple[str, int], Interval] = {}
    for i, statement in enumerate(program.statements):
        for row in range(hexagon.height + _LOOKAHEAD * len(stages)):
            if row % len(stages) != stage_of[i]:
                continue
            low, high = _row(hexagon, row)
            for read in statement.reads:
                source = -1
                if read.field in writer:
                    source = (row // len(stages) + read.level - 1) * len(stages) + stage_of[writer[read.field]]
                span = (low + read.offset[0], high + read.offset[0])
                needed.setdefault((read.field, source), []).append(span)
                if read.field in writer:
                    old = kept.get((read.field, source), span)
                    kept[read.field, source] = (max(old[0], span[0]), min(old[1], span[1]))
    live_in = live_out = 0
    for (field, source), spans in needed.items():
        own = _row(hexagon, source) if field in writer else (0, 0)
        live_in += _length([span for span in spans if span[0] < span[1]], own)
        if own[0] < own[1]:
            low, high = kept[field, source]
            inside = max(0, min(high, own[1]) - max(low, own[0]))
            live_out += own[1] - own[0] - inside
    return live_in, live_out


def _row(hexagon: Face, row: int) -> Interval:
    return hexagon.row(row) if 0 <= row < hexagon.height else (0, 0)


def _length(spans: Sequence[Interval], own: Interval) -> int:
    """Cells of the union of the spans, less those of ``own``."""
    total, end = 0, -math.inf
    for low, high in sorted(spans):
        start = max(low, end)
        if start < high:
            total += int(high - start) - max(0, int(min(high, own[1]) - max(start, own[0])))
            end = high
    return total


@functools.lru_cache(maxsize=4096)
def _footprint(program: Program, prism: Prism) -> int:
    analysis = analyse(program)
    hulls: dict[str, list[Interval]] = {}
    for number, stage in enumerate(analysis.stages):
        box = _hull(prism, number)
        for statement in (program.statements[i] for i in stage):
            for field, offset in _touches(statement, program.rank):
                moved = [(low + o, high + o) for (low, high), o in zip(box, offset, strict=True)]
                old = hulls.get(field, moved)
                hulls[field] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(old, moved, strict=True)]
    copies = dict(zip(program.fields, analysis.copies, strict=True))
    return sum(copies[field] * math.prod(high - low for low, high in hull) for field, hull in hulls.items())


def _touches(statement: Statement, rank: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    reads = ((read.field, read.offset) for read in statement.reads)
    return itertools.chain([(statement.field, (0,) * rank)], reads)


def _hull(prism: Prism, stage: int) -> list[Interval]:
    """Per axis, the smallest range that holds every row of a stage."""
    rows = range(stage, prism.hexagon.height, prism.stages)
    spans = [[prism.hexagon.row(i) for i in rows], *([skew.row(0, i) for i in rows] for skew in prism.skews)]
    return [(min(low for low, _ in axis), max(high for _, high in axis)) for axis in spans]
