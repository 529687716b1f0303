"""Where reads come from: versions, boundaries and rows, as IR.

A *row* is a line of cells along the innermost axis. Along the outer axes a read outside the grid is a read of another
row (or of a row of constants), so boundaries there cost nothing per cell. Along the innermost axis only the scalar
code at the ends of a row maps indices.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from tilewright.base.dtypes import numpy_type
from tilewright.base.fingerprint import identity
from tilewright.codegen import ir
from tilewright.codegen.boundary import mapped
from tilewright.codegen.expression import scalar_name
from tilewright.codegen.subdomains import PackedField, packed_field, packed_version
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.expression import Placed, Read, Scalar, placed
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.regions import conditions, inner_programs
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.code import BoxCode, KernelCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A kernel's fixed surroundings: its problem (shape and steps apart) and the names of its parts."""

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
    def params(self) -> tuple[ir.Var, ...]:
        """Parameters that every function of the kernel hands on: see :func:`unpack`."""
        params = (
            ir.Var("field", ir.const_pointer(ir.pointer(self.dtype))),
            ir.Var("size", ir.const_pointer(ir.INDEX)),
            ir.Var("scalar", ir.const_pointer(ir.scalar_of(self.dtype))),
            ir.Var("constant", ir.const_pointer(ir.const_pointer(self.dtype))),
        )
        if not self.problem.points:
            return params
        return (*params, ir.Var("points", ir.const_pointer(ir.const_pointer(ir.INDEX))))

    def packed_field(self, field: str) -> PackedField | None:
        """What the kernel's functions find of a field that lives in a subdomain."""
        return packed_field(self.problem, self.storage, field, region_cells(self)) if self.packed else None

    def code(self, statement: Statement) -> BoxCode:
        """How a statement is computed over boxes."""
        return self.body.boxes[self.problem.program.statements.index(statement)]

    @property
    def streams_states(self) -> bool:
        """Whether states that are kept are written past the caches, beside the versions that steps read."""
        return bool(self.storage.kept) and self.body.streamed is not None

    def copies(self, field: str) -> int:
        """Versions of a field that steps read and write in turn."""
        return self.versions[self.problem.program.fields.index(field)] - self.states(field)

    def states(self, field: str) -> int:
        """States of a field that are kept behind these."""
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

    def slot(self, field: str, level: int, step: ir.Expr) -> ir.Expr:
        """Pointer to cell zero of the version ``level`` steps after version ``step``."""
        base, part = self._base(field), self.packed_field(field)
        copies = self.copies(field)
        if part is not None and copies > 1:
            return base + packed_version(part, (step + level % copies) % copies)
        if field in self.storage.series:
            # The distance of a problem's own versions is negative where a run begins with the second of them.
            slot = ir.Var("slot")
            return base - step * ir.select(slot < 0, ir.Int(0) - slot, slot)
        version: ir.Expr = ((step + level % copies) % copies) if copies > 1 else ir.Int(0)
        if self.states(field) and level < 1:  # the first state is there already
            version = ir.select(step.equals(-level), ir.Int(copies), version)
        return base + version * ir.Var("slot")

    def state(self, field: str, step: ir.Expr) -> ir.Expr:
        """Pointer to cell zero of where the state after a step is kept."""
        return self._base(field) + (step + (self.copies(field) + 1)) * ir.Var("slot")

    def _base(self, field: str) -> ir.Expr:
        number = self.problem.program.fields.index(field)
        return ir.Load(self.params[0], ir.Int(number), ir.pointer(self.dtype))


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


def middle(site: Site) -> tuple[tuple[ir.Expr, ir.Expr], ...]:
    """Per axis the cells, low and high, that no edge of a region is among: of the axes that have regions, in order.

    The run finds them, and passes their pointer behind the tables.
    """
    cells = region_cells(site)
    found = [ir.Load(cells, ir.Int(place), ir.INDEX) for place in range(2 * site.rank)]
    return tuple(zip(found[::2], found[1::2], strict=True))


def region_cells(site: Site) -> ir.Expr:
    """Pointer to the whole numbers of :func:`middle`, and those of fields in subdomains behind them."""
    number = len(constants(site.problem, site.storage)) + len(site.problem.program.placed)
    base = ir.Load(site.params[3], ir.Int(number), ir.const_pointer(site.dtype))
    return ir.Op(ir.Operator.REINTERPRET, (base,), ir.const_pointer(ir.INDEX))


