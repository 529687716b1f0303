"""Arrays over the ranks of MPI, and runs on them: wide halos are exchanged every t steps.

Between two exchanges every rank computes its window on its own, what lies beyond its block a second time. A run's ranks
agree first on what is run, so that a mistake on one of them is an error on all of them, not a wait for ever.
"""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ArrayError, TilewrightError, UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.costs.transfers.network import Exchange, Exchanges, exchanges
from tilewright.distributed import disk
from tilewright.distributed.blocks import Decomposition, Halo, halo
from tilewright.distributed.compute import Computer, expected_seconds, share
from tilewright.distributed.windows import Box, check_cut
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.problem import Problem

_TAG = 2717


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What a rank received during a run.

    Attributes:
        steps: Steps between two exchanges.
        exchanges: Exchanges.
        messages: Messages.
        bytes: Bytes.
    """

    steps: int
    exchanges: int
    messages: int
    bytes: int


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
            UsageError: If the topology does not fit.
        """
        self.shape = tuple(int(extent) for extent in shape)
        self.dtype = np.dtype(dtype)
        self.comm = comm
        self.layout = Decomposition(shape=self.shape, topology=_topology(topology, len(self.shape), comm.Get_size()))
        self.local: npt.NDArray[Any] = np.zeros([high - low for low, high in self.box], self.dtype)
        """This rank's block; it may be written."""
        self.traffic: Traffic | None = None
        """What this rank received during the run that made the array."""

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

    def scatter(self, whole: Any, rank: int = 0) -> "Array":  # noqa: ANN401
        """Deal an array that one rank has to all of them.

        Args:
            whole: The array on that rank; None on the others.
            rank: The rank.

        Returns:
            This array.

        Raises:
            ArrayError: On every rank, if it has another shape.
        """
        there = None
        if self.comm.Get_rank() == rank:
            there = np.shape(whole)
        there = self.comm.bcast(there, root=rank)
        if there != self.shape:
            raise ArrayError(f"the array that rank {rank} scatters has the shape {there}, expected {self.shape}")
        if self.comm.Get_rank() == rank:
            for other in range(self.comm.Get_size()):
                part = np.ascontiguousarray(np.asarray(whole)[_slices(self.layout.block(other))], self.dtype)
                if other == rank:
                    self.local[...] = part
                else:
                    self.comm.Send(part, dest=other, tag=_TAG)
        else:
            self.comm.Recv(self.local, source=rank, tag=_TAG)
        return self

    def gather(self, rank: int = 0) -> npt.NDArray[Any] | None:
        """Return the whole array on one rank, and None on the others."""
        if self.comm.Get_rank() != rank:
            self.comm.Send(np.ascontiguousarray(self.local), dest=rank, tag=_TAG)
            return None
        whole = np.empty(self.shape, self.dtype)
        for other in range(self.comm.Get_size()):
            box = self.layout.block(other)
            if other == rank:
                whole[_slices(box)] = self.local
            else:
                part = np.empty([high - low for low, high in box], self.dtype)
                self.comm.Recv(part, source=other, tag=_TAG)
                whole[_slices(box)] = part
        return whole

    def read(self, path: str | os.PathLike[str]) -> "Array":
        """Read every rank's own block of a ``.npy`` file or a zarr array.

        Returns:
            This array.

        Raises:
            ArrayError: On every rank, if there is none of this shape.
        """

        def read() -> None:
            found = disk.open_array(path)
            if tuple(found.shape) != self.shape:
                raise ArrayError(f"{str(path)!r} has the shape {tuple(found.shape)}, expected {self.shape}")
            self.local[...] = found[_slices(self.box)]

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
                disk.import_zarr().open_array(store=str(place), mode="r+")[_slices(self.box)] = self.local
            else:
                target = np.load(place, mmap_mode="r+", allow_pickle=False)
                target[_slices(self.box)] = self.local
                target.flush()

        together(self.comm, create)
        if not zarr or all(len(each) == 1 for each in sizes):
            together(self.comm, write)
            return
        for turn in range(self.comm.Get_size()):  # blocks share chunks, which only one may write at a time
            together(self.comm, write if turn == rank else lambda: None)


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple(slice(low, high) for low, high in box)


