"""One statement over a box of cells at one time: the kernels that every tiling calls.

Two functions per statement. ``cells`` computes part of one row cell by cell, reads outside the grid included.
``box`` computes a box: whole vectors along the inside of every row, several rows at a time so that neighbouring rows
share their loads. Ends of rows that are ends of the grid are vectors like the others, whose lanes outside are filled
with the cells that they stand for; other ends are computed by ``cells``. Large sums over boxes are loops over their
reads (:mod:`tilewright.codegen.boxes.loops`).
"""

import functools
import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tilewright.codegen import ir, points
from tilewright.codegen.boxes.loops import find_rows, found_rows, near_reads, row_starts
from tilewright.codegen.boxes.vectors import AHEAD, RowGroup, sum_functions, target_row
from tilewright.codegen.expression import Leaves, lower_tape
from tilewright.codegen.passes import shuffle_neighbours
from tilewright.codegen.passes.split_ends import (
    AT_HIGH,
    AT_LOW,
    BEGIN,
    END,
    START,
    STOP,
    split_row,
    vectors_at_ends,
)
from tilewright.codegen.passes.write_sums.loop import write_lines
from tilewright.codegen.sites import (
    Site,
    box_bounds,
    cell_function,
    extent,
    inner_sites,
    middle,
    moved_by,
    packed_lets,
    place_lets,
    place_name,
    places_inside,
    row_pointers,
    scalar_lets,
    stride,
    unpack,
    version_lets,
)
from tilewright.codegen.states import state_function
from tilewright.programs.stencil.expression import Placed, Read
from tilewright.programs.stencil.problem import cells_at_end
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.regions import nested_axes
from tilewright.schedules.code import BoxCode

STEP = ir.Var("t")


def cells_name(site: Site, number: int) -> str:
    """Name of the cell-by-cell function of a statement."""
    return f"{site.prefix}_cells_{number}"


def box_name(site: Site, number: int) -> str:
    """Name of the box function of a statement."""
    return f"{site.prefix}_box_{number}"


def box_call(site: Site, number: int, step: ir.Expr, ranges: Sequence[tuple[ir.Expr, ir.Expr]]) -> ir.Call:
    """Compute a statement over a box at a time step."""
    return ir.Call(box_name(site, number), (*site.params, step, *(bound for pair in ranges for bound in pair)))


def _start(site: Site, statement: Statement, low: ir.Expr) -> tuple[ir.Stmt, ...]:
    lets = version_lets(site, [(read.field, read.level) for read in statement.reads], STEP)
    target = ir.Var("target", ir.pointer(site.dtype))
    return (
        *unpack(site),
        *packed_lets(site, statement, low),
        *lets,
        ir.Let(target, site.slot(statement.field, 1, STEP)),
        *scalar_lets(site, [statement], STEP),
        *place_lets(site, statement),
    )


def _places(site: Site) -> tuple[ir.Var, ...]:
    return tuple(ir.Var(f"x{axis}") for axis in range(site.rank - 1))


def cells_function(site: Site, number: int) -> ir.Function:
    """A function ``cells(…, t, x0[, x1], low, high)`` that computes part of one row, cell by cell."""
    statement = site.problem.program.statements[number]
    places = _places(site)
    low, high, place = ir.Var("low"), ir.Var("high"), ir.Var("x")
    rows = row_pointers(site, statement, places, 1)
    size = extent(site.rank - 1)

    def load(node: Read, row: ir.Expr, at: ir.Expr, *, inside: bool = False) -> ir.Expr:
        function = cell_function(site, node.field)
        if inside or function is None:
            return ir.Load(row, at, site.dtype)
        return ir.Call(function.name, (row, at, size), function.result_type)

    def read(node: Read) -> ir.Expr:
        return load(node, rows.of(node), place + node.offset[-1], inside=node.offset[-1] == 0)

    near = near_reads(site, statement)
    if near:
        named: list[ir.Stmt] = [*find_rows(site, statement, places, 1)]
        starts = found_rows(row_starts(site), rows)
        body, (value,) = write_lines(
            site.dtype,
            near,
            site.code(statement).rest,
            place,
            lambda node, _, at: load(node, starts[rows.of(node)], at),
        )
    else:
        named = [let for axis, at in enumerate(places) for let in places_inside(site, statement, axis, at, 1)]
        named += rows.lets
        at = (*places, place)

        def placed(node: Placed) -> ir.Expr:
            return ir.Load(place_name(site, node), at[node.axis], site.dtype)

        leaves = Leaves(dtype=site.dtype, read=read, vector=False, placed=placed)
        body, value = lower_tape(statement.tape, leaves)
    target = target_row(site, 0)
    store = ir.Store(target, place, value, site.dtype)
    return ir.Function(
        name=cells_name(site, number),
        params=(*site.params, STEP, *places, low, high),
        body=(
            *_start(site, statement, low),
            *named,
            _target_let(site, statement.field, target, places),
            ir.For(var=place, low=low, high=high, body=(*body, store)),
        ),
    )


