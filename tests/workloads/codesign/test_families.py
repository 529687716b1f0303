"""Codesign over skewed and diamond tiles, against their time models evaluated one by one."""

import dataclasses

import numpy as np
import pytest

from tilewright.base.errors import UsageError
from tilewright.costs import time as model
from tilewright.costs.setting import make_setting
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.schedules.family import family_named
from tilewright.workloads.codesign.design import STRATEGIES, Axes, DesignOptions, expand, make_cases
from tilewright.workloads.codesign.designs import tiling_of
from tilewright.workloads.codesign.separable import SeparableForm
from tilewright.workloads.codesign.solve import energy_of, solve, value

GTX980, K20C = load("gtx980"), load("k20c")
AXES = Axes(sm_count=(4, 16), vector_width=(64, 512), shared_kb=(12, 96))
SIZES = {1: [((2**20,), 256, 1.0)], 2: [((1024, 1500), 64, 1.0)], 3: [((128, 96, 128), 16, 1.0)]}
BLOCKS = 2


def _setting(problem, sms, width, shared_kb):
    found = make_setting(problem, GTX980)
    bytes_ = int(shared_kb * 1024)
    return found.at(sm_count=sms, vector_width=width, shared_bytes=bytes_, block_bytes=bytes_ // BLOCKS)


@pytest.mark.parametrize("name", ["jacobi1d", "heat2d", "heat3d"])
@pytest.mark.parametrize("metric", ["time", "energy", "edp"])
def test_the_best_tile_of_every_family_is_found_on_every_design(name, metric):
    known = program(name)
    for family in STRATEGIES[2:]:
        options = DesignOptions(grid="coarse", strategies=(family,), metric=metric)
        cases = make_cases(known, sizes=SIZES[known.rank], strategies=(family,))
        energy = None if metric == "time" else energy_of(K20C, np.full(AXES.shape, 300.0), 400.0)
        (solution,) = solve(cases, AXES, GTX980, options, energy)
        _, held = solution.configurations
        sizes = dataclasses.replace(held.tiles.take(held.tile), k=held.k)
        for index, (_, s, v, m) in enumerate(np.ndindex(AXES.shape)):
            setting = _setting(cases[0].problem, AXES.sm_count[s], AXES.vector_width[v], AXES.shared_kb[m])
            result = model.evaluate(family_named(family), sizes, setting)
            watts = 0.0 if energy is None else energy.watts_per_mm2 * 300.0
            dynamic = np.zeros(len(sizes.k))
            if energy is not None:
                dynamic = energy.dynamic(cases[0], result.dram_bytes / 4)
            costs = value(metric, result.seconds, dynamic, watts)
            best = int(np.argmin(costs))
            if not np.isfinite(costs[best]):  # nothing fits 12 kB
                assert tiling_of(solution, index) is None
                continue
            found = value(
                metric,
                solution.seconds.ravel()[index],
                0.0 if energy is None else solution.joules.ravel()[index] - watts * solution.seconds.ravel()[index],
                watts,
            )
            assert found == pytest.approx(costs[best], rel=1e-9)
            tiling = tiling_of(solution, index)
            assert tiling.family == family
            alone = model.evaluate(family_named(family), model.sizes_of(tiling, setting), setting)
            assert alone.seconds[0] == pytest.approx(solution.seconds.ravel()[index], rel=1e-12)


def test_all_strategies_are_the_least_of_each():
    sizes = SIZES[2]
    alone = {}
    for name in STRATEGIES:
        options = DesignOptions(grid="coarse", strategies=(name,))
        (alone[name],) = solve(make_cases(program("j2d5pt"), sizes=sizes, strategies=(name,)), AXES, GTX980, options)
    options = DesignOptions(grid="coarse", strategies=("best",))
    (every,) = solve(make_cases(program("j2d5pt"), sizes=sizes, strategies=("best",)), AXES, GTX980, options)
    least = np.min([one.seconds for one in alone.values()], axis=0)
    assert np.array_equal(every.seconds, least)
    winners = {tiling_of(every, index).family for index in range(AXES.size)}
    for index in range(AXES.size):
        family = tiling_of(every, index).family
        owner = "tiled" if family == "hybrid" else family
        assert alone[owner].seconds.ravel()[index] == least.ravel()[index]
    assert len(winners) > 1


def test_a_stencil_may_name_its_own_strategies():
    cases = make_cases(program("heat2d"), sizes=SIZES[2], own=("diamond",))
    (solution,) = solve(cases, AXES, GTX980, DesignOptions(grid="coarse"))
    assert {tiling_of(solution, index).family for index in range(AXES.size)} == {"diamond"}


def test_what_cannot_be_asked_for_is_one_sentence():
    assert expand(("none", "tiled")) == ("tiled", "none")
    with pytest.raises(UsageError, match="tiled, none, skewed, diamond, best, got 'hexagons'"):
        DesignOptions(strategies=("hexagons",))
    options = DesignOptions(strategies=("skewed",), form=SeparableForm(model="published"))
    with pytest.raises(UsageError, match="no equations are printed for skewed tiles"):
        solve(make_cases(program("heat2d"), sizes=SIZES[2], strategies=("skewed",)), AXES, GTX980, options)
