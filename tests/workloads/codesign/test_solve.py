"""The separable solution against brute force: every hardware, every tile, every k, through the time model itself."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.sampling import covering, some

from tilewright.costs import time as time_model
from tilewright.costs.arrays import TileSizes
from tilewright.costs.energy.constants import constants
from tilewright.costs.gpu import blocks
from tilewright.costs.published import time as published
from tilewright.costs.setting import make_setting
from tilewright.costs.work import hexagonal
from tilewright.machines.files import load
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.catalogue import program
from tilewright.schedules.family import family_named
from tilewright.workloads.codesign import tiles as codesign_tiles
from tilewright.workloads.codesign.design import Axes, DesignOptions, make_cases
from tilewright.workloads.codesign.designs import tiling_of
from tilewright.workloads.codesign.separable import SeparableForm
from tilewright.workloads.codesign.solve import DesignEnergy, solve

GTX980 = load("gtx980")


def exact(sizes, setting):
    return blocks.evaluate(hexagonal.blocks(sizes, setting.facts), sizes.k, setting.facts, setting.rates)


EQUATIONS = {"exact": exact, "published": published.evaluate}


def _machine(sm_count, width, shared_kb, blocks, share=1.0):
    def count(value):
        return Quantity(value=value, unit="1", source="description")

    def size(value):
        return Quantity(value=int(value), unit="B", source="description")

    rate = dataclasses.replace(GTX980.dram_bandwidth, value=GTX980.dram_bandwidth.value * share)
    return dataclasses.replace(
        GTX980,
        sm_count=count(sm_count),
        vector_width=count(width),
        shared_bytes=size(shared_kb * 1024),
        block_shared_bytes=size(shared_kb * 1024 // blocks),
        dram_bandwidth=rate,
    )


def _every_tile(case, options, most):
    """Return the tiles of the grid with every k, without asking which fit."""
    coarse = options.grid == "coarse"
    tiles = codesign_tiles._grid(make_setting(case.problem, GTX980), coarse=coarse)
    k = np.tile(np.arange(1, most + 1), len(tiles.time))
    return dataclasses.replace(tiles.take(np.repeat(np.arange(len(tiles.time)), most)), k=k)


def _brute(case, options, every, machine):
    setting = make_setting(case.problem, machine, options.scope)
    return EQUATIONS[options.form.model](every, setting), setting


@pytest.fixture
def small_grid(monkeypatch):
    """A grid of a few hundred tiles in place of the real one, so that brute force is quick."""

    def grid(setting, *, coarse):
        rank = len(setting.facts.shape)
        axes = [[2, 4, 6, 8, 12, 20, 32], *([[1, 2, 3, 8, 17, 40]] * (rank > 1)), *([[1, 4, 9]] * (rank > 2))]
        axes.append([32, 64, 96, 256])
        grids = [np.array(g).ravel() for g in np.meshgrid(*axes, indexing="ij")]
        sizes = TileSizes(time=grids[0], space=tuple(grids[1:]), k=np.zeros_like(grids[0]))
        return sizes.take(sizes.space[0] >= setting.facts.slopes[0])

    monkeypatch.setattr(codesign_tiles, "_grid", grid)


SHAPES = {1: (5000,), 2: (700, 900), 3: (100, 90, 128)}


def _random_case(random):
    name = random.choice(["jacobi1d", "jacobi2d", "gradient2d", "star2d2r", "wave2d", "fdtd2d", "heat3d", "star3d1r"])
    known = program(name)
    shape = tuple(int(extent * random.uniform(0.3, 3.0)) for extent in SHAPES[known.rank])
    (case,) = make_cases(known, sizes=[(shape, int(random.integers(2, 200)), 1.0)])
    return case


def _random_axes(random):
    def some(values, count):
        return tuple(sorted(random.choice(values, size=count, replace=False).tolist()))

    return Axes(
        sm_count=some(np.arange(1, 40), 3),
        vector_width=some(np.arange(1, 40) * 16, 3),
        shared_kb=some(np.arange(4, 200), 3),
        bandwidth=some(np.array([0.25, 0.5, 1.0, 2.0]), 2),
    )


@pytest.mark.usefixtures("small_grid")
@pytest.mark.parametrize("seed", some(range(54), 5))
def test_the_time_equals_brute_force(seed):
    """Random problems, hardware and forms: every design's time is that of the best of all its tiles, bit for bit."""
    random = np.random.default_rng(seed)
    case, axes = _random_case(random), _random_axes(random)
    options = DesignOptions(
        form=SeparableForm(model=str(random.choice(["exact", "published"]))),
        blocks_per_sm=int(random.integers(1, 4)),
        most_tiles=int(random.integers(1, 9)),
        scope=random.choice([None, "per_sm"]),
        strategies=("tiled", "none") if seed % 3 == 0 else ("tiled",),
    )
    (solution,) = solve([case], axes, GTX980, options)
    every = _every_tile(case, options, options.most_tiles)
    finite = 0
    for position in np.ndindex(axes.shape):
        share, *_ = axes.outer[position[0]]
        hardware = [
            values[i]
            for values, i in zip((axes.sm_count, axes.vector_width, axes.shared_kb), position[1:], strict=True)
        ]
        machine = _machine(*hardware, options.blocks_per_sm, share)
        found, setting = _brute(case, options, every, machine)
        least = found.seconds.min()
        if "none" in options.strategies:
            least = min(least, time_model.evaluate(family_named("none"), every, setting).seconds[0])
        # (17) is printed as (N_w T) R where the search has T (N_w R): the last bit may differ.
        rounding = 0.0 if options.form.model == "exact" else 1e-15
        assert solution.seconds[position] == pytest.approx(least, rel=rounding, abs=0.0)
        finite += np.isfinite(least)
        # The chosen tiling really costs that.
        tiling = tiling_of(solution, int(np.ravel_multi_index(position, axes.shape)))
        if tiling is None:
            assert np.isinf(least)
        else:
            sizes = time_model.sizes_of(tiling, setting)
            untiled = tiling.family.untiled
            equations = EQUATIONS[options.form.model]
            one = time_model.evaluate(family_named("none"), sizes, setting) if untiled else equations(sizes, setting)
            assert one.seconds[0] == pytest.approx(least, rel=rounding, abs=0.0)
    assert finite