def _beside(places: tuple[ir.Expr, ...], axis: int, shift: int) -> tuple[ir.Expr, ...]:
    """The place of a row so many rows further along an axis."""
    return tuple((place + shift) if along == axis else place for along, place in enumerate(places))


def _target_let(site: Site, field: str, var: ir.Var, places: tuple[ir.Expr, ...]) -> ir.Stmt:
    result: ir.Expr = ir.Var("target", ir.pointer(site.dtype))
    part = site.packed_field(field)
    if part is not None:
        result = part.row(result, places)
        return ir.Let(var, (result - moved_by(field)) if part.axis == site.rank - 1 else result)
    for axis, place in enumerate(places):
        result = result + place * stride(axis)
    return ir.Let(var, result)


def box_functions(site: Site, number: int) -> tuple[ir.Function, ...]:
    """A function ``box(…, t, low0, high0, …)`` for the cells of a box that the statement updates, after its callees."""
    field, name = site.problem.program.statements[number].field, box_name(site, number)
    after: list[ir.Function] = []
    if points.touches(site.problem, field):
        after.append(points.points_function(site, field, STEP))
    if site.streams_states:
        after.append(state_function(site, number, STEP))
    if not after:
        return _box_functions(site, number, name)
    *others, values = _box_functions(site, number, f"{name}_values")
    calls = tuple(ir.Call(each.name, values.params) for each in (values, *after))
    return (*others, values, *after, ir.Function(name=name, params=values.params, body=calls))


def _box_functions(site: Site, number: int, name: str) -> tuple[ir.Function, ...]:
    """What computes the values of a box: where the statement has regions, its middle by a function of its own."""
    statement, inner = site.problem.program.statements[number], inner_sites(site)
    if not inner or inner[0][1].problem.program.statements[number] == statement:
        return _values_functions(site, number, name)
    if site.packed:
        return _nested_functions(site, number, name)
    middle_site = inner[0][1]
    every = _values_functions(site, number, f"{name}_every")
    middle_functions = _values_functions(middle_site, number, f"{name}_middle")
    split = _split(site, statement, name, (every[-1], middle_functions[-1]))
    return (*every, cells_function(middle_site, number), *middle_functions, split)


