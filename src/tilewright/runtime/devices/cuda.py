"""CUDA devices through NVIDIA's packages ``cuda.core`` and ``cuda.bindings``, with kernels compiled by NVRTC.

Work goes into the stream of the caller's arrays where their library says which one that is, else into one of the
device's own; memory comes from the driver's stream-ordered pool. The context is the primary one, which CUDA's runtime
and the libraries on it share; it is the thread's during calls of the driver alone. Nothing is loaded before a device
is asked for. Sources: NVIDIA, cuda.core documentation; CUDA driver API.
"""

import contextlib
import copy
import ctypes
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from tilewright.base.errors import ArrayError, DeviceError, ToolchainError, UsageError
from tilewright.base.records import Resources
from tilewright.base.units import format_bytes
from tilewright.codegen.source import KernelSource
from tilewright.machines.defaults import GpuDescription
from tilewright.runtime.devices import nvrtc
from tilewright.runtime.devices.device import Box, CallersStream, DeviceView
from tilewright.runtime.memory import Array

_LIBRARY = "libcuda.so.1"
_KEPT = 2**28
"""Bytes that the pool keeps at rest; more goes back to the system, for other libraries and processes on the card."""
_DESCRIBED = {
    "units": "multiprocessor_count", "shared_bytes": "max_shared_memory_per_multiprocessor",
    "block_threads": "max_threads_per_block", "unit_threads": "max_threads_per_multiprocessor",
    "unit_blocks": "max_blocks_per_multiprocessor", "registers": "max_registers_per_multiprocessor",
    "l2_bytes": "l2_cache_size",
}  # fmt: skip
"""What describes a device, by the names of cuda.core's properties."""


