"""What a worker process does with one candidate: compile it, check it, time it, compare it.

Every function takes a plan, which is plain data, and either returns plain data or raises an error whose class says what
went wrong.
"""

import functools
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tilewright.base.dtypes import limits
from tilewright.base.errors import SpillsError, WrongResultError
from tilewright.base.records import Resources
from tilewright.driver import make
from tilewright.inputs.arrays import Array
from tilewright.plan import Plan
from tilewright.programs.stencil import rounding
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime import checks
from tilewright.runtime.kernels import CpuKernel, GpuKernel, Kernel
from tilewright.runtime.memory import Workspace
from tilewright.runtime.session import Inputs, Session
from tilewright.schedules.tiling import Tiling

MINIMUM_SECONDS = 0.1  # a sample is repeated until its repeats take this long together
MOST_REPEATS = 64  # however short, a sample is repeated no more often than this
CHECK_OPERATIONS = 3e7  # operations that the check on a small problem may cost the reference
_SAFETY = 16.0


Scalars = tuple[tuple[str, complex], ...]  # names and values of a program's scalars


def build(plan: Plan) -> Resources | None:
    """Compile a candidate, whose kernel stays in the cache; return what its code needs, where the compiler says."""
    needs = _kernel(plan).resources
    if needs is not None and (needs.spill_bytes or needs.stack_bytes):
        raise SpillsError(f"{needs.spill_bytes} bytes of spills and a stack of {needs.stack_bytes} bytes")
    return needs


def check(plan: Plan, scalars: Scalars) -> None:
    """Compare a candidate, planned for :func:`small_problem`, with the NumPy reference: whole and cut tiles."""
    problem = plan.problem
    checks.compare(_kernel(plan), problem, _draw(problem, scalars), _reference(problem, scalars))


def sample(plan: Plan, scalars: Scalars, steps: int) -> float:
    """Return a candidate's seconds for so many steps of the user's problem, after a warm-up.

    All steps count as a whole run, copies of arrays included; fewer, and any on a GPU, without copies, which have no
    part in the further steps.
    """
    kernel, inputs, threads = _kernel(plan), _data(plan, scalars), plan.target.threads
    warm_up = min(steps, 2 * plan.tiling.time)
    if isinstance(kernel, GpuKernel):
        return _device_sample(kernel, inputs, warm_up, steps)

    def make(count: int) -> Callable[[], object]:
        if steps == plan.problem.steps:
            return lambda: kernel.run(replace(plan.problem, steps=count), inputs, threads)
        if not isinstance(kernel, CpuKernel):
            raise WrongResultError("a candidate without a kernel cannot be timed")
        return functools.partial(_advance, kernel.start(plan.problem, inputs, threads, _workspace), count)

    make(warm_up)()
    return median_seconds(lambda: make(steps))


def median_seconds(make: Callable[[], Callable[[], object]], clock: Callable[[], float] = time.perf_counter) -> float:
    """Take one sample: the median seconds of enough repeats, each of which ``make`` prepares, untimed.

    >>> ticks = iter(range(100))
    >>> median_seconds(lambda: lambda: None, clock=lambda: float(next(ticks)))
    1.0
    """
    samples: list[float] = []
    while sum(samples) < MINIMUM_SECONDS and len(samples) < MOST_REPEATS:
        run = make()
        begin = clock()
        run()
        samples.append(clock() - begin)
    samples.sort()
    middle = len(samples) // 2
    return samples[middle] if len(samples) % 2 else (samples[middle - 1] + samples[middle]) / 2


def confirm(plan: Plan, scalars: Scalars, second: Plan) -> None:
    """Compare a candidate's result on the user's problem with that of a second schedule.

    The two may differ by rounding alone: by 4 eps per operation and step of the largest value, times what the program
    makes of a change of one rounding in its data.
    """
    problem, given = plan.problem, _data(plan, scalars)
    kernel = _kernel(second)
    expected = kernel.run(problem, given, second.target.threads)
    allowed = _tolerances(kernel, plan, given, expected)
    results = _kernel(plan).run(problem, replace(given, out=checks.blank_grids(problem)), plan.target.threads)
    for field, result in results.items():
        with np.errstate(all="ignore"):
            bad = ~((np.abs(result - expected[field]) <= allowed[field]) | ~np.isfinite(expected[field]))
        if bad.any():
            where = ", ".join(str(int(i)) for i in np.argwhere(bad)[0])
            raise WrongResultError(
                f"{str(plan.tiling)!r} and {str(second.tiling)!r} differ in {int(bad.sum())} cells of {field!r}, "
                f"first at ({where}), by more than rounding explains"
            )


def small_problem(problem: Problem, tiling: Tiling) -> Problem:
    """Return what a candidate is checked on."""
    return checks.small_problem(problem, tiling, CHECK_OPERATIONS)


@functools.lru_cache(maxsize=2)
def _draw(problem: Problem, scalars: Scalars) -> Inputs:
    return checks.draw(problem, dict(scalars))


@functools.lru_cache(maxsize=4)
def _reference(problem: Problem, scalars: Scalars) -> tuple[dict[str, Array], dict[str, Array]]:
    inputs = _draw(problem, scalars)
    return rounding.bound(problem, inputs.arrays, inputs.scalars)


@functools.lru_cache(maxsize=64)
def _kernel(plan: Plan) -> Kernel:
    return make(plan)


def _data(plan: Plan, scalars: Scalars) -> Inputs:
    """The data of the user's problem: the same whatever the number of steps."""
    return _draw(replace(plan.problem, steps=0), scalars)


def _device_sample(kernel: GpuKernel, inputs: Inputs, warm_up: int, steps: int) -> float:
    """A sample by the device's events, after a warm-up; its memory is handed back."""
    session = kernel.start(kernel.plan.problem, inputs, 1)
    try:
        session.advance(warm_up)
        return session.timed(steps)
    finally:
        session.close()


_workspace = Workspace()


def _advance(session: Session, steps: int) -> None:
    try:
        session.advance(steps)
    finally:
        session.close()


def _tolerances(kernel: Kernel, plan: Plan, given: Inputs, expected: dict[str, Array]) -> dict[str, float | Array]:
    """How far two schedules of the user's problem may lie apart, per field."""
    problem = plan.problem
    if not problem.rounds:
        return dict.fromkeys(expected, 0.0)
    eps = float(limits(problem.dtype).eps)
    nudged = {
        field: tuple(_nudge(array, eps) for array in versions) if field in problem.program.updated else versions
        for field, versions in given.arrays.items()
    }
    moved = kernel.run(problem, replace(given, arrays=nudged), plan.target.threads)
    largest = max(float(np.max(np.abs(versions[0]))) for versions in given.arrays.values())
    per_step = rounding.FACTOR * eps * (problem.program.flops + problem.program.loads)
    allowed: dict[str, float | Array] = {}
    for field, value in expected.items():
        with np.errstate(all="ignore"):
            finite = np.isfinite(value) & np.isfinite(moved[field])
            change = float(np.max(np.abs(moved[field] - value), where=finite, initial=0.0))
            size = max(largest, float(np.max(np.abs(value), where=finite, initial=0.0)))
        growth = max(1.0, change / (eps * largest))
        allowed[field] = per_step * problem.steps * size + _SAFETY * per_step * growth * largest
    return allowed


def _nudge(array: Array, eps: float) -> Array:
    """Change every value by about one rounding, up and down in turn."""
    signs = np.where(np.arange(array.size) % 2, 1 + eps, 1 - eps).reshape(array.shape)
    result: Array = (array * signs).astype(array.dtype)
    return result
