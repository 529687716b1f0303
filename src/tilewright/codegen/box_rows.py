"""Vectors of neighbouring rows of a box: those inside, and those at the ends of the grid's rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tilewright.codegen import row_beside
from tilewright.codegen.box_sums import find_rows, found_rows, near_reads, row_starts, rows_type, sum_function
from tilewright.codegen.ir import (
    Assign,
    Call,
    Expr,
    For,
    Function,
    If,
    Int,
    Let,
    Load,
    Mutable,
    Op,
    Room,
    Scope,
    Stmt,
    Store,
    Var,
    add,
    below,
    largest,
    mul,
    select,
    smallest,
    sub,
)
from tilewright.codegen.row_values import row_values
from tilewright.codegen.sites import Rows, Site, box_bounds, extent, literal, places_inside, stride
from tilewright.programs.dependences import overwrites_its_input
from tilewright.programs.expression import Read
from tilewright.programs.stencil import Statement
from tilewright.tilings.body import Block

_COPIED = 48
"""Cells of a copied end of a row: three vectors."""
AT_LOW, AT_HIGH, BEGIN, END = Var("at_low"), Var("at_high"), Var("begin"), Var("end")
START, STOP, _WHOLE = Var("start"), Var("stop"), Var("whole_vectors")


def target_row(site: Site, shift: int) -> Var:
    """The row of results that is so many further than the first."""
    return Var(f"w{shift}", f"pointer:{site.dtype}")


def _reach(statement: Statement) -> tuple[int, int]:
    """How far reads extend below and above a cell along the innermost axis."""
    offsets = [read.offset[-1] for read in statement.reads]
    return max(0, -min(offsets, default=0)), max(0, *offsets) if offsets else 0


def vectors_at_ends(site: Site, statement: Statement) -> tuple[bool, bool]:
    """Whether the low and the high ends of the grid's rows are vectors: cells that are updated and read outside."""
    (low, high), size = box_bounds(site, statement)[-1], extent(site.rank - 1)
    left, right = _reach(statement)
    whole = site.code(statement).end_vectors and low == Int(0) and high == sub(size, 0)
    return whole and left > 0, whole and right > 0


def interior(site: Site, statement: Statement, row: tuple[Var, Var]) -> list[Stmt]:
    """The part of a row whose every read is inside, empty where it is shorter than a vector, and what loops go over.

    Rows start at cache lines: vectors that start at multiples of their length store without crossing one.
    """
    size, lanes = extent(site.rank - 1), _lanes(site)
    left, right = _reach(statement)
    first, last = Var("first"), Var("last")
    enough = Op("ge", (sub(last, first), lanes))
    aligned = sub(first, Op("mod", (first, lanes)))
    begin = START if overwrites_its_input(site.problem.program, statement) else select(enough, aligned, row[1])
    lets: list[Stmt] = [
        Let(first, largest(row[0], Int(left))),
        Let(last, smallest(row[1], sub(size, right))),
        Let(START, select(enough, first, row[1])),
        Let(STOP, select(enough, last, row[1])),
    ]
    end: Expr = STOP
    at_low, at_high = vectors_at_ends(site, statement)
    # Lanes outside are filled from the first and the last vector of a row, so no read may reach beyond these.
    some = Op("and", (below(START, STOP), Op("lt", (Int(max(left, right)), lanes))))
    if at_low:
        test = Op("and", (some, Op("and", (Op("eq", (row[0], Int(0))), Op("eq", (START, Int(left)))))))
        lets.append(Let(AT_LOW, select(test, Int(1), Int(0))))
        begin = select(Op("ne", (AT_LOW, Int(0))), lanes, begin)
    if at_high:
        test = Op("and", (some, Op("and", (Op("eq", (row[1], size)), Op("eq", (STOP, sub(size, right)))))))
        lets.append(Let(AT_HIGH, select(test, Int(1), Int(0))))
        end = select(Op("ne", (AT_HIGH, Int(0))), sub(size, lanes), end)
    return [*lets, Let(BEGIN, begin), Let(END, end)]


def _lanes(site: Site) -> Expr:
    return Var(f"LANES:{site.dtype}")


