"""The benchmark of gradients, which compares with JAX."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest


def test_gradients_are_measured_in_a_process_of_their_own():
    """JAX starts threads, after which the tests' process must not fork any more."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("needs pip install jax")
    tests = Path(__file__).with_name("jax_benchmark.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tests)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tests.parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout, done.stdout
