"""The model of streaming tiles in thread blocks: what it counts is exact, and every part moves what it should."""

import itertools
import operator
from dataclasses import replace

import numpy as np
import pytest
from tests.oracles.counting import exact_counts
from tests.runtime.fake_cuda import FakeDriver, installed
from tests.runtime.interpreted import inputs, loaded
from tests.sampling import covering

from tilewright.base.constants import MOST_WRITTEN
from tilewright.base.errors import UsageError
from tilewright.base.records import Resources
from tilewright.codegen import ir
from tilewright.codegen.gpu.emit import launches
from tilewright.codegen.gpu.site import GpuSite
from tilewright.codegen.gpu.streaming.kernels import kept
from tilewright.codegen.gpu.streaming.tile import StreamTile
from tilewright.codegen.gpu.sweep import sweep_launches
from tilewright.costs import time as model
from tilewright.costs.gpu import streaming as streaming_gpu
from tilewright.costs.setting import make_setting
from tilewright.costs.work import streaming
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.runtime.devices import cuda, gpu
from tilewright.schedules import catalogue
from tilewright.schedules.family import Legal, family_named
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces import space
from tilewright.tuning.spaces.gpu_schedule import gpu_schedule

H200 = load("h200")
CALLS = {
    ir.Operator.ADD: operator.add,
    ir.Operator.SUB: operator.sub,
    ir.Operator.MUL: operator.mul,
    ir.Operator.MOD: operator.mod,
    ir.Operator.GE: operator.ge,
    ir.Operator.LE: operator.le,
    ir.Operator.EQ: operator.eq,
    ir.Operator.AND: operator.and_,
}
"""What the kernels' tests are made of."""
CASES = (
    ("j2d5pt", (16384, 16384), "streaming:t=8,s=512x240,threads=1x256"),
    ("star3d1r", (512, 512, 512), "streaming:t=3,s=64x26x26,threads=1x16x32"),
    ("wave2d", (4096, 4096), "streaming:t=6,s=256x244,threads=1x128"),
    ("fdtd2d", (2048, 2048), "streaming:t=2,s=128x200,threads=1x64"),
    ("heat2d_var", (2048, 2048), "streaming:t=4,s=128x120,threads=1x128"),
)


def evaluated(name, shape, text, machine=H200, steps=96):
    problem, tiling = make_problem(program(name), shape, steps), parse(text)
    setting = make_setting(problem, machine)
    sizes = model.sizes_of(tiling, setting)
    block = streaming.blocks(sizes, setting.facts)
    return streaming_gpu.evaluate(block, setting.facts, setting.rates), setting


def cycles_of(block, setting, *, edge=False):
    return streaming_gpu.stream_cycles(block, setting.facts, setting.rates, edge=edge)


@pytest.mark.parametrize(("name", "shape", "text"), CASES)
def test_what_is_counted_is_exact(name, shape, text):
    problem, tiling = make_problem(program(name), shape, 96), parse(text)
    found, setting = evaluated(name, shape, text)
    exact = exact_counts(problem, tiling)
    block = streaming.blocks(model.sizes_of(tiling, setting), setting.facts)
    assert found.shared_bytes[0] == exact.footprint * problem.itemsize
    assert found.tiles_per_wavefront[0] == exact.tiles_per_wavefront
    assert found.wavefronts[0] == exact.wavefronts
    assert block.row[0] == np.prod(stream_block.tile_of(problem, tiling).loaded[1:])
    assert block.reads[0] == stream_block.tile_of(problem, tiling).written_reads
    if name in {"j2d5pt", "star3d1r"}:  # of one stage and one version: no unit is narrower than the widest
        assert found.tile_points[0] == exact.points
        assert found.input_words[0] == exact.live_in
        assert found.output_words[0] == exact.live_out


