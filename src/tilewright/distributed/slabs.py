"""One pass over a grid on disk slab by slab, many steps each; the next is read and the last written meanwhile."""

import math
from dataclasses import replace

from tilewright.base.errors import ArrayError
from tilewright.base.intmath import ceil_div, round_up
from tilewright.base.units import format_over
from tilewright.costs.transfers import Passes, passes
from tilewright.distributed.compute import Computer, Turns, copied_seconds, expected_seconds, session_bytes
from tilewright.distributed.points import GridPoints
from tilewright.distributed.streams import Buffers, Levels, Transfers, streamed
from tilewright.distributed.windows import Window, depths, window
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.boundaries import FIXED
from tilewright.programs.stencil.forms import extend, wrapped_axes
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.memory import HUGE_PAGE

_BLOCK = 16  # steps of a block on a periodic grid that estimates of memory count with
_ROW_PADDING = 1.15  # memory of a field over its values: ends of rows and of versions


def plan(  # noqa: PLR0913
    problem: Problem,
    memory: int,
    machine: Machine,
    computer: Computer,
    steps: int | None = None,  # per pass, if an earlier part of the run has decided
    points: GridPoints | None = None,
    *,
    within: float = math.inf,  # seconds; for a run that takes no less, no kernel is made and None is returned
) -> Passes | None:
    """Choose slabs and the steps of a pass by the model of :mod:`tilewright.costs.transfers`."""
    wraps = 0 in wrapped_axes(problem)
    row = problem.cells // problem.shape[0] * problem.itemsize
    copied, case = computer.copies(problem), streamed(problem, machine)
    places, expected = (1, copied_seconds) if copied else (2, expected_seconds)
    case = replace(
        case,
        held_bytes=places * (case.read_bytes + case.write_bytes) + row * _session_rows(problem),
        memory=memory,
        # Levels are then where they were; else they are moved for a last step of its own.
        unit=max(map(problem.program.history, problem.program.updated)),
    )
    once = case.passes(0.0, steps=case.steps, rows=0, slabs=1).disk_seconds
    times: dict[tuple[int, int], float] = {}

    def seconds(rows: int, count: int) -> float:
        if ceil_div(case.steps, count) * once >= within:
            return math.inf  # the disk alone takes as long
        like = 1 << (count.bit_length() - 1)  # a few predictions stand for all: the time per step hardly changes
        if (rows, like) not in times:
            part = replace(problem, shape=(rows, *problem.shape[1:]), steps=like)
            times[rows, like] = expected(part, machine, computer.target.backend)
        return times[rows, like] * count / like

    while True:
        chosen = passes(case, lambda count: depths(problem, count)[0], seconds, wraps=wraps, fixed=steps)
        if chosen is None:
            rows = min(problem.shape[0], sum(depths(problem, steps or min(case.steps, case.unit))[0]) + 1)
            least = rows * case.held_bytes + memory - case.memory
            need, available = format_over(math.ceil(least), memory)
            raise ArrayError(
                f"a slab of this run needs {need} of memory, and has {available}",
                "slabs are cut along the first axis: put the longest one there",
            )
        if chosen.seconds >= within:
            return None
        shapes = {each.problem.boundaries: each.problem for each in slabs(problem, chosen, chosen.steps)}
        last = problem.steps - chosen.steps * (chosen.count - 1)
        sessions = [
            session_bytes(computer.kernel(each, copies=not copied), replace(each, steps=count), computer.threads)
            for each in shapes.values()
            for count in {chosen.steps, last}
        ]
        needed = _allocation_bytes(Buffers.bytes(problem, chosen.rows, places)) + max(map(_allocation_bytes, sessions))
        needed += 0 if points is None else points.bytes(chosen.steps)
        if needed <= memory:
            return chosen
        # Some of it, as what every thread has, does not shrink with the rows.
        case = replace(case, memory=case.memory - max(needed - memory, memory // 100 + 1))


def _session_rows(problem: Problem) -> float:
    """Rows that a run in memory keeps per row of its window, by the program alone."""
    around = 1.0
    inner = replace(problem, boundaries=tuple(((FIXED, FIXED), *sides[1:]) for sides in problem.boundaries))
    extended = extend(inner, _BLOCK)
    if extended is not None:
        around = math.prod(extended.problem.shape[1:]) / math.prod(problem.shape[1:])
    return _ROW_PADDING * around * sum(problem.program.analysis.copies)


def _allocation_bytes(size: int) -> int:
    """Return what an allocation takes, which for large ones is whole huge pages."""
    return size if size < HUGE_PAGE else round_up(size, HUGE_PAGE)


def slabs(problem: Problem, chosen: Passes, steps: int) -> list[Window]:
    """Cut a grid into slabs with windows of equally many rows, but perhaps the last, for at most ``chosen.steps``."""
    extent, windows = problem.shape[0], []
    cross_section = tuple((0, size) for size in problem.shape[1:])
    if chosen.rows >= extent:
        return [window(problem, ((0, extent), *cross_section), steps)]
    below, above = depths(problem, chosen.steps)[0]
    wraps = 0 in wrapped_axes(problem)
    low = 0
    while low < extent:
        inner = chosen.rows - above - (below if wraps else min(low, below))
        high = extent if not wraps and low - min(low, below) + chosen.rows >= extent else min(extent, low + inner)
        each = window(problem, ((low, high), *cross_section), chosen.steps)
        windows.append(replace(each, problem=replace(each.problem, steps=steps)))
        low = high
    return windows


class Slabs:
    """Makes the passes of a run."""

    def __init__(self, problem: Problem, chosen: Passes, computer: Computer, points: GridPoints | None = None) -> None:
        self._problem, self._chosen, self._computer, self._points = problem, chosen, computer, points
        self._buffers = Buffers(problem, chosen.rows, 1 if computer.copies(problem) else 2)

    def stream(self, steps: int, source: Levels, target: Levels, start: int) -> None:
        """Make one pass, after ``start`` steps."""
        points, windows = self._points, slabs(self._problem, self._chosen, steps)
        table = {} if points is None else points.table(start, steps)
        coming = [each.span[0] for each in windows]
        with Transfers(coming, self._problem.shape[0], source, target, self._buffers) as files:
            for each in windows:
                arrays, rows, turns = files.arrived(), each.inner[0], None
                if self._buffers.places == 1:
                    turns = Turns(read=files.read_ahead, wait=files.write_behind, rows=rows)
                else:
                    files.read_ahead()
                    files.write_behind()
                results = files.results(each.span[0])
                own = None if points is None else points.window(each.span, each.box)
                self._computer.run(each.problem, arrays, results, start, own, table, turns=turns)
                files.write(each.box[0][0], {f: [level[rows] for level in levels] for f, levels in results.items()})
        if points is not None:
            points.finish(table, start)
