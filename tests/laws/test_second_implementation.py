"""The law of everything on a second implementation of OpenCL, PoCL, which compiles work-groups for this processor.

Oclgrind interprets the work-items of a group one after the other; a compiler makes loops and vectors of them, and runs
groups in threads. Grids are larger than those of the interpreter: a launch has many groups, and some tiles are whole.
"""

import itertools
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from tests.distributed.in_threads import threaded_mpi  # noqa: F401  (a fixture)

import tilewright as tw
from tilewright.runtime.devices import opencl
from tilewright.schedules.code import GroupBlock
from tilewright.sparse import device as sparse
from tilewright.sparse.dia import Dia, length
from tilewright.sparse.krylov import reference
from tilewright.sparse.lower.vectors import CATALOGUE
from tilewright.workloads.chains.device import fused_product
from tilewright.workloads.pipelines import device as pipelines
from tilewright.workloads.pipelines import fusions
from tilewright.workloads.pipelines.problem import compute, make_pipeline_problem

from . import case, case_run
from .case import DIMENSIONS, TILINGS, Case, every_pair, runs
from .case_run import judge

SHAPES = {1: (4099,), 2: (131, 257), 3: (19, 35, 67)}
PLAIN = [
    Case(program=program, family=family, tile=tile, dtype=dtype, boundary=boundary, target="opencl")
    for program, family, tile, dtype, boundary in [
        ("line", "none", 0, "float32", "nearest"),
        ("line", "hexagonal", 1, "float64", "mirror"),
        ("wave", "hybrid", 0, "float32", "wrap"),
        ("plane", "streaming", 0, "float64", "reflect"),
        ("cube", "skewed", 0, "int32", "nearest"),
        ("plane", "diamond", 0, "float32", "constant"),
    ]
]
"""A case of every family."""
WITH_MORE = [
    Case(program="places", family="none", points="between", dtype="float32", boundary="mirror", target="opencl"),
    Case(program="material", family="none", mask="cells", boundary="nearest", target="opencl"),
    Case(program="plane", result="gradient", boundary="reflect", target="opencl"),
]
"""Points, a mask and an adjoint."""


def every_family_and_boundary() -> list[Case]:
    """All that run, in one, two and three dimensions; with points in between, with a mask, and adjoints."""
    programs = ("line", "plane", "cube", "wave", "solid", "places", "material")
    found = []
    for program, family, boundary in itertools.product(programs, TILINGS, DIMENSIONS["boundary"]):
        plain = Case(program=program, family=family, boundary=boundary, target="opencl", coefficient="per step")
        dtypes = itertools.cycle(("float64", "float32"))
        more = [{"tile": 1}, {"points": "between"}, {"mask": "cells"}] if family != "none" else [{"result": "gradient"}]
        options = [{}, *(more if boundary in {"mirror", "constant"} else [])]
        found += [replace(plain, dtype=dtype, **each) for each, dtype in zip(options, dtypes, strict=False)]
    return [each for each in found if runs(asdict(each))]


def cases() -> list[object]:
    """Some for a default run; for the stress run the others, and the pairs of values that are on a device."""
    default = [*PLAIN, *WITH_MORE]
    rest = [*every_family_and_boundary(), *(each for each in every_pair() if each.target == "opencl")]
    rest = [each for each in dict.fromkeys(rest) if each not in default]
    marked = [pytest.param(each, id=each.name, marks=pytest.mark.stress) for each in rest]
    return [*(pytest.param(each, id=each.name) for each in default), *marked]


@pytest.mark.usefixtures("threaded_mpi", "private_folders")
@pytest.mark.filterwarnings("ignore::tilewright.TilewrightWarning")
@pytest.mark.parametrize("one", cases())
def test_compiled_work_groups_give_what_numpy_computes(
    one: Case, pocl: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case_run, "OPENCL", pocl)
    monkeypatch.setitem(case.SIZES, "uneven", SHAPES)
    judge(one, tmp_path)


@pytest.mark.parametrize(
    ("name", "size", "result"),
    [
        ("edit_distance", 300, "table"),
        *(
            pytest.param(*each, marks=pytest.mark.stress)
            for each in itertools.product(("edit_distance", "lcs", "monotone_paths"), (700, 3000), ("table", "last"))
        ),
    ],
)
def test_tables(pocl: str, name: str, size: int, result: str) -> None:
    draw = np.random.default_rng(1)
    shapes = [(size, size + 103)] if name == "monotone_paths" else [(size,), (size + 211,)]
    given = [draw.integers(0, 2 if name == "monotone_paths" else 4, shape) for shape in shapes]
    wanted = tw.fill(name, *given, result=result, backend="numpy")
    assert np.array_equal(tw.fill(name, *given, result=result, backend=pocl), wanted)


