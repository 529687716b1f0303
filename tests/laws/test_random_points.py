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
from tilewright.codegen.emit import emit_all
from tilewright.inputs.arrays import Given
from tilewright.plan import Plan, Target
from tilewright.programs.stencil import rounding
from tilewright.programs.stencil.points import Points
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.reference import Added, Array
from tilewright.runtime import cpu
from tilewright.runtime import points as tables
from tilewright.runtime.kernels import NumpyKernel, execute
from tilewright.runtime.points import PointData, Receivers
from tilewright.runtime.session import Inputs
from tilewright.tuning.spaces.cpu_schedule import cpu_schedule
from tilewright.verbs.running.forcing import gather_points

from .draws import EVERY, drawn, seeds, unchanged, with_subdomains
from .generator import DRAW, LawCase, with_faces, with_places
from .harness import BATCH, Poisoned, tools

CASES = 6
"""Per family and seed."""
MANY = 28
"""Per family, kind and chunk of the stress run."""
CHUNKS = 3
SEED = 131_000 + DRAW
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
    able = [field for field in program.updated if field not in dict(case.storage.subdomains)]
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
    recorded = [field for field in program.fields if field not in dict(case.storage.subdomains)]
    receivers = {field: drawn_points(draw, problem, sources=False) for field in recorded if draw.random() < 0.7}
    data = gather_points(given, problem, sources, receivers)
    assert data is not None
    return replace(problem, points=data.fields(problem)), data


def exact(case: LawCase, change: Callable[[LawCase], LawCase] = unchanged) -> LawCase | None:
    """The case, changed and strict, where its results are exact: of strict ones and whole numbers."""
    return replace(change(case), strict=True) if case.strict or "int" in case.problem.dtype else None


def in_parts(case: LawCase) -> LawCase | None:
    """The case with fields in subdomains, in ``float64`` where it is of rounded numbers."""
    wide = {"float32": "float64"}.get(case.problem.dtype, case.problem.dtype)
    return with_subdomains(replace(case, problem=replace(case.problem, dtype=wide), strict=False))


KINDS: dict[str, Callable[[LawCase], LawCase | None]] = {
    "plain": exact,
    "places": lambda case: exact(case, with_places),
    "faces": lambda case: None if "int" in case.problem.dtype else exact(case, with_faces),
    "subdomains": in_parts,
}


def run_all(cases: list[LawCase]) -> tuple[dict[int, str], float]:
    """What is wrong by index, and the fraction of the cases in which sources change the result."""
    wrong: dict[int, str] = {}
    moved = 0
    size = BATCH if cases[0].strict else BATCH // 5  # with fields in subdomains a kernel has several texts
    for start in range(0, len(cases), size):
        part = cases[start : start + size]
        made = [with_points(case) for case in part]
        strict = part[0].strict
        units = [
            (problem, cpu_schedule(problem, case.tiling, case.storage, strict=strict))
            for case, (problem, _) in zip(part, made, strict=True)
        ]
        kernels = cpu.stencil_kernels(emit_all(units, strict=strict))
        for case, (problem, data), kernel in zip(part, made, kernels, strict=True):
            text, changed = judged(case, problem, data, kernel)
            moved += changed
            if text:
                wrong[case.index] = f"case {case.index} of seed {case.seed}, {case.tiling}: {text}"
    return wrong, moved / len(cases)


def judged(case: LawCase, problem: Problem, data: PointData, kernel: cpu.CompiledKernel) -> tuple[str, bool]:
    """What a kernel did wrong, and whether the sources change the result."""
    arrays, scalars, memory, parts = case.arrays(), case.values, Poisoned(), dict(case.storage.subdomains)
    kernel = replace(kernel, storage=case.storage)
    plan = Plan(problem=problem, target=Target(backend="numpy"))
    results, traces = [], []
    for number in range(2):
        traces.append(data.traces(problem))
        inputs = Inputs(arrays=arrays, scalars=scalars, points=data, traces=traces[-1])
        if number:
            packed = {
                field: [parts[field].cut(each) for each in versions] if field in parts else versions
                for field, versions in arrays.items()
            }
            found = execute(kernel, problem, replace(inputs, arrays=packed), threads=2, workspace=memory)
            results.append({
                field: parts[field].spread(each, problem.shape) if field in parts else each
                for field, each in found.items()
            })  # fmt: skip
        else:
            results.append(NumpyKernel(plan=plan).run(problem, inputs, 1))
    text = memory.torn()
    text += far(case, problem, data, {
        f"{what} {name}": (values, np.ascontiguousarray(got[name]))
        for what, (wanted, got) in {"field": results, "trace": traces}.items()
        for name, values in wanted.items()
    })  # fmt: skip
    plain = NumpyKernel(plan=plan).run(
        replace(problem, points=type(problem.points)()), Inputs(arrays=arrays, scalars=scalars), 1
    )
    return text, any(plain[field].tobytes() != results[0][field].tobytes() for field in plain)


