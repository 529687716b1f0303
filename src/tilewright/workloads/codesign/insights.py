"""What the solved designs teach (thesis, C.4, 2.3.4 and 8.1): queries on their table, without solving again."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.tuning.select import best_within, pareto
from tilewright.workloads.codesign.area import AreaCoefficients
from tilewright.workloads.codesign.designs import DesignTable, Exploration, Weights

Row = dict[str, Any]
_CHANGE, _STEP, _SLOWER = 0.10, 50.0, 0.01
"""By which coefficients are off, mm^2 between budgets, and the share of time that a smaller chip may cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stock:
    """A chip that exists, solved like the designs."""

    name: str  # the chip
    exploration: Exploration  # of one design, without its caches
    area: float  # with its caches, mm^2


def sensitivity(table: DesignTable, _: Sequence[Stock] = ()) -> Iterator[Row]:
    """Yield the best design for every stencil alone, and what the workload's best design loses on it (table C.2)."""
    one, common = table.exploration, table.best
    for name in one.programs:
        alone = replace(table, weights={name: 1.0})
        own = [index for index, case in enumerate(one.cases) if case.program == name]
        largest = max(own, key=lambda index: one.cases[index].flops)
        yield {
            "program": name,
            "best": alone.design(alone.best),
            "shared_tiling": str(one.tiling(alone.best, largest)),  # on the largest size
            "common_gflops": float(alone.gflops[common]),
        }


def shared_needs(table: DesignTable, _: Sequence[Stock] = ()) -> Iterator[Row]:
    """Yield, per M_SM, how close to the best of the range a design can come (thesis, C.4.3)."""
    sizes = table.exploration.axes.shared_kb
    most = table.gain[table.inside].max()
    levels = np.arange(table.areas.size) % len(sizes)
    for level, shared_kb in enumerate(sizes):
        some = table.inside & (levels == level)
        best = table.best_of(some) if some.any() else None
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
    one, nominal = table.exploration, table.best
    low, high = table.between
    for name in AreaCoefficients.names():
        for factor in (1 - _CHANGE, 1 + _CHANGE):
            by = replace(one.coefficients, **{name: getattr(one.coefficients, name) * factor})
            now = replace(table, exploration=replace(one, coefficients=by))
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
    for one in stock:
        chip = DesignTable(exploration=one.exploration, weights=table.weights).design(0)
        found = [best_within(table.areas, table.gflops, budget) for budget in (one.area, chip.area)]
        pair = [None if at is None else table.design(at) for at in found]
        gains = [0.0 if best is None or not chip.gflops else best.gflops / chip.gflops - 1 for best in pair]
        yield {
            "name": one.name,
            "area": one.area,
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
