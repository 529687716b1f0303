"""A kernel that was exported is built by CMake into a program of one's own, and computes what a run computes.

GPU kernels are exported with a host program: those of OpenCL run in Oclgrind, those of CUDA are compiled.
"""

import dataclasses
import functools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.sampling import some

import tilewright as tw
from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.machines import files
from tilewright.machines.files import to_toml
from tilewright.runtime.devices.nvrtc import compile_kernels
from tilewright.schedules.tiling import parse

EXAMPLE = Path(__file__).parents[3] / "examples" / "export"
DECLARATIONS = Path(__file__).parent / "opencl"


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


def test_a_plan_for_a_machine_file_has_a_text_for_it(tmp_path):
    mine = tmp_path / "mygpu.toml"
    mine.write_text(to_toml(files.load("gtx980")))
    ask = {"shape": (512, 512), "steps": 64, "machine": str(mine), "effort": "none"}
    plan = tw.tune("heat2d", **ask)
    assert plan.tiling.family == "streaming"
    assert "__global__" in plan.source
    assert plan.export(tmp_path / "k.cu") == (tmp_path / "k.cu", tmp_path / "k_main.cu")
    assert plan.source in (tmp_path / "k.cu").read_text()
    assert plan.export(tmp_path / "k.cl") == (tmp_path / "k.cl", tmp_path / "k_main.c")
    assert "__kernel" in (tmp_path / "k.cl").read_text()
    with pytest.raises(IllegalTilingError, match="one for GPUs"):
        plan.export(tmp_path / "k.c")
    named = tw.tune("heat2d", **ask, backend="opencl")
    assert "__kernel" in named.source
    with pytest.raises(UsageError, match="no C code"):
        named.export(tmp_path / "k.c")


@tw.stencil
def marched(u, c, k=0.1):
    return u[0, 0] + k * c[0, 0] * (u[-1, 0] + u[1, 0] + u[0, -1] + u[0, 1] - 4 * u[0, 0])


@tw.stencil
def graded(u, k):
    return u[0] + k * tw.where(tw.index(0) % 2 == 0, u[-1] - u[0], u[1] - u[0])


@tw.stencil
def counted(u):
    return (u[-1, 0] + u[1, 0] + 3 * u[0, 1]) % 97


CASES = {
    "hexagonal": ("jacobi1d", (700,), 13, "hexagonal:t=4,s=64", {}),
    "hybrid": ("heat2d", (60, 90), 9, "hybrid:t=4,s=4x32,threads=1x32", {}),
    "streaming": ("j2d5pt", (50, 84), 11, "streaming:t=2,s=16x24,threads=1x5", {}),
    "none": ("heat3d", (10, 12, 33), 3, "none", {}),
    "skewed": ("star2d2r", (40, 64), 6, "skewed:t=2,s=8x32", {}),
    "two levels": ("wave2d", (40, 50), 7, "none", {}),
    "several fields": ("fdtd2d", (30, 83), 5, "streaming:t=2,s=16x24,threads=1x5", {}),  # lines end within vectors
    "scalar and coefficients": (marched, (40, 50), 8, "hybrid:t=4,s=4x32,threads=1x32", {"k": 0.05}),
    "a default": (marched, (40, 50), 3, "none", {}),
    "wrap": ("j2d5pt", (40, 64), 4, "hybrid:t=4,s=4x32,threads=1x32", {"boundary": "wrap"}),
    "looked up": (graded, (300,), 7, "none", {"k": 0.25}),
    "integers": (counted, (20, 40), 5, "none", {"dtype": "int32"}),
    "per step": (graded, (300,), 7, "none", {"k": np.linspace(0.1, 0.3, 7)}),
}


@functools.cache
def planned(name):
    """A plan with a certain tiling."""
    program, shape, steps, tiling, more = CASES[name]
    plan = tw.tune(program, shape=shape, steps=steps, machine="gtx980", effort="none", **more)
    return dataclasses.replace(plan, winner=dataclasses.replace(plan.winner, tiling=parse(tiling)))


def computed(name):
    """What a run makes of the arrays that a host program makes."""
    plan = planned(name)
    kind, shape = np.dtype(plan.problem.dtype).type, plan.problem.shape
    scale, cells = kind(11) if kind is np.float32 else kind(1), np.arange(np.prod(shape)).reshape(shape)
    levels = []
    for number, field in enumerate(plan.program.fields):
        array = ((cells * 7 + number) % 11).astype(kind) / scale
        levels.append((array,) * plan.program.history(field) if plan.program.history(field) > 1 else array)
    more = {key: value for key, value in CASES[name][4].items() if key != "dtype"}
    expected = tw.run(plan.program, *levels, steps=plan.problem.steps, backend="numpy", **more)
    return expected if isinstance(expected, tuple) else (expected,)


HOST = """
import ctypes, os, sys, pyopencl
pyopencl.get_platforms()
given = (ctypes.c_char_p * 3)(b"k", b"out.bin", None)
for folder in sys.argv[1:]:
    print("\\nkernels of", folder, flush=True)
    os.chdir(folder)
    assert ctypes.CDLL(os.path.abspath("k.so")).main(2, given) == 0, folder
    ctypes.CDLL(None).fflush(None)
"""


def test_the_host_programs_of_opencl_kernels_compute_what_runs_compute(tmp_path):
    """Their calls are compiled against their declarations, and they run in Oclgrind, all in one process."""
    (loader,) = Path(pytest.importorskip("pyopencl").__file__).parent.glob(".libs/libOpenCL*")
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-shared", "-fPIC", f"-I{DECLARATIONS}"]
    folders = {name: tmp_path / name for name in CASES}
    for name, folder in folders.items():
        folder.mkdir()
        planned(name).export(folder / "k.cl")
        command = ["cc", *flags, folder / "k_main.c", "-o", folder / "k.so", loader]
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        assert made.returncode == 0, made.stderr
    done = subprocess.run([sys.executable, "-c", HOST, *folders.values()], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = dict(part.split("\n", 1) for part in done.stdout.split("\nkernels of ")[1:])
    for name, folder in folders.items():
        plan, expected = planned(name), computed(name)
        assert f"{plan.program.updated[0]} after {plan.problem.steps} steps" in said[str(folder)]
        found = np.fromfile(folder / "out.bin", plan.problem.dtype).reshape(-1, *plan.problem.shape)
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0 if theirs.dtype.kind == "i" else 2e-5, err_msg=name)


KINDS = ("hybrid", "several fields", "scalar and coefficients", "per step")
"""Cases whose kernels take unlike arguments; families are compiled where their kernels are tested."""


@pytest.mark.parametrize("name", some([*KINDS, *(name for name in CASES if name not in KINDS)], len(KINDS)))
def test_the_cuda_texts_compile(name, tmp_path):
    """The kernels by NVRTC; with nvcc the host program as well."""
    planned(name).export(tmp_path / "k.cu")
    assert compile_kernels((tmp_path / "k.cu").read_text(), "sm_90", ("--std=c++17",)).keys() <= set(
        re.findall(r"\w+(?=<<<)", (tmp_path / "k_main.cu").read_text())
    )
    if shutil.which("nvcc"):
        command = ["nvcc", "-std=c++17", "-arch=sm_90", "-cuda", "k_main.cu", "-o", "k.ii"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
