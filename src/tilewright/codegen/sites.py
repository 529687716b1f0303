"""Where reads come from: versions, boundaries and rows, as IR.

A *row* is a line of cells along the innermost axis. Along the outer axes a read outside the grid is a read of another
row (or of a row of constants), so boundaries there cost nothing per cell. Along the innermost axis only the scalar
code at the ends of a row maps indices.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright.codegen.ir import Expr, Function, Int, Let, Load, Op, Real, Stmt, Var, add, mul, select, sub
from tilewright.programs.dependences import analyse
from tilewright.programs.expression import Read
from tilewright.programs.problem import Boundary, Problem
from tilewright.programs.stencil import Statement
from tilewright.tilings.body import Body, BoxCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A kernel's fixed surroundings: its problem (shape and steps apart) and the names of its parts.

    Attributes:
        problem: The problem; nothing here depends on its shape or steps.
        prefix: Start of every function's name.
        strict: Whether every operation keeps its own rounding.
        body: How the kernel's code is written.
    """

    problem: Problem
    prefix: str
    strict: bool
    body: Body

    @property
    def rank(self) -> int:
        """Number of axes."""
        return self.problem.program.rank

    @property
    def dtype(self) -> str:
        """Element type."""
        return self.problem.dtype

    @property
    def keeps_order(self) -> bool:
        """Whether sums stay in the program's own order."""
        return self.strict or not self.dtype.startswith("float")

    @property
    def params(self) -> tuple[Var, ...]:
        """Parameters that every function of the kernel hands on: see :func:`unpack`."""
        return (
            Var("field", f"array:pointer:{self.dtype}"),
            Var("size", "array:index"),
            Var("scalar", f"array:{self.dtype}"),
            Var("constant", f"array:array:{self.dtype}"),
        )

    def code(self, statement: Statement) -> BoxCode:
        """How a statement is computed over boxes."""
        return self.body.boxes[self.problem.program.statements.index(statement)]

    def copies(self, field: str) -> int:
        """Versions that are kept of a field."""
        program = self.problem.program
        return analyse(program).copies[program.fields.index(field)]

    def slot(self, field: str, level: int, step: Expr) -> Expr:
        """Pointer to cell zero of the version ``level`` steps after version ``step``."""
        base = Load(self.params[0], Int(self.problem.program.fields.index(field)), f"pointer:{self.dtype}")
        copies = self.copies(field)
        if copies == 1:
            return base
        version = Op("mod", (add(step, level % copies), Int(copies)))
        return add(base, mul(version, Var("slot")))


def constants(problem: Problem) -> tuple[float, ...]:
    """The distinct values outside ``constant`` sides of outer axes; the runtime passes one row of each."""
    values = [
        side.value for sides in problem.boundaries for pair in sides[:-1] for side in pair if side.kind == "constant"
    ]
    return tuple(sorted(set(values)))


def extent(axis: int) -> Var:
    """Number of cells along an axis."""
    return Var(f"n{axis}")


def stride(axis: int) -> Var:
    """Distance of neighbours along an outer axis, in elements."""
    return Var(f"s{axis}")


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


def unpack(site: Site) -> tuple[Stmt, ...]:
    """Name the run-time sizes: extents, strides of the outer axes, and the distance between versions.

    ``size`` holds steps, threads, the extents, the strides of the outer axes, and the distance between versions.
    """
    names = [extent(axis) for axis in range(site.rank)] + [stride(axis) for axis in range(site.rank - 1)]
    return tuple(
        Let(var, Load(Var("size", "array:index"), Int(2 + i), "index")) for i, var in enumerate([*names, Var("slot")])
    )


def outside(sides: tuple[Boundary, Boundary]) -> bool:
    """Whether a read may lie outside along an axis with these sides."""
    return any(side.kind != "fixed" for side in sides)


def mapped(index: Expr, size: Expr, kind: str) -> Expr:
    """The index inside that an index outside stands for; the same as the reference's ``map_index``."""
    last = sub(size, 1)
    if kind == "nearest":
        return Op("max", (Int(0), Op("min", (index, last))))
    if kind == "wrap":
        return Op("floormod", (index, size))
    period = mul(size, 2) if kind == "reflect" else Op("max", (Int(1), sub(mul(size, 2), 2)))
    folded = Op("floormod", (index, period))
    return Op("min", (folded, sub(sub(period, 1) if kind == "reflect" else period, folded)))


def _is_outside(place: Expr, size: Expr, *, low_side: bool) -> Expr:
    return Op("lt", (place, Int(0))) if low_side else Op("ge", (place, size))


def inside(place: Expr, size: Expr, sides: tuple[Boundary, Boundary]) -> Expr:
    """The place itself, or the one that it stands for where the grid is mapped beyond its end."""
    result = place
    for low_side, side in zip((True, False), sides, strict=True):
        if side.kind in {"fixed", "constant"}:
            continue
        result = select(_is_outside(place, size, low_side=low_side), mapped(place, size, side.kind), result)
    return result


def cell_function(site: Site, field: str) -> Function | None:
    """A function ``cell(row, x, n)`` -> the value at a possibly outside cell of a row, or None if none is."""
    sides = site.problem.sides(field)[-1]
    if not outside(sides):
        return None
    row, place, size = Var("row", f"array:{site.dtype}"), Var("x"), Var("n")
    value: Expr = Load(row, inside(place, size, sides), site.dtype)
    for low_side, side in zip((True, False), sides, strict=True):
        if side.kind == "constant":
            test = _is_outside(place, size, low_side=low_side)
            value = Op("select", (test, literal(side.value, site.dtype), value), site.dtype)
    return Function(
        name=f"{site.prefix}_cell_{site.problem.program.fields.index(field)}",
        params=(row, place, size),
        body=(),
        result=value,
        result_type=site.dtype,
        kind="inline",
    )


