"""Reductions of a run in a GPU's memory (its largest value or change) and single cells; fields stay where they are."""

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.base.intmath import ceil_div
from tilewright.codegen.gpu.reductions import look_source
from tilewright.programs.stencil.points import Index
from tilewright.runtime.devices.device import Device, DeviceView
from tilewright.runtime.memory import Array

_THREADS = 256  # threads of a group
_GROUPS = 1024  # most groups of a launch: each leaves one value


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of a field's version in a device's memory, one after the other."""

    buffer: Any
    offset: int  # values before the first one
    count: int  # number of cells


def cells_of(view: DeviceView, cells: Index) -> Array:
    """Return the values of some cells of a caller's array, by their numbers."""
    from tilewright.runtime.devices import cuda

    device = cuda.numbered(view.device or 0)
    reductions = Reductions(device, device.following([view]), view.dtype.name)
    return reductions.at(Cells(view.pointer, 0, view.size), cells)


def fetched(view: DeviceView) -> Array:
    """Return a caller's array in memory."""
    from tilewright.runtime.devices import cuda

    values: Array = np.empty(view.shape, view.dtype)
    cuda.numbered(view.device or 0).following([view]).read(view.pointer, 0, values)
    return values


@functools.lru_cache(maxsize=16)
def _kernels(device: Device, dtype: str) -> tuple[Any, ...]:
    return tuple(device.build(look_source(dtype, device.dialect, _THREADS)))


class Reductions:
    """The kernels of reductions and of single cells, on a device and in the stream of a run."""

    def __init__(self, device: Device, stream: Device, dtype: str) -> None:
        """Build the kernels, once per device and element type; ``stream`` is the device with its work in the run's."""
        self._device, self._dtype = stream, np.dtype(dtype)
        self._largest, self._change, self._gather = _kernels(device, dtype)

    def largest(self, cells: Cells) -> float:
        """Return the largest absolute value; of values of which one is no number, that."""
        return self._folded(self._largest, cells, ())

    def change(self, cells: Cells, old: Any) -> float:  # noqa: ANN401
        """Return how much a value differs at most from the one in its place in a buffer."""
        return self._folded(self._change, cells, (old,))

    def at(self, version: Cells, cells: Index) -> Array:
        """Return the values of some cells, by their numbers."""
        device = self._device
        values: Array = np.empty(len(cells), self._dtype)
        if not len(cells):
            return values
        numbers = np.ascontiguousarray(cells, dtype=np.int64)
        buffers: list[Any] = []
        try:
            buffers += [device.allocate(numbers.nbytes)]
            device.write(buffers[0], 0, numbers)
            buffers += [device.allocate(values.nbytes)]
            self._start(self._gather, (buffers[1], version.buffer, buffers[0]), version.offset, len(cells))
            device.read(buffers[1], 0, values)
        finally:
            for buffer in buffers:
                device.release(buffer)
        return values

    def _folded(self, kernel: Any, cells: Cells, more: Sequence[Any]) -> float:  # noqa: ANN401
        groups = min(_GROUPS, ceil_div(cells.count, _THREADS))
        parts: Array = np.empty(groups, self._dtype)
        target = self._device.allocate(parts.nbytes)
        try:
            self._start(kernel, (target, cells.buffer, *more), cells.offset, cells.count)
            self._device.read(target, 0, parts)
        finally:
            self._device.release(target)
        return math.nan if np.isnan(parts).any() else float(parts.max())

    def _start(self, kernel: Any, buffers: Sequence[Any], offset: int, count: int) -> None:  # noqa: ANN401
        groups = min(_GROUPS, ceil_div(count, _THREADS))
        self._device.start(kernel, (groups, _THREADS), (*buffers, np.int64(offset), np.int64(count)), 0)
