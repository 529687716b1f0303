"""What every GPU kernel of a problem shares: its parameters, where versions of fields lie, and reads outside the grid.

A schedule (a tiling family's module) makes kernels from these parts and says how they are launched; a runtime needs
nothing else to run them: see :class:`tilewright.codegen.source.KernelSource`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tilewright.base.constants import STATIC_SHARED
from tilewright.codegen import ir
from tilewright.codegen.expression import Leaves, fuse_roots, lower_tape, scalar_name
from tilewright.codegen.sites import extent, inside, literal, outside
from tilewright.programs.stencil.expression import Node, Placed, Read, Scalar, Tape
from tilewright.programs.stencil.powers import reduce_powers
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement

FIRST = ir.Var("begun")
"""The number of the first step of the launches that belong together."""
_SLOT = ir.Var("slot", ir.WIDE)
"""Distance of versions of a field, in elements."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSite:
    """A GPU kernel's fixed surroundings."""

    problem: Problem  # nothing here depends on its shape, steps or scalars' values
    prefix: str  # start of every kernel's name
    strict: bool  # whether every operation keeps its own rounding
    kept: tuple[int, ...] = ()  # versions kept per field; empty: as many as the dependences ask for

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self.problem.program.rank

    @property
    def dtype(self) -> ir.Element:
        """Element type."""
        return ir.element(self.problem.dtype)

    @property
    def stages(self) -> tuple[tuple[int, ...], ...]:
        """Statements of every stage."""
        return self.problem.program.stages

    def number(self, field: str) -> int:
        """Position of a field."""
        return self.problem.program.fields.index(field)

    def copies(self, field: str) -> int:
        """Versions that are kept of a field."""
        return (self.kept or self.problem.program.analysis.copies)[self.number(field)]

    def params(self, numbers: tuple[str, ...], room: bool = False) -> tuple[ir.Var, ...]:
        """Parameters of a kernel whose launches give these numbers."""
        program = self.problem.program
        fields = [self.field(field) for field in program.fields]
        sizes = [extent(axis) for axis in range(self.rank)]
        wides = [*(stride(axis) for axis in range(self.rank - 1)), _SLOT]
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
        """Tables of the cells of sources and receivers: :mod:`tilewright.codegen.gpu.points`."""
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

    def version(self, field: str, slot: ir.Expr) -> ir.Expr:
        """Pointer to cell zero of a slot of a field."""
        base = self.field(field)
        if self.copies(field) == 1:
            return base
        return base + ir.wide(slot) * _SLOT

    def tape(self, statement: Statement) -> Tape:
        """A statement's tape with its scalars numbered, and with operations that GPUs do faster together."""
        names = self.problem.program.scalars
        plain: tuple[Node, ...] = tuple(
            Scalar(str(names.index(node.name))) if isinstance(node, Scalar) else node for node in statement.tape
        )
        if self.strict or not self.dtype.is_float:
            return plain
        plain = reduce_powers(plain)
        return fuse_roots(plain) if self.problem.dtype == "float32" else plain

    def lower(
        self,
        statement: Statement,
        read: Callable[[Read], ir.Expr],
        prefix: str = "t",
        *,
        at: Sequence[ir.Expr],  # the cell's indices in the grid, inside it
        step: ir.Expr,  # counted from the start of the launches that belong together
    ) -> tuple[tuple[ir.Stmt, ...], ir.Expr]:
        """Lower a statement's expression with its reads from anywhere."""
        program, lets = self.problem.program, dict[str, ir.Stmt]()

        def placed(node: Placed) -> ir.Expr:
            return ir.Load(self.tables, self.table(program.placed.index(node)) + at[node.axis], self.dtype)

        def named(node: Node) -> Node:
            if not isinstance(node, Scalar) or program.scalars[int(node.name)] not in self.problem.varying:
                return node
            name = f"{node.name}_{prefix}"
            varying = self.problem.varying
            row = (FIRST + step) * len(varying)
            place = self.table(len(program.placed)) + row + varying.index(program.scalars[int(node.name)])
            lets[name] = ir.Let(ir.Var(scalar_name(name), self.dtype), ir.Load(self.tables, place, self.dtype))
            return Scalar(name)

        tape = tuple(named(node) for node in self.tape(statement))
        body, value = lower_tape(tape, Leaves(dtype=self.dtype, read=read, vector=False, placed=placed), prefix)
        return (*lets.values(), *body), value

    def guarded(
        self, node: Read, places: tuple[ir.Expr, ...], load: Callable[[tuple[ir.Expr, ...]], ir.Expr]
    ) -> ir.Expr:
        """The value of a read that may lie outside the grid."""
        sides = self.problem.sides(node.field)
        at = tuple((place + offset) for place, offset in zip(places, node.offset, strict=True))
        inner = tuple(
            inside(place, extent(axis), sides[axis]) if node.offset[axis] and outside(sides[axis]) else place
            for axis, place in enumerate(at)
        )
        value = load(inner)
        for axis in range(self.rank):  # the innermost constant axis decides, as in the reference
            for low_side, side in zip((True, False), sides[axis], strict=True):
                if side.kind == "constant" and node.offset[axis]:
                    test = (at[axis] < 0) if low_side else (at[axis] >= extent(axis))
                    value = ir.select(test, literal(side.value, self.dtype), value)
        return value


def dated(problem: Problem) -> bool:
    """Whether kernels are told where in the run their launches begin: what they look up differs from step to step."""
    return bool(problem.varying or problem.points)


def stride(axis: int) -> ir.Var:
    """Distance of neighbours along an outer axis, in elements: 64 bits."""
    return ir.Var(f"s{axis}", ir.WIDE)


def on_chip(size: int) -> tuple[int, int]:
    """Return the bytes on chip that a text declares itself, and those that a launch gives: only the latter may be many.

    >>> on_chip(1024), on_chip(64 * 1024)
    ((1024, 0), (0, 65536))
    """
    return (size, 0) if size <= STATIC_SHARED else (0, size)


def global_index(places: tuple[ir.Expr, ...]) -> ir.Expr:
    """Index of a cell in a version of a field, in 64 bits."""
    result: ir.Expr = ir.wide(places[-1])
    for axis, place in enumerate(places[:-1]):
        result = ir.wide(place) * stride(axis) + result
    return result


def offsets(problem: Problem, axis: int, *, bent: bool) -> tuple[int, int]:
    """Least and greatest offset of all reads along an axis, with the cell itself."""
    low = high = 0
    for statement in problem.program.statements:
        for read in statement.reads:
            for distance in reached(problem, read, axis, bent=bent):
                low, high = min(low, distance), max(high, distance)
    return low, high


def reached(problem: Problem, read: Read, axis: int, *, bent: bool) -> tuple[int, ...]:
    """How far a read reaches along an axis: as written, and as its field's boundary bends it."""
    distance = read.offset[axis]
    if not bent or not distance:
        return (distance,)
    kinds = {side.kind for side in problem.sides(read.field)[axis]}
    bend = abs(distance) if "mirror" in kinds else abs(distance) - 1 if "reflect" in kinds else 0
    return (distance, -bend if distance > 0 else bend)


def unpacked(place: ir.Expr, names: tuple[ir.Var, ...], counts: tuple[ir.Expr, ...]) -> tuple[ir.Stmt, ...]:
    """Name the coordinates of a number in a box of ``counts``, the last one fastest."""
    lets: list[ir.Stmt] = []
    rest = place
    for axis in range(len(names) - 1, 0, -1):
        lets.append(ir.Let(names[axis], rest % counts[axis]))
        rest = rest / counts[axis]
    return (*lets, ir.Let(names[0], rest))
