"""Periodic grids in time tiles: blocks on an extended grid give exactly what the reference gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tilewright as tw
from tilewright.driver import emit_tiling, prepare
from tilewright.plan import Target
from tilewright.programs.stencil import reference
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.expression import Value, apply
from tilewright.programs.stencil.forms import extend, wrapped_axes
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.runtime.cpu import stencil_kernels
from tilewright.runtime.kernels import execute
from tilewright.runtime.session import Inputs, Session
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.choice import choose_blocks
from tilewright.tuning.spaces.periodic import plan_blocks
from tilewright.verbs.predict import as_machine

KINDS = ("fixed", "nearest", "reflect", "mirror", "constant")


def _sum(reads: list[Value]) -> Value:
    """Whole numbers that wrap around would be undefined in C: keep them small with a minimum."""
    total = reads[0]
    for number, read in enumerate(reads[1:], 2):
        total = total + (read if number % 3 else -read)
    return apply("minimum", apply("maximum", total, -1000), 1000)


@st.composite
def problems(draw) -> Problem:
    """Draw a problem that wraps on at least one axis; integers, so that the order of operations cannot matter."""
    rank = draw(st.integers(1, 3))
    most = {1: 3, 2: 2, 3: 1}[rank]
    left, right = draw(st.integers(0, most)), draw(st.integers(0, most))
    offset = st.tuples(*[st.integers(-left, right)] * rank)
    u, v, k = FieldBuilder("u"), FieldBuilder("v"), FieldBuilder("k")
    some = draw(st.lists(offset, min_size=1, max_size=4))
    values = {"u": _sum([u[o] for o in some])}
    shape = draw(st.sampled_from(["one", "levels", "coefficients", "stages", "two"]))
    if shape == "levels":
        values["u"] = values["u"] + u.prev[draw(offset)]
    elif shape == "coefficients":
        values["u"] = values["u"] + k[draw(offset)]
    elif shape == "stages":
        values["v"] = v[draw(offset)] + u.new[draw(offset)]
    elif shape == "two":
        values["u"] = values["u"] + v[draw(offset)]
        values["v"] = v[draw(offset)] - u[draw(offset)]
    chosen = stencil("drawn", rank, values)
    axes = draw(st.sets(st.integers(0, rank - 1), min_size=1))
    other = st.builds(Boundary, kind=st.sampled_from(KINDS), value=st.integers(-3, 3).map(float))
    sides = tuple((Boundary(kind="wrap"),) * 2 if axis in axes else (draw(other), draw(other)) for axis in range(rank))
    extents = tuple(draw(st.integers(1, {1: 40, 2: 12, 3: 7}[rank])) for _ in range(rank))
    return make_problem(chosen, extents, draw(st.integers(2, 9)), "int64", sides)


def _tiling(draw, problem: Problem) -> Tiling:
    base = max(1, slopes(problem)[0].widest) + draw(st.integers(0, 3))
    inner = tuple(draw(st.integers(2, 9)) for _ in problem.shape[1:])
    return Tiling(
        family="hexagonal" if problem.program.rank == 1 else "hybrid",
        time=2 * draw(st.integers(1, 4)),
        space=(base, *inner),
    )


def _arrays(problem: Problem) -> dict[str, list[np.ndarray]]:
    generator = np.random.default_rng(5)
    return {
        field: [generator.integers(-9, 9, problem.shape) for _ in range(problem.program.history(field))]
        for field in problem.program.fields
    }


@settings(max_examples=30)
@given(st.data())
def test_blocks_are_exactly_the_reference(data):
    problem = data.draw(problems())
    extended = extend(problem, data.draw(st.integers(1, problem.steps)))
    if extended is None:
        assert not wrapped_axes(problem)
        return
    assert not wrapped_axes(extended.problem)
    tiling = _tiling(data.draw, extended.problem)
    (kernel,) = stencil_kernels(emit_tiling(extended.problem, tiling), toolchain())
    arrays = _arrays(problem)
    found = execute(kernel, problem, Inputs(arrays=arrays, scalars={}), 2, halo=extended)
    for field, exact in reference.run(problem, arrays, {}).items():
        np.testing.assert_array_equal(found[field], exact)


@settings(max_examples=12)
@given(st.data())
def test_a_state_may_be_advanced_in_any_portions(data):
    problem = data.draw(problems())
    extended = extend(problem, data.draw(st.integers(1, 4)))
    (kernel,) = stencil_kernels(
        emit_tiling(problem if extended is None else extended.problem, Tiling(family="none")), toolchain()
    )
    arrays = _arrays(problem)
    session = Session(kernel, problem, Inputs(arrays=arrays, scalars={}), 1, halo=extended)
    state = reference.start(problem, arrays)
    for portion in data.draw(st.lists(st.integers(0, 5), max_size=4)):
        session.advance(portion)
        for _ in range(portion):
            state = reference.step(problem, state, {})
        for field in problem.program.updated:
            for age in range(problem.program.history(field)):
                np.testing.assert_array_equal(session.newest(field, age), state[field][age])
    session.close()


def test_the_extension_is_the_reach_times_the_steps():
    u = FieldBuilder("u")
    lopsided = stencil("lopsided", 2, {"u": u[-2, 0] + u[0, 1]})
    extended = extend(make_problem(lopsided, (10, 20), 50, boundary="wrap"), 7)
    assert extended is not None
    assert extended.around == ((14, 0), (0, 7))
    assert extended.problem.shape == (24, 27)
    assert extended.problem.steps == 7
    fdtd = extend(make_problem(program("fdtd2d"), (16, 16), 9, boundary=("wrap", "fixed")), 3)
    assert fdtd is not None
    assert fdtd.around == ((6, 6), (0, 0))


@pytest.mark.parametrize("boundary", ["fixed", {"ey": "wrap", "ex": "wrap", "hz": "nearest"}, {"hz": "wrap"}])
def test_what_cannot_be_extended(boundary):
    assert extend(make_problem(program("fdtd2d"), (16, 16), 9, boundary=boundary), 3) is None


def test_recurrences_are_not_extended():
    h, m = FieldBuilder("h"), FieldBuilder("m")
    sweep = stencil("sweep", 1, {"h": h.new[-1] + m[1]})
    assert extend(make_problem(sweep, (16,), 9, boundary={"m": "wrap"}), 3) is None


@pytest.mark.parametrize("least", [0, 2**40])
def test_halos_are_the_same_filled_by_one_thread_or_several(least, monkeypatch):
    from tilewright.runtime import memory, session

    seen, spread = [], memory.spread
    monkeypatch.setattr(session, "_SPREAD_BYTES", least)
    monkeypatch.setattr(session, "_SMALL", 0)
    monkeypatch.setattr(memory, "spread", lambda jobs, threads: (seen.append(threads), spread(jobs, threads)))
    known = program("fdtd2d")
    grids = [np.random.default_rng(n).random((40, 64), dtype=np.float32) for n in range(3)]
    out = tw.run(known, *grids, steps=9, boundary="wrap", tiling="hybrid:t=4,s=4x80", threads=2, strict=True)
    problem = make_problem(known, (40, 64), 9, boundary="wrap")
    exact = reference.run(problem, {name: [grid] for name, grid in zip(known.fields, grids, strict=True)}, {})
    for name, values in zip(known.updated, out, strict=True):
        np.testing.assert_array_equal(values, exact[name])
    assert (1 in seen) == (least > 0)


def test_the_model_chooses_blocks_only_where_they_pay():
    large = make_problem(program("j2d5pt"), (4096, 4096), 200, boundary="wrap")
    blocks = choose_blocks(large, as_machine("host"))
    assert blocks is not None
    assert blocks.count * blocks.extended.problem.steps >= 200
    plain = tw.predict("j2d5pt", shape=(4096, 4096), steps=200, boundary="wrap", machine="host", tiling="none")
    assert blocks.costs.seconds < plain.costs.seconds
    assert tw.predict("j2d5pt", shape=(4096, 4096), steps=200, boundary="wrap", machine="host").costs == blocks.costs
    assert blocks.costs.flops == plain.costs.flops
    assert choose_blocks(make_problem(program("j2d5pt"), (2, 2), 200, boundary="wrap"), as_machine("host")) is None
    assert choose_blocks(make_problem(program("j2d5pt"), (4096, 4096), 1, boundary="wrap"), as_machine("host")) is None
    never = plan_blocks(large, as_machine("host"), lambda block: Tiling(family="none"))
    assert never is None


def test_run_takes_a_tiling_for_blocks():
    u0 = np.random.default_rng(2).random((50, 70))
    tiled = tw.run("heat2d", u0, steps=21, boundary="wrap", tiling="hybrid:t=6,s=4x16", strict=True)
    plain = tw.run("heat2d", u0, steps=21, boundary="wrap", tiling="none", strict=True)
    np.testing.assert_array_equal(tiled, plain)
    problem = make_problem(program("heat2d"), (50, 70), 21, boundary="wrap")
    assert prepare(problem, Target(backend="c"), "hybrid:t=6,s=4x16").plan.block is not None
    assert prepare(problem, Target(backend="c"), "none").plan.block is None
