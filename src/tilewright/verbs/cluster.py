"""What a program costs on many ranks: ``tw.predict(…, ranks=, network=, topology=)``, and how that scales."""

import functools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.base.records import Record
from tilewright.base.units import format_bytes, format_seconds, format_shape, whole_number
from tilewright.costs.interval import Interval, unmeasured
from tilewright.costs.transfers import Exchange, Exchanges, Link, exchange, exchanges
from tilewright.distributed.compute import expected_seconds
from tilewright.distributed.windows import check_cut, depths
from tilewright.machines.machine import Machine
from tilewright.machines.networks import Network
from tilewright.programs.stencil.forms import wrapped_axes
from tilewright.programs.stencil.problem import Problem
from tilewright.report import tables

_MOST_RANKS = 10**7


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ClusterPrediction(Record):
    """What a run on many ranks costs.

    Attributes:
        problem: What is computed on the whole grid.
        hardware: The machine of one rank.
        network: What connects them.
        topology: Ranks per axis.
        block: Extents of the largest block.
        best: At the steps between exchanges that are fastest.
        every: With an exchange in every step.
        one: Seconds on one rank that had memory for the whole grid.
    """

    KEYS = (
        "program=problem.program.name machine=hardware.name network=network.name shape=problem.shape "
        "steps=problem.steps dtype=problem.dtype ranks topology block efficiency *=_best interval=_interval "
        "every_step=_every"
    )

    problem: Problem
    hardware: Machine
    network: Network
    topology: tuple[int, ...]
    block: tuple[int, ...]
    best: Exchanges
    every: Exchanges
    one: float

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return math.prod(self.topology)

    @property
    def seconds(self) -> float:
        """Seconds of the run."""
        return self.best.seconds

    @property
    def efficiency(self) -> float:
        """Seconds of one rank over those of all together."""
        return self.one / (self.ranks * self.best.seconds)

    def _best(self) -> dict[str, object]:
        return _exchange_facts(self.best)

    def _every(self) -> dict[str, object]:
        return _exchange_facts(self.every)

    def _interval(self) -> Interval:
        return unmeasured(self.seconds)

    def __str__(self) -> str:
        best, every = self.best, self.every
        received = format_seconds(best.message_seconds)
        program = f"{self.problem.program.name} {format_shape(self.problem.shape)}, {self.problem.steps} steps"
        expected = unmeasured(best.seconds)
        constants = tables.constants(
            self.hardware,
            bandwidth=self.hardware.dram_bandwidth,
            network=self.network.bandwidth,
            latency=self.network.latency,
        )
        return "\n".join(
            (
                f"{program} on {self.ranks} x {self.hardware.name}, {self.network.title}",
                f"{format_seconds(best.seconds)}, an exchange every {best.steps} steps",
                f"{expected.share:.0%} interval {expected}",
                f"efficiency {self.efficiency:.0%}",
                f"blocks of {format_shape(self.block)} on {format_shape(self.topology)} ranks",
                f"a rank receives {best.messages} messages, {format_bytes(best.bytes)}, in {received}",
                f"computed twice: {best.redundant - 1.0:.1%} of its cells",
                f"with an exchange in every step: {format_seconds(every.seconds)}",
                tables.described(constants),
            )
        )


def _exchange_facts(exchanges: Exchanges) -> dict[str, object]:
    return {
        "seconds": exchanges.seconds,
        "steps_per_exchange": exchanges.steps,
        "exchanges": exchanges.count,
        "messages": exchanges.messages,
        "bytes": exchanges.bytes,
        "message_seconds": exchanges.message_seconds,
        "compute_seconds": exchanges.compute_seconds,
        "redundant_work": exchanges.redundant - 1.0,
    }


