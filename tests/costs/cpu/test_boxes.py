"""The time model of hexagons on CPUs: its counts are those of the kernels, one by one."""

import dataclasses
import itertools
from dataclasses import replace

import numpy as np
import pytest

from tilewright.costs import fit
from tilewright.costs.cpu import boxes
from tilewright.costs.cpu.streaming import both
from tilewright.costs.rates import blocked_seconds, iteration_seconds, operation_cycles, swept_seconds
from tilewright.costs.setting import make_setting
from tilewright.costs.time import evaluate, predict, sizes_of
from tilewright.costs.work import hexagonal, tiles
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.machines.numbers import Numbers
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.family import family_named
from tilewright.schedules.tiling import NONE, Tiling, parse

HOST = host_machine(
    CpuDescription(cores=2, simd_bits=512, l1_bytes=32 << 10, l2_bytes=1 << 20, l3_bytes=32 << 20, clock_hz=2.6e9)
)


def prepared(tile, name="j2d5pt", shape=(150, 320), cores=2):
    setting = make_setting(make_problem(program(name), shape, 64), HOST).at(sm_count=cores)
    return sizes_of(parse(tile), setting), setting


def worked(tile, *args, **options):
    """The work of a tile, the facts and the rates."""
    sizes, setting = prepared(tile, *args, **options)
    return hexagonal.boxes(sizes, setting.facts), setting.facts, setting.rates


