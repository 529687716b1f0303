"""``tw.tune``: the model ranks the space, the shortlist is compiled, checked and measured, the winner is remembered."""

import dataclasses
import math
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from tilewright.base.errors import ToolchainError, UsageError, one_of
from tilewright.base.fingerprint import fingerprint
from tilewright.base.records import Outcome, Resources
from tilewright.costs.interval import interval
from tilewright.inputs import memo
from tilewright.inputs.arrays import problem_of
from tilewright.inputs.stencil import ProgramLike
from tilewright.machines.machine import Machine
from tilewright.plan import Plan as Decision
from tilewright.plan import Target, read_target
from tilewright.planner import plans
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.report.progress import bar
from tilewright.runtime.devices.device import Device
from tilewright.runtime.devices.drivers import circumstances as device_circumstances
from tilewright.runtime.devices.drivers import device_machine, open_device
from tilewright.runtime.host import available_cpus, thread_count
from tilewright.runtime.memory import check_memory
from tilewright.runtime.store import folder as store
from tilewright.runtime.store import wisdom
from tilewright.runtime.warn import warn_once
from tilewright.runtime.workers.pool import pool
from tilewright.schedules.tiling import Tiling
from tilewright.tuning import stencil
from tilewright.tuning.search import BATCH, Progress, SearchResult, Trial, Watch, is_unstable, search
from tilewright.tuning.shortlist import Candidate, Effort, FamilySpace, effort_level, ranked, shortlist
from tilewright.verbs.dispatch import stencil_of
from tilewright.verbs.options import TuneOptions
from tilewright.verbs.predict import METRICS, MachineLike, as_machine, predicted
from tilewright.verbs.prediction import Prediction
from tilewright.verbs.tuning.family_spaces import family_spaces
from tilewright.verbs.tuning.farm import AT_ONCE, LOGGER, FarmMeter, first_node
from tilewright.verbs.tuning.meter import Errand, Limits, Node, WorkerMeter, interruptible, read_history
from tilewright.verbs.tuning.plan import Plan, Tried, needed_bytes
from tilewright.verbs.tuning.screen import said, screen, unscreened
from tilewright.verbs.unstable import warn_if_unstable

Needs = dict[Tiling, Resources]
_DEFAULT_SCALAR = 0.1
_MOST_WORKERS = 4
_SPARE_BYTES = 8 * 2**30
_SPARE_BYTES_PER_CPU = 2**28  # address space, not memory: stacks and heaps of threads reserve far more than they touch
_PROTOCOL = 2  # raised when older logs could no longer be continued
_SAMPLE_SECONDS = 1.0
"""A sample that would take longer by the model computes fewer steps, but at least two heights of the tallest tile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """What is tuned, checked."""

    program: Program  # as the caller gave it
    problem: Problem  # what is tuned; scalars given as arrays are coefficient fields of its program
    machine: Machine  # on which the model ranks
    family_spaces: tuple[FamilySpace, ...]  # the space, by family and height, with predicted costs
    effort: Effort  # how much is tried
    asked: TuneOptions
    target: Target  # where it is computed
    device: Device | None  # the GPU that measures, or None for the processor
    scalars: dict[str, Any]
    numbers: dict[str, Any]  # those scalars that are numbers


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
    executor: Executor | None = None,
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
        effort: ``none`` runs nothing and returns the model's choice (with ``cuda``, candidates are compiled for the
            machine, dropped where they spill or ask for more than it has, and ranked by the bound of their machine
            code, which is no measurement); ``quick``, ``full`` and ``exhaustive`` try more
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
        executor: Any ``concurrent.futures.Executor`` whose workers compile candidates and measure them, one per node;
            only times of nodes like the first one that answers count, and finalists are measured again on one node.
        **scalars: Scalars of the program, for the plan's ``run``; an array makes one a coefficient field. What is
            measured has their values, too; one without a value or a default, and values per step, are measured as 0.1.

    Returns:
        The plan.

    Raises:
        UsageError: If anything is unknown or does not fit, or the machine cannot be measured.
        ToolchainError: If no candidate compiles.
        KeyboardInterrupt: If tuning is stopped before anything was measured.

    Examples:
        >>> plan = tune("gradient2d", shape=(8192, 8192), steps=8192, machine="gtx980", effort="none")
        >>> plan.winner.measured_seconds is None, plan.tiling.family
        (True, 'streaming')
    """
    asked = TuneOptions.of(locals())
    level = effort_level(effort, seconds, candidates)
    backends = _check(asked)
    definition = stencil_of(program, "tune")
    problem, numbers = problem_of(definition, scalars, shape, steps, dtype, boundary)
    if effort != "none" and problem.steps == 0:
        raise UsageError("what is measured has at least one step, got steps=0", "give some, or --effort none")
    warn_if_unstable(problem, numbers)
    device = open_device(backends) if backends.on_device and effort != "none" else None
    node = None
    if executor is not None and effort != "none":
        if device is not None:
            raise UsageError("an executor's workers measure processors", "leave the executor out for a GPU")
        node = first_node(executor, LIMITS)
    count = thread_count(threads) if device is None else 1
    if node is not None and threads is None:
        count = node.cpus
    target = replace(backends, threads=count) if backends.on_device else read_target("auto", count)
    where = as_machine(machine) if device is None or machine != "host" else device_machine(device)
    tuning = Tuning(
        program=definition,
        problem=problem,
        machine=where,
        family_spaces=family_spaces(problem, where, model, metric, every=effort != "none"),
        effort=level,
        asked=asked,
        target=target,
        device=device,
        scalars=dict(scalars),
        numbers=numbers,
    )
    if effort == "none":
        return _plan_by_model(tuning)
    if where.kind != "cpu" and device is None:
        raise UsageError(
            f"only this machine's CPU can be measured, got the machine {where.name!r}",
            "leave --machine out, or plan without measuring by --effort none",
        )
    farm = None if executor is None or node is None else (executor, node)
    return _plan_by_times(tuning, farm)


