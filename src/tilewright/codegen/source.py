"""What every emitter returns: a text of kernels, for a processor or a GPU, and how they are called."""

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

    Attributes:
        entry: Name of the function.
        threads: Threads per group; 0 on a processor.
        numbers: Names of the numbers that every launch gives, see :class:`tilewright.codegen.gpu.site.Launch`.
        shared_bytes: Shared memory of a group that the text declares.
        room_bytes: Shared memory of a group that the launch must give.
        tables: Whether it takes a fifth pointer, to tables of whole numbers, on a processor.
    """

    entry: str
    threads: int = 0
    numbers: tuple[str, ...] = ()
    shared_bytes: int = 0
    room_bytes: int = 0
    tables: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSource(Generic[LayoutT]):
    """A translation unit, and what a compiler and a caller need to know of it.

    Attributes:
        text: Its text.
        dialect: ``c``, ``opencl`` or ``cuda``.
        kernels: Its functions that are called, in the order asked for.
        layout: What their arguments hold as far as it depends on what was asked for: the workload's own record, or
            None where the emitter's description says all.
        strict: Whether the compiler must keep every operation's own rounding.
        double: Whether it needs a device that computes in double precision.
    """

    text: str
    dialect: str
    kernels: tuple[EntryPoint, ...]
    layout: LayoutT
    strict: bool = False
    double: bool = False

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
    def fingerprint(self) -> str:
        """Content fingerprint of the text and of how it is compiled."""
        return fingerprint(self.text, self.dialect, self.strict)


def c_source(text: str, *entries: str, strict: bool = False) -> KernelSource[None]:
    """Return a unit of C functions of which the emitter's description says all.

    >>> c_source("void tw_a(void *const *array, …) { … }", "tw_a").entry
    'tw_a'
    """
    kernels = tuple(EntryPoint(entry=entry) for entry in entries)
    return KernelSource(text=text, dialect="c", kernels=kernels, layout=None, strict=strict)
