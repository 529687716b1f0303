"""The time models of skewed, diamond and overlapped tiles: N_w, w, m_i, m_o, M_tile, T_tile and T_alg of each.

The structure is that of the corrected time model (:mod:`tilewright.costs.exact`): a tile transfers its words, computes
row by row, k tiles share an SM, and wavefronts follow each other; what a family brings is :class:`Work`. On a CPU the
quantities are those of :mod:`tilewright.costs.cached`. Time skewing fills and drains a pipeline: its wavefronts grow to
their full width and shrink again, which costs rounds with idle SMs. None of this is printed; the words of a skewed tile
in 1D are those of the thesis' J1D, M_io = 2 (t_S + 2 t_T), up to one row.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs import exact, published, traffic
from tilewright.costs.arrays import Floats, Ints, Sizes, ceil_div, ceil_sum
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.cached import vector_seconds
from tilewright.costs.levels import (
    data_bytes,
    grid_seconds,
    missed_by_bands,
    missed_inside,
    missed_outside,
    off_chip,
)
from tilewright.costs.setting import WORD, Setting

FAMILIES = ("skewed", "diamond", "overlapped")


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the tiles of a family are; every array has shape (n,).

    Attributes:
        wavefronts: N_w.
        width: Tiles of a wavefront, w, once the pipeline is full; a fraction is what a wavefront has on average.
        ramp: Wavefronts until it is full, and as many until it has drained.
        tiles: Tiles in all.
        count: Blocks in sequence per tile: what is on chip at a time is a block.
        rows: Logical steps of a block.
        points: Cells of a block over its logical steps.
        vectors: Vector iterations of a block, every row rounded up to whole vectors.
        input_values: Values that a block reads, m_i.
        output_values: Values that it writes, m_o.
        shared_values: Values that it keeps on chip, M_tile.
        redundancy: Cells computed over cells needed.
        pieces: Parts into which a line of the innermost axis is cut, on average.
        breaks: Parts of a line whose cells do not follow in memory on what the tile touched before, on average.
        between: Values of the grid that other tiles touch before the next band reads what a tile wrote.
        steps_in_sequence: Barriers of a block: one per row of every sub-tile.
    """

    wavefronts: Ints
    width: Floats
    ramp: Ints
    tiles: Floats
    count: Ints
    rows: Ints
    points: Floats
    vectors: Floats
    input_values: Floats
    output_values: Floats
    shared_values: Floats
    redundancy: Floats
    pieces: Floats
    breaks: Floats
    between: Floats
    steps_in_sequence: Ints


def evaluate(family: str, sizes: Sizes, setting: Setting) -> Breakdown:
    """Evaluate the time model of one of :data:`FAMILIES`.

    Args:
        family: The family.
        sizes: Tile sizes; of diamonds the first is the pitch; shape (n,).
        setting: The problem on its machine.

    Returns:
        Every quantity, of shape (n,).
    """
    work = _WORK[family](sizes, setting)
    return _on_cpu(work, setting) if setting.cpu else _on_gpu(work, sizes, setting)


def work_of(family: str, sizes: Sizes, setting: Setting) -> Work:
    """Return what the tiles of a family are."""
    return _WORK[family](sizes, setting)


def gpu_seconds(work: Work, setting: Setting) -> tuple[Floats, Floats]:
    """Return m' and c of a block on a GPU; each of shape (n,)."""
    words = (work.input_values + work.output_values) * setting.itemsize / WORD
    io_seconds = words * setting.word_seconds + 2 * setting.barrier_seconds
    compute = work.vectors * (setting.c_iter.value / setting.stages) + work.steps_in_sequence * setting.barrier_seconds
    return io_seconds, compute


def _on_gpu(work: Work, sizes: Sizes, setting: Setting) -> Breakdown:
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


