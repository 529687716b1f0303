"""Runs on arrays over the ranks of MPI: wide halos are exchanged every t steps.

Between two exchanges every rank computes its window on its own, what lies beyond its block a second time; or, where the
model says that it pays, its interior while messages travel, and strips along its sides afterwards. A run's ranks agree
first on what is run, so that a mistake on one of them is an error on all of them, not a wait for ever.
"""

import functools
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.fingerprint import fingerprint
from tilewright.base.units import format_bytes, format_seconds, format_shape
from tilewright.costs.transfers import Exchange, Exchanges, Link, exchanges, strips
from tilewright.distributed.checkpoints import Checkpoints
from tilewright.distributed.compute import Computer, expected_seconds, share
from tilewright.distributed.ghosts import Exchange as Messages
from tilewright.distributed.ghosts import Ghosts, moving, packed_cells
from tilewright.distributed.points import GridPoints, fingerprint_of
from tilewright.distributed.rank_arrays import Array, T, Traffic, ending, together
from tilewright.distributed.windows import Decomposition, Halo, Window, check_cut, depths, halo, slices, split
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.forms import wrapped_axes
from tilewright.programs.stencil.points import Index, inside, renumbered
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.kernels import NumpySession
from tilewright.runtime.memory import Array as Grid
from tilewright.runtime.points import Look, PointData
from tilewright.runtime.session import SHARED, Session

LOGGER = logging.getLogger("tilewright")
Levels = Mapping[str, Sequence[Array]]
_EXCHANGE_SECONDS = 5e-4
"""Seconds of an exchange beside its messages: calls, kernels that start again, ranks that wait for each other. Two of
wave3d on 256x192x192 took 0.6 ms for an exchange of 2.9 MB, two of heat2d on 4096x4096 1.1 ms for one of 1 MB."""
_TABLE_BYTES = 2**26  # bytes of what receivers recorded from which on ranks hand it to each other


@dataclass(frozen=True, slots=True, kw_only=True)
class RankRun:
    """A run on the ranks of its arrays."""

    problem: Problem  # what is computed on the whole grid
    arrays: Levels  # per field its levels, newest first; missing older ones are those of the oldest given
    points: PointData | None = None
    steps: int | None = None  # between two exchanges; the model's choice by default
    overlapped: bool | None = None  # messages travel while the interior is computed; the model's choice by default
    checkpoints: Checkpoints | None = None

    @property
    def first(self) -> Array:
        """One of its arrays."""
        return next(iter(self.arrays.values()))[0]

    @property
    def key(self) -> str:
        """A fingerprint of what is computed, scalars aside."""
        return fingerprint(self.problem, fingerprint_of(self.points))


def looked(arrays: Levels, comm: Any, work: Callable[[Look], T]) -> T:  # noqa: ANN401
    """Do what looks at cells of which each rank has some: first to note them, then with what one message to all says.

    Every rank calls this.
    """
    queries: list[tuple[str, Index]] = []

    def ask(field: str, cells: Index) -> Grid:
        queries.append((field, cells))
        return np.zeros(len(cells), arrays[field][0].dtype)

    def own(field: str, cells: Index) -> tuple[Index, Grid]:
        array = arrays[field][0]
        where = np.flatnonzero(inside(cells, array.shape, array.box))
        return where, array.local.flat[renumbered(cells[where], array.shape, array.box)]

    together(comm, lambda: work(ask))
    key = fingerprint([(field, cells.tolist()) for field, cells in queries])
    every = comm.allgather((key, [own(field, cells) for field, cells in queries]))
    if len({each for each, _ in every}) > 1:
        raise UsageError("the ranks of a run have the same sources and receivers, and these have not")
    answers = iter(zip(*(parts for _, parts in every), strict=True))

    def answer(field: str, cells: Index) -> Grid:
        result = np.zeros(len(cells), arrays[field][0].dtype)
        for where, values in next(answers):
            result[where] = values
        return result

    return work(answer)


