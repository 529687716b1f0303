"""The geometry of a pipeline of time levels that streams along axis 0, in overlapped tiles on the other axes.

A *unit* is one stage of one step inside a *band* of steps. All units of a tile advance together, ``rows`` cells of axis
0 at a time; unit ``(t, s)`` runs ``t * lag.period + lag.offsets[s]`` cells behind, so that what it reads is computed
already. Across the other axes a tile computes, at every unit, as many cells beyond its own as the rest of the band
needs: ``steps left * period + offset`` on each side. The same holds at the two ends of a tile on axis 0.

A program in 1D has no axis to stream along: it runs as one in 2D whose axis 0 has a single cell.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE
from tilewright.base.facts import fact
from tilewright.programs.stencil.boundaries import Boundary, Sides, bend
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.schedules.tree.affine import Integer


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelGrowth:
    """Distances that grow by a period per step and start with an offset per stage."""

    period: int  # cells per step
    offsets: tuple[int, ...]  # further cells, per stage

    def at(self, steps: Integer, stage: int) -> Integer:
        """Cells after (or before) a number of steps, for a stage."""
        return steps * self.period + self.offsets[stage]


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelPipeline:
    """The pipeline of a program and its boundaries; tile sizes do not matter."""

    stages: tuple[tuple[int, ...], ...]  # statements per stage; stage 0 hands on fields that are never updated
    stage_of: tuple[int, ...]  # per field, the stage that produces it
    history: tuple[int, ...]  # per field, the versions that a band starts from and that it leaves behind
    versions: tuple[int, ...]  # per field, the most versions that are in use at a time
    lag: LevelGrowth  # how far a unit runs behind on axis 0
    keep: tuple[int, ...]  # per field, cells of axis 0 that must outlive an advance
    below: tuple[LevelGrowth, ...]  # per axis, how far a unit's cells extend below the tile
    above: tuple[LevelGrowth, ...]  # per axis, how far they extend above
    # per field and axis, cells outside the grid that are read below and above
    ghosts: tuple[tuple[tuple[int, int], ...], ...]

    def halo(self, levels: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the cells that a tile of some levels loads below and above its own, per axis."""
        pairs = zip(self.history, self.stage_of, strict=True)
        ages = [(levels + age, stage) for versions, stage in pairs for age in range(versions)]

        def most(sides: tuple[LevelGrowth, ...]) -> tuple[int, ...]:
            return tuple(max(side.at(left, stage) for left, stage in ages) for side in sides)

        return most(self.below), most(self.above)

    def extra_rows(self, levels: int) -> int:
        """Return the advances of a tile of a band besides one per own row: its halo, and the lag of its levels."""
        lag, below, above = self.lag, self.below[0], self.above[0]
        versions = zip(self.history, self.stage_of, strict=True)
        first = [
            lag.at(-1 - age, stage) - below.at(levels + age, stage) for kept, stage in versions for age in range(kept)
        ]
        last = [lag.at(levels - 1, stage) + above.at(0, stage) for stage in range(len(self.stages))]
        return max(last) - min(first)


@dataclass(frozen=True, slots=True)
class _Edge:
    """The consumer's stage reads what the producer's stage computed ``steps`` steps earlier."""

    field: int
    producer: int
    consumer: int
    steps: int
    offset: tuple[int, ...]


