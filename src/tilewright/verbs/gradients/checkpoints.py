"""The schedule of a gradient: which forward states are kept, and what is run forwards and back, one after the other.

Segments within segments: while one is taken back, its own checkpoints lie behind those before it. Where every segment
fits beside the starts of all, they are of equal length, and each step is computed again once. Else their lengths are
those of least cost by dynamic programming, as A. Griewank and A. Walther's binomial schedules (Algorithm 799: Revolve,
ACM Transactions on Mathematical Software 26 (2000)), but of bands whose states are all kept, and copies that count.

On disk there is room for the states at the starts of all segments, so that no step is computed more than twice: a file
per state, in a folder of its own within the one that the caller names.
"""

import functools
import itertools
import math
import shutil
import tempfile
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ArrayError, UsageError, told
from tilewright.base.intmath import ceil_div, round_up
from tilewright.base.paths import as_path
from tilewright.base.units import format_over, parse_bytes, whole_number
from tilewright.inputs.arrays import Array
from tilewright.runtime.host import available_bytes

_COPY = 4.0
"""Steps that take as long as keeping a state and starting from it again: a step in time tiles takes less than a sweep,
a copy three."""
_LEAST = 2  # steps of a band that are always taken back together
_UNITS = 512  # parts of a run at whose ends states may be kept: more would take longer to decide


@dataclass(frozen=True, slots=True)
class Forward:
    """Go on from the newest state that is kept, and keep those after some further steps as well."""

    at: tuple[int, ...]  # steps that lie behind the states, that of the first among them


@dataclass(frozen=True, slots=True)
class Reverse:
    """Take back some steps with all their states in memory, and drop the newest that is kept, with which they begin."""

    begin: int  # steps that lie behind that state
    steps: int


