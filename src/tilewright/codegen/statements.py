"""One statement over a box of cells at one time: the kernels that every tiling calls.

Two functions per statement. ``cells`` computes part of one row cell by cell, reads outside the grid included.
``box`` computes a box: whole vectors along the inside of every row, several rows at a time so that neighbouring rows
share their loads, and ``cells`` at the ends.
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
    Site,
    cell_function,
    extent,
    row_pointers,
    stride,
    unpack,
    version_lets,
)
from tilewright.programs.expression import Read
from tilewright.programs.stencil import Statement

STEP = Var("t")


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
    body = _outer_loops(site, number, clipped, block if site.rank > 1 else 1)
    return Function(
        name=box_name(site, number),
        params=(*site.params, STEP, *(var for pair in given for var in pair)),
        body=(*lets, *body),
    )


def _interior(site: Site, statement: Statement, row: tuple[Var, Var], names: tuple[Var, Var]) -> list[Stmt]:
    """The part of a row whose every read is inside; empty where it is shorter than a vector."""
    size = extent(site.rank - 1)
    left = max([0, *(-read.offset[-1] for read in statement.reads)])
    right = max([0, *(read.offset[-1] for read in statement.reads)])
    first, last = Var("first"), Var("last")
    enough = Op("ge", (sub(last, first), _lanes(site)))
    return [
        Let(first, largest(row[0], Int(left))),
        Let(last, smallest(row[1], sub(size, right))),
        Let(names[0], select(enough, first, row[1])),
        Let(names[1], select(enough, last, row[1])),
    ]


def _lanes(site: Site) -> Expr:
    return Var(f"LANES:{site.dtype}")


def _outer_loops(site: Site, number: int, clipped: list[tuple[Var, Var]], block: int) -> tuple[Stmt, ...]:
    """Loops over the rows of a box: blocks of rows, then single rows."""
    places = _places(site)
    if not places:
        return _block(site, number, places, clipped[-1], 1)
    axis = site.rank - 2
    (a, b), place = clipped[axis], places[axis]
    middle = Var("whole")
    loops: tuple[Stmt, ...] = ()
    if block > 1:
        length = largest(sub(b, a), Int(0))
        whole = add(a, sub(length, Op("mod", (length, Int(block)))))
        rows = _block(site, number, places, clipped[-1], block)
        loops = (Let(middle, whole), For(var=place, low=a, high=middle, step=Int(block), body=rows))
    single = For(var=place, low=middle if block > 1 else a, high=b, body=_block(site, number, places, clipped[-1], 1))
    nest: tuple[Stmt, ...] = (*loops, single)
    for outer in range(axis - 1, -1, -1):
        nest = (For(var=places[outer], low=clipped[outer][0], high=clipped[outer][1], body=nest),)
    return nest


def _block(site: Site, number: int, places: tuple[Var, ...], row: tuple[Var, Var], block: int) -> tuple[Stmt, ...]:
    """``block`` neighbouring rows: whole vectors inside, cell by cell at the ends.

    The last vector of a row overlaps the one before, so that no scalar remainder is left: its cells are computed
    twice, with the same result. Where the new version overwrites one that is read, lanes that are already done keep
    their values instead.
    """
    statement = site.problem.program.statements[number]
    rows = row_pointers(site, statement, places, block)
    start, stop, i, j = Var("start"), Var("stop"), Var("i"), Var("j")
    lanes = _lanes(site)
    targets = [_target_row(site, shift) for shift in range(block)]
    lets, values = row_values(site, statement, rows, block, j)
    body: list[Stmt] = [Let(j, smallest(i, sub(stop, lanes))), *lets]
    stores: list[Stmt] = []
    for target, computed in zip(targets, values, strict=True):
        value = computed
        if in_place(site, statement):
            kind = f"vector:{site.dtype}"
            value = Op("keep", (Load(target, j, kind), computed, sub(i, j)), kind)
        stores.append(Store(target, j, value, f"vector:{site.dtype}"))
    vectors = For(var=i, low=start, high=stop, step=lanes, body=(*body, *stores))
    ends: list[Stmt] = []
    for shift in range(block):
        at = tuple(add(place, shift) if axis == len(places) - 1 else place for axis, place in enumerate(places))
        ends += [
            If(below(low, high), (Call(cells_name(site, number), (*site.params, STEP, *at, low, high)),))
            for low, high in ((row[0], start), (stop, row[1]))
        ]
    named = [_target_let(site, target, places, shift) for shift, target in enumerate(targets)]
    return (*rows.lets, *named, vectors, *ends)
