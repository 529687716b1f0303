"""Bottlenecks of a tiling, and the roofs of a program: what its arithmetic and memory allow (Williams et al., 2009).

A bottleneck is a resource that is saturated; how much slack each other has is said beside it (thesis, section 2.3.4).

Two kinds of resources: those that *work* all along (vector units, memory, synchronisation), whose use is the share of
the predicted time that they need, and those that are *held* (on-chip memory, resident tiles, multiprocessors in the
last round), whose use is the share that is occupied. Slack is what is left of each. Memory can be used above 1: with
the bandwidth charged as printed, every tile has the whole device's, and tiles of different SMs do not share it.
"""

from dataclasses import dataclass

from tilewright.costs.breakdown import Breakdown
from tilewright.costs.gpu import streaming as streaming_gpu
from tilewright.costs.setting import Setting
from tilewright.costs.time import ideal_seconds
from tilewright.schedules.family import Family

SATURATED = 0.9  # a resource used at least so far counts as saturated


_EQUATIONS = "published"
"""Where a time has no parts, hexagons take it from the papers' equations, whose ideal is that of C_iter."""
_PARTS = {
    "latency": "chains of a thread",
    "issue": "vector units",
    "access": "shared memory ports",
    "dram": "memory",
    "l2": "L2",
    "launch": "synchronisation",
}
"""What the parts of a time with thread blocks are the use of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """One resource under one tiling."""

    name: str
    kind: str  # ``work`` (a share of the time) or ``held`` (a share of what there is)
    use: float  # the share in use; above 1 for memory where the printed scope promises more bandwidth than there is
    slack: float  # what is left, at least 0
    saturated: bool  # whether hardly anything is left


def resources(result: Breakdown, index: int, setting: Setting, family: Family | None = None) -> tuple[Resource, ...]:
    """Return the use of every resource by one tiling: those that work first, each group by falling use."""
    seconds = float(result.seconds[index])
    resident = max(1, int(result.tiles_per_sm[index]))
    parallel = setting.rates.sm_count * resident
    tiles = max(1, int(result.tiles_per_wavefront[index]))
    if result.parts is None:
        work = {
            "vector units": ideal_seconds(setting, family, _EQUATIONS) / seconds,
            "memory": float(result.dram_bytes[index]) * setting.rates.byte_seconds / seconds,
            "synchronisation": float(result.sync_seconds[index]) / seconds,
        }
    else:
        work = {_PARTS[name]: float(part[index]) / seconds for name, part in result.parts.items()}
    occupied = {
        "on-chip memory": resident * float(result.shared_bytes[index]) / setting.rates.shared_bytes,
        "resident tiles": resident / setting.rates.max_tiles,
        "multiprocessors": tiles / (-(-tiles // parallel) * parallel),
    }
    if setting.cpu:
        del occupied["resident tiles"]
    return (*ordered(work, "work"), *ordered(occupied, "held"))


def ordered(uses: dict[str, float], kind: str) -> list[Resource]:
    """Return resources of one kind by falling use."""
    return [
        Resource(name=name, kind=kind, use=use, slack=max(0.0, 1.0 - use), saturated=use >= SATURATED)
        for name, use in sorted(uses.items(), key=lambda item: -item[1])
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """What a program can reach on a machine by the model's parameters.

    Attributes:
        flops_per_second: Operations per second with every vector unit at work on this program's own mix of operations:
            a program with divisions has a lower roof than the data sheet's.
        bytes_per_second: Sustained bandwidth between chip and memory.
    """

    flops_per_second: float
    bytes_per_second: float

    def at(self, intensity: float) -> float:
        """Return the roof in operations per second at so many operations per byte.

        Examples:
            >>> Roofline(flops_per_second=8e9, bytes_per_second=2e9).at(3.0)
            6000000000.0
        """
        return min(self.flops_per_second, intensity * self.bytes_per_second)

    @property
    def ridge(self) -> float:
        """Operations per byte from which on memory is no limit."""
        return self.flops_per_second / self.bytes_per_second


def roofline(setting: Setting) -> Roofline | None:
    """Return the roofs of a problem on a machine, or None where a cell takes no operation."""
    # The arithmetic roof takes the fastest code there is, whatever the family: the least C_iter of tiles, of a sweep
    # and, where streaming tiles are possible, of theirs.
    facts, rates = setting.facts, setting.rates
    each = [rates.c_iter.value, rates.swept.value]
    if facts.stream is not None:
        each.append(rates.blocked.value)
    if facts.block is not None:
        each.append(streaming_gpu.iteration_seconds(facts, rates))
    iteration = min(each)
    if facts.flops <= 0 or iteration <= 0:
        return None
    lanes = rates.sm_count * rates.vector_width
    return Roofline(flops_per_second=facts.flops * lanes / iteration, bytes_per_second=1.0 / rates.byte_seconds)
