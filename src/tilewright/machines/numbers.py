"""The parameters of a machine as plain numbers, as the models of costs read them, and the vector units of CPUs.

Files may leave parameters of GPUs out: then the models take what holds for most GPUs, here alone. Vector units are
numbers of instruction sets and not of machines, since one text serves all processors with as many vector registers: how
fast the vectors of one machine are is in its file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from tilewright.base.constants import BANKS, MAX_BLOCK_THREADS, MAX_SM_THREADS, REGISTERS, WORD
from tilewright.machines.machine import PARAMETERS, Machine

_L2_BYTES_PER_CYCLE = 17.5  # of a multiprocessor


@dataclass(frozen=True)
class Numbers:
    """The parameters of a machine by their names, each as a number: ``numbers.clock`` are cycles per second."""

    machine: Machine
    changed: tuple[tuple[str, float], ...] = ()  # those that are other than the machine's
    if TYPE_CHECKING:  # counts are whole numbers
        sm_count: ClassVar[int]
        max_blocks: ClassVar[int]
        max_threads: ClassVar[int]
        max_block_threads: ClassVar[int]
        unified_bytes: ClassVar[int]

    def __getattr__(self, name: str) -> float:
        """Find a parameter; what was found is kept as an attribute."""
        if name not in PARAMETERS:
            raise AttributeError(f"a machine has no parameter {name!r}")
        number = dict(self.changed).get(name)
        if number is None:
            quantity = getattr(self.machine, name)
            if quantity is None and name not in ASSUMED:
                raise AttributeError(f"nobody says {name} of {self.machine.name}, and nothing is assumed")
            number = quantity.value if quantity is not None else ASSUMED[name](Numbers(self.machine))
        if PARAMETERS[name].unit in {"1", "B"} and number == int(number):
            number = int(number)  # counts are divided without a rest, and count
        self.__dict__[name] = number
        return number

    def at(self, **changed: float) -> "Numbers":
        """Return the same with other numbers; what is assumed stays."""
        return Numbers(self.machine, (*self.changed, *changed.items()))


ASSUMED: Mapping[str, Callable[[Numbers], float]] = {
    "block_shared_bytes": lambda gpu: gpu.shared_bytes,
    "registers": lambda _: REGISTERS,
    "max_blocks": lambda _: 16,
    "max_threads": lambda _: MAX_SM_THREADS,
    "max_block_threads": lambda _: MAX_BLOCK_THREADS,
    "l1_bytes": lambda _: 16384,
    "unified_bytes": lambda gpu: gpu.l1_bytes,
    "schedulers": lambda _: 4,
    "pipeline_cycles": lambda _: 6,
    "l2_bandwidth": lambda gpu: _L2_BYTES_PER_CYCLE * gpu.sm_count * gpu.clock,
    "peak_dram_bandwidth": lambda gpu: gpu.dram_bandwidth,
    "shared_bandwidth": lambda gpu: gpu.sm_count * BANKS * WORD * gpu.clock,
    "global_latency": lambda _: 400,
    "shared_latency": lambda _: 25,
    "hiding_warps": lambda gpu: gpu.schedulers * gpu.pipeline_cycles,
    "int_lanes": lambda gpu: gpu.vector_width / 2,
    "special_lanes": lambda gpu: gpu.vector_width / 4,
}
"""What is assumed where a file does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorUnits:
    """Vector instructions that start per cycle, and what they take where a multiplication with an addition takes 1."""

    registers: int  # vector registers
    products: int  # multiplications, and additions fused with them, per cycle
    arithmetic: int  # these and additions, per cycle
    loads: int = 2  # per cycle
    load_cycles: float = 1.1  # of a vector that is a cache line
    crossing_cycles: float = 1.7  # of a vector that lies in two cache lines
    store_cycles: float = 2.0
    special_cycles: float = 8.0  # of a division, root or function, about


MANY = VectorUnits(registers=32, products=1, arithmetic=2)
"""AVX-512: one unit of 64 bytes multiplies, another one adds beside it."""
FEW = VectorUnits(registers=16, products=2, arithmetic=2)  # AVX2 and SSE: two units that do either
_WIDE = 16  # values of float32 in a vector of processors that have 32 vector registers


def vector_units(machine: Machine) -> VectorUnits:
    """Return the vector units of a CPU.

    >>> from tilewright.machines.files import load
    >>> vector_units(load("zen3")).registers
    16
    """
    return MANY if machine.vector_width.value >= _WIDE else FEW
