"""Files that users name: killed, interrupted or on a full disk, they are the former ones or the new ones, whole."""

import re
import signal
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import tilewright as tw

from .conftest import sizes

# Writes in processes of its own that are killed at random instants, and prints what each had finished.
WRITER = """
import os, pathlib, random, resource, signal, sys, time
import numpy as np
import tilewright as tw
from tilewright.base.paths import write_text
from tilewright.programs.stencil.catalogue import program
from tilewright.runtime.formats.files import write_archive, write_planes
from tilewright.inputs.files import write_state

@tw.stencil
def one_more(u):
    return u[0, 0] + 1

def series(path, done):
    def finished(step, _):
        os.write(done, b"%d " % step)
    tw.run(one_more, np.zeros((64, 80), "f4"), steps=10**6, every=1, out=path, callback=finished)

def replaced(path, done):
    for k in range(1, 10**6):
        values = np.full((300, 400), k % 200, "f4")
        {
            ".npy": lambda: write_planes(path, (values,)),
            ".npz": lambda: write_archive(path, {"u": values}),
            ".png": lambda: write_planes(path, (values / 255,)),
            ".txt": lambda: write_text(path, f"{k}\\n" * 20000),
            ".h5": lambda: write_state(path, program("j2d5pt"), {"u": (values,)}),
            ".zarr": lambda: write_state(path, program("j2d5pt"), {"u": (values,)}),
        }[path.suffix]()
        os.write(done, b"%d " % k)

work, number, seed, *paths = sys.argv[1:]
draw = random.Random(seed)
for path in map(pathlib.Path, paths):
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            signal.alarm(120)  # the end of one that a signal did not reach
            {"series": series, "replaced": replaced}[work](path, writing)
        except KeyboardInterrupt:
            pass  # what was opened is closed, as in a process that ends by itself
        finally:
            os._exit(0)
    os.close(writing)
    finished = os.read(reading, 99)
    time.sleep(draw.uniform(0, 0.3))
    os.kill(child, int(number))
    _, status = os.waitpid(child, 0)
    assert not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGALRM, "the signal was lost"
    while more := os.read(reading, 9999):
        finished += more
    print(finished.split()[-1].decode(), flush=True)
"""


def _killed(work, number, paths, seed):
    """Let as many processes write as there are paths, and return the last step or time that each had finished."""
    command = [sys.executable, "-c", WRITER, work, str(int(number)), seed, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, cwd=paths[0].parent)
    assert done.returncode == 0, done.stderr
    return [int(line) for line in done.stdout.split()]


def _check_images(path, last):
    text = path.with_suffix(".pvd").read_text()
    assert text.endswith("</VTKFile>\n")
    listed = re.findall('file="(.*)"', text)
    assert len(listed) >= last
    for name in listed:
        assert path.with_name(name).read_text().endswith("</VTKFile>\n")


@pytest.mark.parametrize("ending", [".h5", ".zarr", ".vti"])
@sizes(3, 40)
def test_a_killed_series_loses_at_most_its_last_record(ending, count, tmp_path, folders, tally):
    paths = [tmp_path / f"u{number}{ending}" for number in range(count)]
    records = 0
    for path, last in zip(paths, _killed("series", signal.SIGKILL, paths, ending), strict=True):
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
        one_more = tw.stencil(lambda u: u[0, 0] + 1, name="one_more")
        found = tw.run(one_more, np.zeros((64, 80), "f4"), steps=more, every=1, out=path, resume=True)
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


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("ending", [".npy", ".npz", ".png", ".txt", ".h5", ".zarr"])
@sizes(3, 40)
def test_a_file_that_is_replaced_is_the_former_or_the_new_one(ending, number, count, tmp_path, folders, tally):
    paths = [tmp_path / str(each) / f"u{ending}" for each in range(count)]
    for path in paths:
        path.parent.mkdir()
    for path, last in zip(paths, _killed("replaced", number, paths, f"{ending} {number}"), strict=True):
        assert _value(path) in {last % 200, (last + 1) % 200}
        if number == signal.SIGINT:
            assert list(path.parent.iterdir()) == [path]
    tally(f"{ending} replaced: {count} stopped by {number.name}, all whole")


