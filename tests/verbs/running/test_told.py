"""What a run says of itself: the tiling through ``logging``, and its progress where it takes long."""

import itertools
import logging
from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tilewright.report import progress
from tilewright.verbs.running import record


@pytest.fixture
def impatient(monkeypatch, terminal):
    """Make standard error a terminal, and any run one that takes long."""
    monkeypatch.setattr(progress.waiting.__wrapped__, "__defaults__", (0.05,))
    monkeypatch.setattr(record, "_SHORT", 0)
    return terminal


def test_the_chosen_tiling_is_logged_at_level_info(caplog):
    u = np.ones((40, 50), dtype=np.float32)
    with caplog.at_level(logging.INFO, logger="tilewright"):
        tw.run("heat2d", u, steps=3, tiling="hybrid:t=2,s=4x8", threads=1)
        tw.run("heat2d", u, steps=3, backend="numpy")
    first, second = (record.getMessage() for record in caplog.records)
    assert first == "heat2d 40x50, 3 steps, float32: hybrid:t=2,s=4x8 on c, threads 1, as asked for"
    assert "none on numpy" in second
    assert {record.name for record in caplog.records} == {"tilewright"}


def test_nothing_is_logged_by_default(caplog):
    with caplog.at_level(logging.WARNING, logger="tilewright"):
        tw.run("heat2d", np.ones((40, 50), dtype=np.float32), steps=3)
    assert caplog.records == []


def test_a_monitored_run_tells_its_steps(impatient):
    stream = impatient()

    def wait(step, view):
        if step == 10:
            stream.until("jacobi1d 100: 25 % after")

    tw.run("jacobi1d", np.ones(100), steps=40, every=10, callback=wait)
    assert "jacobi1d 100: 25 % after" in stream.getvalue()


def test_a_run_without_looks_tells_the_expected_time(impatient):
    stream = impatient()
    with record.while_running(*_prepared(), lambda: 0):
        stream.until("expected")
    assert "heat2d 64x64: " in stream.getvalue()
    assert "longer than the" in stream.getvalue()


def _prepared():
    from tilewright.inputs.memo import prepared
    from tilewright.plan import read_target
    from tilewright.programs.stencil.problem import make_problem

    problem = make_problem(tw.program("heat2d"), (64, 64), 10)
    return prepared(problem, read_target("c", 1), None, strict=False), problem


def test_short_runs_start_no_thread(monkeypatch, terminal):
    terminal()
    monkeypatch.setattr(progress.threading, "Thread", lambda **_: pytest.fail("a short run"))
    tw.run("heat2d", np.ones((64, 64), dtype=np.float32), steps=10)


@pytest.mark.parametrize("name", ["heat2d", "gradient2d", "jacobi1d", "wave2d"])
def test_the_steps_of_a_check_are_counted(name):
    from tilewright.programs.stencil import rounding
    from tilewright.programs.stencil.problem import make_problem

    program = tw.program(name)
    shape = (12,) * program.rank
    for dtype, sign in (("float32", 1), ("float32", -1), ("int32", 1)):
        if dtype == "int32" and name != "heat2d":
            continue
        problem = replace(make_problem(program, shape, 5), dtype=dtype)  # whole numbers are not its own
        data = {f: [sign * np.ones(shape, dtype)] * program.history(f) for f in program.fields}
        scalars = dict.fromkeys(program.scalars, 0.1)
        steps = itertools.count()
        rounding.bound(problem, data, scalars, lambda steps=steps: next(steps))
        assert next(steps) == 5 * rounding.runs(problem, data, scalars)
