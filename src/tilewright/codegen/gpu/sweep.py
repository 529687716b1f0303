"""GPU kernels without time tiling: one launch per logical step; recurrences plane by plane.

A thread computes some cells of a column along axis 0, at neighbouring places of which lanes of a warp load neighbouring
values. In blocks whose reads all stay in the grid it loads each value once, from a pointer per row, and tests nothing;
in all others it goes from cell to cell with tests of each.

A program whose sweep reads its own new values runs in planes ``w . x = tau`` of cells that do not need each other, one
launch per plane; in 1D one thread does it all.
"""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence

from tilewright.base.intmath import ceil_div
from tilewright.codegen import ir
from tilewright.codegen.gpu.points import pointed
from tilewright.codegen.gpu.site import GpuSite, Launch, global_index, offsets, stride, unpacked
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.stencil.dependences import plane_weights
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.schedule import GpuSchedule

STEP, PLANE = ir.Var("t"), ir.Var("plane")


def sweep_functions(site: GpuSite, schedule: GpuSchedule) -> tuple[tuple[ir.Function, EntryPoint], ...]:
    """Make one kernel per stage of a step."""
    shape = schedule.threads
    made = []
    for number in range(len(site.stages)):
        name = f"{site.prefix}_{number}"
        if not _recurs(site.problem, number):
            kernel = EntryPoint(entry=name, threads=math.prod(shape), numbers=(STEP.name,))
            body = _sweep(site, number, shape, schedule.column)
        elif site.rank == 1:
            kernel = EntryPoint(entry=name, threads=1, numbers=(STEP.name,))
            body = _line(site, number)
        else:
            kernel = EntryPoint(entry=name, threads=schedule.plane_threads, numbers=(STEP.name, PLANE.name))
            body = _plane(site, number, schedule.plane_threads)
        function = ir.Function(
            name=name, params=site.params(kernel.numbers), body=body, kind="kernel", threads=kernel.threads
        )
        made.append((function, kernel))
    return tuple(made)


def sweep_launches(problem: Problem, schedule: GpuSchedule, steps: int) -> Iterator[Launch]:
    """Yield the launches of some steps that start at version 0."""
    groups = math.prod(ceil_div(n, size) for n, size in zip(problem.shape, schedule.cells, strict=True))
    stages = range(len(problem.program.stages))
    for step, stage in itertools.product(range(steps), stages):
        if not _recurs(problem, stage):
            yield Launch(stage, groups, (step,))
        elif problem.program.rank == 1:
            yield Launch(stage, 1, (step,))
        else:
            weights = plane_weights(problem.program)
            last = sum(w * (n - 1) for w, n in zip(weights, problem.shape, strict=True))
            lines = ceil_div(math.prod(problem.shape[:-1]), schedule.plane_threads)
            for plane in range(last + 1):
                yield Launch(stage, lines, (step, plane))


def _recurs(problem: Problem, stage: int) -> bool:
    """Whether a statement of a stage reads its own new values."""
    program = problem.program
    own = (program.statements[i] for i in program.stages[stage])
    return any(read.field == s.field and read.level == 1 for s in own for read in s.reads)


def places(site: GpuSite) -> tuple[ir.Var, ...]:
    """Names of a cell's indices."""
    return tuple(ir.Var(f"x{axis}") for axis in range(site.rank))


def _sweep(site: GpuSite, stage: int, shape: tuple[int, ...], cells: int) -> tuple[ir.Stmt, ...]:
    here = places(site)
    threads = tuple(ir.Var(f"i{axis}") for axis in range(site.rank))
    groups = tuple(ir.Var(f"g{axis}") for axis in range(site.rank))
    block = (shape[0] * cells, *shape[1:])
    counts = tuple(ir.ceildiv(extent(axis), n) for axis, n in enumerate(block))
    lets: list[ir.Stmt] = [
        *unpacked(ir.THREAD, threads, tuple(ir.Int(n) for n in shape)),
        *unpacked(ir.GROUP, groups, counts),
    ]
    firsts = (threads[0] * cells, *threads[1:])
    lets += [ir.Let(x, g * n + t) for x, g, n, t in zip(here, groups, block, firsts, strict=True)]
    tests: list[ir.Expr] = []
    for axis, n in enumerate(block):
        low, high = offsets(site.problem, axis, bent=False)
        tests.append(groups[axis] * n + low >= 0)
        tests.append((groups[axis] + 1) * n + high <= extent(axis))
    statements = [site.problem.program.statements[number] for number in site.stages[stage]]
    inside = tuple(part for each in statements for part in _column(site, each, here, cells))
    row = ir.Var("row") if cells > 1 else here[0]
    edge = tuple(guarded_cell(site, each, (row, *here[1:]), STEP) for each in statements)
    if cells > 1:
        edge = (ir.For(var=row, low=here[0], high=here[0] + cells, body=edge, unroll=1),)
    return (*lets, ir.If(conjunction(tests), inside, edge))


