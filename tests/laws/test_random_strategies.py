"""The law for skewed and diamond tiles: they compute what the reference computes.

Random programs of any rank and reach, several fields, stages and time levels, every boundary that does not wrap, sizes
that are anything legal. Strict kernels must be equal bit for bit. They run through the package's own run time on
poisoned memory. ``TILEWRIGHT_LAWS_SEED`` replaces the seeds; a failure prints the seed, the case and its tiling.
"""

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tilewright.driver import emit_tilings
from tilewright.programs.stencil.dependences import slopes
from tilewright.runtime import cpu
from tilewright.schedules import catalogue, prism
from tilewright.schedules.families import diamond, skewed
from tilewright.schedules.family import Legal, family_named
from tilewright.schedules.geometry import Diamond, Skew
from tilewright.schedules.tiling import Tiling

from .generator import LawCase, make_case
from .harness import BATCH, computed, tools
from .test_random_programs import large, seeds

FAMILIES = (skewed.FAMILY, diamond.FAMILY)
CASES = 8
"""Per family and seed."""
FEW = 6
"""Cases that look for a seeded error."""
LEAST_LARGE = 0.25
"""Fraction of the cases with two full blocks and two wavefronts."""
_INNERMOST = (3, 8, 16, 17, 32, 40)

pytestmark = pytest.mark.skipif(tools() is None, reason="no C compiler")


def strategy_case(family: str, seed: int, index: int) -> LawCase | None:
    """A case of the generator under a random tiling of a family, or None where none is legal."""
    case = make_case(seed, index)
    draw = random.Random(f"{family}/{seed}/{index}")  # noqa: S311  (reproducible, not secret)
    rank = case.problem.program.rank
    inner = [draw.choice(_INNERMOST if axis == rank - 1 else (1, 3, 5, 8, 12)) for axis in range(rank)]
    sub: tuple[int, ...] = ()
    if rank not in family_named(family).ranks:
        return None
    if family == diamond.FAMILY:
        time = draw.choice((2, 4, 4, 6, 8))
        least = diamond.least_pitch(case.problem, time)
        space = (least + least % 2 + draw.choice((0, 0, 2, 4, 10)), *inner[1:])
    else:
        time = draw.choice((1, 2, 3, 4, 6, 7))
        space = tuple(inner)
        if family == skewed.FAMILY and draw.random() < 0.5:
            sub = space
            space = tuple(size * draw.choice((1, 2, 3)) for size in sub)
    tiling = Tiling(family=family, time=time, space=space, sub=sub)
    if not isinstance(catalogue.check(case.problem, tiling), Legal):
        return None
    stages = len(case.problem.program.stages)
    shape = []
    for size, side, (below, above) in zip(space, slopes(case.problem), case.problem.program.reach, strict=True):
        travel = 2 * side.widest * (time * stages - 1)
        whole = below + above + travel + 3 * size + draw.randint(0, size + 3)
        shape.append(draw.randint(1, 12) if draw.random() < 0.1 else min(whole, {1: 900, 2: 150, 3: 44}[rank]))
    steps = draw.randint(0, time) if draw.random() < 0.15 else draw.randint(time + 1, 3 * time + 1)
    problem = replace(case.problem, shape=tuple(shape), steps=steps)
    return replace(case, problem=problem, tiling=tiling)


def drawn(family: str, seed: int) -> Iterator[LawCase]:
    """Cases of a family without end, each made when it is asked for: finding a legal one of some is long."""
    for index in itertools.count():
        if (case := strategy_case(family, seed, index)) is not None:
            yield case


def cases_of(family: str, seed: int, count: int) -> list[LawCase]:
    return list(itertools.islice(drawn(family, seed), count))


def run_all(cases: list[LawCase]) -> list[str]:
    """What is wrong with each case, in order; an empty text where it agrees."""
    wrong = [""] * len(cases)
    for strict in (False, True):
        chosen = [i for i, case in enumerate(cases) if case.strict is strict]
        for start in range(0, len(chosen), BATCH):
            part = chosen[start : start + BATCH]
            source = emit_tilings([(cases[i].problem, cases[i].tiling) for i in part], strict=strict)
            for i, kernel in zip(part, cpu.stencil_kernels(source, tools()), strict=True):
                wrong[i] = computed(kernel, cases[i])
    return wrong


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize("family", FAMILIES)
def test_random_programs_under_every_strategy(family, seed, tally):
    cases = cases_of(family, seed, CASES)
    several = sum(map(large, cases))
    strict = sum(case.strict for case in cases)
    ranks = sorted({case.problem.program.rank for case in cases})
    tally(
        f"{family}, seed {seed}: {len(cases)} cases of ranks {ranks}, {several} with two full blocks and two "
        f"wavefronts, {strict} strict"
    )
    failures = [
        f"seed {seed}, case {case.index}, {case.tiling}, {case.problem}: {text}"
        for case, text in zip(cases, run_all(cases), strict=True)
        if text
    ]
    assert not failures, "\n".join(failures[:3])
    assert several >= LEAST_LARGE * len(cases)


def _few(family: str, count: int = FEW) -> list[LawCase]:
    """The first large cases of floating-point numbers whose every axis is read on both sides."""
    fit = (
        case
        for case in itertools.islice(drawn(family, 1), 80)
        if case.problem.dtype != "int32" and min(map(max, case.problem.program.reach)) > 0 and large(case)
    )
    return list(itertools.islice(fit, count))


def _shallow(**sizes: int) -> Skew:
    return Skew(**{**sizes, "slope": max(0, sizes["slope"] - 1)})


def _narrow(**sizes: int) -> Diamond:
    return Diamond(**{**sizes, "pitch": max(2, sizes["pitch"] - 2)})


def test_a_parallelogram_that_leans_too_little_makes_the_law_fail(monkeypatch):
    cases = _few(skewed.FAMILY)
    assert len(cases) == FEW
    assert not any(run_all(cases))
    monkeypatch.setattr(skewed, "Skew", _shallow)
    assert sum(map(bool, run_all(cases))) >= FEW // 2


def test_a_diamond_too_steep_makes_the_law_fail(monkeypatch):
    cases = []
    for case in _few(diamond.FAMILY):
        least = diamond.least_pitch(case.problem, case.tiling.time)
        cases.append(replace(case, tiling=replace(case.tiling, space=(least + least % 2, *case.tiling.space[1:]))))
    assert len(cases) == FEW
    assert not any(run_all(cases))
    monkeypatch.setattr(prism, "Diamond", _narrow)
    assert sum(map(bool, run_all(cases))) >= FEW // 2
