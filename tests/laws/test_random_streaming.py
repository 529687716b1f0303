"""The law for streaming tiles: they compute what the reference computes, whatever the program, boundary and sizes.

Streaming kernels bring their own memory, so these cases run through the package's own run time, on poisoned buffers.
``TILEWRIGHT_LAWS_SEED`` replaces the seeds; a failure prints the seed, the case and its tiling.
"""

import copy
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.counting import exact_counts

from tilewright.driver import emit_tilings
from tilewright.runtime import cpu, direct
from tilewright.runtime.session import Inputs
from tilewright.schedules import catalogue
from tilewright.schedules.families import streaming
from tilewright.schedules.family import Legal
from tilewright.schedules.streaming import levels as pipeline
from tilewright.schedules.tiling import Tiling

from .generator import DRAW, OTHER, OTHER_SEED, LawCase, make_case, weighted_program
from .harness import BATCH, Poisoned, computed, tools, verdict
from .test_random_programs import seeds

CASES = 40
"""Per seed."""
SINGLE = 31
FEW = 8
"""Cases that look for a seeded error."""
LEAST_LARGE = 0.6
"""Fraction of the cases with two bands and two tiles."""

pytestmark = pytest.mark.skipif(tools() is None, reason="no C compiler")


def streaming_case(seed: int, index: int) -> LawCase | None:
    """A case of the generator under a random streaming tiling, or None where none is legal."""
    case = make_case(seed, index)
    draw = random.Random(f"streaming/{seed}/{index}")  # noqa: S311  (reproducible, not secret)
    rank = case.problem.program.rank
    if case.problem.rounds and draw.random() < 0.25:
        program = weighted_program(draw, rank)
        sides = case.problem.boundaries[:1] * len(program.fields)
        case = replace(case, problem=replace(case.problem, program=program, boundaries=sides), scalars=())
    limit = {1: 400, 2: 70, 3: 26}[rank]
    shape = tuple(draw.randint(5 if draw.random() < 0.15 else limit // 2, limit) for _ in range(rank))
    levels = draw.choice((1, 2, 3, 4, 6))
    space = tuple(draw.choice((8, 16, 33, 48) if axis == rank - 1 else (5, 9, 16, 40)) for axis in range(rank))
    if rank > 1 and draw.random() < 0.2:  # tiles as wide as the grid: rows stay lifted between bands
        shape, space = (*shape[:-1], draw.randint(172, 260)), (*space[:-1], 264)
    steps = draw.randint(0, levels) if draw.random() < 0.15 else draw.randint(levels + 1, 3 * levels + 1)
    problem = replace(case.problem, shape=shape, steps=steps)
    least = streaming.needed_rows(problem)
    rows = 1 if rank == 1 else min(streaming.MAX_ROWS, least + draw.choice((0, 0, 1, 2)))
    tiling = Tiling(family=streaming.FAMILY, time=levels, space=space, rows=rows)
    if not isinstance(catalogue.check(problem, tiling), Legal):
        return None
    return replace(case, problem=problem, tiling=tiling)


def cases_of(seed: int, count: int = CASES) -> list[LawCase]:
    found: list[LawCase] = []
    index = 0
    while len(found) < count:
        case = streaming_case(seed, index)
        index += 1
        if case is not None:
            found.append(case)
    return found


def many_tiles(case: LawCase) -> bool:
    """Whether there are two bands and two tiles, so that halos matter."""
    return case.problem.steps > case.tiling.time and exact_counts(case.problem, case.tiling).tiles_per_wavefront > 1


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
def test_random_programs_under_streaming_tiles(seed, record_property):
    cases = cases_of(seed)
    large = sum(map(many_tiles, cases))
    record_property("coverage", f"streaming, seed {seed}: {len(cases)} cases, {large} with two bands and two tiles")
    assert large >= LEAST_LARGE * len(cases)
    failures = [
        f"seed {seed}, case {case.index}, {case.tiling}, {case.problem}: {text}"
        for case, text in zip(cases, run_all(cases), strict=True)
        if text
    ]
    assert not failures, "\n".join(failures[:3])


def test_complex_numbers_and_those_of_16_bits_under_streaming_tiles():
    cases = cases_of(OTHER_SEED, 25)
    assert {case.problem.dtype for case in cases} == set(OTHER)
    failures = [f"{case.reproduction()}: {text}" for case, text in zip(cases, run_all(cases), strict=True) if text]
    assert not failures, "\n".join(failures[:3])


class Watched(Poisoned):
    """Keeps what was taken last: a run's memory."""

    def take(self, size):
        self.last = super().take(size)
        return self.last


def test_a_single_band_writes_to_the_memory_of_its_threads_only():
    """It reads the caller's arrays and writes the results; the places of versions before that memory stay poisoned."""
    cases, index, below = [], 0, 0
    while len(cases) < FEW or below < FEW // 2:
        case = streaming_case(SINGLE, index)
        index += 1
        if case is None or case.strict:
            continue
        problem = replace(case.problem, steps=1)
        sides = problem.program.reach[-1]
        if sides[0] != sides[1]:
            cases.append(replace(case, problem=problem))
            below += sides[0] > sides[1]
    source = emit_tilings([(case.problem, case.tiling) for case in cases])
    for case, kernel in zip(cases, cpu.stencil_kernels(source, tools()), strict=True):
        inputs, memory = Inputs(arrays=case.arrays(), scalars=dict(case.scalars)), Watched()
        assert direct.applies(kernel, case.problem, inputs)
        for threads in (1, 2):
            result = direct.execute(kernel, case.problem, inputs, threads, memory)
            own = memory.last[: memory.last.nbytes - kernel.layout.scratch * threads]
            assert (own == own[0]).all()
            assert not memory.torn() + verdict(case, result), case


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(100, 108))
def test_many_random_programs_with_older_levels(seed):
    found: list[LawCase] = []
    index = 0
    while len(found) < CASES:
        case = streaming_case(seed + DRAW, index)
        index += 1
        program = case and case.problem.program
        if program and max(program.history(field) for field in program.updated) > 1:
            found.append(case)
    assert not [(case.index, text) for case, text in zip(found, run_all(found), strict=True) if text]


def test_a_reach_one_short_makes_the_law_fail(monkeypatch):
    cases = [case for case in cases_of(1) if max(map(max, case.problem.program.reach)) > 0 and many_tiles(case)][:FEW]
    assert not any(run_all(cases))
    original = pipeline._reach

    def short(*arguments):
        return tuple((max(0, low - 1), max(0, high - 1)) for low, high in original(*arguments))

    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "_reach", short)
        found = sum(map(bool, run_all(copy.deepcopy(cases))))  # nothing is known of these programs
    assert found >= FEW // 2


def test_poison_is_no_value_and_its_fences_are_watched():
    memory = Poisoned()
    buffer = memory.take(64)
    assert np.all(buffer == 0x7F)
    buffer[:] = 0
    assert not memory.torn()
    for outside in (-1, 64):
        buffer = memory.take(64)
        buffer.base[buffer.ctypes.data - buffer.base.ctypes.data + outside] = 0
        assert "outside" in memory.torn()
