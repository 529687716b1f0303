"""Fused groups for GPUs: run by what implements OpenCL here, compiled by NVRTC."""

import numpy as np
import pytest
from tests.sampling import some

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.codegen.print.dialects import DIALECTS
from tilewright.costs.arrays import BlockShapes
from tilewright.machines.files import load
from tilewright.programs.stencil.boundaries import parse_boundary
from tilewright.workloads.pipelines import fusions
from tilewright.workloads.pipelines.catalogue import pipeline
from tilewright.workloads.pipelines.device import execute
from tilewright.workloads.pipelines.gpu_costs import card, evaluate
from tilewright.workloads.pipelines.lower.device import emit_gpu_group
from tilewright.workloads.pipelines.problem import compute, make_pipeline_problem

CASES = [
    ("canny", {"sigma": 0.5}, "reflect", (13, 19), (4, 8, 1, 1), "full", "float32"),
    (
        "canny",
        {"sigma": 0.5},
        "constant:0.25",
        (9, 17),
        (2, 8, 2, 1),
        "(S1, S2) | (S3, S4, S5, S6, S7) | S8",
        "float32",
    ),
    ("canny", {}, "nearest,wrap", (9, 16), (2, 4, 2, 2), "full", "float64"),
    ("blur", {"radius": 2}, "mirror", (11, 14), (4, 4, 1, 2), "full", "float32"),
    ("blur", {"radius": 2}, "wrap", (7, 9), (2, 4, 1, 1), "full", "float64"),
    ("unsharp", {"radius": 1}, "nearest/reflect,mirror", (8, 9), (4, 4, 1, 1), "full", "float32"),
    ("sobel", {}, "mirror", (8, 9), (2, 8, 1, 1), "none", "float32"),
    ("blend", {}, "reflect", (5, 9), (2, 4, 1, 1), "full", "uint8"),
]


@pytest.mark.parametrize("case", some(CASES, 1))
def test_opencl_kernels_compute_the_pipeline(opencl_device, case):
    name, options, border, shape, block, fusion, dtype = case
    program = pipeline(name, **options)
    problem = make_pipeline_problem(program, shape, dtype, parse_boundary(border))
    rng = np.random.default_rng(0)
    scale = 100 if dtype == "uint8" else 1
    given = {grid: (rng.random(shape) * scale).astype(dtype) for grid in program.inputs}
    scalars = (40.0,) * len(program.scalars) if name == "blend" else (0.5,) * len(program.scalars)
    wanted = compute(problem, [*given.values()], dict(zip(program.scalars, scalars, strict=True)))
    grids = execute(opencl_device, problem, fusions.parse(program, fusion), block, given, scalars)
    for grid in program.outputs:
        tolerance = {"float32": 2e-6, "float64": 1e-13}.get(dtype, 0)
        np.testing.assert_allclose(grids[grid], wanted[grid], rtol=0, atol=tolerance)


def test_opencl_kernels_convert(opencl_device):
    @tw.stencil
    def wide(u):
        return (u[0, -1] - u[1, 0]) * 1.7

    program = tw.pipeline(lambda u: wide(u.astype("float32")).astype("uint8", rounding="floor"), name="wide").program
    problem = make_pipeline_problem(program, (7, 9), "int16", "mirror")
    given = {"G1": np.random.default_rng(0).integers(-300, 300, (7, 9)).astype("int16")}
    wanted = compute(problem, [given["G1"]], {})
    grids = execute(opencl_device, problem, [(0, 1, 2)], (2, 4, 2, 1), given, ())
    np.testing.assert_array_equal(grids["G4"], wanted["G4"])


@pytest.mark.parametrize(("name", "options", "border", "shape", "block", "fusion", "dtype"), CASES[::2])
def test_cuda_kernels_compile(nvrtc, name, options, border, shape, block, fusion, dtype):
    program = pipeline(name, **options)
    problem = make_pipeline_problem(program, shape, dtype, parse_boundary(border))
    for group in fusions.parse(program, fusion):
        source = emit_gpu_group(problem, group, "cuda", (8, 32, 1, 1))
        assert source.shared_bytes <= 48 * 1024
        nvrtc(source.text, "sm_75")


def test_both_dialects_share_their_text():
    program = pipeline("canny", sigma=1.0)
    problem = make_pipeline_problem(program, (64, 64))
    bodies = []
    for dialect in DIALECTS:
        source = emit_gpu_group(problem, tuple(range(8)), dialect, (8, 32, 1, 1))
        bodies.append(source.text.replace(source.entry, "entry").partition("#define SMALLER")[2])
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize("name", ["canny", "blur", "harris"])
def test_the_model_counts_the_kernels_shared_memory(name):
    program = pipeline(name)
    problem = make_pipeline_problem(program, (512, 512), "float32", "nearest")
    group = fusions.full(program)[0]
    block = (8, 32, 2, 1)
    columns = BlockShapes(**{k: np.array([v]) for k, v in zip(("ty", "tx", "ny", "nx"), block, strict=True)})
    counted = evaluate(problem, group, columns, card(load("h100"))).shared_bytes[0]
    assert emit_gpu_group(problem, group, "cuda", block).shared_bytes == counted


def test_what_there_is_no_kernel_for():
    problem = make_pipeline_problem(pipeline("blur"), (64, 64))
    with pytest.raises(UsageError, match="dialect"):
        emit_gpu_group(problem, (0, 1), "metal", (8, 8, 1, 1))
    with pytest.raises(UsageError, match="two dimensions"):
        emit_gpu_group(problem, (0, 1), "cuda", (8, 8, 0, 1))
