"""Designs with their areas and what a workload makes of them: weights and areas change without solving again.

What the solved designs teach (thesis, C.4, 2.3.4 and 8.1) are queries on their table: :data:`INSIGHTS`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.base.errors import UsageError
from tilewright.base.records import Record
from tilewright.costs.arrays import Floats, Ints
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.select import best_within, pareto
from tilewright.tuning.spaces import space
from tilewright.workloads.codesign import area as area_model
from tilewright.workloads.codesign.area import AreaCoefficients, Chip, Parts
from tilewright.workloads.codesign.design import Axes, DesignOptions, WeightedProblem, reweighted
from tilewright.workloads.codesign.solve import NOTHING, UNTILED, DesignSolution

Range = tuple[float, float]  # least and largest area, mm^2
Weights = Mapping[str, float] | None  # factors of the stencils' own weights, 0 where left out; None for 1
Mask = NDArray[np.bool_]
Row = dict[str, Any]
_CHANGE, _STEP, _SLOWER = 0.10, 50.0, 0.01
"""By which coefficients are off, mm^2 between budgets, and the share of time that a smaller chip may cost."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Design(Record):
    """One hardware design and what a workload makes of it."""

    index: int  # place among the explored designs; -1 for a stock chip
    sm_count: int  # n_SM
    vector_width: int  # n_V
    shared_kb: float  # M_SM, kB
    register_kb: float  # R_VU, kB
    l1_pair_kb: float  # L1 per pair of SMs
    l2_sm_kb: float  # L2 per SM
    bandwidth: float  # share of that of the base machine
    area: float  # mm^2
    memory_share: float  # of the area: registers, shared memories and caches
    vector_share: float  # of the area: vector units without their registers
    gflops: float  # weighted operations over weighted time, in 1e9 per second; 0 where a case fits nothing
    seconds: float  # weighted
    joules: float | None  # weighted


@dataclass(frozen=True, slots=True, kw_only=True)
class Exploration:
    """The solved designs of a workload."""

    cases: tuple[WeightedProblem, ...]  # workload
    axes: Axes  # hardware
    options: DesignOptions  # assumptions of the time model, and the metric
    solutions: tuple[DesignSolution, ...]  # one per case
    coefficients: AreaCoefficients
    area_model: str = "exact"  # ``exact`` or ``published``
    width_cost: bool = False  # whether the width of an SM is charged

    @property
    def programs(self) -> tuple[str, ...]:
        """Names of the stencils."""
        return tuple(dict.fromkeys(case.program for case in self.cases))

    def parts(self) -> Parts:
        """Return the areas of all designs per part, each of shape (designs,)."""
        by = self.coefficients
        return area_model.parts(chips(self.axes, by), by, model=self.area_model, width_cost=self.width_cost)

    def tiling(self, design: int, case: int) -> Tiling | None:
        """Return the tiling that is best for a case on a design, or None where nothing fits."""
        return tiling_of(self.solutions[case], design)


