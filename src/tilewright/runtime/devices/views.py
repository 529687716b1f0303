"""Arrays of callers, and results for them, in a device's memory: where they lie, and in which stream they are ready."""

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tilewright.runtime.memory import Array

LEGACY, PER_THREAD = 1, 2
"""Handles of the default streams: the one of all threads, and that of the calling thread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallersStream:
    """A stream that is not ours."""

    handle: int  # 1 is the legacy default stream, 2 the default stream of this thread
    owner: Any = field(default=None, compare=False)  # what keeps it alive, or None

    @property
    def lasting(self) -> bool:
        """Whether it is there as long as this object is, for all threads."""
        return self.handle == LEGACY or (self.owner is not None and self.handle != PER_THREAD)

    def __cuda_stream__(self) -> tuple[int, int]:
        """Version of this protocol of cuda.core's, and the handle."""
        return 0, self.handle


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Where a part of a grid begins."""

    offset: int  # bytes from the start of the memory to the grid's first value
    shape: tuple[int, ...]  # the grid's extents, at most three
    start: tuple[int, ...]  # the part's first cell
    itemsize: int  # bytes of a value

    @property
    def first(self) -> int:
        """Bytes from the start of the memory to the part's first value."""
        index = 0
        for extent, at in zip(self.shape, self.start, strict=True):
            index = index * extent + at
        return self.offset + index * self.itemsize

    @property
    def place(self) -> tuple[int, int, int]:
        """Bytes along the last axis, rows and planes to the part's first value."""
        plane, row, value = (0, 0, *self.start)[-3:]
        return value * self.itemsize, row, plane

    @property
    def pitches(self) -> tuple[int, int]:
        """Bytes of a row, and rows of a plane."""
        _, rows, values = (1, 1, *self.shape)[-3:]
        return values * self.itemsize, rows


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceView:
    """Somebody's array on a device."""

    pointer: int  # address of its first value
    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"
    device: int | None  # number of the device; None where it does not say
    owner: Any  # what keeps the memory alive
    # its values are complete in it, and what comes after the run goes there; None if unknown: then the device's own
    stream: CallersStream | None = None
    writeable: bool = True

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of values."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return self.size * self.dtype.itemsize


class Memory(Protocol):
    """Memory of a device with a result in it."""

    @property
    def pointer(self) -> int:
        """Address of the first value."""

    @property
    def device(self) -> int:
        """Number of the device."""

    def fetch(self, values: Array) -> None:
        """Copy it to the host."""

    def show(self, stream: int) -> None:
        """Let a reader's stream wait until the result is complete."""

    def complete(self) -> None:
        """Wait until the result is complete, for readers in whatever stream."""

    def free(self) -> None:
        """Hand the memory back."""
