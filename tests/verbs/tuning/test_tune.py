"""Tuning for real: worker processes, a compiler, a log, the wisdom store; and every way to fail in one sweep."""

import ctypes
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import ToolchainError, UsageError
from tilewright.driver import emit_tiling, prepare
from tilewright.plan import read_target
from tilewright.planner import plans, remembered
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.devices import drivers
from tilewright.runtime.kernels import CpuKernel
from tilewright.runtime.store import folder as store
from tilewright.runtime.store import wisdom as kept
from tilewright.runtime.toolchains import cpu as toolchain
from tilewright.schedules.tiling import NONE, parse
from tilewright.tuning.shortlist import LEVELS, shortlist
from tilewright.tuning.spaces.cpu_schedule import choose_body
from tilewright.verbs import wisdom
from tilewright.verbs.predict import choose_tiling
from tilewright.verbs.tuning import meter, trial
from tilewright.verbs.tuning import tune as tuning

SMALL = {"shape": (150, 300), "steps": 16, "progress": False}
FAULTS = {
    "crash": "*(volatile int *)0 = 1;",
    "endless": "for (volatile int i = 0;;) { i = 1; }",
    "wrong": "return;",
    "compile": "#error injected\n",
}
COMPILER = """#!{python} -SE
import json, os, sys, time
faults = json.load(open({table!r}))
arguments = sys.argv[1:]
for path in arguments:
    if path.endswith(".c"):
        text = open(path).read()
        for entry, code in faults.items():
            start = text.find("void " + entry + "(")
            if start >= 0:
                if code == "hang":
                    time.sleep(1000)
                brace = text.index("{{", start) + 1
                text = text[:brace] + "\\n" + code + "\\n" + text[brace:]
        open(path, "w").write(text)
os.execvp("cc", ["cc", *arguments, "-O0"])
"""


pytestmark = pytest.mark.usefixtures("private_folders", "private_kernels")


@pytest.fixture(autouse=True)
def one_worker(monkeypatch):
    """A worker is a process that imports the package, so tests of one candidate or two start one."""
    monkeypatch.setattr(tuning, "_MOST_WORKERS", 1)


@pytest.fixture
def searched(monkeypatch):
    """What a search would be asked for, in place of the search."""

    class AskedError(Exception):
        pass

    def asked(*given):
        raise AskedError(*given)

    def tune(*arguments, **options):
        with monkeypatch.context() as patch:
            patch.setattr(tuning, "_search", asked)
            with pytest.raises(AskedError) as found:
                tw.tune(*arguments, **options)
        return found.value.args

    return tune


@pytest.fixture
def inject(tmp_path, monkeypatch):
    """Put a compiler in place that spoils the kernels of given tilings."""

    def put(problem, faults):
        table = tmp_path / "faults.json"
        entries = {emit_tiling(problem, parse(tile)).entry: FAULTS.get(kind, kind) for tile, kind in faults.items()}
        table.write_text(json.dumps(entries))
        compiler = tmp_path / "faulty-cc"
        compiler.write_text(COMPILER.format(python=sys.executable, table=str(table)))
        compiler.chmod(0o755)
        monkeypatch.setenv("TILEWRIGHT_CC", str(compiler))

    return put


