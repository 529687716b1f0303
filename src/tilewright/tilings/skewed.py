"""Time skewing: parallelograms in time and every axis, in wavefronts over the tiles, with sub-tiles in sequence.

Logical time is cut into *bands* of ``height`` steps. Inside a band, row ``i``, the cell x of an axis belongs to the
tile ``(x + slope * i) // size``: tiles lean to the left by the reach to the right, so that dependences only lead to
tiles with smaller or equal numbers on every axis. Towards the band before they lead at most
``ceil(slope * height / size)`` tiles to the right, so tiles of equal

    wavefront = lag * band + sum of the tile's numbers        lag = 1 + sum of those distances

are independent. A tile can be cut further into *sub-tiles* of the same height, which run in lexicographic order.

Source: Wonnacott, "Using time skewing to eliminate idle time due to memory bandwidth and network limitations" (IPDPS
2000); Prajapati, thesis, section B.4.2, where sub-tiles feed registers.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.intmath import ceil_div, round_up
from tilewright.base.units import format_shape
from tilewright.programs.dependences import analyse, slopes
from tilewright.programs.problem import Problem
from tilewright.tilings import words
from tilewright.tilings.affine import STEPS, Expr, Name, Whole, ceiling, extent_of, least, most
from tilewright.tilings.counts import Counts, interior
from tilewright.tilings.geometry import Skew
from tilewright.tilings.legality import Legal, Verdict, broken_by_skew, untileable
from tilewright.tilings.pieces import Box
from tilewright.tilings.tiling import Tiling
from tilewright.tilings.traits import Traits
from tilewright.tilings.tree import Guard, Let, Loop, Mark, Node, Parallel, Range, logical_step, nest

NAME = "skewed"
RANKS: tuple[int, ...] = (1, 2, 3)
SUMMARY = "time skewing: parallelograms in time and every axis, wavefronts over the tiles, sub-tiles in sequence"
TRAITS = Traits()
MAX_HEIGHT = 4096
_DEFAULTS = {1: (64, (4096,)), 2: (16, (32, 4096)), 3: (8, (16, 32, 4096))}


@dataclass(frozen=True, slots=True, kw_only=True)
class Leaning:
    """The tiles of a completed skewed tiling of a problem.

    Attributes:
        height: Logical steps of a band.
        stages: Logical steps per time step; row ``i`` of a band runs stage ``i % stages``.
        skews: The cuts per axis.
        parts: Sub-tiles of a tile per axis.
        tiles: Number of tiles per axis.
        lag: Wavefronts by which a band starts after the one before.
    """

    height: int
    stages: int
    skews: tuple[Skew, ...]
    parts: tuple[int, ...]
    tiles: tuple[int, ...]
    lag: int

    def sub_skews(self) -> tuple[Skew, ...]:
        """The cuts into sub-tiles per axis."""
        cuts = zip(self.skews, self.parts, strict=True)
        return tuple(Skew(size=skew.size // part, slope=skew.slope) for skew, part in cuts)


def geometry(problem: Problem, tiling: Tiling) -> Leaning:
    """Return the tiles of a completed tiling, with the slopes that the problem's dependences ask for."""
    stages = len(analyse(problem.program).stages)
    height = tiling.time * stages
    skews = tuple(Skew(size=size, slope=slope.right) for size, slope in zip(tiling.space, slopes(problem), strict=True))
    tiles = tuple(skew.tiles(extent, height) for skew, extent in zip(skews, problem.shape, strict=True))
    sub = tiling.sub or tiling.space
    return Leaning(
        height=height,
        stages=stages,
        skews=skews,
        parts=tuple(size // part for size, part in zip(tiling.space, sub, strict=True)),
        tiles=tiles,
        lag=1 + sum(skew.delay(height, count) for skew, count in zip(skews, tiles, strict=True)),
    )


def complete(problem: Problem, tiling: Tiling) -> Tiling:
    """Fill in the height and the sizes.

    Raises:
        IllegalTilingError: If the program has too many dimensions.
        UsageError: If a key does not apply or a value is out of its range.
    """
    rank = problem.program.rank
    if rank not in RANKS:
        raise IllegalTilingError(f"{NAME} tiles cut 1D to 3D programs, {problem.program.name!r} is {rank}D")
    time, space = _DEFAULTS[rank]
    example = f"write it like {NAME}:t={time},s={format_shape(space)}"
    time = time if tiling.time == 1 and not tiling.space else tiling.time
    space = tiling.space or space
    if len(space) != rank:
        raise UsageError(f"a {NAME} tile of a {rank}D program has {rank} sizes, got s={format_shape(space)}", example)
    if not 1 <= time <= MAX_HEIGHT:
        raise UsageError(f"the height t of a {NAME} tile is from 1 to {MAX_HEIGHT}, got t={time}", example)
    if tiling.sub and len(tiling.sub) != rank:
        raise UsageError(f"sub-tiles have {rank} sizes here, got sub={format_shape(tiling.sub)}", example)
    if any(size % part for size, part in zip(space, tiling.sub, strict=False)):
        better = format_shape(tuple(round_up(size, part) for size, part in zip(space, tiling.sub, strict=True)))
        raise UsageError(
            f"the sizes of a {NAME} tile are multiples of its sub-tiles', got s={format_shape(space)} and "
            f"sub={format_shape(tiling.sub)}",
            f"take s={better}",
        )
    if tiling.threads and len(tiling.threads) != rank:
        raise UsageError(f"threads are given per axis, {rank} for {problem.program.name!r}, got {tiling}", example)
    return replace(tiling, time=time, space=space)


def check(problem: Problem, tiling: Tiling) -> Verdict:
    """Say whether a completed tiling keeps every dependence of the problem, flow and memory."""
    violation = untileable(problem)
    for axis, skew in enumerate(geometry(problem, tiling).skews):
        violation = violation or broken_by_skew(problem, skew, axis)
    return violation or Legal()


def tree(problem: Problem, tiling: Tiling) -> Node:
    """Return the order of a completed tiling: wavefronts over the tiles of all bands, sub-tiles inside each tile.

    The bands that have tiles on a wavefront and the numbers of all axes but the first are counted off, and the number
    on axis 0 follows from them; where it is out of range there is no tile.
    """
    shape = geometry(problem, tiling)
    rank, total, wave, band, lag = len(shape.skews), Name("total"), Name("wave"), Name("band"), Name("lag")
    counts = [Name(f"tiles{axis}") for axis in range(rank)]
    places = [Name(f"tile{axis}") for axis in range(rank)]
    last_sum = sum((count - 1 for count in counts), Whole(0))
    first, start, tau, row = Name("first_band"), Name("start"), Name("tau"), Name("row")
    names: list[tuple[str, Expr]] = [("row", tau - start)]
    box: list[tuple[Expr, Expr]] = []
    for axis, skew in enumerate(shape.sub_skews()):
        names.append((f"from{axis}", skew.row(Name(f"sub{axis}"), row)[0]))
        box.append((Name(f"from{axis}"), Name(f"from{axis}") + skew.size))
    inside: Node = Loop(
        name="tau",
        low=start,
        high=least(start + shape.height, total),
        child=nest(logical_step(tau, shape.stages, tuple(box)), *names),
    )
    for axis in range(rank - 1, -1, -1):
        low = places[axis] * shape.parts[axis]
        inside = Loop(name=f"sub{axis}", low=low, high=low + shape.parts[axis], child=inside, subtile=True)
    zeroth: Expr = wave - band * lag
    for place in places[1:]:
        zeroth = zeroth - place
    tile = Guard(low=Whole(0), value=places[0], high=counts[0], child=Let("start", band * shape.height, inside))
    ends = least(Name("bands"), wave // lag + 1)
    tiles = Parallel(
        (
            Range("band", first, most(ends - first, 0)),
            *(Range(f"tile{axis}", Whole(0), counts[axis]) for axis in range(1, rank)),
        ),
        Let("tile0", zeroth, tile),
    )
    wavefronts = Loop(
        name="wave",
        low=Whole(0),
        high=Name("waves"),
        child=Let("first_band", most(0, ceiling(wave - last_sum, lag)), tiles),
    )
    sizes = "x".join(str(skew.size) for skew in shape.skews)
    return Mark(
        f"parallelograms of {shape.height} rows, {sizes} cells",
        nest(
            wavefronts,
            ("total", STEPS * shape.stages),
            ("bands", ceiling(total, shape.height)),
            *((f"tiles{axis}", skew.tiles(extent_of(axis), shape.height)) for axis, skew in enumerate(shape.skews)),
            ("lag", sum((skew.delay(shape.height, n) for skew, n in zip(shape.skews, counts, strict=True)), Whole(1))),
            ("waves", least(Name("bands"), 1) * ((Name("bands") - 1) * lag + (last_sum + 1))),
        ),
    )


def counts(problem: Problem, tiling: Tiling) -> Counts:
    """Count what a completed tiling runs and moves, exactly; a block is a tile."""
    shape = geometry(problem, tiling)
    steps = problem.steps * shape.stages
    whole, rest = divmod(steps, shape.height)
    each, last = _profile(problem, shape, shape.height), _profile(problem, shape, rest)
    wavefronts, widest = _wavefronts(each, last if rest else None, whole, shape.lag)
    subtiles = [_union(shape.sub_skews(), problem.shape, rows) for rows in (shape.height, rest)]
    longest = (shape.height if whole else rest, problem.shape)
    rows = [_row(shape, i) for i in range(shape.height)]
    live_in, live_out, footprint = words.tile_words(problem.program, rows)
    tiles = whole * int(each.sum()) + int(last.sum())
    return Counts(
        wavefronts=wavefronts,
        tiles_per_wavefront=widest,
        tiles=tiles,
        subtiles_per_tile=_longest(shape, *longest) if tiles else 0,
        subtiles=whole * subtiles[0] + subtiles[1],
        full=whole * _full(problem, shape),
        total_points=steps * problem.cells,
        points=math.prod(tiling.space) * shape.height,
        live_in=live_in,
        live_out=live_out,
        footprint=footprint,
        blocks=tiles,
    )


def _row(shape: Leaning, i: int) -> Box:
    return tuple(skew.row(0, i) for skew in shape.skews)


def _ranges(skews: tuple[Skew, ...], extents: tuple[int, ...], rows: int) -> Iterator[tuple[Box, Box | None]]:
    """Per row whose tiles are not those of the row before: half-open ranges per axis, and what both share."""
    before: Box | None = None
    for i in range(rows):
        moved = [skew.slope * i for skew in skews]
        box = tuple(
            (shift // skew.size, (extent - 1 + shift) // skew.size + 1)
            for skew, extent, shift in zip(skews, extents, moved, strict=True)
        )
        if box == before:
            continue
        shared = None
        if before is not None:
            shared = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, before, strict=True))
        yield box, shared
        before = box


def _union(skews: tuple[Skew, ...], extents: tuple[int, ...], rows: int) -> int:
    """Tiles with any cell: both ends of every range only grow, so a row adds what the last one before has not."""
    total = 0
    for box, shared in _ranges(skews, extents, rows):
        total += math.prod(high - low for low, high in box)
        total -= 0 if shared is None else math.prod(max(0, high - low) for low, high in shared)
    return total


def _profile(problem: Problem, shape: Leaning, rows: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Tiles of one band with any cell, by the sum of their numbers.

    The number of points of a box by the sum of their coordinates is a product of geometric series: ends of the box with
    alternating signs, summed up once per axis.
    """
    ends = np.zeros(sum(shape.tiles) + len(shape.tiles) + 1, dtype=np.int64)
    for box, shared in _ranges(shape.skews, problem.shape, rows):
        for sign, part in ((1, box), (-1, shared)):
            if part is None or any(low >= high for low, high in part):
                continue
            for corner in itertools.product(*part):
                odd = sum(end == high for end, (_, high) in zip(corner, part, strict=True)) % 2
                ends[sum(corner)] += -sign if odd else sign
    for _ in shape.tiles:
        ends = np.cumsum(ends)
    used = np.flatnonzero(ends)
    return np.asarray(ends[: used[-1] + 1] if len(used) else ends[:0])


def _wavefronts(
    each: np.ndarray[tuple[int], np.dtype[np.int64]],
    last: np.ndarray[tuple[int], np.dtype[np.int64]] | None,
    whole: int,
    lag: int,
) -> tuple[int, int]:
    """Number of wavefronts with any tile, and the most tiles of one; bands start ``lag`` wavefronts after each other.

    Once as many bands are under way as can be, every further one only repeats ``lag`` wavefronts.
    """
    deep = ceil_div(max(len(each), 1 if last is None else len(last)), lag) + 2
    shown = min(whole, 2 * deep)
    profiles = [each] * shown + ([] if last is None else [last])
    total = np.zeros(lag * len(profiles) + max([0, *map(len, profiles)]), dtype=np.int64)
    for band, profile in enumerate(profiles):
        total[lag * band : lag * band + len(profile)] += profile
    repeated = int((total[lag * deep : lag * (deep + 1)] > 0).sum()) if whole > shown else 0
    return int((total > 0).sum()) + (whole - shown) * repeated, int(total.max(initial=0))


def _longest(shape: Leaning, rows: int, extents: tuple[int, ...]) -> int:
    """Sub-tiles of the longest tile: all along the axes where some tile is never cut, of the others the most of a tile.

    Both ends of a tile's range of sub-tiles only grow from row to row, so a row adds what the last one before has not.
    """
    axes = list(zip(shape.skews, shape.sub_skews(), shape.parts, extents, strict=True))
    if all(ceil_div(extent, sub.size) >= part for _, sub, part, extent in axes):
        return math.prod(shape.parts)  # the first row has them all
    inside = [extent // skew.size > ceil_div(skew.slope * (rows - 1), skew.size) for skew, _, _, extent in axes]
    cut = [axis for axis, whole in zip(axes, inside, strict=True) if not whole]
    parts = [part for _, _, part, _ in cut]
    found: Counter[tuple[int, ...]] = Counter()
    for box, shared in _ranges(tuple(sub for _, sub, _, _ in cut), tuple(extent for *_, extent in cut), rows):
        ranges = (range(low // part, (high - 1) // part + 1) for (low, high), part in zip(box, parts, strict=True))
        for tile in itertools.product(*ranges):
            found[tile] += _inside(box, tile, parts) - (0 if shared is None else _inside(shared, tile, parts))
    return max(found.values()) * math.prod(part for (_, _, part, _), whole in zip(axes, inside, strict=True) if whole)


def _inside(box: Box, tile: tuple[int, ...], parts: Sequence[int]) -> int:
    """Sub-tiles of a box that belong to a tile."""
    ranges = zip(box, tile, parts, strict=True)
    return math.prod(max(0, min(high, (t + 1) * part) - max(low, t * part)) for (low, high), t, part in ranges)


def _full(problem: Problem, shape: Leaning) -> int:
    """Full tiles of one whole band."""
    total = 1
    for skew, (low, high) in zip(shape.skews, interior(problem), strict=True):
        total *= max(0, high // skew.size - ceil_div(low + skew.slope * (shape.height - 1), skew.size))
    return total
