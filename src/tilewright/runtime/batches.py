"""Runs of many grids of one shape: each by one thread, which copies it into memory of its own, or one after the other.

What a :class:`tilewright.runtime.session.Session` does to one grid, its copies and calls, is written down once;
compiled code then does it to every grid, see :mod:`tilewright.codegen.batches`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.base.constants import CACHE_LINE, PAGE
from tilewright.base.intmath import round_up
from tilewright.codegen.batches import CallEntry, CopyEntry, Entry, list_length, listed
from tilewright.programs.stencil.forms import Extended
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.call import by_cells
from tilewright.runtime.cpu import CompiledKernel
from tilewright.runtime.kernels import CpuKernel, Kernel
from tilewright.runtime.memory import Array, Workspace, check_memory
from tilewright.runtime.session import SHARED, Inputs, Session
from tilewright.schedules.code import CpuSchedule

_AXES = 3  # axes that an entry of the list has room for


def run_batch(  # noqa: PLR0913
    kernel: Kernel,
    problem: Problem,
    inputs: Inputs,  # arrays have an axis more in front: of that many grids, or of one for all
    count: int,
    threads: int,
    *,
    deep: bool = False,  # return every level that a next run needs, not the newest alone
    out: Mapping[str, Sequence[Array]] | None = None,
) -> dict[str, tuple[Array, ...]]:
    """Run all steps of every grid; returns by updated field its levels, newest first, of shape (count, grid)."""
    program = problem.program
    ages = {field: program.history(field) if deep else 1 for field in program.updated}
    check_memory(sum(ages.values()) * count * problem.cells * problem.itemsize)
    shape = (count, *problem.shape)
    levels = {
        field: tuple(SHARED.lend_grid(shape, problem.dtype) for _ in range(most)) if out is None else tuple(out[field])
        for field, most in ages.items()
    }
    schedule = kernel.plan.schedule
    if isinstance(kernel, CpuKernel) and isinstance(schedule, CpuSchedule) and schedule.batch:
        arrays = {
            field: tuple(by_cells(np.asarray(each), problem.dtype) for each in versions)
            for field, versions in inputs.arrays.items()
        }
        _together(kernel, problem, replace(inputs, arrays=arrays), levels, threads)
        return levels
    for number in range(count):
        part = {
            field: tuple(each[number] if each.ndim > program.rank else each for each in versions)
            for field, versions in inputs.arrays.items()
        }
        session = kernel.start(problem, replace(inputs, arrays=part), threads)
        try:
            session.advance(problem.steps)
            for age in range(max(ages.values())):
                session.results({field: levels[field][age][number] for field in levels if age < ages[field]}, age)
        finally:
            session.close()
    return levels


def _together(
    kernel: CpuKernel, problem: Problem, inputs: Inputs, results: Mapping[str, tuple[Array, ...]], threads: int
) -> None:
    list_ = _List(kernel.compiled, problem, inputs, kernel.plan.block, threads)
    try:
        list_.advance(problem.steps)
        for age in range(max(map(len, results.values()))):
            list_.results_into({field: levels[age] for field, levels in results.items() if age < len(levels)}, age)
        count = len(next(iter(results.values()))[0])
        list_.perform(count)
    finally:
        list_.close()


class _List(Session):
    """A session of the first grid that writes down what it would do, for all of them."""

    def __init__(
        self, compiled: CompiledKernel, problem: Problem, inputs: Inputs, halo: Extended | None, workers: int
    ) -> None:
        self._workers, self._rank = workers, problem.program.rank
        self._entries: list[Entry] = []
        self._pointers: list[int] = []
        self._own_sizes: list[int] = []
        self._given: list[Array] = []
        self._memory = _Apart(workers)
        firsts = {field: tuple(map(self._first_of, versions)) for field, versions in inputs.arrays.items()}
        super().__init__(compiled, problem, replace(inputs, arrays=firsts), 1, halo=halo, workspace=self._memory)

    def _first_of(self, array: Array) -> "_FirstGrid":
        """Return the first grid of the caller's array, or the only one, which knows whose it is."""
        first = (array[0] if array.ndim > self._rank else array).view(_FirstGrid)
        first.number = len(self._given)
        self._given.append(array)
        return first

    def results_into(self, out: Mapping[str, Array], age: int) -> None:
        """Write down that results are copied to the first grid of these, and so on."""
        self.results({field: self._first_of(each) for field, each in out.items()}, age)

    def perform(self, count: int) -> None:
        scalars, (constants, _) = self._table.ctypes.data, self._arguments
        own = self._memory.block
        addresses = [self._memory.start + worker * own for worker in range(self._workers)]
        addresses += [each.ctypes.data for each in self._given]
        calls = [pointer + worker * own for worker in range(self._workers) for pointer in self._pointers]
        rows = [
            pointer if number < len(constants) - 1 else pointer + worker * own
            for worker in range(self._workers)
            for number, pointer in enumerate(constants)
        ]
        # A call's pointers follow the arrays'; its sizes follow the list.
        behind, after = len(addresses), list_length(len(self._entries))
        entries = [
            CallEntry(behind + entry.field, len(self._pointers), after + entry.size)
            if isinstance(entry, CallEntry)
            else entry
            for entry in self._entries
        ]
        head = [self._workers, count, len(entries), len(constants)]
        sizes = [*head, *listed(entries), *self._own_sizes]
        self._compiled.invoke([*addresses, *calls], sizes, scalars, rows)

    def _invoke(
        self,
        starts: Sequence[int],
        sizes: Sequence[int],
        scalars: int,  # noqa: ARG002
        constants: Sequence[int],  # noqa: ARG002
        further: Sequence[int],  # noqa: ARG002
    ) -> None:
        self._entries.append(CallEntry(len(self._pointers), 0, len(self._own_sizes)))
        self._pointers += starts
        self._own_sizes += sizes

    def _move(self, target: Array, values: Array) -> None:
        if not target.size:
            return
        if target.ndim > _AXES:
            for into, row in zip(target, values, strict=True):
                self._move(into, row)
            return
        size, missing = target.itemsize, _AXES - target.ndim
        starts = [number for each in (target, values) for number in self._place(each)]
        strides = [[*[0] * missing, *(stride // size for stride in each.strides)] for each in (target, values)]
        self._entries.append(CopyEntry(*starts, *[1] * missing, *target.shape, *strides[0], *strides[1]))

    def _restart(self) -> None:
        self._memory.forget()
        super()._restart()

    def _aside(self, values: Array) -> Array:
        room = self._memory.aside(values)
        self._move(room, values)
        return room

    def _place(self, array: Array) -> tuple[int, int, int, int]:
        """Return where an array's address is found: place, step per worker, first element, and step per grid."""
        address, size = array.ctypes.data, array.itemsize
        within = address - self._memory.start
        if 0 <= within < self._memory.block:
            return 0, 1, within // size, 0
        if not isinstance(array, _FirstGrid) or not np.may_share_memory(array, self._given[array.number]):
            raise ValueError("an array that is none of the batch's")
        whole = self._given[array.number]
        step = whole.strides[0] if whole.ndim > self._rank else 0
        return self._workers + array.number, 0, (address - whole.ctypes.data) // size, step // size


class _FirstGrid(np.ndarray[Any, Any]):
    """A part of the first grid of a caller's array."""

    number = 0  # of the array among the caller's

    def __array_finalize__(self, whole: Array | None) -> None:
        self.number = getattr(whole, "number", 0)


class _Apart(Workspace):
    """Memory of several workers, each the same distance from the next; a session is given the first one's."""

    def __init__(self, workers: int) -> None:
        super().__init__()
        self._workers = workers
        self.start = self.block = self._size = self._used = 0

    def take(self, size: int) -> Array:
        """Take as much for every worker, and as much again for what is put aside."""
        self.block = 2 * round_up(size, PAGE) + PAGE // 2
        self._buffer = SHARED.take(self.block * self._workers)
        self.start, self._size = self._buffer.ctypes.data, round_up(size, PAGE)
        self.forget()
        return self._buffer[:size]

    def forget(self) -> None:
        self._used = self._size

    def aside(self, like: Array) -> Array:
        room: Array = np.ndarray(like.shape, like.dtype, self._buffer, self._used)
        self._used = round_up(self._used + room.nbytes, CACHE_LINE)
        return room

    def give(self, buffer: Array) -> None:  # noqa: ARG002
        SHARED.give(self._buffer)
