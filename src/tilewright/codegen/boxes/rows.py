"""A statement over boxes and the rows that it reads and writes, whatever lies outside the grid along the outer axes.

A *row* is a line of cells along the innermost axis. Along the outer axes a read outside the grid is a read of another
row (or of a row of constants), so boundaries there cost nothing per cell. Along the innermost axis only the scalar
code at the ends of a row maps indices: rows are split where reads reach beyond the grid.

Before: for x = a … b: y[x] = f(u[x - r], …), with a test of every read
After:  vectors from begin to end, which read nothing outside; at an end of the grid, at_low and at_high, a vector whose
        lanes outside are filled; what is left cell by cell

Index-set splitting (Wolfe); Halide: loop partitioning; TVM: ``LoopPartition``; PPCG: separation of full and partial
tiles. Vectors begin at multiples of their length (peeling for alignment), and the last one overlaps the one before, so
that no scalar remainder is left.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.boundary import beyond, constants_beyond, literal, mapped
from tilewright.codegen.layouts import Packed
from tilewright.codegen.sites import Pair, Site, extent
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.dependences import overwrites_its_input
from tilewright.programs.stencil.expression import Read, level_name

RowKey = tuple[str, int, tuple[int, ...]]  # field, level and outer offset of a row that a statement reads


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


class BoxStatement:
    """A statement that is computed over boxes of cells."""

    def __init__(self, site: Site, number: int) -> None:
        self.site, self.number = site, number
        self.statement = site.problem.program.statements[number]
        self.code = site.code(self.statement)
        self.bounds = site.bounds(self.statement)
        self.places = tuple(ir.Var(f"x{axis}") for axis in range(site.rank - 1))
        self.in_place = overwrites_its_input(site.problem.program, self.statement)
        self.kind, self.lanes = ir.vector(site.dtype), ir.Lanes(site.dtype)
        fields = dict.fromkeys([self.statement.field, *(read.field for read in self.statement.reads)])
        self.layouts = {field: site.layout(field) for field in fields}

    @property
    def reach(self) -> tuple[int, int]:
        """How far reads extend below and above a cell along the innermost axis."""
        offsets = [read.offset[-1] for read in self.statement.reads]
        return max(0, -min(offsets, default=0)), max(0, *offsets) if offsets else 0

    @property
    def vectors_at_ends(self) -> tuple[bool, bool]:
        """Whether the low and the high ends of the grid's rows are vectors: cells that are updated and read outside."""
        whole = self.code.end_vectors and self.site.problem.spans(self.statement)[-1] == (0, 0)
        left, right = self.reach
        return whole and left > 0, whole and right > 0

    # What is written

    def target(self, shift: int) -> ir.Var:
        """Name of the row of results that is so many further than the first."""
        return ir.Var(f"w{shift}", ir.pointer(self.site.dtype))

    def name_target(self, b: ir.Builder, shift: int, places: Sequence[ir.Expr]) -> ir.Expr:
        """Name the row of results at some places."""
        start = ir.Var("target", ir.pointer(self.site.dtype))
        return b.let(self.target(shift).name, self.layouts[self.statement.field].row(start, places))

    # What is read

    def version(self, field: str, level: int) -> ir.Var:
        """Name of the pointer to one version of a field."""
        return ir.Var(f"v_{level_name(field, level)}", ir.const_pointer(self.site.dtype))

    def name_versions(self, b: ir.Builder, low: ir.Expr, step: ir.Expr) -> None:
        """Name the versions that the statement reads and writes, behind what is found of fields in subdomains.

        ``low`` starts the rows' pieces, of which each lies at one end of a subdomain along the rows.
        """
        for layout in self.layouts.values():
            if isinstance(layout, Packed):
                b.emit(*layout.lets)
                if layout.moved is not None:
                    b.let(layout.moved.name, ir.select(low < self.site.middle[-1][0], 0, layout.left))
        for field, level in dict.fromkeys((read.field, read.level) for read in self.statement.reads):
            var = self.version(field, level)
            b.let(var.name, self.layouts[field].version(level, step), var.type)
        b.let("target", self.layouts[self.statement.field].version(1, step))

    def rows(self, places: tuple[ir.Expr, ...], block: int) -> RowPointers:
        """Name every row that ``block`` neighbouring result rows read, from the first one's index per outer axis on."""
        axis = self.code.of(block).axis
        within = [block if along == axis else 1 for along in range(self.site.rank)]
        keys = {_key(read, axis, shift) for shift in range(block) for read in self.statement.reads}
        names = {
            key: ir.Var(f"r{number}", ir.const_pointer(self.site.dtype)) for number, key in enumerate(sorted(keys))
        }
        lets = tuple(ir.Let(var, self._row(key, places, within)) for key, var in names.items())
        return RowPointers(names=names, lets=lets, axis=axis)

    def _row(self, key: RowKey, places: Sequence[ir.Expr], within: Sequence[int]) -> ir.Expr:
        """The row at an offset from one of which so many per axis, beginning with itself, lie inside."""
        field, level, outer = key
        layout, at, constant = self.layouts[field], list[ir.Expr](), list[tuple[ir.Expr, complex]]()
        for axis, (place, offset) in enumerate(zip(places, outer, strict=True)):
            index, side = place + offset, self._crossed((field, axis), offset, within[axis])
            if side is not None and side.kind == "constant":
                constant.append((beyond(index, extent(axis), low=offset < 0), side.value))
            elif side is not None and side.kind != "fixed":
                index = self._inside_name((field, axis), offset)
            at.append(index)
        row = layout.row(self.version(field, level), at)
        for test, value in (*((test, 0.0) for test in layout.missing(at)), *constant):
            row = ir.select(test, self.site.row_of(value), row)  # the innermost axis with constants decides
        return row

    def or_constants(self, field: str, places: Sequence[ir.Expr], row: ir.Expr) -> ir.Expr:
        """A row of a field, or the row of constants that lies at these places along the outer axes."""
        for axis, (at, sides) in enumerate(zip(places, self.site.problem.sides(field)[:-1], strict=True)):
            for test, value in constants_beyond(at, extent(axis), sides):
                row = ir.select(test, self.site.row_of(value), row)
        return row

    def name_inside(self, b: ir.Builder, axis: int, block: int = 1) -> None:
        """Name the indices along an outer axis that rows stand for which may be read outside the grid."""
        within, place = block if axis == self.code.of(block).axis else 1, self.places[axis]
        named: set[ir.Var] = set()
        for read in self.statement.reads:
            for offset in range(read.offset[axis], read.offset[axis] + within):
                side, var = (
                    self._crossed((read.field, axis), offset, within),
                    self._inside_name((read.field, axis), offset),
                )
                if side is None or side.kind in {"fixed", "constant"} or var in named:
                    continue
                named.add(var)
                at, size = place + offset, extent(axis)
                b.let(var.name, ir.select(beyond(at, size, low=offset < 0), mapped(at, size, side.kind), at))

    def _crossed(self, along: tuple[str, int], offset: int, within: int) -> Boundary | None:
        """The boundary that a read of a field along an outer axis may cross, or None if it always stays inside."""
        field, axis = along
        return None if 0 <= offset < within else self.site.problem.sides(field)[axis][offset >= 0]

    def _inside_name(self, along: tuple[str, int], offset: int) -> ir.Var:
        """A name that fields with the same boundaries share."""
        field, axis = along
        every = [self.site.problem.sides(other)[axis] for other in self.site.problem.program.fields]
        group = every.index(self.site.problem.sides(field)[axis])
        return ir.Var(f"y{axis}_{group}_{'m' if offset < 0 else 'p'}{abs(offset)}")