@functools.lru_cache(maxsize=64)  # finding a choice takes the model as long as a short run takes
def choose(  # noqa: PLR0913
    problem: Problem,
    layout: Decomposition,
    machine: Machine,
    threads: int,  # of a rank
    backend: str,
    steps: int | None = None,  # by default the model's choice
    *,
    overlapped: bool | None = None,  # False where messages may not travel while the interior is computed
) -> Exchanges:
    """Choose the steps between two exchanges by the model of :mod:`tilewright.costs.transfers`."""
    levels = sum(map(problem.program.history, problem.program.updated))
    own = share(machine, threads)
    wraps = [axis in wrapped_axes(problem) for axis in range(len(problem.shape))]
    block = tuple(high - low for low, high in layout.block(0))

    def counted(steps: int) -> tuple[Exchange, tuple[int, ...]]:
        # A rank in the middle has the largest halo; where blocks differ, the first ones are the largest.
        every = {rank: halo(problem, layout, rank, steps) for rank in sorted({0, layout.size // 2, layout.size - 1})}
        rank, busiest = max(every.items(), key=lambda each: (_received_cells(each[0], each[1]), -each[0]))
        exchange = Exchange(
            messages=sum(len(parts) for owner, parts in busiest.parts.items() if owner != rank),
            cells=_received_cells(rank, busiest),
            window=busiest.window.problem.shape,
            packed=packed_cells(busiest, rank, problem.itemsize),
        )
        return exchange, tuple(high - low for low, high in layout.block(rank))

    stays = not problem.points and not any(
        wrap and ranks == 1 for wrap, ranks in zip(wraps, layout.topology, strict=True)
    )

    @functools.cache
    def apart(shape: tuple[int, ...], steps: int, copies: bool = True) -> float:
        part = replace(problem, shape=shape, steps=steps)
        return expected_seconds(part, own, backend, copies=copies)

    def seconds(shape: tuple[int, ...], steps: int) -> float:
        return apart(shape, steps, not stays)

    def around(steps: int) -> int | None:
        return None if overlapped is False else strips(block, layout.topology, depths(problem, steps), wraps)

    link = Link(
        latency=machine.network_latency.value,
        bandwidth=machine.network_bandwidth.value,
        packing=6.0 / own.dram_bandwidth.value,  # a value is read, fetched and written twice
        beside=_EXCHANGE_SECONDS,
    )
    size = levels * problem.itemsize
    return exchanges(problem.steps, size, link, counted, seconds, apart, fixed=steps, around=around, levels=levels)


def _received_cells(rank: int, halo: Halo) -> int:
    return sum(part.cells for owner, parts in halo.parts.items() if owner != rank for part in parts)


def run(job: RankRun, machine: Machine, computer: Computer) -> tuple[dict[str, tuple[Array, ...]], dict[str, Grid]]:
    """Run a job; every rank of its arrays calls this, and every one raises the same errors.

    Returns per updated field every level that a next run needs, newest first; and by field what receivers recorded,
    the same on every rank.
    """
    comm, layout, problem = job.first.comm, job.first.layout, job.problem
    _agree(job, computer)
    check_cut(problem, tuple(axis for axis, ranks in enumerate(layout.topology) if ranks > 1))
    points = None
    if job.points is not None:
        data = job.points
        points = looked(job.arrays, comm, lambda look: GridPoints(problem, data, look))
    decision = together(comm, lambda: _decision(job, machine, computer) if comm.Get_rank() == 0 else None)
    steps, overlapped = comm.bcast(decision, root=0)
    return _Advance(job, computer, points, steps, overlapped=overlapped).run()


def _decision(job: RankRun, machine: Machine, computer: Computer) -> tuple[int, bool]:
    problem, layout = job.problem, job.first.layout
    if job.steps is not None and job.overlapped is not None:
        return max(1, min(job.steps, problem.steps)), job.overlapped
    arguments = computer.threads, computer.target.backend, job.steps
    chosen = choose(problem, layout, machine, *arguments, overlapped=job.overlapped)
    overlapped = chosen.overlapped if job.overlapped is None else job.overlapped
    LOGGER.info(
        "%s %s, %d steps, %s on %s ranks: an exchange every %d steps, %s; a rank receives %d messages, %s; "
        "%s computed twice, %s expected",
        problem.program.name, format_shape(problem.shape), problem.steps, problem.dtype, format_shape(layout.topology),
        chosen.steps, "while the interior is computed" if overlapped else "before each window is computed",
        chosen.messages, format_bytes(chosen.bytes), f"{chosen.redundant - 1.0:.0%}", format_seconds(chosen.seconds),
    )  # fmt: skip
    return max(1, min(chosen.steps, problem.steps)), overlapped


def _agree(job: RankRun, computer: Computer) -> None:
    first = job.first
    arrays = [each for levels in job.arrays.values() for each in levels]
    same = all(each.layout == first.layout and each.comm == first.comm for each in arrays)
    checkpoints = None if job.checkpoints is None else job.checkpoints.key
    key = fingerprint(job.key, computer.numbers, computer.strict, job.steps, job.overlapped, checkpoints)
    keys = first.comm.allgather(key if same else None)
    if None in keys:
        raise UsageError("the arrays of a run have one communicator and one topology, and these have not")
    if len(set(keys)) > 1:
        other = next(rank for rank, each in enumerate(keys) if each != keys[0])
        raise UsageError(f"the ranks of a run run the same thing, and rank {other} has other arguments than rank 0")


class _Advance:
    """A run under way on one rank."""

    def __init__(
        self, job: RankRun, computer: Computer, points: GridPoints | None, steps: int, *, overlapped: bool
    ) -> None:
        first, problem = job.first, job.problem
        self._job, self._computer, self._points, self._steps = job, computer, points, steps
        self._comm = first.comm
        self._ghosts = Ghosts(problem, first, steps)
        self._own = self._ghosts.own.window
        parts = split(problem, first.layout, first.comm.Get_rank(), steps) if overlapped else None
        self._interior = None if parts is None else self._recorded(parts.interior)
        self._rest = [self._recorded(each) for each in ((self._own,) if parts is None else parts.strips)]
        self._key = fingerprint(job.key, computer.numbers)
        self._traces = {} if points is None else points.traces
        self._tables: dict[str, list[Grid]] = {}
        own = () if points is None else points.window(self._own.span, self._own.box).receivers
        self._columns = {each.field: each.columns for each in own}
        self._first_row = 0
        self._state: Session | NumpySession | None = None

    def _recorded(self, window: Window) -> tuple[Window, PointData | None]:
        return window, None if self._points is None else self._points.window(window.span, window.box)

    def run(self) -> tuple[dict[str, tuple[Array, ...]], dict[str, Grid]]:
        try:
            return self._advanced(), self._traces
        finally:
            if self._state is not None:
                self._state.close()

    def _advanced(self) -> dict[str, tuple[Array, ...]]:
        problem, program = self._job.problem, self._job.problem.program
        inner, checkpoints = self._own.inner, self._job.checkpoints
        with ending(self._comm):
            current, spare = self._opened()
        still = [grid for name in program.fields if name not in program.updated for grid in current[name]]
        moved = [grid for name in program.updated for grid in current[name]]
        begin = 0
        if checkpoints is not None:
            blocks = [grid[inner] for grid in moved]
            begin = self._first_row = checkpoints.begin(self._key, self._job.first, blocks, self._traces)
        # No step at all, too, gives the cells that a fixed boundary holds one value on every level.
        for start in range(begin, max(1, problem.steps), self._steps):
            now = min(self._steps, problem.steps - start)
            with ending(self._comm):
                messages = self._ghosts.begin(moved if start > begin else moved + still)
                if self._state is None:
                    self._compute_apart(messages, current, spare, now, start)
                else:
                    self._ghosts.finish(messages)
                    if start == begin:
                        self._state.settle(begin)
                    self._state.advance(now)
                    current = self._shown()
                moved = [grid for name in program.updated for grid in current[name]]
            if checkpoints is not None and checkpoints.due(start + now, self._steps, problem.steps):
                with ending(self._comm):
                    self._hand_over(start + now)
                checkpoints.keep(start + now, self._job.first, [grid[inner] for grid in moved], self._traces)
        with ending(self._comm):
            self._hand_over(problem.steps)
            return {name: tuple(map(self._result, current[name])) for name in program.updated}

    def _opened(self) -> tuple[dict[str, list[Grid]], dict[str, list[Grid]]]:
        """Return grids that hold this rank's block of every level, and grids for results where they need others."""
        # They are where a kernel keeps the window, if it may be changed there; halos are then received into them.
        problem, program, arrays = self._job.problem, self._job.problem.program, self._job.arrays
        window = self._own.problem
        if self._points is None and self._interior is None:
            self._state = self._computer.resident(window, problem.steps)

        def grids(names: Sequence[str]) -> dict[str, list[Grid]]:
            return {
                name: [SHARED.lend_grid(window.shape, problem.dtype) for _ in range(program.history(name))]
                for name in names
            }

        # Every cell of these is in some rank's block; pages of the spare ones are taken once they are needed.
        current, spare = (grids(program.fields), grids(program.updated)) if self._state is None else (self._shown(), {})
        for name, levels in current.items():
            for age, grid in enumerate(levels):
                grid[self._own.inner] = arrays[name][min(age, len(arrays[name]) - 1)].local
        return current, spare

    def _shown(self) -> dict[str, list[Grid]]:
        state, program = self._state, self._job.problem.program
        assert state is not None  # noqa: S101  (else there is nothing to see)
        return {name: [state.newest(name, age) for age in range(program.history(name))] for name in program.fields}

    def _result(self, grid: Grid) -> Array:
        ghosts, block = self._ghosts, grid[self._own.inner]
        result = self._job.first.holding(SHARED.lend_grid(block.shape, self._job.problem.dtype))
        result.local[...] = block
        result.traffic = Traffic(
            steps=self._steps,
            exchanges=ghosts.count,
            messages=ghosts.messages,
            bytes=ghosts.bytes,
            overlapped=self._interior is not None,
        )
        return result

    def _compute_apart(
        self, messages: Messages, current: dict[str, list[Grid]], spare: dict[str, list[Grid]], now: int, start: int
    ) -> None:
        """Compute some steps in memory apart from the grids, the interior while messages travel if there is one."""
        table = {} if self._points is None else self._points.table(start, now)
        if self._interior is not None:
            with moving(messages):
                self._compute(self._interior, current, spare, now, start, table)
        self._ghosts.finish(messages)
        for each in self._rest:
            self._compute(each, current, spare, now, start, table)
        for name, grids in spare.items():
            current[name], spare[name] = grids, current[name]
        if self._points is None:
            return
        for field, values in table.items():
            self._tables.setdefault(field, []).append(values[:, self._columns[field]])
        if sum(each.nbytes for each in table.values()) // max(1, now) * (start + now - self._first_row) > _TABLE_BYTES:
            self._hand_over(start + now)

    def _compute(
        self,
        part: tuple[Window, PointData | None],
        current: Mapping[str, Sequence[Grid]],
        spare: Mapping[str, Sequence[Grid]],
        now: int,
        start: int,
        table: Mapping[str, Grid],
    ) -> None:
        window, points = part
        place = slices(window.span, self._own.span)
        arrays = {name: [grid[place] for grid in levels] for name, levels in current.items()}
        whole = window.span == self._own.span
        results: Mapping[str, Sequence[Grid]] = spare
        if not whole:
            results = {
                name: [SHARED.lend_grid(window.problem.shape, window.problem.dtype) for _ in grids]
                for name, grids in spare.items()
            }
        self._computer.run(replace(window.problem, steps=now), arrays, results, start, points, table)
        if not whole:
            for name, grids in spare.items():
                for grid, values in zip(grids, results[name], strict=True):
                    grid[place][window.inner] = values[window.inner]

    def _hand_over(self, end: int) -> None:
        """Give every rank what receivers recorded on the others since it was last done, and take its sums."""
        points = self._points
        if points is None or end == self._first_row:
            return
        first, steps = self._first_row, end - self._first_row
        table = points.table(first, steps)
        tables = {field: (self._columns[field], np.concatenate(parts)) for field, parts in self._tables.items()}
        for each in self._comm.allgather(tables):
            for field, (columns, values) in each.items():
                table[field][:, columns] = values
        points.finish(table, first)
        self._tables, self._first_row = {}, end
