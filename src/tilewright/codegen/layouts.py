"""Where the versions of a field lie in memory, and their rows: one class per way of lying there.

All cells of the grid and version v in slot v modulo copies (``Layout``), with the states that a run keeps behind these
(``Kept``), or with a version per step (``Series``); or the cells at the ends of an axis alone (``Packed``).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.codegen import ir

SLOT = ir.Var("slot")  # distance of the versions of a field; negative where a run begins with the second of them


def stride(axis: int, kind: ir.Index = ir.INDEX) -> ir.Var:
    """Distance of neighbours along an outer axis, in elements."""
    return ir.Var(f"s{axis}", kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """A field of which a number of versions are stored in turn."""

    base: ir.Expr  # cell zero of slot 0
    copies: int = 1
    kind: ir.Index = ir.INDEX  # type of distances; on GPUs wider than that of slots and places

    def version(self, level: int, step: ir.Expr) -> ir.Expr:
        """Cell zero of the version ``level`` steps after version ``step``."""
        return self.at(self.slot(level, step))

    def at(self, slot: ir.Expr) -> ir.Expr:
        """Cell zero of a slot."""
        return self.base if slot == ir.Int(0) else self.base + self._wide(slot) * self.distance

    def slot(self, level: int, step: ir.Expr) -> ir.Expr:
        """The slot of a version."""
        return (step + level % self.copies) % self.copies if self.copies > 1 else ir.Int(0)

    @property
    def distance(self) -> ir.Expr:
        """Distance of slots."""
        return ir.Var(SLOT.name, self.kind)

    def row(self, version: ir.Expr, places: Sequence[ir.Expr]) -> ir.Expr:
        """The row at some places along the outer axes, of a version that starts there."""
        for axis, place in enumerate(places):
            version += self._wide(place) * stride(axis, self.kind)
        return version

    def _wide(self, place: ir.Expr) -> ir.Expr:
        return place if self.kind == ir.INDEX else ir.wide(place)

    def missing(self, places: Sequence[ir.Expr]) -> Iterator[ir.Expr]:  # noqa: ARG002
        """Conditions under which a row in the grid is none of the field's, and 0."""
        return iter(())


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept(Layout):
    """The same, with a number of states behind these; the first one is there from the beginning."""

    states: int

    def slot(self, level: int, step: ir.Expr) -> ir.Expr:
        """The slot of a version: of the first state its own."""
        slot = Layout.slot(self, level, step)
        return ir.select(step.equals(-level), self.copies, slot) if level < 1 else slot

    def state(self, step: ir.Expr) -> ir.Expr:
        """Cell zero of where the state after a step is kept."""
        return self.base + (step + (self.copies + 1)) * SLOT


@dataclass(frozen=True, slots=True, kw_only=True)
class Series(Layout):
    """A version per step, one before the other, as a run leaves them that kept its states, seen from its end."""

    def version(self, level: int, step: ir.Expr) -> ir.Expr:  # noqa: ARG002
        """Cell zero of the version of a step."""
        return self.base - step * ir.select(SLOT < 0, 0 - SLOT, SLOT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed(Layout):
    """A field that lives at the ends of an axis alone: the cells between are left out.

    A run keeps the two ends one after the other. Of every such field the kernel finds, behind the bounds of the
    regions' middle (:attr:`tilewright.codegen.sites.Site.middle`), where the first end stops and the other one starts,
    how many cells are left out between them, the distance of versions and those of neighbours along the outer axes.
    Where a kernel reads and writes such fields in place, they have as many cells more as its reads reach: what lies
    there is 0.
    """

    axis: int  # the axis at whose ends it lives
    low: ir.Var  # end of the cells at the first end of the axis
    high: ir.Var  # start of those at the other one
    left: ir.Var  # cells that are left out between
    apart: ir.Var  # distance of versions
    strides: tuple[ir.Var, ...]  # distances of neighbours along the outer axes
    moved: ir.Var | None = None  # cells by which rows are moved, each a piece of one end of the innermost axis
    lets: tuple[ir.Stmt, ...]  # what names all these but ``moved``

    @property
    def distance(self) -> ir.Expr:
        """Distance of slots; they lie the other way round where those of other fields do."""
        return ir.select(SLOT < 0, 0 - self.apart, self.apart)

    def outside(self, place: ir.Expr) -> ir.Expr:
        """Whether a place along the axis is none of its cells."""
        return (place >= self.low) & (place < self.high)

    def row(self, version: ir.Expr, places: Sequence[ir.Expr]) -> ir.Expr:
        """The row at some places along the outer axes, of a version that starts there."""
        for axis, (place, distance) in enumerate(zip(places, self.strides, strict=True)):
            stored = ir.select(place < self.low, place, place - self.left) if axis == self.axis else place
            version += stored * distance
        return version if self.moved is None else version - self.moved

    def missing(self, places: Sequence[ir.Expr]) -> Iterator[ir.Expr]:
        """Conditions under which a row in the grid is none of the field's, and 0."""
        return (self.outside(place) for axis, place in enumerate(places) if axis == self.axis)

    def pieces(self, b: ir.Builder, low: ir.Expr, high: ir.Expr) -> Iterator[tuple[ir.Expr, ir.Expr, ir.Expr]]:
        """Go through cells along the innermost axis, its own, at one end after the other.

        Of each end: the first cell, the end of the cells, and by how many they are moved.
        """
        ends = ((low, ir.smallest(high, self.low), ir.Int(0)), (ir.largest(low, self.high), high, self.left))
        for number, (first, last, moved) in enumerate(ends):
            start, end = b.let(f"piece{number}_a", first), b.let(f"piece{number}_b", last)
            with b.when(start < end):
                yield start, end, moved
