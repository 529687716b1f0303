"""Disks and messages measured, and kept with the machine ``host``."""

import json

import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli.app import app
from tilewright.distributed import measure
from tilewright.machines import files
from tilewright.verbs import predict


def test_a_disk_is_measured_and_nothing_is_left_there(tmp_path):
    found = measure.disk_bandwidths(tmp_path, 2**24)
    assert set(found) == {"disk_read_bandwidth", "disk_write_bandwidth"}
    for each in found.values():
        assert each.source == "measured"
        assert 1e5 < each.low <= each.value <= each.high
    assert list(tmp_path.iterdir()) == []


def test_what_was_measured_is_what_host_has(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))
    original = measure.disk_bandwidths
    monkeypatch.setattr(measure, "disk_bandwidths", lambda folder: original(folder, 2**23))
    found = CliRunner().invoke(app, ["calibrate", "--disk", str(tmp_path), "--json"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)["disk_read_bandwidth"]["value"]
    assert predict.as_machine("host").disk_read_bandwidth.value == told
    assert predict.as_machine("host").dram_bandwidth.source != "measured"
    arguments = ["calibrate", "--disk", str(tmp_path), "-o", str(tmp_path / "m.toml")]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert files.load(str(tmp_path / "m.toml")).disk_write_bandwidth.source == "measured"


@pytest.mark.parametrize("arguments", [["--disk", ".", "--quick"], ["--disk", ".", "--network"]])
def test_one_thing_at_a_time(arguments):
    assert CliRunner().invoke(app, ["calibrate", *arguments]).exit_code == 2


def test_folders_that_are_not_there(tmp_path):
    with pytest.raises(tw.UsageError, match="there is no folder"):
        measure.disk_bandwidths(tmp_path / "nowhere")
