"""Sweeps of several statements: stages close behind one another are bit-equal to one after the other."""

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.codegen.lower import stage_distances
from tilewright.driver import emit_tiling
from tilewright.programs.stencil import catalogue, reference
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, Program, stencil
from tilewright.schedules.tiling import NONE

SHAPES = {1: (9001,), 2: (97, 150), 3: (23, 14, 70)}
"""Several pieces per part, for up to five threads."""
SIDES = ("fixed", "wrap", "reflect", "mirror", ("nearest", "constant:0.5"))


def three_stages(rank: int) -> Program:
    """Each reads what is before and behind it, and the first what the others overwrite."""
    a, b, c = (FieldBuilder(name) for name in "abc")

    def at(rows: int) -> tuple[int, ...]:
        return (rows, *(0,) * (rank - 1))

    return stencil(
        "three_stages",
        rank,
        {
            "a": a[at(0)] + 0.25 * (c[at(-2)] - b[at(1)]),
            "b": b[at(0)] - 0.5 * (a.new[at(3)] - a.new[at(-1)]),
            "c": c[at(0)] + 0.25 * (b.new[at(-1)] + a.new[at(8)]),
        },
    )


def check(program, shape, steps, boundary, threads):
    """A strict sweep is equal to the reference."""
    problem = make_problem(program, shape, steps, "float32", boundary)
    random = np.random.default_rng(11)
    given = {field: [random.random(shape, dtype=np.float32)] for field in program.fields}
    arrays = [given[field][0] for field in program.fields]
    how = {"backend": "c", "tiling": "none", "strict": True, "threads": threads}
    found = dict(zip(program.updated, tw.run(program, *arrays, steps=steps, boundary=boundary, **how), strict=True))
    for field, values in reference.run(problem, given, {}).items():
        np.testing.assert_array_equal(found[field], values)


@pytest.mark.parametrize(("rank", "side", "threads"), covering([1, 2, 3], SIDES, [1, 2, 5]))
def test_stages_behind_one_another_are_those_one_after_the_other(rank, side, threads):
    check(three_stages(rank), SHAPES[rank], 5, (side, *("nearest",) * (rank - 1)), threads)


@pytest.mark.parametrize("rows", [1, 2, 5, 16, 17, 33, 64])
def test_parts_shorter_than_the_distance_of_stages(rows):
    check(three_stages(2), (rows, 700), 4, "wrap", 3)


def test_a_stage_keeps_the_distance_of_every_dependence():
    assert stage_distances(catalogue.program("fdtd2d")) == (0, 1)
    assert stage_distances(catalogue.program("wave2d")) == (0,)
    assert stage_distances(three_stages(2)) == (0, 3, 8)
    assert stage_distances(three_stages(1)) == (0, 64, 128)


def test_what_is_kept_twice_is_overwritten_by_nobody_who_is_waited_for():
    a, b = FieldBuilder("a"), FieldBuilder("b")
    twice = stencil("twice", 2, {"a": a[0, 0] + b[5, 0], "b": b[0, 1] + b[0, -1] + a.new[1, 0]})
    once = stencil("once", 2, {"a": a[0, 0] + b[5, 0], "b": b[0, 0] + a.new[1, 0]})
    assert stage_distances(twice) == (0, 1)
    assert stage_distances(once) == (0, 5)


def test_stages_that_need_only_their_own_cell_wait_for_nobody():
    a, b = FieldBuilder("a"), FieldBuilder("b")
    program = stencil("same_cell", 2, {"a": a[0, 0] + 0.5 * b[0, 0], "b": b[0, 0] - 0.5 * a.new[0, 0]})
    problem = make_problem(program, (64, 300), 6)
    assert stage_distances(program) == (0, 0)
    assert emit_tiling(problem, NONE).text.count("omp for") == 1
    check(program, problem.shape, problem.steps, "fixed", 2)
