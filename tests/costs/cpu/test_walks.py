"""Threads that walk along lines of tiles, against their tasks one by one; what lies in which cache."""

import itertools

import pytest

from tilewright.costs.cpu.walks import core_memory, walk
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.machines.files import load

CPU = host_machine(CpuDescription(cores=4, simd_bits=256, l1_bytes=2**15, l2_bytes=2**19, l3_bytes=2**24, clock_hz=3e9))


def simulated(lines, positions, cores, tile, last):
    """When the last tile is done: each waits for its core and for the tile beside it in the line before."""
    free = [0.0] * cores
    before = [0.0] * positions
    for line in range(lines):
        core = line % cores
        now = free[core]
        done = []
        for position in range(positions):
            now = max(now, before[position]) + (last if line == lines - 1 else tile)
            done.append(now)
        free[core] = now
        before = done
    return max(free)


def test_equal_tiles_take_as_long_as_their_tasks_one_by_one():
    for lines, positions, cores in itertools.product((1, 2, 3, 7, 12), (1, 2, 5, 11), (1, 2, 3, 8)):
        assert walk(lines, positions, cores, 1.0, 1.0) == simulated(lines, positions, cores, 1.0, 1.0)


def test_a_narrow_last_line_is_no_shorter_than_its_tasks_and_at_most_a_line_longer():
    for lines, positions, cores in itertools.product((1, 2, 3, 7, 12), (1, 2, 5, 11), (1, 2, 3, 8)):
        exact = simulated(lines, positions, cores, 1.0, 0.25)
        assert exact - 1e-9 <= walk(lines, positions, cores, 1.0, 0.25) <= exact + 0.75, (lines, positions, cores)


def test_data_come_from_the_cache_that_holds_them():
    memory = core_memory(CPU)
    inner, own = [memory.with_arithmetic(1e-10, (100.0, size)) for size in (2**14, 2**17)]
    assert inner == pytest.approx(1e-10)
    assert own == pytest.approx(0.75 * 100 / CPU.cache_bandwidth.value, rel=0.01)
    sizes = [memory.with_arithmetic(1e-9, (100.0, 2.0**power)) for power in range(12, 26)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == pytest.approx(1e-9 + 100 / CPU.outer_bandwidth.value, rel=0.01)


def test_arithmetic_hides_lines_from_the_own_cache_and_two_streams_add_up():
    memory = core_memory(CPU)
    assert memory.with_arithmetic(1e-6, (100.0, 2**17)) == pytest.approx(1e-6, rel=1e-3)
    once, twice = memory.with_arithmetic(0.0, (50.0, 2**20)), memory.with_arithmetic(0.0, (50.0, 2**20), (50.0, 2**20))
    assert twice == pytest.approx(2 * once)


def test_a_machine_without_bandwidths_of_its_caches_pays_nothing_inside_them():
    machine = load("h100")
    memory = core_memory(machine)
    assert memory.own_seconds == memory.inner_bytes * 0.0 == 0.0
    assert memory.flag_seconds == machine.outer_latency.value / machine.clock.value > 0
