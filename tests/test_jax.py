"""What needs JAX: gradients compared with its own, runs that it differentiates, the benchmark that measures it."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest


def test_gradients_of_jax_and_their_benchmark_in_a_process_of_their_own():
    """JAX starts threads, after which the tests' process must not fork any more."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("needs pip install jax")
    tests = [Path(__file__).with_name(f"{name}.py") for name in ("jax_gradients", "jax_benchmark")]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *map(str, tests)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tests[0].parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "22 passed" in done.stdout, done.stdout
