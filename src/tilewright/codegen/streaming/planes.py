"""Functions of a streaming kernel in 3D that compute rows of two planes at a time; every pair of planes calls them.

They are given where the planes that they read start, so that one text serves all pairs of planes of an advance.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.sites import place_name
from tilewright.codegen.streaming.block import (
    Operands,
    along,
    axis_of,
    block_body,
    source,
    stage_outputs,
    stage_places,
    target,
    version_tag,
)
from tilewright.codegen.streaming.layout import LINE, VECTORS, StreamingContext, lanes, mul_vector, sizes, slab_at
from tilewright.codegen.sums.registers import Place
from tilewright.programs.stencil.expression import Placed
from tilewright.schedules.code import RowCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Planes:
    """A function that computes rows of some planes."""

    function: ir.Function
    table: ir.ConstArray  # the factors that it is given
    # what else it is given, for planes from so many on: scalars and numbers of places, where slabs start that it reads,
    # and those of its results
    arguments: Callable[[int], tuple[tuple[ir.Expr, ...], tuple[ir.Expr, ...]]]

    def call(self, shift: int, low: ir.Expr) -> ir.Call:
        """Call it for planes from ``shift`` on; rows start at ``low``."""
        head, starts = self.arguments(shift)
        return ir.Call(self.function.name, (*head, self.table.var, *((start + low) for start in starts)))


def planes_function(plan: StreamingContext, stage: int, block: RowCode, scalars: tuple[ir.Stmt, ...]) -> Planes:
    """Write the function for a number of planes and lines."""
    kind, fields, planes = plan.site.dtype, stage_outputs(plan, stage), range(block.rows)
    read: dict[tuple[int, int, int], ir.Var] = {}
    places = stage_places(plan, stage)

    def slab(field: int, level: int, position: int) -> ir.Var:
        name = f"{plan.fields[field]}_{version_tag(level)}_{'m' * (position < 0)}{abs(position)}"
        return read.setdefault((field, level, position), ir.Var(name, ir.const_pointer(kind)))

    def result(field: int, plane: int) -> ir.Var:
        return ir.Var(f"{plan.fields[field]}_out_{plane}", ir.pointer(kind))

    def arguments(shift: int) -> tuple[tuple[ir.Expr, ...], tuple[ir.Expr, ...]]:
        starts = [slab_at(plan, source(plan, key[:2]), key[2] + shift) for key in read]
        moves = (ir.Int(shift), LINE, ir.Int(0))
        numbers = [(place_name(plan.site, node) + moves[axis_of(plan, node)]) for node in places]
        results = (slab_at(plan, target(plan, f), shift + plane) for f in fields for plane in planes)
        return (*head, *numbers), (*starts, *results)

    factors = ir.Var("factors", ir.const_pointer(ir.weight_of(kind)))
    head = (plan.site.params[2],) if scalars else ()

    def placed(node: Placed, at: Place) -> ir.Expr:
        return along(plan, node, at, place_name(plan.site, node), ir.Int(0), ir.Int(0))

    given = (*head, *(place_name(plan.site, node) for node in places))
    operands = Operands(slab=slab, result=result, placed=placed, factors=factors)
    each = block_body(plan, stage, block, operands)
    loop = each.loop(plan, ir.Int(0), mul_vector(VECTORS))
    function = ir.Function(
        name=plan.name(f"rows_{stage}{plan.variant}_{block.rows}x{block.lines}"),
        params=(*given, factors, *read.values(), *(result(field, plane) for field in fields for plane in planes)),
        body=(ir.Let(ir.Var("V"), lanes(plan)), *sizes(plan)[:2], *scalars, *loop),
        about=_about(block),
    )
    table = ir.ConstArray(ir.Var(f"factors_{block.rows}", factors.type), each.weights)
    return Planes(function=function, table=table, arguments=arguments)


def _about(block: RowCode) -> str:
    """What a function computes, and how pairs of planes are where it does not say."""
    loaded = any(each.loaded for some in block.sums for each in some)
    pairs = "" if loaded else ", of pairs of planes by y0 = (b + c) + a and y1 = (b - c) + e"
    numbers = f"{block.rows}, {block.lines}"
    return f"New values in so many planes and rows of each: {numbers}{pairs}; a table holds the factors."