def _beyond(site: Site, field: str, row: Var, offset: int) -> Expr:
    """The vector that starts so many cells before a row's first one, or after its last one."""
    kind, low_side = f"vector:{site.dtype}", offset < 0
    ends: tuple[Expr, Expr] = (Int(0), sub(extent(site.rank - 1), _lanes(site)))
    own, far = (Load(row, end, kind) for end in (ends if low_side else ends[::-1]))
    side = site.problem.sides(field)[-1][0 if low_side else 1]
    if side.kind == "constant":
        return row_beside.beside(own, Op("splat", (literal(side.value, site.dtype),), kind), offset, kind)
    if side.kind == "wrap":
        return row_beside.beside(own, far, offset, kind)
    return Op(f"outside_{'low' if low_side else 'high'}_{side.kind}_{abs(offset)}", (own, own), kind)


def _beyond_name(site: Site, statement: Statement, *, low_side: bool) -> str:
    """Name of the function that copies an end of a row."""
    return f"{_sum_name(site, statement)}_{'low' if low_side else 'high'}"


def _sum_name(site: Site, statement: Statement, lines: int | None = None) -> str:
    number = site.problem.program.statements.index(statement)
    return f"{site.prefix}_sum_{number}{'' if lines is None else f'_of_{lines}'}"


