"""The laws for what a user writes: programs through every front end, image pipelines, annotated loops.

The stress run of ``test_many_programs.py`` takes many times more of them.
"""

from collections import Counter

import numpy as np
import pytest

from tilewright.programs.stencil import reference
from tilewright.workloads.pipelines import call as runtime_pipelines
from tilewright.workloads.pipelines.lower import group

from . import frontends, nests, pipelines
from .generator import make_case
from .harness import Poisoned, tools

SEED = 4_400
PROGRAMS, PIPELINES, NESTS = 40, 16, 24

compiled = pytest.mark.skipif(tools() is None, reason="no C compiler")


@pytest.fixture
def compiler(monkeypatch):
    monkeypatch.setattr(runtime_pipelines, "_THREADED_CELLS", 300)
    return pipelines.with_level(tools(), "-O0")


def test_programs_come_back_from_every_front_end(tally):
    counts: Counter[str] = Counter()
    for index in range(PROGRAMS):
        case = make_case(SEED, index)
        for name in frontends.NAMES:
            problem = frontends.written_as(name, case.problem)
            if problem is None:
                continue
            counts[name] += 1
            if problem == case.problem:
                continue
            wanted = reference.run(case.problem, case.arrays(), dict(case.scalars))
            got = reference.run(problem, case.arrays(), dict(case.scalars))
            assert all(np.array_equal(got[field], wanted[field], equal_nan=True) for field in wanted), (
                case.reproduction()
            )
    tally("front ends: " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    assert all(counts[name] >= PROGRAMS // 4 for name in frontends.NAMES)


@compiled
def test_random_pipelines(compiler, tmp_path, tally):
    cases = [pipelines.pipeline_case(SEED, index) for index in range(PIPELINES)]
    wrong = pipelines.run_all(cases, compiler, tmp_path, Poisoned())
    tally(f"pipelines: {len(cases)} random ones, {len(wrong)} wrong")
    assert not wrong, "\n".join(f"{text}: {cases[place]}" for place, text in wrong.items())


@compiled
def test_corners_of_several_constants_are_the_innermost_axis(compiler, tmp_path, monkeypatch):
    cases = [pipelines.pipeline_case(1, index) for index in (29, 61, 86, 88)]
    assert not pipelines.run_all(cases, compiler, tmp_path / "right", Poisoned())
    monkeypatch.setattr(group._Rings, "corners", lambda *_: [])
    assert len(pipelines.run_all(cases, compiler, tmp_path / "wrong", Poisoned())) == len(cases)


@compiled
def test_random_annotated_loops(compiler, tmp_path, tally):
    cases = [nests.nest_case(SEED, index) for index in range(NESTS)]
    failures, changed = [], 0
    for number, part in enumerate(nests.batches(cases)):
        texts = {f"nest{case.index}": nests.unit(case, f"nest{case.index}") for case in part}
        library = nests.results(texts, tmp_path / str(number), compiler.command)
        for case in part:
            text = nests.wrong(case, library, f"nest{case.index}")
            failures += [f"{text}: {case.text}"] if text else []
            changed += nests.transformed(case)
    tally(f"annotated loops: {len(cases)} random ones, {changed} changed by transforms, {len(failures)} wrong")
    assert not failures, "\n".join(failures)
    assert changed >= len(cases) // 2