def inner_sites(site: Site) -> tuple[tuple[tuple[int, ...], Site], ...]:
    """The sites of the programs of the regions' middle, and the axes along which each of them is one."""
    program, body = site.problem.program, site.body
    many, stages = len(program.statements), len(program.stages)
    return tuple(
        (
            axes,
            Site(
                problem=replace(site.problem, program=inner),
                prefix=f"{site.prefix}_inner{number or ''}",
                strict=site.strict,
                packed=site.packed,
                storage=site.storage,
                body=replace(
                    body,
                    boxes=body.boxes[many * (number + 1) : many * (number + 2)],
                    stages=body.stages[stages * (number + 1) : stages * (number + 2)],
                ),
            ),
        )
        for number, (axes, inner) in enumerate(
            inner_programs(program, site.storage.subdomains, nested=bool(site.storage.subdomains and body.boxes))
        )
    )


PLACES = 64
"""Numbers before and after a table of what depends on the cell's place alone that vectors may read."""


def place_name(site: Site, node: Placed) -> ir.Var:
    """Name of the table of what depends on the cell's place alone."""
    return ir.Var(f"place_{site.problem.program.placed.index(node)}", ir.const_pointer(site.dtype))


def place_table(site: Site, node: Placed) -> ir.Expr:
    """The table of what depends on the cell's place alone: the number of the first cell of its axis."""
    number = len(constants(site.problem, site.storage)) + site.problem.program.placed.index(node)
    return ir.Load(site.params[3], ir.Int(number), ir.const_pointer(site.dtype))


def place_lets(site: Site, statement: Statement) -> tuple[ir.Stmt, ...]:
    """Name the tables that a statement uses."""
    return tuple(ir.Let(place_name(site, node), place_table(site, node)) for node in placed(statement.tape))


def extent(axis: int) -> ir.Var:
    """Number of cells along an axis."""
    return ir.Var(f"n{axis}")


def stride(axis: int) -> ir.Var:
    """Distance of neighbours along an outer axis, in elements."""
    return ir.Var(f"s{axis}")


def box_bounds(site: Site, statement: Statement) -> tuple[tuple[ir.Expr, ir.Expr], ...]:
    """The cells a statement updates, as IR: ``Problem.update_box`` for any shape."""
    found: list[tuple[ir.Expr, ir.Expr]] = []
    for axis, (low, high) in enumerate(site.problem.spans(statement)):
        first = ir.Int(low) if low >= 0 else ir.largest(extent(axis) + low, 0)
        last = (extent(axis) + high) if high <= 0 else ir.smallest(extent(axis), high)
        found.append((first, last))
    return tuple(found)


def unpack(site: Site) -> tuple[ir.Stmt, ...]:
    """Name the run-time sizes: extents, strides of the outer axes, and the distance between versions.

    ``size`` holds steps, threads, the extents, the strides of the outer axes, and the distance between versions.
    """
    names = [extent(axis) for axis in range(site.rank)] + [stride(axis) for axis in range(site.rank - 1)]
    return tuple(
        ir.Let(var, ir.Load(ir.Var("size", ir.const_pointer(ir.INDEX)), ir.Int(2 + i), ir.INDEX))
        for i, var in enumerate([*names, ir.Var("slot")])
    )


def outside(sides: tuple[Boundary, Boundary]) -> bool:
    """Whether a read may lie outside along an axis with these sides."""
    return any(side.kind != "fixed" for side in sides)


def _is_outside(place: ir.Expr, size: ir.Expr, *, low_side: bool) -> ir.Expr:
    return (place < 0) if low_side else (place >= size)


def inside(place: ir.Expr, size: ir.Expr, sides: tuple[Boundary, Boundary]) -> ir.Expr:
    """The place itself, or the one that it stands for where the grid is mapped beyond its end."""
    result = place
    for low_side, side in zip((True, False), sides, strict=True):
        if side.kind in {"fixed", "constant"}:
            continue
        result = ir.select(_is_outside(place, size, low_side=low_side), mapped(place, size, side.kind), result)
    return result


