"""Kernels that are ready to run: C code on this CPU, kernels on a GPU, or the NumPy reference, all used alike.

A kernel starts *sessions*: runs in memory that are advanced as often as one likes. ``run`` is a whole run at once, for
which a CPU's code may read and write the caller's own arrays.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tilewright.base.dtypes import numpy_type
from tilewright.base.records import Resources
from tilewright.plan import Plan
from tilewright.programs.stencil import reference
from tilewright.programs.stencil.forms import Extended
from tilewright.programs.stencil.points import Index
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime import direct
from tilewright.runtime.cpu import CompiledKernel
from tilewright.runtime.memory import Array, Workspace, check_memory
from tilewright.runtime.session import SHARED, Inputs, Session, point_tables

if TYPE_CHECKING:  # loaded by what opens a device
    from tilewright.runtime.devices import gpu


class State(Protocol):
    """A run in memory."""

    @property
    def steps(self) -> int:
        """Steps done so far."""

    def advance(self, steps: int) -> None:
        """Compute further steps."""

    def newest(self, field: str, age: int = 0) -> Array:
        """See a field's newest version, or an older one."""

    def replace(self, field: str, values: Array) -> None:
        """Set every cell of a field that no statement updates."""

    def results(self, out: Mapping[str, Array] | None = None, age: int = 0) -> dict[str, Array]:
        """Copy the newest version, or an older one, of every updated field that keeps it."""

    def close(self) -> None:
        """Hand the memory back."""


class Kernel(Protocol):
    """What computes a problem; its shape and steps may be any, but for the steps of a block of a periodic grid."""

    @property
    def plan(self) -> Plan:
        """What was decided: what computes it, its tiling, the periodic copies around a grid that wraps."""

    @property
    def resources(self) -> Resources | None:
        """What its code needs, where the compiler says."""

    @property
    def fits(self) -> bool:
        """Whether it runs on its device, its values in registers."""

    @property
    def parallel(self) -> bool:
        """Whether it uses as many threads of the processor as it is told to."""

    def start(self, problem: Problem, inputs: Inputs, threads: int) -> State:
        """Take memory for a run and fill it. Raises an ArrayError if there is not enough."""

    def run(self, problem: Problem, inputs: Inputs, threads: int) -> dict[str, Array]:
        """Run all steps; returns the newest version of every updated field. Raises an ArrayError as ``start`` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuKernel:
    """C code, compiled and loaded."""

    resources = None  # C compilers do not say
    fits = True  # C code runs in whatever registers there are

    plan: Plan  # what it was made of
    compiled: CompiledKernel

    @property
    def parallel(self) -> bool:
        """Whether it was compiled with OpenMP."""
        return self.compiled.parallel

    def start(self, problem: Problem, inputs: Inputs, threads: int, workspace: Workspace | None = None) -> Session:
        """Take memory for a run, that of earlier runs by default, and fill it."""
        return Session(self.compiled, problem, inputs, threads, halo=self.halo(problem), workspace=workspace)

    def run(self, problem: Problem, inputs: Inputs, threads: int) -> dict[str, Array]:
        """Run all steps."""
        return execute(self.compiled, problem, inputs, threads, halo=self.halo(problem))

    def copies_nothing(self, problem: Problem, inputs: Inputs) -> bool:
        """Whether ``run`` reads the caller's own arrays and writes the results where they stay."""
        return _on_given_arrays(self.compiled, problem, inputs, self.halo(problem)) is not None

    def halo(self, problem: Problem) -> Extended | None:
        """Return what is computed for a problem of another shape, or None where that is the problem itself."""
        return None if self.plan.block is None else self.plan.block.fitted(problem.shape)


def execute(
    compiled: CompiledKernel,
    problem: Problem,  # of any shape and steps
    inputs: Inputs,
    threads: int,
    workspace: Workspace | None = None,  # fresh memory by default
    halo: Extended | None = None,  # what is computed where that is not the problem itself
) -> dict[str, Array]:
    """Run a kernel; returns the newest version of every updated field.

    The inputs are only read; the interpreter's lock is free while the kernel runs, and any number of threads may run
    the same kernel at a time.
    """
    given = _on_given_arrays(compiled, problem, inputs, halo)
    if given is not None:
        results = direct.execute(compiled, *given, threads, workspace)
        return {field: results[field] for field in problem.program.updated}
    session = Session(compiled, problem, inputs, threads, halo=halo, workspace=workspace)
    try:
        session.advance(problem.steps, last=True)
        return session.results(inputs.out)
    finally:
        session.close()


def _on_given_arrays(
    compiled: CompiledKernel, problem: Problem, inputs: Inputs, halo: Extended | None
) -> tuple[Problem, Inputs] | None:
    """Return what a kernel computes and with which arrays, if it can work on the caller's own."""
    if halo is not None:
        if halo.wider or problem.steps > halo.block:
            return None
        problem = replace(halo.problem, steps=problem.steps)
    if not direct.applies(compiled, problem, inputs):
        return None
    return problem, inputs if halo is None else _with_own(problem, inputs)


