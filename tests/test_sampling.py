"""Samples of products hold what they promise, and the rest is not lost."""

import itertools

import pytest
from tests.sampling import covering, some


def default(cases):
    return [case.values for case in cases if not case.marks]


@pytest.mark.parametrize("sizes", [(4, 6), (7, 6), (2, 2), (3, 1), (5,), (6, 3, 2), (2, 3, 4, 2)])
@pytest.mark.parametrize("times", [1, 2])
def test_every_face_of_the_product_is_in_the_sample(sizes, times):
    axes = [range(size) for size in sizes]
    cases = covering(*axes, times=times)
    assert [case.values for case in cases] == list(itertools.product(*axes))
    kept = default(cases)
    for face in itertools.combinations(range(len(sizes)), max(1, len(sizes) - 1)):
        beside = len(cases)
        for axis in face:
            beside //= sizes[axis]
        for part in itertools.product(*(axes[axis] for axis in face)):
            assert sum(tuple(case[axis] for axis in face) == part for case in kept) >= min(times, beside)


def test_a_sample_is_small():
    assert len(default(covering(range(7), range(6)))) <= 8
    assert len(default(covering(range(6), range(3), range(2)))) <= 20


def test_all_but_the_first_of_some_are_stress_tests():
    assert some("abc", 3) == ["a", "b", "c"]
    first, second = some("ab", 1)
    assert first == "a"
    assert second.values == ("b",)
    assert [mark.name for mark in second.marks] == ["stress"]
