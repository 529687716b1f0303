"""Designs with their areas and what a workload makes of them: weights and areas change without solving again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tilewright.base.errors import UsageError
from tilewright.base.records import Record
from tilewright.costs import area as area_model
from tilewright.costs.area import AreaCoefficients, Chip, Parts
from tilewright.costs.arrays import Floats, Ints
from tilewright.schedules.families import hexagonal, hybrid
from tilewright.schedules.family import Family
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.pareto import best_within, pareto
from tilewright.tuning.spaces import space
from tilewright.workloads.codesign.design import Axes, DesignOptions, WeightedProblem, reweighted
from tilewright.workloads.codesign.search import NOTHING
from tilewright.workloads.codesign.solve import UNTILED, DesignSolution

Range = tuple[float, float]
"""Least and largest area, mm^2."""


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
class DesignScore:
    """What a workload makes of every design; arrays of shape (designs,)."""

    seconds: Floats  # weighted sum of the cases' times, infinite where one fits nothing
    joules: Floats | None  # the same of energies
    gflops: Floats  # weighted operations over weighted time, in 1e9 per second
    # what is largest for the best design: GFLOP/s, GFLOP/s per mm^2, GFLOP per joule, or 1 over the weighted sum of
    # energy times delay
    gain: Floats


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

    def parts(self, coefficients: AreaCoefficients | None = None) -> Parts:
        """Return the areas of all designs per part, each of shape (designs,), perhaps by other coefficients."""
        by = coefficients or self.coefficients
        return area_model.parts(chips(self.axes, by), by, model=self.area_model, width_cost=self.width_cost)

    def score(self, weights: Mapping[str, float] | None = None, areas: Floats | None = None) -> DesignScore:
        """Return what the workload makes of every design; ``weights`` multiply the stencils' own, 0 where left out."""
        factors = _factors(self.cases, weights)
        active = [(case, one, w) for case, one, w in zip(self.cases, self.solutions, factors, strict=True) if w > 0]
        seconds = np.asarray(sum(w * one.seconds.ravel() for _, one, w in active))
        flops = sum(w * case.flops for case, _, w in active)
        joules = None
        if all(one.joules is not None for _, one, _ in active):
            joules = np.asarray(sum(w * one.joules.ravel() for _, one, w in active if one.joules is not None))
        gain = gflops = flops / seconds * 1e-9
        if self.options.metric == "per_area":
            gain = gflops / (self.parts().total if areas is None else areas)
        elif self.options.metric == "energy" and joules is not None:
            gain = flops / joules * 1e-9
        elif self.options.metric == "edp" and joules is not None:
            products = (w * (one.joules * one.seconds).ravel() for _, one, w in active if one.joules is not None)
            gain = 1.0 / np.asarray(sum(products))
        return DesignScore(seconds=seconds, joules=joules, gflops=gflops, gain=np.where(gain > 0, gain, -np.inf))

    def within(self, between: Range, areas: Floats, score: DesignScore) -> NDArray[np.bool_]:
        """Say which designs, at least one, have an area in a range and run every case."""
        low, high = between
        if not 0 <= low <= high:
            raise UsageError(f"the area goes from a lower to an upper bound, got {low:g}:{high:g} mm^2")
        inside = (areas >= low) & (areas <= high) & np.isfinite(score.gain)
        if not inside.any():
            least, most = float(areas.min()), float(areas.max())
            raise UsageError(
                f"none of the {areas.size} designs has an area of {low:g} to {high:g} mm^2 and runs the whole workload",
                f"their areas go from {least:.4g} to {most:.4g} mm^2",
            )
        return np.asarray(inside)

    def tiling(self, design: int, case: int) -> Tiling | None:
        """Return the tiling that is best for a case on a design, or None where nothing fits."""
        return tiling_of(self.solutions[case], design)


def tiling_of(solution: DesignSolution, design: int) -> Tiling | None:
    """Return the tiling of one design of a solution, k included, or None where nothing fits."""
    choice = int(solution.choice.ravel()[design])
    if choice in {NOTHING, UNTILED}:
        return NONE if choice == UNTILED else None
    held = solution.configurations
    family: Family = hexagonal.FAMILY if len(held.tiles.space) == 1 else hybrid.FAMILY
    for other, configurations in solution.others:
        if choice < len(held.k):
            break
        choice, family, held = choice - len(held.k), other, configurations
    tile = held.tiles.take(slice(int(held.tile[choice]), int(held.tile[choice]) + 1))
    found = space.tiling_at(family, tile, 0)
    return Tiling(family=family, time=found.time, space=found.space, k=int(held.k[choice]))


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


def designs_at(
    exploration: Exploration, indices: Ints | Sequence[int], score: DesignScore, parts: Parts
) -> tuple[Design, ...]:
    """Return some of the explored designs as values."""
    held = chips(exploration.axes, exploration.coefficients)
    total = parts.total
    memory = parts.registers + parts.shared + parts.l1 + parts.l2
    shape = exploration.axes.shape
    found = []
    for index in np.asarray(indices, dtype=np.int64).tolist():
        bandwidth, registers, l1, l2 = exploration.axes.outer[np.unravel_index(index, shape)[0]]
        seconds = float(score.seconds[index])
        found.append(
            Design(
                index=index,
                sm_count=int(np.asarray(held.sm_count)[index]),
                vector_width=int(np.asarray(held.vector_width)[index]),
                shared_kb=float(np.asarray(held.shared_kb)[index]),
                register_kb=registers,
                l1_pair_kb=l1,
                l2_sm_kb=l2,
                bandwidth=bandwidth,
                area=float(total[index]),
                memory_share=float(memory[index] / total[index]),
                vector_share=float(parts.vector_units[index] / total[index]),
                gflops=float(score.gflops[index]),
                seconds=seconds,
                joules=None if score.joules is None else float(score.joules[index]),
            )
        )
    return tuple(found)


def pareto_set(areas: Floats, gain: Floats, inside: NDArray[np.bool_]) -> Ints:
    """Return the indices of the designs of a range that no design of it beats in area and gain."""
    chosen = np.flatnonzero(inside)
    return np.asarray(chosen[pareto(areas[chosen], gain[chosen])])


def best_of(areas: Floats, gain: Floats, inside: NDArray[np.bool_]) -> int:
    """Return the design of largest gain in a range, the smallest of equal ones; the range must not be empty."""
    chosen = np.flatnonzero(inside)
    found = best_within(areas[chosen], gain[chosen], np.inf)
    if found is None:
        raise UsageError("there is no design to choose from")
    return int(chosen[found])


def _factors(cases: Sequence[WeightedProblem], weights: Mapping[str, float] | None) -> tuple[float, ...]:
    names = {case.program for case in cases}
    return reweighted(cases, dict.fromkeys(names, 1.0) if weights is None else weights)
