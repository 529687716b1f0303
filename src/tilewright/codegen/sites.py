"""A kernel's fixed surroundings: what its functions are told, where fields and tables lie, and the grid's sizes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tilewright.base.fingerprint import identity
from tilewright.codegen import ir
from tilewright.codegen.boundary import bounded, outside
from tilewright.codegen.expression import scalar_name
from tilewright.codegen.layouts import SLOT, Kept, Layout, Packed, Series, stride
from tilewright.programs.stencil.expression import Placed, Scalar
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.regions import conditions, inner_programs
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.code import BoxCode, KernelCode

Pair = tuple[ir.Expr, ir.Expr]  # the first cell along an axis, and the end

SIZE = ir.Var("size", ir.const_pointer(ir.INDEX))
"""Steps, threads, the extents, the strides of the outer axes, and the distance between versions."""
POINTS = ir.Var("points", ir.const_pointer(ir.const_pointer(ir.INDEX)))
"""Where the cells of sources and receivers lie: see :mod:`tilewright.codegen.points`."""
PLACES = 64  # numbers before and after a table of what depends on the cell's place alone that vectors may read


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSite:
    """What kernels of processors and of GPUs have; nothing here depends on shape, steps or scalars' values."""

    problem: Problem
    prefix: str  # start of every function's name
    strict: bool  # whether every operation keeps its own rounding

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self.problem.program.rank

    @property
    def dtype(self) -> ir.Element:
        """Element type."""
        return ir.element(self.problem.dtype)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site(KernelSite):
    """The surroundings of a kernel for a processor, and the names of its parts."""

    body: KernelCode  # how the kernel's code is written
    storage: Storage = PLAIN  # where the fields' versions and cells lie
    packed: bool = False  # whether its functions read and write fields that live in subdomains where a run keeps them

    @property
    def keeps_order(self) -> bool:
        """Whether sums stay in the program's own order."""
        return self.strict or self.dtype.is_integer

    @property
    def flushes(self) -> bool:
        """Whether subnormal numbers count as zero."""
        return self.problem.flushes and not self.strict

    @property
    def field(self) -> ir.Var:
        """Pointers to cell zero of slot 0 of every field."""
        return ir.Var("field", ir.const_pointer(ir.pointer(self.dtype)))

    @property
    def scalar(self) -> ir.Var:
        """The scalars; where some have a value for every step, a row of all of them for each."""
        return ir.Var("scalar", ir.const_pointer(ir.scalar_of(self.dtype)))

    @property
    def constant(self) -> ir.Var:
        """Pointers to rows of constants, to tables and to memory: see :attr:`own_memory`."""
        return ir.Var("constant", ir.const_pointer(ir.const_pointer(self.dtype)))

    @property
    def params(self) -> tuple[ir.Var, ...]:
        """Parameters that every function of the kernel hands on."""
        return (self.field, SIZE, self.scalar, self.constant, *((POINTS,) if self.problem.points else ()))

    def code(self, statement: Statement) -> BoxCode:
        """How a statement is computed over boxes."""
        return self.body.boxes[self.problem.program.statements.index(statement)]

    @property
    def streams_states(self) -> bool:
        """Whether states that are kept are written past the caches, beside the versions that steps read."""
        return bool(self.storage.kept) and self.body.streamed is not None

    def states(self, field: str) -> int:
        """States of a field that are kept behind the versions that steps read and write in turn."""
        return self.storage.kept if self.streams_states and field in self.problem.program.updated else 0

    @property
    def versions(self) -> tuple[int, ...]:
        """All versions of each field in memory; 0 of those that have one per step, which lie elsewhere."""
        problem, counts = self.problem, []
        for field, copies in zip(problem.program.fields, problem.program.analysis.copies, strict=True):
            many = max(copies, self.storage.kept) if field in problem.program.updated else copies
            counts.append(
                0 if field in self.storage.series else copies + self.states(field) if self.streams_states else many
            )
        return tuple(counts)

    def layout(self, field: str) -> Layout:
        """Where a field lies that box kernels read and write."""
        number = self.problem.program.fields.index(field)
        base, states = self.field[number], self.states(field)
        copies = self.versions[number] - states
        if self.packed and field in dict(self.storage.subdomains):
            return self.packed_layout(field, copies)
        if field in self.storage.series:
            return Series(base=base)
        return Kept(base=base, copies=copies, states=states) if states else Layout(base=base, copies=copies)

    @property
    def constants(self) -> tuple[complex, ...]:
        """The distinct values outside ``constant`` sides of outer axes; the runtime passes one row of each."""
        boundaries = self.problem.boundaries
        values = [side.value for sides in boundaries for pair in sides[:-1] for side in pair if side.kind == "constant"]
        values += [0.0] if self.storage.subdomains else []
        distinct = {identity(value): value for value in values}
        return tuple(sorted(distinct.values(), key=lambda value: (value.real, value.imag, repr(value))))

    def row_of(self, value: complex) -> ir.Expr:
        """The row of constants of a value."""
        return self.constant[[identity(each) for each in self.constants].index(identity(value))]

    @property
    def own_memory(self) -> int:
        """Place, among the pointers to constants, of the one to the threads' own memory.

        It follows the rows of constants, the tables of what depends on the cell's place alone (a number for every index
        along an axis) and, where there are regions, what :attr:`middle` finds.
        """
        program = self.problem.program
        return len(self.constants) + len(program.placed) + bool(conditions(program))

    def place_table(self, node: Placed) -> ir.Expr:
        """The table of what depends on the cell's place alone: the number of the first cell of its axis."""
        return self.constant[len(self.constants) + self.problem.program.placed.index(node)]

    def place_name(self, node: Placed) -> ir.Var:
        """Name of the table of what depends on the cell's place alone."""
        return ir.Var(f"place_{self.problem.program.placed.index(node)}", ir.const_pointer(self.dtype))

    @property
    def _region_cells(self) -> ir.Expr:
        """Pointer to the whole numbers of :attr:`middle`, and those of fields in subdomains behind them."""
        number = len(self.constants) + len(self.problem.program.placed)
        return self.constant[number].to(ir.const_pointer(ir.INDEX))

    @property
    def middle(self) -> tuple[Pair, ...]:
        """Per axis the cells, low and high, that no edge of a region is among: of the axes that have regions, in order.

        The run finds them, and passes their pointer behind the tables.
        """
        cells = self._region_cells
        return tuple((cells[2 * axis], cells[2 * axis + 1]) for axis in range(self.rank))

    def packed_layout(self, field: str, copies: int = 1) -> Packed:
        """Where a field in a subdomain lies as a run keeps it."""
        names = [name for name, _ in self.storage.subdomains]
        rank, axis, cells = self.rank, dict(self.storage.subdomains)[field].axis, self._region_cells
        titles = ("low", "high", "left", "slot", *(f"stride{axis}" for axis in range(rank - 1)))
        variables = [ir.Var(f"{title}_of_{field}") for title in titles]
        first = 2 * rank + names.index(field) * len(titles)
        return Packed(
            base=self.field[self.problem.program.fields.index(field)],
            copies=copies,
            axis=axis,
            low=variables[0],
            high=variables[1],
            left=variables[2],
            apart=variables[3],
            strides=tuple(variables[4:]),
            moved=ir.Var(f"moved_{field}") if self.packed and axis == rank - 1 else None,
            lets=tuple(ir.Let(var, cells[first + place]) for place, var in enumerate(variables)),
        )

    @property
    def inner(self) -> tuple[tuple[tuple[int, ...], "Site"], ...]:
        """The sites of the programs of the regions' middle, and the axes along which each of them is one."""
        program, body = self.problem.program, self.body
        many, stages = len(program.statements), len(program.stages)
        nested = bool(self.storage.subdomains and body.boxes)
        return tuple(
            (
                axes,
                replace(
                    self,
                    problem=replace(self.problem, program=inner),
                    prefix=f"{self.prefix}_inner{number or ''}",
                    body=replace(
                        body,
                        boxes=body.boxes[many * (number + 1) : many * (number + 2)],
                        stages=body.stages[stages * (number + 1) : stages * (number + 2)],
                    ),
                ),
            )
            for number, (axes, inner) in enumerate(inner_programs(program, self.storage.subdomains, nested=nested))
        )

    def name_sizes(self, b: ir.Builder) -> None:
        """Name the run-time sizes: extents, strides of the outer axes, and the distance between versions."""
        names = [extent(axis) for axis in range(self.rank)] + [stride(axis) for axis in range(self.rank - 1)]
        for place, var in enumerate([*names, SLOT], 2):
            b.let(var.name, SIZE[place])

    def bounds(self, statement: Statement) -> tuple[Pair, ...]:
        """The cells a statement updates, as IR: ``Problem.update_box`` for any shape."""
        spans: list[Pair] = []
        for axis, (low, high) in enumerate(self.problem.spans(statement)):
            first = ir.Int(low) if low >= 0 else ir.largest(extent(axis) + low, 0)
            last = extent(axis) + high if high <= 0 else ir.smallest(extent(axis), high)
            spans.append((first, last))
        return tuple(spans)

    def scalars_of(self, step: ir.Expr) -> ir.Expr:
        """Where the scalars of a step lie."""
        return self.scalar + step * len(self.problem.program.scalars) if self.problem.varying else self.scalar

    def scalar_lets(self, statements: Iterable[Statement], step: ir.Expr | None = None) -> tuple[ir.Stmt, ...]:
        """Name the scalars that some statements use: those of a step, unless the pointer to them is the step's."""
        used = {node.name for each in statements for node in each.tape if isinstance(node, Scalar)}
        start = self.scalar if step is None else self.scalars_of(step)
        return tuple(
            ir.Let(ir.Var(scalar_name(name), self.dtype), start[place])
            for place, name in enumerate(self.problem.program.scalars)
            if name in used
        )

    def cell_function(self, field: str) -> ir.Function | None:
        """A function ``cell(row, x, n)`` -> the value at a possibly outside cell of a row, or None if none is."""
        sides = self.problem.sides(field)[-1]
        if not outside(sides):
            return None
        b = ir.Builder(f"{self.prefix}_cell_{self.problem.program.fields.index(field)}", kind="inline")
        row, place, size = b.param("row", ir.const_pointer(self.dtype)), b.param("x"), b.param("n")
        return b.function(bounded([(place, size, sides)], lambda at: row[at[0]], self.dtype), self.dtype)


def extent(axis: int) -> ir.Var:
    """Number of cells along an axis."""
    return ir.Var(f"n{axis}")
