"""One pass of a streamed group as IR: several stencils in one loop over a row, several rows blocked in registers."""

import math
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.conversion import converted
from tilewright.codegen.expression import scalar_name
from tilewright.codegen.sums.registers import RegisterBlock, Results
from tilewright.programs.stencil.expression import Read, Scalar
from tilewright.schedules.code import Place
from tilewright.workloads.pipelines.problem import PipelineProblem, PipelineStencil
from tilewright.workloads.pipelines.rows import Pass, RowPlan

INDEX = ir.Var("i")


@dataclass(frozen=True, slots=True, kw_only=True)
class RowSource:
    """Rows of one grid that a pass reads: a box of offsets on the outer axes, in order."""

    grid: str
    # per outer axis the first and the last offset; on the axis of blocked rows the last one of the last row
    box: tuple[tuple[int, int], ...]
    start: int  # number of its first pointer

    @property
    def count(self) -> int:
        """Number of its pointers."""
        return math.prod(high - low + 1 for low, high in self.box)

    def number(self, outer: tuple[int, ...]) -> int:
        """Number of the pointer to a row."""
        at = 0
        for offset, (low, high) in zip(outer, self.box, strict=True):
            at = at * (high - low + 1) + offset - low
        return self.start + at


@dataclass(frozen=True, slots=True, kw_only=True)
class PassPorts:
    """The pointers of a pass."""

    sources: tuple[RowSource, ...]  # what it reads
    stored: tuple[str, ...]  # grids whose rows it stores, ``rows`` pointers each


def ports(problem: PipelineProblem, plan: RowPlan, step: Pass, rows: int) -> PassPorts:
    """Return the pointers of a pass."""
    pipeline = problem.pipeline
    own = {pipeline.stencils[i].output for i in step.stencils}
    boxes: dict[str, list[tuple[int, int]]] = {}
    for number in step.stencils:
        for read in pipeline.stencils[number].reads:
            if read.field in own:
                continue
            outer = read.offset[:-1]
            spans = [(o, o + (rows - 1 if axis == 0 else 0)) for axis, o in enumerate(outer)]
            before = boxes.get(read.field, spans)
            boxes[read.field] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(before, spans, strict=True)]
    sources = []
    start = 0
    for grid in pipeline.grids:
        if grid in boxes:
            sources.append(RowSource(grid=grid, box=tuple(boxes[grid]), start=start))
            start += sources[-1].count
    stored = tuple(grid for grid in pipeline.grids if grid in own and _is_stored(problem, plan, step, grid))
    return PassPorts(sources=tuple(sources), stored=stored)


def _is_stored(problem: PipelineProblem, plan: RowPlan, step: Pass, grid: str) -> bool:
    """Whether anything outside the pass, or at another cell, reads a grid."""
    readers = [i for i in plan.group.stencils if grid in problem.pipeline.stencils[i].inputs]
    return grid in plan.group.outputs or any(i not in step.stencils for i in readers)


def pass_function(problem: PipelineProblem, plan: RowPlan, step: Pass, rows: int, name: str) -> ir.Function:
    """Write a pass: ``name(in, out, n, scalar)`` computes ``n`` cells of ``rows`` rows, in whole vectors."""
    pipeline = problem.pipeline
    dtype = ir.element(problem.dtype(pipeline.stencils[step.stencils[0]].inputs[0]))
    operands = ports(problem, plan, step, rows)
    double = ir.element("float64")
    b = ir.Builder(name)
    into = b.param("in", ir.const_pointer(ir.const_pointer(dtype)))
    out = b.param("out", ir.const_pointer(ir.pointer(dtype)))
    n, scalars = b.param("n", ir.INDEX), b.param("scalar", ir.const_pointer(double))
    for k in range(sum(source.count for source in operands.sources)):
        b.let(f"p{k}", into[k])
    for k in range(len(operands.stored) * rows):
        b.let(f"q{k}", out[k])
    names = {node.name for i in step.stencils for node in pipeline.stencils[i].tape if isinstance(node, Scalar)}
    for k, title in enumerate(pipeline.scalars):
        if title in names:
            b.let(scalar_name(title), scalars[k], dtype)
    with b.loop(INDEX.name, 0, n, ir.Lanes(dtype)):
        b.emit(*_body(problem, step, _Pointers(operands, dtype), rows))
    return b.function()


def conversion_function(problem: PipelineProblem, stencil: PipelineStencil, rows: int, name: str) -> ir.Function:
    """Write a pass that converts rows: ``name(in, out, n, scalar)``."""
    source, target = ir.element(problem.dtype(stencil.inputs[0])), ir.element(stencil.convert)
    b = ir.Builder(name, vectorized=True)
    into = b.param("in", ir.const_pointer(ir.const_pointer(source)))
    out, n = b.param("out", ir.const_pointer(ir.pointer(target))), b.param("n", ir.INDEX)
    b.param("scalar", ir.const_pointer(ir.element("float64")))
    with b.loop("r", 0, rows) as r:
        row, to = b.let("from", into[r]), b.let("to", out[r])
        with b.loop("i", 0, n, independent=True) as i:
            b.set(to[i], converted(b, b.let("value", row[i]), target, stencil.rounding))
    return b.function()


def _body(problem: PipelineProblem, step: Pass, pointers: "_Pointers", rows: int) -> tuple[ir.Stmt, ...]:
    """One iteration: every distinct vector is loaded once for all rows and stencils that use it."""
    block = RegisterBlock(pointers, [(row, 0) for row in range(rows)])
    values: dict[str, Results] = {}
    for number in step.stencils:
        stencil = problem.pipeline.stencils[number]

        def names(at: Place, number: int = number) -> str:
            return f"t{number}_{at[0]}_"

        new = block.values(stencil.tape, names, values)
        values[stencil.output] = new
        if stencil.output in pointers.stored:
            first = pointers.stored.index(stencil.output) * rows
            for (row, _), value in new.items():
                target = ir.Var(f"q{first + row}", ir.pointer(pointers.dtype))
                block.body.append(ir.Store(target, INDEX, value, block.kind))
    return tuple(block.body)


class _Pointers:
    """Where the vectors of a pass come from: rows that it is given pointers to."""

    def __init__(self, operands: PassPorts, dtype: ir.Element) -> None:
        self.sources, self.stored, self.dtype = {each.grid: each for each in operands.sources}, operands.stored, dtype

    def key(self, read: Read, at: Place) -> tuple[int, int]:
        outer = tuple(o + (at[0] if axis == 0 else 0) for axis, o in enumerate(read.offset[:-1]))
        return self.sources[read.field].number(outer), read.offset[-1]

    def vector(self, read: Read, at: Place) -> ir.Expr:
        pointer, along = self.key(read, at)
        base = ir.Var(f"p{pointer}", ir.const_pointer(self.dtype))
        return ir.Load(base, INDEX + along, ir.vector(self.dtype))
