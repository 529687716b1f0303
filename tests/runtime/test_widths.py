"""One text for every register width: AVX-512, AVX2 and baseline x86-64 compute what the reference computes."""

from dataclasses import replace

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.base.errors import ToolchainError
from tilewright.driver import emit_tilings
from tilewright.programs.stencil import reference, rounding
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.runtime import cpu
from tilewright.runtime.host import cpu_features
from tilewright.runtime.kernels import execute
from tilewright.runtime.session import Inputs
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import parse

WIDTHS = {
    "baseline": ("-march=x86-64",),
    "avx2": ("-march=haswell",),
    "avx512": ("-march=skylake-avx512", "-mprefer-vector-width=512"),
}
NEEDED = {"baseline": "sse2", "avx2": "avx2", "avx512": "avx512dq"}
CASES = [
    ("j2d5pt", (45, 200), "streaming:t=3,s=20x64"),
    ("gradient2d", (45, 130), "streaming:t=2,s=20x64"),
    ("j2d9pt-gol", (30, 100), "streaming:t=4,s=30x100"),
    ("j3d27pt", (14, 16, 100), "streaming:t=2,s=7x8x100"),
    ("box3d2r", (16, 15, 100), "streaming:t=1,s=16x8x100"),
    ("box2d2r", (30, 100), "streaming:t=2,s=30x100"),
    ("box2d4r", (40, 100), "streaming:t=1,s=20x100"),
    ("star3d3r", (20, 15, 100), "streaming:t=1,s=20x9x100"),
    ("star2d4r", (30, 37), "streaming:t=2,s=20x16"),
    ("j1d3pt", (777,), "streaming:t=6,s=128"),
]


def tools():
    try:
        return toolchain()
    except ToolchainError:
        return None


def at(width):
    """The compiler for registers of that width, or this processor's own; skips where it lacks them."""
    if width == "own":
        return tools()
    if NEEDED[width] not in " ".join(map(str, cpu_features())):
        pytest.skip(f"this CPU has no {NEEDED[width]}")
    return replace(tools(), native=WIDTHS[width])


@pytest.mark.skipif(tools() is None, reason="no C compiler")
@pytest.mark.parametrize(("width", "dtype"), covering(list(WIDTHS), ["float32", "float64"]))
def test_every_width_agrees_with_the_reference(width, dtype):
    compiler = at(width)
    problems = [make_problem(program(name), shape, 7, dtype, "nearest") for name, shape, _ in CASES]
    tilings = [catalogue.complete(p, parse(text)) for p, (_, _, text) in zip(problems, CASES, strict=True)]
    source = emit_tilings(list(zip(problems, tilings, strict=True)))
    for problem, kernel in zip(problems, cpu.stencil_kernels(source, compiler), strict=True):
        arrays = {"u": [np.random.default_rng(3).random(problem.shape).astype(dtype)]}
        exact, allowed = rounding.bound(problem, arrays, {})
        found = execute(kernel, problem, Inputs(arrays=arrays, scalars={}), threads=2)
        assert set(found) == set(reference.run(problem, arrays, {}))
        error, good = rounding.worst_excess(found["u"], exact["u"], allowed["u"])
        assert good, f"{problem.program.name} under {width}: off by up to {error:g}"


@pytest.mark.skipif(tools() is None, reason="no C compiler")
@pytest.mark.parametrize("width", ["own", *WIDTHS])
def test_reciprocal_roots_of_every_kind_of_number(width):
    """Each width has an instruction of its own to begin with; subnormal numbers are zero, whose root is zero."""
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-45, -1, 1.1755e-38, 3.4e38, 1e-37, 1, 4]
    x = np.array(special * 5 + list(np.random.default_rng(5).uniform(0.25, 4, 5000)), np.float32)
    problem = make_problem(
        stencil("root", 1, {"u": 1.0 / tw.sqrt(FieldBuilder("u")[0])}), x.shape, 1, "float32", "fixed"
    )
    [kernel] = cpu.stencil_kernels(emit_tilings([(problem, catalogue.complete(problem, parse("none")))]), at(width))
    found = execute(kernel, problem, Inputs(arrays={"u": [x]}, scalars={}), threads=2)["u"]
    with np.errstate(all="ignore"):
        exact = 1.0 / np.sqrt(np.where(abs(x) < np.finfo(x.dtype).smallest_normal, 0.0 * x, x).astype(float))
    np.testing.assert_allclose(found.astype(float), exact, rtol=2e-7)
