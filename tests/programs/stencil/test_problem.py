"""Problems: boundaries, update boxes, refusals."""

from dataclasses import replace

import numpy as np
import pytest

import tilewright as tw
from tilewright.base.errors import TilewrightError, UsageError
from tilewright.programs.stencil.boundaries import Boundary, parse_boundary
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.programs.stencil.regions import inner_programs


@pytest.fixture
def lopsided():
    u, k = FieldBuilder("u"), FieldBuilder("k")
    return stencil("lopsided", 2, {"u": u[-2, 0] + u[0, 3] + k[1, 0]})


def test_a_fixed_side_shrinks_the_update_box(lopsided):
    statement = lopsided.statements[0]
    assert make_problem(lopsided, (10, 12), 1).update_box(statement) == ((2, 9), (0, 9))
    assert make_problem(lopsided, (10, 12), 1, boundary="mirror").update_box(statement) == ((0, 10), (0, 12))


def test_a_region_takes_the_place_of_the_update_box(lopsided):
    statement, problem = lopsided.statements[0], make_problem(lopsided, (10, 12), 1)
    for region, box in [
        (((2, -1), (0, 0)), ((2, 9), (0, 12))),
        (((0, 3), (-4, 0)), ((0, 3), (8, 12))),
        (((0, 30), (-40, 0)), ((0, 10), (0, 12))),
        (((6, -6), (0, 0)), ((0, 0), (0, 12))),
    ]:
        chosen = replace(problem, regions=(("u", region),))
        assert chosen.update_box(statement) == box
    mixed = (("nearest", "fixed"), ("fixed", "constant:2"))
    problem = make_problem(lopsided, (10, 12), 1, boundary=tuple(tuple(map(parse_boundary, axis)) for axis in mixed))
    assert problem.update_box(statement) == ((0, 9), (0, 12))
    by_field = make_problem(lopsided, (10, 12), 1, boundary={"u": "wrap"})
    assert by_field.update_box(statement) == ((0, 9), (0, 12))
    assert make_problem(lopsided, (2, 12), 1).update_box(statement) == ((0, 0), (0, 9))


def test_statements_have_their_own_boxes():
    built = program("fdtd2d")
    problem = make_problem(built, (8, 9), 1)
    boxes = {statement.field: problem.update_box(statement) for statement in built.statements}
    assert boxes == {"ey": ((1, 8), (0, 9)), "ex": ((0, 8), (1, 9)), "hz": ((0, 7), (0, 8))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wrap", Boundary(kind="wrap")),
        ("constant:-1.5", Boundary(kind="constant", value=-1.5)),
        ("fixed,wrap", (Boundary(), Boundary(kind="wrap"))),
        ("nearest/constant:1", (Boundary(kind="nearest"), Boundary(kind="constant", value=1.0))),
        ("u=wrap;v=fixed", {"u": Boundary(kind="wrap"), "v": Boundary()}),
    ],
)
def test_boundaries_are_parsed(text, expected):
    assert parse_boundary(text) == expected


@pytest.mark.parametrize("text", ["", "bouncy", "constant:x", "fixed,", "u=bouncy", "fixed/"])
def test_bad_boundaries_are_refused(text):
    with pytest.raises(TilewrightError):
        parse_boundary(text)


def test_a_boundary_that_is_nearly_right_has_a_hint():
    with pytest.raises(TilewrightError, match="did you mean reflect"):
        parse_boundary("fixed,reflekt")


def test_bad_problems_are_refused():
    for shape, steps, dtype, boundary, message in [
        ((8,), 1, "float32", "fixed", "has 2 dimensions, got the shape 8"),
        ((8, 0), 1, "float32", "fixed", "every extent must be at least 1"),
        ((8, 8), -1, "float32", "fixed", "steps is a whole number"),
        ((8, 8), True, "float32", "fixed", "steps is a whole number"),
        ((8, 8), 2**31, "float32", "fixed", "steps is a whole number"),
        ((8, 8), 1.5, "float32", "fixed", "steps is a whole number"),
        ((8, 8), 1, "float31", "fixed", "the dtype must be one of"),
        ((2**30, 2**30), 1, "float32", "fixed", "at most 2"),
        ((8, 8), 1, "float32", "bouncy", "a boundary is one of"),
        ((8, 8), 1, "float32", ("fixed",), "one entry per axis, expected 2, got 1"),
        ((8, 8), 1, "float32", {"q": "fixed"}, "has no field 'q'"),
        ((8, 8), 1, "float32", (("wrap", "fixed"), "fixed"), "wraps on both sides or on none"),
        ((8, 8), 1, "float32", (("fixed", "fixed", "fixed"), "fixed"), "a boundary below and one above"),
    ]:
        with pytest.raises(TilewrightError, match=message):
            make_problem(program("j2d5pt"), shape, steps, dtype, boundary)


