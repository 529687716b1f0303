"""The laws in bulk: at least 20,000 random programs in the stress run, 25 kernels to a unit of C.

A chunk holds programs of every generator: hexagonal, hybrid and untiled ones, streaming, skewed, diamond and overlapped
tiles. ``TILEWRIGHT_LAWS_CHUNKS=3:7`` runs some of the chunks; a failure prints the seed and the case.
"""

import os
import re
from pathlib import Path

import pytest

from tilewright.codegen.emit import emit_all
from tilewright.codegen.gpu_emit import emit_device
from tilewright.runtime import cpu, gpu, opencl
from tilewright.runtime.session import Inputs
from tilewright.tilings import catalogue
from tilewright.tilings.legality import Legal
from tilewright.tilings.tiling import NONE

from . import test_random_strategies, test_random_streaming
from .generator import LawCase, make_case
from .harness import BATCH, compile_cases, judge, tools, verdict
from .test_random_strategies import FAMILIES, strategy_case
from .test_random_streaming import Poisoned, streaming_case

CHUNKS = 100
GENERATED, STREAMING, STRATEGIES = 120, 35, 17
"""Programs per chunk: of the generator, in streaming tiles, and per family of the strategies."""
SEED = 77_000
ON_DEVICE = 12
"""Programs per chunk of the interpreter of GPU kernels, which is slow."""
DEVICE_CHUNKS = 4
_DEVICE_CELLS = 1500

pytestmark = [pytest.mark.stress, pytest.mark.skipif(tools() is None, reason="no C compiler")]


def chunks() -> list[int]:
    """The chunks that are run."""
    first, _, last = os.environ.get("TILEWRIGHT_LAWS_CHUNKS", f"0:{CHUNKS}").partition(":")
    return list(range(int(first), int(last or int(first) + 1)))


def _legal(cases: list[LawCase]) -> list[LawCase]:
    for case in cases:
        answer = catalogue.check(case.problem, case.tiling)
        assert isinstance(answer, Legal), f"{answer}\n{case.reproduction()}"
    return cases


def _drawn(make, count: int) -> list[LawCase]:
    """The first cases that exist."""
    found: list[LawCase] = []
    index = 0
    while len(found) < count:
        case = make(index)
        index += 1
        if case is not None:
            found.append(case)
    return found


def _in_process(cases: list[LawCase]) -> dict[int, str]:
    """Run cases through the package's own run time, on poisoned memory; what is wrong, by place."""
    wrong: dict[int, str] = {}
    for strict in (False, True):
        chosen = [place for place, case in enumerate(cases) if case.strict is strict]
        for start in range(0, len(chosen), BATCH):
            part = chosen[start : start + BATCH]
            source = emit_all([(cases[i].problem, cases[i].tiling) for i in part], strict=strict)
            for i, kernel in zip(part, cpu.compile_source(source, tools()), strict=True):
                inputs = Inputs(arrays=cases[i].arrays(), scalars=dict(cases[i].scalars))
                result = cpu.execute(kernel, cases[i].problem, inputs, threads=2, workspace=Poisoned())
                text = verdict(cases[i], result)
                if text:
                    wrong[i] = text
    return wrong


@pytest.mark.parametrize("chunk", chunks())
def test_a_chunk_of_random_programs(chunk: int, tmp_path: Path, monkeypatch, law_report: list[str]) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(cpu, "_loaded", {})
    seed = SEED + chunk
    generated = _legal([make_case(seed, index) for index in range(GENERATED)])
    wrong = judge(generated, compile_cases(generated, tmp_path), tmp_path)
    failures = [f"{wrong[case.index]}\n{case.reproduction()}" for case in generated if case.index in wrong]
    others = _drawn(lambda index: streaming_case(seed, index), STREAMING)
    for family in FAMILIES:
        others += _drawn(lambda index, family=family: strategy_case(family, seed, index), STRATEGIES)
    failures += [
        f"seed {seed}, case {others[place].index}, {others[place].tiling}, {others[place].problem}: {text}"
        for place, text in _in_process(others).items()
    ]
    every = [*generated, *others]
    distinct = len({case.identity for case in every})
    exact = sum(case.strict for case in every)
    law_report.append(
        f"chunk {chunk}: {len(every)} random programs, {distinct} distinct, {exact} bit for bit, {len(failures)} wrong"
    )
    assert not failures, f"{len(failures)} of {len(every)} are wrong\n\n" + "\n\n".join(failures[:3])
    assert distinct >= 0.97 * len(every)


def _device_case(seed: int, index: int) -> LawCase | None:
    """A small case that GPU kernels can compute, or None."""
    families = {0: lambda: make_case(seed, index), 1: lambda: strategy_case(FAMILIES[index % 3], seed, index)}
    case = families[index % 2]()
    if case is None or case.problem.cells > _DEVICE_CELLS or case.problem.steps > 8 or case.tiling == NONE:
        return None
    return case


@pytest.mark.parametrize("chunk", range(DEVICE_CHUNKS))
def test_random_programs_in_an_interpreter_of_gpu_kernels(chunk: int, capfd, law_report: list[str]) -> None:
    """Under Oclgrind, which also reports races and accesses outside; what has no GPU kernel says so in one sentence."""
    from tilewright.base.errors import TilewrightError

    opencl.prepare_oclgrind()
    device = opencl.select("oclgrind")
    done, without, failures = 0, 0, []
    index = 0
    while done < ON_DEVICE and index < 3000:
        case = _device_case(SEED + 500 + chunk, index)
        index += 1
        if case is None:
            continue
        try:
            source = emit_device(case.problem, case.tiling, "opencl", strict=case.strict)
            session = gpu.GpuSession(
                gpu.load(device, source, case.tiling),
                case.problem,
                Inputs(arrays=case.arrays(), scalars=dict(case.scalars)),
            )
        except TilewrightError:
            without += 1
            continue
        capfd.readouterr()
        try:
            session.advance(case.problem.steps)
            text = verdict(case, session.results())
        finally:
            session.close()
        said = capfd.readouterr()
        if re.search("race|invalid|uninitialized", (said.err + said.out).lower()):
            text += said.err[:500]
        failures += [f"{text}\n{case.reproduction()}"] if text else []
        done += 1
    law_report.append(
        f"interpreted, chunk {chunk}: {done} random programs, {len(failures)} wrong; {without} have no kernel"
    )
    assert not failures, "\n\n".join(failures[:3])
    assert done == ON_DEVICE


def test_the_chunks_hold_what_they_promise() -> None:
    assert CHUNKS * (GENERATED + STREAMING + len(FAMILIES) * STRATEGIES) >= 20_000
    assert test_random_strategies.BATCH == test_random_streaming.BATCH == BATCH