def sum_functions(site: Site, statement: Statement, blocks: Iterable[tuple[int, Rows]]) -> tuple[Function, ...]:
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
    (left, right), kind = _reach(statement), f"vector:{site.dtype}"
    row, to, size = Var("row", f"array:{site.dtype}"), Var("to", f"pointer:{site.dtype}"), extent(site.rank - 1)
    field = statement.reads[0].field
    for low_side, asked in zip((True, False), vectors_at_ends(site, statement), strict=True):
        if not asked:
            continue
        first: Expr = Int(0) if low_side else sub(size, _lanes(site))
        parts = [
            (-left, _beyond(site, field, row, -left) if low_side else Load(row, sub(first, left), kind)),
            (right, Load(row, add(first, right), kind) if low_side else _beyond(site, field, row, right)),
            (0, Load(row, first, kind)),
        ]
        body = tuple(Store(to, Int(at), value, kind) for at, value in parts)
        name = _beyond_name(site, statement, low_side=low_side)
        found.append(Function(name=name, params=(row, to, size), body=body))
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Neighbouring rows that are computed together, and what they read of which vectors are put together."""

    site: Site
    statement: Statement
    rows: Rows
    carried: tuple[row_beside.Carried, ...]
    block: int

    @property
    def code(self) -> Block:
        """How these rows are written."""
        return self.site.code(self.statement).of(self.block)

    @property
    def in_place(self) -> bool:
        """Whether the new version overwrites one that is read."""
        return overwrites_its_input(self.site.problem.program, self.statement)

    def inside(self) -> tuple[Stmt, ...]:
        """The vectors from ``begin`` to ``end``, which read nothing outside; neighbours put together where it pays."""
        j, lanes, over = Var("j"), _lanes(self.site), self.in_place
        end = _WHOLE if over else END
        vectors = self._plain(BEGIN, end)
        if self.carried:
            loop = row_beside.loop(self.site, self.carried, lambda place, load: self.vector(place, load=load))
            vectors = (loop, row_beside.others(BEGIN, end, self._plain))
        if not over:
            return vectors
        whole = Let(_WHOLE, add(BEGIN, mul(Op("div", (largest(sub(END, BEGIN), Int(0)), lanes)), lanes)))
        last = (Let(j, smallest(_WHOLE, sub(STOP, lanes))), *self.vector(j, done=sub(_WHOLE, j)))
        return (whole, *vectors, If(below(_WHOLE, END), last))

    def _plain(self, begin: Expr, end: Expr) -> tuple[Stmt, ...]:
        """Some of these vectors, loaded from where they are read."""
        i, j, lanes = Var("i"), Var("j"), _lanes(self.site)
        if self.in_place:
            return (For(var=j, low=begin, high=end, step=lanes, body=self.vector(j)),)
        # Only the first vector may start later than its turn, so that the loop needs no register for that.
        place = Mutable(j, largest(START, smallest(begin, sub(STOP, lanes))))
        ahead = Assign(j, smallest(add(i, lanes), sub(STOP, lanes)))
        return (Scope((place, For(var=i, low=begin, high=end, step=lanes, body=(*self.vector(j), ahead)))),)

    def end(self, *, low_side: bool) -> tuple[Stmt, ...]:
        """The vector at one end of the grid."""
        size, lanes, j = extent(self.site.rank - 1), _lanes(self.site), Var("j")
        begin = Let(j, Int(0) if low_side else sub(size, lanes))
        done: Expr | None = None
        if not low_side and self.in_place:
            last = select(below(_WHOLE, END), smallest(add(_WHOLE, lanes), STOP), _WHOLE)
            done = sub(last, j)
        if self.code.copied:
            return (begin, *self._copied_end(j, done, low_side=low_side))

        def load(node: Read, row: Var) -> Expr:
            outside = node.offset[-1] < 0 if low_side else node.offset[-1] > 0
            if outside:
                return _beyond(self.site, node.field, row, node.offset[-1])
            return Load(row, add(j, node.offset[-1]), f"vector:{self.site.dtype}")

        found = found_rows(self.site, self.rows) if self.code.loops else {}
        lets = (Let(row, start) for row, start in found.items())
        return (begin, *lets, *self._by_reads(j, load, done))

    def _copied_end(self, place: Var, done: Expr | None, *, low_side: bool) -> tuple[Stmt, ...]:
        """The vector at one end, from copies of the ends of rows and what lies beyond them."""
        kind, number = rows_type(self.site), Var("number")
        copies = Var("copies", f"pointer:{self.site.dtype}")
        starts = Var("ends", f"pointer:{kind}")
        start = add(copies, add(mul(number, _COPIED), _COPIED // 3))
        name = _beyond_name(self.site, self.statement, low_side=low_side)
        copy = Call(name, (Load(row_starts(self.site), number, kind), start, extent(self.site.rank - 1)))
        many = len(self.rows.names)
        return (
            Room(copies, _COPIED * many),
            Room(starts, many),
            For(var=number, low=Int(0), high=Int(many), body=(copy, Store(starts, number, start, kind))),
            *self._summed(starts, Int(0), place, done),
        )

    def _summed(self, rows: Var, place: Expr, into: Expr, done: Expr | None) -> tuple[Stmt, ...]:
        """One vector of a large sum: from where in its rows, and to where."""
        to, name = target_row(self.site, 0), _sum_name(self.site, self.statement, self.block)
        keeps = ((Int(0) if done is None else done),) if self.in_place else ()
        return (Call(name, (rows, to, stride(self.site.rank - 2), place, into, *keeps)),)

    def named(self, places: tuple[Var, ...]) -> tuple[Stmt, ...]:
        """Find the rows that are read."""
        if self.code.loops:
            return find_rows(self.site, self.statement, places, self.block)
        axis = len(places) - 1
        beside = places_inside(self.site, self.statement, axis, places[axis], self.block) if places else ()
        return (*beside, *self.rows.lets)

    def vector(
        self, place: Var, *, load: Callable[[Read, Var], Expr] | None = None, done: Expr | None = None
    ) -> tuple[Stmt, ...]:
        """One vector of every row; lanes below ``done`` keep their values."""
        if self.code.loops:
            return self._summed(row_starts(self.site), place, place, done)
        return self._by_reads(place, load, done)

    def _by_reads(self, place: Var, load: Callable[[Read, Var], Expr] | None, done: Expr | None) -> tuple[Stmt, ...]:
        kind = f"vector:{self.site.dtype}"
        lets, values = row_values(self.site, self.statement, self.rows, self.code, place, load)
        stores: list[Stmt] = []
        for shift, value in enumerate(values):
            target = target_row(self.site, shift)
            kept = value if done is None else Op("keep", (Load(target, place, kind), value, done), kind)
            stores.append(Store(target, place, kept, kind))
        return (*lets, *stores)
