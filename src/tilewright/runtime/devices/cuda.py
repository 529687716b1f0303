"""CUDA devices through the driver's C interface (libcuda.so.1), with kernels compiled by NVRTC.

Nothing but ctypes takes part, so that the package needs no CUDA toolkit. Source: NVIDIA, CUDA driver API.
"""

import contextlib
import ctypes
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, DeviceError, ToolchainError, UsageError
from tilewright.base.records import Resources
from tilewright.base.units import format_bytes
from tilewright.codegen.source import KernelSource
from tilewright.machines.device import GpuDescription
from tilewright.runtime.devices import nvrtc
from tilewright.runtime.memory import Array

_LIBRARY = "libcuda.so.1"
_OUT_OF_MEMORY = 2
_MAX_DYNAMIC_SHARED = 8
_ATTRIBUTES = {"shared": 97, "major": 75, "minor": 76}
"""Numbers of device attributes: shared memory that a block may ask for, compute capability."""
_DESCRIBED = {
    "units": 16, "clock_hz": 13, "shared_bytes": 81, "block_threads": 1, "unit_threads": 39, "unit_blocks": 106,
    "registers": 82, "l2_bytes": 38,
}  # fmt: skip
"""The attributes that describe a device; the clock is in kHz."""
_POINTER_DEVICE = 9
"""Number of a pointer's attribute: the device whose memory it points to."""
_NO_TIMING = 2
"""Flag of an event that only orders streams."""


