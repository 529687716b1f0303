"""Runs out of core: how many steps a pass over the disk makes, and how thick the slabs are.

The grid is cut along its outermost axis into slabs, each of which runs t steps in memory within a window that overlaps
its neighbours by the reach times t. One pass reads every level once, computes and writes the new levels; the three
overlap, so that a pass takes as long as the slower of disk and processor (Aggarwal and Vitter, CACM 1988, for transfers
of the I/O model; Hong and Kung, STOC 1981, say that no order of computing needs less than a fraction of them).
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tilewright.base.intmath import ceil_div, round_up
from tilewright.costs.breakdown import Times


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
        felt = disk / slabs if compute > disk else disk - compute + compute / slabs
        return Passes(
            rows=rows,
            steps=steps,
            count=count,
            slabs=slabs,
            terms={"arithmetic": count * compute, "transfers": count * felt},
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
    found: list[Passes] = []
    for steps in [fixed] if fixed else candidates(case.steps, case.unit):
        slabs = slab_count(case.extent, most, overlap(steps), wraps=wraps)
        if slabs == 0:
            break
        # What a slab shares with the one before it is in memory already; around a periodic grid it is read twice.
        again = sum(overlap(steps)) if wraps and slabs > 1 else 0
        compute = slabs * compute_seconds(most, steps)
        found.append(case.passes(compute, steps=steps, rows=most, slabs=slabs, again=again))
    return min(found, key=lambda each: (each.seconds, each.steps), default=None)


def candidates(steps: int, unit: int) -> Iterator[int]:
    """Steps per pass worth looking at, ascending: those that divide the run into equal passes, a few per octave."""
    counts = {1, *(ceil_div(steps, each) for each in itertools.takewhile(lambda n: n <= steps, _octaves()))}
    yield from sorted({min(steps, round_up(ceil_div(steps, count), unit)) for count in counts})


def _octaves() -> Iterator[int]:
    for power in itertools.count():
        yield from sorted({2**power, (3 * 2**power) // 2} if power else {1})