@pytest.mark.parametrize("name", ["j2d5pt", "fdtd2d", "wave2d", "wave3d"])
@pytest.mark.parametrize("levels", [1, 4])
def test_advances_are_counted(name, levels):
    known = program(name)
    problem = make_problem(known, (64,) * known.rank, 8)
    foot = stream_block.block_growth(problem)
    assert foot.rows_base + foot.rows_rate * levels == foot.pipeline.extra_rows(levels)
    low, high = foot.pipeline.halo(levels)
    assert tuple(a + b * levels for a, b in zip(foot.low_base, foot.low_rate, strict=True)) == low
    grown = tuple(a + b * levels for a, b in zip(foot.halo_base, foot.halo_rate, strict=True))
    assert grown == tuple(a + b for a, b in zip(low, high, strict=True))


@pytest.mark.parametrize(("name", "shape", "text"), CASES)
def test_no_tile_beats_the_bandwidth_or_the_arithmetic(name, shape, text):
    found, setting = evaluated(name, shape, text)
    compulsory = 2 * setting.facts.cells * setting.facts.itemsize * setting.facts.block.versions * found.wavefronts[0]
    assert found.dram_bytes[0] >= compulsory
    assert found.seconds[0] >= compulsory / H200.dram_bandwidth.value
    lanes = 132 * 128 * 1.98e9
    assert found.seconds[0] >= setting.facts.cells * setting.facts.steps * (setting.facts.flops / 2) / lanes


def test_every_resource_counts():
    name, shape, text = CASES[0]
    base = evaluated(name, shape, text)[0].seconds[0]

    def scaled(parameter, factor):
        known = getattr(H200, parameter)
        changed = replace(H200, **{parameter: replace(known, value=factor * known.value, low=None, high=None)})
        return evaluated(name, shape, text, changed)[0].seconds[0]

    assert scaled("sm_count", 0.5) > 1.5 * base
    assert scaled("dram_bandwidth", 0.1) > 2 * base
    assert scaled("schedulers", 0.5) > 1.2 * base
    assert scaled("launch_seconds", 1000) > base
    assert scaled("clock", 2.0) < base


def test_the_scheduler_with_a_warp_more_is_the_last(monkeypatch):
    """Of blocks of 8, 9 and 12 warps, one per multiprocessor: issue takes as long with 9 as with 12."""
    monkeypatch.setattr(streaming_gpu, "IN_TURN", 0.0)

    def issue(threads):
        text = f"streaming:t=2,s=512x60x{4 * threads - 4},threads=1x32x{threads}"
        problem = make_problem(program("j3d27pt"), (512, 512, 512), 96)
        setting = make_setting(problem, H200)
        block = streaming.blocks(model.sizes_of(parse(text), setting), setting.facts)
        assert (block.threads[0], block.turns[0]) == (32 * threads, 8)
        found, _ = evaluated("j3d27pt", (512, 512, 512), text)
        return found.compute_seconds[0]

    few, some, many = (issue(threads) for threads in (8, 9, 12))
    assert some == many == pytest.approx(1.5 * few)


def test_rows_from_memory_take_the_path_to_shared_memory(monkeypatch):
    """With four-byte values a warp's row of 2 x 4 cells is 8 wavefronts in and 8 out, besides what is on chip."""
    monkeypatch.setattr(streaming_gpu, "IN_TURN", 0.0)
    text = "streaming:t=4,s=512x32x64,threads=1x20x18"
    problem = make_problem(program("j3d7pt"), (512, 512, 512), 96)
    setting = make_setting(problem, H200)
    block = streaming.blocks(model.sizes_of(parse(text), setting), setting.facts)
    assert block.turns[0] == 8
    taken = 12 * (block.words[0] + 16) * block.rows[0] / 1.98e9

    def computed():
        return evaluated("j3d7pt", (512, 512, 512), text)[0].compute_seconds[0]

    assert computed() == pytest.approx(taken)
    monkeypatch.setattr(streaming_gpu, "IN_TURN", 1.0)  # nothing is hidden: its instructions come on top
    issue = cycles_of(block, setting).issue(np.ones(1))[0]
    assert computed() == pytest.approx(taken + issue / 1.98e9)