@pytest.mark.usefixtures("small_grid")
@pytest.mark.parametrize(("seed", "metric"), covering(range(8), ["energy", "edp"]))
def test_other_metrics_equal_brute_force(seed, metric):
    random = np.random.default_rng(1000 + seed)
    case, axes = _random_case(random), _random_axes(random)
    options = DesignOptions(metric=metric, most_tiles=6, strategies=("tiled", "none") if seed % 2 else ("tiled",))
    watts = random.uniform(1.0, 300.0, size=axes.shape)
    word = Quantity(value=float(random.uniform(1e-10, 1e-7)), unit="J", source="estimated")
    energy = DesignEnergy(watts=watts, known=dataclasses.replace(constants(load("k20c")), global_word_joules=word))
    (solution,) = solve([case], axes, GTX980, options, energy)
    every = _every_tile(case, options, 6)
    for position in np.ndindex(axes.shape):
        share, *_ = axes.outer[position[0]]
        hardware = [
            values[i]
            for values, i in zip((axes.sm_count, axes.vector_width, axes.shared_kb), position[1:], strict=True)
        ]
        found, setting = _brute(case, options, every, _machine(*hardware, options.blocks_per_sm, share))
        seconds, words = found.seconds, found.dram_bytes / 4
        if "none" in options.strategies:
            sweep = time_model.evaluate(family_named("none"), every, setting)
            seconds, words = np.append(seconds, sweep.seconds), np.append(words, sweep.dram_bytes / 4)
        joules = watts[position] * seconds + energy.dynamic(case, words)
        value = joules if metric == "energy" else joules * seconds
        mine = solution.joules[position] * (1.0 if metric == "energy" else solution.seconds[position])
        if np.isfinite(value).any():
            assert mine == pytest.approx(np.nanmin(value[np.isfinite(value)]), rel=1e-12)
        else:
            assert np.isinf(solution.seconds[position])