def _on_cpu(work: Work, setting: Setting) -> Breakdown:
    """Partial blocks cost what they compute and move, so the work of all tiles is shared equally among them.

    Where tiles leave L2, every part of a line that starts anew waits for its first lines: until then nothing is fetched
    ahead. What another band wrote comes from L3 if little enough was touched in between.
    """
    footprint = np.minimum(work.shared_values * setting.itemsize, 2.0**62)
    bounded = np.minimum(footprint, 1.0 * setting.copies * setting.cells * setting.itemsize).astype(np.int64)
    blocks = work.tiles * work.count
    iteration = vector_seconds(bounded, setting)
    cells = 1.0 * setting.cells * setting.steps * setting.stages * work.redundancy
    extent = setting.shape[-1]
    line = (extent / setting.vector_width + 0.5 * work.pieces) * iteration
    missed = missed_inside(bounded, setting)
    compute = cells / extent * (line + work.pieces * setting.row_seconds + work.breaks * missed * setting.fetch_seconds)
    compute = compute + blocks * work.steps_in_sequence * setting.barrier_seconds
    scale = setting.itemsize / WORD
    far = missed * missed_outside(bounded, setting)
    spilled = far * cells * traffic.untiled_bytes(setting) / setting.cells / setting.stages
    # What is overwritten is read first; what does not fit L2 is in the time of a vector already.
    moved = (work.input_values + 2.0 * work.output_values) * setting.itemsize * blocks
    moved = moved * np.minimum(1.0, cells / np.maximum(blocks * work.points, 1.0))
    near = 1.0 - missed_by_bands(work.between * setting.itemsize, setting)
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
    work: Work, setting: Setting, block: tuple[Floats, Floats, Ints, Ints], took: tuple[Floats, ...]
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


def updates(family: str, sizes: Sizes, setting: Setting) -> Floats:
    """Return the cell updates of all tiles, those that are computed more than once included; shape (n,)."""
    return 1.0 * setting.cells * setting.steps * _WORK[family](sizes, setting).redundancy


def shared_bytes(family: str, sizes: Sizes, setting: Setting) -> Floats:
    """Return what a block keeps on chip, in bytes; shape (n,)."""
    return _WORK[family](sizes, setting).shared_values * setting.itemsize


def rounds(work: Work, together: Ints) -> Floats:
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


def shared_rounds(work: Work, cores: int) -> Floats:
    """Turns of a few cores over all wavefronts.

    As :func:`rounds`, but a width that is an average stands for whole numbers around it, which take
    ``w / cores + (cores - 1) / (2 cores)`` turns on average; and tiles that the start and the end of a run cut off
    count as what is left of them.
    """
    cast = np.full(work.wavefronts.shape, cores)
    whole = (
        work.tiles / np.maximum(work.width, 1e-300) * np.where(work.width <= 1, work.width, np.ceil(work.width / cores))
    )
    share = work.width / cores + 0.5 * (cores - 1) / cores
    flat = np.where(work.width <= 1, work.width, np.maximum(share, 1.0))
    full = np.where(work.width <= 1, work.width, np.ceil(work.width / cores))
    ramps = np.minimum(2 * work.ramp, work.wavefronts)
    piped = rounds(work, cast) + (work.wavefronts - ramps) * (flat - full)
    return np.where(work.ramp > 0, piped, whole)


def _product(columns: list[Floats]) -> Floats:
    total = np.ones_like(columns[0], dtype=np.float64)
    for column in columns:
        total = total * column
    return total


