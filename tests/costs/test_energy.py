"""The energy model: the printed instances on random tiles, the general rule, estimates, and the regression."""

import itertools
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.base.errors import UsageError
from tilewright.costs import time as time_model
from tilewright.costs.accuracy import Comparison
from tilewright.costs.arrays import TileSizes
from tilewright.costs.energy import fit as energy_fit
from tilewright.costs.energy.constants import NAMES, at_clock, constants, require_known
from tilewright.costs.energy.price import Usage, operations, price, rule
from tilewright.costs.gpu import streaming as gpu_streaming
from tilewright.costs.published import energy as energy_tiles
from tilewright.costs.setting import make_setting
from tilewright.costs.work import streaming
from tilewright.machines.files import load, names
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.family import family_named
from tilewright.schedules.tiling import NONE, parse
from tilewright.tuning.stencil import on_machine

SETS = {
    "k20c": (48.0, 2.2e-9, 2.23e-10, 5.3e-11, 3.7e-11, 7.2e-11, 4.8e-11),
    "k20c-regression": (53.0, 3.17e-9, 1.84e-10, 5.02e-11, 3.51e-11, 0.0, 0.0),
}
"""Table B.2."""
K20C = load("k20c")
sizes = st.integers(1, 4096)
machines = st.sampled_from(sorted(SETS))
times = st.floats(1e-6, 1e4)


@pytest.mark.parametrize("name", sorted(SETS))
def test_table_b2_is_in_the_catalogue(name):
    known = constants(load(name))
    assert tuple(known.vector()[:7]) == SETS[name]
    assert {getattr(known, each).source for each in NAMES[:7]} == {"paper"}
    for each in NAMES[:7]:
        quantity = getattr(known, each)
        assert (quantity.low, quantity.high) == tuple(sorted(SETS[other][NAMES.index(each)] for other in SETS))


@given(machines, st.tuples(sizes, sizes), sizes, sizes, sizes, times)
def test_smith_waterman_equals_its_equation(name, shape, t_s, t_t, s_s, seconds):
    power, e_gs, e_sr, _, _, e_add, e_max = SETS[name]
    volume = t_s * t_t
    tile = 4.25 * (t_s + t_t) * e_gs + (volume + 5 * t_t * t_s / s_s) * e_sr + 5 * volume * (e_add + e_max)
    whole = power * seconds + shape[0] * shape[1] / volume * tile
    found = energy_tiles.smith_waterman(shape, t_s, t_t, s_s).usage(seconds)
    assert price(found, constants(load(name))).joules == pytest.approx(whole, rel=1e-12, abs=0.0)


@given(machines, sizes, sizes, sizes, sizes, sizes, times)
def test_jacobi1d_equals_its_equation(name, extent, steps, t_s, t_t, s_s, seconds):
    power, e_gs, e_sr, e_add, e_mul, _, _ = SETS[name]
    volume = t_s * t_t
    tile = 2 * e_gs * (2 * t_t + t_s) + 4 * e_sr * (2 * t_s + 4 * t_t * t_s / s_s) + (2 * e_add + e_mul) * volume
    whole = power * seconds + extent * steps / volume * tile
    found = energy_tiles.jacobi1d(extent, steps, t_s, t_t, s_s).usage(seconds)
    assert price(found, constants(load(name))).joules == pytest.approx(whole, rel=1e-12, abs=0.0)


@given(machines, st.tuples(sizes, sizes), sizes, st.integers(1, 256), sizes, sizes, times)
def test_jacobi2d_equals_b3_to_b6(name, shape, steps, half, t_s1, t_s2, seconds):
    power, e_gs, e_sr, e_add, e_mul, _, _ = SETS[name]
    t_t = 2 * half
    width = t_s1 + t_t - 2
    moved = 2 * t_s2 * (t_s1 + 2 * t_t)  # (B.3)
    volume = t_s2 * t_t / 2 * (2 * t_s1 + t_t - 2)  # (B.4)
    tiles = 2 * steps / t_t * shape[0] / (t_s1 + width) * (shape[1] + t_t) / t_s2  # (B.5)
    whole = power * seconds + tiles * (e_gs * moved + 6 * e_sr * volume + (4 * e_add + e_mul) * volume)  # (B.6)
    found = energy_tiles.jacobi2d(shape, steps, t_t, t_s1, t_s2).usage(seconds)
    assert price(found, constants(load(name))).joules == pytest.approx(whole, rel=1e-12, abs=0.0)


