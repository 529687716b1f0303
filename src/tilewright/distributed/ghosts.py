"""Halos of one rank's window: filled by a message per level and box from every rank that has some of them."""

import functools
import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.distributed.rank_arrays import TAG, Array, buffer_of
from tilewright.distributed.windows import Halo, halo, slices
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.memory import layout

Grids = Sequence[npt.NDArray[Any]]
Memory = Callable[[int], npt.NDArray[np.uint8]]
Place = tuple[slice, ...]
_RUN_BYTES = 2**12
"""Bytes that lie one after the other from which on a box travels without being packed. Two messages of 1.2 MB between
two processes of one machine took 0.57 ms in such pieces, 0.34 in pieces of 64 KiB, 0.8 to 0.9 packed; of 1 KiB 0.90."""
_POLL_SECONDS = 2e-4  # between two looks at messages under way: most libraries move them only when they are asked about


class Message:
    """A box of a grid on its way: from where it lies, or to there, if it lies in large pieces; else packed."""

    def __init__(self, box: npt.NDArray[Any], memory: Memory) -> None:
        self.box, self.bytes = box, box.nbytes
        self.run, self._axes = runs(box.shape, box.strides, box.itemsize)
        self.buffer = memory(box.nbytes) if self.packed else None

    @property
    def packed(self) -> bool:
        """Whether it is packed, which the other rank need not know."""
        return self.run < _RUN_BYTES

    def call(self, operation: Callable[..., Any], **options: int) -> Any:  # noqa: ANN401
        """Begin to send or to receive it by an operation of MPI; returns its request."""
        from mpi4py import MPI

        if self.buffer is not None:
            return operation([self.buffer, MPI.BYTE], **options)
        kind, start = _kind(MPI.BYTE, self.run, self._axes), self.box[(slice(1),) * self.box.ndim]
        try:  # MPI keeps what it needs of a type until the message has travelled
            return operation([buffer_of(start), 1, kind.Commit()], **options)
        finally:
            kind.Free()

    def pack(self) -> None:
        """Copy the box into the buffer, if there is one."""
        if self.buffer is not None:
            self.buffer.view(self.box.dtype).reshape(self.box.shape)[...] = self.box

    def unpack(self) -> None:
        """Copy the buffer into the box, if there is one."""
        if self.buffer is not None:
            self.box[...] = self.buffer.view(self.box.dtype).reshape(self.box.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Messages under way."""

    coming: Sequence[Message]
    going: Sequence[Message]
    requests: Sequence[Any]  # MPI's, of both


def runs(shape: Sequence[int], strides: Sequence[int], itemsize: int) -> tuple[int, list[tuple[int, int]]]:
    """Return how many bytes of a box lie one after the other, and extents and strides over such, innermost first.

    >>> strides = np.zeros((8, 6, 4), np.float32).strides
    >>> runs((2, 6, 4), strides, 4), runs((8, 2, 4), strides, 4), runs((2, 6, 2), strides, 4)
    ((192, []), (32, [(8, 96)]), (8, [(6, 16), (2, 96)]))
    """
    size, axes = itemsize, list(zip(shape, strides, strict=True))
    while axes and (axes[-1][1] == size or axes[-1][0] == 1):
        size *= axes.pop()[0]
    return size, axes[::-1]


def packed_cells(halo: Halo, rank: int, itemsize: int) -> int:
    """Return how many cells of each level of a rank's halo are packed on their way."""
    strides = [itemsize * each for each in layout(halo.window.problem.shape, itemsize).strides]
    boxes = [part for owner, parts in halo.parts.items() if owner != rank for part in parts]
    shapes = [(part.cells, tuple(high - low for low, high in part.box)) for part in boxes]
    return sum(cells for cells, shape in shapes if runs(shape, strides, itemsize)[0] < _RUN_BYTES)


def _kind(byte: Any, size: int, axes: Sequence[tuple[int, int]]) -> Any:  # noqa: ANN401
    """Return MPI's type of a box: vectors of vectors of runs, which it moves faster than lists of addresses."""
    kind = byte.Create_contiguous(size)
    for extent, stride in axes:
        inner, kind = kind, kind.Create_hvector(extent, 1, stride)
        inner.Free()
    return kind


class Ghosts:
    """Exchanges the halos of one rank's windows."""

    def __init__(self, problem: Problem, like: Array, steps: int) -> None:
        self._comm, self._rank = like.comm, like.comm.Get_rank()
        halos = [halo(problem, like.layout, rank, steps) for rank in range(like.layout.size)]
        self.own = own = halos[self._rank]
        self.count = self.messages = self.bytes = 0  # exchanges so far, and what this rank received in them
        self._memory: dict[tuple[str, int], npt.NDArray[np.uint8]] = {}
        span, peers = own.window.span, [rank for rank in range(like.layout.size) if rank != self._rank]
        self._coming = [(other, part.target) for other in peers for part in own.parts.get(other, ())]
        # This rank's block lies at its place in the window: what others need is cut from there.
        self._going = [
            (other, slices(part.box, span)) for other in peers for part in halos[other].parts.get(self._rank, ())
        ]
        self._copied = [
            (part.target, slices(part.box, span)) for part in own.parts[self._rank] if part.target != own.window.inner
        ]

    def begin(self, grids: Grids) -> Exchange:
        """Send what other ranks need of some windows, and ask for what this one needs; nothing is waited for."""
        coming = self._messages(grids, self._coming, "coming")
        going = self._messages(grids, self._going, "going")
        requests = [each.call(self._comm.Irecv, source=other, tag=TAG) for other, each in coming]
        for other, each in going:
            each.pack()
            requests.append(each.call(self._comm.Isend, dest=other, tag=TAG))
        for grid, (target, source) in itertools.product(grids, self._copied):
            grid[target] = grid[source]
        return Exchange(coming=[each for _, each in coming], going=[each for _, each in going], requests=requests)

    def finish(self, exchange: Exchange) -> None:
        """Wait for the messages of an exchange, and unpack each once it has come."""
        for message, request in zip(exchange.coming, exchange.requests, strict=False):
            request.Wait()
            message.unpack()
            self.messages += 1
            self.bytes += message.bytes
        for request in exchange.requests[len(exchange.coming) :]:
            request.Wait()
        self.count += 1

    def _messages(self, grids: Grids, boxes: Sequence[tuple[int, Place]], kind: str) -> list[tuple[int, Message]]:
        """Return a message for every box of every grid: MPI moves boxes faster on their own than lists of them."""
        numbered = enumerate(itertools.product(grids, boxes))
        return [
            (other, Message(grid[place], functools.partial(self._buffer, (kind, number))))
            for number, (grid, (other, place)) in numbered
        ]

    def _buffer(self, key: tuple[str, int], size: int) -> npt.NDArray[np.uint8]:
        """Return memory for a message, that of earlier ones: fresh memory costs more than copying into it."""
        buffer = self._memory.get(key)
        if buffer is None or buffer.size < size:
            buffer = self._memory[key] = np.empty(size, np.uint8)
        return buffer[:size]


@contextmanager
def moving(exchange: Exchange) -> Iterator[None]:
    """Keep messages moving by a thread that asks about them, while a block computes without MPI."""
    from mpi4py import MPI

    if MPI.Query_thread() < MPI.THREAD_MULTIPLE or not exchange.requests:
        yield
        return
    computed = threading.Event()

    def ask() -> None:
        while not computed.is_set() and not all(request.Test() for request in exchange.requests):
            computed.wait(_POLL_SECONDS)

    asking = threading.Thread(target=ask, name="tilewright-messages", daemon=True)
    asking.start()
    try:
        yield
    finally:
        computed.set()
        asking.join()
