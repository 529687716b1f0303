"""The time model with exact geometry: Prajapati et al., PPoPP 2017, section 4, corrected.

What differs from the printed form: the pitch is 2 t_S + r (t_T - 2) in every dimension; wavefronts and tiles per
wavefront are counted exactly; the live-out is smaller than the live-in; sub-tiles are the product of the axes'
ceilings; any reach, several fields and several stages per step are covered; k tiles of N sub-tiles each take
``min(m', c) + k N max(m', c)`` for k > 1, which is (12) for N = 1, while one tile at a time overlaps nothing.
"""

import numpy as np

from tilewright.base.constants import WORD
from tilewright.costs import traffic
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div, ceil_sum
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.published import time as published
from tilewright.costs.setting import Setting


def evaluate(sizes: TileSizes, setting: Setting) -> Breakdown:
    """Evaluate the corrected model; heights are even, and bases at least the reach."""
    inner, rows = sizes.inner, traffic.height(sizes, setting)
    scale = setting.itemsize / WORD
    read, written = (words * scale for words in traffic.tile_words(sizes, setting))
    io_seconds = (read + written) * setting.word_seconds + 2 * setting.barrier_seconds
    vectors = 2 * ceil_sum(rows // 2, sizes.space[0] * inner, 2 * setting.slopes[0] * inner, setting.vector_width)
    compute = vectors * (setting.c_iter.value / setting.stages) + rows * setting.barrier_seconds
    shared = traffic.shared_values(sizes, setting) * setting.itemsize
    k = published.resident_tiles(sizes, setting, shared)
    count = traffic.prism_tiles(sizes, setting)
    together = prism_seconds(io_seconds, compute, k, count)
    fronts = traffic.wavefronts(sizes, setting)
    tiles = traffic.tiles_per_wavefront(sizes, setting)
    sync = (fronts[0] + fronts[1]) * setting.launch_seconds
    every = fronts[0] * tiles[0] + fronts[1] * tiles[1]
    return Breakdown(
        wavefronts=fronts[0] + fronts[1],
        tiles_per_wavefront=np.maximum(*tiles),
        tiles_per_prism=count,
        tile_points=inner * traffic.face_points(sizes, setting) // setting.stages,
        input_words=read,
        output_words=written,
        shared_bytes=shared,
        tiles_per_sm=k,
        io_seconds=io_seconds,
        compute_seconds=compute,
        prism_seconds=together,
        dram_bytes=1.0 * (read + written) * WORD * count * every,
        sync_seconds=sync,
        seconds=np.where(k > 0, sync + together * rounds(fronts, tiles, k, setting.sm_count), np.inf),
    )


def rounds(fronts: tuple[Ints, ...], tiles: tuple[Ints, ...], k: Ints, sm_count: Ints | int) -> Ints:
    """Turns that every SM takes over all wavefronts: n ceil(ceil(w / k) / n_SM), summed over the colours."""
    total = np.zeros_like(k)
    for n, w in zip(fronts, tiles, strict=True):
        total = total + n * ceil_div(ceil_div(w, np.maximum(k, 1)), sm_count)
    return total


def prism_seconds(io_seconds: Floats, compute: Floats, k: Ints, count: Ints) -> Floats:
    """Time of k prisms of N tiles each, together on one SM.

    One prism alone: (m' + c) N. More of them overlap transfers with computation all along, but for the first transfer
    or the last computation: m' + c + (k N - 1) max(m', c).
    """
    longer, shorter = np.maximum(io_seconds, compute), np.minimum(io_seconds, compute)
    return np.where(k > 1, shorter + k * count * longer, (io_seconds + compute) * count)
