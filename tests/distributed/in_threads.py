"""Ranks that are threads of this process: what the package asks of mpi4py's communicators, each call looked at.

A message is copied when it is received, not when it is sent, and its sender waits for that, as MPI may do it: who
writes into a buffer that is under way, or never waits for it, is seen.
"""

import contextlib
import math
import queue
import sys
import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from tilewright.inputs import memo

PATIENCE = 60.0
"""Seconds after which a rank that waits is one that waits for ever."""
_POLL = 0.02


class World:
    """What all ranks share."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.barrier = threading.Barrier(size, timeout=PATIENCE)
        self.told: list[object] = [None] * size
        self._boxes: dict[tuple[int, int, int], queue.Queue[Request]] = {}
        self._making = threading.Lock()
        self.requests: list[Request] = []
        self.aborted: list[int] = []
        self.ended = threading.Event()
        """Set where a rank ends the job: nobody waits any more."""

    def box(self, source: int, dest: int, tag: int) -> "queue.Queue[Request]":
        """Messages of one rank to another: the same box, whichever of them asks for it first."""
        with self._making:
            return self._boxes.setdefault((source, dest, tag), queue.Queue())

    def wait(self, arrived: Callable[[], bool], what: str) -> None:
        """Wait for something, but not for ever, and not beyond the end of the job."""
        for _ in range(int(PATIENCE / _POLL)):
            if arrived():
                return
            if self.ended.is_set():
                raise threading.BrokenBarrierError
        raise AssertionError(f"{what} is waited for for ever")

    def end(self) -> None:
        """End the job."""
        self.ended.set()
        self.barrier.abort()


class Kind:
    """A type of MPI's: bytes, here and there."""

    alive: ClassVar[set["Kind"]] = set()
    """Those that are there: made, and not freed."""

    def __init__(self, shape: tuple[int, ...] = (), strides: tuple[int, ...] = ()) -> None:
        self._shape, self._strides = shape, strides
        self.ready = not shape
        if shape:
            Kind.alive.add(self)

    def Create_contiguous(self, count: int) -> "Kind":  # noqa: N802
        """So many one after the other."""
        return Kind((count,), (1,))

    def Create_hvector(self, count: int, length: int, stride: int) -> "Kind":  # noqa: N802
        """So many of these at a distance."""
        assert length == 1
        return Kind((count, *self._shape), (stride, *self._strides))

    def Commit(self) -> "Kind":  # noqa: N802
        """Make it ready for messages."""
        self.ready = True
        return self

    def Free(self) -> None:  # noqa: N802
        """Be done with it; messages on their way go on."""
        Kind.alive.remove(self)

    def of(self, start: np.ndarray) -> np.ndarray:
        """See the bytes that it means, from the first one on."""
        assert self.ready
        return np.lib.stride_tricks.as_strided(start, self._shape, self._strides)


def seen(given: object) -> np.ndarray:
    """See what a message is told to take: an array, or one with a type of its elements and maybe their number."""
    if not isinstance(given, list):
        return given
    values, *count, kind = given
    assert count in ([], [1])
    return kind.of(values) if count else values


class Request:
    """A message on its way."""

    def __init__(self, world: World, box: "queue.Queue[Request]", values: object, *, sent: bool) -> None:
        self._world, self._box, self._values, self._sent = world, box, seen(values), sent
        self.done = threading.Event()
        self.looks = 0
        self.waited = False
        world.requests.append(self)
        if sent:
            box.put(self)

    def Test(self) -> bool:  # noqa: N802  (as MPI's calls are named)
        """Whether it has arrived."""
        self.looks += 1
        return self._arrived(0.0)

    def Wait(self) -> None:  # noqa: N802
        """Return once it has arrived."""
        self.waited = True
        self._world.wait(lambda: self._arrived(_POLL), "a message")

    def _arrived(self, seconds: float) -> bool:
        if self._sent:
            return self.done.wait(seconds)
        with contextlib.suppress(queue.Empty):
            if not self.done.is_set():
                other = self._box.get(timeout=seconds) if seconds else self._box.get_nowait()
                self._values[...] = other._values.reshape(self._values.shape)
                other.done.set()
                self.done.set()
        return self.done.is_set()