# Writes until no file may be longer than so many bytes, as on a disk that is full.
FULL = """
import pathlib, resource, sys
import numpy as np
import tilewright as tw
path, limit = pathlib.Path(sys.argv[1]), int(sys.argv[2])
draw = np.random.default_rng(0)

@tw.stencil
def noise(u, k):
    return k[0, 0] * (u[0, 0] + 1)

def stopping(step, view):
    if step == 3:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

try:
    tw.run(noise, np.zeros((64, 80), "f4"), draw.random((64, 80), "f4"), steps=40, every=1, out=path, callback=stopping)
except tw.TilewrightError as error:
    print(error)
"""


@pytest.mark.parametrize("ending", [".h5", ".zarr", ".vti"])
@pytest.mark.parametrize("room", [1, 5000])
def test_a_series_on_a_full_disk_ends_with_the_record_that_did_not_fit(ending, room, tmp_path, folders):
    path = tmp_path / f"u{ending}"
    limit = 150_000 + room if ending == ".h5" else 3000 + room
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(path), str(limit)], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"a state cannot be written to {str(path)!r}: File too large")
    if ending == ".vti":
        _check_images(path, 4)
        return
    saved = tw.load(path)
    assert 4 <= len(saved.steps) < 41
    k = np.random.default_rng(0).random((64, 80), "f4")
    expected = np.zeros((64, 80), "f4")
    for step in saved.steps:
        np.testing.assert_allclose(saved.at(int(step))[0], expected, rtol=1e-5)
        expected = k * (expected + 1)
    assert not list(tmp_path.rglob(".new-*"))


@pytest.mark.parametrize("ending", [".npy", ".npz", ".png", ".h5", ".zarr"])
@pytest.mark.parametrize("size", [0, 3000])
def test_a_command_on_a_full_disk_says_so_and_keeps_the_former_file(ending, size, tmp_path, folders):
    path = tmp_path / "out" / f"u{ending}"
    path.parent.mkdir()
    rng = np.random.default_rng(1)
    np.save(tmp_path / "in.npy", rng.random((64, 80), "f4"))
    command = ["run", "j2d5pt", "--input", str(tmp_path / "in.npy"), "--steps", "3", "--output", str(path)]
    main = "import runpy; runpy.run_module('tilewright', run_name='__main__')"
    limited = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); {main}"

    def call(text):
        return subprocess.run(
            [sys.executable, "-c", text, *command], capture_output=True, text=True, timeout=120, check=False
        )

    whole = call(main)
    assert whole.returncode == 0, whole.stderr
    former = _contents(path.parent)
    full = call(limited)
    assert full.returncode != 0
    assert "internal error" not in full.stderr
    assert "Traceback" not in full.stderr
    assert f"{path.name}' cannot be" in full.stderr.replace("\n", " ")
    assert _contents(path.parent) == former


def _contents(folder):
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


@pytest.mark.parametrize("verb", ["input.npy", "link.npy"])
def test_a_result_may_take_the_place_of_its_input(verb, tmp_path, folders):
    values = np.random.default_rng(1).random((64, 80), "f4")
    np.save(tmp_path / "input.npy", values)
    (tmp_path / "input.npy").chmod(0o640)
    (tmp_path / "link.npy").symlink_to("input.npy")
    command = ["run", "j2d5pt", "--input", verb, "--steps", "3", "--output", verb]
    subprocess.run([sys.executable, "-m", "tilewright", *command], cwd=tmp_path, check=True, capture_output=True)
    np.testing.assert_array_equal(np.load(tmp_path / "input.npy"), tw.run("j2d5pt", values, steps=3))
    assert (tmp_path / "link.npy").is_symlink()
    assert (tmp_path / "input.npy").stat().st_mode & 0o777 == 0o640
