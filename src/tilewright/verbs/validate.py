"""``tw.validate``: predicted against measured, on logs of other people's measurements or on this machine."""

import dataclasses
import zlib
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tilewright.base.constants import STATIC_SHARED
from tilewright.base.errors import UsageError, one_of
from tilewright.base.records import Record
from tilewright.costs import time as time_model
from tilewright.costs.accuracy import TOPS, Comparison, Scores, mean
from tilewright.costs.arrays import Floats, Ints, TileSizes
from tilewright.costs.facts import facts_of
from tilewright.costs.gpu import threads as selector
from tilewright.costs.gpu.fit import FASTEST, GpuFit, LogPoints, calibrate, sample, scale_of
from tilewright.costs.gpu.terms import GpuConstants, thread_numbers
from tilewright.costs.setting import make_setting
from tilewright.costs.work import hexagonal
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import Numbers
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.problem import make_problem
from tilewright.report.progress import waiting
from tilewright.report.validation import StencilValidation
from tilewright.runtime.formats.logs import FLOPS, LogPoint, TuningLog, read_stencilbench, read_tuner_file
from tilewright.schedules.families import hybrid
from tilewright.tuning.validation import MeasuredSpace, compare
from tilewright.verbs.options import ValidateOptions, refuse
from tilewright.verbs.predict import MachineLike, as_machine

POINTS = 10  # calibration points per stencil
_NAMED = 5  # lines that are named at most where people read


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Validation(Record):
    """How good a model's predictions and choices are."""

    KEYS = "machine model stencils overall skipped=skipped.__len__ skipped_lines=skipped"

    machine: str  # the machine's name
    model: str  # ``exact`` or ``published``
    stencils: tuple[StencilValidation, ...]  # one result per stencil
    overall: Scores  # the mean over the stencils
    calibration: GpuFit | None = None  # the constants, or None where the model has none of its own
    # lines of the logs that are cut short, each with its number and the file
    skipped: tuple[str, ...] = ()

    def left_out(self) -> str:
        """Say how many lines were left out, and which; nothing where none was."""
        if not self.skipped:
            return ""
        number, more = len(self.skipped), len(self.skipped) - _NAMED
        which = ", ".join(self.skipped[:_NAMED]) + (f" and {more} more" if more > 0 else "")
        return f"{number} {'lines that were' if number > 1 else 'line that was'} cut short left out: {which}"

    def __str__(self) -> str:
        first, ten = self.overall.fraction_of_best[0], self.overall.fraction_of_best[TOPS.index(10)]
        return (
            f"{self.model} model on {self.machine}: {self.overall.points} points of {len(self.stencils)} stencils; the "
            f"first choice reaches {first:.0%} of the best, the best of ten {ten:.0%}"
            + (f"; {self.left_out()}" if self.skipped else "")
        )


