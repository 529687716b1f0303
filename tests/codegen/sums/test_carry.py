"""Sums over boxes with one weight: each vector is loaded once, and values are those of the program."""

import numpy as np
import pytest

import tilewright as tw
from tilewright.programs.stencil.boundaries import parse_boundary
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.programs.stencil.weights import equal_box, equal_boxes
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.cpu_schedule import choose_body

TILINGS = {2: "streaming:t=3,s=32x64,rows=3", 3: "streaming:t=2,s=16x8x64,rows=3"}


def mean(ranges, *, beside=False):
    """The mean over a box, perhaps beside a square and twice a box of two cells per axis."""
    u = FieldBuilder("u")
    value = sum(u[offset] for offset in np.ndindex(*map(len, ranges)) for offset in [shifted(offset, ranges)])
    value = value * (0.5 / np.prod([*map(len, ranges)]))
    if beside:
        rank = len(ranges)
        square = u[(0,) * rank] * u[(0,) * rank]
        value = value + 0.25 * tw.maximum(square, sum(u[offset] for offset in np.ndindex(*(2,) * rank)) * 0.1)
    return stencil("mean", len(ranges), {"u": value})


def shifted(offset, ranges):
    return tuple(int(place + axis.start) for place, axis in zip(offset, ranges, strict=True))


def stages(chosen, shape, tiling, *, strict=False):
    problem = make_problem(chosen, shape, 6, "float32")
    return choose_body(problem, catalogue.complete(problem, parse(tiling)), strict=strict).stages


def carried(code):
    (found,) = {each.carried for each in code.blocks}
    return found


BOXES = [
    (range(-1, 2), range(-1, 2)),
    (range(-2, 1), range(2)),
    (range(-1, 1), range(-2, 3)),
    (range(-1, 2), range(-1, 2), range(-1, 2)),
    (range(-1, 1), range(-2, 3), range(2)),
]


@pytest.mark.parametrize("boundary", ["fixed", "reflect", "constant:2"])
@pytest.mark.parametrize("ranges", BOXES, ids=str)
def test_what_is_carried_is_what_the_program_says(ranges, boundary):
    chosen, shape = mean(ranges), {2: (40, 150), 3: (11, 19, 140)}[len(ranges)]
    assert all(carried(each.many) for each in stages(chosen, shape, TILINGS[len(ranges)]))
    data = np.random.default_rng(7).random(shape, dtype=np.float32)
    options = {"steps": 7, "boundary": parse_boundary(boundary)}
    found = tw.run(chosen, data, tiling=TILINGS[len(ranges)], **options)
    wanted = tw.run(chosen, data.astype(np.float64), backend="numpy", **options)
    assert np.abs(found - wanted).max() <= 8 * np.finfo(np.float32).eps * np.abs(wanted).max()


def test_a_sum_may_stand_in_a_larger_expression_beside_another_as_wide():
    ranges = (range(2), range(-1, 1))
    chosen, data = mean(ranges, beside=True), np.random.default_rng(3).random((50, 130), dtype=np.float32)
    assert len(equal_boxes(chosen.statements[0]).sums) == 2
    assert all(carried(each.many) for each in stages(chosen, data.shape, TILINGS[2]))
    found = tw.run(chosen, data, steps=5, tiling=TILINGS[2])
    wanted = tw.run(chosen, data.astype(np.float64), steps=5, backend="numpy")
    assert np.abs(found - wanted).max() <= 8 * np.finfo(np.float32).eps * np.abs(wanted).max()


def test_infinities_stay_within_the_reach_of_a_cell():
    data = np.zeros((9, 12, 140), np.float32)
    data[4, 6, 70] = np.inf
    found = tw.run(program("heat3d"), data, steps=2, tiling=TILINGS[3])
    wanted = tw.run(program("heat3d"), data, steps=2, backend="numpy")
    assert np.array_equal(np.isinf(found), np.isinf(wanted))
    assert np.array_equal(np.isnan(found), np.isnan(wanted))


def test_only_whole_boxes_with_one_weight_are_taken():
    taken = {
        name: equal_boxes(program(name).statements[0]).sums for name in ("heat2d", "heat3d", "jacobi2d", "j3d27pt")
    }
    assert {name: len(sums) for name, sums in taken.items()} == {"heat2d": 1, "heat3d": 1, "jacobi2d": 0, "j3d27pt": 0}
    terms = dict(taken["heat2d"][0])
    assert equal_box(terms).ranges == (range(-1, 2), range(-1, 2))
    read = next(iter(terms))
    assert equal_box({**terms, read: 2 * terms[read]}) is None
    del terms[read]
    assert equal_box(terms) is None
    assert equal_box({}) is None


def test_nothing_is_carried_where_the_order_counts_or_registers_do_not_last():
    shape = (40, 150)
    plain = stages(program("heat2d"), shape, "streaming:t=2,s=40x64,rows=8")
    assert [(carried(each.many), carried(each.few)) for each in plain] == [(True, False)]
    assert not any(carried(each.many) for each in stages(program("heat2d"), shape, "streaming:t=2,s=40x64,rows=16"))
    assert not any(carried(each.many) for each in stages(program("heat2d"), shape, TILINGS[2], strict=True))
    assert not any(carried(each.many) for each in stages(program("heat2d"), shape, TILINGS[2] + ",sums=outputs"))
