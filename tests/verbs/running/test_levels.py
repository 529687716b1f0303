"""Going on: every time level of a run, in the form that the next run takes."""

import warnings

import numpy as np
import pytest

import tilewright as tw
from tilewright.runtime import session
from tilewright.runtime.warn import forget_warnings


@tw.stencil
def third(u):
    """Three levels, of which the oldest is read at a neighbour."""
    return 0.5 * u[0, 0] + 0.25 * u.prev[0, 1] + 0.125 * u.prev2[-1, 0] + 0.0625 * (u[1, 0] + u[0, -1])


@tw.stencil
def mixed(u, v, k):
    """Fields of three, two and one level, the last of which no step updates."""
    new_u = 0.5 * u[0, 0] + 0.25 * u.prev2[0, 1] + k[0, 0] * v[-1, 0]
    return new_u, 0.5 * v[0, 0] + 0.25 * v.prev[1, 0] + 0.125 * u[0, -1]


def arrays(shape, count, seed=0, dtype=np.float64):
    generator = np.random.default_rng(seed)
    return tuple((0.5 * generator.random(shape)).astype(dtype) for _ in range(count))


def same(got, expected):
    assert type(got) is type(expected)
    if isinstance(got, tuple):
        assert len(got) == len(expected)
        for one, other in zip(got, expected, strict=True):
            same(one, other)
    else:
        np.testing.assert_array_equal(got, expected)


def test_the_form_of_the_result():
    u, v = arrays((9, 12), 2), arrays((9, 12), 2, 1)
    now = tw.run("heat2d", u[0], steps=2, levels=True)
    assert isinstance(now, np.ndarray)
    assert [type(entry) for entry in tw.run("fdtd2d", *u, v[0], steps=2, levels=True)] == [np.ndarray] * 3
    pair = tw.run("wave2d", u, steps=2, levels=True)
    assert isinstance(pair, tuple)
    same(pair[0], tw.run("wave2d", u, steps=2))
    same(pair[1], tw.run("wave2d", u, steps=1))
    first, second = tw.run(mixed, (*u, v[0]), v, u[0], steps=2, levels=True, strict=True)
    assert (len(first), len(second)) == (3, 2)
    on = tw.run(mixed, first, second, u[0], steps=3, levels=True, strict=True)
    same(on, tw.run(mixed, (*u, v[0]), v, u[0], steps=5, levels=True, strict=True))
    for before, after in zip(u, tw.run("wave2d", u, steps=0, levels=True), strict=True):
        same(after[1:-1, 1:-1], before[1:-1, 1:-1])
        assert not np.shares_memory(after, before)


def test_a_callback_gets_what_a_restart_needs():
    pair, kept = arrays((40, 50), 2), {}
    whole = tw.run(
        "wave2d", pair, steps=20, every=6, strict=True, levels=True,
        callback=lambda step, view: kept.update({step: tuple(level.copy() for level in view)}),
    )  # fmt: skip
    for step, state in kept.items():
        same(tw.run("wave2d", state, steps=20 - step, strict=True, levels=True), whole)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_arrays_to_write_levels_into(backend):
    u, v, (k,) = arrays((20, 30), 3), arrays((20, 30), 2, 1), arrays((20, 30), 1, 2)
    expected = tw.run(mixed, u, v, k, steps=5, levels=True, backend=backend)
    out = (tuple(np.empty_like(k) for _ in u), tuple(np.empty_like(k) for _ in v))
    assert tw.run(mixed, u, v, k, steps=5, levels=True, out=out, backend=backend) is out
    same(out, expected)
    pair = (np.empty_like(k), np.empty_like(k))
    assert tw.run("wave2d", v, steps=5, levels=True, out=pair, backend=backend) is pair
    same(pair, tw.run("wave2d", v, steps=5, levels=True, backend=backend))
    assert tw.run("wave2d", v, steps=5, levels=True, out=v, backend=backend) is v  # in place: inputs are copied first
    same(v, pair)
    alone = np.empty_like(k)
    assert tw.run("heat2d", k, steps=5, levels=True, out=alone, backend=backend) is alone
    same(alone, tw.run("heat2d", k, steps=5, backend=backend))


