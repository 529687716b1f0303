"""What skewed and diamond tiles are: wavefronts, blocks, points, words in and out, what stays on chip.

Families without equations are known by what :meth:`tilewright.schedules.family.Family.work` counts (:func:`counted`).

Time skewing fills and drains a pipeline: its wavefronts grow to their full width and shrink again, which costs rounds
with idle SMs. The words of a skewed tile in 1D are those of the thesis' J1D, M_io = 2 (t_S + 2 t_T), up to one row.
"""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tilewright.costs import traffic
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div, ceil_sum
from tilewright.costs.setting import Setting
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import catalogue
from tilewright.schedules.family import Family, Tiling

if TYPE_CHECKING:  # runs count nothing
    from tilewright.schedules.counting.block import BlockCounts
    from tilewright.schedules.counting.spans import Spans, TileWork


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyWork:
    """What the tiles of a family are; every array has shape (n,)."""

    wavefronts: Ints  # N_w
    width: Floats  # tiles of a wavefront, w, once the pipeline is full; a fraction is what a wavefront has on average
    ramp: Ints  # wavefronts until it is full, and as many until it has drained
    tiles: Floats  # tiles in all
    count: Ints  # blocks in sequence per tile: what is on chip at a time is a block
    rows: Ints  # logical steps of a block
    points: Floats  # cells of a block over its logical steps
    vectors: Floats  # vector iterations of a block, every row rounded up to whole vectors
    input_values: Floats  # values that a block reads, m_i
    output_values: Floats  # values that it writes, m_o
    shared_values: Floats  # values that it keeps on chip, M_tile
    pieces: Floats  # parts into which a line of the innermost axis is cut, on average
    breaks: Floats  # parts of a line whose cells do not follow in memory on what the tile touched before, on average
    between: Floats  # values of the grid that other tiles touch before the next band reads what a tile wrote
    # values per cell and time step that a block reads around its own cells, where blocks before it wrote
    around: Floats
    steps_in_sequence: Ints  # barriers of a block: one per row of every sub-tile


def work_of(family: Family, sizes: TileSizes, setting: Setting) -> StrategyWork:
    """Return what the tiles of a family are."""
    if family.diamonds:
        return diamond(sizes, setting)
    return skewed(sizes, setting) if family.parallelograms else counted(family, sizes, setting)


def _product(columns: list[Floats]) -> Floats:
    total = np.ones_like(columns[0], dtype=np.float64)
    for column in columns:
        total = total * column
    return total


