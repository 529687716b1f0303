"""Weighted sums input by input: which tapes they are, and that the weights are those of the program."""

import numpy as np
import pytest

from tilewright.codegen.emit import emit
from tilewright.codegen.row_linear import weighted_sum
from tilewright.programs.catalogue import program
from tilewright.programs.problem import make_problem
from tilewright.programs.reference import run
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
    problem = make_problem(program("j2d9pt-gol"), (64, 64), 4, "float32")
    tiling = catalogue.complete(problem, parse("streaming:t=2,s=32x64"))
    loose, strict = (emit(problem, tiling, strict=strict).text for strict in (False, True))
    assert " u_1 = " in loose
    assert " u_1 = " not in strict
