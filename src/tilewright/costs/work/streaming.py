"""Streaming tiles in the caches of a CPU's core: bands, halos, slabs, and how far apart rows are used again.

A tile of a band of L levels computes ``rows + halo`` rows of ``width + halo`` cells per level; the slabs that outlive
an advance stay in caches. What they do in thread blocks is in :mod:`tilewright.costs.work.stream_blocks`.
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import CACHE_LINE
from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div
from tilewright.costs.facts import Facts
from tilewright.costs.reuse import Uses
from tilewright.costs.work.tiles import product
from tilewright.schedules.families.streaming import odd_side


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamWork:
    """Tiles of n tilings; every array has shape (n,)."""

    uses: Uses  # rows that a level uses in an advance
    rows: int  # cells of axis 0 per advance
    bands: Ints
    tiles: Ints  # tiles of a band
    depth: Ints  # levels of a tile
    lines: Floats  # rows of cells that a tile computes per level, on average
    width: Ints  # cells of such a row, in whole cache lines
    advances: Floats  # advances of a level
    side: Ints  # rows of a slab
    footprint_bytes: Floats  # of the slabs that a tile keeps
    points: Floats  # cells that a tile computes over its levels
    met: Floats  # share of the tiles whose rows meet an end of the program's middle
    turned: Floats  # share of the bands in which rows are transposed
    read_values: Floats  # values that a tile reads
    written_values: Floats


def tiles(sizes: TileSizes, facts: Facts) -> StreamWork:
    """Return what tiles are on a CPU."""
    if facts.stream is None or facts.reuse is None:
        raise UsageError("the cost of streaming tiles is known for CPUs and where such tiles are legal")
    rank, steps, growth, uses = len(sizes.space), max(1, facts.steps), facts.stream.growth, facts.reuse
    shape, space, levels = facts.shape, sizes.space, sizes.time
    if rank == 1:
        shape, space = (1, *shape), (np.ones_like(levels), *space)
    bands = ceil_div(steps + 0 * levels, levels)
    bands = bands + (bands - odd_side(steps, facts.history)) % 2
    depth = np.minimum(levels, ceil_div(steps + 0 * bands, bands))
    cuts = [ceil_div(extent + 0 * size, size) for extent, size in zip(shape, space, strict=True)]
    sides = [ceil_div(extent + 0 * count, count) for extent, count in zip(shape, cuts, strict=True)]
    grown = [grow * (count > 1) for grow, count in zip(growth, cuts, strict=True)]  # no neighbour, no halo
    past = facts.levels / max(1, facts.fields) - 1.0  # versions that a step reads besides the newest
    unit = max(1, CACHE_LINE // facts.itemsize)
    width = ceil_div((space[-1] + growth[-1] * (levels + past)).astype(np.int64), unit) * unit
    outer = [side + 0.5 * grow * depth for side, grow in zip(sides[:-1], grown[:-1], strict=True)]
    lines = product(outer)
    slab = space[1] + growth[1] * levels if rank == 3 else np.ones_like(levels)
    held = product([side + grow * depth for side, grow in zip(sides[:-1], grown[:-1], strict=True)])
    written = facts.levels - (facts.levels - facts.fields) / bands  # the last band leaves the newest versions
    turned = np.where(cuts[-1] == 1, np.minimum(1.0, 1.0 / bands), 1.0) if rank > 1 else np.ones(len(levels))
    return StreamWork(
        uses=uses,
        rows=facts.stream.rows,
        bands=bands,
        tiles=np.prod(np.stack(cuts), axis=0),
        depth=depth,
        lines=lines,
        width=width,
        advances=(outer[0] / facts.stream.rows + (rank > 1)) * (outer[1] if rank == 3 else 1.0),
        side=slab,
        footprint_bytes=1.0 * width * facts.itemsize * slab * (uses.slabs + uses.slabs_per_level * levels),
        points=depth * lines * (sides[-1] + 0.5 * growth[-1] * depth),
        met=np.minimum(1.0, facts.divisions.row_ends / cuts[-1]),
        turned=turned,
        read_values=held * width * (facts.levels + facts.constants),
        written_values=product(sides) * written,
    )
