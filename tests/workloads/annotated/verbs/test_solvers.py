"""A whole iteration of conjugate gradients and a FormFunction as annotated C: tuned, compiled, and used."""

import ctypes
from pathlib import Path

import numpy as np
from tests.workloads.annotated.compiled import library, pointers

import tilewright as tw
from bratu import Bratu
from tilewright.workloads.annotated.verbs.annotate import annotate

EXAMPLES = Path(__file__).parents[4] / "examples" / "annotated"


def tuned(name, sizes, folder):
    """Tune an example at a size; return its function from the new file."""
    out = folder / f"{name}.c"
    result = annotate(
        EXAMPLES / f"{name}.c", out=out, sizes=sizes, runs=2, repeats=1, seconds=300, search="Randomsearch", seed=4
    )
    (size,) = result.to_dict()["regions"][0]["results"]
    assert size["outcomes"] == {"ok": 2}, size["failures"]
    assert size["validated"]
    return getattr(library(out, "-O2"), name)


def test_the_tuned_iteration_solves_a_system(tmp_path):
    m = n = 12
    iteration = tuned("cg_iteration", {"m": m, "n": n}, tmp_path)
    rows = m * n
    matrix = tw.sparse.from_stencil(
        tw.stencil(lambda u: 4 * u[0, 0] - u[-1, 0] - u[1, 0] - u[0, -1] - u[0, 1]), (n, m)
    ).to_scipy("csr")
    diagonals = np.zeros((5, rows))
    for number, offset in enumerate((-m, -1, 0, 1, m)):
        values = matrix.diagonal(offset)
        diagonals[number, max(0, -offset) : max(0, -offset) + values.size] = values
    b = np.random.default_rng(1).random(rows)
    x, q, r, p = np.zeros(rows), np.zeros(rows), b.copy(), b.copy()
    square = np.array([r @ r])
    first, count = square[0], 0
    while square[0] > 1e-20 * first:
        iteration(m, n, *pointers((diagonals, x, r, p, q, square)))
        count += 1
        assert count < 100
    np.testing.assert_allclose(matrix @ x, b, rtol=1e-8)
    assert 10 < count < 60


def test_the_tuned_function_is_that_of_the_example(tmp_path):
    function = tuned("bratu_ex5", {"Mx": 24, "My": 24}, tmp_path)
    problem = Bratu(shape=(24, 24))
    for rows, columns in ((24, 24), (9, 17)):  # the size that it was tuned at, and another one
        problem = Bratu(shape=(rows, columns))
        x = np.random.default_rng(2).random((rows, columns))
        f = np.empty_like(x)
        function(columns, rows, ctypes.c_double(problem.parameter), *pointers((x, f)))
        np.testing.assert_allclose(f, problem.reference(x), rtol=1e-12, atol=1e-13)
