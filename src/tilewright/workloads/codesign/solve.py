"""The exact solution of (C.19): for every hardware the best tile sizes of every case, from separable tables.

For given tile and k, T = N_w T_sync + P(n_V) R(n_SM), and M_SM only decides which tiles and k there are. So all
hardware is solved at once: P per configuration and n_V, R per configuration and n_SM, the least T per level of M_SM and
its running minimum. A configuration is left out before R is evaluated only if a lower bound of its cost,
T >= N_w T_sync + P (prisms / k) / n_SM, exceeds a cost that is already reached: nothing is lost, the result is that of
brute force over the grid (to the last bit in the exact form). Ties go to the smaller M_SM, then to the smaller sizes.
Of skewed and diamond tiles only R differs: their wavefronts grow and shrink.

E = P_stat T + E_dyn (thesis, appendix B). The dynamic part depends on the program and its tiles, by the rule of
:mod:`tilewright.costs.energy.price`. P_stat goes with the area of the design: an assumption of ours, since the
thesis' P_stat belongs to one chip and would make silicon free.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tilewright.base.constants import WORD
from tilewright.costs.arrays import Floats, Ints, ceil_div
from tilewright.costs.energy.constants import Constants, require_known
from tilewright.costs.energy.price import rule
from tilewright.costs.gpu import blocks
from tilewright.costs.setting import Setting, make_setting
from tilewright.costs.time import evaluate, sizes_of
from tilewright.costs.work.families import tiles_of
from tilewright.costs.work.tiles import Fronts
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.program import Program
from tilewright.schedules.tiling import NONE
from tilewright.tuning import select as choices
from tilewright.tuning.spaces.space import families
from tilewright.workloads.codesign import separable
from tilewright.workloads.codesign.design import Axes, DesignOptions, WeightedProblem
from tilewright.workloads.codesign.tiles import Configurations, configurations, others_of

UNTILED, NOTHING = -1, -2  # in place of a configuration: no time tiling, and nothing fits
_REGISTER_BYTES = 4
_ROUNDING = 1.0 + 1e-9
_THREADS = 2  # NumPy leaves the interpreter's lock alone while it works on long arrays; two threads keep two cores busy
Choices = NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignEnergy:
    """The energy model of a set of designs."""

    watts: Floats  # static power per design, of the designs' shape (outer, n_SM, n_V, M_SM)
    known: Constants  # of the machine whose energies are taken
    watts_per_mm2: float = 0.0  # static

    def dynamic(self, case: WeightedProblem, words: Floats) -> Floats:
        """Return a case's dynamic joules by 4-byte words moved off chip."""
        return rule(case.problem, self.known).dynamic(WORD * words)


def energy_of(machine: Machine, areas: Floats, area: float) -> DesignEnergy:
    """Make the energy model of designs from a metered machine, whose ``area`` is by the same area model, in mm^2."""
    figures = require_known(machine)
    watts = figures.static_watts.value
    return DesignEnergy(watts=areas * (watts / area), known=figures, watts_per_mm2=watts / area)


def value(metric: str, seconds: Floats, joules: Floats, watts: Floats | float) -> Floats:
    """Return what a metric makes of a time and a dynamic energy under a static power; least is best.

    The metric ``per_area`` chooses tiles as ``time`` does, since they do not change the area.
    """
    if metric in {"time", "per_area"}:
        return seconds
    return choices.value(metric, seconds, np.asarray(watts * seconds + joules))


def longest(metric: str, limit: Floats, joules: float, watts: Floats | float) -> Floats:
    """Return the longest time whose value is at most a limit, for at least so much dynamic energy."""
    if metric in {"time", "per_area"}:
        return limit
    if metric == "energy":
        return np.asarray((limit - joules) / watts)
    bound = np.where(np.isfinite(limit), limit, 0.0)
    time = 2.0 * bound / (joules + np.sqrt(joules * joules + 4.0 * watts * bound))
    return np.where(np.isfinite(limit), time, np.inf)


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignSolution:
    """The best cost of one case on every hardware."""

    seconds: Floats  # T_alg of the best choice, infinite where nothing fits; shape (outer, n_SM, n_V, M_SM)
    joules: Floats | None  # its energy, static and dynamic, of the same shape; None where no energy was asked for
    choice: Choices  # index of its configuration, :data:`UNTILED` or :data:`NOTHING`; same shape
    # what the indices point into, one family behind the other: hexagonal or hybrid tiles, tried or not, are the first
    configurations: tuple[Configurations, ...]

    @property
    def count(self) -> int:
        """Number of configurations."""
        return sum(len(each.k) for each in self.configurations)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """A part of the hardware whose bandwidth per tile and registers are one value each, and what is asked of it."""

    axes: Axes
    options: DesignOptions
    energy: DesignEnergy | None
    outer: tuple[int, ...]  # indices of the outer combinations that share the result
    column: slice  # of the values of n_SM
    sm_count: Floats  # these values; shape (s,)
    machine: Machine  # with this part's bandwidth
    register_bytes: float  # per vector unit
    watts: Floats  # static power, shape (s, n_V, M_SM), or 0 where the metric has no use for it


