"""What the steady loop of a streaming kernel moves from memory and to it: rows that bands start from and end with.

Without tests pointers to the rows that are fetched and stored move on with them, and a cell is stored where it is the
tile's own, which no advance changes. With tests a row is clamped to the grid, and cells beyond it are zeros.
"""

from collections.abc import Iterator

from tilewright.codegen import ir
from tilewright.codegen.gpu.site import stride
from tilewright.codegen.gpu.streaming.plan import DEST, SOURCE, GpuStreamingContext
from tilewright.codegen.gpu.streaming.rooms import (
    NOW,
    ROW,
    afresh,
    ahead_of,
    first_at,
    first_versions,
    joined,
    put,
    thread_cells,
)
from tilewright.codegen.gpu.sweep import conjunction
from tilewright.codegen.sites import extent, literal
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.streaming.rims import Cell


def clamped(place: ir.Expr, axis: int) -> ir.Expr:
    """A place along an axis, or the one of the grid that is nearest to it."""
    return ir.largest(ir.Int(0), ir.smallest(place, extent(axis) - 1))


def _line(plan: GpuStreamingContext, row: ir.Expr, cell: Cell, *, edge: bool) -> ir.Expr:
    """Offset of the line of cells of a row that one of a thread's cells lies in."""
    offset = ir.wide(clamped(row, 0)) * stride(0)
    for axis in plan.inner[:-1]:
        at = first_at(axis) + cell[axis - 1]
        offset = offset + ir.wide(clamped(at, axis) if edge else at) * stride(axis)
    return offset


def _column(plan: GpuStreamingContext, distance: int, *, edge: bool) -> ir.Expr:
    last = plan.site.rank - 1
    at = first_at(last) + distance
    return clamped(at, last) if edge else at


def _fetched(plan: GpuStreamingContext, field: str, age: int, now: ir.Expr) -> ir.Expr:
    """The row of a version that the band starts from which an advance fetches."""
    lag = plan.pipeline.lag.at(-1 - age, plan.stage_of(field))
    return ir.Var("begin") + now - ir.Int(lag)


def _moving(plan: GpuStreamingContext, start: str, field: str, age: int) -> ir.Var:
    """A pointer to the thread's first cell of the row that is fetched or stored next, inside the grid."""
    pointer = ir.Pointer(plan.site.dtype, const=start == "from")
    return ir.Var(joined(start, plan.site.number(field), age), pointer)


def starts(plan: GpuStreamingContext, now: ir.Expr) -> Iterator[ir.Stmt]:
    """Where the rows lie that are fetched and stored first in the loop without tests."""
    first = (0,) * len(plan.inner)
    for field, age in first_versions(plan):
        after = (now + 1) if plan.rims.forward else now
        fetched = _fetched(plan, field, age, after)
        lag = plan.pipeline.lag.at(plan.levels - 1 - age, plan.stage_of(field))
        stored = ir.Var("begin") + now - ir.Int(lag)
        for start, version, row in (("from", SOURCE, fetched), ("into", DEST, stored)):
            line = plan.memory(field, version, ir.Int(age)) + _line(plan, row, first, edge=False)
            yield ir.Mutable(_moving(plan, start, field, age), line + first_at(plan.site.rank - 1))


def _beside(plan: GpuStreamingContext, start: str, field: str, age: int, cell: Cell) -> ir.Expr:
    """The thread's first cell of the line that one of its cells lies in, of a row that is fetched or stored."""
    line: ir.Expr = _moving(plan, start, field, age)
    for axis in plan.inner[:-1]:
        line = (line + stride(axis) * cell[axis - 1]) if cell[axis - 1] else line
    return ir.aligned(line, plan.vector * plan.site.problem.itemsize) if plan.vector > 1 else line


def fetch(
    plan: GpuStreamingContext, field: str, age: int, now: ir.Expr, *, edge: bool, start: str = "ahead"
) -> tuple[ir.Stmt, ...]:
    """Begin to bring the row of a version that the band starts from; rows beyond the grid are its last ones."""
    site = plan.site
    row = _fetched(plan, field, age, now)
    lets: dict[str, ir.Stmt] = {}
    loads: list[ir.Stmt] = []
    for number, cell in enumerate(thread_cells(plan)):
        line = ir.Var(joined("line", cell[:-1]) if cell[:-1] else "line", ir.const_pointer(site.dtype))
        base = _beside(plan, "from", field, age, cell)
        value: ir.Expr = ir.Load(line, ir.Int(cell[-1]), site.dtype)
        if edge:
            base = plan.memory(field, SOURCE, ir.Int(age)) + _line(plan, row, cell, edge=False)
            base = base + first_at(site.rank - 1)
            value = ir.select(_in_grid(plan, cell), value, literal(0.0, site.dtype))
        lets.setdefault(line.name, ir.Let(line, base))
        loads.append(ir.Store(ahead_of(plan, field, age, start), ir.Int(number), value, site.dtype))
    return (ir.Scope((*afresh(plan, edge=edge), *lets.values(), *loads)),)


