"""Rows that a statement reads: where they start, whatever lies outside the grid along the outer axes.

A *row* is a line of cells along the innermost axis. Along the outer axes a read outside the grid is a read of another
row (or of a row of constants), so boundaries there cost nothing per cell. Along the innermost axis only the scalar
code at the ends of a row maps indices.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.boundary import beyond, constants_beyond, mapped
from tilewright.codegen.layouts import Packed
from tilewright.codegen.sites import Site, extent, middle
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement

RowKey = tuple[str, int, tuple[int, ...]]
"""Field, level and outer offset of a row that a statement reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPointers:
    """Named pointers to the rows that a statement reads, for rows of results that are neighbours along an axis."""

    names: dict[RowKey, ir.Var]
    lets: tuple[ir.Stmt, ...]
    axis: int

    def of(self, read: Read, shift: int = 0) -> ir.Var:
        """The row of a read, for the result row ``shift`` rows further."""
        return self.names[_key(read, self.axis, shift)]


def _key(read: Read, axis: int, shift: int) -> RowKey:
    outer = tuple(at + shift if along == axis else at for along, at in enumerate(read.offset[:-1]))
    return read.field, read.level, outer


def row_pointers(site: Site, statement: Statement, places: tuple[ir.Expr, ...], block: int) -> RowPointers:
    """Name every row that ``block`` neighbouring result rows read, from the first one's index per outer axis on."""
    axis = site.code(statement).of(block).axis
    within = [block if along == axis else 1 for along in range(site.rank)]
    keys = dict.fromkeys(_key(read, axis, shift) for shift in range(block) for read in statement.reads)
    names = {key: ir.Var(f"r{number}", ir.const_pointer(site.dtype)) for number, key in enumerate(sorted(keys))}
    lets = tuple(ir.Let(var, _row(site, key, places, within)) for key, var in names.items())
    return RowPointers(names=names, lets=lets, axis=axis)


def _row(site: Site, key: RowKey, places: Sequence[ir.Expr], within: Sequence[int]) -> ir.Expr:
    """The row at an offset from one of which so many per axis, beginning with itself, lie inside."""
    field, level, outer = key
    layout, at, constant = site.layout(field), list[ir.Expr](), list[tuple[ir.Expr, complex]]()
    for axis, (place, offset) in enumerate(zip(places, outer, strict=True)):
        index, side = place + offset, _crossed(site, (field, axis), offset, within[axis])
        if side is not None and side.kind == "constant":
            constant.append((beyond(index, extent(axis), low=offset < 0), side.value))
        elif side is not None and side.kind != "fixed":
            index = _inside_name(site, (field, axis), offset)
        at.append(index)
    row = layout.row(version_name(site, field, level), at)
    for test, value in (*((test, 0.0) for test in layout.missing(at)), *constant):
        row = ir.select(test, site.row_of(value), row)  # the innermost axis with constants decides
    return row


def or_constants(site: Site, field: str, places: Sequence[ir.Expr], row: ir.Expr) -> ir.Expr:
    """A row of a field, or the row of constants that lies at these places along the outer axes."""
    for axis, (at, sides) in enumerate(zip(places, site.problem.sides(field)[:-1], strict=True)):
        for test, value in constants_beyond(at, extent(axis), sides):
            row = ir.select(test, site.row_of(value), row)
    return row


def places_inside(site: Site, statement: Statement, axis: int, place: ir.Expr, block: int = 1) -> tuple[ir.Stmt, ...]:
    """Name the indices along an outer axis that the rows stand for which a statement may read outside the grid."""
    within = block if axis == site.code(statement).of(block).axis else 1
    lets: dict[ir.Var, ir.Stmt] = {}
    for read in statement.reads:
        for shift in range(within):
            offset, along = read.offset[axis] + shift, (read.field, axis)
            side = _crossed(site, along, offset, within)
            if side is not None and side.kind not in {"fixed", "constant"}:
                at, size, var = place + offset, extent(axis), _inside_name(site, along, offset)
                stands_for = ir.select(beyond(at, size, low=offset < 0), mapped(at, size, side.kind), at)
                lets[var] = ir.Let(var, stands_for)
    return tuple(lets.values())


def _crossed(site: Site, along: tuple[str, int], offset: int, within: int) -> Boundary | None:
    """The boundary that a read of a field along an outer axis may cross, or None if it always stays inside."""
    field, axis = along
    return None if 0 <= offset < within else site.problem.sides(field)[axis][offset >= 0]


def _inside_name(site: Site, along: tuple[str, int], offset: int) -> ir.Var:
    """A name that fields with the same boundaries share."""
    field, axis = along
    every = [site.problem.sides(other)[axis] for other in site.problem.program.fields]
    group = every.index(site.problem.sides(field)[axis])
    return ir.Var(f"y{axis}_{group}_{'m' if offset < 0 else 'p'}{abs(offset)}")


def packed_lets(site: Site, statement: Statement, low: ir.Expr) -> tuple[ir.Stmt, ...]:
    """Name what is found of a statement's fields in subdomains; ``low`` starts the rows' pieces, each at one end."""
    lets: list[ir.Stmt] = []
    for field in dict.fromkeys([statement.field, *(read.field for read in statement.reads)]):
        layout = site.layout(field)
        if isinstance(layout, Packed):
            lets += layout.lets
            if layout.moved is not None:
                lets.append(ir.Let(layout.moved, ir.select(low < middle(site)[-1][0], 0, layout.left)))
    return tuple(lets)


def version_name(site: Site, field: str, level: int) -> ir.Var:
    """Name of the pointer to one version of a field."""
    suffix = {1: "_new", 0: "", -1: "_prev", -2: "_prev2"}[level]
    return ir.Var(f"v_{field}{suffix}", ir.const_pointer(site.dtype))


def version_lets(site: Site, versions: Iterable[tuple[str, int]], step: ir.Expr) -> tuple[ir.Stmt, ...]:
    """Point at every version that a statement reads."""
    return tuple(
        ir.Let(version_name(site, field, level), site.layout(field).version(level, step))
        for field, level in dict.fromkeys(versions)
    )