def test_others_fill_the_waits_of_a_block_but_the_last():
    """The same cells in one block of 8 warps and in two of 4: the barrier stops all of the one, and half of the two."""

    def taken(text, shape=(16384, 16384)):
        problem = make_problem(program("box2d1r"), shape, 100, "float64")
        setting = make_setting(problem, H200)
        block = streaming.blocks(model.sizes_of(parse(text), setting), setting.facts)
        parts = cycles_of(block, setting)
        return lambda blocks: parts.cycles(np.array([blocks]), np.zeros(1)).sum() / block.rows[0]  # bytes aside

    one, half = taken("streaming:t=5,s=2731x745,threads=1x252"), taken("streaming:t=5,s=2731x373,threads=1x128")
    waits = streaming_gpu.BARRIER_CYCLES + streaming_gpu.SHARED_CYCLES
    assert half(2) < one(1) < half(2) + waits
    more = np.diff([half(blocks) for blocks in range(1, 7)])
    assert (more > 0).all()
    assert more[0] < more[-1]  # the first waits in full, and with others the work is what counts
    assert half(0) == 0.0


def test_no_advance_is_sooner_than_its_row():
    """Threads of a single cell and level: nearly nothing to do, and every advance lasts a load from memory at least."""
    text = "streaming:t=1,s=16384x126,threads=1x128"
    found, setting = evaluated("j2d5pt", (16384, 16384), text, steps=1)
    block = streaming.blocks(model.sizes_of(parse(text), setting), setting.facts)
    assert found.prism_seconds[0] >= block.rows[0] * H200.fetch_latency.value / 1.98e9 / found.tiles_per_sm[0]
    slow = replace(H200, fetch_latency=replace(H200.fetch_latency, value=60000.0, low=None, high=None))
    assert evaluated("j2d5pt", (16384, 16384), text, slow, steps=1)[0].seconds[0] > 10 * found.seconds[0]


def test_registers_of_the_code_limit_the_resident_blocks():
    problem, tiling = make_problem(program("j2d5pt"), (16384, 16384), 96), parse(CASES[0][2])

    def with_registers(count):
        needs = Resources(registers=count, spill_bytes=0, stack_bytes=0, shared_bytes=32768)
        return model.predict(problem, tiling, H200, resources=needs)

    few, many = with_registers(40), with_registers(200)
    assert few.tiles_per_sm > many.tiles_per_sm == 1
    assert few.seconds < many.seconds


def test_a_tile_more_than_the_device_holds_waits_for_one_to_end():
    """Of 132 tiles those at edges are the last; of 133 one in the middle begins when another ends: edges come first."""
    text, steps = "streaming:t=14,s=1024x1490,threads=1x253", 84
    whole, setting = evaluated("j2d5pt", (1024, 1490 * 132), text, steps=steps)
    more, _ = evaluated("j2d5pt", (1024, 1490 * 133), text, steps=steps)
    assert more.tiles_per_wavefront[0] == 133
    assert more.tiles_per_sm[0] == 1
    block = streaming.blocks(model.sizes_of(parse(text), setting), setting.facts)
    every = (cycles_of(block, setting, edge=edge) for edge in (False, True))
    fast, slow = (each.cycles(np.ones(1), np.ones(1)).sum() for each in every)
    assert slow > 1.1 * fast
    launches = whole.wavefronts[0]
    assert launches == steps // 14
    each = [(found.seconds[0] - found.sync_seconds[0]) / launches * 1.98e9 for found in (whole, more)]
    assert each == pytest.approx([slow, 2 * fast])


