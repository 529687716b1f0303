"""What depends on the cell's place and on the step: tw.index, tw.inside, tw.t, and scalars with a value per step."""

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw

pytestmark = [
    pytest.mark.usefixtures("mostly_unoptimised"),
]

STEPS = 7


@tw.stencil
def line(u, a):
    inner = 0.2 * u[0] * a + 0.01 * tw.index(0)
    return 0.3 * u[-1] + 0.3 * u[1] + tw.where(tw.inside[3:-5], inner, 0.1 * u[2]) + 0.001 * tw.t


@tw.stencil
def plane(u, a):
    inner = 0.3 * (u[-1, 0] + u[1, 0]) + 0.01 * tw.index(1)
    rim = tw.where(tw.inside[..., -4:], 1, 0.5)
    return tw.where(tw.inside[2:-1, :3], inner, u[0, 0] * a) + 0.02 * tw.t * rim + 0.003 * tw.index(0)


@tw.stencil
def cube(u, a):
    inner = 0.3 * (u[-1, 0, 0] + u[1, 0, 0]) + 0.01 * tw.index(1)
    value = tw.where(tw.inside[2:-1, :3], inner, 0.5 * u[0, 1, -1] * a) + 0.004 * tw.index(2)
    return value + 0.02 * tw.t * tw.where(tw.inside[..., -4:], 1, 0.5) + 0.003 * tw.index(-3)


def start(shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(1).uniform(0, 1, shape)


def by_numpy(u: np.ndarray, a: np.ndarray, steps: int) -> np.ndarray:
    """What ``plane`` computes with edges of nearest cells, written in NumPy."""
    i, j = np.indices(u.shape)
    rows, columns = u.shape
    for t in range(steps):
        v = np.pad(u, 1, mode="edge")
        inner = 0.3 * (v[:-2, 1:-1] + v[2:, 1:-1]) + 0.01 * j
        value = np.where((i >= 2) & (i < rows - 1) & (j < 3), inner, u * a[t])
        u = value + 0.02 * t * np.where(j >= columns - 4, 1, 0.5) + 0.003 * i
    return u


def test_the_reference_is_what_numpy_computes() -> None:
    u, a = start((9, 12)), np.linspace(0.5, 1.0, STEPS)
    found = tw.run(plane, u, steps=STEPS, boundary="nearest", backend="numpy", a=a)
    np.testing.assert_allclose(found, by_numpy(u, a, STEPS), rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "uint8", "float16", "complex64"])
def test_an_index_becomes_a_number_of_the_element_type_as_astype_does(dtype: str) -> None:
    program = tw.stencil(lambda u: u[0, 0] * 0 + tw.index(1))
    found = tw.run(program, np.zeros((3, 300), dtype), steps=1, dtype=dtype)
    np.testing.assert_array_equal(found, np.broadcast_to(np.arange(300).astype(dtype), (3, 300)))


def test_a_grid_that_wraps_in_blocks_knows_its_cells() -> None:
    u, a = start((40, 40)), np.linspace(0.5, 1.0, 30)
    expected = tw.run(plane, u, steps=30, boundary="wrap", backend="numpy", a=a)
    for tiling in (None, "hybrid:t=4,s=8x32", "streaming:t=3,s=16x32"):
        found = tw.run(plane, u, steps=30, boundary="wrap", backend="c", tiling=tiling, a=a)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_steps_are_counted_over_looks_and_levels(backend: str) -> None:
    u, a = start((12, 30)), np.linspace(0.5, 1.0, 20)
    expected = by_numpy(u, a, 20)
    seen = []
    found = tw.run(
        plane, u, steps=20, boundary="nearest", backend=backend, a=a, every=3, callback=lambda n, v: seen.append(n)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert seen == [3, 6, 9, 12, 15, 18, 20]


def test_a_batch_of_grids_knows_places_and_steps() -> None:
    u, a = start((5, 12, 30)), np.linspace(0.5, 1.0, STEPS)
    found = tw.run(plane, u, steps=STEPS, boundary="nearest", a=a, axes=(-2, -1))
    np.testing.assert_allclose(found, np.stack([by_numpy(each, a, STEPS) for each in u]), rtol=1e-12)


def test_a_box_is_cut_and_counted_as_a_slice() -> None:
    def cells(box) -> np.ndarray:
        return tw.run(tw.stencil(lambda u: tw.where(tw.inside[box], 1.0, u[0, 0])), np.zeros((6, 7)), steps=1)

    for box in [np.s_[:2], np.s_[1, 2:], np.s_[-2:, -1], np.s_[..., 3:-3], np.s_[4:2], np.s_[-20:30], np.s_[...]]:
        expected = np.zeros((6, 7))
        expected[box] = 1.0
        np.testing.assert_array_equal(cells(box), expected)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (lambda u: u[0] + tw.index(1), "has 1 dimension and no axis 1"),
        (lambda u: u[0] + tw.index(0.5), "takes the number of an axis, got 0.5"),
        (lambda u: tw.where(tw.inside[::2], u[0], 0.0), "got a step of 2"),
        (lambda u: tw.where(tw.inside[u[0] :], u[0], 0.0), "made of slices and whole numbers"),
        (lambda u: tw.where(tw.inside[:, 1:], u[0], 0.0), "has 1 dimension and no axis 1"),
        (lambda tw_t: tw_t[0], "clashes with an option"),
    ],
)
def test_what_is_no_place_is_one_sentence(body, said: str) -> None:
    with pytest.raises(tw.TraceError, match=said):
        tw.stencil(body)


