"""Recurrences: cells of a row that wait for each other, rows that do not, planes of a GPU, and what it refuses."""

import math

import pytest
from tests.costs.test_coefficients import HOST, moved

from tilewright.base.errors import UsageError
from tilewright.codegen.gpu.emit import launches
from tilewright.costs.time import predict
from tilewright.machines.files import load
from tilewright.programs.stencil.dependences import plane_weights
from tilewright.programs.stencil.expression import apply
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules.tiling import NONE
from tilewright.tuning.choice import gpu_defaults
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

H200 = load("h200")
U, NEW = FieldBuilder("u"), FieldBuilder("u", 1)
LINE, FAR = 0.5 * (NEW[-1,] + U[0,]), 0.5 * (NEW[-4,] + U[0,])
SEIDEL = 0.25 * (NEW[-1, 0] + U[1, 0] + NEW[0, -1] + U[0, 1])
OVER = -0.5 * U[0, 0] + 0.375 * (NEW[-1, 0] + U[1, 0] + NEW[0, -1] + U[0, 1])
ROWS = 0.5 * (NEW[-1, 0] + U[0, 0])
RATIO = 1.0 / (1.0 + NEW[0, -1] + U[0, 0])
FUSED = U[0, 0] + 0.5 * NEW[0, -1]
CUBE = (NEW[-1, 0, 0] + U[1, 0, 0] + NEW[0, -1, 0] + U[0, 1, 0] + NEW[0, 0, -1] + U[0, 0, 1]) * 0.15


def problem_of(value, shape, steps=10, dtype="float32"):
    return make_problem(stencil("ordered", len(shape), {"u": value}), shape, steps, dtype)


def cycles(value, shape, machine=HOST, dtype="float32"):
    """Cycles per cell that is updated, without the starts of rows."""
    problem = problem_of(value, shape, dtype=dtype)
    cells = math.prod(high - low for low, high in problem.update_box(problem.program.statements[0]))
    no_starts = moved(machine, "barrier_seconds", 0.0)
    no_starts = moved(no_starts, "row_seconds", 0.0)
    return predict(problem, NONE, no_starts).seconds / cells / problem.steps * machine.clock.value


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("value", "shape", "operations"),
    [
        (LINE, (100000,), 2),  # a sum and a product follow each other
        (SEIDEL, (512, 512), 3),  # the value is the third of four that are added
        (OVER, (512, 512), 4),  # of two products that are added one alone is part of the addition
        (RATIO, (512, 512), 5),  # two sums, and a division as long as three
        (FUSED, (512, 512), 1),
        (CUBE, (64, 64, 64), 3),
    ],
)
def test_cells_of_a_row_wait_for_each_other(value, shape, operations, dtype):
    """As many operations one after the other, and no other core or lane helps; fewer than eight rows take no turns."""
    shape = (*(min(extent, 7) for extent in shape[:-1]), shape[-1])
    assert cycles(value, shape, dtype=dtype) == pytest.approx(operations * HOST.chain_cycles.value)
    assert cycles(value, shape, moved(HOST, "chain_cycles", 2.0), dtype) == pytest.approx(operations * 5.0)
    assert cycles(value, shape, moved(HOST, "sm_count", 4.0), dtype) == pytest.approx(operations * 2.5)
    assert cycles(value, shape, moved(HOST, "vector_width", 0.25), dtype) == pytest.approx(operations * 2.5)


@pytest.mark.parametrize(("value", "instructions"), [(SEIDEL, 4 + 4 + 3), (FUSED, 2 + 2 + 3)])
def test_rows_in_turn_wait_together(value, instructions):
    """Of groups of eight rows all cells but those of both ends take their instructions, or an eighth of a chain."""
    rows, length = 8 * 5 + 3, 1000
    shape = (rows + 2, length + 2) if value is SEIDEL else (rows, length + 1)
    problem = problem_of(value, shape)
    behind = plane_weights(problem.program)[-2]
    alone = (3 * length + 8 * 5 * 7 * behind) / (rows * length)
    chain = (3 if value is SEIDEL else 1) * HOST.chain_cycles.value
    one, together = max(chain, instructions / 6), max(chain / 8, instructions / 6)
    assert cycles(value, shape) == pytest.approx(alone * one + (1 - alone) * together)


def test_values_further_away_are_stored_and_loaded():
    whole = HOST.chain_store_cycles.value + 2 * HOST.chain_cycles.value
    assert cycles(FAR, (100000,)) == pytest.approx(whole / 4)


def test_rows_that_need_rows_before_them_alone_wait_for_nothing():
    """Two reads, two operations, a store and two of the loop at six per cycle."""
    assert cycles(ROWS, (512, 512)) == pytest.approx(7 / 6)
    assert cycles(ROWS, (512, 512), moved(HOST, "chain_cycles", 4.0)) == pytest.approx(7 / 6)
    slow = moved(HOST, "dram_bandwidth", 0.01)
    assert cycles(ROWS, (4096, 4096), slow) > 10 * 7 / 6


def test_of_functions_those_on_the_way_count():
    around = apply("exp", U[0, 0]) + 0.5 * NEW[0, -1]
    through = U[0, 0] + apply("exp", 0.5 * NEW[0, -1])
    assert cycles(through, (512, 512)) > cycles(around, (512, 512))


@pytest.mark.parametrize(("value", "shape"), [(SEIDEL, (400, 300)), (ROWS, (300, 400)), (CUBE, (40, 50, 60))])
def test_a_gpu_starts_a_launch_for_every_plane(value, shape):
    problem = problem_of(value, shape, 3)
    found = predict(problem, NONE, H200)
    count = len(list(launches(problem, gpu_schedule(problem, NONE), 3)))
    assert found.wavefronts == count
    assert found.bound_by == "synchronisation"
    wait = H200.launch_seconds.value + H200.fetch_latency.value / H200.clock.value
    assert count * wait < found.seconds < 1.1 * count * wait


def test_a_line_has_no_parallel_order_on_a_gpu():
    problem = problem_of(LINE, (1000,))
    with pytest.raises(UsageError, match=r"every cell of 'ordered' needs the one before it \(u.new\[-1\]\)"):
        predict(problem, NONE, H200)
    assert [each.tiling.family for each in gpu_defaults(problem, H200)] == ["none"]  # a run may ask for it all the same
