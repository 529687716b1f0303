"""The sizes of skewed and diamond tiles worth a look: geometric grids, cut to what a machine can hold."""

import numpy as np

from tilewright.base.constants import WARP
from tilewright.base.intmath import round_up
from tilewright.costs.arrays import Ints, TileSizes
from tilewright.costs.gpu.blocks import shared_bytes
from tilewright.costs.setting import Setting
from tilewright.costs.work.families import tiles_of
from tilewright.schedules.family import Family

_PITCHES = (2, 3, 4, 6, 8, 16)
"""Pitches of diamonds as multiples of half the smallest one."""
_CPU_TIMES = {1: (8, 16, 32, 64, 128, 256, 512), 2: (4, 8, 12, 16, 24, 32, 64), 3: (2, 4, 6, 8, 12, 16)}
_CPU_FIRST = {1: (512, 1024, 2048, 4096, 8192, 16384), 2: (16, 32, 64, 128, 256), 3: (8, 16, 32, 64)}
_CPU_MIDDLE = (8, 16, 32, 64)
_CPU_LAST = (128, 256, 512, 1024)
_PER_DOUBLING = {1: 8, 2: 4, 3: 3}
_LARGEST = 4096


def points(family: Family, setting: Setting) -> TileSizes:
    """Enumerate sizes that a machine can hold, in lexicographic order, k left open; possibly none."""
    axes = _cpu_axes(setting) if setting.cpu else _gpu_axes(setting)
    if family.diamonds:
        axes[0] = axes[0][axes[0] % 2 == 0]
    time, *space = crossed(family, axes, setting)
    if not setting.cpu:
        # A tile keeps its own cells at least, a diamond all but one row of its pitch; most points end here.
        own = np.maximum(1, space[0] - (family.diamonds))
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
    axes = [times, _within([*_CPU_FIRST[rank], setting.facts.shape[0]], setting.facts.shape[0])]
    if rank == 3:
        axes.append(_within([*_CPU_MIDDLE, setting.facts.shape[1]], setting.facts.shape[1]))
    if rank > 1:
        # A line that is not cut: what leans out of the grid on the left still belongs to the first tile.
        whole = setting.facts.shape[-1] + setting.facts.slopes[-1] * max(times) * setting.facts.stages
        axes.append(
            _within([*_CPU_LAST, round_up(setting.facts.shape[-1], lanes), round_up(whole, lanes)], whole + lanes)
        )
    return [np.array(axis, dtype=np.int64) for axis in axes]


def _within(values: list[int], most: int) -> list[int]:
    return sorted({value for value in values if value <= most}) or [min(values)]
