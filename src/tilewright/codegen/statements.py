"""One statement over a box of cells at one time: the kernels that every tiling calls.

Two functions per statement. ``cells`` computes part of one row cell by cell, reads outside the grid included.
``box`` computes a box: whole vectors along the inside of every row, several rows at a time so that neighbouring rows
share their loads. Ends of rows that are ends of the grid are vectors like the others, whose lanes outside are filled
with the cells that they stand for; other ends are computed by ``cells``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tilewright.codegen import row_beside
from tilewright.codegen.expression import Leaves, lower_tape, scalar_name
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
from tilewright.codegen.sites import (
    Rows,
    Site,
    cell_function,
    extent,
    literal,
    places_inside,
    row_pointers,
    stride,
    unpack,
    version_lets,
)
from tilewright.programs.expression import Read
from tilewright.programs.stencil import Statement

STEP = Var("t")
_MOST_SWEPT = 2**24
"""Bytes of a field up to which a sweep in 3D is taken to find it in a cache."""
_MOST_END_READS = 200
"""Reads of a vector at an end of a row; with more of them, compiling would take longer than it saves."""
_MOST_BLOCK_READS = 60
"""Reads up to which rows too short for putting neighbours together are computed in blocks: these compile for long."""
_AT_LOW, _AT_HIGH, _BEGIN, _END = Var("at_low"), Var("at_high"), Var("begin"), Var("end")
_START, _STOP, _WHOLE = Var("start"), Var("stop"), Var("whole_vectors")


def cells_name(site: Site, number: int) -> str:
    """Name of the cell-by-cell function of a statement."""
    return f"{site.prefix}_cells_{number}"


def box_name(site: Site, number: int) -> str:
    """Name of the box function of a statement."""
    return f"{site.prefix}_box_{number}"


def box_bounds(site: Site, statement: Statement) -> tuple[tuple[Expr, Expr], ...]:
    """The cells a statement updates, as IR: ``Problem.update_box`` for any shape."""
    bounds = []
    for axis in range(site.rank):
        low = high = 0
        for read in statement.reads:
            sides = site.problem.sides(read.field)[axis]
            low = max(low, -read.offset[axis] if sides[0].kind == "fixed" else 0)
            high = max(high, read.offset[axis] if sides[1].kind == "fixed" else 0)
        bounds.append((Int(low), sub(extent(axis), high)))
    return tuple(bounds)


def _start(site: Site, statement: Statement) -> tuple[Stmt, ...]:
    program = site.problem.program
    lets = version_lets(site, [(read.field, read.level) for read in statement.reads], STEP)
    used = {node.name for node in statement.tape if not hasattr(node, "op") and hasattr(node, "name")}
    scalars = tuple(
        Let(Var(scalar_name(name), site.dtype), Load(Var("scalar"), Int(i), site.dtype))
        for i, name in enumerate(program.scalars)
        if name in used
    )
    target = Var("target", f"pointer:{site.dtype}")
    return (*unpack(site), *lets, Let(target, site.slot(statement.field, 1, STEP)), *scalars)


def _places(site: Site) -> tuple[Var, ...]:
    return tuple(Var(f"x{axis}") for axis in range(site.rank - 1))


def cells_function(site: Site, number: int) -> Function:
    """A function ``cells(…, t, x0[, x1], low, high)`` that computes part of one row, cell by cell."""
    statement = site.problem.program.statements[number]
    places = _places(site)
    low, high, place = Var("low"), Var("high"), Var("x")
    rows = row_pointers(site, statement, places, 1)
    size = extent(site.rank - 1)

    def read(node: Read) -> Expr:
        at = add(place, node.offset[-1])
        function = cell_function(site, node.field)
        if function is not None and node.offset[-1]:
            return Call(function.name, (rows.of(node), at, size))
        return Load(rows.of(node), at, site.dtype)

    body, value = lower_tape(statement.tape, Leaves(dtype=site.dtype, read=read, vector=False))
    target = _target_row(site, 0)
    store = Store(target, place, value, site.dtype)
    beside = [let for axis, at in enumerate(places) for let in places_inside(site, statement, axis, at, 1)]
    return Function(
        name=cells_name(site, number),
        params=(*site.params, STEP, *places, low, high),
        body=(
            *_start(site, statement),
            *beside,
            *rows.lets,
            _target_let(site, target, places),
            For(var=place, low=low, high=high, body=(*body, store)),
        ),
    )


def _target_row(site: Site, shift: int) -> Var:
    return Var(f"w{shift}", f"pointer:{site.dtype}")


def _target_let(site: Site, var: Var, places: tuple[Expr, ...], shift: int = 0) -> Stmt:
    at = tuple(add(place, shift) if axis == len(places) - 1 else place for axis, place in enumerate(places))
    result: Expr = Var("target", f"pointer:{site.dtype}")
    for axis, place in enumerate(at):
        result = add(result, mul(place, stride(axis)))
    return Let(var, result)


def in_place(site: Site, statement: Statement) -> bool:
    """Whether the new version overwrites one that the statement reads (at the centre)."""
    copies = site.copies(statement.field)
    return any(
        read.field == statement.field and read.level != 1 and (1 - read.level) % copies == 0 for read in statement.reads
    )


def box_functions(site: Site, number: int, block: int, *, sweep: bool = False) -> tuple[Function, ...]:
    """A function ``box(…, t, low0, high0, …)`` that computes the cells of a box that the statement updates.

    Args:
        site: The kernel's surroundings.
        number: Index of the statement.
        block: Rows computed together.
        sweep: Whether boxes are sweeps over the grid. In 3D, where rows come from memory, these go row by row: the rows
            of a block lie in several planes each, more streams than the hardware follows.

    Returns:
        The function, after those that it calls: where neighbours of long rows are put together
        (:mod:`tilewright.codegen.row_beside`), one for long rows and one for others.
    """
    box = _Box(site=site, number=number, together=False)
    most = _MOST_SWEPT if sweep and site.rank == 3 else None
    block = block if site.rank > 1 else 1
    name = box_name(site, number)
    if not box.beside(row_pointers(site, box.statement, _places(site), block), block):
        return (box.function(name, block, most),)
    short = box.function(f"{name}_short", 1 if len(box.statement.reads) > _MOST_BLOCK_READS else block, most)
    long = replace(box, together=True).function(f"{name}_long", block, most)
    length = sub(short.params[-1], short.params[-2])
    calls = (Call(long.name, long.params),), (Call(short.name, short.params),)
    which = replace(short, name=name, body=(If(row_beside.long(site, box.statement, length), *calls),), kind="inline")
    return (short, long, which)


def _reach(statement: Statement) -> tuple[int, int]:
    """How far reads extend below and above a cell along the innermost axis."""
    offsets = [read.offset[-1] for read in statement.reads]
    return max(0, -min(offsets, default=0)), max(0, *offsets) if offsets else 0


def vectors_at_ends(site: Site, statement: Statement) -> tuple[bool, bool]:
    """Whether the low and the high ends of the grid's rows are vectors: cells that are updated and read outside."""
    (low, high), size = box_bounds(site, statement)[-1], extent(site.rank - 1)
    left, right = _reach(statement)
    whole = len(statement.reads) <= _MOST_END_READS and low == Int(0) and high == sub(size, 0)
    return whole and left > 0, whole and right > 0