def _with_own(problem: Problem, inputs: Inputs) -> Inputs:
    """Add the arrays of a program's own fields; what one holds that is computed before the first step."""
    program, arrays = problem.program, {field: versions[0] for field, versions in inputs.arrays.items()}
    scalars = reference.typed_scalars(problem.dtype, inputs.scalars)
    arrays.update(reference.once(program, arrays.__getitem__, scalars))
    between, results = (
        {name: SHARED.lend_grid(problem.shape, problem.dtype) for name in program.inner if name in program.updated}
        for _ in range(2)
    )
    own = {name: (array,) for name, array in (arrays | between).items() if name in program.inner}
    return replace(inputs, arrays={**inputs.arrays, **own}, out=inputs.out and {**inputs.out, **results})


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuKernel:
    """Kernels on a GPU."""

    parallel = False  # the processor's threads have no part in it

    plan: Plan  # what they were made of
    program: "gpu.DeviceKernels"

    @property
    def resources(self) -> Resources | None:
        """What their code needs, where the compiler says."""
        return self.program.resources

    @property
    def fits(self) -> bool:
        """Whether the device has as many threads in a block, and the compiler spills no registers."""
        needs, most = self.program.resources, self.program.device.describe().block_threads
        if needs is not None and (needs.spill_bytes or needs.stack_bytes):
            return False
        return not most or max(kernel.threads for kernel in self.program.source.kernels) <= most

    def start(self, problem: Problem, inputs: Inputs, threads: int) -> "gpu.GpuSession":  # noqa: ARG002
        """Take memory of the device for a run and fill it; arrays of the inputs may lie there already."""
        from tilewright.runtime.devices import gpu

        block = self.plan.block
        return gpu.GpuSession(self.program, problem, inputs, None if block is None else block.fitted(problem.shape))

    def run(self, problem: Problem, inputs: Inputs, threads: int) -> dict[str, Array]:
        """Run all steps and copy the results to the host."""
        session = self.start(problem, inputs, threads)
        try:
            session.advance(problem.steps)
            return session.results(inputs.out)
        finally:
            session.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class NumpyKernel:
    """The NumPy reference, which needs no compiler, knows every element type, and wraps by itself."""

    resources, fits, parallel = None, True, False  # NumPy's loops have one thread

    plan: Plan  # that of NumPy, without a tiling

    def start(self, problem: Problem, inputs: Inputs, threads: int) -> "NumpySession":  # noqa: ARG002
        """Copy the arrays of a run."""
        return NumpySession(problem, inputs)

    def run(self, problem: Problem, inputs: Inputs, threads: int) -> dict[str, Array]:
        """Run all steps."""
        session = self.start(problem, inputs, threads)
        session.advance(problem.steps)
        return session.results(inputs.out)


class NumpySession:
    """A run in memory that NumPy advances."""

    def __init__(self, problem: Problem, inputs: Inputs) -> None:
        copies = sum(problem.program.history(field) + 2 for field in problem.program.fields)
        check_memory(copies * problem.cells * problem.itemsize)
        self.steps = 0  # steps done so far
        self._problem = problem
        self._first, self._points = inputs.first, point_tables(problem, inputs)
        self._state = reference.start(problem, inputs.arrays or _unset(problem))
        self._scalars = reference.typed_scalars(problem.dtype, inputs.scalars)

    def advance(self, steps: int) -> None:
        """Compute further steps."""
        with np.errstate(all="ignore"):
            for _ in range(steps):
                number = self._first + self.steps
                added = {} if self._points is None else self._points.added(number)
                self._state = reference.step(self._problem, self._state, self._scalars, added=added, number=number)
                if self._points is not None:
                    self._points.record(self.at, number)
                self.steps += 1

    def settle(self, first: int) -> None:
        """Take as the state what was put into every version that :meth:`newest` shows, so many steps behind it."""
        self._first, self._state = first, reference.start(self._problem, self._state)

    def newest(self, field: str, age: int = 0) -> Array:
        """See a field's newest version, or an older one."""
        return self._state[field][age]

    def at(self, field: str, cells: Index) -> Array:
        """Copy the newest version of some cells, by their numbers in the grid."""
        return self._state[field][0][np.unravel_index(cells, self._problem.shape)]

    def replace(self, field: str, values: Array) -> None:
        """Set every cell of a field that no statement updates."""
        np.copyto(self._state[field][0], values, casting="unsafe")

    def results(self, out: Mapping[str, Array] | None = None, age: int = 0) -> dict[str, Array]:
        """Copy the newest version, or an older one, of every updated field that keeps it."""
        program = self._problem.program
        newest = {field: self._state[field][age] for field in program.updated if age < program.history(field)}
        if out is None:
            return {field: values.copy() for field, values in newest.items()}
        for field, values in newest.items():
            np.copyto(out[field], values, casting="same_kind")
        return {field: out[field] for field in newest}

    def close(self) -> None:
        """Hand the memory back."""


def _unset(problem: Problem) -> dict[str, list[Array]]:
    kind = numpy_type(problem.dtype)
    return {
        field: [np.zeros(problem.shape, kind) for _ in range(problem.program.history(field))]
        for field in problem.program.fields
    }
