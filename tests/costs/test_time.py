"""The time model: equation by equation, and the published numbers that reproduce."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.costs import time as model
from tilewright.costs.arrays import TileSizes
from tilewright.costs.gpu import blocks
from tilewright.costs.gpu.threads import PARTS
from tilewright.costs.published import time as published
from tilewright.costs.rates import estimated_seconds
from tilewright.costs.setting import make_setting
from tilewright.costs.work import hexagonal
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.family import family_named
from tilewright.schedules.tiling import parse
from tilewright.tuning.select import select
from tilewright.tuning.spaces import space

GTX980 = load("gtx980")
L = 4e-9 * 7.36e-3
TAU, LAUNCH = 7.96e-10, 9.24e-7


def exact(sizes, setting):
    return blocks.evaluate(hexagonal.blocks(sizes, setting.facts), sizes.k, setting.facts, setting.rates)


EQUATIONS = {"exact": exact, "published": published.evaluate}
"""The papers' equations as printed, and in exact geometry: both of tiles alone."""
GRADIENT = make_problem(program("gradient2d"), (8192, 8192), 8192)
CPU = CpuDescription(cores=2, simd_bits=512, l1_bytes=49152, l2_bytes=2**21, l3_bytes=2**25, clock_hz=2.6e9)
HOST = host_machine(CPU)


def breakdown(name, shape, steps, tiling, form="published", scope=None):
    setting = make_setting(make_problem(program(name), shape, steps), GTX980, scope)
    return EQUATIONS[form](model.sizes_of(parse(tiling), setting), setting), setting


