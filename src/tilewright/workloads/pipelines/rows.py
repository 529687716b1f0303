"""How a group of fused stencils runs on a CPU: strips whose rows are streamed, intermediate rows kept in cache.

A *tile* is a band of rows (planes in 3D) by a strip of columns. Inside it the rows advance together, ``rows`` at a
time: every stencil runs a few rows behind what it reads (its *lag*), so an intermediate grid needs a ring of a few rows
instead of a tile of its own. Tiles overlap by the halos of :mod:`tilewright.workloads.pipelines.fusions`. Stencils that
read each other only at the cell itself and run at the same lag are computed in one *pass* over a row.

Borders add reach: a row outside that stands for one inside (``reflect``, ``mirror``) lies on the cell's other
side.
"""

from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE
from tilewright.base.errors import IllegalTilingError
from tilewright.base.units import format_shape
from tilewright.workloads.pipelines.fusions import Group, GroupPlan, plan_group
from tilewright.workloads.pipelines.problem import Halo, PipelineProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class RowTile:
    """Sizes of a tile on a CPU."""

    width: int  # columns of a strip
    band: int = 0  # rows (planes in 3D) of a band; 0 for one band per thread
    rows: int = 2  # rows that advance together; 1 in 3D
    lines: int = 32  # lines of a plane in 3D


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """Stencils that are computed in one loop over a row."""

    stencils: Group  # numbers
    lag: int  # rows that it runs behind the first input row
    halo: Halo  # cells beyond the tile that it computes


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGrid:
    """How a grid of a group is kept in a tile."""

    name: str
    halo: Halo  # cells beyond the tile that its rows hold
    lag: int  # rows that it runs behind the first input row
    depth: int  # rows of its ring


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPlan:
    """A group, laid out in rows."""

    group: GroupPlan  # what it reads and writes
    passes: tuple[Pass, ...]  # its passes in order
    grids: tuple[RowGrid, ...]  # its grids: inputs, then what it computes

    def grid(self, name: str) -> RowGrid:
        """One grid of the group."""
        return next(grid for grid in self.grids if grid.name == name)


def folds(problem: PipelineProblem, grid: str, axis: int) -> bool:
    """Whether a cell outside may stand for one at the other side of the cell that reads it."""
    return any(side.kind in {"reflect", "mirror"} for side in problem.sides(grid)[axis])


def reach(problem: PipelineProblem, stencil: int, grid: str, axis: int) -> tuple[int, int]:
    """Rows below and above a cell that a stencil may read of a grid, its border included."""
    below, above = problem.pipeline.stencils[stencil].reach(grid)[axis]
    return (max(below, above),) * 2 if folds(problem, grid, axis) else (below, above)


def plan_rows(problem: PipelineProblem, group: Group, rows: int) -> RowPlan:
    """Lay out a group of which ``rows`` rows advance together."""
    plan = plan_group(problem.pipeline, group)
    if reason := streamable(problem, group):
        raise IllegalTilingError(reason, "run its stencils one by one")
    lags, halos = _lags(problem, plan), halos_of(problem, plan)
    passes = _passes(problem, group, lags, halos)
    grids = []
    for name in problem.pipeline.grids:
        producer = problem.pipeline.producer(name)
        inside = producer is not None and producer in group
        if not inside and name not in plan.inputs:
            continue
        lag = lags[producer] if inside and producer is not None else 0
        readers = [i for i in group if name in problem.pipeline.stencils[i].inputs]
        depth = max((lags[i] + reach(problem, i, name, 0)[0] for i in readers), default=lag) - lag + rows
        grids.append(RowGrid(name=name, halo=halos[name], lag=lag, depth=depth))
    return RowPlan(group=plan, passes=passes, grids=tuple(grids))


def streamable(problem: PipelineProblem, group: Group) -> str:
    """Return why a group cannot run in one go, or an empty string.

    A grid that wraps is computed beyond its ends, so what it is made of must wrap too. A row outside that stands for
    one inside must still be at hand, so the grids must be larger than the reach.
    """
    plan = plan_group(problem.pipeline, group)
    for number in group:
        stencil = problem.pipeline.stencils[number]
        if stencil.output not in plan.inner:
            continue
        for axis in range(problem.pipeline.rank):
            wraps = problem.sides(stencil.output)[axis][0].kind == "wrap"
            for grid in stencil.inputs:
                if wraps != (problem.sides(grid)[axis][0].kind == "wrap") and (wraps or grid in plan.inner):
                    return f"{stencil.output} and {grid}, which it is made of, do not both wrap on axis {axis}"
    for grid in plan.inner:
        readers = [i for i in group if grid in problem.pipeline.stencils[i].inputs]
        for axis in range(problem.pipeline.rank):
            most = max(max(reach(problem, i, grid, axis)) for i in readers)
            if problem.shape[axis] <= most and problem.sides(grid)[axis][0].kind != "wrap":
                return f"a grid of {format_shape(problem.shape)} is smaller than the reach {most} on axis {axis}"
    return ""


