"""What tests of annotated C share: a device made of a process, for which g++ compiles kernels."""

import shutil
import subprocess
from pathlib import Path

import pytest

HEADERS = Path(__file__).parents[2] / "codegen" / "device"
FLAGS = (
    *("-std=c++17", "-O0", "-fPIC", "-w", "-fno-gnu-unique", "-Drestrict=__restrict__"),
    *("-fsanitize=bounds", "-fsanitize-undefined-trap-on-error"),
)


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
