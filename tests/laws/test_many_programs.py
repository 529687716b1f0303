"""The laws in bulk: at least 20,000 random programs in the stress run, 25 kernels to a unit of C.

A chunk holds programs of every front end (built, traced from a function, read from loops in C or from an annotation,
image pipelines, annotated loop nests with random transforms; recurrences have a law of their own) and of every
generator: hexagonal, hybrid and untiled ones, streaming, skewed and diamond tiles. Every fourth chunk is
compiled as users compile, the others without optimisation, which is seven times quicker.

``TILEWRIGHT_LAWS_CHUNKS=3:7`` runs some of the chunks; a failure prints the seed and the case. With
``TILEWRIGHT_LAWS_LOG=FILE`` a line per chunk is added to a file, and chunks that it holds are not run again.
"""

import functools
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tilewright.base.errors import TilewrightError
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime import call
from tilewright.runtime.toolchains.cpu import Toolchain
from tilewright.schedules.tiling import NONE
from tilewright.workloads.pipelines import call as runtime_pipelines

from . import frontends, harness, nests, pipelines
from .draws import STRATEGIES as FAMILIES
from .draws import drawn, endless, strategy_case
from .generator import DRAW, LawCase, make_case
from .harness import Poisoned, compile_cases, interpreted, judge, legal, tools

CHUNKS = 100
GENERATED, STREAMING, STRATEGIES = 110, 25, 15
"""Programs per chunk: of the generator, in streaming tiles, and per family of the strategies."""
PIPELINES, NESTS = 20, 24
AS_USERS = 4
"""Every so many chunks one is compiled with the package's own flags."""
SEED = 77_000 + DRAW
ON_DEVICE = 12
"""Programs per chunk of the interpreter of GPU kernels, which is slow."""
DEVICE_CHUNKS = 4
_DEVICE_CELLS = 1500

pytestmark = [pytest.mark.stress, pytest.mark.skipif(tools() is None, reason="no C compiler")]


def chunks() -> list[int]:
    """The chunks that are run."""
    first, _, last = os.environ.get("TILEWRIGHT_LAWS_CHUNKS", f"0:{CHUNKS}").partition(":")
    return list(range(int(first), int(last or int(first) + 1)))


def _compiler(chunk: int) -> Toolchain:
    compiler = tools()
    assert compiler is not None
    return compiler if chunk % AS_USERS == 0 else pipelines.with_level(compiler, "-O0")


def _written(cases: list[LawCase]) -> tuple[dict[int, Problem], Counter[str]]:
    """What the kernels of cases are made of: every case is written for one of the front ends and read back."""
    found: dict[int, Problem] = {}
    counts: Counter[str] = Counter()
    for case in cases:
        turn = case.index % len(frontends.NAMES)
        for name in (*frontends.NAMES[turn:], frontends.NAMES[0]):
            problem = frontends.written_as(name, case.problem)
            if problem is not None:
                found[case.index] = problem
                counts[name] += 1
                break
    return found, counts


def _pictures(seed: int, compiler: Toolchain, folder: Path) -> list[str]:
    """What is wrong with random image pipelines."""
    cases = [pipelines.pipeline_case(seed, index) for index in range(PIPELINES)]
    return [f"{text}: {cases[i]}" for i, text in pipelines.run_all(cases, compiler, folder, Poisoned()).items()]


def _loops(seed: int, compiler: Toolchain, folder: Path) -> list[str]:
    """What is wrong with random annotated loops."""
    failures = []
    for number, part in enumerate(nests.batches([nests.nest_case(seed, index) for index in range(NESTS)])):
        texts = {f"nest{case.index}": nests.unit(case, f"nest{case.index}") for case in part}
        library = nests.results(texts, folder / f"nests{number}", compiler.command)
        for case in part:
            text = nests.wrong(case, library, f"nest{case.index}")
            failures += [f"nest {case.index} of seed {seed}: {text}: {case.text}"] if text else []
    return failures