def _lags(problem: PipelineProblem, plan: GroupPlan) -> dict[int, int]:
    lags: dict[int, int] = {}
    for number in plan.stencils:
        stencil = problem.pipeline.stencils[number]
        behind = []
        for grid in stencil.inputs:
            producer = problem.pipeline.producer(grid)
            behind.append(lags.get(producer if producer is not None else -1, 0) + reach(problem, number, grid, 0)[1])
        lags[number] = max(behind)
    return lags


def halos_of(problem: PipelineProblem, plan: GroupPlan) -> dict[str, Halo]:
    """Halos by longest path, over the reach that borders may add."""
    rank = problem.pipeline.rank
    halos: dict[str, Halo] = dict.fromkeys(
        (*plan.inputs, *(_output(problem, i) for i in plan.stencils)), ((0, 0),) * rank
    )
    for number in reversed(plan.stencils):
        own = halos[_output(problem, number)]
        for grid in problem.pipeline.stencils[number].inputs:
            steps = tuple(reach(problem, number, grid, axis) for axis in range(rank))
            halos[grid] = tuple(
                (max(g[0], o[0] + s[0]), max(g[1], o[1] + s[1]))
                for g, o, s in zip(halos[grid], own, steps, strict=True)
            )
    return halos


def _output(problem: PipelineProblem, number: int) -> str:
    return problem.pipeline.stencils[number].output


def _passes(problem: PipelineProblem, group: Group, lags: dict[int, int], halos: dict[str, Halo]) -> tuple[Pass, ...]:
    """Put every stencil in the last pass that it may join; conversions stay alone."""
    passes: list[list[int]] = []
    home: dict[str, int] = {}
    for number in group:
        stencil = problem.pipeline.stencils[number]
        earliest = 0
        for grid in stencil.inputs:
            if grid in home:
                centred = all(sum(pair) == 0 for pair in stencil.reach(grid))
                earliest = max(earliest, home[grid] + (0 if centred else 1))
        kind = (lags[number], halos[stencil.output], problem.dtype(stencil.inputs[0]), stencil.convert)
        place = next(
            (
                k
                for k in range(earliest, len(passes))
                if not stencil.convert and kind == _kind(problem, passes[k][0], lags, halos)
            ),
            len(passes),
        )
        if place == len(passes):
            passes.append([])
        passes[place].append(number)
        home[stencil.output] = place
    return tuple(
        Pass(stencils=tuple(part), lag=lags[part[0]], halo=halos[_output(problem, part[0])]) for part in passes
    )


def _kind(
    problem: PipelineProblem, number: int, lags: dict[int, int], halos: dict[str, Halo]
) -> tuple[int, Halo, str, str]:
    stencil = problem.pipeline.stencils[number]
    return lags[number], halos[stencil.output], problem.dtype(stencil.inputs[0]), stencil.convert


def pitch(problem: PipelineProblem, grid: RowGrid, width: int) -> int:
    """Elements between rows of a ring: the strip, its halos, what a vector may overshoot, an odd number of lines."""
    size = problem.itemsize(grid.name)
    lines = -(-(width + sum(grid.halo[-1])) * size // CACHE_LINE) + 1
    return (lines | 1) * CACHE_LINE // size


def ring_bytes(problem: PipelineProblem, plan: RowPlan, tile: RowTile, *, inputs: bool = True) -> int:
    """Bytes of the rings of a tile; inputs are copied there only at the sides of the picture."""
    total = 0
    for grid in plan.grids:
        if not inputs and grid.name in plan.group.inputs:
            continue
        lines = tile.lines + sum(grid.halo[1]) if problem.pipeline.rank == 3 else 1
        total += grid.depth * lines * pitch(problem, grid, tile.width) * problem.itemsize(grid.name)
    return total
