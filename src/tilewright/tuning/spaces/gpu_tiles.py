"""The tiles of a GPU: hybrid ones of all feasible sizes with every thread shape, and streaming ones worth a look.

The set of hybrid sizes, problem (31) of the time model, is ``prod(t_Si + growth_i) <= values``, one factor per axis, so
how far an axis may go follows from the sizes chosen before it: every axis multiplies out exactly the combinations that
can be completed, and none is thrown away. Every point comes once, in pieces of bounded size.

Thread blocks are part of the space: every feasible tile has every shape that it can keep busy. Shapes are powers of two
per axis, the innermost at least a warp, so that accesses stay whole, and none larger than the tile along its axis;
beside them the shape that the code takes where none is given (:func:`default_threads`). The model that knows both
(:mod:`tilewright.costs.gpu.threads`) ranks them jointly.

Streaming tiles are levels, cells of a thread, equal parts of a grid, and whole waves of blocks.
"""

import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.base.constants import WARP, WARP_UNIT
from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div, round_up
from tilewright.costs import arrays
from tilewright.costs.arrays import Floats, Ints, TileSizes
from tilewright.costs.gpu import threads as selector
from tilewright.costs.setting import Setting
from tilewright.costs.time import evaluate
from tilewright.costs.work import hexagonal, streaming
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.families import hybrid
from tilewright.schedules.streaming.block import BlockGrowth
from tilewright.schedules.tiling import Tiling

Shape = tuple[int, ...]
NEAR = 0.1
"""Of every size and shape those are in the space that take no longer than the best of all families by this share."""
_LARGEST_OUTER = 32
_GRID = {1: (256,), 2: (4, 64), 3: (2, 4, 32)}  # shapes by rank where threads share the cells of a whole box or grid
_HEXAGONS_1D = 1024  # threads that share a hexagon's row in 1D at most: its cells wait for what they read on chip
_TILES = 1024  # tiles that are evaluated at a time, with all their shapes
PIECE_POINTS = 2**18  # about this many points are yielded at a time, whatever the size of the set
_MOST_PER_AXIS = 4096
_PER_DOUBLING = 8
# Of streaming tiles: levels by rank, and more of what a block may be.
_LEVELS = {2: (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24), 3: (1, 2, 3, 4, 5, 6, 8)}
_CELLS: dict[int, tuple[tuple[int, ...], ...]] = {
    2: ((1,), (2,), (3,), (4,), (6,), (8,), (12,), (16,)),
    3: ((1, 1), (1, 2), (2, 2), (1, 4), (2, 4), (3, 4), (4, 4), (5, 4), (6, 4), (1, 8), (2, 8), (3, 8)),
}
"""Cells of a thread, which lie side by side, per axis that threads share."""
_THREADS, _MOST_THREADS = 64, 512  # the fewest and the most threads of a block, where the grid has so many cells
_WASTE = {2: 1.05, 3: 1.2}
"""By how much the places of a block's warps, which are given in fours, may exceed its threads."""
_MOST_PARTS = {2: 300, 3: 64}
"""Parts into which an axis is cut at most, unless blocks of the most threads cut it into more than half of them."""
_WAVES, _BLOCKS = (1, 2, 3), (1, 2, 3, 4)
"""Waves of blocks into which a band may be cut, and resident blocks of a multiprocessor for which it is."""
_LEAST_ROWS = 16


