"""OpenCL devices through pyopencl: GPUs of any maker, CPUs (PoCL), and the interpreter Oclgrind.

Oclgrind runs kernels without any driver and reports races and accesses out of bounds; it reads its settings from the
environment when it is loaded, see :func:`prepare_oclgrind`. Programs that annotated regions become are linked with the
system's OpenCL loader, which reads its list of platforms from a folder (:func:`only_oclgrind`).
"""

import contextlib
import functools
import importlib.util
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.base.errors import ArrayError, DeviceError, ToolchainError, UsageError
from tilewright.base.records import Resources
from tilewright.base.units import format_bytes
from tilewright.codegen.source import KernelSource
from tilewright.machines.defaults import GpuDescription
from tilewright.runtime.devices.device import Box
from tilewright.runtime.memory import Array

INSTALL = "pip install 'tilewright[opencl]'"
_OCLGRIND_LOCAL = 256 * 1024
_OCLGRIND_REPORTS = 10**6
"""Reports after which Oclgrind falls silent, for the rest of the process: too few, and what comes later looks right."""
_LOG_LINES = 3
_REFUSED = "the kernel does not compile"


def prepare_oclgrind() -> None:
    """Let Oclgrind report data races, which works until the first OpenCL call of the process."""
    os.environ["OCLGRIND_DATA_RACES"] = "1"
    os.environ.setdefault("OCLGRIND_LOCAL_MEM_SIZE", str(_OCLGRIND_LOCAL))
    os.environ.setdefault("OCLGRIND_MAX_ERRORS", str(_OCLGRIND_REPORTS))


def devices() -> tuple[Any, ...]:
    """Every OpenCL device: real GPUs first, then other devices, then interpreters."""
    os.environ.setdefault("OCLGRIND_LOCAL_MEM_SIZE", str(_OCLGRIND_LOCAL))
    cl = _pyopencl()
    unordered = []
    with contextlib.suppress(cl.Error):
        unordered = [device for platform in cl.get_platforms() for device in platform.get_devices()]

    def order(device: Any) -> int:  # noqa: ANN401
        if "Oclgrind" in device.name:
            return 2
        return 0 if device.type & cl.device_type.GPU else 1

    return tuple(sorted(unordered, key=order))


def select(key: str = "") -> "OpenClDevice":
    """Open a device by its number in :func:`devices` or a part of its name, the first one by default."""
    listed = devices()
    if not listed:
        raise ToolchainError("there is no OpenCL device", f"install a driver, PoCL, or Oclgrind: {INSTALL}")
    names = [device.name for device in listed]
    if key.isdecimal() and int(key) < len(listed):
        return _open_device(int(key))
    fitting = [number for number, name in enumerate(names) if key.lower() in name.lower()]
    if not fitting:
        raise UsageError(f"there is no OpenCL device {key!r}", f"there are {', '.join(names)}")
    return _open_device(fitting[0])


def every() -> tuple["OpenClDevice", ...]:
    """Open every device."""
    return tuple(_open_device(number) for number in range(len(devices())))


@functools.lru_cache(maxsize=8)
def _open_device(number: int) -> "OpenClDevice":
    return OpenClDevice(devices()[number])


