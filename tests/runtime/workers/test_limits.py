"""Limits of resources, and what works on a system that has none."""

import os
import subprocess
import sys

import pytest

from tilewright.runtime.workers.worker import set_limit

_ABSENT = 'raise ImportError("No module named this on this system")\n'


@pytest.fixture
def without(tmp_path):
    """Return what runs Python, workers included, without the modules that only POSIX systems have."""
    for name in ("resource", "fcntl", "pwd", "grp", "termios"):
        (tmp_path / f"{name}.py").write_text(_ABSENT, encoding="utf-8")

    def run(script: str) -> str:
        command = (sys.executable, "-P", "-W", "error", "-c", script)
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "TILEWRIGHT_STORE": str(tmp_path / "store")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout.strip()

    return run


def test_the_fixture_takes_the_modules_away(without):
    with pytest.raises(AssertionError, match="No module named this"):
        without("import resource")


def test_tuning_plans_and_measures_without_limits(without):
    tuned = "tilewright.tune('heat2d', shape=(64, 64), steps=4, candidates=2, seconds=0.5{}).winner.measured_seconds"
    told = without(f"import tilewright; print({tuned.format(', effort=' + repr('none'))}, {tuned.format('')})")
    planned, measured = told.split()
    assert planned == "None"
    assert float(measured) > 0


def test_large_stacks_of_many_threads_leave_room_to_compute():
    """Addresses of stacks are limited with all others; Fortran's users often raise the limit of stacks."""
    script = (
        "from tilewright.runtime.workers.worker import set_limit\n"
        "set_limit('RLIMIT_STACK', 2**33)\n"
        "import tilewright\n"
        "done = tilewright.tune('heat2d', shape=(300, 400), steps=8, candidates=2, seconds=0.5)\n"
        "print(done.winner.measured_seconds > 0)"
    )
    environment = {**os.environ, "TILEWRIGHT_THREADS": "16"}
    done = subprocess.run(
        (sys.executable, "-c", script), env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.stdout == "True\n", done.stderr[-2000:]


def test_every_module_of_annotate_is_imported_without_limits(without):
    assert without("from tilewright.workloads.annotated.verbs import annotate, case, meter; print('yes')") == "yes"


def test_a_limit_is_set_where_there_is_one():
    script = (
        "import resource; from tilewright.runtime.workers.worker import set_limit\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "set_limit('RLIMIT_NOFILE', 32); assert resource.getrlimit(resource.RLIMIT_NOFILE) == (32, hard)\n"
        "set_limit('RLIMIT_NOFILE', 16, 24); assert resource.getrlimit(resource.RLIMIT_NOFILE) == (16, 24)\n"
        "set_limit('RLIMIT_NOFILE', 99, 99 + hard); assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] in (16, 99)\n"
    )
    subprocess.run((sys.executable, "-c", script), timeout=60, check=True)


def test_an_unknown_limit_is_left_alone():
    set_limit("RLIMIT_OF_ANOTHER_SYSTEM", 1)
