"""The time models of skewed and diamond tiles: N_w, w, m_i, m_o, M_tile, T_tile and T_alg of each.

The structure is that of the corrected time model (:mod:`tilewright.costs.hexagonal.exact`): a tile transfers its words,
computes row by row, k tiles share an SM, and wavefronts follow each other; what a family brings is
:class:`tilewright.costs.strategy_work.StrategyWork`. On a CPU the quantities are those of
:mod:`tilewright.costs.cpu.hexagonal`. None of this is printed.
"""

import numpy as np

from tilewright.base.constants import WORD
from tilewright.base.errors import UsageError
from tilewright.costs import traffic
from tilewright.costs.arrays import Floats, Ints, TileSizes
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.cpu.hexagonal import again_seconds, beside_seconds, read_again, vector_seconds
from tilewright.costs.cpu.levels import (
    data_bytes,
    grid_seconds,
    missed_by_bands,
    missed_inside,
    missed_outside,
    off_chip,
)
from tilewright.costs.hexagonal import exact
from tilewright.costs.published import time as published
from tilewright.costs.setting import Setting
from tilewright.costs.strategy_work import StrategyWork, work_of
from tilewright.schedules.family import Family


def evaluate(family: Family, sizes: TileSizes, setting: Setting) -> Breakdown:
    """Evaluate the time model of skewed tiles, of diamonds, whose first size is the pitch, or of counted tiles."""
    work = work_of(family, sizes, setting)
    return _on_cpu(work, sizes, setting) if setting.cpu else _on_gpu(work, sizes, setting)


def gpu_seconds(work: StrategyWork, setting: Setting) -> tuple[Floats, Floats]:
    """Return m' and c of a block on a GPU; each of shape (n,)."""
    words = (work.input_values + work.output_values) * setting.itemsize / WORD
    io_seconds = words * setting.word_seconds + 2 * setting.barrier_seconds
    compute = work.vectors * (setting.other.value / setting.stages) + work.steps_in_sequence * setting.barrier_seconds
    return io_seconds, compute


def _on_gpu(work: StrategyWork, sizes: TileSizes, setting: Setting) -> Breakdown:
    scale = setting.itemsize / WORD
    read, written = work.input_values * scale, work.output_values * scale
    io_seconds, compute = gpu_seconds(work, setting)
    shared = np.minimum(work.shared_values * setting.itemsize, 2.0**62).astype(np.int64)
    k = published.resident_tiles(sizes, setting, shared)
    together = exact.prism_seconds(io_seconds, compute, k, work.count)
    sync = work.wavefronts * setting.launch_seconds
    turns = rounds(work, np.maximum(k, 1) * setting.sm_count)
    moved = (read + written) * WORD * work.count * work.tiles
    seconds = np.where(k > 0, sync + together * turns, np.inf)
    return _breakdown(work, setting, (read, written, shared, k), (io_seconds, compute, together, moved, sync, seconds))


def _on_cpu(work: StrategyWork, sizes: TileSizes, setting: Setting) -> Breakdown:
    """Partial blocks cost what they compute and move, so the work of all tiles is shared equally among them.

    Where tiles leave L2, every part of a line that starts anew waits for its first lines: until then nothing is fetched
    ahead. What another band wrote comes from L3 if little enough was touched in between; the first band's data do not.
    """
    footprint = np.minimum(work.shared_values * setting.itemsize, 2.0**62)
    bounded = np.minimum(footprint, 1.0 * setting.copies * setting.cells * setting.itemsize).astype(np.int64)
    blocks = work.tiles * work.count
    iteration = vector_seconds(bounded, read_again(sizes, setting), setting)
    beside = again_seconds(sizes, setting) + beside_seconds(work.around, bounded, setting)
    iteration = iteration + beside / setting.stages
    cells = 1.0 * setting.cells * setting.steps * setting.stages
    extent = setting.shape[-1]
    line = (extent / setting.vector_width + 0.5 * work.pieces) * iteration
    missed = missed_inside(bounded, setting)
    compute = cells / extent * (line + work.pieces * setting.row_seconds + work.breaks * missed * setting.fetch_seconds)
    compute = compute + blocks * work.steps_in_sequence * setting.barrier_seconds
    scale = setting.itemsize / WORD
    far = missed * missed_outside(bounded, setting)
    spilled = far * cells * traffic.swept_bytes(setting) / setting.cells / setting.stages
    # What is overwritten is read first; what does not fit L2 is in the time of a vector already.
    moved = (work.input_values + 2.0 * work.output_values) * setting.itemsize * blocks
    moved = moved * np.minimum(1.0, cells / np.maximum(blocks * work.points, 1.0))
    bands = np.maximum(np.ceil(setting.steps * setting.stages / work.rows), 1.0)
    near = (1.0 - missed_by_bands(work.between * setting.itemsize, setting)) * (1.0 - 1.0 / bands)
    byte_seconds = grid_seconds(setting) + near * np.minimum(0.0, setting.outer_byte_seconds - grid_seconds(setting))
    tile_compute, tile_move = compute / work.tiles, moved * byte_seconds / work.tiles
    together = tile_compute + tile_move
    sync = work.wavefronts * setting.launch_seconds
    compulsory = np.full(moved.shape, 2.0 * data_bytes(setting))
    ones = np.ones_like(work.wavefronts)
    return _breakdown(
        work,
        setting,
        (work.input_values * scale, work.output_values * scale, bounded, ones),
        (
            tile_move / work.count,
            tile_compute / work.count,
            together,
            moved * (1.0 - near) + spilled if off_chip(setting) else compulsory,
            sync,
            sync + together * shared_rounds(work, setting.sm_count),
        ),
    )


