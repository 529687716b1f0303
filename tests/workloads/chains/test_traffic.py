import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.base.documents import parse
from tilewright.base.errors import UsageError
from tilewright.base.intmath import ceil_div
from tilewright.machines import files
from tilewright.workloads.chains.times import HostTimes, fit, machine_rates
from tilewright.workloads.chains.traffic import (
    SCHEDULES,
    check_model,
    closed_form,
    count,
    least,
    moves,
    printed_form,
    tile,
)

SIZE = st.integers(1, 60)
P = (936, 1008, 552, 368)


def columns(*p):
    return [np.array([float(size)]) for size in p]


@given(a=SIZE, b=SIZE, u=st.integers(1, 3000), v=st.integers(1, 3000), memory=st.integers(1, 4000))
@settings(max_examples=400)
def test_least_is_the_minimum_over_all_blocks(a, b, u, v, memory):
    brute = min(u * ceil_div(a, x) + v * ceil_div(b, min(b, memory // x)) for x in range(1, min(a, memory) + 1))
    value, x, y = least(*columns(a, u, b, v), memory)
    assert value[0] == brute
    assert 1 <= x[0] <= a
    assert 1 <= y[0] <= b
    assert x[0] * y[0] <= memory
    assert u * ceil_div(a, int(x[0])) + v * ceil_div(b, int(y[0])) == brute


def test_least_is_found_for_large_sizes_too():
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b, u, v, memory = (int(value) for value in rng.integers(1, (9000, 9000, 10**6, 10**6, 20_000)))
        rows = np.arange(1, min(a, memory) + 1)
        high = np.minimum(b, memory // rows)
        brute = (u * -(-a // rows) + v * -(-b // high)).min()
        assert least(*columns(a, u, b, v), memory)[0][0] == brute


def test_closed_forms_are_the_printed_ones():
    p0, p1, p2, p3 = P
    root = math.sqrt(65536)
    assert closed_form("R", columns(p0, p1, p2), 65536)[0][0] == pytest.approx(2 * p0 * p1 * p2 / root + p0 * p2)
    kept = 2 * math.sqrt(2) * p0 * p1 * p2 / root
    assert closed_form("A1", columns(p0, p1, p2), 65536)[0][0] == pytest.approx(kept + p0 * p1 - p0 * p2)
    assert closed_form("A2", columns(p0, p1, p2), 65536)[0][0] == pytest.approx(kept + p1 * p2 - p0 * p2)
    alpha, beta = p3 / p1, p0 / p2
    left = 2 * p0 * p1 * p2 * (1 + alpha) * math.sqrt((1 + 2 * alpha) / (1 + alpha)) / root - p0 * p3
    right = 2 * p1 * p2 * p3 * (1 + beta) * math.sqrt((1 + 2 * beta) / (1 + beta)) / root - p0 * p3
    assert closed_form("left", columns(*P), 65536)[0][0] == pytest.approx(left)
    assert closed_form("right", columns(*P), 65536)[0][0] == pytest.approx(right)


def test_only_the_right_fusion_is_misprinted():
    for schedule in SCHEDULES:
        printed, exact = (form(schedule, columns(*P), 65536)[0][0] for form in (printed_form, closed_form))
        assert (printed != exact) == (schedule == "right")


def test_closed_tiles_are_the_thesis_own():
    assert tile("published", 65536, "R", (500, 500, 500)) == (256, 256)
    rows, columns_ = tile("published", 65536, "A1", (500, 500, 500))
    assert (rows, columns_) == (round(math.sqrt(65536 / 2)), round(math.sqrt(2 * 65536)))


def test_keeping_the_left_operand_wins_where_the_criterion_says():
    rng = np.random.default_rng(1)
    won = 0
    for _ in range(300):
        p0, p1, p2 = (int(size) for size in rng.integers(100, 3000, 3))
        memory = 4096
        kept, result = (closed_form(schedule, columns(p0, p1, p2), memory)[0][0] for schedule in ("A1", "R"))
        wins = 2 * (math.sqrt(2) - 1) * p1 / math.sqrt(memory) < 2 - p1 / p2
        assert (kept < result) == wins
        won += wins
    assert 0 < won < 300


def test_the_least_of_the_three_schedules_is_taken():
    found = [
        SCHEDULES[int(moves("exact", 4096, "none", columns(*p)).schedule[0])]
        for p in ((2000, 100, 2000), (900, 100, 2000), (2000, 100, 900), (2000, 2000, 2000))
    ]
    assert found == ["A1", "A1", "A2", "R"]


@given(
    p=st.tuples(SIZE, SIZE, SIZE, SIZE), memory=st.integers(1, 5000), fusion=st.sampled_from(["none", "left", "right"])
)
@settings(max_examples=300)
def test_small_sizes_never_move_less_than_every_word_once(p, memory, fusion):
    sizes = p[:3] if fusion == "none" else p
    inputs = sum(a * b for a, b in itertools.pairwise(sizes))
    for model in ("exact", "counts"):
        words = moves(model, memory, fusion, columns(*sizes)).words[0]
        if model == "counts":
            assert words >= inputs + sizes[0] * sizes[-1]
        assert words > 0


@given(p=st.tuples(SIZE, SIZE, SIZE, SIZE), memory=st.integers(1, 2000), schedule=st.sampled_from(SCHEDULES))
@settings(max_examples=200)
def test_a_tile_moves_what_the_model_says(p, memory, schedule):
    fusion = schedule if schedule in {"left", "right"} else "none"
    sizes = p if fusion != "none" else p[:3]
    cut = tile("counts", memory, schedule, sizes)
    assert cut[0] * cut[1] <= memory
    best = moves("counts", memory, fusion, columns(*sizes))
    found = SCHEDULES[int(best.schedule[0])]
    if found == schedule:
        assert count(schedule, sizes, cut) == best.words[0]
    else:
        assert count(schedule, sizes, cut) >= best.words[0]


@pytest.mark.parametrize(("model", "memory"), [("guess", 10), ("exact", 0), ("exact", 1.5), ("exact", True)])
def test_unknown_models_and_memories_are_refused(model, memory):
    with pytest.raises(UsageError):
        check_model(model, memory)


def test_a_fit_never_gives_negative_times_and_says_its_spread():
    rng = np.random.default_rng(0)
    terms = rng.uniform(1, 100, (40, 3))
    weights, spread = fit([(tuple(row), float(row @ (0.5, 0.0, 2.0))) for row in terms])
    assert weights == pytest.approx((0.5, 0.0, 2.0), abs=1e-6)
    assert spread < 1e-6
    weights, spread = fit([((1.0, x), 10.0 - x) for x in (1.0, 2.0, 3.0, 4.0)])
    assert min(weights) == 0.0
    assert spread > 0.05
    with pytest.raises(UsageError, match="as many samples"):
        fit([((1.0, 2.0), 1.0)])


@pytest.mark.parametrize("change", [{"single": [1.0]}, {"left": [-1.0] * 7}, {"source": "guess"}, {"spread": None}])
def test_stored_times_are_checked(change):
    data = {
        "single": [1e-9] * 6,
        "left": [1e-9] * 7,
        "right": [1e-9] * 7,
        "itemsize": 8,
        "source": "measured",
        "spread": 0.1,
    }
    assert isinstance(parse(HostTimes, data, "the times", complete=True), HostTimes)
    with pytest.raises(UsageError):
        parse(HostTimes, {**data, **change}, "the times", complete=True)


def test_a_machine_without_energies_says_so():
    assert machine_rates(files.load("k20c"), 4).metered
    rates = machine_rates(files.load("k20c"), 8)
    assert rates.word_joules == pytest.approx(2 * 2.2e-9)
    assert rates.operations == pytest.approx(13 * 192 * 706e6 / 3)
