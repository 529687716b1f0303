"""Grids on disk and over ranks: how many steps lie between two transfers, whose halos are computed twice.

A grid on disk is cut along its outermost axis into slabs, each of which runs t steps in memory within a window that
overlaps its neighbours by the reach times t. One pass reads every level once, computes and writes the new levels; the
three overlap, so that a pass takes as long as the slower of disk and processor (Aggarwal and Vitter, CACM 1988, for
transfers of the I/O model; Hong and Kung, STOC 1981, say that no order of computing needs less than a fraction of
them).

A message of m bytes takes alpha + m beta (Hockney, Parallel Computing 1994). An exchange every t steps sends a message
per level to each neighbour, with halos as wide as t steps reach; in between, the cells of the halos are computed again
by both ranks (Ding and He, SC 2001; the *s-step* or communication-avoiding form of Demmel et al., IPDPS 2008). Messages
may travel while a rank computes what depends on its own block alone, its *interior*; the rest is then computed in
strips along the block's sides, each in a window of its own. That hides the messages, for more cells computed twice.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from tilewright.base.intmath import ceil_div, round_up
from tilewright.costs.breakdown import Times

Range = tuple[int, int]

_HIDDEN_SECONDS = 5e-3
"""Seconds of an overlapped exchange that no count tells: a thread that asks for messages, windows that are started,
ranks that wait for each other. On two ranks of wave2d, heat3d and wave3d (``benchmarks/ranks.py --parts overlapped``)
3 to 15 ms were not in the model, on a machine with much other work."""
_HIDDEN_MARGIN = 1.25
"""How much faster an overlapped exchange must be predicted to be chosen. With the seconds above, gains of 1.27 and 1.50
were predicted where 1.24 and 1.15 were measured, and up to 1.05 where 0.90 was: fitted to these runs, under load. For
heat2d and star2d2r, which they were not fitted to, 0.48 to 0.86 was predicted at 2 ms, 0.41 to 0.84 measured; at 20 ms
and 16 steps 1.3 and 1.4 was predicted and 0.8 and 0.9 measured, both cores being busy with other work."""
_MOST_REDUNDANT = 4.0  # cells of a window over those of its block beyond which more steps are not looked at


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes(Times[float]):
    """How a grid on disk is streamed, and its expected time: computing, and what of the transfers it does not hide."""

    rows: int  # rows of a window, the overlap included
    steps: int  # steps per pass, the last one perhaps fewer
    count: int  # passes
    slabs: int  # windows per pass
    disk_seconds: float  # the part that the disk needs alone
    read_bytes: int  # bytes read in all
    write_bytes: int  # bytes written in all

    @property
    def compute_seconds(self) -> float:
        """The part that computing needs alone, what is computed twice included."""
        return self.terms["arithmetic"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """What passes over a grid on disk move, per row of the outermost axis."""

    extent: int  # rows of the grid
    steps: int  # time steps
    read_bytes: int  # bytes per row that a pass reads: every level of every field
    write_bytes: int  # bytes per row that it writes
    bandwidths: tuple[float, float]  # bytes per second that the disk reads, and that it writes
    held_bytes: float = 0  # bytes of memory per row of a window
    memory: int = 0  # bytes of memory that may be used
    unit: int = 1  # steps of which a pass makes a multiple

    def passes(self, compute: float, *, steps: int, rows: int, slabs: int, again: int = 0) -> Passes:
        """Return what passes take in all that each compute for so many seconds, and read so many rows a second time."""
        count = ceil_div(self.steps, steps)
        read, write = (self.extent + again) * self.read_bytes, self.extent * self.write_bytes
        disk = read / self.bandwidths[0] + write / self.bandwidths[1]
        # The first window of a pass is read before anything is computed, and the last one written afterwards.
        exposed = disk / slabs if compute > disk else disk - compute + compute / slabs
        return Passes(
            rows=rows,
            steps=steps,
            count=count,
            slabs=slabs,
            terms={"arithmetic": count * compute, "transfers": count * exposed},
            disk_seconds=count * disk,
            read_bytes=count * read,
            write_bytes=count * write,
        )


def slab_count(extent: int, rows: int, overlap: tuple[int, int], *, wraps: bool) -> int:
    """Return how many windows of so many rows cover a grid; 0 if none can.

    >>> slab_count(100, 100, (8, 8), wraps=True), slab_count(100, 36, (8, 8), wraps=False)
    (1, 5)
    """
    if rows >= extent:
        return 1
    inner = rows - sum(overlap)
    if inner < 1:
        return 0
    # Without wrap the first window has nothing below it and the last one nothing above.
    return ceil_div(extent if wraps else max(1, extent - sum(overlap)), inner)


def passes(
    case: Streamed,
    overlap: Callable[[int], tuple[int, int]],  # rows below and above a slab that so many steps need
    compute_seconds: Callable[[int, int], float],  # of a window of so many rows for so many steps
    *,
    wraps: bool,
    fixed: int | None = None,
) -> Passes | None:
    """Choose the steps of a pass and the rows of a window of the least expected time; None if nothing fits."""
    most = min(case.extent, int(case.memory // case.held_bytes))
    options: list[Passes] = []
    for steps in [fixed] if fixed else candidates(case.steps, case.unit):
        slabs = slab_count(case.extent, most, overlap(steps), wraps=wraps)
        if slabs == 0:
            break
        # What a slab shares with the one before it is in memory already; around a periodic grid it is read twice.
        again = sum(overlap(steps)) if wraps and slabs > 1 else 0
        compute = slabs * compute_seconds(most, steps)
        options.append(case.passes(compute, steps=steps, rows=most, slabs=slabs, again=again))
    return min(options, key=lambda each: (each.seconds, each.steps), default=None)


def candidates(steps: int, unit: int) -> Iterator[int]:
    """Steps per pass worth looking at, ascending: those that divide the run into equal passes, a few per octave."""
    counts = {1, *(ceil_div(steps, each) for each in itertools.takewhile(lambda n: n <= steps, _octaves()))}
    yield from sorted({min(steps, round_up(ceil_div(steps, count), unit)) for count in counts})


def _octaves() -> Iterator[int]:
    for power in itertools.count():
        yield from sorted({2**power, (3 * 2**power) // 2} if power else {1})


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """What one rank receives in one exchange."""

    messages: int  # messages of each level: boxes of other ranks
    cells: int  # cells of each level
    window: tuple[int, ...]  # extents that the rank computes on, the halos included
    packed: int = 0  # cells of each level that are packed before they are sent, and unpacked


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """What an exchange takes on the way between ranks."""

    latency: float  # seconds of a message, however short
    bandwidth: float  # bytes per second
    packing: float = 0.0  # seconds per byte that is packed, and unpacked
    beside: float = 0.0  # seconds of an exchange beside its messages

    def seconds(self, messages: int, moved: int, packed: int) -> float:
        """Return what an exchange of so many messages, bytes in all, and bytes that are packed takes."""
        return messages * self.latency + moved / self.bandwidth + packed * self.packing + self.beside


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchanges(Times[float]):
    """Halos of a run, and its expected time: computing, and what of the messages it does not hide."""

    steps: int  # steps between two exchanges
    count: int  # exchanges of the run
    messages: int  # messages that the busiest rank receives in all
    bytes: int  # bytes that it receives
    message_seconds: float  # what the messages take alone
    redundant: float  # cell updates over those that one process would make
    overlapped: bool = False  # whether messages travel while the interior is computed

    @property
    def compute_seconds(self) -> float:
        """The part of computing, what is computed twice included."""
        return self.terms["arithmetic"]


def exchange(block: Sequence[int], topology: Sequence[int], depths: Sequence[Range], wraps: Sequence[bool]) -> Exchange:
    """Count an exchange of a rank in the middle of a grid of equal blocks; depths are of the halo, below and above.

    >>> exchange((8, 8), (4, 4), ((2, 2), (2, 2)), (False, False))
    Exchange(messages=8, cells=80, window=(12, 12), packed=0)
    """
    boxes, own, window = 1, 1, []
    for size, ranks, (below, above), around in zip(block, topology, depths, wraps, strict=True):
        if ranks == 1:
            window.append(size)
            continue
        # Blocks that a halo spans, on a grid that ends no more than there are beside a rank in its middle.
        middle = (ranks - 1) // 2
        low = ceil_div(below, size) if around else min(ceil_div(below, size), middle)
        high = ceil_div(above, size) if around else min(ceil_div(above, size), ranks - 1 - middle)
        boxes *= low + 1 + high
        own *= low // ranks + 1 + high // ranks
        cells = (below, above) if around else (min(below, low * size), min(above, high * size))
        window.append(size + sum(cells))
    return Exchange(messages=boxes - own, cells=math.prod(window) - math.prod(block), window=tuple(window))


def strips(block: Sequence[int], topology: Sequence[int], depths: Sequence[Range], wraps: Sequence[bool]) -> int | None:
    """Count the cells of the windows of the strips around the interior of a rank in the middle of a grid, if any.

    >>> strips((64,), (4,), ((2, 2),), (False,)), strips((3,), (4,), ((2, 2),), (False,))
    (12, None)
    """
    window = exchange(block, topology, depths, wraps).window
    cut = []
    for ranks, (below, above), around in zip(topology, depths, wraps, strict=True):
        below_it = ranks > 1 if around else (ranks - 1) // 2 > 0
        cut.append((below if below_it else 0, above if ranks > 1 else 0))
    if not any(map(any, cut)) or any(size <= sum(pair) for size, pair in zip(block, cut, strict=True)):
        return None
    total = 0
    for axis, pair in enumerate(cut):
        # Strips of earlier axes took the ends of this one's; the window of one goes as far into the block as out of it.
        others = [*block[:axis], *window[axis + 1 :]]
        total += sum(depth + sum(depths[axis]) for depth in pair if depth) * math.prod(others)
    return total


def exchanges(  # noqa: PLR0913
    steps: int,
    level_bytes: int,  # per cell of all levels that are exchanged
    link: Link,
    # of the busiest rank for so many steps, and the extents of its block
    counted: Callable[[int], tuple[Exchange, tuple[int, ...]]],
    compute_seconds: Callable[[tuple[int, ...], int], float],  # of a rank on a window for so many steps
    # the same of an interior, whose values are copied in and out every time
    apart_seconds: Callable[[tuple[int, ...], int], float] | None = None,
    *,
    fixed: int | None = None,
    # cells of the windows around the interior; without it nothing is overlapped
    around: Callable[[int], int | None] | None = None,
    levels: int = 1,
) -> Exchanges:
    """Choose the steps between two exchanges, and whether they are overlapped: those of the least expected time."""
    best: Exchanges | None = None
    apart: Exchanges | None = None
    for each in [fixed] if fixed else _candidates(steps):
        halo, block = counted(each)
        count = ceil_div(steps, each)
        sent = halo.cells * level_bytes
        number = levels * halo.messages
        moving = count * link.seconds(number, sent, halo.packed * level_bytes)
        computing = steps / each * compute_seconds(halo.window, each)
        redundant = math.prod(halo.window) / math.prod(block)
        candidate = Exchanges(
            steps=each,
            count=count,
            messages=count * number,
            bytes=count * sent,
            terms={"arithmetic": computing, "transfers": moving},
            message_seconds=moving,
            redundant=redundant,
        )
        if best is None or candidate.seconds < best.seconds:
            best = candidate
        cells = None if around is None or halo.messages == 0 else around(each)
        if cells is not None:
            interior = steps / each * (apart_seconds or compute_seconds)(block, each)
            more = interior * cells / math.prod(block)
            hidden = replace(
                candidate,
                terms={
                    "arithmetic": interior + more,
                    "transfers": max(0.0, moving - interior),
                    "synchronisation": count * _HIDDEN_SECONDS,
                },
                redundant=1.0 + cells / math.prod(block),
                overlapped=True,
            )
            apart = hidden if apart is None or hidden.seconds < apart.seconds else apart
        if redundant > _MOST_REDUNDANT:
            break
    assert best is not None  # noqa: S101  (there is a candidate)
    return apart if apart is not None and _HIDDEN_MARGIN * apart.seconds < best.seconds else best


def _candidates(steps: int) -> Iterator[int]:
    """Steps between exchanges that are looked at, ascending: the smallest ones, then a few per octave."""
    octaves = ((8 + quarter) * 2**power // 8 for power in itertools.count(3) for quarter in (0, 2, 4, 6))
    yield from itertools.takewhile(lambda each: each <= max(1, steps), itertools.chain((1, 2, 3, 4, 6), octaves))
