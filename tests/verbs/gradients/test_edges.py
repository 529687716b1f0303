"""What kept cells are worth where steps depend on no state, from sums over the steps near the sides."""

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.inputs.stencil import as_program
from tilewright.programs.stencil.adjoint import adjoint_of
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import parse
from tilewright.verbs.gradients.problems import inner_problem

SHAPES = {1: (41,), 2: (19, 26), 3: (9, 8, 13)}


@tw.stencil
def upwind(u):
    """Reads to one side alone: the adjoint's boundaries do not say which cells are updated."""
    return 0.5 * u[0, 0] + 0.3 * u[-2, 0] + 0.2 * u[0, -1]


@tw.stencil
def pair(u, v):
    """Two fields that keep different edges."""
    return 0.4 * u[0, 0] + 0.3 * v[-1, 0] + 0.3 * v[1, 0], 0.5 * v[0, 0] + 0.2 * u[0, 2] + 0.1 * u[0, -2]


@tw.stencil
def delayed(u):
    """Reads neighbours two steps back."""
    return u[0, 0] - 0.3 * u.prev[0, 0] + 0.1 * u.prev[-1, 0] + 0.1 * u.prev[0, 1]


@tw.stencil
def weighted(u, k):
    """A coefficient that is a field, and a number that depends on the place."""
    ramp = 0.01 * tw.index(0)
    return u[0, 0] + k[0, 0] * (u[-1, 0] + u[1, 0] - 2 * u[0, 0]) + ramp * (u[0, 1] - u[0, 0])


FIXED = ("fixed", ("fixed", ("reflect", "fixed")), (("fixed", "constant:0"), "wrap"))
RUNS = [(steps, backend) for steps in (11, 2, 1) for backend in ("c", "numpy")]
CASES = [
    *((name, "fixed") for name in ("jacobi1d", "j2d9pt", "wave2d", "laplacian3d", "wave3d")),
    *((made, sides) for made in (upwind, pair, delayed, weighted) for sides in FIXED),
]


@pytest.mark.parametrize(("case", "run"), covering(CASES, RUNS, times=2))
def test_the_pullback_is_the_transpose_to_rounding(private_folders, case, run):
    (made, sides), (steps, backend) = case, run
    known, draw = as_program(made), np.random.default_rng(9)
    shape = SHAPES[known.rank]
    assert adjoint_of(known, sides, ()).inner is not None
    k = draw.uniform(0.0, 0.2, shape)

    def given():
        versions = {f: [draw.standard_normal(shape) for _ in range(known.history(f))] for f in known.updated}
        return [tuple(versions[f]) if f in versions else k for f in known.fields]

    def plain(arrays):
        return [each[0] if isinstance(each, tuple) and len(each) == 1 else each for each in arrays]

    start, moved = given(), given()
    options = {"steps": steps, "boundary": sides, "backend": backend}
    _, pullback = tw.vjp(known, *plain(start), wrt=(), **options)
    worth = [draw.standard_normal(shape) for _ in known.updated]
    gradients, _ = pullback(tuple(worth) if len(worth) > 1 else worth[0])
    there = tw.run(known, *plain(moved), **{**options, "backend": "numpy"})
    there = there if isinstance(there, tuple) else (there,)
    by_run = sum(float((a * b).sum()) for a, b in zip(worth, there, strict=True))
    by_adjoint = 0.0
    for gradient, arrays in zip(gradients, moved, strict=True):
        if gradient is not None and isinstance(arrays, tuple):
            each = gradient if isinstance(gradient, tuple) else (gradient,)
            by_adjoint += sum(float((a * b).sum()) for a, b in zip(each, arrays, strict=True))
    assert by_adjoint == pytest.approx(by_run, rel=1e-11, abs=1e-11)


def test_steps_back_stream():
    """The way back of a program with weights the same to both sides takes any tiling that the run may take."""
    adjoint = adjoint_of(program("jacobi2d"))
    whole = make_problem(adjoint.program, (64, 64), 8, "float32", adjoint.boundary)
    inner = inner_problem(whole, adjoint.inner)
    assert not inner.regions
    assert catalogue.legal(inner, parse("streaming:t=4,s=32x64")).family == "streaming"
    assert inner_problem(whole, adjoint_of(as_program(upwind)).inner).regions
    one = [len(each.tape) for each in inner.program.statements]
    assert one == [len(each.tape) for each in program("jacobi2d").statements]


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize("side", [np.s_[0, 3:], np.s_[-1, :4], np.s_[2:, 0], np.s_[5, -1]])
def test_kept_cells_of_an_older_level_are_those_of_the_newest(private_folders, backend, side):
    @tw.stencil
    def wave(u):
        """A wave whose older level is read beside the cell, and not linearly."""
        return 2 * u[0, 0] - u.prev[0, 0] * u.prev[1, 0] + 0.1 * u[0, 0] * (u[-1, 0] + u.prev[0, 1] + u.prev[0, -1])

    draw = np.random.default_rng(4)
    newest, older, worth = draw.random((3, 9, 11))
    older[[0, -1]], older[:, [0, -1]] = newest[[0, -1]], newest[:, [0, -1]]
    other = older.copy()
    other[side] += 0.5  # what nobody looks at, on one side alone
    found = []
    for level in (older, other):
        y, pullback = tw.vjp(wave, (newest, level), steps=5, boundary="fixed", backend=backend, checkpoints=3)
        found.append((y, *pullback(worth)[0][0]))
    for same, one in zip(*found, strict=True):
        np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("reach", [3, 5])
@pytest.mark.parametrize("kind", ["dirichlet", "neumann", "robin"])
def test_far_reads_across_conditions_on_faces(kind, reach):
    far = tw.stencil(lambda u: 0.5 * u[0, 0] + 0.1 * (u[0, reach] - u[-reach, 0]) * u[0, -reach])
    u, worth, direction = np.random.default_rng(9).random((3, 23, 17))
    options = {"steps": 3, "boundary": tw.Boundary(kind, 0.3, factor=0.5 if kind == "robin" else 0.0)}
    _, pullback = tw.vjp(far, u, **options)
    gradients, _ = pullback(worth)

    def value(step):
        return (tw.run(far, u + step * direction, **options, backend="numpy") * worth).sum()

    change = (value(1e-6) - value(-1e-6)) / 2e-6
    assert (gradients[0] * direction).sum() == pytest.approx(change, rel=1e-7)