def validate(
    logs: Sequence[TuningLog | str | Path],
    machine: MachineLike,
    *,
    model: str = "exact",
    points: int = POINTS,
    seed: int = 0,
    off: Sequence[str] = (),
    held_out: bool = False,
) -> Validation:
    """Compare predictions with measurements of others.

    Args:
        logs: Logs, or their paths: StencilBench logs, Kernel Tuner caches or T4 results.
        machine: The GPU that they were measured on.
        model: ``exact`` (with thread blocks where the log has threads), or ``published``.
        points: Calibration points per stencil, chosen by the uncalibrated model's ranking and the seed; they are never
            scored. With 0 nothing is fitted.
        seed: Seed of that choice.
        off: Terms of the exact model to switch off, see :data:`tilewright.costs.gpu.terms.TERMS`.
        held_out: Fit every stencil's constants on the *other* stencils' points only (its own factor still comes from
            its own points).

    Returns:
        The scores.

    Raises:
        UsageError: If a log cannot be read, holds fewer than two measured points, or does not fit the model.
    """
    asked = ValidateOptions.of(locals())
    if not logs:
        raise UsageError("there is nothing to validate: give at least one log")
    records = [ordered(log if isinstance(log, TuningLog) else read_log(Path(log))) for log in logs]
    where = as_machine(machine)
    skipped = tuple(line for log in records for line in log.skipped)
    one_of("the model", model, time_model.MODELS)
    measured = [np.array([point.seconds for point in log.measured]) for log in records]
    for log, seconds in zip(records, measured, strict=True):
        if len(seconds) < points + 2:
            raise UsageError(f"a log has at least {points + 2} measured points, {log.program!r} has {len(seconds)}")
    cases = [case_of(log) for log in records]
    every: GpuFit | None = None
    results: list[StencilValidation] = []
    with waiting(f"validating {where.name}", lambda: (len(results) / len(cases), None)):
        if model == "published":
            refuse("a validation of the published model", asked)
            for case, seconds in zip(cases, measured, strict=True):
                results.append(_published_result(case, seconds, where, points, _seed(case, seed)))
        else:
            gpu = thread_numbers(where)
            picks = [sample(selector.evaluate(case, gpu, off=off).seconds, points, _seed(case, seed)) for case in cases]
            chosen = [LogPoints(case=c.take(u), seconds=s[u]) for c, s, u in zip(cases, measured, picks, strict=True)]
            every = calibrate(chosen, gpu, fastest=FASTEST) if points else None
            for number, (case, seconds) in enumerate(zip(cases, measured, strict=True)):
                fitted = every
                if held_out and points and len(cases) > 1:
                    fitted = calibrate([part for i, part in enumerate(chosen) if i != number], gpu, fastest=FASTEST)
                constants = fitted.constants if fitted else GpuConstants()
                results.append(_exact_result(case, seconds, picks[number], gpu, constants, off))
    return Validation(
        machine=where.name,
        model=model,
        stencils=tuple(results),
        overall=mean([each.scores for each in results]),
        calibration=every,
        skipped=skipped,
    )


def validate_here(
    program: str,
    *,
    shape: tuple[int, ...],
    steps: int,
    backend: str = "auto",
    candidates: int = 40,
    executor: Executor | None = None,
) -> Validation:
    """Measure candidates of one program on this machine and compare them with the model."""
    from tilewright.verbs.tuning.tune import tune

    plan = tune(
        program,
        shape=shape,
        steps=steps,
        backend=backend,
        effort="full",
        candidates=candidates,
        seconds=3600.0,
        executor=executor,
    )
    pairs = [(c.predicted_seconds, c.measured_seconds) for c in plan.candidates if c.measured_seconds]
    if len(pairs) < 2:
        raise UsageError(f"fewer than two tilings of {program!r} ran, so there is nothing to compare")
    predicted, measured = np.array(pairs, dtype=float).T
    stencil = StencilValidation(
        name=plan.program.name,
        scores=Comparison(predicted=predicted, measured=measured).score(),
        predicted=predicted,
        measured=measured,
        used=np.zeros(0, dtype=np.int64),
    )
    return Validation(machine="host", model="exact", stencils=(stencil,), overall=stencil.scores)


def read_log(
    path: Path, program: str | None = None, shape: tuple[int, ...] | None = None, steps: int | None = None
) -> TuningLog:
    """Read a log, ``.json`` being Kernel Tuner's, all else StencilBench's; arguments say what the file does not."""
    if path.suffix == ".json":
        return read_tuner_file(path, program, shape, steps)
    return read_stencilbench(path, program if program in FLOPS else None)


def ordered(log: TuningLog) -> TuningLog:
    """Return a log's measured points in the order of their tilings: no result depends on the order of its lines."""

    def place(point: LogPoint) -> tuple[object, ...]:
        tiling = point.tiling
        return tiling.time, tiling.space, tiling.threads, tiling.k or 0, point.seconds

    return dataclasses.replace(log, points=tuple(sorted(log.measured, key=place)))


