"""CuPy: array expressions as its users write them, and one elementwise kernel per statement, its fastest form.

Both keep their arrays on the device, alternate buffers, and go on from where the last run ended.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rivals import UnavailableError
from rivals.text import Dialect, body
from tilewright.programs.stencil.expression import Const, Read, Scalar
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement
from tilewright.runtime.session import Inputs

FORMS = ("cupy", "cupy-fused")
_READS = {"cupy": 30, "cupy-fused": 60}
"""Most reads of a statement: array expressions take a pass per operation, a kernel has 4 KiB for its arguments."""
_FUNCTIONS = {
    "neg": "-{0}", "pow": "pow({0}, {1})", "minimum": "min({0}, {1})", "maximum": "max({0}, {1})",
    "where": "({0} ? {1} : {2})", "and": "({0} && {1})", "or": "({0} || {1})", "not": "!{0}",
}  # fmt: skip
_NAMES = {
    "sub": "subtract", "mul": "multiply", "div": "divide", "neg": "negative", "pow": "power", "lt": "less",
    "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal", "and": "logical_and",
    "or": "logical_or", "not": "logical_not",
}  # fmt: skip
Array = npt.NDArray[Any]


class Cupy:
    """A program in one of the two forms."""

    def __init__(self, form: str, problem: Problem, given: Inputs, device: int = 0) -> None:
        """Copy the first versions to the device.

        Args:
            form: One of :data:`FORMS`.
            problem: The problem, with fixed boundaries.
            given: Arrays and scalars.
            device: Number of the device.

        Raises:
            ImportError: Without CuPy.
            UnavailableError: If this form does not suit the program.
        """
        import cupy

        known = problem.program
        analysis = known.analysis
        if analysis.sweep:
            raise UnavailableError("a recurrence is no array expression")
        if known.loads > _READS[form]:
            raise UnavailableError(f"{known.loads} reads are more than {_READS[form]}")
        cupy.cuda.Device(device).use()
        self._xp, self._problem, self._scalars = cupy, problem, given.scalars
        self._order = [known.statements[i] for stage in analysis.stages for i in stage]
        self._boxes = {s.field: problem.update_box(s) for s in known.statements}
        self._counts = dict(zip(known.fields, analysis.copies, strict=True))
        self._of: dict[str, list[Any]] = {}
        self.fill(given)
        self._kernels = {s.field: self._kernel(s) for s in self._order} if form == "cupy-fused" else {}

    def fill(self, given: Inputs) -> None:
        """Copy the first versions to the device, in place of what is there."""
        self._of.clear()
        for field, count in self._counts.items():
            self._of[field] = [self._first(field, given.arrays[field], slot, count) for slot in range(count)]
        self._now = 0

    def run(self, steps: int) -> float:
        """Run further steps; the seconds by CuPy's events."""
        begin, end = self._xp.cuda.Event(), self._xp.cuda.Event()
        begin.record()
        for _ in range(steps):
            for statement in self._order:
                self._update(statement)
            self._now += 1
        end.record()
        end.synchronize()
        return float(self._xp.cuda.get_elapsed_time(begin, end)) * 1e-3

    def result(self) -> dict[str, Array]:
        """The newest version of every updated field."""
        updated = self._problem.program.updated
        return {f: self._xp.asnumpy(self._of[f][self._now % len(self._of[f])]) for f in updated}

    def close(self) -> None:
        """Hand the memory back to the device, where other contenders need it."""
        self._of.clear()
        self._xp.get_default_memory_pool().free_all_blocks()

    def _first(self, field: str, given: Sequence[Array], slot: int, count: int) -> Any:  # noqa: ANN401
        """A slot's first version: an older one inside, where the program keeps it, and the newest at the edges."""
        values, age = np.array(given[0]), -slot % count
        if 0 < age < self._problem.program.history(field) and field in self._boxes:
            inside = tuple(slice(*span) for span in self._boxes[field])
            values[inside] = given[min(age, len(given) - 1)][inside]
        return self._xp.asarray(values)

    def _view(self, read: Read, box: tuple[tuple[int, int], ...]) -> Any:  # noqa: ANN401
        slots = self._of[read.field]
        places = tuple(slice(low + o, high + o) for (low, high), o in zip(box, read.offset, strict=True))
        return slots[(self._now + read.level) % len(slots)][places]

    def _update(self, statement: Statement) -> None:
        box = self._boxes[statement.field]
        target = self._view(Read(statement.field, 1, (0,) * len(box)), box)
        if self._kernels:
            reads, kernel = self._kernels[statement.field]
            kernel(*(self._view(read, box) for read in reads), target)
            return
        kind = np.dtype(self._problem.dtype).type
        values: list[Any] = []
        for node in statement.tape:
            if isinstance(node, Const):
                values.append(kind(node.value))
            elif isinstance(node, Read):
                values.append(self._view(node, box))
            elif isinstance(node, Scalar):
                values.append(kind(self._scalars[node.name]))
            else:
                function = getattr(self._xp, _NAMES.get(node.op, node.op))
                values.append(function(*(values[arg] for arg in node.args)))
        target[...] = values[-1]

    def _kernel(self, statement: Statement) -> tuple[tuple[Read, ...], Any]:
        """An elementwise kernel, with what it reads."""
        reads = tuple(dict.fromkeys(node for node in statement.tape if isinstance(node, Read)))
        names = {read: f"r{number}" for number, read in enumerate(reads)}
        dialect = Dialect(
            const=lambda value: f"(T){value!r}",
            read=names.__getitem__,
            scalar=lambda name: f"(T){float(self._scalars[name])!r}",
            apply=lambda op, args: _FUNCTIONS.get(op, op + "({0})").format(*args),
            declare=lambda name, value: f"T {name} = {value};",
        )
        lines, value = body(statement.tape, dialect)
        inputs = ", ".join(f"T {name}" for name in names.values())
        text = " ".join([*lines, f"out = {value};"])
        return reads, self._xp.ElementwiseKernel(inputs, "T out", text, f"step_{statement.field}")
