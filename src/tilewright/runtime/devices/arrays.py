"""Arrays in a CUDA device's memory, in and out without a way over the host: DLPack and ``__cuda_array_interface__``.

Whoever wrote an array may still be at work in a stream. Where its library says which one, a run's work goes into that
stream, and its result is complete when that stream comes there; readers' streams wait for it. Where no stream is known,
the run has one of its own that waits for the library's, and its result is complete before it is handed out.

Sources: DLPack (dlpack.h, version 0.8; Python specification of the array API standard, 2023.12) and the CUDA array
interface, version 3 (Numba's documentation).
"""

import contextlib
import ctypes
import functools
import math
import sys
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, DeviceError
from tilewright.runtime.devices.device import LEGACY, CallersStream, DeviceView, Memory
from tilewright.runtime.memory import Array

CPU, CUDA, MANAGED = 1, 2, 13  # DLPack's numbers of a processor's memory, a CUDA device's, and memory that both see
_CODES = {"i": 0, "u": 1, "f": 2, "c": 5}
_KINDS = {code: kind for kind, code in _CODES.items()}
_UNORDERED = -1  # what a reader says that looks after the order itself


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER))
_DESTRUCTOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def view(value: Any, name: str) -> DeviceView | None:  # noqa: ANN401
    """Return an array on a CUDA device, or None where the value is no such array.

    What that device's kernels do from now on waits for what the array's library has started on it: DLPack lets the
    library see to that, and goes first; the CUDA array interface names a stream to wait for.
    """
    location = getattr(value, "__dlpack_device__", None)
    if location is not None:
        kind, number = location()
        return _from_library(value, int(number), name) if int(kind) in {CUDA, MANAGED} else None
    interface = getattr(value, "__cuda_array_interface__", None)
    return _from_interface(value, interface, name) if isinstance(interface, dict) else None


def lies_on_device(value: Any) -> bool:  # noqa: ANN401
    """Whether :func:`view` takes a value for an array on a CUDA device; False where its library does not say."""
    if isinstance(value, np.ndarray | bool | int | float | complex):
        return False
    value = getattr(value, "data", value) if type(value).__module__.partition(".")[0] == "xarray" else value
    location = getattr(value, "__dlpack_device__", None)
    if location is None:
        return isinstance(getattr(value, "__cuda_array_interface__", None), dict)
    try:
        return int(location()[0]) in {CUDA, MANAGED}
    except Exception:  # noqa: BLE001  (values of a function that JAX traces lie nowhere, which reading them says)
        return False


def _from_interface(value: Any, interface: dict[str, Any], name: str) -> DeviceView:  # noqa: ANN401
    dtype, shape = np.dtype(interface["typestr"]), tuple(int(n) for n in interface["shape"])
    strides = interface.get("strides")
    if strides is not None and tuple(strides) != tuple(dtype.itemsize * n for n in _strides(shape)):
        raise _not_in_rows(name)
    if interface.get("mask") is not None:
        raise ArrayError(f"{name!r} is a masked array, whose masked cells have no value", "fill them first")
    (pointer, constant), handle = interface["data"], interface.get("stream")
    from tilewright.runtime.devices import cuda

    number = cuda.holder(int(pointer))
    stream = None if handle is None else CallersStream(handle=int(handle))
    if stream is not None and number is None:
        device = cuda.numbered(0)
        device.wait_for(stream)
        device.finish()  # whichever device the run is on
        stream = None
    return DeviceView(
        pointer=int(pointer), shape=shape, dtype=dtype, device=number, owner=value, stream=stream,
        writeable=not constant,
    )  # fmt: skip


def _current_stream(value: Any, number: int) -> CallersStream | None:  # noqa: ANN401
    """The stream that an array's library gives its work to now, where the library says."""
    name = type(value).__module__.partition(".")[0]
    if name == "torch":
        stream = sys.modules[name].cuda.current_stream(number)
        return CallersStream(handle=int(stream.cuda_stream) or LEGACY, owner=stream)
    if name == "cupy":
        stream = sys.modules[name].cuda.get_current_stream()
        return CallersStream(handle=int(stream.ptr) or LEGACY, owner=stream)
    return None


def _from_library(value: Any, number: int, name: str) -> DeviceView:  # noqa: ANN401
    from tilewright.runtime.devices import cuda

    device = cuda.numbered(number)
    try:
        with device.current():  # libraries hand out arrays of their current device only
            stream = _current_stream(value, number)
            try:
                capsule = value.__dlpack__(stream=int(device.stream.handle) if stream is None else stream.handle)
            except TypeError:  # it knows no streams: what it started is ordered with the legacy default stream, as ours
                capsule = value.__dlpack__()
    except (BufferError, RuntimeError, ValueError) as error:
        reason = str(error).partition("\n")[0]  # PyTorch adds how to debug its own kernels
        raise ArrayError(f"{name!r} cannot be read where it lies: {reason}", "copy it to the host first") from error
    return _from_capsule(capsule, name, stream, writeable=not _is_constant(value))


def _is_constant(value: Any) -> bool:  # noqa: ANN401
    """Whether a library's arrays never change; the capsules of this version of DLPack do not say."""
    jax = sys.modules.get("jax")
    return jax is not None and isinstance(value, jax.Array)


