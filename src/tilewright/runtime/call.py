"""Compiled C functions on arrays: what the calls of all workloads have in common.

An emitter's text becomes a library once per process, from the kernel cache or by the compiler (:func:`compiled`). Its
functions are called with addresses, the interpreter's lock being free; they answer signals
(:mod:`tilewright.runtime.interrupts`) and survive forks (:mod:`tilewright.runtime.forks`). A workload says which arrays
and sizes its emitter wants, and from how much work on threads are worth their start. How arrays must lie to be read
(:func:`packed`, :func:`by_cells`), whether results lie apart from them (:func:`overlap`) and whether there is memory
for a call to work in (:func:`scratch`) is decided here.
"""

import ctypes
import functools
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ToolchainError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.source import KernelSource, LayoutT
from tilewright.runtime import cache, forks, interrupts
from tilewright.runtime.host import cpu_features
from tilewright.runtime.memory import Array, allocate, check_memory
from tilewright.runtime.toolchains.artifact import Artifact, open_library
from tilewright.runtime.toolchains.cpu import Toolchain, shared_object, toolchain
from tilewright.runtime.warn import warn_once

ResultT = TypeVar("ResultT")
_VERSION = 1  # raised when a stored kernel could no longer be called


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledFunction:
    """A compiled C function of pointers, mostly ``(array, size, work, value)``; it keeps its library loaded."""

    function: Any  # what is called with the addresses; callers that prepare these call it themselves
    parallel: bool  # whether it was compiled with OpenMP

    def __call__(
        self,
        arrays: Sequence[Array],
        sizes: Sequence[int] | Array,  # an array of int64 may be changed
        work: Array | None = None,
        values: Array | None = None,  # scalars
    ) -> None:
        """Call it with the addresses of arrays."""
        self.function(
            (ctypes.c_void_p * len(arrays))(*map(address, arrays)),
            address(sizes) if isinstance(sizes, np.ndarray) else (ctypes.c_int64 * len(sizes))(*sizes),
            None if work is None else address(work),
            None if values is None else address(values),
        )

    def team(self, threads: int, *, parts: int | None = None, worth: bool = True) -> int:
        """Return how many threads a call gets: no more than parts, one where more are not worth their start."""
        if not self.parallel or not worth:
            return 1
        return threads if parts is None else max(1, min(threads, parts))


first_byte: Callable[[Any], Any] = (ctypes.c_char * 0).from_buffer
"""What lies at the start of a contiguous, writable array: asking it for the address takes a quarter of the time that
asking the array takes, which is much for a short vector."""


def address(array: Array) -> int:
    """Return where an array's first element lies."""
    try:
        return ctypes.addressof(first_byte(array)) if array.flags.carray else array.ctypes.data
    except ValueError:  # a type that NumPy has no letter for, such as that of ml_dtypes' bfloat16
        return array.ctypes.data


def addresses(arrays: Sequence[Array]) -> npt.NDArray[np.uintp]:
    """Return where arrays lie, as an array of pointers that itself can be handed over; it keeps none of them alive."""
    return np.array([address(each) for each in arrays], dtype=np.uintp)


def packed(array: Array, dtype: npt.DTypeLike | None = None) -> Array:
    """Return an array with its cells one after the other, aligned, of a type of this machine; a copy unless it is."""
    kind, flags = array.dtype.newbyteorder("=") if dtype is None else np.dtype(dtype), array.flags
    is_packed = array.dtype == kind and flags.c_contiguous and flags.aligned
    return array if is_packed else np.array(array, dtype=kind, order="C")


def by_cells(array: Array, dtype: str | None = None, *, rows: bool = False, forward: bool = False) -> Array:
    """Return an array as :func:`packed` does, but for strides, which are whole numbers of cells.

    With ``rows`` the cells along the last axis follow one another; with ``forward`` no stride is negative.
    """
    kind, size = array.dtype.newbyteorder("=") if dtype is None else np.dtype(dtype), array.itemsize
    is_usable = array.dtype == kind and array.flags.aligned and not any(stride % size for stride in array.strides)
    if is_usable and rows:
        is_usable = array.strides[-1] == size or array.shape[-1] == 1
    if is_usable and forward:
        is_usable = min(array.strides) >= 0
    return array if is_usable else packed(array, kind)


def overlap(written: Sequence[Array], read: Sequence[Array] = ()) -> bool:
    """Whether an array that a kernel writes may share memory with one that it reads, or with another one of its."""
    return any(
        np.may_share_memory(target, other)
        for number, target in enumerate(written)
        for other in (*read, *written[:number])
    )