def _check(asked: TuneOptions) -> Target:
    one_of("the metric of tuning", asked.metric, METRICS, "per_area is a metric of codesign")
    target = read_target(asked.backend)
    if asked.effort != "none" and target.backend == "numpy":
        raise UsageError(f"nothing can be measured with the backend {asked.backend!r}", "use c, or --effort none")
    return target


def _plan_by_model(tuning: Tuning) -> Plan:
    """Return the model's choice; nothing is run, and nothing but CUDA candidates is compiled."""
    if tuning.target.backend == "cuda" and tuning.machine.kind == "gpu":
        reason = unscreened(tuning.machine)
        if not reason:
            return _plan_by_code(tuning)
        warn_once(f"candidates for {tuning.machine.name} are not screened by a compiler: {reason}")
    best = ranked(tuning.family_spaces, tuning.effort.candidates)
    if not best:
        raise UsageError(f"no tiling of {tuning.problem.program.name!r} fits the machine {tuning.machine.name!r}")
    tried = [
        Tried(tiling=each.tiling, predicted_seconds=prediction_of(tuning, each.tiling).costs.seconds) for each in best
    ]
    if tuning.asked.metric == "time":  # with thread blocks the prediction knows more than the ranking
        tried.sort(key=lambda each: each.predicted_seconds)
    return _plan(tuning, tried, 0, None)


def _plan_by_code(tuning: Tuning) -> Plan:
    """Return the best by machine code of the model's choices whose code neither spills nor asks for too much."""
    first = shortlist(tuning.family_spaces, tuning.effort.candidates)
    if not first:
        raise UsageError(f"no tiling of {tuning.problem.program.name!r} fits the machine {tuning.machine.name!r}")
    cases = screen(tuning.problem, [each.tiling for each in first], tuning.machine, strict=tuning.asked.strict)
    if cases[0].outcome is not None:
        raise ToolchainError(f"none of {len(cases)} candidates can be run: {cases[0].detail}", "try more --candidates")
    tried = [
        Tried(
            tiling=each.tiling,
            predicted_seconds=each.predicted_seconds,
            outcome=each.outcome,
            detail=each.detail,
            bound_seconds=each.bound_seconds,
            bound_by="" if each.bound is None else said(each.bound),
            **_needs_of(each.resources),
        )
        for each in cases
    ]
    return _plan(tuning, tried, len(tried), None)