def _topology(asked: tuple[int, ...] | None, rank: int, size: int) -> tuple[int, ...]:
    from mpi4py import MPI

    given = (-1,) * rank if asked is None else tuple(asked)
    if len(given) != rank or any(each < 1 and each != -1 for each in given):
        raise UsageError(f"a topology has {rank} numbers of ranks, or -1 where MPI decides, got {asked!r}")
    known = int(np.prod([each for each in given if each > 0], dtype=np.int64))
    if size % known or (-1 not in given and known != size):
        raise UsageError(f"the topology {given} does not fit the {size} ranks of its communicator")
    return tuple(MPI.Compute_dims(size, [max(0, each) for each in given]))


def together(comm: Any, work: Callable[[], None]) -> None:  # noqa: ANN401
    """Do something on every rank; what fails on one of them is an error on all of them.

    Raises:
        TilewrightError: If it fails anywhere.
    """
    error: Exception | None = None
    try:
        work()
    except (TilewrightError, OSError, ValueError, KeyError) as caught:
        error = caught
    told = comm.allgather(None if error is None else str(error).partition("\n")[0])
    if isinstance(error, TilewrightError):
        raise error
    for rank, text in enumerate(told):
        if text is not None:
            raise ArrayError(f"rank {rank} failed: {text}")


