"""Hysteresis thresholds on this CPU, or with NumPy where there is no compiler."""

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ToolchainError
from tilewright.runtime.call import compiled, packed, scratch
from tilewright.runtime.memory import Array
from tilewright.runtime.warn import warn_once
from tilewright.workloads.pipelines.lower.hysteresis import emit_hysteresis


def hysteresis(values: Array, low: float, high: float) -> npt.NDArray[np.uint8]:
    """Return 255 where a value is at least ``high``, or at least ``low`` and connected to such a cell, else 0.

    Cells are connected through their eight neighbours. Values that are not positive are never edges.

    >>> hysteresis(np.array([[0.0, 0.2, 0.5], [0.0, 0.0, 0.0], [0.2, 0.0, 0.0]]), 0.1, 0.4).tolist()
    [[0, 255, 255], [0, 0, 0], [0, 0, 0]]
    """
    given = packed(values)
    try:
        (kernel,) = compiled(emit_hysteresis, str(given.dtype))
    except ToolchainError as error:
        warn_once(f"running with NumPy, which is many times slower: {error}")
        return _with_numpy(given, low, high)
    stack, edges = scratch(8 * given.size, given.size), np.empty(given.shape, dtype=np.uint8)
    limits = np.array([low, high], dtype=np.float64)
    kernel((given, edges, stack), (*given.shape, given.shape[1]), values=limits)
    return edges


def _with_numpy(values: Array, low: float, high: float) -> npt.NDArray[np.uint8]:
    """Grow the strong cells into the weak ones until nothing changes."""
    weak = (values > 0) & (values >= values.dtype.type(low))
    edges = weak & (values >= values.dtype.type(high))
    count = -1
    while count != (count := int(edges.sum())):
        wide = np.pad(edges, 1)
        grown = np.zeros_like(edges)
        for dy in range(3):
            for dx in range(3):
                grown |= wide[dy : dy + edges.shape[0], dx : dx + edges.shape[1]]
        edges = grown & weak
    return np.asarray(edges, dtype=np.uint8) * np.uint8(255)