def _interior(site: Site, statement: Statement, row: tuple[Var, Var]) -> list[Stmt]:
    """The part of a row whose every read is inside, empty where it is shorter than a vector, and what loops go over.

    Rows start at cache lines: vectors that start at multiples of their length store without crossing one.
    """
    size, lanes = extent(site.rank - 1), _lanes(site)
    left, right = _reach(statement)
    first, last = Var("first"), Var("last")
    enough = Op("ge", (sub(last, first), lanes))
    aligned = sub(first, Op("mod", (first, lanes)))
    begin = _START if in_place(site, statement) else select(enough, aligned, row[1])
    lets: list[Stmt] = [
        Let(first, largest(row[0], Int(left))),
        Let(last, smallest(row[1], sub(size, right))),
        Let(_START, select(enough, first, row[1])),
        Let(_STOP, select(enough, last, row[1])),
    ]
    end: Expr = _STOP
    at_low, at_high = vectors_at_ends(site, statement)
    # Lanes outside are filled from the first and the last vector of a row, so no read may reach beyond these.
    some = Op("and", (below(_START, _STOP), Op("lt", (Int(max(left, right)), lanes))))
    if at_low:
        test = Op("and", (some, Op("and", (Op("eq", (row[0], Int(0))), Op("eq", (_START, Int(left)))))))
        lets.append(Let(_AT_LOW, select(test, Int(1), Int(0))))
        begin = select(Op("ne", (_AT_LOW, Int(0))), lanes, begin)
    if at_high:
        test = Op("and", (some, Op("and", (Op("eq", (row[1], size)), Op("eq", (_STOP, sub(size, right)))))))
        lets.append(Let(_AT_HIGH, select(test, Int(1), Int(0))))
        end = select(Op("ne", (_AT_HIGH, Int(0))), sub(size, lanes), end)
    return [*lets, Let(_BEGIN, begin), Let(_END, end)]


