"""A backend of py-pde (package ``pde``): copy this file, ``import pypde_backend``, then ``backend="tilewright"``.

Needs ``pip install tilewright "py-pde>=0.60"``.

Explicit Euler runs with a fixed step on Cartesian grids, of ``DiffusionPDE`` and of ``PDE`` with expressions of fields,
constants, coordinates, time and the operators ``laplace``, ``gradient_squared``, ``d_dx`` and ``d2_dx2`` (and so on
per axis), are one stencil each, computed many steps at a time. Everything else is py-pde's own backend ``numpy``, which
this one extends; a warning of the logger ``tilewright`` says so.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from pde import PDE, CartesianGrid, DiffusionPDE, EulerSolver, FieldCollection, ScalarField, UnitGrid
from pde.backends import backend_registry
from pde.backends.numpy.backend import NumpyBackend
from pde.grids.boundaries.axis import BoundaryPeriodic
from pde.grids.boundaries.local import DirichletBC, MixedBC, NeumannBC

from tilewright.base.errors import TilewrightError, UsageError
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.differences import diff, laplacian
from tilewright.programs.stencil.expression import Const, Scalar, Value, apply, as_value
from tilewright.programs.stencil.program import STEP, FieldBuilder, stencil
from tilewright.verbs import operators
from tilewright.verbs.running.run import run

_LOGGER = logging.getLogger("tilewright")
_FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "Abs": operators.abs, "sign": operators.sign, "exp": operators.exp, "log": operators.log, "sin": operators.sin,
    "cos": operators.cos, "tan": operators.tan, "tanh": operators.tanh, "atan2": operators.atan2,
    "Max": operators.maximum, "Min": operators.minimum,
}  # fmt: skip
_START = "t_start"


class TilewrightBackend(NumpyBackend):  # type: ignore[misc]
    """py-pde's NumPy backend with compiled steps where they are stencils."""

    implementation = "tilewright"

    def make_stepper(self, solver: Any, state: Any) -> Any:
        """Return what advances a state, as py-pde asks for it."""
        try:
            stepper = _Stepper(solver, state)
        except TilewrightError as error:
            _LOGGER.warning("py-pde's numpy backend computes this: %s", error)
            return super().make_stepper(solver, state)
        return stepper.advance


class _Stepper:
    """A stencil that is one step of explicit Euler."""

    def __init__(self, solver: Any, state: Any) -> None:
        pde = solver.pde
        if type(solver) is not EulerSolver or solver.adaptive or getattr(pde, "is_sde", False):
            raise UsageError("only explicit Euler with a fixed step and without noise is compiled")
        if getattr(pde, "post_step_hook", None) is not None or type(pde) not in (DiffusionPDE, PDE):
            raise UsageError(f"only DiffusionPDE and PDE without a hook are compiled, got {type(pde).__name__}")
        grid = state.grid
        if type(grid) not in (CartesianGrid, UnitGrid):
            raise UsageError(f"only Cartesian grids are compiled, got {type(grid).__name__}")
        fields = list(state) if isinstance(state, FieldCollection) else [state]
        if not all(isinstance(field, ScalarField) for field in fields):
            raise UsageError("only scalar fields are compiled")
        self._solver, self._step = solver, float(solver.info["dt"])
        rates, names, conditions = _rates(pde, grid, len(fields), self._step)
        values = {name: FieldBuilder(name)[(0,) * grid.num_axes] + self._step * rate for name, rate in rates.items()}
        self._program = stencil("pde", grid.num_axes, values, fields=names)
        self._boundary = _boundaries(grid, conditions)
        self._scalars = {name: 0.0 for name in self._program.scalars if name == _START}

    def advance(self, state: Any, t_start: float, t_end: float) -> float:
        """Advance a state in place; return the time that was reached."""
        steps = max(1, round((t_end - t_start) / self._step))
        given = list(state.data) if isinstance(state, FieldCollection) else [state.data]
        scalars: dict[str, Any] = {name: float(t_start) for name in self._scalars}
        found = run(self._program, *given, steps=steps, boundary=self._boundary, **scalars)
        for target, values in zip(given, found if isinstance(found, tuple) else (found,), strict=True):
            target[...] = values
        self._solver.info["steps"] += steps
        return t_start + steps * self._step


def _rates(pde: Any, grid: Any, count: int, step: float) -> tuple[dict[str, Value], tuple[str, ...], Any]:
    """Return the right-hand side per field, the fields' names, and the conditions at the boundary."""
    if isinstance(pde, DiffusionPDE):
        reader = _Reader(grid, ("c",), {}, step)
        return {"c": float(pde.diffusivity) * reader.laplace(reader.names["c"])}, ("c",), pde.bc
    names = tuple(pde.variables)
    if len(names) != count:
        raise UsageError(f"the equation has {len(names)} fields, the state {count}")
    conditions = [spec for specs in pde.bcs.values() for spec in (specs if isinstance(specs, list) else [specs])]
    if any(spec != conditions[0] for spec in conditions):
        raise UsageError("conditions that differ between operators or fields are not compiled")
    reader = _Reader(grid, names, pde.consts, step)
    rates = {name: reader.value(pde._rhs_expr[name]._sympy_expr) for name in names}  # noqa: SLF001
    return rates, names, conditions[0]