def test_values_per_step_that_do_not_fit_are_one_sentence() -> None:
    u = np.zeros((5, 6))
    with pytest.raises(tw.UsageError, match="one per step or a coefficient along the last axis"):
        tw.run(plane, u, steps=6, a=np.ones(6))
    with pytest.raises(tw.ArrayError, match="a value for each of 4 steps, the run has 6"):
        tw.run(plane, u, steps=6, a=tw.per_step(np.ones(4)))
    with pytest.raises(tw.ArrayError, match="values per step have one axis"):
        tw.per_step(np.ones((2, 2)))
    with pytest.raises(tw.UsageError, match="has no scalar 'tw_t'"):
        tw.run(plane, u, steps=6, a=1.0, tw_t=3)
    both = tw.run(plane, u, steps=6, a=tw.per_step(np.ones(6)), strict=True)  # bits are promised of strict runs alone
    np.testing.assert_array_equal(both, tw.run(plane, u, steps=6, a=np.ones(6)[None, :], strict=True))


def test_values_per_step_decide_the_element_type_no_more_than_numbers_do() -> None:
    assert tw.run(plane, np.zeros((5, 6), "float32"), steps=3, a=np.ones(3)).dtype == np.float32


def test_a_program_says_what_it_computes_with() -> None:
    assert "tw.where" not in repr(plane)
    assert "tw.inside[2:-1]" in repr(plane)
    assert "tw.index(0)" in repr(plane)
    assert "tw.t" in repr(plane)
    assert repr(plane).startswith("plane(u; a): 2D")


def test_a_matrix_knows_the_cells_but_no_step() -> None:
    program = tw.stencil(lambda u: tw.where(tw.inside[1:-1], u[-1] + tw.index(0) * u[0], 2 * u[0]))
    matrix = tw.sparse.from_stencil(program, shape=(5,), boundary="constant").toarray()
    u = np.arange(1.0, 6.0)
    np.testing.assert_allclose(matrix @ u, tw.run(program, u, steps=1, boundary="constant"))
    with pytest.raises(tw.UsageError, match=r"tw\.t, the number of a step"):
        tw.sparse.from_stencil(tw.stencil(lambda u: u[0] * tw.t), shape=(5,))


def test_what_has_no_cells_or_steps_says_so() -> None:
    with pytest.raises(tw.TraceError, match="only iterated stencils have"):
        tw.recurrence(lambda D, a: D[-1, -1] + tw.index(0))


def tide(steps: int) -> tuple[tw.Boundary, str]:
    """Along axis 0 a value per step outside."""
    return tw.Boundary("constant", np.sin(np.arange(steps))), "nearest"


@pytest.mark.parametrize("boundary", ["nearest", ("wrap", "constant"), tide(12)])
def test_a_run_out_of_core_counts_in_the_whole_grid_and_over_all_passes(tmp_path, boundary) -> None:
    u, a = start((300, 40)), np.linspace(0.5, 1.0, 12)
    np.save(tmp_path / "u.npy", u)
    tw.run(
        plane, tmp_path / "u.npy", steps=12, boundary=boundary, a=tw.per_step(a), out=tmp_path / "v.npy",
        memory="350KiB", threads=1,
    )  # fmt: skip
    expected = tw.run(plane, u, steps=12, boundary=boundary, backend="numpy", a=a)
    np.testing.assert_allclose(np.load(tmp_path / "v.npy"), expected, rtol=1e-12)