def slots_of(size: int, memory: int | str | None, checkpoints: int | None) -> int:
    """Return how many forward states of so many bytes may be in memory at a time."""
    if checkpoints is not None:
        if memory is not None:
            raise UsageError("memory and checkpoints both say how many states are kept", "give one of them")
        return whole_number(checkpoints, "checkpoints", 2, 2**62, "of states, at least 2")
    room = (available_bytes() or 2**31) // 2 if memory is None else parse_bytes(memory)
    return max(2, room // max(1, size))


@functools.lru_cache(maxsize=64)
def schedule(steps: int, slots: int, *, on_disk: bool = False) -> tuple[Forward | Reverse, ...]:
    """Return what is done, first the run itself; its last state is the result and not among those that are kept.

    >>> schedule(9, 6)
    (Forward(at=(0, 3, 6, 9)), Reverse(begin=6, steps=3), Reverse(begin=3, steps=3), Reverse(begin=0, steps=3))
    >>> schedule(5, 1)[1:]
    (Reverse(begin=3, steps=2), Forward(at=(0, 1)), Reverse(begin=1, steps=2), Reverse(begin=0, steps=1))
    """
    lengths = _equal(steps, ceil_div(steps, slots)) if on_disk else segments(steps, slots)
    first, *rest = _actions(0, lengths, slots, on_disk=on_disk)
    assert isinstance(first, Forward)  # noqa: S101  (as of every run that is cut)
    return Forward((*first.at, steps)), *rest


def _actions(begin: int, lengths: tuple[int, ...], slots: int, *, on_disk: bool = False) -> list[Forward | Reverse]:
    """Take back segments from a state on, with so many states in memory."""
    *at, _ = itertools.accumulate(lengths, initial=begin)
    actions: list[Forward | Reverse] = [Forward(tuple(at))]
    for number in reversed(range(len(lengths))):
        free = slots if on_disk else max(1, slots - number)  # beside the starts of those before it
        if _fits(lengths[number], free):
            actions.append(Reverse(at[number], lengths[number]))
        else:
            actions += _actions(at[number], segments(lengths[number], free), free)
    return actions


@functools.lru_cache(maxsize=1024)
def segments(steps: int, slots: int) -> tuple[int, ...]:
    """Cut steps into segments whose starts are kept, among the ``slots`` states that fit into memory.

    Up to two more are kept, since a band has two.

    >>> segments(9, 6), segments(5, 8), segments(5, 1)
    ((3, 3, 3), (5,), (3, 2))
    """
    if _fits(steps, slots):
        return (steps,)
    count = next((n for n in range(2, slots) if n + math.ceil(steps / n) <= slots), None)
    if count is not None:
        return _equal(steps, count)
    unit = math.ceil(steps / _UNITS)
    left, free, lengths = math.ceil(steps / unit), slots, []
    cuts = _cuts(round_up(left, _UNITS // 4), round_up(slots, 16), unit)
    while left * unit > max(_LEAST, free) and left > 1:
        first = int(cuts[free - 1][left])
        lengths.append(first * unit)
        left, free = left - first, free - 1
    return (*lengths, steps - sum(lengths))


@functools.lru_cache(maxsize=8)
def _cuts(units: int, slots: int, unit: int) -> tuple[npt.NDArray[np.int64], ...]:
    """By slots less one and length, where the first segment of the cheapest schedule ends."""
    cuts = []
    before = np.full(units + 1, np.inf)  # without a slot there is but the one band that fits beside the start
    before[: max(1, _LEAST // unit) + 1] = _COPY
    for free in range(1, slots + 1):
        cost, cut = np.full(units + 1, _COPY), np.zeros(units + 1, dtype=np.int64)
        for length in range(max(2, max(_LEAST, free) // unit + 1), units + 1):
            each = unit * np.arange(1.0, length) + _COPY + cost[1:length] + before[length - 1 : 0 : -1]
            best = int(each.argmin())
            cost[length], cut[length] = each[best], best + 1
        cuts.append(cut)
        before = cost
    return tuple(cuts)


def _fits(steps: int, slots: int) -> bool:
    return steps <= max(_LEAST, slots)


def _equal(steps: int, count: int) -> tuple[int, ...]:
    return tuple(steps // count + (number < steps % count) for number in range(count))


class StatesOnDisk:
    """Keeps states in a folder; the files are removed with this object."""

    def __init__(self, folder: str | Path) -> None:
        self._folder = as_path(folder, "disk")
        if not self._folder.is_dir():
            raise UsageError(f"disk is a folder for forward states, got {str(folder)!r}", "make it first")
        self._own: Path | None = None
        self._count = 0

    def check_room(self, states: int, size: int) -> None:
        """Refuse states of ``size`` bytes each that do not fit on the disk, before anything is computed."""
        free = shutil.disk_usage(self._folder).free
        if states * size > free:
            needed, room = format_over(states * size, free)
            raise ArrayError(
                f"{states} forward states need {needed} in {str(self._folder)!r}, where {room} are free",
                "let more states lie in memory (memory=, checkpoints=), or leave disk out",
            )

    def keep(self, state: Mapping[str, tuple[Array, ...]]) -> dict[str, tuple[Array, ...]]:
        """Write a state to a file, and return it as it lies there: read as it is needed."""
        if self._own is None:
            with told(f"forward states cannot be written to {str(self._folder)!r}"):
                self._own = Path(tempfile.mkdtemp(prefix="tilewright-states-", dir=self._folder))
            weakref.finalize(self, shutil.rmtree, self._own, ignore_errors=True)
        path = self._own / str(self._count)
        self._count += 1
        with told(f"a forward state cannot be written to {str(path)!r}"), path.open("wb") as file:
            for levels in state.values():
                for level in levels:
                    file.write(np.ascontiguousarray(level).reshape(-1).view(np.uint8).data)
        views: dict[str, tuple[Array, ...]] = {}
        offset = 0
        for field, levels in state.items():
            read: list[Array] = []
            for level in levels:
                read.append(np.memmap(path, level.dtype, "r", offset, level.shape))
                offset += level.nbytes
            views[field] = tuple(read)
        return views
