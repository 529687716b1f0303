"""The law: every kernel computes what the reference computes, whatever the program, boundary, size and tiling.

Programs are random ones as the generator makes them, and changed: with the cell's place and the step's number, with
conditions on faces, with further operators, with fields that live in subdomains; in one to four dimensions. Strict
kernels must be equal bit for bit. ``TILEWRIGHT_LAWS_SEED`` replaces the seeds, ``TILEWRIGHT_LAWS_CASE`` picks one case
of the generator; a failure prints both, and the case as Python text. That errors are found is shown by some.
"""

import copy
import functools
import itertools
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.driver import emit_tilings
from tilewright.inputs.memo import prepared
from tilewright.plan import Plan, Target
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.operators import FLAT
from tilewright.runtime import cpu, direct
from tilewright.runtime.kernels import NumpyKernel
from tilewright.runtime.session import Inputs
from tilewright.schedules import prism
from tilewright.schedules.families import diamond, none, skewed, streaming
from tilewright.schedules.family import FAMILIES
from tilewright.schedules.geometry import Diamond, Hexagon, Skew
from tilewright.schedules.streaming import levels as pipeline

from .draws import (
    EVERY,
    FIXED_SEEDS,
    STRATEGIES,
    block_case,
    drawn,
    endless,
    first,
    large,
    many_tiles,
    seeds,
    strategy_case,
    streaming_case,
    unchanged,
    with_subdomains,
)  # fmt: skip
from .generator import (
    DRAW,
    NARROW,
    OTHER,
    OTHER_SEED,
    WHOLE,
    WHOLE_SEED,
    LawCase,
    make_case,
    with_faces,
    with_operators,
    with_places,
)  # fmt: skip
from .harness import Poisoned, compile_cases, failures, interpreted, judge, legal, run_all, tools, verdict

CASES = 36
"""Of the generator, per seed."""
STREAMING, CHANGED = 24, 8
"""Cases in streaming tiles per seed, and per family and change."""
WHOLE_CASES = 24
OTHER_CASES = 16
FEW = 6
"""Cases that look for a seeded error."""
BLOCKS, MANY_BLOCKS = 6, 300
"""Cases of thread blocks per seed, and of the stress run."""
FOUR = 12
"""Cases in four dimensions."""
CHUNKS = 6
"""Of the stress run, per family and change."""
_SHOWN = 3

pytestmark = pytest.mark.skipif(tools() is None, reason="no C compiler")


def with_faces_of_rounded(case: LawCase) -> LawCase:
    """The case with conditions on its faces, which whole numbers cannot have."""
    return with_faces(case) if "int" not in case.problem.dtype else case


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is done to the generator's programs, and how many of them are run."""

    make: Callable[[LawCase], LawCase | None]
    families: Sequence[str] = EVERY  # of a default run; all in the stress run
    count: int = CHANGED
    others: Sequence[tuple[str, Sequence[str], int]] = ()  # families, element types and counts of runs of their own
    many: int = 60  # of the stress run, per chunk
    seed: int = 0  # of the stress run


