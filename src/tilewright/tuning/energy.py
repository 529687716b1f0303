"""Choosing by time, energy, power and their products (Prajapati, thesis, sections 5.2 and B.8). Deterministic."""

from collections.abc import Sequence

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints
from tilewright.costs.breakdown import Breakdown
from tilewright.costs.time import Costs
from tilewright.tuning.pareto import pareto

METRICS = ("time", "traffic", "energy", "power", "edp", "ed2p")
"""Every metric of a run, least is best: seconds, bytes off chip, joules, watts, joule seconds, joule square seconds."""
DEGREE = {"time": 1, "traffic": 1, "energy": 1, "power": 0, "edp": 2, "ed2p": 3}
"""By which power of n a metric grows when a run is repeated n times."""


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
        found = np.divide(energy, time, out=np.full_like(energy, np.inf), where=time > 0)
    elif metric in DEGREE and metric != "traffic":
        found = energy * time ** (DEGREE[metric] - 1)
    else:
        raise UsageError(f"a metric of time and energy is one of time, energy, power, edp, ed2p, got {metric!r}")
    return np.where(finite, found, np.inf)


def cost(result: Breakdown, metric: str) -> Floats:
    """Return what a metric makes of a breakdown; shape (n,), infinite where a tile does not fit."""
    if metric == "time":
        return result.seconds
    if metric == "traffic":
        return np.where(np.isfinite(result.seconds), result.dram_bytes, np.inf)
    if result.joules is None:
        raise UsageError(f"the metric {metric!r} needs the energy model, which was left out here")
    return value(metric, result.seconds, result.joules)


def of_costs(many: Sequence[Costs], metric: str) -> Floats:
    """Return what a metric makes of several costs; shape (n,). Where the energy is unknown it counts as 0."""
    if metric == "traffic":
        return np.array([each.dram_bytes for each in many])
    return value(metric, np.array([each.seconds for each in many]), np.array([each.joules or 0.0 for each in many]))


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