class _Reader:
    """Turns SymPy's expressions into those of a stencil."""

    def __init__(self, grid: Any, fields: tuple[str, ...], constants: Mapping[str, Any], step: float) -> None:
        self.grid, self.rank = grid, grid.num_axes
        centre = (0,) * self.rank
        self.names: dict[str, Value] = {name: as_value(FieldBuilder(name)[centre]) for name in fields}
        for axis, name in enumerate(grid.axes):
            low, width = grid.axes_bounds[axis][0], grid.discretization[axis]
            self.names[name] = low + width * (operators.index(axis) + 0.5)
        for name, constant in constants.items():
            if np.ndim(constant) == 0 and isinstance(constant, int | float | complex | np.number | np.ndarray):
                self.names[name] = as_value(np.asarray(constant).item())
        self.names.setdefault("t", Value(Scalar(_START)) + step * Value(Scalar(STEP)))

    def laplace(self, value: Value) -> Value:
        """Second order, as py-pde has it."""
        return laplacian(value, spacing=tuple(map(float, self.grid.discretization)))

    def operator(self, name: str, value: Value) -> Value | None:
        """Return one of py-pde's differential operators; None if it is another function."""
        width = self.grid.discretization
        if name == "laplace":
            return self.laplace(value)
        if name == "gradient_squared":
            total: Value | None = None
            for axis in range(self.rank):
                each = diff(value, axis, spacing=float(width[axis]))
                total = each * each if total is None else total + each * each
            return total
        for axis, letter in enumerate(self.grid.axes):
            if name == f"d_d{letter}":
                return diff(value, axis, spacing=float(width[axis]))
            if name == f"d2_d{letter}2":
                return diff(value, axis, derivative=2, spacing=float(width[axis]))
        return None

    def value(self, node: Any) -> Value:
        """Return an expression."""
        if node.is_Symbol:
            if node.name in self.names:
                return self.names[node.name]
            raise UsageError(f"the symbol {node.name!r} is no field, constant or coordinate that is compiled")
        if node.is_number and not node.free_symbols and not node.is_Function:
            number = complex(node)
            return as_value(number if number.imag else number.real)
        name = type(node).__name__ if not hasattr(node, "name") else str(node.name)
        if node.is_Function and len(node.args) == 1:
            inner = node.args[0]
            found = self.operator(name, self.value(inner))
            if found is not None:
                if not inner.is_Symbol or inner.name not in self.names:
                    self._check_periodic(name)
                return found
        args = [self.value(each) for each in node.args]
        if node.is_Add or node.is_Mul:
            total = args[0]
            for each in args[1:]:
                total = apply("add" if node.is_Add else "mul", total, each)
            return total
        if node.is_Pow:
            exponent = node.args[1]
            return args[0] ** int(exponent) if exponent.is_Integer and int(exponent) > 0 else _power(*args)
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](*args)
        raise UsageError(f"the function {name!r} is not compiled")

    def _check_periodic(self, name: str) -> None:
        if not all(self.grid.periodic):
            raise UsageError(f"{name!r} of an expression has conditions of its own, which are compiled where axes wrap")


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(exponent.op, Const):
        if exponent.op.value == 0.5:
            return apply("sqrt", base)
        if exponent.op.value == -1:
            return apply("div", 1.0, base)
    return apply("pow", base, exponent)


def _boundaries(grid: Any, conditions: Any) -> Any:
    """Return what py-pde's conditions are here, where lengths are counted in cells."""
    found: list[Any] = []
    for axis, pair in enumerate(grid.get_boundary_conditions(conditions, rank=0)):
        if isinstance(pair, BoundaryPeriodic):
            if getattr(pair.low, "flip_sign", False):
                raise UsageError("axes that wrap with the other sign are not compiled")
            found.append("wrap")
            continue
        width = float(grid.discretization[axis])
        found.append((_side(pair.low, axis, width, grid.num_axes), _side(pair.high, axis, width, grid.num_axes)))
    return tuple(found)


def _side(condition: Any, axis: int, width: float, rank: int) -> Boundary:
    value = np.asarray(condition.value)
    along: Any = value.item() if value.ndim == 0 else np.expand_dims(value, axis)
    if value.ndim not in {0, rank - 1}:
        raise UsageError("conditions with values of a tensor are not compiled")
    if type(condition) is DirichletBC:
        return Boundary("dirichlet", along)
    if type(condition) is NeumannBC:
        return Boundary("neumann", along * width)
    if type(condition) is MixedBC and value.ndim == 0 and np.ndim(condition.const) == 0:
        return Boundary("robin", float(condition.const) * width, factor=along * width)
    raise UsageError(f"conditions of the kind {type(condition).__name__} are not compiled")


backend_registry.register_package("tilewright", __name__)
backend_registry.register_class("tilewright", TilewrightBackend)