class CudaDevice:
    """One device, with the stream that its work goes into.

    Context and stream are made when the device is first used: a device that is only looked at stays closed, as a
    context takes time and hundreds of megabytes.
    """

    dialect = "cuda"

    def __init__(self, number: int) -> None:
        with _cuda_errors("could not be asked for a device"):
            self._properties = library().core.Device(number).properties
            self.name = _name(number)
            self.memory_bytes = int(_values(library().driver.cuDeviceTotalMem(number)))
        self.number = number
        self._lock = threading.Lock()
        self._opened: tuple[Any, Any, Any] | None = None
        self._caller: tuple[CallersStream, Any] | None = None
        self._others: tuple[CallersStream, ...] = ()
        self._unknown = False

    @property
    def local_bytes(self) -> int:
        """Memory on chip that a group may use."""
        return int(self._properties.max_shared_memory_per_block_optin)

    @property
    def architecture(self) -> str:
        """What the compiler is told."""
        return f"sm_{self._properties.compute_capability_major}{self._properties.compute_capability_minor}"

    def describe(self) -> GpuDescription:
        """Say what the driver knows about the device."""
        own = self._properties
        with _cuda_errors("was asked for a device"):
            bus = _values(library().driver.cuDeviceGetPCIBusId(32, self.number))
        return GpuDescription(
            name=self.name,
            **{key: int(getattr(own, name)) for key, name in _DESCRIBED.items()},  # type: ignore[arg-type]
            clock_hz=1000 * int(own.clock_rate),
            block_bytes=self.local_bytes,
            memory_bytes=self.memory_bytes,
            capability=own.compute_capability_major + own.compute_capability_minor / 10,
            bus=bus.partition(b"\0")[0].decode(errors="replace"),
        )

    def build(self, source: KernelSource[Any]) -> Sequence[Any]:
        """Compile a text and load its kernels."""
        code = nvrtc.compile_cuda(source.text, self.architecture, strict=source.strict)
        driver, kernels = library().driver, []
        attribute = driver.CUfunction_attribute
        with self.current("could not load a kernel"):
            module = library().core.ObjectCode.from_cubin(code.cubin)
            for each in source.kernels:
                kernel = module.get_kernel(each.entry)
                wanted = {attribute.CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: source.carveout}
                if each.room_bytes:
                    wanted[attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = each.room_bytes
                for name, value in wanted.items():
                    _values(driver.cuKernelSetAttribute(name, value, driver.CUkernel(int(kernel.handle)), self.number))
                kernels.append(kernel)
        return kernels

    @property
    def doubtful(self) -> bool:
        """Whether its compiler may be any, which NVRTC is not."""
        return False

    @property
    def compiler(self) -> str:
        """The compiler of its kernels, with its version."""
        return f"NVRTC {nvrtc.version()} for {self.architecture}"

    def resources(self, source: KernelSource[Any]) -> Resources | None:
        """Say what the compiler knows about the code of a text that was built."""
        return nvrtc.compile_cuda(source.text, self.architecture, strict=source.strict).resources

    def allocate(self, size: int) -> Any:  # noqa: ANN401
        """Take memory of the driver's pool, in turn with the stream's work."""
        try:
            with self.current("could not allocate memory"):
                return self._pool.allocate(max(1, size), stream=self.stream)
        except DeviceError as error:
            if "OUT_OF_MEMORY" not in error.message:
                raise
            raise ArrayError(f"{self.name} has no {format_bytes(size)} of memory", "use a smaller grid") from error

    def release(self, buffer: Any) -> None:  # noqa: ANN401
        """Hand memory back, in turn with the stream's work."""
        with self.current("could not free memory"):
            buffer.close(self.stream)

    def write(self, buffer: Any, offset: int, array: Array) -> None:  # noqa: ANN401
        """Copy a contiguous array in; when this returns, it may be overwritten."""
        with self.current("could not copy to the device"):
            _values(
                library().driver.cuMemcpyHtoDAsync(
                    _address(buffer, offset), array.ctypes.data, array.nbytes, self.stream.handle
                )
            )
            self.stream.sync()

    def read(self, buffer: Any, offset: int, array: Array) -> None:  # noqa: ANN401
        """Copy into a contiguous array, when all work of the stream before is done."""
        with self.current("could not copy to the host"):
            _values(
                library().driver.cuMemcpyDtoHAsync(
                    array.ctypes.data, _address(buffer, offset), array.nbytes, self.stream.handle
                )
            )
            self.stream.sync()

    def copy(self, target: tuple[Any, int], source: tuple[Any, int], size: int) -> None:
        """Copy on the device, in turn with the kernels."""
        with self.current("could not copy on the device"):
            _values(library().driver.cuMemcpyDtoDAsync(_address(*target), _address(*source), size, self.stream.handle))

    def copy_box(self, target: tuple[Any, Box], source: tuple[Any, Box], extents: tuple[int, ...]) -> None:
        """Copy a part of a grid to a disjoint one, along three axes at most, in turn with the kernels."""
        if len(extents) == 1:
            size = extents[0] * target[1].itemsize
            self.copy((target[0], target[1].first), (source[0], source[1].first), size)
            return
        driver = library().driver
        job = driver.CUDA_MEMCPY3D()
        job.srcMemoryType = job.dstMemoryType = driver.CUmemorytype.CU_MEMORYTYPE_DEVICE
        (job.dstXInBytes, job.dstY, job.dstZ), (job.dstPitch, job.dstHeight) = target[1].place, target[1].pitches
        (job.srcXInBytes, job.srcY, job.srcZ), (job.srcPitch, job.srcHeight) = source[1].place, source[1].pitches
        job.dstDevice, job.srcDevice = _address(target[0], target[1].offset), _address(source[0], source[1].offset)
        depth, height, width = (1, *extents)[-3:]
        job.WidthInBytes, job.Height, job.Depth = width * target[1].itemsize, height, depth
        with self.current("could not copy on the device"):
            _values(driver.cuMemcpy3DAsync(job, self.stream.handle))

    def start(self, kernel: Any, threads: tuple[int, int], arguments: Sequence[Any], room: int) -> None:  # noqa: ANN401
        """Start a kernel."""
        with self.current("could not start a kernel"):
            library().core.launch(self.stream, _config(*threads, room), kernel, *arguments)

    def recorded(self, launches: Sequence[tuple[Any, tuple[int, int], Sequence[Any], int]]) -> Callable[[], None]:
        """Return what starts launches, as :meth:`start` takes them, as one graph; their buffers must live as long."""
        with self.current("could not make a graph") as device:
            builder = device.create_graph_builder()
            try:
                builder.begin_building("thread_local")
                for kernel, threads, arguments, room in launches:
                    library().core.launch(builder, _config(*threads, room), kernel, *arguments)
                graph = builder.end_building().complete()
            finally:
                builder.close()

        def again() -> None:
            with self.current("could not start a graph"):
                graph.launch(self.stream)

        return again

    def timed(self, work: Callable[[], None]) -> float:
        """Run some launches and return the seconds between two events around them."""
        timing = library().core.EventOptions(timing_enabled=True)
        with self.current("could not time kernels"):
            first = self.stream.record(options=timing)
            work()
            last = self.stream.record(options=timing)
            last.sync()
            return float(last - first) * 1e-3

    def finish(self) -> None:
        """Wait until everything that was started here is done; other streams of the device go on."""
        with self.current("failed"):
            self.stream.sync()

    def following(self, views: Sequence[DeviceView]) -> "CudaDevice":
        """Return the device with its work after all arrays, in the first's stream, or its own if any is unknown."""
        streams = list(dict.fromkeys(each.stream for each in views if each.stream is not None))
        ordered = self
        with self.current("could not use the stream of an array") as device:
            if streams and all(each.stream is not None for each in views):
                first, *streams = streams
                ordered = copy.copy(self)
                ordered._caller, ordered._others = (first, device.create_stream(first)), tuple(streams)  # noqa: SLF001
            for each in streams:
                ordered.stream.wait(each)
        return ordered

    def join(self, views: Sequence[DeviceView]) -> None:
        """Let what follows here wait for what made some more arrays, and what follows those for this."""
        with self.current("could not use the stream of an array"):
            for each in views:
                if each.stream is not None:
                    self.stream.wait(each.stream)
                if self._caller is None:
                    continue  # the end of what is done here is waited for anyway
                if each.stream is None:
                    self.stream.wait(self._open()[1])
                    self._unknown = True
                elif each.stream not in {self._caller[0], *self._others}:
                    self._others = (*self._others, each.stream)

    def settle(self) -> Any:  # noqa: ANN401
        """Let the caller go on: whatever comes next in its streams finds the work here done."""
        if self._caller is None or self._unknown:
            self.finish()
            return None  # results are complete
        with self.current("could not use the stream of an array") as device:
            for each in self._others:
                device.create_stream(each).wait(self.stream)
            return self.stream.record()  # after it results are complete

    def result(self, buffer: Any, ready: Any) -> "CudaResult":  # noqa: ANN401
        """Make memory a result that frees itself; ``ready`` is what :meth:`settle` returned."""
        return CudaResult(self, buffer, ready)

    def wait_for(self, stream: CallersStream) -> None:
        """Let what is started from now on wait for everything that another stream was given so far."""
        with self.current("could not use the stream of an array"):
            self.stream.wait(stream)

    def drop(self, buffer: Any, readers: set[int]) -> None:  # noqa: ANN401
        """Hand memory back that others have read in the streams of these handles."""
        with self.current("could not free memory"):
            stream = self.stream
            # Work in other streams than the one here, and in one that may be gone, cannot be followed.
            if readers - {int(stream.handle)} or (self._caller is not None and not self._caller[0].lasting):
                _values(library().driver.cuCtxSynchronize())
                stream = self._open()[1]
            buffer.close(stream)

    @contextlib.contextmanager
    def current(self, failure: str = "failed") -> Iterator[Any]:
        """Make this device's context the thread's, and afterwards the caller's again; ``failure`` is what may fail."""
        with _cuda_errors(failure), self._pushed(self._open()[0]) as device:
            yield device

    @property
    def _pool(self) -> Any:  # noqa: ANN401
        """A pool of our own: the settings of the device's default one are everybody's."""
        return self._open()[2]

    @property
    def stream(self) -> Any:  # noqa: ANN401
        """Where work goes: the caller's stream, or the device's own."""
        return self._open()[1] if self._caller is None else self._caller[1]

    @contextlib.contextmanager
    def _pushed(self, context: Any) -> Iterator[Any]:  # noqa: ANN401
        core, driver = library()
        _values(driver.cuCtxPushCurrent(context))
        try:
            device = core.Device(self.number)
            device.set_current()  # it counts threads in which this was never called as without a context
            yield device
        finally:
            driver.cuCtxPopCurrent()

    def _open(self) -> tuple[Any, Any, Any]:
        if self._opened is None:
            with self._lock:
                if self._opened is None:
                    core, driver = library()
                    context = _values(driver.cuDevicePrimaryCtxRetain(self.number))
                    with self._pushed(context) as device:
                        # It waits for the legacy default stream, and that for it: some libraries know no other one.
                        own = device.create_stream(options=core.StreamOptions(nonblocking=False))
                        if not self._properties.memory_pools_supported:
                            pool = device.memory_resource
                        else:
                            pool = core.DeviceMemoryResource(self.number, core.DeviceMemoryResourceOptions())
                            threshold = driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
                            _values(driver.cuMemPoolSetAttribute(pool.handle, threshold, driver.cuuint64_t(_KEPT)))
                    self._opened = context, own, pool
        return self._opened


class CudaResult:
    """Memory of a device with a result of a run in it, which is handed back when nobody reads it any more."""

    def __init__(self, device: CudaDevice, buffer: Any, ready: Any) -> None:  # noqa: ANN401
        """Take over memory of the device's stream; ``ready`` is what :meth:`CudaDevice.settle` returned."""
        self._device, self._buffer, self._ready = device, buffer, ready
        self._readers: set[int] = set()

    @property
    def pointer(self) -> int:
        """Address of the first value."""
        return _address(self._buffer, 0)

    @property
    def device(self) -> int:
        """Number of the device."""
        return self._device.number

    def fetch(self, values: Array) -> None:
        """Copy it to the host, in the device's own stream, as the caller's may be gone."""
        if self._ready is not None:
            with self._device.current():
                self._ready.sync()
        opened(self.device).read(self._buffer, 0, values)

    def show(self, stream: int) -> None:
        """Let a reader's stream wait until the result is complete."""
        self._readers.add(stream)
        if self._ready is not None and stream != int(self._device.stream.handle):
            with self._device.current("could not use the stream of a reader") as device:
                device.create_stream(CallersStream(handle=stream)).wait(self._ready)

    def complete(self) -> None:
        """Wait until the result is complete, as its readers' streams are not known."""
        self._readers.add(-1)
        if self._ready is not None:
            with self._device.current():
                self._ready.sync()

    def free(self) -> None:
        """Hand the memory back, when its readers have finished with it."""
        self._device.drop(self._buffer, self._readers)


class _Packages(NamedTuple):
    core: Any
    driver: Any


@functools.cache
def library() -> _Packages:
    """Return NVIDIA's packages, once the driver is there."""
    try:
        ctypes.CDLL(_LIBRARY)
    except OSError:
        raise ToolchainError(
            f"the backend cuda needs NVIDIA's driver ({_LIBRARY} is not there)", "use the backend opencl or c"
        ) from None
    try:
        from cuda import core
        from cuda.bindings import driver
    except ImportError as error:
        raise ToolchainError(f"the backend cuda needs cuda-core ({error})", nvrtc.INSTALL) from None
    return _Packages(core, driver)


def select(key: str = "") -> CudaDevice:
    """Find a device by its number or a part of its name, the first one by default; no other one is opened."""
    count = _count()
    if not key:
        return opened(0)
    if key.isdecimal() and int(key) < count:
        return opened(int(key))
    names = [_name(number) for number in range(count)]
    for number, name in enumerate(names):
        if key.lower() in name.lower():
            return opened(number)
    raise UsageError(f"there is no CUDA device {key!r}", f"there are {', '.join(names)}")


def numbered(number: int) -> CudaDevice:
    """Return the device of a number."""
    _count()
    return opened(number)


def every() -> tuple[CudaDevice, ...]:
    """Find every device; none is opened by that."""
    return tuple(opened(number) for number in range(_count()))


def versions() -> tuple[str, str]:
    """Return the version of ``cuda-bindings``, and that of CUDA which the driver knows; ``("13.5.0", "12.8")``."""
    driver = library().driver
    import cuda.bindings

    with _cuda_errors("did not say its version"):
        number = int(_values(driver.cuDriverGetVersion()))
    return str(cuda.bindings.__version__), f"{number // 1000}.{number % 1000 // 10}"


def holder(pointer: int) -> int | None:
    """Return the number of the device in whose memory an address lies, or None where the driver does not know."""
    _count()
    driver = library().driver
    place = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
    status, number = driver.cuPointerGetAttribute(place, pointer)
    return None if int(status) else int(number)


def _count() -> int:
    driver = library().driver
    (status,) = driver.cuInit(0)
    count = 0
    if not int(status):
        status, count = driver.cuDeviceGetCount()
    if int(status) or not count:
        raise ToolchainError("there is no CUDA device", "use the backend opencl or c")
    return int(count)


@functools.lru_cache(maxsize=16)
def opened(number: int) -> CudaDevice:
    """Return the device of a number, always the same one."""
    return CudaDevice(number)


def _name(number: int) -> str:
    with _cuda_errors("could not be asked for a device"):
        name: bytes = _values(library().driver.cuDeviceGetName(256, number))
    return name.partition(b"\0")[0].decode(errors="replace")


@functools.lru_cache(maxsize=256)
def _config(groups: int, threads: int, room: int) -> Any:  # noqa: ANN401
    return library().core.LaunchConfig(grid=groups, block=threads, shmem_size=room)


def _address(buffer: Any, offset: int) -> int:  # noqa: ANN401
    """An address in memory of the pool's, or after one of a caller's."""
    return int(getattr(buffer, "handle", buffer)) + offset


def _values(answer: tuple[Any, ...]) -> Any:  # noqa: ANN401
    """What a call of the driver returned besides its status."""
    status, *values = answer
    if int(status):
        raise _FailedError(status.name)
    return values[0] if values else None


class _FailedError(Exception):
    """A call of the driver has failed; the text is the error's name."""


@contextlib.contextmanager
def _cuda_errors(failure: str) -> Iterator[None]:
    """Turn errors of the driver, and of the packages over it, into one sentence."""
    try:
        yield
    except Exception as error:
        if not isinstance(error, _FailedError) and type(error).__name__ != "CUDAError":  # it has no public name
            raise
        name = str(error).partition(":")[0]
        raise DeviceError(f"the CUDA driver {failure}: {name}", "see `tilewright doctor`") from error