@pytest.mark.usefixtures("small_grid")
@pytest.mark.parametrize("model", ["exact", "published"])
@pytest.mark.parametrize("pitch", ["exact", "published"])
@pytest.mark.parametrize("single", ["serial", "overlapped"])
def test_the_forms_are_what_they_say(model, pitch, single):
    """An independent scalar rendering of every form, over the whole small grid."""
    (case,) = make_cases(program("heat2d"), sizes=[((3000, 2500), 120, 1.0)])
    axes = Axes(sm_count=(6,), vector_width=(96,), shared_kb=(40,))
    options = DesignOptions(form=SeparableForm(model=model, pitch=pitch, single=single), most_tiles=5)
    (solution,) = solve([case], axes, GTX980, options)
    least = np.inf
    every = _every_tile(case, options, 5)
    tau, sync, c_iter = GTX980.barrier_seconds.value, GTX980.launch_seconds.value, 3.68e-8
    word = 4 / GTX980.dram_bandwidth.value
    up = lambda a, b: -(-a // b)  # noqa: E731
    for t, s1, s2, k in zip(every.time.tolist(), *(a.tolist() for a in every.space), every.k.tolist(), strict=True):
        shared = 2 * 4 * (s1 + t + 1) * (s2 + t + 1)
        if max(k, 2) * shared > 40 * 1024:
            continue
        c = 2 * sum(up((s1 + 2 * i) * s2, 96) for i in range(t // 2)) * c_iter + t * tau
        words = 2 * (s1 + 2 * t) * s2 if model == "published" else (2 * s1 + 4 * t - 2) * s2
        if model == "exact":
            words -= max(0, 2 - s1) * s2
        m = words * word + 2 * tau
        length = {"exact": 2 * s1 + t - 2, "published": 2 * s1 + t}[pitch]
        if model == "published":
            fronts, tiles, count = [2 * up(120, t)], [up(3000, length)], up(2500 + t, s2)
        else:
            fronts, count = [up(120 + t // 2, t), up(120, t)], up(2500 + t - 1, s2)
            tiles = [up(3000, length)] * 2
            if pitch == "exact":
                width = s1 + t - 2
                starts = [0, width - (t // 2 - 1)]
                tiles = [
                    sum(
                        lo + j * length - (t // 2 - 1) < 3000 and lo + j * length + s1 + (t // 2 - 1) > 0
                        for j in range(-3, 3000 // length + 4)
                    )
                    for lo in starts
                ]
        if k > 1 or single == "overlapped":
            first = m if model == "published" else min(m, c)
            prism = first + k * count * max(m, c)
        else:
            prism = (m + c) * count
        rounds = sum(n * up(up(w, k), 6) for n, w in zip(fronts, tiles, strict=True))
        least = min(least, sum(fronts) * sync + prism * rounds)
    assert solution.seconds.item() == pytest.approx(least, rel=1e-12)


@pytest.mark.usefixtures("small_grid")
def test_registers_bound_the_tiles_per_sm():
    (case,) = make_cases(program("heat2d"), sizes=[((3000, 2500), 120, 1.0)])
    axes = Axes(sm_count=(8,), vector_width=(32, 128), shared_kb=(96,), register_kb=(0.5, 1, 8))
    options = DesignOptions(block_threads=256, thread_registers=32, most_tiles=8)
    (solution,) = solve([case], axes, GTX980, options)
    every = _every_tile(case, options, 8)
    for o, registers in enumerate(axes.register_kb):
        for v, width in enumerate(axes.vector_width):
            found, _ = _brute(case, options, every, _machine(8, width, 96, 2))
            fits = every.k * 256 * 32 * 4 <= registers * 1024 * width
            least = np.where(fits, found.seconds, np.inf).min()
            assert solution.seconds[o, 0, v, 0] == least
    assert np.isinf(solution.seconds[0, 0, 0, 0])
    assert solution.seconds[0, 0, 1, 0] > solution.seconds[2, 0, 1, 0]


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_more_hardware_is_never_slower_where_it_must_not_be(seed):
    """More shared memory only adds choices: the times fall along M_SM."""
    random = np.random.default_rng(seed)
    (case,) = make_cases(program("jacobi2d"), sizes=[((512, 512), 64, 1.0)])
    axes = dataclasses.replace(_random_axes(random), bandwidth=(1.0,))
    (solution,) = solve([case], axes, GTX980, DesignOptions(grid="coarse"))
    assert (np.diff(solution.seconds, axis=3)[np.isfinite(solution.seconds[..., :-1])] <= 0).all()
