"""Weighted sums input by input: which tapes they are, and that the weights are those of the program."""

import itertools

import numpy as np
import pytest

import tilewright as tw
from tilewright.codegen.sites import Site
from tilewright.codegen.streaming.kernel import StreamKernel
from tilewright.driver import emit_tiling
from tilewright.programs.stencil import rounding
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.expression import Apply, Read, apply, flatten, reads
from tilewright.programs.stencil.operators import OPERATORS
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, Statement, stencil
from tilewright.programs.stencil.reference import run
from tilewright.programs.stencil.weights import (
    MOST_GROWTH,
    MOST_GROWTH_OF_FEW,
    WeightColumn,
    apart,
    columns,
    linear_sum,
)
from tilewright.runtime import cpu
from tilewright.runtime.kernels import execute
from tilewright.runtime.session import Inputs
from tilewright.runtime.toolchains.cpu import toolchain
from tilewright.schedules import catalogue
from tilewright.schedules.sums import paired, runs
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.cpu_schedule import choose_body

_U = FieldBuilder("u")


@pytest.mark.parametrize("name", ["j2d9pt-gol", "star2d2r", "j3d27pt", "box2d2r"])
def test_the_weights_are_those_that_single_cells_show(name):
    chosen = program(name)
    terms = linear_sum(chosen.statements[0].tape)
    shape = (9,) * chosen.rank
    for read, weight in terms.items():
        values = np.zeros(shape)
        values[tuple(4 + o for o in read.offset)] = 1.0
        result = run(make_problem(chosen, shape, 1, "float64"), {"u": [values]}, {})["u"]
        assert result[(4,) * chosen.rank] == pytest.approx(weight, rel=1e-14)
    assert len(terms) == chosen.loads


@pytest.mark.parametrize("name", ["gradient2d", "heat3d", "j2d5pt", "wave2d", "fdtd2d"])
def test_other_programs_are_written_output_by_output(name):
    assert not any(apart(statement).sums for statement in program(name).statements)


def test_two_neighbours_of_a_column_come_out_of_four_products():
    low, middle, high = weights = (0.3, -1.25, 0.7)
    a, b, c, e = WeightColumn(Read("u", 0, (-1, 0)), weights).factors
    d = np.random.default_rng(1).standard_normal((4, 50))
    left, right = (d[1] + d[2]) * b, (d[2] - d[1]) * c
    assert (left + right) + (d[0] - d[2]) * a == pytest.approx(low * d[0] + middle * d[1] + high * d[2])
    assert (left - right) + (d[3] - d[1]) * e == pytest.approx(low * d[1] + middle * d[2] + high * d[3])


def test_no_weight_grows_by_more_than_it_says():
    column = WeightColumn(Read("u", 0, (-1, 0)), (0.5, 1.0, -2.0))
    a, b, c, e = column.factors
    first = np.abs([a, b - c, b + c - a]), np.abs([a, 0, a]) + np.abs([0, b, b]) + np.abs([0, c, c])
    second = np.abs([b + c - e, b - c, e]), np.abs([e, 0, e]) + np.abs([b, b, 0]) + np.abs([c, c, 0])
    assert first[0] == pytest.approx([0.5, 1.0, 2.0])
    assert second[0] == pytest.approx([0.5, 1.0, 2.0])
    assert column.growth == pytest.approx(max(*(first[1] / first[0]), *(second[1] / second[0])))


@pytest.mark.parametrize(
    ("name", "found", "left"),
    [
        ("j2d9pt-gol", 3, 0),
        ("box2d2r", 5, 10),
        ("box2d3r", 7, 28),
        ("j3d27pt", 9, 0),
        ("box3d4r", 243, 0),
        ("star3d3r", None, None),
        ("star3d4r", None, None),
    ],
)
def test_boxes_are_columns_of_three(name, found, left):
    cut = columns(linear_sum(program(name).statements[0].tape))
    assert (cut and (len(cut[0]), len(cut[1]))) == (found and (found, left))


