"""Streaming: tiles overlap on all axes but the first, along which several time levels run one behind the other.

The steps are cut into *bands* of equal length. Inside a band every tile is independent of the others: it computes again
what it needs of its neighbours, so it reads the grid once, writes its own cells once, and everything between stays in
the caches. Inside a tile the levels of the band follow each other along axis 0, ``rows`` cells at a time.

Legal for every program without a recurrence and every boundary but ``wrap``: nothing that another tile of the band
computes is ever read. A tiling with ``threads`` is one for a GPU's thread blocks, see
:mod:`tilewright.schedules.streaming.block`.
"""

import itertools
from dataclasses import dataclass, replace

from tilewright.base.constants import PLANE_READS
from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.intmath import ceil_div
from tilewright.base.units import format_shape
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.programs.stencil.weights import shares_products
from tilewright.schedules.family import Family, Legal, Tiling, Verdict, Violation, untileable
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.streaming.levels import LevelPipeline as Levels
from tilewright.schedules.streaming.levels import line_cells, of_problem
from tilewright.schedules.tree import nodes
from tilewright.schedules.tree.affine import Expr, Integer, Name, Whole, least
from tilewright.schedules.tree.nodes import Box, Node

MAX_LEVELS = 1024
MAX_ROWS = 16
_DEFAULTS = {1: (32, (4096,)), 2: (16, (1024, 704)), 3: (5, (1024, 40, 1024))}


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisSplit:
    """The parts into which an axis is cut: as equal as whole units of cells allow."""

    extent: int  # cells of the axis
    unit: int  # cells of a unit
    count: int  # number of parts
    units: int

    def start(self, part: Integer) -> Integer:
        """First cell of a part."""
        return part * self.units // self.count * self.unit


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """The tiles of a completed streaming tiling of a problem."""

    pipeline: Levels  # the pipeline inside a tile
    rows: int  # cells of axis 0 by which all levels advance together
    levels: tuple[int, ...]  # lengths of the bands, in steps
    axes: tuple[AxisSplit, ...]  # per axis (two at least), the parts that tiles are

    @property
    def cuts(self) -> tuple[tuple[int, ...], ...]:
        """Per axis (two at least), the boundaries of the tiles."""
        return tuple((*map(parts.start, range(parts.count)), parts.extent) for parts in self.axes)


@dataclass(frozen=True, slots=True, kw_only=True)
class TileGrowth:
    """What a cost model needs to know of a problem's streaming tiles, whatever their sizes; axes as in a pipeline."""

    rows: int  # cells of axis 0 per advance, where the tiling does not say
    keep: int  # the most cells of axis 0 that outlive an advance
    # per axis, the cells that a tile computes beyond its own, per step to come and on both sides
    growth: tuple[int, ...]


def bands(steps: int, most: int, sides: int) -> int:
    """Return the number of bands: the smallest for which no band is longer than ``most`` steps.

    The bands alternate between two sets of ``sides`` versions each; version ``v`` must end up in slot ``v`` modulo
    ``2 * sides``, so the number of bands has the parity that the last version's slot asks for.

    >>> bands(100, 25, 1), bands(96, 32, 1), bands(0, 8, 1)
    (4, 4, 0)
    """
    count = ceil_div(steps, most)
    return count + (count - odd_side(steps, sides)) % 2


def odd_side(steps: int, history: int) -> int:
    """Return 1 if slot ``steps`` modulo ``2 * history`` is one that odd bands write, else 0.

    Before the first band versions 0, -1, … lie in slots 0, -1, … (modulo); the other slots are written by odd bands.
    """
    return int(1 <= steps % (2 * history) <= history)


def needed_rows(problem: Problem) -> int:
    """Return the smallest number of rows that a tile can advance by."""
    return max(1, *of_problem(problem).keep)


def default_rows(problem: Problem) -> int:
    """Return the number of rows that a tile advances by where nothing else is asked for."""
    rank = problem.program.rank
    if rank == 1:
        return 1
    many = rank == 3 and problem.program.loads > PLANE_READS and not _shares_products(problem)
    return max(3 if many else 4, needed_rows(problem))


def _shares_products(problem: Problem) -> bool:
    """Whether neighbours along axis 0 can share products, which leaves registers for four planes of results."""
    return problem.rounds and shares_products(problem.program)


def tile_growth(problem: Problem) -> TileGrowth:
    """Return how the streaming tiles of a problem grow."""
    pipeline = of_problem(problem)
    sides = zip(pipeline.below, pipeline.above, strict=True)
    growth = tuple(below.period + above.period for below, above in sides)
    return TileGrowth(rows=default_rows(problem), keep=max(pipeline.keep), growth=growth)


