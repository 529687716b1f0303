"""One text for every register width: AVX-512, AVX2 and baseline x86-64 compute what the reference computes."""

from dataclasses import replace

import numpy as np
import pytest
from tests.sampling import covering

from tilewright.base.errors import ToolchainError
from tilewright.driver import emit_tilings
from tilewright.programs.stencil import reference, rounding
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime import cpu
from tilewright.runtime.host import cpu_features
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


@pytest.mark.skipif(tools() is None, reason="no C compiler")
@pytest.mark.parametrize(("width", "dtype"), covering(list(WIDTHS), ["float32", "float64"]))
def test_every_width_agrees_with_the_reference(width, dtype):
    features = " ".join(map(str, cpu_features()))
    if NEEDED[width] not in features:
        pytest.skip(f"this CPU has no {NEEDED[width]}")
    compiler = replace(tools(), native=WIDTHS[width])
    problems = [make_problem(program(name), shape, 7, dtype, "nearest") for name, shape, _ in CASES]
    tilings = [catalogue.complete(p, parse(text)) for p, (_, _, text) in zip(problems, CASES, strict=True)]
    source = emit_tilings(list(zip(problems, tilings, strict=True)))
    for problem, kernel in zip(problems, cpu.stencil_kernels(source, compiler), strict=True):
        arrays = {"u": [np.random.default_rng(3).random(problem.shape).astype(dtype)]}
        exact, allowed = rounding.bound(problem, arrays, {})
        found = cpu.execute(kernel, problem, Inputs(arrays=arrays, scalars={}), threads=2)
        assert set(found) == set(reference.run(problem, arrays, {}))
        error, good = rounding.worst_excess(found["u"], exact["u"], allowed["u"])
        assert good, f"{problem.program.name} under {width}: off by up to {error:g}"
