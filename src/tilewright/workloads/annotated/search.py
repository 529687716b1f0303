"""Searching a space of named values for the fastest variant of a region. Measuring arrives as an argument.

A point is a tuple of indices, one per parameter, into the parameter's values. A way through the space is a generator:
it yields a batch of points and receives their costs in the same order; a point that is not allowed, or failed, costs
infinity. It ends when it has nothing more to ask; the driver ends it when the budget is used up.
"""

import itertools
import math
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import UsageError
from tilewright.base.records import Measurement, Outcome

Point = tuple[int, ...]
Walk = Generator[list[Point], list[float], None]
Prior = Callable[[Point], float]
_BATCH = 4
_RESTARTS = 1000
_COOLING = 0.92
_SWARM = 8


def exhaustive(sizes: Sequence[int], _rng: np.random.Generator, _prior: Prior | None) -> Walk:
    """Ask for every point, the last parameter fastest."""
    everything = itertools.product(*(range(size) for size in sizes))
    while batch := list(itertools.islice(everything, _BATCH)):
        yield batch


def random_search(sizes: Sequence[int], rng: np.random.Generator, _prior: Prior | None) -> Walk:
    """Ask for points by chance, none twice."""
    points: set[Point] = set()
    total = math.prod(sizes)
    misses = 0
    while len(points) < total and misses < 10_000:
        batch: list[Point] = []
        while len(batch) < _BATCH and misses < 10_000:
            point = _random(sizes, rng)
            misses = 0 if point not in points else misses + 1
            if point not in points:
                points.add(point)
                batch.append(point)
        if batch:
            yield batch


def random_local(sizes: Sequence[int], rng: np.random.Generator, _prior: Prior | None) -> Walk:
    """Go down to a local optimum from points taken by chance."""
    for _ in range(_RESTARTS):
        here = _random(sizes, rng)
        (cost,) = yield [here]
        while math.isfinite(cost):
            around = _neighbours(here, sizes)
            if not around:
                break
            costs = yield around
            best = int(np.argmin(costs))
            if costs[best] >= cost:
                break
            here, cost = around[best], costs[best]


def simplex(sizes: Sequence[int], rng: np.random.Generator, _prior: Prior | None) -> Walk:
    """Nelder and Mead's simplex on indices, rounded; started anew where it has shrunk to a point."""
    dims = len(sizes)
    for _ in range(_RESTARTS):
        corners = [_random(sizes, rng) for _ in range(dims + 1)]
        costs = yield corners
        vertices = sorted(zip(costs, corners, strict=True))
        for _ in range(20 * (dims + 1)):
            centre = np.mean([vertex for _, vertex in vertices[:-1]], axis=0)
            worst_cost, worst = vertices[-1]
            reflected = _nearest_point(2 * centre - np.array(worst), sizes)
            (cost,) = yield [reflected]
            new = (cost, reflected)
            if cost < vertices[0][0]:
                expanded = _nearest_point(3 * centre - 2 * np.array(worst), sizes)
                (further,) = yield [expanded]
                new = min(new, (further, expanded))
            elif cost >= vertices[max(0, len(vertices) - 2)][0]:
                inside = _nearest_point(0.5 * (centre + np.array(worst)), sizes)
                (closer,) = yield [inside]
                new = (closer, inside)
            if new[0] < worst_cost:
                vertices = sorted([*vertices[:-1], new])
            else:
                best = np.array(vertices[0][1])
                moved = [_nearest_point(0.5 * (best + np.array(vertex)), sizes) for _, vertex in vertices[1:]]
                again = yield moved
                vertices = sorted([vertices[0], *zip(again, moved, strict=True)])
            if len({vertex for _, vertex in vertices}) == 1:
                break


def annealing(sizes: Sequence[int], rng: np.random.Generator, _prior: Prior | None) -> Walk:
    """Simulated annealing: worse neighbours are taken less and less often."""
    for _ in range(_RESTARTS):
        point = _random(sizes, rng)
        (cost,) = yield [point]
        if not math.isfinite(cost):
            continue
        heat = 0.5
        while heat > 0.01:
            candidate = _step(point, sizes, rng, max(1, round(4 * heat)))
            (other,) = yield [candidate]
            # Costs are times: what counts is their ratio.
            if math.isfinite(other) and (other <= cost or rng.random() < math.exp((cost - other) / (cost * heat))):
                point, cost = candidate, other
            heat *= _COOLING


def direct(sizes: Sequence[int], _rng: np.random.Generator, _prior: Prior | None) -> Walk:
    """DIRECT: boxes that may hold the best, by size and by the cost of their middle, are cut into three."""
    whole = tuple((0, size - 1) for size in sizes)
    (cost,) = yield [_middle(whole)]
    boxes: dict[tuple[tuple[int, int], ...], float] = {whole: cost}
    while True:
        chosen = _promising(boxes)
        if not chosen:
            return
        parts = [part for box in chosen for part in _thirds(box)]
        costs = yield [_middle(part) for part in parts]
        for box in chosen:
            del boxes[box]
        boxes.update(zip(parts, costs, strict=True))


