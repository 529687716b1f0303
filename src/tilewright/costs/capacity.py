"""How much of an outer cache a process has, from copies of growing size.

A CPU describes the whole L3 of its package. A virtual machine that has some of its cores, or one whose neighbours are
busy, finds less of it: 480 MiB were described on a host of two cores, and copies found 115 to 200 MiB.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.costs.reuse import lost_at_random
from tilewright.machines.parameters import Quantity

_PER_OCTAVE, _OCTAVES = 8, 12
_FASTER = 1.25
"""How many times as fast as memory a cache must be for copies to tell the two apart."""
_ALIKE = 1.25
"""Capacities that fit the copies less well than the best one by no more than this factor are in the range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copies:
    """Copies of one size, by all threads at once."""

    size: int  # bytes of the sources and targets of all threads
    seconds: float  # seconds per byte that one thread moves


def fitted(described: Quantity, ways: int, memory: float, copies: Sequence[Copies]) -> Quantity:
    """Return how much of a cache copies find: the capacity with which its misses explain their times best.

    Of X bytes that are copied again and again a cache of M bytes has lost P(X / M), as in
    :func:`tilewright.costs.reuse.lost_at_random`, so that a byte takes ``(1 - P) b + P memory``. For every M no larger
    than described the b with the least squares of relative deviations is known at once, and the best M counts. Where
    memory is about as fast as the cache, the description stands.
    """
    if not copies:
        return described
    least = min(each.size for each in copies)
    tried = described.value * 2.0 ** (-np.arange(_OCTAVES * _PER_OCTAVE + 1) / _PER_OCTAVE)
    tried = tried[tried >= min(least, described.value)]
    found = [_explained(float(room), ways, memory, copies) for room in tried]
    deviations = np.array([deviation for deviation, _ in found])
    best = int(np.argmin(deviations))
    if best == 0 or found[best][1] * _FASTER > memory:
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
    kept, rest = (1.0 - lost) / seconds, 1.0 - lost * memory / seconds
    byte = float(kept @ rest / max(float(kept @ kept), np.finfo(float).tiny))
    return float(np.sqrt(np.mean((kept * byte - rest) ** 2))), byte
