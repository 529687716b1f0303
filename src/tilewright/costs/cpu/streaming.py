"""The cost of streaming tiles on a CPU: arithmetic, caches, memory, barriers, halos and the pipeline's fill.

A tile of a band of L levels computes ``rows + halo`` rows of ``width + halo`` cells per level. Per vector it pays the
longer of its arithmetic (C_iter of blocked rows, which ``calibrate`` measures) and the lines that travel to and from
the caches (the slabs that outlive an advance; in 3D every slab), since the hardware fetches ahead, and a share of the
time of lines from L3 (in 1D and 2D less where arithmetic hides them); per advance and level a start-up;
and, once per band, loading, transposing and storing; rows of tiles as wide as the grid are transposed by the first and
the last band only. This is our own extension; shares were fitted to measurements (docs/derivations/cpu.md).
"""

import numpy as np

from tilewright.base.constants import CACHE_LINE, PAGE, WORD
from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.costs.arrays import Floats, TileSizes
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.coefficients import CpuCoefficients
from tilewright.costs.cpu.levels import data_bytes, grid_seconds, off_chip
from tilewright.costs.reuse import Uses, lost_at_random, lost_in_order
from tilewright.costs.setting import Setting
from tilewright.schedules.families import streaming

ROWS = 10
"""Rows that an advance of a five-point stencil uses, whose start-up ``advance_seconds`` is: every row waits anew."""
FOLLOWED = 56
"""Rows that a stage may use side by side until the hardware loses track of some and fetches them no more ahead."""
UNFOLLOWED = 4.0
"""How many times as long as one that is fetched ahead a line from L2 takes that is not. Both were fitted to acoustic
and elastic waves of orders 2 to 16 in 2D, whose stages use 32 to 182 rows."""


def evaluate(sizes: TileSizes, setting: Setting) -> Breakdown:
    """Evaluate the model; a wavefront is a band, a tile one tile of it."""
    columns = [_one(setting, int(t), tuple(int(s[i]) for s in sizes.space)) for i, t in enumerate(sizes.time)]
    table = np.array(columns, dtype=np.float64).reshape(len(columns), 8)
    bands, tiles, points, words_in, words_out, footprint, compute, move = table.T
    rounds = np.ceil(tiles / setting.sm_count)
    sync = bands * setting.launch_seconds
    together = compute + move
    moved = (words_in + words_out) * WORD
    compulsory = 2.0 * data_bytes(setting)
    return Breakdown(
        wavefronts=bands.astype(np.int64),
        tiles_per_wavefront=tiles.astype(np.int64),
        tiles_per_prism=np.ones(len(columns), dtype=np.int64),
        tile_points=points.astype(np.int64),
        input_words=words_in,
        output_words=words_out,
        shared_bytes=footprint.astype(np.int64),
        tiles_per_sm=np.ones(len(columns), dtype=np.int64),
        io_seconds=move,
        compute_seconds=compute,
        prism_seconds=together,
        dram_bytes=moved * tiles * bands if off_chip(setting) else np.full(len(columns), compulsory),
        sync_seconds=sync,
        seconds=sync + bands * rounds * together,
    )


