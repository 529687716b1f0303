"""The cost of streaming tiles on a CPU: arithmetic, caches, memory, barriers, halos and the pipeline's fill.

A tile of a band of L levels computes ``rows + halo`` rows of ``width + halo`` cells per level. Per vector it pays the
longer of its arithmetic (C_iter of blocked rows, which ``calibrate`` measures) and the lines that travel to and from
the caches (the slabs that outlive an advance; in 3D every slab), since the hardware fetches ahead; per advance and
level a start-up; and, once per band, loading, transposing and storing; rows of tiles as wide as the grid are
transposed by the first and the last band only. This is our own extension; shares were fitted to measurements
(docs/cpu.md).
"""

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.costs.arrays import Sizes
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.levels import data_bytes, grid_seconds, off_chip, share_missed
from tilewright.costs.setting import WORD, Setting

LIFT, LOWER, COPY = 12.0, 20.0, 3.0
"""Operations that transposing a vector on its way in and out takes as long as, and copying it."""
TOGETHER = {1: 1.0, 2: 1.0, 3: 0.42}
"""Time of the lines between L1 and L2 over ``line_ratio`` of what their bytes say, by rank: fetches overlap."""
BEHIND = {1: 1.0, 2: 0.35, 3: 0.42}
"""The same of lines from L3, without ``line_ratio``; lines from memory take what they take."""
USABLE = 0.8
"""Share of L2 that a tile's slabs may use, and of L1 that the rows of one advance of a level may."""
OUTSIDE, CLIFF = 0.45, 3.0
"""Share of a core's part of L3 that a tile's slabs may use, and how fast all is lost beyond it: slabs are used in turn,
and a cache that drops what was used longest ago drops just what comes next."""
OLDER = 2.5
"""Lines that a version before the newest takes where L1 does not hold it. Counting says 1; wave2d, measured at eight
widths, says 2.5, and no reason was found."""
_LINE = 64