CHANGES = {
    "places": Change(
        make=with_places, seed=91_000, others=[("streaming", OTHER, 4 * len(OTHER)), ("none", OTHER, 4 * len(OTHER))]
    ),
    "faces": Change(make=with_faces_of_rounded, seed=93_000, families=EVERY[:4], count=CHANGED // 2),
    "operators": Change(
        make=with_operators, seed=92_000, others=[("none", NARROW, CHANGED), ("streaming", NARROW, CHANGED)]
    ),
    "subdomains": Change(
        make=with_subdomains, seed=117_000, many=45, others=[("streaming", OTHER, len(OTHER))]
    ),
}  # fmt: skip


def agreed(cases: Sequence[LawCase]) -> None:
    """Fail where a case is not what the reference computes."""
    wrong = failures(cases)
    assert not wrong, f"{len(wrong)} of {len(cases)} cases are wrong\n\n" + "\n\n".join(wrong[:_SHOWN])


def draw(seed: int) -> list[LawCase]:
    """The generator's cases of a seed, every one legal."""
    chosen = os.environ.get("TILEWRIGHT_LAWS_CASE")
    return [legal(make_case(seed, index)) for index in ([int(chosen)] if chosen else range(CASES))]


def summary(seed: int, cases: Sequence[LawCase]) -> list[str]:
    """What a batch covered, in a few lines."""
    problems = [case.problem for case in cases]
    ranks = Counter(f"{problem.program.rank}D" for problem in problems)
    kinds = Counter(kind for p in problems for kind in {s.kind for f in p.boundaries for pair in f for s in pair})
    reach = Counter(max(max(pair) for pair in problem.program.reach) for problem in problems)
    counted = (ranks, Counter(c.tiling.family for c in cases), Counter(p.dtype for p in problems), kinds)
    several = sum(len(problem.program.fields) > 1 for problem in problems)
    older = sum(any(p.program.history(field) > 1 for field in p.program.fields) for p in problems)
    ordered = sum(any(read.level == 1 for s in p.program.statements for read in s.reads) for p in problems)
    head = (
        f"seed {seed}: {len(cases)} cases, {len({case.identity for case in cases})} distinct, "
        f"{len({problem.program for problem in problems})} programs, {sum(map(large, cases))} with two interior full "
        f"tiles and two wavefronts, {sum(case.strict for case in cases)} strict"
    )
    kinds_text = ", ".join(f"{name} {count}" for counter in counted for name, count in sorted(counter.items()))
    rest = f"several fields {several}, several time levels {older}, ordered statements {ordered}"
    return [head, f"  {kinds_text}", f"  {rest}, by reach {dict(sorted(reach.items()))}"]


def judged(cases: Sequence[LawCase], folder: Path) -> dict[int, str]:
    """What is wrong with cases that run in other processes on guarded memory, by index."""
    return judge(cases, compile_cases(cases, folder), folder)


@pytest.mark.parametrize("seed", seeds())
def test_every_kernel_agrees_with_the_reference(seed: int, tmp_path: Path, tally: Callable[[str], None]) -> None:
    cases = draw(seed)
    wrong = judged(cases, tmp_path)
    for line in summary(seed, cases):
        tally(line)
    texts = [f"{wrong[case.index]}\n{case.reproduction()}" for case in cases if case.index in wrong]
    assert not wrong, f"{len(wrong)} of {len(cases)} cases are wrong\n\n" + "\n\n".join(texts[:_SHOWN])
    if len(cases) == CASES:
        assert len({case.identity for case in cases}) >= 0.95 * CASES
        assert sum(map(large, cases)) >= 0.6 * CASES


@pytest.mark.parametrize(
    ("seed", "start", "count", "dtypes"),
    [
        pytest.param(seed, start, count, dtypes, marks=pytest.mark.stress if start else ())
        for seed, count, dtypes, parts in ((WHOLE_SEED, WHOLE_CASES, WHOLE, 2), (OTHER_SEED, OTHER_CASES, OTHER, 6))
        for start in range(0, parts * count, count)
    ],
)
def test_other_element_types_agree_with_the_reference(seed, start, count, dtypes, tmp_path: Path) -> None:
    """Whole numbers wrap around, complex ones and those of 16 bits are off by rounding alone."""
    cases = [make_case(seed, index) for index in range(start, start + count)]
    wrong = judged(cases, tmp_path)
    assert not wrong, "\n\n".join(f"{text}\n{cases[index - start].reproduction()}" for index, text in wrong.items())
    assert {case.problem.dtype for case in cases} == set(dtypes)


@pytest.mark.parametrize("seed", seeds())
@pytest.mark.parametrize(
    ("family", "count", "many"), [("streaming", STREAMING, 0.6), *((family, CHANGED, 0.25) for family in STRATEGIES)]
)
def test_other_families_agree_with_the_reference(family, count, many, seed, tally) -> None:
    cases = drawn(family, seed, count)
    several = sum(map(many_tiles if family == "streaming" else large, cases))
    tally(f"{family}, seed {seed}: {count} cases, {several} of many tiles, {sum(c.strict for c in cases)} strict")
    agreed(cases)
    assert several >= many * count


@pytest.mark.parametrize("seed", seeds()[:1])
@pytest.mark.parametrize(
    ("change", "family"),
    [
        pytest.param(name, family, marks=() if family in change.families else pytest.mark.stress)
        for name, change in CHANGES.items()
        for family in EVERY
    ],
)
def test_changed_programs_agree_with_the_reference(change: str, family: str, seed: int) -> None:
    agreed(drawn(family, seed, CHANGES[change].count, CHANGES[change].make))


@pytest.mark.parametrize(
    ("change", "family", "dtypes", "count"),
    [(name, *each) for name, change in CHANGES.items() for each in change.others],
)
def test_changed_programs_of_other_element_types_agree_with_the_reference(change, family, dtypes, count) -> None:
    pytest.importorskip("ml_dtypes")
    agreed(drawn(family, seeds()[0], count, CHANGES[change].make, dtypes))


def test_changed_programs_of_whole_numbers_wrap_around() -> None:
    agreed([with_places(make_case(WHOLE_SEED, index)) for index in range(4 * len(WHOLE))])
    agreed([with_operators(make_case(WHOLE_SEED, index)) for index in range(5 * len(WHOLE))])


def test_complex_numbers_and_those_of_16_bits_under_streaming_tiles() -> None:
    cases = drawn("streaming", OTHER_SEED, OTHER_CASES)
    assert {case.problem.dtype for case in cases} == set(OTHER)
    agreed(cases)


@pytest.mark.stress
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("family", EVERY)
@pytest.mark.parametrize("change", CHANGES)
def test_many_changed_programs(change: str, family: str, chunk: int, tally: Callable[[str], None]) -> None:
    count = int(os.environ.get("TILEWRIGHT_LAWS_CHANGED", CHANGES[change].many))
    wrong = failures(drawn(family, CHANGES[change].seed + DRAW + chunk, count, CHANGES[change].make))
    tally(f"{change}, {family}, chunk {chunk}: {count} random programs, {len(wrong)} wrong")
    assert not wrong, "\n\n".join(wrong[:_SHOWN])


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(100, 108))
def test_many_programs_with_older_levels_in_streaming_tiles(seed: int) -> None:
    def older(case: LawCase) -> LawCase | None:
        program = case.problem.program
        return case if max(program.history(field) for field in program.updated) > 1 else None

    agreed(drawn("streaming", seed + DRAW, STREAMING, older))


