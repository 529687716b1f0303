"""What the drawing of a streaming tile shows is what the kernel does."""

import pytest
from docs.gpu_schedules import draw_streaming, rows_at, widths
from tests.oracles.counting import exact_counts

from tilewright.base.errors import UsageError
from tilewright.codegen.gpu.emit import emit_device
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

PROBLEM = make_problem(program("j2d5pt"), (60, 60), 8)
TILING = parse("streaming:t=4,s=40x16,threads=1x24")


def test_rows_that_are_kept_are_those_whose_rims_are_on_chip():
    found = rows_at(PROBLEM, TILING, 20)
    assert found["loaded"] == {(0, 21)}
    assert found["computed"] == {(1, 20), (2, 19), (3, 18)}
    assert found["written"] == {(4, 17)}
    on_chip = len(found["kept"]) + len(found["loaded"]) + len(found["computed"])
    threads = 24 + 2 + 2  # of one cell each, one beyond either end, and up to a multiple of what one instruction moves
    kernel = emit_device(PROBLEM, gpu_schedule(PROBLEM, TILING), "cuda").kernels[0]
    assert kernel.shared_bytes == 4 * on_chip * threads


def test_cells_across_are_those_that_are_counted():
    found = widths(PROBLEM, TILING)
    assert len(found["loaded"]) == 16 + 2 * 4
    assert len(found["written"]) == 16
    assert len(found["computed"]) == sum(16 + 2 * left for left in (3, 2, 1))
    assert exact_counts(PROBLEM, TILING).live_in == (40 + 8) * len(found["loaded"])


def test_a_picture(tmp_path):
    assert draw_streaming(PROBLEM, TILING, tmp_path / "block.svg").stat().st_size > 1000
    with pytest.raises(UsageError, match="programs of one stage"):
        rows_at(make_problem(program("fdtd2d"), (60, 60), 8), parse("streaming:t=2,s=8x8,threads=1x8"), 9)
