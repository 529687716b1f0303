"""States of a band of a gradient that tiles write to memory or read from it, beside what the tiles take else.

A state that is kept is written box by box, each once it is computed, with no arithmetic beside. States that are read
pass the bus as they do in a sweep where rows are not cut, fetched ahead and beside the arithmetic. What a core's own
buffers of lines are occupied with is not beside it: the arithmetic's lines from L2 wait for the same buffers. How long
that is says the bandwidth from beyond L2 of a core. Where rows are cut, each piece of a row begins anew in memory, and
is waited for: its first cells, or the lines at its ends of which it writes a part.
"""

import numpy as np

from tilewright.costs.arrays import Floats, TileSizes
from tilewright.costs.cpu.hexagonal import overlapped
from tilewright.costs.cpu.levels import grid_seconds
from tilewright.costs.setting import Setting

_PER_FETCH = 1.5
"""Lines that pass in a copy per line that is fetched: one is read, one fetched to be written, and that one written
back, which occupies no buffer. Bandwidths are those of copies."""


def with_states(seconds: Floats, sizes: TileSizes, setting: Setting) -> Floats:
    """Return what tiles take with the states."""
    moved, series = state_seconds(setting), setting.storage.series
    extent, size = setting.shape[-1], sizes.space[-1]
    lines = setting.steps * setting.cells / extent * len(series or setting.problem.program.updated)
    waits = lines * (extent / size + 1.0) * setting.fetch_seconds / setting.sm_count
    whole = (size >= extent) & (len(setting.shape) > 1)
    if not series:
        return np.where(whole, seconds + moved, seconds + moved + waits)
    held = buffer_seconds(setting)
    beside = overlapped(moved, seconds + held, setting)
    return np.where(whole, beside, seconds + max(moved, held) + waits)


def state_seconds(setting: Setting) -> float:
    """Seconds in which all cores write or read the states, at the bandwidth of where they lie."""
    moved = 1.0 * setting.cells * setting.steps * setting.state_bytes
    return moved * grid_seconds(setting) / setting.sm_count


def buffer_seconds(setting: Setting) -> float:
    """Seconds in which the cores' buffers of lines are occupied with states that are read; 0 where L3 is unknown."""
    moved = 1.0 * setting.cells * setting.steps * setting.state_bytes
    return _PER_FETCH * moved * setting.outer_byte_seconds / setting.sm_count
