"""What tests of annotated C share: units are compiled once, and g++ compiles kernels for a device made of a process."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tilewright.workloads.annotated import call

HEADERS = Path(__file__).parents[2] / "codegen" / "device"
FLAGS = (
    *("-std=c++17", "-O0", "-fPIC", "-w", "-fno-gnu-unique", "-Drestrict=__restrict__"),
    *("-fsanitize=bounds", "-fsanitize-undefined-trap-on-error"),
)


@pytest.fixture(scope="session")
def compiled():
    """What was compiled, by command and text: the original bodies of a file are the same in many tests."""
    return {}


@pytest.fixture(autouse=True)
def compiled_once(compiled, monkeypatch):
    real = call.build

    def build(command, text, seconds=call.COMPILE_SECONDS):
        known = (tuple(command), text)
        if known not in compiled:
            compiled[known] = real(command, text, seconds)
        return compiled[known]

    monkeypatch.setattr(call, "build", build)


@pytest.fixture(scope="session")
def device_compiler(tmp_path_factory):
    """The command that compiles for that device; what CUDA's units include first is compiled once."""
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    folder = tmp_path_factory.mktemp("device") / "headers"
    shutil.copytree(HEADERS, folder)
    header = folder / "cuda_runtime.h"
    subprocess.run(["g++", *FLAGS, "-x", "c++-header", str(header), "-o", f"{header}.gch"], check=True)
    return ["g++", *FLAGS, f"-I{folder}"]