def _plan_by_times(tuning: Tuning, farm: tuple[Executor, Node] | None) -> Plan:
    if farm is not None:
        circumstances = farm[1].kind
    else:
        circumstances = wisdom.circumstances() if tuning.device is None else device_circumstances(tuning.device)
    check_memory(needed_bytes(tuning.problem))
    steps = sample_steps(tuning)
    log = log_path(tuning, steps, circumstances)
    if log is not None and not tuning.asked.resume:
        store.append(log, {"kind": "restart", "when": wisdom.now()})
    choice, needs = _search(tuning, farm, steps, log)
    scale = tuning.problem.steps / steps
    if choice.winner is None:
        _raise_failure(choice)
    winner = _tried_tiling(tuning, choice.winner, scale, needs)
    rest = [_tried_tiling(tuning, trial, scale, needs) for trial in choice.trials if trial is not choice.winner]
    tried = [winner, *sorted(rest, key=_order)]
    remember(tuning, winner, choice, circumstances)
    return _plan(tuning, tried, len(tried), choice)


def _search(
    tuning: Tuning, farm: tuple[Executor, Node] | None, steps: int, log: Path | None
) -> tuple[SearchResult, Needs]:
    """Search with worker processes, which are gone when this returns, or with the nodes of an executor."""
    history, title, cpus = read_history(log), f"tuning {tuning.problem.program.name}", available_cpus()
    memory = _SPARE_BYTES + _SPARE_BYTES_PER_CPU * (farm[1].cpus if farm else cpus) + 4 * needed_bytes(tuning.problem)
    errand = Errand(
        plan=Decision(problem=tuning.problem, target=tuning.target, strict=tuning.asked.strict),
        scalars=tuple((name, _number(tuning.numbers.get(name))) for name in tuning.problem.program.scalars),
        steps=steps,
        limits=LIMITS if tuning.device is None else DEVICE_LIMITS,
        # A GPU's driver reserves address space for all memory there is.
        memory=memory if tuning.device is None else None,
    )
    meter: WorkerMeter | FarmMeter
    with ExitStack() as stack:
        stack.enter_context(interruptible())
        update = stack.enter_context(bar(title, tuning.asked.progress))

        def report(state: Progress) -> None:
            best = "" if state.best is None else f", best {state.best:.3g} s"
            update(state.done, state.total, state.stage + best)

        if farm is None:
            processes = stack.enter_context(pool(min(cpus, _MOST_WORKERS), errand.memory))
            meter = WorkerMeter(processes, errand, log, history)
        else:
            meter = FarmMeter(*farm, errand, log=log, history=history)
        choice = search(
            tuning.family_spaces,
            tuning.effort,
            meter,
            recorded=history.measurements,
            watch=Watch(report=report),
            by_prediction=tuning.asked.metric != "time",
            at_once=AT_ONCE if farm else BATCH,
        )
        if choice.interrupted:
            meter.stopped()
    if isinstance(meter, FarmMeter):
        LOGGER.info("%s: %d samples on %s", title, sum(meter.nodes.values()), ", ".join(meter.nodes))
    if choice.interrupted:
        if choice.winner is None:
            warn_once("tuning was stopped before anything was measured; what is compiled already is kept")
            raise KeyboardInterrupt
        warn_once("tuning was stopped before its end; the best so far is kept, and tuning again goes on from here")
    return choice, meter.needs


LIMITS = Limits()  # time limits of the worker processes
DEVICE_LIMITS = Limits(compile=120.0, check=120.0, run=120.0)
"""The same on a GPU, whose driver compiles in every process, and where arrays have to be copied first."""


def _plan(tuning: Tuning, tried: Sequence[Tried], evaluated: int, choice: SearchResult | None) -> Plan:
    candidates = tuple(_with_interval(tuning, each) for each in tried)
    winner = candidates[0]
    (decision,) = plans(tuning.problem, tuning.target, winner.tiling, strict=tuning.asked.strict)
    return Plan(
        program=tuning.program,
        decision=replace(decision, evidence="model" if winner.measured_seconds is None else "measured"),
        prediction=prediction_of(tuning, winner.tiling),
        winner=winner,
        candidates=candidates,
        evaluated=evaluated,
        space_size=sum(int(np.isfinite(family_space.cost).sum()) for family_space in tuning.family_spaces),
        effort=tuning.asked.effort,
        metric=tuning.asked.metric,
        boundary=tuning.asked.boundary,
        scalars=tuning.scalars,
        confirmed=choice is not None and choice.confirmed,
        interrupted=choice is not None and choice.interrupted,
        exhausted=choice is not None and choice.exhausted and len(choice.trials) < len(choice.shortlist),
    )


