"""Gradients through runs: against differences, against JAX, with few states in memory, in every form of input."""

import copy
import gc
import weakref

import numpy as np
import pytest
from tests.sampling import covering, some

import tilewright as tw
from tilewright.base.errors import ArrayError, UsageError
from tilewright.inputs.stencil import as_program
from tilewright.programs.stencil.adjoint import adjoint_of
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.kernels import CpuKernel
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import parse
from tilewright.verbs.gradients import run
from tilewright.verbs.gradients.points import Pulled
from tilewright.verbs.gradients.run import DifferentiatedRun, GradientOptions, OneByOne
from tilewright.verbs.gradients.vjp import _call, gradients

SHAPES = {1: (23,), 2: (12, 17), 3: (8, 9, 10)}


@tw.stencil
def reacting(u, v, k, f):
    """Two fields that react, with a coefficient field, a source field and a scalar that is squared."""
    rate = u[0, 0] * v[0, 0] * v[0, 0]
    lap = u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0]
    return u[0, 0] + k[0, 0] * lap - rate + f[0, 0], v[0, 0] + rate - 0.1 * v[0, 0] / (1 + v[0, 1] * v[0, 1])


@tw.stencil
def wave(u, m):
    lap = u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0]
    return 2 * u[0, 0] - u.prev[0, 0] + m * m * lap


def _dot(one, other):
    return sum(float((a * b).sum()) for a, b in zip(one, other, strict=True))


def test_linear_programs_are_transposed_to_rounding(private_folders):
    """Both sides are runs, without differences: the second is linear in what it starts from."""
    draw = np.random.default_rng(2)
    for boundary in ("fixed", "wrap", ("mirror", "nearest")):
        x, y = (draw.standard_normal((30, 41)) for _ in range(2))
        forward, pullback = tw.vjp("j2d9pt", x, steps=13, boundary=boundary)
        (back,), _ = pullback(y)
        assert float((back * x).sum()) == pytest.approx(float((y * forward).sum()), rel=1e-12)
        start = (x, draw.standard_normal((30, 41)))
        forward, pullback = tw.vjp("wave2d", start, steps=13, boundary=boundary)
        ((newest, older),), _ = pullback(y)
        if boundary == "fixed":
            continue  # edges of older levels are the newest's: not linear in the two arrays apart
        assert _dot((newest, older), start) == pytest.approx(float((y * forward).sum()), rel=1e-12)


FAMILIES = {
    "jacobi1d": ("hexagonal:t=4,s=8", "skewed:t=4,s=8,sub=4", "streaming:t=3,s=16"),
    "j2d5pt": ("hybrid:t=4,s=4x32", "diamond:t=4,s=8x32", "streaming:t=3,s=16x32"),
    "wave2d": ("hybrid:t=4,s=4x32",),
    "laplacian3d": ("hybrid:t=4,s=2x8x16", "streaming:t=2,s=8x8x16"),
}


@pytest.mark.parametrize(("name", "boundary"), covering(list(FAMILIES), ["fixed", "reflect"]))
def test_an_adjoint_runs_under_every_family(private_folders, name, boundary):
    found = adjoint_of(as_program(name), boundary)
    program, shape, draw = found.program, SHAPES[as_program(name).rank], np.random.default_rng(1)
    if found.steady is not None:
        program, sides = found.steady.program, found.steady.boundary
    else:
        sides = found.boundary
    arrays = [draw.random(shape) for _ in program.fields]
    scalars = {name: float(shape[int(name[-1])]) for name in program.scalars}
    expected = tw.run(program, *arrays, steps=7, boundary=sides, tiling="none", **scalars)
    problem = make_problem(program, shape, 7, "float64", sides)
    legal = 0
    for tiling in FAMILIES[name]:
        try:
            catalogue.legal(problem, parse(tiling))
        except tw.TilewrightError:
            continue
        legal += 1
        tiled = tw.run(program, *arrays, steps=7, boundary=sides, tiling=tiling, **scalars)
        for one, other in zip(np.atleast_2d(expected), np.atleast_2d(tiled), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)
    assert legal