def _column(site: GpuSite, statement: Statement, here: tuple[ir.Var, ...], cells: int) -> tuple[ir.Stmt, ...]:
    """Cells along axis 0 that are updated and read nothing outside the grid, from the first one on."""
    at = ir.Var("at", ir.WIDE)
    lines: dict[str, ir.Stmt] = {}
    loads: dict[str, ir.Stmt] = {}

    def line(field: str, level: int, offset: tuple[int, ...], *, const: bool = True) -> ir.Var:
        """Pointer to the value beside the thread's first cell, but for the last axis."""
        name = _name(site, "out" if level == 1 and not const else "line", field, level, offset)
        found = ir.Var(name, ir.Pointer(site.dtype, const=const))
        index: ir.Expr = at
        for axis, distance in enumerate(offset):
            index = (index + stride(axis) * distance) if distance else index
        lines.setdefault(name, ir.Let(found, _version(site, field, level, STEP) + index))
        return found

    def value(node: Read, number: int) -> ir.Expr:
        offset = (node.offset[0] + number, *node.offset[1:])
        *outer, last = offset if site.rank > 1 else (0, *offset)
        name = ir.Var(_name(site, "v", node.field, node.level, offset), site.dtype)
        pointer = line(node.field, node.level, tuple(outer) if site.rank > 1 else ())
        loads.setdefault(name.name, ir.Let(name, ir.Load(pointer, ir.Int(last), site.dtype)))
        return name

    work: list[ir.Stmt] = []
    stores: list[ir.Stmt] = []
    for number in range(cells):
        cell = (here[0] + number, *here[1:])
        read = functools.partial(value, number=number)
        lowered, result = site.lower(statement, read, f"t{number}_", at=cell, step=STEP)
        new = ir.Var(f"new{number}", site.dtype)
        work += [*lowered, ir.Let(new, pointed(site, statement.field, result, cell, STEP))]
        outer = (number, *(0,) * (site.rank - 2)) if site.rank > 1 else ()
        stores.append(ir.Store(line(statement.field, 1, outer, const=False), ir.Int(0), new, site.dtype))
    return (ir.Scope((ir.Let(at, global_index(here)), *lines.values(), *loads.values(), *work, *stores)),)


def _name(site: GpuSite, start: str, field: str, level: int, offset: tuple[int, ...]) -> str:
    parts = [site.number(field), level, *offset]
    return start + "_".join(str(part).replace("-", "m") for part in parts)


def _line(site: GpuSite, stage: int) -> tuple[ir.Stmt, ...]:
    here = places(site)
    body = tuple(guarded_cell(site, site.problem.program.statements[i], here, STEP) for i in site.stages[stage])
    return (ir.For(var=here[0], low=ir.Int(0), high=extent(0), body=body),)


def _plane(site: GpuSite, stage: int, threads: int) -> tuple[ir.Stmt, ...]:
    here = places(site)
    line = ir.Var("line")
    counts = tuple(extent(axis) for axis in range(site.rank - 1))
    weights = plane_weights(site.problem.program)
    last: ir.Expr = PLANE
    for x, weight in zip(here[:-1], weights, strict=False):
        last = last - x * weight
    lets = (
        ir.Let(line, ir.GROUP * threads + ir.THREAD),
        *unpacked(line, here[:-1], counts),
        ir.Let(here[-1], last),
    )
    body = tuple(guarded_cell(site, site.problem.program.statements[i], here, STEP) for i in site.stages[stage])
    return (*lets, *body)


def conjunction(tests: Sequence[ir.Expr]) -> ir.Expr:
    """Return whether all tests hold."""
    result = tests[0]
    for test in tests[1:]:
        result = result & test
    return result


def in_bounds(site: GpuSite, statement: Statement, here: tuple[ir.Expr, ...]) -> ir.Expr:
    """Whether a statement updates a cell."""
    tests: list[ir.Expr] = []
    for axis, (low, high) in enumerate(site.problem.margins(statement)):
        tests.append(here[axis] >= low)
        tests.append(here[axis] < extent(axis) - high)
    return conjunction(tests)


def guarded_cell(site: GpuSite, statement: Statement, here: tuple[ir.Expr, ...], step: ir.Expr) -> ir.Stmt:
    """One cell of a statement where it is updated, reads outside the grid included, all in memory off chip."""
    at = ir.Var("at", ir.WIDE)

    def read(node: Read) -> ir.Expr:
        base = _version(site, node.field, node.level, step)
        return site.guarded(node, here, lambda inner: ir.Load(base, global_index(inner), site.dtype))

    body, value = site.lower(statement, read, at=here, step=step)
    value = pointed(site, statement.field, value, here, step)
    store = ir.Store(_version(site, statement.field, 1, step), at, value, site.dtype)
    return ir.If(in_bounds(site, statement, here), (ir.Scope((ir.Let(at, global_index(here)), *body, store)),))


def _version(site: GpuSite, field: str, level: int, step: ir.Expr) -> ir.Expr:
    """Pointer to cell zero of a version, by its level from a step on."""
    copies = site.copies(field)
    return site.version(field, (step + level % copies) % copies)
