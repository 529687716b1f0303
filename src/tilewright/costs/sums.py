"""How long processors take over a weighted sum, by what its form takes.

One text serves all processors with as many vector registers, so the two classes here are instruction sets, not
machines: what one machine adds to it is in its file.
"""

from dataclasses import dataclass

from tilewright.schedules.bodies.sums import SumWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Ports:
    """Vector instructions that start per cycle."""

    registers: int  # vector registers
    products: int  # multiplications, and additions fused with them
    arithmetic: int  # these and additions
    loads: int


MANY = Ports(registers=32, products=1, arithmetic=2, loads=2)
"""AVX-512: one unit of 64 bytes multiplies, another one adds beside it."""
FEW = Ports(registers=16, products=2, arithmetic=2, loads=2)
"""AVX2 and SSE: two units that do either."""
_SPARE = 4
"""Registers for inputs and products."""


def cycles(work: SumWork, ports: Ports, results: int, weights: int) -> float:
    """Return the cycles that a sum takes for one vector of each of its results, where everything overlaps.

    Products, all arithmetic and loads each bound it: ``max(P / p, A / a, L / l)`` (Treibig and Hager, "Introducing a
    performance model for bandwidth-limited loop kernels", PPAM 2009, T_OL and T_nOL in L1). Weights that fit into
    registers beside the results are loaded once, before the loop.
    """
    held = weights + results + _SPARE <= ports.registers
    loads = work.loads + (0 if held else work.weights)
    return max(work.products / ports.products, work.arithmetic / ports.arithmetic, loads / ports.loads)
