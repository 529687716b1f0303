"""Ways through a space of named values: each a generator that asks for points and is told what they cost.

A point is a tuple of indices, one per parameter, into the parameter's values. A generator yields a batch of points and
receives their costs in the same order; a point that is not allowed, or failed, costs infinity. It ends when it has
nothing more to ask; the driver ends it when the budget is used up.
"""

import itertools
import math
from collections.abc import Callable, Generator, Sequence

import numpy as np
import numpy.typing as npt

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
    seen: set[Point] = set()
    total = math.prod(sizes)
    misses = 0
    while len(seen) < total and misses < 10_000:
        batch: list[Point] = []
        while len(batch) < _BATCH and misses < 10_000:
            point = _random(sizes, rng)
            misses = 0 if point not in seen else misses + 1
            if point not in seen:
                seen.add(point)
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
            reflected = _rounded(2 * centre - np.array(worst), sizes)
            (cost,) = yield [reflected]
            new = (cost, reflected)
            if cost < vertices[0][0]:
                expanded = _rounded(3 * centre - 2 * np.array(worst), sizes)
                (further,) = yield [expanded]
                new = min(new, (further, expanded))
            elif cost >= vertices[max(0, len(vertices) - 2)][0]:
                inside = _rounded(0.5 * (centre + np.array(worst)), sizes)
                (closer,) = yield [inside]
                new = (closer, inside)
            if new[0] < worst_cost:
                vertices = sorted([*vertices[:-1], new])
            else:
                best = np.array(vertices[0][1])
                moved = [_rounded(0.5 * (best + np.array(vertex)), sizes) for _, vertex in vertices[1:]]
                again = yield moved
                vertices = sorted([vertices[0], *zip(again, moved, strict=True)])
            if len({vertex for _, vertex in vertices}) == 1:
                break


def annealing(sizes: Sequence[int], rng: np.random.Generator, _prior: Prior | None) -> Walk:
    """Simulated annealing: worse neighbours are taken less and less often."""
    for _ in range(_RESTARTS):
        here = _random(sizes, rng)
        (cost,) = yield [here]
        if not math.isfinite(cost):
            continue
        heat = 0.5
        while heat > 0.01:
            there = _step(here, sizes, rng, max(1, round(4 * heat)))
            (other,) = yield [there]
            # Costs are times: what counts is their ratio.
            if math.isfinite(other) and (other <= cost or rng.random() < math.exp((cost - other) / (cost * heat))):
                here, cost = there, other
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
            moved[a] = _rounded(place, sizes)
        new = yield moved
        for a in range(_SWARM):
            if new[a] <= costs[a] or not math.isfinite(costs[a]):
                swarm[a], costs[a] = moved[a], new[a]


def model(sizes: Sequence[int], rng: np.random.Generator, prior: Prior | None) -> Walk:
    """Ask for what a model expects to be fastest; it learns one effect per value of every parameter as it goes.

    It starts from the analytic estimate (``prior``, the logarithm of an expected time) where there is one.
    """
    seen: dict[Point, float] = {}
    first = _candidates(sizes, rng, seen, 400)
    if prior is not None:
        first.sort(key=prior)
    batch = list(dict.fromkeys([*first[: 2 * _BATCH], *(_random(sizes, rng) for _ in range(_BATCH))]))
    while batch:
        costs = yield batch
        seen.update(zip(batch, costs, strict=True))
        weights = _fitted(sizes, seen, prior)
        pool = _candidates(sizes, rng, seen, 600)
        pool.sort(key=lambda point: _expected(point, weights, prior))
        batch = pool[: _BATCH - 1]
        if len(pool) > _BATCH:
            batch.append(pool[int(rng.integers(_BATCH - 1, len(pool)))])


def _fitted(sizes: Sequence[int], seen: dict[Point, float], prior: Prior | None) -> list[npt.NDArray[np.float64]]:
    """Fit log time as a constant plus one effect per value, by regularised least squares."""
    good = {point: math.log(cost) for point, cost in seen.items() if math.isfinite(cost) and cost > 0}
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    if not good:
        return [np.zeros(size) for size in sizes] + [np.zeros(1)]
    rows = np.zeros((len(good), int(offsets[-1]) + 1))
    for row, point in enumerate(good):
        rows[row, [int(offsets[axis]) + index for axis, index in enumerate(point)]] = 1.0
        rows[row, -1] = 3.0
    target = np.array([cost - (prior(point) if prior else 0.0) for point, cost in good.items()])
    gram = rows @ rows.T + 0.3 * np.eye(len(good))
    weights = rows.T @ np.linalg.solve(gram, target)
    return [weights[int(a) : int(b)] for a, b in itertools.pairwise(offsets)] + [3.0 * weights[-1:]]


def _expected(point: Point, weights: Sequence[npt.NDArray[np.float64]], prior: Prior | None) -> float:
    total = float(weights[-1][0]) + sum(float(weights[axis][index]) for axis, index in enumerate(point))
    return total + (prior(point) if prior is not None else 0.0)


def _candidates(sizes: Sequence[int], rng: np.random.Generator, seen: dict[Point, float], count: int) -> list[Point]:
    """Points by chance and the neighbours of the best, none of them seen."""
    best = sorted((cost, point) for point, cost in seen.items() if math.isfinite(cost))[:3]
    around = [each for _, point in best for each in _neighbours(point, sizes)]
    if math.prod(sizes) <= count:
        around += list(itertools.product(*(range(size) for size in sizes)))
    else:
        around += [_random(sizes, rng) for _ in range(count)]
    return [point for point in dict.fromkeys(around) if point not in seen]


def _random(sizes: Sequence[int], rng: np.random.Generator) -> Point:
    return tuple(int(rng.integers(size)) for size in sizes)


def _neighbours(point: Point, sizes: Sequence[int]) -> list[Point]:
    found = []
    for axis, size in enumerate(sizes):
        near = [index for index in (point[axis] - 1, point[axis] + 1) if 0 <= index < size]
        found += [(*point[:axis], index, *point[axis + 1 :]) for index in near]
    return found


def _step(point: Point, sizes: Sequence[int], rng: np.random.Generator, reach: int) -> Point:
    axis = int(rng.integers(len(sizes)))
    moved = point[axis] + int(rng.integers(-reach, reach + 1))
    return (*point[:axis], min(max(moved, 0), sizes[axis] - 1), *point[axis + 1 :])


def _rounded(place: npt.NDArray[np.float64], sizes: Sequence[int]) -> Point:
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