@pytest.mark.parametrize("name", ["j2d5pt", "wave2d", "star3d2r", "fdtd2d"])
@pytest.mark.parametrize("machine", ["gtx980", "h200"])
def test_the_space_is_legal_and_fits(name, machine):
    known = program(name)
    problem = make_problem(known, (600,) * known.rank, 40)
    setting = make_setting(problem, load(machine))
    sizes = space.feasible(setting, family=family_named("streaming"))
    assert len(sizes.time) > 30
    seconds = model.evaluate(family_named("streaming"), sizes, setting).seconds
    assert np.isfinite(seconds).any()
    for index in range(0, len(sizes.time), len(sizes.time) // 15):
        tiling = space.tiling_at(family_named("streaming"), sizes, index)
        assert isinstance(catalogue.check(problem, tiling), Legal)
        assert stream_block.tile_of(problem, tiling).chip_values * 4 <= setting.rates.block_bytes
        assert stream_block.tile_of(problem, tiling).written_reads <= MOST_WRITTEN


def more_multiprocessors(device, factor):
    return replace(device, sm_count=replace(device.sm_count, value=factor * device.sm_count.value))


@pytest.mark.parametrize(
    ("name", "extent"), [("j2d5pt", 1000), ("gradient2d", 8192), ("wave2d", 4096), ("j3d7pt", 256)]
)
@pytest.mark.parametrize("machine", ["gtx980", "v100", "h200"])
def test_twice_the_multiprocessors_make_no_tiling_slower(name, extent, machine):
    """All else equal, the bandwidth included. A quarter more of them may: of waves that DRAM bounds and a last one of
    few blocks each takes as long as before or longer, since blocks of a wave are taken to begin and end together."""
    known, device = program(name), load(machine)
    problem = make_problem(known, (extent,) * known.rank, 67)
    sizes = space.feasible(make_setting(problem, device), family=family_named("streaming"))

    def seconds(factor):
        setting = make_setting(problem, more_multiprocessors(device, factor))
        return model.evaluate(family_named("streaming"), sizes, setting).seconds

    few, many = seconds(1), seconds(2)
    assert np.isfinite(few).sum() > 30
    assert (many[np.isfinite(few)] <= few[np.isfinite(few)] * (1 + 1e-9)).all()


@pytest.mark.parametrize(
    ("name", "extent", "machine", "text"),
    [
        ("j2d5pt", 1000, "gtx980", "streaming:t=4,s=996x37,threads=1x15"),
        ("gradient2d", 3000, "gtx980", "streaming:t=1,s=2372x118,threads=1x24"),
        ("gradient2d", 3000, "v100", "streaming:t=4,s=2324x24,threads=1x16"),
        ("gradient2d", 3000, "h200", "streaming:t=5,s=275x75,threads=1x17"),
    ],
)
def test_blocks_of_fewer_warps_than_schedulers_are_no_exception(name, extent, machine, text):
    problem, tiling = make_problem(program(name), (extent, extent), 64, "float64"), parse(text)
    taken = [model.predict(problem, tiling, more_multiprocessors(load(machine), n)).seconds for n in (1, 2, 4)]
    assert all(more <= fewer * (1 + 1e-9) for fewer, more in itertools.pairwise(taken)), taken


STEPS = (1, 4, 7, 10, 11)
LAUNCHED = covering(
    [
        ("j2d5pt", (61, 90), "streaming:t=4,s=20x24,threads=1x16"),
        ("star2d2r", (60, 97), "streaming:t=3,s=16x20,threads=1x12"),
        ("wave2d", (40, 64), "streaming:t=6,s=16x40,threads=1x20"),
        ("fdtd2d", (40, 64), "streaming:t=2,s=12x18,threads=1x8"),
        ("j3d7pt", (20, 30, 41), "streaming:t=2,s=8x10x12,threads=1x4x8"),
        ("j2d5pt", (61, 90), "streaming:t=5,s=20x200,threads=1x64"),
    ],
    ["fixed", "nearest", "mirror", "reflect", "constant", ("nearest", "fixed"), ("fixed", "mirror")],
)


@pytest.mark.parametrize(("case", "boundary"), LAUNCHED)
def test_the_price_counts_what_a_run_launches(case, boundary):
    """Launches and their blocks, as a driver gets them, and the blocks that have work, by the kernels' own tests."""
    name, shape, text = case
    if isinstance(boundary, tuple):
        boundary = (*boundary, *(["fixed"] * (len(shape) - 2)))
    problems, tiling = [make_problem(program(name), shape, n, boundary=boundary) for n in STEPS], parse(text)
    with installed(FakeDriver()) as driver:
        kernels = loaded(cuda.select(), problems[0], tiling)
        for problem in problems:
            driver.launched.clear()
            session = gpu.GpuSession(kernels, problem, inputs(problem))
            session.advance(problem.steps)
            price_counts([each[0] for each in driver.launched], problem, tiling)
            session.close()


def price_counts(groups, problem, tiling):
    """The price of a run counts the groups of its launches."""
    schedule, steps = gpu_schedule(problem, tiling), problem.steps
    setting = make_setting(problem, H200)
    block = streaming.blocks(model.sizes_of(schedule.tiling, setting), setting.facts)
    run = streaming_gpu.launched(block, np.array([1]), setting.facts, setting.rates)
    tiles = int(block.tiles[0])
    bands, rest = divmod(steps, tiling.time)
    swept = [each.groups for each in sweep_launches(problem, schedule.rest, rest)]
    assert groups == [tiles] * bands + swept
    assert run.launches[0] == len(groups)
    assert block.grid.all[0] == tiles
    assert block.grid.middle[0] == by_the_kernels_test(problem, schedule)


@pytest.mark.parametrize("name", ["j2d5pt", "wave2d"])
@pytest.mark.parametrize("levels", [1, 3, 4, 6, 10])
def test_launches_that_are_repeated_are_those_of_a_run_in_one_piece(name, levels):
    problem = make_problem(program(name), (40, 64), 1)
    schedule = gpu_schedule(problem, parse(f"streaming:t={levels},s=16x16,threads=1x8"))
    for steps in range(1, 300, 7):
        portion = gpu.repeated_steps(problem, schedule, kept(problem), steps)
        parts = [*[portion] * (steps // portion), *([steps % portion] if steps % portion else [])]
        assert [each for part in parts for each in launches(problem, schedule, part)] == list(
            launches(problem, schedule, steps)
        )


def test_no_step_and_no_edge_is_far_dearer_than_others():
    """What is left of the steps costs what no tiling does, and other edges little more than fixed ones."""

    def times(boundary, steps, text="streaming:t=10,s=125x342,threads=1x122", shape=(4096, 4096)):
        problem = make_problem(program("j2d5pt"), shape, steps, boundary=boundary)
        return model.predict(problem, parse("none"), H200).seconds / model.predict(problem, parse(text), H200).seconds

    assert times("fixed", 200) > 3
    assert times("fixed", 10) == pytest.approx(times("fixed", 200))
    assert times("fixed", 9) == pytest.approx(1.0)
    for boundary in ("nearest", "reflect", "mirror", "constant"):
        assert 0.7 * times("fixed", 200) < times(boundary, 200) < times("fixed", 200)
    assert times("fixed", 200, shape=(4097, 4097)) == pytest.approx(times("fixed", 200), rel=0.1)


def by_the_kernels_test(problem, schedule):
    """Tiles that pass the kernel's test of whether they are in the middle."""
    site = GpuSite(problem=problem, prefix="k", strict=False, kept=kept(problem))
    tile = StreamTile(site, schedule)
    names = {f"n{axis}": extent for axis, extent in enumerate(problem.shape)}
    names |= {"s0": 4 * problem.shape[-1], "s1": 4 * problem.shape[-1], "levels": tile.levels}
    middle = 0
    ranges = (range(0, n, size) for n, size in zip(problem.shape, tile.space, strict=True))
    for start in itertools.product(*ranges):
        here = names | {f"low{axis}": at for axis, at in enumerate(start)}
        middle += value_of(tile.inner_test(), here)
    return middle


def value_of(node, names):
    """The value of a test of whole numbers."""
    if isinstance(node, ir.Var):
        return names[node.name]
    if isinstance(node, ir.Int):
        return node.value
    return CALLS[node.op](*(value_of(each, names) for each in node.args))


def test_what_has_no_model_is_said():
    line = make_problem(program("j1d3pt"), (4096,), 10)
    with pytest.raises(UsageError, match="known in 2D and 3D"):
        model.predict(line, parse("streaming:t=4,s=64"), H200)
    plane = make_problem(program("j2d5pt"), (512, 512), 10)
    with pytest.raises(UsageError, match="have threads per axis"):
        model.predict(plane, parse("streaming:t=4,s=64x64"), H200)