@pytest.mark.parametrize("index", [20, 34])
def test_conditions_on_faces_that_read_further_behind_have_the_rows_for_it(index: int) -> None:
    plain = streaming_case(131_001, index)
    assert plain is not None
    case = legal(with_faces(plain))
    assert (plain.tiling.rows, case.tiling.rows) == (2, 3)
    for strict in (False, True):
        agreed([replace(case, strict=strict)])


def test_places_and_steps_change_results() -> None:
    moved = 0
    cases = drawn("none", seeds()[0], 40, with_places)
    for case in cases:
        plain = make_case(case.seed, case.index)
        kernel = NumpyKernel(plan=Plan(problem=case.problem, target=Target(backend="numpy")))
        pairs = ((case.problem, case.values), (replace(plain.problem, steps=case.problem.steps), plain.values))
        results = [kernel.run(p, Inputs(arrays=case.arrays(), scalars=scalars), 1) for p, scalars in pairs]
        moved += any(results[0][f].tobytes() != results[1][f].tobytes() for f in results[0])
    assert moved >= 0.8 * len([case for case in cases if case.problem.steps])


def test_every_operator_is_drawn() -> None:
    cases = [with_operators(make_case(seed, index)) for seed in (7, WHOLE_SEED) for index in range(100)]
    nodes = [node for case in cases for each in case.problem.program.statements for node in each.tape]
    assert {getattr(node, "op", None) for node in nodes} >= FLAT | {"remainder", "atan2", "tan", "pow"}


def test_periodic_grids_in_blocks_agree_with_the_reference() -> None:
    wrap = (Boundary(kind="wrap"),) * 2
    wrong = []
    blocks = 0
    for case in drawn("streaming", seeds()[0], 12, with_places):
        sides = tuple((wrap,) * len(each) for each in case.problem.boundaries)
        one = replace(case, problem=replace(case.problem, boundaries=sides), strict=False)
        kernel = prepared(one.problem, Target(backend="c", threads=2), case.tiling, strict=False)
        blocks += kernel.plan.block is not None
        text = verdict(one, kernel.run(one.problem, Inputs(arrays=one.arrays(), scalars=one.values), 2))
        wrong += [f"{text}\n{one.reproduction()}"] if text else []
    assert not wrong, "\n\n".join(wrong[:_SHOWN])
    assert blocks >= 3


def four_dimensional(seed: int, count: int) -> list[LawCase]:
    """Cases in four dimensions; some compute with places, further operators, or conditions on faces."""
    changes: tuple[Callable[[LawCase], LawCase], ...] = (unchanged, with_places, with_operators, with_faces)
    cases = [make_case(seed, index, 4) for index in range(count)]
    return [
        case if "int" in case.problem.dtype else changes[index % len(changes)](case) for index, case in enumerate(cases)
    ]


@pytest.mark.parametrize(("seed", "count"), [(7, FOUR), (WHOLE_SEED, FOUR), (OTHER_SEED, 4 * len(OTHER))])
def test_four_dimensions_agree_with_the_reference(seed: int, count: int) -> None:
    if seed == OTHER_SEED:
        pytest.importorskip("ml_dtypes")
    cases = four_dimensional(seed, count)
    assert {case.problem.program.rank for case in cases} == {4}
    agreed(cases)