@dataclass(frozen=True, kw_only=True)
class DesignTable:
    """What a workload makes of every design, in columns of shape (designs,), and which of them are in a range."""

    exploration: Exploration
    between: Range = (0.0, np.inf)  # of areas
    weights: Weights = None

    @cached_property
    def parts(self) -> Parts:
        """Areas, mm^2 per part."""
        return self.exploration.parts()

    @cached_property
    def areas(self) -> Floats:
        """Areas, mm^2."""
        return self.parts.total

    @cached_property
    def _active(self) -> list[tuple[WeightedProblem, DesignSolution, float]]:
        exploration = self.exploration
        weights = dict.fromkeys(exploration.programs, 1.0) if self.weights is None else self.weights
        every = zip(exploration.cases, exploration.solutions, reweighted(exploration.cases, weights), strict=True)
        return [each for each in every if each[2] > 0]

    @cached_property
    def seconds(self) -> Floats:
        """Weighted sum of the cases' times, infinite where one fits nothing."""
        return np.asarray(sum(weight * solution.seconds.ravel() for _, solution, weight in self._active))

    @cached_property
    def joules(self) -> Floats | None:
        """Weighted sum of the cases' energies."""
        parts = [weight * s.joules.ravel() for _, s, weight in self._active if s.joules is not None]
        return np.asarray(sum(parts)) if len(parts) == len(self._active) else None

    @property
    def _flops(self) -> float:
        return sum(weight * case.flops for case, _, weight in self._active)

    @cached_property
    def gflops(self) -> Floats:
        """Weighted operations over weighted time, in 1e9 per second."""
        return self._flops / self.seconds * 1e-9

    @cached_property
    def gain(self) -> Floats:
        """What is largest for the best design.

        GFLOP/s, GFLOP/s per mm^2, GFLOP per joule, or 1 over the weighted sum of energy times delay.
        """
        metric, gain = self.exploration.options.metric, self.gflops
        if metric == "per_area":
            gain = gain / self.areas
        elif metric == "energy" and self.joules is not None:
            gain = self._flops / self.joules * 1e-9
        elif metric == "edp" and self.joules is not None:
            products = (w * (s.joules * s.seconds).ravel() for _, s, w in self._active if s.joules is not None)
            gain = 1.0 / np.asarray(sum(products))
        return np.where(gain > 0, gain, -np.inf)

    @cached_property
    def inside(self) -> Mask:
        """Which designs, at least one, have an area in the range and run every case."""
        return within(self.between, self.areas, np.isfinite(self.gain))

    @property
    def best(self) -> int:
        """The design of largest gain in the range, the smallest of equal ones."""
        return self.best_of(self.inside)

    @property
    def front(self) -> Ints:
        """The designs of the range that none of it beats in area and gain."""
        return pareto(self.areas, np.where(self.inside, self.gain, -np.inf))

    def best_of(self, mask: Mask) -> int:
        """Return the design of largest gain among some, the smallest of equal ones."""
        index = best_within(self.areas, np.where(mask, self.gain, -np.inf), np.inf)
        if index is None:
            raise UsageError("there is no design to choose from")
        return index

    def design(self, index: int) -> Design:
        """Return one of the designs as a value."""
        axes, parts, area = self.exploration.axes, self.parts, self.areas[index]
        outer, sms, width, shared = np.unravel_index(index, axes.shape)
        bandwidth, registers, l1, l2 = axes.outer[outer]
        memory = parts.registers + parts.shared + parts.l1 + parts.l2
        return Design(
            index=int(index),
            sm_count=int(axes.sm_count[sms]),
            vector_width=int(axes.vector_width[width]),
            shared_kb=float(axes.shared_kb[shared]),
            register_kb=registers,
            l1_pair_kb=l1,
            l2_sm_kb=l2,
            bandwidth=bandwidth,
            area=float(area),
            memory_share=float(memory[index] / area),
            vector_share=float(parts.vector_units[index] / area),
            gflops=float(self.gflops[index]),
            seconds=float(self.seconds[index]),
            joules=None if self.joules is None else float(self.joules[index]),
        )


def within(between: Range, areas: Floats, runs: Mask | None = None) -> Mask:
    """Say which designs, at least one, have an area in a range and, where it is known, run the whole workload."""
    low, high = between
    if not 0 <= low <= high:
        raise UsageError(f"the area goes from a lower to an upper bound, got {low:g}:{high:g} mm^2")
    inside = (areas >= low) & (areas <= high)
    if runs is not None:
        inside &= runs
    if not inside.any():
        also = "" if runs is None else " and runs the whole workload"
        raise UsageError(
            f"none of the {areas.size} designs has an area of {low:g} to {high:g} mm^2{also}",
            f"their areas go from {areas.min():.4g} to {areas.max():.4g} mm^2",
        )
    return inside


