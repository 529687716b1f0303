"""Where the steady loop of a streaming kernel keeps values: a thread's registers, the chip, and their names.

A row's place in registers is a number of its array's name, since as many advances as rows are in use are written out; a
place on chip is a number next to the thread's own.
"""

import itertools
from collections.abc import Iterator

from tilewright.codegen import ir
from tilewright.codegen.gpu.streaming.plan import GpuStreamingContext
from tilewright.codegen.sites import literal
from tilewright.schedules.streaming.rims import Cell

ADVANCE, NOW, ROW, PLACE = ir.Var("k"), ir.Var("now"), ir.Var("row"), ir.Var("place")


def first_at(axis: int) -> ir.Var:
    """Index in the grid of a thread's first cell."""
    return ir.Var(f"at{axis}")


def afresh(plan: GpuStreamingContext, *, edge: bool) -> list[ir.Stmt]:
    """Hide from the compiler where a thread's cells lie: at edges it would keep every test and address in registers."""
    return [ir.Assign(first_at(axis), ir.op(ir.Operator.OPAQUE, first_at(axis))) for axis in plan.inner] if edge else []


def thread_cells(plan: GpuStreamingContext) -> Iterator[Cell]:
    """A thread's cells, as their distances to its first one."""
    return itertools.product(*map(range, plan.rims.cells))


def joined(start: str, *parts: int | Cell) -> str:
    """A name with numbers at its end."""
    flat = [str(part) for each in parts for part in (each if isinstance(each, tuple) else (each,))]
    return start + "_".join(flat)


def first_versions(plan: GpuStreamingContext) -> list[tuple[str, int]]:
    """The versions that a band starts from."""
    return [(field, age) for field in plan.updated for age in range(plan.history(field))]


def own_rows(plan: GpuStreamingContext, field: str, version: int, cell: Cell) -> ir.Var:
    """The rows of one cell of a thread."""
    slot = version + plan.history(field) - 1
    return ir.Var(joined(f"own{plan.site.number(field)}_", slot, cell), ir.private_pointer(plan.site.dtype))


def other_rows(plan: GpuStreamingContext, field: str, version: int, key: tuple[Cell, Cell]) -> ir.Var:
    """The rows of another thread's cell that are needed again."""
    slot, number = version + plan.history(field) - 1, plan.site.number(field)
    place = list(plan.rims.ages[number]).index(key)
    return ir.Var(joined(f"rim{number}_", slot, place), ir.private_pointer(plan.site.dtype))


def total_of(plan: GpuStreamingContext, step: int, cell: Cell) -> ir.Var:
    """The partial sums of one cell of a step's results."""
    return ir.Var(joined("sum", step, cell), ir.private_pointer(plan.site.dtype))


def ahead_of(plan: GpuStreamingContext, field: str, age: int, start: str = "ahead") -> ir.Var:
    """What a thread fetches of a version that the band starts from, until it comes into its place."""
    return ir.Var(f"{start}{plan.site.number(field)}_{age}", ir.private_pointer(plan.site.dtype))


def clear_rooms(plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    """A thread's own rows and those of others that it needs again, cleared; and what it fetches ahead."""
    result: list[ir.Stmt] = []
    zero = literal(0.0, plan.site.dtype)
    rows = plan.rims.rows
    for field in plan.updated:
        ages = plan.rims.ages[plan.site.number(field)]
        again = [key for key in ages if len(ages[key]) > 1]
        if plan.sums:
            again = []
            totals = [total_of(plan, step, cell) for step in range(plan.levels) for cell in thread_cells(plan)]
            result += [ir.Array(name, rows) for name in totals]
            places = itertools.product(totals, range(rows))
            result += [ir.Store(name, ir.Int(row), zero, plan.site.dtype) for name, row in places]
        for version in plan.versions(field):
            names = [own_rows(plan, field, version, cell) for cell in thread_cells(plan)]
            names += [other_rows(plan, field, version, key) for key in again]
            for name in names:
                result.append(ir.Array(name, rows))
                result += [ir.Store(name, ir.Int(row), zero, plan.site.dtype) for row in range(rows)]
        for age in range(plan.history(field)):
            result.append(ir.Array(ahead_of(plan, field, age), len(list(thread_cells(plan)))))
    return tuple(result)


def clear_chip(plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    """Zeros on chip, so that a level may compute before it has rows."""
    if not plan.values:
        return ()
    index = ir.Var("place_on_chip")
    store = ir.Store(plan.site.shared, index, literal(0.0, plan.site.dtype), plan.site.dtype)
    count = 1
    for each in plan.threads:
        count *= each
    loop = ir.For(var=index, low=ir.THREAD, high=ir.Int(plan.values), step=ir.Int(count), body=(store,), unroll=1)
    return (loop, ir.Barrier(memory=False))


def chip_place(
    plan: GpuStreamingContext, field: str, version: int, slot: int, place: tuple[int, int], thread: Cell
) -> tuple[ir.Expr, ir.Expr]:
    """Where a cell of a thread lies, so many threads away: by its group and its place in it."""
    group, lane = place
    number, rims = plan.site.number(field), plan.rims
    pitch = rims.pitch(plan.threads[1:])
    kept = (version + plan.history(field) - 1) * rims.chip_rows + slot % rims.chip_rows
    groups = rims.published[number]
    first = plan.starts[number] + kept * rims.row(number, plan.threads[1:])
    first += pitch * sum(map(len, groups[:group]))
    size, step = len(groups[group]), 0
    for distance, count in zip(thread, plan.threads[1:], strict=True):
        step = step * count + distance
    if size == 1:
        return plan.site.shared, PLACE + (first + step)
    start = plan.site.shared + (PLACE * size + (first + step * size))
    return ir.aligned(start, size * plan.site.problem.itemsize), ir.Int(lane)


def put(plan: GpuStreamingContext, field: str, version: int, slot: int, values: dict[Cell, ir.Expr]) -> list[ir.Stmt]:
    """Keep the values of a thread's cells, and publish a row that others read from the next advance on."""
    dtype, rims = plan.site.dtype, plan.rims
    stores: list[ir.Stmt] = [
        ir.Store(own_rows(plan, field, version, cell), ir.Int(slot), value, dtype) for cell, value in values.items()
    ]
    row = (slot - rims.delay) % rims.rows
    for number, group in enumerate(rims.published[plan.site.number(field)]):
        for lane, cell in enumerate(group):
            value = (
                values[cell] if not rims.delay else ir.Load(own_rows(plan, field, version, cell), ir.Int(row), dtype)
            )
            place = chip_place(plan, field, version, row, (number, lane), (0,) * len(cell))
            stores.append(ir.Store(*place, value, dtype))
    return stores
