"""The time models of skewed and diamond tiles against the exact counts, and term by term."""

import dataclasses
import itertools
from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.counting import exact_counts

from tilewright.base.errors import UsageError
from tilewright.costs import time as model
from tilewright.costs.arrays import TileSizes
from tilewright.costs.cpu.boxes import missed_inside
from tilewright.costs.setting import make_setting
from tilewright.costs.work import tiles
from tilewright.costs.work.families import tiles_of
from tilewright.costs.work.tiles import Fronts
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue
from tilewright.schedules.family import family_named
from tilewright.schedules.tiling import parse

GTX980, H200 = load("gtx980"), load("h200")
HOST = host_machine(
    CpuDescription(cores=2, simd_bits=512, l1_bytes=49152, l2_bytes=2**21, l3_bytes=2**25, clock_hz=2.6e9)
)
L = 4e-9 * 7.36e-3
TAU, LAUNCH = 7.96e-10, 9.24e-7


def breakdown(name, shape, steps, tiling, machine=GTX980):
    setting = make_setting(make_problem(program(name), shape, steps), machine)
    tiling = parse(tiling)
    return model.evaluate(tiling.family, model.sizes_of(tiling, setting), setting), setting


@pytest.mark.parametrize(
    ("name", "shape", "steps", "tiling"),
    [
        ("jacobi1d", (100_000,), 1000, "skewed:t=16,s=96"),
        ("jacobi1d", (100_000,), 1001, "skewed:t=64,s=32"),
        ("box1d2r", (7_777,), 100, "skewed:t=8,s=64"),
        ("box2d1r", (700, 900), 100, "skewed:t=8,s=16x64"),
        ("box2d1r", (700, 900), 100, "skewed:t=8,s=16x1000"),
        ("box3d1r", (60, 70, 90), 20, "skewed:t=4,s=8x8x32"),
        ("jacobi1d", (100_000,), 1000, "diamond:t=16,s=16"),
        ("box1d2r", (7_777,), 100, "diamond:t=8,s=40"),
        ("box2d1r", (700, 900), 100, "diamond:t=8,s=8x64"),
        ("box3d1r", (60, 70, 90), 20, "diamond:t=4,s=8x8x32"),
    ],
)
def test_the_models_count_what_the_tilings_count(name, shape, steps, tiling):
    """N_w, cells, words in and out and M_tile of a tile; w up to the rounding of a full pipeline."""
    result, setting = breakdown(name, shape, steps, tiling)
    counts = exact_counts(make_problem(program(name), shape, steps), parse(tiling))
    assert result.wavefronts[0] == counts.wavefronts
    assert result.tile_points[0] == counts.points
    assert result.input_words[0] == counts.live_in
    assert result.output_words[0] == pytest.approx(counts.live_out, abs=1.5 * counts.points / parse(tiling).time ** 2)
    assert result.shared_bytes[0] == pytest.approx(setting.facts.itemsize * counts.footprint, rel=0.12)
    assert result.tiles_per_wavefront[0] == pytest.approx(counts.tiles_per_wavefront, rel=0.35, abs=1)
    work = tiles_of(parse(tiling).family).blocks(model.sizes_of(parse(tiling), setting), setting.facts)
    assert work.tiles[0] == pytest.approx(counts.tiles, rel=0.03)


