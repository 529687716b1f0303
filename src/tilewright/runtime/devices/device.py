"""What is asked of a driver, CUDA's or OpenCL's; and arrays of callers in its memory: where they lie, when ready."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from tilewright.base.records import Resources
from tilewright.codegen.source import KernelSource
from tilewright.machines.defaults import GpuDescription
from tilewright.runtime.memory import Array

LEGACY, PER_THREAD = 1, 2  # handles of the default streams: the one of all threads, and that of the calling thread


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


Start = tuple[Any, tuple[int, int], Sequence[Any], int]  # what :meth:`Device.start` takes


class Device(Protocol):
    """What a session needs of a driver. Offsets and sizes are bytes; calls may return before the device is done."""

    def __hash__(self) -> int:
        """Devices are told apart by identity."""

    @property
    def name(self) -> str:
        """What the device calls itself."""

    @property
    def number(self) -> int:
        """Its number."""

    @property
    def dialect(self) -> str:
        """The language of its kernels."""

    @property
    def local_bytes(self) -> int:
        """Memory on chip that a group may use."""

    @property
    def memory_bytes(self) -> int:
        """Memory of the device."""

    def describe(self) -> GpuDescription:
        """Say what the driver knows about the device."""

    def build(self, source: KernelSource[Any]) -> Sequence[Any]:
        """Compile a text; returns a handle per kernel. Raises a ToolchainError."""

    @property
    def doubtful(self) -> bool:
        """Whether its compiler may be any, so that its code is compared with NumPy before it is used."""

    @property
    def compiler(self) -> str:
        """The compiler of its kernels, with its version."""

    def resources(self, source: KernelSource[Any]) -> Resources | None:
        """Say what the compiler knows about the code of a text that was built, or None."""

    def allocate(self, size: int) -> Any:  # noqa: ANN401
        """Take memory. Raises an ArrayError."""

    def release(self, buffer: Any) -> None:  # noqa: ANN401
        """Hand memory back."""

    def write(self, buffer: Any, offset: int, array: Array) -> None:  # noqa: ANN401
        """Copy a contiguous array in."""

    def read(self, buffer: Any, offset: int, array: Array) -> None:  # noqa: ANN401
        """Copy into a contiguous array, when all launches before are done."""

    def copy(self, target: tuple[Any, int], source: tuple[Any, int], size: int) -> None:
        """Copy on the device, between two buffers with offsets."""

    def copy_box(self, target: tuple[Any, Box], source: tuple[Any, Box], extents: tuple[int, ...]) -> None:
        """Copy a part of a grid on the device."""

    def start(self, kernel: Any, threads: tuple[int, int], arguments: Sequence[Any], room: int) -> None:  # noqa: ANN401
        """Start a kernel: groups and threads per group, its arguments (buffers or NumPy scalars), bytes on chip."""

    def recorded(self, launches: Sequence[Start]) -> Callable[[], None] | None:
        """Make one call of launches that are repeated, or None where the driver has no such thing."""

    def timed(self, work: Callable[[], None]) -> float:
        """Run some launches and return the seconds from the first one's start to the last one's end, by events."""

    def finish(self) -> None:
        """Wait until everything is done; raises a ToolchainError if the device failed."""


class ArrayDevice(Device, Protocol):
    """What a session needs besides of a driver that callers' arrays lie behind."""

    def following(self, views: Sequence[DeviceView]) -> "ArrayDevice":
        """Return the device with its work in the stream of some arrays, after what made them."""

    def join(self, views: Sequence[DeviceView]) -> None:
        """Let what follows here wait for what made some more arrays."""

    def settle(self) -> Any:  # noqa: ANN401
        """Let the caller go on; returns an event after which results are complete, None if they are."""

    def result(self, buffer: Any, ready: Any) -> Memory:  # noqa: ANN401
        """Make memory a result that frees itself."""