def test_planning_runs_nothing_and_works_for_any_machine(monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", None)
    ask = {"shape": (64,) * 3, "steps": 64, "machine": "k20c"}
    plan = tw.tune("heat3d", **ask, backend="opencl", effort="none", candidates=7)
    assert len(plan.candidates) == 7
    assert plan.evaluated == 0
    assert plan.space_size > 1000
    assert plan.memory_bytes == 4 * 4 * 64**3
    assert "of memory" in plan.explain()
    assert plan.winner is plan.candidates[0]
    assert all(each.measured_seconds is None and each.outcome is None for each in plan.candidates)
    predicted = [each.predicted_seconds for each in plan.candidates]
    assert predicted == sorted(predicted)
    (first,) = tw.select("heat3d", **ask, within=None, top=1)
    assert (plan.tiling, plan.winner.predicted_seconds) == (first.tiling, first.costs.seconds)
    document = json.loads(json.dumps(plan.to_dict()))
    assert document["winner"]["measured_seconds"] is None
    assert "nothing was run" in plan.explain()


def test_the_metric_decides_the_order_of_a_plan():
    ask = {"shape": (128, 128), "steps": 32, "machine": "gtx980", "effort": "none"}
    by_time, by_traffic = tw.tune("j2d5pt", **ask), tw.tune("j2d5pt", metric="traffic", **ask)
    assert by_traffic.prediction.costs.dram_bytes <= by_time.prediction.costs.dram_bytes
    assert by_traffic.winner.predicted_seconds >= by_time.winner.predicted_seconds


def test_tune_measures_remembers_and_run_uses_it(tmp_path, records):
    plan = tw.tune("j2d5pt", effort="quick", candidates=6, **SMALL)
    assert plan.evaluated == len(plan.candidates) <= 6
    assert plan.confirmed
    assert not plan.interrupted
    tried = {each.tiling: each for each in plan.candidates}
    assert tried[NONE].samples > 1
    for each in plan.candidates:
        low, high = each.range_seconds
        assert each.outcome == "ok"
        assert 0 < low <= each.measured_seconds <= high
    repeated = [each for each in plan.candidates if each.samples == 3]
    assert plan.winner in repeated
    assert plan.winner.measured_seconds == min(each.measured_seconds for each in repeated)
    assert all(each.spread >= 0 for each in repeated)

    problem = plan.problem
    assert remembered(problem, 2) == plan.tiling
    assert remembered(make_problem(program("j2d5pt"), (170, 280), 20), 2) == plan.tiling
    assert remembered(make_problem(program("j2d5pt"), (1700, 280), 20), 2) is None
    assert remembered(problem, 1) is None

    # A repeated tune measures nothing again.
    before = records(tmp_path)
    assert all(math.isfinite(record["seconds"]) for record in before if record["kind"] == "sample")
    again = tw.tune("j2d5pt", effort="quick", candidates=6, **SMALL)
    assert records(tmp_path) == before
    assert again.winner == plan.winner

    u = np.random.default_rng(0).random(SMALL["shape"], dtype=np.float32)
    assert np.array_equal(plan.run(u), tw.run("j2d5pt", u, steps=16, tiling=plan.tiling))
    assert plan.run(u, steps=3).shape == u.shape
    assert "void tw_j2d5pt" in plan.source
    assert str(plan.tiling) in plan.explain()
    assert f"code: {choose_body(plan.problem, plan.tiling)}" in plan.explain().splitlines()


def test_a_problem_that_wraps_is_tuned_in_blocks():
    plan = tw.tune("j2d5pt", shape=(256, 256), steps=16, boundary="wrap", candidates=2, progress=False)
    assert {str(each.outcome) for each in plan.candidates} == {"ok"}
    tiled = [each for each in plan.candidates if each.tiling != NONE]
    assert tiled
    assert remembered(plan.problem, 2) == plan.tiling
    u = np.random.default_rng(0).random((256, 256), dtype=np.float32)
    expected = tw.run("j2d5pt", u, steps=16, boundary="wrap", tiling="none")
    assert np.allclose(tw.run("j2d5pt", u, steps=16, boundary="wrap"), expected, rtol=1e-5, atol=0)


def learned(problem, tiling, here):
    """Keep that a tiling was the best of a problem."""
    entry = kept.Wisdom(
        program=problem.program.name, problem_key=kept.problem_key(problem), dtype="float32", shape=problem.shape,
        steps=16, threads=2, tiling=tiling, seconds=1.0, circumstances=here, when=kept.now(),
    )  # fmt: skip
    kept.remember([entry])


def test_run_takes_wisdom_before_the_models_choice():
    problem, tiling = make_problem(program("j2d5pt"), (150, 300), 16), "hybrid:t=6,s=10x48"
    assert str(choose_tiling(problem)) != tiling
    learned(problem, tiling, kept.circumstances())
    assert str(prepare(problem, read_target("auto")).plan.tiling) == tiling
    assert str(prepare(problem, read_target("auto"), "none").plan.tiling) == "none"
    assert str(prepare(problem, read_target("auto", 1)).plan.tiling) != tiling


def test_stale_wisdom_is_flagged_and_never_used():
    problem = make_problem(program("j2d5pt"), (150, 300), 16)
    learned(problem, "none", replace(kept.circumstances(), version="0.0.1/1/000000000000"))
    with pytest.warns(UserWarning, match="tune again"):
        assert remembered(problem, 2) is None
    assert [each.stale for each in wisdom.known()] == [("version",)]


def test_wisdom_that_is_not_legal_here_is_not_used():
    problem = make_problem(program("star2d4r"), (150, 300), 16)
    learned(problem, "hybrid:t=4,s=1x64", kept.circumstances())
    assert remembered(problem, 2) is None


def test_a_sample_of_all_steps_is_a_whole_run(monkeypatch):
    """What a tiling has copied counts where a run is sampled whole; samples of fewer steps are of the steps alone."""
    problem, runs, run = make_problem(program("j2d5pt"), (64, 64), 8), [], CpuKernel.run
    monkeypatch.setattr(CpuKernel, "run", lambda *given: runs.append(given[1].steps) or run(*given))
    (plan,) = plans(problem, read_target("c", 2), "hybrid:t=4,s=4x32")
    assert trial.sample(plan, (), 8) > 0
    assert set(runs) == {8}
    assert len(runs) > 1  # one to warm up
    runs.clear()
    assert trial.sample(plan, (), 4) > 0
    assert not runs


def test_every_fault_in_one_sweep(inject, searched, monkeypatch, running, wait_until):
    """A crashing, an endless, a wrong, a non-compiling candidate and one whose compiler hangs: the sweep ends well."""
    problem = make_problem(program("j2d5pt"), SMALL["shape"], SMALL["steps"])
    # All of the shortlist is tried, whatever is learnt of the first ones and however slow the machine is now.
    monkeypatch.setitem(LEVELS, "quick", replace(LEVELS["quick"], refine=0.0, seconds=math.inf))
    tuned, _, _, _ = searched("j2d5pt", effort="quick", candidates=8, **SMALL)
    first = [each.tiling for each in shortlist(tuned.family_spaces, 8)]
    # Tilings whose sizes are arguments of one kernel share its faults.
    kernels = {emit_tiling(problem, tiling).entry: str(tiling) for tiling in first if tiling != NONE}
    kinds = ["crash", "endless", "wrong", "compile", "hang"]
    inject(problem, dict(zip(kernels.values(), kinds, strict=False)))
    spoiled = dict(zip(kernels, kinds, strict=False))
    monkeypatch.setattr(tuning, "LIMITS", meter.Limits(compile=5.0, check=4.0))
    monkeypatch.setattr(tuning, "_MOST_WORKERS", 2)
    mark = f"tw-mark-{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv("TW_TEST_MARK", mark)
    plan = tw.tune("j2d5pt", effort="quick", candidates=8, **SMALL)
    outcomes = {str(each.tiling): str(each.outcome) for each in plan.candidates}
    expected = {"crash": "crash", "endless": "timeout", "wrong": "wrong", "compile": "compile", "hang": "timeout"}
    faults = {tile: spoiled.get(emit_tiling(problem, parse(tile)).entry, "") for tile in outcomes}
    assert {kind: outcomes[tile] for tile, kind in faults.items() if kind} == expected
    assert {outcome for tile, outcome in outcomes.items() if not faults[tile]} == {"ok"}
    assert not faults[str(plan.tiling)]
    assert plan.confirmed
    details = {str(each.outcome): each.detail for each in plan.candidates if each.outcome != "ok"}
    assert "SIGSEGV" in details["crash"]
    assert "injected" in details["compile"]
    assert "more than rounding explains" in details["wrong"]
    assert "1 crash" in plan.explain()
    assert wait_until(lambda: not running(mark))


def test_a_candidate_that_is_wrong_only_on_the_users_problem_does_not_win(inject):
    """It passes the check on the small problem and is the fastest; the second schedule finds it out.

    The honest ones take so long that no disturbance of its first sample keeps it from the final.
    """
    shape, steps = (700, 130), 100
    problem = make_problem(program("j2d5pt"), shape, steps)
    planned = tw.tune("j2d5pt", shape=shape, steps=steps, effort="none", candidates=20)
    pick = next(str(each.tiling) for each in planned.candidates if each.tiling != NONE)
    inject(problem, {pick: "if (size[2] == 700) return;"})
    plan = tw.tune("j2d5pt", shape=shape, steps=steps, effort="quick", candidates=4, progress=False)
    (bad,) = [each for each in plan.candidates if str(each.tiling) == pick]
    assert str(bad.outcome) == "wrong"
    assert "differ in" in bad.detail
    assert str(plan.tiling) != pick
    assert plan.confirmed


def test_nothing_ends_in_time(inject, monkeypatch):
    inject(make_problem(program("j1d3pt"), (500,), 1), {"none": "endless"})
    monkeypatch.setattr(tuning, "LIMITS", meter.Limits(check=1.0))
    with pytest.raises(ToolchainError, match=r"candidates could be measured: timeout, .*keep this machine busy"):
        tw.tune("j1d3pt", shape=(500,), steps=1, progress=False)


def test_nothing_compiles(inject):
    problem = make_problem(program("j1d3pt"), (500,), 1)
    inject(problem, {"none": "compile"})
    with pytest.raises(ToolchainError, match=r"none of 1 candidates could be measured: compile, .*injected"):
        tw.tune("j1d3pt", shape=(500,), steps=1, progress=False)
    assert wisdom.known() == ()


def test_a_store_that_cannot_be_written_costs_a_warning_and_no_result(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "file" / "x"))
    with pytest.warns(UserWarning, match="cannot be kept"):
        plan = tw.tune("j1d3pt", shape=(500,), steps=1, progress=False)
    assert plan.winner.measured_seconds > 0