@pytest.mark.parametrize("size", [200, pytest.param(3000, marks=pytest.mark.stress)])
def test_alignments(pocl: str, size: int) -> None:
    draw = np.random.default_rng(1)
    first, second = ("".join(draw.choice([*"ACDEFGHIKLMNPQRSTVWY"], length)) for length in (size, size + 57))
    found = tw.align(first, second, score_only=True, backend=pocl)
    assert found.score == tw.align(first, second, score_only=True).score


BLOCKS = {
    "small": GroupBlock(tile=(24, 48), cells=(3, 2), depth=5),
    "large": GroupBlock(tile=(64, 64), cells=(4, 4), depth=8),
}


@pytest.mark.parametrize(
    ("fusion", "dtype", "block"),
    [
        pytest.param(*each, marks=[] if each == ("left", "float32", "small") else [pytest.mark.stress])
        for each in itertools.product(("left", "right"), ("float32", "float64"), BLOCKS)
    ],
)
def test_fused_products(pocl: str, fusion: str, dtype: str, block: str) -> None:
    draw = np.random.default_rng(2)
    first, second, third = (draw.standard_normal(shape).astype(dtype) for shape in ((203, 75), (75, 181), (181, 150)))
    device = opencl.select(pocl.partition(":")[2])
    found, _ = fused_product(device, fusion, (first, second, third), BLOCKS[block])
    wanted = np.linalg.multi_dot([each.astype("float64") for each in (first, second, third)])
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-2 if dtype == "float32" else 1e-10)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        pytest.param(*each, marks=[] if each == ("axpy_norm2", "float32") else [pytest.mark.stress])
        for each in itertools.product(CATALOGUE, ("float32", "float64"))
    ],
)
def test_vectors(pocl: str, name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    draw, what = np.random.default_rng(3), CATALOGUE[name]
    monkeypatch.setattr(sparse, "GROUPS", 7)  # so that threads take turns
    vectors = [draw.standard_normal(10_007).astype(dtype) for _ in what.vectors]
    scalars = draw.standard_normal(len(what.scalars)).astype(dtype).tolist()
    wanted, totals = reference(what, vectors, scalars)
    sums = sparse.apply(opencl.select(pocl.partition(":")[2]), what, vectors, scalars)
    tolerance = 1e-3 if dtype == "float32" else 1e-11
    for mine, other in zip(vectors, wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(sums, totals, rtol=tolerance, atol=100 * tolerance)


@pytest.mark.parametrize("dtype", ["float32", pytest.param("float64", marks=pytest.mark.stress)])
@pytest.mark.parametrize("unroll", [1, pytest.param(4, marks=pytest.mark.stress)])
def test_diagonals(pocl: str, dtype: str, unroll: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(5)
    monkeypatch.setattr(sparse, "GROUPS", 7)
    for shape in ((3001, 3001), (2000, 3500)):
        diagonals = {offset: draw.standard_normal(length(shape, offset)) for offset in (-400, -1, 0, 1, 2, 700)}
        matrix = Dia.from_diagonals(diagonals, shape, dtype)
        x = draw.standard_normal(shape[1]).astype(dtype)
        found = sparse.multiply(opencl.select(pocl.partition(":")[2]), matrix, x, unroll=unroll)
        tolerance = 1e-4 if dtype == "float32" else 1e-12
        np.testing.assert_allclose(found, matrix @ x, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("name", "fusion", "boundary"),
    [
        ("sobel", "none", "mirror"),
        *(
            pytest.param(*each, marks=pytest.mark.stress)
            for each in itertools.product(
                ("canny", "blur", "unsharp", "harris", "convrows"), ("full", "none"), ("reflect", "nearest")
            )
        ),
    ],
)
def test_pipelines(pocl: str, name: str, fusion: str, boundary: str) -> None:
    program, device = tw.pipeline(name).program, opencl.select(pocl.partition(":")[2])
    problem = make_pipeline_problem(program, (211, 307), "float32", boundary)
    given = {grid: np.random.default_rng(4).random(problem.shape, np.float32) for grid in program.inputs}
    scalars = [0.5] * len(program.scalars)
    wanted = compute(problem, [*given.values()], dict(zip(program.scalars, scalars, strict=True)))
    found = pipelines.execute(device, problem, fusions.parse(program, fusion), (8, 32, 2, 1), given, scalars)
    for grid in program.outputs:
        np.testing.assert_allclose(found[grid], wanted[grid], rtol=1e-5, atol=2e-6)