def _one(setting: Setting, levels: int, space: tuple[int, ...]) -> tuple[float, ...]:
    """Bands, tiles, points, words in and out, footprint, seconds of computing and of moving for one tile."""
    rank, steps = len(space), max(1, setting.steps)
    shape, (block_growth, known) = setting.shape, _known(setting)
    if rank == 1:
        shape, space = (1, *shape), (1, *space)
    bands = streaming.bands(steps, levels, setting.history)
    depth = min(levels, ceil_div(steps, bands))
    unit = max(1, CACHE_LINE // setting.itemsize)
    cuts = [ceil_div(extent, size) for extent, size in zip(shape, space, strict=True)]
    sides = [ceil_div(extent, count) for extent, count in zip(shape, cuts, strict=True)]
    growth, rows = block_growth.growth, block_growth.rows
    grown = [grow * (count > 1) for grow, count in zip(growth, cuts, strict=True)]  # no neighbour, no halo
    past = setting.levels / max(1, setting.fields) - 1.0  # versions that a step reads besides the newest
    width = ceil_div(int(space[-1] + growth[-1] * (levels + past)), unit) * unit
    outer = [side + 0.5 * grow * depth for side, grow in zip(sides[:-1], grown[:-1], strict=True)]
    lines = float(np.prod(outer))
    advances = (outer[0] / rows + (rank > 1)) * (outer[1] if rank == 3 else 1.0) * known.used / ROWS
    vectors = lines * width / setting.vector_width
    plane = width * setting.itemsize * (space[1] + growth[1] * levels if rank == 3 else 1.0)
    footprint = plane * (known.slabs + known.slabs_per_level * levels)
    side = int(space[1] + growth[1] * levels) if rank == 3 else 1
    met = min(1.0, setting.row_ends / cuts[-1])  # columns of tiles whose rows meet an end of a region
    arithmetic = (1.0 - met) * setting.blocked.value + met * setting.blocked_across.value
    near, felt = _line_seconds(footprint, width * setting.itemsize, side, setting)
    hidden = felt if hides(rank) else 0.0
    each = float(both(arithmetic, near, hidden, setting.coefficients)) + (felt - hidden)
    if rank == 2:
        each += near * UNFOLLOWED * max(0.0, 1.0 - FOLLOWED * setting.stages / known.used)
    compute = depth * (vectors * each + advances * setting.advance_seconds)
    held = [side + grow * depth for side, grow in zip(sides[:-1], grown[:-1], strict=True)]
    words_in = float(np.prod(held)) * width * (setting.levels + setting.constants) * setting.itemsize / WORD
    written = setting.levels - (setting.levels - setting.fields) / bands  # the last band leaves the newest versions
    words_out = float(np.prod(sides)) * written * setting.itemsize / WORD
    loads = words_in * WORD / setting.itemsize / setting.vector_width
    stores = words_out * WORD / setting.itemsize / setting.vector_width
    operation = setting.c_iter.value / max(1, setting.flops + 8)
    turned = min(1.0, 1.0 / bands) if rank > 1 and cuts[-1] == 1 else 1.0
    costs = setting.coefficients
    straight = costs.copy_operations * (1 - turned)
    move = loads * (costs.transpose_in_operations * turned + straight)
    move = (move + stores * (costs.transpose_out_operations * turned + straight)) * operation
    # What a band writes goes past the caches, so that all bands but the first one read from memory.
    again = 1.0 - 1.0 / bands
    move += words_in * ((1.0 - again) * WORD * grid_seconds(setting) + again * setting.word_seconds)
    move += words_out * setting.word_seconds
    points = depth * lines * (sides[-1] + 0.5 * growth[-1] * depth)
    return (bands, float(np.prod(cuts)), points, words_in, words_out, footprint, compute, move)


def _known(setting: Setting) -> tuple[streaming.TileGrowth, Uses]:
    if setting.stream is None or setting.reuse is None:
        raise UsageError("the cost of streaming tiles is known for CPUs and where such tiles are legal")
    return setting.stream, setting.reuse


def hides(rank: int) -> bool:
    """Whether arithmetic hides lines from L3: in 3D it does not (docs/derivations/cpu.md)."""
    return rank < 3


def both(
    arithmetic: float | Floats, near: float | Floats, felt: float | Floats, coefficients: CpuCoefficients
) -> Floats:
    """Seconds of arithmetic beside lines from L2 (``near``) and what is felt of those from L3 while it waits for L2."""
    power = coefficients.overlap_exponent
    longer = (np.power(arithmetic, power) + np.power(near, power)) ** (1.0 / power)
    idle = np.less(near, arithmetic)
    waits = np.where(idle, near, 1.0) / np.where(idle, arithmetic, 1.0)
    return np.asarray(longer + felt * waits**coefficients.l3_overlap_exponent)


def _line_seconds(footprint: float, row: int, side: int, setting: Setting) -> tuple[float, float]:
    """Seconds of lines per vector and level: of those from L2, which run beside the arithmetic, and of all others."""
    inner, mid, last = fills(footprint, row, side, setting)
    known = setting.coefficients
    memory = known.bytes_per_fetch * setting.word_seconds / WORD
    exposed = known.l3_exposed_fraction * known.bytes_per_fetch
    outer = exposed * setting.outer_byte_seconds if setting.outer_bytes else memory
    near = inner * setting.cache_byte_seconds * setting.line_ratio
    vector = setting.vector_width * setting.itemsize  # half of a line, or a quarter, where registers are narrower
    return vector * near, vector * (mid * outer + (last * memory if setting.outer_bytes else 0.0))


def fills(footprint: float, row: int, side: int, setting: Setting) -> tuple[float, float, float]:
    """Values per cell and level that L1, L2 and a core's part of L3 lack and fetch; ``side`` is the rows of a slab.

    Rows that a level uses again within an advance find between the two uses what
    :func:`tilewright.costs.reuse.uses` counts; of those that outlive an advance the whole tile lies in between.
    """
    block_growth, known = _known(setting)
    lines, ways = ceil_div(row, CACHE_LINE), max(1, setting.l1_bytes // PAGE)
    apart = [((between + 1.0) * side - 1.0, count) for between, count in known.near]
    apart.append((footprint / row - 1.0, known.far))
    inner = sum(count * lost_in_order(between, lines, ways) for between, count in apart)
    if len(setting.shape) == 3:
        beside = sum(setting.sides[1]) * (known.used - known.written)
        inner += beside * lost_in_order(known.used - 1.0, lines, ways)
    l2_ways, l3_ways = int(setting.coefficients.l2_ways), int(setting.coefficients.l3_ways)
    mid = sum(count * lost_at_random(between * row / setting.shared_bytes, l2_ways) for between, count in apart)
    room = max(setting.coefficients.l3_reuse_fraction * setting.outer_bytes, setting.shared_bytes)
    last = sum(count * lost_at_random(between * row / room, l3_ways) for between, count in apart)
    return inner / block_growth.rows, mid / block_growth.rows, last / block_growth.rows
