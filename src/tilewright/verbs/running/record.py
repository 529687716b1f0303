"""``Run``: what a run computed, and how; what it says of itself meanwhile, through ``logging`` and of its progress."""

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tilewright.base.errors import TilewrightError
from tilewright.base.records import Record
from tilewright.base.units import format_seconds, format_shape
from tilewright.costs.interval import Interval, interval
from tilewright.programs.stencil.problem import Problem
from tilewright.report.progress import waiting
from tilewright.runtime.kernels import GpuKernel, Kernel
from tilewright.schedules.tiling import Tiling

if TYPE_CHECKING:
    from tilewright.report.study import Study


LOGGER = logging.getLogger("tilewright")
"""Level INFO has what was chosen for every run; of runs out of core every pass, too, but not every slab or chunk."""
_SHORT = 2e7  # cell updates of a run that is not watched: compiled ones take far less than two seconds
_WHY = {
    "asked": "as asked for",
    "measured": "as measured",
    "wisdom": "which tuning measured before",
    "model": "the cost model's choice",
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Computed(Record):
    """A run that was done, and how."""

    problem: Problem  # with the steps that were asked for
    steps_done: int  # fewer than asked for where something ended the run
    backend: str  # what computed it
    tiling: Tiling  # as it was used
    threads: int  # as many as were used
    seconds: float  # time of computing, compiling excluded

    @property
    def gcells_per_second(self) -> float:
        """Cell updates per nanosecond."""
        return self.problem.cells * self.steps_done / self.seconds / 1e9

    def _steps(self) -> str:
        total = self.problem.steps
        return f"{total} steps" if self.steps_done == total else f"{self.steps_done} of {total} steps"

    def _team(self) -> str:
        return f"{self.threads} thread{'s' * (self.threads != 1)}"

    def _said(self, beside: str = "") -> str:
        """Say it in two lines, something beside the time."""
        head = f"{self.problem.program.name} {format_shape(self.problem.shape)}, {self._steps()}, {self.problem.dtype}"
        return (
            f"{head}: {self.backend}, {self.tiling}, {self._team()}\n"
            f"{format_seconds(self.seconds)}{beside}, {self.gcells_per_second:.3g} GCells/s"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Run(Computed):
    """What ``tw.run(..., record=True)`` computed, and how.

    Attributes:
        state: What the run returns otherwise: the updated fields, or ``out``.
        levels: One entry per updated field as a next run takes it: an array, or a tuple of a field's time levels,
            newest first. ``tw.run(program, *run.levels, steps=n)`` goes on where every field is updated.
        traces: By field what receivers recorded; shapes (steps // every, points).
        problem: The problem, with the steps that were asked for.
        steps_done: Steps that were done; fewer than asked for where ``until``, a callback or a value that is not finite
            ended the run.
        backend: What computed it: ``c``, ``numpy``, ``opencl`` or ``cuda``.
        tiling: The tiling that it followed; ``tiling=`` takes it, as a value and as text.
        threads: Threads that computed.
        seconds: Time of computing, copies of the arrays included, compiling excluded; s.
        predicted_seconds: What the model predicts for the steps done, looks at the state excluded; s. None where there
            is no model: on NumPy, and of no step.
    """

    KEYS = (
        "program=problem.program.name shape=problem.shape steps=problem.steps steps_done dtype=problem.dtype "
        "backend tiling=tiling.__str__ threads seconds predicted_seconds interval gcells_per_second"
    )

    state: Any
    levels: tuple[Any, ...]
    traces: Mapping[str, Any] = field(default_factory=dict)
    predicted_seconds: float | None

    @property
    def interval(self) -> Interval | None:
        """The range in which four of five measured times are expected, or None where nothing is predicted."""
        if self.predicted_seconds is None:
            return None
        threads = bool(self.tiling.threads)
        return interval(self.tiling.family, self.predicted_seconds, cpu=self.backend == "c", threads=threads)

    def study(self) -> "Study":
        """Return what a page shows of it."""
        from tilewright.report.study import StudiedTiling, Study

        predicted = float("nan") if self.predicted_seconds is None else self.predicted_seconds
        return Study(
            title=f"{self.problem.program.name} {format_shape(self.problem.shape)}, {self._steps()}",
            facts=(
                ("tiling", str(self.tiling)),
                ("element type", self.problem.dtype),
                ("computed by", f"{self.backend}, {self._team()}"),
                ("time", f"{format_seconds(self.seconds)}, {self.gcells_per_second:.3g} GCells/s"),
            ),
            candidates=(
                StudiedTiling(
                    tiling=str(self.tiling),
                    predicted=predicted,
                    measured=self.seconds,
                    outcome="ok",
                    interval=None if self.interval is None else (self.interval.low, self.interval.high),
                ),
            ),
            explanation=tuple(str(self).splitlines()),
        )

    def __str__(self) -> str:
        if self.predicted_seconds is None or self.interval is None:
            return self._said()
        expected = f"{self.interval.share:.0%} interval {self.interval.span}"
        return self._said(f", predicted {format_seconds(self.predicted_seconds)} ({expected})")

    def _repr_html_(self) -> str:
        from tilewright.report.page import fragment

        return fragment(self.study())


def threads_of(kernel: Kernel, threads: int) -> int:
    """Return how many of the threads that a run may have compute: one where the code has no threads."""
    return threads if kernel.parallel else 1


def predicted_seconds(kernel: Kernel, problem: Problem, steps: int) -> float | None:
    """Return what the model predicts for so many steps of a prepared problem, copies of the arrays included."""
    if kernel.plan.target.backend == "numpy" or steps == 0:
        return None
    from tilewright.runtime.devices.drivers import device_machine
    from tilewright.tuning.choice import whole_run_seconds
    from tilewright.verbs.predict import as_machine

    whole, tiling = replace(problem, steps=steps), kernel.plan.tiling
    machine = device_machine(kernel.program.device) if isinstance(kernel, GpuKernel) else as_machine("host")
    try:
        return whole_run_seconds(whole, tiling, machine, kernel.plan.storage)
    except TilewrightError:
        return None


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


def while_running(kernel: Kernel, problem: Problem, steps_done: Callable[[], int]) -> AbstractContextManager[None]:
    """Say how far a run is while a block computes it, where that takes more than two seconds and somebody looks.

    ``steps_done`` tells the steps done at the last look; 0 where there was none.
    """
    if problem.cells * problem.steps < _SHORT:
        return nullcontext()
    expected: list[float | None] = []

    def progress() -> tuple[float, float | None]:
        steps = steps_done()
        if steps:
            return steps / problem.steps, None
        if not expected:
            expected.append(predicted_seconds(kernel, problem, problem.steps))
        return -1.0, expected[0]

    return waiting(f"{problem.program.name} {format_shape(problem.shape)}", progress)
