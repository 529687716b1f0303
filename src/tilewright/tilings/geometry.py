"""Exact geometry of hexagons, of diamonds and of skewed (classic) tiles, in logical steps.

Hexagonal tiling of (time, x): tiles of two *colours*. Colour 1 tiles of phase ``p`` start at logical time
``p * height``, colour 0 tiles half a height earlier; inside a phase colour 0 runs first. With slope ``r`` (the larger
reach of all dependences, per logical step) and base ``s``, the rows of a hexagon are ``s, s + 2r, …`` up to half the
height and the same way back. At every time the rows of the two colours fill one *pitch* exactly.

Source: Prajapati et al. 2017, section 3, with the exact pitch ``2 s + r (height - 2)`` in place of the printed
``2 t_S + t_T`` (equation 5).
"""

from dataclasses import dataclass

from tilewright.base.intmath import ceil_div


@dataclass(frozen=True, slots=True, kw_only=True)
class Hexagon:
    """A hexagonal tile of (time, x).

    Attributes:
        height: Rows of a tile in logical steps, even (the papers' t_T, times the stages of a step).
        base: Cells of the first and of the last row (the papers' t_S), at least ``max(1, slope)``.
        slope: Cells by which a row grows on each side per logical step.
    """

    height: int
    base: int
    slope: int

    @property
    def half(self) -> int:
        """Half the height."""
        return self.height // 2

    @property
    def width(self) -> int:
        """Cells of the widest row (the papers' w_tile)."""
        return self.base + 2 * self.slope * (self.half - 1)

    @property
    def pitch(self) -> int:
        """Distance between neighbouring tiles of one colour."""
        return self.width + self.base

    @property
    def points(self) -> int:
        """Cells of a whole tile, over all its rows."""
        return self.half * (self.width + self.base)

    @property
    def overhang(self) -> int:
        """Cells by which the widest row extends beyond the first one on each side."""
        return self.slope * (self.half - 1)

    def row(self, i: int) -> tuple[int, int]:
        """Half-open range of row ``i`` (0 to ``height - 1``), relative to the left end of the first row."""
        grow = self.slope * min(i, self.height - 1 - i)
        return -grow, self.base + grow

    def time_origin(self, colour: int, phase: int) -> int:
        """Logical time of the first row."""
        return phase * self.height - (0 if colour else self.half)

    def space_origin(self, colour: int, index: int) -> int:
        """Left end of the first row of tile ``index``."""
        shift = self.base + self.slope * (self.half - 1)
        return index * self.pitch + (shift if colour else 0)

    def phases(self, colour: int, steps: int) -> int:
        """Number of phases of a colour that hold any of ``steps`` logical steps (equation 3)."""
        if steps == 0:
            return 0
        return ceil_div(steps, self.height) if colour else ceil_div(steps + self.half, self.height)

    def tiles(self, colour: int, extent: int) -> int:
        """Number of tiles of a colour whose widest row meets ``[0, extent)``; the first one is tile 0."""
        return ceil_div(extent - (self.space_origin(colour, 0) - self.overhang), self.pitch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diamond:
    """A diamond of (time, x), with the methods of a hexagon: two colours, one half a height after the other.

    Two staircases of slope ``q / h`` cut the plane, ``h`` being half the height and ``q`` half the pitch: the cell x of
    logical time tau is in the tile ``(floor(u / 2q), floor(v / 2q))`` with ``u = x + floor(q tau / h)`` and
    ``v = floor(q tau / h) - x``. Dependences of a reach of at most ``floor(q / h)`` per logical step only lead to
    earlier tiles, and the tiles of equal sums start together: a hexagon whose base is a single cell.

    Source: Bandishti, Pananilath and Bondhugula, "Tiling stencil computations to maximize parallelism" (SC 2012).

    Attributes:
        height: Rows of a tile in logical steps, even.
        pitch: Distance between neighbouring tiles of one colour, even; the widest row has one cell less.
    """

    height: int
    pitch: int

    @property
    def half(self) -> int:
        """Half the height."""
        return self.height // 2

    @property
    def base(self) -> int:
        """Cells of the first row."""
        return 1

    @property
    def width(self) -> int:
        """Cells of the widest row."""
        return self.pitch - 1

    @property
    def overhang(self) -> int:
        """Cells by which the widest row extends beyond the first one on each side."""
        return self.pitch // 2 - 1

    @property
    def points(self) -> int:
        """Cells of a whole tile, over all its rows."""
        return self.half * self.pitch

    def row(self, i: int) -> tuple[int, int]:
        """Half-open range of row ``i`` (0 to ``height - 1``), relative to the cell of the first row."""
        rise = self.pitch // 2 * (i % self.half) // self.half
        grow = rise if i < self.half else self.overhang - rise
        return -grow, 1 + grow

    def time_origin(self, colour: int, phase: int) -> int:
        """Logical time of the first row."""
        return phase * self.height - (0 if colour else self.half)

    def space_origin(self, colour: int, index: int) -> int:
        """The cell of the first row of tile ``index``."""
        return index * self.pitch + (self.pitch // 2 if colour else 0)

    def phases(self, colour: int, steps: int) -> int:
        """Number of phases of a colour that hold any of ``steps`` logical steps."""
        if steps == 0:
            return 0
        return ceil_div(steps, self.height) if colour else ceil_div(steps + self.half, self.height)

    def tiles(self, colour: int, extent: int) -> int:
        """Number of tiles of a colour whose widest row meets ``[0, extent)``; the first one is tile 0."""
        return ceil_div(extent - (self.space_origin(colour, 0) - self.overhang), self.pitch)


Face = Hexagon | Diamond
"""What a prism's tiles look like on (time, axis 0)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    """A classic (time-skewed) cut of one axis inside a tile: cell x of row i belongs to tile (x + slope * i) // size.

    Attributes:
        size: Cells per row (the papers' t_S2, t_S3), at least 1.
        slope: Cells by which a tile moves to the left per logical step.
    """

    size: int
    slope: int

    def row(self, index: int, i: int) -> tuple[int, int]:
        """Half-open range of row ``i`` of tile ``index``."""
        low = index * self.size - self.slope * i
        return low, low + self.size

    def tiles(self, extent: int, height: int) -> int:
        """Number of tiles that cut ``[0, extent)`` over ``height`` rows."""
        return ceil_div(extent + self.slope * (height - 1), self.size)
