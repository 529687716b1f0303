"""Worker processes: every way to fail is an outcome, and nothing is left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tilewright.base.records import Outcome
from tilewright.runtime.workers.pool import pool

HERE = Path(__file__).parents[1]


@pytest.fixture
def faults(monkeypatch):
    """The module of faults, importable here and in workers."""
    monkeypatch.syspath_prepend(str(HERE))
    import faulty_calls as faults

    yield faults
    sys.modules.pop("faulty_calls", None)


def test_every_fault_is_classed_and_the_others_go_on(faults):
    kinds = [
        "ok",
        "crash",
        "loop",
        "ok",
        "memory",
        "illegal",
        "compile",
        "wrong",
        "exit",
        "other",
        "print",
        "ok",
        "junk",
    ]
    kinds += ["device", "spills", "junk"]
    with pool(2) as workers:
        replies = workers.map(faults.act, [(kind,) for kind in kinds], limit=1.0)
    outcomes = dict(zip(kinds, replies, strict=True))
    expected = {
        "ok": Outcome.OK,
        "print": Outcome.OK,
        "crash": Outcome.CRASH,
        "exit": Outcome.CRASH,
        "junk": Outcome.CRASH,
        "other": Outcome.CRASH,
        "loop": Outcome.TIMEOUT,
        "memory": Outcome.LAUNCH,
        "illegal": Outcome.ILLEGAL,
        "compile": Outcome.COMPILE,
        "wrong": Outcome.WRONG,
        "device": Outcome.LAUNCH,
        "spills": Outcome.SPILLS,
    }
    assert {kind: reply.outcome for kind, reply in outcomes.items()} == expected
    assert [reply.value[0] for reply in replies if reply.outcome is Outcome.OK] == ["ok", "ok", "print", "ok"]
    assert outcomes["crash"].detail == "the process was ended by SIGSEGV"
    assert outcomes["exit"].detail == "the process exited with status 3"
    assert outcomes["junk"].detail == "the answer of the process was damaged"
    assert outcomes["loop"].detail == "it did not finish in 1 s"
    assert outcomes["compile"].detail == "no such code"
    assert outcomes["other"].detail == "who knows"


def test_a_process_that_ends_itself_is_quoted_and_only_in_that_call(faults):
    with pool(1) as workers:
        ends = [workers.call(faults.end_with, words, limit=10) for words in ("first\nno more threads\n", "", "x" * 500)]
        assert workers.call(faults.act, "exit", limit=10).detail == "the process exited with status 3"
    assert {reply.outcome for reply in ends} == {Outcome.CRASH}
    said = [reply.detail.removeprefix("the process exited with status 1") for reply in ends]
    assert said == [": no more threads", "", f": {'x' * 299}"]


def test_a_process_whose_device_failed_is_replaced(faults):
    """A context that met an illegal access is lost; the next candidate must not meet it."""
    with pool(1) as workers:
        first = workers.call(faults.act, "ok", limit=10).value[1]
        assert workers.call(faults.act, "compile", limit=10).outcome is Outcome.COMPILE
        assert workers.call(faults.act, "ok", limit=10).value[1] == first
        assert workers.call(faults.act, "device", limit=10).outcome is Outcome.LAUNCH
        assert workers.call(faults.act, "ok", limit=10).value[1] != first


def test_a_call_keeps_to_the_first_worker_and_large_values_come_back_whole(faults):
    with pool(3) as workers:
        first = workers.call(faults.act, "ok", limit=10).value[1]
        assert workers.call(faults.act, "ok", limit=10).value[1] == first
        assert len(workers.call(faults.large, 3_000_000, limit=10).value) == 3_000_000
        assert workers.map(faults.act, [], limit=1) == []


def test_memory_and_temporary_files_are_limited(faults, monkeypatch):
    monkeypatch.setattr("tilewright.runtime.workers.pool.stack_bytes", lambda: 2**20)
    monkeypatch.setenv("TILEWRIGHT_THREADS", "3")
    with pool(1, memory=2**36) as workers:
        limit, folder = workers.call(faults.limits, limit=10).value
        assert limit == 2**36 + 3 * 2**20  # stacks of threads are no memory, but they take addresses
        assert Path(folder).is_dir()
    assert not Path(folder).exists()
    assert not Path(folder).parent.exists()


def test_the_end_of_a_block_ends_workers_and_what_they_started(faults, monkeypatch, running, wait_until):
    mark = f"tw-mark-{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv("TW_TEST_MARK", mark)
    with pool(1) as workers:
        assert workers.call(faults.act, "ok", limit=10).outcome is Outcome.OK
        assert running(mark)
        assert workers.call(faults.act, "child", limit=0.5).outcome is Outcome.TIMEOUT
        assert wait_until(lambda: not running(mark))
        assert workers.call(faults.act, "ok", limit=10).outcome is Outcome.OK
    assert wait_until(lambda: not running(mark))


@pytest.mark.parametrize("kind", ["loop", "child"])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_their_parent(tmp_path, running, wait_until, kind, number):
    """Even a parent that is killed leaves no process and no temporary file."""
    mark = f"tw-mark-{os.getpid()}-{time.monotonic_ns()}"
    script = tmp_path / "parent.py"
    script.write_text(
        textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(HERE)!r})
        import faulty_calls as faults
        from tilewright.runtime.workers.pool import pool
        with pool(2) as workers:
            workers.map(faults.act, [("ok",), ("ok",)], limit=10)
            print("ready", flush=True)
            workers.map(faults.act, [({kind!r},), ({kind!r},)], limit=60)
        """)
    )
    folder = tmp_path / "tmp"
    folder.mkdir()
    parent = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TW_TEST_MARK": mark, "TMPDIR": str(folder)},
    )
    with parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        assert len(running(mark)) >= 3
        time.sleep(0.1)
        parent.send_signal(number)
    assert wait_until(lambda: not running(mark))
    assert wait_until(lambda: not list(folder.iterdir()))