AT_LOW, AT_HIGH, BEGIN, END = ir.Var("at_low"), ir.Var("at_high"), ir.Var("begin"), ir.Var("end")
START, STOP = ir.Var("start"), ir.Var("stop")
"""Of a row: the cells that read nothing outside are those from ``start`` to ``stop``; loops over vectors go from
``begin`` to ``end``; ``at_low`` and ``at_high`` say whether its ends are vectors, too."""


def split_row(b: ir.Builder, of: BoxStatement, row: Pair) -> None:
    """The part of a row whose every read is inside, empty where it is shorter than a vector, and what loops go over.

    Rows start at cache lines: vectors that start at multiples of their length store without crossing one.
    """
    size, (left, right), (at_low, at_high) = extent(of.site.rank - 1), of.reach, of.vectors_at_ends
    first, last = b.let("first", ir.largest(row[0], left)), b.let("last", ir.smallest(row[1], size - right))
    enough = last - first >= of.lanes
    b.let(START.name, ir.select(enough, first, row[1]))
    b.let(STOP.name, ir.select(enough, last, row[1]))
    begin: ir.Expr = START if of.in_place else ir.select(enough, first - first % of.lanes, row[1])
    end: ir.Expr = STOP
    # Lanes outside are filled from the first and the last vector of a row, so no read may reach beyond these.
    fills = (START < STOP) & (ir.Int(max(left, right)) < of.lanes)
    if at_low:
        b.let(AT_LOW.name, ir.select(fills & (row[0].equals(0) & START.equals(left)), ir.Int(1), 0))
        begin = ir.select(AT_LOW.differs(0), of.lanes, begin)
    if at_high:
        b.let(AT_HIGH.name, ir.select(fills & (row[1].equals(size) & STOP.equals(size - right)), ir.Int(1), 0))
        end = ir.select(AT_HIGH.differs(0), size - of.lanes, end)
    b.let(BEGIN.name, begin)
    b.let(END.name, end)


def beside(own: ir.Expr, other: ir.Expr, offset: int, kind: ir.Vector) -> ir.Shift:
    """A vector, read some cells lower or higher: what it lacks comes from the end of another."""
    return ir.Shift(own=own, other=other, low=offset < 0, distance=abs(offset), type=kind)


def vector_beyond(of: BoxStatement, field: str, row: ir.Expr, offset: int) -> ir.Expr:
    """The vector that starts so many cells before a row's first one, or after its last one."""
    low_side, first, last = offset < 0, row.vector(0), row.vector(extent(of.site.rank - 1) - of.lanes)
    own, far = (first, last) if low_side else (last, first)
    side = of.site.problem.sides(field)[-1][0 if low_side else 1]
    if side.kind == "constant":
        return beside(own, ir.splat(literal(side.value, of.site.dtype), of.kind), offset, of.kind)
    if side.kind == "wrap":
        return beside(own, far, offset, of.kind)
    return ir.Shift(own=own, other=own, low=low_side, distance=abs(offset), boundary=side.kind, type=of.kind)
