"""Where a CPU's data comes from: M_SM is the L2 cache of a core, beyond it lies L3, if there is one, and then memory.

The papers know two levels, on chip and off chip. On a CPU what does not fit L2 is not off chip: as long as the tiles of
all cores fit L3 together it costs L3's bandwidth, which lies between the other two. This is our own extension.
"""

import functools

import numpy as np

from tilewright.base.constants import WORD
from tilewright.costs.arrays import Floats, Ints
from tilewright.costs.facts import Facts
from tilewright.costs.rates import CpuRates
from tilewright.costs.reuse import lost_at_random

_OCCUPIED = np.linspace(0.0, 8.0, 801)


@functools.lru_cache(maxsize=8)
def _lost(ways: float) -> Floats:
    """Share of lines lost for every one of so much that is occupied, of a cache with so many lines in a set."""
    return np.array([lost_at_random(float(each), int(ways)) for each in _OCCUPIED])


def grid_seconds(facts: Facts, rates: CpuRates) -> float:
    """Seconds per byte and core of the grid itself, from the first level that holds all its data."""
    whole, usable = facts.data_bytes, rates.numbers
    if whole <= usable.cache_fraction * rates.sm_count * rates.shared_bytes:
        return rates.cache_byte_seconds
    if whole <= usable.l3_grid_fraction * rates.sm_count * rates.outer_bytes:
        return rates.outer_byte_seconds
    return rates.word_seconds / WORD


def off_chip(facts: Facts, rates: CpuRates) -> bool:
    """Whether the grid lies in memory, and in no cache."""
    usable = rates.numbers
    room = max(usable.cache_fraction * rates.shared_bytes, usable.l3_grid_fraction * rates.outer_bytes)
    return facts.data_bytes > rates.sm_count * room


def missed_outside(footprint: Ints | Floats, rates: CpuRates) -> Floats:
    """Share of what does not fit L2 that does not fit a core's part of L3 either; 1 without L3."""
    room = rates.numbers.l3_tile_fraction * rates.outer_bytes
    return share_missed(footprint, room) if room else np.ones(np.shape(footprint))


def missed_inside(footprint: Ints | Floats, rates: CpuRates) -> Floats:
    """Share of a tile's footprint that L2 has lost when it is used again.

    Pages lie anywhere in memory, so that lines in a set are Poisson distributed, and some sets overflow long before the
    cache is full.
    """
    occupied = np.asarray(footprint, dtype=np.float64) / rates.shared_bytes
    return np.asarray(np.interp(occupied, _OCCUPIED, _lost(rates.numbers.l2_ways)))


def missed_by_bands(touched: Floats | float, rates: CpuRates) -> Floats:
    """Share of what one band of tiles leaves for the next that L3 has lost when all cores touched so many bytes."""
    room = rates.numbers.l3_grid_fraction * rates.sm_count * rates.outer_bytes
    return share_missed(touched, room) if room else np.ones(np.shape(touched))


def share_missed(footprint: Ints | Floats | float, room: float) -> Floats:
    """Share of so many bytes that so much room does not hold."""
    return np.asarray(np.clip(1.0 - room / np.maximum(footprint, 1), 0.0, 1.0))
