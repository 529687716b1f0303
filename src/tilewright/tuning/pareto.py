"""Pareto sets: what nothing else beats in every respect. Deterministic."""

import numpy as np

from tilewright.costs.arrays import Floats, Ints


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
