"""Searching a space of named values for the fastest variant of a region. Measuring arrives as an argument."""

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.base.records import Measurement, Outcome
from tilewright.workloads.annotated.search.algorithms import ALGORITHMS, Point, algorithm

Values = Mapping[str, object]
"""A point with its parameters' names."""
_IDLE = 400
"""Batches without anything new after which a search ends."""
_FIRST = 0.8
"""Share of a budget's time in which points are measured first; the best are measured again in the rest."""
_AT_A_TIME = 2
"""Points that a meter gets at a time: between them the clock is looked at."""
_BAND = 1.3
"""Finalists are within this factor of the best first result."""
_FINALISTS = 3
"""Most points that are measured again, in turn."""
_ROUNDS = 2
"""How often they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadline:
    """A time at which work ends."""

    end: float = math.inf  # by the clock
    clock: Callable[[], float] = time.monotonic  # seconds from any start

    @property
    def left(self) -> float:
        """Seconds until then; 0 afterwards."""
        return max(0.0, self.end - self.clock())

    def part(self, share: float) -> "Deadline":
        """Return the deadline of a share of the time that is left."""
        return replace(self, end=min(self.end, self.clock() + share * self.left))


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSpace:
    """Parameters and their values."""

    names: tuple[str, ...]
    values: tuple[tuple[object, ...], ...]  # what each may be
    refused: Callable[[Values], str] = lambda _: ""  # says why a point is not allowed, or nothing
    # parameters that nobody asked for, with whose other values the best point is tried, too
    added: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of points, allowed or not."""
        return math.prod(len(each) for each in self.values)

    def turned(self, point: Point) -> list[Point]:
        """Return the points that differ from one in the value of a parameter that was added."""
        places = [self.names.index(name) for name in self.added]
        return [
            (*point[:place], index, *point[place + 1 :])
            for place in places
            for index in range(len(self.values[place]))
            if index != point[place]
        ]

    def at(self, point: Point) -> dict[str, object]:
        """Return a point's values by name."""
        return {name: each[index] for name, each, index in zip(self.names, self.values, point, strict=True)}


