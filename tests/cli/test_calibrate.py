"""``tilewright calibrate``."""

import pytest

from tilewright.machines.files import load

pytestmark = pytest.mark.optimised  # what is measured takes longer than compiling it


@pytest.fixture(autouse=True)
def private_store(little, monkeypatch, tmp_path):
    monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / "store"))


def test_what_is_calibrated_is_the_host_from_then_on(cli):
    assert not cli("machines", "host", "--json").json["c_iter"]
    found = cli("calibrate", "--quick", "--program", "jacobi1d", "--json")
    assert found.code == 0, found.err
    machine = found.json["machine"]
    assert machine["quantities"]["dram_bandwidth"]["source"] == "measured"
    assert {"c_iter", "dram_bandwidth", "launch_seconds"} <= {
        each["parameter"] for each in found.json["sensitivity"]["parameters"]
    }
    assert cli("machines", "host", "--json").json == machine
    predicted = cli("predict", "jacobi1d", "--shape", "4096", "--steps", "9", "--json").json
    assert predicted["c_iter"]["source"] == "measured"
    assert predicted["c_iter"]["low"] <= predicted["c_iter"]["value"] <= predicted["c_iter"]["high"]


def test_a_file_of_its_own_and_a_program_named_twice_is_measured_once(cli, tmp_path):
    named = ("--program", "jacobi1d", "--program", "jacobi1d")
    found = cli("calibrate", "--quick", *named, "-o", tmp_path / "mine.toml")
    assert found.code == 0, found.err
    assert "C_iter of 1 programs" in found.out
    assert "insensitive" in found.out or "Kendall" in found.out
    assert load(str(tmp_path / "mine.toml")).iteration_seconds("jacobi1d") is not None
    assert not (tmp_path / "store").exists()
    assert cli("predict", "jacobi1d", "--shape", "4096", "--steps", "9", "--machine", tmp_path / "mine.toml").code == 0


def test_refusals(refuses):
    for args, part in [
        (("--program", "heat2e"), "heat2e"),
        (("--program", "smith_waterman"), "recurrence"),
        (("--backend", "metal"), "one of auto, c, opencl and cuda"),
        (("-o", "mine.json"), ".toml"),
        (("-o", "nowhere/mine.toml"), "no folder"),
    ]:
        assert part in refuses("calibrate", *args), (args, part)