def _lanes(site: Site) -> Expr:
    return Var(f"LANES:{site.dtype}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """A statement's function for boxes; ``together`` says whether neighbours along rows are put together."""

    site: Site
    number: int
    together: bool

    @property
    def statement(self) -> Statement:
        return self.site.problem.program.statements[self.number]

    def beside(self, rows: Rows, block: int) -> tuple[row_beside.Carried, ...]:
        """The rows whose vectors are put together, if it pays."""
        aligned = not in_place(self.site, self.statement)
        return row_beside.carried(self.site, self.statement, rows, block, aligned=aligned)

    def function(self, name: str, block: int, most: int | None) -> Function:
        """The function, for blocks of so many rows where a field has ``most`` bytes or less."""
        site, statement = self.site, self.statement
        given = [(Var(f"low{axis}"), Var(f"high{axis}")) for axis in range(site.rank)]
        clipped = [(Var(f"a{axis}"), Var(f"b{axis}")) for axis in range(site.rank)]
        lets: list[Stmt] = [*_start(site, statement)]
        for (low, high), (least, end), (a, b) in zip(given, box_bounds(site, statement), clipped, strict=True):
            lets += [Let(a, largest(low, least)), Let(b, smallest(high, end))]
        lets += _interior(site, statement, clipped[-1])
        if self.together:
            lets += row_beside.bounds(site, (_BEGIN, _START), (_END, _STOP))
        return Function(
            name=name,
            params=(*site.params, STEP, *(var for pair in given for var in pair)),
            body=(*lets, *self.loops(clipped, block, most)),
            kind="apart",
        )

    def loops(self, clipped: list[tuple[Var, Var]], block: int, most: int | None) -> tuple[Stmt, ...]:
        """Loops over the rows of a box: blocks of rows, where a field has ``most`` bytes or less, then single rows."""
        site, places = self.site, _places(self.site)
        if not places:
            return self.block(places, clipped[-1], 1)
        axis = site.rank - 2
        (a, b), place = clipped[axis], places[axis]
        middle = Var("whole")
        loops: tuple[Stmt, ...] = ()
        # Compilers would carry a dozen addresses from row to row, and have no registers left for the vectors' loop.
        each = Var("row")
        here = Let(place, Op("opaque", (each,)))
        if block > 1:
            length = largest(sub(b, a), Int(0))
            whole = add(a, sub(length, Op("mod", (length, Int(block)))))
            if most is not None:
                size = mul(mul(extent(0), stride(0)), site.problem.itemsize)
                whole = select(Op("le", (size, Int(most))), whole, a)
            rows = self.block(places, clipped[-1], block)
            loops = (Let(middle, whole), For(var=each, low=a, high=middle, step=Int(block), body=(here, *rows)))
        rest = self.block(places, clipped[-1], 1)
        single = For(var=each, low=middle if block > 1 else a, high=b, body=(here, *rest))
        nest: tuple[Stmt, ...] = (*loops, single)
        for outer in range(axis - 1, -1, -1):
            beside = places_inside(site, self.statement, outer, places[outer], 1)
            nest = (For(var=places[outer], low=clipped[outer][0], high=clipped[outer][1], body=(*beside, *nest)),)
        return nest

    def block(self, places: tuple[Var, ...], row: tuple[Var, Var], block: int) -> tuple[Stmt, ...]:
        """``block`` neighbouring rows: whole vectors, or cell by cell at ends that are none of the grid's.

        The first and the last vector of a row overlap others where it must be, so that the others are aligned and no
        scalar remainder is left: some cells are computed twice, with the same result. Where the new version overwrites
        one that is read, lanes that are already done keep their values.
        """
        site, statement = self.site, self.statement
        rows = row_pointers(site, statement, places, block)
        carried = self.beside(rows, block) if self.together else ()
        group = _Group(site=site, statement=statement, rows=rows, carried=carried, block=block)
        ends: list[Stmt] = []
        for low_side, as_vector in zip((True, False), vectors_at_ends(site, statement), strict=True):
            low, high = (row[0], _START) if low_side else (_STOP, row[1])
            slow: list[Stmt] = []
            for shift in range(block):
                at = tuple(add(place, shift) if axis == len(places) - 1 else place for axis, place in enumerate(places))
                slow.append(Call(cells_name(site, self.number), (*site.params, STEP, *at, low, high)))
            body: tuple[Stmt, ...] = (If(below(low, high), tuple(slow)),)
            if as_vector:
                body = (If(Op("ne", (_AT_LOW if low_side else _AT_HIGH, Int(0))), group.end(low_side=low_side), body),)
            ends += body
        beside = places_inside(site, statement, len(places) - 1, places[-1], block) if places else ()
        named = [_target_let(site, _target_row(site, shift), places, shift) for shift in range(block)]
        return (*beside, *rows.lets, *named, *group.inside(), *ends)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Neighbouring rows that are computed together, and what they read of which vectors are put together."""

    site: Site
    statement: Statement
    rows: Rows
    carried: tuple[row_beside.Carried, ...]
    block: int

    def inside(self) -> tuple[Stmt, ...]:
        """The vectors from ``begin`` to ``end``, which read nothing outside; neighbours put together where it pays."""
        j, lanes, over = Var("j"), _lanes(self.site), in_place(self.site, self.statement)
        end = _WHOLE if over else _END
        vectors = self._plain(_BEGIN, end)
        if self.carried:
            loop = row_beside.loop(self.site, self.carried, lambda place, load: self.vector(place, load=load))
            vectors = (loop, row_beside.others(_BEGIN, end, self._plain))
        if not over:
            return vectors
        whole = Let(_WHOLE, add(_BEGIN, mul(Op("div", (largest(sub(_END, _BEGIN), Int(0)), lanes)), lanes)))
        last = (Let(j, smallest(_WHOLE, sub(_STOP, lanes))), *self.vector(j, done=sub(_WHOLE, j)))
        return (whole, *vectors, If(below(_WHOLE, _END), last))

    def _plain(self, begin: Expr, end: Expr) -> tuple[Stmt, ...]:
        """Some of these vectors, loaded from where they are read."""
        i, j, lanes = Var("i"), Var("j"), _lanes(self.site)
        if in_place(self.site, self.statement):
            return (For(var=j, low=begin, high=end, step=lanes, body=self.vector(j)),)
        # Only the first vector may start later than its turn, so that the loop needs no register for that.
        place = Mutable(j, largest(_START, smallest(begin, sub(_STOP, lanes))))
        ahead = Assign(j, smallest(add(i, lanes), sub(_STOP, lanes)))
        return (Scope((place, For(var=i, low=begin, high=end, step=lanes, body=(*self.vector(j), ahead)))),)

    def end(self, *, low_side: bool) -> tuple[Stmt, ...]:
        """The vector at one end of the grid."""
        size, lanes, j = extent(self.site.rank - 1), _lanes(self.site), Var("j")
        ends: tuple[Expr, Expr] = (Int(0), sub(size, lanes))

        def load(node: Read, row: Var) -> Expr:
            kind, offset = f"vector:{self.site.dtype}", node.offset[-1]
            own, far = (Load(row, end, kind) for end in (ends if low_side else ends[::-1]))
            if offset >= 0 if low_side else offset <= 0:
                return Load(row, add(j, offset), kind)
            side = self.site.problem.sides(node.field)[-1][0 if low_side else 1]
            if side.kind == "constant":
                return row_beside.beside(own, Op("splat", (literal(side.value, self.site.dtype),), kind), offset, kind)
            if side.kind == "wrap":
                return row_beside.beside(own, far, offset, kind)
            return Op(f"outside_{'low' if low_side else 'high'}_{side.kind}_{abs(offset)}", (own, own), kind)

        if low_side or not in_place(self.site, self.statement):
            return (Let(j, ends[0] if low_side else ends[1]), *self.vector(j, load=load))
        done = select(below(_WHOLE, _END), smallest(add(_WHOLE, lanes), _STOP), _WHOLE)
        return (Let(j, ends[1]), *self.vector(j, load=load, done=sub(done, j)))

    def vector(
        self, place: Var, *, load: Callable[[Read, Var], Expr] | None = None, done: Expr | None = None
    ) -> tuple[Stmt, ...]:
        """One vector of every row; lanes below ``done`` keep their values."""
        kind = f"vector:{self.site.dtype}"
        lets, values = row_values(self.site, self.statement, self.rows, self.block, place, load)
        stores: list[Stmt] = []
        for shift, value in enumerate(values):
            target = _target_row(self.site, shift)
            kept = value if done is None else Op("keep", (Load(target, place, kind), value, done), kind)
            stores.append(Store(target, place, kept, kind))
        return (*lets, *stores)
