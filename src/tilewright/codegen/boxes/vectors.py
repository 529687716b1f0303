"""Vectors of neighbouring rows of a box: those inside, and those at the ends of the grid's rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.boxes.loops import find_rows, found_rows, near_reads, row_starts, rows_type, sum_function
from tilewright.codegen.boxes.values import row_values
from tilewright.codegen.passes import shuffle_neighbours
from tilewright.codegen.passes.split_ends import BEGIN, END, START, STOP, row_reach, vectors_at_ends
from tilewright.codegen.sites import RowPointers, Site, extent, literal, places_inside, stride
from tilewright.programs.stencil.dependences import overwrites_its_input
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.code import RowCode

AHEAD = ir.Var("ahead")
"""Whether lines are asked for ahead."""
_COPIED = 48
"""Cells of a copied end of a row: three vectors."""
_WHOLE = ir.Var("whole_vectors")


def target_row(site: Site, shift: int) -> ir.Var:
    """The row of results that is so many further than the first."""
    return ir.Var(f"w{shift}", ir.pointer(site.dtype))


def _lanes(site: Site) -> ir.Lanes:
    return ir.Lanes(site.dtype)


def _beyond(site: Site, field: str, row: ir.Var, offset: int) -> ir.Expr:
    """The vector that starts so many cells before a row's first one, or after its last one."""
    kind, low_side = ir.vector(site.dtype), offset < 0
    ends: tuple[ir.Expr, ir.Expr] = (ir.Int(0), extent(site.rank - 1) - _lanes(site))
    own, far = (ir.Load(row, end, kind) for end in (ends if low_side else ends[::-1]))
    side = site.problem.sides(field)[-1][0 if low_side else 1]
    if side.kind == "constant":
        return shuffle_neighbours.beside(own, ir.splat(literal(side.value, site.dtype), kind), offset, kind)
    if side.kind == "wrap":
        return shuffle_neighbours.beside(own, far, offset, kind)
    return ir.Shift(own=own, other=own, low=low_side, distance=abs(offset), boundary=side.kind, type=kind)


def _beyond_name(site: Site, statement: Statement, *, low_side: bool) -> str:
    """Name of the function that copies an end of a row."""
    return f"{_sum_name(site, statement)}_{'low' if low_side else 'high'}"


def _sum_name(site: Site, statement: Statement, lines: int | None = None) -> str:
    number = site.problem.program.statements.index(statement)
    return f"{site.prefix}_sum_{number}{'' if lines is None else f'_of_{lines}'}"