def _nested_functions(site: Site, number: int, name: str) -> tuple[ir.Function, ...]:
    """The same where fields lie in memory at the ends of axes alone.

    A box is cut along one axis after the other, the innermost first: its ends are computed with all that is not known
    yet, its middle is cut further. Of a field of a subdomain there is nothing in the middle.
    """
    statement, order = site.problem.program.statements[number], nested_axes(site.problem.program)
    own = dict(site.storage.subdomains).get(statement.field)
    if own is not None:
        order = (own.axis,)
    known = dict(inner_sites(site))
    counts = range(1, len(order) + 1) if own is None else range(0)
    sites = [site, *(known[tuple(sorted(order[:count]))] for count in counts)]
    functions: dict[Statement, tuple[ir.Function, ...]] = {}
    for place, each in enumerate(sites):
        same = each.problem.program.statements[number]
        if same not in functions:
            cells = () if each is site else (cells_function(each, number),)
            functions[same] = (*cells, *_values_functions(each, number, f"{name}_of{place}"))
    made = [functions[each.problem.program.statements[number]][-1] for each in sites]
    box = [(ir.Var(f"low{axis}"), ir.Var(f"high{axis}")) for axis in range(site.rank)]
    lets: list[ir.Stmt] = [*unpack(site)]
    whole: list[tuple[ir.Expr, ir.Expr]] = []
    for axis, (given, bounds) in enumerate(zip(box, box_bounds(site, statement), strict=True)):
        a, b = ir.Var(f"a{axis}"), ir.Var(f"b{axis}")
        lets += [ir.Let(a, ir.largest(given[0], bounds[0])), ir.Let(b, ir.smallest(given[1], bounds[1]))]
        whole.append((a, b))

    def call(place: int, cells: Sequence[tuple[ir.Expr, ir.Expr]]) -> ir.Call:
        return ir.Call(made[place].name, (*site.params, STEP, *(end for pair in cells for end in pair)))

    def cut(place: int, cells: list[tuple[ir.Expr, ir.Expr]]) -> list[ir.Stmt]:
        if place == len(order):
            return [] if own is not None else [call(place, cells)]
        axis = order[place]
        (a, b), ends = cells[axis], middle(site)[axis]
        c, d = ir.Var(f"c{axis}"), ir.Var(f"d{axis}")
        named = (ir.Let(c, ir.smallest(b, ends[0])), ir.Let(d, ir.largest(a, ends[1])))
        found: list[ir.Stmt] = [*named]
        for low, high in ((a, c), (d, b)):
            found.append(ir.If(low < high, (call(place, [*cells[:axis], (low, high), *cells[axis + 1 :]]),)))
        e, f = ir.Var(f"e{axis}"), ir.Var(f"f{axis}")
        inner = cut(place + 1, [*cells[:axis], (e, f), *cells[axis + 1 :]])
        if inner:
            found += [ir.Let(e, ir.largest(a, ends[0])), ir.Let(f, ir.smallest(b, ends[1]))]
            found.append(ir.If(e < f, tuple(inner)))
        return found

    split = replace(made[0], name=name, body=(*lets, *cut(0, whole)), kind="apart")
    return (*(each for group in functions.values() for each in group), split)


def _split(site: Site, statement: Statement, name: str, parts: tuple[ir.Function, ir.Function]) -> ir.Function:
    """Cut a box at the edges of the regions' middle: what lies around it is computed with all regions."""
    every, inner = parts
    given = [(ir.Var(f"low{axis}"), ir.Var(f"high{axis}")) for axis in range(site.rank)]
    whole = [(ir.Var(f"a{axis}"), ir.Var(f"b{axis}")) for axis in range(site.rank)]
    cut = [(ir.Var(f"c{axis}"), ir.Var(f"d{axis}")) for axis in range(site.rank)]
    lets: list[ir.Stmt] = [*unpack(site)]
    some: ir.Expr | None = None
    for box, bounds, ends, (a, b), (c, d) in zip(
        given, box_bounds(site, statement), middle(site), whole, cut, strict=True
    ):
        lets += [ir.Let(a, ir.largest(box[0], bounds[0])), ir.Let(b, ir.smallest(box[1], bounds[1]))]
        lets += [ir.Let(c, ir.largest(a, ends[0])), ir.Let(d, ir.smallest(b, ends[1]))]
        some = (c < d) if some is None else (some & (c < d))
    assert some is not None  # noqa: S101  (a program has an axis)

    def call(function: ir.Function, box: Sequence[tuple[ir.Expr, ir.Expr]]) -> ir.Call:
        return ir.Call(function.name, (*site.params, STEP, *(end for pair in box for end in pair)))

    pieces: list[ir.Stmt] = []
    for axis in range(site.rank):
        for low, high in ((whole[axis][0], cut[axis][0]), (cut[axis][1], whole[axis][1])):
            piece = [*cut[:axis], (low, high), *whole[axis + 1 :]]
            pieces.append(ir.If(low < high, (call(every, piece),)))
    pieces.append(call(inner, cut))
    return replace(every, name=name, body=(*lets, ir.If(some, tuple(pieces), (call(every, whole),))), kind="apart")


