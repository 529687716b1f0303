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
from tilewright.costs.arrays import Floats, TileSizes
from tilewright.costs.cpu.streaming import both, hides
from tilewright.costs.reuse import lost_at_random
from tilewright.costs.setting import Setting
from tilewright.costs.time import evaluate
from tilewright.costs.work import hexagonal
from tilewright.machines.numbers import Numbers
from tilewright.machines.parameters import Quantity
from tilewright.schedules.families import streaming as streaming_family
from tilewright.schedules.family import Family

_ROUNDS = 60
_SMALLEST = 1e-6
_FAR = 0.15  # relative deviation from which on an instance counts as disturbed
_LEAST, _TRIED = 0.3, 240
"""Least C_iter that is tried, over what it would be if lines took no time, and how many values are."""
LOW, HIGH = 5.0, 95.0  # percentiles that count as the spread


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A fitted C_iter."""

    iteration: float  # seconds per loop-body iteration of one vector unit
    low: float  # 5th percentile of what the single instances say
    high: float  # 95th percentile
    row: float  # seconds of the start-up of a row
    deviation: float  # median absolute deviation of the fitted from the measured times, as a share
    instances: int  # number of instances
    box: float = 0.0  # seconds of the start-up of all rows of a tile at one time step; 0 where it was not asked for


def robust(samples: Sequence[float], unit: str, note: str) -> Quantity:
    """Return the median of samples as a measured quantity, its range the 5th to the 95th percentile.

    >>> robust([1.0, 2.0, 9.0], "s", "three samples").value
    2.0
    """
    if not samples:
        raise UsageError("there are no samples to make a quantity of")
    low, value, high = (float(x) for x in np.percentile(samples, (LOW, 50.0, HIGH)))
    return Quantity(value=value, unit=unit, source="measured", note=note, low=low, high=high)


def design(family: Family, sizes: TileSizes, setting: Setting) -> Floats:
    """Return what one instance takes per second of C_iter, of a row's start-up and of a box's."""
    # Read off the time model itself, with transfers and synchronisation switched off, on one core.
    zero = setting.at(
        sm_count=1,
        word_seconds=0.0,
        byte_seconds=0.0,
        cache_byte_seconds=0.0,
        outer_byte_seconds=0.0,
        barrier_seconds=0.0,
        launch_seconds=0.0,
        row_seconds=0.0,
        swept_row_seconds=0.0,
        swept_box_seconds=0.0,
        cut_seconds=0.0,
        short_row_seconds=0.0,
        fetch_seconds=0.0,
        c_iter=setting.rates.c_iter.at(0.0),
        swept=setting.rates.swept.at(0.0),
    )
    per_iteration = zero.at(c_iter=replace(zero.rates.c_iter, value=1.0), swept=replace(zero.rates.swept, value=1.0))
    row = zero.at(row_seconds=1.0, swept_row_seconds=1.0)
    if family.untiled:
        box = zero.at(swept_box_seconds=1.0)
        return np.array([evaluate(family, sizes, each).seconds[0] for each in (per_iteration, row, box)])
    # Tiles are clipped at so small a grid: count its rows, not whole tiles. But every tile that meets it has its boxes.
    facts, prisms = setting.facts, hexagonal.boxes(sizes, setting.facts).tiles
    parts = [float((prisms * evaluate(family, sizes, each).prism_seconds)[0]) for each in (per_iteration, row)]
    tiles = sum(hexagonal.tiles_per_wavefront(sizes, facts)) * hexagonal.prism_tiles(sizes, facts)
    return np.array([*parts, float(facts.steps * facts.stages * tiles[0])])


def stream_design(sizes: TileSizes, setting: Setting) -> Floats:
    """Return what an instance of streaming tiles takes per second of C_iter and of an advance; shape (5,)."""
    # Behind these factors stand the seconds of lines from L2, of those from L3 that arithmetic may hide, and of the
    # rest.
    none = setting.rates.blocked.at(0.0)
    near = setting.at(sm_count=1, launch_seconds=0.0, advance_seconds=0.0, blocked=none)
    still = near.at(cache_byte_seconds=0.0)
    per_iteration, start = still.at(blocked=replace(none, value=1.0)), still.at(advance_seconds=1.0)
    rest, *others = (evaluate(streaming_family.FAMILY, sizes, each) for each in (still, per_iteration, start, near))
    turns, felt = float(rest.wavefronts[0] * rest.tiles_per_wavefront[0]), float(rest.compute_seconds[0])
    parts = [float(each.compute_seconds[0]) - felt for each in others]
    hidden = felt if hides(len(setting.facts.shape)) else 0.0
    return turns * np.array([*parts, hidden, felt - hidden + float(rest.io_seconds[0])])


def iteration(factors: Floats, seconds: Floats) -> Fit:
    """Fit C_iter and the start-ups to the times of instances; factors as of :func:`design`, or fewer of its columns."""
    if len(seconds) < 2 or factors.ndim != 2 or len(factors) != len(seconds) or not (seconds > 0).all():
        raise UsageError(f"a fit needs two instances or more with times above 0, got {len(seconds)}")
    scaled = factors / seconds[:, None]
    values = _not_negative(scaled)
    each = (1.0 - scaled[:, 1:] @ values[1:]) / scaled[:, 0]
    low, high = np.percentile(each, (LOW, HIGH))
    return Fit(
        iteration=float(values[0]),
        low=float(min(max(0.0, low), values[0])),
        high=float(max(high, values[0])),
        row=float(values[1]) if len(values) > 1 else 0.0,
        deviation=float(np.median(np.abs(scaled @ values - 1.0))),
        instances=len(seconds),
        box=float(values[2]) if len(values) > 2 else 0.0,
    )


def stream_iteration(factors: Floats, seconds: Floats, start: float, cpu: Numbers) -> Fit:
    """Fit C_iter of streaming tiles, whose arithmetic runs beside lines that travel between caches."""
    # An instance takes ``both(A C_iter, near, felt) + B start``, the factors being A, B, near and felt. Lines that take
    # longer than any arithmetic say nothing about C_iter, so the value with the least mean deviation is looked for
    # among all that could be.
    tried = _candidates(factors, seconds, start, _TRIED)
    best = float(tried[int(np.argmin(_misses(factors, seconds, start, tried, cpu)))])
    expected = _beside(factors, best, cpu) + start * factors[:, 1]
    each = np.maximum(seconds - expected + both(best * factors[:, 0], factors[:, 2], 0.0, cpu), 0.0)
    power = cpu.overlap_exponent
    each = np.maximum(each**power - factors[:, 2] ** power, 0.0) ** (1.0 / power) / factors[:, 0]
    low, high = np.percentile(each, (LOW, HIGH))
    return Fit(
        iteration=best,
        low=float(min(low, best)),
        high=float(max(high, best)),
        row=start,
        deviation=float(np.median(np.abs(expected / seconds - 1.0))),
        instances=len(seconds),
    )


def stream_constants(programs: Sequence[tuple[Floats, Floats]], cpu: Numbers) -> tuple[Quantity, Quantity]:
    """Find the speed of lines and the start-up of an advance for which the instances of all programs are met best."""
    # A copy says how fast lines travel alone, and a neighbour on the same core slows it down; tiles of many widths,
    # whose rows L1 holds or not, say it beside arithmetic. One program alone cannot tell the two and its C_iter apart.
    # The speed is a ratio to the seconds of lines from L2 in the factors.
    ratios, starts = np.geomspace(0.25, 2.0, 37), np.linspace(0.0, 1e-7, 21)
    misses = np.zeros((len(ratios), len(starts)))
    for factors, seconds in programs:
        for i, ratio in enumerate(ratios):
            scaled = factors * (1.0, 1.0, ratio, 1.0)
            for j, start in enumerate(starts):
                tried = _candidates(scaled, seconds, start, _TRIED // 4)
                misses[i, j] += float(_misses(scaled, seconds, start, tried, cpu).min()) / len(programs)
    best = np.unravel_index(int(np.argmin(misses)), misses.shape)
    good = misses <= 1.1 * misses.min()
    note = f"streaming tiles of {len(programs)} programs, off by {misses.min():.1%} in the mean"
    result = []
    for values, axis, unit in ((ratios, 0, "1"), (starts, 1, "s")):
        near = values[good.any(axis=1 - axis)]
        low, value, high = (float(each) for each in (near.min(), values[best[axis]], near.max()))
        result.append(Quantity(value=value, unit=unit, source="measured", note=note, low=low, high=high))
    return result[0], result[1]


def _left(factors: Floats, seconds: Floats, start: float) -> Floats:
    """Seconds without the start-ups, of which something is always left."""
    return np.asarray(np.maximum(seconds - start * factors[:, 1], 0.3 * seconds))


def _candidates(factors: Floats, seconds: Floats, start: float, count: int) -> Floats:
    """So many C_iter up to the one that would be if lines took no time."""
    return float(np.median(_left(factors, seconds, start) / factors[:, 0])) * np.geomspace(_LEAST, 1.0, count)


def _misses(factors: Floats, seconds: Floats, start: float, tried: Floats, cpu: Numbers) -> Floats:
    """Mean relative deviation for every C_iter that is tried; what is far off was disturbed, however far."""
    off = np.abs((_beside(factors, tried[:, None], cpu) + start * factors[:, 1]) / seconds - 1.0)
    return np.asarray(np.minimum(off, _FAR).mean(axis=1))


def _beside(factors: Floats, iteration_seconds: float | Floats, cpu: Numbers) -> Floats:
    return both(factors[:, 0] * iteration_seconds, factors[:, 2], factors[:, 3], cpu)


def _not_negative(scaled: Floats) -> Floats:
    """Fit by all columns; while a start-up is negative, or C_iter is not above 0, without the worst start-up."""
    result: Floats = np.zeros(scaled.shape[1])
    columns = [column for column in range(scaled.shape[1]) if scaled[:, column].any()]
    while len(columns) > 1:
        values = _least_absolute(scaled[:, columns])
        if values[0] > 0 and (values[1:] >= 0).all():
            result[columns] = values
            return result
        columns.pop(1 + int(np.argmin(values[1:])) if (values[1:] < 0).any() else len(columns) - 1)
    single = scaled[:, 0] > 0
    result[0] = float(np.median(1.0 / scaled[single, 0]))
    return result


def _least_absolute(scaled: Floats) -> Floats:
    """Minimise the sum of ``|scaled @ x - 1|`` by iteratively reweighted least squares."""
    weights = np.ones(len(scaled))
    solution: Floats = np.zeros(scaled.shape[1])
    for _ in range(_ROUNDS):
        root = np.sqrt(weights)
        solution = np.linalg.lstsq(scaled * root[:, None], root, rcond=None)[0]
        weights = 1.0 / np.maximum(np.abs(scaled @ solution - 1.0), _SMALLEST)
    return np.asarray(solution)


_PER_OCTAVE, _OCTAVES = 8, 12
_FASTER = 1.25  # how many times as fast as memory a cache must be for copies to tell the two apart
_ALIKE = 1.25  # capacities that fit the copies less well than the best one by no more than this factor are in the range


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Copies of one size, by all threads at once."""

    size: int  # bytes of the sources and targets of all threads
    seconds: float  # seconds per byte that one thread moves


