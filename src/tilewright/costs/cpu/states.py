"""States of a band of a gradient that tiles write to memory or read from it, beside what the tiles take else.

A state that is kept is written box by box, each once it is computed, with no arithmetic beside. States that are read
pass the bus as they do in a sweep where rows are not cut, fetched ahead and beside the arithmetic. What a core's own
buffers of lines are occupied with is not beside it: the arithmetic's lines from L2 wait for the same buffers. How long
that is says the bandwidth from beyond L2 of a core. Where rows are cut, each piece of a row begins anew in memory, and
is waited for: its first cells, or the lines at its ends of which it writes a part.
"""

import numpy as np

from tilewright.costs.arrays import Floats, TileSizes
from tilewright.costs.cpu.boxes import overlapped
from tilewright.costs.cpu.levels import grid_seconds
from tilewright.costs.facts import Facts
from tilewright.costs.rates import CpuRates

_PER_FETCH = 1.5
"""Lines that pass in a copy per line that is fetched: one is read, one fetched to be written, and that one written
back, which occupies no buffer. Bandwidths are those of copies."""


def added_seconds(seconds: Floats, sizes: TileSizes, facts: Facts, rates: CpuRates) -> Floats:
    """Return what the states add to the seconds of tiles."""
    moved, series = state_seconds(facts, rates), facts.storage.series
    extent, size = facts.shape[-1], sizes.space[-1]
    lines = facts.steps * facts.cells / extent * len(series or facts.problem.program.updated)
    waits = lines * (extent / size + 1.0) * rates.fetch_seconds / rates.sm_count
    whole = (size >= extent) & (len(facts.shape) > 1)
    if not series:
        return np.where(whole, moved, moved + waits)
    held = buffer_seconds(facts, rates)
    return np.where(whole, overlapped(moved, seconds + held, rates) - seconds, max(moved, held) + waits)


def state_seconds(facts: Facts, rates: CpuRates) -> float:
    """Return the seconds in which all cores write or read the states, at the bandwidth of where they lie."""
    return 1.0 * facts.cells * facts.steps * facts.state_bytes * grid_seconds(facts, rates) / rates.sm_count


def buffer_seconds(facts: Facts, rates: CpuRates) -> float:
    """Return the seconds in which the cores' buffers of lines hold states that are read; 0 where L3 is unknown."""
    moved = 1.0 * facts.cells * facts.steps * facts.state_bytes
    return _PER_FETCH * moved * rates.outer_byte_seconds / rates.sm_count
