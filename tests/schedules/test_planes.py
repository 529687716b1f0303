"""Stars in 3D compute rows of two planes together; what reads rows at several places and two dimensions do not."""

import pytest

from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules.code import planes_together, shares_rows


@pytest.mark.parametrize(
    ("name", "planes", "shared"),
    [
        ("j3d7pt", True, False),
        ("star3d4r", True, False),
        ("wave3d", True, False),
        ("heat3d", False, True),
        ("j3d27pt", False, True),
        ("j2d5pt", False, False),
        ("j2d9pt-gol", False, True),
    ],
)
def test_stars_read_rows_of_several_planes(name, planes, shared):
    [statement] = program(name).statements
    assert (planes_together(statement), shares_rows(statement)) == (planes, shared)


def test_what_reads_one_plane_computes_one():
    u = FieldBuilder("u")
    flat = stencil("flat", 3, {"u": u[0, 0, 0] + u[0, -1, 0] + u[0, 1, 0]})
    deep = stencil("deep", 3, {"u": u[0, 0, 0] + u[-1, 0, 0]})
    assert not planes_together(flat.statements[0])
    assert planes_together(deep.statements[0])


def test_what_reads_nothing_computes_rows_of_one_plane():
    filled = stencil("filled", 3, {"u": 1.0}, fields=("u",))
    assert not planes_together(filled.statements[0])