def test_weights_that_would_cost_accuracy_are_taken_one_by_one():
    terms = {Read("u", 0, (y, x)): 1e-4 if y else 1.0 for y in (-1, 0, 1) for x in (-1, 0, 1)}
    assert WeightColumn(Read("u", 0, (-1, 0)), (1e-4, 1.0, 1e-4)).growth > MOST_GROWTH
    assert columns(terms) is None


def weighted(weights):
    """A program in 2D from weights by offset."""

    def expression(u):
        return sum(weight * u[at] for at, weight in weights.items())

    return tw.stencil(expression).program


CROSS = ((-1, 0), (0, 0), (1, 0), (0, -1), (0, 1))


@pytest.mark.parametrize(
    ("weights", "cut"),
    [
        ((0.1, 0.15, 0.2, 0.25, 0.3), (1, 2)),
        ((0.2, 0.2, 0.2, 0.2, 0.2), (1, 2)),  # one product of a sum is less: the model of cycles refuses it
        ((0.1, 0.6, 0.1, 0.1, 0.1), (1, 2)),
        ((0.1, 0.2, 0.1, 0.15, 0.25), (1, 2)),  # four products either way
        ((0.01, 0.3, 0.02, 0.25, 0.2), None),  # the weights of a value would grow 15-fold
    ],
)
def test_a_single_column_is_a_candidate_where_it_keeps_accuracy(weights, cut):
    program = weighted(dict(zip(CROSS, weights, strict=True)))
    assert apart(program.statements[0]).sums == ()
    sums = apart(program.statements[0], pairs=True).sums
    assert [(len(found), len(rest)) for found, rest in map(columns, sums)] == ([cut] if cut else [])


def test_boxes_take_the_three_of_a_long_column_whose_weights_grow_least():
    found, rest = columns(linear_sum(program("box2d2r").statements[0].tape))
    assert [(column.read.offset, len(column.weights)) for column in found] == [((-1, x), 3) for x in range(-2, 3)]
    assert max(column.growth for column in found) < 3.3
    assert len(rest) == 10


@pytest.mark.parametrize(("name", "weights", "left"), [("star2d2r", [3, 2], 4), ("star2d3r", [3, 3], 7)])
def test_the_long_column_of_a_star_is_cut_into_several(name, weights, left):
    found, rest = columns(linear_sum(program(name).statements[0].tape))
    assert [len(column.weights) for column in found] == weights
    assert all(column.growth <= MOST_GROWTH_OF_FEW for column in found)
    assert len(rest) == left


def test_two_weights_give_two_results_by_three_products():
    low, high = weights = (0.3, -1.25)
    column = WeightColumn(Read("u", 0, (-1, 0)), weights)
    a, b, _, e = column.factors
    d = np.random.default_rng(1).standard_normal((3, 50))
    assert d[1] * b + (d[0] - d[1]) * a == pytest.approx(low * d[0] + high * d[1])
    assert d[1] * b + (d[2] - d[1]) * e == pytest.approx(low * d[1] + high * d[2])
    assert column.growth == pytest.approx((abs(b) + abs(e)) / abs(a))


@pytest.mark.parametrize("rows", [4, 5])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_two_results_of_one_column_are_right(rows, dtype):
    uneven = weighted({(-1, 0): -0.25, (0, 0): 0.7, (1, 0): 0.21, (0, -2): 0.1, (0, 2): -0.3, (-3, 0): 0.15})
    lopsided = weighted({(-2, 0): 0.15, (-1, 0): -0.25, (0, 0): 0.3, (1, 0): 0.21, (2, 0): 0.24, (0, 1): -0.1})
    for chosen in (program("j2d5pt"), uneven, lopsided):
        check(make_problem(chosen, (45, 90), 7, dtype), f"streaming:t=3,s=20x64,rows={rows}")