def cell_function(site: Site, field: str) -> ir.Function | None:
    """A function ``cell(row, x, n)`` -> the value at a possibly outside cell of a row, or None if none is."""
    sides = site.problem.sides(field)[-1]
    if not outside(sides):
        return None
    row, place, size = ir.Var("row", ir.const_pointer(site.dtype)), ir.Var("x"), ir.Var("n")
    value: ir.Expr = ir.Load(row, inside(place, size, sides), site.dtype)
    for low_side, side in zip((True, False), sides, strict=True):
        if side.kind == "constant":
            test = _is_outside(place, size, low_side=low_side)
            value = ir.select(test, literal(side.value, site.dtype), value)
    return ir.Function(
        name=f"{site.prefix}_cell_{site.problem.program.fields.index(field)}",
        params=(row, place, size),
        body=(),
        result=value,
        result_type=site.dtype,
        kind="inline",
    )


def literal(value: complex, dtype: ir.Element) -> ir.Real:
    """A boundary's value as the element type has it: where memory rounds it, rounded."""
    if dtype.is_narrow:
        return ir.Real(float(numpy_type(dtype.name).type(value)), dtype)
    return ir.Real(int(value.real) if dtype.is_integer else value, dtype)


RowKey = tuple[str, int, tuple[int, ...]]
"""Field, level and outer offset of a row that a statement reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPointers:
    """Named pointers to the rows that a statement reads, for rows of results that are neighbours along an axis."""

    names: dict[RowKey, ir.Var]
    lets: tuple[ir.Stmt, ...]
    axis: int

    def of(self, read: Read, shift: int = 0) -> ir.Var:
        """The row of a read, for the result row ``shift`` rows further."""
        return self.names[_key(read, self.axis, shift)]


def _key(read: Read, axis: int, shift: int) -> RowKey:
    outer = tuple(at + shift if along == axis else at for along, at in enumerate(read.offset[:-1]))
    return read.field, read.level, outer


def row_pointers(site: Site, statement: Statement, places: tuple[ir.Expr, ...], block: int) -> RowPointers:
    """Name every row that ``block`` neighbouring result rows read, from the first one's index per outer axis on."""
    axis = site.code(statement).of(block).axis
    within = [block if along == axis else 1 for along in range(site.rank)]
    keys = dict.fromkeys(_key(read, axis, shift) for shift in range(block) for read in statement.reads)
    names, lets = {}, []
    for number, key in enumerate(sorted(keys)):
        field, level, outer = key
        var = ir.Var(f"r{number}", ir.const_pointer(site.dtype))
        lets.append(ir.Let(var, _row_pointer(site, field, version_name(site, field, level), places, outer, within)))
        names[key] = var
    return RowPointers(names=names, lets=tuple(lets), axis=axis)


def or_constants(site: Site, field: str, places: Sequence[ir.Expr], row: ir.Expr) -> ir.Expr:
    """A row of a field, or the row of constants that lies at these places along the outer axes.

    The innermost axis with constants decides, as in the reference.
    """
    for axis, (at, sides) in enumerate(zip(places, site.problem.sides(field)[:-1], strict=True)):
        for low_side, side in zip((True, False), sides, strict=True):
            if side.kind == "constant":
                row = _or_constant(site, _is_outside(at, extent(axis), low_side=low_side), side.value, row)
    return row


def _or_constant(site: Site, test: ir.Expr, value: complex, row: ir.Expr) -> ir.Expr:
    number = [identity(each) for each in constants(site.problem, site.storage)].index(identity(value))
    return ir.select(test, ir.Load(site.params[3], ir.Int(number), ir.const_pointer(site.dtype)), row)


def places_inside(site: Site, statement: Statement, axis: int, place: ir.Expr, block: int) -> tuple[ir.Stmt, ...]:
    """Name the indices along an outer axis that the rows stand for which a statement may read outside the grid."""
    within = block if axis == site.code(statement).of(block).axis else 1
    lets: dict[ir.Var, ir.Stmt] = {}
    for read in statement.reads:
        for shift in range(within):
            offset = read.offset[axis] + shift
            side = _side_of(site, read.field, axis, offset, within)
            if side is not None and side.kind not in {"fixed", "constant"}:
                at = place + offset
                test = _is_outside(at, extent(axis), low_side=offset < 0)
                stands_for = ir.select(test, mapped(at, extent(axis), side.kind), at)
                var = _inside_name(site, read.field, axis, offset)
                lets[var] = ir.Let(var, stands_for)
    return tuple(lets.values())


