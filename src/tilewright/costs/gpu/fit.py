"""Calibration of the selector's constants from a few measured points: a stated, seeded sample, never the scored points.

The constants have prior values and prior spreads (they are physical quantities whose order is known); ten points of a
stencil move them only as far as they must. Every stencil also has one factor of its own, the role that C_iter has in
the time model.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints
from tilewright.costs.gpu.terms import GpuConstants
from tilewright.costs.gpu.threads import TilingBatch, evaluate
from tilewright.machines.numbers import Numbers

NOISE = 0.2  # spread of the model's relative error at a typical point
SPREADS = {
    "latency": 0.15, "row_cycles": 0.3, "copy_cycles": 0.3, "guarded_copy_cycles": 0.3, "guarded_copy_slots": 0.3,
    "dram_share": 0.08, "l2_share": 0.08, "boundary": 0.1, "global_access": 0.2, "global_row_cycles": 0.3,
    "fetch_cycles": 0.3, "plain_slots": 0.2, "guarded_slots": 0.2, "segment_words": 0.3,
}  # fmt: skip
"""The constants that a calibration may change, and the prior spread of the logarithm of each."""
SCALE_SPREAD = 0.2  # prior spread of the logarithm of a stencil's own factor
FASTEST = 10.0
"""Power of speed by which points count where a choice is to be made: those within a fifth of the best decide."""
_SHARES = frozenset({"dram_share", "l2_share"})
_PROMISING = 0.05
_ROUNDS = 30
_STEP = 1e-4
_SLOWEST = 0.1
_FASTEST_FIRST = 25.0
_OWN_PRIOR = 2.0  # weight of a factor of 1 beside measured points, the fastest of which weighs 1


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPoints:
    """Measured points of one stencil."""

    case: TilingBatch
    seconds: Floats  # measured, of every tiling; shape (n,)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuFit:
    """What a calibration found."""

    constants: GpuConstants
    scales: tuple[float, ...]  # per stencil the factor between measured and predicted time
    points: int  # number of points used


def sample(predicted: Floats, count: int, seed: int | Sequence[int]) -> Ints:
    """Choose points to measure: more than half of them among the most promising, the others anywhere else.

    >>> len(sample(np.arange(1000.0), 10, 0)), (sample(np.arange(1000.0), 10, 0) < 50).sum().item()
    (10, 6)
    """
    if count < 0:
        raise UsageError(f"the number of calibration points is at least 0, got {count}")
    count = min(count, len(predicted))
    order = np.argsort(predicted, kind="stable")
    near = (6 * count + 9) // 10
    first = max(int(_PROMISING * len(predicted)), near)
    generator = np.random.default_rng(seed)
    chosen = [generator.choice(order[:first], near, replace=False)]
    chosen.append(generator.choice(order[first:], count - near, replace=False))
    return np.asarray(np.sort(np.concatenate(chosen)))


def calibrate(
    stencils: Sequence[LogPoints],
    gpu: Numbers,
    prior: GpuConstants | None = None,  # where to start, and what holds without evidence; the shipped ones by default
    *,
    free: Mapping[str, float] = SPREADS,  # constants that may change, with the prior spread of each one's logarithm
    fastest: float = 1.0,  # how much more fast points count: with this power of their speed
    factors: float = SCALE_SPREAD,  # prior spread of the logarithm of every stencil's own factor
) -> GpuFit:
    """Fit the constants, and one factor per stencil, to measured points."""
    # Minimises the squared logarithms of predicted over measured time, weighted towards fast points and robust against
    # outliers (Huber), plus the squared distance from the prior in units of its spread: Gauss-Newton with damping.
    names = tuple(free)
    in_order, stencils = stencils, sorted(stencils, key=_place)
    start = prior or GpuConstants()
    centre = np.log([getattr(start, name) for name in names])
    spread = np.array(list(free.values()))
    owners = np.concatenate([np.full(len(each.seconds), i) for i, each in enumerate(stencils)] or [np.zeros(0, int)])
    total = len(owners)
    if total == 0:
        return GpuFit(constants=start, scales=(1.0,) * len(stencils), points=0)
    root = np.concatenate([np.sqrt(_weights(each.seconds, fastest)) for each in stencils]) / NOISE
    belongs = (owners[:, None] == np.arange(len(stencils))).astype(float)

    def errors(values: Floats) -> Floats:
        fitted = constants_of(names, values, start)
        logarithms = [np.log(evaluate(each.case, gpu, fitted).seconds / each.seconds) for each in stencils]
        return np.asarray(np.concatenate(logarithms) + belongs @ values[len(centre) :])

    values = np.concatenate([centre, np.zeros(len(stencils))])
    middle = values.copy()
    rigid = 1.0 / np.concatenate([spread, np.full(len(stencils), factors)])
    damping, deviations = 1e-3, errors(values)
    cost = _cost(deviations * root, (values - middle) * rigid)
    for _ in range(_ROUNDS):
        slopes = np.hstack([_slopes(errors, values, deviations, len(centre)), belongs])
        keep = _huber(deviations * root)
        system = (slopes * (root * keep)[:, None] ** 2).T @ slopes + np.diag(rigid**2)
        gradient = slopes.T @ ((root * keep) ** 2 * deviations) + rigid**2 * (values - middle)
        trial = _bounded(names, values - np.linalg.solve(system + damping * np.diag(np.diag(system)), gradient))
        tried = errors(trial)
        lower = _cost(tried * root, (trial - middle) * rigid)
        if lower < cost:
            done = cost - lower < 1e-6 * cost
            values, deviations, cost, damping = trial, tried, lower, damping / 3
            if done:
                break
        else:
            damping *= 10
    fitted = constants_of(names, values, start)
    scales = tuple(own_scale(each, gpu, fitted) for each in in_order)
    return GpuFit(constants=fitted, scales=scales, points=total)


def _place(points: LogPoints) -> tuple[object, ...]:
    """Order stencils by name and size: sums of floating-point numbers then do not depend on the order of the logs."""
    facts = points.case.facts
    return points.case.program.name, facts.shape, facts.steps, len(points.seconds), *points.seconds.tolist()


def own_scale(points: LogPoints, gpu: Numbers, constants: GpuConstants) -> float:
    """Return a stencil's factor between measured and predicted time; see :func:`scale_of`."""
    if len(points.seconds) == 0:
        return 1.0
    return scale_of(evaluate(points.case, gpu, constants).seconds, points.seconds)