def _breakdown(
    work: StrategyWork, setting: Setting, block: tuple[Floats, Floats, Ints, Ints], took: tuple[Floats, ...]
) -> Breakdown:
    io_seconds, compute, together, moved, sync, seconds = took
    return Breakdown(
        wavefronts=work.wavefronts,
        tiles_per_wavefront=np.ceil(work.width).astype(np.int64),
        tiles_per_prism=work.count,
        tile_points=np.minimum(work.points / setting.stages, 2.0**62).astype(np.int64),
        input_words=block[0],
        output_words=block[1],
        shared_bytes=block[2],
        tiles_per_sm=block[3],
        io_seconds=io_seconds,
        compute_seconds=compute,
        prism_seconds=together,
        dram_bytes=moved,
        sync_seconds=sync,
        seconds=seconds,
    )


def shared_bytes(family: Family, sizes: TileSizes, setting: Setting) -> Floats:
    """Return what a block keeps on chip, in bytes; shape (n,)."""
    return work_of(family, sizes, setting).shared_values * setting.itemsize


def rounds(work: StrategyWork, together: Ints) -> Floats:
    """Turns over all wavefronts if so many tiles run at a time: ceil(w / together) each, fewer on the ramps.

    While it fills, wavefronts have ``u w`` tiles, u running from 0 to 1; a wavefront takes a turn at least. A width
    below 1 is a tile wider than the grid, which costs its part inside.
    """
    share = work.width / together
    full = np.where(work.width <= 1, work.width, np.ceil(share))
    whole = np.floor(share)
    rising = (whole * (whole + 1) / 2 + (share - whole) * (whole + 1)) / np.maximum(share, 1e-300)
    ramps = np.minimum(2 * work.ramp, work.wavefronts)
    return np.asarray((work.wavefronts - ramps) * full + ramps * np.maximum(rising, np.minimum(1.0, full)))


def shared_rounds(work: StrategyWork, cores: int) -> Floats:
    """Turns of a few cores over all wavefronts.

    As :func:`rounds`, but a width that is an average stands for whole numbers around it, which take
    ``w / cores + (cores - 1) / (2 cores)`` turns on average; and tiles that the start and the end of a run cut off
    count as what is left of them.
    """
    whole = (
        work.tiles / np.maximum(work.width, 1e-300) * np.where(work.width <= 1, work.width, np.ceil(work.width / cores))
    )
    share = work.width / cores + 0.5 * (cores - 1) / cores
    flat = np.where(work.width <= 1, work.width, np.maximum(share, 1.0))
    full = np.where(work.width <= 1, work.width, np.ceil(work.width / cores))
    ramps = np.minimum(2 * work.ramp, work.wavefronts)
    piped = rounds(work, np.full(work.wavefronts.shape, cores)) + (work.wavefronts - ramps) * (flat - full)
    return np.where(work.ramp > 0, piped, whole)


def check(family: Family, sizes: tuple[int, ...], time: int, setting: Setting) -> None:
    """Refuse sizes that no tile of a family can have."""
    if len(sizes) != len(setting.shape):
        raise UsageError(f"{family} tiles have one size per axis: {len(setting.shape)}, got {len(sizes)}")
    least = setting.slopes[0] * time * setting.stages
    if family.diamonds and (time % 2 or sizes[0] % 2 or sizes[0] < least):
        raise UsageError(
            f"diamonds have an even height and an even pitch of at least {least}, got t={time}, s={sizes[0]}"
        )
