"""What is asked of a driver, CUDA's or OpenCL's."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from tilewright.base.records import Resources
from tilewright.codegen.source import KernelSource
from tilewright.machines.defaults import GpuDescription
from tilewright.runtime.devices.views import Box, DeviceView, Memory
from tilewright.runtime.memory import Array

Start = tuple[Any, tuple[int, int], Sequence[Any], int]
"""What :meth:`Device.start` takes."""


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