def capacity(described: Quantity, ways: int, memory: float, copies: Sequence[Copies]) -> Quantity:
    """Return how much of a cache copies find: the capacity with which its misses explain their times best."""
    # A CPU describes the whole L3 of its package. A virtual machine that has some of its cores, or one whose neighbours
    # are busy, finds less of it: 480 MiB were described on a host of two cores, and copies found 115 to 200 MiB.
    # Of X bytes that are copied again and again a cache of M bytes has lost P(X / M), as in
    # :func:`tilewright.costs.reuse.lost_at_random`, so that a byte takes ``(1 - P) b + P memory``. For every M no
    # larger than described the b with the least squares of relative deviations is known at once, and the best M counts.
    # Where memory is about as fast as the cache, the description stands.
    if not copies:
        return described
    least = min(each.size for each in copies)
    tried = described.value * 2.0 ** (-np.arange(_OCTAVES * _PER_OCTAVE + 1) / _PER_OCTAVE)
    tried = tried[tried >= min(least, described.value)]
    fits = [_explained(float(room), ways, memory, copies) for room in tried]
    deviations = np.array([deviation for deviation, _ in fits])
    best = int(np.argmin(deviations))
    if best == 0 or fits[best][1] * _FASTER > memory:
        return described
    alike = tried[deviations <= _ALIKE * deviations[best]]
    return Quantity(
        value=float(round(tried[best])),
        unit="B",
        source="measured",
        note=f"copies of {len(copies)} sizes, off by {deviations[best]:.1%}; the CPU describes {described.value:.0f}",
        low=float(round(alike.min())),
        high=float(round(alike.max())),
    )


def _explained(room: float, ways: int, memory: float, copies: Sequence[Copies]) -> tuple[float, float]:
    """Root mean square of the relative deviations with a cache of so much room, and its seconds per byte."""
    lost = np.array([lost_at_random(each.size / room, ways) for each in copies])
    seconds = np.array([each.seconds for each in copies])
    hits, targets = (1.0 - lost) / seconds, 1.0 - lost * memory / seconds
    byte = float(hits @ targets / max(float(hits @ hits), np.finfo(float).tiny))
    return float(np.sqrt(np.mean((hits * byte - targets) ** 2))), byte
