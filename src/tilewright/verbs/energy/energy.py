"""``tilewright energy``: the energy of a tiling, and what is best by energy, time, power and their products."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.records import Record
from tilewright.costs.arrays import Floats, TileSizes
from tilewright.costs.energy.constants import NAMES, Constants, at_clock, constants
from tilewright.costs.energy.price import Joules, Usage, above_board, price
from tilewright.costs.interval import ranges
from tilewright.costs.setting import make_setting
from tilewright.inputs.arrays import problem_of
from tilewright.inputs.stencil import ProgramLike, as_program
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.problem import Problem
from tilewright.report import energy as tables
from tilewright.schedules.family import Family
from tilewright.schedules.tiling import Tiling, as_tiling
from tilewright.tuning import select as choices
from tilewright.tuning.ranking import evaluated, families_of
from tilewright.tuning.spaces import space
from tilewright.verbs.dispatch import AnyProgram, workload_of
from tilewright.verbs.options import EnergyOptions
from tilewright.verbs.predict import MachineLike, as_machine

NEAR = 0.01  # tiles so close to the fastest one count as equally fast


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MeteredTiling(Record):
    """The energy of one tiling."""

    KEYS = (
        "program machine shape steps tiling=tiling.__str__ rule seconds *=energy usage constants=_constants intervals"
    )
    TABLE = staticmethod(tables.metered)

    program: str  # name of the program
    machine: str  # name of the machine
    shape: tuple[int, ...]  # extents
    steps: int  # time steps
    tiling: Tiling
    rule: str  # ``exact``, ``published``, or the name of the printed instance
    seconds: float  # T_alg, predicted or given
    energy: Joules  # with parts, range and provenance
    usage: Usage  # the amounts
    known: Constants  # the energy constants
    intervals: tuple[str, ...]  # how sure the time is; nothing of a measured one

    def _constants(self) -> dict[str, object]:
        return {name: getattr(self.known, name) for name in NAMES}


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Point(Record):
    """One tiling at one clock."""

    KEYS = "tiling=tiling.__str__ clock seconds joules dram_bytes watts"

    tiling: Tiling
    clock: float  # the clock over the machine's own
    seconds: float  # predicted
    joules: float  # predicted
    dram_bytes: float  # bytes off chip

    @property
    def watts(self) -> float:
        """Average power."""
        return self.joules / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MetricComparison(Record):
    """What is best by every metric, and whether the fastest tile also takes the least energy."""

    KEYS = (
        "points best=_best pareto=front near cap_watts=cap capped extra_joules extra_seconds answer board_watts "
        "warning intervals"
    )
    TABLE = staticmethod(tables.comparison)

    points: int  # number of tilings compared, over all clocks
    best: tuple[tuple[str, Point], ...]  # the best point per metric
    front: tuple[Point, ...]  # the time-energy Pareto set by increasing time
    near: Point  # least energy among the tiles within 1 % of the fastest
    cap: float | None  # the power cap in watts, or None
    capped: Point | None  # the fastest point under the cap; None without a cap, or where nothing is under it
    board_watts: float | None = None  # what the machine's board may draw; None where nobody says
    intervals: tuple[str, ...] = ()  # how sure the times of what is shown are

    @property
    def warning(self) -> str:
        """One sentence where the power of a point is above the board's, of the point with the most; else nothing."""
        shown = [*(point for _, point in self.best), *self.front, self.near, *filter(None, [self.capped])]
        return above_board(max(point.watts for point in shown), self.board_watts)

    @property
    def extra_joules(self) -> float:
        """By which share the fastest tile takes more energy than the least."""
        best = dict(self.best)
        return best["time"].joules / best["energy"].joules - 1.0 if best["energy"].joules > 0 else 0.0

    @property
    def extra_seconds(self) -> float:
        """By which share the tile of the least energy takes longer than the fastest."""
        best = dict(self.best)
        return best["energy"].seconds / best["time"].seconds - 1.0 if best["time"].seconds > 0 else 0.0

    def answer(self) -> str:
        """Say whether the fastest tile also takes the least energy."""
        best = dict(self.best)
        if best["time"] == best["energy"]:
            return f"the fastest tile, {best['time'].tiling}, also takes the least energy"
        slow = "" if best["energy"].clock == 1 else f" at {best['energy'].clock:g} of the clock"
        near = self.near.joules / best["energy"].joules - 1.0
        return (
            f"no: the fastest tile, {best['time'].tiling}, takes {100 * self.extra_joules:.1f} % more energy than the "
            f"least; {best['energy'].tiling}{slow} takes the least and is {100 * self.extra_seconds:.1f} % slower; the "
            f"best of those within 1 % of the fastest takes {100 * near:.1f} % more than the least"
        )

    def _best(self) -> dict[str, Point]:
        return dict(self.best)


