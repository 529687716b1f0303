"""The models see regions: means over a grid's cells of what the programs of its boxes take."""

from dataclasses import replace

import pytest

import tilewright as tw
from tilewright.costs.facts import parts, row_ends
from tilewright.costs.setting import make_setting
from tilewright.machines import files
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.expression import Value
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.programs.stencil.storage import Storage, Subdomain

U, K = FieldBuilder("u"), FieldBuilder("k")
ZEN = files.load("zen3")


def cheap() -> Value:
    return 0.25 * (U[-1, 0] + U[1, 0] + U[0, -1] + U[0, 1])


def dear() -> Value:
    total = cheap()
    for count in range(40):
        total = total * (K[0, 0] - 0.01 * count) + U[0, 0]
    return total


def problem_of(box, shape=(200, 400)) -> Problem:
    body = dear() if box is None else tw.where(tw.inside[box], cheap(), dear())
    return make_problem(stencil("some", 2, {"u": body}), shape, 20, "float32", "nearest")


def test_shares_are_those_of_the_middle_and_the_rest() -> None:
    rest, middle = parts(problem_of((slice(20, -20), slice(40, -60))))
    assert middle.share == pytest.approx(160 / 200 * 300 / 400)
    assert rest.share == pytest.approx(1 - middle.share)
    assert middle.program.fields == ("u",)
    assert rest.program.fields == ("u", "k")
    assert middle.program.flops < 6 < rest.program.flops


def test_a_box_counted_from_the_other_end_leaves_the_rest_as_middle() -> None:
    rest, middle = parts(problem_of((slice(None, 50), slice(None))))
    assert (rest.share, middle.share) == (pytest.approx(0.25), pytest.approx(0.75))
    assert middle.program.flops > rest.program.flops - 10


def test_iterations_are_the_mean_of_both() -> None:
    box = (slice(20, -20), slice(None))
    found, plain, every = (
        make_setting(each, ZEN)
        for each in (
            problem_of(box),
            replace(problem_of(box), program=stencil("c", 2, {"u": cheap()})),
            problem_of(None),
        )
    )
    c_iter, least, most = (each.rates.c_iter for each in (found, plain, every))
    assert c_iter.value == pytest.approx(0.8 * least.value + 0.2 * most.value, rel=0.02)
    assert c_iter.low <= c_iter.value <= c_iter.high
    assert (found.facts.constants, plain.facts.constants, every.facts.constants) == (0, 0, 1)
    gpu = make_setting(problem_of(box), files.load("gtx980"))
    assert gpu.facts.constants == 1


def test_rows_of_streaming_tiles_meet_the_ends_along_them() -> None:
    along, beside = (problem_of(box) for box in ((slice(None), slice(8, -8)), (slice(8, -8), slice(None))))
    assert (row_ends(along), row_ends(beside)) == (2, 0)
    for problem, ratio in ((along, 1.5), (beside, 1.0)):
        setting = make_setting(problem, ZEN)
        assert setting.rates.blocked_across.value >= ratio * setting.rates.blocked.value
    wide, narrow = (
        tw.predict(
            along.program, shape=(4096, 4096), steps=16, machine="zen3", boundary="nearest",
            tiling=f"streaming:t=4,s=512x{width}",
        ).costs.seconds
        for width in (4096, 512)
    )  # fmt: skip
    assert wide > 1.3 * narrow


def test_what_lives_at_the_ends_alone_counts_as_that() -> None:
    parted = {"a": Subdomain(0, 10, 10), "b": Subdomain(1, 10, 10)}
    a, b = FieldBuilder("a"), FieldBuilder("b")
    values = {"u": cheap() + a[0, 0] + b[0, 0], "a": 0.5 * a[0, 0] + U[0, 0], "b": 0.5 * b[0, 0] + U[0, 0]}
    program = stencil("layer", 2, values, subdomains=parted)
    whole = make_problem(program, (400, 200), 10, "float32", "constant")
    packed = Storage(subdomains=program.subdomains)
    every, some, middle = parts(whole, packed.subdomains)
    assert (every.program.updated, some.program.updated, middle.program.updated) == (
        ("u", "a", "b"),
        ("u", "a"),
        ("u",),
    )
    assert middle.share == pytest.approx(380 / 400 * 180 / 200, abs=0.02)
    kept, spread = make_setting(whole, ZEN, storage=packed).facts, make_setting(whole, ZEN).facts
    assert (kept.levels, kept.writes, kept.copies) == (1, 1, 2)
    assert (spread.levels, spread.writes) == (3, 3)


def test_axes_without_regions_may_be_longer_than_memory():
    problem = make_problem(program("jacobi1d"), (2**40,), 5)
    assert row_ends(problem) == 0
    assert len(parts(problem)) == 1
