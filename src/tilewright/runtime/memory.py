"""Memory that kernels compute in: aligned, on huge pages where the system has them, rows padded.

A row's length in bytes is a multiple of a cache line but not of a page, so that neighbouring rows do not fall on the
same sets of a cache; the same holds for planes and for the versions of a field.
"""

import itertools
import math
import mmap
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.constants import CACHE_LINE, PAGE
from tilewright.base.errors import ArrayError
from tilewright.base.intmath import round_up
from tilewright.base.units import format_bytes, format_over
from tilewright.runtime import forks
from tilewright.runtime.host import available_bytes

Array = npt.NDArray[Any]
_SHIFT = 8 * CACHE_LINE
"""Distance modulo a page between versions: what is stored to one is not loaded from the same place of another."""
HUGE_PAGE = 2**21  # bytes of a huge page
_SURE = 2**24  # sizes below this are not worth asking the system how much is left
_MOST_WASTE = 1.25  # size of an idle buffer over what is asked for, up to which it is used
_THREADED_BYTES = 2**21  # copies below this size are not worth a thread


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a field lies in memory, in elements."""

    shape: tuple[int, ...]  # of the grid
    strides: tuple[int, ...]  # distance of neighbours per axis; 1 on the innermost
    slot: int  # distance between versions
    itemsize: int  # bytes per element


def layout(shape: tuple[int, ...], itemsize: int) -> Layout:
    """Lay out a field of a shape.

    >>> layout((4096, 4096), 4).strides
    (4112, 1)
    """
    strides = [1]
    size = shape[-1]
    for extent in reversed(shape[:-1]):
        stride = _spread_size(size * itemsize) // itemsize
        strides.append(stride)
        size = stride * extent
    slot = (
        round_up(size * itemsize, PAGE) + _SHIFT if size * itemsize > PAGE else _spread_size(size * itemsize)
    ) // itemsize
    return Layout(shape=shape, strides=tuple(reversed(strides)), slot=slot, itemsize=itemsize)


def _spread_size(size: int) -> int:
    """Round up to whole cache lines, and past a multiple of a page."""
    rounded = round_up(size, CACHE_LINE)
    return rounded + CACHE_LINE if rounded % PAGE == 0 else rounded


def check_memory(size: int) -> None:
    """Refuse what does not fit into memory before any of it is taken."""
    free = None if size < _SURE else available_bytes()
    if free is not None and size > free:
        needed, available = format_over(size, free)
        raise ArrayError(
            f"this run needs {needed} of memory but {available} are available",
            "use a smaller grid or a smaller dtype",
        )


class Workspace:
    """Buffers that calls may use one after the other; one that is in use is not handed out again.

    Freed with the object. Threads may share one.
    """

    def __init__(self, keep: int | None = None, *, offer: bool = False) -> None:
        """Make a workspace; idle bytes beyond ``keep`` are freed or, with ``offer``, offered to the system."""
        self._lock = forks.lock()
        self._keep = keep
        self._offer = offer
        self._free: list[Array] = []
        self._offered: list[Array] = []
        # Arrays may die inside any allocation, the lock being held: this queue needs none.
        self._returned: deque[Array] = deque()

    def take(self, size: int) -> Array:
        """Return at least ``size`` bytes at the start of a huge page; the content is arbitrary."""
        self._collect()
        with self._lock:
            for idle in (self._free, self._offered):
                fitting = [
                    i for i, buffer in enumerate(idle) if size <= buffer.nbytes <= _MOST_WASTE * size + HUGE_PAGE
                ]
                if fitting:
                    return idle.pop(min(fitting, key=lambda i: idle[i].nbytes))
        return allocate(size)

    def give(self, buffer: Array) -> None:
        """Hand a buffer back."""
        with self._lock:
            self._free.append(buffer)
            while self._keep is not None and sum(idle.nbytes for idle in self._free) > self._keep:
                oldest = self._free.pop(0)
                if self._offer and offer(oldest):
                    self._offered.append(oldest)
                    # Offered memory counts as available; once less than it is, others need it: the oldest goes back.
                    most = available_bytes() or 0
                    while sum(idle.nbytes for idle in self._offered) > most:
                        self._offered.pop(0)

    def lend(self, size: int) -> Array:
        """Return ``size`` bytes that come back by themselves once no array refers to them any more."""
        if size < HUGE_PAGE:
            return allocate(size)  # cheap, and what is idle is left to those who bring it back
        buffer = self.take(size)
        # Views of views refer to the first array that does not itself view an array: to this one.
        lent = np.frombuffer(buffer.data, dtype=np.uint8)
        weakref.finalize(lent, self._come_back, buffer).atexit = False
        return lent[:size]

    def lend_grid(self, shape: Sequence[int], dtype: str) -> Array:
        """Return an array whose memory comes back as that of :meth:`lend` does; it starts at a cache line."""
        size = math.prod(shape) * np.dtype(dtype).itemsize
        grid: Array = self.lend(size).view(dtype).reshape(shape)
        return grid

    def copied(self, array: Array, threads: int, dtype: str | None = None) -> Array:
        """Return a copy of an array, of another element type if asked, in memory as :meth:`lend_grid` returns it."""
        target = self.lend_grid(array.shape, dtype or array.dtype.name)
        spread(copy_jobs(target, array, threads), threads)
        return target

    def _come_back(self, buffer: Array) -> None:
        if self._offer and buffer.nbytes > (self._keep or 0):
            offer(buffer)  # nobody may ask for memory for a long time
        self._returned.append(buffer)

    def _collect(self) -> None:
        """Hand back what was lent and has come back."""
        while self._returned:
            self.give(self._returned.popleft())


def offer(buffer: Array) -> bool:
    """Let the system have the pages of an idle buffer of :func:`allocate` when it needs them; False if it cannot.

    Until it does they stay where they are, so that using the buffer again costs nothing; its content is lost.
    """
    pages = getattr(getattr(buffer.base, "base", None), "obj", None)
    if not isinstance(pages, mmap.mmap) or not hasattr(mmap, "MADV_FREE"):
        return False
    start = buffer.ctypes.data - np.frombuffer(pages, dtype=np.uint8).ctypes.data
    try:
        pages.madvise(mmap.MADV_FREE, start, buffer.nbytes // HUGE_PAGE * HUGE_PAGE)
    except OSError:  # locked memory
        return False
    return True


def allocate(size: int) -> Array:
    """Allocate bytes at the start of a huge page (of a cache line, for small sizes)."""
    align = HUGE_PAGE if size >= HUGE_PAGE else CACHE_LINE
    try:
        if size < HUGE_PAGE:
            raw = np.empty(size + align, dtype=np.uint8)
        else:
            # Private: shared anonymous memory gets no huge pages.
            pages = mmap.mmap(-1, size + align, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            ask_for_huge_pages(pages)
            raw = np.frombuffer(pages, dtype=np.uint8)
    except (MemoryError, OSError, OverflowError, ValueError):
        raise ArrayError(f"the system has no {format_bytes(size)} of memory", "use a smaller grid") from None
    start = -raw.ctypes.data % align
    return raw[start : start + size]


def ask_for_huge_pages(pages: mmap.mmap) -> None:
    """Let the system back a range of addresses by huge pages, where it has any."""
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)


def view(buffer: Array, offset: int, plan: Layout, dtype: str) -> Array:
    """See one version of a field in a buffer, from the byte ``offset`` on."""
    strides = tuple(stride * plan.itemsize for stride in plan.strides)
    return np.ndarray(plan.shape, dtype, buffer, offset, strides)


def spread(jobs: Sequence[Callable[[], None]], threads: int) -> None:
    """Run jobs, several at a time; NumPy lets go of the interpreter's lock while it copies."""
    if threads <= 1 or len(jobs) <= 1:
        for job in jobs:
            job()
        return
    failures: list[BaseException] = []

    def work(part: Sequence[Callable[[], None]]) -> None:
        try:
            for job in part:
                job()
        except BaseException as error:  # noqa: BLE001  (raised again below, in the caller's thread)
            failures.append(error)

    count = min(threads, len(jobs))
    bounds = [len(jobs) * i // count for i in range(count + 1)]
    workers = [threading.Thread(target=work, args=(jobs[a:b],)) for a, b in itertools.pairwise(bounds[1:])]
    for worker in workers:
        worker.start()
    work(jobs[: bounds[1]])
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]


