"""A device's kernels on a caller's arrays: copied in, computed on, copied back, for whatever keeps nothing there."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError
from tilewright.base.units import format_over
from tilewright.codegen.source import KernelSource
from tilewright.runtime.devices.device import Device
from tilewright.runtime.memory import Array

Launch = tuple[int, int, Sequence["Array | np.generic"]]
"""Which of a text's kernels, in how many groups, on what: contiguous arrays, and numbers of the kernel's own types."""


def run(
    device: Device,
    source: KernelSource[Any],
    launches: Sequence[Launch],  # in order; an array that several are given lies in the device's memory once
    results: Sequence[Array],  # those of the arrays that are copied back
    room: int = 0,  # bytes on chip that a launch gives a group besides what the text declares
) -> float:
    """Start a text's kernels on arrays; return the seconds by the device's clock, without compiling and copies."""
    needs = source.shared_bytes + room
    if needs > device.local_bytes:
        needed, available = format_over(needs, device.local_bytes)
        raise ArrayError(
            f"a group of {source.entry!r} needs {needed} on chip, {device.name} has {available}", "take smaller tiles"
        )
    kernels = _built(device, source)
    arrays = {id(each): each for _, _, arguments in launches for each in arguments if isinstance(each, np.ndarray)}
    buffers: dict[int, Any] = {}
    try:
        for key, array in arrays.items():
            buffers[key] = device.allocate(array.nbytes)
            if array.nbytes:
                device.write(buffers[key], 0, array)

        def work() -> None:
            for number, groups, arguments in launches:
                given = [buffers.get(id(each), each) for each in arguments]
                device.start(kernels[number], (groups, source.kernels[number].threads), given, room)

        seconds = device.timed(work)
        for each in results:
            device.read(buffers[id(each)], 0, each)
        device.finish()
        return seconds
    finally:
        for buffer in buffers.values():
            device.release(buffer)


@functools.lru_cache(maxsize=64)
def _built(device: Device, source: KernelSource[Any]) -> Sequence[Any]:
    return device.build(source)
