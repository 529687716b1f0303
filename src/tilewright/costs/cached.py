"""The time model on a CPU: hexagons in wavefronts over cores, rows in vectors, tiles in the cache of a core.

The papers' structure with n_SM = cores, n_V = SIMD lanes, M_SM = L2 per core and k = 1, and what differs from a GPU:
rows are clipped at the grid, so partial tiles cost what they compute; a row of the innermost axis has a start-up cost
and a last vector that is half empty on average; a footprint above the cache does not fail but streams from memory.
This is our own extension; nothing of it is printed.
"""

import numpy as np

from tilewright.costs import traffic
from tilewright.costs.arrays import Floats, Ints, Sizes, ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.levels import data_bytes, grid_seconds, missed_inside, missed_outside, off_chip, spill_seconds
from tilewright.costs.setting import WORD, Setting


def evaluate(sizes: Sizes, setting: Setting) -> Breakdown:
    """Evaluate the model of a CPU.

    Args:
        sizes: Tile sizes, even heights, bases of at least the reach; shape (n,).
        setting: The problem on its machine.

    Returns:
        Every quantity, of shape (n,); the seconds and words of a tile are a prism's over its number of tiles.
    """
    rows, face = traffic.height(sizes, setting), traffic.face_points(sizes, setting)
    count = traffic.prism_tiles(sizes, setting)
    plane = setting.cells // setting.shape[0]
    compute = compute_seconds(sizes, setting)
    footprint = footprint_bytes(sizes, setting)
    shadow = (traffic.width(sizes, setting) + 2 * setting.slopes[0]) * plane * setting.itemsize
    far = spilled_bytes(sizes, setting, footprint) * missed_outside(footprint, setting)
    read = shadow * float(setting.copies)
    written = shadow * float(setting.copies - setting.constants)
    io_seconds = (read + written) * grid_seconds(setting)
    fronts = traffic.wavefronts(sizes, setting)
    sync = (fronts[0] + fronts[1]) * setting.launch_seconds
    # All rows of a colour's tiles together are the grid at every step: 2 T / t_T full wavefronts in all.
    full = 2.0 * setting.steps * setting.stages / rows
    together = compute + io_seconds
    tiles = setting.shape[0] / traffic.pitch(sizes, setting)
    compulsory = 2.0 * data_bytes(setting)
    outside = off_chip(setting)
    return Breakdown(
        wavefronts=fronts[0] + fronts[1],
        tiles_per_wavefront=np.maximum(*traffic.tiles_per_wavefront(sizes, setting)),
        tiles_per_prism=count,
        tile_points=sizes.inner * face // setting.stages,
        input_words=(read + far) / WORD / count,
        output_words=written / WORD / count,
        shared_bytes=footprint,
        tiles_per_sm=np.ones_like(rows),
        io_seconds=io_seconds / count,
        compute_seconds=compute / count,
        prism_seconds=together,
        dram_bytes=(read + far + written) * full * tiles if outside else np.full(rows.shape, compulsory),
        sync_seconds=sync,
        seconds=sync + full * together * rounds(tiles, setting.sm_count),
    )


def rounds(tiles: Floats, cores: int) -> Floats:
    """Tiles that the busiest core computes per wavefront; a single tile that is wider than the grid is clipped."""
    whole = np.ceil(tiles)
    return np.where(tiles <= 1, tiles, np.ceil(whole / cores))


def compute_seconds(sizes: Sizes, setting: Setting) -> Floats:
    """Computation of one whole prism, c: rows of vectors, clipped to the grid along the classic axes.

    Along the innermost axis a line of S cells that is cut into n rows takes n starts and S / n_V + n / 2 vectors.
    """
    rows, face = traffic.height(sizes, setting), traffic.face_points(sizes, setting)
    iteration = vector_seconds(footprint_bytes(sizes, setting), setting)
    planes = rows * traffic.prism_tiles(sizes, setting) * setting.barrier_seconds
    if len(sizes.space) == 1:
        vectors = face / setting.vector_width + 0.5 * rows
        return np.asarray(vectors * iteration + rows * setting.row_seconds + planes)
    extent, size = setting.shape[-1], sizes.space[-1]
    most = ceil_div(extent + setting.slopes[-1] * (rows - 1), size)
    pieces = np.minimum(most, extent / size + 1.0)
    line = (extent / setting.vector_width + 0.5 * pieces) * iteration + pieces * setting.row_seconds
    lines = setting.cells // setting.shape[0] // extent
    return np.asarray(face * lines * line + planes)


def vector_seconds(footprint: Ints, setting: Setting) -> Floats:
    """Time per vector and logical step: C_iter, or the stream from M_SM and beyond where the footprint exceeds L1.

    The hardware fetches rows ahead, so that the longer of the two counts. What comes from beyond M_SM is also fetched
    before it is written.
    """
    missed = missed_inside(footprint, setting)
    values = setting.levels + setting.constants + setting.updated
    inside = (1.0 - missed) * values * setting.cache_byte_seconds
    beyond = missed * (values + setting.updated) * spill_seconds(footprint, setting)
    stream = setting.vector_width * setting.itemsize * (inside + beyond)
    outside = footprint > setting.l1_bytes
    return np.where(outside, np.maximum(setting.c_iter.value, stream), setting.c_iter.value) / setting.stages


def footprint_bytes(sizes: Sizes, setting: Setting) -> Ints:
    """Bytes that one tile touches: every copy of every field over the hull of its rows, clipped to the grid."""
    rows = traffic.height(sizes, setting)
    hull = np.minimum(traffic.width(sizes, setting) + 2 * setting.slopes[0], setting.shape[0])
    for size, slope, extent in zip(sizes.space[1:], setting.slopes[1:], setting.shape[1:], strict=True):
        hull = hull * np.minimum(size + slope * (rows + 1), extent)
    return hull * (setting.copies * setting.itemsize)


def spilled_bytes(sizes: Sizes, setting: Setting, footprint: Ints) -> Floats:
    """Further bytes per prism because the footprint exceeds L2.

    The share of the footprint that does not fit is streamed again in every row, as without time tiling.
    """
    miss = missed_inside(footprint, setting)
    per_point = traffic.untiled_bytes(setting) / setting.cells / setting.stages
    plane = setting.cells // setting.shape[0]
    return np.asarray(miss * traffic.face_points(sizes, setting) * plane * per_point)