class Rank:
    """A communicator, as one rank sees it."""

    def __init__(self, world: World, rank: int) -> None:
        self.world, self.rank = world, rank
        self.together = 0
        """Calls of all ranks so far: what lies between two of them happens at the same time."""

    def Get_rank(self) -> int:  # noqa: N802
        """Number of this rank."""
        return self.rank

    def Get_size(self) -> int:  # noqa: N802
        """Number of ranks."""
        return self.world.size

    def allgather(self, value: object) -> list:
        """What every rank gave."""
        self.together += 1
        self.world.told[self.rank] = value
        self.world.barrier.wait()
        found = list(self.world.told)
        self.world.barrier.wait()
        return found

    def bcast(self, value: object, root: int = 0) -> object:
        """What one rank gave."""
        return self.allgather(value)[root]

    def Barrier(self) -> None:  # noqa: N802
        """Wait for all."""
        self.allgather(None)

    def Isend(self, values: np.ndarray, dest: int, tag: int = 0) -> Request:  # noqa: N802
        """Begin to send."""
        return Request(self.world, self.world.box(self.rank, dest, tag), values, sent=True)

    def Irecv(self, values: np.ndarray, source: int, tag: int = 0) -> Request:  # noqa: N802
        """Begin to receive."""
        return Request(self.world, self.world.box(source, self.rank, tag), values, sent=False)

    def Send(self, values: np.ndarray, dest: int, tag: int = 0) -> None:  # noqa: N802
        """Send."""
        self.Isend(values, dest, tag).Wait()

    def Recv(self, values: np.ndarray, source: int, tag: int = 0) -> None:  # noqa: N802
        """Receive."""
        self.Irecv(values, source, tag).Wait()

    def Split_type(self, kind: object) -> "Rank":  # noqa: N802
        """The ranks of this node: all."""
        return self

    def Free(self) -> None:  # noqa: N802
        """Do nothing."""

    def Abort(self, status: int) -> None:  # noqa: N802
        """End the job."""
        self.world.aborted.append(status)
        self.world.end()


def on_ranks(size: int, work: Callable[[Rank], object]) -> tuple[World, list]:
    """Do something on every rank; what fails on one of them fails."""
    world, found, failed = World(size), [None] * size, list[BaseException]()

    def one(rank: int) -> None:
        try:
            found[rank] = work(Rank(world, rank))
        except BaseException as error:  # noqa: BLE001  (it is raised below)
            failed.append(error)
            world.end()

    threads = [threading.Thread(target=one, args=(rank,), name=f"rank {rank}", daemon=True) for rank in range(size)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(2 * PATIENCE)
    if failed:
        raise next((each for each in failed if not isinstance(each, threading.BrokenBarrierError)), failed[0])
    assert all(not each.is_alive() for each in threads)
    return world, found


@pytest.fixture
def threaded_mpi(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Stand in for the library: several threads of a rank may call it, unless a test says otherwise.

    What is known of the host is looked up beforehand, once: ranks of a job are processes, which share no such memory.
    """
    memo.host()

    def dims(size: int, given: list[int]) -> list[int]:
        left = size // math.prod(each for each in given if each)
        return [each or (left, left := 1)[0] for each in given]

    library = SimpleNamespace(
        THREAD_MULTIPLE=3,
        level=3,
        COMM_TYPE_SHARED=1,
        BYTE=Kind(),
        Compute_dims=dims,
        Query_thread=lambda: library.level,
    )
    module = ModuleType("mpi4py")
    module.MPI = library  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "mpi4py", module)
    return library
