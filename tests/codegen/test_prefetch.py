"""Instructions that compilers may take for useless: they must be in the machine code."""

import re
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


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("j3d7pt", [{"r6", "r7", "w0", "w1"}, {"r4", "w0"}]),
        ("j3d27pt", [{f"r{number}" for number in (14, 15, 16, 17)} | {"w0", "w1", "w2", "w3"}, {"r8", "w0"}]),
        ("wave3d", [{"r0", "r1", "r8", "r9"}, {"r0", "r5"}]),  # the version before the last one is overwritten
    ],
)
def test_sweeps_ask_for_the_rows_of_a_block_that_none_before_it_has_read(name, asked):
    problem = make_problem(program(name), (64,) * 3, 8, "float32")
    text = emit_tiling(problem, catalogue.complete(problem, parse("none:neighbours=loads"))).text
    loops = re.findall(r"if \(ahead != 0\) \{(.*?)\}", text, flags=re.DOTALL)
    assert [set(re.findall(r"tw_prefetch_near\((\w+) \+ \(j \+ 256\)\)", loop)) for loop in loops] == asked
