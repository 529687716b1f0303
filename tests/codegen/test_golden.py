import re

import pytest

from tilewright.codegen.emit import emit
from tilewright.programs.catalogue import program
from tilewright.programs.problem import make_problem
from tilewright.tilings.tiling import parse

CASES = {
    "jacobi2d_hybrid.c": ("jacobi2d", "hybrid:t=16,s=32x512", "fixed"),
    "gradient2d_none.c": ("gradient2d", "none", "fixed"),
    "jacobi1d_hexagonal_reflect.c": ("jacobi1d", "hexagonal:t=8,s=64", "reflect"),
}


@pytest.mark.parametrize("name", CASES)
def test_emitted_text(name, golden):
    what, tiling, boundary = CASES[name]
    chosen = program(what)
    problem = make_problem(chosen, (64,) * chosen.rank, 10, boundary=boundary)
    source = emit(problem, parse(tiling))
    # The entry's name ends with a fingerprint, which changes with the data model.
    golden(name, re.sub(rf"{source.entry}", f"tw_{what}", source.text))
