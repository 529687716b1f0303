"""``Run``: what a run computed, and how."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tilewright.base.errors import TilewrightError
from tilewright.base.records import Record
from tilewright.base.units import format_seconds, format_shape
from tilewright.costs.interval import Interval, interval
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.kernels import GpuKernel, Kernel
from tilewright.schedules.tiling import Tiling

if TYPE_CHECKING:
    from tilewright.report.study import Study


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Run(Record):
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
    problem: Problem
    steps_done: int
    backend: str
    tiling: Tiling
    threads: int
    seconds: float
    predicted_seconds: float | None

    @property
    def gcells_per_second(self) -> float:
        """Cell updates per nanosecond."""
        return self.problem.cells * self.steps_done / self.seconds / 1e9

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

    def _steps(self) -> str:
        asked = self.problem.steps
        return f"{asked} steps" if self.steps_done == asked else f"{self.steps_done} of {asked} steps"

    def _team(self) -> str:
        return f"{self.threads} thread{'s' * (self.threads != 1)}"

    def __str__(self) -> str:
        what = f"{self.problem.program.name} {format_shape(self.problem.shape)}, {self._steps()}, {self.problem.dtype}"
        predicted = ""
        if self.predicted_seconds is not None and self.interval is not None:
            expected = f"{self.interval.share:.0%} interval {self.interval.span}"
            predicted = f", predicted {format_seconds(self.predicted_seconds)} ({expected})"
        return (
            f"{what}: {self.backend}, {self.tiling}, {self._team()}\n"
            f"{format_seconds(self.seconds)}{predicted}, {self.gcells_per_second:.3g} GCells/s"
        )

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
    from tilewright.runtime.devices.found import device_machine
    from tilewright.tuning.choice import whole_run_seconds
    from tilewright.verbs.predict import as_machine

    whole, tiling = replace(problem, steps=steps), kernel.plan.tiling
    machine = device_machine(kernel.program.device) if isinstance(kernel, GpuKernel) else as_machine("host")
    try:
        return whole_run_seconds(whole, tiling, machine, kernel.plan.storage)
    except TilewrightError:
        return None