def check(problem, tiling, seed=2):
    """Run a kernel and compare every cell with the float64 reference."""
    (kernel,) = cpu.stencil_kernels(emit_tiling(problem, catalogue.complete(problem, parse(tiling))), toolchain())
    draw = np.random.default_rng(seed)
    given = {
        field: [draw.random(problem.shape).astype(problem.dtype) for _ in range(problem.program.history(field))]
        for field in problem.program.fields
    }
    result = execute(kernel, problem, Inputs(arrays=given, scalars={}), threads=2)
    exact, allowed = rounding.bound(problem, given, {})
    for field in exact:
        error, good = rounding.worst_excess(result[field], exact[field], allowed[field])
        assert good, f"{field} is off by up to {error:g}"


@pytest.mark.parametrize("tiling", ["streaming:t=2,s=24x16x64,rows=2", "streaming:t=2,s=24x16x64,rows=5"])
def test_every_plane_and_line_of_a_box_is_right(tiling):
    check(make_problem(program("j3d27pt"), (29, 25, 70), 3, "float32"), tiling)


def test_a_box_is_one_loop_over_the_places_along_the_rows():
    near = paired(linear_sum(program("box3d3r").statements[0].tape), alike=False)
    assert [each.offset for each in near] == list(range(-3, 4))
    assert [len(run) for run in runs(near)] == [7]


def test_columns_that_are_none_elsewhere_are_taken_apart_in_a_large_box():
    terms = dict(linear_sum(program("box3d3r").statements[0].tape))
    terms[Read("u", 0, (-3, 0, 0))] = 1e-9  # what two results at a time would do to this one's accuracy is too much
    near = paired(terms, alike=True)
    assert [len(run) for run in runs(near)] == [7]
    assert {read for each in near for read, _ in each.rest} >= {Read("u", 0, (-3, 0, x)) for x in (0, 1)}


@tw.stencil
def edges(u):
    """19 points: not every place along the rows has the same reads."""
    total = 0
    for z, y, x in itertools.product((-1, 0, 1), repeat=3):
        if abs(z) + abs(y) + abs(x) < 3:
            total = total + (1 + 0.1 * z + 0.03 * y + 0.01 * x) / 19 * u[z, y, x]
    return total


@tw.stencil
def acoustic(u, v):
    """Waves of eighth order: a sum of 25 reads with equal weights, inside a larger expression."""
    total = -8.5 * u[0, 0, 0]
    for k, weight in enumerate((1.6, -0.2, 0.025, -0.0018), start=1):
        axes = u[-k, 0, 0] + u[k, 0, 0] + u[0, -k, 0] + u[0, k, 0] + u[0, 0, -k] + u[0, 0, k]
        total = total + weight * axes
    return 2 * u[0, 0, 0] - u.prev[0, 0, 0] + 0.05 * v[0, 0, 0] * total


@tw.stencil
def diffusion(u, k):
    """A box inside a larger expression."""
    total = 0.5
    for z, y, x in itertools.product((-1, 0, 1), repeat=3):
        total = total + (1 + 0.1 * z + 0.03 * y + 0.01 * x) / 30 * u[z, y, x]
    return u[0, 0, 0] + 0.5 * k[0, 0, 0] * (total - u[0, 0, 0])


@tw.stencil
def limited(u, k):
    """Two sums in one expression, one of them under a minimum."""
    wide, near = 0, 0
    for y, x in itertools.product(range(-2, 3), repeat=2):
        wide = wide + (1 + 0.03 * y + 0.01 * x) / 30 * u[y, x]
    for x in range(-4, 5):
        near = near + (1 + 0.1 * x) / 12 * k[0, x]
    return tw.minimum(u[0, 0] + k[0, 0] * (wide - u[0, 0]), near)


