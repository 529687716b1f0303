"""How annotated regions are tuned: what the user asks for, what a specification does, and the search for it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.machines.machine import Machine
from tilewright.verbs.options import AnnotateOptions
from tilewright.workloads.annotated.nests.limit import LATE, TimeUpError
from tilewright.workloads.annotated.search import (
    Deadline,
    LoopChoice,
    LoopTrial,
    ParameterSpace,
    PointMeter,
    Values,
    search_loops,
)
from tilewright.workloads.annotated.verbs.case import Case

MAX_RUNS = 100_000
_REPEATS = 5
_MOST_REPEATS = 200
_MANY = 300  # spaces larger than this are not searched exhaustively unless the specification says so


class AnnotatedOptions(AnnotateOptions):
    """How to tune: what was asked, read."""

    device: str = ""  # where OpenCL code runs: ``oclgrind``, or wherever the region says
    allow_compilers: tuple[str, ...] = ()  # that build commands may run besides the known ones
    log: Path | None = None  # file in which results are kept and found again
    machine: Machine | None = None  # the GPU that CUDA variants are priced for; None: they are run


def space_of(case: Case) -> ParameterSpace:
    """Return the space of a specification at one size of the input."""
    spec = case.spec

    def refused(values: Mapping[str, object]) -> str:
        scope: dict[str, Any] = {**spec.lets, **case.numbers, **values}
        for name, rule in spec.constraints:
            if not rule.value(scope):
                return f"the constraint {name} is not fulfilled: {rule.text[:80]}"
        return ""

    return ParameterSpace(
        names=tuple(each.name for each in spec.params),
        values=tuple(each.values for each in spec.params),
        refused=refused,
    )


def repeats_of(case: Case, options: AnnotatedOptions) -> int:
    """Return how often a variant is timed."""
    count = options.repeats or case.spec.arg("performance_counter", "repetitions") or _REPEATS
    return min(max(int(count), 1), _MOST_REPEATS) if isinstance(count, int) else _REPEATS


def searched(
    case: Case,
    options: AnnotatedOptions,
    meter: PointMeter,
    deadline: Deadline,  # of the search
    space: ParameterSpace,
    prior: Callable[[Values], float] | None = None,
) -> tuple[LoopChoice, LoopTrial]:
    """Search a space as the user or the specification asks for; return what was found, and the fastest point."""
    spec = case.spec
    algorithm = options.search or spec.arg("search", "algorithm")
    name = str(("Exhaustive" if space.size <= _MANY else "Model") if algorithm is None else algorithm)
    total, limit = spec.arg("search", "total_runs"), spec.arg("search", "time_limit")
    runs = options.runs or (total if isinstance(total, int) and not isinstance(total, bool) and total > 0 else 1000)
    if isinstance(limit, int | float) and limit > 0:
        deadline = replace(deadline, end=min(deadline.end, deadline.clock() + limit * 60.0))
    choice = search_loops(
        space, name, meter, runs=min(runs, MAX_RUNS), deadline=deadline, prior=prior, seed=options.seed
    )
    if choice.winner is None:
        raise nothing(choice)
    return choice, choice.winner


def nothing(choice: LoopChoice) -> UsageError:
    """Return what says why a search found nothing."""
    if choice.interrupted:
        raise KeyboardInterrupt
    for trial in choice.trials:
        if trial.measurement.detail == LATE:
            return TimeUpError(f"{LATE} before a variant was built and run", "give more --seconds")
        if trial.measurement.detail:
            return UsageError(f"no variant ran: {trial.measurement.detail}")
    if choice.skipped:
        return UsageError(f"no point of the space is allowed: {choice.skipped[0][1]}", "relax the constraints")
    return TimeUpError("no variant could be measured", "give more --seconds")
