"""The law for sources and receivers: every kernel adds and records what the reference does, bit for bit.

Random programs under random tilings of every family, with random points on several of their fields: on and between
cells, at the ends of the grid, several on one cell. Strict kernels, so that nothing but the order of additions could
differ; whole numbers and numbers of 16 bits, too. ``TILEWRIGHT_LAWS_SEED`` replaces the seed.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
from tests.sampling import covering

from tilewright.base.dtypes import NARROW
from tilewright.driver import emit_tilings
from tilewright.plan import RunPlan, Target
from tilewright.programs.stencil.points import Points
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime import cpu
from tilewright.runtime import points as tables
from tilewright.runtime.kernels import NumpyKernel
from tilewright.runtime.points import PointData
from tilewright.runtime.session import Inputs
from tilewright.schedules.tiling import NONE
from tilewright.verbs.arrays import Given
from tilewright.verbs.running.forcing import gather_points

from .generator import LawCase, make_case
from .harness import BATCH, Poisoned, tools
from .test_random_programs import seeds
from .test_random_strategies import FAMILIES, strategy_case
from .test_random_streaming import streaming_case

CASES = 12
"""Per family and seed."""
LEAST_MOVED = 0.6
"""Fraction of the cases in which sources change the result: some have no step, or points where ``fixed`` holds all."""

pytestmark = [
    pytest.mark.skipif(tools() is None, reason="no C compiler"),
    pytest.mark.filterwarnings("ignore:the source of"),
]


def drawn_points(draw: random.Random, problem: Problem, *, sources: bool) -> Points:
    """Random points of a grid; of whole numbers, on its cells."""
    generator = np.random.default_rng(draw.randrange(2**32))
    whole = "int" in problem.dtype
    count = draw.choice((1, 1, 2, 3, 40))
    ends = np.array(problem.shape) - 1
    places = generator.uniform(0, 1, (count, len(ends))) * ends
    if whole or draw.random() < 0.3:
        places = np.rint(places)
    for row in range(0, count, 3):
        places[row, draw.randrange(len(ends))] = 0
        places[row, -1] = draw.choice((0, ends[-1]))
    interpolation = draw.choice(("linear", "sinc"))
    if not sources:
        return Points(places, interpolation=interpolation, every=draw.choice((None, 1, 2, 3)))
    shape = draw.choice(((problem.steps,), (problem.steps, count)))
    values = generator.integers(0, 5, shape) if whole else generator.normal(size=shape)
    return Points(places, values=values, interpolation=interpolation)


def with_points(case: LawCase) -> tuple[Problem, PointData]:
    """The problem of a case with random points."""
    draw = random.Random(f"points/{case.seed}/{case.index}")  # noqa: S311  (reproducible, not secret)
    problem, program = case.problem, case.problem.program
    first, *others = draw.sample(program.updated, len(program.updated))
    chosen = [first, *(field for field in others if draw.random() < 0.6)]
    given = Given(
        program=program,
        versions={field: tuple(versions) for field, versions in case.arrays().items()},
        scalars=dict(case.scalars),
        shape=problem.shape,
        dtype=problem.dtype,
    )
    sources = {field: drawn_points(draw, problem, sources=True) for field in chosen}
    receivers = {field: drawn_points(draw, problem, sources=False) for field in program.fields if draw.random() < 0.7}
    data = gather_points(given, problem, sources, receivers)
    assert data is not None
    return replace(problem, points=data.fields(problem)), data


def drawn_cases(family: str, seed: int, count: int) -> list[LawCase]:
    """Cases of a family whose results are exact: strict ones, and whole numbers."""
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
        if case is not None and (case.strict or "int" in case.problem.dtype):
            found.append(replace(case, strict=True))
    return found


def run_all(cases: list[LawCase]) -> tuple[dict[int, str], float]:
    """What is wrong by index, and the fraction of the cases in which sources change the result."""
    wrong: dict[int, str] = {}
    moved = 0
    for start in range(0, len(cases), BATCH):
        part = cases[start : start + BATCH]
        made = [with_points(case) for case in part]
        pairs = [(problem, case.tiling) for case, (problem, _) in zip(part, made, strict=True)]
        kernels = cpu.stencil_kernels(emit_tilings(pairs, strict=True))
        for case, (problem, data), kernel in zip(part, made, kernels, strict=True):
            text, changed = judged(case, problem, data, kernel)
            moved += changed
            if text:
                wrong[case.index] = f"case {case.index} of seed {case.seed}, {case.tiling}: {text}"
    return wrong, moved / len(cases)


def judged(case: LawCase, problem: Problem, data: PointData, kernel: cpu.CompiledKernel) -> tuple[str, bool]:
    """What a kernel did wrong, and whether the sources change the result."""
    arrays, scalars, memory = case.arrays(), dict(case.scalars), Poisoned()
    plan = RunPlan(problem=problem, target=Target(backend="numpy"), tiling=NONE)
    results, traces = [], []
    for number in range(2):
        traces.append(data.traces(problem))
        inputs = Inputs(arrays=arrays, scalars=scalars, points=data, traces=traces[-1])
        if number:
            results.append(cpu.execute(kernel, problem, inputs, threads=2, workspace=memory))
        else:
            results.append(NumpyKernel(plan=plan).run(problem, inputs, 1))
    text = memory.torn()
    for what, (wanted, got) in {"field": results, "trace": traces}.items():  # type: ignore[misc]
        for name, values in wanted.items():
            same = values.tobytes() == np.ascontiguousarray(got[name]).tobytes()
            text += "" if same else f"{what} {name} is not bit-equal; "
    plain = NumpyKernel(plan=plan).run(
        replace(problem, points=type(problem.points)()), Inputs(arrays=arrays, scalars=scalars), 1
    )
    return text, any(plain[field].tobytes() != results[0][field].tobytes() for field in plain)


@pytest.mark.parametrize("seed", seeds()[:1])
@pytest.mark.parametrize("family", ["none", "prism", "streaming", *FAMILIES])
def test_sources_and_receivers_agree_with_the_reference(family: str, seed: int) -> None:
    wrong, moved = run_all(drawn_cases(family, seed, CASES))
    assert not wrong, "\n".join(wrong.values())
    assert moved >= LEAST_MOVED


@pytest.mark.parametrize(("family", "dtype"), covering(["none", "streaming", "overlapped"], NARROW))
def test_points_of_fields_of_16_bits_agree_with_the_reference(family: str, dtype: str) -> None:
    pytest.importorskip("ml_dtypes")
    drawn = [case for case in drawn_cases(family, seeds()[0], 2 * CASES) if case.problem.dtype.startswith("float")]
    wrong, moved = run_all([replace(case, problem=replace(case.problem, dtype=dtype)) for case in drawn])
    assert not wrong, "\n".join(wrong.values())
    assert moved >= LEAST_MOVED


@pytest.mark.parametrize("family", ["streaming", "overlapped"])
def test_tables_of_a_few_steps_at_a_time_are_the_same(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_BYTES", 1)
    wrong, _ = run_all(drawn_cases(family, seeds()[0], CASES))
    assert not wrong, "\n".join(wrong.values())
