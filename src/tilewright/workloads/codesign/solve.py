"""The exact solution of (C.19): for every hardware the best tile sizes of every case, from separable tables.

For given tile and k, T = N_w T_sync + P(n_V) R(n_SM), and M_SM only decides which tiles and k there are. So all
hardware is solved at once: P per configuration and n_V, R per configuration and n_SM, the least T per level of M_SM and
its running minimum. A configuration is left out before R is evaluated only if a lower bound of its cost,
T >= N_w T_sync + P (prisms / k) / n_SM, exceeds a cost that is already reached: nothing is lost, the result is that of
brute force over the grid (to the last bit in the exact form). Ties go to the smaller M_SM, then to the smaller sizes.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tilewright.base.constants import WORD
from tilewright.costs.arrays import Floats, ceil_div
from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.time import evaluate, sizes_of
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.program import Program
from tilewright.schedules.family import Family
from tilewright.schedules.tiling import NONE
from tilewright.tuning.spaces.space import families
from tilewright.workloads.codesign import separable
from tilewright.workloads.codesign.design import Axes, DesignOptions, WeightedProblem
from tilewright.workloads.codesign.energy import DesignEnergy, value
from tilewright.workloads.codesign.families import DesignQuery, family_search, others_of, strategies_of
from tilewright.workloads.codesign.search import NOTHING, Search
from tilewright.workloads.codesign.tiles import Configurations, configurations

UNTILED = -1
"""In place of a configuration: no time tiling."""
_REGISTER_BYTES = 4
_THREADS = 2
"""NumPy leaves the interpreter's lock alone while it works on long arrays; two threads keep two cores busy."""
Choices = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignSolution:
    """The best cost of one case on every hardware."""

    seconds: Floats  # T_alg of the best choice, infinite where nothing fits; shape (outer, n_SM, n_V, M_SM)
    joules: Floats | None  # its energy, static and dynamic, of the same shape; None where no energy was asked for
    choice: Choices  # index of its configuration, :data:`UNTILED` or :data:`NOTHING`; same shape
    configurations: Configurations  # what the indices point into
    # further families and their configurations, whose indices follow on
    others: tuple[tuple[Family, Configurations], ...] = ()

    @property
    def count(self) -> int:
        """Number of configurations."""
        return len(self.configurations.k) + sum(len(each.k) for _, each in self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of the hardware whose bandwidth per tile and registers are one value each."""

    outer: tuple[int, ...]  # indices of the outer combinations that share the result
    column: slice  # of the values of n_SM
    sm_count: Floats  # these values; shape (s,)
    machine: Machine  # with this part's bandwidth
    register_bytes: float  # per vector unit
    watts: Floats  # static power, shape (s, n_V, M_SM), or 0 where the metric has no use for it


def solve(
    cases: Sequence[WeightedProblem],
    axes: Axes,
    machine: Machine,  # gives C_iter, synchronisation and the bandwidth that stands for 1
    options: DesignOptions,
    energy: DesignEnergy | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,  # called with the number of solved cases and their total
    executor: Executor | None = None,  # two threads by default; what it loses is solved here
) -> tuple[DesignSolution, ...]:
    """Solve every case on every hardware; the workload's weights play no part yet."""
    held: dict[Program, Configurations] = {}
    for case in cases:
        if case.problem.program not in held:
            setting = make_setting(case.problem, machine)
            held[case.problem.program] = configurations(setting, axes.shared_kb, options)
    results = tuple(
        _empty(held[case.problem.program], others_of(case, axes, machine, options), axes, energy) for case in cases
    )
    plan = _Plan(axes=axes, options=options, energy=energy)
    parts, done = tuple(_parts(axes, machine, options, energy)), 0
    own = ThreadPoolExecutor(_THREADS)
    pool = own if executor is None else executor
    try:
        for part in parts:
            terms = _terms(cases, held, part, axes, options)
            calls = [
                (case, terms[case.problem.program], result.others, part, plan)
                for case, result in zip(cases, results, strict=True)
            ]
            jobs = [pool.submit(_solve_case, *call) for call in calls]
            for job, call, result in zip(jobs, calls, results, strict=True):
                try:
                    found = job.result()
                except Exception:
                    if executor is None:
                        raise
                    found = _solve_case(*call)
                _put(result, part, *found)
                done += 1
                if progress is not None:
                    progress(done, len(parts) * len(cases))
    finally:
        own.shutdown(cancel_futures=True)
    return results


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is asked for: the whole hardware, the assumptions, and the energy model if the metric needs one."""

    axes: Axes
    options: DesignOptions
    energy: DesignEnergy | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Terms:
    """One stencil's configurations with their tiles' terms, one per n_V."""

    configurations: Configurations
    widths: tuple[separable.TileTerms, ...]


def _terms(
    cases: Sequence[WeightedProblem],
    held: Mapping[Program, Configurations],
    part: _Part,
    axes: Axes,
    options: DesignOptions,
) -> dict[Program, _Terms]:
    terms: dict[Program, _Terms] = {}
    for case in cases:
        program = case.problem.program
        if program not in terms:
            setting = make_setting(case.problem, part.machine, options.scope)
            tiles = held[program].tiles
            widths = tuple(separable.tile_terms(tiles, setting, options.form, width) for width in axes.vector_width)
            terms[program] = _Terms(configurations=held[program], widths=widths)
    return terms


def _put(result: DesignSolution, part: _Part, seconds: Floats, joules: Floats, choice: Choices) -> None:
    for outer in part.outer:
        result.seconds[outer, part.column] = seconds
        result.choice[outer, part.column] = choice
        if result.joules is not None:
            result.joules[outer, part.column] = joules


def _empty(
    held: Configurations, others: tuple[tuple[Family, Configurations], ...], axes: Axes, energy: DesignEnergy | None
) -> DesignSolution:
    return DesignSolution(
        seconds=np.full(axes.shape, np.inf),
        joules=None if energy is None else np.full(axes.shape, np.inf),
        choice=np.full(axes.shape, NOTHING, dtype=np.int32),
        configurations=held,
        others=others,
    )


def _parts(axes: Axes, machine: Machine, options: DesignOptions, energy: DesignEnergy | None) -> Iterator[_Part]:
    """Yield the parts of the hardware; outer combinations that the time cannot tell apart share one."""
    alike: dict[tuple[float, ...], list[int]] = {}
    for index, (bandwidth, register, l1, l2) in enumerate(axes.outer):
        registers = register if options.thread_registers or energy is not None else 0.0
        alike.setdefault((bandwidth, registers, *((l1, l2) if energy is not None else ())), []).append(index)
    columns = [slice(0, len(axes.sm_count))]
    if options.scope == "per_sm":
        columns = [slice(index, index + 1) for index in range(len(axes.sm_count))]
    for (bandwidth, registers, *_), outer in alike.items():
        rate = machine.dram_bandwidth.at(machine.dram_bandwidth.value * bandwidth)
        for column in columns:
            some = axes.sm_count[column]
            count = Quantity(value=some[0], unit="1", source="description")
            yield _Part(
                outer=tuple(outer),
                column=column,
                sm_count=np.array(some, dtype=float),
                machine=replace(machine, dram_bandwidth=rate, sm_count=count),
                register_bytes=registers * 1024.0,
                watts=np.zeros((len(some), *axes.shape[2:])) if energy is None else energy.watts[outer[0], column],
            )


def _solve_case(
    case: WeightedProblem, terms: _Terms, others: tuple[tuple[Family, Configurations], ...], part: _Part, plan: _Plan
) -> tuple[Floats, Floats, Choices]:
    """Return seconds, joules and choices of one case on one part; each of shape (s, n_V, M_SM)."""
    axes, options = plan.axes, plan.options
    setting = make_setting(case.problem, part.machine, options.scope)
    chosen = strategies_of(case, options)
    shape = (len(part.sm_count), *axes.shape[2:])
    best = np.full(shape, np.inf), np.full(shape, np.inf), np.full(shape, NOTHING, dtype=np.int32)
    if "tiled" in chosen and families(case.problem) != (NONE.family,):
        hexagons = [tiles.compute_seconds for tiles in terms.widths]
        best = _searched(_search(case, terms, setting, part, plan), hexagons, part, plan, len(setting.facts.shape))
    start = len(terms.configurations.k)
    for family, held in others:
        search, computes = family_search(case, family, held, setting, DesignQuery(
            sm_count=part.sm_count, widths=axes.vector_width, energy=plan.energy, metric=options.metric
        ))  # fmt: skip
        found = _searched(search, computes, part, plan, len(setting.facts.shape))
        _keep_better(best, found, start, part.watts, options.metric)
        start += len(held.k)
    if "none" in chosen:
        _without_tiles(case, setting, part, plan, best)
    return best


def _searched(
    search: Search, computes: Sequence[Floats], part: _Part, plan: _Plan, rank: int
) -> tuple[Floats, Floats, Choices]:
    """Search a family's configurations for every n_V; ``computes`` holds c per n_V, each of shape (tiles,)."""
    axes, options, held = plan.axes, plan.options, search.configurations
    shape = (len(part.sm_count), *axes.shape[2:])
    seconds, choice = np.full(shape, np.inf), np.full(shape, NOTHING, dtype=np.int32)
    joules, seeds = np.full(shape, np.inf), np.zeros(0, dtype=np.int64)
    for at, (width, compute) in enumerate(zip(axes.vector_width, computes, strict=True)):
        prism = separable.prism_seconds(
            search.io_seconds, compute[held.tile], held.k, search.count, options.form, rank
        )  # fmt: skip
        if options.thread_registers:
            need = held.k * (options.block_threads * options.thread_registers * _REGISTER_BYTES)
            prism = np.where(need <= part.register_bytes * width, prism, np.inf)
        seconds[:, at], found = search.best(prism, part.watts[:, at], seeds)
        choice[:, at] = found
        seeds = np.unique(found[found >= 0])
    picked = choice >= 0
    joules[picked] = search.joules[choice[picked]] + (part.watts * np.where(picked, seconds, 0.0))[picked]
    return seconds, joules, choice


def _keep_better(
    best: tuple[Floats, Floats, Choices],
    found: tuple[Floats, Floats, Choices],
    start: int,
    watts: Floats,
    metric: str,
) -> None:
    """Put what another family found wherever it costs less; its choices count from ``start``."""
    costs = [
        value(metric, seconds, joules - watts * np.where(np.isfinite(seconds), seconds, 0.0), watts)
        for seconds, joules, _ in (best, found)
    ]
    better = costs[1] < costs[0]
    best[0][better], best[1][better] = found[0][better], found[1][better]
    best[2][better] = found[2][better] + start


def _search(case: WeightedProblem, terms: _Terms, setting: Setting, part: _Part, plan: _Plan) -> Search:
    """Collect what does not depend on n_V."""
    held, energy = terms.configurations, plan.energy
    order = separable.schedule(held.tiles, setting, plan.options.form)
    words = (terms.widths[0].words * order.count * order.prisms)[held.tile]
    groups = tuple(ceil_div(tiles[held.tile], held.k).astype(float) for tiles in order.tiles)
    fronts = tuple(count[held.tile].astype(float) for count in order.fronts)
    return Search(
        configurations=held,
        io_seconds=terms.widths[0].io_seconds[held.tile],
        count=order.count[held.tile],
        sync=(order.wavefronts * setting.rates.launch_seconds)[held.tile],
        fronts=fronts,
        groups=groups,
        turns=np.asarray(sum(n * w for n, w in zip(fronts, groups, strict=True))),
        joules=np.zeros(len(held.k)) if energy is None else energy.dynamic(case, words),
        sm_count=part.sm_count,
        metric=plan.options.metric,
    )


def _without_tiles(
    case: WeightedProblem, setting: Setting, part: _Part, plan: _Plan, best: tuple[Floats, Floats, Choices]
) -> None:
    """Put sweeps without time tiling wherever they cost less."""
    energy, widths = plan.energy, plan.axes.vector_width
    plain, none = replace(setting, energy=None), sizes_of(NONE, setting)
    sweeps = [
        [evaluate(NONE.family, none, plain.at(sm_count=int(count), vector_width=width)) for width in widths]
        for count in part.sm_count.tolist()
    ]
    seconds = np.array([[float(each.seconds[0]) for each in row] for row in sweeps])[:, :, None]
    dynamic = np.zeros(()) if energy is None else energy.dynamic(case, sweeps[0][0].dram_bytes / WORD)
    whole = part.watts * seconds + dynamic
    held = plan.options.metric
    now = value(held, best[0], best[1] - part.watts * np.where(np.isfinite(best[0]), best[0], 0.0), part.watts)
    better = value(held, np.broadcast_to(seconds, whole.shape), dynamic, part.watts) < now
    best[0][better] = np.broadcast_to(seconds, whole.shape)[better]
    best[1][better] = whole[better]
    best[2][better] = UNTILED
