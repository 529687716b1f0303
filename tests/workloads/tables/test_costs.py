"""The cost of tables in orthogonal tiles: brute-force sums, the printed energy, and what does not fit."""

import itertools
import math
from dataclasses import replace

import pytest
from tests.oracles.counting import counts_table

from tilewright.base.errors import UsageError
from tilewright.costs.energy.constants import constants
from tilewright.costs.energy.price import count_operations, price
from tilewright.costs.published import energy as energy_tiles
from tilewright.machines.files import load
from tilewright.schedules.tiling import parse
from tilewright.workloads.tables import orthogonal
from tilewright.workloads.tables.catalogue import names, recurrence_named
from tilewright.workloads.tables.costs import (
    best,
    fronts_by_turns,
    make_case,
    predict,
    split,
    tile_usage,
    tile_words,
)

K20C = load("k20c")


def _tiling(name, text):
    return orthogonal.complete_table(recurrence_named(name), parse(text))


@pytest.mark.parametrize(("t", "s", "sub"), [(16, 32, 4), (64, 256, 8), (7, 33, 3), (1, 1, 1)])
def test_smith_waterman_is_the_printed_instance(t, s, sub):
    case = make_case(recurrence_named("smith_waterman"), (4096, 8192), "int32", K20C)
    found = tile_usage(case, _tiling("smith_waterman", f"orthogonal:t={t},s={s},sub={sub}"), 0.5)
    printed = energy_tiles.smith_waterman((4096, 8192), s, t, sub).usage(0.5)
    assert found.vector().tolist() == pytest.approx(printed.vector().tolist(), rel=1e-12)
    known = constants(K20C)
    assert price(found, known).joules == pytest.approx(price(printed, known).joules, rel=1e-12)


def test_wavefronts_grouped_by_turns():
    for rows, columns, count in itertools.product((1, 3, 8), (1, 5, 13), (1, 2, 7)):
        sizes = [min(d + 1, rows, columns, rows + columns - 1 - d) for d in range(rows + columns - 1)]
        turns = [math.ceil(size / count) for size in sizes]
        assert fronts_by_turns(rows, columns, count) == tuple((q, turns.count(q)) for q in range(1, max(turns) + 1))


def test_time_is_the_sum_over_the_wavefronts():
    case = make_case(recurrence_named("lcs"), (1000, 3000), "int32", K20C)
    tiling = _tiling("lcs", "orthogonal:t=50,s=128,sub=4,k=2")
    costs = predict(case, tiling)
    rows, columns, count = 20, 24, int(K20C.sm_count.value)
    moved, compute = costs.io_seconds_per_tile, costs.compute_seconds_per_tile
    one, two = moved + compute, min(moved, compute) + 2 * max(moved, compute)
    seconds = (rows + columns - 1) * K20C.launch_seconds.value
    for d in range(rows + columns - 1):
        tiles = math.ceil(min(d + 1, rows, columns, rows + columns - 1 - d) / count)
        seconds += (tiles // 2) * two + (tiles % 2) * one
    assert costs.seconds == pytest.approx(seconds, rel=1e-12)
    assert costs.wavefronts == rows + columns - 1
    assert costs.terms["synchronisation"] == costs.wavefronts * K20C.launch_seconds.value
    assert costs.dram_bytes == pytest.approx(4 * sum(tile_words(case, tiling)) * rows * columns)


@pytest.mark.parametrize(("shape", "t", "s"), [((1000, 3000), 50, 128), ((7, 500), 16, 32), ((640, 96), 9, 96)])
def test_tiles_are_those_that_are_counted(shape, t, s):
    case, tiling = make_case(recurrence_named("lcs"), shape, "int32", K20C), _tiling("lcs", f"orthogonal:t={t},s={s}")
    costs, counts = predict(case, tiling), counts_table(case.program, shape, tiling)
    assert (costs.wavefronts, costs.tiles_per_wavefront) == (counts.wavefronts, counts.tiles_per_wavefront)
    assert (costs.tile_points, costs.flops) == (counts.points, counts.total_points * case.program.operations)
    assert costs.dram_bytes == pytest.approx(4 * sum(tile_words(case, tiling)) * counts.tiles)


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("machine", ["k20c", "h200"])
def test_every_recurrence_has_a_best_tile(name, machine):
    case = make_case(recurrence_named(name), (3000, 5000), "int32", load(machine))
    every = list(best(case))
    assert len(every) > 20
    fastest = min(every, key=lambda pair: pair[1].seconds)
    again = predict(case, fastest[0])
    assert again == fastest[1]
    assert again.joules is not None
    assert again.joules > 0


def test_wider_values_move_more_words():
    narrow = make_case(recurrence_named("edit_distance"), (500, 500), "int16", K20C)
    tiling = _tiling("edit_distance", "orthogonal:t=20,s=40")
    wide = replace(narrow, dtype="int64")
    letters = 0.25 * 60
    assert tile_words(narrow, tiling)[1] * 4 == tile_words(wide, tiling)[1]
    assert (tile_words(narrow, tiling)[0] - letters) * 4 == tile_words(wide, tiling)[0] - letters


def test_operations_are_counted_by_type():
    assert count_operations(["add", "maximum", "where"], True) == (0.0, 0.0, 2.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_case(recurrence_named("lcs"), (5,), "int32", K20C), "rows and columns"),
        (lambda: make_case(recurrence_named("lcs"), (5, 5), "int32", K20C, "chip"), "one of device, per_sm"),
        (
            lambda: predict(
                make_case(recurrence_named("lcs"), (5, 5), "int32", K20C),
                _tiling("lcs", "orthogonal:t=4000,s=65536,sub=4096"),
            ),
            "bytes of shared memory",
        ),
        (
            lambda: predict(
                make_case(recurrence_named("lcs"), (5, 5), "int32", K20C), _tiling("lcs", "orthogonal:t=4,s=4096,sub=1")
            ),
            "4096 threads",
        ),
    ],
)
def test_errors(call, message):
    with pytest.raises(UsageError, match=message):
        call()


@pytest.mark.parametrize(("most", "threads"), [(128, 128), (512, 512), (2048, 1024)])
def test_blocks_have_as_many_threads_as_the_machine_and_the_kernels_take(most, threads):
    """Kernels are made for 1024 threads at most, whatever a machine would start."""
    h200 = load("h200")
    machine = replace(h200, max_block_threads=replace(h200.sm_count, value=most))
    case = make_case(recurrence_named("lcs"), (3000, 50_000), "int32", machine)
    every = [4096 // tiling.sub[0] for tiling in split(case, _tiling("lcs", "orthogonal:t=64,s=4096"))]
    assert max(every) == threads
