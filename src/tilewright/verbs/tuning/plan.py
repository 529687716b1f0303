"""``Plan``: what tuning decided, ready to run, to explain and to export."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.base.errors import UsageError
from tilewright.base.records import Outcome, Record
from tilewright.base.units import format_bytes, format_seconds, format_shape
from tilewright.driver import emit
from tilewright.plan import Plan as Decision
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.report import tables
from tilewright.report.page import Studied
from tilewright.report.study import StudiedTiling, Study, comparison
from tilewright.schedules.code import CpuSchedule
from tilewright.schedules.tiling import Tiling
from tilewright.tuning import stencil
from tilewright.verbs.kernel_files import KernelText, write
from tilewright.verbs.prediction import Prediction
from tilewright.verbs.tuning.study import measured_here, of_case, pairs

if TYPE_CHECKING:
    from tilewright.programs.stencil.points import Points, SourceList


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Tried(Record):
    """A candidate of a tuning and what became of it.

    Attributes:
        tiling: The candidate.
        predicted_seconds: The model's prediction.
        measured_seconds: Median of its samples for the whole problem, or None if it was not measured.
        registers: Registers per thread, where the compiler says.
        spills: Spilled bytes per thread, where the compiler says.
        stack_bytes: Bytes of stack per thread, where the compiler says.
        shared_bytes: Memory on chip of a block, where the compiler says.
        outcome: ``ok``, how it failed, or None if it was not tried.
        detail: One sentence about a failure.
        samples: Number of samples.
        spread: Range of the samples over their median, or None below two.
        unstable: Whether the samples differ too much to trust their median.
        range_seconds: The fastest and the slowest sample for the whole problem, or None if it was not measured.
        bound_seconds: The least time by the machine code on a GPU, which nobody measured; None where it is not known.
        bound_by: What that bound is made of, in one sentence.
        predicted_interval: Seconds between which four of five measured times are expected, or None where nobody says.
    """

    KEYS = (
        "tiling=tiling.to_dict predicted_seconds measured_seconds registers spills stack_bytes shared_bytes "
        "outcome detail samples spread unstable range_seconds bound_seconds bound_by predicted_interval "
        "tile=tiling.__str__"
    )

    tiling: Tiling
    predicted_seconds: float
    measured_seconds: float | None = None
    registers: int | None = None
    spills: int | None = None
    stack_bytes: int | None = None
    shared_bytes: int | None = None
    outcome: Outcome | None = None
    detail: str = ""
    samples: int = 0
    spread: float | None = None
    unstable: bool = False
    range_seconds: tuple[float, float] | None = None
    bound_seconds: float | None = None
    bound_by: str = ""
    predicted_interval: tuple[float, float] | None = None

    @property
    def comparable(self) -> bool:
        """Whether its time may be compared with another's: it has several samples, which agree."""
        return self.samples > 1 and not self.unstable

    def times(self) -> str:
        """Say what was measured: one time, or the range of the samples."""
        if self.range_seconds is None:
            return "not measured"
        low, high = map(format_seconds, self.range_seconds)
        return f"{low} in one sample" if self.samples == 1 else f"{low} to {high}"

    def candidate(self) -> StudiedTiling:
        """Return it as a candidate of a page."""
        failure = f"{self.outcome}: {self.detail}" if self.detail else str(self.outcome or "")
        return StudiedTiling(
            tiling=str(self.tiling),
            predicted=self.predicted_seconds,
            interval=self.predicted_interval,
            measured=self.measured_seconds,
            spread=self.spread,
            measured_range=self.range_seconds,
            outcome="unstable" if self.unstable else failure,
        )

    def cells(self) -> tuple[str, ...]:
        """Return cells: tiling, predicted, interval, bound, measured, spread, registers, spills, on chip, outcome."""
        noisy = " unstable" if self.unstable else ""
        return (
            str(self.tiling),
            format_seconds(self.predicted_seconds),
            "-" if self.predicted_interval is None else " to ".join(map(format_seconds, self.predicted_interval)),
            "-" if self.bound_seconds is None else format_seconds(self.bound_seconds),
            "-" if self.measured_seconds is None else format_seconds(self.measured_seconds),
            "-" if self.spread is None else f"{self.spread:.1%}{noisy}",
            "-" if self.registers is None else str(self.registers),
            "-" if self.spills is None else str(self.spills),
            "-" if self.shared_bytes is None else format_bytes(self.shared_bytes),
            "-" if self.outcome is None else f"{self.outcome} {self.detail}".strip(),
        )

    def __str__(self) -> str:
        return ", ".join(cell for cell in self.cells() if cell != "-")


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Plan(Studied):
    """What tuning decided for a problem.

    Attributes:
        program: The program as it was given.
        decision: What is computed, where, and how; scalars that came as arrays are coefficient fields of its program.
        prediction: What the model says about the winner; it holds the machine.
        winner: The winner.
        candidates: Everything that was tried: the winner, the others by their measured time, failures last. Only those
            with several samples could win.
        evaluated: How many candidates were compiled or run.
        space_size: How many tilings the model ranked.
        effort: The effort level.
        metric: What was to be small.
        boundary: The boundaries as they were given, for :meth:`run`.
        scalars: Scalars that :meth:`run` takes where it is given no others.
        confirmed: Whether the winner agreed with a second schedule on the whole problem.
        interrupted: Whether tuning was stopped before its end.
        exhausted: Whether its time was over before everything that was meant to be tried was.
    """

    KEYS = (
        "memory_bytes program=problem.program.name machine shape=problem.shape steps=problem.steps "
        "dtype=problem.dtype backend threads effort metric winner candidates evaluated space_size confirmed "
        "interrupted exhausted notes=prediction.notes"
    )

    program: Program
    decision: Decision
    prediction: Prediction
    winner: Tried
    candidates: tuple[Tried, ...]
    evaluated: int
    space_size: int
    effort: str
    metric: str
    boundary: BoundarySpec
    scalars: Mapping[str, Any]
    confirmed: bool
    interrupted: bool
    exhausted: bool = False

    @property
    def problem(self) -> Problem:
        """What was tuned."""
        return self.decision.problem

    @property
    def backend(self) -> str:
        """``c``, or a GPU's backend with its device if one was named."""
        return self.decision.target.name if self.decision.target.on_device else "c"

    @property
    def threads(self) -> int:
        """Threads that it was measured with."""
        return self.decision.target.threads

    @property
    def strict(self) -> bool:
        """Whether the order of operations is kept."""
        return self.decision.strict

    @property
    def tiling(self) -> Tiling:
        """The winner's tiling."""
        return self.winner.tiling

    @property
    def machine(self) -> str:
        """Name of the machine."""
        return self.prediction.machine

    @property
    def memory_bytes(self) -> int:
        """Memory that :meth:`run` needs besides the caller's arrays: every version of every field, and the result."""
        return needed_bytes(self.problem)

    @property
    def source(self) -> str:
        """The text of the kernels that :meth:`run` calls, those that refresh periodic copies among them.

        Of a plan for a GPU that was made without naming a backend, the text for it: CUDA where the machine has a
        compute capability, else OpenCL.
        """
        target = self.decision.target
        if not target.on_device and self.prediction.work.machine.kind == "gpu":
            kernel = self._kernel()
            return kernel.device_source(kernel.on_device(self.prediction.dialect)).text
        source = emit(self.decision)
        text = "" if source is None else source.text
        return text if target.on_device else self._kernel().banner() + text

    def _kernel(self) -> KernelText:
        return KernelText(
            problem=self.problem,
            tiling=self.tiling,
            strict=self.strict,
            program=self.program,
            scalars=self.scalars,
            expected=self.prediction.expected,
            decision=self.decision,
        )

    def run(
        self,
        *arrays: Any,  # noqa: ANN401
        steps: int | None = None,
        out: Any = None,  # noqa: ANN401
        levels: bool = False,
        record: bool = False,
        sources: "Mapping[str, SourceList] | SourceList | None" = None,
        receivers: "Mapping[str, Points] | Points | None" = None,
        boundary: BoundarySpec | None = None,
        **scalars: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Run the program with the winner's tiling.

        Args:
            *arrays: One array per field, as for :func:`tilewright.run`; any shape, though the plan was made for one.
            steps: Time steps; those of the plan by default.
            out: Arrays to write the result into.
            levels: Return every time level that a next run needs, as :func:`tilewright.run` does.
            record: Return a :class:`tilewright.Run`.
            sources: What is added to new values, as :func:`tilewright.run` takes it.
            receivers: What is recorded, as :func:`tilewright.run` takes it; then the traces are returned, too.
            boundary: Boundaries, such as those of the plan with values for other steps; those of the plan by default.
            **scalars: Scalars; those given to ``tune`` by default.

        Returns:
            The result, as :func:`tilewright.run` returns it.

        Raises:
            TilewrightError: As :func:`tilewright.run`.
        """
        from tilewright.verbs.options import RunOptions
        from tilewright.verbs.running.grids.choice import flat, in_memory
        from tilewright.verbs.running.grids.engine import computed

        plan, values = self.decision, {**self.scalars, **scalars}
        options = RunOptions(
            steps=self.problem.steps if steps is None else steps,
            boundary=self.boundary if boundary is None else boundary,
            tiling=plan.tiling,
            strict=plan.strict,
            out=out,
            levels=levels,
            record=record,
            sources=sources,
            receivers=receivers,
        )
        kind = in_memory(flat(arrays), values)
        engine = kind(self.program, arrays, values, options, plan.target)
        engine.packed = False
        return computed(engine)

    def export(self, path: str | Path) -> tuple[Path, Path]:
        """Write the kernels and what calls them: C with a header, or CUDA or OpenCL with a host program that runs them.

        Args:
            path: A file that ends in ``.c``, ``.cu`` or ``.cl``. Beside ``kernel.c`` lies ``kernel.h``, beside
                ``kernel.cu`` ``kernel_main.cu``, and beside ``kernel.cl`` ``kernel_main.c``. All are replaced.

        Returns:
            The paths of both.

        Raises:
            UsageError: If the name does not end in one of these, a plan for a GPU is asked for C, or a file cannot be
                written.
            IllegalTilingError: If the tiling has no such code: that of a GPU's threads none in C, for instance.
        """
        target = Path(path)
        if target.suffix == ".c" and self.decision.target.on_device:
            raise UsageError("a plan for a GPU has no C code to export", "export it to a file in .cu or .cl")
        first, second = write(self._kernel().texts(target))
        return first, second

    def explain(self) -> str:
        """Say in some lines what won, by how much, and how the model saw it."""
        name = f"{self.problem.program.name} {format_shape(self.problem.shape)}, {self.problem.steps} steps"
        lines = [f"{name} on {self.machine}: {self.tiling}"]
        costs = self.prediction.costs
        memory = f"a run takes {format_bytes(self.memory_bytes)} of memory"
        expected = f"{self.prediction.interval.share:.0%} interval {self.prediction.interval}"
        lines.append(f"predicted {format_seconds(costs.seconds)} ({expected}), bound by {costs.bound_by}; {memory}")
        lines.append(tables.described(self.prediction.constants))
        lines += self.prediction.notes
        if isinstance(self.decision.schedule, CpuSchedule):
            lines.append(f"code: {self.decision.schedule.body}")
        if self.winner.measured_seconds is None:
            rest = [each for each in self.candidates if each.outcome is None]
            screened = f", {self.evaluated} compiled, {self.evaluated - len(rest)} dropped" if self.evaluated else ""
            if self.winner.bound_seconds is None:
                lines.append(f"nothing was run: the model's first choice of {self.space_size}{screened}")
                return "\n".join(lines)
            least = format_seconds(self.winner.bound_seconds)
            lines.append(f"at least {least}: bound by machine code, not measured; {self.winner.bound_by}")
            lines.append(
                f"nothing was run: the best bound of those that the model chose of {self.space_size}{screened}"
            )
            return "\n".join(lines)
        speed = self.problem.cells * self.problem.steps / self.winner.measured_seconds / 1e9
        lines.append(f"measured {format_seconds(self.winner.measured_seconds)}, {speed:.3g} GCells/s{self._spread()}")
        lines += self._comparisons()
        if self.backend != "c" and not self.prediction.hardware.c_iter:
            how = f"tilewright calibrate --backend {self.backend} --program {self.problem.program.name}"
            lines.append(f"the model knows this device by its description only: `{how}` measures it")
        lines.append(
            f"{self.evaluated} of {self.space_size} tilings were tried, effort {self.effort}{self._failures()}"
        )
        if not self.confirmed:
            lines.append("its result was not compared with a second schedule on the whole problem")
        if self.interrupted:
            lines.append("tuning was stopped before its end: this is the best so far")
        elif self.exhausted:
            lines.append("the time was over before all were tried; with more --seconds tuning goes on from here")
        return "\n".join(lines)

    def _spread(self) -> str:
        if self.winner.spread is None:
            return ", one sample"
        noisy = ": UNSTABLE, the machine is busy or throttled" if self.winner.unstable else ""
        return f", {self.winner.samples} samples within {self.winner.spread:.1%}{noisy}"

    def _comparisons(self) -> list[str]:
        best = self.winner.measured_seconds or math.nan
        trials = [each for each in self.candidates if each.measured_seconds is not None]
        lines = []
        for each in trials:
            if each.tiling.family.untiled and each is not self.winner and each.measured_seconds:
                ratio = f"{each.measured_seconds / best:.2f} times as fast as without time tiling"
                lines.append(self._doubt("without time tiling", each) or ratio)
        first = min(trials, key=lambda each: each.predicted_seconds)
        place = sorted(each.predicted_seconds for each in trials).index(self.winner.predicted_seconds) + 1
        if first is not self.winner and first.measured_seconds:
            name = f"the model's first choice, {first.tiling}"
            share = f"{name}, reaches {best / first.measured_seconds:.0%} of its speed"
            lines.append(f"{self._doubt(name, first) or share}; it ranked the winner {place} of {len(trials)}")
        else:
            lines.append("it is the model's first choice as well")
        return lines

    def _doubt(self, name: str, other: Tried) -> str:
        """Say both times, where they do not bear a ratio; nothing where they do."""
        if self.winner.comparable and other.comparable:
            return ""
        why = "samples were unstable" if self.winner.unstable or other.unstable else "there is one sample"
        return f"{name}: {other.times()}, against {self.winner.times()}; {why}, so no speed-up is claimed"

    def _failures(self) -> str:
        failed = [each.outcome for each in self.candidates if each.outcome not in {None, Outcome.OK}]
        counts = {str(outcome): failed.count(outcome) for outcome in dict.fromkeys(failed)}
        return "".join(f", {count} {name}" for name, count in counts.items())

    def plot(self, path: str | Path) -> Path:
        """Plot predicted against measured times to a ``.png``, ``.svg`` or ``.pdf`` file.

        Raises:
            UsageError: If nothing was measured, or the file cannot be written.
        """
        from tilewright.report.figures import scatter

        table = comparison([each.candidate() for each in self.candidates])
        return scatter(table, Path(path), f"{self.problem.program.name} on {self.machine}")

    def study(self) -> Study:
        """Return what a page shows of it."""
        tried, lines = tuple(each.candidate() for each in self.candidates), tuple(self.explain().splitlines())
        work = stencil.on_machine(self.problem, self.prediction.hardware, model=self.prediction.model)
        measured = any(each.measured_seconds is not None for each in self.candidates)
        circumstances = pairs(measured_here(self.backend, self.threads)) if measured else ()
        return of_case(work, tried, lines, circumstances)

    def __str__(self) -> str:
        return self.explain()


def needed_bytes(problem: Problem) -> int:
    """Return the memory of one run: the data, every version of every field, and the result."""
    copies = sum(problem.program.analysis.copies)
    fields = len(problem.program.fields) + len(problem.program.updated)
    return (copies + fields) * problem.cells * problem.itemsize
