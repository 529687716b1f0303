"""A kernel's fixed surroundings: what its functions are told, where fields and tables lie, and the grid's sizes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from tilewright.base.fingerprint import identity
from tilewright.codegen import ir
from tilewright.codegen.boundary import bounded, outside
from tilewright.codegen.expression import scalar_name
from tilewright.codegen.layouts import SLOT, Kept, Layout, Packed, Series, stride
from tilewright.programs.stencil.expression import Placed, Scalar, placed
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.regions import conditions, inner_programs
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.code import BoxCode, KernelCode

Pair = tuple[ir.Expr, ir.Expr]
"""The first cell along an axis, and the end."""

SIZE = ir.Var("size", ir.const_pointer(ir.INDEX))
"""Steps, threads, the extents, the strides of the outer axes, and the distance between versions."""
POINTS = ir.Var("points", ir.const_pointer(ir.const_pointer(ir.INDEX)))
"""Where the cells of sources and receivers lie: see :mod:`tilewright.codegen.points`."""
PLACES = 64
"""Numbers before and after a table of what depends on the cell's place alone that vectors may read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A kernel's problem (shape and steps apart) and the names of its parts."""

    problem: Problem  # nothing here depends on its shape or steps
    prefix: str  # start of every function's name
    strict: bool  # whether every operation keeps its own rounding
    body: KernelCode  # how the kernel's code is written
    storage: Storage = PLAIN  # where the fields' versions and cells lie
    packed: bool = False  # whether its functions read and write fields that live in subdomains where a run keeps them

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self.problem.program.rank

    @property
    def dtype(self) -> ir.Element:
        """Element type."""
        return ir.element(self.problem.dtype)

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
        """Pointers to rows of constants, to tables and to memory: see :func:`own_memory`."""
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
        problem, found = self.problem, []
        for field, copies in zip(problem.program.fields, problem.program.analysis.copies, strict=True):
            many = max(copies, self.storage.kept) if field in problem.program.updated else copies
            found.append(
                0 if field in self.storage.series else copies + self.states(field) if self.streams_states else many
            )
        return tuple(found)

    def layout(self, field: str) -> Layout:
        """Where a field lies that box kernels read and write."""
        number = self.problem.program.fields.index(field)
        base, states = self.field[number], self.states(field)
        copies = self.versions[number] - states
        if self.packed and field in dict(self.storage.subdomains):
            return packed_layout(self, field, copies)
        if field in self.storage.series:
            return Series(base=base)
        return Kept(base=base, copies=copies, states=states) if states else Layout(base=base, copies=copies)

    def row_of(self, value: complex) -> ir.Expr:
        """The row of constants of a value."""
        number = [identity(each) for each in constants(self.problem, self.storage)].index(identity(value))
        return self.constant[number]


def constants(problem: Problem, storage: Storage) -> tuple[complex, ...]:
    """The distinct values outside ``constant`` sides of outer axes; the runtime passes one row of each."""
    values = [
        side.value for sides in problem.boundaries for pair in sides[:-1] for side in pair if side.kind == "constant"
    ]
    values += [0.0] if storage.subdomains else []
    distinct = {identity(value): value for value in values}
    return tuple(sorted(distinct.values(), key=lambda value: (value.real, value.imag, repr(value))))


def own_memory(site: Site) -> int:
    """Place, among the pointers to constants, of the one to the threads' own memory.

    It follows the rows of constants, the tables of what depends on the cell's place alone (a number for every index
    along an axis) and, where there are regions, what :func:`middle` finds.
    """
    program = site.problem.program
    return len(constants(site.problem, site.storage)) + len(program.placed) + bool(conditions(program))


def place_table(site: Site, node: Placed) -> ir.Expr:
    """The table of what depends on the cell's place alone: the number of the first cell of its axis."""
    return site.constant[len(constants(site.problem, site.storage)) + site.problem.program.placed.index(node)]


def place_name(site: Site, node: Placed) -> ir.Var:
    """Name of the table of what depends on the cell's place alone."""
    return ir.Var(f"place_{site.problem.program.placed.index(node)}", ir.const_pointer(site.dtype))


def place_lets(site: Site, statement: Statement) -> tuple[ir.Stmt, ...]:
    """Name the tables that a statement uses."""
    return tuple(ir.Let(place_name(site, node), place_table(site, node)) for node in placed(statement.tape))


def _region_cells(site: Site) -> ir.Expr:
    """Pointer to the whole numbers of :func:`middle`, and those of fields in subdomains behind them."""
    number = len(constants(site.problem, site.storage)) + len(site.problem.program.placed)
    return site.constant[number].to(ir.const_pointer(ir.INDEX))


