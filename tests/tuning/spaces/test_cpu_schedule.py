"""The rule of how code is written: what it decides, and what a tiling may ask for instead."""

import pickle

import numpy as np
import pytest
from tests.sampling import covering

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.driver import emit_tiling
from tilewright.programs.stencil import rounding
from tilewright.programs.stencil.adjoint import adjoint_of
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import NONE, Tiling, parse
from tilewright.tuning.spaces.cpu_schedule import choose_body
from tilewright.verbs.gradients.problems import split_problem

_SHAPES = {1: (200,), 2: (37, 150), 3: (13, 17, 70)}


def problem_of(name, dtype="float32", boundary="fixed"):
    known = program(name)
    return make_problem(known, _SHAPES[known.rank], 3, dtype, boundary)


def body_of(name, tiling, **options):
    return choose_body(problem_of(name), parse(tiling), **options)


def test_a_body_is_a_plain_value_that_shape_and_steps_do_not_change():
    for name in names():
        known = program(name)
        for tiling in (NONE, Tiling(family="streaming")):
            problem = make_problem(known, _SHAPES[known.rank], 3, boundary="nearest")
            larger = make_problem(known, tuple(2 * extent for extent in problem.shape), 50, boundary="nearest")
            body = choose_body(problem, tiling)
            assert pickle.loads(pickle.dumps(body)) == body == choose_body(larger, tiling)  # noqa: S301  (our own)
            assert hash(body) == hash(choose_body(larger, tiling)), name
            assert str(body), name


@pytest.mark.parametrize(
    ("name", "tiling", "rows"),
    [
        ("jacobi1d", "none", 1),
        ("j2d5pt", "none", 4),
        ("wave2d", "none", 2),
        ("j2d5pt", "hybrid", 2),
        ("j3d27pt", "hybrid", 4),
        ("wave3d", "none", 2),
        ("wave3d", "hybrid", 2),
        ("wave3d", "hybrid:t=2,s=8x8x32,rows=3", 3),
    ],
)
def test_rows_together_follow_rank_reads_and_family_unless_asked_for(name, tiling, rows):
    (code,) = body_of(name, tiling).boxes
    assert (code.block.rows, code.rest.rows) == (rows, 1)


@pytest.mark.parametrize(
    ("name", "tiling", "planes"),
    [
        ("j3d7pt", "hybrid", True),
        ("wave3d", "diamond", True),
        ("star3d4r", "hybrid", True),
        ("star3d4r", "none", False),
        ("star3d4r", "hybrid:t=2,s=8x8x32,rows=2", False),
        ("j3d27pt", "hybrid", False),
        ("star2d4r", "hybrid", False),
    ],
)
def test_rows_of_a_star_are_those_of_two_planes_in_tiles(name, tiling, planes):
    (code,) = body_of(name, tiling).boxes
    rank = program(name).rank
    assert (code.block.axis, code.rest.axis) == (rank - 3 if planes else rank - 2, rank - 2)
    assert code.block.rows == 2 or not planes


@pytest.mark.parametrize(("name", "rows"), [("jacobi1d", 1), ("j2d5pt", 4), ("wave2d", 4), ("wave3d", 2)])
def test_grids_of_a_batch_share_the_loads_of_four_rows_in_2d(name, rows):
    (code,) = body_of(name, "hybrid", batch=True).boxes
    assert (code.block.rows, code.rest.rows) == (rows, 1)


@pytest.mark.parametrize(
    ("name", "tiling", "blocks", "asks"),
    [
        ("j3d7pt", "none", True, True),
        ("j3d27pt", "none", True, True),
        ("j3d7pt", "hybrid", False, False),
        ("j3d7pt", "hybrid:t=2,s=8x8x32,rows=2", False, False),
        ("j3d27pt", "hybrid", False, False),
        ("box3d4r", "none", False, False),  # a loop over places
        ("j2d5pt", "none", False, False),
    ],
)
def test_in_3d_rows_from_memory_come_one_by_one_and_sweeps_ask_for_lines_ahead(name, tiling, blocks, asks):
    (code,) = body_of(name, tiling).boxes
    assert ((code.cached is not None), (code.asked is not None)) == (blocks, asks)


def test_neighbours_come_by_shuffles_where_loads_take_longer_than_arithmetic():
    assert body_of("j2d5pt", "none").boxes[0].block.neighbours == "shuffles"
    assert body_of("box2d4r", "none").boxes[0].block.neighbours == "loads"  # a loop over places
    assert body_of("j2d5pt", "none:neighbours=loads").boxes[0].block.neighbours == "loads"
    assert "_long(" in emit_tiling(problem_of("j2d5pt"), NONE).text
    assert "_long(" not in emit_tiling(problem_of("j2d5pt"), parse("none:neighbours=loads")).text


