"""What is tuned, checked: its predictions, the steps of a sample, where its log lies, and what is remembered of it."""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.base.fingerprint import fingerprint
from tilewright.inputs import memo
from tilewright.machines.machine import Machine
from tilewright.plan import Target
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.devices.device import Device
from tilewright.runtime.store import folder as store
from tilewright.runtime.store import wisdom
from tilewright.runtime.warn import warn_once
from tilewright.schedules.tiling import Tiling
from tilewright.tuning import stencil
from tilewright.tuning.search import SearchResult
from tilewright.tuning.shortlist import Candidate, Effort, FamilySpace, shortlist
from tilewright.verbs.options import TuneOptions
from tilewright.verbs.predict import predicted
from tilewright.verbs.prediction import Prediction
from tilewright.verbs.tuning.plan import Tried

_PROTOCOL = 2
"""Raised when older logs could no longer be continued."""
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
