"""One pass of a streamed group as IR: several stencils in one loop over a row, several rows blocked in registers.

Vectors are of one element type; rows may be of others: their numbers are converted where they are loaded or stored.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.conversion import rounded
from tilewright.codegen.expression import scalar_name
from tilewright.codegen.sums.registers import RegisterBlock, Results
from tilewright.programs.stencil.expression import Read, Scalar
from tilewright.schedules.code import Place
from tilewright.workloads.pipelines.problem import PipelineProblem
from tilewright.workloads.pipelines.rows import Pass, RowPlan, computed_in

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
    into: ir.Element  # what the pointers to what it reads are declared to point to: bytes where they differ
    out: ir.Element  # the same of what it stores


def ports(problem: PipelineProblem, plan: RowPlan, step: Pass, rows: int) -> PassPorts:
    """Return the pointers of a pass."""
    pipeline = problem.pipeline
    own = {pipeline.stencils[i].output for i in step.stencils}
    boxes: dict[str, list[tuple[int, int]]] = {}  # by the grid in whose rows one lies
    for number in step.stencils:
        for read in pipeline.stencils[number].reads:
            if read.field in own:
                continue
            outer = read.offset[:-1]
            spans = [(o, o + (rows - 1 if axis == 0 else 0)) for axis, o in enumerate(outer)]
            kept = plan.kept(read.field)
            before = boxes.get(kept, spans)
            boxes[kept] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(before, spans, strict=True)]
    sources = []
    start = 0
    for grid in pipeline.grids:
        if grid in boxes:
            sources.append(RowSource(grid=grid, box=tuple(boxes[grid]), start=start))
            start += sources[-1].count
    stored = tuple(grid for grid in pipeline.grids if grid in own and _is_stored(problem, plan, step, grid))
    into, out = (_common(problem, grids) for grids in ([source.grid for source in sources], stored))
    return PassPorts(sources=tuple(sources), stored=stored, into=into, out=out)


def _common(problem: PipelineProblem, grids: Sequence[str]) -> ir.Element:
    kinds = {problem.dtype(grid) for grid in grids}
    return ir.element(kinds.pop() if len(kinds) == 1 else "uint8")


def _is_stored(problem: PipelineProblem, plan: RowPlan, step: Pass, grid: str) -> bool:
    """Whether anything outside the pass, or at another cell, reads a grid."""
    readers = [i for i in plan.group.stencils if grid in problem.pipeline.stencils[i].inputs]
    return grid in plan.group.outputs or any(i not in step.stencils for i in readers)


def pass_function(problem: PipelineProblem, plan: RowPlan, step: Pass, rows: int, name: str) -> ir.Function:
    """Write a pass: ``name(in, out, n, scalar)`` computes ``n`` cells of ``rows`` rows, in whole vectors."""
    pipeline = problem.pipeline
    dtype = ir.element(computed_in(problem, pipeline.stencils[step.stencils[0]]))
    operands = ports(problem, plan, step, rows)
    double = ir.element("float64")
    b = ir.Builder(name)
    into = b.param("in", ir.const_pointer(ir.const_pointer(operands.into)))
    out = b.param("out", ir.const_pointer(ir.pointer(operands.out)))
    n, scalars = b.param("n", ir.INDEX), b.param("scalar", ir.const_pointer(double))
    for source in operands.sources:
        kind = ir.const_pointer(ir.element(problem.dtype(source.grid)))
        for k in range(source.start, source.start + source.count):
            b.let(f"p{k}", into[k].to(kind))
    stores = [(k, ir.pointer(ir.element(problem.dtype(grid)))) for k, grid in enumerate(operands.stored)]
    for k, target in stores:
        for row in range(rows):
            b.let(f"q{k * rows + row}", out[k * rows + row].to(target))
    names = {node.name for i in step.stencils for node in pipeline.stencils[i].tape if isinstance(node, Scalar)}
    for k, title in enumerate(pipeline.scalars):
        if title in names:
            b.let(scalar_name(title), scalars[k], dtype)
    with b.loop(INDEX.name, 0, n, ir.Lanes(dtype)):
        b.emit(*_body(problem, step, _Pointers(problem, plan, operands, dtype), rows))
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
            kind = ir.element(problem.dtype(stencil.output))
            for (row, _), value in new.items():
                target = ir.Var(f"q{first + row}", ir.pointer(kind))
                block.need(value)
                whole = rounded(value, pointers.dtype, kind, stencil.rounding)
                block.body.append(ir.Store(target, INDEX, whole, block.kind))
    return tuple(block.body)


class _Pointers:
    """Where the vectors of a pass come from: rows that it is given pointers to."""

    def __init__(self, problem: PipelineProblem, plan: RowPlan, operands: PassPorts, dtype: ir.Element) -> None:
        self.sources, self.stored, self.dtype = {each.grid: each for each in operands.sources}, operands.stored, dtype
        self.problem, self.plan = problem, plan

    def key(self, read: Read, at: Place) -> tuple[int, int]:
        outer = tuple(o + (at[0] if axis == 0 else 0) for axis, o in enumerate(read.offset[:-1]))
        return self.sources[self.plan.kept(read.field)].number(outer), read.offset[-1]

    def vector(self, read: Read, at: Place) -> ir.Expr:
        pointer, along = self.key(read, at)
        kind = ir.element(self.problem.dtype(self.plan.kept(read.field)))
        base = ir.Var(f"p{pointer}", ir.const_pointer(kind))
        return ir.Load(base, INDEX + along, ir.vector(self.dtype))