def copy_jobs(target: Array, source: Array, threads: int) -> list[Callable[[], None]]:
    """Cut one copy, conversions included, into jobs along the outermost axis."""
    if math.prod(target.shape) * target.itemsize < _THREADED_BYTES:
        return [lambda: np.copyto(target, source, casting="unsafe")]
    rows = target.shape[0]
    count = min(threads, rows)
    bounds = [rows * i // count for i in range(count + 1)]

    def part(low: int, high: int) -> Callable[[], None]:
        return lambda: np.copyto(target[low:high], source[low:high], casting="unsafe")

    return [part(low, high) for low, high in itertools.pairwise(bounds)]


def frame(shape: tuple[int, ...], box: tuple[tuple[int, int], ...]) -> list[tuple[slice, ...]]:
    """Cut the cells outside a box into slabs.

    >>> frame((5,), ((1, 4),))
    [(slice(0, 1, None),), (slice(4, 5, None),)]
    """
    slabs = []
    for axis, ((low, high), extent) in enumerate(zip(box, shape, strict=True)):
        inner = tuple(slice(*span) for span in box[:axis])
        outer = tuple(slice(0, size) for size in shape[axis + 1 :])
        slabs += [(*inner, slice(a, b), *outer) for a, b in ((0, low), (high, extent)) if a < b]
    return slabs
