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
from collections.abc import Iterator

from tilewright.base.intmath import ceil_div
from tilewright.codegen import ir
from tilewright.codegen.gpu.site import GpuSite, Kernel, Launch, NewCell, global_index, offsets, stride, unpack
from tilewright.codegen.sites import extent
from tilewright.programs.stencil.dependences import plane_weights
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement
from tilewright.schedules.code import GpuSchedule

_STEP, _PLANE = ir.Var("t"), ir.Var("plane")


def sweep_kernels(
    site: GpuSite, schedule: GpuSchedule, first: int = 0, now: ir.Var | None = None
) -> tuple[Kernel, ...]:
    """Make one kernel per stage of a step, numbered from ``first`` on.

    Launches number the slot of the version that a step starts from; ``now`` names the step where that is not it.
    """
    return tuple(SweepKernel(site, schedule, stage, first + stage, now).kernel() for stage in range(len(site.stages)))


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
    program = problem.program
    own = (program.statements[i] for i in program.stages[stage])
    return any(read.field == s.field and read.level == 1 for s in own for read in s.reads)


class SweepKernel:
    """The kernel of a stage of a step."""

    def __init__(self, site: GpuSite, schedule: GpuSchedule, stage: int, number: int, now: ir.Var | None) -> None:
        self.site, self.schedule, self.stage, self.number = site, schedule, stage, number
        self.now = now or _STEP
        self.statements, self.here = site.stages[stage], site.places

    def kernel(self) -> Kernel:
        """Make the kernel."""
        numbers = list(dict.fromkeys([_STEP.name, self.now.name]))
        threads, write = math.prod(self.schedule.threads), self._block
        if _recurs(self.site.problem, self.stage):
            if self.site.rank == 1:
                threads, write = 1, self._line
            else:
                threads, write = self.schedule.plane_threads, self._plane
                numbers.append(_PLANE.name)
        self.b, entry = self.site.begin(self.number, threads, tuple(numbers))
        write()
        return self.b.function(), entry

    def _block(self) -> None:
        b, site, here, block = self.b, self.site, self.here, self.schedule.cells
        column = self.schedule.column
        threads = unpack(b, ir.THREAD, site.axes("i"), self.schedule.threads)
        groups = unpack(b, ir.GROUP, site.axes("g"), [ir.ceildiv(extent(axis), n) for axis, n in enumerate(block)])
        firsts = (threads[0] * column, *threads[1:])
        for x, group, n, first in zip(here, groups, block, firsts, strict=True):
            b.let(x.name, group * n + first)
        tests: list[ir.Expr] = []
        for axis, (group, n) in enumerate(zip(groups, block, strict=True)):
            low, high = offsets(site.problem, axis, bent=False)
            tests += [group * n + low >= 0, (group + 1) * n + high <= extent(axis)]
        with b.when(ir.every(tests)):
            for statement in self.statements:
                self._column(statement)
        with b.otherwise():
            if column == 1:
                self._cells(here)
            else:
                with b.loop("row", here[0], here[0] + column, unroll=1) as row:
                    self._cells((row, *here[1:]))

    def _cells(self, here: tuple[ir.Expr, ...]) -> None:
        for statement in self.statements:
            self.site.cell(self.b, statement, here, _STEP, self.now)

    def _column(self, statement: Statement) -> None:
        """Cells along axis 0 that are updated and read nothing outside the grid, from the first one on."""
        site, work = self.site, ir.Builder()
        at = ir.Var("at", ir.WIDE)
        lines: dict[str, ir.Let] = {}
        loads: dict[str, ir.Let] = {}
        results: list[tuple[ir.Expr, ir.Expr]] = []

        def line(field: str, level: int, offset: tuple[int, ...], *, const: bool = True) -> ir.Var:
            """Pointer to the value beside the thread's first cell, but for the last axis."""
            start = "line" if const else "out"
            pointer = ir.Var(_name(site, start, field, level, offset), ir.Pointer(site.dtype, const=const))
            index: ir.Expr = at
            for axis, distance in enumerate(offset):
                index = index + stride(axis) * distance
            lines.setdefault(pointer.name, ir.Let(pointer, site.layout(field).version(level, _STEP) + index))
            return pointer

        def value(node: Read, number: int) -> ir.Expr:
            offset = (node.offset[0] + number, *node.offset[1:])
            name = ir.Var(_name(site, "v", node.field, node.level, offset), site.dtype)
            loads.setdefault(name.name, ir.Let(name, line(node.field, node.level, offset[:-1])[offset[-1]]))
            return name

        for number in range(self.schedule.column):
            here = (self.here[0] + number, *self.here[1:])
            read = functools.partial(value, number=number)
            result = site.value(work, statement, read, NewCell(here, self.now), f"t{number}_")
            outer = (number, *(0,) * (site.rank - 1))[:-1]
            place = line(statement.field, 1, outer, const=False)
            results.append((place, work.let(f"new{number}", result)))
        with self.b.scope():
            self.b.let(at.name, global_index(self.here))
            self.b.emit(*lines.values(), *loads.values(), *work.statements())
            for pointer, result in results:
                self.b.set(pointer[0], result)

    def _line(self) -> None:
        with self.b.loop(self.here[0].name, 0, extent(0)):
            self._cells(self.here)

    def _plane(self) -> None:
        """The cells of a plane: one in every line along the last axis."""
        b, here = self.b, self.here
        line = b.let("line", ir.GROUP * self.schedule.plane_threads + ir.THREAD)
        unpack(b, line, [x.name for x in here[:-1]], [extent(axis) for axis in range(self.site.rank - 1)])
        last: ir.Expr = _PLANE
        for x, weight in zip(here[:-1], plane_weights(self.site.problem.program), strict=False):
            last = last - x * weight
        b.let(here[-1].name, last)
        self._cells(here)


def _name(site: GpuSite, start: str, field: str, level: int, offset: tuple[int, ...]) -> str:
    parts = [site.number(field), level, *offset]
    return start + "_".join(str(part).replace("-", "m") for part in parts)