def _with_interval(tuning: Tuning, tried: Tried) -> Tried:
    bounds = interval(
        tried.tiling.family,
        tried.predicted_seconds,
        cpu=tuning.machine.kind == "cpu",
        threads=tuning.asked.model == "exact" and tuning.problem.program.rank > 1,
    )
    return replace(tried, predicted_interval=(bounds.low, bounds.high))


def _tried_tiling(tuning: Tuning, trial: Trial, scale: float, needs: Needs) -> Tried:
    samples = trial.measurement.seconds if trial.ok else ()
    return Tried(
        tiling=trial.candidate.tiling,
        predicted_seconds=seconds_of(tuning, trial.candidate),
        measured_seconds=scale * trial.measurement.median if trial.ok else None,
        outcome=trial.measurement.outcome,
        detail=trial.measurement.detail,
        samples=len(samples),
        spread=trial.spread if len(samples) > 1 else None,
        unstable=trial.ok and is_unstable(trial),
        range_seconds=(scale * min(samples), scale * max(samples)) if samples else None,
        **_needs_of(needs.get(trial.candidate.tiling)),
    )


def prediction_of(tuning: Tuning, tiling: Tiling) -> Prediction:
    """Return what the task's model says of a tiling."""
    return predicted(stencil.on_machine(tuning.problem, tuning.machine, model=tuning.asked.model), tiling)


def seconds_of(tuning: Tuning, candidate: Candidate) -> float:
    """Return the predicted seconds of a candidate, which was ranked by the task's metric."""
    by_time = tuning.asked.metric == "time"
    return candidate.predicted if by_time else prediction_of(tuning, candidate.tiling).costs.seconds


def remember(tuning: Tuning, winner: Tried, choice: SearchResult, circumstances: wisdom.Circumstances) -> None:
    """Put a winner by measured time into the wisdom store, where ``run`` finds it."""
    if tuning.asked.metric != "time" or tuning.asked.strict or winner.measured_seconds is None:
        return
    entry = wisdom.Wisdom(
        program=tuning.problem.program.name[:200],
        problem_key=wisdom.problem_key(tuning.problem, "c" if tuning.device is None else tuning.device.dialect),
        dtype=tuning.problem.dtype,
        shape=tuning.problem.shape,
        steps=max(1, tuning.problem.steps),
        threads=tuning.target.threads,
        tiling=str(winner.tiling),
        seconds=winner.measured_seconds,
        samples=max(1, winner.samples),
        unstable=winner.unstable,
        confirmed=choice.confirmed,
        circumstances=circumstances,
        when=wisdom.now(),
    )
    wisdom.remember([entry])
    memo.forget()


def sample_steps(tuning: Tuning) -> int:
    """Return the steps of one sample: all, unless that would take too long by the model."""
    first = shortlist(tuning.family_spaces, tuning.effort.candidates)
    per_step = seconds_of(tuning, first[0]) / max(1, tuning.problem.steps)
    tallest = max(candidate.tiling.time for candidate in first)
    return min(tuning.problem.steps, max(2 * tallest, math.ceil(_SAMPLE_SECONDS / max(per_step, 1e-12))))


def log_path(tuning: Tuning, steps: int, circumstances: wisdom.Circumstances) -> Path | None:
    """Return where the task's measurements are kept, or None where nothing can be kept."""
    root = store.directory()
    if root is None:
        return None
    problem, threads, here = tuning.problem, tuning.target.threads, dataclasses.asdict(circumstances)
    key = fingerprint(_PROTOCOL, problem, threads, tuning.asked.strict, steps, here, tuning.asked.metric)
    folder = root / "tunes"
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        warn_once(f"what is measured cannot be kept for later runs: {error}")
        return None
    return folder / f"{key}.jsonl"


def _needs_of(code: Resources | None) -> dict[str, Any]:
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


def _raise_failure(choice: SearchResult) -> NoReturn:
    first = choice.trials[0] if choice.trials else None
    reason = f": {first.measurement.outcome}, {first.measurement.detail}" if first else ""
    late = first is not None and first.measurement.outcome is Outcome.TIMEOUT
    raise ToolchainError(
        f"none of {len(choice.trials)} candidates could be measured{reason}",
        "if other processes keep this machine busy, tune without them" if late else "see `tilewright doctor`",
    )


def _number(value: Any) -> complex:  # noqa: ANN401
    """A scalar's value for measuring, where it matters little."""
    if value is None:
        return _DEFAULT_SCALAR
    return complex(value) if np.iscomplexobj(value) else float(value)
