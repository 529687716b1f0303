"""Grids of sizes worth a look: of hexagons and streaming tiles on CPUs, of skewed and diamond tiles on both machines.

Points are in lexicographic order of (t_T, t_S1, …), k left open.
"""

import numpy as np

from tilewright.base.constants import CACHE_LINE, WARP
from tilewright.base.intmath import ceil_div, round_up
from tilewright.costs.arrays import Ints, TileSizes
from tilewright.costs.gpu.blocks import shared_bytes
from tilewright.costs.setting import Setting
from tilewright.costs.work.families import tiles_of
from tilewright.schedules.family import Family

# Of hexagons and hybrid tiles on CPUs: heights, bases, sizes of middle axes, and of the last one in vectors.
_HEIGHTS = (2, 4, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 384, 512)
_BASES = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_HYBRID_MIDDLES = (4, 8, 16, 32, 64, 128, 256)
_ROWS = (4, 8, 16, 32, 48, 64, 96, 128, 192, 256, 512)
# Of streaming tiles on CPUs: levels by rank, numbers of parts of the outer axes, and about how long the last ones are.
_LEVELS = {
    1: (8, 16, 24, 32, 52, 64, 100, 128),
    2: (4, 6, 8, 12, 16, 20, 24, 32, 52),
    3: (2, 3, 4, 5, 6, 7, 8, 10),
}
_STRIPS = (1, 2, 4, 8, 16)
_MIDDLES = (1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 32)
_WIDTHS = (256, 352, 512, 704, 1024, 2048, 4096, 8192)
_PITCHES = (2, 3, 4, 6, 8, 16)
"""Pitches of diamonds as multiples of half the smallest one."""
# Of skewed and diamond tiles on CPUs: heights and first sizes by rank, sizes of middle and last axes.
_CPU_TIMES = {1: (8, 16, 32, 64, 128, 256, 512), 2: (4, 8, 12, 16, 24, 32, 64), 3: (2, 4, 6, 8, 12, 16)}
_CPU_FIRST = {1: (512, 1024, 2048, 4096, 8192, 16384), 2: (16, 32, 64, 128, 256), 3: (8, 16, 32, 64)}
_CPU_MIDDLE = (8, 16, 32, 64)
_CPU_LAST = (128, 256, 512, 1024)
# Of skewed and diamond tiles on GPUs: sizes per doubling by rank, and the largest one in 1D in eighths.
_PER_DOUBLING = {1: 8, 2: 4, 3: 3}
_LARGEST = 4096


def hexagons(setting: Setting) -> TileSizes:
    """Return the heights and sizes of hexagons and hybrid tiles worth a look on a CPU."""
    steps, reach, lanes = setting.facts.steps, max(1, setting.facts.slopes[0]), setting.rates.vector_width
    heights = [t for t in _HEIGHTS if t == 2 or t < 2 * steps]
    if len(setting.facts.shape) == 1:
        bases = sorted({lanes * n for n in (*_ROWS, 1024, 2048, 4096, 8192) if lanes * n >= reach} | {reach})
        return _product([_ints(heights), _clip(bases, setting.facts.shape[0], reach)])
    axes = [
        _ints(heights),
        _clip([b for b in _BASES if b >= reach] + [reach, 2 * reach], setting.facts.shape[0], reach),
    ]
    axes += [_clip([*_HYBRID_MIDDLES, extent], extent, 1) for extent in setting.facts.shape[1:-1]]
    innermost = round_up(setting.facts.shape[-1], lanes)
    longest = round_up(innermost + setting.facts.slopes[-1] * max(heights) * setting.facts.stages, lanes)
    axes.append(_clip([lanes * n for n in _ROWS] + [innermost, longest], longest, 1))
    return _product(axes)


