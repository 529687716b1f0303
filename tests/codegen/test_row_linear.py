"""Weighted sums input by input: which tapes they are, and that the weights are those of the program."""

import numpy as np
import pytest

from tilewright.codegen import row_block
from tilewright.codegen.emit import emit
from tilewright.codegen.pipeline import make_plan
from tilewright.codegen.sites import Site
from tilewright.programs import rounding
from tilewright.programs.catalogue import program
from tilewright.programs.expression import Read
from tilewright.programs.problem import make_problem
from tilewright.programs.reference import run
from tilewright.programs.weights import MOST_GROWTH, Column, columns, weighted_sum
from tilewright.runtime import cpu
from tilewright.runtime.session import Inputs
from tilewright.runtime.toolchain import toolchain
from tilewright.tilings import catalogue
from tilewright.tilings.tiling import parse


@pytest.mark.parametrize("name", ["j2d9pt-gol", "star2d2r", "j3d27pt", "box2d2r"])
def test_the_weights_are_those_that_single_cells_show(name):
    chosen = program(name)
    terms = weighted_sum(chosen.statements[0].tape)
    shape = (9,) * chosen.rank
    for read, weight in terms.items():
        values = np.zeros(shape)
        values[tuple(4 + o for o in read.offset)] = 1.0
        result = run(make_problem(chosen, shape, 1, "float64"), {"u": [values]}, {})["u"]
        assert result[(4,) * chosen.rank] == pytest.approx(weight, rel=1e-14)
    assert len(terms) == chosen.loads


@pytest.mark.parametrize("name", ["gradient2d", "heat3d", "j2d5pt", "wave2d", "fdtd2d"])
def test_other_programs_are_written_output_by_output(name):
    assert all(weighted_sum(statement.tape) is None for statement in program(name).statements)


def test_strict_kernels_keep_the_order():
    problem = make_problem(program("star2d2r"), (64, 64), 4, "float32")
    tiling = catalogue.complete(problem, parse("streaming:t=2,s=32x64"))
    loose, strict = (emit(problem, tiling, strict=strict).text for strict in (False, True))
    assert " u_1 = " in loose
    assert " u_1 = " not in strict


def test_two_neighbours_of_a_column_come_out_of_four_products():
    low, middle, high = weights = (0.3, -1.25, 0.7)
    a, b, c, e = Column(Read("u", 0, (-1, 0)), weights).factors
    d = np.random.default_rng(1).standard_normal((4, 50))
    left, right = (d[1] + d[2]) * b, (d[2] - d[1]) * c
    assert (left + right) + (d[0] - d[2]) * a == pytest.approx(low * d[0] + middle * d[1] + high * d[2])
    assert (left - right) + (d[3] - d[1]) * e == pytest.approx(low * d[1] + middle * d[2] + high * d[3])


def test_no_weight_grows_by_more_than_it_says():
    column = Column(Read("u", 0, (-1, 0)), (0.5, 1.0, -2.0))
    a, b, c, e = column.factors
    first = np.abs([a, b - c, b + c - a]), np.abs([a, 0, a]) + np.abs([0, b, b]) + np.abs([0, c, c])
    second = np.abs([b + c - e, b - c, e]), np.abs([e, 0, e]) + np.abs([b, b, 0]) + np.abs([c, c, 0])
    assert first[0] == pytest.approx([0.5, 1.0, 2.0])
    assert second[0] == pytest.approx([0.5, 1.0, 2.0])
    assert column.growth == pytest.approx(max(*(first[1] / first[0]), *(second[1] / second[0])))


@pytest.mark.parametrize(
    ("name", "found", "left"), [("j2d9pt-gol", 3, 0), ("box2d2r", 5, 10), ("j3d27pt", 9, 0), ("star3d3r", None, None)]
)
def test_boxes_are_columns_of_three(name, found, left):
    cut = columns(weighted_sum(program(name).statements[0].tape))
    assert (cut and (len(cut[0]), len(cut[1]))) == (found and (found, left))


def test_weights_that_would_cost_accuracy_are_taken_one_by_one():
    terms = {Read("u", 0, (y, x)): 1e-4 if y else 1.0 for y in (-1, 0, 1) for x in (-1, 0, 1)}
    assert Column(Read("u", 0, (-1, 0)), (1e-4, 1.0, 1e-4)).growth > MOST_GROWTH
    assert columns(terms) is None


@pytest.mark.parametrize("tiling", ["streaming:t=2,s=24x16x64,rows=2", "streaming:t=2,s=24x16x64,rows=5"])
def test_every_plane_and_line_of_a_box_is_right(tiling):
    problem = make_problem(program("j3d27pt"), (29, 25, 70), 3, "float32")
    (kernel,) = cpu.compile_source(emit(problem, catalogue.complete(problem, parse(tiling))), toolchain())
    given = {"u": [np.random.default_rng(2).standard_normal(problem.shape).astype(np.float32)]}
    result = cpu.execute(kernel, problem, Inputs(arrays=given, scalars={}), threads=2)["u"]
    exact, allowed = rounding.bound(problem, given, {})
    assert np.all(np.abs(result - exact["u"]) <= allowed["u"])


@pytest.mark.parametrize(("name", "rows", "groups"), [("j3d27pt", 4, [(0, 1), (2, 3)]), ("j3d27pt", 1, [(0,)])])
def test_two_results_of_a_column_at_a_time(name, rows, groups):
    problem = make_problem(program(name), (20, 24, 64), 4, "float32")
    plan = make_plan(Site(problem=problem, prefix="tw", strict=False), parse(f"streaming:t=2,s=9x8x32,rows={rows}"))
    assert row_block.paired(plan, 0) is (rows > 1)
    assert [tuple(group) for group in row_block.shift_groups(plan, 0)] == groups
    strict = make_plan(Site(problem=problem, prefix="tw", strict=True), parse("streaming:t=2,s=9x8x32,rows=4"))
    assert not row_block.paired(strict, 0)
