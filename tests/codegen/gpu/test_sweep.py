"""Launches of untiled sweeps of GPUs."""

import itertools

import pytest

from tilewright.base.errors import UsageError
from tilewright.codegen.gpu.emit import wrap_launch
from tilewright.codegen.gpu.sweep import sweep_launches
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.dependences import plane_weights
from tilewright.programs.stencil.expression import apply
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules.tiling import NONE
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule


@pytest.mark.parametrize(
    ("offsets", "shape"), [(((0, -1), (-1, 2)), (5, 7)), (((0, -1, 1), (-1, 0, 0)), (3, 4, 5)), (((-1, 0),), (6, 1))]
)
def test_every_plane_of_a_sweep_in_order_has_cells_and_every_cell_a_plane(offsets, shape):
    new, old = FieldBuilder("u", 1), FieldBuilder("u")
    value = apply("maximum", old[(0,) * len(shape)], sum(0.2 * new[each] for each in offsets))
    problem = make_problem(stencil("ordered", len(shape), {"u": value}), shape, 2, boundary="constant:0")
    planes = [launch.numbers for launch in sweep_launches(problem, gpu_schedule(problem, NONE), 2)]
    weights = plane_weights(problem.program)
    cells = itertools.product(*map(range, shape))
    filled = {sum(w * x for w, x in zip(weights, cell, strict=True)) for cell in cells}
    assert planes == [(step, plane) for step in range(2) for plane in sorted(filled)]


def test_copies_of_periodic_grids_are_refreshed_up_to_the_cells_that_32_bits_count():
    known, around = program("jacobi2d"), ((1, 1), (1, 1))
    most = make_problem(known, (2**15, 2**16), 1)
    assert wrap_launch(1, 256, most, around, 3).groups == 2**23
    with pytest.raises(UsageError, match=r"at most 2\^31 cells, got 32769x65536"):
        wrap_launch(1, 256, make_problem(known, (2**15 + 1, 2**16), 1), around, 3)
