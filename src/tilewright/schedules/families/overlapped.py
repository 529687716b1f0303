"""Overlapped tiles (ghost zones): every tile of a band of steps computes again what it needs of its neighbours.

Time is cut into *bands* of at most ``t`` steps, space into boxes of the tile sizes. A tile loads its box and a ghost
zone around it, and computes, at every step of the band, as many cells beyond its own as the rest of the band needs; it
writes its own cells only. So all tiles of a band are independent: one wavefront per band, and redundant work.

Source: Meng and Skadron, "Performance modeling and automatic ghost zone optimization for iterative stencil loops on
GPUs" (ICS 2009). The ghost zones are those of :mod:`tilewright.schedules.streaming.levels`, exact per stage and
boundary.
"""

import functools
from dataclasses import dataclass, replace
from typing import Generic

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.intmath import ceil_div
from tilewright.base.units import format_shape
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.legality import Legal, Verdict, untileable, without_own_memory
from tilewright.schedules.pieces import Box
from tilewright.schedules.streaming.levels import LevelGrowth, of_problem
from tilewright.schedules.tiling import Tiling
from tilewright.schedules.traits import Traits
from tilewright.schedules.tree.affine import STEPS, Expr, Integer, Name, Whole, ceiling, extent_of, least, most
from tilewright.schedules.tree.nodes import (
    Buffer,
    Compute,
    CopyIn,
    CopyOut,
    Let,
    Loop,
    Mark,
    Node,
    Parallel,
    Private,
    Range,
    Sequence,
    nest,
)

