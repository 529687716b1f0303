"""States of a band of a gradient that tiles write to memory or read from it, beside what the tiles take else.

A state that is kept is written box by box, each once it is computed, with no arithmetic beside. States that are read
pass as they do in a sweep where rows are not cut, fetched ahead and beside the arithmetic. Where they are, each piece
of a row begins anew in memory, and is waited for: its first cells, or the lines at its ends of which it writes a part.
"""

import numpy as np

from tilewright.costs.arrays import Floats, TileSizes
from tilewright.costs.cpu.hexagonal import overlapped
from tilewright.costs.cpu.levels import grid_seconds
from tilewright.costs.setting import Setting


def with_states(seconds: Floats, sizes: TileSizes, setting: Setting) -> Floats:
    """Return what tiles take with the states.

    Args:
        seconds: What they take without; shape (n,).
        sizes: Their sizes; shape (n,).
        setting: A problem that keeps or reads a state per step, on a CPU.
    """
    moved, problem = state_seconds(setting), setting.problem
    extent, size = setting.shape[-1], sizes.space[-1]
    lines = setting.steps * setting.cells / extent * len(problem.series or problem.program.updated)
    waits = lines * (extent / size + 1.0) * setting.fetch_seconds / setting.sm_count
    whole = (size >= extent) & (len(setting.shape) > 1)
    beside = overlapped(moved, seconds, setting) if problem.series else seconds + moved
    return np.where(whole, beside, seconds + moved + waits)


def state_seconds(setting: Setting) -> float:
    """Seconds in which all cores write or read the states, at the bandwidth of where they lie."""
    moved = 1.0 * setting.cells * setting.steps * setting.state_bytes
    return moved * grid_seconds(setting) / setting.sm_count
