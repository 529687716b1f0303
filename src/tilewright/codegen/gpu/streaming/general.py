"""The general body of a streaming kernel for GPUs: bands of any length, every boundary, tested cell by cell.

Every version of a field that a band passes has a ring of rows on chip.
"""

import math
from collections.abc import Callable

from tilewright.base.intmath import round_up
from tilewright.codegen import ir
from tilewright.codegen.gpu.points import pointed
from tilewright.codegen.gpu.site import global_index
from tilewright.codegen.gpu.streaming.plan import BASE, DEST, LEVELS, SOURCE, GpuStreamingContext, own_tests
from tilewright.codegen.gpu.sweep import conjunction, in_bounds, places
from tilewright.codegen.sites import extent
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.streaming import block as stream_block

STEP, ROW, ADVANCE = ir.Var("t"), ir.Var("x0"), ir.Var("k")
Span = tuple[ir.Expr, ir.Expr]


def general_values(plan: GpuStreamingContext) -> int:
    """Values on chip."""
    return sum(plan.kept_versions) * _depth(plan) * _plane(plan)


def _depth(plan: GpuStreamingContext) -> int:
    """Rows of a ring."""
    return stream_block.ring_rows(plan.site.problem)


def _plane(plan: GpuStreamingContext) -> int:
    """Values of one row of a ring."""
    return math.prod(plan.extent[1:])


def _ring(plan: GpuStreamingContext, field: str, version: ir.Expr) -> ir.Expr:
    """Index on chip of the first value of a version's ring."""
    each = _depth(plan) * _plane(plan)
    start = sum(plan.kept_versions[: plan.site.number(field)]) * each
    return (version + (plan.history(field) - 1)) * each + start


def _slot(plan: GpuStreamingContext, row: ir.Expr) -> ir.Expr:
    """Row of a ring that holds a row of axis 0."""
    lag, depth = plan.pipeline.lag, _depth(plan)
    most = lag.period * plan.levels + max(lag.offsets) + depth
    return (row - ir.Var("begin") + round_up(most, depth)) % depth


