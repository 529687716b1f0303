"""What is tuned, checked: its predictions, the steps of a sample, where its log lies, and what is remembered of it."""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.api import memo
from tilewright.api.plan import Tried
from tilewright.api.predict import predicted
from tilewright.api.prediction import Prediction
from tilewright.base.fingerprint import fingerprint
from tilewright.machines.machine import Machine
from tilewright.programs.problem import BoundarySpec, Problem
from tilewright.programs.stencil import Program
from tilewright.runtime import gpu, store, wisdom
from tilewright.runtime.warn import warn_once
from tilewright.tilings.tiling import Tiling
from tilewright.tuning.search import Choice
from tilewright.tuning.shortlist import Candidate, Effort, Stratum, shortlist
from tilewright.workloads import stencil

_PROTOCOL = 2
"""Raised when older logs could no longer be continued."""
_SAMPLE_SECONDS = 1.0
"""A sample that would take longer by the model computes fewer steps, but at least two heights of the tallest tile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is tuned, checked.

    Attributes:
        program: The program as the caller gave it.
        problem: The problem that is tuned; scalars given as arrays are coefficient fields of its program.
        machine: Whose model ranks.
        strata: The space, by family and height, with predicted costs.
        effort: How much is tried.
        level: Its name.
        backend: What the caller asked for.
        metric: What is to be small.
        model: ``exact`` or ``published``.
        threads: Threads of a run.
        device: The GPU that measures, or None for the processor.
        strict: Whether the order of operations is kept.
        boundary: Boundaries.
        scalars: Values of scalars.
    """

    program: Program
    problem: Problem
    machine: Machine
    strata: tuple[Stratum, ...]
    effort: Effort
    level: str
    backend: str
    metric: str
    model: str
    threads: int
    device: gpu.Device | None
    strict: bool
    boundary: BoundarySpec
    scalars: dict[str, Any]


def prediction_of(task: Task, tiling: Tiling) -> Prediction:
    """Return what the task's model says of a tiling."""
    return predicted(stencil.on_machine(task.problem, task.machine, model=task.model), tiling)


def seconds_of(task: Task, candidate: Candidate) -> float:
    """Return the predicted seconds of a candidate, which was ranked by the task's metric."""
    return candidate.predicted if task.metric == "time" else prediction_of(task, candidate.tiling).costs.seconds


def remember(task: Task, winner: Tried, choice: Choice, circumstances: wisdom.Circumstances) -> None:
    """Put a winner by measured time into the wisdom store, where ``run`` finds it."""
    if task.metric != "time" or task.strict or winner.measured_seconds is None:
        return
    entry = wisdom.Wisdom(
        program=task.problem.program.name[:200],
        problem_key=wisdom.problem_key(task.problem, "c" if task.device is None else task.device.dialect),
        dtype=task.problem.dtype,
        shape=task.problem.shape,
        steps=max(1, task.problem.steps),
        threads=task.threads,
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


def sample_steps(task: Task) -> int:
    """Return the steps of one sample: all, unless that would take too long by the model."""
    first = shortlist(task.strata, task.effort.candidates)
    per_step = seconds_of(task, first[0]) / max(1, task.problem.steps)
    tallest = max(candidate.tiling.time for candidate in first)
    return min(task.problem.steps, max(2 * tallest, math.ceil(_SAMPLE_SECONDS / max(per_step, 1e-12))))


def log_path(task: Task, steps: int, circumstances: wisdom.Circumstances) -> Path | None:
    """Return where the task's measurements are kept, or None where nothing can be kept."""
    root = store.directory()
    if root is None:
        return None
    key = fingerprint(
        _PROTOCOL, task.problem, task.threads, task.strict, steps, dataclasses.asdict(circumstances), task.metric
    )
    folder = root / "tunes"
    try:
        folder.mkdir(exist_ok=True, mode=0o700)
    except OSError as error:
        warn_once(f"what is measured cannot be kept for later runs: {error}")
        return None
    return folder / f"{key}.jsonl"
