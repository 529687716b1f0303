"""Disks and messages measured, and kept with the machine ``host``."""

import json

import pytest
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli.app import app
from tilewright.distributed import disk
from tilewright.machines import files
from tilewright.verbs import calibrate, predict


def test_a_disk_is_measured_and_nothing_is_left_there(tmp_path):
    found = calibrate.disk_bandwidths(tmp_path, 2**24)
    assert set(found) == {"disk_read_bandwidth", "disk_write_bandwidth"}
    for each in found.values():
        assert each.source == "measured"
        assert 1e5 < each.low <= each.value <= each.high
    assert list(tmp_path.iterdir()) == []


def test_a_disk_is_waited_for_after_every_part_and_read_where_it_was_written(tmp_path, monkeypatch):
    calls = []

    class Watched(disk.FileRows):
        """What is called from outside, in turn."""

        within = False

        def _told(self, name, *given):
            if not self.within:
                calls.append((name, *given[:1]))
            self.within, before = True, self.within
            try:
                return getattr(super(), name)(*given)
            finally:
                self.within = before

        def write(self, *given):
            return self._told("write", *given)

        def read(self, *given):
            return self._told("read", *given)

        def sync(self):
            return self._told("sync")

    monkeypatch.setattr(disk, "FileRows", Watched)
    calibrate.disk_bandwidths(tmp_path, 2**23)
    rows = [row for name, *given in calls if name == "write" for row in given]
    assert len(rows) > 2
    assert rows == sorted(set(rows))
    assert calls == [call for row in rows for call in (("write", row), ("sync",))] + [("read", row) for row in rows]


def test_what_was_measured_is_what_host_has(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))
    original = calibrate.disk_bandwidths
    monkeypatch.setattr(calibrate, "disk_bandwidths", lambda folder: original(folder, 2**23))
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
        calibrate.disk_bandwidths(tmp_path / "nowhere")
