"""One run as the command line asks for it: data in, compute, check, data out."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError, WrongResultError
from tilewright.base.paths import check_place
from tilewright.base.units import format_seconds, format_shape
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.report.waiting import waiting
from tilewright.runtime.formats.files import check_output, is_archive, read_planes, write_planes
from tilewright.runtime.formats.pictures import depth_of, is_picture, picture_bits
from tilewright.runtime.formats.series import check_series, is_series
from tilewright.runtime.memory import Array, check_memory
from tilewright.runtime.session import point_tables
from tilewright.runtime.simulation import Calculation
from tilewright.schedules.tiling import Tiling
from tilewright.verbs import data
from tilewright.verbs.load import load_program
from tilewright.verbs.running.levels import warn_if_at_rest
from tilewright.verbs.running.monitor import Monitor, make_monitor
from tilewright.verbs.running.record import threads_of
from tilewright.verbs.running.run import CheckedProblem, calculation_of, make_case, target_here
from tilewright.verbs.running.saving import Recorder
from tilewright.verbs.running.told import Watched, while_running

Note = Callable[[str], None]
_LONG_CHECK = 2e8
"""Cell updates from which a check is announced."""
_REFERENCE_COPIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What the command line asks for, as it is written there."""

    program: str  # a built-in program, or ``file.py:function``
    steps: int
    shape: str | None = None  # as text; that of the inputs by default
    backend: str = "auto"  # ``auto``, ``c`` or ``numpy``
    dtype: str | None = None  # that of the inputs by default, else float32
    boundary: BoundarySpec = "fixed"
    tile: str | None = None  # as text; the model's choice by default
    threads: int | None = None  # all by default
    strict: bool = False  # whether the order of operations is kept exactly
    inputs: tuple[Path, ...] = ()  # one file per field, or a ``.npz`` file with several; none for random data
    # files for the updated fields; a ``.npz``, ``.zarr`` or ``.h5`` file holds all fields and time levels
    outputs: tuple[Path, ...] = ()
    scalars: tuple[str, ...] = ()  # ``name=value`` each
    seed: int = 0  # of random data
    check: bool = False  # whether to compare with the reference
    every: int | None = None  # steps between looks at the run; a value that is not finite then ends it
    until: float | None = None  # the run ends when no value changes by more than this per step
    where: Path | None = None  # a file of truth values: where they are false, cells keep their first value
    sources: tuple[str, ...] = ()  # ``CELL=VALUE`` each, such as ``8,8=1.0``: what is added to a cell in every step
    # a file beside which the first updated field (all fields and time levels, as ``.npz``) is written, at every look,
    # with the step in its name; or a ``.zarr``, ``.h5`` or ``.vti`` file that gets them all
    snapshots: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A result against the float64 reference."""

    max_error: float  # absolute, over all cells
    within: bool  # whether every cell is within its bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run did."""

    problem: Problem
    planes: int  # how often it was computed: 3 for a colour picture, else 1
    backend: str  # what computed it, ``c`` or ``numpy``
    tiling: Tiling  # as it was used
    threads: int  # as many as were used
    seconds: float  # computing, without compiling and without reading or writing files
    steps: int  # as many as were done: those of the problem, unless the run ended before
    comparison: Comparison | None = None  # with the reference, where it was asked for

    @property
    def gcells_per_second(self) -> float:
        """Cell updates per nanosecond."""
        return self.planes * self.problem.cells * self.steps / self.seconds / 1e9

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain data."""
        document: dict[str, object] = {
            "program": self.problem.program.name,
            "shape": list(self.problem.shape),
            "steps": self.steps,
            "steps_done": self.steps,
            "dtype": self.problem.dtype,
            "backend": self.backend,
            "tiling": str(self.tiling),
            "threads": self.threads,
            "planes": self.planes,
            "seconds": self.seconds,
            "gcells_per_second": self.gcells_per_second,
        }
        if self.comparison is not None:
            checked = {"checked": True, "within_bound": self.comparison.within}
            document |= {"max_error": self.comparison.max_error, **checked}
        return document

    def __str__(self) -> str:
        asked = "" if self.steps == self.problem.steps else f" of {self.problem.steps}"
        what = f"{self.problem.program.name} {format_shape(self.problem.shape)}, {self.steps}{asked} steps"
        threads = f"{self.threads} thread{'s' * (self.threads != 1)}"
        lines = [
            f"{what}, {self.problem.dtype}: {self.backend}, {self.tiling}, {threads}",
            f"{format_seconds(self.seconds)}, {self.gcells_per_second:.3g} GCells/s",
        ]
        if self.comparison is not None:
            verdict = "within" if self.comparison.within else "BEYOND"
            lines.append(f"every cell checked: largest error {self.comparison.max_error:.3g}, {verdict} the bound")
        return "\n".join(lines)

    def raise_if_wrong(self) -> None:
        """Raise if the comparison failed."""
        if self.comparison is not None and not self.comparison.within:
            raise WrongResultError(
                f"the result differs from the float64 reference by up to {self.comparison.max_error:.3g}, "
                "more than rounding explains",
                "report it with the command line and the output of `tilewright doctor`",
            )


def perform(job: Job, note: Note) -> Report:
    """Do one run and write its outputs."""
    program, target = load_program(job.program), target_here(job.backend, job.threads)
    _check_outputs(program, job, note)
    scalars = data.scalar_values(program, job.scalars)
    planes = data.planes(program, job.inputs, job.shape, job.dtype, job.seed)
    bits = max([8, *(picture_bits(path) for path in job.inputs if is_picture(path))])
    _note_depth(job, len(planes), bits, note)
    looks = _Looks(job, program, len(planes), bits)
    cases = [
        make_case(
            program, arrays, scalars, steps=job.steps, boundary=job.boundary, dtype=job.dtype, where=looks.mask,
            sources=looks.sources,
        )
        for arrays in planes
    ]  # fmt: skip
    problem = cases[0].problem
    warn_if_at_rest(cases[0].given, files=True)
    looks.constant = {
        field: [np.asarray(level, problem.dtype) for level in cases[0].given.versions[field]]
        for field in program.fields
        if field not in program.updated
    }
    deep = any(map(data.holds_state, job.outputs))
    calculations = [calculation_of(each, target, job.tile, strict=job.strict, monitor=looks.monitor) for each in cases]
    begin = time.perf_counter()
    done = [_computed(each, looks.monitor, deep=deep) for each in calculations]
    seconds = time.perf_counter() - begin
    results = [{field: levels[0] for field, levels in found.items()} for found, _ in done]
    _write(problem, results, job.outputs, bits, note)
    for path in filter(data.holds_state, job.outputs):
        data.write_state(path, program, {**looks.constant, **done[0][0]}, done[0][1])
    kernel = calculations[0].kernel
    return Report(
        problem=problem,
        planes=len(planes),
        backend=kernel.plan.target.backend,
        tiling=kernel.plan.tiling,
        threads=threads_of(kernel, calculations[0].threads),
        seconds=seconds,
        steps=min(steps for _, steps in done),
        comparison=_compare(cases, results, note) if job.check else None,
    )


def _computed(
    calculation: Calculation, monitor: Monitor | None, *, deep: bool
) -> tuple[dict[str, tuple[Array, ...]], int]:
    """Compute, and say how far it is where that takes long."""
    watched = None if monitor is None else Watched(monitor)
    with while_running(calculation.kernel, calculation.problem, watched):
        return calculation.compute(watched, deep=deep)


class _Looks:
    """What a job wants to see or to change while it runs, read and checked."""

    def __init__(self, job: Job, program: Program, planes: int, bits: int) -> None:
        self._bits = bits
        self.mask = None if job.where is None else read_planes(job.where)[0]
        self.sources = [read_source(text) for text in job.sources] or None
        self.constant: Mapping[str, Sequence[Array]] = {}
        self._program, self._target = program, job.snapshots
        if job.snapshots is not None and job.every is None:
            raise UsageError("snapshots need to know how often they are written", "give --every 100")
        if (job.snapshots is not None or job.until is not None) and planes > 1:
            raise UsageError("a colour picture is computed by channel, so --snapshots and --until do not apply to it")
        whole = next(filter(data.holds_state, job.outputs), None)
        if planes > 1 and whole is not None:
            raise UsageError(
                f"a colour picture is computed by channel, which a {whole.suffix} file does not hold", "write a .npy"
            )
        target = job.snapshots
        levels = target is not None and data.holds_state(target)
        self._series = Recorder(target, program) if target is not None and is_series(target) else None
        self.monitor = make_monitor(job.every, None if job.snapshots is None else self._look, job.until, levels=levels)

    def _look(self, step: int, view: Any) -> None:  # noqa: ANN401
        assert self._target is not None  # noqa: S101  (it is called where there is one)
        target, updated = self._target.with_stem(f"{self._target.stem}-{step:06d}"), self._program.updated
        views = view if len(updated) > 1 else (view,)
        if self._series is None and not is_archive(target):
            write_planes(target, (views[0],), self._bits)
            return
        levels = {
            field: each if isinstance(each, tuple) else (each,) for field, each in zip(updated, views, strict=True)
        }
        if self._series is None:
            data.write_state(target, self._program, {**self.constant, **levels})
        else:
            self._series.write(step, {**self.constant, **levels})


def read_source(text: str) -> tuple[tuple[int, ...], float]:
    """Read a source as it is written on the command line: a cell, and what is added to it in every step."""
    cell, _, value = text.partition("=")
    try:
        return tuple(int(part) for part in cell.split(",")), float(value)
    except ValueError:
        raise UsageError(f"a source is written CELL=VALUE, got {text!r}", "write it like --source 8,8=1.0") from None


def _check_outputs(program: Program, job: Job, note: Note) -> None:
    """Find out before any computation whether the results can be written, and say what they will lack."""
    single = [path for path in job.outputs if not data.holds_state(path)]
    if len(single) > len(program.updated):
        updated = ", ".join(program.updated)
        raise UsageError(f"{program.name!r} updates {updated}: --output is given {len(single)} times")
    for path in (*job.outputs, *([] if job.snapshots is None else [job.snapshots])):
        if is_series(path):
            check_series(path)
        elif is_archive(path):
            check_place(path)
        if data.holds_state(path):
            data.archive_names(program)
        else:
            check_output(path)
    if len(single) == len(job.outputs):
        for field, path in zip(program.updated, single, strict=False):
            _note_lost(program, field, path, note)
    if job.snapshots is not None:
        _note_lost(program, program.updated[0], job.snapshots, note, alone=True)


def _note_lost(program: Program, field: str, path: Path, note: Note, *, alone: bool = False) -> None:
    """Say that no run can go on from a file of a single array, where a next one needs more."""
    levels, fields = program.history(field) > 1, alone and len(program.updated) > 1
    if path.suffix.lower() == ".npy" and (levels or fields):
        what = f"the newest time level of {field!r}" if levels else repr(field)
        note(
            f"warning: {str(path)!r} holds {what} alone, from which no run can go on "
            f"(hint: {path.with_suffix('.npz').name} keeps all fields and time levels, and --input reads it)"
        )


def _note_depth(job: Job, planes: int, bits: int, note: Note) -> None:
    """Say which pictures hold fewer bits than those that are read."""
    for path in (*job.outputs, *([] if job.snapshots is None else [job.snapshots])):
        depth = depth_of(path, planes, bits) if is_picture(path) else bits
        if depth < bits:
            note(
                f"warning: {str(path)!r} holds {depth} bits per channel, the input {bits} "
                "(hint: .png keeps 16, .npy everything)"
            )


def _write(
    problem: Problem, results: Sequence[Mapping[str, Array]], outputs: Sequence[Path], bits: int, note: Note
) -> None:
    for field in problem.program.updated:
        bad = sum(int(np.count_nonzero(~np.isfinite(result[field]))) for result in results)
        if bad:
            note(f"warning: {bad} values of {field!r} are not finite after {problem.steps} steps")
    single = [path for path in outputs if not data.holds_state(path)]
    for field, path in zip(problem.program.updated, single, strict=False):
        clipped = write_planes(path, tuple(result[field] for result in results), bits)
        if clipped:
            note(f"warning: {clipped} values of {field!r} outside 0 to 1 are clipped in {str(path)!r}")


def _compare(cases: Sequence[CheckedProblem], results: Sequence[Mapping[str, Array]], note: Note) -> Comparison:
    """Compare every cell with the float64 reference; see :func:`tilewright.programs.stencil.rounding.bound`."""
    from tilewright.programs.stencil import rounding

    problem = cases[0].problem
    check_memory(_REFERENCE_COPIES * problem.cells * np.dtype(np.float64).itemsize * len(problem.program.fields))
    if problem.cells * problem.steps * len(cases) >= _LONG_CHECK:
        note("comparing with the NumPy reference, which takes a while")
    errors, within, done = [], True, [0]
    steps = problem.steps * sum(rounding.runs(problem, each.given.versions, each.given.scalars) for each in cases)

    def stepped() -> None:
        done[0] += 1

    for each, result in zip(cases, results, strict=True):
        with waiting("comparing with the NumPy reference", lambda: (done[0] / max(1, steps), None)):
            tables = point_tables(problem, each.inputs(1))
            added = rounding.nothing if tables is None else tables.added
            exact, allowed = rounding.bound(problem, each.given.versions, each.given.scalars, stepped, added)
        for field in problem.program.updated:
            error, good = rounding.worst_excess(result[field], exact[field], allowed[field])
            errors.append(error)
            within = within and good
    return Comparison(max_error=max(errors), within=within)
