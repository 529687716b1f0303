"""The laws of places and steps: random programs with tw.index, boxes, tw.t and values per step, under every family."""

import os
from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.sampling import some

from tilewright.inputs.memo import prepared
from tilewright.plan import Plan, Target
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.runtime.kernels import NumpyKernel
from tilewright.runtime.session import Inputs
from tilewright.schedules.tiling import NONE

from .generator import DRAW, OTHER, WHOLE, LawCase, make_case, with_faces, with_places
from .harness import legal, tools, verdict
from .test_random_programs import seeds
from .test_random_strategies import FAMILIES, run_all, strategy_case
from .test_random_streaming import streaming_case

CASES = 8
"""Per family and seed."""
MANY = 60
"""Per family and chunk of the stress run."""
CHUNKS = 6
SEED = 91_000 + DRAW
LEAST_MOVED = 0.8
"""Fraction of the cases whose results are others than without places and steps."""

pytestmark = pytest.mark.skipif(tools() is None, reason="no C compiler")


def drawn(
    family: str,
    seed: int,
    count: int,
    dtypes: tuple[str, ...] = (),
    change: Callable[[LawCase], LawCase] = with_places,
) -> list[LawCase]:
    """Cases of a family, each changed; with element types of their own, in turn, where given."""
    found: list[LawCase] = []
    index = 0
    while len(found) < count:
        if family in FAMILIES:
            case = strategy_case(family, seed, index)
        elif family == "streaming":
            case = streaming_case(seed, index)
        else:
            case = make_case(seed, index)
            if family == "none":
                case = replace(case, tiling=NONE)
            elif case.tiling == NONE:
                case = None
        index += 1
        if case is None:
            continue
        if dtypes:
            if case.problem.dtype not in {"float32", "float64"}:
                continue
            dtype = dtypes[len(found) % len(dtypes)]
            case = replace(case, problem=replace(case.problem, dtype=dtype), strict=False)
        found.append(legal(change(case)))
    return found


def failures(cases: list[LawCase]) -> list[str]:
    """What is wrong, one text per case that fails."""
    texts = zip(cases, run_all(cases), strict=True)
    return [f"{text}: {case.tiling}, {case.problem}, {case.scalars}" for case, text in texts if text]


EVERY = ("none", "prism", "streaming", *FAMILIES)


@pytest.mark.parametrize("seed", seeds()[:1])
@pytest.mark.parametrize("family", EVERY)
def test_places_and_steps_agree_with_the_reference(family: str, seed: int) -> None:
    wrong = failures(drawn(family, seed, CASES))
    assert not wrong, "\n".join(wrong[:3])


@pytest.mark.parametrize("family", some(["streaming", "none", "prism"], 2))
def test_places_and_steps_of_other_element_types_agree_with_the_reference(family: str) -> None:
    pytest.importorskip("ml_dtypes")
    wrong = failures(drawn(family, seeds()[0], len(OTHER) * 4, OTHER))
    assert not wrong, "\n".join(wrong[:3])


@pytest.mark.parametrize("family", some(EVERY, 4))
def test_conditions_on_faces_agree_with_the_reference(family: str) -> None:
    def change(case: LawCase) -> LawCase:
        return with_faces(case) if "int" not in case.problem.dtype else case

    wrong = failures(drawn(family, seeds()[0], CASES // 2, change=change))
    assert not wrong, "\n".join(wrong[:3])


@pytest.mark.parametrize("index", [20, 34])
def test_conditions_on_faces_that_read_further_behind_have_the_rows_for_it(index: int) -> None:
    plain = streaming_case(131_001, index)
    assert plain is not None
    case = legal(with_faces(plain))
    assert (plain.tiling.rows, case.tiling.rows) == (2, 3)
    for strict in (False, True):
        wrong = failures([replace(case, strict=strict)])
        assert not wrong, "\n".join(wrong)


def test_whole_numbers_wrap_around() -> None:
    cases = [with_places(make_case(8, index)) for index in range(4 * len(WHOLE))]
    wrong = failures(cases)
    assert not wrong, "\n".join(wrong[:3])


def test_places_and_steps_change_results() -> None:
    cases = drawn("none", seeds()[0], 40)
    moved = 0
    for case in cases:
        plain = make_case(case.seed, case.index)
        some = NumpyKernel(plan=Plan(problem=case.problem, target=Target(backend="numpy")))
        pairs = ((case.problem, case.values), (replace(plain.problem, steps=case.problem.steps), plain.values))
        results = [some.run(p, Inputs(arrays=case.arrays(), scalars=scalars), 1) for p, scalars in pairs]
        moved += any(results[0][f].tobytes() != results[1][f].tobytes() for f in results[0])
    assert moved >= LEAST_MOVED * len([case for case in cases if case.problem.steps])


def test_periodic_grids_in_blocks_agree_with_the_reference() -> None:
    wrap = (Boundary(kind="wrap"),) * 2
    wrong = []
    blocks = 0
    for case in drawn("streaming", seeds()[0], 12):
        sides = tuple((wrap,) * len(each) for each in case.problem.boundaries)
        one = replace(case, problem=replace(case.problem, boundaries=sides), strict=False)
        kernel = prepared(one.problem, Target(backend="c", threads=2), case.tiling, strict=False)
        blocks += kernel.plan.block is not None
        text = verdict(one, kernel.run(one.problem, Inputs(arrays=one.arrays(), scalars=one.values), 2))
        wrong += [f"{text}: {one.problem}"] if text else []
    assert not wrong, "\n".join(wrong[:3])
    assert blocks >= 3


@pytest.mark.stress
@pytest.mark.parametrize("family", EVERY)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_programs_with_places_and_steps(chunk: int, family: str, tally: Callable[[str], None]) -> None:
    count = int(os.environ.get("TILEWRIGHT_LAWS_PLACES", MANY))
    wrong = failures(drawn(family, SEED + chunk, count))
    tally(f"places, {family}, chunk {chunk}: {count} random programs, {len(wrong)} wrong")
    assert not wrong, "\n".join(wrong[:3])
