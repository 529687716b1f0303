"""Feasible spaces, ranking and selection."""

import itertools

import numpy as np
import pytest

from tilewright.base.errors import UsageError
from tilewright.costs.arrays import TileSizes
from tilewright.costs.setting import make_setting
from tilewright.machines.defaults import CpuDescription, host_machine
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules import catalogue as tilings
from tilewright.schedules.family import Legal, family_named
from tilewright.tuning.select import best, rank, select
from tilewright.tuning.spaces import space

HOST = host_machine(
    CpuDescription(cores=2, simd_bits=512, l1_bytes=49152, l2_bytes=2**21, l3_bytes=2**25, clock_hz=2.6e9)
)


def setting(name, shape, steps, machine="gtx980"):
    where = load(machine) if isinstance(machine, str) else machine
    return make_setting(make_problem(program(name), shape, steps), where)


def points(sizes):
    return list(zip(sizes.time.tolist(), *(axis.tolist() for axis in sizes.space), strict=True))


def test_the_2d_space_is_all_of_problem_31():
    expected = []
    for t in range(2, 300, 2):
        for s2 in range(32, 6200, 32):
            most = 6144 // (s2 + t + 1) - t - 1
            expected += [(t, s1, s2) for s1 in range(1, most + 1)]
    got = points(space.feasible(setting("gradient2d", (8192, 8192), 8192), model="published"))
    assert sorted(got) == sorted(expected)
    assert len(set(got)) == len(got) > 5000


