"""Micro-benchmarks of single operations: what the compiler made of them, what they count, and windows."""

import itertools
import platform
import re
import subprocess
import types

import numpy as np
import pytest

from energy import cpu as energy_micro
from energy.cpu import MicroBenchmark, Pace
from energy.estimates import benchmarks, solve
from tilewright.base.errors import UsageError
from tilewright.machines.defaults import host_machine
from tilewright.runtime.host import describe_cpu
from tilewright.runtime.toolchains.cpu import toolchain

BENCHMARKS = benchmarks("cpu")
MNEMONICS = {
    "awake": (r"pause", 1),
    "add": (r"v?addps", 128),
    "multiply": (r"v?mulps", 128),
    "int_add": (r"v?paddd", 128),
    "int_max": (r"(?:v?pmaxsd|pcmpgtd)", 128),  # the second without SSE4.1
    "divide": (r"v?divps", 128),
}


JOULES = {
    "add": 5e-11, "multiply": 6e-11, "int_add": 3e-11, "int_max": 4e-11, "divide": 7e-10, "l1": 9e-11, "l2": 3e-10,
    "memory": 3e-9,
}  # fmt: skip


class Bench:
    """Benchmarks, a meter and a clock of their own: every call takes its time and its energy, exactly."""

    name = "fake"
    watts = 40.0

    def __init__(self, stuck=""):
        self.now, self.total, self.stuck = 1000.0, 0.0, stuck
        self.works = {name: self._work(name) for name in BENCHMARKS}

    def _work(self, name):
        operations = 1e10 if name in JOULES else 7.0  # powers must not count theirs

        def call():
            self.now += 0.03
            if name != self.stuck:
                watts = 15.0 if name == "idle" else self.watts
                self.total += 0.03 * watts + JOULES.get(name, 0.0) * operations

        return MicroBenchmark(call=call, operations=operations)

    def clock(self):
        return self.now

    def joules(self):
        return self.total

    def close(self):
        pass


def test_windows_are_full_and_constants_come_out():
    bench = Bench()
    windows = energy_micro.run_rounds(bench.works, bench, Pace(window=1.0, rounds=2, cool=0.0), clock=bench.clock)
    assert [each.benchmark for each in windows] == [*BENCHMARKS] * 2
    assert all(1.0 <= each.seconds < 1.04 for each in windows)
    assert all((each.operations == 0) == (each.benchmark in {"idle", "awake"}) for each in windows)
    found = {each.name: each.value for each in solve(windows)}
    assert found["idle_watts"] == pytest.approx(15.0)
    assert found["static_watts"] == pytest.approx(40.0)
    assert found["add_joules"] == pytest.approx(5e-11)
    assert found["division_joules"] == pytest.approx(7e-10)
    assert found["shared_word_joules"] == pytest.approx(9e-11)
    assert found["l2_word_joules"] == pytest.approx(3e-10 - 9e-11)
    assert found["global_word_joules"] == pytest.approx(3e-9 - 9e-11)


def test_without_a_meter_only_times_are_kept():
    bench = Bench()
    windows = energy_micro.run_rounds(bench.works, None, Pace(window=1.0, rounds=1, cool=0.0), clock=bench.clock)
    assert all(each.joules is None and each.seconds >= 1.0 for each in windows)


def test_benchmarks_warm_up_before_their_window():
    bench = Bench()
    pace = Pace(window=1.0, rounds=1, cool=0.0, warm=0.5)
    windows = energy_micro.run_rounds(bench.works, bench, pace, clock=bench.clock)
    assert windows[0].start >= 1000.5
    for before, after in itertools.pairwise(windows):
        assert after.start - before.end >= 0.5


def test_a_meter_that_stands_still_is_told():
    bench = Bench(stuck="int_max")
    with pytest.raises(UsageError, match="the meter stood still while 'int_max' ran for"):
        energy_micro.run_rounds(bench.works, bench, Pace(window=1.0, rounds=2, cool=0.0), clock=bench.clock)


@pytest.fixture
def assembly(tmp_path):
    tools = toolchain()
    path = tmp_path / "unit.c"
    path.write_text(energy_micro.text())
    flags = [flag for flag in tools.flags(strict=True) if flag not in {"-shared", "-fopenmp"}]
    made = subprocess.run(
        [*tools.command, *flags, "-S", "-o", "-", str(path)], capture_output=True, text=True, check=True
    )
    return made.stdout


@pytest.mark.optimised
@pytest.mark.skipif(platform.machine() != "x86_64", reason="counts instructions of x86-64")
def test_the_operations_are_really_there(assembly):
    functions = dict(re.findall(r"^tw_energy_(\w+):(.*?)^\s*\.size", assembly, re.MULTILINE | re.DOTALL))
    for name, (mnemonic, count) in MNEMONICS.items():
        lines = re.findall(rf"^\s+{mnemonic}\b(.*)$", functions[name], re.MULTILINE)
        assert len(lines) == count, name
        assert not any("(" in line for line in lines), f"{name} reads memory"
    loads = re.findall(r"^\s+v?mov[au]ps\s+-?\d*\(\S+\), %[xyz]mm\d+$", functions["load"], re.MULTILINE)
    assert len(loads) == 64
    assert not re.findall(r"%[xyz]mm\d+, -?\d*\(", functions["load"])


def test_all_benchmarks_run_and_count(monkeypatch):
    monkeypatch.setattr(energy_micro, "_CALL_SECONDS", 2e-3)
    monkeypatch.setattr(energy_micro, "_MOST_STREAM", 2**22)
    monkeypatch.setattr(energy_micro, "_LEAST_STREAM", 2**22)
    works = energy_micro.prepare(host_machine(describe_cpu()), toolchain(), 3)  # a number that divides no size
    assert tuple(works) == BENCHMARKS
    for name, work in works.items():
        work.call()
        assert (work.operations > 0) == (name not in {"idle", "awake"}), name
        assert work.operations % (3 * 2048) == 0


def test_calls_are_long_although_some_are_held_up(monkeypatch):
    now, calls = [0.0], itertools.count()

    def compiled(_arrays, size):
        repeats = size[2]
        now[0] += 1e-6 * repeats + (0.05 if next(calls) % 3 == 1 else 0.0)  # another process takes the core

    monkeypatch.setattr(energy_micro, "time", types.SimpleNamespace(perf_counter=lambda: now[0]))
    work = energy_micro._work(compiled, np.zeros(16, np.float32), (2048, 2, 0))
    assert work.operations >= 2048 * 2 * 0.02 / 1e-6