def test_gradients_are_the_same_with_few_states_in_memory(private_folders):
    draw = np.random.default_rng(4)
    u, v = draw.uniform(0.2, 0.5, (2, 14, 15))
    k, f = draw.uniform(0.0, 0.1, (2, 14, 15))
    worth = tuple(draw.standard_normal((14, 15)) for _ in range(2))
    expected = None
    for options in ({}, {"checkpoints": 2}, {"checkpoints": 7}, {"memory": "20KiB"}):
        _, pullback = tw.vjp(reacting, u, v, k, f, steps=23, boundary="reflect", **options)
        gradients, _ = pullback(worth)
        expected = expected or gradients
        for one, other in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
        again, _ = pullback(worth)
        np.testing.assert_array_equal(again[0], gradients[0])


@pytest.mark.parametrize(
    ("program", "boundary"),
    covering(["heat2d_var", "gradient2d", reacting, wave], [("nearest", ("fixed", "mirror")), "fixed", "wrap"]),
)
def test_bands_are_the_steps_one_by_one(private_folders, program, boundary):
    shape = (37, 45)
    made, draw = as_program(program), np.random.default_rng(6)
    arrays = [draw.uniform(0.0, 0.1, shape) for _ in made.fields]
    coefficients = {name: draw.uniform(0.0, 0.3, shape) for name in made.scalars}
    worth = tuple(draw.standard_normal(shape) for _ in made.updated)
    worth = worth if len(worth) > 1 else worth[0]
    found = []
    for options in ({"backend": "numpy"}, {"checkpoints": 5}, {"checkpoints": 40}):
        _, pullback = tw.vjp(made, *arrays, steps=25, boundary=boundary, **coefficients, **options)
        of_arrays, by_name = pullback(worth)
        found.append([*of_arrays, *by_name.values()])
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            np.testing.assert_allclose(two, one, rtol=1e-9, atol=1e-11)


def test_one_array_for_all_levels_gets_their_sum(private_folders):
    u = np.zeros((12, 13))
    worth = np.random.default_rng(7).standard_normal((12, 13))
    (both,), _ = tw.vjp("wave2d", u, steps=5)[1](worth)
    ((newest, older),), _ = tw.vjp("wave2d", (u, u), steps=5)[1](worth)
    np.testing.assert_allclose(both, newest + older, rtol=1e-12)


def test_no_steps_hand_the_cotangent_on():
    worth = np.random.default_rng(7).standard_normal((12, 13))
    y, pullback = tw.vjp("gradient2d", np.ones((12, 13)), steps=0)
    np.testing.assert_array_equal(y, np.ones((12, 13)))
    np.testing.assert_array_equal(pullback(worth)[0][0], worth)


def _leaves(value):
    """Every array in a result."""
    if isinstance(value, np.ndarray):
        return [value]
    entries = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else ()
    return [leaf for each in entries for leaf in _leaves(each)]


def _changing(case, draw):
    """A program, its arrays, and its options, of which every array may be changed afterwards."""
    u, v, k, f = draw.uniform(0.1, 0.3, (4, 14, 15))
    steps = 9
    points = {
        "sources": {"u": tw.Points([(3.5, 4.0), (6.0, 7.0)], draw.standard_normal((steps, 2)), scale=v)},
        "receivers": tw.Points([(0.0, 5.0), (8.25, 9.0)]),
    }
    return {
        "states": ("gradient2d", (u,), {}),
        "coefficients": ("heat2d_var", (u, k), {}),
        "no states": (waves, ((u, v), k), {"wrt": ()}),
        "levels at fixed edges": (wave, ((u, v),), {"m": k}),
        "several fields": (reacting, (u, v, k, f), {}),
        "values per step": (heating, (u, k), {"a": np.linspace(0.1, 1.0, steps), "wrt": ("k",)}),
        "sources and receivers": (waves, ((u, v), k), {"sources": points["sources"], "receivers": points["receivers"]}),
        "sources of a program with states": ("gradient2d", (u,), points),
        "a row": (wave, ((u, v),), {"m": k[0]}),
        "values of a side": ("gradient2d", (u,), {"boundary": ("nearest", tw.Boundary("constant", v[:, :1]))}),
        "no steps": ("gradient2d", (u,), {"steps": 0}),
    }[case]


CHANGED = (
    "states", "coefficients", "no states", "levels at fixed edges", "several fields", "values per step", "a row",
    "sources and receivers", "sources of a program with states", "values of a side", "no steps",
)  # fmt: skip
KEPT = ({"checkpoints": 2}, {"checkpoints": 4}, {"checkpoints": 100}, {"checkpoints": 4, "disk": True})


