"""Arrays over the ranks of MPI, and what keeps ranks together: an error on one of them is one on all of them."""

import copy
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.base.dtypes import is_number
from tilewright.base.errors import ArrayError, TilewrightError, UsageError, told
from tilewright.base.units import whole_number
from tilewright.distributed import disk
from tilewright.distributed.windows import Box, Decomposition, slices

T = TypeVar("T")
TAG = 2717  # of every message


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What a rank received during a run."""

    steps: int  # between two exchanges
    exchanges: int
    messages: int
    bytes: int
    overlapped: bool = False  # whether they travelled while this rank computed its interior


class Array:
    """An array of which every rank of a communicator holds a block."""

    def __init__(
        self,
        shape: tuple[int, ...],
        dtype: npt.DTypeLike = "float32",
        *,
        comm: Any,  # noqa: ANN401  (a communicator of mpi4py, which may not be installed)
        topology: tuple[int, ...] | None = None,
    ) -> None:
        """Make an array of zeros; every rank of the communicator calls this with the same arguments.

        Args:
            shape: Extents of the whole array.
            dtype: Element type.
            comm: The communicator, of mpi4py.
            topology: Ranks per axis, their product the size of the communicator; -1 where MPI is to decide, as on every
                axis by default.

        Raises:
            ArrayError: If a block does not fit into memory.
            UsageError: If the shape, the element type or the topology is none, or does not fit.
        """
        self.shape = _numbers_of(shape, "a shape", 1, 2**48)
        self.dtype = _number_type(dtype)
        self.comm = comm
        self.layout = Decomposition(shape=self.shape, topology=_topology(topology, len(self.shape), comm.Get_size()))
        with told(f"a block of {self.shape} does not fit into memory"):
            self.local: npt.NDArray[Any] = np.zeros([high - low for low, high in self.box], self.dtype)
        """This rank's block; it may be written."""
        self.traffic: Traffic | None = None  # what this rank received during the run that made the array

    def __repr__(self) -> str:
        return f"Array(shape={self.shape}, dtype={self.dtype}, topology={self.topology}, rank={self.comm.Get_rank()})"

    @property
    def topology(self) -> tuple[int, ...]:
        """Ranks per axis."""
        return self.layout.topology

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def box(self) -> Box:
        """The cells of this rank: per axis a half-open range."""
        return self.layout.block(self.comm.Get_rank())

    def holding(self, local: npt.NDArray[Any]) -> "Array":
        """Return an array of the same communicator and topology that holds another block, of any element type.

        Args:
            local: This rank's block, of the shape of this array's.
        """
        array = copy.copy(self)
        array.local, array.dtype, array.traffic = local, local.dtype, None
        return array

    def scatter(self, whole: Any, rank: int = 0) -> "Array":  # noqa: ANN401
        """Deal an array that one rank has to all of them.

        Args:
            whole: The array on that rank; None on the others.
            rank: The rank.

        Returns:
            This array.

        Raises:
            ArrayError: On every rank, if it has another shape, or holds no numbers that the element type takes.
        """

        def check() -> npt.NDArray[Any] | None:
            if self.comm.Get_rank() != rank:
                return None
            array = np.asarray(whole)
            if array.shape != self.shape:
                raise ArrayError(
                    f"the array that rank {rank} scatters has the shape {array.shape}, expected {self.shape}"
                )
            if not is_number(array.dtype) or (array.dtype.kind == "c" and self.dtype.kind != "c"):
                raise ArrayError(
                    f"the array that rank {rank} scatters is one of {array.dtype}, which {self.dtype} does not hold"
                )
            return array

        source = together(self.comm, check)
        with ending(self.comm):
            if source is not None:
                for other in range(self.comm.Get_size()):
                    part = np.ascontiguousarray(source[slices(self.layout.block(other))], self.dtype)
                    if other == rank:
                        self.local[...] = part
                    else:
                        self.comm.Send(buffer_of(part), dest=other, tag=TAG)
            else:
                received = np.empty(self.local.shape, self.dtype)
                self.comm.Recv(buffer_of(received), source=rank, tag=TAG)
                self.local[...] = received
        return self

    def gather(self, rank: int = 0) -> npt.NDArray[Any] | None:
        """Return the whole array on one rank, and None on the others.

        Raises:
            ArrayError: On every rank, if that rank has no memory for it.
        """
        own = self.comm.Get_rank() == rank
        gathered = together(self.comm, lambda: np.empty(self.shape, self.dtype) if own else None)
        with ending(self.comm):
            if gathered is None:
                self.comm.Send(buffer_of(np.ascontiguousarray(self.local)), dest=rank, tag=TAG)
                return None
            for other in range(self.comm.Get_size()):
                box = self.layout.block(other)
                if other == rank:
                    gathered[slices(box)] = self.local
                else:
                    part = np.empty([high - low for low, high in box], self.dtype)
                    self.comm.Recv(buffer_of(part), source=other, tag=TAG)
                    gathered[slices(box)] = part
            return gathered

    def read(self, path: str | os.PathLike[str]) -> "Array":
        """Read every rank's own block of a ``.npy`` file or a zarr array.

        Returns:
            This array.

        Raises:
            ArrayError: On every rank, if there is none of this shape.
        """

        def read() -> None:
            array = disk.open_array(path)
            if tuple(array.shape) != self.shape:
                raise ArrayError(f"{str(path)!r} has the shape {tuple(array.shape)}, expected {self.shape}")
            self.local[...] = array[slices(self.box)]

        together(self.comm, read)
        return self

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write a ``.npy`` file or a zarr array, every rank its own block; what was there is replaced.

        Raises:
            ArrayError: On every rank, if it cannot be written.
        """
        rank, place = self.comm.Get_rank(), disk.path_of(path, "an array")
        zarr = place.suffix == ".zarr"
        sizes = [{high - low for low, high in self.layout.ranges(axis)} for axis in range(self.ndim)]

        def create() -> None:
            if rank == 0:
                chunks = tuple(max(each) for each in sizes)
                if zarr:
                    disk.create_zarr(place, self.shape, self.dtype.name, chunks)
                else:
                    disk.create_npy(place, self.shape, self.dtype.name)

        def write() -> None:
            if zarr:
                disk.open_zarr(place, "r+")[slices(self.box)] = self.local
            else:
                target = np.load(place, mmap_mode="r+", allow_pickle=False)
                target[slices(self.box)] = self.local
                target.flush()

        together(self.comm, create)
        if not zarr or all(len(each) == 1 for each in sizes):
            together(self.comm, write)
            return
        for turn in range(self.comm.Get_size()):  # blocks share chunks, which only one may write at a time
            together(self.comm, write if turn == rank else lambda: None)


def _numbers_of(numbers: Any, name: str, low: int, high: int) -> tuple[int, ...]:  # noqa: ANN401
    if isinstance(numbers, str | bytes) or not isinstance(numbers, Iterable):
        raise UsageError(f"{name} has a number per axis, got {numbers!r:.60}")
    return tuple(whole_number(each, f"a number of {name}", low, high) for each in numbers)


def _number_type(dtype: Any) -> np.dtype[Any]:  # noqa: ANN401
    try:
        kind: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError):
        kind = np.dtype(object)
    if not is_number(kind):
        raise UsageError(f"an array over ranks has an element type of numbers, got {dtype!r:.60}", "such as float32")
    return kind


def _topology(topology: tuple[int, ...] | None, rank: int, size: int) -> tuple[int, ...]:
    from mpi4py import MPI

    numbers = (-1,) * rank if topology is None else _numbers_of(topology, "a topology", -1, 2**31 - 1)
    if len(numbers) != rank or 0 in numbers:
        raise UsageError(f"a topology has {rank} numbers of ranks, or -1 where MPI decides, got {topology!r:.60}")
    product = int(np.prod([each for each in numbers if each > 0], dtype=np.int64))
    if size % product or (-1 not in numbers and product != size):
        raise UsageError(f"the topology {numbers} does not fit the {size} ranks of its communicator")
    return tuple(MPI.Compute_dims(size, [max(0, each) for each in numbers]))


def together(comm: Any, work: Callable[[], T]) -> T:  # noqa: ANN401
    """Do something on every rank; what fails on one of them is an error on all of them."""
    error: Exception | None = None
    try:
        result = work()
    except Exception as caught:  # noqa: BLE001  (whatever it is, the others must not wait for this rank)
        error = caught
    failures = comm.allgather(None if error is None else _sentence(error))
    if isinstance(error, TilewrightError):
        raise error
    for rank, text in enumerate(failures):
        if text is not None:
            raise ArrayError(f"rank {rank} failed: {text}") from error
    return result


def _sentence(error: Exception) -> str:
    text = str(error).partition("\n")[0]
    return text if isinstance(error, TilewrightError | OSError) else f"{type(error).__name__}: {text}"


@contextmanager
def ending(comm: Any) -> Iterator[None]:  # noqa: ANN401
    """End the job, with a message that names this rank, where what a block does fails: others may wait for it."""
    try:
        yield
    except BaseException as error:
        if comm.Get_size() > 1 and not isinstance(error, SystemExit):
            message = f"tilewright: rank {comm.Get_rank()} of {comm.Get_size()} failed, which ends the job: {error!r}\n"
            sys.stderr.write(message)
            sys.stderr.flush()
            comm.Abort(1)
        raise


def buffer_of(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the bytes of a contiguous array, as messages take them: MPI knows not every element type."""
    return values.reshape(-1).view(np.uint8)


def threads_per_rank(comm: Any, available: int) -> int:  # noqa: ANN401
    """Return a rank's share of its node's processors: all that it may use, where they were dealt out already."""
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(available))
    processors = node.allgather(sorted(allowed))
    shared = sum(set(each) & allowed != set() for each in processors)
    node.Free()
    return max(1, available // shared)
