"""What every GPU kernel of a problem shares: its parameters, where versions of fields lie, and the cells of a grid.

A schedule (a tiling family's module) makes kernels from these parts and says how they are launched; a runtime needs
nothing else to run them: see :class:`tilewright.codegen.source.KernelSource`.

The tables of sources and receivers are those of :mod:`tilewright.codegen.points`, behind one another, in whole numbers
of 32 bits::

    points[0], points[1]    steps of the table of numbers, and the first of them, as the run counts steps
    points[2 + 3 i …]       where table i's rows and its places along rows start in ``points``, and its numbers
    numbers                 of every cell of every table a number per step: what sources add, what receivers record

A value passes through a function where it is new, before anything reads it, so that every schedule that computes a cell
adds to it; those that compute cells of other groups, too, say which ones are theirs to record.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from tilewright.base.constants import STATIC_SHARED
from tilewright.codegen import ir, layouts
from tilewright.codegen.boundary import bounded
from tilewright.codegen.expression import Leaves, lower_tape, scalar_name
from tilewright.codegen.points import function_name, pieces, row_number, tables, touches
from tilewright.codegen.sites import KernelSite, extent
from tilewright.codegen.source import EntryPoint
from tilewright.codegen.tapes import fuse
from tilewright.programs.stencil.boundaries import bend
from tilewright.programs.stencil.expression import Node, Placed, Read, Scalar, Tape
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement

FIRST = ir.Var("begun")  # the number of the first step of the launches that belong together
_ALWAYS = ir.Real(True, ir.BOOL)
Cell = tuple[ir.Expr, ...]  # indices of a cell in the grid
Kernel = tuple[ir.Function, EntryPoint]
Reader = Callable[[Read], ir.Expr]  # where the values of reads come from


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceLayout:
    """Where a stencil's kernels find the fields."""

    copies: tuple[int, ...]  # versions kept per field, in field order


@dataclass(frozen=True, slots=True)
class Launch:
    """One start of a kernel; launches of a run follow each other in order."""

    kernel: int  # index of the kernel in its source
    groups: int  # groups to start, in one dimension
    numbers: tuple[int, ...]  # values of the kernel's numbers


