"""Devito: one operator for all time steps, OpenMP, its default optimisations (loop blocking and vectorisation).

Its block sizes are chosen by its own autotuner before anything is timed.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import sympy as sp

os.environ.setdefault("DEVITO_LANGUAGE", "openmp")
os.environ.setdefault("DEVITO_LOGGING", "ERROR")

import devito as dv

from case import Array, Case, initial
from rivals import UnavailableError
from tilewright.programs.stencil import reference
from tilewright.programs.stencil.expression import Const, Read
from tilewright.programs.stencil.program import Statement

_AXES = ("x", "y", "z")
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a, "sqrt": dv.sqrt, "exp": dv.exp, "log": dv.log, "sin": dv.sin, "cos": dv.cos, "abs": dv.Abs,
    "minimum": dv.Min, "maximum": dv.Max, "floor": dv.floor, "tanh": dv.tanh,
    "pow": lambda a, b: a**b,
}  # fmt: skip


class Devito:
    """The operator."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.problem = case.problem()
        program = self.problem.program
        boxes = {self.problem.update_box(statement) for statement in program.statements}
        if len(boxes) > 1:
            raise UnavailableError("this benchmark gives Devito one box of updated cells")
        if program.scalars:
            raise UnavailableError("this benchmark gives Devito no run-time scalars")
        (self.box,) = boxes
        self.start = reference.start(self.problem, initial(case))
        reach = max(1, *(max(pair) for pair in program.reach))
        self.grid = dv.Grid(shape=case.shape, dtype=np.dtype(case.dtype).type)
        self.fields: dict[str, Any] = {}
        for field in program.fields:
            if field in program.updated:
                order = max(1, program.history(field))
                self.fields[field] = dv.TimeFunction(
                    name=field, grid=self.grid, time_order=order, space_order=2 * reach
                )
            else:
                self.fields[field] = dv.Function(name=field, grid=self.grid, space_order=2 * reach)
                self.fields[field].data[...] = self.start[field][0]
        self.refill()

    def refill(self) -> None:
        """Copy the initial versions in; older buffers get the cells that are never updated."""
        for field in self.problem.program.updated:
            data = self.fields[field].data
            for slot in range(data.shape[0]):
                data[slot] = self.start[field][0]
            for age, version in enumerate(self.start[field]):
                data[-age % data.shape[0]] = version

    def prepare(self) -> None:
        """Generate and compile the operator, and tune its blocks."""
        program = self.problem.program
        equations = []
        for stage in program.stages:
            for i in stage:
                statement = program.statements[i]
                centre = Read(statement.field, 1, (0,) * program.rank)
                equations.append(dv.Eq(self._access(centre), self._value(statement)))
        self.operator = dv.Operator(equations)
        begin = time.perf_counter()
        self._apply(4, autotune="aggressive")
        self.compile_seconds = time.perf_counter() - begin
        self.refill()

    def _value(self, statement: Statement) -> Any:  # noqa: ANN401
        values: list[Any] = []
        for node in statement.tape:
            if isinstance(node, Const):
                values.append(sp.Float(node.value, 17))
            elif isinstance(node, Read):
                values.append(self._access(node))
            elif node.op in _OPERATORS:
                values.append(_OPERATORS[node.op](*(values[arg] for arg in node.args)))
            else:
                raise UnavailableError(f"this benchmark does not write {node.op!r} for Devito")
        return values[-1]

    def _access(self, read: Read) -> Any:  # noqa: ANN401
        function = self.fields[read.field]
        places = [axis + offset for axis, offset in zip(self.grid.dimensions, read.offset, strict=True)]
        if read.field in self.problem.program.updated:
            places = [self.grid.stepping_dim + read.level, *places]
        return function[tuple(places)]

    def _apply(self, steps: int, **options: str) -> None:
        bounds = {}
        for name, (low, high) in zip(_AXES, self.box, strict=False):
            bounds |= {f"{name}_m": low, f"{name}_M": high - 1}
        self.operator.apply(time_m=0, time_M=steps - 1, nthreads=self.case.threads, **bounds, **options)

    def run(self) -> float | None:
        """Refill the buffers and run."""
        self.refill()
        begin = time.perf_counter()
        self._apply(self.case.steps)
        return time.perf_counter() - begin

    def result(self) -> dict[str, Array]:
        """The newest versions."""
        found = {}
        for field in self.problem.program.updated:
            data = self.fields[field].data
            found[field] = np.array(data[self.case.steps % data.shape[0]])
        return found

    def describe(self) -> dict[str, str]:
        """Version and options."""
        return {"devito": dv.__version__, "language": str(dv.configuration["language"]), "autotune": "aggressive"}
