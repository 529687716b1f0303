"""Files that users name: killed, interrupted or on a full disk, they are the former ones or the new ones, whole."""

import re
import signal

import numpy as np
import pytest
from PIL import Image
from tests.faults.writers import call, killed, one_more, replace, write_series, write_until_full
from tests.forked import run
from typer.testing import CliRunner

import tilewright as tw
from tilewright.cli.app import app

from .conftest import sizes


def _check_images(path, last):
    text = path.with_suffix(".pvd").read_text()
    assert text.endswith("</VTKFile>\n")
    listed = re.findall('file="(.*)"', text)
    assert len(listed) >= last
    for name in listed:
        assert path.with_name(name).read_text().endswith("</VTKFile>\n")


@pytest.mark.parametrize("ending", [".h5", ".zarr", ".vti"])
@sizes(3, 40)
def test_a_killed_series_loses_at_most_its_last_record(ending, count, tmp_path, tally):
    start = np.zeros((64, 80), "f4")
    tw.run(one_more, start, steps=1)  # compiled for all of them
    paths, records = [tmp_path / f"u{number}{ending}" for number in range(count)], 0
    for path, last in zip(paths, killed(write_series, [signal.SIGKILL] * count, paths), strict=True):
        if ending == ".vti":
            _check_images(path, last)
            continue
        saved = tw.load(path)
        records += len(saved.steps)
        assert saved.steps.tolist() == list(range(len(saved.steps)))
        assert len(saved.steps) >= last + 1
        for step in saved.steps:
            np.testing.assert_array_equal(saved.at(int(step))[0], np.full((64, 80), step, "f4"))
        more = int(saved.steps[-1]) + 3
        found = tw.run(one_more, start, steps=more, every=1, out=path, resume=True)
        np.testing.assert_array_equal(found, np.full((64, 80), more, "f4"))
        assert tw.load(path).steps.tolist() == list(range(more + 1))
    tally(f"series {ending}: {count} killed while they were written, {records} records, none lost that was finished")


def _value(path):
    """The one number that a file holds, after it is read whole."""
    if path.suffix == ".txt":
        lines = path.read_text().splitlines()
        assert len(lines) == 20000
        values = np.array([int(line) % 200 for line in lines])
    elif path.suffix == ".png":
        with Image.open(path) as picture:
            values = np.asarray(picture)
    elif path.suffix in {".h5", ".zarr"}:
        values = tw.load(path).state[0]
    else:
        values = np.load(path)
        values = values if path.suffix == ".npy" else values["u"]
    assert (values == values.flat[0]).all()
    return int(values.flat[0])


@pytest.mark.parametrize("ending", [".npy", ".npz", ".png", ".txt", ".h5", ".zarr"])
@sizes(3, 40)
def test_a_file_that_is_replaced_is_the_former_or_the_new_one(ending, count, tmp_path, tally):
    numbers = [signal.SIGKILL, signal.SIGINT] * count
    paths = [tmp_path / str(each) / f"u{ending}" for each in range(len(numbers))]
    for path in paths:
        path.parent.mkdir()
    for path, number, last in zip(paths, numbers, killed(replace, numbers, paths), strict=True):
        assert _value(path) in {last % 200, (last + 1) % 200}
        if number == signal.SIGINT:
            assert list(path.parent.iterdir()) == [path]
    tally(f"{ending} replaced: {count} killed and {count} interrupted, all whole")


@pytest.mark.parametrize("ending", [".h5", ".zarr", ".vti"])
@pytest.mark.parametrize("room", [1, 5000])
def test_a_series_on_a_full_disk_ends_with_the_record_that_did_not_fit(ending, room, tmp_path):
    path, k = tmp_path / f"u{ending}", np.random.default_rng(0).random((64, 80), "f4")
    limit = 150_000 + room if ending == ".h5" else 3000 + room
    status, told = run(write_until_full, path, limit, k)
    assert status == 0
    assert told.startswith(f"a state cannot be written to {str(path)!r}: File too large")
    if ending == ".vti":
        _check_images(path, 4)
        return
    saved = tw.load(path)
    assert 4 <= len(saved.steps) < 41
    expected = np.zeros((64, 80), "f4")
    for step in saved.steps:
        np.testing.assert_allclose(saved.at(int(step))[0], expected, rtol=1e-5)
        expected = k * (expected + 1)
    assert not list(tmp_path.rglob(".new-*"))


@pytest.mark.parametrize("ending", [".npy", ".npz", ".png", ".h5", ".zarr"])
def test_a_command_on_a_full_disk_says_so_and_keeps_the_former_file(ending, tmp_path):
    path = tmp_path / "out" / f"u{ending}"
    path.parent.mkdir()
    np.save(tmp_path / "in.npy", np.random.default_rng(1).random((64, 80), "f4"))
    command = ["run", "j2d5pt", "--input", str(tmp_path / "in.npy"), "--steps", "3", "--output", str(path)]
    assert run(call, None, *command)[0] == 0
    former = _contents(path.parent)
    for size in (0, 3000):
        status, said = run(call, size, *command)
        assert status != 0
        assert "internal error" not in said
        assert "Traceback" not in said
        assert f"{path.name}' cannot be" in said.replace("\n", " ")
        assert _contents(path.parent) == former


def _contents(folder):
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize("name", ["input.npy", "link.npy"])
def test_a_result_may_take_the_place_of_its_input(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(1).random((64, 80), "f4")
    np.save(tmp_path / "input.npy", values)
    (tmp_path / "input.npy").chmod(0o640)
    (tmp_path / "link.npy").symlink_to("input.npy")
    done = CliRunner().invoke(app, ["run", "j2d5pt", "--input", name, "--steps", "3", "--output", name])
    assert done.exit_code == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "input.npy"), tw.run("j2d5pt", values, steps=3))
    assert (tmp_path / "link.npy").is_symlink()
    assert (tmp_path / "input.npy").stat().st_mode & 0o777 == 0o640
