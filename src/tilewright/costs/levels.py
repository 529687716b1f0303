"""Where a CPU's data comes from: M_SM is the L2 cache of a core, beyond it lies L3, if there is one, and then memory.

The papers know two levels, on chip and off chip. On a CPU what does not fit L2 is not off chip: as long as the tiles of
all cores fit L3 together it costs L3's bandwidth, which lies between the other two. This is our own extension.
"""

import numpy as np

from tilewright.base.constants import WORD
from tilewright.costs.arrays import Floats, Ints
from tilewright.costs.reuse import lost_at_random
from tilewright.costs.setting import Setting

USABLE = 0.75
"""Share of a core's own cache that data may use before it spills."""
USABLE_OUTSIDE = 0.5
"""The same of L3 for tiles: as much as the copies fill by which ``calibrate`` measures L3's bandwidth."""
USABLE_WHOLE = 0.5
"""The same of L3 for a whole grid."""

TOGETHER = 8.0
"""Exponent with which arithmetic and lines from L2 join: nearly the longer one. Instances of streaming tiles are off by
3.5 % in the mean with 4, by 3.2 with 8 and by 3.1 with 16."""

FETCHED = 1.5
"""Bytes that the bandwidths of memory and L3 count per byte fetched: a copy writes one of every two back."""
FELT = 0.3
"""Share of the time of lines from L3 that arithmetic does not hide: 142 instances of streaming tiles of 16 programs say
0.28 (those in 2D 0.23, those in 3D 0.47)."""
FELT_IN_BOXES = 0.6
"""The same of the boxes of hexagons, whose rows are shorter: five programs at 1024 x 1024, in tiles as large as L2, say
0.5 to 0.9."""


WAYS = 8
"""Lines of a set of L2. Other numbers, 4 to 20, only change how sharply a cache overflows."""
OUTSIDE = 0.8
"""Share of a core's part of L3 that a tile's slabs or a grid may use: j3d7pt keeps 7.7 of 16 MB and loses 12."""
OUTER_WAYS = 16
"""Lines of a set of L3."""
_OCCUPIED = np.linspace(0.0, 8.0, 801)
_LOST = np.array([lost_at_random(float(each), WAYS) for each in _OCCUPIED])


def data_bytes(setting: Setting) -> int:
    """Bytes of every copy of every field."""
    return setting.copies * setting.cells * setting.itemsize


def grid_seconds(setting: Setting) -> float:
    """Seconds per byte and core of the grid itself, from the first level that holds all its data."""
    whole = data_bytes(setting)
    if whole <= USABLE * setting.sm_count * setting.shared_bytes:
        return setting.cache_byte_seconds
    if whole <= USABLE_WHOLE * setting.sm_count * setting.outer_bytes:
        return setting.outer_byte_seconds
    return setting.word_seconds / WORD


def off_chip(setting: Setting) -> bool:
    """Whether the grid lies in memory, and in no cache."""
    room = max(USABLE * setting.shared_bytes, USABLE_WHOLE * setting.outer_bytes)
    return data_bytes(setting) > setting.sm_count * room


def missed_outside(footprint: Ints | Floats, setting: Setting) -> Floats:
    """Share of what does not fit L2 that does not fit a core's part of L3 either; 1 without L3."""
    room = USABLE_OUTSIDE * setting.outer_bytes
    return share_missed(footprint, room) if room else np.ones(np.shape(footprint))


def missed_inside(footprint: Ints | Floats, setting: Setting) -> Floats:
    """Share of a tile's footprint that L2 has lost when it is used again.

    Pages lie anywhere in memory, so that lines in a set are Poisson distributed, and some sets overflow long before the
    cache is full.
    """
    occupied = np.asarray(footprint, dtype=np.float64) / setting.shared_bytes
    return np.asarray(np.interp(occupied, _OCCUPIED, _LOST))


def missed_by_bands(touched: Floats, setting: Setting) -> Floats:
    """Share of what one band of tiles leaves for the next that L3 has lost by then.

    Args:
        touched: Bytes that all cores touch in between; shape (n,).
        setting: The problem on a CPU.

    Returns:
        The share, 1 without L3.
    """
    room = USABLE_WHOLE * setting.sm_count * setting.outer_bytes
    return share_missed(touched, room) if room else np.ones(np.shape(touched))


def share_missed(footprint: Ints | Floats, room: float) -> Floats:
    """Share of so many bytes that so much room does not hold."""
    return np.asarray(np.clip(1.0 - room / np.maximum(footprint, 1), 0.0, 1.0))
