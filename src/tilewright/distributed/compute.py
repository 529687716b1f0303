"""Windows computed by the ordinary way from a problem to its kernel: planned, compiled and kept as any run is."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from tilewright.costs.time import copy_seconds, whole_seconds
from tilewright.driver import prepare
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.plan import Target
from tilewright.programs.stencil.boundaries import Sides
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime import kernels
from tilewright.runtime.kernels import CpuKernel, Kernel, NumpyKernel, NumpySession, State
from tilewright.runtime.memory import Array, Workspace, copy_jobs, layout, spread
from tilewright.runtime.points import PointData
from tilewright.runtime.session import Inputs, Session
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.choice import choose_tiling
from tilewright.tuning.stencil import on_machine


class Prepare(Protocol):
    """What makes a problem's kernel: :func:`tilewright.driver.prepare`, or what remembers its results."""

    def __call__(
        self, problem: Problem, target: Target, tiling: Tiling | str | None, *, strict: bool, copies: bool = True
    ) -> Kernel:
        """Return the kernel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turns:
    """Calls between the parts of a window that use its arrays."""

    read: Callable[[], None]  # called once the arrays have been read
    wait: Callable[[], None]  # called before the results are written
    rows: slice  # of the window, that are written


@dataclass(slots=True, kw_only=True)
class Computer:
    """Computes windows of one run, one at a time."""

    target: Target
    threads: int
    tiling: Tiling | str | None  # as asked for; None for the planner's choice
    strict: bool  # bit-equal to the untiled order of operations
    scalars: Mapping[str, Any]  # values by name
    make: Prepare = prepare  # what makes kernels
    _kernels: dict[tuple[tuple[Sides, ...], bool], Kernel] = field(default_factory=dict, init=False)
    _current: tuple[Kernel, Workspace] | None = field(default=None, init=False)

    @property
    def numbers(self) -> dict[str, list[complex]]:
        """The scalars, to be fingerprinted."""
        return {name: np.ravel(value).astype(complex).tolist() for name, value in self.scalars.items()}

    def kernel(self, problem: Problem, *, copies: bool = True) -> Kernel:
        """Return the kernel of a window; windows that differ in extents and steps alone share one."""
        key = problem.boundaries, copies
        if key not in self._kernels:
            self._kernels[key] = self.make(
                replace(problem, part=None), self.target, self.tiling, strict=self.strict, copies=copies
            )
        return self._kernels[key]

    def copies(self, problem: Problem) -> bool:
        """Whether windows are copied to where their kernel keeps them, and back, whichever kernel that is."""
        return self.target.backend != "c" or max(map(problem.program.history, problem.program.updated)) > 1

    def run(  # noqa: PLR0913
        self,
        problem: Problem,
        arrays: Mapping[str, Sequence[Array]],  # by field its levels, newest first; they are only read
        results: Mapping[str, Sequence[Array]],  # by updated field as many levels as are wanted, newest first
        start: int = 0,  # steps of the run before these
        points: PointData | None = None,
        table: Mapping[str, Array] = {},  # for what receivers record, see :meth:`GridPoints.table`
        *,
        turns: Turns | None = None,  # with them, the window is copied, so that others may use the arrays meanwhile
    ) -> None:
        """Compute a window."""
        # Only one level of results can be written by a kernel itself; else both are copied, whatever the family.
        copied = turns is not None or max(map(len, results.values())) > 1
        kernel = self.kernel(problem, copies=not copied)
        workspace = self._workspace(kernel)
        first = {name: levels[0] for name, levels in results.items()}
        inputs = Inputs(
            arrays=arrays, scalars=self.scalars, out=first, points=points, traces=table, first=start, traced_from=start
        )
        if isinstance(kernel, CpuKernel) and not copied:
            kernels.execute(kernel.compiled, problem, inputs, self.threads, workspace, kernel.halo(problem))
        else:
            started = (problem, inputs, self.threads)
            state = kernel.start(*started, workspace) if isinstance(kernel, CpuKernel) else kernel.start(*started)
            self._advance(state, problem.steps, results, turns)

    def resident(self, problem: Problem, steps: int) -> Session | NumpySession | None:
        """Open a window that its kernel keeps, to be filled, advanced and changed; None where that cannot be."""
        kernel, whole = self.kernel(problem, copies=False), replace(problem, steps=steps)
        inputs = Inputs(arrays={}, scalars=self.scalars)
        if isinstance(kernel, NumpyKernel):
            return kernel.start(whole, inputs, self.threads)
        # What devices and periodic copies keep cannot be changed from outside.
        if not isinstance(kernel, CpuKernel) or (
            kernel.plan.block and (kernel.plan.block.wider or kernel.plan.computed.program.once)
        ):
            return None
        return kernel.start(whole, inputs, self.threads)

    def _advance(self, state: State, steps: int, results: Mapping[str, Sequence[Array]], turns: Turns | None) -> None:
        rows = slice(None) if turns is None else turns.rows
        try:
            if turns is not None:
                turns.read()
            state.advance(steps)
            if turns is not None:
                turns.wait()
            pairs = [
                (target[rows], state.newest(name, age)[rows])
                for name, levels in results.items()
                for age, target in enumerate(levels)
            ]
            spread([job for pair in pairs for job in copy_jobs(*pair, self.threads)], self.threads)
        finally:
            state.close()

    def _workspace(self, kernel: Kernel) -> Workspace:
        """Memory that the kernel before this one left, unless it was another one, whose memory goes back."""
        if self._current is None or self._current[0] is not kernel:
            self._current = (kernel, Workspace())
        return self._current[1]


def session_bytes(kernel: Kernel, problem: Problem, threads: int) -> int:
    """Return the memory that a run of a kernel takes, its inputs and results aside."""
    if not isinstance(kernel, CpuKernel):
        return (
            sum(problem.program.history(name) + 2 for name in problem.program.fields) * problem.cells * problem.itemsize
        )
    code = kernel.compiled.layout
    block = kernel.halo(problem)
    shape = problem.shape if block is None else block.problem.shape
    plan = layout(shape, problem.itemsize)
    history, swap = max(map(problem.program.history, problem.program.updated)), 0
    if max(code.copies) > 2 and problem.steps % history:  # levels change places before a last step of its own
        swap = history * math.prod(shape) * problem.itemsize
    return sum(code.copies) * plan.slot * plan.itemsize + code.scratch * threads + swap


def expected_seconds(problem: Problem, machine: Machine, backend: str, *, copies: bool = True) -> float:
    """Return what the models expect of a run in memory; NumPy, which has none, loads every value from memory."""
    if backend != "numpy":
        workload = on_machine(problem, machine)
        tiling, costs = workload.costs(None if copies else choose_tiling(problem, machine, copies=False))
        return whole_seconds(tiling.family, costs.seconds, workload.setting) if copies else costs.seconds
    traffic = problem.program.loads * problem.cells * problem.steps * problem.itemsize
    return machine.sm_count.value * traffic / machine.dram_bandwidth.value


def copied_seconds(problem: Problem, machine: Machine, backend: str) -> float:
    """Return what the models expect of a window whose arrays are copied in and out, whatever its family."""
    if backend != "c":
        return expected_seconds(problem, machine, backend)
    inside = expected_seconds(problem, machine, backend, copies=False)
    return inside + copy_seconds(on_machine(problem, machine).setting)


def share(machine: Machine, threads: int) -> Machine:
    """Return the part of a node that one of its processes computes on: some of its cores, of its bandwidth and L3."""
    cores = int(machine.sm_count.value)
    if not 0 < threads < cores:
        return machine
    part = threads / cores

    def scaled(quantity: Quantity | None) -> Quantity | None:
        if quantity is None:
            return None
        low, high = ((None if end is None else part * end) for end in (quantity.low, quantity.high))
        return replace(quantity, value=part * quantity.value, low=low, high=high)

    count = machine.sm_count.at(float(threads))
    bandwidth = scaled(machine.dram_bandwidth) or machine.dram_bandwidth
    return replace(machine, sm_count=count, dram_bandwidth=bandwidth, l3_bytes=scaled(machine.l3_bytes))