def energy(
    program: AnyProgram,
    *,
    shape: tuple[int, ...],
    steps: int = 1,
    machine: MachineLike = "host",
    tiling: Tiling | str | None = None,
    seconds: float | None = None,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    model: str = "exact",
    scope: str | None = None,
    **scalars: Any,  # noqa: ANN401
) -> MeteredTiling:
    """Predict the energy of a tiling: P_stat T_alg + N_tiles E_tile.

    Args:
        program: As for :func:`tilewright.predict`; so are shape, steps, machine, dtype and boundary.
        shape: Extents; of smith_waterman the lengths of the two sequences.
        steps: Time steps; a table is filled once.
        machine: The machine; constants that nobody measured are estimated.
        tiling: The tiling; the fastest by default. ``orthogonal:t=,s=,sub=`` of smith_waterman and
            ``skewed:t=,s=,sub=`` of jacobi1d take the printed instances.
        seconds: T_alg, if it was measured; else it is predicted.
        dtype: Element type.
        boundary: Boundaries.
        model: ``exact``, or ``published``: equations (B.3) to (B.6) for jacobi2d in hybrid tiles.
        scope: Who shares the bandwidth, as for :func:`tilewright.predict`.
        **scalars: Scalars of the program, as for :func:`tilewright.predict`.

    Returns:
        The energy.

    Raises:
        UsageError: If anything is unknown or does not fit, or there is neither a model of the time nor ``seconds``.
    """
    where = as_machine(machine)
    if seconds is not None and not (np.isfinite(seconds) and seconds > 0):
        raise UsageError(f"a measured time is above 0 s, got {seconds!r}")
    work = workload_of(program, scalars, EnergyOptions.of(locals()).request(), where)
    chosen, rule, usage = work.usage(as_tiling(tiling), seconds)
    values = constants(where)
    return MeteredTiling(
        program=work.problem.program.name,
        machine=where.name,
        shape=work.problem.shape,
        steps=work.problem.steps,
        tiling=chosen,
        rule=rule,
        seconds=usage.seconds,
        energy=price(usage, values),
        usage=usage,
        known=values,
        intervals=() if seconds else _intervals([chosen], where, model, len(work.problem.shape)),
    )


def _intervals(tilings: Iterable[Tiling], machine: Machine, model: str, rank: int) -> tuple[str, ...]:
    threads = model == "exact" and rank > 1
    return ranges((each.family for each in tilings), cpu=machine.kind == "cpu", threads=threads)


def compare(
    program: ProgramLike,
    *,
    shape: tuple[int, ...],
    steps: int,
    machine: MachineLike = "host",
    cap: float | None = None,
    clocks: Sequence[float] = (1.0,),
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    model: str = "exact",
    scope: str | None = None,
    coarse: bool = False,
    **scalars: Any,  # noqa: ANN401
) -> MetricComparison:
    """Choose by every metric over the whole space, and the time-energy Pareto set.

    Args:
        program: As for :func:`energy`; so are shape, steps, machine, dtype, boundary and model.
        shape: Extents.
        steps: Time steps.
        machine: The machine.
        cap: Also find the fastest tiling whose average power is at most so many watts.
        clocks: Clocks to choose from, over the machine's own.
        dtype: Element type.
        boundary: Boundaries.
        model: ``exact`` or ``published``.
        scope: Who shares the bandwidth, as for :func:`tilewright.predict`.
        coarse: Search a coarse grid of sizes.
        **scalars: Scalars of the program, as for :func:`tilewright.predict`.

    Returns:
        The comparison.

    Raises:
        UsageError: If anything is unknown or does not fit.
    """
    problem, _ = problem_of(as_program(program), scalars, shape, steps, dtype, boundary)
    where = as_machine(machine)
    return compared(problem, where, cap=cap, clocks=clocks, model=model, scope=scope, coarse=coarse)


def compared(
    problem: Problem,
    machine: Machine,
    *,
    cap: float | None = None,
    clocks: Sequence[float] = (1.0,),
    model: str = "exact",
    scope: str | None = None,
    coarse: bool = False,
) -> MetricComparison:
    """Choose by every metric; as :func:`compare`, of checked values."""
    parts: list[tuple[Family, TileSizes, float]] = []
    values: list[tuple[Floats, Floats, Floats]] = []
    for clock in clocks or (1.0,):
        setting = make_setting(problem, at_clock(machine, clock), scope)
        for family in families_of(problem, setting, model):
            sizes, result = evaluated(setting, family, model, coarse=coarse)
            assert result.joules is not None  # noqa: S101  (every setting of a machine has an energy model)
            parts.append((family, sizes, clock))
            values.append((result.seconds, result.joules, result.dram_bytes))
    seconds, joules, traffic = (np.concatenate(each) for each in zip(*values, strict=True))
    starts = np.cumsum([0, *(len(each) for each, _, _ in values)])

    def point(index: int) -> Point:
        part = int(np.searchsorted(starts, index, side="right")) - 1
        family, sizes, clock = parts[part]
        return Point(
            tiling=space.tiling_at(family, sizes, index - int(starts[part])),
            clock=clock,
            seconds=float(seconds[index]),
            joules=float(joules[index]),
            dram_bytes=float(traffic[index]),
        )

    def best(cost: Floats) -> Point:
        """Of equal points that of the first family counts, there the one of the smallest sizes."""
        part = int(np.searchsorted(starts, np.argmin(cost), side="right")) - 1
        start, end = starts[part : part + 2].tolist()
        return point(start + (choices.best(cost[start:end], parts[part][1]) or 0))

    costs = {metric: choices.value(metric, seconds, joules) for metric in choices.METRICS if metric != "traffic"}
    costs["traffic"] = np.where(np.isfinite(seconds), traffic, np.inf)
    capped = None if cap is None else choices.within_cap(seconds, joules, cap)
    chosen = tuple((metric, best(costs[metric])) for metric in choices.METRICS)
    front = tuple(point(int(i)) for i in choices.front(seconds, joules))
    shown = [each.tiling for each in (*dict(chosen).values(), *front)]
    return MetricComparison(
        points=int(np.isfinite(seconds).sum()),
        best=chosen,
        front=front,
        near=best(np.where(seconds <= (1.0 + NEAR) * seconds.min(), joules, np.inf)),
        cap=cap,
        capped=None if capped is None or not np.isfinite(capped).any() else best(capped),
        board_watts=None if machine.tdp_watts is None else machine.tdp_watts.value,
        intervals=_intervals(shown, machine, model, problem.program.rank),
    )
