"""Inner expressions in fields of their own: the same bits in the same cells, and nobody sees the fields."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.driver import make
from tilewright.machines.files import load
from tilewright.plan import Target
from tilewright.planner import plans
from tilewright.programs.stencil import catalogue, reference
from tilewright.programs.stencil.dependences import overwritten_fields
from tilewright.programs.stencil.expression import Read, reads
from tilewright.programs.stencil.forms import of_one_step, with_inner_fields
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.runtime.session import Inputs
from tilewright.runtime.store.hosts import host
from tilewright.schedules.tiling import parse
from tilewright.tuning.choice import choose_tiling, computed_form, whole_run_seconds
from tilewright.tuning.stencil import on_machine


def along(w: Any, cos: Any, sin: Any) -> Any:
    return cos[0, 0] * tw.diff(w, 0, accuracy=8) + sin[0, 0] * tw.diff(w, 1, accuracy=8)


TILTED = tw.stencil(lambda u, cos, sin, k: 2 * u[0, 0] - u.prev[0, 0] + k[0, 0] * along(along(u, cos, sin), cos, sin))


def staged(problem: Problem) -> Problem:
    found = with_inner_fields(problem)
    assert found is not None
    return found


def stepped(problem: Problem, arrays: dict[str, list[Any]]) -> dict[str, Any]:
    state = reference.start(problem, arrays)
    for number in range(problem.steps):
        state = reference.step(problem, state, {}, added={}, number=number)
    return {field: state[field][0] for field in problem.program.updated if field not in problem.program.inner}


def drawn_program(draw: random.Random) -> Any:
    rank, several = draw.choice((1, 2, 2, 3)), draw.random() < 0.4
    centre = (0,) * rank

    def value(depth: int, fields: list[Any]) -> Any:
        read = draw.choice(fields)[tuple(draw.randint(-1, 1) for _ in range(rank))]
        if depth == 0:
            return read
        inner = value(depth - 1, fields)
        kind = draw.random()
        if kind < 0.6:
            return tw.diff(inner, draw.randrange(rank), derivative=draw.choice((1, 2)), accuracy=draw.choice((2, 4)))
        if kind < 0.75:
            return tw.exp(-inner * inner) * read
        return inner + value(depth - 1, fields) if kind < 0.9 else tw.where(inner > 0.1, inner, read)

    def one(u: Any, c: Any) -> Any:
        return 0.5 * c[centre] * u[centre] + 0.01 * value(draw.choice((2, 3)), [u, c, u.prev])

    def two(u: Any, v: Any, c: Any) -> Any:
        first = 0.5 * c[centre] * u[centre] + 0.01 * value(3, [u, v, c])
        return first, 0.3 * v[centre] + 0.02 * value(2, [draw.choice((u, u.new)), v])

    return tw.stencil(two if several else one)


def test_drawn_programs_compute_the_same_to_the_bit() -> None:
    found = 0
    for seed in range(150):
        draw = random.Random(seed)  # noqa: S311
        program = drawn_program(draw).program
        shape, dtype = tuple(draw.randint(9, 19) for _ in range(program.rank)), draw.choice(("float32", "float64"))
        sides = draw.choice(("fixed", "wrap", ("fixed", "wrap", "nearest"), ("nearest", "fixed", "wrap"), "mirror"))
        boundary = sides if isinstance(sides, str) else sides[: program.rank]
        problem = make_problem(program, shape, 3, dtype, boundary)
        form = with_inner_fields(problem)
        if form is None:
            continue
        found += 1
        assert form.program.flops < program.flops
        numbers = np.random.default_rng(seed)
        arrays = {
            field: [numbers.random(shape).astype(dtype) for _ in range(program.history(field))]
            for field in program.fields
        }
        own = {field: [np.full(shape, np.nan, dtype)] for field in form.program.inner}
        own |= {
            name: [values]
            for name, values in reference.once(form.program, lambda field, given=arrays: given[field][0], {})
        }
        expected, results = stepped(problem, arrays), stepped(form, arrays | own)
        for field, values in expected.items():
            np.testing.assert_array_equal(results[field], values, err_msg=f"{seed}: {field}")
        for statement in program.statements:
            same = next(each for each in form.program.statements if each.field == statement.field)
            assert form.update_box(same) == problem.update_box(statement), seed
    assert found > 40


def test_nested_differences_take_the_operations_of_those_staged_by_hand() -> None:
    problem = make_problem(TILTED.program, (99, 99), 4)
    form = staged(problem)
    assert (problem.program.flops, form.program.flops) == (549, 70)
    assert form.program.fields == (*problem.program.fields, *form.program.inner)
    assert form.program.reach == ((4, 4), (4, 4))


@pytest.mark.parametrize(
    ("dtype", "boundary"), [("float16", "fixed"), ("bfloat16", "fixed"), ("float32", "nearest"), ("float32", "reflect")]
)
def test_what_a_field_would_change_has_none(dtype: str, boundary: str) -> None:
    assert with_inner_fields(make_problem(TILTED.program, (99, 99), 4, dtype, boundary)) is None


def test_programs_without_inner_expressions_stay() -> None:
    for name in catalogue.names():
        program = catalogue.program(name)
        assert with_inner_fields(make_problem(program, (40,) * program.rank, 2)) is None, name


def test_models_and_runs_agree_on_the_form() -> None:
    problem, machine = make_problem(TILTED.program, (500, 500), 20), host()
    form = computed_form(problem, machine)
    assert form == staged(problem)
    (plan,) = plans(problem, Target(backend="c"))
    work = on_machine(problem, machine)
    assert plan.computed == form == work.form
    assert work.problem == problem
    tiling, costs = work.costs(plan.tiling)
    assert tiling == plan.tiling
    assert whole_run_seconds(problem, tiling, machine) == whole_run_seconds(form, tiling, machine) >= costs.seconds
    assert choose_tiling(problem, machine) == choose_tiling(form, machine)


def test_gpus_and_numpy_compute_the_problem_itself() -> None:
    problem = make_problem(TILTED.program, (500, 500), 20)
    assert computed_form(problem, load("h200")) is problem
    (plan,) = plans(problem, Target(backend="numpy"))
    assert plan.computed is problem


def test_a_tiling_of_the_problem_alone_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(TILTED.program, (500, 500), 20)
    steep = replace(staged(problem), regions=(("u", ((8, -8), (8, -8))),))
    monkeypatch.setattr("tilewright.planner.computed_form", lambda *_, **__: steep)
    (plan,) = plans(problem, Target(backend="c"), parse("streaming:t=2,s=64x500"))
    assert plan.computed is problem
    assert plan.tiling.family == "streaming"


def test_nobody_sees_the_fields() -> None:
    numbers = np.random.default_rng(5)
    u, before, angle = (numbers.random((60, 70)) for _ in range(3))
    medium = np.cos(angle), np.sin(angle), np.full_like(u, 0.01)
    options = {"steps": 9, "strict": True}
    expected = tw.run(TILTED, (u, before), *medium, **options, backend="numpy", record=True)
    for tiling in ("none", "streaming:t=3", "skewed:t=2,s=16x32"):
        out = np.empty_like(u)
        found = tw.run(TILTED, (u, before), *medium, **options, tiling=tiling, out=out, record=True)
        assert found.state is out
        assert len(found.levels) == len(expected.levels) == 1
        for mine, other in zip(found.levels[0], expected.levels[0], strict=True):
            np.testing.assert_array_equal(mine, other)


LAYERED = tw.stencil(lambda u, k: (u[-1, 0] + u[0, 1]) / (1 + np.exp(-k[1, 0] * k[1, 0])) + 0.1 / (1.5 + k[0, 0]))


@pytest.mark.parametrize("boundary", ["fixed", "wrap", "nearest", ("reflect", "mirror")])
def test_what_is_made_of_coefficients_is_computed_once(boundary: Any) -> None:
    problem = make_problem(LAYERED.program, (200, 300), 500, "float64", boundary)
    form = computed_form(problem, host())
    assert [name for name, _ in form.program.once] == list(form.program.inner) == ["tw_inner0", "tw_inner1"]
    assert form.program.updated == ("u",)
    assert form.program.flops == 3
    numbers = np.random.default_rng(6)
    u, k = numbers.random((2, 200, 300))
    expected = tw.run(LAYERED, u, k, steps=500, boundary=boundary, backend="numpy", strict=True)
    found = tw.run(LAYERED, u, k, steps=500, boundary=boundary, strict=True, record=True)
    np.testing.assert_array_equal(found.state, expected)
    batch = tw.run(LAYERED, np.stack([u, u]), k, steps=500, boundary=boundary, strict=True, axes=(1, 2))
    np.testing.assert_array_equal(batch, np.stack([expected, expected]))


def test_coefficients_beyond_a_side_or_of_one_step_are_computed_where_they_are() -> None:
    outside = make_problem(LAYERED.program, (200, 300), 500, "float64", "constant:2")
    form = with_inner_fields(outside)
    assert form is not None
    assert [reads(tape)[0].field for _, tape in form.program.once] == ["k"]  # 1.5 + k[0, 0] alone
    stepped_ = tw.stencil(lambda u, k, a: u[0, 0] / (1 + np.exp(-a * k[0, 0])))
    assert with_inner_fields(make_problem(stepped_.program, (20, 30), 9)) is not None
    assert with_inner_fields(make_problem(stepped_.program, (20, 30), 9, varying=("a",))) is None


def test_one_step_overwrites_nothing_that_it_reads() -> None:
    along_rows = tw.stencil(lambda u, a: u[0, 0] - a * u.new[0, -1])
    (plan,) = plans(make_problem(along_rows.program, (30, 41), 1, "float16"), Target(backend="c"))
    assert plan.computed.program.once == (("tw_inner0", (Read("u", 0, (0, 0)),)),)
    assert not overwritten_fields(plan.computed.program)
    u = np.random.default_rng(7).random((30, 41))
    expected = tw.run(along_rows, u, a=0.3, steps=1, backend="numpy", strict=True)
    before, over = u.copy(), u.copy()
    np.testing.assert_array_equal(tw.run(along_rows, u, a=0.3, steps=1, strict=True), expected)
    np.testing.assert_array_equal(u, before)
    tw.run(along_rows, over, a=0.3, steps=1, strict=True, out=over)
    np.testing.assert_array_equal(over, expected)
    turned = np.asfortranarray(u)
    np.testing.assert_array_equal(tw.run(along_rows, turned, a=0.3, steps=1, strict=True), expected)
    inputs = Inputs(arrays={"u": (u.astype("float16"),)}, scalars={"a": 0.3})
    session = make(plan).start(plan.problem, inputs, threads=1)
    session.advance(2)
    session.advance(1)
    three = tw.run(along_rows, u.astype("float16"), a=0.3, steps=3, backend="numpy", strict=True)
    np.testing.assert_allclose(session.newest("u").astype(float), three.astype(float), rtol=2e-3)
    session.close()
    assert of_one_step(make_problem(along_rows.program, (30, 41), 2)) is None
    assert of_one_step(make_problem(catalogue.program("jacobi2d"), (30, 41), 1)) is None
    assert of_one_step(make_problem(catalogue.program("wave2d"), (30, 41), 1)) is None


def test_an_exported_kernel_says_which_field_it_needs_none_of(tmp_path: Path) -> None:
    prediction = tw.predict(TILTED, shape=(500, 500), steps=20)
    assert prediction.problem.program.fields == ("u", "cos", "sin", "k")
    prediction.export(tmp_path / "tilted.c")
    assert "field[4]  tw_inner0, 1 version, any values at the start" in (tmp_path / "tilted.h").read_text()
    tw.predict(LAYERED, shape=(200, 300), steps=500).export(tmp_path / "layered.c")
    header = (tmp_path / "layered.h").read_text()
    assert "field[2]  tw_inner0, 1 version, computed before the first step:" in header
    assert "tw_inner0 <- 1 + exp(" in header
    again = tw.stencil(lambda u: 0.5 * u[0, 0] + 0.25 * u.new[-1, 0])  # which is called for more steps than one, too
    tw.predict(again, shape=(200, 300), steps=1).export(tmp_path / "again.c")
    assert "tw_inner" not in (tmp_path / "again.h").read_text()
