"""What a run says of itself: the tiling that was chosen, through ``logging``, and how far it is."""

import logging
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from tilewright.base.units import format_shape
from tilewright.programs.stencil.problem import Problem
from tilewright.report.waiting import waiting
from tilewright.runtime.kernels import Kernel
from tilewright.verbs.running.record import predicted_seconds, threads_of

LOGGER = logging.getLogger("tilewright")
"""Level INFO has what was chosen for every run; of runs out of core every pass, too, but not every slab or chunk."""
_SHORT = 2e7
"""Cell updates of a run that is not watched: compiled ones take far less than two seconds."""
_WHY = {
    "asked": "as asked for",
    "measured": "as measured",
    "wisdom": "which tuning measured before",
    "model": "the cost model's choice",
}


def log_choice(kernel: Kernel, problem: Problem, threads: int) -> None:
    """Log how a problem is computed, at level INFO."""
    if not LOGGER.isEnabledFor(logging.INFO):
        return
    plan = kernel.plan
    LOGGER.info(
        "%s %s, %d steps, %s: %s on %s, threads %d, %s", problem.program.name, format_shape(problem.shape),
        problem.steps, problem.dtype, plan.tiling, plan.target.backend, threads_of(kernel, threads),
        _WHY.get(plan.evidence, plan.evidence),
    )  # fmt: skip


def while_running(kernel: Kernel, problem: Problem, done: Callable[[], int]) -> AbstractContextManager[None]:
    """Say how far a run is while a block computes it, where that takes more than two seconds and somebody looks.

    ``done`` tells the steps done at the last look; 0 where there was none.
    """
    if problem.cells * problem.steps < _SHORT:
        return nullcontext()
    expected: list[float | None] = []

    def progress() -> tuple[float, float | None]:
        steps = done()
        if steps:
            return steps / problem.steps, None
        if not expected:
            expected.append(predicted_seconds(kernel, problem, problem.steps))
        return -1.0, expected[0]

    return waiting(f"{problem.program.name} {format_shape(problem.shape)}", progress)
