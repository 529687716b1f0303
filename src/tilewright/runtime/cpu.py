"""Compiled kernels on this CPU: from source to a loaded library, and from arrays to results."""

import ctypes
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.base.errors import ToolchainError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.emit import Kernel, KernelSource
from tilewright.programs.periodic import Extended
from tilewright.programs.problem import Problem
from tilewright.runtime import cache, direct, forks
from tilewright.runtime.host import cpu_features
from tilewright.runtime.memory import Array, Workspace
from tilewright.runtime.session import Inputs, Session
from tilewright.runtime.toolchain import Toolchain, compile_shared

_VERSION = 1
"""Raised when a stored kernel could no longer be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledKernel:
    """A kernel that can be called; it keeps its library loaded.

    Attributes:
        kernel: How it is called.
        function: Its function.
        parallel: Whether it was compiled with OpenMP.
    """

    kernel: Kernel
    function: Any
    parallel: bool


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
    key = fingerprint(
        _VERSION, source.text, tools.flags(strict=source.strict), tools.command, tools.identity, cpu_features()
    )
    with _lock:
        library = _loaded.get(key)
        if library is None:
            library = _load_or_build(source, tools, f"{key}.so")
            _loaded[key] = library
    compiled = []
    for kernel in source.kernels:
        function = getattr(library, kernel.entry)
        function.restype = None
        function.argtypes = [ctypes.c_void_p] * 4
        if tools.openmp:
            function = forks.protect(library, function)
        compiled.append(CompiledKernel(kernel=kernel, function=function, parallel=tools.openmp))
    return tuple(compiled)


def _load_or_build(source: KernelSource, tools: Toolchain, name: str) -> ctypes.CDLL:
    store = cache.directory()
    content = cache.load(store, name)
    if content is not None:
        with suppress(OSError):
            return _load(content)
    content = compile_shared(tools, source.text, strict=source.strict)
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
