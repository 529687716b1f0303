"""Metered micro-benchmarks: with a counter, with a recorded trace, and what is refused."""

import functools
import json

import numpy as np
import pytest

from energy import cpu as runtime
from energy import metering as api
from energy.estimates import MeterWindow, benchmarks
from energy_micro import main
from tilewright.base.errors import UsageError
from tilewright.costs.energy.constants import constants
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.machines.files import parse
from tilewright.runtime import power

BENCHMARKS = benchmarks("cpu")
CPU = host_machine(CpuDescription(cores=2, simd_bits=256, l1_bytes=2**15, l2_bytes=2**20, l3_bytes=2**24, clock_hz=3e9))
WATTS = {"idle": 15.0, "awake": 40.0, "add": 50.0, "multiply": 52.0, "int_add": 46.0, "int_max": 48.0, "divide": 45.0,
         "l1": 58.0, "l2": 64.0, "memory": 70.0}  # fmt: skip
COUNT = 2e11


def truth(name):
    return (WATTS[name] - 40.0) * 1.5 / COUNT


@pytest.fixture
def recorded(tmp_path):
    """Windows of 1.5 s and the trace that a meter of 50 samples per second, each off by 1 %, recorded meanwhile."""
    windows, seconds, watts, now = [], [], [], 1_700_000_000.0
    rng = np.random.default_rng(3)
    for number in range(5):
        for name in BENCHMARKS:
            start = now + 0.5
            count = COUNT if name not in {"idle", "awake"} else 0.0
            windows.append(MeterWindow(round=number, benchmark=name, start=start, end=start + 1.5, operations=count))
            moments = np.arange(start - 0.2, start + 1.7, 0.02)
            seconds += moments.tolist()
            watts += (WATTS[name] * (1 + 0.01 * rng.standard_normal(len(moments)))).tolist()
            now = start + 1.7
    log, trace = tmp_path / "windows.csv", tmp_path / "watts.csv"
    api.write_windows(windows, log)
    trace.write_text("seconds,watts\n" + "".join(f"{s!r},{w!r}\n" for s, w in zip(seconds, watts, strict=True)))
    return log, trace


