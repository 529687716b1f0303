"""Codesign: weights, areas, Pareto sets and insights, against plain enumerations of small tables."""

import dataclasses
import itertools

import numpy as np
import pytest

from tilewright.base.errors import UsageError
from tilewright.costs.setting import make_setting
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.tuning.select import pareto
from tilewright.workloads.codesign import area as area_model
from tilewright.workloads.codesign import designs as insights
from tilewright.workloads.codesign.design import Axes, DesignOptions, make_cases, reweighted, thesis_sizes
from tilewright.workloads.codesign.designs import DesignTable, Exploration, Stock
from tilewright.workloads.codesign.solve import solve
from tilewright.workloads.codesign.tiles import configurations

GTX980 = load("gtx980")
BY = area_model.coefficients(GTX980)
AXES = Axes(sm_count=(4, 8, 16), vector_width=(64, 128, 512), shared_kb=(12, 48, 96))
OPTIONS = DesignOptions(grid="coarse")
WIDE = (0.0, 1e9)


def _explore(axes=AXES, options=OPTIONS, **changes):
    cases = make_cases(program("heat2d"), sizes=[((2048, 2048), 256, 1.0), ((1024, 1024), 128, 3.0)])
    cases += make_cases(program("heat3d"), weight=2.0, sizes=[((128, 128, 128), 64, 1.0)])
    draft = Exploration(cases=cases, axes=axes, options=options, solutions=(), coefficients=BY, **changes)
    return dataclasses.replace(draft, solutions=solve(cases, axes, GTX980, options))


def _table(exploration, between=WIDE, **weights):
    return DesignTable(exploration=exploration, between=between, weights=weights or None)


@pytest.fixture(scope="module")
def explored():
    return _explore()


@pytest.fixture(scope="module")
def designs(explored):
    return _table(explored)


def test_the_thesis_sizes_are_16_pairs():
    pairs = [(shape[0], steps) for shape, steps, _ in thesis_sizes(2)]
    expected = [(s, t) for s in (4096, 8192, 12288, 16384) for t in (1024, 2048, 4096, 8192, 16384) if t <= s]
    assert pairs == expected
    assert len(pairs) == 16
    assert all(shape == (shape[0],) * 3 and steps <= shape[0] for shape, steps, _ in thesis_sizes(3))


def test_the_default_hardware_is_the_thesis():
    """Section C.3.2: n_SM even to 32, n_V multiples of 32 to 2048, M_SM multiples of 48 kB to 480 and 12, 24, 36."""
    axes = Axes()
    assert axes.sm_count == tuple(range(2, 33, 2))
    assert axes.vector_width == tuple(range(32, 2049, 32))
    assert axes.shared_kb == (12, 24, 36, 48, 96, 144, 192, 240, 288, 336, 384, 432, 480)
    assert axes.size == 13312
    assert axes.l1_pair_kb == axes.l2_sm_kb == (0,)


@pytest.mark.parametrize("name", ["jacobi1d", "heat2d", "star2d2r", "heat3d"])
@pytest.mark.parametrize("grid", ["fine", "coarse"])
def test_every_configuration_keeps_the_constraints(name, grid):
    """(C.10) to (C.14) and (C.16), and the level is the smallest M_SM that does."""
    (case,) = make_cases(program(name), sizes=[((64,) * program(name).rank, 16, 1.0)])
    shared = (12.0, 48.0, 480.0)
    held = configurations(make_setting(case.problem, GTX980), shared, DesignOptions(grid=grid, blocks_per_sm=2))
    tiles, footprint = held.tiles.take(held.tile), held.shared_bytes[held.tile]
    bytes_of = np.array([int(kb * 1024) for kb in shared])
    assert (footprint * 2 <= bytes_of[held.level]).all()
    assert (held.k * footprint <= bytes_of[held.level]).all()
    below = held.level > 0
    smaller = bytes_of[held.level - 1]
    assert ((footprint * 2 > smaller) | (held.k * footprint > smaller))[below].all()
    assert (held.k >= 1).all()
    assert (held.k <= 32).all()
    assert (tiles.time % 2 == 0).all()
    assert (tiles.space[-1] % 32 == 0).all()
    assert (np.diff(held.level) >= 0).all()
    rows = np.stack([tiles.time, *tiles.space, held.k])
    assert len(np.unique(rows, axis=1).T) == len(held.k)


def test_a_score_is_the_weighted_sum(explored, designs):
    times = np.stack([one.seconds.ravel() for one in explored.solutions])
    weights, flops = np.array([1.0, 3.0, 2.0]), [9 * 2048**2 * 256, 9 * 1024**2 * 128, 27 * 128**3 * 64]
    assert designs.seconds == pytest.approx(weights @ times)
    assert designs.gflops == pytest.approx((weights @ flops) / (weights @ times) / 1e9)