def _side_of(site: Site, field: str, axis: int, offset: int, within: int) -> Boundary | None:
    """The boundary that a read along an outer axis may cross, or None if it always stays inside."""
    if 0 <= offset < within:
        return None
    return site.problem.sides(field)[axis][0 if offset < 0 else 1]


def _inside_name(site: Site, field: str, axis: int, offset: int) -> ir.Var:
    """A name that fields with the same boundaries share."""
    every = [site.problem.sides(other)[axis] for other in site.problem.program.fields]
    group = every.index(site.problem.sides(field)[axis])
    return ir.Var(f"y{axis}_{group}_{'m' if offset < 0 else 'p'}{abs(offset)}")


def _row_pointer(
    site: Site, field: str, base: ir.Var, places: tuple[ir.Expr, ...], outer: tuple[int, ...], within: Sequence[int]
) -> ir.Expr:
    """The row at an offset from a row, the one that it stands for where it lies outside.

    So many result rows per axis, beginning with this row, lie inside.

    Where rows of constants lie outside, the innermost constant axis decides, as in the reference.
    """
    result: ir.Expr = base
    part, beyond = site.packed_field(field), list[ir.Expr]()
    constant: list[tuple[ir.Expr, complex]] = []
    for axis, (place, offset) in enumerate(zip(places, outer, strict=True)):
        at, side = place + offset, _side_of(site, field, axis, offset, within[axis])
        if side is not None and side.kind == "constant":
            constant.append((_is_outside(at, extent(axis), low_side=offset < 0), side.value))
        elif side is not None and side.kind != "fixed":
            at = _inside_name(site, field, axis, offset)
        if part is not None and part.axis == axis:
            beyond.append(part.outside(at))
            at = part.at(at)
        result = result + at * (stride(axis) if part is None else part.strides[axis])
    if part is not None and part.axis == site.rank - 1:
        result = result - moved_by(field)
    for test in beyond:
        result = _or_constant(site, test, 0.0, result)
    for test, value in constant:
        result = _or_constant(site, test, value, result)
    return result


def moved_by(field: str) -> ir.Var:
    """Cells by which the rows of a field are moved that lives at the ends of the innermost axis: none at the first."""
    return ir.Var(f"moved_{field}")


def packed_lets(site: Site, statement: Statement, low: ir.Expr) -> tuple[ir.Stmt, ...]:
    """Name what is found of a statement's fields in subdomains; ``low`` starts the rows' pieces, each at one end."""
    lets: list[ir.Stmt] = []
    for field in dict.fromkeys([statement.field, *(read.field for read in statement.reads)]):
        part = site.packed_field(field)
        if part is not None:
            lets += part.lets
            if part.axis == site.rank - 1:
                lets.append(ir.Let(moved_by(field), ir.select(low < middle(site)[-1][0], ir.Int(0), part.left)))
    return tuple(lets)


def version_name(site: Site, field: str, level: int) -> ir.Var:
    """Name of the pointer to one version of a field."""
    suffix = {1: "_new", 0: "", -1: "_prev", -2: "_prev2"}[level]
    return ir.Var(f"v_{field}{suffix}", ir.const_pointer(site.dtype))


def version_lets(site: Site, versions: Iterable[tuple[str, int]], step: ir.Expr) -> tuple[ir.Stmt, ...]:
    """Point at every version that a statement reads."""
    lets = []
    for field, level in dict.fromkeys(versions):
        lets.append(ir.Let(version_name(site, field, level), site.slot(field, level, step)))
    return tuple(lets)


def scalars_of(site: Site, step: ir.Expr) -> ir.Expr:
    """Where the scalars of a step lie: where some have a value for every step, each step has a row of all of them."""
    if not site.problem.varying:
        return site.params[2]
    return site.params[2] + step * len(site.problem.program.scalars)


def scalar_lets(site: Site, statements: Iterable[Statement], step: ir.Expr | None = None) -> tuple[ir.Stmt, ...]:
    """Name the scalars that some statements use: those of a step, unless the pointer to them is the step's."""
    used = {node.name for each in statements for node in each.tape if isinstance(node, Scalar)}
    start = site.params[2] if step is None else scalars_of(site, step)
    return tuple(
        ir.Let(ir.Var(scalar_name(name), site.dtype), ir.Load(start, ir.Int(i), ir.scalar_of(site.dtype)))
        for i, name in enumerate(site.problem.program.scalars)
        if name in used
    )
