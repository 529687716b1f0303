"""The law for sources and receivers: every kernel adds and records what the reference does, bit for bit.

Random programs under random tilings of every family, with random points on several of their fields: on and between
cells, at the ends of the grid, several on one cell. Strict kernels, so that nothing but the order of additions could
differ; whole numbers and numbers of 16 bits, too. ``TILEWRIGHT_LAWS_SEED`` replaces the seed.

The stress run has as many programs as they are, with places and steps, with conditions on faces, and with fields in
subdomains. The last are not strict: in ``float64``, where rounding is far smaller than what one wrong cell does.
"""

import os
import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.sampling import covering

from tilewright.base.dtypes import NARROW
from tilewright.driver import emit_tilings
from tilewright.plan import RunPlan, Target
from tilewright.programs.stencil import rounding
from tilewright.programs.stencil.points import Points
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.reference import Array
from tilewright.runtime import cpu
from tilewright.runtime import points as tables
from tilewright.runtime.kernels import NumpyKernel
from tilewright.runtime.points import PointData
from tilewright.runtime.session import Inputs
from tilewright.schedules.tiling import NONE
from tilewright.verbs.arrays import Given
from tilewright.verbs.running.forcing import gather_points

from .generator import LawCase, make_case, with_faces, with_places
from .harness import BATCH, Poisoned, legal, tools
from .test_random_programs import seeds
from .test_random_strategies import FAMILIES, strategy_case
from .test_random_streaming import streaming_case
from .test_random_subdomains import with_subdomains

CASES = 12
"""Per family and seed."""
EVERY = ("none", "prism", "streaming", *FAMILIES)
MANY = 28
"""Per family, kind and chunk of the stress run."""
CHUNKS = 3
SEED = 131_000
KINDS = ("plain", "places", "faces", "subdomains")
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
    able = [field for field in program.updated if field not in dict(problem.subdomains)]
    first, *others = draw.sample(able, len(able))
    chosen = [first, *(field for field in others if draw.random() < 0.6)]
    given = Given(
        program=program,
        versions={field: tuple(versions) for field, versions in case.arrays().items()},
        scalars=case.values,
        shape=problem.shape,
        dtype=problem.dtype,
    )
    sources = {field: drawn_points(draw, problem, sources=True) for field in chosen}
    recorded = [field for field in program.fields if field not in dict(problem.subdomains)]
    receivers = {field: drawn_points(draw, problem, sources=False) for field in recorded if draw.random() < 0.7}
    data = gather_points(given, problem, sources, receivers)
    assert data is not None
    return replace(problem, points=data.fields(problem)), data


def changed(case: LawCase, kind: str) -> LawCase | None:
    """The case as one of :data:`KINDS`, or None where it can be none."""
    if kind == "subdomains":
        if case.problem.dtype == "float32":
            case = replace(case, problem=replace(case.problem, dtype="float64"))
        return with_subdomains(replace(case, strict=False))
    if not case.strict and "int" not in case.problem.dtype:
        return None
    if kind == "faces":
        return None if "int" in case.problem.dtype else replace(with_faces(case), strict=True)
    return replace(with_places(case) if kind == "places" else case, strict=True)


def drawn_cases(family: str, seed: int, count: int, kind: str = "plain") -> list[LawCase]:
    """Cases of a family whose results are exact, strict ones and whole numbers, or of ``float64``."""
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
        if case is not None and (made := changed(case, kind)) is not None:
            found.append(legal(made))
    return found


def run_all(cases: list[LawCase]) -> tuple[dict[int, str], float]:
    """What is wrong by index, and the fraction of the cases in which sources change the result."""
    wrong: dict[int, str] = {}
    moved = 0
    for start in range(0, len(cases), BATCH):
        part = cases[start : start + BATCH]
        made = [with_points(case) for case in part]
        pairs = [(problem, case.tiling) for case, (problem, _) in zip(part, made, strict=True)]
        kernels = cpu.stencil_kernels(emit_tilings(pairs, strict=part[0].strict))
        for case, (problem, data), kernel in zip(part, made, kernels, strict=True):
            text, changed = judged(case, problem, data, kernel)
            moved += changed
            if text:
                wrong[case.index] = f"case {case.index} of seed {case.seed}, {case.tiling}: {text}"
    return wrong, moved / len(cases)


