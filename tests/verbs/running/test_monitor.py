"""Runs in portions: callbacks, residuals, values that are not finite, masks and sources."""

import re
import warnings

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.reference import run as reference
from tilewright.runtime import simulation
from tilewright.runtime.warn import forget_warnings

BACKENDS = ("c", "numpy")


def field(shape, seed=3):
    return np.random.default_rng(seed).random(shape)


def exact(name, arrays, steps, boundary="fixed"):
    problem = make_problem(program(name), arrays[0].shape, steps, "float64", boundary)
    fields = {f: [a] for f, a in zip(problem.program.fields, arrays, strict=True)}
    result = reference(problem, fields, {})
    return result[problem.program.updated[0]]


def test_a_callback_ends_the_run_and_sees_all_fields():
    arrays = [field((20, 20), seed) for seed in range(3)]
    steps = []

    def look(step, views):
        assert len(views) == 3
        steps.append(step)
        return step >= 6

    outs = tw.run("fdtd2d", *arrays, steps=100, every=3, callback=look)
    assert steps == [3, 6]
    for got, wanted in zip(outs, tw.run("fdtd2d", *arrays, steps=6), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def test_an_array_to_write_into():
    u0 = field((20, 20))
    out = np.empty_like(u0)
    assert tw.run("heat2d", u0, steps=9, every=4, callback=lambda s, v: None, out=out) is out
    np.testing.assert_allclose(out, exact("heat2d", [u0], 9), rtol=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_until_ends_when_nothing_changes_any_more(backend):
    u0 = field((12, 12))
    steps = []
    out = tw.run(
        "heat2d", u0, steps=10_000, every=10, until=1e-9, callback=lambda s, v: steps.append(s), backend=backend
    )
    assert 20 < steps[-1] < 1000
    last = exact("heat2d", [u0], steps[-1])
    np.testing.assert_allclose(out, last, rtol=1e-12)
    assert np.abs(last - exact("heat2d", [u0], steps[-1] - 10)).max() <= 10 * 1e-9
    earlier = exact("heat2d", [u0], steps[-2])
    assert np.abs(earlier - exact("heat2d", [u0], steps[-2] - 10)).max() > 10 * 1e-9


def test_until_nothing_ends_where_nothing_changes_at_all():
    still = tw.stencil(lambda u: tw.maximum(u[0, 0], 0.5), name="still")
    steps = []
    tw.run(still, field((12, 12)), steps=40, every=4, until=0.0, callback=lambda step, _: steps.append(step))
    assert steps == [4, 8]


def test_what_does_not_settle_is_said():
    with pytest.warns(tw.TilewrightWarning, match="still changes by .* after 8 steps"):
        tw.run("heat2d", field((12, 12)), steps=8, until=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("every", [1, 5, 64])
def test_the_step_at_which_values_stop_being_finite(backend, every):
    @tw.stencil
    def doubling(u):
        return u[0] * 1024.0 + 0.0 * u[-1]

    u0 = np.full(50, 1.0, dtype=np.float32)
    # 1024^12 = 2^120 is finite in float32, 1024^13 is not.
    with pytest.warns(tw.TilewrightWarning, match="not finite from step 13 on, so the run ended at step"):
        out = tw.run(doubling, u0, steps=200, every=every, backend=backend, boundary="nearest")
    assert not np.isfinite(out).all()


def test_data_that_are_not_finite_to_begin_with_are_no_news():
    u0 = field((12, 12))
    u0[5, 5] = np.nan
    out = tw.run("heat2d", u0, steps=4, every=2)
    assert np.isnan(out).sum() == 81


def test_sources_by_field_with_a_mask_and_a_callback():
    ey, ex, hz = (field((16, 16), seed) for seed in range(3))
    mask = np.ones((16, 16), dtype=bool)
    mask[4:6] = False
    wave = np.cos(np.arange(9.0))
    given = {"where": mask, "sources": {"hz": [((8, 8), wave)]}}
    plain = tw.run("fdtd2d", ey, ex, hz, steps=9, **given)
    seen = []
    watched = tw.run(
        "fdtd2d", ey, ex, hz, steps=9, **given, every=2, callback=lambda s, v: seen.append(v[2][8, 8].item())
    )
    assert len(seen) == 5
    for a, b, start in zip(plain, watched, (ey, ex, hz), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)
        np.testing.assert_array_equal(a[4:6], start[4:6])
    without = tw.run("fdtd2d", ey, ex, hz, steps=9, where=mask)
    assert abs(without[2] - plain[2]).max() > 0.1


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_source_on_a_cell_that_is_held_is_warned_of(backend):
    u = field((8, 9))
    sources = [((0, 5), 1.0), ((4, 4), 1.0), ((7, 0), 2.0)]
    said = (
        r"the source of 'u' at the cell \(0, 5\) and 1 more adds nothing: the boundary 'fixed' holds that cell "
        r"\(hint: cells of \[1, 7\) x \[1, 8\) are updated"
    )
    with pytest.warns(tw.TilewrightWarning, match=said):
        held = tw.run("heat2d", u, steps=3, sources=sources, backend=backend)
    assert np.array_equal(held, tw.run("heat2d", u, steps=3, sources=sources[1:2], backend=backend))
    tw.run("heat2d", u, steps=3, sources=sources, boundary="wrap", backend=backend)
    tw.run("heat2d", u, steps=0, sources=sources, backend=backend)
    mixed = ("fixed", "nearest")
    tw.run("heat2d", u, steps=3, sources=[((4, 0), 1.0)], boundary=mixed, backend=backend)
    with pytest.warns(tw.TilewrightWarning, match=r"at the cell \(0, 0\) adds nothing"):
        tw.run("heat2d", u, steps=3, sources={"u": [((0, 0), 1.0)]}, boundary=mixed, backend=backend)


@pytest.mark.filterwarnings("ignore:the source of 'u' at the cell")
@pytest.mark.parametrize(
    ("backend", "tiling", "boundary"),
    covering(BACKENDS, ["none", "hybrid:t=4,s=4x16", "skewed:t=4,s=8x16"], ["fixed", "wrap"]),
)
def test_nothing_is_added_to_cells_that_a_mask_keeps(backend, tiling, boundary):
    """A cell of the wall, points beside it, and points by sinc weights whose cells lie on both sides of it."""
    u0, mask, steps = field((20, 25)), np.ones((20, 25), dtype=bool), 7
    mask[:, 11:13] = False
    mask[3, 4] = False
    wave = np.cos(np.arange(steps))
    parts = [
        ((5, 11), wave),
        ((3, 4), 2.0),
        ((5, 10), wave),
        tw.Points([(8.0, 10.5), (9.25, 13.0 - 0.125)], values=wave),
        tw.Points([(10.5, 12.25)], values=3.0, interpolation="sinc", scale=0.5),
    ]
    found = tw.run(
        "heat2d", u0, steps=steps, where=mask, sources=parts, boundary=boundary, backend=backend, tiling=tiling,
        strict=True,
    )  # fmt: skip
    np.testing.assert_array_equal(found[~mask], u0[~mask])
    state = u0
    for step in range(steps):
        now = [
            tw.Points(part.coordinates, np.broadcast_to(part.values, steps)[[step]], interpolation=part.interpolation,
                      scale=part.scale)
            if isinstance(part, tw.Points)
            else (part[0], float(np.broadcast_to(part[1], steps)[step]))
            for part in parts
        ]  # fmt: skip
        free = tw.run("heat2d", state, steps=1, sources=now, boundary=boundary, backend="numpy")
        state = np.where(mask, free, state)
    np.testing.assert_allclose(found, state, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_source_on_a_cell_that_a_mask_keeps_is_warned_of(backend):
    u, mask = field((8, 9)), np.ones((8, 9), dtype=bool)
    mask[4] = False
    with pytest.warns(tw.TilewrightWarning, match=r"at the cell \(4, 5\) adds nothing: where= is false in that cell"):
        kept = tw.run("heat2d", u, steps=3, where=mask, sources=[((4, 5), 1.0)], backend=backend)
    np.testing.assert_array_equal(kept, tw.run("heat2d", u, steps=3, where=mask, backend=backend))
    tw.run("heat2d", u, steps=3, where=mask, sources=tw.Points([(4.5, 5.0)], values=1.0), backend=backend)


@pytest.mark.parametrize("sources", [[(0, 1.0)], [(np.int64(0), 1.0)], [([0], 1.0)], zip([0], [1.0], strict=True)])
def test_a_source_in_one_dimension_that_is_held_is_warned_of(sources):
    """However its cell is written, and where the list can be read only once."""
    with pytest.warns(tw.TilewrightWarning, match=r"'u' at the cell \(0,\) adds nothing"):
        tw.run("jacobi1d", field((9,)), steps=3, sources=sources)


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("shape", [(40, 50), (300, 400)])
def test_a_plain_run_that_blows_up_says_so(backend, shape):
    unstable = tw.stencil(lambda u: u[0, 0] + 5.0 * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4.0 * u[0, 0]))
    u = field(shape).astype(np.float32)
    forget_warnings()
    with pytest.warns(tw.TilewrightWarning) as caught:
        tw.run(unstable, u, steps=30, backend=backend)
    texts = [str(each.message) for each in caught]
    assert len(texts) == 2
    assert "past its stability limit: a wave of 2 x 2 cells grows 39 times" in texts[0]
    (step,) = re.findall(r"not finite after 30 steps of 'stencil', from step (\d+) on", texts[1])
    for steps, finite in ((int(step) - 1, True), (int(step), False)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tw.TilewrightWarning)
            assert np.isfinite(tw.run(unstable, u, steps=steps, backend=backend)).all() == finite
    u[3, 4] = np.inf
    tw.run(unstable, u, steps=30, backend=backend)  # was not finite to begin with: no news


def test_a_run_that_is_too_long_to_repeat_says_how_the_step_is_found(monkeypatch):
    monkeypatch.setattr(simulation, "_REPEATED", 100)
    square = tw.stencil(lambda u: 3.0 * u[0, 0] * u[0, 0])
    with pytest.warns(tw.TilewrightWarning, match=r"not finite after 40 steps of .*; every=… names the step"):
        tw.run(square, 2.0 + field((40, 50)), steps=40)


def test_a_portions_tiling_is_chosen_without_the_copies_of_a_whole_run(monkeypatch):
    """Arrays are copied in and out once, however many portions there are."""
    from tilewright import planner

    asked = []
    choose = planner.choose_tiling

    def heard(problem, machine, storage, *, copies=True):
        asked.append((problem.steps, copies))
        return choose(problem, machine, storage, copies=copies)

    monkeypatch.setattr(planner, "choose_tiling", heard)
    u = np.ones((33, 45), np.float32)
    tw.run("heat2d", u, steps=12, every=4, callback=lambda *_: None)
    tw.run("heat2d", u, steps=12)
    assert asked == [(4, False), (12, True)]