def scratch(size: int, results: int = 0) -> Array:
    """Take memory for a call to work in; refused where it and the results do not fit."""
    check_memory(size + results)
    return allocate(size)


_loaded: dict[str, tuple[bytes, ctypes.CDLL]] = {}  # by key, the code and the library that this process made of it
_lock = forks.lock()


def compile_source(source: KernelSource[LayoutT], tools: Toolchain | None = None) -> Artifact[LayoutT]:
    """Compile a unit of C functions, or find what an earlier run made of it."""
    tools = tools or toolchain()
    flags = tools.flags(strict=source.strict, text=source.text)
    key = fingerprint(_VERSION, source.text, flags, tools.command, tools.identity, cpu_features())
    artifact = Artifact(source=source, command=(*tools.command, *flags), key=key, parallel=tools.openmp)
    with _lock:
        content = _loaded[key][0] if key in _loaded else cache.load(cache.directory(), f"{key}.so")
        return replace(artifact, content=content or _compile_anew(artifact))


def library(artifact: Artifact[Any]) -> ctypes.CDLL:
    """Load compiled code, once per process."""
    with _lock:
        entry = _loaded.get(artifact.key)
        if entry is None:
            entry = _loaded[artifact.key] = _library(artifact)
    return entry[1]


def load(artifact: Artifact[Any]) -> tuple[CompiledFunction, ...]:
    """Make the functions of compiled code callable, in the order of the unit's."""
    loaded, calls = library(artifact), _calls()
    callables = []
    for kernel in artifact.source.kernels:
        function = getattr(loaded, kernel.entry)
        function.restype = None
        function.argtypes = [ctypes.c_void_p] * (4 + kernel.tables)
        function = calls.heeding(loaded, function)
        if artifact.parallel:
            function = forks.protect(loaded, function)
        callables.append(CompiledFunction(function=function, parallel=artifact.parallel))
    return tuple(callables)


def functions(source: KernelSource[Any], tools: Toolchain | None = None) -> tuple[CompiledFunction, ...]:
    """Compile a unit and load it, see :func:`compile_source` and :func:`load`."""
    return load(compile_source(source, tools))


@functools.lru_cache(maxsize=512)
def compiled(emit: Callable[..., KernelSource[Any]], *arguments: Hashable) -> tuple[CompiledFunction, ...]:
    """Return the functions of what an emitter writes of some arguments; written, compiled and loaded once."""
    return functions(emit(*arguments))


@functools.lru_cache(maxsize=16)
def if_compiled(emit: Callable[..., KernelSource[Any]], *arguments: Hashable) -> CompiledFunction | None:
    """Return the first function as :func:`compiled` does; None from then on where there is no compiler."""
    try:
        return compiled(emit, *arguments)[0]
    except ToolchainError:
        return None


def or_by_numpy(compute: Callable[[], ResultT], *, fallback: bool = True) -> ResultT | None:
    """Return what needs a compiler; None, and a warning, where there is none and NumPy computes it instead."""
    try:
        return compute()
    except ToolchainError as error:
        if not fallback:
            raise
        warn_once(f"running with NumPy, which is many times slower: {error}")
        return None


@functools.cache
def _calls() -> interrupts.Calls:
    return interrupts.Calls(library(compile_source(interrupts.source())))


def _compile_anew(artifact: Artifact[Any]) -> bytes:
    """Compile, whatever the cache has, and keep the code."""
    content = shared_object(artifact.command, artifact.source.text)
    cache.save(cache.directory(), f"{artifact.key}.so", content)
    return content


def _library(artifact: Artifact[Any]) -> tuple[bytes, ctypes.CDLL]:
    with suppress(OSError, AttributeError):
        return artifact.content, _open_library(artifact, artifact.content)
    # What the cache had is no library, lacks a function, or cannot be loaded here: once more from the text.
    content = _compile_anew(artifact)
    try:
        return content, _open_library(artifact, content)
    except (OSError, AttributeError) as error:
        raise ToolchainError(f"the compiled kernel cannot be loaded: {error}", "see `tilewright doctor`") from error


def _open_library(artifact: Artifact[Any], content: bytes) -> ctypes.CDLL:
    opened = open_library(content)
    for kernel in artifact.source.kernels:
        getattr(opened, kernel.entry)
    return opened