@pytest.mark.parametrize(("case", "kept"), covering(CHANGED, KEPT))
def test_a_pullback_is_that_of_the_arrays_as_they_were(private_folders, tmp_path, case, kept):
    """Whatever is written into the arrays, the result and the gradients before it is called, or called again."""

    def gradients_of(spoil):
        program, arrays, options = _changing(case, np.random.default_rng(19))
        given = _leaves([*arrays, *options.values()])
        for points in options.get("sources", {}).values():
            given += [points.values, points.scale, points.coordinates]
        if isinstance(options.get("boundary"), tuple):
            given.append(options["boundary"][1].value)
        chosen = {**kept, "disk": tmp_path} if "disk" in kept else kept
        result, pullback = tw.vjp(program, *arrays, **{"steps": 9, **options}, **chosen)
        worth = copy.deepcopy(result)
        for each in [*given, *_leaves(result)] if spoil else []:
            each[...] = np.nan
        first = _leaves(pullback(worth))
        expected = [each.copy() for each in first]
        for each in first if spoil else []:
            each[...] = np.nan
        for once, again in zip(expected, _leaves(pullback(worth)), strict=True):
            np.testing.assert_array_equal(once, again)
        return expected

    for found, right in zip(gradients_of(spoil=True), gradients_of(spoil=False), strict=True):
        assert np.isfinite(right).all()
        np.testing.assert_array_equal(found, right)


BRANCHES = {
    "root": lambda u: tw.where(u[0, 0] > 0.0, tw.sqrt(u[0, 0]), 0.5 * u[0, 1]),
    "logarithm times a neighbour": lambda u: tw.where(u[0, 0] > 0.0, u[1, 0] * tw.log(u[0, 0]), u[0, -1]),
    "power": lambda u: tw.maximum(0.25 * u[0, 0], tw.where(u[0, 1] > 0.0, u[0, 1] ** 1.5, u[0, 0])),
    "quotient": lambda u: tw.where(u[0, 0] * u[0, 0] > 0.0, 0.1 * u[0, 1] / u[0, 0], u[1, 0]),
    "a root of what another branch uses": lambda u: tw.where(u[0, 0] > 0.0, tw.sqrt(u[0, 0]) + u[0, 1], u[0, 0]),
}


@pytest.mark.parametrize("name", BRANCHES)
@pytest.mark.parametrize("boundary", ["fixed", "reflect", "constant"])
def test_cotangents_of_branches_that_were_not_taken_are_zero(private_folders, name, boundary):
    program, draw, step = tw.stencil(BRANCHES[name]), np.random.default_rng(6), 1e-6
    u = draw.uniform(-1.0, 1.0, (10, 12))
    move, worth = draw.standard_normal((2, 10, 12))
    if name == "quotient":
        u[3:5], move[3:5] = 0.0, 0.0
    _, pullback = tw.vjp(program, u, steps=1, boundary=boundary)
    (gradient,), _ = pullback(worth)
    far, near = (tw.run(program, u + by * move, steps=1, boundary=boundary) for by in (step, -step))
    expected = float((worth * (far - near)).sum()) / (2 * step)
    assert float((gradient * move).sum()) == pytest.approx(expected, rel=1e-6)


def test_arrays_come_back_as_they_were_given(private_folders):
    xarray = pytest.importorskip("xarray")
    field = xarray.DataArray(np.random.default_rng(1).random((10, 11)), dims=("x", "y"), name="heat")
    y, pullback = tw.vjp("j2d5pt", field, steps=3)
    (gradient,), _ = pullback(y)
    assert gradient.dims == ("x", "y")


@tw.stencil
def waves(u, m):
    lap = u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0]
    return 2 * u[0, 0] - u.prev[0, 0] + m[0, 0] * lap


def test_a_cotangent_of_traces_alone(private_folders):
    draw = np.random.default_rng(12)
    u, m = draw.random((14, 15)), np.full((14, 15), 0.2)
    receivers = tw.Points([(3.5, 4.0)])
    (_, traces), pullback = tw.vjp(waves, (u, u), m, steps=6, receivers=receivers)
    gradients, _ = pullback((None, traces))
    again, _ = pullback((np.zeros_like(u), traces))
    np.testing.assert_array_equal(gradients[1], again[1])
    with pytest.raises(ArrayError, match="a cotangent is a pair"):
        pullback(u)
    with pytest.raises(ArrayError, match="of the traces of 'u' has the shape"):
        pullback((None, {"u": np.zeros((2, 2))}))