def evaluate(sizes: Sizes, setting: Setting) -> Breakdown:
    """Evaluate the model.

    Args:
        sizes: Levels and tile sizes; shape (n,).
        setting: The problem on a CPU.

    Returns:
        Every quantity, of shape (n,): a wavefront is a band, a tile one tile of it.
    """
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
    shape, footing = setting.shape, setting.stream
    if footing is None:
        raise UsageError("the cost of streaming tiles is known for CPUs and where such tiles are legal")
    if rank == 1:
        shape, space = (1, *shape), (1, *space)
    bands = ceil_div(steps, levels)
    bands += bands % 2 != steps % 2
    depth = min(levels, ceil_div(steps, bands))
    unit = max(1, _LINE // setting.itemsize)
    cuts = [ceil_div(extent, size) for extent, size in zip(shape, space, strict=True)]
    sides = [ceil_div(extent, count) for extent, count in zip(shape, cuts, strict=True)]
    growth, keep, rows = footing.growth, footing.keep, footing.rows
    grown = [grow * (count > 1) for grow, count in zip(growth, cuts, strict=True)]  # no neighbour, no halo
    past = setting.levels / max(1, setting.fields) - 1.0  # versions that a step reads besides the newest
    width = max(unit * unit, ceil_div(int(space[-1] + growth[-1] * (levels + past)), unit) * unit)
    outer = [side + 0.5 * grow * depth for side, grow in zip(sides[:-1], grown[:-1], strict=True)]
    lines = float(np.prod(outer))
    advances = ceil_div(int(outer[0]) + rows * 2, rows) * setting.stages * (outer[1] if rank == 3 else 1.0)
    vectors = lines * width / setting.vector_width
    plane = width * setting.itemsize * (space[1] + growth[1] * levels if rank == 3 else 1.0)
    slabs = 2 * keep * (levels + 1 + past) + (2 + past) * max(0, rows - keep)
    footprint = plane * (setting.fields + setting.constants) * slabs
    each = both(setting.blocked.value, _line_seconds(footprint, width, setting))
    compute = depth * (vectors * each + advances * setting.advance_seconds)
    held = [side + grow * depth for side, grow in zip(sides[:-1], grown[:-1], strict=True)]
    words_in = float(np.prod(held)) * width * (setting.levels + setting.constants) * setting.itemsize / WORD
    written = setting.levels - (setting.levels - setting.fields) / bands  # the last band leaves the newest versions
    words_out = float(np.prod(sides)) * written * setting.itemsize / WORD
    loads = words_in * WORD / setting.itemsize / setting.vector_width
    stores = words_out * WORD / setting.itemsize / setting.vector_width
    operation = setting.c_iter.value / max(1, setting.flops + 8)
    turned = min(1.0, 1.0 / bands) if rank > 1 and cuts[-1] == 1 else 1.0
    move = (loads * (LIFT * turned + COPY * (1 - turned)) + stores * (LOWER * turned + COPY * (1 - turned))) * operation
    move += (words_in + words_out) * WORD * grid_seconds(setting)
    points = depth * lines * (sides[-1] + 0.5 * growth[-1] * depth)
    return (bands, float(np.prod(cuts)), points, words_in, words_out, footprint, compute, move)


def both(arithmetic: float, lines: float) -> float:
    """Seconds of arithmetic beside lines that are fetched ahead: the longer one, and both where they are alike."""
    return float(np.hypot(arithmetic**2, lines**2) ** 0.5)


def _line_seconds(footprint: float, width: int, setting: Setting) -> float:
    """Seconds of lines per vector and level.

    All lines travel between L1 and L2. Of a tile that does not fit L2 only those that outlive an advance have gone on
    to L3 when they are needed; of tiles that do not fit L3 together, any may come from memory, on top of all that.
    """
    rank = len(setting.shape)
    inside = setting.cache_byte_seconds if footprint > USABLE * setting.l1_bytes else 0.0
    lines, lasting = _line_traffic(width, setting)
    missed = max(0.0, 1.0 - USABLE * setting.shared_bytes / footprint)
    outer = setting.outer_byte_seconds if setting.outer_bytes else setting.word_seconds / WORD
    far = lasting * missed * max(0.0, outer - inside)
    room = OUTSIDE * setting.outer_bytes
    lost = min(1.0, CLIFF * max(0.0, 1.0 - room / footprint))
    beyond = lines * missed * lost * setting.word_seconds / WORD
    near = TOGETHER[rank] * setting.line_ratio * lines * inside
    return _LINE * (near + BEHIND[rank] * far + beyond)


def _line_traffic(width: int, setting: Setting) -> tuple[float, float]:
    """Lines between L1 and L2 per vector and level, and those of them that outlive an advance.

    A level writes one version of every field, whatever the number of versions that it reads: those before the newest
    have just been read as the newest by the level before, and travel again only where L1 does not hold a level's rows.
    """
    footing, rank = setting.stream, len(setting.shape)
    if footing is None:
        raise UsageError("the cost of streaming tiles is known for CPUs and where such tiles are legal")
    rows, keep = footing.rows, footing.keep
    fields, older = setting.fields + setting.constants, setting.levels - setting.fields
    lasting = fields * 2.0 * keep / rows
    if rank == 1:
        return fields * 2.0, lasting
    far = fields * ((rows + keep) / rows + 2.0) + OLDER * older
    if rank == 3:
        # A line is read once more for every neighbour in its plane that L1 no longer holds.
        beside = sum(setting.sides[1])
        window = (rows * (beside + 1) + keep) * fields * width * setting.itemsize
        return far + fields * beside * float(share_missed(np.array(window), USABLE * setting.l1_bytes)), lasting
    near = fields * 3.0 * min(1.0, keep / rows)
    held = (fields * (2 * rows + keep) + older * rows) * width * setting.itemsize
    return near + max(0.0, far - near) * max(0.0, 1.0 - USABLE * setting.l1_bytes / held), lasting