def test_vectors_and_pieces_of_lines_are_those_of_the_cuts():
    for tile, extent in itertools.product(
        ["hybrid:t=8,s=4x64", "hybrid:t=16,s=4x320", "hybrid:t=16,s=4x336", "hybrid:t=32,s=2x8", "hybrid:t=4,s=2x96"],
        [320, 317, 40],
    ):
        sizes, setting = prepared(tile, shape=(150, extent))
        rows, size = int(sizes.time[0]), int(sizes.space[-1][0])
        vectors = pieces = 0
        for row in range(rows):
            for low in range(-row, extent, size):
                length = min(low + size, extent) - max(low, 0)
                if length > 0:
                    vectors += length if length < 16 else -(-length // 16)
                    pieces += 1
        work = hexagonal.boxes(sizes, setting.facts)
        assert work.vectors(16) == pytest.approx(vectors / rows), (tile, extent)
        assert work.pieces == pytest.approx(pieces / rows), (tile, extent)


def test_rounds_are_those_of_cores_that_take_tiles_in_order():
    for cores, tile in itertools.product(
        [1, 2, 3, 8], ["hybrid:t=8,s=4x64", "hybrid:t=16,s=1x64", "hybrid:t=64,s=8x64", "hybrid:t=2,s=1x64"]
    ):
        for extent in (40, 97, 150, 1000):
            sizes, setting = prepared(tile, shape=(extent, 320), cores=cores)
            base, grow = int(sizes.space[0][0]), (int(sizes.time[0]) // 2 - 1) / 2
            pitch = int(hexagonal.pitch(sizes, setting.facts)[0])
            ends = []
            for origin in (0, base + 2 * grow):
                tiles = [k * pitch + origin for k in range(-3, extent // pitch + 3)]
                tiles = [left for left in tiles if left + base + 2 * grow > 0 and left - 2 * grow < extent]
                busy = np.zeros(cores)
                for left in tiles:
                    inside = min(left + base + grow, extent) - max(left - grow, 0)
                    busy[np.argmin(busy)] += max(0.0, inside / (base + 2 * grow))
                ends.append(busy.max())
            full = 2 * setting.facts.steps / sizes.time
            turns = hexagonal.boxes(sizes, setting.facts).turns(cores) / full
            assert turns[0] == pytest.approx(np.mean(ends), rel=0.02), (cores, tile)


def test_boxes_that_stay_in_a_nearer_cache_are_faster():
    tiles = ["hybrid:t=16,s=1x4x352", "hybrid:t=16,s=64x256x352"]
    seconds = [float(boxes.vector_seconds(*worked(tile, "laplacian3d", (512, 512, 256)))[0]) for tile in tiles]
    assert seconds[0] < 0.8 * seconds[1]


def test_planes_are_fetched_again_for_the_versions_that_are_read_there_alone():
    thin, thick = "hybrid:t=8,s=2x4x256", "hybrid:t=8,s=4x64x256"
    # wave3d reads one of two levels around; a star's planes serve two planes of results, a cube's rows two rows of one
    for name, further, again in (("heat3d", 2, 2), ("star3d4r", 8, 4), ("wave3d", 2, 1), ("laplacian3d", 2, 1)):
        sizes, setting = prepared(thick, name, (256, 256, 256))
        assert setting.facts.further == (further,) * 3
        work = hexagonal.boxes(sizes, setting.facts)
        assert boxes.read_again(work, setting.facts, setting.rates) == [again]
    assert boxes.read_again(*worked(thin, "laplacian3d", (256, 256, 256))) == [0]
    assert boxes.read_again(*worked("hybrid:t=8,s=64x4096")) == [0]
    one, two = (
        boxes.vector_seconds(work, dataclasses.replace(setting.facts, again=again), setting.rates)[0]
        for again in (0, 8)
    )
    assert two > 1.2 * one


def test_rows_around_a_cut_plane_are_fetched_besides_its_own():
    """Eight rows of a star of radius 4 whatever the plane's own; none where planes are not cut, or in 2D."""
    for tile, lines in (("s=4x8x512", 1.0), ("s=4x64x512", 0.125), ("s=4x256x512", 0.0)):
        assert worked(f"hybrid:t=16,{tile}", "star3d4r", (256, 256, 256))[0].rim == [lines]
    assert worked("hybrid:t=8,s=4x64")[0].rim == [0.0]
    seconds = []
    for size in (8, 16):
        sizes, setting = prepared(f"hybrid:t=16,s=4x{size}x512", "star3d4r", (256, 256, 256))
        calm = setting.at(outer_byte_seconds=0.0, word_seconds=0.0)
        seconds.append(float(boxes.vector_seconds(hexagonal.boxes(sizes, calm.facts), calm.facts, calm.rates)[0]))
    assert seconds[0] > seconds[1]


def test_planes_that_fit_the_first_cache_are_fetched_once():
    thin, thick = (worked(f"hybrid:t=2,s=64x{rows}x304", "laplacian3d", (256, 256, 256)) for rows in (4, 32))
    assert float(boxes.vector_seconds(*thin)[0]) < float(boxes.vector_seconds(*thick)[0])


def test_pieces_of_rows_wait_only_where_a_tile_cuts_rows_and_updates_in_place():
    """One wait per piece of every row and statement; ends of rows that are the grid's are none."""
    for name, tile, cut in (
        ("wave2d", "hybrid:t=8,s=4x64", True),
        ("wave2d", "hybrid:t=8,s=4x1024", False),
        ("j2d5pt", "hybrid:t=8,s=4x64", False),
    ):
        work, facts, rates = worked(tile, name)
        calm = dataclasses.replace(rates, cut_seconds=0.0)
        more = sum(boxes.computation(work, facts, rates)) - sum(boxes.computation(work, facts, calm))
        assert (more[0] > 0) == cut
        pieces = float((work.lines * work.pieces)[0])
        assert more[0] == pytest.approx(pieces * rates.cut_seconds if cut else 0.0)


def test_neighbours_in_short_pieces_of_rows_are_loaded():
    """Each takes so many cycles longer; rows that are long enough, and whole ones, put them together in registers."""
    cycles = HOST.short_row_cycles.value
    for tile, shape, short in (
        ("hybrid:t=16,s=4x32", (2048, 2048), True),
        ("hybrid:t=16,s=4x512", (2048, 2048), False),
        ("hybrid:t=16,s=4x64", (2048, 32), False),
    ):
        work, facts, rates = worked(tile, "j2d9pt", shape)
        calm = dataclasses.replace(rates, short_row_seconds=0.0, cache_byte_seconds=0.0)
        bare = dataclasses.replace(rates, cache_byte_seconds=0.0)
        more = boxes.vector_seconds(work, facts, bare) - boxes.vector_seconds(work, facts, calm)
        assert more[0] == pytest.approx(4 * cycles / HOST.clock.value if short else 0.0)


def test_a_box_has_the_lines_that_pieces_of_rows_begin_and_end_in():
    """Boxes of 64 cells hold a line more per row than these cells fill, boxes of whole rows do not."""
    hull = {}
    for size in (64, 128):
        hull[size] = float(worked(f"hybrid:t=16,s=4x{size}", shape=(2048, 2048))[0].box_values[0])
    per_cell = (hull[128] - hull[64]) / 64
    assert hull[64] == pytest.approx(per_cell * (64 + 2 + 15))
    whole = worked("hybrid:t=16,s=4x4096", shape=(2048, 2048))[0]
    assert float(whole.box_values[0]) == pytest.approx(per_cell * 2048)


def test_rows_take_longer_the_farther_away_the_grid_lies():
    shares = [boxes.beyond(*worked("hybrid:t=8,s=4x64", shape=(edge, edge))[1:]) for edge in (256, 1024, 2048, 8192)]
    assert shares[0] == 1.0
    far = HOST.far_row_ratio.value
    assert 1.0 < shares[1] < 0.5 * (1.0 + far) < shares[2] < shares[3] < far
    assert shares[3] > 0.9 * far


def test_each_plane_of_a_cut_box_is_waited_for_where_its_tile_stays_in_l2():
    """Once per plane and piece, whatever the plane's lines; lines that are not cut follow each other."""
    for tile, cut in (("hybrid:t=8,s=2x4x64", True), ("hybrid:t=8,s=2x4x304", False)):
        work, facts, rates = worked(tile, "j3d7pt", (64, 64, 256))
        calm = dataclasses.replace(rates, fetch_seconds=0.0)
        more = float((sum(boxes.computation(work, facts, rates)) - sum(boxes.computation(work, facts, calm)))[0])
        expected = float((work.lines * work.pieces)[0]) / 4 * rates.fetch_seconds * boxes.beyond(facts, rates)
        assert more == pytest.approx(expected, rel=0.1) if cut else more < 0.1 * expected


def test_boxes_of_whole_rows_in_2d_are_fetched_ahead():
    """As much of L3 is felt as in streaming tiles, less than in boxes whose rows are cut."""
    work, facts, rates = worked("hybrid:t=32,s=32x2064", shape=(2048, 2048))
    near = dataclasses.replace(rates, outer_byte_seconds=0.0, word_seconds=0.0)
    hidden = float(boxes.vector_seconds(work, facts, near)[0])
    apart = dataclasses.replace(work, runs=0.0 * work.runs)
    felt = [float(boxes.vector_seconds(each, facts, rates)[0]) - hidden for each in (work, apart)]
    assert 0.0 < felt[0] < felt[1]
    known = rates.numbers
    assert felt[0] / felt[1] == pytest.approx(known.l3_exposed_fraction / known.l3_exposed_fraction_boxes, rel=0.25)


def test_planes_that_l2_loses_come_from_l3_again():
    """Nine planes of star3d4r read each line, two of them together: of large boxes L2 has lost it before the next."""
    small, large = (worked(f"hybrid:t=8,s=4x{rows}x1024", "star3d4r", (1024,) * 3) for rows in (4, 256))
    known, (work, facts, rates) = HOST.l3_exposed_fraction_boxes.value, large
    whole = facts.again * rates.vector_width * 4 * rates.outer_byte_seconds * known
    assert float(boxes.again_seconds(*small)[0]) < 0.1 * whole
    no_l3_misses = dataclasses.replace(rates, word_seconds=4 * rates.outer_byte_seconds * known)
    assert float(boxes.again_seconds(work, facts, no_l3_misses)[0]) == pytest.approx(whole, rel=0.01)
    none = dataclasses.replace(facts, further=(0, 0, 0), again=0)
    felt = [float(boxes.vector_seconds(work, each, rates)[0]) for each in (facts, none)]
    assert felt[0] - felt[1] > 0.9 * float(boxes.again_seconds(*large)[0])


CPU = {"cores": 2, "simd_bits": 512, "l1_bytes": 2**15, "l2_bytes": 2**20, "clock_hz": 2.6e9}
WITH = host_machine(CpuDescription(l3_bytes=2**25, **CPU))
WITHOUT = host_machine(CpuDescription(l3_bytes=0, **CPU))
NUMBERS = Numbers(WITH)


def setting(machine, shape=(4096, 4096), name="j2d5pt"):
    return make_setting(make_problem(program(name), shape, 64), machine)


def test_a_footprint_passes_from_l2_through_l3_to_memory():
    one = setting(WITH)
    footprints = np.array([2**18, 2**21, 2**22, 2**26, 2**30])
    assert boxes.missed_inside(footprints, one.rates)[0] < 0.01
    assert (np.diff(boxes.missed_inside(footprints, one.rates)[:3]) > 0).all()
    assert (boxes.missed_inside(footprints, one.rates)[1:] > 0.98).all()
    assert boxes.missed_outside(footprints, one.rates)[:3].tolist() == [0, 0, 0]
    missed = boxes.missed_outside(footprints, one.rates)
    assert (np.diff(missed) >= 0).all()
    assert missed[-1] == pytest.approx(1.0, rel=0.02)
    assert (boxes.missed_outside(footprints, setting(WITHOUT).rates) == 1.0).all()


@pytest.mark.parametrize("filled", [0.25, 0.5, 0.75, 1.0, 1.5])
def test_what_l2_loses_is_what_a_cache_of_random_pages_loses(filled):
    """Lines at random places, all used once, then again: what sets of 8 ways have lost in between."""
    random = np.random.default_rng(int(100 * filled))
    sets, ways = 4096, 8
    lines = random.integers(0, sets, int(filled * sets * ways))
    lost = 0
    for each in np.split(np.sort(lines), np.flatnonzero(np.diff(np.sort(lines))) + 1):
        lost += len(each) if len(each) > ways else 0  # in turn, a cache that forgets the oldest keeps all or none
    one = setting(WITH)
    found = float(boxes.missed_inside(np.array([filled * one.rates.shared_bytes]), one.rates)[0])
    assert found == pytest.approx(lost / len(lines), abs=0.03)


def test_a_grid_costs_what_the_level_costs_that_holds_it():
    small, middle, large = (setting(WITH, shape) for shape in ((256, 256), (1024, 1024), (4096, 4096)))
    assert boxes.grid_seconds(small.facts, small.rates) == small.rates.cache_byte_seconds
    assert boxes.grid_seconds(middle.facts, middle.rates) == middle.rates.outer_byte_seconds
    assert boxes.grid_seconds(large.facts, large.rates) == large.rates.word_seconds / 4
    assert [boxes.off_chip(each.facts, each.rates) for each in (small, middle, large)] == [False, False, True]
    without = setting(WITHOUT, (1024, 1024))
    assert boxes.off_chip(without.facts, without.rates)


@pytest.mark.parametrize("tile", ["none", "hybrid:t=32,s=32x4096", "streaming:t=32,s=4096x4096"])
def test_l3_never_makes_a_prediction_slower(tile):
    problem = make_problem(program("j2d5pt"), (2048, 4096), 64)
    assert predict(problem, parse(tile), WITH).seconds <= predict(problem, parse(tile), WITHOUT).seconds


def test_blocked_rows_of_other_programs_go_with_their_operations():
    """What calibration found for one program is found again for it, and twice the operations take twice as long."""
    star = program("star2d3r")
    cycles = operation_cycles(star, WITH, 4e-9)
    quantity = Quantity(value=cycles, unit="1", source="measured")
    measured = replace(WITH, blocked_cycles=quantity)
    assert blocked_seconds(star, measured).value == pytest.approx(4e-9)
    assert blocked_seconds(star, measured).source == "estimated"
    more = blocked_seconds(program("star2d4r"), measured).value
    assert more == pytest.approx(4e-9 * program("star2d4r").flops / star.flops)


def test_sweeps_of_other_programs_take_the_measured_ratio():
    star, ratio = program("star2d3r"), Quantity(value=0.75, unit="1", source="measured")
    assert swept_seconds(star, WITH).value == iteration_seconds(star, WITH).value
    found = swept_seconds(star, replace(WITH, swept_ratio=ratio))
    assert found.value == pytest.approx(0.75 * iteration_seconds(star, WITH).value)


def test_blocked_rows_are_measured_or_estimated_without_divisions():
    plain, root = program("j2d5pt"), program("gradient2d")
    shares = [blocked_seconds(p, WITH).value / iteration_seconds(p, WITH).value for p in (plain, root)]
    assert WITH.blocked_ratio is not None
    assert shares[0] == pytest.approx(WITH.blocked_ratio.value)
    assert shares[0] < shares[1] < 1
    known = Quantity(value=1e-9, unit="s", source="measured")
    measured = replace(WITH, c_iter=(("j2d5pt streaming", known),))
    assert blocked_seconds(plain, measured) is known
    assert blocked_seconds(plain, measured, "float64") is not known
    assert measured.iteration_seconds("j2d5pt") is None


def test_the_factors_of_a_streaming_instance_are_those_of_the_model():
    one = setting(WITH, (600, 512)).at(sm_count=1, launch_seconds=0.0, cache_byte_seconds=0.0)
    one = one.at(outer_byte_seconds=0.0)
    sizes = sizes_of(Tiling(family="streaming", time=8, space=(4096, 512), rows=4), one)
    vectors, advances, near, felt, rest = fit.stream_design(sizes, one)
    assert near == felt == 0
    whole = evaluate(family_named("streaming"), sizes, one).seconds[0]
    assert whole == pytest.approx(
        vectors * one.rates.blocked.value + advances * one.rates.advance_seconds + rest, rel=1e-9
    )
    assert vectors > 600 * 512 / 16 * 64
    assert advances >= 64 * 600 / 4


@pytest.mark.parametrize(("name", "extent"), [("j2d5pt", 4096), ("star2d2r", 4096), ("j3d7pt", 256)])
def test_the_factors_of_an_instance_that_waits_for_l2_and_l3_are_those_of_the_model(name, extent):
    shape = (extent,) * program(name).rank
    one = setting(WITH, shape, name).at(sm_count=1, launch_seconds=0.0)
    sizes = sizes_of(Tiling(family="streaming", time=16, space=(*shape[:-2], 128, shape[-1]), rows=4), one)
    vectors, advances, near, felt, rest = fit.stream_design(sizes, one)
    assert near > 0
    assert (felt > 0) == (len(shape) == 2)
    beside = both(vectors * one.rates.blocked.value, near, felt, NUMBERS)
    whole = evaluate(family_named("streaming"), sizes, one).seconds[0]
    assert whole == pytest.approx(beside + advances * one.rates.advance_seconds + rest, rel=1e-6)


@pytest.mark.parametrize(("name", "shape"), [("j2d5pt", (4096, 4096)), ("j3d7pt", (256, 256, 256))])
def test_lines_of_a_row_take_as_long_whatever_the_width_of_the_registers(name, shape):
    narrow = host_machine(CpuDescription(l3_bytes=2**25, **{**CPU, "simd_bits": 256}))
    sizes = [2048] if len(shape) == 2 else [128, 256]
    tiling = Tiling(family="streaming", time=8, space=(4096, *sizes), rows=4)
    lines, vectors = [], []
    for machine in (WITH, narrow):
        one = setting(machine, shape, name).at(cache_byte_seconds=1e-11, outer_byte_seconds=1e-11)
        with_lines = fit.stream_design(sizes_of(tiling, one), one)
        unfelt = one.at(numbers=one.rates.numbers.at(l3_exposed_fraction=0.0, l3_exposed_fraction_3d=0.0))
        without = fit.stream_design(sizes_of(tiling, one), unfelt)
        lines.append((with_lines[2], (with_lines - without)[3:].sum()))
        vectors.append(with_lines[0])
    assert min(lines[0]) > 0
    assert vectors[1] == pytest.approx(2 * vectors[0])
    assert lines[1] == pytest.approx(lines[0])


def test_lines_from_l3_are_felt_in_full_only_where_arithmetic_waits_for_l2_anyway():
    alone = both(1.0, 0.25, 0.0, NUMBERS)
    assert both(1.0, 0.25, 0.5, NUMBERS) - alone == pytest.approx(0.5 * 0.25**2)
    assert both(1.0, 3.0, 0.5, NUMBERS) - both(1.0, 3.0, 0.0, NUMBERS) == 0.5
    assert both(0.0, 0.0, 0.5, NUMBERS) == 0.5
    assert both(np.array([1.0, 2.0]), 0.5, 0.5, NUMBERS).shape == (2,)


def _streams(value: float, start: float, ratio: float, lines: float) -> tuple[np.ndarray, np.ndarray]:
    """Factors and times of instances of many widths; the factors' lines are off by a ratio."""
    vectors = np.array([1e6, 1.1e6, 1.3e6, 1.2e6, 1.5e6, 1.4e6])
    factors = np.column_stack(
        [
            vectors,
            vectors / (60, 130, 250, 500, 900, 120),
            lines * vectors * (1, 1, 1.5, 2, 2.4, 1),
            0.2 * lines * vectors * (0, 0, 1, 2, 2, 1),
        ]
    )
    return factors * (1.0, 1.0, 1 / ratio, 1.0), _taken(factors, value, start)


def _taken(factors: np.ndarray, value: float, start: float) -> np.ndarray:
    """Times of instances, by the formula."""
    return both(factors[:, 0] * value, factors[:, 2], factors[:, 3], NUMBERS) + start * factors[:, 1]


def test_arithmetic_is_told_from_lines_that_travel_beside_it():
    factors, seconds = _streams(1.4e-9, 4e-8, 1.0, 8e-10)
    found = fit.stream_iteration(factors, seconds, 4e-8, NUMBERS)
    assert found.iteration == pytest.approx(1.4e-9, rel=0.01)
    assert found.row == 4e-8
    assert found.deviation < 0.01
    assert found.low <= found.iteration <= found.high
    slower = _taken(factors * (1, 1, 2, 1), 1.4e-9, 4e-8)
    alone = fit.stream_iteration(factors * (1, 1, 0, 1), slower, 4e-8, NUMBERS)
    assert alone.iteration > 1.1 * fit.stream_iteration(factors * (1, 1, 2, 1), slower, 4e-8, NUMBERS).iteration


def test_lines_that_take_longer_than_arithmetic_do_not_drive_c_iter_away():
    """Instances that wait for lines say nothing of C_iter, also where they are many and off by some percent."""
    factors, seconds = _streams(1.4e-9, 4e-8, 1.0, 8e-10)
    waiting = factors * (1.0, 1.0, 4.0, 1.0)
    many = np.vstack([factors, waiting, waiting])
    slow = _taken(waiting, 1.4e-9, 4e-8)
    for off in (0.97, 1.03):
        found = fit.stream_iteration(many, np.concatenate([seconds, off * slow, off * slow]), 4e-8, NUMBERS)
        assert found.iteration == pytest.approx(1.4e-9, rel=0.03)


@pytest.mark.parametrize("ratio", [0.6, 1.0, 1.6])
@pytest.mark.parametrize("start", [2e-8, 6e-8])
def test_tiles_of_many_widths_tell_how_fast_lines_travel_and_how_long_rows_start(ratio, start):
    programs = [_streams(value, start, ratio, 8e-10) for value in (0.7e-9, 1.4e-9, 2.5e-9)]
    lines, advance = fit.stream_constants(programs, NUMBERS)
    assert lines.value == pytest.approx(ratio, rel=0.07)
    assert advance.value == pytest.approx(start, rel=0.15)
    for found in (lines, advance):
        assert found.low <= found.value <= found.high


def test_older_versions_cost_lines_only_where_l1_does_not_hold_the_rows():
    def each(name: str, width: int) -> float:
        one = setting(WITH, (4096, 4096), name).at(cache_byte_seconds=1e-9, advance_seconds=0.0)
        one = one.at(blocked=replace(one.rates.blocked, value=0.0), outer_byte_seconds=0.0)
        sizes = sizes_of(Tiling(family="streaming", time=32, space=(4096, width), rows=4), one)
        result = evaluate(family_named("streaming"), sizes, one)
        return float(result.compute_seconds[0]) / width

    assert each("wave2d", 192) == pytest.approx(each("j2d5pt", 192), rel=0.12)  # a line more of halo
    assert each("wave2d", 2048) == pytest.approx(3.5 / 2.5 * each("j2d5pt", 2048), rel=0.02)  # lines per vector
    assert each("j2d5pt", 2048) > 2.0 * each("j2d5pt", 256)


def test_what_bands_write_is_read_from_memory_however_small_the_grid():
    """Bands write past the caches: a second one reads from memory what L3 could have held."""
    sizes = []
    for levels_ in (64, 16):
        one = setting(WITH, (512, 512)).at(outer_byte_seconds=0.0, cache_byte_seconds=0.0)
        one = one.at(c_iter=replace(one.rates.c_iter, value=0.0, low=None, high=None))
        tile = sizes_of(Tiling(family="streaming", time=levels_, space=(512, 256), rows=4), one)
        result = evaluate(family_named("streaming"), tile, one)
        bands = float(result.wavefronts[0])
        moved = 4.0 * (float(result.input_words[0]) * (1.0 - 1.0 / bands) + float(result.output_words[0]))
        assert result.io_seconds[0] == pytest.approx(moved * one.rates.word_seconds / 4, rel=1e-9)
        sizes.append(bands)
    assert sizes == [2.0, 4.0]


def test_statements_that_follow_each_other_closely_read_their_fields_once():
    """Maxwell's three statements read 2, 2 and 3 values and update in place; wave2d overwrites what it has read."""
    maxwell, wave, star = (setting(WITH, (4096, 4096), name) for name in ("fdtd2d", "wave2d", "j2d5pt"))
    assert (maxwell.facts.reads, maxwell.facts.writes, maxwell.facts.fetches) == (7, 3, 0)
    assert (wave.facts.reads, wave.facts.writes, wave.facts.fetches) == (2, 1, 0)
    assert (star.facts.reads, star.facts.writes, star.facts.fetches) == (1, 1, 1)
    assert tiles.on_cpu(maxwell.facts).once_bytes == 6 * 4 * 4096**2
    assert maxwell.facts.swept_bytes == 10 * 4 * 4096**2
    assert tiles.on_cpu(star.facts).once_bytes == star.facts.swept_bytes == 3 * 4 * 4096**2
    # Rows that L2 does not hold are read by every statement.
    words = []
    for width in (2**12, 2**19):
        one = setting(WITH, (2**12, width), "fdtd2d")
        words.append(float(evaluate(family_named("none"), sizes_of(NONE, one), one).input_words[0]) / width)
    assert words[1] > 2.1 * words[0]
    # Pieces of rows that update in place wait at their ends.
    waits = [(one.facts.writes - one.facts.fetches) * one.rates.cut_seconds for one in (maxwell, wave, star)]
    assert waits[0] > waits[1] > waits[2] == 0.0


def test_the_last_band_stores_only_the_newest_versions():
    one = setting(WITH, (4096, 4096), "wave2d")
    words = []
    for levels_ in (64, 32, 16):
        sizes = sizes_of(Tiling(family="streaming", time=levels_, space=(4096, 4096), rows=4), one)
        result = evaluate(family_named("streaming"), sizes, one)
        words.append(float(result.output_words[0] * result.wavefronts[0]) / 4096**2)
    assert words == pytest.approx([3.0, 3.0, 7.0])  # the bands are 2, 2 and 4


def test_weights_that_registers_do_not_hold_are_loaded_too():
    """Up to 20 reads an access each; beyond, two; processors of 16 registers hold fewer."""
    narrow = replace(WITH, vector_width=replace(WITH.vector_width, value=8))
    few, many = program("star2d4r"), program("box3d2r")

    def cycles(name, machine):
        flops = name.flops * machine.flop_cycles.value
        loop = machine.of_rank("loop_cycles", name.rank).value
        found = iteration_seconds(name, machine).value * machine.clock.value
        return (found - flops - loop) / machine.load_cycles.value

    assert cycles(few, WITH) == pytest.approx(17 + 1)
    assert cycles(many, WITH) == pytest.approx(125 + 1 + 105)
    assert cycles(few, narrow) == pytest.approx(17 + 1 + 13)