def test_a_recorded_trace_gives_the_constants(recorded, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(api, "as_machine", lambda _: CPU)
    log, trace = recorded
    target = tmp_path / "machine.toml"
    command = ["--meter", str(trace), "--log", str(log)]
    main([*command, "-o", str(target), "--json"])
    found = json.loads(capsys.readouterr().out)["constants"]
    wanted = {"static_watts": 40.0, "idle_watts": 15.0, "shared_word_joules": truth("l1")}
    wanted |= {f"{name}_joules": truth(name) for name in ("add", "multiply", "int_add", "int_max")}
    wanted["global_word_joules"] = truth("memory") - truth("l1")
    for name, value in wanted.items():
        assert found[name]["value"] == pytest.approx(value, rel=0.05), name
        assert found[name]["resolved"], name
    assert sum(found[name]["low"] <= value <= found[name]["high"] for name, value in wanted.items()) >= 7
    known = constants(parse(target.read_text(), "written"))
    assert {known.add_joules.source, known.static_watts.source, known.global_word_joules.source} == {"measured"}
    assert known.add_joules.value == found["add_joules"]["value"]
    assert known.add_joules.high == found["add_joules"]["high"]
    main(command)
    assert "global_word_joules" in capsys.readouterr().out


class Meter:
    """A counter beside benchmarks that take 0.1 s and what :data:`WATTS` says, by its own clock."""

    name = "fake"

    def __init__(self):
        self.now, self.total, self.closed = 5.0, 0.0, False

    def works(self, *_):
        return {
            name: runtime.MicroBenchmark(call=functools.partial(self._call, name), operations=1e9)
            for name in BENCHMARKS
        }

    def _call(self, name):
        self.now += 0.1
        self.total += 0.1 * WATTS[name]

    def joules(self):
        return self.total

    def close(self):
        self.closed = True


@pytest.fixture
def meter(monkeypatch):
    fake = Meter()
    monkeypatch.setattr(power, "rapl", lambda: fake)
    monkeypatch.setattr(runtime, "prepare", fake.works)
    monkeypatch.setattr(runtime, "run_rounds", functools.partial(runtime.run_rounds, clock=lambda: fake.now))
    return fake


def test_a_counter_gives_the_constants_and_keeps_its_windows(meter, tmp_path):
    log = tmp_path / "windows.csv"
    found = api.micro_energy(CPU, log=log, how=api.MeterProtocol(rounds=3, cool=0.0))
    assert meter.closed
    assert found.machine.name == "host-metered"
    assert found.machine.static_watts.value == pytest.approx(40.0)
    assert found.machine.add_joules.value == pytest.approx(10.0 * 0.1 / 1e9)
    assert found.machine.dram_bandwidth == CPU.dram_bandwidth
    assert len(api.read_windows(log)) == 3 * len(BENCHMARKS)


def test_windows_are_logged_for_an_outer_meter(meter, tmp_path):
    log = tmp_path / "windows.csv"
    assert api.log_windows(CPU, log=log, how=api.MeterProtocol(rounds=2, cool=0.0)) == 2 * len(BENCHMARKS)
    assert [each.benchmark for each in api.read_windows(log)] == [*BENCHMARKS] * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"how": api.MeterProtocol(window=0.5)}, "a window lasts 1 to 3600 s, got 0.5 s"),
        ({"how": api.MeterProtocol(window=0.0)}, "a window lasts 1 to 3600 s, got 0 s"),
        ({"how": api.MeterProtocol(window=float("nan"))}, "a window lasts 1 to 3600 s, got nan s"),
        ({"how": api.MeterProtocol(rounds=1)}, "an uncertainty needs 2 to 30 rounds of windows, got 1"),
        ({"how": api.MeterProtocol(cool=-1.0)}, "cooling down takes 0 to 3600 s"),
        ({"meter": "nvml"}, "nvml meters a GPU, and this processor runs"),
        ({"meter": "rapl", "backend": "cuda"}, "rapl meters this processor, and a GPU runs"),
        ({"meter": "nvml:first", "backend": "cuda", "machine": "k20c"}, "a card is a number, got 'first'"),
        ({"meter": "watts.csv"}, "does not say when each benchmark ran"),
        ({"machine": "k20c"}, "single operations are metered on this processor, and k20c is a GPU"),
        ({"backend": "cuda"}, "single operations are metered on a GPU, and host is none"),
        ({"backend": "metal"}, "on the backends c, cuda and opencl, got 'metal'"),
    ],
)
def test_what_cannot_be_metered_is_one_sentence(options, message):
    with pytest.raises(UsageError, match=message):
        api.micro_energy(options.pop("machine", CPU), **options)


def test_no_meter_is_told_before_anything_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(power, "rapl", functools.partial(power.rapl, tmp_path))
    monkeypatch.setattr(runtime, "prepare", lambda *_: pytest.fail("it ran"))
    with pytest.raises(UsageError, match="there is no energy counter of the processor"):
        api.micro_energy(CPU)


def test_traces_too_coarse_and_windows_too_short_are_refused(recorded, tmp_path):
    log, trace = recorded
    rows = trace.read_text().splitlines()
    coarse = tmp_path / "coarse.csv"
    coarse.write_text("\n".join([rows[0], *rows[1::48], rows[-1]]) + "\n")
    with pytest.raises(UsageError, match=r"has only \d samples of the trace, not 4"):
        api.micro_energy(CPU, meter=str(coarse), log=log)
    short = [MeterWindow(round=0, benchmark="idle", start=1.7e9 + 1, end=1.7e9 + 1.5, operations=0.0)]
    api.write_windows(short, log)
    with pytest.raises(UsageError, match=r"a window lasts at least 1 s, 'idle' ran 0\.5 s"):
        api.micro_energy(CPU, meter=str(trace), log=log)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("round,start\n0,1\n", "must be a CSV file of round, benchmark"),
        ("round,benchmark,start,end,operations\n0,sing,1,3,1\n", "unknown benchmark 'sing'"),
    ],
)
def test_other_files_are_no_windows(tmp_path, text, message):
    path = tmp_path / "windows.csv"
    path.write_text(text)
    with pytest.raises(UsageError, match=message):
        api.read_windows(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "give --meter rapl, or --log FILE.csv"),
        (("--log", "windows.csv", "-o", "mine.toml"), "without a meter there are no constants"),
        (("heat2d", "--meter", "rapl"), "unrecognized arguments: heat2d"),
    ],
)
def test_the_command_refuses(options, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(options)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
