"""The time model of hexagons on CPUs: its counts are those of the kernels, one by one."""

import dataclasses

import numpy as np
import pytest

from tilewright.costs.cpu import boxes
from tilewright.costs.setting import make_setting
from tilewright.costs.time import sizes_of
from tilewright.costs.work import hexagonal
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import parse

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


@pytest.mark.parametrize(
    "tile",
    ["hybrid:t=8,s=4x64", "hybrid:t=16,s=4x320", "hybrid:t=16,s=4x336", "hybrid:t=32,s=2x8", "hybrid:t=4,s=2x96"],
)
@pytest.mark.parametrize("extent", [320, 317, 40])
def test_vectors_and_pieces_of_lines_are_those_of_the_cuts(tile, extent):
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
    assert work.vectors(16) == pytest.approx(vectors / rows)
    assert work.pieces == pytest.approx(pieces / rows)


@pytest.mark.parametrize("cores", [1, 2, 3, 8])
@pytest.mark.parametrize("tile", ["hybrid:t=8,s=4x64", "hybrid:t=16,s=1x64", "hybrid:t=64,s=8x64", "hybrid:t=2,s=1x64"])
def test_rounds_are_those_of_cores_that_take_tiles_in_order(tile, cores):
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
        assert turns[0] == pytest.approx(np.mean(ends), rel=0.02)


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
