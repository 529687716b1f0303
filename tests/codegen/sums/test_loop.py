"""Large sums as loops: right at every end of a grid, whole or in pieces, and short whatever their size."""

import itertools

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.codegen.boxes.loops import LoopSum
from tilewright.codegen.boxes.rows import BoxStatement
from tilewright.codegen.sites import Site
from tilewright.driver import emit_tiling
from tilewright.programs.stencil import catalogue, rounding
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules import catalogue as tilings
from tilewright.schedules.tiling import NONE, parse
from tilewright.tuning.spaces.cpu_schedule import choose_body

BOUNDARIES = (
    "fixed",
    "wrap",
    ("reflect", "mirror", "constant:0.5"),
    ("constant:0.25", "nearest", ("mirror", "nearest")),
    ("nearest", ("fixed", "reflect"), ("fixed", "constant:2")),
    ("constant:0.25", "constant:4", "wrap"),
)

PLACES = tuple(itertools.product((-2, -1, 0, 1), (-1, 0, 1, 2), range(-3, 4)))


def uneven(*, over):
    """112 reads, another reach on every side, some offsets along rows without some of the reads; perhaps in place."""
    u = FieldBuilder("u")
    total = sum(0.01 * (k % 7 - 2) * u[at] for k, at in enumerate(PLACES) if k % 31 or over)
    return stencil("uneven", 3, {"u": total - 0.5 * u.prev[0, 0, 0] if over else total})


PROGRAMS = {
    "box2d4r": lambda: catalogue.program("box2d4r"),
    "box3d2r": lambda: catalogue.program("box3d2r"),
    "uneven": lambda: uneven(over=False),
    "in place": lambda: uneven(over=True),
}


CASES = (("box2d4r", "float32"), ("box3d2r", "float32"), ("uneven", "float64"), ("in place", "float32"))


@pytest.mark.filterwarnings("ignore:no cell of")
@pytest.mark.parametrize(("case", "boundary"), covering(CASES, BOUNDARIES), ids=str)
def test_every_cell_is_within_its_bound(case, boundary):
    """Of rows shorter than a vector, of a few, and with cells left over; blocks of rows and single ones."""
    name, dtype = case
    known = PROGRAMS[name]()
    tiling = "hybrid:t=2,s=4x6x32" if known.rank == 3 else "hybrid:t=2,s=6x32"
    boundary = boundary[-known.rank :] if isinstance(boundary, tuple) else boundary
    for tile, extent in (("none", 7), ("none", 21), ("none", 53), (tiling, 32), (tiling, 66)):
        problem = make_problem(known, (9, 11, extent)[-known.rank :], 3, dtype, boundary)
        given = np.random.default_rng(extent).random(problem.shape).astype(dtype)
        history = [given] * known.history("u")
        exact, allowed = rounding.bound(problem, {"u": history}, {})
        out = tw.run(known, tuple(history), steps=3, boundary=boundary, backend="c", tiling=tile)
        error, good = rounding.worst_excess(out, exact["u"], allowed["u"])
        assert good, (tile, extent, error)


def test_sums_of_hundreds_of_reads_are_short():
    """Read by read box3d4r took 8000 lines, and gcc twelve seconds."""
    lines = {}
    for name in ("box2d4r", "box3d3r", "box3d4r"):
        known = catalogue.program(name)
        problem = make_problem(known, (32,) * known.rank, 4, boundary="nearest")
        text = emit_tiling(problem, tilings.complete(problem, parse("none"))).text
        lines[name] = len(text.splitlines())
    assert max(lines.values()) < 2000
    assert lines["box3d4r"] < 1.6 * lines["box3d3r"]  # 2.1 times the reads


def test_only_sums_of_many_reads_of_one_field_in_boxes_are_large():
    def asked(known, dtype="float32", *, strict=False):
        problem = make_problem(known, (20,) * known.rank, 1, dtype)
        body = choose_body(problem, NONE, strict=strict)
        site = Site(problem=problem, prefix="p", strict=strict, body=body)
        near = LoopSum(BoxStatement(site, 0)).near
        return sum(len(each.rest) for each in near)

    u, v = FieldBuilder("u"), FieldBuilder("v")
    total = sum(0.01 * (k + 1) * u[at] for k, at in enumerate(PLACES))
    assert asked(catalogue.program("box2d3r")) == 0
    assert asked(catalogue.program("box2d4r")) == 81
    assert asked(catalogue.program("box3d2r")) == 125
    assert asked(PROGRAMS["in place"]()) == 113
    assert asked(catalogue.program("box3d2r"), strict=True) == 0
    assert asked(catalogue.program("j3d27pt")) == 0
    cross = [at for at in itertools.product(range(-17, 18), repeat=3) if at.count(0) > 1]
    assert asked(stencil("cross", 3, {"u": sum(0.01 * u[at] for at in cross)})) == 0
    assert asked(stencil("product", 3, {"u": total * v[0, 0, 0], "v": 0.5 * v[0, 0, 0]})) == 0
    assert asked(stencil("two", 3, {"u": total + 0.5 * v[0, 0, 0], "v": 0.5 * v[0, 0, 0]})) == 0
