"""One pass of a streamed group as IR: several stencils in one loop over a row, several rows blocked in registers."""

from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.expression import Leaves, lower_tape, scalar_name
from tilewright.programs.expression import Read, Scalar
from tilewright.programs.pipeline_problem import PipelineProblem
from tilewright.tilings.rows import Pass, RowPlan

INDEX = ir.Var("i")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Rows of one grid that a pass reads: a box of offsets on the outer axes, in order.

    Attributes:
        grid: The grid.
        box: Per outer axis the first and the last offset; on the axis of blocked rows the last one of the last row.
        start: Number of its first pointer.
    """

    grid: str
    box: tuple[tuple[int, int], ...]
    start: int

    @property
    def count(self) -> int:
        """Number of its pointers."""
        total = 1
        for low, high in self.box:
            total *= high - low + 1
        return total

    def number(self, outer: tuple[int, ...]) -> int:
        """Number of the pointer to a row."""
        at = 0
        for offset, (low, high) in zip(outer, self.box, strict=True):
            at = at * (high - low + 1) + offset - low
        return self.start + at


@dataclass(frozen=True, slots=True, kw_only=True)
class PassPorts:
    """The pointers of a pass.

    Attributes:
        sources: What it reads.
        stored: Grids whose rows it stores, ``rows`` pointers each.
    """

    sources: tuple[Source, ...]
    stored: tuple[str, ...]


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
            sources.append(Source(grid=grid, box=tuple(boxes[grid]), start=start))
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
    doors = ports(problem, plan, step, rows)
    into, out = (
        ir.Var("in", ir.const_pointer(ir.const_pointer(dtype))),
        ir.Var("out", ir.const_pointer(ir.pointer(dtype))),
    )
    double = ir.element("float64")
    n, scalars = ir.Var("n"), ir.Var("scalar", ir.const_pointer(double))
    total = sum(source.count for source in doors.sources)
    kinds = (("p", into, total, ir.const_pointer(dtype)), ("q", out, len(doors.stored) * rows, ir.pointer(dtype)))
    head: list[ir.Stmt] = [
        ir.Let(ir.Var(f"{letter}{k}", kind), ir.Load(base, ir.Int(k), kind))
        for letter, base, count, kind in kinds
        for k in range(count)
    ]
    used = {node.name for i in step.stencils for node in pipeline.stencils[i].tape if isinstance(node, Scalar)}
    for k, title in enumerate(pipeline.scalars):
        if title in used:
            head.append(ir.Let(ir.Var(scalar_name(title), dtype), ir.Load(scalars, ir.Int(k), double)))
    body = _Body(problem, step, doors, dtype).write(rows)
    loop = ir.For(var=INDEX, low=ir.Int(0), high=n, step=ir.Lanes(dtype), body=body)
    return ir.Function(name=name, params=(into, out, n, scalars), body=(*head, loop))


class _Body:
    """The statements of one iteration; every distinct vector is loaded once for all rows and stencils that use it."""

    def __init__(self, problem: PipelineProblem, step: Pass, doors: PassPorts, dtype: ir.Element) -> None:
        self.problem, self.step, self.doors, self.dtype = problem, step, doors, dtype
        self.loaded: dict[tuple[int, int], ir.Var] = {}
        self.pending: dict[ir.Var, ir.Let] = {}
        self.body: list[ir.Stmt] = []

    def write(self, rows: int) -> tuple[ir.Stmt, ...]:
        values: dict[tuple[str, int], ir.Expr] = {}
        for number in self.step.stencils:
            stencil = self.problem.pipeline.stencils[number]
            written = []
            for row in range(rows):

                def read(node: Read, row: int = row) -> ir.Expr:
                    if (node.field, row) in values:
                        return values[node.field, row]
                    return self.load(node, row)

                leaves = Leaves(dtype=self.dtype, read=read, vector=True)
                lets, value = lower_tape(stencil.tape, leaves, prefix=f"t{number}_{row}_")
                values[stencil.output, row] = value
                written.append(lets)
            self.interleave(written)
            if stencil.output in self.doors.stored:
                first = self.doors.stored.index(stencil.output) * rows
                for row in range(rows):
                    target = ir.Var(f"q{first + row}", ir.pointer(self.dtype))
                    self.body.append(ir.Store(target, INDEX, values[stencil.output, row], ir.vector(self.dtype)))
        return tuple(self.body)

    def interleave(self, rows: list[tuple[ir.Stmt, ...]]) -> None:
        """Write the operations of the rows in turn, so that neighbouring ones are independent."""
        for together in zip(*rows, strict=True):
            for statement in together:
                if isinstance(statement, ir.Let) and isinstance(statement.value, ir.Var):
                    load = self.pending.pop(statement.value, None)
                    if load is not None:
                        self.body.append(load)
                self.body.append(statement)

    def load(self, node: Read, row: int) -> ir.Var:
        source = next(s for s in self.doors.sources if s.grid == node.field)
        outer = tuple(o + (row if axis == 0 else 0) for axis, o in enumerate(node.offset[:-1]))
        key = (source.number(outer), node.offset[-1])
        if key not in self.loaded:
            var = ir.Var(f"r{len(self.loaded)}", ir.vector(self.dtype))
            base = ir.Var(f"p{key[0]}", ir.const_pointer(self.dtype))
            self.pending[var] = ir.Let(var, ir.Load(base, ir.add(INDEX, node.offset[-1]), var.type))
            self.loaded[key] = var
        return self.loaded[key]
