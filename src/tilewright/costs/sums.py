"""How long processors take over a weighted sum, by what its form takes."""

from tilewright.machines.vectors import VectorUnits
from tilewright.schedules.sums import SumWork

_SPARE = 4
"""Registers for inputs and products."""


def cycles(work: SumWork, units: VectorUnits, results: int, weights: int) -> float:
    """Return the cycles that a sum takes for one vector of each of its results, where everything overlaps.

    Products, all arithmetic and loads each bound it: ``max(P / p, A / a, L / l)`` (Treibig and Hager, "Introducing a
    performance model for bandwidth-limited loop kernels", PPAM 2009, T_OL and T_nOL in L1). Weights that fit into
    registers beside the results are loaded once, before the loop.
    """
    held = weights + results + _SPARE <= units.registers
    loads = work.loads + (0 if held else work.weights)
    return max(work.products / units.products, work.arithmetic / units.arithmetic, loads / units.loads)