@pytest.mark.parametrize("boundary", ["nearest", ("wrap", "constant"), tide(40)])
def test_a_run_on_dask_arrays_counts_in_the_whole_grid_and_over_all_tasks(boundary) -> None:
    da = pytest.importorskip("dask.array")
    u, a = start((60, 40)), np.linspace(0.5, 1.0, 40)
    found = tw.run(plane, da.from_array(u, chunks=(20, 15)), steps=40, boundary=boundary, a=tw.per_step(a)).compute()
    expected = tw.run(plane, u, steps=40, boundary=boundary, backend="numpy", a=tw.per_step(a))
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("boundary", "curved"), covering(["fixed", "nearest", "wrap", "reflect", ("constant", "mirror")], [True, False])
)
def test_gradients_go_through_places_and_steps(boundary, curved: bool) -> None:
    @tw.stencil
    def step(u, k, a, b):
        inner = 0.3 * (u[-1, 0] + u[1, 1]) * k[0, 0] + 0.01 * tw.index(1) * u[0, 0]
        value = tw.where(tw.inside[2:-1, :3], inner, u[0, 0] * a + b * u[0, 1]) + 0.02 * tw.t * u[0, -1]
        return tw.sin(value) if curved else value

    rng = np.random.default_rng(3)
    u, k, weight, direction = (rng.uniform(0.2, 1, (8, 9)) for _ in range(4))
    a = np.linspace(0.5, 1.0, 5)

    def value(u, k, b) -> float:
        return float((weight * tw.run(step, u, k, steps=5, boundary=boundary, a=a, b=b)).sum())

    _, pullback = tw.vjp(step, u, k, steps=5, boundary=boundary, a=a, b=0.1)
    (of_u, of_k), scalars = pullback(weight)
    assert set(scalars) == {"b"}
    h = 1e-6
    for found, by in [
        (float((of_u * direction).sum()), lambda s: value(u + s * direction, k, 0.1)),
        (float((of_k * direction).sum()), lambda s: value(u, k + s * direction, 0.1)),
        (scalars["b"], lambda s: value(u, k, 0.1 + s)),
    ]:
        np.testing.assert_allclose(found, (by(h) - by(-h)) / (2 * h), rtol=2e-7)


def test_gradients_in_time_tiles_know_places() -> None:
    program = tw.stencil(lambda u: tw.where(tw.inside[5:-9], 0.3 * u[-1] + 0.6 * u[1], 0.01 * tw.index(0) * u[0]))
    rng = np.random.default_rng(4)
    u, weight, direction = (rng.uniform(0.2, 1, 200) for _ in range(3))
    _, pullback = tw.vjp(program, u, steps=40, boundary="constant")
    (gradient,), _ = pullback(weight)
    moved = tw.run(program, direction, steps=40, boundary="constant")
    np.testing.assert_allclose((gradient * direction).sum(), (weight * moved).sum(), rtol=1e-11)


def test_gradients_by_values_per_step_are_refused_in_one_sentence() -> None:
    with pytest.raises(tw.UsageError, match="not taken by values per step, got 'a'"):
        tw.vjp(plane, np.ones((5, 6)), steps=3, a=np.ones(3), wrt=["a"])


@pytest.fixture(scope="module")
def oclgrind() -> str:
    """The interpreter of GPU kernels, which also reports races and accesses outside."""
    from tilewright.runtime.devices import opencl

    opencl.oclgrind_library()
    opencl.prepare_oclgrind()
    return "opencl:oclgrind"


ON_GPUS = [
    (line, (90,), "hexagonal:t=4,s=16"),
    (plane, (13, 29), "none"),
    (plane, (13, 29), "hybrid:t=4,s=4x8"),
    (plane, (13, 29), "diamond:t=4,s=8x8"),
    (plane, (13, 29), "streaming:t=2,s=8x16"),
    (cube, (7, 8, 12), "hybrid:t=2,s=3x4x8"),
    (cube, (7, 8, 12), "skewed:t=2,s=4x4x8"),
    (cube, (7, 8, 12), "streaming:t=2,s=6x6x8"),
]