def streams(setting: Setting) -> TileSizes:
    """Return the levels and sizes of streaming tiles worth a look on a CPU."""
    rank, unit = len(setting.facts.shape), max(1, CACHE_LINE // setting.facts.itemsize)
    times = sorted({min(t, max(1, setting.facts.steps)) for t in _LEVELS[rank]})
    axes = [_equal_parts(setting.facts.shape[0], 1, _STRIPS, 16)] if rank > 1 else []
    if rank == 3:
        axes.append(_equal_parts(setting.facts.shape[1], 1, _MIDDLES, 8))
    last = setting.facts.shape[-1]
    counts = sorted({1, *(max(1, round(last / width)) for width in _WIDTHS)})
    axes.append(_equal_parts(last, unit, tuple(counts), unit))
    return _product([_ints(each) for each in (times, *axes)])


def _equal_parts(extent: int, unit: int, counts: tuple[int, ...], least: int) -> list[int]:
    """Sizes that cut an extent into these numbers of equal parts, none below ``least`` unless whole."""
    found = {ceil_div(ceil_div(extent, unit), count) * unit for count in counts}
    return sorted(size for size in found if size >= least) or [ceil_div(extent, unit) * unit]


def leaning(family: Family, setting: Setting) -> TileSizes:
    """Return the sizes of skewed or diamond tiles that a machine can hold; possibly none."""
    axes = _cpu_axes(setting) if setting.cpu else _gpu_axes(setting)
    if family.diamonds:
        axes[0] = axes[0][axes[0] % 2 == 0]
    time, *space = crossed(family, axes, setting)
    if not setting.cpu:
        # A tile keeps its own cells at least, a diamond all but one row of its pitch; most points end here.
        own = np.maximum(1, space[0] - family.diamonds)
        for size in space[1:]:
            own = own * size
        kept = own * setting.facts.copies * setting.facts.itemsize <= setting.rates.block_bytes
        time, space = time[kept], [size[kept] for size in space]
    sizes = ordered(family, [time, *space])
    if setting.cpu or not len(sizes.time):
        return sizes
    return sizes.take(
        shared_bytes(tiles_of(family).blocks(sizes, setting.facts), setting.facts) <= setting.rates.block_bytes
    )


def crossed(family: Family, axes: list[Ints], setting: Setting) -> list[Ints]:
    """Return every combination of heights and sizes; the first sizes of diamonds are their pitches, by the height."""
    if family.diamonds:
        axes = [axes[0], np.array(_PITCHES, dtype=np.int64), *axes[2:]]
    time, *space = (grid.ravel() for grid in np.meshgrid(*axes, indexing="ij"))
    if family.diamonds:
        pitch = np.maximum(1, setting.facts.slopes[0] * time * setting.facts.stages // 2) * space[0]
        space[0] = pitch + pitch % 2
    return [time, *space]


def ordered(family: Family, columns: list[Ints]) -> TileSizes:
    """Return combinations in lexicographic order, each once; only pitches of diamonds come otherwise."""
    if family.diamonds:
        rows = np.unique(np.stack(columns, axis=1), axis=0)
        columns = [rows[:, axis].copy() for axis in range(rows.shape[1])]
    return TileSizes(time=columns[0], space=tuple(columns[1:]), k=np.zeros_like(columns[0]))


def _geometric(first: int, last: int, step: int, per_doubling: int) -> Ints:
    """Multiples of ``step`` from ``first`` to about ``last``, so many per doubling at most."""
    last = max(first, last)
    count = int(per_doubling * max(1.0, np.log2(last / first))) + 2
    rounded = np.round(np.geomspace(first, last, count) / step).astype(np.int64) * step
    return np.unique(np.maximum(rounded, first))


def _gpu_axes(setting: Setting) -> list[Ints]:
    """Heights and sizes per axis: none so large that a tile of it alone would not fit."""
    rank = len(setting.facts.shape)
    density = _PER_DOUBLING[rank]
    values = setting.rates.block_bytes // (setting.facts.itemsize * max(1, setting.facts.copies))
    if rank == 1:
        most = min(values, round_up(setting.facts.shape[0], WARP), 8 * _LARGEST)
        return [
            _geometric(2, min(2 * max(1, setting.facts.steps), values), 2, 4),
            _geometric(WARP, most, WARP, density),
        ]
    tallest = min(2 * max(1, setting.facts.steps), max(2, values // WARP))
    axes = [_geometric(2, tallest, 2, density)]
    axes += [_geometric(1, min(extent, values // WARP), 1, density) for extent in setting.facts.shape[:-1]]
    last = min(round_up(setting.facts.shape[-1], WARP), values // 4)
    axes.append(_geometric(WARP, last, WARP, density))
    return axes


def _cpu_axes(setting: Setting) -> list[Ints]:
    rank, lanes = len(setting.facts.shape), setting.rates.vector_width
    times = [t for t in _CPU_TIMES[rank] if t == _CPU_TIMES[rank][0] or t < 2 * setting.facts.steps]
    axes = [_ints(times), _clip([*_CPU_FIRST[rank], setting.facts.shape[0]], setting.facts.shape[0], 1)]
    if rank == 3:
        axes.append(_clip([*_CPU_MIDDLE, setting.facts.shape[1]], setting.facts.shape[1], 1))
    if rank > 1:
        # A line that is not cut: what leans out of the grid on the left still belongs to the first tile.
        whole = setting.facts.shape[-1] + setting.facts.slopes[-1] * max(times) * setting.facts.stages
        lasts = [*_CPU_LAST, round_up(setting.facts.shape[-1], lanes), round_up(whole, lanes)]
        axes.append(_clip(lasts, whole + lanes, 1))
    return axes


def _clip(values: list[int], extent: int, least: int) -> Ints:
    """Return the distinct values from ``least`` to ``extent``, sorted; at least one."""
    kept = sorted({value for value in values if least <= value <= max(extent, least)})
    return _ints(kept or [max(least, min(values))])


def _product(axes: list[Ints]) -> TileSizes:
    """Return every combination of a height and of sizes, the last axis fastest."""
    grids = [grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")]
    return TileSizes(time=grids[0], space=tuple(grids[1:]), k=np.zeros_like(grids[0]))


def _ints(values: list[int]) -> Ints:
    return np.array(values, dtype=np.int64)
