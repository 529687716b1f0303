"""The two roofs of a program on a machine: what its arithmetic and what its memory allow (Williams et al., 2009)."""

from dataclasses import dataclass

from tilewright.costs.gpu import streaming as streaming_gpu
from tilewright.costs.rates import CpuRates
from tilewright.costs.setting import Setting


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
    """Return the roofs of a problem on a machine, or None where a cell takes no operation.

    The arithmetic roof takes the fastest code there is, whatever the family: the least C_iter of tiles, of a sweep and,
    where streaming tiles are possible, of theirs.
    """
    facts, rates = setting.facts, setting.rates
    each = [rates.c_iter.value, rates.swept.value]
    if facts.stream is not None:
        each.append(rates.blocked.value)
    if facts.block is not None and not isinstance(rates, CpuRates):
        each.append(streaming_gpu.iteration_seconds(facts, rates))
    iteration = min(each)
    if facts.flops <= 0 or iteration <= 0:
        return None
    lanes = rates.sm_count * rates.vector_width
    return Roofline(flops_per_second=facts.flops * lanes / iteration, bytes_per_second=1.0 / rates.byte_seconds)
