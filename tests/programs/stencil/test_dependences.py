"""Stages, copies and dependences, flow and memory."""

import pytest

from tilewright.base.errors import TraceError
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.dependences import Slope, needs_no_versions, slopes
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil


def _distances(analysis, kind):
    return {(d.time, d.offset) for d in analysis.dependences if d.kind == kind}


def _slopes(built, boundary="fixed"):
    return slopes(make_problem(built, (20,) * built.rank, 4, boundary=boundary))


def test_jacobi():
    analysis = program("jacobi1d").analysis
    assert analysis.stages == ((0,),)
    assert analysis.copies == (2,)
    assert _distances(analysis, "flow") == {(1, (-1,)), (1, (0,)), (1, (1,))}
    assert _distances(analysis, "memory") == {(1, (1,)), (1, (0,)), (1, (-1,))}
    assert analysis.sweep == ()


def test_one_sided_reads_come_back_as_memory_dependences():
    u = FieldBuilder("u")
    built = stencil("one_sided", 2, {"u": u[-3, 0] + u[0, 1]})
    analysis = built.analysis
    assert _distances(analysis, "flow") == {(1, (-3, 0)), (1, (0, 1))}
    assert _distances(analysis, "memory") == {(1, (3, 0)), (1, (0, -1))}
    assert _slopes(built) == (Slope(left=3, right=3), Slope(left=1, right=1))
    assert {str(d) for d in analysis.dependences} >= {"memory dependence (-1; +3, +0) from u[-3, 0]"}


def test_wave_updates_the_oldest_copy_in_place():
    analysis = program("wave2d").analysis
    assert analysis.copies == (2,)
    assert (2, (0, 0)) in _distances(analysis, "flow")
    assert _distances(analysis, "memory") == {(1, o) for o in ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))}
    assert _slopes(program("wave2d")) == (Slope(left=1, right=1),) * 2


def test_a_neighbour_of_an_older_level_needs_a_third_copy():
    u = FieldBuilder("u")
    analysis = stencil("older", 1, {"u": u[0] + u.prev[1]}).analysis
    assert analysis.copies == (3,)
    assert (2, (0,)) in _distances(analysis, "memory")
    assert (1, (-1,)) in _distances(analysis, "memory")


def test_fdtd_runs_in_two_stages():
    built = program("fdtd2d")
    analysis = built.analysis
    assert analysis.stages == ((0, 1), (2,))
    assert dict(zip(built.fields, analysis.copies, strict=True)) == {"ey": 1, "ex": 1, "hz": 1}
    flow = _distances(analysis, "flow")
    assert {(1, (1, 0)), (1, (0, 1)), (1, (-1, 0)), (1, (0, -1)), (2, (0, 0))} <= flow
    assert all(d.time >= 1 for d in analysis.dependences)
    assert _slopes(built) == (Slope(left=1, right=1),) * 2


def test_a_slope_is_per_logical_step():
    u = FieldBuilder("u")
    built = stencil("slow", 1, {"u": u.prev[-5] + u.prev[0]})
    analysis = built.analysis
    assert (2, (-5,)) in _distances(analysis, "flow")
    assert _slopes(built)[0].left == 3


def test_coefficients_make_no_dependence():
    u, k = FieldBuilder("u"), FieldBuilder("k")
    analysis = stencil("coefficient", 1, {"u": u[0] * k[7]}).analysis
    assert analysis.copies == (1, 1)
    assert all(d.offset == (0,) for d in analysis.dependences)


@pytest.mark.parametrize(
    ("boundary", "expected"),
    [
        ("fixed", Slope(left=4, right=2)),
        ("nearest", Slope(left=4, right=2)),
        ("constant", Slope(left=4, right=2)),
        ("reflect", Slope(left=4, right=3)),
        ("mirror", Slope(left=4, right=4)),
    ],
)
def test_boundaries_bend_dependences(boundary, expected):
    """Three copies, so the memory dependence (2, +4) needs a slope of 2 to the right; bent flow needs more."""
    u = FieldBuilder("u")
    built = stencil("left", 1, {"u": u[-4] + 0.0 * u.prev2[0]})
    assert built.analysis.copies == (3,)
    assert _slopes(built, boundary) == (expected,)


def test_a_recurrence_is_inside_the_sweep():
    analysis = program("smith_waterman").analysis
    assert {d.offset for d in analysis.sweep} == {(-1, -1), (-1, 0), (0, -1)}
    assert all(d.time == 0 for d in analysis.sweep)


def test_values_needed_in_a_circle_are_refused():
    u, v = FieldBuilder("u"), FieldBuilder("v")
    with pytest.raises(TraceError, match="in a circle"):
        _ = stencil("circle", 1, {"u": v.new[0], "v": u.new[0]}).analysis


@pytest.mark.parametrize("offset", [(0, 0), (0, 1), (1, -1)])
def test_a_recurrence_on_later_cells_is_refused(offset):
    u = FieldBuilder("u")
    with pytest.raises(TraceError, match="not computed yet"):
        _ = stencil("later", 2, {"u": u.new[offset]}).analysis


def test_every_dependence_of_the_catalogue_points_to_the_past():
    for name in names():
        analysis = program(name).analysis
        assert all(d.time > 0 for d in analysis.dependences), name
        assert sorted(i for stage in analysis.stages for i in stage) == list(range(len(program(name).statements))), name
        assert all(copies >= 1 for copies in analysis.copies), name


@pytest.mark.parametrize(
    ("name", "shape", "steps", "needs_none"),
    [
        ("j2d5pt", (40, 40), 1, True),
        ("j2d5pt", (40, 40), 2, False),
        ("wave2d", (40, 40), 1, True),  # the older of two is overwritten
        ("fdtd2d", (40, 40), 1, True),  # fields that follow each other, in place
        ("smith_waterman", (40, 40), 1, True),
    ],
)
def test_a_single_step_needs_no_versions_but_of_two_fields(name, shape, steps, needs_none):
    assert needs_no_versions(make_problem(program(name), shape, steps)) is needs_none
    u, v = FieldBuilder("u"), FieldBuilder("v")
    assert not needs_no_versions(make_problem(stencil("both", 1, {"u": u[1,] + v[0,], "v": v[1,]}), (9,), 1))
