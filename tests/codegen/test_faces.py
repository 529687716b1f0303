"""Sums over the steps near the sides of a grid: every tiling's are the reference's."""

import numpy as np
import pytest
from tests.sampling import covering

from tilewright.inputs.memo import prepared
from tilewright.plan import read_target
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.reference import start, step
from tilewright.runtime.points import FaceSums, PointData
from tilewright.runtime.session import Inputs

SHAPES = {1: (77,), 2: (23, 41), 3: (14, 11, 37)}
WIDTHS = {1: ((2, 1),), 2: ((3, 2), (1, 0)), 3: ((2, 0), (2, 3), (1, 2))}
TILINGS = {
    "jacobi1d": ("none", "hexagonal:t=4,s=8", "skewed:t=4,s=8,sub=4", "streaming:t=3,s=16"),
    "j2d9pt": ("none", "hybrid:t=4,s=8x32", "diamond:t=4,s=16x32", "streaming:t=3,s=9x32"),
    "wave2d": ("none", "hybrid:t=4,s=4x32", "streaming:t=4,s=9x32", "streaming:t=4,s=64x64"),
    "fdtd2d": ("none", "streaming:t=3,s=9x32"),
    "laplacian3d": ("none", "hybrid:t=4,s=2x8x16", "streaming:t=2,s=8x5x16"),
}
RUNS = [(boundary, steps) for boundary in ("fixed", "constant:0") for steps in (9, 1)]
CASES = [(name, tiling) for name, tilings in TILINGS.items() for tiling in tilings]


def expected(problem, field, arrays, widths):
    """What every end of every axis sums to, by NumPy."""
    state, box = start(problem, arrays), next(e for e in problem.program.statements if e.field == field)
    inside = tuple(slice(*span) for span in problem.update_box(box))
    total = np.zeros(problem.shape)
    for _ in range(problem.steps):
        state = step(problem, state, {})
        total[inside] += state[field][0][inside]
    ends = {}
    for axis, (low, high) in enumerate(widths):
        turned = np.moveaxis(total, axis, 0)
        ends[axis, False] = np.moveaxis(turned[:low], 0, axis)
        ends[axis, True] = np.moveaxis(turned[len(turned) - high :], 0, axis)
    return ends


@pytest.mark.parametrize(("case", "run"), covering(CASES, RUNS))
def test_sums_are_the_references(private_folders, case, run):
    (name, tiling), (boundary, steps) = case, run
    made, draw = program(name), np.random.default_rng(4)
    problem = make_problem(made, SHAPES[made.rank], steps, "float64", boundary)
    arrays = {f: [draw.standard_normal(problem.shape) for _ in range(made.history(f))] for f in made.fields}
    widths = WIDTHS[made.rank]
    kept = [FaceSums(problem, field, widths) for field in made.updated]
    data = PointData(faces=tuple(kept))
    with_sums = data.on(problem)
    kernel = prepared(with_sums, read_target("c"), tiling, strict=False)
    inputs = Inputs(arrays=arrays, scalars={}, points=data)
    results = kernel.run(with_sums, inputs, 2)
    session = prepared(problem, read_target("numpy"), None, strict=False)
    plain = session.run(problem, Inputs(arrays=arrays, scalars={}), 1)
    for each in kept:
        np.testing.assert_allclose(results[each.field], plain[each.field], rtol=1e-12, atol=1e-12)
        for (axis, last), values in expected(problem, each.field, arrays, widths).items():
            if any(widths[axis]):
                np.testing.assert_allclose(each.at_end(axis, last=last), values, rtol=1e-11, atol=1e-11)


def test_numpy_sums_the_same(private_folders):
    made, widths = program("j2d9pt"), WIDTHS[2]
    problem = make_problem(made, SHAPES[2], 3, "float64")
    arrays = {field: [np.random.default_rng(5).standard_normal(problem.shape)] for field in made.fields}
    (field,) = made.updated
    sums = FaceSums(problem, field, widths)
    data = PointData(faces=(sums,))
    with_sums = data.on(problem)
    prepared(with_sums, read_target("numpy"), None, strict=False).run(
        with_sums, Inputs(arrays=arrays, scalars={}, points=data), 1
    )
    for (axis, last), values in expected(problem, field, arrays, widths).items():
        np.testing.assert_allclose(sums.at_end(axis, last=last), values, rtol=1e-12)
