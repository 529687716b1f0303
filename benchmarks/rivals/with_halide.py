"""Halide: one pipeline per statement, compiled just in time, vectorised and parallel, called step by step.

A plain sweep per step, as its users write iterated stencils; of some schedules the one that is fastest in a short trial
competes.
"""

import importlib.metadata
import time
from collections.abc import Callable
from typing import Any

import halide as hl
import numpy as np

from case import Array, Buffers, Case
from rivals import UnavailableError
from tilewright.programs.stencil.expression import Const, Read
from tilewright.programs.stencil.program import Statement

_TRIAL_STEPS = 6
_ROWS = (4, 16, 64)
"""Rows (planes in 3D) that a thread takes at a time."""
_BLOCK = 16384
"""Cells of one dimension that a thread takes at a time."""
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a, "pow": hl.pow, "sqrt": hl.sqrt, "exp": hl.exp, "log": hl.log, "sin": hl.sin, "cos": hl.cos,
    "tanh": hl.tanh, "abs": hl.abs, "minimum": hl.min, "maximum": hl.max, "floor": hl.floor,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
    "not": lambda a: ~a, "where": hl.select,
}  # fmt: skip


class _Sweep:
    """The pipeline of one statement.

    By default Halide moves the last block of a loop inwards and computes some cells twice, which is wrong where a field
    is updated in place.
    """

    def __init__(self, statement: Statement, rank: int, dtype: str, rows: int, *, in_place: bool) -> None:
        self.statement = statement
        tail = hl.TailStrategy.GuardWithIf if in_place else hl.TailStrategy.Auto
        self.kind = hl.Float(32 if dtype == "float32" else 64)
        axes = [hl.Var(name) for name in ("x", "y", "z")[:rank]]
        literal = hl.f32 if dtype == "float32" else hl.f64
        self.inputs: dict[tuple[str, int], Any] = {}
        values: list[Any] = []
        for node in statement.tape:
            if isinstance(node, Const):
                values.append(literal(float(node.value)))
            elif isinstance(node, Read):
                places = [axis + int(o) for axis, o in zip(axes, reversed(node.offset), strict=True)]
                values.append(self._input(node, rank)[tuple(places)])
            else:
                values.append(_OPERATORS[node.op](*(values[arg] for arg in node.args)))
        self.target = hl.Func("sweep")
        self.target[tuple(axes)] = values[-1]
        lanes = 16 if dtype == "float32" else 8
        if rank == 1:
            inner = hl.Var("inner")
            self.target.split(axes[0], axes[0], inner, _BLOCK, tail).vectorize(inner, lanes, tail).parallel(axes[0])
        else:
            self.target.vectorize(axes[0], lanes, tail).parallel(axes[-1], rows, tail)
        self.target.compile_jit()

    def _input(self, read: Read, rank: int) -> Any:  # noqa: ANN401
        key = (read.field, read.level)
        if key not in self.inputs:
            self.inputs[key] = hl.ImageParam(self.kind, rank)
        return self.inputs[key]


class Halide:
    """The pipelines over ping-pong buffers."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.problem = case.problem()
        if self.problem.program.scalars:
            raise UnavailableError("this benchmark gives Halide no run-time scalars")
        self.buffers = Buffers(case)
        self.whole = {field: [hl.Buffer(array) for array in group] for field, group in self.buffers.of.items()}

    def prepare(self) -> None:
        """Compile every schedule and keep the fastest."""
        program = self.problem.program
        order = [program.statements[i] for stage in program.stages for i in stage]
        boxes = [self.problem.update_box(statement) for statement in order]
        least = min(high - low for (low, high), *_ in boxes)  # Halide reads outside where a block is longer than this
        choices = [rows for rows in _ROWS if rows <= least] if program.rank > 1 else [0]
        seconds, compiling, found = {}, {}, {}
        for rows in choices:
            begin = time.perf_counter()
            found[rows] = [
                _Sweep(one, program.rank, self.case.dtype, rows, in_place=self.buffers.count[one.field] == 1)
                for one in order
            ]
            compiling[rows] = time.perf_counter() - begin
            self.sweeps = found[rows]
            self.targets = [self._targets(sweep.statement) for sweep in self.sweeps]
            self._steps(2)
            begin = time.perf_counter()
            self._steps(_TRIAL_STEPS)
            seconds[rows] = time.perf_counter() - begin
        self.rows = min(seconds, key=seconds.__getitem__)
        self.sweeps, self.compile_seconds = found[self.rows], compiling[self.rows]

    def _targets(self, statement: Statement) -> list[Any]:
        """The updated box of every buffer of a field, in the grid's coordinates."""
        box = self.problem.update_box(statement)
        inside = tuple(slice(low, high) for low, high in box)
        targets = []
        for array in self.buffers.of[statement.field]:
            part = hl.Buffer(array[inside])
            part.set_min([low for low, _ in reversed(box)])
            targets.append(part)
        return targets

    def _steps(self, steps: int) -> None:
        count = self.buffers.count
        for t in range(steps):
            for sweep, targets in zip(self.sweeps, self.targets, strict=True):
                for (field, level), parameter in sweep.inputs.items():
                    parameter.set(self.whole[field][(t + level) % count[field]])
                sweep.target.realize(targets[(t + 1) % count[sweep.statement.field]])

    def run(self) -> float | None:
        """Refill the buffers and run."""
        self.buffers.refill()
        begin = time.perf_counter()
        self._steps(self.case.steps)
        return time.perf_counter() - begin

    def result(self) -> dict[str, Array]:
        """The newest versions."""
        return {field: np.asarray(array) for field, array in self.buffers.result().items()}

    def describe(self) -> dict[str, str]:
        """Version and schedule."""
        schedule = f"vectorised, parallel over {self.rows} rows at a time" if self.rows else f"blocks of {_BLOCK}"
        return {"halide": importlib.metadata.version("halide"), "schedule": schedule}