def _values_functions(site: Site, number: int, name: str) -> tuple[ir.Function, ...]:
    """What computes the values of a box; of a slab along a side of the grid, which most boxes miss, one that looks."""
    bounds = box_bounds(site, site.problem.program.statements[number])
    sides = [
        axis
        for axis, span in enumerate(site.problem.spans(site.problem.program.statements[number]))
        if cells_at_end(span)
    ]
    if not sides:
        return _all_functions(site, number, name)
    made = _all_functions(site, number, f"{name}_slab")
    params = made[-1].params
    box = params[len(params) - 2 * site.rank :]
    hit: list[ir.Expr] = []
    for axis in sides:
        (low, high), (first, end) = box[2 * axis : 2 * axis + 2], bounds[axis]
        hit += [low < end, first < high]
    call = ir.If(functools.reduce(operator.and_, hit), (ir.Call(made[-1].name, params),))
    return (*made, replace(made[-1], name=name, body=(*unpack(site), call), kind="inline"))


def _all_functions(site: Site, number: int, name: str) -> tuple[ir.Function, ...]:
    box = _Box(site=site, number=number, together=False)
    code = box.code
    if code.single:
        return (box.cells(name),)
    if code.block.neighbours != "shuffles":
        rows = sorted({1, code.block.rows})
        blocks = ((lines, row_pointers(site, box.statement, _places(site), lines)) for lines in rows)
        return (*sum_functions(site, box.statement, blocks), box.function(name, code.block.rows))
    short = box.function(f"{name}_short", code.short)
    long = replace(box, together=True).function(f"{name}_long", code.block.rows)
    length = short.params[-1] - short.params[-2]
    calls = (ir.Call(long.name, long.params),), (ir.Call(short.name, short.params),)
    which = replace(
        short, name=name, body=(ir.If(shuffle_neighbours.long(site, box.statement, length), *calls),), kind="inline"
    )
    return (short, long, which)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Box:
    """A statement's function for boxes; ``together`` says whether neighbours along rows are put together."""

    site: Site
    number: int
    together: bool

    @property
    def statement(self) -> Statement:
        return self.site.problem.program.statements[self.number]

    @property
    def code(self) -> BoxCode:
        """How it is written."""
        return self.site.code(self.statement)

    @property
    def _bytes(self) -> ir.Expr:
        """Bytes of a field."""
        return extent(0) * stride(0) * self.site.problem.itemsize

    def function(self, name: str, block: int) -> ir.Function:
        """The function, for blocks of so many rows."""
        site, statement = self.site, self.statement
        given = [(ir.Var(f"low{axis}"), ir.Var(f"high{axis}")) for axis in range(site.rank)]
        clipped = [(ir.Var(f"a{axis}"), ir.Var(f"b{axis}")) for axis in range(site.rank)]
        lets: list[ir.Stmt] = [*_start(site, statement, given[-1][0])]
        for (low, high), (least, end), (a, b) in zip(given, box_bounds(site, statement), clipped, strict=True):
            lets += [ir.Let(a, ir.largest(low, least)), ir.Let(b, ir.smallest(high, end))]
        lets += split_row(site, statement, clipped[-1])
        if self.code.asked is not None:
            large = ir.Int(self.code.asked) < self._bytes
            lets.append(ir.Let(AHEAD, ir.select(large, ir.Int(1), ir.Int(0))))
        if self.together:
            lets += shuffle_neighbours.bounds(site, (BEGIN, START), (END, STOP))
        return ir.Function(
            name=name,
            params=(*site.params, STEP, *(var for pair in given for var in pair)),
            body=(*lets, *self.loops(clipped, block)),
            kind="apart",
        )

    def cells(self, name: str) -> ir.Function:
        """The function for boxes of few cells a row."""
        site, places = self.site, _places(self.site)
        bounds = box_bounds(site, self.statement)
        given = [(ir.Var(f"low{axis}"), ir.Var(f"high{axis}")) for axis in range(site.rank)]
        clipped = [(ir.Var(f"a{axis}"), ir.Var(f"b{axis}")) for axis in range(site.rank)]
        lets: list[ir.Stmt] = [*unpack(site)]
        for (low, high), (least, end), (a, b) in zip(given, bounds, clipped, strict=True):
            lets += [ir.Let(a, ir.largest(low, least)), ir.Let(b, ir.smallest(high, end))]
        nest: tuple[ir.Stmt, ...] = (
            ir.Call(cells_name(site, self.number), (*site.params, STEP, *places, *clipped[-1])),
        )
        for place, (a, b) in reversed(list(zip(places, clipped, strict=False))):
            nest = (ir.For(var=place, low=a, high=b, body=nest),)
        return ir.Function(
            name=name,
            params=(*site.params, STEP, *(var for pair in given for var in pair)),
            body=(*lets, *nest),
            kind="apart",
        )

    def loops(self, clipped: list[tuple[ir.Var, ir.Var]], block: int) -> tuple[ir.Stmt, ...]:
        """Loops over the rows of a box: blocks of rows, where the field is small enough for them, then single rows."""
        site, places = self.site, _places(self.site)
        if not places:
            return self.block(places, clipped[-1], 1)
        axis = self.code.of(block).axis
        (a, b), middle = clipped[axis], ir.Var("whole")
        blocks: tuple[ir.Stmt, ...] = ()
        if block > 1:
            length = ir.largest(b - a, ir.Int(0))
            whole = a + (length - length % block)
            if self.code.cached is not None:
                whole = ir.select(self._bytes <= self.code.cached, whole, a)
            blocks = (ir.Let(middle, whole), self._rows(clipped, axis, (a, middle), block))
        nest: tuple[ir.Stmt, ...] = (*blocks, self._rows(clipped, axis, (middle if block > 1 else a, b), 1))
        for outer in range(axis - 1, -1, -1):
            beside = () if self.code.block.loops else places_inside(site, self.statement, outer, places[outer], 1)
            nest = (ir.For(var=places[outer], low=clipped[outer][0], high=clipped[outer][1], body=(*beside, *nest)),)
        return nest

    def _rows(
        self, clipped: list[tuple[ir.Var, ir.Var]], axis: int, ends: tuple[ir.Expr, ir.Expr], block: int
    ) -> ir.For:
        """The loop over an axis, by blocks if they lie along it, and over those after it."""
        site, places = self.site, _places(self.site)
        low, high = ends
        step = ir.Int(block if axis == self.code.of(block).axis else 1)
        if axis == site.rank - 2:
            # Compilers would carry a dozen addresses from row to row, and have no registers left for the vectors' loop.
            each = ir.Var("row")
            here = ir.Let(places[axis], ir.op(ir.Operator.OPAQUE, each))
            return ir.For(var=each, low=low, high=high, step=step, body=(here, *self.block(places, clipped[-1], block)))
        inner = self._rows(clipped, axis + 1, clipped[axis + 1], block)
        beside = places_inside(site, self.statement, axis, places[axis], block)
        return ir.For(var=places[axis], low=low, high=high, step=step, body=(*beside, inner))

    def block(self, places: tuple[ir.Var, ...], row: tuple[ir.Var, ir.Var], block: int) -> tuple[ir.Stmt, ...]:
        """``block`` neighbouring rows: whole vectors, or cell by cell at ends that are none of the grid's.

        The first and the last vector of a row overlap others where it must be, so that the others are aligned and no
        scalar remainder is left: some cells are computed twice, with the same result. Where the new version overwrites
        one that is read, lanes that are already done keep their values.
        """
        site, statement = self.site, self.statement
        rows = row_pointers(site, statement, places, block)
        carried = shuffle_neighbours.carried(statement, rows, self.code.of(block)) if self.together else ()
        group = RowGroup(site=site, statement=statement, rows=rows, carried=carried, block=block)
        ends: list[ir.Stmt] = []
        for low_side, as_vector in zip((True, False), vectors_at_ends(site, statement), strict=True):
            low, high = (row[0], START) if low_side else (STOP, row[1])
            slow = tuple(
                ir.Call(
                    cells_name(site, self.number), (*site.params, STEP, *_beside(places, rows.axis, shift), low, high)
                )
                for shift in range(block)
            )
            body: tuple[ir.Stmt, ...] = (ir.If(low < high, slow),)
            if as_vector:
                body = (ir.If((AT_LOW if low_side else AT_HIGH).differs(0), group.end(low_side=low_side), body),)
            ends += body
        targets = [
            _target_let(site, statement.field, target_row(site, shift), _beside(places, rows.axis, shift))
            for shift in range(block)
        ]
        return (*group.named(places), *targets, *group.inside(), *ends)
