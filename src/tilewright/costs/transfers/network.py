"""Exchanges between ranks: how wide the halos are, that is how many steps lie between two exchanges.

A message of m bytes takes alpha + m beta (Hockney, Parallel Computing 1994). An exchange every t steps sends a message
to each neighbour, with halos as wide as t steps reach; in between, the cells of the halos are computed again by both
ranks (Ding and He, SC 2001; the *s-step* or communication-avoiding form of Demmel et al., IPDPS 2008).
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.base.intmath import ceil_div

Range = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What one rank receives in one exchange.

    Attributes:
        messages: Messages, one per other rank.
        cells: Cells of each level.
        window: Extents that the rank computes on, the halos included.
    """

    messages: int
    cells: int
    window: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanges:
    """Halos of a run.

    Attributes:
        steps: Steps between two exchanges.
        count: Exchanges of the run.
        messages: Messages that the busiest rank receives in all.
        bytes: Bytes that it receives.
        seconds: Expected time of the run.
        message_seconds: The part of the messages.
        compute_seconds: The part of computing, what is computed twice included.
        redundant: Cell updates over those that one process would make.
    """

    steps: int
    count: int
    messages: int
    bytes: int
    seconds: float
    message_seconds: float
    compute_seconds: float
    redundant: float


def exchange(block: Sequence[int], topology: Sequence[int], depths: Sequence[Range], wraps: Sequence[bool]) -> Exchange:
    """Count an exchange of a rank in the middle of a grid, every block being of one size.

    Args:
        block: Extents of a block.
        topology: Ranks per axis.
        depths: Width of the halo per axis, below and above.
        wraps: Per axis whether the grid is periodic.

    >>> exchange((8, 8), (4, 4), ((2, 2), (2, 2)), (False, False))
    Exchange(messages=8, cells=80, window=(12, 12))
    """
    owners, window = 1, []
    for size, ranks, (below, above), around in zip(block, topology, depths, wraps, strict=True):
        if ranks == 1:
            window.append(size)
            continue
        # Blocks that a halo spans, on a grid that ends no more than there are beside a rank in its middle.
        middle = (ranks - 1) // 2
        low = ceil_div(below, size) if around else min(ceil_div(below, size), middle)
        high = ceil_div(above, size) if around else min(ceil_div(above, size), ranks - 1 - middle)
        owners *= min(ranks, low + 1 + high)
        cells = (below, above) if around else (min(below, low * size), min(above, high * size))
        window.append(size + sum(cells))
    return Exchange(messages=owners - 1, cells=math.prod(window) - math.prod(block), window=tuple(window))


def exchanges(
    steps: int,
    level_bytes: int,
    network: tuple[float, float],
    counted: Callable[[int], tuple[Exchange, tuple[int, ...]]],
    compute_seconds: Callable[[tuple[int, ...], int], float],
    *,
    fixed: int | None = None,
) -> Exchanges:
    """Choose the steps between two exchanges: those of the least expected time.

    Args:
        steps: Time steps.
        level_bytes: Bytes per cell of all levels that are exchanged.
        network: Latency of a message in seconds, and bytes per second.
        counted: The exchange of the busiest rank for so many steps, and the extents of its block.
        compute_seconds: Seconds that a rank takes on a window for so many steps.
        fixed: Steps between exchanges that are given.
    """
    latency, bandwidth = network
    best: Exchanges | None = None
    for each in [fixed] if fixed else _candidates(steps):
        one, block = counted(each)
        count = ceil_div(steps, each)
        sent = one.cells * level_bytes
        moving = count * (one.messages * latency + sent / bandwidth)
        computing = steps / each * compute_seconds(one.window, each)
        redundant = math.prod(one.window) / math.prod(block)
        found = Exchanges(
            steps=each,
            count=count,
            messages=count * one.messages,
            bytes=count * sent,
            seconds=moving + computing,
            message_seconds=moving,
            compute_seconds=computing,
            redundant=redundant,
        )
        if best is None or found.seconds < best.seconds:
            best = found
        if redundant > _MOST_REDUNDANT:
            break
    assert best is not None  # noqa: S101  (there is a candidate)
    return best


_MOST_REDUNDANT = 4.0
"""Cells of a window over those of its block beyond which more steps are not looked at."""


def _candidates(steps: int) -> Iterator[int]:
    """Steps between exchanges that are looked at, ascending: all small ones, then a few per octave."""
    octaves = ((8 + quarter) * 2**power // 8 for power in itertools.count(3) for quarter in (0, 2, 4, 6))
    yield from itertools.takewhile(lambda each: each <= max(1, steps), itertools.chain(range(1, 8), octaves))