def test_time_skewing_in_1d_term_by_term():
    result, setting = breakdown("jacobi1d", (100_000,), 1000, "skewed:t=16,s=96,k=1")
    assert result.input_words[0] == 96 + 2 * 16
    assert result.output_words[0] == 96 + 2 * 15
    transfer = (128 + 126) * L + 2 * TAU
    compute = 16 * 1 * setting.rates.c_iter.value + 16 * TAU
    bands, tiles, lag = 63, -(-(100_000 + 15) // 96), 2
    assert result.wavefronts[0] == (bands - 1) * lag + tiles
    assert result.io_seconds[0] == pytest.approx(transfer, rel=1e-12)
    assert result.compute_seconds[0] == pytest.approx(compute, rel=1e-12)
    # Never more than bands tiles at a time: the pipeline is full after lag * bands wavefronts.
    together = bands * tiles / (result.wavefronts[0] - lag * bands)
    assert 63 <= together < 70
    ramp = lag * bands
    flat = result.wavefronts[0] - 2 * ramp
    share = together / 16
    rising = np.ceil(np.linspace(0, share, 200_001)[1:]).mean()
    turns = flat * np.ceil(share) + 2 * ramp * rising
    expected = (transfer + compute) * turns + result.wavefronts[0] * LAUNCH
    assert result.seconds[0] == pytest.approx(expected, rel=1e-4)


def test_sub_tiles_cost_vectors_that_are_not_full():
    whole, _ = breakdown("jacobi1d", (100_000,), 1000, "skewed:t=16,s=128,k=1")
    cut, _ = breakdown("jacobi1d", (100_000,), 1000, "skewed:t=16,s=128,sub=32,k=1")
    assert cut.compute_seconds[0] == pytest.approx(4 * whole.compute_seconds[0])
    assert cut.input_words[0] == whole.input_words[0]


def test_no_family_is_faster_than_the_ideal_machine():
    for machine, family, (name, shape) in itertools.product(
        [GTX980, H200, HOST],
        ["skewed", "diamond"],
        [("jacobi1d", (2**20,)), ("heat2d", (2000, 3000)), ("fdtd2d", (600, 700)), ("wave3d", (90, 80, 70))],
    ):
        from tilewright.tuning.spaces import space

        problem = make_problem(program(name), shape, 96)
        setting = make_setting(problem, machine, "per_sm")
        if family not in space.families(problem, cpu=setting.cpu):
            continue
        sizes = space.feasible(setting, family=family_named(family))
        assert len(sizes.time) > 20, (machine, family, name, shape)
        result = model.evaluate(family_named(family), sizes, setting)
        assert np.isfinite(result.seconds).all(), (machine, family, name, shape)
        assert (result.seconds >= 0.999 * model.ideal_seconds(setting)).all(), (machine, family, name, shape)
        for index in range(0, len(sizes.time), max(1, len(sizes.time) // 7)):
            tiling = space.tiling_at(family_named(family), sizes, index)
            assert type(catalogue.check(problem, tiling)).__name__ == "Legal", (machine, family, name, shape)
            alone = model.evaluate(family_named(family), model.sizes_of(tiling, setting), setting)
            assert alone.seconds[0] == result.seconds[index], (machine, family, name, shape)


def test_turns_on_a_pipeline():
    def work(fronts, width, ramp):
        return Fronts(kinds=((np.array([fronts]), np.array([width])),), ramp=np.array([ramp]))

    four = np.array([4])
    assert work(10, 8.0, 0).turns(four)[0] == 20
    assert work(10, 9.0, 0).turns(four)[0] == 30
    assert work(10, 0.25, 0).turns(four)[0] == 2.5
    assert work(10, 8.0, 5).turns(four)[0] == pytest.approx(10 * 1.5)
    assert work(10, 2.0, 3).turns(four)[0] == pytest.approx(10)


@pytest.mark.parametrize(
    ("tiling", "message"),
    [
        ("diamond:t=4,s=2x8", "even pitch of at least 4, got t=4, s=2"),
        ("diamond:t=3,s=8x8", "even height"),
        ("skewed:t=4,s=8", "one size per axis: 2, got 1"),
    ],
)
def test_sizes_that_no_tile_can_have(tiling, message):
    with pytest.raises(UsageError, match=message):
        breakdown("heat2d", (100, 100), 10, tiling)


def test_arrays_carry_sub_tiles():
    sizes = TileSizes(time=np.array([1, 2]), space=(np.array([8, 16]),), k=np.array([0, 0]), sub=(np.array([4, 8]),))
    assert sizes.take(np.array([1])).sub[0].tolist() == [8]


def test_no_part_of_a_predicted_time_is_below_nothing():
    """Streaming tiles block rows in registers: measured against C_iter of other code their waits would be negative."""
    from tilewright.verbs.bottleneck import explain
    from tilewright.verbs.predict import predict
    from tilewright.verbs.tuning.supertune import supertune

    case = {"shape": (2048, 2048), "steps": 64, "machine": "host"}
    found = supertune("heat2d", **case)
    assert {entry.tiling.family for entry in found.entries} >= {"streaming", "hybrid", "none"}
    assert all(seconds >= -1e-12 for entry in found.entries for _, seconds in entry.parts)
    one = predict("heat2d", **case, tiling=next(e.tiling for e in found.entries if e.tiling.family == "streaming"))
    why = explain(one)
    assert why.overhead >= 0
    assert all(each.use <= 1.0 for each in why.resources if each.kind == "work")


def test_turns_of_a_few_cores():
    def turns(fronts, width, ramp, tiles, cores):
        return work(fronts, width, ramp).shared_turns(np.array([tiles]), cores)

    def work(fronts, width, ramp):
        return Fronts(kinds=((np.array([fronts]), np.array([width])),), ramp=np.array([ramp]))

    # Three fronts of which two are halves: the work of two.
    assert turns(3, 8.0, 0, 16.0, 2)[0] == 8
    assert turns(2, 9.0, 0, 18.0, 2)[0] == 10
    # 4.2 tiles on average are 4 or 5: 2 or 3 turns, 2.35 on average.
    assert turns(100, 4.2, 0, 420.0, 2)[0] == 300
    piped = turns(100, 4.2, 1, 420.0, 2)[0]
    assert piped == pytest.approx(98 * 2.35 + 2 * work(2, 4.2, 1).turns(np.array([2]))[0] / 2, rel=0.01)


@pytest.mark.parametrize(
    ("tiling", "waits"),
    [
        ("skewed:t=16,s=64x128", False),  # fits L2
        ("skewed:t=16,s=4096x5000", False),  # whole rows follow each other
        ("skewed:t=16,s=4096x128", True),
        ("diamond:t=16,s=2048x128", True),
    ],
)
def test_cut_rows_beyond_the_cache_wait_for_their_first_cells(tiling, waits):
    result, setting = breakdown("j2d5pt", (4096, 4096), 64, tiling, HOST)
    tile = parse(tiling)
    sizes = model.sizes_of(tile, setting)
    calm = model.evaluate(tile.family, sizes, setting.at(fetch_seconds=0.0))
    more = result.compute_seconds[0] - calm.compute_seconds[0]
    work = tiles_of(tile.family).boxes(sizes, setting.facts)
    missed = missed_inside(result.shared_bytes, setting.rates)[0]
    lines = 4096 * 64 * work.breaks[0]
    assert (more * work.tiles[0] * work.count[0] > 0.1 * lines * setting.rates.fetch_seconds) == waits
    assert more * work.tiles[0] * work.count[0] == pytest.approx(
        lines * missed * setting.rates.fetch_seconds, abs=1e-12
    )


def test_the_latency_of_cut_rows_is_the_machines():
    problem = make_problem(program("j2d5pt"), (64, 64), 4)
    assert HOST.outer_latency.source == "estimated"
    assert HOST.outer_latency.low < HOST.outer_latency.value < HOST.outer_latency.high
    known = make_setting(problem, HOST).rates.fetch_seconds
    assert known == HOST.outer_latency.value / HOST.clock.value
    slower = dataclasses.replace(HOST.outer_latency, value=280.0)
    assert make_setting(problem, dataclasses.replace(HOST, outer_latency=slower)).rates.fetch_seconds == pytest.approx(
        2 * known
    )


def test_bands_that_follow_closely_find_their_data_in_the_outer_cache():
    near = breakdown("j2d5pt", (4096, 4096), 64, "skewed:t=8,s=16x5000", HOST)[0]
    far = breakdown("j2d5pt", (4096, 4096), 64, "skewed:t=8,s=512x512", HOST)[0]
    assert near.dram_bytes[0] < far.dram_bytes[0]


@pytest.mark.parametrize(
    ("name", "shape", "tiling"),
    [
        ("j1d3pt", (2**24,), "skewed:t=16,s=4096"),
        ("j1d3pt", (2**24,), "diamond:t=16,s=4096"),
        ("j2d5pt", (4096, 4096), "skewed:t=16,s=16x5000"),
        ("wave2d", (4096, 4096), "skewed:t=16,s=16x5000"),
    ],
)
def test_a_grid_beyond_every_cache_is_read_and_written_at_least_once(name, shape, tiling):
    field = 4 * np.prod(shape)
    few, many = (breakdown(name, shape, steps, tiling, HOST)[0].dram_bytes[0] for steps in (16, 256))
    assert many >= few >= 2 * field
    if tiling.startswith("skewed"):  # with one band nothing is found in the outer cache
        setting = make_setting(make_problem(program(name), shape, 16), HOST)
        faster = setting.at(outer_byte_seconds=setting.rates.outer_byte_seconds / 2)
        sizes = model.sizes_of(parse(tiling), setting)
        assert (
            model.evaluate(family_named("skewed"), sizes, faster).io_seconds
            == model.evaluate(family_named("skewed"), sizes, setting).io_seconds
        )


def test_a_run_pays_for_copies_and_for_doubt():
    from tilewright.costs.time import copy_seconds, run_seconds

    problem = make_problem(program("wave2d"), (4096, 4096), 8)
    guessed = make_setting(problem, HOST)
    assert guessed.guessed
    margin, doubt = HOST.strategy_margin.value, HOST.uncalibrated_margin.value
    assert min(margin, doubt) > 1
    assert run_seconds(family_named("streaming"), 1.0, guessed) == doubt
    assert run_seconds(family_named("skewed"), 1.0, guessed, copies=False) == margin * doubt
    assert run_seconds(family_named("none"), 1.0, guessed) == 1.0 + copy_seconds(guessed)
    known = replace(HOST, dram_bandwidth=replace(HOST.dram_bandwidth, source="measured"))
    setting = make_setting(problem, known)
    # Two versions in and one out, each read, fetched and written, at the bandwidth of all cores.
    assert copy_seconds(setting) == pytest.approx(3 * 3 * 4 * 4096**2 / known.dram_bandwidth.value)
    assert run_seconds(family_named("streaming"), 1.0, setting) == 1.0
    assert run_seconds(family_named("hybrid"), 1.0, setting) == 1.0 + copy_seconds(setting)
    assert run_seconds(family_named("skewed"), 1.0, setting) == margin + copy_seconds(setting)
    assert run_seconds(family_named("skewed"), 1.0, setting, copies=False) == margin
    assert run_seconds(family_named("none"), 1.0, make_setting(problem, GTX980)) == 1.0


@pytest.mark.parametrize(
    ("tiling", "around"),
    [
        ("diamond:t=8,s=64x16x1024", 0.5),
        ("diamond:t=8,s=64x512x1024", 0.0),
        ("skewed:t=8,s=16x32x1024", 0.75),
    ],
)
def test_cells_around_a_block_are_read_at_every_step(tiling, around, monkeypatch):
    """Of those that blocks before it wrote L2 has lost what the whole block pushes out."""
    tile, setting = parse(tiling), make_setting(make_problem(program("star3d4r"), (512,) * 3, 64), HOST)
    sizes = model.sizes_of(tile, setting)
    assert tiles_of(tile.family).boxes(sizes, setting.facts).around[0] == pytest.approx(around)
    seconds = model.evaluate(tile.family, sizes, setting).seconds[0]
    monkeypatch.setattr(tiles, "around", lambda *_: np.zeros(1))
    assert (seconds > model.evaluate(tile.family, sizes, setting).seconds[0]) == (around > 0)


@pytest.mark.parametrize(("cells", "pieces"), [(512, 1.5), (544, 1.0), (128, 4.5)])
def test_cuts_that_move_through_lines_cut_those_as_long_as_a_tile(cells, pieces):
    setting = make_setting(make_problem(program("star3d4r"), (512,) * 3, 64), HOST)
    sizes = model.sizes_of(parse(f"diamond:t=8,s=64x8x{cells}"), setting)
    assert tiles_of(family_named("diamond")).boxes(sizes, setting.facts).pieces[0] == pieces


@pytest.mark.parametrize(("dtype", "gpu"), [("float32", True), ("float64", True), ("complex64", False)])
def test_element_types_without_code_for_gpus_are_for_cpus(dtype, gpu):
    problem = make_problem(program("jacobi2d"), (64, 64), 4, dtype)
    assert make_setting(problem, HOST).facts.itemsize == problem.itemsize
    if gpu:
        assert make_setting(problem, H200).facts.itemsize == problem.itemsize
        return
    with pytest.raises(UsageError, match=r"GPU backends compute in float32, .* got complex64"):
        make_setting(problem, H200)
