"""``tw.tune``: the model ranks the space, the shortlist is compiled, checked and measured, the winner is remembered."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tilewright.api import predict as model_api
from tilewright.api.arrays import costed
from tilewright.api.dispatch import stencil_of
from tilewright.api.meter import History, Limits, WorkerMeter, interruptible, read_history
from tilewright.api.plan import Plan, Tried, needed_bytes
from tilewright.api.predict import MachineLike, as_machine
from tilewright.api.screen import screen
from tilewright.api.stencil import ProgramLike
from tilewright.api.strata import strata
from tilewright.api.trial import TrialJob
from tilewright.api.tune_task import Task, log_path, prediction_of, remember, sample_steps, seconds_of
from tilewright.api.unstable import warn_if_unstable
from tilewright.base.errors import ToolchainError, UsageError
from tilewright.base.records import Resources
from tilewright.plan import read_target
from tilewright.programs.problem import BoundarySpec, make_problem
from tilewright.report.progress import bar
from tilewright.runtime import store, wisdom
from tilewright.runtime.devices import circumstances as device_circumstances
from tilewright.runtime.devices import device_machine, is_gpu, open_device
from tilewright.runtime.host import available_cpus, thread_count
from tilewright.runtime.memory import check_memory
from tilewright.runtime.nvrtc import available as nvrtc_available
from tilewright.runtime.warn import warn_once
from tilewright.runtime.workers import pool
from tilewright.tilings.tiling import NONE, Tiling
from tilewright.tuning.search import Choice, Progress, Trial, Watch, is_unstable, search
from tilewright.tuning.shortlist import effort_level, ranked, shortlist

PLANNED_BACKENDS = ("auto", "c", "numpy", "opencl", "cuda")
"""What tuning is for; a GPU backend may name a device, ``opencl:name``."""
Needs = dict[Tiling, Resources]
_DEFAULT_SCALAR = 0.1
_MOST_WORKERS = 4
_SPARE_BYTES = 8 * 2**30
_SPARE_BYTES_PER_CPU = 2**28
"""Address space, not memory: stacks and heaps of threads reserve far more than they touch."""


def tune(
    program: ProgramLike,
    *,
    shape: tuple[int, ...],
    steps: int,
    machine: MachineLike = "host",
    backend: str = "auto",
    metric: str = "time",
    effort: str = "quick",
    seconds: float | None = None,
    candidates: int | None = None,
    dtype: str = "float32",
    boundary: BoundarySpec = "fixed",
    threads: int | None = None,
    strict: bool = False,
    model: str = "exact",
    resume: bool = True,
    progress: bool | None = None,
    **scalars: Any,  # noqa: ANN401
) -> Plan:
    """Find the best tiling of a program for a problem by measuring the model's candidates.

    Every candidate is compiled and run in a worker process with a time limit, and compared with the NumPy reference
    on a small problem before it may win; the winner is compared with a second schedule on the whole problem. What is
    measured goes to a log at once: a tuning that was cut is continued by the next one. The winner goes to the wisdom
    store, where ``run`` finds it. Ctrl-C ends the tuning and keeps the best so far.

    Args:
        program: A stencil, a program, or the name of a built-in one.
        shape: Extents of the grid, outermost first.
        steps: Time steps.
        machine: Whose model ranks; by default this machine's processor, or the GPU that the backend names, as it was
            calibrated. Candidates are measured on this machine only.
        backend: ``auto``, ``c``, ``opencl`` or ``cuda``; a GPU backend takes a device: ``opencl:name``. Candidates for
            ``cuda`` whose code spills are dropped before they run.
        metric: What is to be small: ``time``, ``traffic``, ``energy``, ``power``, ``edp`` or ``ed2p``; by all but time
            the lowest prediction among the candidates that are right wins.
        effort: ``none`` runs nothing and returns the model's choice (with ``cuda``, of candidates that are compiled for
            the machine and neither spill nor ask for more than it has); ``quick``, ``full`` and ``exhaustive`` try more
            and more.
        seconds: Time after which nothing new is begun; the effort's own by default.
        candidates: Most candidates that are tried; the effort's own by default.
        dtype: Element type.
        boundary: Boundaries, as ``run`` takes them.
        threads: Threads; every CPU that the process may use by default.
        strict: Keep the order of operations exactly.
        model: ``exact`` or ``published``.
        resume: Whether to go on from what an earlier tuning of the same problem has measured.
        progress: Whether to show a progress bar; by default where standard error is a terminal.
        **scalars: Scalars of the program, for the plan's ``run``; an array makes one a coefficient field. What is
            measured has their values, too; one without a value or a default is measured as 0.1.

    Returns:
        The plan.

    Raises:
        UsageError: If anything is unknown or does not fit, or the machine cannot be measured.
        ToolchainError: If no candidate compiles.
        KeyboardInterrupt: If tuning is stopped before anything was measured.

    >>> plan = tune("gradient2d", shape=(8192, 8192), steps=8192, machine="gtx980", effort="none")
    >>> plan.winner.measured_seconds is None, plan.tiling.family
    (True, 'hybrid')
    """
    level = effort_level(effort, seconds, candidates)
    _check(backend, metric, effort)
    known = stencil_of(program, "tune")
    full, numbers = costed(known, scalars)
    if effort != "none":
        _check_real(numbers)
    problem = make_problem(full, shape, steps, dtype, boundary)
    warn_if_unstable(problem, numbers)
    device = open_device(read_target(backend)) if is_gpu(backend) and effort != "none" else None
    where = as_machine(machine) if device is None or machine != "host" else device_machine(device)
    task = Task(
        program=known,
        problem=problem,
        machine=where,
        strata=strata(problem, where, model, metric, every=effort != "none"),
        effort=level,
        level=effort,
        backend=backend,
        metric=metric,
        model=model,
        threads=thread_count(threads) if device is None else 1,
        device=device,
        strict=strict,
        boundary=boundary,
        scalars=dict(scalars),
    )
    if effort == "none":
        return _planned(task)
    if where.kind != "cpu" and device is None:
        raise UsageError(
            f"only this machine's CPU can be measured, got the machine {where.name!r}",
            "leave --machine out, or plan without measuring by --effort none",
        )
    return _measured(task, resume=resume, progress=progress)


def _check(backend: str, metric: str, effort: str) -> None:
    if metric not in model_api.METRICS:
        raise UsageError(
            f"the metric of tuning is one of {', '.join(model_api.METRICS)}, got {metric!r}",
            "per_area is a metric of codesign",
        )
    if backend not in PLANNED_BACKENDS and not is_gpu(backend):
        raise UsageError(f"the backend is one of {', '.join(PLANNED_BACKENDS)}, got {backend!r}")
    if effort != "none" and backend == "numpy":
        raise UsageError(f"nothing can be measured with the backend {backend!r}", "use c, or --effort none")


def _check_real(numbers: Mapping[str, Any]) -> None:
    wrong = [name for name, value in numbers.items() if np.iscomplexobj(value)]
    if wrong:
        raise UsageError(
            f"what is measured is code for real numbers, got the scalar {wrong[0]}={numbers[wrong[0]]}",
            "tune with a real value, or plan without measuring by --effort none",
        )


def _planned(task: Task) -> Plan:
    """Return the model's choice; nothing is run, and nothing but CUDA candidates is compiled."""
    if task.backend.partition(":")[0] == "cuda" and task.machine.kind == "gpu" and nvrtc_available():
        return _screened(task)
    best = ranked(task.strata, task.effort.candidates)
    if not best:
        raise UsageError(f"no tiling of {task.problem.program.name!r} fits the machine {task.machine.name!r}")
    tried = [
        Tried(tiling=each.tiling, predicted_seconds=prediction_of(task, each.tiling).costs.seconds) for each in best
    ]
    if task.metric == "time":  # with thread blocks the prediction knows more than the ranking
        tried.sort(key=lambda each: each.predicted_seconds)
    return _plan(task, tried[0], tuple(tried), 0, None)