class OpenClDevice:
    """One device with a context and a queue that keeps the order of its commands."""

    number, dialect = 0, "opencl"

    def __init__(self, device: Any) -> None:  # noqa: ANN401
        self._cl = cl = _pyopencl()
        self._device = device
        self.name = str(device.name)
        self.local_bytes = int(device.local_mem_size)  # that a group may use
        self.memory_bytes = int(device.global_mem_size)
        self.interpreted = "Oclgrind" in self.name  # by Oclgrind, whose times are its own
        self._context = cl.Context([device])
        self._queue = cl.CommandQueue(self._context, properties=cl.command_queue_properties.PROFILING_ENABLE)
        self._events: list[Any] | None = None

    def describe(self) -> GpuDescription:
        """Say what the driver knows about the device."""
        own = self._device
        gpu = bool(own.type & self._cl.device_type.GPU) and not self.interpreted
        return GpuDescription(
            name=self.name,
            units=max(1, int(own.max_compute_units)),
            clock_hz=1e6 * float(own.max_clock_frequency),
            block_bytes=self.local_bytes,
            memory_bytes=self.memory_bytes,
            block_threads=int(own.max_work_group_size),
            l2_bytes=int(own.global_mem_cache_size),
            gpu=gpu,
        )

    @property
    def doubtful(self) -> bool:
        """Whether its compiler may be any, so that its code is compared with NumPy first; an interpreter has none."""
        return not self.interpreted

    @property
    def double(self) -> bool:
        """Whether it computes in double precision."""
        return "cl_khr_fp64" in self._device.extensions or self.interpreted

    def build(self, source: KernelSource[Any]) -> Sequence[Any]:
        """Compile a text."""
        if source.double and not self.double:
            raise UsageError(f"{self.name} does not compute in float64", "use float32")
        options = ["-cl-fp32-correctly-rounded-divide-sqrt"] if source.strict and not self.interpreted else []
        with warnings.catch_warnings(), _driver_errors(_REFUSED):
            warnings.simplefilter("ignore")
            program = self._cl.Program(self._context, source.text).build(options=options)
            return tuple(self._cl.Kernel(program, kernel.entry) for kernel in source.kernels)

    @property
    def compiler(self) -> str:
        """The driver, which holds the compiler of its kernels, with its version."""
        return f"OpenCL {self._device.platform.name} {self._device.driver_version}"

    def resources(self, source: KernelSource[Any]) -> Resources | None:  # noqa: ARG002  (the drivers do not say)
        """Say what the compiler knows about the code of a text: nothing."""
        return None

    def allocate(self, size: int) -> Any:  # noqa: ANN401
        """Take memory."""
        try:
            return self._cl.Buffer(self._context, self._cl.mem_flags.READ_WRITE, max(1, size))
        except self._cl.Error as error:
            raise ArrayError(
                f"{self.name} has no {format_bytes(size)} of memory: {error}", "use a smaller grid"
            ) from error

    def release(self, buffer: Any) -> None:  # noqa: ANN401
        """Hand memory back."""
        buffer.release()

    def write(self, buffer: Any, offset: int, array: Array) -> None:  # noqa: ANN401
        """Copy a contiguous array in."""
        with _driver_errors("copying to the device failed"):
            self._cl.enqueue_copy(self._queue, buffer, array, dst_offset=offset)

    def read(self, buffer: Any, offset: int, array: Array) -> None:  # noqa: ANN401
        """Copy into a contiguous array."""
        with _driver_errors("the device failed"):
            self._cl.enqueue_copy(self._queue, array, buffer, src_offset=offset)

    def copy(self, target: tuple[Any, int], source: tuple[Any, int], size: int) -> None:
        """Copy on the device."""
        with _driver_errors("copying on the device failed"):
            self._cl.enqueue_copy(
                self._queue, target[0], source[0], byte_count=size, src_offset=source[1], dst_offset=target[1]
            )

    def copy_box(self, target: tuple[Any, Box], source: tuple[Any, Box], extents: tuple[int, ...]) -> None:
        """Copy a part of a grid to a disjoint one, along three axes at most, in turn with the kernels."""
        depth, height, width = (1, 1, *extents)[-3:]
        ends: dict[str, tuple[int, ...]] = {}
        for name, box in (("dst", target[1]), ("src", source[1])):
            line, lines = box.pitches
            ends[f"{name}_origin"] = (box.first, 0, 0)  # bytes from the memory's start: grids begin anywhere in it
            ends[f"{name}_pitches"] = (line, line * lines)
        with _driver_errors("copying on the device failed"):
            region = (width * target[1].itemsize, height, depth)
            self._cl.enqueue_copy(self._queue, target[0], source[0], region=region, **ends)

    def start(self, kernel: Any, threads: tuple[int, int], arguments: Sequence[Any], room: int) -> None:  # noqa: ANN401
        """Start a kernel."""
        extra = [self._cl.LocalMemory(room)] if room else []
        groups, size = threads
        with _driver_errors("a kernel could not be started"):
            kernel.set_args(*arguments, *extra)
            event = self._cl.enqueue_nd_range_kernel(self._queue, kernel, (groups * size,), (size,))
        if self._events is not None:
            self._events.append(event)

    def recorded(self, launches: Sequence[Any]) -> None:  # noqa: ARG002
        """Nothing: OpenCL's drivers seldom have command buffers."""
        return

    def timed(self, work: Callable[[], None]) -> float:
        """Run some launches and return the seconds from the first one's start to the last one's end."""
        self.finish()
        self._events = []
        try:
            work()
            self.finish()
            events = self._events
        finally:
            self._events = None
        if not events:
            return 0.0
        return float(events[-1].profile.end - events[0].profile.start) * 1e-9

    def finish(self) -> None:
        """Wait until everything is done."""
        with _driver_errors("the device failed"):
            self._queue.finish()


@contextlib.contextmanager
def _driver_errors(failure: str) -> Iterator[None]:
    cl = _pyopencl()
    try:
        yield
    except (cl.Error, RuntimeError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        telling = [line for line in lines if "error:" in line] or lines
        kind = ToolchainError if failure == _REFUSED else DeviceError
        raise kind(f"{failure}: {'; '.join(telling[:_LOG_LINES])}", "see `tilewright doctor`") from error


def _pyopencl() -> Any:  # noqa: ANN401
    try:
        import pyopencl
    except ImportError as error:
        raise ToolchainError(f"the backend opencl needs pyopencl ({error})", INSTALL) from None
    return pyopencl


@dataclass(slots=True)
class OclgrindReport:
    """What Oclgrind writes down."""

    path: Path
    _read: int = 0

    def news(self) -> str:
        """Return the first new line since the last call, or nothing."""
        try:
            text = self.path.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""
        fresh, self._read = text[self._read :], len(text)
        return next((line.strip() for line in fresh.splitlines() if line.strip()), "")


def oclgrind_library() -> Path:
    """Return Oclgrind's library."""
    spec = importlib.util.find_spec("pyopencl")
    for place in (spec.submodule_search_locations or []) if spec is not None else []:
        for library in sorted(Path(place).rglob("liboclgrind-rt-icd*.so")):
            return library
    raise ToolchainError("Oclgrind is not installed", INSTALL)


@contextlib.contextmanager
def only_oclgrind() -> Iterator[OclgrindReport]:
    """Let programs that are started meanwhile see Oclgrind and no other platform."""
    library = oclgrind_library()
    with tempfile.TemporaryDirectory(prefix="tilewright-", ignore_cleanup_errors=True) as folder:
        (Path(folder) / "oclgrind.icd").write_text(f"{library}\n", encoding="utf-8")
        report = OclgrindReport(Path(folder) / "report.txt")
        values = {
            "OCL_ICD_VENDORS": folder,
            "OCLGRIND_DATA_RACES": "1",
            "OCLGRIND_LOCAL_MEM_SIZE": str(_OCLGRIND_LOCAL),
            "OCLGRIND_LOG": str(report.path),
        }
        before = {name: os.environ.get(name) for name in values}
        os.environ |= values
        try:
            yield report
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