def up(value, unit):
    return -(-value // unit)


def row_sum(base, height, inner, lanes):
    return 2 * sum(-(-x * inner // lanes) for x in range(base, base + height, 2))


def test_published_equations_in_1d():
    result, setting = breakdown("jacobi1d", (100_000,), 1000, "hexagonal:t=16,s=96,k=1")
    assert setting.rates.c_iter.source == "estimated"
    c_iter = setting.rates.c_iter.value
    transfer = 2 * (96 + 32) * L + 2 * TAU  # (7), (8)
    compute = row_sum(96, 16, 1, 128) * c_iter + 16 * TAU  # (9)
    assert result.wavefronts[0] == 2 * 63  # (3)
    assert result.tiles_per_wavefront[0] == -(-100_000 // (2 * 96 + 16))  # (5)
    assert result.shared_bytes[0] == 4 * 2 * (96 + 16)
    assert result.io_seconds[0] == pytest.approx(transfer, rel=1e-12)
    assert result.compute_seconds[0] == pytest.approx(compute, rel=1e-12)
    assert result.prism_seconds[0] == pytest.approx(transfer + compute, rel=1e-12)  # (10)
    rounds = -(-result.tiles_per_wavefront[0] // 16)
    assert result.seconds[0] == pytest.approx(126 * (transfer + compute) * rounds + 126 * LAUNCH, rel=1e-12)  # (6)
    three, _ = breakdown("jacobi1d", (100_000,), 1000, "hexagonal:t=16,s=96,k=3")
    assert three.prism_seconds[0] == pytest.approx(transfer + compute + 2 * max(transfer, compute), rel=1e-12)  # (12)


@pytest.mark.parametrize("k", [1, 2, 6])
def test_published_equations_in_2d(k):
    result, _ = breakdown("gradient2d", (8192, 8192), 8192, f"hybrid:t=16,s=8x64,k={k}")
    transfer = 2 * 64 * (8 + 32) * L + 2 * TAU  # (13), (14)
    compute = row_sum(8, 16, 64, 128) * 6.09e-8 + 16 * TAU  # (15)
    strips = -(-(8192 + 16) // 64)
    prism = (transfer + compute) * strips if k == 1 else transfer + k * max(transfer, compute) * strips  # (16)
    tiles = -(-8192 // 32)
    rounds = up(up(tiles, k), 16)
    assert result.shared_bytes[0] == 4 * 2 * (8 + 16 + 1) * (64 + 16 + 1)  # (19)
    assert (result.tiles_per_wavefront[0], result.tiles_per_prism[0]) == (tiles, strips)
    assert result.input_words[0] == result.output_words[0] == 64 * 40  # (18)
    assert result.io_seconds[0] == pytest.approx(transfer, rel=1e-12)
    assert result.compute_seconds[0] == pytest.approx(compute, rel=1e-12)
    assert result.seconds[0] == pytest.approx(1024 * (LAUNCH + prism * rounds), rel=1e-12)  # (17)


def test_published_equations_in_3d():
    result, _ = breakdown("heat3d", (384, 384, 384), 128, "hybrid:t=4,s=4x6x32")
    transfer = 2 * 6 * 32 * (4 + 8) * L + 2 * TAU  # (24), (25)
    compute = row_sum(4, 4, 6 * 32, 128) * 1.55e-7 + 4 * TAU  # (27)
    slabs = -(-(388 * 388) // (6 * 32))  # (23): the ceiling of the product
    assert result.tiles_per_wavefront[0] == -(-384 // 8)  # (22): t_S1 + t_T
    assert result.tiles_per_prism[0] == slabs
    assert result.tile_points[0] == 6 * 32 * 4 * (6 + 4) // 2  # (26)
    k = 98304 // (4 * 2 * 9 * 11 * 37)
    assert result.tiles_per_sm[0] == k == 3
    assert result.prism_seconds[0] == pytest.approx(transfer + k * max(transfer, compute) * slabs, rel=1e-12)  # (29)


def test_exact_differs_where_the_errata_say_so():
    result, _ = breakdown("gradient2d", (8192, 8192), 8192, "hybrid:t=16,s=8x64", "exact")
    assert result.wavefronts[0] == 512 + 513
    assert result.tiles_per_wavefront[0] == -(-8192 // 30)  # pitch 2 t_S + t_T - 2
    assert result.tiles_per_prism[0] == -(-(8192 + 15) // 64)
    assert result.input_words[0] == 64 * 40
    assert result.output_words[0] == 64 * 38
    cube, _ = breakdown("heat3d", (384, 384, 384), 128, "hybrid:t=4,s=4x6x32", "exact")
    assert cube.tiles_per_wavefront[0] == 39  # pitch 10, and 384 / 10 = 38.4
    assert cube.tiles_per_prism[0] == -(-387 // 6) * -(-387 // 32)


def test_printed_form_is_discontinuous_at_one_tile_per_sm():
    """(16): with m' below c, two tiles per SM save m' per sub-tile and tile; the formula at k = 1 does not meet it."""
    transfer, compute, count = np.array([3.0]), np.array([5.0]), np.array([10])
    one = published.prism_seconds(transfer, compute, np.array([1]), count, 2)[0]
    assert one == (3 + 5) * 10
    assert one != 3 + 1 * 5 * 10
    assert published.prism_seconds(transfer, compute, np.array([2]), count, 2)[0] == 3 + 2 * 5 * 10
    # The exact form is equation 12 for one tile in sequence, whatever k.
    for k, (a, b) in itertools.product((1, 2, 5), ((3.0, 5.0), (5.0, 3.0))):
        got = blocks.prism_seconds(np.array([a]), np.array([b]), np.array([k]), np.array([1]))[0]
        assert got == a + b + (k - 1) * max(a, b)


def minimum(form, scope=None):
    setting = make_setting(GRADIENT, GTX980, scope)
    sizes = space.feasible(setting, model="published")
    return EQUATIONS[form](sizes, setting), sizes, setting


def test_gradient2d_ideal_is_the_published_16_35_seconds():
    assert model.ideal_seconds(make_setting(GRADIENT, GTX980)) == pytest.approx(16.35, abs=0.005)  # (8.3)


def test_gradient2d_minimum_with_the_exact_pitch():
    result, sizes, setting = minimum("exact")
    assert 16.4 <= result.seconds.min() <= 16.5
    assert (result.seconds >= model.ideal_seconds(setting)).all()
    assert len(select(result.seconds, sizes)) > 200  # several hundred and more


def test_gradient2d_minimum_with_the_printed_pitch_is_impossible():
    result, sizes, setting = minimum("published")
    ratio = result.seconds.min() / model.ideal_seconds(setting)
    assert 0.45 < ratio < 0.55
    assert 0 < len(select(result.seconds, sizes)) < 200  # "There were less than 200 such points"
    assert sizes.space[0][result.seconds.argmin()] == 1  # a degenerate tile


def test_overhead_estimate_bounds_neither_way():
    """(8.5): the ratio of the true overhead to the estimate lies far below 1 and far above it."""
    result, sizes, setting = minimum("exact")
    ratio = (result.seconds - model.ideal_seconds(setting)) / published.overhead_estimate(sizes, setting)
    assert ratio.min() < 1
    assert ratio.max() > 100
    wide = TileSizes(time=sizes.time, space=(sizes.space[0], sizes.space[1] * 2), k=sizes.k)
    assert (published.overhead_estimate(wide, setting) == published.overhead_estimate(sizes, setting)).all()


def test_scope_per_sm_shares_the_bus():
    device, _ = breakdown("gradient2d", (8192, 8192), 8192, "hybrid:t=16,s=8x64", "exact")
    shared, _ = breakdown("gradient2d", (8192, 8192), 8192, "hybrid:t=16,s=8x64", "exact", scope="per_sm")
    ratio = (shared.io_seconds[0] - 2 * TAU) / (device.io_seconds[0] - 2 * TAU)
    assert ratio == pytest.approx(16, rel=1e-12)
    with pytest.raises(UsageError, match="scope of the bandwidth is one of device, per_sm, got 'chip'"):
        make_setting(GRADIENT, GTX980, "chip")


@pytest.mark.parametrize("form", model.MODELS)
def test_arrays_and_single_tilings_agree(form):
    setting = make_setting(GRADIENT, GTX980)
    sizes = space.feasible(setting, model=form)
    many = model.evaluate(family_named("hybrid"), sizes, setting, form)
    for index in range(0, len(sizes.time), 997):
        tiling = space.tiling_at(family_named("hybrid"), sizes, index)
        costs = model.predict(GRADIENT, tiling, GTX980, model=form)
        assert costs == model.costs_at(many, index, setting)


def test_c_iter_comes_from_the_paper_only_for_the_papers_expression_and_its_hexagons():
    jacobi = program("jacobi2d")
    setting = make_setting(GRADIENT, GTX980)
    assert setting.rates.c_iter.value == 6.09e-8
    for other in (setting.rates.other, setting.rates.swept, setting.rates.blocked):
        assert other.source == "estimated"
    pretender = replace(jacobi, name="gradient2d")
    found = make_setting(make_problem(pretender, (64, 64), 4), GTX980).rates.c_iter
    assert found == GTX980.iteration_seconds("jacobi2d")
    estimate = make_setting(make_problem(program("j2d5pt"), (64, 64), 4), GTX980).rates.c_iter
    assert estimate.source == "estimated"
    assert estimate.low < estimate.value < estimate.high
    double = make_setting(make_problem(jacobi, (64, 64), 4, "float64"), GTX980).rates.c_iter
    assert double.source == "estimated"
    assert double.value > make_setting(make_problem(jacobi, (64, 64), 4), GTX980).rates.c_iter.value


def test_estimates_of_c_iter_are_of_the_measured_size():
    for name in ("jacobi2d", "heat2d", "laplacian2d", "gradient2d", "heat3d", "laplacian3d"):
        estimate = estimated_seconds(program(name), GTX980)
        assert estimate.low < GTX980.iteration_seconds(name).value < estimate.high


def test_costs_are_consistent():
    tiling = parse("hybrid:t=8,s=32x512")
    for machine in (GTX980, load("h200"), HOST):
        problem = make_problem(program("j2d5pt"), (2048, 2048), 64)
        for each in (parse("none"), tiling if machine.kind == "cpu" else parse("hybrid:t=8,s=16x64")):
            costs = model.predict(problem, each, machine)
            parts = (costs.energy.static, costs.energy.off_chip, costs.energy.on_chip, costs.energy.arithmetic)
            assert costs.joules == pytest.approx(sum(parts))
            assert costs.gcells_per_second == pytest.approx(2048**2 * 64 / costs.seconds / 1e9)
            assert costs.gflops_per_second == pytest.approx(costs.gcells_per_second * 9)
            threads = each.family == "hybrid" and machine.kind == "gpu"
            assert costs.bound_by in ({*PARTS} if threads else {"compute", "memory", "synchronisation"})
            assert costs.flops == 2048**2 * 64 * 9
            assert costs.dram_bytes > 0


def test_time_tiling_saves_traffic_and_its_price_on_a_cpu():
    problem = make_problem(program("j2d5pt"), (4096, 4096), 100)
    untiled = model.predict(problem, parse("none"), HOST)
    tiled = model.predict(problem, parse("hybrid:t=16,s=32x512"), HOST)
    assert untiled.bound_by == "memory"
    assert untiled.dram_bytes == 4096**2 * 100 * 12  # one read, one write, and the read of what is overwritten
    assert tiled.dram_bytes < untiled.dram_bytes / 5
    assert tiled.seconds < untiled.seconds
    spilling = model.predict(problem, parse("hybrid:t=64,s=512x4096"), HOST)
    assert spilling.tile_shared_bytes > HOST.shared_bytes.value
    assert spilling.seconds > tiled.seconds
    short_rows = model.predict(problem, parse("hybrid:t=16,s=32x16"), HOST)
    assert short_rows.compute_seconds_per_tile / short_rows.tile_points > 1.5 * (
        tiled.compute_seconds_per_tile / tiled.tile_points
    )


def test_a_cpu_counts_idle_cores():
    """One tile per wavefront keeps one core busy: twice the cores do not help, and the model says so."""
    problem = make_problem(program("j2d5pt"), (64, 1024), 64)  # small enough for the L2 of few cores
    eight = host_machine(replace(CPU, cores=8))
    wide = parse("hybrid:t=8,s=64x512")
    assert model.predict(problem, wide, eight).compute_seconds_per_tile == pytest.approx(
        model.predict(problem, wide, HOST).compute_seconds_per_tile
    )
    assert (
        model.predict(problem, parse("hybrid:t=2,s=4x512"), eight).seconds < model.predict(problem, wide, eight).seconds
    )


def test_no_steps_cost_nothing():
    problem = make_problem(program("heat2d"), (64, 64), 0)
    for tiling, machine in itertools.product(("none", "hybrid:t=4,s=4x32"), (GTX980, HOST)):
        costs = model.predict(problem, parse(tiling), machine)
        assert costs.seconds == 0
        assert costs.gcells_per_second == 0


@pytest.mark.parametrize(
    ("tiling", "message"),
    [
        ("hexagonal:t=4,s=8", "hexagonal tiles are for 1D"),
        ("hybrid:t=4,s=8", "one size per axis: 2"),
        ("hybrid:t=3,s=8x32", "height of a hexagon is even, got t=3"),
        ("hybrid:t=16,s=256x256", "needs 596232 bytes of shared memory, gtx980 has 49152"),
        ("hybrid:t=16,s=8x64,k=7", "needs 16200 bytes of shared memory, gtx980 has 14043 for each of 7"),
        ("hybrid:t=999998,s=8x99999999999", "larger than any machine could hold"),
        ("rhombus:t=4,s=8x8", "there is no tiling family 'rhombus'"),
    ],
)
def test_what_has_no_prediction_is_one_sentence(tiling, message):
    with pytest.raises(UsageError, match=message):
        model.predict(GRADIENT, parse(tiling), GTX980)


def test_a_base_below_the_reach_and_an_unknown_model():
    problem = make_problem(program("j2d9pt"), (64, 64), 8)
    with pytest.raises(IllegalTilingError, match="at least the reach, 2, got 1"):
        model.predict(problem, parse("hybrid:t=4,s=1x32"), GTX980)
    with pytest.raises(UsageError, match="the model is one of exact, published, got 'best'"):
        model.predict(problem, parse("hybrid:t=4,s=2x32"), GTX980, model="best")


MADE_OF = {
    "gpu": ("none", "hybrid:t=8,s=4x64", "skewed:t=8,s=16x64", "streaming:t=4,s=128x240,threads=1x64"),
    "cpu": ("none", "hybrid:t=8,s=4x64", "diamond:t=8,s=16x64", "streaming:t=4,s=128x240"),
}


def test_a_time_is_the_sum_of_its_terms():
    """All of them are named, none is below nothing, and what is computed is among them."""
    for machine, name, which in itertools.product(
        [GTX980, load("h200"), host_machine(CPU)], ["heat2d", "fdtd2d"], range(4)
    ):
        chosen = parse(MADE_OF[machine.kind][which])
        setting = make_setting(make_problem(program(name), (1000, 1200), 32), machine)
        result = model.evaluate(chosen.family, model.sizes_of(chosen, setting), setting)
        assert {"arithmetic", "transfers", "synchronisation"} <= set(result.terms), (machine, name, which)
        assert float(sum(result.terms.values())[0]) == result.seconds[0], (machine, name, which)
        assert all(float(term[0]) >= -1e-12 * result.seconds[0] for term in result.terms.values())
        assert result.terms["arithmetic"][0] > 0, (machine, name, which)
