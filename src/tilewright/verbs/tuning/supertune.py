"""``tw.supertune``: every legal family and size of a program, the winner, and why it wins (Prajapati, thesis, 2.3.2).

Tile sizes are common coordinates of all families: a height and one size per axis. Every family of a set S of strategies
can be evaluated at every point; where it cannot be, the point lies outside its feasible set. The points fall into
classes by the families that are feasible there: with two families the intersection and both differences, which are the
problems (a), (b) and (c) of the thesis. The least of all classes is the least over the strategies.
"""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError, one_of
from tilewright.base.records import Record
from tilewright.base.units import format_bytes
from tilewright.costs import time as time_model
from tilewright.costs.arrays import Floats, Ints, TileSizes
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.interval import ranges
from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.time import Costs
from tilewright.inputs.arrays import problem_of
from tilewright.inputs.stencil import ProgramLike
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.report import energy as tables
from tilewright.schedules.family import Family
from tilewright.schedules.tiling import Tiling
from tilewright.tuning import select as choices
from tilewright.tuning.ranking import evaluated, families_of
from tilewright.tuning.select import cost as metric_cost
from tilewright.tuning.spaces import gpu_tiles, space
from tilewright.verbs.dispatch import stencil_of
from tilewright.verbs.predict import MachineLike, as_machine