@fact
def of_program(
    program: Program,
    boundaries: tuple[Sides, ...],
    pause: int = 0,  # cells of further lag; with the rows of an advance, all its units run at the same time
    *,
    # whether only reads of other columns along axis 0 pause: the units of one run in the order of their steps
    columns: bool = False,
) -> LevelPipeline:
    """Return the pipeline of a program under boundaries (``Problem.boundaries``)."""
    stages = program.stages
    stage_of = tuple(
        next((s for s, stage in enumerate(stages) for i in stage if program.statements[i].field == field), 0)
        for field in program.fields
    )
    edges = list(_edges(program, stages, stage_of))
    rank = program.rank + (program.rank == 1)
    reach = {edge: _reach(edge, boundaries, rank) for edge in edges}
    waits = {edge: 0 if columns and not any(edge.offset[1:]) else pause for edge in edges}
    lag = _solve(len(stages), [(e.producer, e.consumer, e.steps, reach[e][0][1] + waits[e]) for e in edges])
    keep = [0] * len(program.fields)
    for e in edges:
        behind = lag.at(e.steps, e.consumer) - lag.offsets[e.producer]
        keep[e.field] = max(keep[e.field], behind + reach[e][0][0])
    sides = [
        [
            _solve(len(stages), [(e.consumer, e.producer, e.steps, reach[e][axis][side]) for e in edges])
            for side in (0, 1)
        ]
        for axis in range(rank)
    ]
    most = [max([1, *(e.steps for e in edges if e.field == f)]) for f in range(len(program.fields))]
    return LevelPipeline(
        stages=stages,
        stage_of=stage_of,
        history=tuple(program.history(field) for field in program.fields),
        versions=tuple(steps + 1 for steps in most),
        lag=lag,
        keep=tuple(keep),
        below=tuple(pair[0] for pair in sides),
        above=tuple(pair[1] for pair in sides),
        ghosts=tuple(_ghosts(edges, f, boundaries[f], rank) for f in range(len(program.fields))),
    )


def of_problem(problem: Problem, pause: int = 0, *, columns: bool = False) -> LevelPipeline:
    """Return the pipeline of a problem; see :func:`of_program`."""
    return of_program(problem.program, problem.boundaries, pause, columns=columns)


def line_cells(problem: Problem) -> int:
    """Cells of a cache line."""
    return CACHE_LINE // problem.itemsize


def _edges(program: Program, stages: Sequence[Sequence[int]], stage_of: Sequence[int]) -> Iterator[_Edge]:
    rank = program.rank
    for field, stage in enumerate(stage_of):
        # Cells that are not updated are taken over from the version before.
        yield _Edge(field, stage, stage, 1, _pad((0,) * rank))
    for stage, numbers in enumerate(stages):
        for i in numbers:
            for read in program.statements[i].reads:
                field = program.fields.index(read.field)
                if read.level < 1 or stage_of[field] < stage:  # others are recurrences, which no pipeline can run
                    yield _Edge(field, stage_of[field], stage, 1 - read.level, _pad(read.offset))


def _pad(offset: tuple[int, ...]) -> tuple[int, ...]:
    return (0, *offset) if len(offset) == 1 else offset


def _reach(edge: _Edge, boundaries: tuple[Sides, ...], rank: int) -> tuple[tuple[int, int], ...]:
    """Per axis, how far a read extends below and above, boundaries that bend it included."""
    result = []
    for axis in range(rank):
        distance = edge.offset[axis]
        own = boundaries[edge.field]
        back = bend(own[axis - (rank - len(own))], distance) if axis >= rank - len(own) else 0
        result.append((max(0, -distance, back), max(0, distance, back)))
    return tuple(result)


def _ghosts(edges: list[_Edge], field: int, sides: Sides, rank: int) -> tuple[tuple[int, int], ...]:
    result = []
    for axis in range(rank):
        pair = sides[axis - (rank - len(sides))] if axis >= rank - len(sides) else (Boundary(), Boundary())
        offsets = [edge.offset[axis] for edge in edges if edge.field == field]
        low = max(0, *(-o for o in offsets)) if pair[0].kind != "fixed" else 0
        high = max(0, *offsets) if pair[1].kind != "fixed" else 0
        result.append((low, high))
    return tuple(result)


def _solve(stages: int, rules: list[tuple[int, int, int, int]]) -> LevelGrowth:
    """Return the smallest period, then offsets, with ``x[b] + steps * period >= x[a] + w`` per (a, b, steps, w)."""
    period = 0
    while True:  # ends: rules within a step have no circle
        offsets = [0] * stages
        for _ in range(stages + 1):
            before = list(offsets)
            for a, b, steps, w in rules:
                offsets[b] = max(offsets[b], offsets[a] + w - steps * period)
            if offsets == before:
                return LevelGrowth(period=period, offsets=tuple(offsets))
        period += 1
