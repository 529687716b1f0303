"""Sweeps without tiles on a CPU: how often a line is fetched is what a cache that forgets the oldest line counts."""

import itertools
from collections import OrderedDict
from dataclasses import replace

import pytest

from tilewright.costs.cpu import sweep
from tilewright.costs.setting import make_setting
from tilewright.costs.time import evaluate, predict, sizes_of
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.family import family_named
from tilewright.schedules.tiling import NONE

HOST = host_machine(
    CpuDescription(cores=2, simd_bits=512, l1_bytes=2**15, l2_bytes=2**20, l3_bytes=2**25, clock_hz=2.6e9)
)
ROW = 64 * 4


def swept(setting):
    return evaluate(family_named("none"), sizes_of(NONE, setting), setting)


def counted(name, planes, rows, lines):
    """Rows fetched per row of results by a cache of whole rows, the oldest forgotten, in the middle of the grid."""
    stencil = program(name)
    reads = sorted({read.offset[:-1] for statement in stencil.statements for read in statement.reads})
    held: OrderedDict[tuple[int, ...], None] = OrderedDict()
    fetched = results = 0
    reach = max(abs(value) for read in reads for value in read)
    grid = [range(reach, extent - reach) for extent in ((planes, rows) if stencil.rank == 3 else (rows,))]
    for at in itertools.product(*grid):
        counts = at[0] >= 3 * reach + 1  # what comes before fills the cache
        results += counts
        for read in reads:
            row = tuple(a + b for a, b in zip(at, read, strict=True))
            fetched += counts and row not in held
            held[row] = None
            held.move_to_end(row)
        while len(held) > lines:
            held.popitem(last=False)
    return fetched / results


@pytest.mark.parametrize(
    ("name", "shape", "lines"),
    [
        ("star3d4r", (40, 40, 64), 12 * 40),  # all planes fit
        ("star3d4r", (40, 40, 64), 60),  # the rows of a plane fit, planes do not
        ("star3d4r", (40, 40, 64), 4),  # nothing does
        ("star3d2r", (30, 50, 64), 40),
        ("star2d4r", (400, 64), 20),
        ("star2d4r", (400, 64), 2),
    ],
)
def test_what_is_fetched_again_is_what_a_cache_of_rows_counts(name, shape, lines):
    facts = make_setting(make_problem(program(name), shape, 8), HOST).facts
    exact = counted(name, shape[0], shape[-2] if len(shape) == 3 else shape[0], lines)
    # A share of misses stands for a sharp limit: it is exact where all fits, and rises towards the count.
    model = 1.0 + sweep.fetched_again(lines * ROW, facts)
    assert model == pytest.approx(exact, rel=0.35)
    assert sweep.fetched_again(1e12, facts) == 0.0


def test_planes_that_no_cache_holds_make_a_sweep_slower_than_its_arithmetic_and_memory():
    def speed(extent, name="star3d4r", machine=HOST):
        problem = make_problem(program(name), (256, extent, extent), 16)
        return problem.steps * problem.shape[0] * extent**2 / predict(problem, NONE, machine).seconds

    assert speed(512) < 0.7 * speed(96)
    large = replace(HOST.shared_bytes, value=64 * 2**20)  # L2 that holds the planes
    assert speed(512, machine=replace(HOST, shared_bytes=large)) > 1.3 * speed(512)


def test_what_comes_from_memory_twice_is_counted_as_traffic():
    problem = make_problem(program("star3d4r"), (128, 2048, 2048), 4)
    once = 12 * problem.shape[0] * 2048**2 * 4
    assert predict(problem, NONE, HOST).dram_bytes > 1.5 * once
    small = make_problem(program("star3d4r"), (2048, 256, 256), 4)
    assert predict(small, NONE, HOST).dram_bytes == once / 4


def test_a_sweep_in_l2_takes_its_arithmetic_or_the_lines_that_it_fetches():
    """In place nothing is fetched only to be overwritten; what goes back to L2 takes another way."""
    for name, lines in (("j2d5pt", 2), ("wave2d", 2), ("fdtd2d", 7)):
        setting = make_setting(make_problem(program(name), (256, 256), 8), HOST)
        per_line = 64 * setting.rates.cache_byte_seconds
        assert sweep._line_seconds(setting.facts, setting.rates) == pytest.approx(lines * per_line)
        slow = setting.at(cache_byte_seconds=1e3 * setting.rates.cache_byte_seconds)
        result = swept(slow)
        vectors = 256 * 256 / 2 / 16
        assert result.io_seconds[0] < 0.01 * result.prism_seconds[0]
        assert result.prism_seconds[0] == pytest.approx(1e3 * lines * per_line * vectors, rel=0.05)


def test_what_comes_from_memory_adds_to_the_arithmetic_and_from_l3_a_part_does():
    times = {}
    for edge in (1024, 4096):
        setting = make_setting(make_problem(program("j2d5pt"), (edge, edge), 8), HOST)
        result = swept(setting)
        compute, moved = float(result.compute_seconds[0]), float(result.io_seconds[0])
        times[edge] = (float(result.prism_seconds[0]), compute, moved)
    whole, compute, moved = times[4096]
    assert whole == pytest.approx(compute + moved)
    whole, compute, moved = times[1024]
    assert max(compute + 0.3 * moved, moved) <= whole < 1.05 * max(compute + 0.3 * moved, moved)


def test_a_grid_leaves_the_caches_gradually_and_rows_have_whole_vectors():
    """No jump where a grid is just too large for L3; 48 and 46 cells are three vectors each, 49 four."""
    seconds = []
    for edge in range(1600, 2600, 50):
        result = swept(make_setting(make_problem(program("j2d5pt"), (edge, edge), 8), HOST))
        seconds.append(float(result.seconds[0]) / edge**2)
    assert all(later > 0.97 * earlier for earlier, later in itertools.pairwise(seconds))
    assert max(later / earlier for earlier, later in itertools.pairwise(seconds)) < 1.25
    counted = [
        swept(
            make_setting(make_problem(program("j2d5pt"), (64, edge), 8), HOST).at(
                swept_row_seconds=0.0, swept_box_seconds=0.0
            )
        ).compute_seconds[0]
        for edge in (46, 48, 49)
    ]
    assert counted[0] == counted[1] == pytest.approx(0.75 * counted[2])