@pytest.mark.stress
@pytest.mark.parametrize("chunk", range(4))
def test_many_programs_in_four_dimensions(chunk: int) -> None:
    agreed(four_dimensional(94_000 + DRAW + chunk, 120))


@tw.stencil
def spread(u, a):  # type: ignore[no-untyped-def]
    """Heat in four dimensions."""
    around = sum(u[tuple(sign * (at == axis) for at in range(4))] for axis in range(4) for sign in (-1, 1))
    return u[0, 0, 0, 0] + a * (around - 8 * u[0, 0, 0, 0])


GRID = np.random.default_rng(4).random((6, 7, 8, 9))


def test_verbs_take_four_dimensions_and_chosen_tiles_are_none() -> None:
    made = tw.run(spread, GRID, steps=1, boundary="wrap", backend="c", a=0.05, record=True)
    assert (made.backend, made.tiling.family) == ("c", none.FAMILY)
    assert tw.predict(spread, shape=GRID.shape, steps=4).tiling.family == none.FAMILY
    assert tw.sparse.from_stencil(spread, shape=(4, 4, 4, 4), a=0.05).shape == (256, 256)
    gradient = tw.vjp(spread, GRID, steps=2, a=0.05, boundary="reflect")[1](np.ones_like(GRID))
    np.testing.assert_allclose(np.asarray(gradient[0] if isinstance(gradient, tuple) else gradient), 1.0, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        *(
            (lambda _, family=family: tw.run(spread, GRID, steps=4, a=0.05, tiling=family), r"'spread'.*4")
            for family in sorted(set(FAMILIES) - {none.FAMILY})
        ),
        *(
            (
                lambda _, machine=machine: tw.predict(spread, shape=GRID.shape, steps=4, machine=machine),
                "1 to 3 dimensions, got 4",
            )
            for machine in ("h200", "gtx980")
        ),
        (
            lambda folder: tw.run(spread, GRID, steps=4, a=0.05, every=2, out=f"{folder}/u.vti"),
            "up to 3 axes, got 4",
        ),
    ],
)
def test_what_four_dimensions_cannot_have_is_one_sentence(call, said: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=said):
        call(tmp_path)


def watched(cases: Sequence[LawCase], capfd: pytest.CaptureFixture[str]) -> None:
    """Fail where kernels of thread blocks compute something else, race, or reach outside their arrays."""
    for case in cases:
        wrong = interpreted(case, capfd)
        assert not wrong, f"{wrong}\n{case.tiling}\n{case.reproduction()}"


@pytest.mark.parametrize("seed", seeds())
def test_streaming_tiles_of_thread_blocks_agree_with_the_reference(seed, capfd) -> None:
    pytest.importorskip("pyopencl")
    watched(first(BLOCKS, functools.partial(block_case, seed)), capfd)


@pytest.mark.parametrize("index", [36, 104, 150])
def test_older_versions_that_no_step_of_a_band_reads_when_they_are_youngest(index, capfd) -> None:
    pytest.importorskip("pyopencl")
    case = block_case(5, index)
    assert case is not None
    watched([case], capfd)


@pytest.mark.stress
def test_many_streaming_tiles_of_thread_blocks_agree_with_the_reference(capfd) -> None:
    pytest.importorskip("pyopencl")
    watched(first(MANY_BLOCKS, functools.partial(block_case, 5 + DRAW)), capfd)


class Watched(Poisoned):
    """Keeps what was taken last: a run's memory."""

    def take(self, size):
        self.last = super().take(size)
        return self.last


def test_a_single_band_writes_to_the_memory_of_its_threads_only() -> None:
    """It reads the caller's arrays and writes the results; the places of versions before that memory stay poisoned."""
    cases, below = [], 0
    for case in endless(functools.partial(streaming_case, 31)):
        problem = replace(case.problem, steps=1)
        sides = problem.program.reach[-1]
        if not case.strict and sides[0] != sides[1]:
            cases.append(replace(case, problem=problem))
            below += sides[0] > sides[1]
        if len(cases) >= FEW and below >= FEW // 2:
            break
    source = emit_tilings([(case.problem, case.tiling) for case in cases])
    for case, kernel in zip(cases, cpu.stencil_kernels(source, tools()), strict=True):
        inputs, memory = Inputs(arrays=case.arrays(), scalars=dict(case.scalars)), Watched()
        assert direct.applies(kernel, case.problem, inputs)
        for threads in (1, 2):
            result = direct.execute(kernel, case.problem, inputs, threads, memory)
            own = memory.last[: memory.last.nbytes - kernel.layout.scratch * threads]
            assert (own == own[0]).all()
            assert not memory.torn() + verdict(case, result), case


