"""What depends on the cell's place and on the step: tw.index, tw.inside, tw.t, and scalars with a value per step."""

import numpy as np
import pytest

import tilewright as tw


@tw.stencil
def plane(u, a):
    inner = 0.3 * (u[-1, 0] + u[1, 0]) + 0.01 * tw.index(1)
    rim = tw.where(tw.inside[..., -4:], 1, 0.5)
    return tw.where(tw.inside[2:-1, :3], inner, u[0, 0] * a) + 0.02 * tw.t * rim + 0.003 * tw.index(0)


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


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "uint8", "float16", "complex64"])
def test_an_index_becomes_a_number_of_the_element_type_as_astype_does(dtype: str) -> None:
    program = tw.stencil(lambda u: u[0, 0] * 0 + tw.index(1))
    found = tw.run(program, np.zeros((3, 300), dtype), steps=1, dtype=dtype)
    np.testing.assert_array_equal(found, np.broadcast_to(np.arange(300).astype(dtype), (3, 300)))


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


def test_values_per_step_are_not_taken_for_those_along_an_axis() -> None:
    u = np.zeros((5, 6))
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


def test_gradients_in_time_tiles_know_places() -> None:
    program = tw.stencil(lambda u: tw.where(tw.inside[5:-9], 0.3 * u[-1] + 0.6 * u[1], 0.01 * tw.index(0) * u[0]))
    rng = np.random.default_rng(4)
    u, weight, direction = (rng.uniform(0.2, 1, 200) for _ in range(3))
    _, pullback = tw.vjp(program, u, steps=40, boundary="constant")
    (gradient,), _ = pullback(weight)
    moved = tw.run(program, direction, steps=40, boundary="constant")
    np.testing.assert_allclose((gradient * direction).sum(), (weight * moved).sum(), rtol=1e-11)


@pytest.fixture(scope="module")
def oclgrind() -> str:
    """The interpreter of GPU kernels, which also reports races and accesses outside."""
    from tilewright.runtime.devices import opencl

    opencl.oclgrind_library()
    opencl.prepare_oclgrind()
    return "opencl:oclgrind"


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
    assert "each as it is in the middle; 0 and 0 for none" in text
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
