"""What every emitter returns: a text of kernels, for a processor or a GPU, and how they are called."""

import re
from dataclasses import dataclass
from typing import Generic, TypeVar

from tilewright.base.fingerprint import fingerprint

LayoutT = TypeVar("LayoutT")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryPoint:
    """A function of a unit that is called from outside.

    On a processor it is ``entry(array, size, work, value)``: four pointers, to the addresses of arrays, to sizes
    (int64), to memory to work in, and to scalars. Which ones, every emitter says, and whether there are more.

    On a GPU its arguments and its launch are the emitter's; those of a stencil's kernel are, in this order: a pointer
    per field to slot 0 (version ``v`` lies in slot ``v mod copies``), the extents (32 bits), the strides of the outer
    axes and the distance between slots in elements (64 bits), ``numbers`` (32 bits), and the program's scalars. Those
    follow a pointer to tables where the program computes with a cell's place or scalars vary, and the number of the
    first step (32 bits) where they do: see :attr:`tilewright.codegen.gpu.site.GpuSite.tables`.
    """

    entry: str  # name of the function
    threads: int = 0  # threads per group; 0 on a CPU
    # names of the numbers that every launch gives, see :class:`tilewright.codegen.gpu.site.Launch`
    numbers: tuple[str, ...] = ()
    shared_bytes: int = 0  # shared memory of a group that the text declares
    room_bytes: int = 0  # shared memory of a group that the launch must give
    tables: bool = False  # whether it takes a fifth pointer, to tables of whole numbers, on a CPU


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSource(Generic[LayoutT]):
    """A translation unit, and what a compiler and a caller need to know of it."""

    text: str
    dialect: str  # ``c``, ``opencl`` or ``cuda``
    kernels: tuple[EntryPoint, ...]  # its functions that are called, in the order asked for
    # what their arguments hold, where that depends on what was asked for: a record of the workload's own, or None
    layout: LayoutT
    strict: bool = False  # whether the compiler must keep every operation's own rounding
    double: bool = False  # whether it needs a device that computes in double precision

    @property
    def entry(self) -> str:
        """Name of the first function."""
        return self.kernels[0].entry

    @property
    def threads(self) -> int:
        """Threads per group of the first function."""
        return self.kernels[0].threads

    @property
    def shared_bytes(self) -> int:
        """Most shared memory that a group of any function needs."""
        return max(kernel.shared_bytes + kernel.room_bytes for kernel in self.kernels)

    @property
    def carveout(self) -> int:
        """Percent of a multiprocessor's memory on chip to set aside for groups, the rest being its cache.

        All of it where a group has any, so that its size alone decides how many groups are resident together, else
        none; the same for all kernels, since one that asks for another share waits for those before it. Source:
        NVIDIA, CUDA C++ Programming Guide, preferred shared memory carveout.
        """
        return 100 if self.shared_bytes else 0

    @property
    def fingerprint(self) -> str:
        """Content fingerprint of the text and of how it is compiled."""
        return fingerprint(self.text, self.dialect, self.strict)


def unit_prefix(name: str, key: str) -> str:
    """Return the start of the names of all functions of a program's unit.

    >>> unit_prefix("Heat-2D", "0123456789abcdef")
    'tw_heat_2d_0123456789ab'
    """
    return f"tw_{re.sub(r'[^a-z0-9]+', '_', name.lower())[:40].strip('_')}_{key[:12]}"


def c_source(text: str, *entries: str, strict: bool = False) -> KernelSource[None]:
    """Return a unit of C functions of which the emitter's description says all.

    >>> c_source("void tw_a(void *const *array, …) { … }", "tw_a").entry
    'tw_a'
    """
    kernels = tuple(EntryPoint(entry=entry) for entry in entries)
    return KernelSource(text=text, dialect="c", kernels=kernels, layout=None, strict=strict)