def skewed(sizes: TileSizes, setting: Setting) -> StrategyWork:
    """Time skewing: parallelograms in every axis, wavefronts of equal ``lag * band + sum of the tile's numbers``."""
    rows = sizes.time * setting.stages
    steps = setting.steps * setting.stages
    bands = np.maximum(ceil_div(steps + 0 * rows, rows), 1)
    short = np.maximum(steps - (bands - 1) * rows, 1)  # rows of the last band
    counts, delays, last = [], [], []
    for size, extent, (_, right) in zip(sizes.space, setting.shape, setting.sides, strict=True):
        count = ceil_div(extent + right * (rows - 1), size)
        counts.append(count)
        delays.append(np.minimum(ceil_div(right * rows, size), count - 1))
        last.append(ceil_div(extent + right * (short - 1), size))
    lag = 1 + np.asarray(sum(delays))
    span = 1 + np.asarray(sum(count - 1 for count in counts))
    ends = lag * (bands - 2) + span, lag * (bands - 1) + 1 + np.asarray(sum(count - 1 for count in last))
    fronts = np.maximum(*ends)
    ramp = np.minimum(span, lag * bands)
    tiles = _product([1.0 * count for count in counts]) * (bands - 1) + _product([1.0 * count for count in last])
    side = [1.0 * size for size in sizes.space]
    grown = [size + sum(pair) for size, pair in zip(side, setting.sides, strict=True)]
    inner = [np.maximum(size - sum(pair), 0.0) for size, pair in zip(side, setting.sides, strict=True)]
    hull = [size + sum(pair) + pair[1] * (rows - 1) for size, pair in zip(side, setting.sides, strict=True)]
    sub = sizes.sub or sizes.space
    parts = _product([1.0 * (size // part) for size, part in zip(sizes.space, sub, strict=True)])
    width = np.prod(np.stack(sub), axis=0)
    volume, around, kept = _product(side), _product(grown), _product(inner)
    read = setting.levels * (around + (rows - 1) * (around - volume)) + setting.constants * _product(hull)
    pieces = _pieces(sizes.space[-1] if not sizes.sub else sizes.sub[-1], counts[-1], setting)
    return StrategyWork(
        wavefronts=fronts,
        width=tiles / np.maximum(fronts - ramp, 1),
        ramp=ramp,
        tiles=tiles,
        count=np.ones_like(rows),
        rows=rows,
        points=volume * rows,
        vectors=1.0 * rows * parts * ceil_div(width, setting.vector_width),
        input_values=read,
        output_values=setting.levels * (volume + (rows - 1) * (volume - kept)),
        shared_values=setting.copies * _product(hull),
        pieces=pieces,
        breaks=_breaks(sizes, pieces),
        between=setting.copies * lag * np.minimum(volume * tiles / np.maximum(fronts - ramp, 1), 1.0 * setting.cells),
        around=traffic.around(sizes, setting, range(len(sizes.space))),
        steps_in_sequence=(rows * parts).astype(np.int64),
    )


def _pieces(size: Ints, count: Ints, setting: Setting) -> Floats:
    """Parts of a line of the innermost axis, on average: no more than there are tiles."""
    extent = setting.shape[-1]
    return np.where(count <= 1, 1.0, np.minimum(1.0 * ceil_div(extent + 0 * size, size) + 0.5, extent / size + 1.0))


def _moving_pieces(sizes: TileSizes, setting: Setting) -> Floats:
    """The same where cuts move with the steps, so that tiles as long as a line cut it too."""
    last, rows = sizes.space[-1], sizes.time * setting.stages
    return _pieces(last, ceil_div(setting.shape[-1] + setting.slopes[-1] * (rows - 1), last), setting)


def _breaks(sizes: TileSizes, pieces: Floats) -> Floats:
    """Parts of a line that start anew in memory: every one where lines are cut, else one line of many in 3D."""
    apart = 1.0 / sizes.space[-2] if len(sizes.space) > 2 else 0.0
    return np.where(pieces > 1, pieces, apart)


def diamond(sizes: TileSizes, setting: Setting) -> StrategyWork:
    """Diamonds on (time, axis 0), classic cuts on the other axes: hexagons that start with a single cell.

    One field brings in p + r H + 2 r - 1 values per cell of the other axes and hands on p + r (H - 2), with the pitch
    p, the reach r and the height H in logical steps.
    """
    rows, pitch, inner = sizes.time * setting.stages, sizes.space[0], 1.0 * sizes.inner
    half, reach = rows // 2, setting.slopes[0]
    fronts = traffic.wavefronts(sizes, setting)
    cut = setting.shape[0] + 0 * pitch
    each = ceil_div(cut + pitch // 2 - 1, pitch), ceil_div(cut - 1, pitch)
    count = traffic.prism_tiles(sizes, setting)
    tiles = np.maximum(1.0 * (fronts[0] * each[0] + fronts[1] * each[1]), 1.0)
    shadow = pitch - 1 + 2 * reach
    read = setting.levels * (pitch + reach * rows + 2 * reach - 1) + setting.constants * shadow
    steep, whole = pitch * sizes.inner, half * setting.vector_width
    # The rows below the middle grow from a cell to the pitch, those above shrink to a cell.
    vectors = ceil_sum(half, half * sizes.inner, steep, whole)
    vectors = vectors + ceil_sum(half, np.maximum(pitch - half, 0) * sizes.inner, steep, whole)
    outer: list[Ints] = [
        size + slope * (rows + 1) for size, slope in zip(sizes.space[1:], setting.slopes[1:], strict=True)
    ]
    lines = len(sizes.space) > 1
    pieces = _moving_pieces(sizes, setting) if lines else np.maximum(1.0, setting.shape[0] * 2.0 / pitch)
    if setting.cpu:
        # Rows of both colours fill the grid at every step: 2 T / t_T full wavefronts of extent / pitch tiles.
        width: Floats = np.maximum(setting.shape[0] / pitch, 1e-9)
        tiles = np.maximum(2.0 * setting.steps * setting.stages / rows, 1e-9) * width
    else:
        width = 1.0 * np.maximum(*each)
    return StrategyWork(
        wavefronts=fronts[0] + fronts[1],
        width=width,
        ramp=np.zeros_like(rows),
        tiles=tiles,
        count=count,
        rows=rows,
        points=1.0 * half * pitch * inner,
        vectors=1.0 * vectors,
        input_values=read * inner,
        output_values=setting.levels * (pitch + reach * (rows - 2)) * inner,
        shared_values=setting.copies * _product([1.0 * shadow, *(1.0 * size for size in outer)]),
        pieces=pieces,
        breaks=_breaks(sizes, pieces) if lines else np.zeros(rows.shape),
        between=np.full(rows.shape, np.inf),
        around=traffic.around(sizes, setting, range(1, len(sizes.space))),
        steps_in_sequence=rows,
    )


def counted(family: Family, sizes: TileSizes, setting: Setting) -> StrategyWork:
    """Tiles of a family without equations, by :meth:`Family.work`: one after the other, not by arrays."""
    rows = sizes.time * setting.stages
    rows_of = zip(*(column.tolist() for column in (sizes.time, *sizes.space)), strict=True)
    tilings = [Tiling(family=family, time=time, space=tuple(space)) for time, *space in rows_of]
    every = [_work(setting.problem, tiling) for tiling in tilings]
    blocks, spans = [each.block for each in every], [each.spans for each in every]

    def column(parts: "list[BlockCounts] | list[Spans]", name: str) -> Floats:
        return np.array([getattr(each, name) for each in parts], dtype=np.float64)

    points = column(blocks, "points")
    fronts = np.maximum(column(spans, "wavefronts").astype(np.int64), 1)
    tiles = np.maximum(column(spans, "tiles"), 1.0)
    pieces = _moving_pieces(sizes, setting)
    return StrategyWork(
        wavefronts=fronts,
        width=tiles / fronts,
        ramp=np.zeros_like(rows),
        tiles=tiles,
        count=np.maximum(column(spans, "subtiles"), 1.0).astype(np.int64),
        rows=rows,
        points=points,
        vectors=points / setting.vector_width,
        input_values=column(blocks, "live_in"),
        output_values=column(blocks, "live_out"),
        shared_values=column(blocks, "footprint"),
        pieces=pieces,
        breaks=_breaks(sizes, pieces),
        between=np.full(rows.shape, np.inf),
        around=traffic.around(sizes, setting, range(len(sizes.space))),
        steps_in_sequence=rows,
    )


@functools.lru_cache(maxsize=4096)
def _work(problem: Problem, tiling: Tiling) -> "TileWork":
    """What a family says of a tiling's tiles; it is asked again where energy is counted."""
    return tiling.family.work(problem, catalogue.complete(problem, tiling))