def firefly(sizes: Sequence[int], rng: np.random.Generator, _prior: Prior | None) -> Walk:
    """A swarm whose members fly towards brighter ones, the nearer the faster, with a little chance."""
    swarm = [_random(sizes, rng) for _ in range(_SWARM)]
    costs = yield swarm
    extent = np.array(sizes, dtype=float)
    for generation in range(_RESTARTS):
        moved = list(swarm)
        noise = max(0.05, 0.3 * 0.95**generation)
        for a in range(_SWARM):
            place = np.array(swarm[a], dtype=float)
            for b in range(_SWARM):
                if costs[b] < costs[a]:
                    gap = np.array(swarm[b]) - place
                    near = math.exp(-float(np.sum((gap / extent) ** 2)))
                    place = place + near * gap
            place = place + noise * extent * (rng.random(len(sizes)) - 0.5)
            moved[a] = _nearest_point(place, sizes)
        new = yield moved
        for a in range(_SWARM):
            if new[a] <= costs[a] or not math.isfinite(costs[a]):
                swarm[a], costs[a] = moved[a], new[a]


def model(sizes: Sequence[int], rng: np.random.Generator, prior: Prior | None) -> Walk:
    """Ask for what a model expects to be fastest; it learns one effect per value of every parameter as it goes.

    It starts from the analytic estimate (``prior``, the logarithm of an expected time) where there is one.
    """
    history: dict[Point, float] = {}
    first = _candidates(sizes, rng, history, 400)
    if prior is not None:
        first.sort(key=prior)
    batch = list(dict.fromkeys([*first[: 2 * _BATCH], *(_random(sizes, rng) for _ in range(_BATCH))]))
    while batch:
        costs = yield batch
        history.update(zip(batch, costs, strict=True))
        weights = _effects(sizes, history, prior)
        pool = _candidates(sizes, rng, history, 600)
        pool.sort(key=lambda point: _expectation(point, weights, prior))
        batch = pool[: _BATCH - 1]
        if len(pool) > _BATCH:
            batch.append(pool[int(rng.integers(_BATCH - 1, len(pool)))])


def _effects(sizes: Sequence[int], history: dict[Point, float], prior: Prior | None) -> list[npt.NDArray[np.float64]]:
    """Fit log time as a constant plus one effect per value, by regularised least squares."""
    logs = {point: math.log(cost) for point, cost in history.items() if math.isfinite(cost) and cost > 0}
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    if not logs:
        return [np.zeros(size) for size in sizes] + [np.zeros(1)]
    rows = np.zeros((len(logs), int(offsets[-1]) + 1))
    for row, point in enumerate(logs):
        rows[row, [int(offsets[axis]) + index for axis, index in enumerate(point)]] = 1.0
        rows[row, -1] = 3.0
    target = np.array([cost - (prior(point) if prior else 0.0) for point, cost in logs.items()])
    gram = rows @ rows.T + 0.3 * np.eye(len(logs))
    weights = rows.T @ np.linalg.solve(gram, target)
    return [weights[int(a) : int(b)] for a, b in itertools.pairwise(offsets)] + [3.0 * weights[-1:]]


def _expectation(point: Point, weights: Sequence[npt.NDArray[np.float64]], prior: Prior | None) -> float:
    total = float(weights[-1][0]) + sum(float(weights[axis][index]) for axis, index in enumerate(point))
    return total + (prior(point) if prior is not None else 0.0)


def _candidates(sizes: Sequence[int], rng: np.random.Generator, history: dict[Point, float], count: int) -> list[Point]:
    """Points by chance and the neighbours of the best, none of them seen."""
    best = sorted((cost, point) for point, cost in history.items() if math.isfinite(cost))[:3]
    around = [each for _, point in best for each in _neighbours(point, sizes)]
    if math.prod(sizes) <= count:
        around += list(itertools.product(*(range(size) for size in sizes)))
    else:
        around += [_random(sizes, rng) for _ in range(count)]
    return [point for point in dict.fromkeys(around) if point not in history]


def _random(sizes: Sequence[int], rng: np.random.Generator) -> Point:
    return tuple(int(rng.integers(size)) for size in sizes)


def _neighbours(point: Point, sizes: Sequence[int]) -> list[Point]:
    points = []
    for axis, size in enumerate(sizes):
        near = [index for index in (point[axis] - 1, point[axis] + 1) if 0 <= index < size]
        points += [(*point[:axis], index, *point[axis + 1 :]) for index in near]
    return points


