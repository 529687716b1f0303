"""The picture of a GPU's schedule shows what the kernel moves: as many cells as the exact counts say."""

import pytest
from docs.gpu_schedules import draw_schedule, schedule
from tests.oracles.counting import exact_counts

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import parse


@pytest.mark.parametrize(("name", "tile"), [("jacobi2d", "hybrid:t=8,s=6x16"), ("j2d9pt", "hybrid:t=4,s=3x8")])
def test_loads_and_points_are_those_of_the_counts(name, tile):
    problem = make_problem(program(name), (200, 200), 40)
    tiling = parse(tile)
    cells, exact = schedule(problem, tiling), exact_counts(problem, tiling)
    width = tiling.space[1]
    assert len(cells["loaded"]) * width == exact.live_in
    assert len(cells["computed"]) * width == exact.points
    assert len(cells["written"]) * width >= exact.live_out
    assert cells["written"] <= cells["computed"]


def test_drawing(tmp_path):
    problem = make_problem(program("jacobi2d"), (50, 50), 8)
    path = draw_schedule(problem, parse("hybrid:t=8,s=6x16"), tmp_path / "picture.svg")
    assert "computed, stays on chip" in path.read_text() or path.stat().st_size > 1000
    with pytest.raises(UsageError, match="one stage"):
        schedule(make_problem(program("fdtd2d"), (50, 50), 8), parse("hybrid:t=4,s=4x16"))
