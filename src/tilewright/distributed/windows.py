"""A box of a grid that runs for several steps on its own: the box inside a *window* that overlaps its neighbours.

The window is the box and the cells around it that its values depend on (overlapped tiling of Krishnamoorthy et al.,
PLDI 2007; the *deep halo* or *ghost cell expansion* of Ding and He, SC 2001). A side of a window on which the grid ends
has the grid's boundary. A side on which it is cut is ``fixed``: its cells keep their values, what is wrong creeps
inwards by the reach per step, and stops short of the box.

Boxes are slabs of a grid on disk, chunks of Dask's, or the blocks of ranks; what a rank's window holds of whose block
is known without any message.
"""

import itertools
import math
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.facts import fact
from tilewright.programs.stencil.boundaries import FIXED, Boundary, Sides
from tilewright.programs.stencil.forms import all_wrap, wrapped_axes
from tilewright.programs.stencil.problem import Part, Problem
from tilewright.programs.stencil.program import Program

Range = tuple[int, int]
Box = tuple[Range, ...]  # per axis a half-open range of cells
_FOLLOWED = 4096  # steps that are followed one by one; beyond, values are taken to be wrong as fast as they can be


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A box with what it depends on for a number of steps."""

    problem: Problem  # on the window
    span: Box  # in cells of the grid; where that wraps it may begin below 0 and end above the extent
    box: Box  # cells that are right after the steps

    @property
    def inner(self) -> tuple[slice, ...]:
        """Where the box lies in the window."""
        return slices(self.box, self.span)


def slices(box: Box, within: Box | None = None) -> tuple[slice, ...]:
    """Return where a box lies in an array of another box's cells; by default of the whole grid's."""
    starts = [0] * len(box) if within is None else [start for start, _ in within]
    return tuple(slice(low - start, high - start) for (low, high), start in zip(box, starts, strict=True))


def check_cut(problem: Problem, axes: tuple[int, ...]) -> None:
    """Check that a grid may be cut along some axes."""
    name = problem.program.name
    if axes and problem.program.analysis.sweep:
        raise UsageError(
            f"{name!r} reads values of its own step, so that its grid cannot be cut", "run it in memory, on one process"
        )
    for axis in set(axes) & set(wrapped_axes(problem)):
        if not all_wrap(problem, axis):
            raise UsageError(
                f"the grid of {name!r} is cut along axis {axis}, on which some fields wrap and others do not",
                "give every field that is read across it the boundary 'wrap', or none",
            )


def depths(problem: Problem, steps: int) -> tuple[Range, ...]:
    """Return how many cells around a box its values depend on, per axis below and above.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> from tilewright.programs.stencil.problem import make_problem
    >>> depths(make_problem(program("wave2d"), (64, 64), 10), 5)
    ((5, 5), (5, 5))
    """
    creep = _creep(problem.program, problem.boundaries)
    return tuple((creep[axis, 0].after(steps), creep[axis, 1].after(steps)) for axis in range(problem.program.rank))


@fact
def _creep(program: Program, boundaries: tuple[Sides, ...]) -> dict[tuple[int, int], "_Creep"]:
    problem = Problem(program=program, shape=(1,) * program.rank, steps=0, boundaries=boundaries)
    return {(axis, side): _Creep(problem, axis, side) for axis in range(program.rank) for side in (0, 1)}


class _Creep:
    """How far from a side that is cut values are wrong, step by step.

    A cell there that reads across the cut keeps its values, on every level the newest; cells that read what is wrong
    are wrong themselves. ``mirror`` and ``reflect`` at the other end bend reads towards the cut.
    """

    def __init__(self, problem: Problem, axis: int, side: int) -> None:
        self._program = problem.program
        self._stages = problem.program.stages
        kinds = {each.kind for sides in problem.boundaries for each in sides[axis]}
        bend = 0 if "mirror" in kinds else 1 if "reflect" in kinds else None
        self._reads = {
            statement.field: [
                (read.field, read.level, _towards(read.offset[axis], side, bend)) for read in statement.reads
            ]
            for statement in problem.program.statements
        }
        self._held = {
            field: max([0, *(read.offset[axis] * (1 if side else -1) for read in statement.reads)])
            for field, statement in zip(self._reads, problem.program.statements, strict=True)
        }
        self._wrong = {field: [0, *[edge] * (problem.program.history(field) - 1)] for field, edge in self._held.items()}
        self._known = [0]
        self._lock = threading.Lock()

    def after(self, steps: int) -> int:
        with self._lock:
            for _ in range(len(self._known), min(steps, _FOLLOWED) + 1):
                self._advance()
        if steps < len(self._known):
            return self._known[steps]
        fastest = len(self._stages) * max(each[2] for reads in self._reads.values() for each in reads)
        return self._known[-1] + (steps - len(self._known) + 1) * fastest

    def _advance(self) -> None:
        new: dict[str, int] = {}
        for stage in self._stages:
            for number in stage:
                field = self._program.statements[number].field
                distances = [self._held[field]]
                for name, level, distance in self._reads[field]:
                    wrong = new.get(name, 0) if level == 1 else self._wrong.get(name, [0])[-level]
                    distances.append(wrong + distance)
                new[field] = max(distances)
        for field, levels in self._wrong.items():
            levels[:] = [new[field], *levels[:-1]]
        self._known.append(max(self._known[-1], *(max(levels) for levels in self._wrong.values())))


def _towards(offset: int, side: int, bend: int | None) -> int:
    """Return how far a read reaches towards a cut; what goes the other way may be bent back at the grid's end."""
    distance = offset if side else -offset
    if distance >= 0:
        return distance
    return 0 if bend is None else max(0, -distance - bend)