class Allowed:
    """By how much a run's results and records may be off, where they need not be equal bit for bit."""

    def __init__(self, case: LawCase, problem: Problem, data: PointData) -> None:
        self._case, self._problem, self._data = case, problem, data
        self._sources = [each.without_held(problem) for each in data.sources]

    def _added(self, number: int) -> Added:
        dtype = self._problem.dtype
        return {each.field: (each.weights.places, each.added(number, 1, dtype)[:, 0]) for each in self._sources}

    def after(self, steps: int) -> tuple[dict[str, Array], dict[str, Array]]:
        """The reference and the rounding bound after so many steps, per updated field."""
        problem = replace(self._problem, steps=steps)
        return rounding.bound(problem, self._case.arrays(), self._case.values, added=self._added)

    def records(self, receivers: Receivers) -> list[Array]:
        """What records may be off by: what their cells are, weighted, and a unit of rounding per product and sum."""
        found, weights = [], receivers.weights
        eps, arrays = np.finfo(self._problem.dtype).eps, self._case.arrays()
        terms = 2 + np.bincount(weights.point, minlength=weights.points)[weights.point]
        for row in range(receivers.rows(self._problem.steps)):
            exact, allowed = self.after((row + 1) * receivers.every)
            known = exact.get(receivers.field, arrays[receivers.field][0]).ravel()[weights.cell]
            off = allowed.get(receivers.field, np.zeros(self._problem.shape)).ravel()[weights.cell]
            each = np.abs(weights.weight) * (off + terms * eps * np.abs(known))
            found.append(np.bincount(weights.point, each, weights.points) + eps * np.abs(weights.constant))
        return found


def far(case: LawCase, problem: Problem, data: PointData, pairs: dict[str, tuple[Array, Array]]) -> str:
    """Say which fields and records, of those that are not bit-equal, are off by more than rounding explains."""
    differing = {what: pair for what, pair in pairs.items() if pair[0].tobytes() != pair[1].tobytes()}
    if case.strict or "int" in problem.dtype:
        return "".join(f"{what} is not bit-equal; " for what in differing)
    allowed, recorded = Allowed(case, problem, data), {f"trace {each.field}": each for each in data.receivers}
    text = ""
    for what, (wanted, got) in differing.items():
        if what in recorded:
            most = np.array(allowed.records(recorded[what]))
        else:
            most = allowed.after(problem.steps)[1][what.removeprefix("field ")]
        error, good = rounding.worst_excess(got, wanted, most)
        text += "" if good else f"{what} is off by up to {error:g}; "
    return text


@pytest.mark.parametrize("seed", seeds()[:1])
@pytest.mark.parametrize("family", EVERY)
def test_sources_and_receivers_agree_with_the_reference(family: str, seed: int) -> None:
    wrong, moved = run_all(drawn(family, seed, CASES, KINDS["plain"]))
    assert not wrong, "\n".join(wrong.values())
    assert moved >= LEAST_MOVED


@pytest.mark.parametrize(("family", "dtype"), covering(["none", "streaming"], NARROW))
def test_points_of_fields_of_16_bits_agree_with_the_reference(family: str, dtype: str) -> None:
    pytest.importorskip("ml_dtypes")
    cases = [
        case for case in drawn(family, seeds()[0], 4 * CASES, KINDS["plain"]) if case.problem.dtype.startswith("float")
    ]
    wrong, moved = run_all([replace(case, problem=replace(case.problem, dtype=dtype)) for case in cases])
    assert not wrong, "\n".join(wrong.values())
    assert moved >= LEAST_MOVED


def test_tables_of_a_few_steps_at_a_time_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MOST_BYTES", 1)
    wrong, _ = run_all(drawn("streaming", seeds()[0], CASES, KINDS["plain"]))
    assert not wrong, "\n".join(wrong.values())


def test_results_and_records_that_are_a_little_wrong_are_seen() -> None:
    seen = 0
    for case in drawn("none", SEED, 4, KINDS["subdomains"]):
        problem, data = with_points(case)
        plan, traces = Plan(problem=problem, target=Target(backend="numpy")), data.traces(problem)
        results = NumpyKernel(plan=plan).run(
            problem, Inputs(arrays=case.arrays(), scalars=case.values, points=data, traces=traces), 1
        )
        known = {f"field {name}": each for name, each in results.items()}
        known |= {f"trace {name}": each for name, each in traces.items() if each.size}
        for what, values in known.items():
            if values.dtype.kind != "f":
                assert far(case, problem, data, {what: (values, values + 1)})
            elif np.isfinite(values).all() and np.abs(values).max() < 100:
                assert not far(case, problem, data, {what: (values, np.nextafter(values, 0))})
                assert far(case, problem, data, {what: (values, values + 1e-8)})
                seen += 1
    assert seen >= 4


@pytest.mark.stress
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", EVERY)
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_many_programs_with_points(chunk: int, family: str, kind: str, tally: Callable[[str], None]) -> None:
    count = int(os.environ.get("TILEWRIGHT_LAWS_POINTS", MANY))
    wrong, moved = run_all(drawn(family, SEED + chunk, count, KINDS[kind]))
    tally(f"points, {family}, {kind}, chunk {chunk}: {count} random programs, {len(wrong)} wrong, {moved:.0%} moved")
    assert not wrong, "\n".join(list(wrong.values())[:3])
    assert moved >= LEAST_MOVED
