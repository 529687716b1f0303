"""Products of test parameters of which a covering sample is run by default, and the rest as stress tests."""

import itertools
from collections import Counter
from collections.abc import Sequence
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