_Found = tuple[Floats, Floats, Choices]
"""Seconds, dynamic joules and choices of one case on one part; each of shape (s, n_V, M_SM)."""
_Terms = tuple[separable.TileTerms, ...]  # what the tiles of one stencil take on one part, per n_V


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
    results = tuple(
        DesignSolution(
            seconds=np.full(axes.shape, np.inf),
            joules=None if energy is None else np.full(axes.shape, np.inf),
            choice=np.full(axes.shape, NOTHING, dtype=np.int32),
            configurations=groups,
        )
        for groups in every_configuration(cases, axes, machine, options)
    )
    parts, count = tuple(_parts(axes, machine, options, energy)), 0
    own = ThreadPoolExecutor(_THREADS)
    pool = own if executor is None else executor
    try:
        for part in parts:
            terms = _terms(cases, results, part)
            calls = [
                (case, terms[case.problem.program], result.configurations, part)
                for case, result in zip(cases, results, strict=True)
            ]
            jobs = [pool.submit(_solve_case, *call) for call in calls]
            for job, call, result in zip(jobs, calls, results, strict=True):
                try:
                    outcome = job.result()
                except Exception:
                    if executor is None:
                        raise
                    outcome = _solve_case(*call)
                _put(result, part, *outcome)
                count += 1
                if progress is not None:
                    progress(count, len(parts) * len(cases))
    finally:
        own.shutdown(cancel_futures=True)
    return results


def every_configuration(
    cases: Sequence[WeightedProblem], axes: Axes, machine: Machine, options: DesignOptions
) -> Iterator[tuple[Configurations, ...]]:
    """Yield the configurations of every case."""
    table: dict[Program, Configurations] = {}
    for case in cases:
        if case.problem.program not in table:
            setting = make_setting(case.problem, machine)
            table[case.problem.program] = configurations(setting, axes.shared_kb, options)
    for case in cases:
        setting = make_setting(case.problem, machine, options.scope)
        yield table[case.problem.program], *others_of(case, setting, axes.shared_kb, options)


def _terms(cases: Sequence[WeightedProblem], results: Sequence[DesignSolution], part: _Part) -> dict[Program, _Terms]:
    terms: dict[Program, _Terms] = {}
    for case, result in zip(cases, results, strict=True):
        if case.problem.program not in terms:
            setting = make_setting(case.problem, part.machine, part.options.scope)
            tiles = result.configurations[0].tiles
            terms[case.problem.program] = tuple(
                separable.tile_terms(tiles, setting, part.options.form, width) for width in part.axes.vector_width
            )
    return terms


def _put(result: DesignSolution, part: _Part, seconds: Floats, joules: Floats, choice: Choices) -> None:
    for outer in part.outer:
        result.seconds[outer, part.column] = seconds
        result.choice[outer, part.column] = choice
        if result.joules is not None:
            static = part.watts * np.where(np.isfinite(seconds), seconds, 0.0)
            result.joules[outer, part.column] = joules + static


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
            counts = axes.sm_count[column]
            count = Quantity(value=counts[0], unit="1", source="description")
            yield _Part(
                axes=axes,
                options=options,
                energy=energy,
                outer=tuple(outer),
                column=column,
                sm_count=np.array(counts, dtype=float),
                machine=replace(machine, dram_bandwidth=rate, sm_count=count),
                register_bytes=registers * 1024.0,
                watts=np.zeros((len(counts), *axes.shape[2:])) if energy is None else energy.watts[outer[0], column],
            )


def _solve_case(case: WeightedProblem, terms: _Terms, groups: tuple[Configurations, ...], part: _Part) -> _Found:
    """Return what one case costs at best on one part, over all its strategies."""
    options = part.options
    setting = make_setting(case.problem, part.machine, options.scope)
    tried = options.tried(case)
    shape = (len(part.sm_count), *part.axes.shape[2:])
    best = np.full(shape, np.inf), np.full(shape, np.inf), np.full(shape, NOTHING, dtype=np.int32)
    start = len(groups[0].k)
    if "tiled" in tried and families(case.problem) != (NONE.family,):
        _keep_better(best, _hexagons(case, terms, groups[0], setting, part).solve(), 0, part)
    for other in groups[1:]:
        _keep_better(best, _family_search(case, other, setting, part).solve(), start, part)
        start += len(other.k)
    if "none" in tried:
        _keep_better(best, _untiled_costs(case, setting, part), 0, part)
    return best