def _done(chunk: int) -> bool:
    """Whether a log says that a chunk passed."""
    log = Path(os.environ.get("TILEWRIGHT_LAWS_LOG", os.devnull))
    lines = log.read_text(encoding="utf-8").splitlines() if log.is_file() else []
    return any(line.startswith(f"chunk {chunk}: ") and line.endswith(" 0 wrong") for line in lines)


@pytest.mark.parametrize("chunk", chunks())
def test_a_chunk_of_random_programs(chunk: int, tmp_path: Path, monkeypatch, tally: Callable[[str], None]) -> None:
    if _done(chunk):
        pytest.skip("the log says that it passed")
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(call, "_loaded", {})
    monkeypatch.setattr(runtime_pipelines, "_THREADED_CELLS", 300)
    seed, compiler = SEED + chunk, _compiler(chunk)
    generated = [legal(make_case(seed, index)) for index in range(GENERATED)]
    problems, fronts = _written(generated)
    built = compile_cases(generated, tmp_path, problems=problems, compiler=compiler)
    shares: list[float] = []
    wrong = judge(generated, built, tmp_path, shares=shares)
    failures = [f"{wrong[case.index]}\n{case.reproduction()}" for case in generated if case.index in wrong]
    others = drawn("streaming", seed, STREAMING)
    for family in FAMILIES:
        others += drawn(family, seed, STRATEGIES)
    failures += harness.failures(others, compiler, shares)
    failures += [*_pictures(seed, compiler, tmp_path / "pipelines"), *_loops(seed, compiler, tmp_path)]
    every = [*generated, *others]
    fronts.update({"builder": len(others), "pipeline": PIPELINES, "annotated loops": NESTS})
    distinct = len({case.identity for case in every})
    exact = sum(case.strict for case in every)
    said = ", ".join(f"{count} {name}" for name, count in sorted(fronts.items()))
    line = f"chunk {chunk}: {fronts.total()} random programs ({said}), {exact} bit for bit, "
    line += f"errors up to {max(shares):.3f} of the bound, {len(failures)} wrong"
    tally(line)
    with Path(os.environ.get("TILEWRIGHT_LAWS_LOG", os.devnull)).open("a", encoding="utf-8") as log:
        log.write(line + "\n")
    assert not failures, f"{len(failures)} of {fronts.total()} are wrong\n\n" + "\n\n".join(failures[:3])
    assert distinct >= 0.97 * len(every)
    assert len(fronts) == len(frontends.NAMES) + 2


def _device_case(seed: int, index: int) -> LawCase | None:
    """A small case that GPU kernels can compute, or None."""
    case = strategy_case(FAMILIES[index // 2 % len(FAMILIES)], seed, index) if index % 2 else make_case(seed, index)
    if case is None or case.problem.cells > _DEVICE_CELLS or case.problem.steps > 8 or case.tiling == NONE:
        return None
    return case


@pytest.mark.parametrize("chunk", range(DEVICE_CHUNKS))
def test_random_programs_in_an_interpreter_of_gpu_kernels(chunk: int, capfd, tally: Callable[[str], None]) -> None:
    """Under Oclgrind, which also reports races and accesses outside; what has no GPU kernel says so in one sentence."""
    done, without, failures = 0, 0, []
    for case in endless(functools.partial(_device_case, SEED + 500 + chunk)):
        try:
            text = interpreted(case, capfd)
        except TilewrightError:
            without += 1
            continue
        failures += [f"{text}\n{case.reproduction()}"] if text else []
        done += 1
        if done == ON_DEVICE or case.index > 3000:
            break
    tally(f"interpreted, chunk {chunk}: {done} random programs, {len(failures)} wrong; {without} have no kernel")
    assert not failures, "\n\n".join(failures[:3])
    assert done == ON_DEVICE


def test_the_chunks_hold_what_they_promise() -> None:
    assert CHUNKS * (GENERATED + STREAMING + len(FAMILIES) * STRATEGIES + PIPELINES + NESTS) >= 20_000
