"""NumPy: one expression of whole slices per statement, as its users write stencils; ping-pong buffers, one thread."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from case import Array, Buffers, Case
from tilewright.programs.stencil.expression import Const, Read
from tilewright.programs.stencil.program import Statement

OPERATORS: dict[str, Callable[..., Any]] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "neg": np.negative, "pow": np.power,
    "sqrt": np.sqrt, "exp": np.exp, "log": np.log, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "abs": np.abs,
    "minimum": np.minimum, "maximum": np.maximum, "floor": np.floor, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal, "and": np.logical_and,
    "or": np.logical_or, "not": np.logical_not, "where": np.where,
}  # fmt: skip


class Numpy:
    """The slices."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.problem = case.problem()
        self.buffers = Buffers(case)

    def prepare(self) -> None:
        """Nothing is compiled."""
        program = self.problem.program
        self.order = [program.statements[i] for stage in program.stages for i in stage]
        self.boxes = [self.problem.update_box(statement) for statement in self.order]

    def run(self) -> float | None:
        """Refill the buffers and run."""
        self.buffers.refill()
        begin = time.perf_counter()
        for t in range(self.case.steps):
            for statement, box in zip(self.order, self.boxes, strict=True):
                self._update(statement, box, t)
        return time.perf_counter() - begin

    def _update(self, statement: Statement, box: tuple[tuple[int, int], ...], t: int) -> None:
        values: list[Any] = []
        kind = np.dtype(self.case.dtype).type
        for node in statement.tape:
            if isinstance(node, Const):
                values.append(kind(node.value))
            elif isinstance(node, Read):
                values.append(self._view(node, box, t))
            else:
                values.append(OPERATORS[node.op](*(values[arg] for arg in node.args)))
        centre = Read(statement.field, 1, (0,) * len(box))
        self._view(centre, box, t)[...] = values[-1]

    def _view(self, read: Read, box: tuple[tuple[int, int], ...], t: int) -> Array:
        count = self.buffers.count[read.field]
        places = tuple(slice(low + o, high + o) for (low, high), o in zip(box, read.offset, strict=True))
        return self.buffers.of[read.field][(t + read.level) % count][places]

    def result(self) -> dict[str, Array]:
        """The newest versions."""
        return self.buffers.result()

    def describe(self) -> dict[str, str]:
        """Version."""
        return {"numpy": np.__version__, "threads": "1: NumPy's arithmetic has no threads"}