@pytest.mark.parametrize(("case", "boundary"), covering(ON_GPUS, ["nearest", "fixed", "wrap"]))
def test_gpu_kernels_compute_what_numpy_does(case, boundary, oclgrind) -> None:
    program, shape, tiling = case
    u, a = start(shape), np.linspace(0.5, 1.0, STEPS)
    expected = tw.run(program, u, steps=STEPS, boundary=boundary, backend="numpy", a=a)
    found = tw.run(program, u, steps=STEPS, boundary=boundary, backend=oclgrind, tiling=tiling, a=a)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_look_does_not_stop_the_count_of_a_gpu(oclgrind) -> None:
    u, a = start((13, 29)), np.linspace(0.5, 1.0, STEPS)
    expected = by_numpy(u, a, STEPS)
    found = tw.run(
        plane, u, steps=STEPS, boundary="nearest", backend=oclgrind, a=a, every=3, callback=lambda n, v: None
    )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_a_constant_boundary_takes_a_value_per_step(backend: str) -> None:
    @tw.stencil
    def heat(u):
        return 0.2 * (u[-2, 0] + u[2, 0] + u[0, -1] + u[0, 1] + u[-1, 1])

    u, low, high = start((11, 40)), np.sin(np.arange(9.0)), np.linspace(1, 2, 9)
    sides = ((tw.Boundary("constant", low), tw.Boundary("constant", 0.25)), (tw.Boundary("constant", high), "nearest"))
    found = tw.run(heat, u, steps=9, boundary=sides, backend=backend)
    v = u
    for t in range(9):
        w = np.pad(v, ((2, 2), (1, 1)), mode="edge")
        w[:2], w[-2:] = low[t], 0.25
        w[:, 0] = high[t]
        v = 0.2 * (w[:-4, 1:-1] + w[4:, 1:-1] + w[2:-2, :-2] + w[2:-2, 2:] + w[1:-3, 2:])
    np.testing.assert_allclose(found, v, rtol=1e-12)


def test_gradients_go_through_boundaries_with_values_per_step() -> None:
    program = tw.stencil(lambda u: 0.3 * u[-1] + 0.5 * u[1] * u[0])
    edge = tw.Boundary("constant", np.linspace(0.0, 1.0, 6))
    rng = np.random.default_rng(5)
    u, weight, direction = (rng.uniform(0.2, 1, 30) for _ in range(3))
    _, pullback = tw.vjp(program, u, steps=6, boundary=edge)
    (gradient,), _ = pullback(weight)

    def value(s: float) -> float:
        return float((weight * tw.run(program, u + s * direction, steps=6, boundary=edge)).sum())

    np.testing.assert_allclose((gradient * direction).sum(), (value(1e-6) - value(-1e-6)) / 2e-6, rtol=1e-7)


def test_boundaries_that_vary_in_no_way_they_can_are_one_sentence() -> None:
    u = np.zeros((5, 6))
    with pytest.raises(tw.UsageError, match="a 'nearest' boundary has no values, got some of the shape"):
        tw.run(plane, u, steps=3, a=1.0, boundary=tw.Boundary("nearest", np.ones(3)))
    with pytest.raises(tw.ArrayError, match="a value for each of 2 steps, the run has 3"):
        tw.run(plane, u, steps=3, a=1.0, boundary=tw.Boundary("constant", np.ones(2)))
    with pytest.raises(tw.ArrayError, match="a value for each of 2 steps, the run has 3"):
        tw.predict(plane, shape=(64, 64), steps=3, machine="gtx980", boundary=tw.Boundary("constant", np.ones(2)))


@pytest.mark.parametrize(
    ("tiling", "function"),
    [("none", "box_0_middle"), ("hybrid:t=4,s=8x32", "box_0_middle"), ("streaming:t=3,s=16x32", "stage_0_inner")],
)
def test_the_middle_of_a_grid_is_computed_without_the_choice(tiling: str, function: str) -> None:
    import re

    from tilewright.driver import emit_tilings
    from tilewright.programs.stencil.problem import make_problem
    from tilewright.schedules.tiling import parse

    @tw.stencil
    def rim(u):
        return tw.where(tw.inside[5:-5, 3:-4], 0.25 * (u[-1, 0] + u[1, 0]), tw.sqrt(u[0, 1]))

    problem = make_problem(rim.program, (64, 64), 4, "float32", "nearest")
    text = emit_tilings([(problem, parse(tiling))]).text
    bodies = re.findall(rf"^[^\n]*_{function}\([^;{{]*\{{(.*?)^}}", text, flags=re.MULTILINE | re.DOTALL)
    assert bodies
    assert not any("sqrt" in body for body in bodies)
    whole = function.replace("_middle", "_every").replace("_inner", "")
    others = re.findall(rf"^[^\n]*_{whole}\([^;{{]*\{{(.*?)^}}", text, flags=re.MULTILINE | re.DOTALL)
    assert others
    assert all("sqrt" in body for body in others)


