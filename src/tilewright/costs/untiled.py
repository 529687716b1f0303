"""The cost of no time tiling: every step sweeps the grid, bound by arithmetic or by memory (a roofline)."""

import numpy as np

from tilewright.costs import traffic
from tilewright.costs.arrays import ceil_div
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.levels import data_bytes, grid_seconds, off_chip
from tilewright.costs.setting import WORD, Setting


def evaluate(setting: Setting) -> Breakdown:
    """Evaluate the roofline of one sweep per stage and step.

    Args:
        setting: The problem on its machine.

    Returns:
        Every quantity, of shape (1,): a wavefront is one sweep, a tile what one SM or core does of it.
    """
    cells = np.array([setting.cells], dtype=np.int64)
    moved = traffic.untiled_bytes(setting)
    resident = setting.cpu and not off_chip(setting)
    each = ceil_div(cells, setting.sm_count)
    lines = each / setting.shape[-1] if setting.cpu else 0 * each
    vectors = ceil_div(each, setting.vector_width) + 0.5 * lines
    compute = vectors * setting.swept.value + lines * setting.stages * setting.row_seconds
    share = grid_seconds(setting) / setting.sm_count if resident else setting.byte_seconds
    io_seconds = np.full(1, moved * share)
    sweeps = np.array([setting.steps * setting.stages], dtype=np.int64)
    sync = sweeps * setting.launch_seconds
    compulsory = 2.0 * data_bytes(setting)
    longest = np.maximum(compute, io_seconds)
    written = setting.cells * setting.itemsize * setting.updated
    return Breakdown(
        wavefronts=sweeps,
        tiles_per_wavefront=np.full(1, setting.sm_count, dtype=np.int64),
        tiles_per_prism=np.ones(1, dtype=np.int64),
        tile_points=each,
        input_words=np.full(1, (moved - written) / WORD / setting.sm_count),
        output_words=np.full(1, written / WORD / setting.sm_count),
        shared_bytes=np.zeros(1, dtype=np.int64),
        tiles_per_sm=np.ones(1, dtype=np.int64),
        io_seconds=io_seconds,
        compute_seconds=compute,
        prism_seconds=longest,
        dram_bytes=np.full(
            1, min(compulsory, 1.0 * moved * setting.steps) if resident else 1.0 * moved * setting.steps
        ),
        sync_seconds=sync,
        seconds=setting.steps * longest + sync,
    )