def predict_cluster(
    problem: Problem, machine: Machine, network: Network, ranks: int, topology: Sequence[int] | None = None
) -> ClusterPrediction:
    """Predict a run on many ranks, each a CPU; -1 in a topology follows from the rest, None has the smallest halos."""
    ranks = whole_number(ranks, "ranks", 1, _MOST_RANKS)
    if machine.kind != "cpu":
        raise UsageError(f"the ranks of a cluster compute on CPUs, and {machine.name!r} is a GPU", "take zen3 or host")
    dims = _topology(problem, ranks, topology)
    check_cut(problem, tuple(axis for axis, each in enumerate(dims) if each > 1))
    block = tuple(map(ceil_div, problem.shape, dims))
    wraps = [axis in wrapped_axes(problem) for axis in range(len(dims))]

    @functools.cache
    def rate(like: int, shape: tuple[int, ...]) -> float:
        part = replace(problem, shape=shape, steps=like)
        return expected_seconds(part, machine, "c", copies=False) / (part.cells * like)

    def seconds(window: tuple[int, ...], steps: int) -> float:
        return rate(1 << (steps.bit_length() - 1), block) * math.prod(window) * steps

    def counted(steps: int) -> tuple[Exchange, tuple[int, ...]]:
        return exchange(block, dims, depths(problem, steps), wraps), block

    levels = sum(map(problem.program.history, problem.program.updated))
    link = Link(latency=network.latency.value, bandwidth=network.bandwidth.value)
    steps, size = max(1, problem.steps), levels * problem.itemsize
    best, every = (exchanges(steps, size, link, counted, seconds, fixed=fixed, levels=levels) for fixed in (None, 1))
    return ClusterPrediction(
        problem=problem,
        hardware=machine,
        network=network,
        topology=dims,
        block=block,
        best=best,
        every=every,
        one=rate(1 << (steps.bit_length() - 1), problem.shape) * problem.cells * steps,
    )


def _topology(problem: Problem, ranks: int, topology: Sequence[int] | None) -> tuple[int, ...]:
    shape = problem.shape
    if topology is not None and len(topology) != len(shape):
        raise UsageError(f"a topology has {len(shape)} numbers of ranks, got {tuple(topology)}")
    fitting = [
        dims
        for dims in _factors(ranks, len(shape))
        if all(each <= extent for each, extent in zip(dims, shape, strict=True))
        and all(want in {-1, each} for want, each in zip(topology or dims, dims, strict=True))
    ]
    if not fitting:
        clause = f", as the topology {tuple(topology)}," if topology is not None else ""
        raise UsageError(f"{ranks} ranks{clause} do not fit a grid of {format_shape(shape)}")
    wraps = [axis in wrapped_axes(problem) for axis in range(len(shape))]
    around = depths(problem, 1)

    def halo(dims: tuple[int, ...]) -> tuple[int, int, tuple[int, ...]]:
        traffic = exchange(tuple(map(ceil_div, shape, dims)), dims, around, wraps)
        return traffic.cells, traffic.messages, tuple(-each for each in dims)

    return min(fitting, key=halo)


def _factors(number: int, count: int) -> Iterator[tuple[int, ...]]:
    """Every way to write a number as so many factors, in order."""
    if count == 1:
        yield (number,)
        return
    small = [each for each in range(1, math.isqrt(number) + 1) if number % each == 0]
    for first in sorted({*small, *(number // each for each in small)}):
        for factors in _factors(number // first, count - 1):
            yield (first, *factors)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Scaling(Record):
    """How a run scales."""

    strong: tuple[ClusterPrediction, ...]  # the same grid on more and more ranks
    weak: tuple[ClusterPrediction, ...]  # a grid that grows with them, blocks of one size


def scaling(last: ClusterPrediction) -> Scaling:
    """Predict powers of two of ranks up to a prediction's own, whose blocks weak scaling keeps."""
    problem, machine, network = last.problem, last.hardware, last.network
    counts = [2**power for power in range(last.ranks.bit_length()) if 2**power < last.ranks]
    strong = [predict_cluster(problem, machine, network, ranks) for ranks in counts]
    weak = []
    for ranks in counts:
        dims = _topology(problem, ranks, None)
        shape = tuple(size * each for size, each in zip(last.block, dims, strict=True))
        weak.append(predict_cluster(replace(problem, shape=shape), machine, network, ranks, dims))
    return Scaling(strong=(*strong, last), weak=(*weak, last))