def _in_grid(plan: GpuStreamingContext, cell: Cell) -> ir.Expr:
    """Whether a thread's cell lies in the grid along the axes that threads share."""
    tests: list[ir.Expr] = []
    for axis in plan.inner:
        at = first_at(axis) + cell[axis - 1]
        tests += [at >= 0, at < extent(axis)]
    return conjunction(tests)


def go_on(plan: GpuStreamingContext, start: str, field: str, age: int) -> ir.Stmt:
    """Move on to the next row to fetch or store."""
    pointer = _moving(plan, start, field, age)
    return ir.Assign(pointer, pointer + stride(0))


def keep(plan: GpuStreamingContext, number: int, field: str, age: int) -> Iterator[ir.Stmt]:
    """Put what was fetched in its place."""
    slot = (number - plan.pipeline.lag.at(-1 - age, plan.stage_of(field))) % plan.rims.rows
    ahead = ahead_of(plan, field, age)
    values: dict[Cell, ir.Expr] = {
        cell: ir.Load(ahead, ir.Int(place), plan.site.dtype) for place, cell in enumerate(thread_cells(plan))
    }
    yield from put(plan, field, -age, slot, values)


def write_back(plan: GpuStreamingContext, step: int, statement: Statement, *, edge: bool) -> Iterator[ir.Stmt]:
    """Write what the next band starts from, for the tile's own cells."""
    site, field, age = plan.site, statement.field, plan.levels - 1 - step
    if age >= plan.history(field):
        return
    tests: list[ir.Expr] = [ROW >= ir.Var("low0"), ROW < ir.Var("high0")] if edge else []
    cells_of = plan.rims.cells
    even = [axis for axis in plan.inner if plan.together(axis) == cells_of[axis - 1] and not edge]
    for axis in even:  # a thread's cells along it are all the tile's own, or none
        first, cells = plan.low[axis] // cells_of[axis - 1], cells_of[axis - 1]
        thread = ir.Var(f"i{axis}")
        tests += [thread >= first, thread < ir.Int(first + plan.space[axis] // cells)]
    stores: dict[Cell, list[ir.Stmt]] = {}
    lets: dict[str, ir.Stmt] = {}
    for cell in thread_cells(plan):
        line = ir.Var(joined("out", cell[:-1]) if cell[:-1] else "out", ir.pointer(site.dtype))
        base = _beside(plan, "into", field, age, cell)
        if edge:
            base = plan.memory(field, DEST, ir.Int(age)) + _line(plan, ROW, cell, edge=False)
            base = base + first_at(site.rank - 1)
        lets.setdefault(line.name, ir.Let(line, base))
        name = ir.Var(joined(f"new{site.number(field)}_", cell), site.dtype)
        store: ir.Stmt = ir.Store(line, ir.Int(cell[-1]), name, site.dtype)
        together = [1 if edge else plan.together(axis) for axis in plan.inner]
        part = tuple(place // count * count for place, count in zip(cell, together, strict=True))
        stores.setdefault(part, []).append(store)
    whole: list[ir.Stmt] = []
    around, within = (tests, []) if edge else ([], tests)
    for part, each in stores.items():
        own: list[ir.Expr] = list(within)
        for axis in plan.inner:
            if axis not in even:
                at = first_at(axis) + part[axis - 1]
                own += [at >= ir.Var(f"low{axis}"), at < ir.Var(f"high{axis}")]
        whole += [ir.If(conjunction(own), tuple(each))] if own else each
    body = (*afresh(plan, edge=edge), *lets.values(), *whole)
    yield ir.If(conjunction(around), body) if around else ir.Scope(body)
    if not edge:
        yield go_on(plan, "into", field, age)


def constant(plan: GpuStreamingContext, node: Read, unit: tuple[int, int], cell: Cell, *, edge: bool) -> ir.Expr:
    """A value of a field that is never updated, from memory; what lies beyond the grid counts for no cell."""
    site = plan.site
    row = ir.Var("begin") + NOW - ir.Int(plan.pipeline.lag.at(*unit))
    moved = tuple(a + b for a, b in zip(cell, node.offset[1:], strict=True))
    line = _line(plan, row + node.offset[0], moved, edge=edge or any(node.offset[1:-1]))
    column = _column(plan, moved[-1], edge=edge or node.offset[-1] != 0)
    return ir.Load(site.version(node.field, ir.Int(0)) + line, column, site.dtype)
