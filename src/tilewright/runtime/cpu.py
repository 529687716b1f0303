"""C functions on this CPU: from text to a loaded library, and kernels of stencils from arrays to results."""

import ctypes
import functools
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.base.errors import ToolchainError
from tilewright.base.fingerprint import fingerprint
from tilewright.codegen.copying import copy_source
from tilewright.codegen.emit import StencilLayout, StencilSource
from tilewright.codegen.source import KernelSource, LayoutT
from tilewright.programs.stencil.periodic import Extended
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.runtime import cache, direct, forks, interrupts
from tilewright.runtime.copying import copied_by_team
from tilewright.runtime.host import cpu_features
from tilewright.runtime.memory import Array, Workspace
from tilewright.runtime.session import Inputs, Session
from tilewright.runtime.toolchains.artifact import Artifact, open_library
from tilewright.runtime.toolchains.cpu import Toolchain, shared_object, toolchain

_VERSION = 1
"""Raised when a stored kernel could no longer be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledFunction:
    """A compiled C function of pointers, mostly ``(array, size, work, value)``; it keeps its library loaded."""

    function: Any  # what is called with the addresses; callers that prepare these call it themselves
    parallel: bool  # whether it was compiled with OpenMP

    def __call__(
        self,
        arrays: Sequence[Array],
        sizes: Sequence[int] | Array,  # made int64; an array of that type may be changed
        work: Array | None = None,
        values: Array | None = None,  # scalars
    ) -> None:
        """Call it with the addresses of arrays."""
        pointers = np.array([each.ctypes.data for each in arrays], dtype=np.uintp)
        rest = (np.asarray(sizes, dtype=np.int64), work, values)
        self.function(pointers.ctypes.data, *(None if each is None else each.ctypes.data for each in rest))


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledKernel(CompiledFunction):
    """The function of a stencil's kernel."""

    layout: StencilLayout  # what its arguments hold
    storage: Storage = PLAIN  # where it has the fields' versions and cells

    def copied(self, pairs: Sequence[tuple[Array, Array]], threads: int) -> Sequence[tuple[Array, Array]]:
        """Copy large arrays to others by the kernel's team of threads; returns the pairs that are left."""
        team = _team() if self.parallel else None
        return pairs if team is None else copied_by_team(pairs, threads, team)


@functools.cache
def _team() -> CompiledFunction | None:
    """Return what a team of threads copies by; None without a compiler, or with one that knows no threads."""
    try:
        function = functions(copy_source())[0]
    except ToolchainError:
        return None
    return function if function.parallel else None


@functools.cache
def _calls() -> interrupts.Calls:
    return interrupts.Calls(_library(compile_source(interrupts.source()))[1])


_loaded: dict[str, tuple[bytes, ctypes.CDLL]] = {}
"""By key, the code and the library that this process made of it."""
_lock = forks.lock()


def compile_source(source: KernelSource[LayoutT], tools: Toolchain | None = None) -> Artifact[LayoutT]:
    """Compile a unit of C functions, or find what an earlier run made of it."""
    tools = tools or toolchain()
    flags = tools.flags(strict=source.strict, text=source.text)
    key = fingerprint(_VERSION, source.text, flags, tools.command, tools.identity, cpu_features())
    made = Artifact(source=source, command=(*tools.command, *flags), key=key, parallel=tools.openmp)
    with _lock:
        content = _loaded[key][0] if key in _loaded else cache.load(cache.directory(), f"{key}.so")
        return replace(made, content=content or _compiled(made))


def load(artifact: Artifact[Any]) -> tuple[CompiledFunction, ...]:
    """Make the functions of compiled code callable.

    Args:
        artifact: From :func:`compile_source`.

    Returns:
        The functions, in the order of the unit's.

    Raises:
        ToolchainError: If it does not load.
    """
    with _lock:
        known = _loaded.get(artifact.key)
        if known is None:
            known = _loaded[artifact.key] = _library(artifact)
    library, calls = known[1], _calls()
    found = []
    for kernel in artifact.source.kernels:
        function = getattr(library, kernel.entry)
        function.restype = None
        function.argtypes = [ctypes.c_void_p] * (4 + kernel.tables)
        function = calls.heeding(library, function)
        if artifact.parallel:
            function = forks.protect(library, function)
        found.append(CompiledFunction(function=function, parallel=artifact.parallel))
    return tuple(found)


def load_stencils(artifact: Artifact[tuple[StencilLayout, ...]]) -> tuple[CompiledKernel, ...]:
    """Make the kernels of stencils callable, see :func:`load`."""
    return tuple(
        CompiledKernel(layout=layout, function=each.function, parallel=each.parallel)
        for layout, each in zip(artifact.source.layout, load(artifact), strict=True)
    )


def functions(source: KernelSource[Any], tools: Toolchain | None = None) -> tuple[CompiledFunction, ...]:
    """Compile a unit and load it, see :func:`compile_source` and :func:`load`."""
    return load(compile_source(source, tools))


def stencil_kernels(source: StencilSource, tools: Toolchain | None = None) -> tuple[CompiledKernel, ...]:
    """Compile a unit of stencils' kernels and load it, see :func:`compile_source` and :func:`load`."""
    return load_stencils(compile_source(source, tools))


def _compiled(artifact: Artifact[Any]) -> bytes:
    """Compile, whatever the cache has, and keep the code."""
    content = shared_object(artifact.command, artifact.source.text)
    cache.save(cache.directory(), f"{artifact.key}.so", content)
    return content


def _library(artifact: Artifact[Any]) -> tuple[bytes, ctypes.CDLL]:
    """Return the code that has every function, and the library that it makes."""
    with suppress(OSError, AttributeError):
        return artifact.content, _opened(artifact, artifact.content)
    # What the cache had is no library, lacks a function, or cannot be loaded here: once more from the text.
    content = _compiled(artifact)
    try:
        return content, _opened(artifact, content)
    except (OSError, AttributeError) as error:
        raise ToolchainError(f"the compiled kernel cannot be loaded: {error}", "see `tilewright doctor`") from error


def _opened(artifact: Artifact[Any], content: bytes) -> ctypes.CDLL:
    library = open_library(content)
    for kernel in artifact.source.kernels:
        getattr(library, kernel.entry)
    return library


def execute(
    compiled: CompiledKernel,
    problem: Problem,  # of any shape and steps
    inputs: Inputs,
    threads: int,
    workspace: Workspace | None = None,  # fresh memory by default
    halo: Extended | None = None,  # periodic copies around a grid that wraps
) -> dict[str, Array]:
    """Run a kernel; returns the newest version of every updated field.

    The inputs are only read; the interpreter's lock is free while the kernel runs, and any number of threads may run
    the same kernel at a time.
    """
    if halo is None and direct.applies(compiled, problem, inputs):
        return direct.execute(compiled, problem, inputs, threads, workspace)
    session = Session(compiled, problem, inputs, threads, halo=halo, workspace=workspace)
    try:
        session.advance(problem.steps, last=True)
        return session.results(inputs.out)
    finally:
        session.close()