class Streaming(Family):
    """Tiles whose levels follow each other along axis 0."""

    ranks = (1, 2, 3)
    summary = "overlapped tiles that stream along the first axis, several time levels in a pipeline"
    streams = gpu = trusted = True
    cpu_range = (0.90, 1.33)

    def complete(self, problem: Problem, tiling: Tiling) -> Tiling:
        """Fill in what a tiling leaves out."""
        rank = problem.program.rank
        if rank not in self.ranks:
            raise IllegalTilingError(
                f"{self} tiles cut 1D to 3D programs, {problem.program.name!r} is {rank}D", "use none"
            )
        time, space = _DEFAULTS[rank]
        example = f"write it like {self}:t={time},s={format_shape(space)}"
        if tiling.threads:
            tiling = stream_block.complete(problem, tiling)
            self._check_sizes(rank, tiling.time, tiling.space, example)
            return tiling
        unsupported = {"sub": tiling.sub, "k": tiling.k}
        for key, value in unsupported.items():
            if value:
                raise UsageError(f"a {self} tiling has no {key}, got {str(tiling)!r}", example)
        space = tiling.space or space
        time = time if tiling.time == 1 and not tiling.space else tiling.time
        self._check_sizes(rank, time, space, example)
        rows = default_rows(problem) if tiling.rows is None else tiling.rows
        return replace(tiling, time=time, space=space, rows=rows)

    def _check_sizes(self, rank: int, time: int, space: tuple[int, ...], example: str) -> None:
        if len(space) != rank:
            raise UsageError(
                f"a {self} tile of a {rank}D program has {rank} sizes, got s={format_shape(space)}", example
            )
        if time > MAX_LEVELS:
            raise UsageError(f"a {self} tiling has at most {MAX_LEVELS} levels, got t={time}", example)

    def check(self, problem: Problem, tiling: Tiling, storage: Storage = PLAIN) -> Verdict:
        """Say whether a completed tiling keeps every dependence of the problem."""
        violation = untileable(problem) or _without_own_memory(problem, storage)
        if violation:
            return violation
        rows, needed = tiling.rows or 1, 1 if tiling.threads else needed_rows(problem)
        if not needed <= rows <= MAX_ROWS or (problem.program.rank == 1 and rows != 1):
            limit = "1 in 1D" if problem.program.rank == 1 else f"from {needed} to {MAX_ROWS} here"
            return Violation(
                reason=f"the levels of a {self} tiling of {problem.program.name!r} advance by rows={limit}, got {rows}",
                hint="use the tiling hybrid or none for stencils that reach further",
            )
        for axis, extent in enumerate(problem.shape):
            most = max(max(pair) for pair in _outside(problem)[axis])
            if extent < most + 2:
                return Violation(
                    reason=f"a {self} tiling needs at least {most + 2} cells on axis {axis} here, got {extent}",
                    hint="use the tiling none for small grids",
                )
        return Legal()

    def applies(self, problem: Problem, storage: Storage = PLAIN, *, gpu: bool = False) -> bool:
        """Whether any tiling of a problem is legal; on GPUs, any of thread blocks."""
        if problem.program.rank not in self.ranks or (gpu and problem.program.rank == 1) or untileable(problem):
            return False
        ones = (1,) * problem.program.rank  # no size of a tile and no number of threads makes it illegal
        tiling = Tiling(family=self, space=ones, threads=ones if gpu else ())
        return isinstance(self.check(problem, self.complete(problem, tiling), storage), Legal)

    def tree(self, problem: Problem, tiling: Tiling) -> Node:
        """Return the order of a completed tiling; the bands and the tiles' ends are those of this very problem.

        Tiles of a band overlap, and every one computes all that it needs. Inside a tile the stages of all levels
        advance together along axis 0, each behind those that it reads by the pipeline's lag.
        """
        stream = geometry(problem, tiling)
        bands = {levels: _band(problem, tiling, stream, levels) for levels in dict.fromkeys(stream.levels)}
        starts = itertools.accumulate(stream.levels, initial=0)
        steps = zip(starts, stream.levels, strict=False)
        return nodes.Sequence(tuple(nodes.Let("begin", Whole(start), bands[levels]) for start, levels in steps))


FAMILY = Streaming("streaming")


def _without_own_memory(problem: Problem, storage: Storage) -> Violation | None:
    """Say why no tile can compute in memory of its own: all versions of a step belong into the grid's."""
    if not problem.regions and not storage.states:
        return None
    return Violation(
        reason=f"every state of {problem.program.name!r} is kept or read here, or some cells alone are updated, which "
        "tiles with memory of their own cannot do",
        hint="use the tiling hybrid or none",
    )


def _outside(problem: Problem) -> list[list[tuple[int, int]]]:
    """Per axis of the program and field, the cells outside the grid that are read."""
    ghosts = of_problem(problem).ghosts
    skip = len(ghosts[0]) - problem.program.rank
    return [[field[axis + skip] for field in ghosts] for axis in range(problem.program.rank)]


