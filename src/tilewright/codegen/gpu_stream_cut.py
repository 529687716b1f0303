"""The general body of a streaming kernel for GPUs: bands of any length, every boundary, tested cell by cell."""

from collections.abc import Callable

from tilewright.codegen.gpu_site import global_index
from tilewright.codegen.gpu_stream_plan import DEST, LEVELS, SOURCE, Plan
from tilewright.codegen.gpu_sweep import in_bounds, places
from tilewright.codegen.ir import (
    Barrier,
    Expr,
    For,
    If,
    Int,
    Let,
    Load,
    Op,
    Scope,
    Stmt,
    Store,
    Var,
    add,
    below,
    largest,
    mul,
    smallest,
    sub,
)
from tilewright.codegen.sites import extent
from tilewright.programs.expression import Read
from tilewright.programs.stencil import Statement

STEP, ROW, ADVANCE = Var("t"), Var("x0"), Var("k")
Span = tuple[Expr, Expr]


def cut_body(plan: Plan) -> tuple[Stmt, ...]:
    """Advance row by row, level by level, all indices computed where they are needed."""
    stages = range(len(plan.pipeline.stages))
    levels = tuple(part for stage in stages for part in _unit(plan, stage))
    body = (
        Let(Var("front"), add(Var("begin"), ADVANCE)),
        *_load(plan),
        For(var=STEP, low=Int(0), high=LEVELS, body=levels, unroll=1),
        Barrier(memory=False),
    )
    return (For(var=ADVANCE, low=Int(0), high=Var("advances"), body=body, unroll=1),)


def _on_chip(plan: Plan, field: str, version: Expr, cell: tuple[Expr, ...]) -> tuple[Expr, Expr]:
    """Pointer and index on chip of a cell, given by its indices in the grid."""
    index: Expr = plan.slot(cell[0])
    for axis in plan.inner:
        index = add(mul(index, plan.extent[axis]), sub(cell[axis], Var(f"origin{axis}")))
    return Var("chip"), add(plan.ring(field, version), index)


def _over(plan: Plan, spans: list[Span], body: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
    """The cells of a box of the inner axes, inside the grid, shared by the threads of the group."""
    here = places(plan.site)
    for axis in reversed(plan.inner):
        low, high = spans[axis - 1]
        first = add(largest(low, Int(0)), Var(f"i{axis}"))
        step = Int(plan.threads[axis])
        body = (For(var=here[axis], low=first, high=smallest(high, extent(axis)), step=step, body=body),)
    return body


def _inside(row: Expr, span: Span) -> Expr:
    """Whether a row lies in a range and in the grid."""
    low, high = largest(span[0], Int(0)), smallest(span[1], extent(0))
    return Op("and", (Op("ge", (row, low)), below(row, high)))


def _load(plan: Plan) -> tuple[Stmt, ...]:
    """Bring a row of every version that the band starts from."""
    site, here = plan.site, places(plan.site)
    spans: list[Span] = [(Var(f"origin{axis}"), add(Var(f"origin{axis}"), plan.extent[axis])) for axis in plan.inner]
    result: list[Stmt] = []
    for field in plan.updated:
        stage = plan.stage_of(field)
        for age in range(plan.history(field)):
            row = sub(Var("front"), Int(plan.pipeline.lag.at(-1 - age, stage)))
            value = Load(plan.memory(field, SOURCE, Int(age)), global_index(here), site.dtype)
            store = Store(*_on_chip(plan, field, Int(-age), here), value, site.dtype)
            test = _inside(ROW, plan.span0(add(LEVELS, age), stage))
            result.append(Scope((Let(ROW, row), If(test, _over(plan, spans, (store,))))))
    return tuple(result)


def _unit(plan: Plan, stage: int) -> tuple[Stmt, ...]:
    """One stage of the step ``t``."""
    left = Var("left")
    spans: list[Span] = []
    for axis in plan.inner:
        low, high = plan.pipeline.below[axis], plan.pipeline.above[axis]
        first = sub(Var(f"low{axis}"), add(mul(left, low.period), low.offsets[stage]))
        spans.append((first, add(Var(f"high{axis}"), add(mul(left, high.period), high.offsets[stage]))))
    cells = tuple(part for statement in plan.statements(stage) for part in _cell(plan, statement))
    return (
        Scope(
            (
                Let(left, sub(sub(LEVELS, 1), STEP)),
                Let(ROW, sub(Var("front"), plan.lag(STEP, stage))),
                If(_inside(ROW, plan.span0(left, stage)), _over(plan, spans, cells)),
            )
        ),
    )


def _cell(plan: Plan, statement: Statement) -> tuple[Stmt, ...]:
    """One cell: computed where it is updated, else taken over from the version before."""
    site, here, field = plan.site, places(plan.site), statement.field
    new = Var("value", site.dtype)
    body, value = site.lower(statement, _reader(plan, here))
    target = _on_chip(plan, field, add(STEP, 1), here)
    age = sub(LEVELS, add(STEP, 1))
    own: Expr = below(age, Int(plan.history(field)))
    for axis in range(site.rank):
        own = Op("and", (own, Op("ge", (here[axis], Var(f"low{axis}")))))
        own = Op("and", (own, below(here[axis], Var(f"high{axis}"))))
    out = Store(plan.memory(field, DEST, age), global_index(here), new, site.dtype)
    number = site.number(field)
    has_ring = below(add(STEP, plan.history(field)), Int(plan.rings[number]))
    compute = (*body, Let(new, value), If(has_ring, (Store(*target, new, site.dtype),)), If(own, (out,)))
    before = Load(*_on_chip(plan, field, STEP, here), site.dtype)
    copy = If(has_ring, (Store(*target, before, site.dtype),))
    return (If(in_bounds(site, statement, here), (Scope(compute),), (copy,)),)


def _reader(plan: Plan, here: tuple[Expr, ...]) -> Callable[[Read], Expr]:
    site = plan.site

    def read(node: Read) -> Expr:
        def load(cell: tuple[Expr, ...]) -> Expr:
            if node.field not in plan.updated:
                return Load(site.version(node.field, Int(0)), global_index(cell), site.dtype)
            return Load(*_on_chip(plan, node.field, add(STEP, node.level), cell), site.dtype)

        return site.guarded(node, here, load)

    return read
