"""Robust statistics of measurements: a value with its spread, and C_iter from the times of many problem instances.

The time model is linear in C_iter and in the start-up of a row once everything else is switched off: a compute-only
instance i takes ``A_i C_iter + B_i row``. The papers determine C_iter from 70 random instances of this kind (Prajapati
et al., PPoPP 2017, section 5.2). A noisy machine makes instances slower and never faster, so the fit minimises
the absolute relative deviations, which a minority of outliers does not move.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs import traffic
from tilewright.costs.arrays import Floats, Sizes
from tilewright.costs.setting import Setting
from tilewright.costs.time import evaluate
from tilewright.machines.machine import Quantity

_ROUNDS = 60
_SMALLEST = 1e-6
LOW, HIGH = 5.0, 95.0
"""Percentiles that count as the spread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fitted C_iter.

    Attributes:
        iteration: Seconds per loop-body iteration of one vector unit.
        low: 5th percentile of what the single instances say.
        high: 95th percentile.
        row: Seconds of the start-up of a row.
        deviation: Median absolute deviation of the fitted from the measured times, as a share.
        instances: Number of instances.
    """

    iteration: float
    low: float
    high: float
    row: float
    deviation: float
    instances: int


def robust(samples: Sequence[float], unit: str, note: str) -> Quantity:
    """Return the median of samples as a measured quantity, its range the 5th to the 95th percentile.

    >>> robust([1.0, 2.0, 9.0], "s", "three samples").value
    2.0
    """
    if not samples:
        raise UsageError("there are no samples to make a quantity of")
    low, value, high = (float(x) for x in np.percentile(samples, (LOW, 50.0, HIGH)))
    return Quantity(value=value, unit=unit, source="measured", note=note, low=low, high=high)


def design(family: str, sizes: Sizes, setting: Setting) -> Floats:
    """Return what one instance takes per second of C_iter and per second of a row's start-up.

    Read off the time model itself, with transfers and synchronisation switched off, on one core.

    Args:
        family: The tiling family.
        sizes: One tiling; shape (1,).
        setting: The instance on a machine.

    Returns:
        The factors A and B; shape (2,).
    """
    zero = replace(
        setting,
        sm_count=1,
        word_seconds=0.0,
        byte_seconds=0.0,
        cache_byte_seconds=0.0,
        outer_byte_seconds=0.0,
        barrier_seconds=0.0,
        launch_seconds=0.0,
        row_seconds=0.0,
        c_iter=replace(setting.c_iter, value=0.0, low=None, high=None),
    )
    one = replace(zero, c_iter=replace(zero.c_iter, value=1.0))
    row = replace(zero, row_seconds=1.0)
    if family == "none":
        return np.array([evaluate(family, sizes, each).seconds[0] for each in (one, row)])
    # Tiles are clipped at so small a grid: count its rows, not whole tiles.
    prisms = 2.0 * setting.steps * setting.stages / traffic.height(sizes, setting)
    prisms = prisms * setting.shape[0] / traffic.pitch(sizes, setting)
    return np.array([(prisms * evaluate(family, sizes, each).prism_seconds)[0] for each in (one, row)])


def stream_design(sizes: Sizes, setting: Setting) -> Floats:
    """Return what an instance of streaming tiles takes per second of C_iter and of an advance's start-up, and besides.

    Args:
        sizes: One tiling; shape (1,).
        setting: The instance on a machine.

    Returns:
        The factors A and B, and the seconds of everything else; shape (3,).
    """
    still = replace(setting, sm_count=1, launch_seconds=0.0, advance_seconds=0.0)
    still = replace(still, blocked=replace(setting.blocked, value=0.0, low=None, high=None))
    one = replace(still, blocked=replace(still.blocked, value=1.0))
    start = replace(still, advance_seconds=1.0)
    rest, unit, begun = (evaluate("streaming", sizes, each) for each in (still, one, start))
    turns = float(rest.wavefronts[0] * rest.tiles_per_wavefront[0])
    parts = (unit.compute_seconds[0], begun.compute_seconds[0] - rest.compute_seconds[0], rest.io_seconds[0])
    return np.array([turns * float(part) for part in parts])


def iteration(factors: Floats, seconds: Floats) -> Fit:
    """Fit C_iter and the start-up of a row to the times of instances.

    Args:
        factors: A and B per instance; shape (n, 2).
        seconds: Measured times; shape (n,), above 0.

    Returns:
        The fit; neither value is negative.

    Raises:
        UsageError: If there are fewer than two instances, or a time is not above 0.
    """
    if len(seconds) < 2 or factors.shape != (len(seconds), 2) or not (seconds > 0).all():
        raise UsageError(f"a fit needs two instances or more with times above 0, got {len(seconds)}")
    scaled = factors / seconds[:, None]
    both = _least_absolute(scaled)
    if both[0] <= 0 or both[1] < 0:
        single = scaled[:, 0] > 0
        both = np.array([float(np.median(1.0 / scaled[single, 0])), 0.0])
    each = (1.0 - both[1] * scaled[:, 1]) / scaled[:, 0]
    low, high = np.percentile(each, (LOW, HIGH))
    return Fit(
        iteration=float(both[0]),
        low=float(min(max(0.0, low), both[0])),
        high=float(max(high, both[0])),
        row=float(both[1]),
        deviation=float(np.median(np.abs(scaled @ both - 1.0))),
        instances=len(seconds),
    )


def _least_absolute(scaled: Floats) -> Floats:
    """Minimise the sum of ``|scaled @ x - 1|`` by iteratively reweighted least squares."""
    weights = np.ones(len(scaled))
    solution: Floats = np.zeros(2)
    for _ in range(_ROUNDS):
        root = np.sqrt(weights)
        solution = np.linalg.lstsq(scaled * root[:, None], root, rcond=None)[0]
        weights = 1.0 / np.maximum(np.abs(scaled @ solution - 1.0), _SMALLEST)
    return np.asarray(solution)