def test_weights_change_without_solving_again(explored, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("solved again")

    monkeypatch.setattr("tilewright.workloads.codesign.solve._solve_case", refuse)
    alone = _table(explored, heat3d=1.0)
    assert alone.seconds == pytest.approx(2.0 * explored.solutions[2].seconds.ravel())
    mixed = _table(explored, heat2d=0.5, heat3d=4.0)
    expected = 0.5 * explored.solutions[0].seconds + 1.5 * explored.solutions[1].seconds
    assert mixed.seconds == pytest.approx((expected + 8.0 * explored.solutions[2].seconds).ravel())


def test_the_best_of_a_range_equals_enumeration(explored, designs):
    areas, gain = designs.areas, designs.gain
    for low, high in itertools.combinations(np.linspace(areas.min() - 1, areas.max() + 1, 9), 2):
        members = [(-gain[i], areas[i], i) for i in range(len(areas)) if low <= areas[i] <= high]
        members = [m for m in members if np.isfinite(m[0])]
        if members:
            assert _table(explored, (low, high)).best == min(members)[2]
        else:
            with pytest.raises(UsageError, match="none of the 27 designs"):
                _ = _table(explored, (low, high)).inside


def test_areas_are_those_of_the_area_model(explored):
    areas = explored.parts().total.reshape(AXES.shape)
    for (s, v, m), _ in np.ndenumerate(areas[0]):
        chip = area_model.Chip(
            sm_count=AXES.sm_count[s], vector_width=AXES.vector_width[v], register_kb=2, shared_kb=AXES.shared_kb[m]
        )
        assert areas[0, s, v, m] == pytest.approx(float(area_model.parts(chip, BY).total), rel=1e-15)


def test_pareto_equals_its_definition():
    random = np.random.default_rng(5)
    for _ in range(200):
        count = int(random.integers(1, 30))
        cost, gain = random.integers(0, 8, count).astype(float), random.integers(0, 8, count).astype(float)
        gain[random.random(count) < 0.1] = -np.inf
        found = pareto(cost, gain).tolist()
        points = {(c, g) for c, g in zip(cost, gain, strict=True) if np.isfinite(g)}
        expected = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] >= p[1] for q in points)}
        assert {(cost[i], gain[i]) for i in found} == expected
        assert len(found) == len(expected)
        assert (np.diff(cost[found]) > 0).all()


def test_outer_axes_share_times_and_differ_in_area():
    axes = dataclasses.replace(AXES, l1_pair_kb=(0, 48), l2_sm_kb=(0, 128), bandwidth=(0.5, 1.0))
    one = _explore(axes)
    seconds = one.solutions[0].seconds
    assert axes.shape[0] == 8
    areas = one.parts().total.reshape(axes.shape)
    for index, (bandwidth, _, l1, l2) in enumerate(axes.outer):
        plain = axes.outer.index((bandwidth, 2, 0, 0))
        assert (seconds[index] == seconds[plain]).all()
        extra = np.array(AXES.sm_count)[:, None, None] * (
            (l1 > 0) * (0.1604 * 48 + 0.08204) / 2 + (l2 > 0) * (0.04197 * 128 + 0.7685)
        )
        assert areas[index] - areas[plain] == pytest.approx(np.broadcast_to(extra, areas[0].shape))
    assert (seconds[axes.outer.index((0.5, 2, 0, 0))] >= seconds[axes.outer.index((1.0, 2, 0, 0))]).all()


def test_per_area_prefers_another_design(explored):
    dense = dataclasses.replace(explored, options=dataclasses.replace(OPTIONS, metric="per_area"))
    assert _table(dense).gain == pytest.approx(_table(dense).gflops / _table(dense).areas)


def test_sensitivity_and_shared_needs(explored, designs):
    for row in insights.sensitivity(designs):
        assert row["best"].gflops == _table(explored, **{row["program"]: 1.0}).gflops.max()
        assert row["common_gflops"] <= row["best"].gflops
    needs = list(insights.shared_needs(designs))
    gflops = designs.gflops.reshape(AXES.shape)
    assert [need["best"].gflops for need in needs] == [gflops[..., m].max() for m in range(3)]
    assert max(need["share"] for need in needs) == 1