class PointMeter(Protocol):
    """What measures points: each result holds samples, or a failure and its reason."""

    def measure(self, points: Sequence[Values]) -> list[Measurement]:
        """Build, validate and time some points."""

    def again(self, point: Values) -> Measurement:
        """Time a point that was measured before once more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopTrial:
    """A point and what became of it."""

    values: Values
    measurement: Measurement

    @property
    def seconds(self) -> float:
        """Median of its samples; infinite if it failed."""
        fine = self.measurement.outcome is Outcome.OK and self.measurement.seconds
        return self.measurement.median if fine else math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopChoice:
    """What a search found."""

    winner: LoopTrial | None  # the fastest, or None if nothing could be measured
    trials: tuple[LoopTrial, ...]  # everything that was measured or failed, in that order
    # the first of the points that a constraint excludes, with its reason
    skipped: tuple[tuple[Values, str], ...] = ()
    skipped_count: int = 0  # how many such points were met
    algorithm: str = ""
    space: int = 1  # number of points
    finished: bool = True  # whether the search had seen what it wanted to see
    interrupted: bool = False  # whether it was stopped from outside


@dataclass(slots=True, kw_only=True)
class _State:
    """A search in its course."""

    space: ParameterSpace
    meter: PointMeter
    deadline: Deadline
    first: Deadline  # of the first measurements
    most: int  # points that are measured
    cut: bool = False
    trials: dict[Point, LoopTrial] = field(default_factory=dict)
    excluded: dict[Point, str] = field(default_factory=dict)  # with the reasons

    @property
    def ranked(self) -> list[Point]:
        """The points that ran, the fastest first."""
        good = [point for point, trial in self.trials.items() if math.isfinite(trial.seconds)]
        return sorted(good, key=lambda point: self.trials[point].seconds)

    def costs(self, batch: Sequence[Point]) -> tuple[list[float], bool]:
        new = [point for point in dict.fromkeys(batch) if point not in self.trials and point not in self.excluded]
        refused = {point: reason for point in new if (reason := self.space.refused(self.space.at(point)))}
        self.excluded |= refused
        fresh = [point for point in new if point not in refused][: max(0, self.most - len(self.trials))]
        for place in range(0, len(fresh), _AT_A_TIME):
            some = fresh[place : place + _AT_A_TIME]
            if self.trials and self.first.left <= 0:
                self.cut = True
                break
            for point, measured in zip(some, self.meter.measure([self.space.at(p) for p in some]), strict=True):
                self.trials[point] = LoopTrial(values=self.space.at(point), measurement=measured)
        return [self.trials[p].seconds if p in self.trials else math.inf for p in batch], bool(fresh)


def search_loops(
    space: ParameterSpace,
    name: str,
    meter: PointMeter,
    *,
    runs: int,  # most points that are measured
    deadline: Deadline,
    prior: Callable[[Values], float] | None = None,  # logarithm of the time that is expected of a point
    seed: int = 0,
) -> LoopChoice:
    """Search a space by a named algorithm; an interrupt from the meter ends the search and keeps the best so far."""
    own = algorithm(name)
    if own is None:
        raise UsageError(f"the searches are {', '.join(ALGORITHMS)}, got {name[:60]!r}")
    # Runs for the other values of what was added, unless there are few, or enough for all points.
    kept = len(space.turned((0,) * len(space.names)))
    most = runs - kept if 2 * kept < runs < space.size else runs
    state = _State(space=space, meter=meter, deadline=deadline, first=deadline.part(_FIRST), most=most)
    interrupted = finished = False
    try:
        finished = _run(state, own, prior, seed)
        state.most = runs
        for best in state.ranked[:1]:
            state.costs(space.turned(best))
        _repeat(state)
    except KeyboardInterrupt:
        interrupted = True
    good = [trial for trial in state.trials.values() if math.isfinite(trial.seconds)]
    # Those that were measured again in turn are compared with each other.
    most = max((len(trial.measurement.seconds) for trial in good), default=0)
    even = [trial for trial in good if len(trial.measurement.seconds) == most]
    return LoopChoice(
        winner=min(even, key=lambda trial: trial.seconds, default=None),
        trials=tuple(state.trials.values()),
        skipped=tuple((space.at(point), reason) for point, reason in itertools.islice(state.excluded.items(), 20)),
        skipped_count=len(state.excluded),
        algorithm=own,
        space=space.size,
        finished=finished,
        interrupted=interrupted,
    )


def _run(state: _State, name: str, prior: Callable[[Values], float] | None, seed: int) -> bool:
    """Drive a search; return whether it ended by itself."""
    sizes = [len(each) for each in state.space.values]
    expected = None if prior is None else lambda point: prior(state.space.at(point))
    walk = ALGORITHMS[name if sizes else "Exhaustive"](sizes, np.random.default_rng(seed), expected)
    idle = 0
    try:
        # Where every parameter has its first value, which usually asks for nothing, something runs.
        state.costs([(0,) * len(sizes)])
        batch = next(walk)
        while state.first.left > 0 and len(state.trials) < state.most:
            costs, new = state.costs(batch)
            if state.cut:
                break
            idle = 0 if new else idle + 1
            if idle > _IDLE and (state.trials or idle > 100 * _IDLE):
                return True
            batch = walk.send(costs)
    except StopIteration:
        return True
    return len(state.trials) == state.space.size


def _repeat(state: _State) -> None:
    """Measure the best again, in turn, so that drift hits them alike."""
    good = state.ranked
    if len(good) < 2:
        return
    limit = _BAND * state.trials[good[0]].seconds
    finalists = [point for point in good[:_FINALISTS] if state.trials[point].seconds <= limit]
    for _ in range(_ROUNDS):
        again: dict[Point, Measurement] = {}
        for point in finalists:
            if state.deadline.left <= 0:
                return
            again[point] = state.meter.again(state.trials[point].values)
        late = state.deadline.left <= 0
        for point, more in again.items():
            trial = state.trials[point]
            if more.outcome is Outcome.OK:
                joined = replace(trial.measurement, seconds=(*trial.measurement.seconds, *more.seconds))
                state.trials[point] = replace(trial, measurement=joined)
            elif not late:  # otherwise it may be the time that ended it
                state.trials[point] = replace(trial, measurement=more)