def _screened(task: Task) -> Plan:
    """Return the model's choice among the candidates whose code neither spills nor asks for more than there is."""
    first = shortlist(task.strata, task.effort.candidates)
    if not first:
        raise UsageError(f"no tiling of {task.problem.program.name!r} fits the machine {task.machine.name!r}")
    found = screen(task.problem, [each.tiling for each in first], task.machine, strict=task.strict)
    if found[0].outcome is not None:
        raise ToolchainError(f"none of {len(found)} candidates can be run: {found[0].detail}", "try more --candidates")
    tried = [
        Tried(
            tiling=each.tiling,
            predicted_seconds=each.predicted_seconds,
            outcome=each.outcome,
            detail=each.detail,
            **_needed(each.resources),
        )
        for each in found
    ]
    return _plan(task, tried[0], tuple(tried), len(tried), None)


def _measured(task: Task, *, resume: bool, progress: bool | None) -> Plan:
    circumstances = wisdom.circumstances() if task.device is None else device_circumstances(task.device)
    check_memory(needed_bytes(task.problem))
    steps = sample_steps(task)
    log = log_path(task, steps, circumstances)
    if log is not None and not resume:
        store.append(log, {"kind": "restart", "when": wisdom.now()})
    history = read_history(log)
    numbers = costed(task.program, task.scalars)[1]
    job = TrialJob(
        problem=task.problem,
        tiling=NONE,
        scalars=tuple((name, _number(numbers.get(name))) for name in task.problem.program.scalars),
        threads=task.threads,
        strict=task.strict,
        steps=steps,
        target=read_target(task.backend if task.device is not None else "c"),
    )
    choice, needs = _search(task, job, log, history, progress)
    scale = task.problem.steps / steps
    if choice.winner is None:
        _raise_failure(choice)
    winner = _tried(task, choice.winner, scale, needs)
    others = [_tried(task, trial, scale, needs) for trial in choice.trials if trial is not choice.winner]
    tried = [winner, *sorted(others, key=_order)]
    remember(task, winner, choice, circumstances)
    return _plan(task, winner, tuple(tried), len(tried), choice)