@dataclass(frozen=True, slots=True)
class NewCell:
    """A cell whose value is new."""

    at: Cell  # its indices, inside the grid
    step: ir.Expr  # counted from the start of the launches that belong together
    own: ir.Expr = _ALWAYS  # whether it is this group that records it


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSite(KernelSite):
    """A GPU kernel's fixed surroundings."""

    kept: tuple[int, ...] = ()  # versions kept per field; empty: as many as the dependences ask for

    @property
    def stages(self) -> tuple[tuple[Statement, ...], ...]:
        """Statements of every stage."""
        program = self.problem.program
        return tuple(tuple(program.statements[number] for number in stage) for stage in program.stages)

    @property
    def places(self) -> tuple[ir.Var, ...]:
        """Names of a cell's indices."""
        return tuple(map(ir.Var, self.axes("x")))

    def axes(self, letter: str) -> list[str]:
        """A name per axis."""
        return [f"{letter}{axis}" for axis in range(self.rank)]

    def number(self, field: str) -> int:
        """Position of a field."""
        return self.problem.program.fields.index(field)

    def copies(self, field: str) -> int:
        """Versions that are kept of a field."""
        return (self.kept or self.problem.program.analysis.copies)[self.number(field)]

    # Kernels.

    def begin(
        self, end: int | str, threads: int, numbers: tuple[str, ...], values: int = 0
    ) -> tuple[ir.Builder, EntryPoint]:
        """Begin a kernel, its name's end given, whose launches give these numbers, with so many values on chip."""
        shared, room = on_chip(values * self.problem.itemsize)
        entry = EntryPoint(
            entry=f"{self.prefix}_{end}", threads=threads, numbers=numbers, shared_bytes=shared, room_bytes=room
        )
        b = ir.Builder(entry.entry, kind="kernel", threads=threads)
        b.params(*self.params(numbers, room=bool(room)))
        if shared:
            b.array(self.shared.name, ir.shared_pointer(self.dtype), values)
        return b, entry

    def params(self, numbers: tuple[str, ...], room: bool = False) -> tuple[ir.Var, ...]:
        """Parameters of a kernel whose launches give these numbers."""
        program = self.problem.program
        fields = [self.field(field) for field in program.fields]
        sizes = [extent(axis) for axis in range(self.rank)]
        wides = [*(stride(axis) for axis in range(self.rank - 1)), ir.Var(layouts.SLOT.name, ir.WIDE)]
        varying = self.problem.varying
        scalars = [ir.Var(f"c_{i}", self.dtype) for i, name in enumerate(program.scalars) if name not in varying]
        tables = [self.tables] if program.placed or varying else []
        first = [FIRST] if dated(self.problem) else []
        points = [self.points, self.numbers] if self.problem.points else []
        shared = [self.shared] if room else []
        return (
            *(*fields, *sizes, *wides, *(ir.Var(name) for name in numbers)),
            *(*tables, *points, *first, *scalars, *shared),
        )

    @property
    def tables(self) -> ir.Var:
        """Numbers that are looked up.

        A number for every index along an axis of each leaf of the program that depends on the cell's place alone, 0 or
        1 for a truth value; then for every step the values of the scalars that vary.
        """
        return ir.Var("tables", ir.const_pointer(self.dtype))

    @property
    def points(self) -> ir.Var:
        """Tables of the cells of sources and receivers."""
        return ir.Var("points", ir.const_pointer(ir.INDEX))

    @property
    def numbers(self) -> ir.Var:
        """What sources add to these cells and what receivers record of them."""
        return ir.Var("numbers", ir.pointer(self.dtype))

    def table(self, number: int) -> ir.Expr:
        """Where the ``number``-th of the program's tables of places starts, or what follows the last one."""
        return ir.total([extent(node.axis) for node in self.problem.program.placed[:number]]) if number else ir.Int(0)

    @property
    def shared(self) -> ir.Var:
        """The shared memory of a group."""
        return ir.Var("chip", ir.shared_pointer(self.dtype))

    def field(self, field: str) -> ir.Var:
        """Pointer to slot 0 of a field; nothing is stored to fields that no statement updates."""
        const = field not in self.problem.program.updated
        return ir.Var(f"f{self.number(field)}", ir.Pointer(self.dtype, const=const))

    def layout(self, field: str) -> layouts.Layout:
        """Where the versions of a field lie."""
        return layouts.Layout(base=self.field(field), copies=self.copies(field), kind=ir.WIDE)

    # Cells.

    def cell(self, b: ir.Builder, statement: Statement, here: Cell, step: ir.Expr, now: ir.Expr | None = None) -> None:
        """Compute one cell where it is updated, reads outside the grid included, all in memory off chip.

        Versions lie where ``step`` says; ``now`` is the step where that is another number.
        """

        def read(node: Read) -> ir.Expr:
            base = self.layout(node.field).version(node.level, step)
            return self.guarded(node, here, lambda inner: base[global_index(inner)])

        with b.when(self.in_bounds(statement, here)), b.scope():
            at = b.let("at", global_index(here))
            value = self.value(b, statement, read, NewCell(here, step if now is None else now))
            b.set(self.layout(statement.field).version(1, step)[at], value)

    def in_bounds(self, statement: Statement, here: Cell) -> ir.Expr:
        """Whether a statement updates a cell."""
        margins = enumerate(self.problem.margins(statement))
        return ir.every(test for axis, (a, b) in margins for test in (here[axis] >= a, here[axis] < extent(axis) - b))

    def value(self, b: ir.Builder, statement: Statement, read: Reader, cell: NewCell, prefix: str = "t") -> ir.Expr:
        """A statement's new value with its reads from anywhere, and with what sources add to it."""
        return self.pointed(statement.field, self.lower(b, statement, read, cell, prefix), cell)

    def lower(self, b: ir.Builder, statement: Statement, read: Reader, cell: NewCell, prefix: str = "t") -> ir.Expr:
        """A statement's expression with its reads from anywhere."""
        program, varying, rows = self.problem.program, self.problem.varying, dict[str, ir.Expr]()

        def placed(node: Placed) -> ir.Expr:
            return self.tables[self.table(program.placed.index(node)) + cell.at[node.axis]]

        def named(node: Node) -> Node:
            if not isinstance(node, Scalar) or program.scalars[int(node.name)] not in varying:
                return node
            name = f"{node.name}_{prefix}"
            row = self.table(len(program.placed)) + (FIRST + cell.step) * len(varying)
            rows[name] = self.tables[row + varying.index(program.scalars[int(node.name)])]
            return Scalar(name)

        tape = tuple(named(node) for node in self.tape(statement))
        leaves = Leaves(dtype=self.dtype, read=read, vector=False, placed=placed)
        body, value = lower_tape(tape, leaves, prefix)
        for name, row in rows.items():
            b.let(scalar_name(name), row)
        b.emit(*body)
        return value

    def tape(self, statement: Statement) -> Tape:
        """A statement's tape with its scalars numbered, and with operations that GPUs do faster together."""
        names = self.problem.program.scalars
        plain: tuple[Node, ...] = tuple(
            Scalar(str(names.index(node.name))) if isinstance(node, Scalar) else node for node in statement.tape
        )
        return plain if self.strict or not self.dtype.is_float else fuse(plain, self.dtype)

    def pointed(self, field: str, value: ir.Expr, cell: NewCell) -> ir.Expr:
        """A new value, which is to stand in one place, with what sources add to it; receivers record it."""
        if not touches(self.problem, field):
            return value
        at = cell.at
        row = pieces(at[0], at[0] + 1)[0] if self.rank == 1 else row_number(at[:-1])
        arguments = (self.points, self.numbers, row, at[-1], FIRST + cell.step, cell.own, value)
        return ir.Call(function_name(self.prefix, self.problem, field), arguments, self.dtype)

    def guarded(self, node: Read, here: Cell, load: Callable[[Cell], ir.Expr]) -> ir.Expr:
        """The value of a read that may lie outside the grid."""
        places = []
        for axis, (place, offset) in enumerate(zip(here, node.offset, strict=True)):
            sides = self.problem.sides(node.field)[axis] if offset else None
            places.append((place + offset, extent(axis), sides))
        return bounded(places, load, self.dtype)