def _from_capsule(capsule: Any, name: str, stream: CallersStream | None, *, writeable: bool) -> DeviceView:  # noqa: ANN401
    managed = ctypes.cast(_api().PyCapsule_GetPointer(capsule, b"dltensor"), ctypes.POINTER(_Managed))
    tensor = managed.contents.tensor
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    if tensor.strides and tuple(tensor.strides[axis] for axis in range(tensor.ndim)) != _strides(shape):
        raise _not_in_rows(name)
    if tensor.code not in _KINDS or tensor.lanes != 1:
        raise ArrayError(f"{name!r} holds no numbers that a kernel could read", "convert it to float32")
    return DeviceView(
        pointer=int(tensor.data or 0) + tensor.byte_offset,
        shape=shape,
        dtype=np.dtype(f"{_KINDS[tensor.code]}{tensor.bits // 8}"),
        device=int(tensor.device_id),
        owner=capsule,  # it frees the memory when it goes, as nobody has marked it as used
        stream=stream,
        writeable=writeable,
    )


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


def _not_in_rows(name: str) -> ArrayError:
    return ArrayError(f"the values of {name!r} do not lie row after row on the device", "make it contiguous first")


class DeviceArray:
    """A result in a device's memory, which it owns: hands itself out without a copy, and frees itself at the end."""

    def __init__(self, memory: Memory, shape: tuple[int, ...], dtype: Any) -> None:  # noqa: ANN401
        self.memory, self.shape, self.dtype = memory, tuple(shape), np.dtype(dtype)
        self.pointer, self.device, self.device_type = memory.pointer, memory.device, CUDA

    def __del__(self) -> None:
        """Hand the memory back; of a device that has failed it is lost anyway, as all is when the process ends."""
        if hasattr(self, "memory") and not sys.is_finalizing():
            with contextlib.suppress(DeviceError):
                self.memory.free()

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The CUDA array interface, version 3; no reader has to wait, as this does."""
        self.memory.complete()
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.pointer, False),
            "strides": None,
            "version": 3,
            "stream": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device_type, self.device

    def __dlpack__(
        self,
        *,
        stream: Any = None,  # noqa: ANN401  (the reader's, which waits for the result: by default the legacy one, none for -1)
        max_version: tuple[int, int] | None = None,  # a device's capsule has the layout of version 0, which all know
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,  # only on the way to the host there is one
    ) -> Any:  # noqa: ANN401
        """Return a capsule that keeps this array alive until its reader is done."""
        own = self.__dlpack_device__()
        target = own if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        if target == own:
            if copy:
                raise BufferError(f"an array on the CUDA device {self.device} is handed out without a copy only")
            if stream is not None and int(stream) == _UNORDERED:
                self.memory.complete()
            else:
                self.memory.show(LEGACY if stream is None else int(stream))
            return _capsule(self)
        if target[0] != CPU:
            raise BufferError(f"an array on the CUDA device {self.device} is handed out there or on the host only")
        if copy is False:
            raise BufferError(f"an array on the CUDA device {self.device} is on the host as a copy only")
        return self.__array__().__dlpack__(max_version=max_version)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:  # noqa: ANN401
        if copy is False:
            raise ValueError("an array on a device cannot be had on the host without a copy")
        values: Array = np.empty(self.shape, self.dtype)
        self.memory.fetch(values)
        return values if dtype is None else values.astype(dtype)

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype.name}, device={self.device})"


_alive: dict[int, tuple[Any, ...]] = {}  # what capsules that are out keep alive, by the address of their tensor


def _delete(managed: Any) -> None:  # noqa: ANN401
    _alive.pop(ctypes.addressof(managed.contents), None)


def _destroy(capsule: int) -> None:
    """Free a capsule that nobody has used: a reader renames it."""
    if _api().PyCapsule_IsValid(ctypes.c_void_p(capsule), b"dltensor"):
        _alive.pop(_raw_pointer()(ctypes.c_void_p(capsule), b"dltensor"), None)


_deleter, _destructor = _DELETER(_delete), _DESTRUCTOR(_destroy)


def _capsule(array: DeviceArray) -> Any:  # noqa: ANN401
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    managed = _Managed()
    tensor = managed.tensor
    tensor.data, tensor.device_type, tensor.device_id = array.pointer, array.device_type, array.device
    tensor.ndim, tensor.code = array.ndim, _CODES[array.dtype.kind]
    tensor.bits, tensor.lanes, tensor.shape = 8 * array.dtype.itemsize, 1, shape
    managed.deleter = _deleter
    address = ctypes.addressof(managed)
    _alive[address] = (managed, shape, array)
    return _api().PyCapsule_New(address, b"dltensor", ctypes.cast(_destructor, ctypes.c_void_p))


@functools.cache
def _api() -> Any:  # noqa: ANN401
    api = ctypes.PyDLL(None)
    api.PyCapsule_New.restype = ctypes.py_object
    api.PyCapsule_New.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    api.PyCapsule_IsValid.restype = ctypes.c_int
    api.PyCapsule_IsValid.argtypes = (ctypes.c_void_p, ctypes.c_char_p)
    return api


@functools.cache
def _raw_pointer() -> Any:  # noqa: ANN401
    kind = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
    return kind(("PyCapsule_GetPointer", ctypes.PyDLL(None)))
