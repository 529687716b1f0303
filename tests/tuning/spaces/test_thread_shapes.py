"""Thread blocks chosen together with tiles."""

import math

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.costs.hardware import hardware
from tilewright.costs.setting import make_setting
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.thread_shapes import default_threads, select_with_threads, shapes
from tilewright.verbs.predict import as_machine


def test_shapes_are_powers_of_two_from_a_warp_to_a_block():
    every = shapes(3, 1024)
    assert len(set(every)) == len(every)
    assert all(32 <= np.prod(shape) <= 1024 and shape[-1] % 32 == 0 for shape in every)
    assert (1, 1, 1024) in every
    assert (4, 8, 32) in every


@pytest.mark.parametrize(("name", "shape"), [("gradient2d", (4096, 4096)), ("j3d7pt", (256,) * 3)])
def test_the_ranking_is_that_of_single_predictions(name, shape):
    found = tw.select(name, shape=shape, steps=64, machine="v100", threads=True, within=None, top=12)
    assert len(found) == 12
    seconds = [each.costs.seconds for each in found]
    assert seconds == sorted(seconds)
    for each in found:
        again = tw.predict(name, shape=shape, steps=64, machine="v100", tiling=str(each.tiling))
        assert again.costs.seconds == pytest.approx(each.costs.seconds, rel=1e-12)
        assert np.prod(each.tiling.threads) <= 1024
        assert each.tiling.threads[-1] <= each.tiling.space[-1]


def test_no_point_of_the_space_is_better():
    machine = as_machine("gtx980")
    problem = make_problem(program("heat2d"), (1024, 1024), 16)
    setting = make_setting(problem, machine)
    sizes, chosen, costs, count = select_with_threads(
        problem.program, setting, hardware(machine, setting.block_bytes), 256, within=np.inf
    )
    assert len(chosen) == len(costs) == count
    assert np.all(np.diff(costs) >= 0)
    points = {(int(t), *(int(s[i]) for s in sizes.space), chosen[i]) for i, t in enumerate(sizes.time)}
    assert len(points) == count
    assert len(set(chosen)) >= 10


def test_thread_blocks_are_a_gpus():
    for name, machine, shape in (("heat2d", "host", (64, 64)), ("jacobi1d", "v100", (4096,))):
        with pytest.raises(UsageError, match="thread blocks belong to hybrid tiles on a GPU"):
            tw.select(name, shape=shape, steps=8, machine=machine, threads=True)
    with pytest.raises(UsageError, match="exact model's time"):
        tw.select("heat2d", shape=(64, 64), steps=8, machine="v100", threads=True, metric="traffic")


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