def test_poison_is_no_value_and_its_fences_are_watched() -> None:
    memory = Poisoned()
    buffer = memory.take(64)
    assert np.all(buffer == 0x7F)
    buffer[:] = 0
    assert not memory.torn()
    for outside in (-1, 64):
        buffer = memory.take(64)
        buffer.base[buffer.ctypes.data - buffer.base.ctypes.data + outside] = 0
        assert "outside" in memory.torn()


@functools.cache
def tiled(family: str) -> list[LawCase]:
    """A handful of large tiled cases of the generator that read across tiles on every axis."""
    fit = (
        case
        for case in endless(functools.partial(make_case, FIXED_SEEDS[0]))
        if case.tiling.family == family
        and case.problem.dtype != "int32"
        and all(min(pair) >= 1 for pair in case.problem.program.reach)
        and large(case)
    )
    return list(itertools.islice(fit, FEW))


def steep(family: str) -> list[LawCase]:
    """The first large cases of a strategy, of floating-point numbers, whose every axis is read; diamonds the steepest.

    No more than 80 are looked at.
    """
    cases = []
    for case in itertools.islice(endless(functools.partial(strategy_case, family, 1)), 80):
        if case.problem.dtype != "int32" and min(map(max, case.problem.program.reach)) and large(case):
            least = diamond.least_pitch(case.problem, case.tiling.time) if family == diamond.FAMILY else 0
            space = (least + least % 2 or case.tiling.space[0], *case.tiling.space[1:])
            cases.append(replace(case, tiling=replace(case.tiling, space=space)))
        if len(cases) == FEW - 2:
            return cases
    raise AssertionError(f"{len(cases)} large cases of {family}")


def far_reading() -> list[LawCase]:
    """Streaming cases of many tiles that read neighbours."""
    cases = drawn("streaming", 1, STREAMING)
    return [case for case in cases if max(map(max, case.problem.program.reach)) > 0 and many_tiles(case)][:FEW]


def shallow(kind: type) -> Callable[..., object]:
    """Tiles that lean by one too little."""
    return lambda **sizes: kind(**{**sizes, "slope": max(0, sizes["slope"] - 1)})


def narrow(**sizes: int) -> Diamond:
    """A diamond that is too steep."""
    return Diamond(**{**sizes, "pitch": max(2, sizes["pitch"] - 2)})


def shifted(hexagon: Hexagon, colour: int, index: int) -> int:
    """An origin that is off by one in every other wavefront."""
    return index * hexagon.pitch + colour * (hexagon.base + hexagon.slope * (hexagon.half - 1) + 1)


def short(reach: Callable[..., tuple[tuple[int, int], ...]]) -> Callable[..., tuple[tuple[int, int], ...]]:
    """Halos that are short by one."""
    return lambda *given: tuple((max(0, low - 1), max(0, high - 1)) for low, high in reach(*given))


ERRORS = {
    "slope": (prism, "Hexagon", shallow(Hexagon)),
    "origin": (Hexagon, "space_origin", shifted),
    "pitch": (Hexagon, "pitch", property(lambda self: self.width + self.base + 1)),
    "classic cut": (prism, "Skew", shallow(Skew)),
    "parallelogram": (skewed, "Skew", shallow(Skew)),
    "diamond": (prism, "Diamond", narrow),
    "reach": (pipeline, "_reach", short(pipeline._reach)),
}


@pytest.mark.parametrize(
    ("error", "family"),
    [
        *covering(["slope", "origin", "pitch"], ["hexagonal", "hybrid"]),
        ("classic cut", "hybrid"),
        ("parallelogram", skewed.FAMILY),
        ("diamond", diamond.FAMILY),
        ("reach", streaming.FAMILY),
    ],
)
def test_an_off_by_one_in_a_tile_is_found(error, family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if family == streaming.FAMILY:
        cases, wrong = far_reading(), lambda cases: sum(map(bool, run_all(copy.deepcopy(cases))))
    elif family in STRATEGIES:
        cases, wrong = steep(family), lambda cases: sum(map(bool, run_all(cases)))
    else:
        cases, wrong = tiled(family), lambda cases: len(judged(cases, tmp_path))
    assert wrong(cases) == 0
    monkeypatch.setattr(*ERRORS[error])
    assert wrong(cases) >= len(cases) // 2