def dated(problem: Problem) -> bool:
    """Whether kernels are told where in the run their launches begin: what they look up differs from step to step."""
    return bool(problem.varying or problem.points)


def stride(axis: int) -> ir.Var:
    """Distance of neighbours along an outer axis, in elements: 64 bits."""
    return layouts.stride(axis, ir.WIDE)


def on_chip(size: int) -> tuple[int, int]:
    """Return the bytes on chip that a text declares itself, and those that a launch gives: only the latter may be many.

    >>> on_chip(1024), on_chip(64 * 1024)
    ((1024, 0), (0, 65536))
    """
    return (size, 0) if size <= STATIC_SHARED else (0, size)


def global_index(places: Cell) -> ir.Expr:
    """Index of a cell in a version of a field, in 64 bits."""
    result = ir.wide(places[-1])
    for axis, place in enumerate(places[:-1]):
        result = ir.wide(place) * stride(axis) + result
    return result


def row_index(outer: Sequence[ir.Expr]) -> ir.Expr:
    """Index of a row in a version of a field, by its places along the outer axes, in 64 bits."""
    return ir.total([ir.wide(place) * stride(axis) for axis, place in enumerate(outer)])


def offsets(problem: Problem, axis: int, *, bent: bool) -> tuple[int, int]:
    """Least and greatest offset of all reads along an axis, with the cell itself."""
    reads = [read for statement in problem.program.statements for read in statement.reads]
    distances = [0, *(distance for read in reads for distance in reached(problem, read, axis, bent=bent))]
    return min(distances), max(distances)


