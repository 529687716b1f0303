"""Hexagons, alone in 1D and with classic cuts along the other axes: exact counts for arrays of sizes.

All in logical steps. The scalar geometry is :class:`tilewright.schedules.geometry.Hexagon`; these are the same numbers
for whole arrays (tested against it and by brute force).
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import CACHE_LINE
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div
from tilewright.costs.facts import Facts
from tilewright.costs.work import tiles
from tilewright.costs.work.tiles import BlockWork, BoxWork, Fronts, Rows


def blocks(sizes: TileSizes, facts: Facts) -> BlockWork:
    """Return what a GPU's blocks do: prisms, or slabs, of tiles in sequence."""
    rows, inner = height(sizes, facts), sizes.inner
    read, written = tile_words(sizes, facts)
    fronts, across = wavefronts(sizes, facts), tiles_per_wavefront(sizes, facts)
    return BlockWork(
        fronts=Fronts(kinds=tuple(zip(fronts, across, strict=True))),
        width=np.maximum(*across),
        tiles=fronts[0] * across[0] + fronts[1] * across[1],
        count=prism_tiles(sizes, facts),
        points=1.0 * inner * face_points(sizes, facts),
        # below the middle and above it
        rows=(Rows(count=rows // 2, first=sizes.space[0] * inner, step=2 * facts.slopes[0] * inner, times=2),),
        meetings=rows,
        input_values=read,
        output_values=written,
        shared_values=shared_values(sizes, facts),
        printed=True,
    )


def boxes(sizes: TileSizes, facts: Facts) -> BoxWork:
    """Return what a CPU's cores do: prisms, box after box, clipped to the grid."""
    rows, face, fronts = height(sizes, facts), face_points(sizes, facts), wavefronts(sizes, facts)
    rank, plane, count = len(facts.shape), facts.cells // facts.shape[0], prism_tiles(sizes, facts)
    last, extent = sizes.space[-1], facts.shape[-1]
    lines: Floats = 1.0 * rows
    parts: Floats = np.ones(len(rows))
    cut = breaks = 0.0 * lines
    vectors: Callable[[int], Floats] = functools.partial(_row_vectors, face / rows)
    if rank > 1:
        moving = MovingCuts.of(sizes, facts)
        lines, vectors, parts = 1.0 * face * (plane // extent), moving.vectors, moving.pieces
        # A piece begins with cells that the tile before wrote. Lines that are not cut follow each other in memory.
        cut, breaks = np.where(parts > 1, parts, 0.0), tiles.breaks(sizes, parts)
    strip = np.zeros(rows.shape)
    for size, whole, slope in zip(sizes.space[1:], facts.shape[1:], facts.slopes[1:], strict=True):
        strip = strip + np.where(size >= whole, 0.0, np.minimum(1.0, (slope + 1.0) / size))
    shadow = 1.0 * (width(sizes, facts) + 2 * facts.slopes[0]) * plane
    read, written = shadow * facts.copies, shadow * (facts.copies - facts.constants)
    # All rows of a colour's tiles together are the grid at every step: 2 T / t_T full wavefronts in all.
    full = 2.0 * facts.steps * facts.stages / rows
    return BoxWork(
        wavefronts=fronts[0] + fronts[1],
        width=np.maximum(*tiles_per_wavefront(sizes, facts)),
        tiles=full * facts.shape[0] / pitch(sizes, facts),
        turns=functools.partial(_turns, sizes, facts, full),
        count=count,
        points=sizes.inner * face // facts.stages,
        boxes=rows * count,
        updates=1.0 * face * plane,
        lines=lines,
        vectors=vectors,
        pieces=parts,
        cuts=cut,
        breaks=breaks,
        # The first line of a cut plane of a box is waited for, and those behind it are fetched ahead.
        planes=cut / sizes.space[-2] if rank > 2 else 0.0,
        apart=rank > 1,
        row=np.where(last < extent, last, np.inf),
        box_values=_box_values(sizes, facts),
        tile_values=_tile_values(sizes, facts),
        strip=np.minimum(strip, 1.0),
        runs=1.0 * ((last >= extent) & (rank == 2)),
        plane_values=tiles.plane_values(sizes, facts),
        # A plane that is cut along its middle axis is read with rows that other tiles write, whatever its size.
        rim=tiles.around(sizes, facts, (1,) if rank == 3 else ()),
        read_values=read,
        written_values=written,
        input_values=read / count,
        output_values=written / count,
        streamed=True,
    )


def height(sizes: TileSizes, facts: Facts) -> Ints:
    """Rows of a tile: t_T logical steps."""
    return sizes.time * facts.stages


def width(sizes: TileSizes, facts: Facts) -> Ints:
    """Cells of the widest row, w_tile (equation 4, any slope)."""
    return sizes.space[0] + facts.slopes[0] * (height(sizes, facts) - 2)


def pitch(sizes: TileSizes, facts: Facts) -> Ints:
    """Distance of neighbouring tiles of a colour: w_tile + t_S (in place of the printed equation 5)."""
    return width(sizes, facts) + sizes.space[0]


def face_points(sizes: TileSizes, facts: Facts) -> Ints:
    """Cells of a hexagon over all its rows."""
    return height(sizes, facts) // 2 * pitch(sizes, facts)


def wavefronts(sizes: TileSizes, facts: Facts) -> tuple[Ints, Ints]:
    """Number of wavefronts of colour 0 and of colour 1 (equation 3)."""
    rows, steps = height(sizes, facts), facts.steps * facts.stages
    if steps == 0:
        return np.zeros_like(rows), np.zeros_like(rows)
    return ceil_div(steps + rows // 2, rows), ceil_div(steps + 0 * rows, rows)


def tiles_per_wavefront(sizes: TileSizes, facts: Facts) -> tuple[Ints, Ints]:
    """Number of tiles of a wavefront of colour 0 and of colour 1 that meet the grid."""
    distance, base = pitch(sizes, facts), sizes.space[0]
    overhang = (width(sizes, facts) - base) // 2
    counts = []
    for origin in (0 * base, base + overhang):
        first = -(origin + base + overhang) // distance + 1
        last = ceil_div(facts.shape[0] - origin + overhang, distance)
        counts.append(last - first)
    return counts[0], counts[1]


def live_in(sizes: TileSizes, facts: Facts) -> Ints:
    """Values that the flow dependences of one field bring into a hexagon: t_S + 2 r t_T (equation 7, any reach)."""
    return sizes.space[0] + 2 * facts.slopes[0] * height(sizes, facts)


def live_out(sizes: TileSizes, facts: Facts) -> Ints:
    """Values of a hexagon that other tiles read: t_S + 2 r (t_T - 1), where (7) prints t_S + 2 t_T."""
    # A base narrower than twice the reach makes the outer cells of the narrowest rows overlap; they count once.
    base, reach = sizes.space[0], facts.slopes[0]
    rows = height(sizes, facts)
    overlap = np.maximum(0, 2 * reach - base)
    return base + 2 * reach * (rows - 1) - overlap


def prism_tiles(sizes: TileSizes, facts: Facts) -> Ints:
    """Tiles in sequence per prism or slab: the product of the axes' ceilings (in place of equation 23)."""
    total = np.ones_like(sizes.time)
    for size, extent, slope in zip(sizes.space[1:], facts.shape[1:], facts.slopes[1:], strict=True):
        total = total * ceil_div(extent + slope * (height(sizes, facts) - 1), size)
    return total


def tile_words(sizes: TileSizes, facts: Facts) -> tuple[Ints, Ints]:
    """Values that a tile reads from memory and writes to it (equations 13 and 24), over all fields."""
    # Every updated field and time level counts with the hexagon's live-in and live-out, which is exact for one field
    # and one past level and an upper bound for more; a field that is only read counts with the tile's shadow.
    shadow = width(sizes, facts) + 2 * facts.slopes[0]
    read = facts.levels * live_in(sizes, facts) + facts.constants * shadow
    return read * sizes.inner, facts.levels * live_out(sizes, facts) * sizes.inner


def shared_values(sizes: TileSizes, facts: Facts) -> Ints:
    """Values that a tile keeps on chip, M_tile: 2 (t_S + t_T) in 1D, 2 prod(t_Si + t_T + 1) else (equation 19)."""
    # For any reach r, with r (t_T + 1) in place of t_T + 1, and for any number of copies in place of 2.
    rows = grown_rows(height(sizes, facts), len(sizes.space))
    total = np.full_like(sizes.time, facts.copies)
    for size, slope in zip(sizes.space, facts.slopes, strict=True):
        total = total * (size + slope * rows)
    return total


def grown_rows(rows: Ints, rank: int) -> Ints:
    """Rows by whose slopes a tile on chip is wider than its size: t_T in 1D, t_T + 1 else (equation 19)."""
    return rows + 1 if rank > 1 else rows


def _row_vectors(cells: Floats, lanes: int) -> Floats:
    """Vectors of rows of so many cells, the last of which is half empty on average."""
    return np.asarray(cells / lanes + 0.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class MovingCuts:
    """Lines of the grid along the innermost axis, whose cuts move with the rows of a tile."""

    places: Ints  # which of the pairs of rows and sizes a tiling has, shape (n,)
    rows: Ints  # of every pair
    size: Ints  # of every pair and row the cells between two cuts; shape (sum of all rows,), as the following
    first: Ints  # cells before the first cut
    whole: Ints  # pieces between two cuts
    last: Ints  # cells behind the last cut

    @staticmethod
    def of(sizes: TileSizes, facts: Facts) -> "MovingCuts":
        """Cut the lines of tilings."""
        extent = facts.shape[-1]
        pairs, cuts = np.unique(np.stack([height(sizes, facts), sizes.space[-1]]), axis=1, return_inverse=True)
        rows, size = pairs[0], np.repeat(pairs[1], pairs[0])
        row = np.arange(len(size)) - np.repeat(np.cumsum(rows) - rows, rows)
        first = np.minimum(extent, size - facts.slopes[-1] * row % size)
        whole, last = np.divmod(extent - first, size)
        return MovingCuts(places=cuts.ravel(), rows=rows, size=size, first=first, whole=whole, last=last)

    def _mean(self, values: Ints) -> Floats:
        """The mean over the rows of every tiling; shape (n,)."""
        if not len(values):
            return np.zeros(len(self.places))
        sums = np.add.reduceat(values, np.cumsum(self.rows) - self.rows)
        return np.asarray((sums / self.rows)[self.places])

    @property
    def pieces(self) -> Floats:
        """Pieces of a line; shape (n,)."""
        return self._mean(1 + self.whole + (self.last > 0))

    def vectors(self, lanes: int) -> Floats:
        """Vectors of a line; shape (n,)."""

        # The last vector of a piece overlaps the one before, and a piece that is shorter than a vector is computed cell
        # by cell.
        def of(cells: Ints) -> Ints:
            return np.where(cells < lanes, cells, ceil_div(cells, lanes))

        return self._mean(of(self.first) + self.whole * of(self.size) + of(self.last))


def _turns(sizes: TileSizes, facts: Facts, full: Floats, cores: int) -> Floats:
    """Tiles that the busiest core computes in all: over full wavefronts, the mean of both colours."""
    # Cores take the tiles in order, each as soon as it is free; the first and the last one are clipped at the grid.
    base, distance = sizes.space[0], pitch(sizes, facts)
    overhang = (width(sizes, facts) - base) // 2
    counts = tiles_per_wavefront(sizes, facts)
    mean = np.zeros(len(base))
    for origin, count in zip((0 * base, base + overhang), counts, strict=True):
        left = origin + (-(origin + base + overhang) // distance + 1) * distance
        first, last = (_inside(left + k * distance, base, overhang, facts.shape[0]) for k in (0 * count, count - 1))
        each, rest = np.divmod(np.maximum(count - 2, 0), cores)
        # The first tile's core is the last to take a whole one; the last tile goes to whoever is free first.
        uneven = np.where(rest == cores - 1, np.maximum(each + (cores > 1), each + first + last), each + 1.0)
        ends = np.where(rest == 0, each + np.maximum(first, last), uneven) if cores > 1 else each + first + last
        mean = mean + 0.5 * np.where(count < 2, np.where(count < 1, 0.0, first), ends)
    return np.asarray(full * mean)


def _inside(left: Ints, base: Ints, overhang: Ints, extent: int) -> Floats:
    """Share of a tile's mean row that lies in the grid."""
    low, high = left - 0.5 * overhang, left + base + 0.5 * overhang
    return np.asarray(np.maximum(0.0, np.minimum(high, extent) - np.maximum(low, 0.0)) / (high - low))


def _box_values(sizes: TileSizes, facts: Facts) -> Floats:
    """Values of every copy of every field over the cells of a mean box and those around it that it reads."""
    # A piece of a row begins and ends anywhere in a cache line.
    hull, last = 0.5 * pitch(sizes, facts) + sum(facts.sides[0]), len(facts.shape) - 1
    for axis in range(1, len(facts.shape)):
        ends = CACHE_LINE // facts.itemsize - 1 if axis == last else 0
        hull = hull * np.minimum(sizes.space[axis] + sum(facts.sides[axis]) + ends, facts.shape[axis])
    return np.asarray(hull * facts.copies)


def _tile_values(sizes: TileSizes, facts: Facts) -> Ints:
    """Values that one tile touches: every copy of every field over the hull of its rows, clipped to the grid."""
    rows = height(sizes, facts)
    hull = np.minimum(width(sizes, facts) + 2 * facts.slopes[0], facts.shape[0])
    for size, slope, extent in zip(sizes.space[1:], facts.slopes[1:], facts.shape[1:], strict=True):
        hull = hull * np.minimum(size + slope * (rows + 1), extent)
    return hull * facts.copies
