"""One statement over a box of cells at one time: the kernels that every tiling calls.

Two functions per statement. ``cells`` computes part of one row cell by cell, reads outside the grid included.
``box`` computes a box: whole vectors along the inside of every row, several rows at a time so that neighbouring rows
share their loads, and the ends cell by cell: where they are ends of the grid, without conditions, since it is known
which cell every read outside stands for; otherwise by ``cells``.
"""

from tilewright.codegen.expression import Leaves, lower_tape, scalar_name
from tilewright.codegen.ir import (
    Call,
    Expr,
    For,
    Function,
    If,
    Int,
    Let,
    Load,
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
    row_pointers,
    stride,
    unpack,
    version_lets,
)
from tilewright.programs.expression import Read
from tilewright.programs.stencil import Statement

STEP = Var("t")
_MOST_END_READS = 1200
"""Reads at the ends of rows that are written out; with more of them, compiling would take longer than it saves."""
_AT_LOW, _AT_HIGH, _BEGIN = Var("at_low"), Var("at_high"), Var("begin")


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
    return Function(
        name=cells_name(site, number),
        params=(*site.params, STEP, *places, low, high),
        body=(
            *_start(site, statement),
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


def box_function(site: Site, number: int, block: int) -> Function:
    """A function ``box(…, t, low0, high0, …)`` that computes the cells of a box that the statement updates.

    Args:
        site: The kernel's surroundings.
        number: Index of the statement.
        block: Rows computed together.
    """
    statement = site.problem.program.statements[number]
    given = [(Var(f"low{axis}"), Var(f"high{axis}")) for axis in range(site.rank)]
    bounds = box_bounds(site, statement)
    clipped = [(Var(f"a{axis}"), Var(f"b{axis}")) for axis in range(site.rank)]
    lets: list[Stmt] = [*_start(site, statement)]
    for (low, high), (least, most), (a, b) in zip(given, bounds, clipped, strict=True):
        lets += [Let(a, largest(low, least)), Let(b, smallest(high, most))]
    start, stop = Var("start"), Var("stop")
    lets += _interior(site, statement, clipped[-1], (start, stop))
    if written_out(site, statement, block):
        left, right = _reach(statement)
        size = extent(site.rank - 1)
        (low, high), some = clipped[-1], below(start, stop)  # without a whole vector, `cells` computes the row
        at_low = Op("and", (some, Op("and", (Op("eq", (low, Int(0))), Op("eq", (start, Int(left)))))))
        at_high = Op("and", (some, Op("and", (Op("eq", (high, size)), Op("eq", (stop, sub(size, right)))))))
        lets += [Let(_AT_LOW, select(at_low, Int(1), Int(0))), Let(_AT_HIGH, select(at_high, Int(1), Int(0)))]
    body = _outer_loops(site, number, clipped, block if site.rank > 1 else 1)
    return Function(
        name=box_name(site, number),
        params=(*site.params, STEP, *(var for pair in given for var in pair)),
        body=(*lets, *body),
    )


def _reach(statement: Statement) -> tuple[int, int]:
    """How far reads extend below and above a cell along the innermost axis."""
    offsets = [read.offset[-1] for read in statement.reads]
    return max(0, -min(offsets, default=0)), max(0, *offsets) if offsets else 0


def written_out(site: Site, statement: Statement, block: int) -> bool:
    """Whether the cells at the ends of the grid's rows are written out: all are updated, and they are not too many."""
    (low, high), size = box_bounds(site, statement)[-1], extent(site.rank - 1)
    reads = sum(_reach(statement)) * len(statement.reads) * (block + 1)
    return 0 < reads <= _MOST_END_READS and low == Int(0) and high == sub(size, 0)


def _interior(site: Site, statement: Statement, row: tuple[Var, Var], names: tuple[Var, Var]) -> list[Stmt]:
    """The part of a row whose every read is inside; empty where it is shorter than a vector."""
    size = extent(site.rank - 1)
    left, right = _reach(statement)
    first, last = Var("first"), Var("last")
    enough = Op("ge", (sub(last, first), _lanes(site)))
    # Rows start at cache lines: vectors that start at multiples of their length store without crossing one.
    aligned = sub(first, Op("mod", (first, _lanes(site))))
    return [
        Let(first, largest(row[0], Int(left))),
        Let(last, smallest(row[1], sub(size, right))),
        Let(names[0], select(enough, first, row[1])),
        Let(names[1], select(enough, last, row[1])),
        Let(_BEGIN, names[0] if in_place(site, statement) else select(enough, aligned, row[1])),
    ]


def _lanes(site: Site) -> Expr:
    return Var(f"LANES:{site.dtype}")


def _outer_loops(site: Site, number: int, clipped: list[tuple[Var, Var]], block: int) -> tuple[Stmt, ...]:
    """Loops over the rows of a box: blocks of rows, then single rows."""
    places = _places(site)
    if not places:
        return _block(site, number, places, clipped[-1], 1, 1)
    axis = site.rank - 2
    (a, b), place = clipped[axis], places[axis]
    middle = Var("whole")
    loops: tuple[Stmt, ...] = ()
    if block > 1:
        length = largest(sub(b, a), Int(0))
        whole = add(a, sub(length, Op("mod", (length, Int(block)))))
        rows = _block(site, number, places, clipped[-1], block, block)
        loops = (Let(middle, whole), For(var=place, low=a, high=middle, step=Int(block), body=rows))
    rest = _block(site, number, places, clipped[-1], 1, block)
    single = For(var=place, low=middle if block > 1 else a, high=b, body=rest)
    nest: tuple[Stmt, ...] = (*loops, single)
    for outer in range(axis - 1, -1, -1):
        nest = (For(var=places[outer], low=clipped[outer][0], high=clipped[outer][1], body=nest),)
    return nest


def _end(site: Site, statement: Statement, rows: Rows, block: int, *, low_side: bool) -> tuple[Stmt, ...]:
    """The cells at one end of some rows of the grid, every read outside being known.

    All are computed before any is stored, so that the compiler sees that rows share what they read.
    """
    size = extent(site.rank - 1)
    left, right = _reach(statement)
    body: list[Stmt] = []
    stores: list[Stmt] = []
    for shift in range(block):
        for distance in range(left if low_side else right):

            def read(node: Read, shift: int = shift, distance: int = distance) -> Expr:
                return _known_read(site, node, rows.of(node, shift), distance, low_side=low_side)

            leaves = Leaves(dtype=site.dtype, read=read, vector=False)
            lets, value = lower_tape(statement.tape, leaves, f"e{shift}_{distance}_")
            body += lets
            place = Int(distance) if low_side else sub(size, distance + 1)
            stores.append(Store(_target_row(site, shift), place, value, site.dtype))
    return (Scope((*body, *stores)),)


def _known_read(site: Site, node: Read, row: Var, distance: int, *, low_side: bool) -> Expr:
    """What a cell so far from an end of the row reads; outside, what the boundary says."""
    size = extent(site.rank - 1)
    outside = (-node.offset[-1] if low_side else node.offset[-1]) - distance  # by so many cells, from 1
    side = site.problem.sides(node.field)[-1][0 if low_side else 1]
    if outside <= 0:
        inner = -outside
    elif side.kind == "constant":
        return literal(side.value, site.dtype)
    elif side.kind == "wrap":
        return Load(row, sub(size, outside) if low_side else Int(outside - 1), site.dtype)
    else:
        inner = {"nearest": 0, "reflect": outside - 1, "mirror": outside}[side.kind]
    return Load(row, Int(inner) if low_side else sub(size, inner + 1), site.dtype)


def _block(
    site: Site, number: int, places: tuple[Var, ...], row: tuple[Var, Var], block: int, most: int
) -> tuple[Stmt, ...]:
    """``block`` neighbouring rows: whole vectors inside, cell by cell at the ends. ``most`` is the largest block.

    The first and the last vector of a row overlap others, so that the others are aligned and no scalar remainder is
    left: some cells are computed twice, with the same result. Where the new version overwrites one that is read, only
    the last one does, and lanes that are already done keep their values.
    """
    statement = site.problem.program.statements[number]
    rows = row_pointers(site, statement, places, block)
    start, stop, i, j = Var("start"), Var("stop"), Var("i"), Var("j")
    lanes = _lanes(site)
    targets = [_target_row(site, shift) for shift in range(block)]
    lets, values = row_values(site, statement, rows, block, j)
    inside = smallest(i, sub(stop, lanes))
    body: list[Stmt] = [Let(j, inside if in_place(site, statement) else largest(start, inside)), *lets]
    stores: list[Stmt] = []
    for target, computed in zip(targets, values, strict=True):
        value = computed
        if in_place(site, statement):
            kind = f"vector:{site.dtype}"
            value = Op("keep", (Load(target, j, kind), computed, sub(i, j)), kind)
        stores.append(Store(target, j, value, f"vector:{site.dtype}"))
    vectors = For(var=i, low=_BEGIN, high=stop, step=lanes, body=(*body, *stores))
    ends: list[Stmt] = []
    for low_side, (low, high) in ((True, (row[0], start)), (False, (stop, row[1]))):
        slow: list[Stmt] = []
        for shift in range(block):
            at = tuple(add(place, shift) if axis == len(places) - 1 else place for axis, place in enumerate(places))
            slow.append(Call(cells_name(site, number), (*site.params, STEP, *at, low, high)))
        body_of_end = tuple(slow)
        if written_out(site, statement, most):
            known = _end(site, statement, rows, block, low_side=low_side)
            body_of_end = (If(Op("ne", (_AT_LOW if low_side else _AT_HIGH, Int(0))), known, body_of_end),)
        ends.append(If(below(low, high), body_of_end))
    named = [_target_let(site, target, places, shift) for shift, target in enumerate(targets)]
    return (*rows.lets, *named, vectors, *ends)