def skewed(sizes: Sizes, setting: Setting) -> Work:
    """Time skewing: parallelograms in every axis, wavefronts of equal ``lag * band + sum of the tile's numbers``."""
    rows = sizes.time * setting.stages
    steps = setting.steps * setting.stages
    bands = np.maximum(ceil_div(steps + 0 * rows, rows), 1)
    short = np.maximum(steps - (bands - 1) * rows, 1)  # rows of the last band
    counts, delays, last = [], [], []
    for size, extent, (_, right) in zip(sizes.space, setting.shape, setting.sides, strict=True):
        count = ceil_div(extent + right * (rows - 1), size)
        counts.append(count)
        delays.append(np.minimum(ceil_div(right * rows, size), count - 1))
        last.append(ceil_div(extent + right * (short - 1), size))
    lag = 1 + np.asarray(sum(delays))
    span = 1 + np.asarray(sum(count - 1 for count in counts))
    ends = lag * (bands - 2) + span, lag * (bands - 1) + 1 + np.asarray(sum(count - 1 for count in last))
    fronts = np.maximum(*ends)
    ramp = np.minimum(span, lag * bands)
    tiles = _product([1.0 * count for count in counts]) * (bands - 1) + _product([1.0 * count for count in last])
    side = [1.0 * size for size in sizes.space]
    grown = [size + sum(pair) for size, pair in zip(side, setting.sides, strict=True)]
    inner = [np.maximum(size - sum(pair), 0.0) for size, pair in zip(side, setting.sides, strict=True)]
    hull = [size + sum(pair) + pair[1] * (rows - 1) for size, pair in zip(side, setting.sides, strict=True)]
    sub = sizes.sub or sizes.space
    parts = _product([1.0 * (size // part) for size, part in zip(sizes.space, sub, strict=True)])
    width = np.prod(np.stack(sub), axis=0)
    volume, around, kept = _product(side), _product(grown), _product(inner)
    read = setting.levels * (around + (rows - 1) * (around - volume)) + setting.constants * _product(hull)
    pieces = _pieces(sizes.space[-1] if not sizes.sub else sizes.sub[-1], counts[-1], setting)
    return Work(
        wavefronts=fronts,
        width=tiles / np.maximum(fronts - ramp, 1),
        ramp=ramp,
        tiles=tiles,
        count=np.ones_like(rows),
        rows=rows,
        points=volume * rows,
        vectors=1.0 * rows * parts * ceil_div(width, setting.vector_width),
        input_values=read,
        output_values=setting.levels * (volume + (rows - 1) * (volume - kept)),
        shared_values=setting.copies * _product(hull),
        redundancy=np.ones(rows.shape),
        pieces=pieces,
        breaks=_breaks(sizes, pieces),
        between=setting.copies * lag * np.minimum(volume * tiles / np.maximum(fronts - ramp, 1), 1.0 * setting.cells),
        steps_in_sequence=(rows * parts).astype(np.int64),
    )


def _pieces(size: Ints, count: Ints, setting: Setting) -> Floats:
    """Parts of a line of the innermost axis, on average: no more than there are tiles."""
    extent = setting.shape[-1]
    return np.where(count <= 1, 1.0, np.minimum(1.0 * ceil_div(extent + 0 * size, size) + 0.5, extent / size + 1.0))


def _breaks(sizes: Sizes, pieces: Floats) -> Floats:
    """Parts of a line that start anew in memory: every one where lines are cut, else one line of many in 3D."""
    apart = 1.0 / sizes.space[-2] if len(sizes.space) > 2 else 0.0
    return np.where(pieces > 1, pieces, apart)


def diamond(sizes: Sizes, setting: Setting) -> Work:
    """Diamonds on (time, axis 0), classic cuts on the other axes: hexagons that start with a single cell.

    One field brings in p + r H + 2 r - 1 values per cell of the other axes and hands on p + r (H - 2), with the pitch
    p, the reach r and the height H in logical steps.
    """
    rows, pitch, inner = sizes.time * setting.stages, sizes.space[0], 1.0 * sizes.inner
    half, reach = rows // 2, setting.slopes[0]
    fronts = traffic.wavefronts(sizes, setting)
    cut = setting.shape[0] + 0 * pitch
    each = ceil_div(cut + pitch // 2 - 1, pitch), ceil_div(cut - 1, pitch)
    count = traffic.prism_tiles(sizes, setting)
    tiles = np.maximum(1.0 * (fronts[0] * each[0] + fronts[1] * each[1]), 1.0)
    shadow = pitch - 1 + 2 * reach
    read = setting.levels * (pitch + reach * rows + 2 * reach - 1) + setting.constants * shadow
    steep, whole = pitch * sizes.inner, half * setting.vector_width
    # The rows below the middle grow from a cell to the pitch, those above shrink to a cell.
    vectors = ceil_sum(half, half * sizes.inner, steep, whole)
    vectors = vectors + ceil_sum(half, np.maximum(pitch - half, 0) * sizes.inner, steep, whole)
    outer: list[Ints] = [
        size + slope * (rows + 1) for size, slope in zip(sizes.space[1:], setting.slopes[1:], strict=True)
    ]
    last = sizes.space[-1]
    pieces: Floats
    if len(sizes.space) > 1:
        cuts = ceil_div(setting.shape[-1] + setting.slopes[-1] * (rows - 1), last)
        pieces = _pieces(last, cuts, setting)
    else:
        pieces = np.maximum(1.0, setting.shape[0] * 2.0 / pitch)
    if setting.cpu:
        # Rows of both colours fill the grid at every step: 2 T / t_T full wavefronts of extent / pitch tiles.
        width: Floats = np.maximum(setting.shape[0] / pitch, 1e-9)
        tiles = np.maximum(2.0 * setting.steps * setting.stages / rows, 1e-9) * width
    else:
        width = 1.0 * np.maximum(*each)
    return Work(
        wavefronts=fronts[0] + fronts[1],
        width=width,
        ramp=np.zeros_like(rows),
        tiles=tiles,
        count=count,
        rows=rows,
        points=1.0 * half * pitch * inner,
        vectors=1.0 * vectors,
        input_values=read * inner,
        output_values=setting.levels * (pitch + reach * (rows - 2)) * inner,
        shared_values=setting.copies * _product([1.0 * shadow, *(1.0 * size for size in outer)]),
        redundancy=np.ones(rows.shape),
        pieces=pieces,
        breaks=_breaks(sizes, pieces) if len(sizes.space) > 1 else np.zeros(rows.shape),
        between=np.full(rows.shape, np.inf),
        steps_in_sequence=rows,
    )


def overlapped(sizes: Sizes, setting: Setting) -> Work:
    """Ghost zones: one wavefront per band, tiles that compute again what they need of their neighbours.

    With l steps left a tile computes its sizes and l times the reach on both sides; where one tile covers an axis
    nothing is computed twice.
    """
    counts = [ceil_div(extent + 0 * size, size) for size, extent in zip(sizes.space, setting.shape, strict=True)]
    bands = np.maximum(ceil_div(setting.steps + 0 * sizes.time, sizes.time), 1)
    levels = ceil_div(setting.steps + 0 * bands, bands)
    side, grown = [], []
    for size, extent, number, growth in zip(sizes.space, setting.shape, counts, setting.ghosts, strict=True):
        side.append(np.where(setting.cpu, extent / number, 1.0 * size))
        grown.append(np.where(number > 1, 1.0 * growth, 0.0 if setting.cpu else 1.0 * growth))
    own = _product(side)
    points = setting.stages * _series(side, grown, levels)
    lines = setting.stages * _series(side[:-1], grown[:-1], levels)
    loaded = _product([size + growth * levels for size, growth in zip(side, grown, strict=True)])
    width = _product([1.0 * number for number in counts])
    redundancy = points / np.maximum(own * levels * setting.stages, 1.0)
    return Work(
        wavefronts=bands,
        width=width,
        ramp=np.zeros_like(bands),
        tiles=width * bands,
        count=np.ones_like(bands),
        rows=levels * setting.stages,
        points=points,
        vectors=points / setting.vector_width + 0.5 * levels * setting.stages,
        input_values=(setting.levels + setting.constants) * loaded,
        output_values=setting.levels * own,
        shared_values=setting.copies * loaded,
        redundancy=redundancy,
        pieces=np.maximum(lines * setting.shape[-1] / np.maximum(points, 1.0), 1.0),
        breaks=np.zeros(bands.shape),  # a thread's own memory is contiguous
        between=np.full(bands.shape, np.inf),
        steps_in_sequence=levels * setting.stages,
    )


def _series(side: list[Floats], grown: list[Floats], levels: Ints) -> Floats:
    """Sum over l below ``levels`` of the product of ``side + l * grown``, for up to three axes."""
    parts: list[Floats] = [np.ones(levels.shape)]
    for size, growth in zip(side, grown, strict=True):
        longer: list[Floats] = [*(size * part for part in parts), np.zeros(levels.shape)]
        for power, part in enumerate(parts):
            longer[power + 1] = longer[power + 1] + growth * part
        parts = longer
    last = levels - 1.0
    sums = [1.0 * levels, levels * last / 2, levels * last * (2 * levels - 1) / 6, (levels * last / 2) ** 2]
    return np.asarray(sum(part * each for part, each in zip(parts, sums, strict=False)))


def check(family: str, sizes: tuple[int, ...], time: int, setting: Setting) -> None:
    """Refuse sizes that no tile of a family can have.

    Raises:
        UsageError: If there is not one size per axis, or diamonds are too steep.
    """
    if len(sizes) != len(setting.shape):
        raise UsageError(f"{family} tiles have one size per axis: {len(setting.shape)}, got {len(sizes)}")
    least = setting.slopes[0] * time * setting.stages
    if family == "diamond" and (time % 2 or sizes[0] % 2 or sizes[0] < least):
        raise UsageError(
            f"diamonds have an even height and an even pitch of at least {least}, got t={time}, s={sizes[0]}"
        )


_WORK: dict[str, Callable[[Sizes, Setting], Work]] = {"skewed": skewed, "diamond": diamond, "overlapped": overlapped}
