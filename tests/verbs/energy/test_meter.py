"""Metered runs: counters, recorded traces, and the file that the regression reads."""

import itertools

import pytest

from tilewright.base.errors import UsageError
from tilewright.cli.app import app
from tilewright.runtime import power
from tilewright.verbs.energy import runs as energy_meter
from tilewright.verbs.energy.runs import read_runs

SMALL = {"shape": (32, 32), "steps": 4}


class Counter:
    """A meter that counts five joules per look."""

    name = "counter"

    def __init__(self):
        self.looks, self.closed = itertools.count(), False

    def joules(self):
        return 5.0 * next(self.looks)

    def close(self):
        self.closed = True


def test_a_run_under_a_counter(monkeypatch):
    counter = Counter()
    monkeypatch.setattr(power, "rapl", lambda: counter)
    found = energy_meter.meter_run("heat2d", **SMALL, tiling="none", window=0.01, windows=2, cool=0.0)
    # One window is two looks: five joules over its repetitions.
    assert found.run.joules == pytest.approx(5.0 / found.repetitions)
    assert found.low == found.high == found.run.joules
    assert found.run.seconds > 0
    assert counter.closed
    assert found.to_dict()["watts"] == pytest.approx(found.run.joules / found.run.seconds)
    assert "by counter" in str(found)


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "watts.csv"
    path.write_text("seconds,watts\n0,50\n10,50\n10.5,100\n20,100\n20.5,50\n30,50\n")
    return path


def test_a_recorded_trace(trace):
    found = energy_meter.meter_run(
        "heat2d", shape=(4096, 4096), steps=200, tiling="none", meter=str(trace), between=(11.0, 19.0)
    )
    assert (found.run.seconds, found.run.joules) == (8.0, pytest.approx(800.0))
    with pytest.raises(UsageError, match="the trace covers 0 to 30 s, asked for 29 to 31 s"):
        energy_meter.meter_run("heat2d", **SMALL, tiling="none", meter=str(trace), between=(29.0, 31.0))


def test_runs_are_added_to_a_file(cli_energy, trace, tmp_path):
    runs = tmp_path / "runs.csv"
    for end in (15, 18):
        result = cli_energy("--meter", trace, "--between", f"11:{end}", "--tile", "none", "--append", runs, "--json")
        assert result.exit_code == 0, result.output
    known = read_runs(runs)
    assert [(one.program, one.seconds, one.joules) for one in known] == [
        ("heat2d", 4.0, pytest.approx(400.0)),
        ("heat2d", 7.0, pytest.approx(700.0)),
    ]


@pytest.fixture
def cli_energy():
    from typer.testing import CliRunner

    def call(*more):
        return CliRunner().invoke(app, ["energy", "heat2d", "--shape", "64x64", "--steps", "4", *map(str, more)])

    return call


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"meter": "watts.csv"}, "needs to know when the run began and ended, got the meter 'watts.csv'"),
        ({"meter": "rapl", "between": (0.0, 1.0)}, "a recorded trace is a file"),
        ({"meter": "watts.csv", "between": (0.0, 1.0)}, "which tiling the recorded run took"),
        ({"meter": "nvml"}, "nvml meters a GPU, the run takes none"),
        ({"meter": "nowhere.csv", "between": (0.0, 1.0), "tiling": "none"}, "'nowhere.csv' cannot be read"),
    ],
)
def test_what_cannot_be_metered_is_one_sentence(options, message):
    with pytest.raises(UsageError, match=message):
        energy_meter.meter_run("heat2d", **SMALL, **options)
