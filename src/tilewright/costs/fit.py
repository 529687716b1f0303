"""Robust statistics of measurements: a value with its spread, and C_iter from the times of many problem instances.

The time model is linear in C_iter, in the start-up of a row and in that of a box of rows once everything else is
switched off: a compute-only instance i takes ``A_i C_iter + B_i row + C_i box``. The papers determine C_iter from 70
random instances of this kind (Prajapati et al., PPoPP 2017, section 5.2). A noisy machine makes instances slower and
never faster, so the fit minimises the absolute relative deviations, which a minority of outliers does not move.
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
_CORRECTIONS = 12
_LEAST = 0.5
"""Least C_iter over what it would be if lines took no time."""
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
        box: Seconds of the start-up of all rows of a tile at one time step; 0 where it was not asked for.
        deviation: Median absolute deviation of the fitted from the measured times, as a share.
        instances: Number of instances.
    """

    iteration: float
    low: float
    high: float
    row: float
    deviation: float
    instances: int
    box: float = 0.0


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
    """Return what one instance takes per second of C_iter, of a row's start-up and of a box's.

    Read off the time model itself, with transfers and synchronisation switched off, on one core.

    Args:
        family: The tiling family.
        sizes: One tiling; shape (1,).
        setting: The instance on a machine.

    Returns:
        The factors A, B and C; shape (3,). Sweeps without tiles have no boxes.
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
        fetch_seconds=0.0,
        c_iter=replace(setting.c_iter, value=0.0, low=None, high=None),
        swept=replace(setting.swept, value=0.0, low=None, high=None),
    )
    one = replace(zero, c_iter=replace(zero.c_iter, value=1.0), swept=replace(zero.swept, value=1.0))
    row = replace(zero, row_seconds=1.0)
    if family == "none":
        return np.array([*(evaluate(family, sizes, each).seconds[0] for each in (one, row)), 0.0])
    # Tiles are clipped at so small a grid: count its rows, not whole tiles. But every tile that meets it has its boxes.
    prisms = 2.0 * setting.steps * setting.stages / traffic.height(sizes, setting)
    prisms = prisms * setting.shape[0] / traffic.pitch(sizes, setting)
    parts = [float((prisms * evaluate(family, sizes, each).prism_seconds)[0]) for each in (one, row)]
    tiles = sum(traffic.tiles_per_wavefront(sizes, setting)) * traffic.prism_tiles(sizes, setting)
    return np.array([*parts, float(setting.steps * setting.stages * tiles[0])])


def stream_design(sizes: Sizes, setting: Setting) -> Floats:
    """Return what an instance of streaming tiles takes per second of C_iter and of an advance's start-up, and besides.

    Args:
        sizes: One tiling; shape (1,).
        setting: The instance on a machine.

    Returns:
        The factors A and B, the seconds of lines that travel between caches beside the arithmetic, and the seconds of
        everything else; shape (4,).
    """
    still = replace(setting, sm_count=1, launch_seconds=0.0, advance_seconds=0.0)
    still = replace(still, blocked=replace(setting.blocked, value=0.0, low=None, high=None))
    one = replace(still, blocked=replace(still.blocked, value=1.0))
    start = replace(still, advance_seconds=1.0)
    rest, unit, begun = (evaluate("streaming", sizes, each) for each in (still, one, start))
    turns = float(rest.wavefronts[0] * rest.tiles_per_wavefront[0])
    beside = rest.compute_seconds[0]
    parts = (unit.compute_seconds[0], begun.compute_seconds[0] - beside, beside, rest.io_seconds[0])
    return np.array([turns * float(part) for part in parts])


def iteration(factors: Floats, seconds: Floats) -> Fit:
    """Fit C_iter and the start-ups of a row and of a box to the times of instances.

    Args:
        factors: A, A and B, or A, B and C, per instance; shape (n, 1), (n, 2) or (n, 3).
        seconds: Measured times; shape (n,), above 0.

    Returns:
        The fit; no value is negative.

    Raises:
        UsageError: If there are fewer than two instances, or a time is not above 0.
    """
    if len(seconds) < 2 or factors.ndim != 2 or len(factors) != len(seconds) or not (seconds > 0).all():
        raise UsageError(f"a fit needs two instances or more with times above 0, got {len(seconds)}")
    scaled = factors / seconds[:, None]
    found = _not_negative(scaled)
    each = (1.0 - scaled[:, 1:] @ found[1:]) / scaled[:, 0]
    low, high = np.percentile(each, (LOW, HIGH))
    return Fit(
        iteration=float(found[0]),
        low=float(min(max(0.0, low), found[0])),
        high=float(max(high, found[0])),
        row=float(found[1]) if len(found) > 1 else 0.0,
        deviation=float(np.median(np.abs(scaled @ found - 1.0))),
        instances=len(seconds),
        box=float(found[2]) if len(found) > 2 else 0.0,
    )


def stream_iteration(factors: Floats, seconds: Floats, start: float | None = None) -> Fit:
    """Fit C_iter of streaming tiles, whose arithmetic runs beside lines that travel between caches.

    Both together take ``both(A C_iter, lines)``: A is corrected for the lines until C_iter no longer changes.

    Args:
        factors: A, B and the lines' seconds per instance; shape (n, 3).
        seconds: Measured times without what is neither of these; shape (n,), above 0.
        start: The start-up of an advance where it is known.

    Returns:
        The fit. Where lines take nearly all the time, C_iter is at least half of what it would be without them.
    """
    kept = factors[:, :2]
    if start is not None:
        kept, seconds = factors[:, :1], np.maximum(seconds - start * factors[:, 1], _LEAST * seconds)
    plain = iteration(kept, seconds)
    found, least = plain, _LEAST * plain.iteration
    for _ in range(_CORRECTIONS):
        value = max(found.iteration, least)
        felt = _beside(factors, value) / value
        found = iteration(np.column_stack([felt, kept[:, 1:]]), seconds)
    least = max(found.iteration, least)
    found = replace(found, iteration=least, low=min(found.low, least), high=max(found.high, least))
    return found if start is None else replace(found, row=start)


def line_ratio(programs: Sequence[tuple[Floats, Floats]]) -> Quantity:
    """Find by what ratio of the lines' seconds instances of several programs are met best.

    A copy is a poor witness of how fast lines travel beside arithmetic, and a neighbour on the same core slows it down;
    tiles of many widths, whose rows L1 holds or not, say it themselves.

    Args:
        programs: Factors and seconds per program, as in :func:`stream_iteration`.

    Returns:
        The ratio with the least sum of mean relative deviations; its range holds those that are nearly as good.
    """
    ratios = np.geomspace(0.25, 2.0, 19)
    misses = []
    for ratio in ratios:
        total = 0.0
        for factors, seconds in programs:
            scaled = factors * (1.0, 1.0, ratio)
            found = stream_iteration(scaled, seconds)
            said = _beside(scaled, found.iteration) + found.row * factors[:, 1]
            total += float(np.mean(np.abs(said / seconds - 1.0)))
        misses.append(total / len(programs))
    good = ratios[np.array(misses) <= 1.1 * min(misses)]
    note = f"streaming tiles of {len(programs)} programs, off by {min(misses):.1%} in the mean"
    value, low, high = (float(each) for each in (ratios[int(np.argmin(misses))], good.min(), good.max()))
    return Quantity(value=value, unit="1", source="measured", note=note, low=low, high=high)


def _beside(factors: Floats, iteration_seconds: float) -> Floats:
    """Seconds of arithmetic beside lines, per instance; see ``costs.streaming.both``."""
    return np.asarray(np.hypot((factors[:, 0] * iteration_seconds) ** 2, factors[:, 2] ** 2) ** 0.5)


def _not_negative(scaled: Floats) -> Floats:
    """Fit by all columns; while a start-up is negative, or C_iter is not above 0, without the worst start-up."""
    found: Floats = np.zeros(scaled.shape[1])
    kept = [column for column in range(scaled.shape[1]) if scaled[:, column].any()]
    while len(kept) > 1:
        values = _least_absolute(scaled[:, kept])
        if values[0] > 0 and (values[1:] >= 0).all():
            found[kept] = values
            return found
        kept.pop(1 + int(np.argmin(values[1:])) if (values[1:] < 0).any() else len(kept) - 1)
    single = scaled[:, 0] > 0
    found[0] = float(np.median(1.0 / scaled[single, 0]))
    return found


def _least_absolute(scaled: Floats) -> Floats:
    """Minimise the sum of ``|scaled @ x - 1|`` by iteratively reweighted least squares."""
    weights = np.ones(len(scaled))
    solution: Floats = np.zeros(scaled.shape[1])
    for _ in range(_ROUNDS):
        root = np.sqrt(weights)
        solution = np.linalg.lstsq(scaled * root[:, None], root, rcond=None)[0]
        weights = 1.0 / np.maximum(np.abs(scaled @ solution - 1.0), _SMALLEST)
    return np.asarray(solution)