def _seed(case: selector.TilingBatch, seed: int) -> tuple[int, int]:
    """Return the seed of a stencil's sample: from its name, so that it does not depend on the other logs."""
    return seed, zlib.crc32(case.program.name.encode())


def case_of(log: TuningLog) -> selector.TilingBatch:
    """Return a log's measured points as the model of thread blocks takes them."""
    program = catalogue.program(log.program)
    facts = facts_of(make_problem(program, log.shape, log.steps), cpu=False)
    tilings = [point.tiling for point in log.measured]
    rank = program.rank
    wrong = [t for t in tilings if len(t.space) != rank or len(t.threads) != rank or t.time % 2 or t.time < 2]
    if wrong:
        raise UsageError(
            f"tiles of {program.name!r} have an even height and {rank} sizes and threads, got {str(wrong[0])!r}"
        )
    sizes = TileSizes(
        time=np.array([t.time for t in tilings], dtype=np.int64),
        space=tuple(np.array([t.space[axis] for t in tilings], dtype=np.int64) for axis in range(rank)),
        k=np.array([t.k or 0 for t in tilings], dtype=np.int64),
    )
    threads = tuple(np.array([t.threads[axis] for t in tilings], dtype=np.int64) for axis in range(rank))
    return selector.make_case(program, sizes, threads, facts)


def _exact_result(
    case: selector.TilingBatch, seconds: Floats, picks: Ints, gpu: Numbers, constants: GpuConstants, off: Sequence[str]
) -> StencilValidation:
    terms = selector.evaluate(case, gpu, constants, off)
    scale = scale_of(terms.seconds[picks], seconds[picks]) if len(picks) else 1.0
    shared = int(gpu.block_shared_bytes)
    resident = terms.resident[np.setdiff1d(np.arange(len(seconds)), picks)]
    return _result(case, terms.seconds * scale, seconds, picks, shared, resident=resident, scale=scale)


def _published_result(
    case: selector.TilingBatch, seconds: Floats, machine: Machine, points: int, seed: tuple[int, int]
) -> StencilValidation:
    setting = make_setting(case.facts.problem, machine)
    limit = min(setting.rates.block_bytes, STATIC_SHARED)
    setting = setting.at(block_bytes=limit)
    first = time_model.evaluate(hybrid.FAMILY, case.sizes, setting, "published").seconds
    picks = sample(np.where(np.isfinite(first), first, np.nanmax(first[np.isfinite(first)]) * 10), points, seed)
    best, fit = np.inf, first
    for factor in np.geomspace(1e-2, 1e2, 81) if points else ():
        trial = setting.at(c_iter=setting.rates.c_iter.at(setting.rates.c_iter.value * float(factor)))
        predicted = time_model.evaluate(hybrid.FAMILY, case.sizes, trial, "published").seconds
        inside = picks[np.isfinite(predicted[picks])]
        error = float(np.abs(np.log(predicted[inside] / seconds[inside])).mean()) if len(inside) else np.inf
        if error < best:
            best, fit = error, predicted
    return _result(case, fit, seconds, picks, limit)


def _result(
    case: selector.TilingBatch,
    predicted: Floats,
    seconds: Floats,
    picks: Ints,
    limit: int,
    *,
    resident: Ints | None = None,
    scale: float = 1.0,
) -> StencilValidation:
    rest = np.setdiff1d(np.arange(len(seconds)), picks)
    part = case.take(rest)
    space = MeasuredSpace(
        sizes=part.sizes,
        threads=part.threads,
        predicted=predicted[rest],
        measured=seconds[rest],
        footprint=np.asarray(part.work.box_values * case.facts.itemsize, dtype=np.int64),
        face=hexagonal.face_points(part.sizes, case.facts),
        limit=limit,
    )
    return StencilValidation(
        name=case.program.name,
        scores=space.score(),
        predicted=predicted,
        measured=seconds,
        used=picks,
        space=space,
        resident=resident,
        scale=scale,
        strategies=compare(space),
    )
