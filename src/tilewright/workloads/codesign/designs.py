"""Designs with their areas and what a workload makes of them: weights and areas change without solving again."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

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

Range = tuple[float, float]
"""Least and largest area, mm^2."""
Weights = Mapping[str, float] | None
"""Factors of the stencils' own weights, 0 where left out; None for 1."""
Mask = NDArray[np.bool_]


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
        one = self.exploration
        weights = dict.fromkeys(one.programs, 1.0) if self.weights is None else self.weights
        every = zip(one.cases, one.solutions, reweighted(one.cases, weights), strict=True)
        return [each for each in every if each[2] > 0]

    @cached_property
    def seconds(self) -> Floats:
        """Weighted sum of the cases' times, infinite where one fits nothing."""
        return np.asarray(sum(weight * one.seconds.ravel() for _, one, weight in self._active))

    @cached_property
    def joules(self) -> Floats | None:
        """Weighted sum of the cases' energies."""
        found = [weight * one.joules.ravel() for _, one, weight in self._active if one.joules is not None]
        return np.asarray(sum(found)) if len(found) == len(self._active) else None

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
        metric, found = self.exploration.options.metric, self.gflops
        if metric == "per_area":
            found = found / self.areas
        elif metric == "energy" and self.joules is not None:
            found = self._flops / self.joules * 1e-9
        elif metric == "edp" and self.joules is not None:
            products = (w * (one.joules * one.seconds).ravel() for _, one, w in self._active if one.joules is not None)
            found = 1.0 / np.asarray(sum(products))
        return np.where(found > 0, found, -np.inf)

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

    def best_of(self, some: Mask) -> int:
        """Return the design of largest gain among some, the smallest of equal ones."""
        found = best_within(self.areas, np.where(some, self.gain, -np.inf), np.inf)
        if found is None:
            raise UsageError("there is no design to choose from")
        return found

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
    for held in solution.configurations:
        if choice < len(held.k):
            break
        choice -= len(held.k)
    found = space.tiling_at(held.family, held.tiles, int(held.tile[choice]))
    return Tiling(family=held.family, time=found.time, space=found.space, k=int(held.k[choice]))


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