def test_the_published_prediction_of_jacobi2d_is_the_printed_energy():
    problem, tiling = make_problem(program("jacobi2d"), (4096, 2048), 512), parse("hybrid:t=16,s=16x64")
    costs = time_model.predict(problem, tiling, K20C, model="published")
    tile = energy_tiles.printed("jacobi2d", (4096, 2048), 512, tiling)
    assert costs.joules == pytest.approx(price(tile.usage(costs.seconds), constants(K20C)).joules, rel=1e-12)


@pytest.mark.parametrize("name", ["jacobi2d", "gradient2d", "wave2d", "fdtd2d", "heat2d_var"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_general_rule(name, dtype):
    problem = make_problem(program(name), (1024, 512), 32, dtype)
    for tiling in (NONE, parse("hybrid:t=8,s=16x32")):
        costs = time_model.predict(problem, tiling, K20C)
        known, words = constants(K20C), np.dtype(dtype).itemsize / 4
        adds, multiplies, _, _, specials = operations(problem.program)
        updates = 1024 * 512 * 32
        accesses = problem.program.loads + len(problem.program.statements)
        arithmetic = adds * 5.3e-11 + multiplies * 3.7e-11 + specials * known.special_joules.value
        expected = 48.0 * costs.seconds + 2.2e-9 * costs.dram_bytes / 4
        expected += updates * words * (accesses * 2.23e-10 + arithmetic)
        assert costs.joules == pytest.approx(expected, rel=1e-12)
        assert costs.energy.low <= costs.joules <= costs.energy.high
    assert operations(problem.program)[0] + operations(problem.program)[1] + specials >= problem.program.flops


def test_the_arrays_and_the_single_tiling_agree():
    problem = make_problem(program("heat2d"), (2048, 2048), 64)
    setting = make_setting(problem, K20C)
    many = TileSizes(time=np.array([4, 8]), space=(np.array([16, 8]), np.array([32, 64])), k=np.array([0, 0]))
    for model in time_model.MODELS:
        result = time_model.evaluate(family_named("hybrid"), many, setting, model)
        for index, text in enumerate(("hybrid:t=4,s=16x32", "hybrid:t=8,s=8x64")):
            one = time_model.predict(problem, parse(text), K20C, model=model)
            assert result.joules[index] == pytest.approx(one.joules, rel=1e-12)
            assert one.energy.watts == pytest.approx(one.joules / one.seconds)


def test_a_tile_that_does_not_fit_has_no_energy():
    setting = make_setting(make_problem(program("heat2d"), (2048, 2048), 64), K20C)
    huge = TileSizes(time=np.array([64]), space=(np.array([512]), np.array([512])), k=np.array([0]))
    assert np.isinf(time_model.evaluate(family_named("hybrid"), huge, setting).joules[0])


def test_what_nobody_measured_is_estimated_and_marked():
    for name in [name for name in names() if name not in {"host", *SETS}]:
        known = constants(load(name))
        for each in NAMES:
            quantity = getattr(known, each)
            assert quantity.source == "estimated", name
            assert quantity.note, name
            assert 0 < quantity.low < quantity.value < quantity.high, name
        costs = time_model.predict(make_problem(program("jacobi2d"), (512, 512), 8), NONE, load(name))
        assert costs.energy.source == "estimated", name
        with pytest.raises(UsageError, match=f"the energies of {name} are not known: it has no static_watts"):
            require_known(load(name))


ESTIMATED = [name for name in names() if name not in {"host", *SETS} and load(name).kind == "gpu"]


def test_every_machine_says_what_its_board_draws_and_who_says_so():
    for name in [name for name in names() if name != "host"]:
        known = load(name).tdp_watts
        assert known.source == "datasheet" or (known.source == "estimated" and known.low < known.high), name
        assert known.note, name
        assert constants(load(name)).board == known, name


def test_estimates_draw_no_more_than_the_board_at_the_rates_of_the_data_sheet():
    for name in ESTIMATED:
        machine = load(name)
        known = constants(machine)
        lanes = machine.sm_count.value * machine.vector_width.value * machine.clock.value
        banks = (
            machine.shared_bandwidth.value / 4 if machine.shared_bandwidth else 32 * lanes / machine.vector_width.value
        )
        rates = {
            "global_word_joules": machine.peak_dram_bandwidth.value / 4,
            "shared_word_joules": banks,
            "add_joules": lanes,
            "multiply_joules": lanes,
        }
        static, board = known.static_watts.value, machine.tdp_watts.value
        assert static + sum(rate * getattr(known, each).value for each, rate in rates.items()) == pytest.approx(board)
        for each in NAMES[1:7]:
            assert static + rates.get(each, lanes) * getattr(known, each).high <= board * (1 + 1e-9), name
        # Without a board nothing is known of its supply.
        free = constants(replace(machine, tdp_watts=None))
        assert free.add_joules.value > known.add_joules.value, name
        assert free.add_joules.value / free.shared_word_joules.value == pytest.approx(5.3e-11 / 2.23e-10), name


@pytest.mark.parametrize("name", sorted(SETS))
def test_published_constants_that_need_more_than_the_board_say_so(name):
    problem = make_problem(program("star3d4r"), (256, 256, 256), 64)
    energy = on_machine(problem, load(name)).costs(None)[1].energy
    assert bool(energy.warning) == (energy.watts > 225.0)


def test_no_card_is_predicted_to_draw_more_than_its_board():
    planes, cubes = ("jacobi2d", (8192, 8192), 512), ("laplacian3d", (512, 512, 512), 64)
    for name, case in zip(["k20c", *ESTIMATED], itertools.cycle((planes, cubes)), strict=False):
        problem = make_problem(program(case[0]), *case[1:])
        costs = on_machine(problem, load(name)).costs(None)[1]
        assert costs.energy.board_watts == load(name).tdp_watts.value, (name, case)
        assert costs.energy.watts <= costs.energy.board_watts, (name, case)
        assert costs.energy.warning == "", (name, case)
        assert costs.energy.high <= costs.energy.board_watts * costs.seconds * (1 + 1e-12), (name, case)


def test_power_above_the_boards_is_one_sentence():
    used = Usage(seconds=1.0, global_words=6e10, shared_words=5e11)
    found = price(used, constants(K20C))
    assert found.watts == pytest.approx(48 + 132 + 111.5)
    assert found.warning.startswith("predicted power 291.5 W is above the board's 225 W: ")
    assert found.to_dict()["warning"] == found.warning
    assert found.high == pytest.approx(53 + 190.2 + 111.5)
    assert price(replace(used, seconds=2.0), constants(K20C)).warning == ""
    assert price(used, constants(replace(K20C, tdp_watts=None))).warning == ""


@pytest.mark.parametrize(
    ("name", "text"),
    [("jacobi2d", "streaming:t=8,s=316x1004,threads=1x256"), ("j3d7pt", "streaming:t=2,s=64x60x56,threads=1x16x16")],
)
def test_streaming_code_pays_for_the_words_that_pass_through_shared_memory(name, text):
    """What takes time on the path to shared memory takes energy, and nothing else on chip does."""
    tiling, machine = parse(text), load("h200")
    problem = make_problem(program(name), (1024,) * len(tiling.space), 16)
    costs = time_model.predict(problem, tiling, machine)
    setting = make_setting(problem, machine)
    block = streaming.blocks(time_model.sizes_of(tiling, setting), setting.facts)
    assert block.threads[0] % 32 == 0
    assert not block.passes[0]
    # No line of memory is touched for a part of it, which takes time alone.
    whole = replace(block, beside=block.turns / block.loads, apart=block.turns / block.stores)
    parts = gpu_streaming.stream_cycles(whole, setting.facts, setting.rates, edge=False)
    words = 32 * float(parts.access[0] * block.tiles[0] * costs.wavefronts)
    assert costs.usage.shared_words == pytest.approx(words)
    assert costs.energy.on_chip == pytest.approx(words * constants(machine).shared_word_joules.value)
    known = rule(problem, constants(machine))
    updates = costs.usage.adds / known.operations[0]
    assert costs.usage.shared_words < 0.6 * known.accesses * updates  # registers hold more


def test_integers_cost_what_integers_cost():
    problem = make_problem(program("smith_waterman"), (64, 64), 1, "int32")
    found = rule(problem, constants(K20C)).usage(1.0, 0.0)
    assert (found.adds, found.multiplies) == (0.0, 0.0)
    assert found.int_maxima == 64 * 64 * 3
    assert found.int_adds == 64 * 64 * 2


def test_another_clock():
    slow = at_clock(K20C, 0.5)
    problem = make_problem(program("jacobi2d"), (2048, 2048), 128)
    before, after = (time_model.predict(problem, parse("hybrid:t=8,s=16x64"), each) for each in (K20C, slow))
    assert slow.clock.value == 0.5 * K20C.clock.value
    assert after.seconds > 1.5 * before.seconds
    assert after.energy.on_chip == pytest.approx(0.8**2 * before.energy.on_chip)
    assert after.energy.off_chip == before.energy.off_chip
    assert after.energy.source == "estimated"
    assert at_clock(K20C, 1.0) is K20C
    with pytest.raises(UsageError, match=r"a clock is given as a share .* 0.2 to 2, got 5"):
        at_clock(K20C, 5)


def test_printed_instances_are_found_by_program_and_family():
    assert energy_tiles.printed("jacobi2d", (64, 64), 8, NONE) is None
    assert energy_tiles.printed("heat2d", (64, 64), 8, parse("hybrid:t=4,s=8x32")) is None
    with pytest.raises(UsageError, match="the printed energy of jacobi1d needs sizes such as skewed:t=32,s=128,sub=32"):
        energy_tiles.printed("jacobi1d", (64,), 8, parse("skewed:t=4,s=8"))
    tile = energy_tiles.printed("smith_waterman", (64, 128), 1, parse("orthogonal:t=4,s=8,sub=2"))
    assert (tile.tiles, tile.points, tile.global_words) == (256.0, 32, 51.0)


def _runs(count, seed):
    """Random runs of the three stencils, as amounts."""
    random = np.random.default_rng(seed)
    found = []
    for number in range(count):
        t_t, t_s, s_s = (int(2 ** random.integers(low, high)) for low, high in ((3, 9), (5, 11), (2, 6)))
        extent, seconds = int(2 ** random.integers(10, 14)), float(10 ** random.uniform(-2, 1))
        tile = (
            energy_tiles.smith_waterman((extent, 2 * extent), t_s, t_t, s_s),
            energy_tiles.jacobi1d(1000 * extent, 1024, t_s, t_t, s_s),
            energy_tiles.jacobi2d((extent, extent), 512, t_t, t_s, 32 * s_s),
        )[number % 3]
        found.append(tile.usage(seconds))
    return found


@pytest.mark.parametrize("name", sorted(SETS))
def test_the_regression_recovers_the_constants_of_runs_without_noise(name):
    table = energy_fit.columns(_runs(69, 1))
    joules = table @ np.array(SETS[name])
    found = energy_fit.regress(table, joules)
    assert found.rmse < 1e-9
    assert found.alike == (("int_add_joules", "int_max_joules"),)
    values = dict(zip(found.names, found.values, strict=True))
    expected = dict(zip(NAMES, SETS[name], strict=False))
    for each in ("static_watts", "global_word_joules", "shared_word_joules", "add_joules", "multiply_joules"):
        assert values[each] == pytest.approx(expected[each], rel=1e-4)
    both = values["int_add_joules"] + values["int_max_joules"]
    assert both == pytest.approx(expected["int_add_joules"] + expected["int_max_joules"], rel=1e-4, abs=1e-15)
    spread = dict(zip(found.names, zip(found.low, found.high, strict=True), strict=True))
    assert spread["int_add_joules"][0] == 0.0  # either may be all of the sum
    assert spread["int_add_joules"][1] >= both * (1 - 1e-4)


def test_the_regression_predicts_held_out_noisy_runs_within_five_percent():
    table = energy_fit.columns(_runs(688, 2))
    noise = np.exp(np.random.default_rng(3).normal(0.0, 0.025, len(table)))
    joules = table @ np.array(SETS["k20c-regression"]) * noise
    train, held = energy_fit.split(len(table), 0.1, 0)
    assert (len(train), len(held)) == (69, 619)
    assert not set(train) & set(held)
    found = energy_fit.regress(table[train], joules[train])
    assert Comparison(predicted=table[held] @ found.vector(), measured=joules[held]).rmse < 0.05
    assert Comparison(predicted=table[held] @ np.array(SETS["k20c"]), measured=joules[held]).rmse > 0.05


def test_columns_of_one_stencil_alone_are_told_apart_as_far_as_they_are():
    usage = [replace(each, adds=each.adds, multiplies=each.adds / 4) for each in _runs(60, 4)[2::3]]
    found = energy_fit.regress(energy_fit.columns(usage), np.ones(len(usage)))
    assert {"shared_word_joules", "add_joules", "multiply_joules"} in [set(group) for group in found.alike]
    assert "int_add_joules" not in found.names


def test_what_cannot_be_fitted_is_one_sentence(monkeypatch):
    table = energy_fit.columns(_runs(9, 5))
    with pytest.raises(UsageError, match="a fit of 7 constants needs as many runs, got 6"):
        energy_fit.regress(table[:6], np.ones(6))
    with pytest.raises(UsageError, match="energies above 0"):
        energy_fit.regress(table, np.zeros(9))
    with pytest.raises(UsageError, match="share of runs to fit"):
        energy_fit.split(10, 0.0, 0)
    monkeypatch.delitem(sys.modules, "scipy.optimize", raising=False)
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(UsageError, match="the regression of energies needs scipy, which is not installed") as caught:
        energy_fit.regress(table, np.ones(9))
    assert caught.value.hint == 'pip install "tilewright[fit]"'


def test_no_time_has_no_power():
    assert price(Usage(seconds=0.0, global_words=0.0, shared_words=0.0), constants(K20C)).watts == 0.0
    assert math.isfinite(price(Usage(seconds=1.0, global_words=1.0, shared_words=1.0), constants(K20C)).high)
