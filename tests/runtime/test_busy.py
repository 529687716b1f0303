"""Fewer threads where other processes keep CPUs busy."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.runtime import busy, host

linux = pytest.mark.skipif(not Path("/proc/loadavg").exists(), reason="only Linux says what runs")


@pytest.fixture(autouse=True)
def nothing_seen(monkeypatch):
    busy._seen.clear()
    monkeypatch.setattr(busy, "whole_machine", lambda: True)
    for name in busy.THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    yield
    busy._seen.clear()


def looks(monkeypatch, *found):
    """Let the looks find these, one after the other, and the last one from then on."""
    left = list(found)
    monkeypatch.setattr(busy, "running_elsewhere", lambda: left.pop(0) if len(left) > 1 else left[0])


@pytest.mark.parametrize(("threads", "others", "left"), [(4, 0, 4), (4, 1, 3), (4, 4, 1), (4, 9, 1), (1, 3, 1)])
def test_threads_leave_others_their_cpus(monkeypatch, threads, others, left):
    looks(monkeypatch, others)
    assert busy.unoccupied(threads) == left


def test_what_runs_for_a_moment_is_no_reason(monkeypatch):
    monkeypatch.setattr(busy, "_AGAIN", 0.0)
    looks(monkeypatch, 3, 3, 0, 3)
    assert busy.unoccupied(4) == 4
    for _ in range(2):  # a further look a call: the one that found nothing is still among the last three
        time.sleep(1e-3)
        assert busy.unoccupied(4) == 4
    time.sleep(1e-3)
    assert busy.unoccupied(4) == 1


def test_a_process_that_starts_alone_looks_once_and_one_in_company_waits(monkeypatch):
    slept = []
    monkeypatch.setattr(busy.time, "sleep", slept.append)
    looks(monkeypatch, 0, 3)
    assert busy.unoccupied(2) == 2
    assert sum(slept) == 0.0
    assert len(busy._seen) == 1
    busy._seen.clear()
    looks(monkeypatch, 1, 1, 0)  # what loads a program runs for some milliseconds more
    assert busy.unoccupied(2) == 2
    assert sum(slept) == sum(busy._PAUSES)
    busy._seen.clear()
    looks(monkeypatch, 1)
    assert busy.unoccupied(2) == 1


def test_old_looks_say_nothing(monkeypatch):
    looks(monkeypatch, 3)
    assert busy.unoccupied(4) == 1
    monkeypatch.setattr(busy, "_OLD", 0.0)
    looks(monkeypatch, 0)
    assert busy.unoccupied(4) == 4


def test_all_threads_stay_where_the_system_does_not_say(monkeypatch, tmp_path):
    monkeypatch.setattr(busy, "_LOAD", tmp_path / "none")
    assert busy.running_elsewhere() is None
    assert busy.unoccupied(4) == 4
    (tmp_path / "none").write_text("nothing that can be read")
    assert busy.unoccupied(4) == 4


def test_own_threads_are_not_others(monkeypatch, tmp_path):
    (tmp_path / "load").write_text("0.10 0.20 0.30 5/300 77")
    for number, state in enumerate("RSR"):
        (tmp_path / "task" / str(number)).mkdir(parents=True)
        (tmp_path / "task" / str(number) / "stat").write_text(f"{number} (a name) with) {state} 1 2 3")
    (tmp_path / "task" / "ended").mkdir()
    monkeypatch.setattr(busy, "_LOAD", tmp_path / "load")
    monkeypatch.setattr(busy, "_TASKS", tmp_path / "task")
    assert busy.running_elsewhere() == 3
    (tmp_path / "load").write_text("9.10 0.20 0.30 1/300 77")
    assert busy.running_elsewhere() == 0


def test_who_says_how_many_threads_gets_them(monkeypatch):
    assert busy.may_yield(None)
    assert not busy.may_yield(2)
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    assert not busy.may_yield(None)
    monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(busy, "whole_machine", lambda: False)
    assert not busy.may_yield(None)


@linux
def test_a_process_that_computes_is_seen():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as other:
        try:
            end = time.monotonic() + 20
            while not busy.running_elsewhere():
                assert time.monotonic() < end, "a busy process was never seen"
                time.sleep(0.05)
        finally:
            other.kill()


def test_a_run_keeps_its_tiling_and_its_values_with_fewer_threads(monkeypatch):
    monkeypatch.setattr(host, "available_cpus", lambda: 3)
    u = np.random.default_rng(0).random((300, 300), dtype=np.float32)
    looks(monkeypatch, 0)
    all_ = tw.run("j2d5pt", u, steps=20, record=True)
    busy._seen.clear()
    looks(monkeypatch, 2)
    few = tw.run("j2d5pt", u, steps=20, record=True)
    asked = tw.run("j2d5pt", u, steps=20, record=True, threads=3)
    assert few.tiling == all_.tiling == asked.tiling
    assert (all_.threads, few.threads, asked.threads) == (3, 1, 3)
    np.testing.assert_array_equal(few.state, all_.state)
    batch = np.random.default_rng(1).random((7, 30, 40), dtype=np.float32)
    few_at_once = tw.run("j2d5pt", batch, steps=5, axes=(1, 2))
    np.testing.assert_array_equal(few_at_once, tw.run("j2d5pt", batch, steps=5, axes=(1, 2), threads=3))