def _keep_better(best: _Found, candidate: _Found, start: int, part: _Part) -> None:
    """Put what another family found wherever it costs less; its choices count from ``start``."""
    costs = [value(part.options.metric, seconds, joules, part.watts) for seconds, joules, _ in (best, candidate)]
    better = costs[1] < costs[0]
    for array, new in zip(best, (*candidate[:2], candidate[2] + start), strict=True):
        array[better] = np.broadcast_to(new, array.shape)[better]


def _untiled_costs(case: WeightedProblem, setting: Setting, part: _Part) -> _Found:
    """Return sweeps without time tiling, which no M_SM changes."""
    plain, none, widths = replace(setting, energy=None), sizes_of(NONE, setting), part.axes.vector_width
    sweeps = [
        [evaluate(NONE.family, none, plain.at(sm_count=int(count), vector_width=width)) for width in widths]
        for count in part.sm_count.tolist()
    ]
    seconds = np.array([[float(each.seconds[0]) for each in row] for row in sweeps])[:, :, None]
    dynamic = np.zeros(()) if part.energy is None else part.energy.dynamic(case, sweeps[0][0].dram_bytes / WORD)
    return seconds, dynamic, np.array(UNTILED, dtype=np.int32)


def _hexagons(case: WeightedProblem, terms: _Terms, config: Configurations, setting: Setting, part: _Part) -> "_Search":
    order = separable.schedule(config.tiles, setting, part.options.form)
    words = (terms[0].words * order.count * order.prisms)[config.tile]
    fronts = [count[config.tile].astype(float) for count in order.fronts]
    groups = [ceil_div(tiles[config.tile], config.k).astype(float) for tiles in order.tiles]

    def rounds(chosen: Ints) -> Floats:
        # Quotients of integers far below 2^53 are exact or off an integer by more than their rounding.
        turns = np.zeros((len(part.sm_count), len(chosen)))
        for n, w in zip(fronts, groups, strict=True):
            turns += n[chosen] * np.ceil(w[chosen] / part.sm_count[:, None])
        return turns

    return _Search(
        part=part,
        configurations=config,
        rank=len(setting.facts.shape),
        compute_seconds=[tiles.compute_seconds for tiles in terms],
        io_seconds=terms[0].io_seconds[config.tile],
        count=order.count[config.tile],
        sync=(order.wavefronts * setting.rates.launch_seconds)[config.tile],
        rounds=rounds,
        turns=np.asarray(sum(n * w for n, w in zip(fronts, groups, strict=True))),
        joules=np.zeros(len(config.k)) if part.energy is None else part.energy.dynamic(case, words),
    )


