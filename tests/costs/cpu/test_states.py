"""States of a band: written after the arithmetic; read beside it where rows are whole and buffers are free."""

from dataclasses import replace

import numpy as np
import pytest

from tilewright.costs.cpu import boxes
from tilewright.costs.setting import make_setting
from tilewright.costs.time import evaluate, sizes_of
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.family import family_named
from tilewright.schedules.tiling import parse

HOST = host_machine(
    CpuDescription(cores=2, simd_bits=256, l1_bytes=32 << 10, l2_bytes=512 << 10, l3_bytes=32 << 20, clock_hz=2.4e9)
)
PROBLEM = make_problem(program("heat2d_var"), (2048, 2048), 50)
KEPT, READ = Storage(kept=51), Storage(series=("k",))
WHOLE, CUT = "hybrid:t=16,s=2x2080", "hybrid:t=16,s=2x256"


def moved_seconds(setting):
    return boxes.state_seconds(setting.facts, setting.rates)


def held_seconds(setting):
    return boxes.buffer_seconds(setting.facts, setting.rates)


def added(storage, tile, seconds, machine=HOST):
    setting = make_setting(PROBLEM, machine, storage=storage)
    sizes = sizes_of(parse(tile), setting)
    return float(boxes.added_seconds(np.array([seconds]), sizes, setting.facts, setting.rates)[0])


def test_states_that_are_read_pass_the_bus_beside_the_arithmetic_where_rows_are_whole():
    setting = make_setting(PROBLEM, HOST, storage=READ)
    moved, held = moved_seconds(setting), held_seconds(setting)
    assert held < moved
    assert held < added(READ, WHOLE, moved) < held + 0.1 * moved
    assert added(READ, WHOLE, 0.0) == pytest.approx((moved**8 + held**8) ** 0.125)


def test_nothing_is_hidden_where_a_core_fetches_no_faster_from_l3_than_from_memory():
    """Two of three lines of a copy are fetched; so many a second are all that the core's buffers take in."""
    share = HOST.dram_bandwidth.value / 2
    slow = replace(HOST, outer_bandwidth=replace(HOST.outer_bandwidth, value=share))
    moved = moved_seconds(make_setting(PROBLEM, HOST, storage=READ))
    assert held_seconds(make_setting(PROBLEM, slow, storage=READ)) == pytest.approx(1.5 * moved)
    assert added(READ, WHOLE, 4.0 * moved, slow) == pytest.approx(1.5 * moved, rel=1e-4)
    waits = added(READ, CUT, 0.0) - moved
    assert added(READ, CUT, 0.0, slow) == pytest.approx(1.5 * moved + waits)
    assert added(KEPT, WHOLE, 0.0, slow) == pytest.approx(moved)


def test_states_that_are_kept_are_written_after_it_past_the_caches():
    moved = moved_seconds(make_setting(PROBLEM, HOST, storage=KEPT))
    assert moved == pytest.approx(moved_seconds(make_setting(PROBLEM, HOST, storage=READ)))
    assert added(KEPT, WHOLE, moved) == pytest.approx(moved)
    assert added(KEPT, CUT, moved) == pytest.approx(added(READ, CUT, moved))  # parts of lines are fetched


def test_every_piece_of_a_row_of_a_state_that_is_read_is_waited_for():
    setting = make_setting(PROBLEM, HOST, storage=READ)
    moved, lines = moved_seconds(setting), 50 * 2048 / 2
    assert added(READ, CUT, moved) == pytest.approx(moved + lines * (2048 / 256 + 1) * setting.rates.fetch_seconds)
    assert added(READ, WHOLE, moved) < 0.1 * moved + held_seconds(setting)


def test_lines_of_states_are_not_counted_among_those_of_tiles():
    """All of a state's lines come from memory, whatever the tile; those that are kept are written beside a tile's."""
    assert [make_setting(PROBLEM, HOST, storage=each).facts.state_fills for each in (PLAIN, KEPT, READ)] == [0, 0, 1]
    setting = make_setting(PROBLEM, HOST, storage=READ)
    sizes = sizes_of(parse("hybrid:t=64,s=64x512"), setting)
    twice = evaluate(family_named("hybrid"), sizes, replace(setting, facts=replace(setting.facts, state_fills=0)))
    assert evaluate(family_named("hybrid"), sizes, setting).seconds[0] < twice.seconds[0]