def pieces(setting: Setting, *, coarse: bool = False) -> Iterator[TileSizes]:
    """Yield the feasible sizes, or a geometric grid of them, in lexicographic order of (t_T, t_S1, …), k left open."""
    values = setting.rates.block_bytes // (setting.facts.itemsize * max(1, setting.facts.copies))
    rank = len(setting.facts.shape)
    for time in grid(2, 2 * max(1, setting.facts.steps), 2, coarse=coarse).tolist():
        rows = int(hexagonal.grown_rows(np.array([time * setting.facts.stages], dtype=np.int64), rank)[0])
        grown = [slope * rows for slope in setting.facts.slopes]
        smallest = [max(1, setting.facts.slopes[0]), *(1,) * (rank - 2), WARP] if rank > 1 else [WARP]
        least = [size + more for size, more in zip(smallest, grown, strict=True)]
        if math.prod(least) > values:
            return
        rooms = [values // (math.prod(least) // least[axis]) - grown[axis] for axis in range(rank)]
        axes = [_axis(setting, axis, smallest[axis], grown[axis], room, coarse) for axis, room in enumerate(rooms)]
        axes[0] = axes[0][axes[0] >= setting.facts.slopes[0]]
        everything = np.full(1, values, dtype=np.int64)
        for columns in _extend(axes, grown, least, (), everything):
            yield TileSizes.of(np.full(len(columns[0]), time, dtype=np.int64), *columns)


def grid(first: int, last: int, step: int, *, coarse: bool) -> Ints:
    """Return the multiples from first to last, all of them or about eight per doubling.

    >>> grid(32, 130, 32, coarse=False).tolist()
    [32, 64, 96, 128]
    """
    if last < first:
        return np.zeros(0, dtype=np.int64)
    if not coarse:
        return np.arange(first, min(last, first + step * _MOST_PER_AXIS) + 1, step, dtype=np.int64)
    octaves = max(1.0, np.log2(last / first))
    points = np.geomspace(first, last, int(_PER_DOUBLING * octaves) + 2)
    rounded = first + np.round((points - first) / step).astype(np.int64) * step
    return np.asarray(np.unique(rounded[rounded <= last]))


def _axis(setting: Setting, axis: int, first: int, grown: int, room: int, coarse: bool) -> Ints:
    """Return the sizes of one axis, from ``first`` to ``room``, none going a whole tile beyond the grid."""
    extent = setting.facts.shape[axis] + (grown if axis else 0)
    step = WARP if axis == len(setting.facts.shape) - 1 else 1
    return grid(first, min(room, max(first, -(-extent // step) * step)), step, coarse=coarse)


def _extend(
    axes: list[Ints], grown: list[int], least: list[int], columns: tuple[Ints, ...], room: Ints
) -> Iterator[tuple[Ints, ...]]:
    """Multiply partial points by the sizes of the next axis, the last axis fastest."""
    # ``room`` is what the footprints of the remaining axes may multiply to, per partial point.
    axis = len(columns)
    if axis == len(axes):
        yield columns
        return
    counts = np.searchsorted(axes[axis], room // math.prod(least[axis + 1 :]) - grown[axis], side="right")
    for low, high in _pieces_of(counts):
        part = counts[low:high]
        total = int(part.sum())
        if not total:
            continue
        source = np.repeat(np.arange(low, high), part)
        size = axes[axis][np.arange(total) - np.repeat(np.cumsum(part) - part, part)]
        chosen = (*(column[source] for column in columns), size)
        yield from _extend(axes, grown, least, chosen, room[source] // (size + grown[axis]))


def _pieces_of(counts: Ints) -> Iterator[tuple[int, int]]:
    """Cut a sequence of counts into ranges whose sum is at most :data:`PIECE_POINTS` where a single one allows."""
    ends = np.cumsum(counts)
    low, before = 0, 0
    while low < len(counts):
        high = max(low + 1, int(np.searchsorted(ends, before + PIECE_POINTS, side="right")))
        yield low, high
        low, before = high, int(ends[high - 1])


def default_threads(problem: Problem, tiling: Tiling) -> Shape:
    """Return the threads per axis of a completed tiling that gives none, streaming tiles aside."""
    rank = problem.program.rank
    if not tiling.family.prisms:
        return _GRID[rank]
    if rank == 1:
        return (min(max(tiling.space[0] // WARP * WARP, WARP), _HEXAGONS_1D),)
    threads = selector.default_threads(tuple(np.array([size], dtype=np.int64) for size in tiling.space))
    return tuple(int(count[0]) for count in threads)


def shapes(rank: int, most: int) -> tuple[Shape, ...]:
    """Return the thread shapes of blocks of at most so many threads, outermost axis first.

    >>> shapes(2, 64)
    ((1, 32), (1, 64), (2, 32))
    """
    outer = [2**n for n in range(_LARGEST_OUTER.bit_length())]
    inner = [WARP * 2**n for n in range(max(1, most // WARP).bit_length())]
    products = itertools.product(*[outer] * (rank - 1), inner)
    return tuple(shape for shape in products if math.prod(shape) <= most)


def points(setting: Setting, *, coarse: bool = False, rival: float = math.inf) -> Iterator[TileSizes]:
    """Yield hybrid tiles with their thread shapes, every point once: a geometric grid, then what is near the best."""
    grid = _with_shapes(_joined_sizes(setting, coarse=True), setting)
    yield grid
    if not coarse:
        near = near_best(setting, rival)
        rows = {_row(grid, place) for place in np.flatnonzero(np.isin(grid.time, near.time)).tolist()}
        yield near.take(np.array([_row(near, place) not in rows for place in range(len(near.time))], dtype=bool))


def best_shapes(tiles: TileSizes, setting: Setting) -> TileSizes:
    """Return hybrid tiles on a GPU, each with the shape that is expected to take least; shape (n,) as they."""
    plain = replace(setting, energy=None)
    best = np.stack(selector.default_threads(tiles.space))
    candidates = _with_shapes(replace(tiles, k=np.arange(len(tiles.time))), setting)
    seconds = evaluate(hybrid.FAMILY, replace(candidates, k=np.zeros_like(candidates.k)), plain).seconds
    order = np.lexsort((seconds, candidates.k))
    first = order[np.unique(candidates.k[order], return_index=True)[1]]
    best[:, candidates.k[first]] = np.stack([count[first] for count in candidates.threads])
    return replace(tiles, threads=tuple(best))


def _row(sizes: TileSizes, place: int) -> Shape:
    return tuple(int(column[place]) for column in (sizes.time, *sizes.space, *sizes.threads))


def _joined_sizes(setting: Setting, *, coarse: bool) -> TileSizes:
    empty = TileSizes.of(*[np.zeros(0, dtype=np.int64)] * (1 + len(setting.facts.shape)))
    return TileSizes.join([empty, *pieces(setting, coarse=coarse)])


def near_best(setting: Setting, rival: float = math.inf, *, share: float = NEAR, fewest: int = 0) -> TileSizes:
    """Return what takes at most ``share`` longer than the best, of every size with every shape, at least ``fewest``."""
    # Tiles come in the order of what no shape of theirs can be below, and end where that is above what is wanted: no
    # point that is wanted is missed.
    tiles = _joined_sizes(setting, coarse=False)
    none = _with_shapes(tiles.take(slice(0)), setting)
    if setting.gpu is None or not len(tiles.time):
        return none
    plain = replace(setting, energy=None)
    bound = selector.least_seconds(setting.facts.problem.program, tiles, setting.facts, setting.gpu)
    order = np.argsort(bound, kind="stable")
    parts, best = [none], rival
    costs: list[Floats] = [np.zeros(0)]
    for start in range(0, len(order), _TILES):
        batch = order[start : start + _TILES]
        if start or not fewest:
            batch = batch[bound[batch] <= (1.0 + share) * best]
        if not len(batch):
            break
        part = _with_shapes(tiles.take(batch), setting)
        seconds = evaluate(hybrid.FAMILY, part, plain).seconds
        best = min(best, float(np.min(seconds, initial=np.inf)))
        near = np.flatnonzero(np.isfinite(seconds) if fewest else seconds <= (1.0 + share) * best)
        parts.append(part.take(near))
        costs.append(seconds[near])
    pool, cost = TileSizes.join(parts), np.concatenate(costs)
    first = np.argsort(cost, kind="stable")
    return pool.take(first[: max(fewest, int((cost <= (1.0 + share) * best).sum()))])


def _with_shapes(tiles: TileSizes, setting: Setting) -> TileSizes:
    most = WARP if setting.gpu is None else setting.gpu.max_block_threads
    own = np.stack(selector.default_threads(tiles.space)) if len(tiles.time) else np.zeros((len(tiles.space), 0))
    extents = [tiles.space[0] + tiles.time * setting.facts.stages * max(1, setting.facts.slopes[0]), *tiles.space[1:]]
    listed = np.zeros(len(tiles.time), dtype=bool)
    parts = []
    for shape in shapes(len(tiles.space), most):
        busy = functools.reduce(np.logical_and, [size >= count for size, count in zip(extents, shape, strict=True)])
        listed |= busy & (own == np.array(shape)[:, None]).all(axis=0)
        parts.append(replace(tiles.take(busy), threads=tuple(np.full(int(busy.sum()), count) for count in shape)))
    rest = ~listed & (own.prod(axis=0) <= most)
    return TileSizes.join([*parts, replace(tiles.take(rest), threads=tuple(own[:, rest].astype(np.int64)))])


def stream_points(setting: Setting) -> TileSizes:
    """Enumerate sizes with threads that a GPU can hold, in lexicographic order; possibly none."""
    foot, rank = setting.facts.block, len(setting.facts.shape)
    if foot is None:
        raise UsageError("streaming tiles on a GPU are for 2D and 3D programs without recurrences")
    steps = max(1, setting.facts.steps)
    whole = (levels for levels in range(1, _LEVELS[rank][-1] + 1) if steps % levels == 0)  # nothing is swept
    times = sorted({*whole, *(levels for levels in _LEVELS[rank] if levels <= steps)})
    heights = functools.cache(functools.partial(_heights, setting))
    rows = [np.empty((0, 2 * rank + 1), dtype=np.int64)]
    for time, cells in itertools.product(times, _CELLS[rank]):
        reads = foot.written(np.array(time), np.array(foot.rims(cells).rows), np.array(math.prod(cells)))
        if int(reads) > foot.most_reads:
            continue
        axes = [_stream_axis(setting, foot, time, axis, count) for axis, count in enumerate(cells, start=1)]
        own, threads = (np.stack([size.ravel() for size in np.meshgrid(*each)]) for each in zip(*axes, strict=True))
        chosen = _counts(np.prod(threads, axis=0), rank)
        own, threads = own[:, chosen], threads[:, chosen]
        parts = [arrays.ceil_div(np.array(n), size) for n, size in zip(setting.facts.shape[1:], own, strict=True)]
        tall = [heights(across) for across in np.prod(parts, axis=0).tolist()]
        several = np.repeat(np.vstack([own, np.ones_like(own[:1]), threads]), [len(each) for each in tall], axis=1)
        high = np.array([*itertools.chain.from_iterable(tall)], dtype=np.int64)
        rows.append(np.vstack([np.full_like(high, time), high, several]).T)
    every = np.concatenate(rows).T
    every = every[:, np.lexsort(every[::-1])]
    columns = every[:, np.diff(every, prepend=0).any(axis=0)]  # each once; no time is 0
    sizes = TileSizes.of(*columns[: rank + 1], threads=tuple(columns[rank + 1 :]))
    block = streaming.blocks(sizes, setting.facts)
    fits = (block.chip_bytes <= setting.rates.block_bytes) & (block.reads <= foot.most_reads)
    return sizes.take(fits)


def _stream_axis(setting: Setting, foot: BlockGrowth, time: int, axis: int, cells: int) -> tuple[Ints, Ints]:
    """Own cells along an axis and the fewest threads for them, of tiles that cut the grid into equal parts."""
    # Own cells and those that are loaded below them are multiples of what an instruction moves; where rows pass through
    # the chip, own cells are of what moves them from there.
    extent, rank = setting.facts.shape[axis], len(setting.facts.shape)
    fetched = math.gcd(cells, foot.lanes) if axis == rank - 1 else 1
    unit = foot.lanes if axis == rank - 1 and cells > fetched else fetched
    grown = foot.halo_base[axis] + foot.halo_rate[axis] * time
    low = round_up(ceil_div(grown, 2), fetched)
    room = np.arange(_MOST_THREADS, 0, -1) * cells - low - grown // 2
    widest = np.where(room >= extent, extent, room - room % unit)
    parts = arrays.ceil_div(np.array(extent), widest[widest > 0])  # ascending
    most_parts = max(_MOST_PARTS[rank], 2 * int(parts[0])) if len(parts) else 0
    parts = parts[parts <= most_parts]
    own = np.minimum(arrays.ceil_div(arrays.ceil_div(np.array(extent), parts), unit) * unit, extent)
    threads, first = np.unique(arrays.ceil_div(low + own + grown // 2, cells), return_index=True)
    return own[first], threads


def _counts(threads: Ints, rank: int) -> Any:  # noqa: ANN401  (a mask)
    """Which blocks are worth a look: with enough threads, or the most there are, and few places empty."""
    places = arrays.ceil_div(threads, WARP * WARP_UNIT) * WARP * WARP_UNIT
    filled = (threads >= _THREADS) & (places <= _WASTE[rank] * threads)
    return (threads <= _MOST_THREADS) & (filled | (threads == threads.max(initial=0)))


def _heights(setting: Setting, across: int) -> list[int]:
    """Rows of a tile such that the tiles of a band, so many beside each other, fill whole waves of blocks."""
    extent, count = setting.facts.shape[0], 1 if setting.gpu is None else setting.gpu.sm_count
    pieces = {max(1, waves * blocks * count // across) for waves, blocks in itertools.product(_WAVES, _BLOCKS)}
    heights = {ceil_div(extent, number) for number in pieces}
    return sorted(height for height in heights if height >= _LEAST_ROWS) or [extent]