def window(problem: Problem, box: Box, steps: int) -> Window:
    """Return the window of a box.

    An axis on which the box is the whole grid is not cut: it keeps its boundary, ``wrap`` too.
    """
    spans, ends = [], []
    wrapped = set(wrapped_axes(problem))
    for axis, (extent, (low, high), (below, above)) in enumerate(
        zip(problem.shape, box, depths(problem, steps), strict=True)
    ):
        if (low, high) == (0, extent):
            spans.append((0, extent))
            ends.append((True, True))
        elif axis in wrapped:
            spans.append((low - below, high + above))
            ends.append((False, False))
        else:
            spans.append((max(0, low - below), min(extent, high + above)))
            ends.append((low - below <= 0, high + above >= extent))
    shape = tuple(end - start for start, end in spans)
    inner = placed(part(problem, shape, steps, ends), problem, tuple(start for start, _ in spans))
    return Window(problem=inner, span=tuple(spans), box=box)


def placed(window: Problem, problem: Problem, start: Sequence[int]) -> Problem:
    """Say where a window lies in the grid, if the program computes with its cells' places."""
    if not problem.program.placed:
        return window
    return replace(window, part=Part(start=tuple(start), shape=problem.shape))


def part(problem: Problem, shape: tuple[int, ...], steps: int, ends: Sequence[tuple[bool, bool]]) -> Problem:
    """Return the problem on a window; ``ends`` says, below and above per axis, where the grid ends and is not cut."""
    boundaries = tuple(tuple(map(_cut_sides, sides, ends)) for sides in problem.boundaries)
    return replace(problem, shape=shape, steps=steps, boundaries=boundaries)


def _cut_sides(pair: tuple[Boundary, Boundary], ends: tuple[bool, bool]) -> tuple[Boundary, Boundary]:
    """Return the boundaries of an axis of a window; ``wrap`` that is cut but never read across is as good as fixed."""
    wraps = pair[0].kind == "wrap" and not all(ends)
    return (pair[0] if ends[0] and not wraps else FIXED, pair[1] if ends[1] and not wraps else FIXED)


