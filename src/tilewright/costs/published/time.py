"""The time model as printed: Prajapati et al., PPoPP 2017, section 4 (thesis, appendix A). For reproduction.

The equations are kept as they stand, errata included: the printed pitches (5) and (22) are too long, so degenerate
tiles seem to cost less than their own operations; (16) and (29) are discontinuous at k = 1; (23) rounds a product.
They cover first-order stencils of one field in a flat hierarchy, and are used unchanged for any other.
"""

import numpy as np

from tilewright.base.constants import WORD
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div, ceil_sum
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.gpu.blocks import resident
from tilewright.costs.setting import Setting


def evaluate(sizes: TileSizes, setting: Setting) -> Breakdown:
    """Evaluate the printed model."""
    t, base, inner = sizes.time, sizes.space[0], sizes.inner
    fronts = wavefronts(sizes, setting)
    tile_width = base + t - 2  # (4), (21)
    tiles = ceil_div(setting.facts.shape[0] + 0 * t, pitch(sizes))  # (5), (22)
    words = (base + 2 * t) * inner * (setting.facts.itemsize / WORD)  # (7), (13), (24)
    io_seconds = 2 * words * setting.rates.word_seconds + 2 * setting.rates.barrier_seconds  # (8), (14), (25)
    rows = 2 * ceil_sum(t // 2, base * inner, 2 * inner, setting.rates.vector_width)
    compute = rows * setting.rates.c_iter.value + t * setting.rates.barrier_seconds  # (9), (15), (27)
    shared = shared_values(sizes) * setting.facts.itemsize
    k = resident(sizes.k, shared, setting.rates)
    count = prism_tiles(sizes, setting)
    together = prism_seconds(io_seconds, compute, k, count, len(sizes.space))
    sync = fronts * setting.rates.launch_seconds
    rounds = ceil_div(ceil_div(tiles, np.maximum(k, 1)), setting.rates.sm_count)
    tiled = fronts * together * rounds  # what (6), (17) and (30) add to it
    computed = 1.0 * fronts * rounds * np.maximum(k, 1) * count * compute
    return Breakdown(
        wavefronts=fronts,
        tiles_per_wavefront=tiles,
        tiles_per_prism=count,
        tile_points=inner * (t // 2) * (tile_width + base),  # (26)
        input_words=words,
        output_words=words,
        shared_bytes=shared,
        tiles_per_sm=k,
        io_seconds=io_seconds,
        compute_seconds=compute,
        prism_seconds=together,
        dram_bytes=2.0 * words * WORD * count * tiles * fronts,
        terms={
            "arithmetic": computed,
            "transfers": np.where(k > 0, tiled - computed, np.inf),
            "synchronisation": sync,
        },
    )


def wavefronts(sizes: TileSizes, setting: Setting) -> Ints:
    """N_w of both colours (3), (20)."""
    return 2 * ceil_div(setting.facts.steps + 0 * sizes.time, sizes.time)


def pitch(sizes: TileSizes) -> Ints:
    """The printed pitch: 2 t_S + t_T in 1D and 2D (5), t_S1 + t_T in 3D (22)."""
    return (1 if len(sizes.space) == 3 else 2) * sizes.space[0] + sizes.time


def shared_values(sizes: TileSizes) -> Ints:
    """M_tile in values: 2 (t_S + t_T) in 1D, (19) in 2D, and its like in 3D, where nothing is printed."""
    total = np.full_like(sizes.time, 2)
    for size in sizes.space:
        total = total * (size + sizes.time + (len(sizes.space) > 1))
    return total


def prism_tiles(sizes: TileSizes, setting: Setting) -> Ints:
    """Tiles in sequence: 1 in 1D, ceil((S_2 + t_T) / t_S2) in 2D, the ceiling of the product in 3D (23)."""
    above, below = np.ones_like(sizes.time), np.ones_like(sizes.time)
    for size, extent in zip(sizes.space[1:], setting.facts.shape[1:], strict=True):
        above, below = above * (extent + sizes.time), below * size
    return ceil_div(above, below)


def prism_seconds(io_seconds: Floats, compute: Floats, k: Ints, count: Ints, rank: int) -> Floats:
    """Time of k prisms together on one SM: (12) in 1D, the piecewise (16) and (28), (29) else."""
    longer = np.maximum(io_seconds, compute)
    if rank == 1:
        return np.asarray(io_seconds + compute + (k - 1) * longer)
    return np.where(k > 1, io_seconds + k * longer * count, (io_seconds + compute) * count)


def overhead_estimate(sizes: TileSizes, setting: Setting) -> Floats:
    """Overhead over the ideal time after the thesis' equation 8.5: C_iter S_1 T / (t_S1 + t_T / 2).

    It drops the tiles in sequence and the quantisation of wavefronts, so it bounds neither way and is no selector.
    """
    face = sizes.space[0] + sizes.time / 2
    return np.asarray(setting.rates.c_iter.value * setting.facts.shape[0] * setting.facts.steps / face)