def literal(value: float, dtype: str) -> Real:
    """A boundary's value as the element type has it."""
    return Real(int(value) if dtype.startswith("int") else value, dtype)


RowKey = tuple[str, int, tuple[int, ...]]
"""Field, level and outer offset of a row that a statement reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Named pointers to the rows that a statement reads, for one or several neighbouring rows of results."""

    names: dict[RowKey, Var]
    lets: tuple[Stmt, ...]

    def of(self, read: Read, shift: int = 0) -> Var:
        """The row of a read, for the result row ``shift`` rows further."""
        return self.names[_key(read, shift)]


def _key(read: Read, shift: int) -> RowKey:
    outer = read.offset[:-1]
    return (read.field, read.level, (*outer[:-1], outer[-1] + shift) if outer else ())


def row_pointers(site: Site, statement: Statement, places: tuple[Expr, ...], block: int) -> Rows:
    """Name every row that ``block`` neighbouring result rows read.

    Args:
        site: The kernel's surroundings.
        statement: The statement.
        places: Index of the first result row per outer axis; :func:`places_inside` names what is read beside it.
        block: Result rows, along the last outer axis.
    """
    keys: dict[RowKey, None] = dict.fromkeys(_key(read, shift) for shift in range(block) for read in statement.reads)
    names, lets = {}, []
    for number, key in enumerate(sorted(keys)):
        field, level, outer = key
        var = Var(f"r{number}", f"array:{site.dtype}")
        lets.append(Let(var, _row_pointer(site, field, version_name(field, level), places, outer, block)))
        names[key] = var
    return Rows(names=names, lets=tuple(lets))


def or_constants(site: Site, field: str, places: Sequence[Expr], row: Expr) -> Expr:
    """A row of a field, or the row of constants that lies at these places along the outer axes.

    The innermost axis with constants decides, as in the reference.
    """
    for axis, (at, sides) in enumerate(zip(places, site.problem.sides(field)[:-1], strict=True)):
        for low_side, side in zip((True, False), sides, strict=True):
            if side.kind == "constant":
                row = _or_constant(site, _is_outside(at, extent(axis), low_side=low_side), side.value, row)
    return row


def _or_constant(site: Site, test: Expr, value: float, row: Expr) -> Expr:
    number = constants(site.problem).index(value)
    return select(test, Load(site.params[3], Int(number), f"array:{site.dtype}"), row)


def places_inside(site: Site, statement: Statement, axis: int, place: Expr, block: int) -> tuple[Stmt, ...]:
    """Name the indices along an outer axis that the rows stand for which a statement may read outside the grid.

    Args:
        site: The kernel's surroundings.
        statement: The statement.
        axis: An outer axis.
        place: Index of the first result row along it.
        block: Result rows along it, all of them inside.
    """
    lets: dict[Var, Stmt] = {}
    for read in statement.reads:
        for shift in range(block if axis == site.rank - 2 else 1):
            offset = read.offset[axis] + shift
            side = _side_of(site, read.field, axis, offset, block)
            if side is not None and side.kind not in {"fixed", "constant"}:
                at = add(place, offset)
                test = _is_outside(at, extent(axis), low_side=offset < 0)
                stands_for = select(test, mapped(at, extent(axis), side.kind), at)
                var = _inside_name(site, read.field, axis, offset)
                lets[var] = Let(var, stands_for)
    return tuple(lets.values())


def _side_of(site: Site, field: str, axis: int, offset: int, block: int) -> Boundary | None:
    """The boundary that a read along an outer axis may cross, or None if it always stays inside."""
    within = block if axis == site.rank - 2 else 1
    if 0 <= offset < within:
        return None
    return site.problem.sides(field)[axis][0 if offset < 0 else 1]


def _inside_name(site: Site, field: str, axis: int, offset: int) -> Var:
    """A name that fields with the same boundaries share."""
    every = [site.problem.sides(other)[axis] for other in site.problem.program.fields]
    group = every.index(site.problem.sides(field)[axis])
    return Var(f"y{axis}_{group}_{'m' if offset < 0 else 'p'}{abs(offset)}")


def _row_pointer(
    site: Site, field: str, base: Var, places: tuple[Expr, ...], outer: tuple[int, ...], block: int
) -> Expr:
    """The row at an offset from a row, the one that it stands for where it lies outside.

    Where rows of constants lie outside, the innermost constant axis decides, as in the reference.
    """
    result: Expr = base
    constant: list[tuple[Expr, float]] = []
    for axis, (place, offset) in enumerate(zip(places, outer, strict=True)):
        at, side = add(place, offset), _side_of(site, field, axis, offset, block)
        if side is not None and side.kind == "constant":
            constant.append((_is_outside(at, extent(axis), low_side=offset < 0), side.value))
        elif side is not None and side.kind != "fixed":
            at = _inside_name(site, field, axis, offset)
        result = add(result, mul(at, stride(axis)))
    for test, value in constant:
        result = _or_constant(site, test, value, result)
    return result


def version_name(field: str, level: int) -> Var:
    """Name of the pointer to one version of a field."""
    suffix = {1: "_new", 0: "", -1: "_prev", -2: "_prev2"}[level]
    return Var(f"v_{field}{suffix}", "pointer")


def version_lets(site: Site, versions: Iterable[tuple[str, int]], step: Expr) -> tuple[Stmt, ...]:
    """Point at every version that a statement reads."""
    lets = []
    for field, level in dict.fromkeys(versions):
        var = Var(version_name(field, level).name, f"array:{site.dtype}")
        lets.append(Let(var, site.slot(field, level, step)))
    return tuple(lets)