@pytest.mark.parametrize("wrt", [(), None])
def test_sources_and_receivers_go_back_in_time_tiles(private_folders, monkeypatch, wrt):
    draw, steps = np.random.default_rng(13), 11
    u, m = draw.random((2, 15, 17)), draw.uniform(0.1, 0.2, (15, 17))
    points = {
        "sources": {"u": tw.Points([(3.5, 4.0), (6.0, 7.0)], draw.standard_normal((steps, 2)), scale="m")},
        "receivers": {field: tw.Points([(0.0, 5.0), (8.25, 9.0)], every=3) for field in ("u", "m")},
    }

    def gradient():
        _, pullback = tw.vjp(waves, tuple(u), m, steps=steps, wrt=wrt, checkpoints=4, **points)
        return pullback((u[0], {field: np.arange(6.0).reshape(3, 2) for field in ("u", "m")}))

    with monkeypatch.context() as patch:
        patch.setattr(Pulled, "fits", lambda *_: False)
        (levels, of_m), others = gradient()
    monkeypatch.setattr(OneByOne, "step", lambda *_: pytest.fail("a step was taken back by itself"))
    (tiled_levels, tiled_of_m), tiled = gradient()
    np.testing.assert_allclose(tiled_levels, levels, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(tiled["sources"]["u"], others["sources"]["u"], rtol=1e-12, atol=1e-14)
    if wrt is None:
        np.testing.assert_allclose(tiled_of_m, of_m, rtol=1e-12, atol=1e-14)


@tw.stencil
def heating(u, k, a):
    return u[0, 0] + a * k[0, 0] * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])