def _family_search(case: WeightedProblem, config: Configurations, setting: Setting, part: _Part) -> "_Search":
    facts, rates = setting.facts, setting.rates
    work = tiles_of(config.family).blocks(config.tiles, facts)
    words = (work.input_values + work.output_values) * facts.itemsize / WORD * work.count * work.tiles
    ((count, width),) = work.fronts.kinds
    ramp = (work.fronts.ramp + 0 * count)[config.tile]
    fronts = Fronts(kinds=((count[config.tile], width[config.tile]),), ramp=ramp)
    rounds = np.stack([fronts.turns(config.k * int(each)) for each in part.sm_count])
    widths = part.axes.vector_width
    return _Search(
        part=part,
        configurations=config,
        rank=len(facts.shape),
        compute_seconds=[blocks.computation(work, facts, setting.at(vector_width=each).rates) for each in widths],
        io_seconds=blocks.io(work, facts, rates)[config.tile],
        count=work.count[config.tile],
        sync=(work.fronts.count * rates.launch_seconds)[config.tile],
        rounds=lambda chosen: rounds[:, chosen],
        turns=(rounds * part.sm_count[:, None]).min(axis=0),
        joules=np.zeros(len(config.k)) if part.energy is None else part.energy.dynamic(case, words)[config.tile],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Search:
    """One case's configurations of a family on one part of the hardware; arrays of shape (m,) unless said otherwise."""

    part: _Part
    configurations: Configurations
    rank: int  # of the problem
    compute_seconds: Sequence[Floats]  # c per n_V, each of shape (tiles,)
    io_seconds: Floats  # m'
    count: Ints  # tiles in sequence per prism, N
    sync: Floats  # N_w T_sync
    rounds: Callable[[Ints], Floats]  # R of some configurations per n_SM; shape (s, len(chosen))
    turns: Floats  # at most R n_SM
    joules: Floats  # dynamic

    def solve(self) -> _Found:
        """Find the best configuration for every n_SM, n_V and M_SM."""
        part, config = self.part, self.configurations
        axes, options = part.axes, part.options
        shape = (len(part.sm_count), *axes.shape[2:])
        seconds, choice = np.full(shape, np.inf), np.full(shape, NOTHING, dtype=np.int32)
        joules, seeds = np.full(shape, np.inf), np.zeros(0, dtype=np.int64)
        for at, (width, compute) in enumerate(zip(axes.vector_width, self.compute_seconds, strict=True)):
            prism = separable.prism_seconds(
                self.io_seconds, compute[config.tile], config.k, self.count, options.form, self.rank
            )
            if options.thread_registers:
                need = config.k * (options.block_threads * options.thread_registers * _REGISTER_BYTES)
                prism = np.where(need <= part.register_bytes * width, prism, np.inf)
            seconds[:, at], choice[:, at] = self._best(prism, part.watts[:, at], seeds)
            seeds = np.unique(choice[:, at][choice[:, at] >= 0])
        joules[choice >= 0] = self.joules[choice[choice >= 0]]
        return seconds, joules, choice

    def _best(self, prism: Floats, watts: Floats, seeds: Ints) -> tuple[Floats, Ints]:
        """Return the seconds and configurations of the least values for one n_V; each of shape (s, levels)."""
        sm_count, work = self.part.sm_count, prism * self.turns
        seeds = np.union1d(seeds, self._promising(work))
        reached, _ = self._least(seeds, self._seconds(seeds, prism), watts)
        joules = float(self.joules.min()) if len(self.joules) else 0.0
        time = longest(self.part.options.metric, reached, joules, watts) * sm_count[:, None]
        # A configuration can serve its own level and all above it.
        limit = np.maximum.accumulate(time.max(axis=0)[::-1])[::-1] * _ROUNDING
        bound = work + self.sync * sm_count.min()
        chosen = np.flatnonzero((bound <= limit[self.configurations.level]) & np.isfinite(work))
        seconds = self._seconds(chosen, prism)
        _, where = self._least(chosen, seconds, watts)
        if not len(chosen):
            return np.full(where.shape, np.inf), np.full(where.shape, NOTHING)
        rows = np.arange(len(sm_count))[:, None]
        return np.where(where >= 0, seconds[rows, where], np.inf), np.where(where >= 0, chosen[where], NOTHING)

    def _seconds(self, chosen: Ints, prism: Floats) -> Floats:
        """Return T_alg of some configurations on every n_SM; shape (s, len(chosen))."""
        return np.asarray(self.sync[chosen] + prism[chosen] * self.rounds(chosen))

    def _least(self, chosen: Ints, seconds: Floats, watts: Floats) -> tuple[Floats, Ints]:
        """Return the least value and its position in ``chosen``, -1 without any, per n_SM and M_SM."""
        # ``chosen`` increases, hence also by level, shape (n,); ``seconds`` is (s, n), ``watts`` (s, levels).
        levels = len(self.configurations.starts) - 1
        ends = np.searchsorted(self.configurations.level[chosen], np.arange(levels), side="right")
        lowest = np.full((len(self.part.sm_count), levels), np.inf)
        where = np.full(lowest.shape, -1, dtype=np.int64)
        rows, metric = np.arange(len(self.part.sm_count)), self.part.options.metric
        timed, begin = metric in {"time", "per_area"}, 0
        for level, end in enumerate(ends.tolist()):
            if timed and level:  # What was best in the smaller memories stays so: only the new ones need be seen.
                lowest[:, level], where[:, level] = lowest[:, level - 1], where[:, level - 1]
            if end > begin:
                values = value(
                    self.part.options.metric,
                    seconds[:, begin:end],
                    self.joules[chosen[begin:end]],
                    watts[:, level, None],
                )
                at = values.argmin(axis=1)
                better = values[rows, at] < lowest[:, level]
                lowest[better, level], where[better, level] = values[rows, at][better], at[better] + begin
            begin = end if timed else 0
        return lowest, where

    def _promising(self, work: Floats) -> Ints:
        """Return one or two configurations per level that should be good."""
        indices = []
        starts = self.configurations.starts.tolist()
        for count in {float(self.part.sm_count.min()), float(self.part.sm_count.max())}:
            bound = work + self.sync * count
            indices += [begin + int(bound[begin:end].argmin()) for begin, end in pairwise(starts) if end > begin]
        return np.unique(np.array(indices, dtype=np.int64))