@pytest.mark.parametrize(
    ("name", "tiling", "forms"),
    [
        ("j2d5pt", "none", []),
        ("j2d9pt-gol", "none", ["inputs"]),
        ("box2d2r", "none", ["columns"]),
        ("box2d4r", "none", ["loop"]),
        ("box2d2r", "none:sums=inputs", ["inputs"]),
        ("box2d2r", "none:sums=outputs", []),
        ("j2d5pt", "streaming", ["winograd"]),
        ("j3d27pt", "streaming", ["winograd"]),
        ("star3d3r", "streaming", ["inputs"]),
        ("star3d3r", "streaming:sums=columns", ["columns"]),
    ],
)
def test_sums_are_written_as_their_reads_suit(name, tiling, forms):
    body = body_of(name, tiling)
    blocks = [code.block for code in body.boxes] or [stage.many.blocks[0] for stage in body.stages]
    assert [each.form for each in blocks[0].sums[0]] == forms
    strict = body_of(name, tiling.partition(":")[0], strict=True)
    assert not any(any(code.block.sums) for code in strict.boxes)
    assert not any(any(stage.many.blocks[0].sums) for stage in strict.stages)


def test_few_registers_hold_columns_where_many_hold_two_results_at_a_time():
    (stage,) = body_of("box2d2r", "streaming").stages
    assert [code.blocks[0].sums[0][0].form for code in (stage.many, stage.few)] == ["winograd", "columns"]
    (stage,) = body_of("j3d27pt", "streaming:t=2,s=8x8x32,rows=6").stages
    assert (stage.many.planes, stage.few.planes) == ((2, 2, 2), (3, 3))
    assert (stage.many.lines, stage.few.lines) == (3, 2)


def test_pieces_have_the_cells_asked_for():
    assert body_of("fdtd2d", "none").piece == 2**13 // 4
    assert body_of("fdtd2d", "none:piece=500").piece == 500
    assert "500 / s0" in emit_tiling(problem_of("fdtd2d"), parse("none:piece=500")).text


def test_code_that_cannot_be_written_is_refused_in_a_sentence():
    for name, tiling, strict, words in [
        ("j2d5pt", "none:piece=500", False, "several statements"),
        ("fdtd2d", "hybrid:t=2,s=8x64,piece=500", False, "several statements"),
        ("j2d5pt", "none:sums=inputs", False, "long weighted sums"),
        ("j2d5pt", "streaming:sums=inputs", False, "long weighted sums"),
        ("box2d2r", "none:sums=winograd", False, "streaming tiles"),
        ("box2d2r", "none:sums=columns", True, "order of sums"),
        ("star1d4r", "none:sums=columns", False, "2D and 3D"),
        ("star3d2r", "none:sums=loop", False, "whole boxes"),
        ("box2d2r", "streaming:sums=loop", False, "in 3D"),
        ("star3d3r", "streaming:sums=winograd", False, "columns of weights"),
        ("box2d2r", "streaming:neighbours=shuffles", False, "lifted"),
        ("box2d4r", "none:neighbours=shuffles", False, "summed in a loop"),
    ]:
        with pytest.raises(UsageError, match=words):
            body_of(name, tiling, strict=strict)


@pytest.mark.parametrize("key", ["neighbours=loads", "sums=outputs"])
def test_recurrences_have_no_forms(key):
    u = FieldBuilder("u")
    known = stencil("sweep", 2, {"u": 0.5 * u.new[-1, 0] + 0.25 * u[1, 0]})
    with pytest.raises(UsageError, match="cell by cell"):
        choose_body(make_problem(known, (20, 20), 1), parse(f"none:{key}"))


_ASKED = {
    "star2d2r": ["none:sums={}", "none:neighbours=loads,sums={}", "none:neighbours=shuffles,sums={}"],
    "box2d2r": ["hybrid:t=2,s=8x64,sums={}", "streaming:t=2,s=16x64,sums={}"],
    "j3d27pt": ["none:sums={}", "streaming:t=2,s=9x8x32,rows=5,sums={}"],
}


@pytest.mark.parametrize(("form", "name"), covering(["outputs", "inputs", "columns", "winograd", "loop"], list(_ASKED)))
def test_whatever_is_asked_for_computes_the_same(form, name):
    tilings = _ASKED[name]
    known = program(name)
    problem = make_problem(known, _SHAPES[known.rank], 3, boundary="nearest")
    given = np.random.default_rng(3).random(problem.shape).astype("float32")
    exact, allowed = rounding.bound(problem, {"u": [given]}, {})
    computed = 0
    for text in tilings:
        tiling = catalogue.complete(problem, parse(text.format(form)))
        try:
            choose_body(problem, tiling)
        except UsageError:
            continue
        out = tw.run(known, given, steps=3, boundary="nearest", backend="c", tiling=tiling)
        assert rounding.worst_excess(out, exact["u"], allowed["u"])[1], text
        computed += 1
    assert computed or form in {"winograd", "loop"}


def test_keys_of_code_are_none_of_a_gpu():
    problem = problem_of("box2d2r")
    with pytest.raises(UsageError, match="code for CPUs"):
        tw.run(problem.program, np.zeros(problem.shape, "float32"), steps=2, backend="cuda", tiling="none:sums=inputs")


def test_few_cells_at_the_ends_of_rows_are_computed_one_by_one():
    adjoint = adjoint_of(program("j3d7pt"))
    whole = make_problem(adjoint.program, (20, 20, 20), 4, "float32", adjoint.boundary)
    problem = split_problem(whole, adjoint.split)
    body = choose_body(problem, parse("hybrid:t=4,s=4x4x16"))
    ends = {each.field for each in problem.program.statements if problem.spans(each)[-1] in {(0, 1), (-1, 0)}}
    assert len(ends) == 2
    single = {
        statement.field for statement, code in zip(problem.program.statements, body.boxes, strict=True) if code.single
    }
    assert single == ends