def test_unknown_programs_are_refused():
    with pytest.raises(TilewrightError, match="did you mean"):
        program("jacobi2")
    with pytest.raises(TilewrightError):
        program("star2d5r")
    assert len({program(name).name for name in names()}) == len(names())


@pytest.mark.parametrize(
    ("name", "loads", "flops"),
    [
        ("jacobi1d", 3, 3),
        ("jacobi2d", 5, 5),
        ("heat2d", 9, 9),
        ("laplacian2d", 5, 6),
        ("gradient2d", 5, 15),
        ("heat3d", 27, 27),
        ("laplacian3d", 7, 8),
        ("j2d9pt", 9, 17),
        ("j2d9pt-gol", 9, 17),
    ],
)
def test_loads_and_flops_of_the_catalogue(name, loads, flops):
    assert (program(name).loads, program(name).flops) == (loads, flops)


def test_periodic_is_wrap():
    known = program("jacobi1d")
    assert make_problem(known, (9,), 1, boundary="periodic") == make_problem(known, (9,), 1, boundary="wrap")
    assert parse_boundary("periodic") == parse_boundary("wrap")


@pytest.mark.parametrize(
    ("kind", "hint"),
    [
        ("perodic", "did you mean periodic"),
        ("flux", "such as reflect or constant:0.5"),
    ],
)
def test_names_of_other_libraries_are_explained(kind, hint):
    for boundary in (kind, Boundary(kind=kind), (("fixed", Boundary(kind=kind)),)):
        with pytest.raises(UsageError, match=f"a boundary is one of .*, got '{kind}' .*{hint}"):
            make_problem(program("jacobi1d"), (9,), 1, boundary=boundary)


@pytest.mark.parametrize(("one", "other"), [(0.0, -0.0), (1, 1.0), (1, True), (0j, -0j), (np.zeros(3), -np.zeros(3))])
def test_boundaries_whose_values_are_only_equal_stay_apart(one, other):
    first, second = Boundary("constant", one), Boundary("constant", other)
    assert first != second
    assert first == Boundary("constant", one)
    assert hash(first) == hash(Boundary("constant", one))


@pytest.mark.filterwarnings("ignore:values of 'u' are not finite")
@pytest.mark.parametrize("backend", ["c", "numpy"])
def test_sides_that_differ_in_the_sign_of_a_zero_are_two(backend):
    u, quotient = np.ones((2, 3)), tw.stencil(lambda u: 1.0 / u[-1, 0])
    sides = [Boundary("constant", sign) for sign in (0.0, -0.0, 0.0)]
    for boundaries in (sides, [(side, "nearest") for side in sides], [((side, "nearest"), "wrap") for side in sides]):
        found = [tw.run(quotient, u, steps=1, boundary=each, backend=backend)[0, 0] for each in boundaries]
        assert found == [np.inf, -np.inf, np.inf]


@pytest.mark.parametrize("backend", ["c", "numpy"])
@pytest.mark.parametrize(("low", "high", "expected"), [(-0.0, 0.0, 1.0), (0.0, -0.0, 2.0)])
def test_two_sides_of_an_axis_may_differ_in_the_sign_of_a_zero(low, high, expected, backend):
    edges = ((Boundary("constant", low), Boundary("constant", high)), "wrap")
    compared, u = tw.stencil(lambda u: tw.where(1.0 / u[-1, 0] < 1.0 / u[1, 0], 1.0, 2.0)), np.ones((1, 40))
    assert (tw.run(compared, u, steps=1, boundary=edges, backend=backend) == expected).all()
    picture = tw.pipeline(compared, name="picture")
    assert (picture(u, boundary=edges, backend=backend) == expected).all()


def test_conditions_along_rows_alone_have_one_middle():
    u = FieldBuilder("u")
    along = {axis: tw.inside[(slice(None),) * axis + (slice(3, -5),)] for axis in (0, 1)}
    for conditions, axes in (
        ([along[1]], [(1,)]),
        ([along[0]], [(0,)]),
        ([along[0], along[1]], [(0, 1), (0,)]),
        ([], []),
    ):
        value = u[0, 0]
        for each in conditions:
            value = tw.where(each, value, u[0, 1])
        assert [each for each, _ in inner_programs(stencil("cut", 2, {"u": value}))] == axes
