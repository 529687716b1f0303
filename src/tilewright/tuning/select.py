"""Ranking and selecting points of a space by a predicted cost. Deterministic: ties go to the smaller sizes.

Costs are times, or what a metric makes of time and energy (Prajapati, thesis, sections 5.2 and B.8); of two that are
both wanted Pareto sets are chosen.
"""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints, TileSizes
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.time import Costs

_MERGE_POINTS = 2**20  # points that gather before those that cannot be selected any more are dropped
METRICS = ("time", "traffic", "energy", "power", "edp", "ed2p")
"""Every metric of a run, least is best: seconds, bytes off chip, joules, watts, joule seconds, joule square seconds."""
DEGREE = {"time": 1, "traffic": 1, "energy": 1, "power": 0, "edp": 2, "ed2p": 3}
"""By which power of n a metric grows when a run is repeated n times."""


def rank(cost: Floats, sizes: TileSizes) -> Ints:
    """Return the indices of the points, cheapest first, ties by size; infinite and undefined costs are left out.

    >>> one = np.array([1, 1, 1])
    >>> rank(np.array([2.0, 1.0, np.inf]), TileSizes(time=one, space=(one,), k=one)).tolist()
    [1, 0]
    """
    order = np.lexsort((sizes.k, *reversed(sizes.threads), *reversed(sizes.space), sizes.time, cost))
    return np.asarray(order[np.isfinite(cost[order])])


def best(cost: Floats, sizes: TileSizes) -> int | None:
    """Return the index of the cheapest point, the first that :func:`rank` would return, or None without any."""
    if not np.isfinite(cost).any():
        return None
    ties = np.flatnonzero(cost == np.nanmin(cost))
    return int(ties[rank(cost[ties], sizes.take(ties))[0]])


def select(cost: Floats, sizes: TileSizes, *, within: float = 0.10, top: int | None = None) -> Ints:
    """Return indices of the points within a share of the cheapest one, cheapest first (time model, section 6.1).

    ``within`` is that share, ``top`` the most that are kept; ``sizes`` decide ties.
    """
    if not within >= 0:
        raise UsageError(f"within is a share of the best cost, at least 0, got {within!r}")
    if top is not None and top < 1:
        raise UsageError(f"top is at least 1, got {top!r}")
    if not np.isfinite(cost).any():
        return np.zeros(0, dtype=np.int64)
    near = np.flatnonzero(cost <= (1.0 + within) * np.nanmin(cost))
    return np.asarray(near[rank(cost[near], sizes.take(near))][:top])


def select_pieces(
    pieces: Iterable[TileSizes],
    evaluate: Callable[[TileSizes], Floats],
    *,
    within: float = 0.10,
    top: int | None = None,
) -> tuple[TileSizes, Floats, int]:
    """Select as :func:`select` does from a space in pieces; return the points, their costs and the space's size."""
    parts: list[tuple[TileSizes, Floats]] = []
    size = 0
    for piece in pieces:
        size += len(piece.time)
        parts.append((piece, evaluate(piece) if len(piece.time) else np.zeros(0)))
        if len(parts) > 1 and sum(len(cost) for _, cost in parts) > 2 * max(len(parts[0][1]), _MERGE_POINTS):
            parts = [_selection(parts, within, top)]
    if not parts:
        raise UsageError("a space has at least one piece, got none")
    return (*_selection(parts, within, top), size)


def _selection(parts: list[tuple[TileSizes, Floats]], within: float, top: int | None) -> tuple[TileSizes, Floats]:
    every = TileSizes.join([part for part, _ in parts])
    cost = np.concatenate([part for _, part in parts])
    index = select(cost, every, within=within, top=top)
    return every.take(index), cost[index]


def pareto(cost: Floats, gain: Floats) -> Ints:
    """Return the points that no other point beats: at most the cost and at least the gain, one of them strictly.

    They come by increasing cost, of equal points the first alone, none without a finite gain.

    >>> pareto(np.array([1.0, 2.0, 2.0, 3.0]), np.array([5.0, 7.0, 7.0, 6.0])).tolist()
    [0, 1]
    """
    order = np.lexsort((-gain, cost))
    order = order[np.isfinite(gain[order]) & np.isfinite(cost[order])]
    if not len(order):
        return np.asarray(order)
    before = np.concatenate(([-np.inf], np.maximum.accumulate(gain[order])[:-1]))
    return np.asarray(order[gain[order] > before])


def best_within(cost: Floats, gain: Floats, budget: float) -> int | None:
    """Return the point of largest gain whose cost is within a budget, the cheapest of equal ones, or None."""
    inside = np.flatnonzero((cost <= budget) & np.isfinite(gain))
    if not len(inside):
        return None
    return int(inside[np.lexsort((inside, cost[inside], -gain[inside]))[0]])


def value(metric: str, seconds: Floats, joules: Floats) -> Floats:
    """Return what a metric makes of time and energy; infinite where the time is.

    >>> value("edp", np.array([2.0]), np.array([3.0])).tolist()
    [6.0]
    """
    if metric == "time":
        return seconds
    finite = np.isfinite(seconds) & np.isfinite(joules)
    time, energy = np.where(finite, seconds, 1.0), np.where(finite, joules, 1.0)
    if metric == "power":
        values = np.divide(energy, time, out=np.full_like(energy, np.inf), where=time > 0)
    elif metric in DEGREE and metric != "traffic":
        values = energy * time ** (DEGREE[metric] - 1)
    else:
        raise UsageError(f"a metric of time and energy is one of time, energy, power, edp, ed2p, got {metric!r}")
    return np.where(finite, values, np.inf)


def cost(result: Breakdown, metric: str) -> Floats:
    """Return what a metric makes of a breakdown; shape (n,), infinite where a tile does not fit."""
    if metric == "time":
        return result.seconds
    if metric == "traffic":
        return np.where(np.isfinite(result.seconds), result.dram_bytes, np.inf)
    if result.joules is None:
        raise UsageError(f"the metric {metric!r} needs the energy model, which was left out here")
    return value(metric, result.seconds, result.joules)


def of_costs(costs: Sequence[Costs], metric: str) -> Floats:
    """Return what a metric makes of several costs; shape (n,). Where the energy is unknown it counts as 0."""
    if metric == "traffic":
        return np.array([each.dram_bytes for each in costs])
    return value(metric, np.array([each.seconds for each in costs]), np.array([each.joules or 0.0 for each in costs]))


def within_cap(seconds: Floats, joules: Floats, watts: float) -> Floats:
    """Return the times of the points whose average power is at most a cap, infinite for the others; shape (n,)."""
    if not watts > 0:
        raise UsageError(f"a power cap is above 0 W, got {watts!r}")
    return np.where(value("power", seconds, joules) <= watts, seconds, np.inf)


def front(seconds: Floats, joules: Floats) -> Ints:
    """Return the time-energy Pareto set: points that no other beats in both; indices by increasing time.

    >>> front(np.array([1.0, 2.0, 3.0]), np.array([5.0, 4.0, 4.5])).tolist()
    [0, 1]
    """
    return pareto(seconds, -joules)
