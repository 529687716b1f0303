"""Solving metered micro-benchmarks: exact, under noise, and what cannot be solved."""

from dataclasses import replace

import numpy as np
import pytest

from energy.estimates import OPERATIONS, WATTS, MeterWindow, benchmarks, solve
from tilewright.base.errors import UsageError

TRUTH = {
    "idle_watts": 20.0,
    "static_watts": 45.0,
    "add_joules": 5e-11,
    "multiply_joules": 6e-11,
    "int_add_joules": 3e-11,
    "int_max_joules": 4e-11,
    "division_joules": 7e-10,
    "shared_word_joules": 9e-11,
    "l2_word_joules": 2e-10,
    "global_word_joules": 3e-9,
}
RATE = {"divide": 4e10, "l2": 8e10, "memory": 1e10}


def windows(rounds, seed=None, noise=0.0):
    """Windows of 1 to 1.2 s whose energy the constants tell, each off by a random share."""
    rng = np.random.default_rng(seed)
    known = {benchmark: (name, besides) for name, (benchmark, besides) in OPERATIONS["cpu"].items()}
    found = []
    for number in range(rounds):
        for name, benchmark in WATTS.items():
            found.append(
                MeterWindow(
                    round=number, benchmark=benchmark, start=3.0, end=4.1, operations=0, joules=1.1 * TRUTH[name]
                )
            )
        for benchmark, (name, besides) in known.items():
            seconds = rng.uniform(1.0, 1.2)
            count = RATE.get(benchmark, 2e11) * seconds
            joules = TRUTH["static_watts"] * seconds + count * sum(TRUTH[each] for each in (name, *besides))
            found.append(
                MeterWindow(round=number, benchmark=benchmark, start=0, end=seconds, operations=count, joules=joules)
            )
    return [replace(each, joules=each.joules * (1 + noise * rng.standard_normal())) for each in found]  # fmt: skip


def test_a_gpu_adds_what_it_loads():
    """Joules per operation as the kernels do them: a word comes with an addition, a store or a barrier alone."""
    truth = {name: (number + 1) * 1e-11 for number, name in enumerate(OPERATIONS["gpu"])}
    found = []
    for number in range(2):
        for name, benchmark in WATTS.items():
            found.append(
                MeterWindow(round=number, benchmark=benchmark, start=0.0, end=3.0, operations=0, joules=3 * TRUTH[name])
            )
        for name, (benchmark, _) in OPERATIONS["gpu"].items():
            each = truth[name] + (truth["add_joules"] if benchmark in {"shared_load", "l2", "memory"} else 0.0)
            joules = 3 * TRUTH["static_watts"] + 1e11 * each
            found.append(
                MeterWindow(round=number, benchmark=benchmark, start=0.0, end=3.0, operations=1e11, joules=joules)
            )
    solved = {each.name: each.value for each in solve(found, "gpu")}
    assert tuple(each.benchmark for each in found[: len(found) // 2]) == benchmarks("gpu")
    for name, value in truth.items():
        assert solved[name] == pytest.approx(value, rel=1e-6), name
    with pytest.raises(UsageError, match="round 0 lacks the benchmark 'l1'"):
        solve(found)


def test_constants_are_solved_exactly():
    found = {each.name: each for each in solve(windows(3))}
    assert list(found) == list(TRUTH)
    for name, value in TRUTH.items():
        assert found[name].value == pytest.approx(value, rel=1e-6)
        assert found[name].high - found[name].low < 1e-5 * value
        assert found[name].resolved


@pytest.mark.parametrize("rounds", [3, 5])
def test_intervals_hold_the_truth_as_often_as_they_say(rounds):
    hits = []
    for seed in range(300):
        found = solve(windows(rounds, seed, 0.01))
        hits += [each.low <= TRUTH[each.name] <= each.high for each in found]
    assert 0.93 < np.mean(hits) < 0.97


def test_what_drowns_in_noise_is_told():
    found = {each.name: each for each in solve(windows(3, 1, 0.3))}
    assert not all(each.resolved for each in found.values())
    assert all(0 <= each.low <= each.value <= each.high for each in found.values())
    assert not found["int_add_joules"].resolved
    assert found["int_add_joules"].low == 0.0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda all_: all_[:10], "an uncertainty needs 2 to 30 rounds of windows, got 1"),
        (lambda all_: all_[:-1], "round 1 lacks the benchmark 'memory'"),
        (lambda all_: [*all_[:-1], replace(all_[-1], operations=0.0)], "'memory' of round 1 did nothing"),
        (lambda all_: [*all_[:-1], replace(all_[-1], joules=0.0)], "stood still while 'memory' ran"),
        (lambda all_: [*all_[:-1], replace(all_[-1], joules=None)], "stood still while 'memory' ran"),
    ],
)
def test_windows_that_cannot_be_solved_are_one_sentence(change, message):
    with pytest.raises(UsageError, match=message):
        solve(change(windows(2)))
