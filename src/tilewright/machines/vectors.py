"""Vector units of CPUs, by how many registers they have: what the texts of kernels are written for.

One text serves all processors with as many vector registers, so these are numbers of instruction sets and not of
machines: how fast the vectors of one machine are is in its file.
"""

from dataclasses import dataclass

from tilewright.machines.machine import Machine


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
FEW = VectorUnits(registers=16, products=2, arithmetic=2)
"""AVX2 and SSE: two units that do either."""
_WIDE = 16
"""Values of float32 in a vector of processors that have 32 vector registers."""


def vector_units(machine: Machine) -> VectorUnits:
    """Return the vector units of a CPU.

    >>> from tilewright.machines.files import load
    >>> vector_units(load("zen3")).registers
    16
    """
    return MANY if machine.vector_width.value >= _WIDE else FEW
