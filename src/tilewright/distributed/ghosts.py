"""Halos of one rank's window: filled by one message from every rank that has some of them."""

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.distributed.blocks import halo
from tilewright.distributed.ranks import TAG, Array, buffer_of
from tilewright.programs.stencil.problem import Problem

Grids = Sequence[npt.NDArray[Any]]
Place = tuple[slice, ...]
_POLL_SECONDS = 2e-4
"""Between two looks at messages under way: most libraries move them only when they are asked about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """Messages under way.

    Attributes:
        grids: What they fill the halos of.
        coming: By rank, what is received.
        going: By rank, what is sent.
        requests: MPI's, of both.
    """

    grids: Grids
    coming: Mapping[int, npt.NDArray[Any]]
    going: Mapping[int, npt.NDArray[Any]]
    requests: Sequence[Any]


class Ghosts:
    """Exchanges the halos of one rank's windows.

    Attributes:
        own: The rank's window, and what of it others have.
        count: Exchanges so far.
        messages: Messages that this rank received.
        bytes: Bytes of them.
    """

    def __init__(self, problem: Problem, like: Array, steps: int) -> None:
        """Find out who sends what: known without any message.

        Args:
            problem: What is computed on the whole grid.
            like: An array of its layout.
            steps: Steps between two exchanges.
        """
        self._comm, self._rank = like.comm, like.comm.Get_rank()
        layout = like.layout
        every = [halo(problem, layout, rank, steps) for rank in range(layout.size)]
        self.own = every[self._rank]
        self.count = self.messages = self.bytes = 0
        self._memory: dict[tuple[str, int], npt.NDArray[Any]] = {}
        # This rank's block lies at its place in the window: what others need is cut from there.
        start = tuple(slice_.start for slice_ in self.own.window.inner)
        block = self.own.window.box
        self._wanted = {
            other: [_shifted(part.source(block), start) for part in found.parts[self._rank]]
            for other, found in enumerate(every)
            if other != self._rank and self._rank in found.parts
        }
        self._given = {
            other: [part.target for part in parts] for other, parts in self.own.parts.items() if other != self._rank
        }
        self._copied = [
            (part.target, _shifted(part.source(block), start))
            for part in self.own.parts[self._rank]
            if part.target != self.own.window.inner
        ]

    def begin(self, grids: Grids) -> Exchange:
        """Send what other ranks need of some windows, and ask for what this one needs; nothing is waited for."""
        dtype = grids[0].dtype
        coming = {
            other: self._buffer("coming", other, len(grids) * sum(map(_cells, places)), dtype)
            for other, places in self._given.items()
        }
        requests = [self._comm.Irecv(buffer_of(each), source=other, tag=TAG) for other, each in coming.items()]
        going = {
            other: self._buffer("going", other, len(grids) * sum(map(_cells, places)), dtype)
            for other, places in self._wanted.items()
        }
        for other, buffer in going.items():
            for part, values in _parts(buffer, grids, self._wanted[other]):
                part[...] = values
        requests += [self._comm.Isend(buffer_of(each), dest=other, tag=TAG) for other, each in going.items()]
        for grid, (target, source) in itertools.product(grids, self._copied):
            grid[target] = grid[source]
        return Exchange(grids=grids, coming=coming, going=going, requests=requests)

    def finish(self, exchange: Exchange) -> None:
        """Wait for the messages of an exchange, and fill the halos with them."""
        for request in exchange.requests:
            request.Wait()
        for other, buffer in exchange.coming.items():
            for part, values in _parts(buffer, exchange.grids, self._given[other]):
                values[...] = part
            self.messages += 1
            self.bytes += buffer.nbytes
        self.count += 1

    def _buffer(self, kind: str, other: int, cells: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """Return memory for a message, that of earlier ones: fresh memory costs more than copying into it."""
        found = self._memory.get((kind, other))
        if found is None or found.size < cells or found.dtype != dtype:
            found = self._memory[kind, other] = np.empty(cells, dtype)
        return found[:cells]


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


def _parts(
    buffer: npt.NDArray[Any], grids: Grids, places: Sequence[Place]
) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Yield the parts of a message, and the boxes of grids that they are."""
    at = 0
    for grid, place in itertools.product(grids, places):
        values = grid[place]
        yield buffer[at : at + values.size].reshape(values.shape), values
        at += values.size


def _shifted(place: Place, start: tuple[int, ...]) -> Place:
    return tuple(slice(each.start + by, each.stop + by) for each, by in zip(place, start, strict=True))


def _cells(place: Place) -> int:
    return int(np.prod([each.stop - each.start for each in place], dtype=np.int64))