_MOST_POINTS = 2**18  # larger spaces are compared on their coarse grids


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Entry(Record):
    """The best tiling of one family."""

    KEYS = "family=tiling.family tiling=tiling.__str__ value loss points parts=_parts"

    tiling: Tiling
    value: float  # the metric, in its unit
    costs: Costs
    points: int  # number of feasible sizes
    # of the metric, by name: s for time, J for energy, power and their products
    parts: tuple[tuple[str, float], ...]
    loss: float  # by which share the metric is worse than the winner's

    def _parts(self) -> dict[str, float]:
        return dict(self.parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeasibleSet:
    """The sizes at which exactly these families are feasible."""

    families: tuple[Family, ...]  # in the order of the strategies
    points: int  # how many sizes
    winner: Family  # of the least cost there
    index: int  # of the size of the least cost
    cost: float  # the least
    wins: tuple[int, ...]  # per family, at how many of the sizes it costs the least


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Supertuning(Record):
    """The strategies of a problem on a machine, compared by one metric."""

    KEYS = "program machine metric winner=winner.tiling.__str__ families=entries feasible_sets=_sets reasons intervals"
    TABLE = staticmethod(tables.strategies)

    program: str  # name of the program
    machine: str  # name of the machine
    metric: str
    # best of every family, the winner first; on a GPU families whose models know no thread blocks last
    entries: tuple[Entry, ...]
    # the sizes by the families that are feasible there; ``none`` has no sizes and is in no set
    sets: tuple[FeasibleSet, ...]
    best_of_sets: tuple[Tiling, ...]  # per set, the tiling of the least cost
    intervals: tuple[str, ...]  # how sure the times are

    @property
    def winner(self) -> Entry:
        """The best of all."""
        return self.entries[0]

    def reasons(self) -> tuple[str, ...]:
        """Say, per family that lost, by how much and what it pays more for."""
        return tuple(self._reason(entry) for entry in self.entries[1:])

    def _reason(self, entry: Entry) -> str:
        parts = dict(self.winner.parts)
        more = {name: value - parts.get(name, 0.0) for name, value in entry.parts}
        worst = max(more, key=lambda name: more[name])
        if entry.loss < 0:
            clause = f"it says {-entry.loss:.1%} less"
            return f"{entry.tiling.family} stands behind, since its model knows no thread blocks: {clause}"
        text = f"{self.winner.tiling.family} beats {entry.tiling.family} by {100 * entry.loss:.1f} %"
        if entry.loss <= 0 or more[worst] <= 0:
            return f"{entry.tiling.family} costs the same as {self.winner.tiling.family}"
        unit = {"time": "s", "traffic": "B"}.get(self.metric, "J")
        cost = dict(entry.parts)[worst]
        text += f": {worst} {cost:.3g} {unit} against {parts.get(worst, 0.0):.3g} {unit}"
        if self.metric == "time":
            text += f" ({_facts(entry.costs)}, against {_facts(self.winner.costs)})"
        return text

    def _sets(self) -> list[dict[str, object]]:
        return [
            {
                "families": each.families,
                "points": each.points,
                "winner": each.winner,
                "tiling": str(tiling),
                "value": each.cost,
                "wins": dict(zip(each.families, each.wins, strict=True)),
            }
            for each, tiling in zip(self.sets, self.best_of_sets, strict=True)
        ]


def supertune(
    program: ProgramLike,
    *,
    shape: tuple[int, ...],
    steps: int,
    machine: MachineLike = "host",
    metric: str = "time",
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    model: str = "exact",
    scope: str | None = None,
    **scalars: Any,  # noqa: ANN401
) -> Supertuning:
    """Compare every legal tiling family over every size, by the models alone.

    Every family is evaluated at the sizes of all families' spaces; the winner is the least of all, on a GPU of those
    whose models know thread blocks: what the others promise stands behind. Beside it, the
    problems of the thesis' section 2.3.2: which families are feasible at which sizes, and what is best in every
    intersection and difference. On GPUs streaming tiles stand outside these sets: their sizes come with thread blocks.

    Args:
        program: As for :func:`tilewright.predict`; so are shape, steps, machine, dtype, boundary, model and scope.
        shape: Extents.
        steps: Time steps.
        machine: The machine.
        metric: ``time``, ``traffic``, ``energy``, ``power``, ``edp`` or ``ed2p``.
        dtype: Element type.
        boundary: Boundaries.
        model: ``exact``, or ``published``, which only hexagonal and hybrid tiles have.
        scope: Who shares the bandwidth.
        **scalars: Scalars of the program, as for :func:`tilewright.predict`.

    Returns:
        The comparison.

    Raises:
        UsageError: If anything is unknown or does not fit, or no tiling fits the machine.

    Examples:
        >>> found = supertune("heat2d", shape=(4096, 4096), steps=256, machine="gtx980")
        >>> found.entries[0].value == min(entry.value for entry in found.entries)
        True
    """
    one_of("the metric", metric, choices.METRICS)
    problem, _ = problem_of(stencil_of(program, "supertune"), scalars, shape, steps, dtype, boundary)
    where = as_machine(machine)
    setting = make_setting(problem, where, scope)
    chosen = families_of(problem, setting, model)
    extras = () if model == "published" else space.families(problem, cpu=setting.cpu)
    families = tuple(dict.fromkeys((*chosen, *extras)))
    # Streaming tiles of GPUs come with thread blocks: their sizes are no tile sizes of others.
    tiled = [family for family in families if not family.untiled and (setting.cpu or not family.streams)]
    sizes = _points(setting, tiled, model, metric) if tiled else None
    entries: list[Entry] = []
    table: list[Floats] = []  # of tiled families, the cost at every size, infinite where it is not feasible
    for family in families:
        if sizes is None or family not in tiled:
            points, result = evaluated(setting, family, model)
        else:
            inside = np.flatnonzero(space.possible(family, sizes, setting))
            points = sizes.take(inside)
            if model != "published" and time_model.models_threads(family, setting):
                points = gpu_tiles.best_shapes(points, setting)  # the thread blocks expected to be fastest
            result = time_model.evaluate(family, points, setting, model)
        cost = metric_cost(result, metric)
        if sizes is not None and family in tiled:
            table.append(np.full(len(sizes.time), np.inf))
            table[-1][inside] = cost
        index = choices.best(cost, points)
        if index is not None:
            entry = Entry(
                tiling=space.tiling_at(family, points, index),
                value=float(cost[index]),
                costs=time_model.costs_at(result, index, setting),
                points=int(np.isfinite(cost).sum()),
                parts=_parts(result, index, setting, metric),
                loss=0.0,
            )
            entries.append(entry)
    entries.sort(key=lambda each: (each.tiling.family not in chosen, each.value))
    if not entries:
        raise UsageError(f"no tiling of {problem.program.name} fits {where.name}")
    least = entries[0].value
    sets = feasible_sets(tiled, table) if tiled else ()
    return Supertuning(
        program=problem.program.name,
        machine=where.name,
        metric=metric,
        entries=tuple(dataclasses.replace(e, loss=e.value / least - 1.0 if least > 0 else 0.0) for e in entries),
        sets=sets,
        best_of_sets=tuple(space.tiling_at(each.winner, sizes, each.index) for each in sets if sizes is not None),
        intervals=ranges(
            (each.tiling.family for each in entries),
            cpu=setting.cpu,
            threads=model == "exact" and problem.program.rank > 1,
        ),
    )


def _facts(costs: Costs) -> str:
    moved = format_bytes(costs.dram_bytes)
    return f"{moved} off chip, {costs.wavefronts:,} wavefronts of {costs.tiles_per_wavefront:,} tiles"


def _parts(result: Breakdown, index: int, setting: Setting, metric: str) -> tuple[tuple[str, float], ...]:
    if metric == "time":
        return tuple((name, float(term[index])) for name, term in result.terms.items())
    if metric == "traffic":
        return (("traffic", float(result.dram_bytes[index])),)
    costs = time_model.costs_at(result, index, setting).energy
    assert costs is not None  # noqa: S101  (every setting of a machine has an energy model)
    return tuple(
        (name.replace("_", "-") + " energy", float(getattr(costs, name)))
        for name in ("static", "off_chip", "on_chip", "arithmetic")
    )


def _points(setting: Setting, families: Sequence[Family], model: str, metric: str) -> TileSizes:
    """Return the sizes of all families' spaces; where there are too many, coarse grids and the best of every family."""
    spaces = [space.feasible(setting, family=family, model=model) for family in families]
    if sum(len(each.time) for each in spaces) > _MOST_POINTS:
        best = []
        for family, sizes in zip(families, spaces, strict=True):
            index = choices.best(metric_cost(time_model.evaluate(family, sizes, setting, model), metric), sizes)
            best += [] if index is None else [sizes.take(np.array([index]))]
        spaces = [*best, *(space.feasible(setting, coarse=True, family=family, model=model) for family in families)]
    return union(spaces)


def union(spaces: Sequence[TileSizes]) -> TileSizes:
    """Return the sizes of several spaces, each once, in lexicographic order; k left open."""
    if not spaces:
        raise UsageError("strategies are compared over at least one space, got none")
    rows = np.concatenate([np.stack([space.time, *space.space], axis=1) for space in spaces])
    distinct = np.unique(rows, axis=0)
    return TileSizes(
        time=distinct[:, 0].copy(),
        space=tuple(distinct[:, axis].copy() for axis in range(1, distinct.shape[1])),
        k=np.zeros(len(distinct), dtype=np.int64),
    )


def feasible_sets(families: Sequence[Family], costs: Sequence[Floats]) -> tuple[FeasibleSet, ...]:
    """Split sizes by the families that are feasible there, the cheapest class first.

    >>> a, b = np.array([1.0, 2.0, np.inf]), np.array([np.inf, 1.5, 3.0])
    >>> [(each.families, each.winner, each.cost) for each in feasible_sets(("a", "b"), (a, b))]
    [(('a',), 'a', 1.0), (('a', 'b'), 'b', 1.5), (('b',), 'b', 3.0)]
    """
    table = np.stack([np.asarray(cost, dtype=np.float64) for cost in costs])
    inside = np.isfinite(table)
    sets = []
    for chosen in itertools.product((True, False), repeat=len(families)):
        if not any(chosen):
            continue
        index: Ints = np.flatnonzero((inside == np.array(chosen)[:, None]).all(axis=0))
        if not len(index):
            continue
        part = table[:, index]
        winners = np.argmin(part, axis=0)
        best = int(np.argmin(part.min(axis=0)))
        members = [number for number, member in enumerate(chosen) if member]
        sets.append(
            FeasibleSet(
                families=tuple(families[number] for number in members),
                points=len(index),
                winner=families[int(winners[best])],
                index=int(index[best]),
                cost=float(part[winners[best], best]),
                wins=tuple(int((winners == number).sum()) for number in members),
            )
        )
    return tuple(sorted(sets, key=lambda each: (each.cost, each.families)))