def sum_functions(
    site: Site, statement: Statement, blocks: Iterable[tuple[int, RowPointers]]
) -> tuple[ir.Function, ...]:
    """What boxes of a large sum call; nothing for other statements.

    A function for every number of rows that are computed together, and ``beyond(row, to, n)``, which copies what a
    vector at an end of a row reads, with what lies beyond: its own first cell to ``to[0]``.
    """
    near, keeps = near_reads(site, statement), overwrites_its_input(site.problem.program, statement)
    if not near:
        return ()
    code = site.code(statement)
    found = [
        sum_function(_sum_name(site, statement, lines), site, near, rows, code.of(lines), keeps=keeps)
        for lines, rows in blocks
    ]
    (left, right), kind = row_reach(statement), ir.vector(site.dtype)
    row, to, size = (
        ir.Var("row", ir.const_pointer(site.dtype)),
        ir.Var("to", ir.pointer(site.dtype)),
        extent(site.rank - 1),
    )
    field = statement.reads[0].field
    for low_side, asked in zip((True, False), vectors_at_ends(site, statement), strict=True):
        if not asked:
            continue
        first: ir.Expr = ir.Int(0) if low_side else (size - _lanes(site))
        parts = [
            (-left, _beyond(site, field, row, -left) if low_side else ir.Load(row, first - left, kind)),
            (right, ir.Load(row, first + right, kind) if low_side else _beyond(site, field, row, right)),
            (0, ir.Load(row, first, kind)),
        ]
        body = tuple(ir.Store(to, ir.Int(at), value, kind) for at, value in parts)
        name = _beyond_name(site, statement, low_side=low_side)
        found.append(ir.Function(name=name, params=(row, to, size), body=body))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Neighbouring rows that are computed together, and what they read of which vectors are put together."""

    site: Site
    statement: Statement
    rows: RowPointers
    carried: tuple[shuffle_neighbours.Carried, ...]
    block: int

    @property
    def code(self) -> RowCode:
        """How these rows are written."""
        return self.site.code(self.statement).of(self.block)

    @property
    def in_place(self) -> bool:
        """Whether the new version overwrites one that is read."""
        return overwrites_its_input(self.site.problem.program, self.statement)

    def inside(self) -> tuple[ir.Stmt, ...]:
        """The vectors from ``begin`` to ``end``, which read nothing outside; neighbours put together where it pays."""
        j, lanes, over = ir.Var("j"), _lanes(self.site), self.in_place
        end = _WHOLE if over else END
        vectors = self._plain(BEGIN, end)
        if self.carried:
            loop = shuffle_neighbours.loop(self.site, self.carried, self._asking)
            vectors = (loop, shuffle_neighbours.others(BEGIN, end, self._plain))
        if not over:
            return vectors
        whole = ir.Let(_WHOLE, BEGIN + ir.largest(END - BEGIN, ir.Int(0)) / lanes * lanes)
        last = (ir.Let(j, ir.smallest(_WHOLE, STOP - lanes)), *self.vector(j, done=_WHOLE - j))
        return (whole, *vectors, ir.If(_WHOLE < END, last))

    def _plain(self, begin: ir.Expr, end: ir.Expr) -> tuple[ir.Stmt, ...]:
        """Some of these vectors, loaded from where they are read."""
        i, j, lanes = ir.Var("i"), ir.Var("j"), _lanes(self.site)
        if self.in_place:
            return (ir.For(var=j, low=begin, high=end, step=lanes, body=self._asking(j)),)
        # Only the first vector may start later than its turn, so that the loop needs no register for that.
        place = ir.Mutable(j, ir.largest(START, ir.smallest(begin, STOP - lanes)))
        ahead = ir.Assign(j, ir.smallest(i + lanes, STOP - lanes))
        return (ir.Scope((place, ir.For(var=i, low=begin, high=end, step=lanes, body=(*self._asking(j), ahead)))),)

    def _asking(self, place: ir.Var, load: Callable[[Read, ir.Var], ir.Expr] | None = None) -> tuple[ir.Stmt, ...]:
        """One vector of every row, and lines of the rows ahead: the hardware loses track of rows in turn."""
        vector = self.vector(place, load=load)
        code = self.site.code(self.statement)
        if code.asked is None:
            return vector
        written = () if self.in_place else tuple(target_row(self.site, shift) for shift in range(self.block))
        further = place + code.distance // self.site.problem.itemsize
        asks = (
            ir.Intrinsic("prefetch_near", (row + further,), self.site.dtype) for row in (*self._foremost(), *written)
        )
        return (ir.If(AHEAD.differs(0), tuple(asks)), *vector)

    def _foremost(self) -> tuple[ir.Var, ...]:
        """Of every version the rows that a sweep has not read before."""
        found: list[ir.Var] = []
        for version in dict.fromkeys(key[:2] for key in self.rows.names):
            reads = [read for read in self.statement.reads if (read.field, read.level) == version]
            last = max(reads, key=lambda read: read.offset[:-1])
            found += (self.rows.of(last, shift) for shift in range(self.block))
        return tuple(found)

    def end(self, *, low_side: bool) -> tuple[ir.Stmt, ...]:
        """The vector at one end of the grid."""
        size, lanes, j = extent(self.site.rank - 1), _lanes(self.site), ir.Var("j")
        begin = ir.Let(j, ir.Int(0) if low_side else (size - lanes))
        done: ir.Expr | None = None
        if not low_side and self.in_place:
            last = ir.select(_WHOLE < END, ir.smallest(_WHOLE + lanes, STOP), _WHOLE)
            done = last - j
        if self.code.copied:
            return (begin, *self._copied_end(j, done, low_side=low_side))

        def load(node: Read, row: ir.Var) -> ir.Expr:
            outside = node.offset[-1] < 0 if low_side else node.offset[-1] > 0
            if outside:
                return _beyond(self.site, node.field, row, node.offset[-1])
            return ir.Load(row, j + node.offset[-1], ir.vector(self.site.dtype))

        found = found_rows(row_starts(self.site), self.rows) if self.code.loops else {}
        lets = (ir.Let(row, start) for row, start in found.items())
        return (begin, *lets, *self._by_reads(j, load, done))

    def _copied_end(self, place: ir.Var, done: ir.Expr | None, *, low_side: bool) -> tuple[ir.Stmt, ...]:
        """The vector at one end, from copies of the ends of rows and what lies beyond them."""
        kind, number = rows_type(self.site), ir.Var("number")
        copies = ir.Var("copies", ir.pointer(self.site.dtype))
        starts = ir.Var("ends", ir.pointer(kind))
        start = copies + (number * _COPIED + _COPIED // 3)
        name = _beyond_name(self.site, self.statement, low_side=low_side)
        copy = ir.Call(name, (ir.Load(row_starts(self.site), number, kind), start, extent(self.site.rank - 1)))
        many = len(self.rows.names)
        return (
            ir.Array(copies, _COPIED * many),
            ir.Array(starts, many),
            ir.For(var=number, low=ir.Int(0), high=ir.Int(many), body=(copy, ir.Store(starts, number, start, kind))),
            *self._summed(starts, ir.Int(0), place, done),
        )

    def _summed(self, rows: ir.Var, place: ir.Expr, into: ir.Expr, done: ir.Expr | None) -> tuple[ir.Stmt, ...]:
        """One vector of a large sum: from where in its rows, and to where."""
        to, name = target_row(self.site, 0), _sum_name(self.site, self.statement, self.block)
        keeps = ((ir.Int(0) if done is None else done),) if self.in_place else ()
        return (ir.Call(name, (rows, to, stride(self.site.rank - 2), place, into, *keeps)),)

    def named(self, places: tuple[ir.Var, ...]) -> tuple[ir.Stmt, ...]:
        """Find the rows that are read."""
        if self.code.loops:
            return find_rows(self.site, self.statement, places, self.block)
        axis = len(places) - 1
        beside = places_inside(self.site, self.statement, axis, places[axis], self.block) if places else ()
        return (*beside, *self.rows.lets)

    def vector(
        self, place: ir.Var, *, load: Callable[[Read, ir.Var], ir.Expr] | None = None, done: ir.Expr | None = None
    ) -> tuple[ir.Stmt, ...]:
        """One vector of every row; lanes below ``done`` keep their values."""
        if self.code.loops:
            return self._summed(row_starts(self.site), place, place, done)
        return self._by_reads(place, load, done)

    def _by_reads(
        self, place: ir.Var, load: Callable[[Read, ir.Var], ir.Expr] | None, done: ir.Expr | None
    ) -> tuple[ir.Stmt, ...]:
        kind = ir.vector(self.site.dtype)
        lets, values = row_values(self.site, self.statement, self.rows, self.code, place, load)
        stores: list[ir.Stmt] = []
        for shift, value in enumerate(values):
            target = target_row(self.site, shift)
            kept = value if done is None else ir.op(ir.Operator.KEEP, ir.Load(target, place, kind), value, done)
            stores.append(ir.Store(target, place, kept, kind))
        return (*lets, *stores)
