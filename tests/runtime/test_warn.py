"""Warnings point at the user's line."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.runtime.warn import forget_warnings, warn, warn_once

ABOVE = tw.stencil(lambda u: u[0] + 0.9 * (u[-1] - 2.0 * u[0] + u[1]), name="above")


@pytest.fixture(autouse=True)
def _anew():
    forget_warnings()


def check_place(call, part):
    """A call warns, and the warning points at it."""
    with pytest.warns(tw.TilewrightWarning) as caught:
        result = call()
    (found,) = [each for each in caught if part in str(each.message)]
    assert (found.filename, found.lineno) == (__file__, call.__code__.co_firstlineno)
    forget_warnings()
    return result


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({}, "past its stability limit"),
        ({"steps": 3000}, "are not finite after"),
        ({"steps": 3000, "every": 100}, "so the run ended"),
        ({"until": 1e-9}, "still changes by"),
    ],
)
def test_those_of_a_run(options, part):
    u = np.random.default_rng(0).random(300)
    check_place(lambda: tw.run(ABOVE, u, **{"steps": 60, **options}), part)


def test_those_of_a_plan_and_of_a_prediction():
    ask = {"shape": (300,), "steps": 20, "machine": "h200"}
    plan = check_place(lambda: tw.tune(ABOVE, effort="none", **ask), "past its stability limit")
    check_place(lambda: plan.run(np.ones(300), steps=20), "past its stability limit")
    check_place(lambda: tw.predict(ABOVE, **ask), "past its stability limit")


def test_in_a_thread_of_its_own_there_is_no_line_of_the_users():
    def work():
        with ThreadPoolExecutor(1) as workers:
            workers.submit(warn, "alone").result()

    with pytest.warns(tw.TilewrightWarning) as caught:
        work()
    assert [Path(each.filename).parts[-2:] for each in caught] == [("futures", "thread.py")]


def test_once_is_once():
    def work():
        for _ in range(3):
            warn_once("again")

    with pytest.warns(tw.TilewrightWarning) as caught:
        work()
    assert [str(each.message) for each in caught] == ["again"]


def test_the_command_line_says_them_without_a_place(tmp_path):
    mine = tmp_path / "mine.py"
    body = "u[0] + 0.9 * (u[-1] - 2.0 * u[0] + u[1])"
    mine.write_text(f"import tilewright as tw\n\n@tw.stencil\ndef above(u):\n    return {body}\n")
    command = [sys.executable, "-m", "tilewright", "run", f"{mine}:above", "--shape", "300", "--steps", "60"]
    done = subprocess.run([*command, "--backend", "numpy"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = [text for text in done.stderr.splitlines() if "stability limit" in text]
    assert len(said) == 1
    assert said[0].startswith("warning: ")
    assert ".py:" not in said[0].replace(str(mine), "")
