"""Thread blocks chosen together with tiles."""

import dataclasses
import math

import numpy as np
import pytest

import tilewright as tw
from tilewright.costs.arrays import TileSizes
from tilewright.costs.setting import make_setting
from tilewright.costs.time import evaluate
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.family import family_named
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.gpu_tiles import NEAR, default_threads, pieces, points, shapes
from tilewright.verbs.predict import as_machine


def test_shapes_are_powers_of_two_from_a_warp_to_a_block():
    every = shapes(3, 1024)
    assert len(set(every)) == len(every)
    assert all(32 <= np.prod(shape) <= 1024 and shape[-1] % 32 == 0 for shape in every)
    assert (1, 1, 1024) in every
    assert (4, 8, 32) in every


@pytest.mark.parametrize(("name", "shape"), [("gradient2d", (4096, 4096)), ("j3d7pt", (256,) * 3)])
def test_the_ranking_is_that_of_single_predictions(name, shape):
    found = tw.select(name, shape=shape, steps=64, machine="v100", within=None, top=12)
    assert len(found) == 12
    seconds = [each.costs.seconds for each in found]
    assert seconds == sorted(seconds)
    for each in found:
        again = tw.predict(name, shape=shape, steps=64, machine="v100", tiling=str(each.tiling))
        assert again.costs.seconds == pytest.approx(each.costs.seconds, rel=1e-12)
        assert np.prod(each.tiling.threads) <= 1024
        assert each.tiling.family == "streaming" or each.tiling.threads[-1] <= each.tiling.space[-1]


def test_every_point_is_there_once_and_what_is_near_the_best_of_all_sizes():
    machine = as_machine("gtx980")
    problem = make_problem(program("gradient2d"), (8192, 8192), 512)
    setting = make_setting(problem, machine)
    found = TileSizes.join(list(points(setting)))
    rows = np.stack([found.time, *found.space, *found.threads], axis=1)
    assert len(np.unique(rows, axis=0)) == len(rows)
    seconds = evaluate(family_named("hybrid"), found, setting).seconds
    every = TileSizes.join([
        dataclasses.replace(tile, threads=tuple(np.full(len(tile.time), n) for n in shape))
        for shape in shapes(2, 1024)
        for tile in pieces(setting)
    ])  # fmt: skip
    fits = (every.threads[0] <= every.space[0] + every.time) & (every.threads[1] <= every.space[1])
    every = every.take(fits)
    assert len(every.time) > len(rows)
    all_seconds = evaluate(family_named("hybrid"), every, setting).seconds
    best = min(seconds.min(), all_seconds.min())
    assert seconds.min() == best
    near = np.stack([every.time, *every.space, *every.threads], axis=1)[all_seconds <= (1 + NEAR) * best]
    assert len(near) > 10
    assert {tuple(row) for row in near.tolist()} <= {tuple(row) for row in rows.tolist()}


def test_the_option_for_thread_blocks_means_nothing_any_more():
    given = {"shape": (1024, 1024), "steps": 16, "machine": "v100", "within": None, "top": 3}
    with pytest.warns(DeprecationWarning, match="the option threads of tw.select"):
        asked = tw.select("heat2d", **given, threads=True)
    assert [each.tiling for each in asked] == [each.tiling for each in tw.select("heat2d", **given)]


@pytest.mark.parametrize("inner", [1, 31, 32, 33, 100, 255, 256, 300, 1000])
def test_groups_of_prisms_have_whole_warps_along_rows_and_no_more_threads_than_one_computes(inner):
    for name, space in (("j2d5pt", (3, inner)), ("j3d7pt", (3, 1, inner)), ("j3d7pt", (3, 5, inner))):
        problem = make_problem(program(name), (64,) * len(space), 20)
        shape = default_threads(problem, Tiling(family="hybrid", time=2, space=space))
        assert shape[-1] == max(32, min(inner // 32 * 32, 256))
        assert math.prod(shape) <= 256
        if len(space) == 3:
            assert shape[0] == 1
            assert shape[1] <= space[1]
            assert (shape[1] + 1) * shape[2] > 256 or shape[1] == space[1]
