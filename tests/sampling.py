"""Products of test parameters of which a covering sample is run by default, and the rest as stress tests."""

import itertools
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest


def covering(*axes: Sequence[Any], times: int = 1) -> list[Any]:
    """Return every combination of some axes for ``pytest.mark.parametrize``, marked as stress test beyond a sample.

    The sample is chosen greedily, in the order of the product: of two axes it has every value, of three every pair of
    values of two axes, and so on, each as many times as is asked for and as there are such combinations.

    Args:
        axes: The values of each parameter.
        times: How often every value (pair, …) is in the sample.
    """
    every = list(itertools.product(*(range(len(axis)) for axis in axes)))
    faces = list(itertools.combinations(range(len(axes)), max(1, len(axes) - 1)))
    wanted = Counter((face, tuple(point[axis] for axis in face)) for point in every for face in faces)
    wanted = Counter({part: min(times, count) for part, count in wanted.items()})
    chosen: set[tuple[int, ...]] = set()
    while +wanted:

        def gain(point: tuple[int, ...]) -> int:
            return sum(wanted[face, tuple(point[axis] for axis in face)] > 0 for face in faces)

        best = max((point for point in every if point not in chosen), key=gain)
        chosen.add(best)
        wanted.subtract((face, tuple(best[axis] for axis in face)) for face in faces)
    return [
        pytest.param(
            *(axis[index] for axis, index in zip(axes, point, strict=True)),
            marks=() if point in chosen else pytest.mark.stress,
        )
        for point in every
    ]


def some(values: Sequence[Any], count: int) -> list[Any]:
    """Return values for ``pytest.mark.parametrize``, of which the first so many are run by default."""
    return [*values[:count], *(pytest.param(value, marks=pytest.mark.stress) for value in values[count:])]


Row = dict[str, Any]
"""A value of some dimensions each."""


def pairwise(dimensions: Mapping[str, Sequence[Any]], allowed: Callable[[Row], bool], seed: int = 0) -> list[Row]:
    """Return few rows that hold every pair of values of two dimensions, as far as rows that hold it are allowed.

    Rows are made one after the other, each from a pair that none has so far, and what adds most of such pairs.

    Args:
        dimensions: The values of each.
        allowed: Whether a row may be, also of one that lacks some dimensions: whether any that it begins may be.
        seed: What decides between equals.
    """
    draw = random.Random(seed)  # noqa: S311  (reproducible, not secret)
    places = {name: range(len(values)) for name, values in dimensions.items()}
    missing = {
        ((one, i), (other, j)): None
        for one, other in itertools.combinations(dimensions, 2)
        for i, j in itertools.product(places[one], places[other])
    }

    def row_of(chosen: Mapping[str, int]) -> Row:
        return {name: dimensions[name][place] for name, place in chosen.items()}

    order = {name: number for number, name in enumerate(dimensions)}

    def pair(one: tuple[str, int], other: tuple[str, int]) -> tuple[tuple[str, int], tuple[str, int]]:
        return (one, other) if order[one[0]] < order[other[0]] else (other, one)

    def completed(first: tuple[tuple[str, int], tuple[str, int]]) -> dict[str, int] | None:
        chosen = dict(first)
        for name in draw.sample(list(dimensions), len(dimensions)):
            if name in chosen:
                continue
            good = [place for place in places[name] if allowed(row_of({**chosen, name: place}))]
            if not good:
                return None
            draw.shuffle(good)
            chosen[name] = max(
                good, key=lambda place: sum(pair((name, place), each) in missing for each in chosen.items())
            )
        return chosen

    rows = []
    while missing:
        first = next(iter(missing))
        chosen = (
            next(filter(None, (completed(first) for _ in range(_TRIES))), None)
            if allowed(row_of(dict(first)))
            else None
        )
        del missing[first]
        if chosen is None:
            continue
        rows.append({name: dimensions[name][chosen[name]] for name in dimensions})
        for one, other in itertools.combinations(dimensions, 2):
            missing.pop(((one, chosen[one]), (other, chosen[other])), None)
    return rows


_TRIES = 20
"""Rows that are begun with a pair before no row is taken to be allowed with it."""