@pytest.mark.parametrize(
    ("chosen", "shape", "tiling", "sums"),
    [
        (edges, (13, 21, 70), "streaming:t=2,s=13x12x64,rows=4", [19]),
        (acoustic, (21, 19, 70), "streaming:t=2,s=21x12x70", [25]),
        (acoustic, (21, 19, 70), "hybrid:t=2,s=4x16x64", [25]),
        (diffusion, (13, 21, 70), "streaming:t=2,s=13x12x64,rows=3", [27]),
        (limited, (45, 90), "streaming:t=3,s=20x64", [25, 9]),
        (limited, (45, 90), "none", [25, 9]),
    ],
)
def test_sums_inside_larger_expressions(chosen, shape, tiling, sums):
    assert [len(terms) for terms in apart(chosen.program.statements[0]).sums] == sums
    for dtype in ("float32", "float64"):
        check(make_problem(chosen.program, shape, 3, dtype), tiling)


def test_what_is_left_of_an_expression_means_the_same():
    total = sum((0.1 * x * _U[x] for x in range(1, 9)), _U[0])
    hot = (_U[1] > 0.5) + (_U[2] > 0.5)  # truth values: at least one of them
    cases = [
        3.0 - total / 4 + _U[1] * _U[2],
        apply("maximum", total, 2.0) * (1 - total),
        hot + total,
        -(total - 2 * (_U[3] / _U[4] - total)),
        apply("where", hot, total, _U[1]),
    ]
    values = {read: 0.3 + 0.1 * number for number, read in enumerate(sorted(reads(flatten(total)), key=str))}
    for value in cases:
        tape = flatten(value)
        found = apart(Statement(field="u", tape=tape))
        assert 1 <= len(found.sums) <= 2  # the second case holds one and its opposite
        assert len([node for node in found.tape if isinstance(node, Read)]) < 6
        given = values | {
            Read(f"+{number}", 0, ()): sum(weight * values[read] for read, weight in terms.items())
            for number, terms in enumerate(found.sums)
        }
        assert evaluated(found.tape, given) == pytest.approx(evaluated(tape, values), rel=1e-13)


def evaluated(tape, values):
    """The value of a tape."""
    done = []
    for node in tape:
        if isinstance(node, Apply):
            done.append(OPERATORS[node.op].evaluate(*(done[arg] for arg in node.args)))
        else:
            done.append(np.float64(values[node]) if isinstance(node, Read) else node.value)
    return done[-1]


@pytest.mark.parametrize(("dtype", "kept"), [("float32", False), ("float32", True), ("int32", False)])
def test_sums_are_taken_apart_where_order_is_free(dtype, kept):
    star = program("star2d2r")
    if dtype == "int32":  # the same reads, of whole weights
        reads = [read.offset for read in linear_sum(star.statements[0].tape)]
        star = stencil("whole", 2, {"u": sum(n * _U[offset] for n, offset in enumerate(reads, 1))})
    problem = make_problem(star, (64, 64), 4, dtype)
    (stage,) = choose_body(problem, parse("streaming:t=2,s=32x64,rows=2"), strict=kept).stages
    assert len(stage.many.blocks[0].sums[0]) == (dtype == "float32" and not kept)


@pytest.mark.parametrize(("rows", "blocks"), [(4, ["2x3", "2x1"]), (5, ["2x3", "1x3", "2x1", "1x1"]), (1, [])])
def test_two_results_of_a_column_at_a_time(rows, blocks):
    problem = make_problem(program("j3d27pt"), (20, 24, 64), 4, "float32")
    tiling = parse(f"streaming:t=2,s=9x8x32,rows={rows}")
    body = choose_body(problem, tiling)
    assert bool(body.stages[0].many.planes) is (rows > 1)
    kernel = StreamKernel(Site(problem=problem, prefix="tw", strict=False, body=body), tiling)
    many = [each for each in kernel.stages[0].functions if each.registers != 16]
    assert [each.name.removeprefix("tw_rows_0_") for each in many[:-1]] == blocks
    assert not choose_body(problem, tiling, strict=True).stages[0].many.planes
