"""Exact counts of hexagonal tiles: rows, tiles, live-in, live-out, footprints, for arrays of sizes.

All in logical steps. The scalar geometry is :class:`tilewright.schedules.geometry.Hexagon`; these are the same numbers
for whole arrays (tested against it and by brute force).
"""

from collections.abc import Sequence

import numpy as np

from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div
from tilewright.costs.setting import Setting


def height(sizes: TileSizes, setting: Setting) -> Ints:
    """Rows of a tile: t_T logical steps."""
    return sizes.time * setting.stages


def width(sizes: TileSizes, setting: Setting) -> Ints:
    """Cells of the widest row, w_tile (equation 4, any slope)."""
    return sizes.space[0] + setting.slopes[0] * (height(sizes, setting) - 2)


def pitch(sizes: TileSizes, setting: Setting) -> Ints:
    """Distance of neighbouring tiles of a colour: w_tile + t_S (in place of the printed equation 5)."""
    return width(sizes, setting) + sizes.space[0]


def face_points(sizes: TileSizes, setting: Setting) -> Ints:
    """Cells of a hexagon over all its rows."""
    return height(sizes, setting) // 2 * pitch(sizes, setting)


def wavefronts(sizes: TileSizes, setting: Setting) -> tuple[Ints, Ints]:
    """Number of wavefronts of colour 0 and of colour 1 (equation 3)."""
    rows, steps = height(sizes, setting), setting.steps * setting.stages
    if steps == 0:
        return np.zeros_like(rows), np.zeros_like(rows)
    return ceil_div(steps + rows // 2, rows), ceil_div(steps + 0 * rows, rows)


def tiles_per_wavefront(sizes: TileSizes, setting: Setting) -> tuple[Ints, Ints]:
    """Number of tiles of a wavefront of colour 0 and of colour 1 that meet the grid."""
    distance, base = pitch(sizes, setting), sizes.space[0]
    overhang = (width(sizes, setting) - base) // 2
    counts = []
    for origin in (0 * base, base + overhang):
        first = -(origin + base + overhang) // distance + 1
        last = ceil_div(setting.shape[0] - origin + overhang, distance)
        counts.append(last - first)
    return counts[0], counts[1]


def live_in(sizes: TileSizes, setting: Setting) -> Ints:
    """Values that the flow dependences of one field bring into a hexagon: t_S + 2 r t_T (equation 7, any reach)."""
    return sizes.space[0] + 2 * setting.slopes[0] * height(sizes, setting)


def live_out(sizes: TileSizes, setting: Setting) -> Ints:
    """Values of a hexagon that other tiles read: t_S + 2 r (t_T - 1), where (7) prints t_S + 2 t_T.

    A base narrower than twice the reach makes the outer cells of the narrowest rows overlap; they count once.
    """
    base, reach = sizes.space[0], setting.slopes[0]
    rows = height(sizes, setting)
    overlap = np.maximum(0, 2 * reach - base)
    return base + 2 * reach * (rows - 1) - overlap


def prism_tiles(sizes: TileSizes, setting: Setting) -> Ints:
    """Tiles in sequence per prism or slab: the product of the axes' ceilings (in place of equation 23)."""
    total = np.ones_like(sizes.time)
    for size, extent, slope in zip(sizes.space[1:], setting.shape[1:], setting.slopes[1:], strict=True):
        total = total * ceil_div(extent + slope * (height(sizes, setting) - 1), size)
    return total


def tile_words(sizes: TileSizes, setting: Setting) -> tuple[Ints, Ints]:
    """Values that a tile reads from memory and writes to it (equations 13 and 24), over all fields.

    Every updated field and time level counts with the hexagon's live-in and live-out, which is exact for one field
    and one past level and an upper bound for more; a field that is only read counts with the tile's shadow.
    """
    shadow = width(sizes, setting) + 2 * setting.slopes[0]
    read = setting.levels * live_in(sizes, setting) + setting.constants * shadow
    return read * sizes.inner, setting.levels * live_out(sizes, setting) * sizes.inner


def shared_values(sizes: TileSizes, setting: Setting) -> Ints:
    """Values that a tile keeps on chip, M_tile: 2 (t_S + t_T) in 1D, 2 prod(t_Si + t_T + 1) else (equation 19).

    For any reach r, with r (t_T + 1) in place of t_T + 1, and for any number of copies in place of 2.
    """
    rows = grown_rows(height(sizes, setting), len(sizes.space))
    total = np.full_like(sizes.time, setting.copies)
    for size, slope in zip(sizes.space, setting.slopes, strict=True):
        total = total * (size + slope * rows)
    return total


def grown_rows(rows: Ints, rank: int) -> Ints:
    """Rows by whose slopes a tile on chip is wider than its size: t_T in 1D, t_T + 1 else (equation 19)."""
    return rows + 1 if rank > 1 else rows


def untiled_bytes(setting: Setting) -> int:
    """Bytes between chip and memory of one step without time tiling.

    Every value that the step needs is read once and every new one written once; on a CPU what is overwritten is read,
    too.
    """
    values = setting.levels + setting.constants
    values += setting.writes + setting.fetches if setting.cpu else setting.updated
    return setting.cells * setting.itemsize * values


def swept_bytes(setting: Setting) -> int:
    """The same on a CPU where no cache keeps anything between statements: each reads all that it needs."""
    return setting.cells * setting.itemsize * (setting.reads + setting.writes + setting.fetches)


def around(sizes: TileSizes, setting: Setting, axes: Sequence[int]) -> Floats:
    """Return the values per cell and time step around a block, along axes where it is cut and as wide at every step."""
    found = np.zeros(len(sizes.time))
    for axis in axes:
        size = sizes.space[axis]
        found = found + np.where(size < setting.shape[axis], setting.further[axis] / size, 0.0)
    return found