def pieces(span: Range, extent: int) -> Iterator[tuple[Range, int]]:
    """Cut a range of a periodic axis into ranges of the grid, each with where it begins in the span.

    >>> list(pieces((-3, 5), 4))
    [((1, 4), 0), ((0, 4), 3), ((0, 1), 7)]
    """
    at = span[0]
    while at < span[1]:
        first = at % extent
        count = min(span[1] - at, extent - first)
        yield (first, first + count), at - span[0]
        at += count


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowPart:
    """A box of one block that another block's window holds."""

    box: Box  # in cells of the grid
    at: tuple[int, ...]  # where it begins in the window

    @property
    def cells(self) -> int:
        """Number of its cells."""
        return math.prod(high - low for low, high in self.box)

    @property
    def target(self) -> tuple[slice, ...]:
        """Where it lies in the window."""
        return tuple(slice(at, at + high - low) for at, (low, high) in zip(self.at, self.box, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decomposition:
    """How a grid is dealt to ranks: in equal blocks, the first a cell larger where it does not divide, as PETSc's."""

    shape: tuple[int, ...]  # of the grid
    topology: tuple[int, ...]  # ranks per axis; the last axis varies fastest in a rank's number

    def __post_init__(self) -> None:
        for axis, (extent, ranks) in enumerate(zip(self.shape, self.topology, strict=True)):
            if ranks > extent:
                raise UsageError(
                    f"axis {axis} has {extent} cells, fewer than the {ranks} ranks that the topology "
                    f"{self.topology} puts there",
                    "take fewer ranks or another topology",
                )

    @property
    def size(self) -> int:
        """Number of ranks."""
        return math.prod(self.topology)

    def ranges(self, axis: int) -> list[Range]:
        """Return the cells of every rank along an axis.

        >>> Decomposition(shape=(7,), topology=(3,)).ranges(0)
        [(0, 3), (3, 5), (5, 7)]
        """
        each, more = divmod(self.shape[axis], self.topology[axis])
        starts = [rank * each + min(rank, more) for rank in range(self.topology[axis] + 1)]
        return list(itertools.pairwise(starts))

    def block(self, rank: int) -> Box:
        """Return the cells of a rank."""
        box = []
        for axis in reversed(range(len(self.topology))):
            rank, place = divmod(rank, self.topology[axis])
            box.append(self.ranges(axis)[place])
        return tuple(reversed(box))


@dataclass(frozen=True, slots=True, kw_only=True)
class Halo:
    """What a rank's window holds of every rank, its own block included."""

    window: Window  # of its block
    # by rank, the boxes of that rank's block; of its own also the copies of a grid that wraps
    parts: dict[int, tuple[WindowPart, ...]]


def halo(problem: Problem, layout: Decomposition, rank: int, steps: int) -> Halo:
    """Find what a rank's window holds for a number of steps."""
    own = window(problem, layout.block(rank), steps)
    axes = [_along(layout, axis, span) for axis, span in enumerate(own.span)]
    parts: dict[int, list[WindowPart]] = {}
    for segments in itertools.product(*axes):
        owner = int(np.ravel_multi_index([place for place, _, _ in segments], layout.topology))
        part = WindowPart(box=tuple(cells for _, cells, _ in segments), at=tuple(at for _, _, at in segments))
        parts.setdefault(owner, []).append(part)
    return Halo(window=own, parts={owner: tuple(each) for owner, each in sorted(parts.items())})


def _along(layout: Decomposition, axis: int, span: Range) -> list[tuple[int, Range, int]]:
    """Cut a window along one axis: whose cells, which ones, and where they begin in the window."""
    segments = []
    for (low, high), at in pieces(span, layout.shape[axis]):
        for place, (first, last) in enumerate(layout.ranges(axis)):
            a, b = max(low, first), min(high, last)
            if a < b:
                segments.append((place, (a, b), at + a - low))
    return segments


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """A block cut into what depends on it alone, and the rest."""

    interior: Window  # computed while messages travel; its window is the block
    strips: tuple[Window, ...]  # computed afterwards; their windows lie in that of the block


def split(problem: Problem, layout: Decomposition, rank: int, steps: int) -> Split | None:
    """Cut a rank's block into interior and strips along the cut sides; None where it is too small or nothing is cut."""
    block, wrapped = layout.block(rank), set(wrapped_axes(problem))
    inner, ends = [], []
    for axis, ((low, high), (below, above)) in enumerate(zip(block, depths(problem, steps), strict=True)):
        whole = (low, high) == (0, problem.shape[axis])
        first = whole or (low == 0 and axis not in wrapped)
        last = whole or (high == problem.shape[axis] and axis not in wrapped)
        inner.append((low if first else low + below, high if last else high - above))
        ends.append((first, last))
    if any(low >= high for low, high in inner) or tuple(inner) == block:
        return None
    start = tuple(low for low, _ in block)
    alone = part(problem, tuple(high - low for low, high in block), steps, ends)
    interior = Window(problem=placed(alone, problem, start), span=block, box=tuple(inner))
    strips = []
    for axis, ((low, high), (inner_low, inner_high)) in enumerate(zip(block, inner, strict=True)):
        for begin, end in ((low, inner_low), (inner_high, high)):
            if begin < end:
                box = (*inner[:axis], (begin, end), *block[axis + 1 :])
                strips.append(window(problem, box, steps))
    return Split(interior=interior, strips=tuple(strips))