def reached(problem: Problem, read: Read, axis: int, *, bent: bool) -> tuple[int, ...]:
    """How far a read reaches along an axis: as written, and as its field's boundary bends it."""
    distance = read.offset[axis]
    if not bent or not distance:
        return (distance,)
    back = bend(problem.sides(read.field)[axis], distance)
    return (distance, -back if distance > 0 else back)


def unpack(b: ir.Builder, place: ir.Expr, names: Sequence[str], counts: Sequence[ir.Operand]) -> list[ir.Expr]:
    """Name the coordinates of a number in a box of ``counts``, the last one fastest."""
    coordinates = []
    for name, count in reversed(list(zip(names, counts, strict=True))[1:]):
        coordinates.append(b.let(name, place % count))
        place = place / count
    return [b.let(names[0], place), *reversed(coordinates)]


def in_turn(
    b: ir.Builder, box: Iterable[tuple[ir.Expr, ir.Expr]], threads: Iterable[int], first_axis: int = 0
) -> ExitStack:
    """Go through the cells of a box, cut to the grid, each of which one of a group's threads takes."""
    loops = ExitStack()
    for axis, ((low, high), count) in enumerate(zip(box, threads, strict=True), first_axis):
        first = ir.largest(low, 0) + ir.Var(f"i{axis}")
        loops.enter_context(b.loop(f"x{axis}", first, ir.smallest(high, extent(axis)), count))
    return loops


_HEAD = ("steps", "first step")
_PARTS = ("rows", "places", "numbers")


def points_head(steps: int, first: int, parts: Sequence[tuple[int, int, int]]) -> list[int]:
    """Return what ``points`` starts with; ``parts``: where a table's rows and its places start in it, its numbers."""
    return [steps, first, *(place for each in parts for place in each)]


def point_functions(site: GpuSite) -> tuple[ir.Function, ...]:
    """Make a function ``points(points, numbers, row, at, now, own, value)`` per field with sources or receivers."""
    return tuple(_point_function(site, field) for field in site.problem.program.updated if touches(site.problem, field))


def _point_function(site: GpuSite, field: str) -> ir.Function:
    b = ir.Builder(function_name(site.prefix, site.problem, field), kind="inline")
    points, numbers = site.points, site.numbers
    b.params(points, numbers)
    row, at, now = (b.param(name) for name in ("row", "at", "now"))
    own, value = b.param("own", ir.BOOL), b.param("value", site.dtype)
    result = b.mutable("result", value)
    for table, records in tables(site.problem, field):
        rows, places, begin = (points[len(_HEAD) + len(_PARTS) * table + part] for part in range(len(_PARTS)))
        with b.scope():
            first = b.let("rows", rows) + row
            low, high = b.mutable("low", points[first]), b.let("high", points[first + 1])
            with b.when(own & (low < high) if records else low < high):
                start = b.let("places", places)
                # By halving to the first cell of the row that is not before this one.
                end = b.mutable("end", high)
                with b.loop_while(low < end):
                    middle = b.let("middle", low + (end - low) / 2)
                    with b.when(points[start + middle] < at):
                        b.set(low, middle + 1)
                    with b.otherwise():
                        b.set(end, middle)
                number = b.let("begin", begin) + (low * points[0] + (now - points[1]))
                with b.when(low < high), b.when(points[start + low].equals(at)):
                    if records:
                        b.set(numbers[number], result)
                    else:
                        b.set(result, ir.op(ir.Operator.ADD, result, numbers[number]))
    return b.function(result)
