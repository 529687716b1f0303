"""Kernels of stencils on this CPU: compiled functions with a layout, and copies by their threads."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.codegen.emit import StencilLayout, StencilSource
from tilewright.codegen.rows import copy_source
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.runtime.call import CompiledFunction, compile_source, if_compiled, load
from tilewright.runtime.memory import Array
from tilewright.runtime.toolchains.artifact import Artifact
from tilewright.runtime.toolchains.cpu import Toolchain

_TEAM_BYTES = 2**21  # bytes from which on threads copy


@dataclass(frozen=True, slots=True, kw_only=True)
class CompiledKernel(CompiledFunction):
    """The function of a stencil's kernel."""

    layout: StencilLayout  # what its arguments hold
    storage: Storage = PLAIN  # where it has the fields' versions and cells

    def invoke(
        self,
        starts: Sequence[int],  # where the fields' versions lie
        sizes: Sequence[int],
        scalars: int,  # where they lie
        constants: Sequence[int],  # where these lie, the threads' own memory last
        further: Sequence[int] = (),  # where tables of points lie
    ) -> None:
        """Call it with the addresses of arrays of addresses and of sizes."""
        numbers = np.array([*starts, *constants, *sizes], dtype=np.int64)
        first = numbers.ctypes.data
        behind = first + numbers.itemsize * len(starts)
        self.function(first, behind + numbers.itemsize * len(constants), scalars, behind, *further)

    def copied(self, pairs: Sequence[tuple[Array, Array]], threads: int) -> Sequence[tuple[Array, Array]]:
        """Copy large arrays to others by the kernel's team of threads; returns the pairs that are left."""
        team = if_compiled(copy_source) if self.parallel else None
        return pairs if team is None or not team.parallel else copied_by_team(pairs, threads, team)


def copied_by_team(
    pairs: Sequence[tuple[Array, Array]], threads: int, team: CompiledFunction
) -> list[tuple[Array, Array]]:
    """Copy large arrays whose rows are whole in memory, of disjoint (target, source) pairs; returns the pairs left.

    After a step the team of threads that kernels compute with waits for the next one in a loop for a while, so that
    threads of Python's own get no core: two of them take longer over a field than one.
    """
    rest = []
    for target, source in pairs:
        if not _by_rows(target, source):
            rest.append((target, source))
            continue
        planes, rows = (1, *target.shape[:-1])[-2:]
        steps = [(0, *each.strides[:-1])[-2:] for each in (target, source)]
        team([target, source], (threads, planes, rows, target.shape[-1] * target.itemsize, *steps[0], *steps[1]))
    return rest


def _by_rows(target: Array, source: Array) -> bool:
    """Whether it is a large copy of rows, bit for bit."""
    whole = all(each.strides[-1] == each.itemsize for each in (target, source))
    return whole and target.dtype == source.dtype and target.ndim in {2, 3} and target.nbytes >= _TEAM_BYTES


def load_stencils(artifact: Artifact[tuple[StencilLayout, ...]]) -> tuple[CompiledKernel, ...]:
    """Make the kernels of stencils callable, see :func:`tilewright.runtime.call.load`."""
    return tuple(
        CompiledKernel(layout=layout, function=each.function, parallel=each.parallel)
        for layout, each in zip(artifact.source.layout, load(artifact), strict=True)
    )


def stencil_kernels(source: StencilSource, tools: Toolchain | None = None) -> tuple[CompiledKernel, ...]:
    """Compile a unit of stencils' kernels and load it."""
    return load_stencils(compile_source(source, tools))