def scale_of(predicted: Floats, measured: Floats) -> float:
    """Return the mean ratio of measured to predicted time: the fastest points count most, few points count little.

    >>> round(scale_of(np.array([1.0, 1.0]), np.array([1.0, 1.0])), 6)
    1.0
    """
    ratio = np.log(measured / predicted)
    weights = _weights(measured, _FASTEST_FIRST)
    return float(np.exp((weights * ratio).sum() / (weights.sum() + _OWN_PRIOR)))


def constants_of(names: Sequence[str], logarithms: Floats, start: GpuConstants) -> GpuConstants:
    """Return constants of which the named ones have these logarithms, the first of an array."""
    return replace(start, **dict(zip(names, np.exp(logarithms[: len(names)]).tolist(), strict=True)))


def _weights(seconds: Floats, power: float) -> Floats:
    return np.asarray(np.clip(seconds.min() / seconds, _SLOWEST, 1.0) ** power)


def _bounded(names: Sequence[str], values: Floats) -> Floats:
    """Keep sustained shares of a peak at most 1."""
    most = [0.0 if name in _SHARES else np.inf for name in names]
    return np.asarray(np.minimum(values, np.array([*most, *[np.inf] * (len(values) - len(most))])))


def _slopes(errors: Callable[[Floats], Floats], values: Floats, base: Floats, count: int) -> Floats:
    columns = []
    for i in range(count):
        shifted = values.copy()
        shifted[i] += _STEP
        columns.append((errors(shifted) - base) / _STEP)
    return np.stack(columns, axis=1)


def _huber(scaled: Floats) -> Floats:
    """Square roots of the weights that make squares count linearly beyond 1.5."""
    return np.asarray(np.sqrt(np.minimum(1.0, 1.5 / np.maximum(np.abs(scaled), 1e-12))))


def _cost(scaled: Floats, prior: Floats) -> float:
    size = np.abs(scaled)
    return float(np.where(size <= 1.5, size**2, 3.0 * size - 2.25).sum() + (prior**2).sum())