def threads_per_rank(comm: Any, available: int) -> int:  # noqa: ANN401
    """Return a rank's share of its node's processors: all that it may use, where they were dealt out already."""
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(range(available))
    every = node.allgather(sorted(allowed))
    shared = sum(set(each) & allowed != set() for each in every)
    node.Free()
    return max(1, available // shared)


def choose(
    problem: Problem, layout: Decomposition, machine: Machine, network: tuple[float, float], computer: Computer
) -> Exchanges:
    """Choose the steps between two exchanges by the model of :mod:`tilewright.costs.transfers.network`.

    Args:
        problem: What is computed on the whole grid.
        layout: Who has which cells.
        machine: A node.
        network: Latency in seconds, and bytes per second.
        computer: What computes.
    """
    level_bytes = problem.itemsize * sum(map(problem.program.history, problem.program.updated))
    own = share(machine, computer.threads)

    def counted(steps: int) -> tuple[Exchange, tuple[int, ...]]:
        # A rank in the middle has the largest halo; where blocks differ, the first ones are the largest.
        every = {rank: halo(problem, layout, rank, steps) for rank in sorted({0, layout.size // 2, layout.size - 1})}
        rank, busiest = max(every.items(), key=lambda each: (_received(each[0], each[1]), -each[0]))
        one = Exchange(
            messages=len(busiest.parts.keys() - {rank}),
            cells=_received(rank, busiest),
            window=busiest.window.problem.shape,
        )
        return one, tuple(high - low for low, high in layout.block(rank))

    def seconds(shape: tuple[int, ...], steps: int) -> float:
        part = Problem(
            program=problem.program, shape=shape, steps=steps, dtype=problem.dtype, boundaries=problem.boundaries
        )
        return expected_seconds(part, own, computer.target.backend)

    return exchanges(problem.steps, level_bytes, network, counted, seconds)


def _received(rank: int, found: Halo) -> int:
    return sum(part.cells for owner, parts in found.parts.items() if owner != rank for part in parts)


def run(
    problem: Problem,
    arrays: Mapping[str, Sequence[Array]],
    machine: Machine,
    computer: Computer,
    steps: int | None = None,
) -> dict[str, tuple[Array, ...]]:
    """Run a problem on the ranks of its arrays; every rank calls this.

    Args:
        problem: What is computed on the whole grid.
        arrays: Per field its levels, newest first; missing older ones are those of the oldest given.
        machine: A node, with what is known of the network.
        computer: What computes.
        steps: Steps between two exchanges; the model's choice by default.

    Returns:
        Per updated field every level that a next run needs, newest first.

    Raises:
        UsageError: On every rank, if the grid cannot be cut, or the ranks do not run the same thing.
    """
    first = next(iter(arrays.values()))[0]
    comm, layout = first.comm, first.layout
    _agree(problem, arrays, computer, steps)
    check_cut(problem, tuple(axis for axis, ranks in enumerate(layout.topology) if ranks > 1))
    network = machine.network_latency.value, machine.network_bandwidth.value
    if steps is None:
        chosen = choose(problem, layout, machine, network, computer).steps if comm.Get_rank() == 0 else None
        steps = int(comm.bcast(chosen, root=0))
    try:
        return _advance(problem, arrays, computer, max(1, min(steps, problem.steps)))
    except BaseException as error:
        if comm.Get_size() > 1 and not isinstance(error, SystemExit):
            told = f"tilewright: rank {comm.Get_rank()} of {comm.Get_size()} failed, which ends the job: {error!r}\n"
            sys.stderr.write(told)
            sys.stderr.flush()
            comm.Abort(1)
        raise


def _agree(problem: Problem, arrays: Mapping[str, Sequence[Array]], computer: Computer, steps: int | None) -> None:
    first = next(iter(arrays.values()))[0]
    every = [each for levels in arrays.values() for each in levels]
    same = all(each.layout == first.layout and each.comm == first.comm for each in every)
    numbers = {name: np.ravel(value).astype(complex).tolist() for name, value in computer.scalars.items()}
    told = first.comm.allgather(fingerprint(problem, numbers, computer.strict, steps) if same else None)
    if None in told:
        raise UsageError("the arrays of a run have one communicator and one topology, and these have not")
    if len(set(told)) > 1:
        other = next(rank for rank, each in enumerate(told) if each != told[0])
        raise UsageError(f"the ranks of a run run the same thing, and rank {other} has other arguments than rank 0")


def _advance(
    problem: Problem, arrays: Mapping[str, Sequence[Array]], computer: Computer, steps: int
) -> dict[str, tuple[Array, ...]]:
    first = next(iter(arrays.values()))[0]
    ghosts = _Ghosts(problem, first, steps)
    program, shape = problem.program, ghosts.own.window.problem.shape

    def grids(names: Sequence[str]) -> dict[str, list[npt.NDArray[Any]]]:
        return {name: [np.zeros(shape, problem.dtype) for _ in range(program.history(name))] for name in names}

    current, spare = grids(program.fields), grids(program.updated)
    inner = ghosts.own.window.inner
    for name, levels in current.items():
        for age, grid in enumerate(levels):
            grid[inner] = arrays[name][min(age, len(arrays[name]) - 1)].local
    constant = [grid for name in program.fields if name not in program.updated for grid in current[name]]
    # No step at all, too, gives the cells that a fixed boundary holds one value on every level.
    for done in range(0, max(1, problem.steps), steps):
        moving = [grid for name in program.updated for grid in current[name]]
        ghosts.exchange(moving if done else moving + constant)
        now = min(steps, problem.steps - done)
        part = ghosts.own.window.problem
        computer.run(
            replace(part, steps=now),
            current,
            spare,
            done,
        )
        for name in program.updated:
            current[name], spare[name] = spare[name], current[name]
    found: dict[str, tuple[Array, ...]] = {}
    for name in program.updated:
        made: list[Array] = []
        for grid in current[name]:
            result = Array(problem.shape, problem.dtype, comm=first.comm, topology=first.topology)
            result.local[...] = grid[inner]
            result.traffic = Traffic(steps=steps, exchanges=ghosts.count, messages=ghosts.messages, bytes=ghosts.bytes)
            made.append(result)
        found[name] = tuple(made)
    return found


class _Ghosts:
    """Exchanges the halos of one rank's windows."""

    def __init__(self, problem: Problem, like: Array, steps: int) -> None:
        self._comm, self._rank = like.comm, like.comm.Get_rank()
        layout = like.layout
        every = [halo(problem, layout, rank, steps) for rank in range(layout.size)]
        self.own = every[self._rank]
        self.count = self.messages = self.bytes = 0
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

    def exchange(self, grids: Sequence[npt.NDArray[Any]]) -> None:
        """Fill the halos of some windows, one message from each rank that has some of them."""
        dtype = grids[0].dtype
        coming = {
            other: np.empty(len(grids) * sum(_cells(place) for place in places), dtype)
            for other, places in self._given.items()
        }
        requests = [self._comm.Irecv(buffer, source=other, tag=_TAG) for other, buffer in coming.items()]
        going = {
            other: np.concatenate([grid[place].ravel() for grid in grids for place in places])
            for other, places in self._wanted.items()
        }
        requests += [self._comm.Isend(buffer, dest=other, tag=_TAG) for other, buffer in going.items()]
        for grid in grids:
            for target, source in self._copied:
                grid[target] = grid[source]
        for request in requests:
            request.Wait()
        for other, buffer in coming.items():
            at = 0
            for grid in grids:
                for place in self._given[other]:
                    count = _cells(place)
                    grid[place] = buffer[at : at + count].reshape(grid[place].shape)
                    at += count
            self.messages += 1
            self.bytes += buffer.nbytes
        self.count += 1


def _shifted(place: tuple[slice, ...], start: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(each.start + by, each.stop + by) for each, by in zip(place, start, strict=True))


def _cells(place: tuple[slice, ...]) -> int:
    return int(np.prod([each.stop - each.start for each in place], dtype=np.int64))
