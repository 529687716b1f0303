"""Exact geometry of hexagons, of diamonds and of skewed (classic) tiles, in logical steps.

Hexagonal tiling of (time, x): tiles of two *colours*. Colour 1 tiles of phase ``p`` start at logical time
``p * height``, colour 0 tiles half a height earlier; inside a phase colour 0 runs first. With slope ``r`` (the larger
reach of all dependences, per logical step) and base ``s``, the rows of a hexagon are ``s, s + 2r, …`` up to half the
height and the same way back. At every time the rows of the two colours fill one *pitch* exactly.

Source: Prajapati et al. 2017, section 3, with the exact pitch ``2 s + r (height - 2)`` in place of the printed
``2 t_S + t_T`` (equation 5).
"""

from dataclasses import dataclass
from typing import Generic, Protocol

from tilewright.schedules.tree.affine import Expr, Integer, Whole, ceiling, expression, least


class _Shape(Protocol[Integer]):
    """What distinguishes a hexagon from a diamond."""

    @property
    def height(self) -> Integer: ...
    @property
    def base(self) -> Integer: ...
    @property
    def pitch(self) -> Integer: ...
    @property
    def overhang(self) -> Integer: ...
    @property
    def half(self) -> Integer: ...
    def grown(self, i: Integer) -> Integer: ...
    def space_origin(self, colour: Integer, index: Integer) -> Integer: ...


class _TwoColours:
    """Where the tiles of two colours lie, one half a height after the other, whose rows fill a pitch at every time."""

    __slots__ = ()

    @property
    def half(self: _Shape[Integer]) -> Integer:
        return self.height // 2

    @property
    def points(self: _Shape[Integer]) -> Integer:
        """Cells of a whole tile, over all its rows."""
        return self.half * self.pitch

    def row(self: _Shape[Integer], i: Integer) -> tuple[Integer, Integer]:
        """Half-open range of row ``i``, relative to the left end of the first row."""
        return -self.grown(i), self.base + self.grown(i)

    def time_origin(self: _Shape[Integer], colour: Integer, phase: Integer) -> Integer:
        """Logical time of the first row."""
        return phase * self.height - (1 - colour) * self.half

    def space_origin(self: _Shape[Integer], colour: Integer, index: Integer) -> Integer:
        """Left end of the first row of tile ``index``."""
        return index * self.pitch + colour * (self.base + self.overhang)

    def phases(self: _Shape[Integer], colour: int, steps: Integer) -> Integer:
        """Number of phases of a colour that hold any of ``steps`` logical steps (equation 3), or more by one."""
        if steps == 0:
            return steps
        return ceiling(steps if colour else steps + self.half, self.height)

    def tiles(self: _Shape[Integer], colour: Integer, extent: Integer) -> Integer:
        """Number of tiles of a colour whose widest row meets ``[0, extent)``; the first one is tile 0."""
        return ceiling(extent + self.overhang - self.space_origin(colour, colour * 0), self.pitch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hexagon(_TwoColours, Generic[Integer]):
    """A hexagonal tile of (time, x)."""

    height: Integer  # rows of a tile in logical steps, even (the papers' t_T, times the stages of a step)
    base: Integer  # cells of the first and of the last row (the papers' t_S), at least 1
    slope: int  # cells by which a row grows on each side per logical step

    @property
    def note(self) -> str:
        """A line about it for the reader of a kernel."""
        return f"hexagons of {self.height} rows, base {self.base}, slope {self.slope}, pitch {self.pitch}"

    @property
    def width(self) -> Integer:
        """Cells of the widest row (the papers' w_tile)."""
        return self.base + (self.half - 1) * (2 * self.slope)

    @property
    def pitch(self) -> Integer:
        """Distance between neighbouring tiles of one colour."""
        return self.width + self.base

    @property
    def overhang(self) -> Integer:
        """Cells by which the widest row extends beyond the first one on each side."""
        return (self.half - 1) * self.slope

    def grown(self, i: Integer) -> Integer:
        """Cells by which row ``i`` (0 to ``height - 1``) extends beyond the first one on each side."""
        return least(i, self.height - 1 - i) * self.slope

    def symbolic(self) -> "Hexagon[Expr]":
        """The same with expressions in place of numbers."""
        return Hexagon(height=expression(self.height), base=expression(self.base), slope=self.slope)


@dataclass(frozen=True, slots=True, kw_only=True)
class Diamond(_TwoColours, Generic[Integer]):
    """A diamond of (time, x), in two colours, one half a height after the other.

    Two staircases of slope ``q / h`` cut the plane, ``h`` being half the height and ``q`` half the pitch: the cell x of
    logical time tau is in the tile ``(floor(u / 2q), floor(v / 2q))`` with ``u = x + floor(q tau / h)`` and
    ``v = floor(q tau / h) - x``. Dependences of a reach of at most ``floor(q / h)`` per logical step only lead to
    earlier tiles, and the tiles of equal sums start together: a hexagon whose base is a single cell.

    Source: Bandishti, Pananilath and Bondhugula, "Tiling stencil computations to maximize parallelism" (SC 2012).
    """

    height: Integer  # rows of a tile in logical steps, even
    pitch: Integer  # distance between neighbouring tiles of one colour, even; the widest row has one cell less

    @property
    def note(self) -> str:
        """A line about it for the reader of a kernel."""
        return f"diamonds of {self.height} rows, pitch {self.pitch}"

    @property
    def base(self) -> Integer:
        """Cells of the first row."""
        return self.pitch * 0 + 1

    @property
    def width(self) -> Integer:
        """Cells of the widest row."""
        return self.pitch - 1

    @property
    def overhang(self) -> Integer:
        """Cells by which the widest row extends beyond the first one on each side."""
        return self.pitch // 2 - 1

    def grown(self, i: Integer) -> Integer:
        """Cells by which row ``i`` (0 to ``height - 1``) extends beyond the first one on each side.

        The staircase goes on rising in the second half; seen from the other end it falls.
        """
        rise = self.pitch // 2
        whole = rise % self.half in {0, Whole(0)}
        risen = i * (rise // self.half) if whole else i * rise // self.half
        return least(risen, 2 * rise - 1 - risen)

    def symbolic(self) -> "Diamond[Expr]":
        """The same with expressions in place of numbers."""
        return Diamond(height=expression(self.height), pitch=expression(self.pitch))


Face = Hexagon[int] | Diamond[int]  # what a prism's tiles look like on (time, axis 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew(Generic[Integer]):
    """A classic (time-skewed) cut of one axis: cell x of row i belongs to tile (x + slope * i) // size."""

    size: Integer  # cells per row (the papers' t_S2, t_S3), at least 1
    slope: int  # cells by which a tile moves to the left per logical step

    def row(self, index: Integer, i: Integer) -> tuple[Integer, Integer]:
        """Half-open range of row ``i`` of tile ``index``."""
        low = index * self.size - i * self.slope
        return low, low + self.size

    def tiles(self, extent: Integer, height: Integer) -> Integer:
        """Number of tiles that cut ``[0, extent)`` over ``height`` rows."""
        return ceiling(extent + (height - 1) * self.slope, self.size)

    def delay(self, height: Integer, tiles: Integer) -> Integer:
        """How many tiles to the right a dependence on the band before leads, at most, of so many that there are."""
        return least(ceiling(height * self.slope, self.size), tiles - 1) if self.slope else tiles * 0

    def symbolic(self) -> "Skew[Expr]":
        """The same with expressions in place of numbers."""
        return Skew(size=expression(self.size), slope=self.slope)