def _search(
    task: Task, job: TrialJob, log: Path | None, history: History, progress: bool | None
) -> tuple[Choice, Needs]:
    """Search with worker processes; they are gone when this returns."""
    workers = min(available_cpus(), _MOST_WORKERS)
    # A GPU's driver reserves address space for all memory there is.
    memory, limits = None, DEVICE_LIMITS
    if task.device is None:
        memory = _SPARE_BYTES + _SPARE_BYTES_PER_CPU * available_cpus() + 4 * needed_bytes(task.problem)
        limits = LIMITS
    title = f"tuning {task.problem.program.name}"
    with interruptible(), bar(title, progress) as update, pool(workers, memory) as processes:
        meter = WorkerMeter(processes, job, limits, log, history)

        def report(state: Progress) -> None:
            best = "" if state.best is None else f", best {state.best:.3g} s"
            update(state.done, state.total, state.stage + best)

        choice = search(
            task.strata,
            task.effort,
            meter,
            recorded=history.measurements,
            watch=Watch(report=report),
            by_prediction=task.metric != "time",
        )
        if choice.interrupted:
            meter.stopped()
    if choice.interrupted:
        if choice.winner is None:
            warn_once("tuning was stopped before anything was measured; what is compiled already is kept")
            raise KeyboardInterrupt
        warn_once("tuning was stopped before its end; the best so far is kept, and tuning again goes on from here")
    return choice, meter.needs


LIMITS = Limits()
"""Time limits of the worker processes."""
DEVICE_LIMITS = Limits(compile=120.0, check=120.0, run=120.0)
"""The same on a GPU, whose driver compiles in every process, and where arrays have to be copied first."""


def _plan(task: Task, winner: Tried, tried: tuple[Tried, ...], evaluated: int, choice: Choice | None) -> Plan:
    return Plan(
        program=task.program,
        problem=task.problem,
        prediction=prediction_of(task, winner.tiling),
        winner=winner,
        candidates=tried,
        evaluated=evaluated,
        space_size=sum(int(np.isfinite(stratum.cost).sum()) for stratum in task.strata),
        effort=task.level,
        metric=task.metric,
        backend=task.backend if is_gpu(task.backend) else "c",
        threads=task.threads,
        strict=task.strict,
        boundary=task.boundary,
        scalars=task.scalars,
        confirmed=choice is not None and choice.confirmed,
        interrupted=choice is not None and choice.interrupted,
        exhausted=choice is not None and choice.exhausted and len(choice.trials) < len(choice.shortlist),
    )


def _tried(task: Task, trial: Trial, scale: float, needs: Needs) -> Tried:
    samples = trial.measurement.seconds if trial.ok else ()
    return Tried(
        tiling=trial.candidate.tiling,
        predicted_seconds=seconds_of(task, trial.candidate),
        measured_seconds=scale * trial.measurement.median if trial.ok else None,
        outcome=trial.measurement.outcome,
        detail=trial.measurement.detail,
        samples=len(samples),
        spread=trial.spread if len(samples) > 1 else None,
        unstable=trial.ok and is_unstable(trial),
        range_seconds=(scale * min(samples), scale * max(samples)) if samples else None,
        **_needed(needs.get(trial.candidate.tiling)),
    )


def _needed(code: Resources | None) -> dict[str, Any]:
    """What the compiler says of a candidate's code, by the names of :class:`Tried`."""
    if code is None:
        return {}
    return {
        "registers": code.registers,
        "spills": code.spill_bytes,
        "stack_bytes": code.stack_bytes,
        "shared_bytes": code.shared_bytes,
    }


def _order(tried: Tried) -> tuple[float, float]:
    return (math.inf if tried.measured_seconds is None else tried.measured_seconds, tried.predicted_seconds)


def _raise_failure(choice: Choice) -> NoReturn:
    first = choice.trials[0] if choice.trials else None
    reason = f": {first.measurement.outcome}, {first.measurement.detail}" if first else ""
    raise ToolchainError(
        f"none of {len(choice.trials)} candidates could be measured{reason}", "see `tilewright doctor`"
    )


def _number(value: Any) -> float:  # noqa: ANN401
    """A scalar's value for measuring, where it matters little."""
    return _DEFAULT_SCALAR if value is None else float(value)