def test_a_session_that_died_in_one_candidate_again_and_again_gives_it_up(tmp_path):
    log = tmp_path / "log.jsonl"
    begin = {"kind": "begin", "tiling": "none"}
    sample = {"kind": "sample", "tiling": "none", "seconds": 1.0, "outcome": "ok", "detail": ""}
    for record in (begin, begin):
        store.append(log, record)
    assert meter.read_history(log).measurements == {}
    store.append(log, begin)
    assert meter.read_history(log).measurements[NONE].outcome == "crash"
    store.append(log, {"kind": "stopped"})
    assert meter.read_history(log).measurements == {}
    store.append(log, sample)
    assert meter.read_history(log).measurements[NONE].seconds == (1.0,)
    store.append(log, {"kind": "restart"})
    assert meter.read_history(log).measurements == {}


def test_programs_with_scalars_coefficients_and_several_fields():
    @tw.stencil
    def heat(u, alpha):
        return u[0, 0] + alpha * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])

    field = np.full((60, 90), 0.1, dtype=np.float32)
    plan = tw.tune(heat, shape=(60, 90), steps=8, alpha=field, candidates=2, progress=False)
    u = np.random.default_rng(0).random((60, 90), dtype=np.float32)
    assert plan.run(u).shape == u.shape
    plan = tw.tune(heat, shape=(60, 90), steps=8, alpha=0.1, effort="none")
    assert np.allclose(plan.run(u), plan.run(u, alpha=0.1))
    assert not np.allclose(plan.run(u), plan.run(u, alpha=0.2))
    with pytest.raises(UsageError, match="has no scalar 'beta'"):
        tw.tune(heat, shape=(60, 90), steps=8, beta=1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effort": "maximal"}, "effort is one of"),
        ({"metric": "joy"}, "metric of tuning"),
        ({"backend": "fortran"}, "backend is one of"),
        ({"backend": "numpy"}, "nothing can be measured"),
        ({"machine": "h200"}, "only this machine's CPU"),
        ({"seconds": -1.0}, "positive number of seconds"),
        ({"candidates": 0}, "whole number of at least 1"),
        ({"dtype": "float31"}, "dtype"),
        ({"steps": 0}, "what is measured has at least one step"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        tw.tune("j2d5pt", **{"shape": (20, 20), "steps": 4, **options})


def test_an_exported_kernel_compiles_with_its_header_and_computes(tmp_path):
    plan = tw.tune("j2d5pt", shape=(40, 70), steps=6, effort="none")
    # A tiling whose kernels need neither scratch memory nor further sizes, whatever the model prefers on this machine.
    plan = replace(plan, winner=replace(plan.winner, tiling=parse("hybrid:t=4,s=4x32")))
    source, header = plan.export(tmp_path / "kernel.c")
    caller = tmp_path / "caller.c"
    text = header.read_text()
    assert str(plan.tiling) in text
    entry = emit_tiling(plan.problem, plan.tiling).entry
    caller.write_text(
        f'#include "kernel.h"\n'
        f"void call(float *u, const int64_t *size) {{ float *field[1] = {{u}}; const float scalar[1] = {{0}};\n"
        f"  const float *constant[1] = {{0}}; {entry}(field, size, scalar, constant); }}\n"
    )
    library = tmp_path / "kernel.so"
    flags = ["-O2", "-march=native", "-fwrapv", "-fno-math-errno", "-fno-trapping-math", "-fopenmp", "-Wall", "-Werror"]
    ignored = ["-Wno-unused", "-Wno-psabi", "-Wno-unknown-pragmas"]
    command = ["cc", "-shared", "-fPIC", *flags, *ignored, str(source), str(caller), "-lm", "-o", str(library)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    u = np.random.default_rng(0).random((40, 70), dtype=np.float32)
    memory = np.stack([u, u])
    size = np.array([6, 2, 40, 70, 70, 2800], dtype=np.int64)
    ctypes.CDLL(str(library)).call(ctypes.c_void_p(memory.ctypes.data), ctypes.c_void_p(size.ctypes.data))
    assert np.allclose(memory[0], tw.run("j2d5pt", u, steps=6), rtol=1e-6, atol=0)
    with pytest.raises(UsageError, match=r"ends in \.c, \.cu, \.cl, got 'kernel\.txt'"):
        plan.export(tmp_path / "kernel.txt")
    with pytest.raises(UsageError, match="cannot be written"):
        plan.export(tmp_path / "nowhere" / "kernel.c")


def test_a_plan_says_when_its_time_was_over():
    ask = {"shape": (5000,), "steps": 8, "candidates": 12, "progress": False}
    plan = tw.tune("j1d3pt", seconds=1e-3, **ask)
    assert plan.exhausted
    assert "tuning goes on from here" in str(plan)
    assert "stopped before its end: this is the best so far" in str(replace(plan, interrupted=True))
    assert plan.to_dict()["exhausted"]
    assert 1 <= plan.evaluated < 12
    assert "the time was over" in plan.explain()


def test_log_paths_depend_on_everything_that_matters(searched):
    given = {"shape": (500,), "steps": 1, "threads": 2, "progress": False}
    changes = ({}, {"shape": (501,)}, {"steps": 2}, {"threads": 1}, {"dtype": "float64"}, {"strict": True})
    logs = [searched("j1d3pt", **{**given, **change})[-1] for change in changes]
    assert len(set(logs)) == len(logs)
    assert searched("j1d3pt", **given)[-1] == logs[0]


def test_the_compiler_is_really_the_faulty_one(inject):
    """The injection itself works: without it the other tests would prove nothing."""
    problem = make_problem(program("j1d3pt"), (500,), 1)
    inject(problem, {"none": "compile"})
    with pytest.raises(ToolchainError, match="injected"):
        toolchain.compile_shared(toolchain.toolchain(), emit_tiling(problem, NONE).text, strict=False)


def test_of_several_devices_of_a_name_the_most_alike_says_what_is_stale(monkeypatch):
    problem, here = make_problem(program("j2d5pt"), (150, 300), 16), kept.circumstances()
    card = replace(here, device="card")
    learned(problem, "none", card)
    others = replace(card, version="0.0.1/1/000000000000"), card
    monkeypatch.setattr(drivers, "present", lambda: others)
    assert [each.stale for each in wisdom.known()] == [()]