@pytest.mark.parametrize(("program", "copied"), [(heating, False), (wave, True)])
def test_states_that_are_all_newest_versions_are_where_streaming_kernels_leave_them(
    private_folders, monkeypatch, program, copied
):
    """Bit for bit what sessions keep, sources, receivers and values per step in between; nothing is copied."""
    draw, steps = np.random.default_rng(17), 13
    u, k = draw.random((37, 45)), draw.uniform(0.1, 0.2, (37, 45))
    points = {
        "sources": {"u": tw.Points([(3.5, 4.0), (20.0, 7.0)], draw.standard_normal((steps, 2)))},
        "receivers": tw.Points([(9.0, 5.0), (8.25, 9.0)], every=2),
    }
    scalars = {"a": np.linspace(0.1, 1.0, steps), "wrt": ("k",)} if program is heating else {"m": k}
    fields = (u, k) if program is heating else (u,)

    def streamed(problem, target, tiling, **options):
        plain = not options["storage"].kept and problem.program.updated == ("u",)
        return prepared(problem, target, "streaming:t=3,s=24x32" if plain else tiling, **options)

    def gradient():
        states = []
        with monkeypatch.context() as patch:
            patch.setattr(run, "_levels", lambda *args: states.append(1) or levels(*args))
            (y, traces), pullback = tw.vjp(program, *fields, steps=steps, checkpoints=4, **points, **scalars)
            gradients, others = pullback((y, traces))
        worth = [*gradients, others["sources"]["u"], *(others[name] for name in others if name == "m")]
        return [y, traces["u"], *worth], bool(states)

    prepared, levels = run.prepared, run._levels
    monkeypatch.setattr(run, "prepared", streamed)
    found, some_copied = gradient()
    assert some_copied == copied
    monkeypatch.setattr(CpuKernel, "copies_nothing", lambda *_: False)
    expected, some_copied = gradient()
    assert some_copied
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("boundary", some([("mirror", "nearest"), "fixed", "wrap", "reflect", "constant:0.3"], 2))
def test_the_cotangent_of_a_long_weighted_sum_is_computed_once_per_cell(private_folders, boundary):
    def high_order(u, m, g):
        lap = tw.laplacian(u, 8)
        return g[0, 0] * (2 * u[0, 0] - g[0, 0] * u.prev[0, 0] + m[0, 0] * lap)

    program = tw.stencil(high_order)
    draw, shape, steps = np.random.default_rng(15), (15, 17), 5
    u, before, m, g = draw.random((4, *shape))
    assert "u_bar_node" in tw.adjoint(program, boundary).updated
    _, pullback = tw.vjp(program, (u, before), 0.1 * m, 0.9 + 0.1 * g, steps=steps, boundary=boundary, checkpoints=3)
    worth, moves = draw.standard_normal(shape), draw.standard_normal((4, *shape))
    (levels, of_m, of_g), _ = pullback(worth)

    def number(by):
        there = (u + by * moves[0], before + by * moves[1])
        fields = 0.1 * m + by * moves[2], 0.9 + 0.1 * g + by * moves[3]
        return float((tw.run(program, there, *fields, steps=steps, boundary=boundary) * worth).sum())

    by_adjoint = sum(float((a * b).sum()) for a, b in zip((*levels, of_m, of_g), moves, strict=True))
    assert by_adjoint == pytest.approx((number(1e-6) - number(-1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("steps", [0, 4])
def test_nothing_outlives_a_pullback(private_folders, steps):
    k = np.full((12, 17), 0.1)
    seen = weakref.ref(k)
    result, pullback = tw.vjp("heat2d_var", np.ones((12, 17)), k, steps=steps)
    gradients = pullback(result)
    del k, result, pullback, gradients
    gc.collect()
    assert seen() is None


def test_gradients_alone_run_nothing_forward_where_no_state_is_needed(private_folders, monkeypatch):
    draw = np.random.default_rng(16)
    u, k, worth = draw.random((3, 40))
    known = {}
    for name, given in (("jacobi1d", (u,)), (lambda u, k: u[0] + 0.1 * k[0] * (u[-1] - u[1]), (u, k))):
        program = tw.stencil(name) if callable(name) else name
        known[program] = given, tw.vjp(program, *given, steps=7)[1](worth)
    refuse = []
    monkeypatch.setattr(DifferentiatedRun, "forward", lambda self, *_: refuse.append(self.program) or (None, [], None))
    (given, expected), _ = known.values()
    np.testing.assert_array_equal(gradients("jacobi1d", worth, *given, steps=7)[0], expected[0])
    assert refuse == []
    monkeypatch.undo()
    program = list(known)[1]
    for found, other in zip(gradients(program, worth, u, k, steps=7)[0], known[program][1][0], strict=True):
        np.testing.assert_array_equal(found, other)


def test_gradients_without_a_result_take_no_receivers():
    with pytest.raises(UsageError, match="a cotangent of traces needs the run"):
        gradients("jacobi1d", np.ones(5), np.zeros(5), steps=1, receivers={"u": tw.Points([[1.0]])})


@tw.stencil
def fed(u, f):
    return u[0, 0] + 0.1 * (u[-1, 0] + u[1, 0] - 2 * u[0, 0]) + f[0, 0]


@tw.stencil
def delayed(u, f):
    return u[0, 0] - 0.3 * u.prev[0, 0] + 0.1 * (u.prev[-1, 0] + u.prev[0, 1]) + f[0, 0]


@pytest.mark.parametrize(
    ("program", "boundary", "ways"),
    [
        ("jacobi2d", "fixed", ("split", "inner", "steady")),
        ("jacobi2d", "wrap", ()),
        ("jacobi2d", "reflect", ()),
        ("wave2d", "fixed", ("split", "inner", "steady")),
        (fed, "fixed", ("split", "steady")),
        (fed, "wrap", ("steady",)),
        (delayed, "fixed", ("split",)),  # what older neighbours are worth is in no sum
        ("gradient2d", "fixed", ("split",)),  # it depends on states
        ("fdtd2d", "fixed", ()),  # stages
    ],
)
def test_which_ways_back_are_cheaper_than_the_whole_step(program, boundary, ways):
    made = adjoint_of(as_program(program), boundary)
    assert tuple(name for name in ("split", "inner", "steady") if getattr(made, name) is not None) == ways


@pytest.mark.parametrize("way", ["sources", "receivers", "neither"])
def test_sources_and_receivers_are_taken_back_on_processors_alone(way):
    points = {"sources": tw.Points([(2.0,)], values=np.ones(3)), "receivers": tw.Points([(2.0,)])}
    options = {way: points[way]} if way in points else {}
    if way == "neither":
        assert (
            _call("jacobi1d", (np.ones(9),), {}, GradientOptions(steps=3, backend="opencl")).run.program.name
            == "jacobi1d"
        )
        return
    with pytest.raises(UsageError, match="are computed on the processor"):
        tw.vjp("jacobi1d", np.ones(9), steps=3, backend="opencl", **options)