def test_the_3d_space_is_all_of_problem_31():
    got = set(points(space.feasible(setting("heat3d", (512, 512, 512), 512), model="published")))
    expected = {
        (t, a, b, c)
        for t in range(2, 30, 2)
        for c in range(32, 700, 32)
        for b in range(1, 6144 // ((c + t + 1) * (t + 2)) - t)
        for a in range(1, 6144 // ((c + t + 1) * (b + t + 1)) - t)
    }
    assert got == expected


def test_points_fit_the_machine_and_are_legal():
    for (name, shape, machine), coarse in itertools.product(
        [
            ("jacobi1d", (100_000,), "gtx980"),
            ("star2d3r", (500, 700), "v100"),
            ("star3d2r", (64, 64, 64), "h200"),
            ("fdtd2d", (300, 200), "a100"),
            ("jacobi1d", (5000,), HOST),
            ("j2d9pt", (300, 777), HOST),
            ("wave3d", (50, 60, 70), HOST),
            ("heat2d", (3, 3), HOST),
            ("star2d4r", (3, 3), "c1060"),
        ],
        [False, True],
    ):
        problem = make_problem(program(name), shape, 20)
        place = setting(name, shape, 20, machine)
        sizes = space.feasible(place, coarse=coarse, model="published")
        got = points(sizes)
        assert len(got) == len(set(got)) > 0, (name, shape, machine, coarse)
        assert not np.any(sizes.time % 2), (name, shape, machine, coarse)
        step = place.rates.vector_width if place.cpu else 32
        assert not np.any(sizes.space[-1] % step) or len(shape) == 1, (name, shape, machine, coarse)
        family = space.families(problem, every=False)[1]
        for index in range(0, len(got), max(1, len(got) // 40)):
            verdict = tilings.check(problem, space.tiling_at(family_named(family), sizes, index))
            assert isinstance(verdict, Legal), (name, shape, machine, coarse)
        if not place.cpu:
            from tilewright.costs.time import evaluate

            assert np.isfinite(evaluate(family_named(family), sizes, place).seconds).all()


def test_a_machine_too_small_for_any_tile_has_an_empty_space():
    sizes = space.feasible(setting("box3d4r", (64, 64, 64), 20, "c1060"))
    assert len(sizes.time) == 0
    assert best(np.zeros(0), sizes) is None
    assert len(select(np.zeros(0), sizes)) == 0


def test_families():
    def of(name, shape, steps=10, boundary="fixed"):
        return space.families(make_problem(program(name), shape, steps, boundary=boundary), every=False)

    assert of("jacobi1d", (50,)) == ("none", "hexagonal")
    assert of("heat3d", (9, 9, 9)) == ("none", "hybrid", "streaming")
    assert of("heat2d", (50, 50), boundary="mirror") == ("none", "hybrid", "streaming")
    assert of("heat2d", (50, 50), boundary="wrap") == ("none",)
    assert of("heat2d", (50, 50), steps=1) == ("none",)
    assert of("smith_waterman", (50, 50)) == ("none",)
    every = space.families(make_problem(program("heat2d"), (50, 50), 10), cpu=True)
    assert every == ("none", "hybrid", "streaming", "skewed", "diamond")
    assert space.families(make_problem(program("heat2d"), (50, 50), 10, boundary="wrap")) == ("none",)


def test_points_of_the_other_strategies_fit_and_are_legal():
    for family, (name, shape, machine) in itertools.product(
        ["skewed", "diamond"],
        [
            ("jacobi1d", (100_000,), "gtx980"),
            ("star2d3r", (500, 700), "v100"),
            ("star3d2r", (64, 64, 64), "h200"),
            ("fdtd2d", (300, 200), "a100"),
            ("heat2d", (3, 3), HOST),
            ("wave3d", (50, 60, 70), HOST),
        ],
    ):
        problem, place = make_problem(program(name), shape, 20), setting(name, shape, 20, machine)
        sizes = space.feasible(place, family=family_named(family))
        got = points(sizes)
        assert len(got) == len(set(got)) > 0, (family, name, shape, machine)
        assert got == sorted(got), (family, name, shape, machine)
        assert space.possible(family_named(family), sizes, place).all(), (family, name, shape, machine)
        for index in range(0, len(got), max(1, len(got) // 40)):
            assert isinstance(tilings.check(problem, space.tiling_at(family_named(family), sizes, index)), Legal)


@pytest.mark.parametrize("family", ["hybrid", "skewed", "diamond"])
def test_possible_sizes_are_those_that_the_tilings_accept(family):
    problem, place = make_problem(program("j2d9pt"), (200, 200), 9), setting("j2d9pt", (200, 200), 9)
    grids = np.meshgrid(np.arange(1, 9), np.arange(1, 40, 3), np.array([32, 64]), indexing="ij")
    time, first, last = (grid.ravel() for grid in grids)
    sizes = TileSizes(time=time, space=(first, last), k=np.zeros_like(time))
    for index, possible in enumerate(space.possible(family_named(family), sizes, place)):
        try:
            legal = isinstance(tilings.check(problem, space.tiling_at(family_named(family), sizes, index)), Legal)
        except UsageError:
            legal = False
        assert legal == possible


def many(*rows):
    columns = [np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)]
    return TileSizes(time=columns[0], space=tuple(columns[1:]), k=np.zeros_like(columns[0]))


def test_rank_breaks_ties_by_size_and_drops_what_does_not_fit():
    sizes = many((4, 2, 64), (2, 9, 64), (2, 3, 96), (2, 3, 32), (2, 1, 32), (8, 1, 32))
    cost = np.array([1.0, 1.0, 1.0, 1.0, np.inf, 0.5])
    assert rank(cost, sizes).tolist() == [5, 3, 2, 1, 0]
    assert best(cost, sizes) == 5
    assert best(np.where(cost < 1, np.inf, cost), sizes) == 3


def test_rank_does_not_depend_on_the_order_of_the_points():
    random = np.random.default_rng(3)
    sizes = many(*((int(t), int(s), 32) for t in range(2, 20, 2) for s in range(1, 9)))
    cost = random.integers(0, 5, len(sizes.time)).astype(float)
    straight = points(sizes.take(rank(cost, sizes)))
    for _ in range(5):
        mixed = random.permutation(len(cost))
        shuffled = sizes.take(mixed)
        assert points(shuffled.take(rank(cost[mixed], shuffled))) == straight


def test_select_within_a_share():
    sizes = many((2, 1, 32), (2, 2, 32), (2, 3, 32), (2, 4, 32))
    cost = np.array([1.2, 1.1, 1.0, np.inf])
    assert select(cost, sizes, within=0.11).tolist() == [2, 1]
    assert select(cost, sizes, within=0.0).tolist() == [2]
    assert select(cost, sizes, within=1.0, top=2).tolist() == [2, 1]
    with pytest.raises(UsageError, match="at least 0, got -1"):
        select(cost, sizes, within=-1)
    with pytest.raises(UsageError, match="top is at least 1, got 0"):
        select(cost, sizes, top=0)
