"""Functions of a streaming kernel in 3D that compute rows of two planes at a time; every pair of planes calls them.

They are given where the planes that they read start, so that one text serves all pairs of planes of an advance.
"""

from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.pipeline import PITCH, VECTORS, Plan, lanes, mul_vector, sizes, slab_at
from tilewright.codegen.row_block import (
    INDEX,
    Block,
    Place,
    Slab,
    moved,
    source,
    stage_outputs,
    target,
    version_tag,
)
from tilewright.codegen.row_boxes import Boxes, FewBoxes, Near, nears
from tilewright.programs.expression import Read
from tilewright.programs.weights import Terms, columns
from tilewright.tilings.body import StageCode, StreamBlock, Sum

_FACTORS, _SCALAR = "factors", "scalar"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planes:
    """A function that computes rows of one or two planes.

    Attributes:
        function: The function.
        table: The factors that it is given.
        reads: Slabs whose starts are its arguments: field, level, and position along axis 0 for the first plane.
        fields: Fields whose results' slabs are its arguments, ``planes`` of each.
        planes: Planes of results.
        lines: Rows of each.
    """

    function: ir.Function
    table: ir.ConstArray
    reads: tuple[tuple[int, int, int], ...]
    fields: tuple[int, ...]
    planes: int
    lines: int

    def call(self, plan: Plan, shift: int, low: ir.Expr) -> ir.Call:
        """Call it for planes from ``shift`` on; rows start at ``low``."""
        starts = [slab_at(plan, source(plan, key[:2]), key[2] + shift) for key in self.reads]
        starts += [slab_at(plan, target(plan, f), shift + plane) for f in self.fields for plane in range(self.planes)]
        given = {_FACTORS: self.table.var, _SCALAR: plan.site.params[2]}
        head = [given[param.name] for param in self.function.params if param.name in given]
        return ir.Call(self.function.name, (*head, *(ir.add(start, low) for start in starts)))


def planes_function(
    plan: Plan, stage: int, code: StageCode, block: StreamBlock, scalars: tuple[ir.Stmt, ...]
) -> Planes:
    """Write the function for a number of planes and lines.

    Args:
        plan: The kernel's plan.
        stage: The stage.
        code: How it is written.
        block: Planes of results and rows of each.
        scalars: Statements that name the program's scalars which the stage uses, out of the parameter ``scalar``.
    """
    planes, lines, kind = block.planes, block.lines, plan.site.dtype
    starts: dict[tuple[int, int, int], ir.Var] = {}

    def slab(field: int, level: int, position: int) -> ir.Var:
        name = f"{plan.fields[field]}_{version_tag(level)}_{'m' * (position < 0)}{abs(position)}"
        return starts.setdefault((field, level, position), ir.Var(name, ir.const_pointer(kind)))

    writer = _PlaneBlock(plan, stage, code, block, slab)
    stores: list[ir.Stmt] = []
    fields = stage_outputs(plan, stage)
    for field in fields:
        values = writer.values(field, writer.sums(field))
        for (plane, line), value in zip(writer.places, values, strict=True):
            stores.append(ir.Store(_result(plan, field, plane), moved(INDEX, PITCH, line), value, ir.vector(kind)))
    writer.emit_loads()
    loop = ir.For(var=INDEX, low=ir.Int(0), high=mul_vector(VECTORS), step=lanes(plan), body=(*writer.body, *stores))
    heads = ((plan.site.params[2],) if scalars else (), (_factors(plan),))
    results = (_result(plan, field, plane) for field in fields for plane in range(planes))
    function = ir.Function(
        name=plan.name(f"rows_{stage}_{planes}x{lines}"),
        params=(*heads[0], *heads[1], *starts.values(), *results),
        body=(ir.Let(ir.Var("V"), lanes(plan)), *sizes(plan)[:2], *scalars, loop),
        about=_about(block),
    )
    table = ir.ConstArray(ir.Var(f"{_FACTORS}_{planes}", _factors(plan).type), tuple(writer.factors))
    return Planes(function=function, table=table, reads=tuple(starts), fields=fields, planes=planes, lines=lines)


def _about(block: StreamBlock) -> str:
    """What a function computes, and how pairs of planes are where it does not say."""
    loaded = any(each.loaded for some in block.sums for each in some)
    pairs = "" if loaded else ", of pairs of planes by y0 = (b + c) + a and y1 = (b - c) + e"
    numbers = f"{block.planes}, {block.lines}"
    return f"New values in so many planes and rows of each: {numbers}{pairs}; a table holds the factors."


def _result(plan: Plan, field: int, plane: int) -> ir.Var:
    return ir.Var(f"{plan.fields[field]}_out_{plane}", ir.pointer(plan.site.dtype))


def _factors(plan: Plan) -> ir.Var:
    """The table of factors that a function of planes is given."""
    return ir.Var(_FACTORS, ir.const_pointer(ir.weight_of(plan.site.dtype)))


class _PlaneBlock(Block):
    """A block whose boxes take their factors from a table.

    Attributes:
        factors: The table.
    """

    def __init__(self, plan: Plan, stage: int, code: StageCode, block: StreamBlock, slab: Slab) -> None:
        super().__init__(plan, stage, code, block, slab)
        self.block = block
        self.factors: list[float] = []

    def one_sum(self, prefix: str, terms: Terms, form: Sum) -> dict[Place, ir.Expr]:
        if form.form not in {"winograd", "loop"}:
            return super().one_sum(prefix, terms, form)
        found = columns(terms) if form.form == "winograd" else None
        near: tuple[Near, ...] = nears((), terms) if found is None else nears(*found, alike=form.alike)
        kind = FewBoxes if form.loaded else Boxes
        table = ir.add(_factors(self.plan), len(self.factors))
        boxes = kind(self.plan.site.dtype, f"{prefix}_", self.raw_load, table, form.weights)
        results = boxes.write(self.block.planes, self.block.lines, near)
        self.factors += [factor for each in near for factor in each.factors]
        self.body += boxes.body
        return dict(results)

    def raw_load(self, read: Read, plane: int, line: int, at: ir.Expr) -> ir.Load:
        """The load of a read, from a place along the rows that its offset is already part of."""
        field = self.plan.fields.index(read.field)
        position, row = self.position(field, read.level, read.offset, (plane, line))
        return ir.Load(self.slab(field, read.level, position), moved(at, PITCH, row), ir.vector(self.plan.site.dtype))
