"""C functions on this CPU: from text to a loaded library, and kernels of stencils from arrays to results."""

import ctypes
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import ToolchainError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.emit import Kernel, KernelSource
from tilewright.programs.periodic import Extended
from tilewright.programs.problem import Problem
from tilewright.runtime import cache, direct, forks
from tilewright.runtime.host import cpu_features
from tilewright.runtime.memory import Array, Workspace
from tilewright.runtime.session import Inputs, Session
from tilewright.runtime.toolchain import Toolchain, compile_shared, toolchain

_VERSION = 1
"""Raised when a stored kernel could no longer be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A compiled C function of four pointers: ``(array, size, work, value)``; it keeps its library loaded.

    Attributes:
        function: What is called with the four addresses; callers that prepare these call it themselves.
        parallel: Whether it was compiled with OpenMP.
    """

    function: Any
    parallel: bool

    def __call__(
        self,
        arrays: Sequence[Array],
        sizes: Sequence[int] | Array,
        work: Array | None = None,
        values: Array | None = None,
    ) -> None:
        """Call it.

        Args:
            arrays: Arrays whose addresses it is given.
            sizes: Sizes, made int64; an array of that type may be changed.
            work: Memory to work in.
            values: An array of scalars.
        """
        pointers = np.array([each.ctypes.data for each in arrays], dtype=np.uintp)
        rest = (np.asarray(sizes, dtype=np.int64), work, values)
        self.function(pointers.ctypes.data, *(None if each is None else each.ctypes.data for each in rest))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledKernel(Function):
    """The function of a stencil's kernel.

    Attributes:
        kernel: How it is called.
    """

    kernel: Kernel


_loaded: dict[str, ctypes.CDLL] = {}
_lock = forks.lock()


def compile_source(source: KernelSource, tools: Toolchain) -> tuple[CompiledKernel, ...]:
    """Compile a unit, or load it from the cache.

    Args:
        source: The unit.
        tools: The compiler.

    Returns:
        One compiled kernel per kernel of the unit.

    Raises:
        ToolchainError: If it does not compile or load.
    """
    functions = compile_text(source.text, *(each.entry for each in source.kernels), strict=source.strict, tools=tools)
    return tuple(
        CompiledKernel(kernel=kernel, function=each.function, parallel=each.parallel)
        for kernel, each in zip(source.kernels, functions, strict=True)
    )


def compile_text(
    text: str, *entries: str, strict: bool = False, tools: Toolchain | None = None
) -> tuple[Function, ...]:
    """Compile a C unit, or load it from the cache.

    Args:
        text: The unit.
        entries: Names of its functions of four pointers.
        strict: Whether the compiler must keep every operation's own rounding.
        tools: The compiler; this machine's by default.

    Returns:
        The functions.

    Raises:
        ToolchainError: If there is no compiler, or the unit does not compile or load.
    """
    tools = tools or toolchain()
    key = fingerprint(_VERSION, text, tools.flags(strict=strict), tools.command, tools.identity, cpu_features())
    with _lock:
        library = _loaded.get(key)
        if library is None:
            library = _load_or_build(text, tools, f"{key}.so", strict=strict)
            _loaded[key] = library
    found = []
    for entry in entries:
        function = getattr(library, entry)
        function.restype = None
        function.argtypes = [ctypes.c_void_p] * 4
        if tools.openmp:
            function = forks.protect(library, function)
        found.append(Function(function=function, parallel=tools.openmp))
    return tuple(found)


def _load_or_build(text: str, tools: Toolchain, name: str, *, strict: bool) -> ctypes.CDLL:
    store = cache.directory()
    content = cache.load(store, name)
    if content is not None:
        with suppress(OSError):
            return _load(content)
    content = compile_shared(tools, text, strict=strict)
    cache.save(store, name, content)
    try:
        return _load(content)
    except OSError as error:
        raise ToolchainError(f"the compiled kernel cannot be loaded: {error}", "see `tilewright doctor`") from error


def _load(content: bytes) -> ctypes.CDLL:
    """Load a library from bytes that were checked: through a private file, so that nobody can change it in between."""
    path = ""
    try:
        handle, path = tempfile.mkstemp(prefix="tilewright-", suffix=".so")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        return ctypes.CDLL(path)
    except OSError:
        if not hasattr(os, "memfd_create"):
            raise
    finally:
        if path:
            Path(path).unlink(missing_ok=True)
    # A temporary directory that is full or forbids execution. The descriptor stays open: the loader knows libraries by
    # their path, and a second one of the same number would be taken for the first.
    descriptor = os.memfd_create("tilewright")
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(content)
    return ctypes.CDLL(f"/proc/self/fd/{descriptor}")


def execute(
    compiled: CompiledKernel,
    problem: Problem,
    inputs: Inputs,
    threads: int,
    workspace: Workspace | None = None,
    halo: Extended | None = None,
) -> dict[str, Array]:
    """Run a kernel.

    The inputs are only read; the interpreter's lock is free while the kernel runs, and any number of threads may run
    the same kernel at a time.

    Args:
        compiled: The kernel.
        problem: The problem; its shape and steps may be any.
        inputs: Arrays and scalars.
        threads: Threads to use.
        workspace: Memory to compute in; fresh memory by default.
        halo: Periodic copies around a grid that wraps, or None.

    Returns:
        The newest version of every updated field.

    Raises:
        ArrayError: If there is not enough memory.
    """
    if halo is None and direct.applies(compiled, problem, inputs):
        return direct.execute(compiled, problem, inputs, threads, workspace)
    session = Session(compiled, problem, inputs, threads, halo=halo, workspace=workspace)
    try:
        session.advance(problem.steps, last=True)
        return session.results(inputs.out)
    finally:
        session.close()
