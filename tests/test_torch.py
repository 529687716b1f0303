"""What needs PyTorch: gradients compared with its own, in a process of their own."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.frameworks
def test_gradients_of_torch_in_a_process_of_their_own():
    if importlib.util.find_spec("torch") is None:
        pytest.skip("needs pip install torch")
    tests = Path(__file__).with_name("torch_gradients.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "default", str(tests)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tests.parents[1])
    assert done.returncode == 0, done.stdout + done.stderr
