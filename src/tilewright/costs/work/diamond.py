"""Diamonds on (time, axis 0), classic cuts on the other axes: hexagons that start with a single cell.

One field brings in p + r H + 2 r - 1 values per cell of the other axes and hands on p + r (H - 2), with the pitch
p, the reach r and the height H in logical steps.
"""

from dataclasses import replace

import numpy as np

from tilewright.costs.arrays import TileSizes, ceil_div
from tilewright.costs.facts import Facts
from tilewright.costs.work import hexagonal, tiles
from tilewright.costs.work.tiles import BlockWork, BoxWork, Fronts, Rows


def blocks(sizes: TileSizes, facts: Facts) -> BlockWork:
    """Return what a GPU's blocks do: prisms of tiles in sequence. The first size is the pitch."""
    rows, pitch, inner = sizes.time * facts.stages, sizes.space[0], sizes.inner
    half, reach = rows // 2, facts.slopes[0]
    count, other = hexagonal.wavefronts(sizes, facts)
    cut = facts.shape[0] + 0 * pitch
    each = ceil_div(cut + pitch // 2 - 1, pitch), ceil_div(cut - 1, pitch)
    width = np.maximum(*each)
    shadow = pitch - 1 + 2 * reach
    read = facts.levels * (pitch + reach * rows + 2 * reach - 1) + facts.constants * shadow
    outer = [size + slope * (rows + 1) for size, slope in zip(sizes.space[1:], facts.slopes[1:], strict=True)]
    steep = pitch * inner
    return BlockWork(
        fronts=Fronts(kinds=((count + other, width),)),
        width=width,
        tiles=np.maximum(1.0 * (count * each[0] + other * each[1]), 1.0),
        count=hexagonal.prism_tiles(sizes, facts),
        points=1.0 * half * pitch * inner,
        # The rows below the middle grow from a cell to the pitch, those above shrink to a cell.
        rows=(
            Rows(count=half, first=half * inner, step=steep, parts=half),
            Rows(count=half, first=np.maximum(pitch - half, 0) * inner, step=steep, parts=half),
        ),
        meetings=rows,
        input_values=1.0 * read * inner,
        output_values=1.0 * facts.levels * (pitch + reach * (rows - 2)) * inner,
        shared_values=facts.copies * tiles.product([shadow, *outer]),
        printed=False,
    )


def boxes(sizes: TileSizes, facts: Facts) -> BoxWork:
    """Return what a CPU's cores do: rows of both colours fill the grid at every step, 2 T / t_T full wavefronts."""
    whole, rows, pitch = blocks(sizes, facts), sizes.time * facts.stages, sizes.space[0]
    width = np.maximum(facts.shape[0] / pitch, 1e-9)
    mean = replace(
        whole,
        fronts=Fronts(kinds=((whole.fronts.count, width),)),
        width=np.ceil(width).astype(np.int64),
        tiles=np.maximum(2.0 * facts.steps * facts.stages / rows, 1e-9) * width,
    )
    lines = len(sizes.space) > 1
    parts = tiles.moving_pieces(sizes, facts) if lines else np.maximum(1.0, facts.shape[0] * 2.0 / pitch)
    breaks = tiles.breaks(sizes, parts) if lines else np.zeros(rows.shape)
    around = tiles.around(sizes, facts, range(1, len(sizes.space)))
    return tiles.clipped_boxes(sizes, facts, mean, parts, breaks=breaks, around=around)
