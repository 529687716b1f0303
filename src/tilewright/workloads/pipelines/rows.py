"""How a group of fused stencils runs on a CPU: strips whose rows are streamed, intermediate rows kept in cache.

A *tile* is a band of rows (planes in 3D) by a strip of columns. Inside it the rows advance together, ``rows`` at a
time: every stencil runs a few rows behind what it reads (its *lag*), so an intermediate grid needs a ring of a few rows
instead of a tile of its own. Tiles overlap by the halos of :mod:`tilewright.workloads.pipelines.fusions`. Stencils that
read each other only at the cell itself and run at the same lag are computed in one *pass* over a row. A conversion of
an input is part of the loads of what reads it, another one of the stores of the pass that it joins: vectors are of the
type that is computed in, rows of the type that is kept.

Borders add reach: a row outside that stands for one inside (``reflect``, ``mirror``) lies on the cell's other
side.
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import CACHE_LINE
from tilewright.base.dtypes import is_rounded
from tilewright.base.errors import IllegalTilingError
from tilewright.base.units import format_shape
from tilewright.workloads.pipelines.fusions import Group, GroupPlan, longest_paths, plan_group
from tilewright.workloads.pipelines.problem import Halo, PipelineProblem, PipelineStencil, convert


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
    converted: tuple[tuple[str, str], ...]  # grids that are inputs in another type, with these inputs

    def grid(self, name: str) -> RowGrid:
        """One grid of the group."""
        return next(grid for grid in self.grids if grid.name == name)

    def kept(self, name: str) -> str:
        """The grid in whose rows one lies."""
        return dict(self.converted).get(name, name)


def plan_rows(problem: PipelineProblem, group: Group, rows: int) -> RowPlan:
    """Lay out a group of which ``rows`` rows advance together."""
    plan = plan_group(problem.pipeline, group)
    if reason := streamable(problem, group):
        raise IllegalTilingError(reason, "run its stencils one by one")
    lags, halos, converted = _lags(problem, plan), halos_of(problem, plan), _converted_inputs(problem, plan)
    behind: dict[str, int] = {}
    for stencil in problem.pipeline.members(group):
        for name in stencil.inputs:
            row = lags[stencil.output] + problem.reach(stencil, name)[0][0]
            kept = converted.get(name, name)
            behind[kept] = max(behind.get(kept, row), row)
    grids = []
    for name in problem.pipeline.grids:
        if name in halos and name not in converted:
            lag = lags.get(name, 0)
            depth = behind.get(name, lag) - lag + rows
            grids.append(RowGrid(name=name, halo=halos[name], lag=lag, depth=depth))
    computed = tuple(i for i in group if problem.pipeline.stencils[i].output not in converted)
    passes = _passes(problem, computed, lags, halos)
    return RowPlan(group=plan, passes=passes, grids=tuple(grids), converted=tuple(converted.items()))


def _converted_inputs(problem: PipelineProblem, plan: GroupPlan) -> dict[str, str]:
    """Conversions of a group's inputs that cost nothing but a load, with what they convert.

    Every vector of them is loaded once, as they are read in one column, and what lies outside is what lies outside of
    the input.
    """
    members = problem.pipeline.members(plan.stencils)
    converted = {}
    for stencil in members:
        source, target = stencil.inputs[0], stencil.output
        kind, sides = problem.dtype(source), problem.sides(source)
        if (
            stencil.convert
            and source in plan.inputs
            and target not in plan.outputs
            and computed_in(problem, stencil) == problem.dtype(target)
            and sides == problem.sides(target)
            and all(_holds(kind, side.value) for pair in sides for side in pair if side.kind == "constant")
            and not any(read.offset[-1] for each in members for read in each.reads if read.field == target)
        ):
            converted[target] = source
    return converted


def _holds(dtype: str, value: complex) -> bool:
    return bool(convert(np.asarray(value), dtype, "nearest") == value)


def computed_in(problem: PipelineProblem, stencil: PipelineStencil) -> str:
    """Return the element type of a stencil's vectors: a conversion's wider one, which is loaded as or stored from."""
    source, target = problem.dtype(stencil.inputs[0]), problem.dtype(stencil.output)
    widens = np.can_cast(source, target) or (not is_rounded(source) and is_rounded(target))
    return target if stencil.convert and widens else source


def streamable(problem: PipelineProblem, group: Group) -> str:
    """Return why a group cannot run in one go, or an empty string.

    A grid that wraps is computed beyond its ends, so what it is made of must wrap too. A row outside that stands for
    one inside must still be at hand, so the grids must be larger than the reach.
    """
    pipeline, inner = problem.pipeline, plan_group(problem.pipeline, group).inner
    for stencil in pipeline.members(group):
        for axis in range(pipeline.rank) if stencil.output in inner else ():
            wraps = problem.wraps(stencil.output, axis)
            for grid in stencil.inputs:
                if wraps != problem.wraps(grid, axis) and (wraps or grid in inner):
                    return f"{stencil.output} and {grid}, which it is made of, do not both wrap on axis {axis}"
    for grid in inner:
        reaches = [problem.reach(each, grid) for each in pipeline.members(pipeline.readers(grid, group))]
        for axis, extent in enumerate(problem.shape):
            most = max(max(reach[axis]) for reach in reaches)
            if extent <= most and not problem.wraps(grid, axis):
                return f"a grid of {format_shape(problem.shape)} is smaller than the reach {most} on axis {axis}"
    return ""


def _lags(problem: PipelineProblem, plan: GroupPlan) -> dict[str, int]:
    """Rows that each grid of a group, its inputs aside, runs behind the first input row."""
    lags: dict[str, int] = {}
    for stencil in problem.pipeline.members(plan.stencils):
        lags[stencil.output] = max(lags.get(grid, 0) + problem.reach(stencil, grid)[0][1] for grid in stencil.inputs)
    return lags


def halos_of(problem: PipelineProblem, plan: GroupPlan) -> dict[str, Halo]:
    """Halos by longest path, over the reach that borders may add, of inputs and of all that a group computes."""
    pipeline = problem.pipeline
    own = (stencil.output for stencil in pipeline.members(plan.stencils))
    zeros: dict[str, Halo] = dict.fromkeys((*plan.inputs, *own), ((0, 0),) * pipeline.rank)
    return zeros | longest_paths(pipeline, plan.stencils, problem.reach)


def _passes(problem: PipelineProblem, group: Group, lags: dict[str, int], halos: dict[str, Halo]) -> tuple[Pass, ...]:
    """Put every stencil in the last pass that it may join."""
    passes: list[list[int]] = []
    kinds: list[tuple[object, ...]] = []
    home: dict[str, int] = {}
    for number, stencil in zip(group, problem.pipeline.members(group), strict=True):
        earliest = 0
        for grid in stencil.inputs:
            if grid in home:
                at_hand = problem.dtype(grid) == computed_in(problem, stencil)
                centred = all(sum(pair) == 0 for pair in stencil.reach(grid))
                earliest = max(earliest, home[grid] + (0 if centred and at_hand else 1))
        kind = (lags[stencil.output], halos[stencil.output], computed_in(problem, stencil))
        place = next((k for k in range(earliest, len(passes)) if kinds[k] == kind), len(passes))
        if place == len(passes):
            passes.append([])
            kinds.append(kind)
        passes[place].append(number)
        home[stencil.output] = place
    firsts = problem.pipeline.members([part[0] for part in passes])
    return tuple(
        Pass(stencils=tuple(part), lag=lags[first.output], halo=halos[first.output])
        for part, first in zip(passes, firsts, strict=True)
    )


def pitch(problem: PipelineProblem, grid: RowGrid, width: int) -> int:
    """Elements between rows of a ring: the strip, its halos, what a vector may overshoot, an odd number of lines."""
    size = problem.itemsize(grid.name)
    length = -(-(width + sum(grid.halo[-1])) * size // CACHE_LINE) + 1
    return (length | 1) * CACHE_LINE // size


def lines(grid: RowGrid, tile: RowTile) -> int:
    """Rows of an entry of a ring: those of a plane in 3D; 1 in 2D."""
    return tile.lines + sum(grid.halo[1]) if len(grid.halo) == 3 else 1


def ring_bytes(problem: PipelineProblem, plan: RowPlan, tile: RowTile, *, inputs: bool = True) -> int:
    """Bytes of the rings of a tile; inputs are copied there only at the sides of the picture."""
    return sum(
        grid.depth * lines(grid, tile) * pitch(problem, grid, tile.width) * problem.itemsize(grid.name)
        for grid in plan.grids
        if inputs or grid.name not in plan.group.inputs
    )