def judged(case: LawCase, problem: Problem, data: PointData, kernel: cpu.CompiledKernel) -> tuple[str, bool]:
    """What a kernel did wrong, and whether the sources change the result."""
    arrays, scalars, memory, parts = case.arrays(), case.values, Poisoned(), dict(problem.subdomains)
    plan = RunPlan(problem=problem, target=Target(backend="numpy"), tiling=NONE)
    results, traces = [], []
    for number in range(2):
        traces.append(data.traces(problem))
        inputs = Inputs(arrays=arrays, scalars=scalars, points=data, traces=traces[-1])
        if number:
            packed = {
                field: [parts[field].cut(each) for each in versions] if field in parts else versions
                for field, versions in arrays.items()
            }
            found = cpu.execute(kernel, problem, replace(inputs, arrays=packed), threads=2, workspace=memory)
            results.append({
                field: parts[field].spread(each, problem.shape) if field in parts else each
                for field, each in found.items()
            })  # fmt: skip
        else:
            results.append(NumpyKernel(plan=plan).run(problem, inputs, 1))
    text = memory.torn()
    allowed = {} if case.strict else allowance(case)
    for what, (wanted, got) in {"field": results, "trace": traces}.items():  # type: ignore[misc]
        for name, values in wanted.items():
            text += differs(f"{what} {name}", values, np.ascontiguousarray(got[name]), allowed.get(name))
    plain = NumpyKernel(plan=plan).run(
        replace(problem, points=type(problem.points)()), Inputs(arrays=arrays, scalars=scalars), 1
    )
    return text, any(plain[field].tobytes() != results[0][field].tobytes() for field in plain)


FLOOR = 1e-11
"""What sources of about 1 may leave in float64 where fields without them are nothing."""
SLACK = 1e3
"""How many times larger than without sources rounding may be: these are a few times as large as fields."""


def allowance(case: LawCase) -> dict[str, float]:
    """By how much results of a case that is not strict may be off, per field; nothing for whole numbers."""
    if "int" in case.problem.dtype:
        return {}
    _, allowed = rounding.bound(case.problem, case.arrays(), case.values)
    worst = max(float(np.max(each, initial=0.0)) for each in allowed.values())
    return dict.fromkeys(case.problem.program.fields, SLACK * worst + FLOOR)


def differs(what: str, wanted: Array, got: Array, allowed: float | None) -> str:
    """Say whether two arrays are not bit-equal, or differ by more than is allowed where they are finite."""
    if wanted.tobytes() == got.tobytes():
        return ""
    if allowed is None:
        return f"{what} is not bit-equal; "
    with np.errstate(all="ignore"):
        wild = ~np.isfinite(wanted) | (np.abs(wanted) > 1e12)
        error = np.where(wild, 0.0, np.abs(got - wanted))
    far = float(np.max(error, initial=0.0)) if np.isfinite(error).all() else np.inf
    return "" if far <= allowed or not np.isfinite(allowed) else f"{what} is off by {far:g} of {allowed:g} allowed; "


@pytest.mark.parametrize("seed", seeds()[:1])
@pytest.mark.parametrize("family", EVERY)
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


@pytest.mark.stress
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", EVERY)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_programs_with_points(chunk: int, family: str, kind: str, tally: Callable[[str], None]) -> None:
    count = int(os.environ.get("TILEWRIGHT_LAWS_POINTS", MANY))
    wrong, moved = run_all(drawn_cases(family, SEED + chunk, count, kind))
    tally(f"points, {family}, {kind}, chunk {chunk}: {count} random programs, {len(wrong)} wrong, {moved:.0%} moved")
    assert not wrong, "\n".join(list(wrong.values())[:3])
    assert moved >= LEAST_MOVED