def test_copies_by_several_threads(monkeypatch):
    monkeypatch.setattr(session, "_SMALL", 0)
    pair = arrays((600, 700), 2)
    state = tw.run("wave2d", pair, steps=5, levels=True, threads=2, strict=True)
    same(state[0], tw.run("wave2d", pair, steps=5, threads=2, strict=True))
    same(state[1], tw.run("wave2d", pair, steps=4, threads=2, strict=True))


def test_one_array_for_several_levels_warns_unless_it_is_zero():
    u = arrays((20, 30), 1)[0]
    with pytest.warns(tw.TilewrightWarning, match=r"'u' of 'wave2d' has 2 time levels, and one array stands for all"):
        at_rest = tw.run("wave2d", u, steps=3)
    with pytest.warns(
        tw.TilewrightWarning, match=r"has 3 time levels, and the last of 2 repeats \(hint: pass \(u, u_prev"
    ):
        tw.run(third, (u, u), steps=3)
    late = np.zeros((300, 20))
    late[-1, -1] = 1.0
    with pytest.warns(tw.TilewrightWarning, match="one array stands for all"):
        tw.run("wave2d", late, steps=3)
    with pytest.warns(tw.TilewrightWarning, match="the last of 2 repeats"):
        tw.run(third, (np.zeros_like(u), u), steps=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(tw.run("wave2d", (u, u), steps=3), at_rest)
        tw.run("wave2d", np.zeros((20, 30)), steps=3)
        tw.run(third, (u, np.zeros_like(u)), steps=3)
        tw.run("heat2d", u, steps=3)


def test_a_plan_goes_on():
    plan = tw.tune("wave2d", shape=(40, 50), steps=12, dtype="float64", effort="none")
    pair = arrays((40, 50), 2)
    state = plan.run(pair, steps=5, levels=True)
    np.testing.assert_allclose(plan.run(state, steps=7), plan.run(pair), rtol=1e-12, atol=1e-13)


@tw.stencil
def near_and_far(u, v):
    return u[-1, 0] + u[1, 0], v[-4, 0] + v[4, 0]


def told_of_kept_cells(run):
    forget_warnings()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = run()
    return found, [str(each.message) for each in said if "no cell of" in str(each.message)]


def test_a_grid_smaller_than_the_reach_says_that_nothing_was_updated(tmp_path):
    u = np.arange(8.0).reshape(2, 4)
    on_disk = np.memmap(tmp_path / "u.bin", u.dtype, "w+", shape=u.shape)
    on_disk[:] = u
    out = tmp_path / "v.npy"
    runs = {
        "3x3": lambda: tw.run("heat2d", u, steps=3),
        "3x1": lambda: tw.run("heat2d", u, steps=3, boundary=("fixed", "wrap")),
        "3x3 ": lambda: tw.run("heat2d", np.stack([u, u]), steps=3, axes=(-2, -1))[0],
        " 3x3": lambda: tw.run("heat2d", on_disk, steps=3, out=out),
    }
    for least, run in runs.items():
        found, said = told_of_kept_cells(run)
        np.testing.assert_array_equal(found, u)
        assert len(said) == 1, said
        assert "no cell of 'u' is updated: on a grid of 2x4 every cell of 'heat2d' reads beyond a side" in said[0]
        assert f"give at least {least.strip()} cells" in said[0]
    _, said = told_of_kept_cells(lambda: [tw.run("heat2d", u, steps=3) for _ in range(3)])
    assert len(said) == 1


def test_fields_that_no_step_updates_are_named():
    u = np.ones((6, 5))
    (first, second), said = told_of_kept_cells(lambda: tw.run(near_and_far, u, u, steps=1))
    assert len(said) == 1
    assert "no cell of 'v' is updated" in said[0]
    assert "give at least 9x1 cells" in said[0]
    assert first[2, 2] == 2
    np.testing.assert_array_equal(second, u)


@pytest.mark.parametrize(
    "given",
    [
        {"steps": 0},
        {"steps": 3, "boundary": "nearest"},
        {"steps": 3, "boundary": "wrap"},
        {"steps": 3, "boundary": (("constant:0", "fixed"), "reflect")},
    ],
)
def test_nothing_is_said_where_cells_are_updated_or_no_step_is_done(given):
    assert told_of_kept_cells(lambda: tw.run("heat2d", np.ones((2, 2)), **given))[1] == []
