"""CPUs that walk along lines of tiles, each line waiting for the one before, and the caches that a tile's data lie in.

The C kernels of tables and of alignments deal lines of tiles (rows, or columns) to the cores in turn. A core walks
along its line, and waits before every tile for a flag of the tile beside it in the line before; no barrier stops all.
"""

from dataclasses import dataclass

from tilewright.base.intmath import ceil_div
from tilewright.costs.reuse import lost_at_random
from tilewright.machines.machine import Machine

_WAYS = 8  # lines of a set of L2


def walk(lines: int, positions: int, cores: int, tile: float, last: float) -> float:
    """Return the time of all lines of P tiles by n cores; ``tile`` and ``last`` are mean times of a tile.

    With equal tiles it is exact: line a = r n + j of core j starts at r max(P, n) + j tiles, since it waits for the
    first tile of line a - 1 and for its own core, which has P tiles in line a - n. A narrower last line ends no sooner
    than its core, and a tile of its own after the line before.

    >>> walk(3, 5, 1, 1.0, 0.5), walk(4, 5, 2, 1.0, 0.5), walk(3, 5, 2, 1.0, 0.5), walk(3, 2, 2, 1.0, 0.1)
    (12.5, 11.0, 7.5, 3.1)
    """
    rounds, used = ceil_div(lines, cores), min(lines, cores)
    remaining = lines - (rounds - 1) * cores
    before = (rounds - 1) * max(positions, used) * tile
    if remaining > 1:
        return before + (positions + remaining - 1) * tile
    neighbour = (rounds - 2) * max(positions, used) + positions + used - 1 if rounds > 1 else 0
    return max(before + positions * last, neighbour * tile + last)


def walk_terms(grid: tuple[int, int, int], tile: float, last: float, moved: float) -> dict[str, float]:
    """Return the time of lines, positions and cores as :func:`walk` does, apart for what every tile moves besides."""
    computed = walk(*grid, tile, last)
    return {"arithmetic": computed, "transfers": walk(*grid, tile + moved, last + moved) - computed}


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreMemory:
    """A core's caches."""

    inner_bytes: float  # L1; 0 where it is not known
    own_bytes: float  # L2 (M_SM)
    own_seconds: float  # seconds per byte from L2
    outer_seconds: float  # seconds per byte from beyond it
    flag_seconds: float  # from one core's flag to another that waits for it: a line of the outer cache

    def with_arithmetic(self, seconds: float, *streams: tuple[float, float]) -> float:
        """Return the time of arithmetic with the data that it takes from the caches."""
        # A stream is bytes moved, and bytes used until the same ones are used again. Lines from L2 are hidden behind
        # the arithmetic, or hide it. What L2 has lost is waited for.
        own = outer = 0.0
        for moved, footprint in streams:
            if footprint > self.inner_bytes > 0:
                own += (1.0 - self.inner_bytes / footprint) * moved * self.own_seconds
            outer += lost_at_random(round(footprint / self.own_bytes, 3), _WAYS) * moved * self.outer_seconds
        return max(seconds, own) + outer


def core_memory(machine: Machine) -> CoreMemory:
    """Return the caches of a CPU's core; a bandwidth that its file does not say costs nothing."""
    own, outer = machine.cache_bandwidth, machine.outer_bandwidth
    memory = machine.sm_count.value / machine.dram_bandwidth.value
    return CoreMemory(
        inner_bytes=machine.l1_bytes.value if machine.l1_bytes else 0.0,
        own_bytes=machine.shared_bytes.value,
        own_seconds=1.0 / own.value if own else 0.0,
        outer_seconds=1.0 / outer.value if outer and machine.l3_bytes and machine.l3_bytes.value else memory,
        flag_seconds=machine.outer_latency.value / machine.clock.value,
    )


def row_start(machine: Machine) -> float:
    """Return the seconds of starting an innermost loop on a CPU."""
    return (machine.row_seconds or machine.barrier_seconds).value
