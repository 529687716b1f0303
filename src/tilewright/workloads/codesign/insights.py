"""What the solved designs teach (thesis, C.4, 2.3.4 and 8.1): from their tables, without solving again."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.costs.area import AreaCoefficients
from tilewright.costs.arrays import Floats
from tilewright.tuning.pareto import best_within
from tilewright.workloads.codesign.design import Axes
from tilewright.workloads.codesign.designs import Design, Exploration, Range, best_of, designs_at, pareto_set

Weights = Mapping[str, float] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadSensitivity:
    """The best design for one stencil alone (a row of table C.2), and what the workload's best design loses on it."""

    program: str
    best: Design  # scored by this stencil alone
    shared_tiling: str  # the tiling on the largest size, as text
    common_gflops: float  # GFLOP/s of the whole workload's best design on this stencil


def sensitivity(exploration: Exploration, between: Range, weights: Weights = None) -> tuple[WorkloadSensitivity, ...]:
    """Return the best design per stencil in a range of areas."""
    parts = exploration.parts()
    total = parts.total
    whole = exploration.score(weights, total)
    common = best_of(total, whole.gain, exploration.within(between, total, whole))
    rows = []
    for name in dict.fromkeys(case.program for case in exploration.cases):
        score = exploration.score({name: 1.0}, total)
        best = best_of(total, score.gain, exploration.within(between, total, score))
        own = [index for index, case in enumerate(exploration.cases) if case.program == name]
        largest = max(own, key=lambda index: exploration.cases[index].flops)
        rows.append(
            WorkloadSensitivity(
                program=name,
                best=designs_at(exploration, [best], score, parts)[0],
                shared_tiling=str(exploration.tiling(best, largest)),
                common_gflops=float(score.gflops[common]),
            )
        )
    return tuple(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedNeed:
    """The best design with one shared memory per SM."""

    shared_kb: float  # M_SM, kB
    best: Design | None  # None where none of a range runs the workload with so little
    share: float  # its gain over the best of all


def shared_needs(exploration: Exploration, between: Range, weights: Weights = None) -> tuple[SharedNeed, ...]:
    """Return, per M_SM, how close to the best of a range of areas a design can come (thesis, C.4.3)."""
    parts = exploration.parts()
    total = parts.total
    score = exploration.score(weights, total)
    inside = exploration.within(between, total, score)
    most = float(score.gain[inside].max())
    levels = np.arange(total.size) % exploration.axes.shape[3]
    rows = []
    for level, shared_kb in enumerate(exploration.axes.shared_kb):
        some = inside & (levels == level)
        best = None if not some.any() else designs_at(exploration, [best_of(total, score.gain, some)], score, parts)[0]
        share = 0.0 if best is None else float(score.gain[best.index]) / most
        rows.append(SharedNeed(shared_kb=shared_kb, best=best, share=share))
    return tuple(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Robustness:
    """What one coefficient that is off does to the choice."""

    coefficient: str  # name
    factor: float  # what it is multiplied by
    best: Design  # the best design under it
    area: float  # the area that the nominal best design has under it
    # share of the gain that is lost by building the nominal best, 0 where it is still the best; where it no longer
    # fits, that of the best design which does, against the nominal best's
    loss: float
    fits: bool  # whether the nominal best is still within the range


def robustness(
    exploration: Exploration, between: Range, weights: Weights = None, change: float = 0.10
) -> tuple[Robustness, ...]:
    """Change each coefficient of the area by plus and minus a share and choose again; the times stay as they are."""
    total = exploration.parts().total
    score = exploration.score(weights, total)
    nominal = best_of(total, score.gain, exploration.within(between, total, score))
    rows = []
    for name in AreaCoefficients.names():
        for factor in (1 - change, 1 + change):
            by = dataclasses.replace(
                exploration.coefficients, **{name: getattr(exploration.coefficients, name) * factor}
            )
            parts = exploration.parts(by)
            areas = parts.total
            if np.array_equal(areas, total):
                continue
            now = exploration.score(weights, areas)
            best = best_of(areas, now.gain, exploration.within(between, areas, now))
            fits = bool(between[0] <= areas[nominal] <= between[1])
            ratio = float(now.gain[nominal] / now.gain[best])
            rows.append(
                Robustness(
                    coefficient=name,
                    factor=factor,
                    best=designs_at(exploration, [best], now, parts)[0],
                    area=float(areas[nominal]),
                    loss=1 - (ratio if fits else 1 / ratio),
                    fits=fits,
                )
            )
    return tuple(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Marginal:
    """What more area buys at a budget."""

    budget: float  # mm^2
    best: Design  # the best design within it
    following: Design | None  # the next Pareto design, or None at the end
    gflops_per_mm2: float  # what one more mm^2 buys on the way to it; 0 at the end


def marginal(
    exploration: Exploration, between: Range, weights: Weights = None, step: float = 50.0
) -> tuple[Marginal, ...]:
    """Return what one more mm^2 buys at budgets from the least to the largest area."""
    parts = exploration.parts()
    total = parts.total
    score = exploration.score(weights, total)
    front = pareto_set(total, score.gflops, exploration.within(between, total, score))
    rows = []
    for budget in np.arange(np.ceil(between[0] / step), np.floor(between[1] / step) + 1) * step:
        at = int(np.searchsorted(total[front], budget, side="right")) - 1
        if at < 0:
            continue
        pair = designs_at(exploration, front[at : at + 2], score, parts)
        following = pair[1] if len(pair) > 1 else None
        slope = 0.0 if following is None else (following.gflops - pair[0].gflops) / (following.area - pair[0].area)
        rows.append(Marginal(budget=float(budget), best=pair[0], following=following, gflops_per_mm2=slope))
    return tuple(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheFree:
    """A stock chip against designs of its area (thesis, C.4.1)."""

    name: str  # the chip
    area: float  # with its caches, mm^2
    area_without: float  # without them, mm^2
    gflops: float  # its own, which caches do not change: the tiles move their data themselves
    best: Design | None  # the best design of at most its area
    best_without: Design | None  # the best design of at most its area without caches
    gain: float  # (GFLOP/s of ``best`` - its own) / its own
    gain_without: float  # the same for ``best_without``


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """A chip that exists, solved like the designs."""

    name: str  # the chip
    exploration: Exploration  # of one design, without its caches
    area: float  # with its caches, mm^2


def cache_free(exploration: Exploration, stock: Sequence[Stock], weights: Weights = None) -> tuple[CacheFree, ...]:
    """Compare stock chips with the designs of their areas, with and without their caches."""
    parts = exploration.parts()
    total = parts.total
    score = exploration.score(weights, total)
    rows = []
    for one in stock:
        gflops = float(one.exploration.score(weights).gflops[0])
        without = float(one.exploration.parts().total[0])
        found = [best_within(total, score.gflops, budget) for budget in (one.area, without)]
        pair = [None if at is None else designs_at(exploration, [at], score, parts)[0] for at in found]
        gains = [0.0 if best is None or not gflops else best.gflops / gflops - 1 for best in pair]
        rows.append(
            CacheFree(
                name=one.name,
                area=one.area,
                area_without=without,
                gflops=gflops,
                best=pair[0],
                best_without=pair[1],
                gain=gains[0],
                gain_without=gains[1],
            )
        )
    return tuple(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerDown:
    """What of a chip a stencil needs (bottleneckology, thesis 2.3.4 and C.6: power gating)."""

    program: str  # the stencil
    sm_count: int  # SMs that stay on
    vector_width: int  # vector units per SM that stay on
    shared_kb: float  # shared memory per SM that stays on, kB
    off: float  # share of the chip's area, caches included, that could be powered down
    slower: float  # share of time that this costs


def power_down(
    exploration: Exploration, whole: Axes, area: float, weights: Weights = None, tolerance: float = 0.01
) -> tuple[PowerDown, ...]:
    """Find, per stencil and for ``all together``, the smallest part of a chip that is hardly slower than all of it."""
    axes = exploration.axes
    total = exploration.parts().total.reshape(axes.shape)[0]
    box = tuple(
        np.flatnonzero(np.array(getattr(axes, name)) <= getattr(whole, name)[-1])
        for name in ("sm_count", "vector_width", "shared_kb")
    )
    if not all(len(indices) for indices in box):
        return ()
    inner = np.ix_(*box)
    names: list[tuple[str, Weights]] = [
        (name, {name: 1.0}) for name in dict.fromkeys(case.program for case in exploration.cases)
    ]
    rows = []
    for name, alone in [*names, ("all together", weights)]:
        seconds = exploration.score(alone).seconds.reshape(axes.shape)[0][inner]
        limit = seconds[-1, -1, -1]
        if not np.isfinite(limit):
            continue
        areas = np.where(seconds <= (1 + tolerance) * limit, total[inner], np.inf)
        at = np.unravel_index(int(areas.argmin()), areas.shape)
        chosen = tuple(int(indices[i]) for indices, i in zip(box, at, strict=True))
        rows.append(
            PowerDown(
                program=name,
                sm_count=axes.sm_count[chosen[0]],
                vector_width=axes.vector_width[chosen[1]],
                shared_kb=axes.shared_kb[chosen[2]],
                off=float(1 - areas[at] / area),
                slower=float(seconds[at] / limit - 1),
            )
        )
    return tuple(rows)


def shares(exploration: Exploration) -> tuple[Floats, Floats]:
    """Return, per design, the shares of its area that shared memory and that vector units take (figure C.4).

    Registers belong to the vector units here, as in the thesis' term per vector unit.
    """
    parts = exploration.parts()
    return parts.shared / parts.total, (parts.vector_units + parts.registers) / parts.total