def general_body(plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    """Advance row by row, level by level, all indices computed where they are needed."""
    stages = range(len(plan.pipeline.stages))
    levels = tuple(part for stage in stages for part in _unit(plan, stage))
    body = (
        ir.Let(ir.Var("front"), ir.Var("begin") + ADVANCE),
        *_load(plan),
        ir.For(var=STEP, low=ir.Int(0), high=LEVELS, body=levels, unroll=1),
        ir.Barrier(memory=False),
    )
    return (ir.For(var=ADVANCE, low=ir.Int(0), high=ir.Var("advances"), body=body, unroll=1),)


def _on_chip(
    plan: GpuStreamingContext, field: str, version: ir.Expr, cell: tuple[ir.Expr, ...]
) -> tuple[ir.Expr, ir.Expr]:
    """Pointer and index on chip of a cell, given by its indices in the grid."""
    index: ir.Expr = _slot(plan, cell[0])
    for axis in plan.inner:
        index = index * plan.extent[axis] + (cell[axis] - ir.Var(f"origin{axis}"))
    return plan.site.shared, _ring(plan, field, version) + index


def _over(plan: GpuStreamingContext, spans: list[Span], body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The cells of a box of the inner axes, inside the grid, shared by the threads of the group."""
    here = places(plan.site)
    for axis in reversed(plan.inner):
        low, high = spans[axis - 1]
        first = ir.largest(low, ir.Int(0)) + ir.Var(f"i{axis}")
        step = ir.Int(plan.threads[axis])
        body = (ir.For(var=here[axis], low=first, high=ir.smallest(high, extent(axis)), step=step, body=body),)
    return body


def _inside(row: ir.Expr, span: Span) -> ir.Expr:
    """Whether a row lies in a range and in the grid."""
    low, high = ir.largest(span[0], ir.Int(0)), ir.smallest(span[1], extent(0))
    return (row >= low) & (row < high)


def _load(plan: GpuStreamingContext) -> tuple[ir.Stmt, ...]:
    """Bring a row of every version that the band starts from."""
    site, here = plan.site, places(plan.site)
    spans: list[Span] = [(ir.Var(f"origin{axis}"), ir.Var(f"origin{axis}") + plan.extent[axis]) for axis in plan.inner]
    result: list[ir.Stmt] = []
    for field in plan.updated:
        stage = plan.stage_of(field)
        for age in range(plan.history(field)):
            row = ir.Var("front") - ir.Int(plan.pipeline.lag.at(-1 - age, stage))
            value = ir.Load(plan.memory(field, SOURCE, ir.Int(age)), global_index(here), site.dtype)
            store = ir.Store(*_on_chip(plan, field, ir.Int(-age), here), value, site.dtype)
            test = _inside(ROW, plan.span0(LEVELS + age, stage))
            result.append(ir.Scope((ir.Let(ROW, row), ir.If(test, _over(plan, spans, (store,))))))
    return tuple(result)


def _unit(plan: GpuStreamingContext, stage: int) -> tuple[ir.Stmt, ...]:
    """One stage of the step ``t``."""
    left = ir.Var("left")
    spans: list[Span] = []
    for axis in plan.inner:
        low, high = plan.pipeline.below[axis], plan.pipeline.above[axis]
        first = ir.Var(f"low{axis}") - (left * low.period + low.offsets[stage])
        spans.append((first, ir.Var(f"high{axis}") + (left * high.period + high.offsets[stage])))
    cells = tuple(part for statement in plan.statements(stage) for part in _cell(plan, statement))
    return (
        ir.Scope(
            (
                ir.Let(left, LEVELS - 1 - STEP),
                ir.Let(ROW, ir.Var("front") - plan.lag(STEP, stage)),
                ir.If(_inside(ROW, plan.span0(left, stage)), _over(plan, spans, cells)),
            )
        ),
    )


def _cell(plan: GpuStreamingContext, statement: Statement) -> tuple[ir.Stmt, ...]:
    """One cell: computed where it is updated, else taken over from the version before."""
    site, here, field = plan.site, places(plan.site), statement.field
    new = ir.Var("value", site.dtype)
    body, value = site.lower(statement, _reader(plan, here), at=here, step=BASE + STEP)
    target = _on_chip(plan, field, STEP + 1, here)
    age = LEVELS - (STEP + 1)
    mine = own_tests(here)
    own = conjunction((age < ir.Int(plan.history(field)), *mine))
    value = pointed(site, field, value, here, BASE + STEP, conjunction(mine))
    out = ir.Store(plan.memory(field, DEST, age), global_index(here), new, site.dtype)
    number = site.number(field)
    has_ring = STEP + plan.history(field) < ir.Int(plan.kept_versions[number])
    compute = (*body, ir.Let(new, value), ir.If(has_ring, (ir.Store(*target, new, site.dtype),)), ir.If(own, (out,)))
    before = ir.Load(*_on_chip(plan, field, STEP, here), site.dtype)
    copy = ir.If(has_ring, (ir.Store(*target, before, site.dtype),))
    return (ir.If(in_bounds(site, statement, here), (ir.Scope(compute),), (copy,)),)


def _reader(plan: GpuStreamingContext, here: tuple[ir.Expr, ...]) -> Callable[[Read], ir.Expr]:
    site = plan.site

    def read(node: Read) -> ir.Expr:
        def load(cell: tuple[ir.Expr, ...]) -> ir.Expr:
            if node.field not in plan.updated:
                return ir.Load(site.version(node.field, ir.Int(0)), global_index(cell), site.dtype)
            return ir.Load(*_on_chip(plan, node.field, STEP + node.level, cell), site.dtype)

        return site.guarded(node, here, load)

    return read