def tiling_of(solution: DesignSolution, design: int) -> Tiling | None:
    """Return the tiling of one design of a solution, k included, or None where nothing fits."""
    choice = int(solution.choice.ravel()[design])
    if choice in {NOTHING, UNTILED}:
        return NONE if choice == UNTILED else None
    for configs in solution.configurations:
        if choice < len(configs.k):
            break
        choice -= len(configs.k)
    tiling = space.tiling_at(configs.family, configs.tiles, int(configs.tile[choice]))
    return Tiling(family=configs.family, time=tiling.time, space=tiling.space, k=int(configs.k[choice]))


def chips(axes: Axes, by: AreaCoefficients) -> Chip:
    """Return all designs of the axes as arrays of shape (designs,)."""
    outer, sms, lanes, shared = (
        grid.ravel()
        for grid in np.meshgrid(
            np.arange(len(axes.outer)), axes.sm_count, axes.vector_width, axes.shared_kb, indexing="ij"
        )
    )
    bandwidth, registers, l1, l2 = np.array(axes.outer, dtype=float).T
    return Chip(
        sm_count=sms,
        vector_width=lanes,
        shared_kb=shared,
        register_kb=registers[outer],
        l1_pair_kb=l1[outer],
        l2_kb=l2[outer] * sms,
        bandwidth=bandwidth[outer] * by.stock_bandwidth,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """A chip that exists, solved like the designs."""

    name: str  # the chip
    exploration: Exploration  # of one design, without its caches
    area: float  # with its caches, mm^2

    def design(self, weights: Weights) -> Design:
        """Return what a workload makes of it, without its caches."""
        return DesignTable(exploration=self.exploration, weights=weights).design(0)


def sensitivity(table: DesignTable, _: Sequence[Stock] = ()) -> Iterator[Row]:
    """Yield the best design for every stencil alone, and what the workload's best design loses on it (table C.2)."""
    exploration, common = table.exploration, table.best
    for name in exploration.programs:
        alone = replace(table, weights={name: 1.0})
        own = [index for index, case in enumerate(exploration.cases) if case.program == name]
        largest = max(own, key=lambda index: exploration.cases[index].flops)
        yield {
            "program": name,
            "best": alone.design(alone.best),
            "shared_tiling": str(exploration.tiling(alone.best, largest)),  # on the largest size
            "common_gflops": float(alone.gflops[common]),
        }


def shared_needs(table: DesignTable, _: Sequence[Stock] = ()) -> Iterator[Row]:
    """Yield, per M_SM, how close to the best of the range a design can come (thesis, C.4.3)."""
    sizes = table.exploration.axes.shared_kb
    most = table.gain[table.inside].max()
    levels = np.arange(table.areas.size) % len(sizes)
    for level, shared_kb in enumerate(sizes):
        mask = table.inside & (levels == level)
        best = table.best_of(mask) if mask.any() else None
        yield {
            "shared_kb": shared_kb,
            "best": None if best is None else table.design(best),
            "share": 0.0 if best is None else float(table.gain[best] / most),
        }


def robustness(table: DesignTable, _: Sequence[Stock] = ()) -> Iterator[Row]:
    """Change each coefficient of the area by plus and minus a share and choose again; the times stay as they are.

    ``area`` is what the nominal best design has under it, ``fits`` whether it is still in the range. ``loss`` is the
    share of the gain that is lost by building it, 0 where it is still the best; where it no longer fits, that of the
    best design which does, against the nominal best's.
    """
    exploration, nominal = table.exploration, table.best
    low, high = table.between
    for name in AreaCoefficients.names():
        for factor in (1 - _CHANGE, 1 + _CHANGE):
            by = replace(exploration.coefficients, **{name: getattr(exploration.coefficients, name) * factor})
            now = replace(table, exploration=replace(exploration, coefficients=by))
            if np.array_equal(now.areas, table.areas):
                continue
            fits = bool(low <= now.areas[nominal] <= high)
            ratio = float(now.gain[nominal] / now.gain[now.best])
            yield {
                "coefficient": name,
                "factor": factor,
                "best": now.design(now.best),
                "area": float(now.areas[nominal]),
                "loss": 1 - (ratio if fits else 1 / ratio),
                "fits": fits,
            }


def marginal(table: DesignTable, _: Sequence[Stock] = ()) -> Iterator[Row]:
    """Yield what one more mm^2 buys on the way to the next Pareto design, at budgets over the whole range."""
    low, high = table.between
    front = pareto(table.areas, np.where(table.inside, table.gflops, -np.inf))
    for budget in np.arange(np.ceil(low / _STEP), np.floor(high / _STEP) + 1) * _STEP:
        at = int(np.searchsorted(table.areas[front], budget, side="right")) - 1
        if at >= 0:
            best, *more = (table.design(index) for index in front[at : at + 2].tolist())
            following = more[0] if more else None
            slope = 0.0 if following is None else (following.gflops - best.gflops) / (following.area - best.area)
            yield {"budget": float(budget), "best": best, "following": following, "gflops_per_mm2": slope}


def cache_free(table: DesignTable, stock: Sequence[Stock]) -> Iterator[Row]:
    """Compare stock chips with the designs of their areas, with and without their caches (thesis, C.4.1).

    Caches do not change a chip's own GFLOP/s: the tiles move their data themselves.
    """
    for gpu in stock:
        chip = gpu.design(table.weights)
        indices = [best_within(table.areas, table.gflops, budget) for budget in (gpu.area, chip.area)]
        pair = [None if at is None else table.design(at) for at in indices]
        gains = [0.0 if best is None or not chip.gflops else best.gflops / chip.gflops - 1 for best in pair]
        yield {
            "name": gpu.name,
            "area": gpu.area,
            "area_without": chip.area,
            "gflops": chip.gflops,
            "best": pair[0],
            "best_without": pair[1],
            "gain": gains[0],
            "gain_without": gains[1],
        }


def power_down(table: DesignTable, stock: Sequence[Stock]) -> Iterator[Row]:
    """Find, per stencil and for all together, the smallest part of a chip that is hardly slower than all of it.

    ``off`` is the share of the chip's area, caches included, that could be powered down, ``slower`` the share of time
    that this costs (bottleneckology, thesis 2.3.4 and C.6: power gating).
    """
    axes = table.exploration.axes
    every: list[tuple[str, Weights]] = [(name, {name: 1.0}) for name in table.exploration.programs]
    areas = table.areas.reshape(axes.shape)[0]
    for chip in stock:
        whole = chip.exploration.axes
        box = tuple(
            np.flatnonzero(np.array(values) <= most[-1])
            for values, most in (
                (axes.sm_count, whole.sm_count),
                (axes.vector_width, whole.vector_width),
                (axes.shared_kb, whole.shared_kb),
            )
        )
        for name, weights in [*every, ("all together", table.weights)] if all(map(len, box)) else ():
            seconds = replace(table, weights=weights).seconds.reshape(axes.shape)[0][np.ix_(*box)]
            limit = seconds[-1, -1, -1]
            if np.isfinite(limit):
                fast = np.where(seconds <= (1 + _SLOWER) * limit, areas[np.ix_(*box)], np.inf)
                at = np.unravel_index(int(fast.argmin()), fast.shape)
                sms, width, shared = (int(indices[i]) for indices, i in zip(box, at, strict=True))
                yield {
                    "chip": chip.name,
                    "program": name,
                    "sm_count": axes.sm_count[sms],
                    "vector_width": axes.vector_width[width],
                    "shared_kb": axes.shared_kb[shared],
                    "off": float(1 - fast[at] / chip.area),
                    "slower": float(seconds[at] / limit - 1),
                }


INSIGHTS: Mapping[str, Callable[[DesignTable, Sequence[Stock]], Iterator[Row]]] = {
    "sensitivity": sensitivity,
    "shared": shared_needs,
    "cacheless": cache_free,
    "robustness": robustness,
    "marginal": marginal,
    "power": power_down,
}
