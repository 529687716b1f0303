"""The law in four dimensions: random programs under every boundary are what the reference in NumPy computes."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.schedules.families import none
from tilewright.schedules.family import FAMILIES

from .generator import DRAW, OTHER, OTHER_SEED, WHOLE_SEED, LawCase, make_case, with_faces, with_operators, with_places
from .harness import tools
from .test_random_places import failures

CASES = 12
SEED = 94_000 + DRAW
CHUNKS = 4
MANY = 120
KINDS = ("fixed", "constant", "nearest", "reflect", "mirror", "wrap")

pytestmark = pytest.mark.skipif(tools() is None, reason="no C compiler")


def drawn(seed: int, count: int) -> list[LawCase]:
    """Cases in four dimensions; some compute with places, further operators, or conditions on faces."""
    changes: tuple[Callable[[LawCase], LawCase], ...] = (lambda case: case, with_places, with_operators, with_faces)
    cases = [make_case(seed, index, 4) for index in range(count)]
    return [
        case if "int" in case.problem.dtype else changes[index % len(changes)](case) for index, case in enumerate(cases)
    ]


@pytest.mark.parametrize("seed", [7, WHOLE_SEED, OTHER_SEED])
def test_four_dimensions_agree_with_the_reference(seed: int) -> None:
    if seed == OTHER_SEED:
        pytest.importorskip("ml_dtypes")
    cases = drawn(seed, len(OTHER) * 4 if seed == OTHER_SEED else CASES)
    assert {case.problem.program.rank for case in cases} == {4}
    wrong = failures(cases)
    assert not wrong, "\n".join(wrong[:3])


@pytest.mark.parametrize("kind", KINDS)
def test_every_boundary_of_four_dimensions_agrees_with_the_reference(kind: str) -> None:
    side = Boundary(kind, 0.25 if kind == "constant" else 0.0)
    cases = []
    for index in range(8):
        case = make_case(SEED, index, 4)
        problem = case.problem
        if "int" not in problem.dtype:
            sides = tuple(((side, side),) * 4 for _ in problem.program.fields)
            cases.append(replace(case, problem=replace(problem, boundaries=sides)))
    assert len(cases) >= 4
    wrong = failures(cases)
    assert not wrong, "\n".join(wrong[:3])


@pytest.mark.stress
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_programs_in_four_dimensions(chunk: int, tally: Callable[[str], None]) -> None:
    wrong = failures(drawn(SEED + chunk, MANY))
    tally(f"4D, chunk {chunk}: {MANY} random programs, {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong[:3])


@tw.stencil
def spread(u, a):  # type: ignore[no-untyped-def]
    """Heat in four dimensions."""
    around = sum(u[tuple(sign * (at == axis) for at in range(4))] for axis in range(4) for sign in (-1, 1))
    return u[0, 0, 0, 0] + a * (around - 8 * u[0, 0, 0, 0])


GRID = np.random.default_rng(4).random((6, 7, 8, 9))
BY_HAND = GRID + 0.05 * (sum(np.roll(GRID, sign, axis) for axis in range(4) for sign in (-1, 1)) - 8 * GRID)


def test_verbs_run_in_four_dimensions() -> None:
    made = tw.run(spread, GRID, steps=1, boundary="wrap", backend="c", a=0.05, record=True)
    assert made.backend == "c"
    assert made.tiling.family == none.FAMILY
    np.testing.assert_allclose(made.state, BY_HAND, rtol=0, atol=1e-15)
    batch = tw.run(
        spread, np.stack([GRID, 2 * GRID], -1), steps=1, boundary="wrap", a=0.05, axes=(0, 1, 2, 3), threads=1
    )
    np.testing.assert_allclose(batch[..., 1], 2 * BY_HAND, rtol=0, atol=2e-15)
    assert tw.predict(spread, shape=GRID.shape, steps=4).tiling.family == none.FAMILY
    assert tw.sparse.from_stencil(spread, shape=(4, 4, 4, 4), a=0.05).shape == (256, 256)
    gradient = tw.vjp(spread, GRID, steps=2, a=0.05, boundary="reflect")[1](np.ones_like(GRID))
    np.testing.assert_allclose(np.asarray(gradient[0] if isinstance(gradient, tuple) else gradient), 1.0, atol=1e-12)


@pytest.mark.parametrize("boundary", ["nearest", "wrap"])
def test_sources_and_receivers_in_four_dimensions(boundary: str) -> None:
    draw = np.random.default_rng(5)
    places = draw.uniform(0, 1, (9, 4)) * (np.array(GRID.shape) - 1)
    given = {
        "steps": 3,
        "a": 0.05,
        "boundary": boundary,
        "strict": True,
        "sources": tw.Points(places[::-1], values=draw.normal(size=(3, 9))),
        "receivers": tw.Points(places),
    }
    wanted, recorded = tw.run(spread, GRID, backend="numpy", **given)
    found, traces = tw.run(spread, GRID, backend="c", threads=2, **given)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(traces["u"], recorded["u"])


@pytest.mark.parametrize("family", sorted(set(FAMILIES) - {none.FAMILY}))
def test_tiles_in_time_are_refused(family: str) -> None:
    with pytest.raises(UsageError, match=r"'spread'.*4"):
        tw.run(spread, GRID, steps=4, a=0.05, tiling=family)


@pytest.mark.parametrize("machine", ["h200", "gtx980"])
def test_models_of_gpus_refuse_four_dimensions(machine: str) -> None:
    with pytest.raises(UsageError, match="1 to 3 dimensions, got 4"):
        tw.predict(spread, shape=GRID.shape, steps=4, machine=machine)


def test_files_of_vtk_refuse_four_axes(tmp_path: object) -> None:
    with pytest.raises(UsageError, match="up to 3 axes, got 4"):
        tw.run(spread, GRID, steps=4, a=0.05, every=2, out=f"{tmp_path}/u.vti")