def middle(site: Site) -> tuple[Pair, ...]:
    """Per axis the cells, low and high, that no edge of a region is among: of the axes that have regions, in order.

    The run finds them, and passes their pointer behind the tables.
    """
    cells = _region_cells(site)
    return tuple((cells[2 * axis], cells[2 * axis + 1]) for axis in range(site.rank))


def packed_layout(site: Site, field: str, copies: int = 1) -> Packed:
    """Where a field in a subdomain lies as a run keeps it."""
    names = [name for name, _ in site.storage.subdomains]
    rank, axis, cells = site.rank, dict(site.storage.subdomains)[field].axis, _region_cells(site)
    titles = ("low", "high", "left", "slot", *(f"stride{axis}" for axis in range(rank - 1)))
    found = [ir.Var(f"{title}_of_{field}") for title in titles]
    first = 2 * rank + names.index(field) * len(titles)
    return Packed(
        base=site.field[site.problem.program.fields.index(field)],
        copies=copies,
        axis=axis,
        low=found[0],
        high=found[1],
        left=found[2],
        apart=found[3],
        strides=tuple(found[4:]),
        moved=ir.Var(f"moved_{field}") if site.packed and axis == rank - 1 else None,
        lets=tuple(ir.Let(var, cells[first + place]) for place, var in enumerate(found)),
    )


def inner_sites(site: Site) -> tuple[tuple[tuple[int, ...], Site], ...]:
    """The sites of the programs of the regions' middle, and the axes along which each of them is one."""
    program, body = site.problem.program, site.body
    many, stages = len(program.statements), len(program.stages)
    nested = bool(site.storage.subdomains and body.boxes)
    return tuple(
        (
            axes,
            replace(
                site,
                problem=replace(site.problem, program=inner),
                prefix=f"{site.prefix}_inner{number or ''}",
                body=replace(
                    body,
                    boxes=body.boxes[many * (number + 1) : many * (number + 2)],
                    stages=body.stages[stages * (number + 1) : stages * (number + 2)],
                ),
            ),
        )
        for number, (axes, inner) in enumerate(inner_programs(program, site.storage.subdomains, nested=nested))
    )


def extent(axis: int) -> ir.Var:
    """Number of cells along an axis."""
    return ir.Var(f"n{axis}")


def unpack(site: Site) -> tuple[ir.Stmt, ...]:
    """Name the run-time sizes: extents, strides of the outer axes, and the distance between versions."""
    names = [extent(axis) for axis in range(site.rank)] + [stride(axis) for axis in range(site.rank - 1)]
    return tuple(ir.Let(var, SIZE[2 + place]) for place, var in enumerate([*names, SLOT]))


def box_bounds(site: Site, statement: Statement) -> tuple[Pair, ...]:
    """The cells a statement updates, as IR: ``Problem.update_box`` for any shape."""
    found: list[Pair] = []
    for axis, (low, high) in enumerate(site.problem.spans(statement)):
        first = ir.Int(low) if low >= 0 else ir.largest(extent(axis) + low, 0)
        last = extent(axis) + high if high <= 0 else ir.smallest(extent(axis), high)
        found.append((first, last))
    return tuple(found)


def cell_function(site: Site, field: str) -> ir.Function | None:
    """A function ``cell(row, x, n)`` -> the value at a possibly outside cell of a row, or None if none is."""
    sides = site.problem.sides(field)[-1]
    if not outside(sides):
        return None
    b = ir.Builder(f"{site.prefix}_cell_{site.problem.program.fields.index(field)}", kind="inline")
    row, place, size = b.param("row", ir.const_pointer(site.dtype)), b.param("x", ir.INDEX), b.param("n", ir.INDEX)
    return b.function(bounded([(place, size, sides)], lambda at: row[at[0]], site.dtype), site.dtype)


def scalars_of(site: Site, step: ir.Expr) -> ir.Expr:
    """Where the scalars of a step lie."""
    return site.scalar + step * len(site.problem.program.scalars) if site.problem.varying else site.scalar


def scalar_lets(site: Site, statements: Iterable[Statement], step: ir.Expr | None = None) -> tuple[ir.Stmt, ...]:
    """Name the scalars that some statements use: those of a step, unless the pointer to them is the step's."""
    used = {node.name for each in statements for node in each.tape if isinstance(node, Scalar)}
    start = site.scalar if step is None else scalars_of(site, step)
    return tuple(
        ir.Let(ir.Var(scalar_name(name), site.dtype), start[place])
        for place, name in enumerate(site.problem.program.scalars)
        if name in used
    )