NAME = "overlapped"
RANKS: tuple[int, ...] = (1, 2, 3)
SUMMARY = "overlapped tiles with ghost zones: independent tiles that compute again what they need of their neighbours"
TRAITS = Traits(ghosts=True)
MAX_LEVELS = 1024
_DEFAULTS = {1: (32, (2048,)), 2: (8, (64, 512)), 3: (3, (16, 32, 256))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ghosts:
    """The tiles of a completed overlapped tiling of a problem."""

    bands: "Bands[int]"
    space: tuple[int, ...]  # sizes of a tile per axis
    below: tuple[LevelGrowth, ...]  # per axis, how far a stage's cells extend below the tile, by the steps left
    above: tuple[LevelGrowth, ...]  # per axis, how far they extend above
    stage_of: tuple[int, ...]  # per field, the stage that produces it

    def grown(
        self, box: tuple[tuple[Integer, Integer], ...], left: Integer, stage: int
    ) -> tuple[tuple[Integer, Integer], ...]:
        """The cells that a tile of these own cells computes at a stage with so many steps to come, cut by no grid."""
        sides = zip(box, self.below, self.above, strict=True)
        return tuple((a - low.at(left, stage), b + high.at(left, stage)) for (a, b), low, high in sides)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bands(Generic[Integer]):
    """The fewest bands of a most length, as equal as they can be."""

    steps: Integer
    count: Integer  # number of bands

    def start(self, band: Integer) -> Integer:
        """First step of a band."""
        return self.steps * band // self.count

    def lengths(self: "Bands[int]") -> tuple[tuple[int, int], ...]:
        """Every length with the number of bands that have it, the longest last.

        >>> Bands(steps=10, count=3).lengths()
        ((3, 2), (4, 1))
        """
        if not self.count:
            return ()
        length, longer = divmod(self.steps, self.count)
        return tuple(pair for pair in ((length, self.count - longer), (length + 1, longer)) if pair[1])


def geometry(problem: Problem, tiling: Tiling) -> Ghosts:
    """Return the tiles of a completed tiling."""
    pipeline, rank = of_problem(problem), problem.program.rank
    return Ghosts(
        bands=Bands(steps=problem.steps, count=ceil_div(problem.steps, tiling.time)),
        space=tiling.space,
        below=pipeline.below[-rank:],
        above=pipeline.above[-rank:],
        stage_of=pipeline.stage_of,
    )


def kept_otherwise(problem: Problem) -> str | None:
    """Return a field for which a GPU's thread blocks have no overlapped tiles, or None where they have.

    Their bands alternate between two versions of every updated field.
    """
    program = problem.program
    copies = dict(zip(program.fields, program.analysis.copies, strict=True))
    return next((field for field in program.updated if copies[field] != 2 or program.history(field) != 1), None)


def complete(problem: Problem, tiling: Tiling) -> Tiling:
    """Fill in the steps of a band and the sizes."""
    rank = problem.program.rank
    if rank not in RANKS:
        raise IllegalTilingError(f"{NAME} tiles cut 1D to 3D programs, {problem.program.name!r} is {rank}D")
    time, space = _DEFAULTS[rank]
    example = f"write it like {NAME}:t={time},s={format_shape(space)}"
    time = time if tiling.time == 1 and not tiling.space else tiling.time
    space = tiling.space or space
    if tiling.sub:
        raise UsageError(f"an {NAME} tile has no sub-tiles, got sub={format_shape(tiling.sub)}", example)
    if len(space) != rank:
        raise UsageError(f"an {NAME} tile of a {rank}D program has {rank} sizes, got s={format_shape(space)}", example)
    if time > MAX_LEVELS:
        raise UsageError(f"a band of {NAME} tiles has at most {MAX_LEVELS} steps, got t={time}", example)
    if tiling.threads and len(tiling.threads) != rank:
        raise UsageError(f"threads are given per axis, {rank} for {problem.program.name!r}, got {tiling}", example)
    return replace(tiling, time=time, space=space)


def check(problem: Problem, tiling: Tiling) -> Verdict:  # noqa: ARG001  (legal in any size)
    """Say whether a completed tiling keeps every dependence: always, but for recurrences and reads that wrap around."""
    return untileable(problem) or without_own_memory(problem) or Legal()


def tree(problem: Problem, tiling: Tiling) -> Node:
    """Return the order of a completed tiling: bands in sequence; their tiles load, advance and store on their own.

    Bands of a GPU's tiles, which have ``threads``, have an odd number of steps: of two versions, the one that a band
    writes is then never the one that it reads.
    """
    shape = geometry(problem, tiling)
    program, axes = problem.program, range(problem.program.rank)
    bands = Bands(steps=STEPS, count=Name("bands"))
    band, begin, levels, t = Name("band"), Name("begin"), Name("levels"), Name("t")
    own = tuple((Name(f"low{axis}"), Name(f"high{axis}")) for axis in axes)
    numbers = [Name(f"tiles{axis}") for axis in axes]
    analysis, left = program.analysis, Name("left")
    stages = range(len(analysis.stages))
    ages = [(field, age) for field, name in enumerate(program.fields) for age in range(program.history(name))]
    step = Sequence(tuple(Compute(begin + t, Whole(stage), shape.grown(own, left, stage)) for stage in stages))
    loads = (
        CopyIn(field=f, newest=begin, age=age, box=shape.grown(own, levels + age, shape.stage_of[f])) for f, age in ages
    )
    stores = (
        CopyOut(field=f, newest=begin + levels, age=age, box=own)
        for f, age in ages
        if program.fields[f] in program.updated
    )
    advance = Loop(name="t", low=Whole(0), high=levels, child=Let("left", levels - 1 - t, step))
    box = local_box(problem, shape, tiling.time)
    lengths = tuple(high - low for low, high in box)
    origin = tuple(most(0, low) for low, _ in _loaded(problem, shape, own, levels))
    if tiling.threads:  # perhaps outside the grid, but always as far from a tile's own cells
        origin = tuple(low + first for (low, _), (first, _) in zip(own, box, strict=True))
    work = Private(
        buffers=tuple(Buffer(field=f, depth=depth, lengths=lengths) for f, depth in enumerate(analysis.copies)),
        origin=origin,
        side=Name("side"),
        bands=Name("bands"),
        child=Sequence((*loads, advance, *stores)),
    )
    ends: list[tuple[str, Expr]] = []
    for axis, size in enumerate(shape.space):
        low = Name(f"low{axis}")
        ends += [(low.name, Name(f"tile{axis}") * size), (f"high{axis}", least(low + size, extent_of(axis)))]
    tiles = Parallel(
        tuple(Range(f"tile{axis}", Whole(0), number) for axis, number in enumerate(numbers)),
        nest(work, *ends),
    )
    start, end = bands.start(band), bands.start(band + 1)
    count = ceiling(STEPS, tiling.time)
    if tiling.threads:  # whole bands; of what they leave one, and the last step alone where that is even
        length = tiling.time - 1 + tiling.time % 2
        last = (band + 1) // Name("bands")
        start, end = least(band * length, STEPS - 1), least((band + 1) * length, STEPS - 1 + last)
        count = ceiling(STEPS, length) + (1 - STEPS % length % 2) * least(STEPS % length, 1)
    each = nest(tiles, ("side", band % 2), ("begin", start), ("levels", end - begin))
    return Mark(
        f"overlapped tiles of {format_shape(tiling.space)} cells, bands of at most {tiling.time} steps",
        nest(
            Loop(name="band", low=Whole(0), high=Name("bands"), child=each),
            *((f"tiles{axis}", ceiling(extent_of(axis), size)) for axis, size in enumerate(shape.space)),
            ("bands", count),
        ),
    )


def local_box(problem: Problem, shape: Ghosts, levels: int) -> Box:
    """The cells of every field that a tile keeps to itself, from its first own cell on: all that it loads."""
    return _loaded(problem, shape, tuple((0, size) for size in shape.space), levels)


def _loaded(
    problem: Problem, shape: Ghosts, own: tuple[tuple[Integer, Integer], ...], levels: Integer
) -> tuple[tuple[Integer, Integer], ...]:
    """The smallest box that holds the cells of every field and version that a tile of these own cells loads."""
    oldest = max(problem.program.history(field) for field in problem.program.fields)
    boxes = [shape.grown(own, levels + oldest - 1, stage) for stage in sorted(set(shape.stage_of))]
    return tuple(
        (functools.reduce(least, (low for low, _ in axis)), functools.reduce(most, (high for _, high in axis)))
        for axis in zip(*boxes, strict=True)
    )