def _step(point: Point, sizes: Sequence[int], rng: np.random.Generator, reach: int) -> Point:
    axis = int(rng.integers(len(sizes)))
    moved = point[axis] + int(rng.integers(-reach, reach + 1))
    return (*point[:axis], min(max(moved, 0), sizes[axis] - 1), *point[axis + 1 :])


def _nearest_point(place: npt.NDArray[np.float64], sizes: Sequence[int]) -> Point:
    return tuple(int(min(max(round(float(value)), 0), size - 1)) for value, size in zip(place, sizes, strict=True))


def _middle(box: tuple[tuple[int, int], ...]) -> Point:
    return tuple((low + high) // 2 for low, high in box)


def _thirds(box: tuple[tuple[int, int], ...]) -> list[tuple[tuple[int, int], ...]]:
    axis = max(range(len(box)), key=lambda a: box[a][1] - box[a][0])
    low, high = box[axis]
    step = max(1, (high - low + 1) // 3)
    cuts = [(low, low + step - 1), (low + step, high - step), (high - step + 1, high)]
    return [(*box[:axis], (a, b), *box[axis + 1 :]) for a, b in cuts if a <= b]


def _promising(boxes: dict[tuple[tuple[int, int], ...], float]) -> list[tuple[tuple[int, int], ...]]:
    """The best box of every size, from the largest size down to that of the best of all."""
    best: dict[int, tuple[float, tuple[tuple[int, int], ...]]] = {}
    for box, cost in boxes.items():
        size = max(high - low for low, high in box)
        if size > 0 and (size not in best or cost < best[size][0]):
            best[size] = (cost, box)
    chosen: list[tuple[tuple[int, int], ...]] = []
    lowest = math.inf
    for size in sorted(best, reverse=True):
        cost, box = best[size]
        if cost < lowest or not chosen:
            chosen.append(box)
            lowest = min(lowest, cost)
    return chosen


ALGORITHMS: dict[str, Callable[[Sequence[int], np.random.Generator, Prior | None], Walk]] = {
    "Exhaustive": exhaustive,
    "Randomsearch": random_search,
    "Randomlocal": random_local,
    "Simplex": simplex,
    "Annealing": annealing,
    "Direct": direct,
    "Firefly": firefly,
    "Model": model,
}
"""The searches by name; ``Model`` is the model-guided one."""
_ALIASES = {"randomsimple": "Randomsearch", "msimplex": "Simplex", "mlsearch": "Model", "random": "Randomsearch"}


def algorithm(name: str) -> str | None:
    """Return a search's own name whatever its case, or None if there is none.

    >>> algorithm("randomsearch"), algorithm("Msimplex")
    ('Randomsearch', 'Simplex')
    """
    plain = name.strip().lower()
    return _ALIASES.get(plain) or next((each for each in ALGORITHMS if each.lower() == plain), None)


Values = Mapping[str, object]  # a point with its parameters' names
_IDLE = 400  # batches without anything new after which a search ends
_FIRST = 0.8  # share of a budget's time in which points are measured first; the best are measured again in the rest
_AT_A_TIME = 2  # points that a meter gets at a time: between them the clock is looked at
_BAND = 1.3  # finalists are within this factor of the best first result
_FINALISTS = 3  # most points that are measured again, in turn
_ROUNDS = 2  # how often they are


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
        axes = [self.names.index(name) for name in self.added]
        return [
            (*point[:axis], index, *point[axis + 1 :])
            for axis in axes
            for index in range(len(self.values[axis]))
            if index != point[axis]
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
        points = [point for point, trial in self.trials.items() if math.isfinite(trial.seconds)]
        return sorted(points, key=lambda point: self.trials[point].seconds)

    def costs(self, batch: Sequence[Point]) -> tuple[list[float], bool]:
        new = [point for point in dict.fromkeys(batch) if point not in self.trials and point not in self.excluded]
        refused = {point: reason for point in new if (reason := self.space.refused(self.space.at(point)))}
        self.excluded |= refused
        fresh = [point for point in new if point not in refused][: max(0, self.most - len(self.trials))]
        for place in range(0, len(fresh), _AT_A_TIME):
            chunk = fresh[place : place + _AT_A_TIME]
            if self.trials and self.first.left <= 0:
                self.cut = True
                break
            for point, measured in zip(chunk, self.meter.measure([self.space.at(p) for p in chunk]), strict=True):
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
    reserve = len(space.turned((0,) * len(space.names)))
    most = runs - reserve if 2 * reserve < runs < space.size else runs
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
    successes = [trial for trial in state.trials.values() if math.isfinite(trial.seconds)]
    # Those that were measured again in turn are compared with each other.
    most = max((len(trial.measurement.seconds) for trial in successes), default=0)
    even = [trial for trial in successes if len(trial.measurement.seconds) == most]
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
    points = state.ranked
    if len(points) < 2:
        return
    limit = _BAND * state.trials[points[0]].seconds
    finalists = [point for point in points[:_FINALISTS] if state.trials[point].seconds <= limit]
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
