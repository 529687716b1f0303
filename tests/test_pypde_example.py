"""The backend of py-pde computes what py-pde's own NumPy backend computes."""

import importlib
import logging

import numpy as np
import pytest

pde = pytest.importorskip("pde")
importlib.import_module("examples.pypde_backend")  # registers the backend

GRID = pde.CartesianGrid([[0, 4], [0, 6]], [24, 32], periodic=[False, True])
PERIODIC = pde.UnitGrid([24, 24], periodic=True)
DRAW = np.random.default_rng(0)
U, V = (pde.ScalarField(GRID, DRAW.random(GRID.shape)) for _ in range(2))
EXPRESSIONS = {
    "u": "D * laplace(u) + a * u - 0.1 * gradient_squared(u) + x * sin(t) + d_dx(u) + d2_dy2(u) * v",
    "v": "u * v - v**3 + sqrt(abs(v))",
}
CASES = {
    "values and derivatives": (
        pde.DiffusionPDE(0.3, bc={"x-": {"value": 1}, "x+": {"derivative": 0.5}, "y": "periodic"}), U,
    ),
    "mixed": (pde.DiffusionPDE(0.3, bc={"x": {"type": "mixed", "value": 2, "const": 0.3}, "y": "periodic"}), U),
    "along a side": (pde.DiffusionPDE(0.3, bc={"x-": {"value": "sin(y)"}, "x+": "derivative", "y": "periodic"}), U),
    "expressions": (
        pde.PDE(EXPRESSIONS, consts={"D": 0.2, "a": 0.3}, bc="auto_periodic_neumann"), pde.FieldCollection([U, V]),
    ),
    "of an expression": (
        pde.PDE({"c": "laplace(c**3 - c - laplace(c))"}, bc="periodic"),
        pde.ScalarField(PERIODIC, 0.1 * DRAW.random(PERIODIC.shape)),
    ),
}  # fmt: skip


def solved(equation, state, backend):
    options = {"t_range": 0.05, "dt": 1e-3, "solver": "euler", "adaptive": False, "tracker": None}
    return equation.solve(state, backend=backend, **options)


@pytest.mark.parametrize("name", CASES)
def test_equations_that_are_stencils(name, caplog):
    equation, state = CASES[name]
    with caplog.at_level(logging.WARNING, "tilewright"):
        found = solved(equation, state, "tilewright")
    assert not caplog.records
    expected = solved(equation, state, "numpy")
    assert np.abs(found.data - state.data).max() > 1e-3
    np.testing.assert_allclose(found.data, expected.data, rtol=1e-12, atol=1e-13)


def test_others_are_computed_by_numpy_and_said(caplog):
    state = pde.ScalarField(PERIODIC, 0.1 * DRAW.random(PERIODIC.shape))
    with caplog.at_level(logging.WARNING, "tilewright"):
        found = solved(pde.AllenCahnPDE(), state, "tilewright")
    assert "only DiffusionPDE and PDE without a hook are compiled, got AllenCahnPDE" in caplog.text
    np.testing.assert_array_equal(found.data, solved(pde.AllenCahnPDE(), state, "numpy").data)