def geometry(problem: Problem, tiling: Tiling) -> Stream:
    """Return the tiles of a completed tiling."""
    if tiling.threads:
        return _of_block(problem, tiling)
    pipeline = of_problem(problem)
    count = bands(problem.steps, tiling.time, max(pipeline.history))
    shape, space = problem.shape, tiling.space
    if len(shape) == 1:
        shape, space = (1, *shape), (1, *space)
    axes = [_parts(extent, size, 1) for extent, size in zip(shape[:-1], space[:-1], strict=True)]
    axes.append(_parts(shape[-1], space[-1], line_cells(problem)))
    return Stream(
        pipeline=pipeline,
        rows=tiling.rows or 1,
        levels=tuple(problem.steps * (b + 1) // count - problem.steps * b // count for b in range(count)),
        axes=tuple(axes),
    )


def _of_block(problem: Problem, tiling: Tiling) -> Stream:
    growth = stream_block.block_growth(problem)
    lengths = stream_block.lengths(problem.steps, tiling.time)
    return Stream(
        pipeline=growth.pipeline,
        rows=1,
        levels=tuple(levels for levels, count in lengths for _ in range(count)),
        axes=tuple(_blocks(extent, size) for extent, size in zip(problem.shape, tiling.space, strict=True)),
    )


def _parts(extent: int, size: int, unit: int) -> AxisSplit:
    """Cut an axis into the fewest parts of at most ``size`` cells."""
    units = ceil_div(extent, unit)
    return AxisSplit(extent=extent, unit=unit, count=ceil_div(units, max(1, size // unit)), units=units)


def _blocks(extent: int, size: int) -> AxisSplit:
    """Cut an axis into parts of ``size`` cells and a rest."""
    count = ceil_div(extent, size)
    return AxisSplit(extent=extent, unit=size, count=count, units=count)


def _band(problem: Problem, tiling: Tiling, stream: Stream, levels: int) -> Node:
    """One band: its tiles, which run side by side."""
    pipeline, rank, begin, t = stream.pipeline, problem.program.rank, Name("begin"), Name("t")
    own: Box = tuple((Name(f"low{axis}"), Name(f"high{axis}")) for axis in range(len(stream.cuts)))
    stages = range(len(pipeline.stages))
    units: list[Node] = []
    for stage in stages:
        box = _box(stream, own, levels - 1 - t, stage)
        units.append(nodes.Unit(pipeline.lag.at(t, stage), box[0], nodes.Compute(begin + t, Whole(stage), box[-rank:])))
    start = own[0][0] - (max(pipeline.below[0].at(levels, stage) for stage in stages) + pipeline.lag.period)
    stop = own[0][1] + max(pipeline.lag.at(levels, stage) for stage in stages)
    steps = nodes.Loop(name="t", low=Whole(0), high=Whole(levels), child=nodes.Sequence(tuple(units)))
    loads, stores = [], []
    for field, stage in enumerate(pipeline.stage_of):
        updated = problem.program.fields[field] in problem.program.updated
        for age in range(pipeline.history[field]):
            loaded = _box(stream, own, Whole(levels + age), stage)[-rank:]
            loads.append(nodes.CopyIn(field=field, newest=begin, age=age, box=loaded))
            if updated and (age < levels or not tiling.threads):
                stores.append(nodes.CopyOut(field=field, newest=begin + levels, age=age, box=own[-rank:]))
    advance = nodes.Pipeline(name="y", low=start, high=stop, step=stream.rows, child=steps)
    work = nodes.Private(
        buffers=_buffers(problem, tiling, stream, levels),
        origin=tuple(low for low, _ in own[-rank:]),
        side=Whole(0),
        bands=Whole(len(stream.levels)),
        child=nodes.Sequence((*loads, advance, *stores)),
    )
    ends: list[tuple[str, Expr]] = []
    for axis, parts in enumerate(stream.axes):
        tile = Name(f"tile{axis}")
        ends += [(f"low{axis}", parts.start(tile)), (f"high{axis}", least(parts.start(tile + 1), parts.extent))]
    ranges = tuple(nodes.Range(f"tile{axis}", Whole(0), Whole(parts.count)) for axis, parts in enumerate(stream.axes))
    return nodes.Parallel(ranges, nodes.nest(work, *ends))


def _buffers(problem: Problem, tiling: Tiling, stream: Stream, levels: int) -> tuple[nodes.Buffer, ...]:
    """Rows of all versions of a field; of a thread block, one for the rows on chip of all fields that are updated."""
    if tiling.threads:
        return (nodes.Buffer(field=0, depth=stream_block.tile_of(problem, tiling).chip_values, lengths=()),)
    pipeline, buffers = stream.pipeline, []
    largest = tuple((0, max(b - a for a, b in itertools.pairwise(cuts))) for cuts in stream.cuts)
    for field, stage in enumerate(pipeline.stage_of):
        passing = (stream.rows - pipeline.keep[field]) * pipeline.versions[field]
        history = 2 * pipeline.keep[field] * (pipeline.history[field] + levels)
        lengths = tuple(high - low for low, high in _box(stream, largest, levels, stage)[1:])
        buffers.append(nodes.Buffer(field=field, depth=passing + history, lengths=lengths))
    return tuple(buffers)


def _box(
    stream: Stream, own: tuple[tuple[Integer, Integer], ...], left: Integer, stage: int
) -> tuple[tuple[Integer, Integer], ...]:
    """The cells that a tile computes at a stage with ``left`` steps of its band to come, cut by no grid."""
    sides = zip(own, stream.pipeline.below, stream.pipeline.above, strict=True)
    return tuple((a - below.at(left, stage), b + above.at(left, stage)) for (a, b), below, above in sides)
