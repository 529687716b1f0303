"""pystencils: one generated kernel per statement and buffer parity, OpenMP, fixed sizes, ``-Ofast -march=native``.

Two forms are built, with its own vector intrinsics and with the compiler's vectoriser; the one that is faster in a
short trial competes. Version 1 is used through the same calls where it understands them.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pystencils as ps
import sympy as sp

from case import Array, Buffers, Case
from rivals import UnavailableError
from tilewright.programs.stencil.expression import Apply, Const, Read
from tilewright.programs.stencil.program import Statement

_TRIAL_STEPS = 6
_OPERATORS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
    "neg": lambda a: -a, "pow": lambda a, b: a**b, "sqrt": sp.sqrt, "exp": sp.exp, "log": sp.log, "sin": sp.sin,
    "cos": sp.cos, "tanh": sp.tanh, "abs": sp.Abs, "minimum": sp.Min, "maximum": sp.Max, "floor": sp.floor,
    "lt": sp.Lt, "le": sp.Le, "gt": sp.Gt, "ge": sp.Ge, "eq": sp.Eq, "ne": sp.Ne, "and": sp.And, "or": sp.Or,
    "not": sp.Not, "where": lambda c, a, b: sp.Piecewise((a, c), (b, True)),
}  # fmt: skip
Sweep = tuple[Any, dict[str, Array]]


def _expression(statement: Statement, read: Callable[[Read], Any]) -> Any:  # noqa: ANN401
    values: list[Any] = []
    for node in statement.tape:
        if isinstance(node, Const):
            values.append(sp.Integer(node.value) if isinstance(node.value, int) else sp.Float(node.value, 17))
        elif isinstance(node, Read):
            values.append(read(node))
        elif isinstance(node, Apply):
            values.append(_OPERATORS[node.op](*(values[arg] for arg in node.args)))
    return values[-1]


class Pystencils:
    """Generated kernels, called step by step from Python."""

    def __init__(self, case: Case) -> None:
        if case.problem().program.scalars:
            raise UnavailableError("this benchmark gives pystencils no run-time scalars")
        if int(ps.__version__.partition(".")[0]) < 2:
            raise UnavailableError(f"pystencils 2 is needed, got {ps.__version__}")
        self.case = case
        self.buffers = Buffers(case)
        self.sweeps: dict[bool, list[list[Sweep]]] = {}
        self.form = False

    def prepare(self) -> None:
        """Generate and compile both forms and keep the faster."""
        seconds, compiling = {}, {}
        for vectorised in (True, False):
            begin = time.perf_counter()
            try:
                self.sweeps[vectorised] = [self._step(vectorised, parity) for parity in range(self._period())]
            except Exception as error:
                if not vectorised:
                    raise
                self.note = f"intrinsics: {type(error).__name__}"
                continue
            compiling[vectorised] = time.perf_counter() - begin
            self.form = vectorised
            self._steps(2)
            begin = time.perf_counter()
            self._steps(_TRIAL_STEPS)
            seconds[vectorised] = time.perf_counter() - begin
        self.form = min(seconds, key=seconds.__getitem__)
        self.compile_seconds = compiling[self.form]

    def _period(self) -> int:
        return int(np.lcm.reduce(list(self.buffers.count.values())))

    def _step(self, vectorised: bool, parity: int) -> list[Sweep]:
        program = self.case.problem().program
        return [self._sweep(program.statements[i], vectorised, parity) for stage in program.stages for i in stage]

    def _sweep(self, statement: Statement, vectorised: bool, parity: int) -> Sweep:
        problem = self.case.problem()
        fields: dict[str, Any] = {}
        arrays: dict[str, Array] = {}

        def field(name: str, level: int) -> Any:  # noqa: ANN401
            slot = (parity + level) % self.buffers.count[name]
            label = f"{name}_{level % self.buffers.count[name]}"
            if label not in fields:
                arrays[label] = self.buffers.of[name][slot]
                fields[label] = ps.Field.create_from_numpy_array(label, arrays[label], index_dimensions=0)
            return fields[label]

        value = _expression(statement, lambda node: field(node.field, node.level)[node.offset])
        target = field(statement.field, 1)[(0,) * problem.program.rank]
        config = ps.CreateKernelConfig(
            target=ps.Target.CurrentCPU if vectorised else ps.Target.GenericCPU,
            default_dtype=self.case.dtype,
            iteration_slice=tuple(slice(low, high) for low, high in problem.update_box(statement)),
            skip_independence_check=True,
        )
        config.cpu.openmp.enable = True
        config.cpu.openmp.num_threads = self.case.threads
        if vectorised:
            config.cpu.vectorize.enable = True
            config.cpu.vectorize.assume_inner_stride_one = True
        kernel = ps.create_kernel(ps.Assignment(target, value), config).compile()
        return kernel, arrays

    def _steps(self, steps: int) -> None:
        plan = self.sweeps[self.form]
        for t in range(steps):
            for kernel, arrays in plan[t % len(plan)]:
                kernel(**arrays)

    def run(self) -> float | None:
        """Refill the buffers and run."""
        self.buffers.refill()
        begin = time.perf_counter()
        self._steps(self.case.steps)
        return time.perf_counter() - begin

    def result(self) -> dict[str, Array]:
        """The newest versions."""
        return self.buffers.result()

    def describe(self) -> dict[str, str]:
        """Version and form."""
        form = "its own vector intrinsics" if self.form else "the compiler's vectoriser"
        return {"pystencils": ps.__version__, "form": form, "flags": "-Ofast -fopenmp -march=native"}