def test_robustness_reweighs_areas_alone(explored, designs):
    budget = float(np.sort(designs.areas)[len(designs.areas) // 2])
    table = _table(explored, (0.0, budget))
    rows = list(insights.robustness(table))
    assert {row["coefficient"] for row in rows} == {
        "vector_unit", "register_kb", "register", "shared_kb", "shared", "overhead",
    }  # fmt: skip
    for row in rows:
        by = dataclasses.replace(BY, **{row["coefficient"]: getattr(BY, row["coefficient"]) * row["factor"]})
        allowed = dataclasses.replace(explored, coefficients=by).parts().total <= budget
        assert row["best"].gflops == designs.gflops[allowed].max()
        assert row["fits"] == bool(allowed[table.best])
        assert row["loss"] >= 0


def test_marginal_slopes(explored, designs):
    areas, gflops, front = designs.areas, designs.gflops, designs.front
    for row in insights.marginal(_table(explored, (0.0, 500.0))):
        best = row["best"]
        assert best.gflops == gflops[areas <= row["budget"]].max()
        if row["following"] is not None:
            later = front[areas[front] > best.area][0]
            rise = (gflops[later] - best.gflops) / (areas[later] - best.area)
            assert row["gflops_per_mm2"] == pytest.approx(rise)


def _stock():
    axes = Axes(sm_count=(16,), vector_width=(128,), shared_kb=(96.0,))
    whole = float(area_model.parts(area_model.chip(GTX980), BY).total)
    return Stock(name="gtx980", exploration=_explore(axes), area=whole)


def test_cacheless_and_power_down(designs, monkeypatch):
    stock = _stock()
    # The stock chip solved alone is the same chip among the designs.
    at = int(np.ravel_multi_index((0, 2, 1, 2), AXES.shape))
    (row,) = insights.cache_free(designs, [stock])
    assert row["gflops"] == designs.gflops[at]
    assert (round(row["area"], 2), round(row["area_without"], 2)) == (397.99, 237.49)
    assert row["best"].gflops == designs.gflops[designs.areas <= row["area"]].max()
    assert row["gain_without"] == row["best_without"].gflops / row["gflops"] - 1
    seconds = designs.seconds.reshape(AXES.shape)[0]
    monkeypatch.setattr(insights, "_SLOWER", 0.3)
    *_, last = insights.power_down(designs, [stock])
    inside = seconds[:, :2, :] <= 1.3 * seconds[2, 1, 2]
    least = designs.areas.reshape(AXES.shape)[0][:, :2, :][inside].min()
    assert last["program"] == "all together"
    assert last["off"] == pytest.approx(1 - least / stock.area)
    assert last["slower"] <= 0.3


def test_designs_say_what_their_area_goes_to(designs):
    design = designs.design(13)
    assert (design.sm_count, design.vector_width, design.shared_kb) == (8, 128, 48)
    assert design.vector_share == pytest.approx(8 * 128 * 0.04282 / design.area)
    memories = 8 * 128 * (2 * 0.004305 + 0.001947) + 8 * (48 * 0.01565 + 0.09281)
    assert design.memory_share == pytest.approx(memories / design.area)


def test_bad_input_is_one_sentence():
    for make, message in [
        (lambda: Axes(sm_count=()), "the axis sm_count needs 1 to 4096 values, got 0"),
        (lambda: Axes(sm_count=(4, 2)), "the axis sm_count needs different positive values in increasing order"),
        (lambda: Axes(shared_kb=(0,)), "the axis shared_kb needs different positive values"),
        (lambda: Axes(vector_width=(1.5,)), "the axis vector_width needs whole numbers"),
        (
            lambda: DesignOptions(metric="speed"),
            "the metric of codesign is one of time, energy, edp, per_area, got 'speed'",
        ),
        (lambda: DesignOptions(strategies=()), "codesign needs a tiling strategy"),
        (
            lambda: DesignOptions(strategies=("diamond?",)),
            "the tiling strategy is one of tiled, none, skewed, diamond, best, got 'diamond\\?'",
        ),
        (lambda: DesignOptions(blocks_per_sm=0), "blocks_per_sm is a whole number of at least 1, got 0"),
        (lambda: make_cases(program("heat2d"), weight=-1), "a weight of 'heat2d' is a number of at least 0, got -1"),
        (lambda: make_cases(program("heat2d"), sizes=[]), "the stencil 'heat2d' of the workload has no sizes"),
        (lambda: make_cases(program("heat2d"), sizes=[((9, 9), 1, 1.0)]), "with 1 steps cannot be tiled in time"),
        (lambda: make_cases(program("heat2d"), flops_per_cell=0), "flops_per_cell of 'heat2d' is a number above 0"),
        (lambda: reweighted(make_cases(program("heat2d")), {"heat3d": 1}), "the workload has no stencil 'heat3d'"),
        (lambda: reweighted(make_cases(program("heat2d")), {"heat2d": 0}), "must have a weight above 0"),
    ]:
        with pytest.raises(UsageError, match=message):
            make()


def test_nothing_fits():
    cases = make_cases(program("heat2d"), sizes=[((64, 64), 8, 1.0)])
    with pytest.raises(UsageError, match="no tile fits 1 kB of shared memory for 2 blocks"):
        solve(cases, Axes(shared_kb=(1,)), GTX980, OPTIONS)