class CudaDevice:
    """One device with its primary context and a stream for its kernels.

    Context and stream are made when the device is first used: a device that is only looked at stays closed, as a
    context takes time and hundreds of megabytes. The context is the thread's during calls of the driver alone.
    """

    def __init__(self, library: Any, number: int) -> None:  # noqa: ANN401
        """Look at a device.

        Args:
            library: The driver's library.
            number: The device's number.

        Raises:
            ToolchainError: If the driver fails.
        """
        self._library = library
        self._handle = ctypes.c_int()
        self._ask("cuDeviceGet", ctypes.byref(self._handle), number)
        self._name = _name(library, number)
        size = ctypes.c_size_t()
        self._ask("cuDeviceTotalMem_v2", ctypes.byref(size), self._handle)
        self._memory = size.value
        self._known = {key: self._attribute(value) for key, value in _ATTRIBUTES.items()}
        self._lock = threading.Lock()
        self._opened: tuple[ctypes.c_void_p, ctypes.c_void_p] | None = None

    @property
    def name(self) -> str:
        """What the device calls itself."""
        return self._name

    @property
    def number(self) -> int:
        """Its number."""
        return self._handle.value

    @property
    def dialect(self) -> str:
        """The language of its kernels."""
        return "cuda"

    @property
    def local_bytes(self) -> int:
        """Memory on chip that a group may use."""
        return self._known["shared"]

    @property
    def memory_bytes(self) -> int:
        """Memory of the device."""
        return self._memory

    @property
    def architecture(self) -> str:
        """What the compiler is told."""
        return f"sm_{self._known['major']}{self._known['minor']}"

    def describe(self) -> GpuDescription:
        """Say what the driver knows about the device."""
        known = {name: self._attribute(number) for name, number in _DESCRIBED.items()}
        return GpuDescription(
            name=self.name,
            **{**known, "clock_hz": 1000 * known["clock_hz"]},  # type: ignore[arg-type]
            block_bytes=self.local_bytes,
            memory_bytes=self.memory_bytes,
            capability=self._known["major"] + self._known["minor"] / 10,
            bus=self._bus(),
        )

    def build(self, source: KernelSource[Any]) -> Sequence[Any]:
        """Compile a text.

        Raises:
            ToolchainError: If it does not compile or load.
        """
        code = nvrtc.compile_cuda(source.text, self.architecture, strict=source.strict)
        module = ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), code.cubin)
        functions = []
        for kernel in source.kernels:
            function = ctypes.c_void_p()
            self._call("cuModuleGetFunction", ctypes.byref(function), module, kernel.entry.encode())
            if kernel.room_bytes:
                self._call("cuFuncSetAttribute", function, _MAX_DYNAMIC_SHARED, kernel.room_bytes)
            functions.append(function)
        return functions

    @property
    def compiler(self) -> str:
        """The compiler of its kernels, with its version."""
        return f"NVRTC {nvrtc.version()} for {self.architecture}"

    def resources(self, source: KernelSource[Any]) -> Resources | None:
        """Say what the compiler knows about the code of a text that was built."""
        return nvrtc.compile_cuda(source.text, self.architecture, strict=source.strict).resources

    def allocate(self, size: int) -> Any:  # noqa: ANN401
        """Take memory.

        Raises:
            ArrayError: If the device has none left.
        """
        pointer = ctypes.c_uint64()
        with self.current():
            status = self._library.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(max(1, size)))
        if status == _OUT_OF_MEMORY:
            raise ArrayError(f"{self.name} has no {format_bytes(size)} of memory", "use a smaller grid")
        self._check("cuMemAlloc_v2", status)
        return pointer.value

    def release(self, buffer: Any) -> None:  # noqa: ANN401
        """Hand memory back."""
        self._call("cuMemFree_v2", ctypes.c_uint64(buffer))

    def write(self, buffer: Any, offset: int, array: Array) -> None:  # noqa: ANN401
        """Copy a contiguous array in."""
        start = ctypes.c_void_p(array.ctypes.data)
        self._call("cuMemcpyHtoD_v2", ctypes.c_uint64(buffer + offset), start, ctypes.c_size_t(array.nbytes))

    def read(self, buffer: Any, offset: int, array: Array) -> None:  # noqa: ANN401
        """Copy into a contiguous array."""
        start = ctypes.c_void_p(array.ctypes.data)
        self._call("cuMemcpyDtoH_v2", start, ctypes.c_uint64(buffer + offset), ctypes.c_size_t(array.nbytes))

    def copy(self, target: tuple[Any, int], source: tuple[Any, int], size: int) -> None:
        """Copy on the device, in turn with the kernels."""
        ends = (ctypes.c_uint64(sum(target)), ctypes.c_uint64(sum(source)))
        self._call("cuMemcpyDtoDAsync_v2", *ends, ctypes.c_size_t(size), self._stream)

    def start(self, kernel: Any, threads: tuple[int, int], arguments: Sequence[Any], room: int) -> None:  # noqa: ANN401
        """Start a kernel."""
        held = [_boxed(argument) for argument in arguments]
        addresses = (ctypes.c_void_p * len(held))(*(ctypes.addressof(each) for each in held))
        groups, each = threads
        self._call("cuLaunchKernel", kernel, groups, 1, 1, each, 1, 1, room, self._stream, addresses, None)

    def timed(self, work: Callable[[], None]) -> float:
        """Run some launches and return the seconds between two events around them."""
        first, last, milliseconds = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_float()
        for event in (first, last):
            self._call("cuEventCreate", ctypes.byref(event), 0)
        try:
            self._call("cuEventRecord", first, self._stream)
            work()
            self._call("cuEventRecord", last, self._stream)
            self._call("cuEventSynchronize", last)
            self._call("cuEventElapsedTime", ctypes.byref(milliseconds), first, last)
        finally:
            for event in (first, last):
                self._call("cuEventDestroy_v2", event)
        return milliseconds.value * 1e-3

    def wait_for(self, stream: int) -> None:
        """Let what is started from now on wait for everything that another stream was given so far.

        Args:
            stream: Its handle; 1 is the legacy default stream, 2 the default stream of this thread.

        Raises:
            ToolchainError: If the driver fails.
        """
        event = ctypes.c_void_p()
        self._call("cuEventCreate", ctypes.byref(event), _NO_TIMING)
        try:
            self._call("cuEventRecord", event, ctypes.c_void_p(stream))
            self._call("cuStreamWaitEvent", self._stream, event, 0)
        finally:
            self._call("cuEventDestroy_v2", event)

    def finish(self) -> None:
        """Wait until everything that was started here is done; other streams of the device go on.

        Raises:
            ToolchainError: If the device failed.
        """
        self._call("cuStreamSynchronize", self._stream)

    @property
    def stream(self) -> int:
        """Handle of the stream of its kernels."""
        return self._stream.value or 0

    @contextlib.contextmanager
    def current(self) -> Iterator[None]:
        """Make this device's context the thread's; afterwards the caller's own is the thread's again."""
        context, _ = self._open()
        self._ask("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self._library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    @property
    def _stream(self) -> ctypes.c_void_p:
        return self._open()[1]

    def _open(self) -> tuple[ctypes.c_void_p, ctypes.c_void_p]:
        """The primary context, which CUDA's runtime and the libraries on it share, and a stream in it."""
        if self._opened is not None:
            return self._opened
        with self._lock:
            if self._opened is None:
                context, stream = ctypes.c_void_p(), ctypes.c_void_p()
                self._ask("cuDevicePrimaryCtxRetain", ctypes.byref(context), self._handle)
                self._ask("cuCtxPushCurrent_v2", context)
                try:  # a stream that waits for the legacy default stream, where copies to the host run, and it for this
                    self._ask("cuStreamCreate", ctypes.byref(stream), 0)
                finally:
                    self._library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
                self._opened = context, stream
            return self._opened

    def _bus(self) -> str:
        text = ctypes.create_string_buffer(32)
        self._ask("cuDeviceGetPCIBusId", text, len(text), self._handle)
        return text.value.decode(errors="replace")

    def _attribute(self, number: int) -> int:
        value = ctypes.c_int()
        self._ask("cuDeviceGetAttribute", ctypes.byref(value), number, self._handle)
        return value.value

    def _call(self, name: str, *arguments: Any) -> None:  # noqa: ANN401
        """Call the driver in this device's context."""
        with self.current():
            self._ask(name, *arguments)

    def _ask(self, name: str, *arguments: Any) -> None:  # noqa: ANN401
        """Call the driver where it needs no context, or in that of the thread."""
        self._check(name, getattr(self._library, name)(*arguments))

    def _check(self, name: str, status: int) -> None:
        if status:
            text = ctypes.c_char_p()
            self._library.cuGetErrorName(status, ctypes.byref(text))
            said = text.value.decode() if text.value else f"error {status}"
            raise DeviceError(f"the CUDA driver failed in {name}: {said}", "see `tilewright doctor`")


def select(wanted: str = "") -> CudaDevice:
    """Find a device; no other one is opened.

    Args:
        wanted: Its number, or part of its name; the first one by default.

    Raises:
        ToolchainError: If there is no driver or no device.
        UsageError: If none fits.
    """
    library, count = _present()
    if not wanted:
        return _device(library, 0)
    if wanted.isdecimal() and int(wanted) < count:
        return _device(library, int(wanted))
    names = [_name(library, number) for number in range(count)]
    for number, name in enumerate(names):
        if wanted.lower() in name.lower():
            return _device(library, number)
    raise UsageError(f"there is no CUDA device {wanted!r}", f"there are {', '.join(names)}")


def numbered(number: int) -> CudaDevice:
    """Return the device of a number.

    Raises:
        ToolchainError: If there is no driver or no such device.
    """
    return _device(_present()[0], number)


def every() -> tuple[CudaDevice, ...]:
    """Find every device; none is opened by that.

    Raises:
        ToolchainError: If there is no driver or no device.
    """
    library, count = _present()
    return tuple(_device(library, number) for number in range(count))


def holder(pointer: int) -> int | None:
    """Return the number of the device in whose memory an address lies, or None where the driver does not know.

    Raises:
        ToolchainError: If there is no driver or no device.
    """
    library, _ = _present()
    number = ctypes.c_int()
    unknown = library.cuPointerGetAttribute(ctypes.byref(number), _POINTER_DEVICE, ctypes.c_uint64(pointer))
    return None if unknown else number.value


def _present() -> tuple[Any, int]:
    """The driver and how many devices it has."""
    library = _library()
    count = ctypes.c_int()
    status = library.cuInit(0) or library.cuDeviceGetCount(ctypes.byref(count))
    if status or not count.value:
        raise ToolchainError("there is no CUDA device", "use the backend opencl or c")
    return library, count.value


@functools.lru_cache(maxsize=16)
def _device(library: Any, number: int) -> CudaDevice:  # noqa: ANN401
    return CudaDevice(library, number)


def _name(library: Any, number: int) -> str:  # noqa: ANN401
    handle, name = ctypes.c_int(), ctypes.create_string_buffer(256)
    status = library.cuDeviceGet(ctypes.byref(handle), number) or library.cuDeviceGetName(name, len(name), handle)
    if status:
        raise DeviceError(f"the CUDA driver does not know device {number}", "see `tilewright doctor`")
    return name.value.decode(errors="replace")


@functools.cache
def _library() -> Any:  # noqa: ANN401
    try:
        return ctypes.CDLL(_LIBRARY)
    except OSError:
        raise ToolchainError(
            f"the backend cuda needs NVIDIA's driver ({_LIBRARY} is not there)", "use the backend opencl or c"
        ) from None


def _boxed(argument: Any) -> Any:  # noqa: ANN401
    """A kernel's argument in memory: a pointer, or a number of its own size."""
    kinds = {"i4": ctypes.c_int32, "i8": ctypes.c_int64, "f4": ctypes.c_float, "f8": ctypes.c_double}
    if isinstance(argument, np.generic):
        return kinds[argument.dtype.str[1:]](argument.item())
    return ctypes.c_uint64(argument)