def test_a_tuned_plan_runs_with_values_per_step_and_says_what_its_kernel_takes(tmp_path) -> None:
    plan = tw.tune(plane, shape=(48, 64), steps=9, effort="quick", candidates=1, boundary="nearest", a=0.9)
    u, a = start((48, 64)).astype("float32"), np.linspace(0.5, 1.0, 30)
    found = plan.run(u, steps=30, a=a)
    np.testing.assert_allclose(found, by_numpy(u.astype("float64"), a, 30), rtol=2e-4)
    _, header = plan.export(tmp_path / "k.c")
    text = header.read_text(encoding="utf-8")
    assert "of every index along axis 0 whether it is in 2:-1" in text
    assert "numbers for every step" in text


def test_a_session_that_goes_on_beyond_its_steps_has_the_last_values(oclgrind) -> None:
    from tilewright.inputs.memo import prepared
    from tilewright.plan import read_target
    from tilewright.programs.stencil.problem import make_problem
    from tilewright.runtime.session import Inputs

    program = tw.stencil(lambda u, a: u[0] + a)
    problem = make_problem(program.program, (40,), 2, "float64", "nearest", ("a",))
    for name in ("c", oclgrind):
        inputs = Inputs(arrays={"u": [np.zeros(40)]}, scalars={"a": np.array([1.0, 10.0])})
        session = prepared(problem, read_target(name, 1), "none", strict=False).start(problem, inputs, 1)
        for steps in (1, 3, 9):
            session.advance(steps)
        assert session.newest("u")[7] == 1.0 + 12 * 10.0
        session.close()


@tw.stencil
def shore(u, a):
    return a * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1])


@pytest.mark.parametrize("machine", ["zen3", "gtx980"])
def test_models_see_values_per_step_as_numbers(machine: str) -> None:
    asked = {"shape": (1000, 1200), "steps": 30, "machine": machine}
    found = tw.predict(shore, boundary=tide(30), a=np.linspace(0.2, 0.25, 30), **asked)
    assert found.work.problem.varying == ("a", "u_low0", "u_high0")
    assert found.work.problem.program.fields == ("u",)
    plain = tw.predict(shore, boundary=("constant", "nearest"), a=0.25, **asked)
    assert plain.costs.seconds <= found.costs.seconds < (1.3 if machine == "zen3" else 3) * plain.costs.seconds
    assert tw.select(shore, boundary=tide(30), within=0.1, **asked)[0].costs.seconds > 0
    if machine == "zen3":
        assert tw.predict_gradient(shore, boundary=tide(30), **asked).ratio > 1


def test_a_plan_tuned_with_values_per_step_runs_with_these_and_with_others() -> None:
    u, steps = start((40, 64)), 8
    sides = [tide(n) for n in (steps, 12)]
    plan = tw.tune(
        shore, shape=u.shape, steps=steps, dtype="float64", effort="quick", candidates=1, boundary=sides[0], a=0.2
    )
    expected = [
        tw.run(shore, u, steps=n, boundary=side, a=0.2, backend="numpy")
        for n, side in zip((steps, 12), sides, strict=True)
    ]
    np.testing.assert_allclose(plan.run(u), expected[0], rtol=1e-12)
    np.testing.assert_allclose(plan.run(u, steps=12, boundary=sides[1]), expected[1], rtol=1e-12)
    with pytest.raises(tw.ArrayError, match="a value for each of 8 steps, the run has 12"):
        plan.run(u, steps=12)


def test_grids_of_a_batch_take_values_per_step() -> None:
    u, steps = start((3, 20, 24)), 6
    a = np.linspace(0.2, 0.25, steps)
    found = tw.run(shore, u, steps=steps, boundary=tide(steps), a=a, axes=(-2, -1))
    for one, grid in zip(found, u, strict=True):
        np.testing.assert_allclose(
            one, tw.run(shore, grid, steps=steps, boundary=tide(steps), a=a, backend="numpy"), rtol=1e-12
        )
