"""Tables of sources and receivers in a GPU's memory: see :mod:`tilewright.codegen.gpu.site`."""

from itertools import accumulate
from typing import Any

import numpy as np

from tilewright.codegen.gpu.site import points_head
from tilewright.runtime.devices.device import Device
from tilewright.runtime.points import PointTables


class DevicePoints:
    """The tables of a run on a device, filled and read portion by portion of its steps."""

    def __init__(self, device: Device, tables: PointTables, itemsize: int) -> None:
        self._device, self._tables, self._itemsize = device, tables, itemsize
        self._steps = 0
        self.buffers: list[Any] = []  # what kernels are given: cells, and numbers
        self.most = tables.most  # most steps of a portion
        self._add = len(tables.adding)

    def begin(self, first: int, steps: int) -> None:
        """Make what kernels add in ``steps`` steps after the first ``first``."""
        device, tables = self._device, self._tables
        if not tables.before(first, steps)[0]:
            return
        sizes = [each.size for each in tables.numbers]
        self._starts = [0, *accumulate(sizes)]
        lengths = [each.size for each in tables.arrays]
        lead = len(points_head(0, 0, [(0, 0, 0)] * len(sizes)))
        starts = [lead + before for before in accumulate(lengths, initial=0)]
        parts = list(zip(starts[0:-1:2], starts[1::2], self._starts, strict=False))
        start = np.array(points_head(steps, first, parts), np.int32)
        if steps > self._steps:  # tables of more steps than before
            self.close()
            self.buffers.append(device.allocate(starts[-1] * start.itemsize))
            self.buffers.append(device.allocate(max(1, self._starts[-1]) * self._itemsize))
            for place, each in zip(starts, tables.arrays, strict=False):
                if each.size:
                    device.write(self.buffers[0], place * start.itemsize, each.astype(np.int32))
            self._steps = steps
        device.write(self.buffers[0], 0, start)
        for place, each in zip(self._starts, tables.numbers[: self._add], strict=False):
            if each.size:
                device.write(self.buffers[1], place * self._itemsize, each)

    def end(self, first: int, steps: int) -> None:
        """Take what receivers recorded in these steps, when they are done."""
        tables = self._tables
        recorded = zip(self._starts[self._add :], tables.numbers[self._add :], strict=False) if self.buffers else ()
        for place, each in recorded:
            if each.size:
                self._device.read(self.buffers[1], place * self._itemsize, each)
        tables.after(first, steps)

    def close(self) -> None:
        """Hand the memory back."""
        for buffer in self.buffers:
            self._device.release(buffer)
        self.buffers.clear()
        self._steps = 0
