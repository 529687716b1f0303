"""Large spaces: enumerated and ranked in pieces."""

import itertools
import tracemalloc

import numpy as np
import pytest

from tilewright.base.errors import UsageError
from tilewright.costs import time as time_model
from tilewright.costs.arrays import TileSizes
from tilewright.costs.setting import Setting, make_setting
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.family import family_named
from tilewright.tuning.select import select, select_pieces
from tilewright.tuning.spaces import gpu_tiles, space


def setting(name, shape, steps, block_bytes=None):
    made = make_setting(make_problem(program(name), shape, steps), load("h200"))
    if block_bytes is None:
        return made
    return made.at(block_bytes=block_bytes, shared_bytes=block_bytes)


def test_pieces_are_cut_without_loss(monkeypatch):
    place = setting("heat3d", (64, 96, 128), 20)
    whole = space.feasible(place, model="published")
    monkeypatch.setattr(gpu_tiles, "PIECE_POINTS", 100)
    cut = list(gpu_tiles.pieces(place))
    assert len(cut) > 50
    assert max(len(piece.time) for piece in cut) <= 100
    for axis in range(3):
        assert np.array_equal(np.concatenate([piece.space[axis] for piece in cut]), whole.space[axis])
    assert np.array_equal(np.concatenate([piece.time for piece in cut]), whole.time)


def test_every_point_fits_and_every_one_left_out_does_not():
    place = setting("star3d2r", (40, 30, 100), 6, 2**17)
    got = {
        (t, *sizes)
        for piece in gpu_tiles.pieces(place)
        for t, *sizes in zip(piece.time.tolist(), *(axis.tolist() for axis in piece.space), strict=True)
    }
    values = 2**17 // (place.facts.itemsize * place.facts.copies)
    expected = set()
    for t in range(2, 13, 2):
        rows = int(gpu_tiles.hexagonal.grown_rows(np.array([t * place.facts.stages]), 3)[0])
        a, b, c = (slope * rows for slope in place.facts.slopes)
        for s in itertools.product(range(place.facts.slopes[0], 41), range(1, 31 + b), range(32, 132 + c + 32, 32)):
            fits = (s[0] + a) * (s[1] + b) * (s[2] + c) <= values
            if fits and s[1] <= 30 + b and s[2] <= -(-(100 + c) // 32) * 32:
                expected.add((t, *s))
    assert got == expected
    assert len(got) > 100


def test_ten_million_points_in_bounded_memory():
    place = setting("gradient2d", (8192, 8192), 8192, 6 * 2**20)
    tracemalloc.start()
    total = sum(len(piece.time) for piece in gpu_tiles.pieces(place))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert total > 10**7
    assert peak < 64 * 2**20


def evaluator(place: Setting):
    def cost(sizes: TileSizes):
        return time_model.evaluate(family_named("hybrid"), sizes, place).seconds

    return cost


@pytest.mark.parametrize(("within", "top"), [(0.1, None), (0.5, 7), (np.inf, 20), (0.0, None)])
def test_selecting_from_pieces_is_selecting_from_all(monkeypatch, within, top):
    monkeypatch.setattr(gpu_tiles, "PIECE_POINTS", 500)
    monkeypatch.setattr("tilewright.tuning.select._MERGE_POINTS", 300)
    place = setting("j2d5pt", (2000, 3000), 100)
    whole = space.feasible(place, model="published")
    cost = evaluator(place)(whole)
    index = select(cost, whole, within=within, top=top)
    sizes, costs, seen = select_pieces(gpu_tiles.pieces(place), evaluator(place), within=within, top=top)
    assert seen == len(whole.time)
    assert np.array_equal(costs, cost[index])
    assert np.array_equal(sizes.time, whole.time[index])
    assert all(np.array_equal(a, b[index]) for a, b in zip(sizes.space, whole.space, strict=True))


def test_no_piece_is_refused():
    with pytest.raises(UsageError, match="at least one piece"):
        select_pieces([], lambda sizes: sizes.time)
