"""Instructions that compilers may take for useless: they must be in the machine code."""

import shutil
import subprocess

import pytest

from tilewright.base.errors import ToolchainError
from tilewright.driver import emit_tiling
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.toolchains.cpu import compile_shared, toolchain
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import parse


def tools():
    """The C compiler, if there is one."""
    try:
        return toolchain()
    except ToolchainError:
        return None


@pytest.mark.skipif(tools() is None or shutil.which("objdump") is None, reason="no C compiler or no objdump")
@pytest.mark.parametrize(("name", "text"), [("j2d5pt", "streaming:t=4,s=64x64"), ("j3d7pt", "streaming:t=2,s=8x8x64")])
def test_prefetches_reach_the_machine_code(name, text, tmp_path):
    from tilewright.runtime.host import cpu_features

    if cpu_features()[0] not in {"x86_64", "AMD64"}:
        pytest.skip("the instruction's name is that of x86")
    problem = make_problem(program(name), (64,) * program(name).rank, 8, "float32")
    library = tmp_path / "kernel.so"
    source = emit_tiling(problem, catalogue.complete(problem, parse(text)))
    library.write_bytes(compile_shared(tools(), source.text, strict=False))
    listing = subprocess.run(["objdump", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    assert "prefetch" in listing
