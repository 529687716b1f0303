"""A kernel that was exported is built by CMake into a program of one's own, and computes what a run computes."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw

EXAMPLE = Path(__file__).parents[3] / "examples" / "export"


@pytest.mark.parametrize("steps", [64, 1])
def test_the_example_builds_and_computes(steps, tmp_path):
    if shutil.which("cmake") is None or shutil.which("cc") is None:
        pytest.skip("no CMake or no C compiler")
    for name in ("main.c", "CMakeLists.txt"):
        shutil.copy(EXAMPLE / name, tmp_path)
    plan = tw.tune("j2d5pt", shape=(512, 512), steps=steps, effort="none")
    plan.export(tmp_path / "kernel.c")
    for command in (["cmake", "-B", "build", "."], ["cmake", "--build", "build"]):
        done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    said = subprocess.run([tmp_path / "build" / "heat"], cwd=tmp_path, capture_output=True, text=True, check=True)
    u = np.zeros((300, 200), np.float32)
    u[:, 0] = 1
    assert float(said.stdout) == pytest.approx(float(tw.run("j2d5pt", u, steps=50)[150, 3]), rel=1e-6)
