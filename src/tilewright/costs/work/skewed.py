"""Time skewing: parallelograms in every axis, wavefronts of equal ``lag * band + sum of the tile's numbers``.

It fills and drains a pipeline: its wavefronts grow to their full width and shrink again, which costs turns with idle
SMs. The words of a skewed tile in 1D are those of the thesis' J1D, M_io = 2 (t_S + 2 t_T), up to one row.
"""

import numpy as np

from tilewright.costs.arrays import Ints, TileSizes, ceil_div
from tilewright.costs.facts import Facts
from tilewright.costs.work import tiles
from tilewright.costs.work.tiles import BlockWork, BoxWork, Fronts, Rows


def blocks(sizes: TileSizes, facts: Facts) -> BlockWork:
    """Return what blocks do, a tile each, its sub-tiles one after the other."""
    rows, steps = sizes.time * facts.stages, facts.steps * facts.stages
    bands = np.maximum(ceil_div(steps + 0 * rows, rows), 1)
    short = np.maximum(steps - (bands - 1) * rows, 1)  # rows of the last band
    counts, last = ([_count(each, *axis) for axis in _axes(sizes, facts)] for each in (rows, short))
    lag, span = _lag(sizes, facts), 1 + np.asarray(sum(count - 1 for count in counts))
    ends = lag * (bands - 2) + span, lag * (bands - 1) + 1 + np.asarray(sum(count - 1 for count in last))
    fronts, ramp = np.maximum(*ends), np.minimum(span, lag * bands)
    every = tiles.product(counts) * (bands - 1) + tiles.product(last)
    width = every / np.maximum(fronts - ramp, 1)
    grown = tiles.product([size + sum(sides) for size, _, sides in _axes(sizes, facts)])
    kept = tiles.product([np.maximum(size - sum(sides), 0) for size, _, sides in _axes(sizes, facts)])
    hull = tiles.product([size + sum(sides) + sides[1] * (rows - 1) for size, _, sides in _axes(sizes, facts)])
    volume, sub, parts = tiles.product(sizes.space), sizes.sub or sizes.space, np.ones_like(rows)
    for size, part in zip(sizes.space, sub, strict=True):
        parts = parts * (size // part)
    meetings = rows * parts
    return BlockWork(
        fronts=Fronts(kinds=((fronts, width),), ramp=ramp),
        width=np.ceil(width).astype(np.int64),
        tiles=every,
        count=np.ones_like(rows),
        points=volume * rows,
        rows=(Rows(count=meetings, first=np.prod(np.stack(sub), axis=0), step=0 * rows),),
        meetings=meetings,
        input_values=facts.levels * (grown + (rows - 1) * (grown - volume)) + facts.constants * hull,
        output_values=facts.levels * (volume + (rows - 1) * (volume - kept)),
        shared_values=facts.copies * hull,
        printed=False,
    )


def boxes(sizes: TileSizes, facts: Facts) -> BoxWork:
    """Return what a CPU's cores do; a band finds in L3 what the one before has left there."""
    whole, rows = blocks(sizes, facts), sizes.time * facts.stages
    *_, last = (_count(rows, *axis) for axis in _axes(sizes, facts))
    parts = tiles.pieces((sizes.sub or sizes.space)[-1], last, facts)
    beside = np.minimum(tiles.product(sizes.space) * whole.fronts.kinds[0][1], 1.0 * facts.cells)
    return tiles.clipped_boxes(sizes, facts, whole, parts, between=facts.copies * _lag(sizes, facts) * beside)


def _axes(sizes: TileSizes, facts: Facts) -> list[tuple[Ints, int, tuple[int, int]]]:
    """Of every axis a tile's size, the grid's extent, and the reach to both sides."""
    return list(zip(sizes.space, facts.shape, facts.sides, strict=True))


def _count(rows: Ints, size: Ints, extent: int, sides: tuple[int, int]) -> Ints:
    return ceil_div(extent + sides[1] * (rows - 1), size)


def _lag(sizes: TileSizes, facts: Facts) -> Ints:
    """Wavefronts from a band's tile to the one of the next band."""
    rows = sizes.time * facts.stages
    lag = 1 + 0 * rows
    for size, extent, sides in _axes(sizes, facts):
        lag = lag + np.minimum(ceil_div(sides[1] * rows, size), _count(rows, size, extent, sides) - 1)
    return lag
