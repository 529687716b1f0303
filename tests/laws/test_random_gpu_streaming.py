"""The law for streaming tiles of thread blocks: under an interpreter they compute what the reference computes.

Random programs of two and three dimensions, several fields, stages and time levels, every boundary that does not wrap,
sizes that are anything legal, on Oclgrind, which must report neither races nor accesses out of bounds.
"""

import dataclasses
import random
import re

import pytest

from tilewright.codegen.gpu.emit import emit_device
from tilewright.runtime.devices import gpu, opencl
from tilewright.runtime.session import Inputs
from tilewright.schedules import catalogue
from tilewright.schedules.family import Legal
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

from .generator import DRAW, LawCase, make_case
from .harness import verdict
from .test_random_programs import seeds

pytest.importorskip("pyopencl")

CASES = 6
"""Per seed."""
MANY = 300
_READS = 30
"""Most reads of a case: every one is written out for every row of a ring."""


def law_case(seed: int, index: int) -> LawCase | None:
    """A random program under a random tiling, or None where none is legal."""
    case = make_case(seed, index)
    draw = random.Random(f"gpu streaming/{seed}/{index}")  # noqa: S311  (reproducible, not secret)
    known = case.problem.program
    if known.rank == 1 or max(map(max, known.reach)) > 3 or known.loads > _READS:
        return None
    space = (draw.randint(1, 9), *(draw.randint(1, 7) for _ in range(known.rank - 1)))
    threads = (1, *(draw.randint(2, 4) for _ in range(known.rank - 2)), draw.randint(4, 9))
    tiling = Tiling(family="streaming", time=draw.randint(1, 3), space=space, threads=threads)
    shape = tuple(draw.randint(1, {2: 20, 3: 9}[known.rank]) for _ in range(known.rank))
    problem = dataclasses.replace(case.problem, shape=shape, steps=draw.randint(0, 5))
    if case.problem.dtype not in {"float32", "float64", "int32", "int64"}:
        return None
    if not isinstance(catalogue.check(problem, tiling), Legal):
        return None
    return dataclasses.replace(case, problem=problem, tiling=tiling)


def cases_of(seed: int, count: int) -> list[LawCase]:
    found: list[LawCase] = []
    index = 0
    while len(found) < count:
        case = law_case(seed, index)
        index += 1
        if case is not None:
            found.append(case)
    return found


def run(case: LawCase) -> str:
    """What is wrong with the result; an empty text where it agrees."""
    opencl.prepare_oclgrind()
    source = emit_device(case.problem, gpu_schedule(case.problem, case.tiling), "opencl", strict=case.strict)
    loaded = gpu.program_of(opencl.select("oclgrind"), source, gpu_schedule(case.problem, case.tiling))
    session = gpu.GpuSession(loaded, case.problem, Inputs(arrays=case.arrays(), scalars=dict(case.scalars)))
    try:
        session.advance(case.problem.steps)
        return verdict(case, session.results())
    finally:
        session.close()


def check(seed: int, count: int, capfd: pytest.CaptureFixture[str]) -> None:
    check_all(seed, cases_of(seed, count), capfd)


def check_all(seed: int, cases: list[LawCase], capfd: pytest.CaptureFixture[str]) -> None:
    for case in cases:
        capfd.readouterr()
        about = f"seed {seed}, case {case.index}, {case.tiling}, {case.problem}"
        wrong = run(case)
        assert not wrong, f"{about}: {wrong}"
        said = "".join(capfd.readouterr())
        assert not re.search("race|invalid|uninitialized", said.lower()), f"{about}: {said[:2000]}"


@pytest.mark.parametrize("seed", seeds())
def test_random_programs_in_streaming_tiles_of_thread_blocks(seed, capfd):
    check(seed, CASES, capfd)


@pytest.mark.parametrize("index", [36, 104, 150])
def test_older_versions_that_no_step_of_a_band_reads_when_they_are_youngest(index, capfd):
    case = law_case(5, index)
    assert case is not None
    check_all(5, [case], capfd)


@pytest.mark.stress
def test_many_random_programs_in_streaming_tiles_of_thread_blocks(capfd):
    check(5 + DRAW, MANY, capfd)
