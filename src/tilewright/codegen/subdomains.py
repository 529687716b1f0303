"""Where fields lie in memory that live at the ends of an axis alone: the cells between are left out.

A run keeps the two ends one after the other. Of every such field the kernel finds, behind the bounds of the regions'
middle (:func:`tilewright.codegen.sites.middle`), where the first end stops and the other one starts, how many cells are
left out between them, the distance of versions and those of neighbours along the outer axes. Where a kernel reads and
writes such fields in place, they have as many cells more as its reads reach: what lies there is 0.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import Storage

Stmts = tuple[ir.Stmt, ...]


def record(problem: Problem) -> int:
    """Whole numbers that describe a field."""
    return 4 + problem.program.rank - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedField:
    """Names of what a kernel finds of a field."""

    axis: int  # the axis at whose ends it lives
    low: ir.Var  # end of the cells at the first end of the axis
    high: ir.Var  # start of those at the other one
    left: ir.Var  # cells that are left out between
    slot: ir.Var  # distance of versions
    strides: tuple[ir.Var, ...]  # distances of neighbours along the outer axes
    lets: Stmts  # what names them

    def outside(self, place: ir.Expr) -> ir.Expr:
        """Whether a place along the axis is none of its cells."""
        return (place >= self.low) & (place < self.high)

    def at(self, place: ir.Expr) -> ir.Expr:
        """Where a place along the axis lies, counted without what is left out."""
        return ir.select(place < self.low, place, place - self.left)

    def row(self, start: ir.Expr, places: Sequence[ir.Expr]) -> ir.Expr:
        """The row at some places along the outer axes, of a version that starts there."""
        for axis, (place, stride) in enumerate(zip(places, self.strides, strict=True)):
            start = start + (self.at(place) if axis == self.axis else place) * stride
        return start

    def pieces(self, low: ir.Expr, high: ir.Expr, piece: Callable[[ir.Expr, ir.Expr, ir.Expr], Stmts]) -> Stmts:
        """Cut cells along the innermost axis, its own, in those of the ends: each is told what to move by."""
        found: list[ir.Stmt] = []
        ends: tuple[tuple[ir.Expr, ir.Expr, ir.Expr], ...] = (
            (low, ir.smallest(high, self.low), ir.Int(0)),
            (ir.largest(low, self.high), high, self.left),
        )
        for number, (first, last, moved) in enumerate(ends):
            a, b = ir.Var(f"piece{number}_a"), ir.Var(f"piece{number}_b")
            found += [ir.Let(a, first), ir.Let(b, last), ir.If(a < b, piece(a, b, moved))]
        return tuple(found)


def packed_field(problem: Problem, storage: Storage, field: str, cells: ir.Expr) -> PackedField | None:
    """Name what a kernel finds of a field, by the regions' numbers at ``cells``; None of one that lives everywhere."""
    names = [name for name, _ in storage.subdomains]
    if field not in names:
        return None
    number, rank = names.index(field), problem.program.rank
    first = 2 * rank + number * record(problem)
    titles = ["low", "high", "left", "slot", *(f"stride{axis}" for axis in range(rank - 1))]
    found = [ir.Var(f"{title}_of_{field}") for title in titles]
    lets: list[ir.Stmt] = [ir.Let(var, ir.Load(cells, ir.Int(first + i), ir.INDEX)) for i, var in enumerate(found)]
    return PackedField(
        axis=dict(storage.subdomains)[field].axis,
        low=found[0],
        high=found[1],
        left=found[2],
        slot=found[3],
        strides=tuple(found[4:]),
        lets=tuple(lets),
    )


def packed_version(field: PackedField, number: ir.Expr) -> ir.Expr:
    """Where a version lies, counted from that of number 0; they lie the other way round where those of others do."""
    slot = ir.select(ir.Var("slot") < 0, ir.Int(0) - field.slot, field.slot)
    return number * slot
