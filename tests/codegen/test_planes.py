"""Rows of two planes that are computed together: every cell is the reference's, whatever is left over."""

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.programs.stencil import reference, rounding
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil

TILINGS = (
    "hybrid:t=4,s=5x8x64",
    "diamond:t=2,s=16x8x64",
)
BOUNDARIES = ("fixed", "nearest", ("mirror", "reflect", "nearest"), ("constant:0.5", "constant:0.25", "fixed"))
SHAPES = ((19, 17, 37), (9, 22, 70), (24, 9, 133), (10, 11, 150))
"""Odd extents, and boxes of few planes, rows or vectors."""


def star(seed, *, before):
    """A star of random arms, up to 4 long; with the level before it has two in memory, one of which is overwritten."""
    draw, u = np.random.default_rng(seed), FieldBuilder("u")
    arms = [(-draw.integers(along == 0, 5), draw.integers(5)) for along in range(3)]
    offsets = {(0, 0, 0)}
    for along, (low, high) in enumerate(arms):
        offsets |= {tuple(at * (axis == along) for axis in range(3)) for at in range(low, high + 1)}
    total = sum(float(draw.random()) / len(offsets) * u[offset] for offset in sorted(offsets))
    return stencil("star", 3, {"u": total - 0.25 * u.prev[0, 0, 0] if before else total})


@pytest.mark.parametrize(("tiling", "boundary", "shape"), covering(TILINGS, BOUNDARIES, SHAPES))
def test_random_stars_are_right_in_boxes_of_any_extents(tiling, boundary, shape):
    seed = TILINGS.index(tiling) + 4 * BOUNDARIES.index(boundary) + 16 * SHAPES.index(shape)
    program = star(seed, before=seed % 2 == 1)
    problem = make_problem(program, shape, 5, "float32", boundary)
    given = np.random.default_rng(seed).random((program.history("u"), *shape), dtype=np.float32)
    options = {"steps": 5, "boundary": boundary, "backend": "c", "tiling": tiling}
    state = tuple(given) if len(given) > 1 else given[0]
    strict = tw.run(program, state, strict=True, **options)
    np.testing.assert_array_equal(strict, reference.run(problem, {"u": list(given)}, {})["u"])
    exact, allowed = rounding.bound(problem, {"u": list(given)}, {})
    error, good = rounding.worst_excess(tw.run(program, state, **options), exact["u"], allowed["u"])
    assert good, f"off by up to {error:g}"
