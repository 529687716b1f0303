"""Tuning that is killed or told to stop: it goes on where it was, and leaves nothing behind."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress

import pytest

from tilewright.verbs import wisdom

pytestmark = pytest.mark.usefixtures("private_folders", "private_kernels")

COMMAND = ["tune", "j2d5pt", "--shape", "200x300", "--steps", "16", "--candidates", "4", "--seconds", "600", "--json"]


@pytest.fixture
def start(tmp_path):
    """Start a tune of the command line in a process of its own; what still runs in the end is killed."""
    (tmp_path / "tmp").mkdir()
    started = []

    def begin(mark):
        process = subprocess.Popen(
            [sys.executable, "-m", "tilewright", *COMMAND],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TW_TEST_MARK": mark, "TMPDIR": str(tmp_path / "tmp")},
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def after(seconds):
    """Wait so long for a process to end."""

    def wait(process):
        with suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=seconds)

    return wait


def killed_and_resumed(folder, start, running, wait_until, records, waits):
    """Kill a tune after each of some waits, then let it end; every kill may cost one sample."""
    mark = f"tw-mark-{os.getpid()}-{time.monotonic_ns()}"
    kills = 0
    for wait in waits:
        process = start(mark)
        wait(process)
        if process.poll() is None:
            process.kill()
            process.communicate()
            kills += 1
        assert wait_until(lambda: not running(mark))
    process = start(mark)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    document = json.loads(out)
    logged = records(folder)
    begun = Counter(record["tiling"] for record in logged if record["kind"] == "begin")
    ended = Counter(record["tiling"] for record in logged if record["kind"] == "sample")
    assert sum((begun - ended).values()) <= kills
    assert max(ended.values()) <= 3
    assert document["evaluated"] == len(ended)
    assert document["winner"]["outcome"] == "ok"
    return kills


def test_a_killed_tune_is_resumed(tmp_path, start, running, wait_until, records):
    def first_sample(_):
        assert wait_until(lambda: any(record["kind"] == "sample" for record in records(tmp_path)), 60)

    assert killed_and_resumed(tmp_path, start, running, wait_until, records, [first_sample]) == 1


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """Give a tune a store and an empty kernel cache of its own."""

    def prepare(name):
        monkeypatch.setenv("TILEWRIGHT_STORE", str(tmp_path / name / "store"))
        (tmp_path / name / "cache").mkdir(parents=True)
        (tmp_path / name / "cache").chmod(0o700)
        monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path / name / "cache"))

    return prepare


@pytest.mark.stress
def test_tunes_killed_a_hundred_times_are_resumed(tmp_path, begin, start, running, wait_until, records, capsys):
    """Every tune is killed and started again up to eight times before it may end."""
    begin("whole")
    began = time.monotonic()
    assert start("").wait(timeout=300) == 0
    length = time.monotonic() - began
    draw, kills, tunes = random.Random(100), 0, 0  # noqa: S311
    while kills < 100:
        tunes += 1
        assert tunes <= 40, f"only {kills} kills in 40 tunes of {length:.1f} s"
        begin(f"run{tunes}")
        waits = [after(draw.uniform(0.02, 0.6) * length) for _ in range(8)]
        kills += killed_and_resumed(tmp_path / f"run{tunes}", start, running, wait_until, records, waits)
    with capsys.disabled():
        sys.stdout.write(f" {kills} kills of {tunes} tunes ")


@pytest.mark.stress
def test_a_tune_killed_at_twenty_random_instants_is_resumed(tmp_path, begin, start, running, wait_until, records):
    """The instants are drawn over the length of a whole tune; every tune starts with an empty kernel cache."""
    draw, kills, lengths = random.Random(20), 0, []  # noqa: S311
    for number in range(20):
        if number % 5 == 0:  # a machine that does other things as well is not always as fast
            begin(f"whole{number}")
            began = time.monotonic()
            assert start("").wait(timeout=300) == 0
            lengths.append(time.monotonic() - began)
        begin(f"run{number}")
        wait = after(draw.uniform(0.02, 0.95) * lengths[-1])
        kills += killed_and_resumed(tmp_path / f"run{number}", start, running, wait_until, records, [wait])
    assert kills >= 17, f"whole tunes take {lengths} s"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_the_best_so_far_and_leaves_nothing_behind(
    tmp_path, start, running, wait_until, records, number
):
    mark = f"tw-mark-{os.getpid()}-{time.monotonic_ns()}"
    process = start(mark)
    assert wait_until(lambda: any(record["kind"] == "sample" for record in records(tmp_path)), 60)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    document = json.loads(out)
    assert document["interrupted"]
    assert document["winner"]["measured_seconds"] > 0
    assert process.returncode == 1
    assert b"Traceback" not in err
    assert wait_until(lambda: not running(mark))
    assert not list((tmp_path / "tmp").iterdir())
    assert len(wisdom.known()) == 1
