"""CUDA as a textbook has it: a thread per cell, blocks of 32 x 8, one launch per statement and step, arrays in turn.

Compiled by NVRTC with its defaults and started by cuda.core, in none of this package's ways.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rivals import UnavailableError
from rivals.text import AXES, Dialect, body, shifted
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement
from tilewright.runtime.session import Inputs

BLOCKS = {1: (256,), 2: (32, 8), 3: (32, 8, 1)}
"""Threads of a block by the rank of the grid, the last axis first."""
_CALLS = {
    "neg": "-{0}", "minimum": "({0} < {1} ? {0} : {1})", "maximum": "({0} > {1} ? {0} : {1})",
    "where": "({0} ? {1} : {2})", "and": "({0} && {1})", "or": "({0} || {1})", "not": "!{0}",
    "abs": "({0} < 0 ? -{0} : {0})",
}  # fmt: skip
Array = npt.NDArray[Any]


def source(problem: Problem) -> str:
    """Write a kernel per statement: ``step0`` and so on, after the extents the target and what :func:`reads` lists."""
    real, index = "float" if problem.dtype == "float32" else "double", "long long" if problem.cells >= 2**31 else "int"
    extents = ", ".join(f"{index} n{axis}" for axis in range(problem.program.rank))
    text = ""
    for number, statement in enumerate(problem.program.statements):
        arrays = "".join(f", const {real} *{_name(read)}" for read in reads(statement))
        scalars = "".join(f", {real} {name}" for name in problem.program.scalars)
        dialect = Dialect(
            const=lambda value: f"({real}){value!r}",
            read=lambda read: f"{_name(_base(read))}[{_cell(read.offset)}]",
            scalar=str,
            apply=lambda op, args: _CALLS.get(op, op + "(" + ", ".join(args) + ")").format(*args),
            declare=lambda name, value: f"{real} {name} = {value};",
        )
        lines, result = body(statement.tape, dialect)
        box, shape = problem.update_box(statement), problem.shape
        places = [
            f"{index} {name} = blockIdx.{letter} * ({index})blockDim.{letter} + threadIdx.{letter} + {low};"
            for name, letter, (low, _) in zip(reversed(AXES[: len(box)]), "xyz", reversed(box), strict=False)
        ]
        outside = " || ".join(
            f"{name} >= n{axis} - {shape[axis] - high}"
            for axis, (name, (_, high)) in enumerate(zip(AXES, box, strict=False))
        )
        inner = "\n  ".join([*places, f"if ({outside}) return;", *lines])
        target = f"target[{_cell((0,) * len(box))}] = {result};"
        text += (
            f'extern "C" __global__ void step{number}({extents}, {real} *target{arrays}{scalars}) {{\n'
            f"  {inner}\n  {target}\n}}\n"
        )
    return text


def reads(statement: Statement) -> tuple[Read, ...]:
    """The arrays that a statement reads: fields with time levels, at offset 0."""
    return tuple(dict.fromkeys(_base(node) for node in statement.tape if isinstance(node, Read)))


def _base(read: Read) -> Read:
    return Read(read.field, read.level, (0,) * len(read.offset))


def _name(read: Read) -> str:
    return f"{read.field}_{read.level}".replace("-", "m")


def _cell(offset: Sequence[int]) -> str:
    index = f"({shifted(0, offset[0])})"
    for axis in range(1, len(offset)):
        index = f"({index} * n{axis} + {shifted(axis, offset[axis])})"
    return index


class Textbook:
    """A program in such kernels."""

    def __init__(self, device: Any, problem: Problem, given: Inputs) -> None:  # noqa: ANN401
        """Compile the kernels and copy the first versions to the device.

        Args:
            device: A device of the backend cuda.
            problem: The problem, with fixed boundaries.
            given: Arrays and scalars.

        Raises:
            UnavailableError: If a recurrence is asked for.
        """
        from tilewright.runtime.devices import cuda, nvrtc

        analysis = problem.program.analysis
        if analysis.sweep:
            raise UnavailableError("a recurrence has no thread per cell")
        self._core, self._device, self._problem = cuda.library().core, device, problem
        self._order = [i for stage in analysis.stages for i in stage]
        self._counts = dict(zip(problem.program.fields, analysis.copies, strict=True))
        code = nvrtc.compile_cuda(source(problem), device.architecture)
        with device.current():
            self._module = self._core.ObjectCode.from_cubin(code.cubin)
            self._kernels = [self._module.get_kernel(f"step{i}") for i in range(len(problem.program.statements))]
        kind = np.dtype(problem.dtype).type
        self._scalars = [kind(given.scalars[name]) for name in problem.program.scalars]
        self._of: dict[str, list[Any]] = {}
        try:
            for field, count in self._counts.items():
                self._of[field] = []
                for _ in range(count):
                    self._of[field].append(device.allocate(problem.cells * problem.itemsize))
            self.fill(given)
        except BaseException:
            self.close()
            raise

    def fill(self, given: Inputs) -> None:
        """Copy the first versions to the device, in place of what is there."""
        boxes = {s.field: tuple(slice(*span) for span in self._problem.update_box(s)) for s in self._statements}
        for field, count in self._counts.items():
            for slot in range(count):
                values, age = np.array(given.arrays[field][0]), -slot % count
                if 0 < age < self._problem.program.history(field) and field in boxes:
                    older = given.arrays[field][min(age, len(given.arrays[field]) - 1)]
                    values[boxes[field]] = older[boxes[field]]
                self._device.write(self._of[field][slot], 0, values)
        self._now = 0

    def run(self, steps: int) -> float:
        """Run further steps; the seconds by the device's events."""
        return float(self._device.timed(lambda: self._steps(steps)))

    def result(self) -> dict[str, Array]:
        """The newest version of every updated field."""
        found = {}
        for field in self._problem.program.updated:
            found[field] = np.empty(self._problem.shape, self._problem.dtype)
            self._device.read(self._at(field, 0), 0, found[field])
        return found

    def close(self) -> None:
        """Hand the memory back."""
        for buffers in self._of.values():
            while buffers:
                self._device.release(buffers.pop())

    @property
    def _statements(self) -> tuple[Statement, ...]:
        return self._problem.program.statements

    def _at(self, field: str, level: int) -> Any:  # noqa: ANN401
        return self._of[field][(self._now + level) % self._counts[field]]

    def _steps(self, steps: int) -> None:
        index = np.int64 if self._problem.cells >= 2**31 else np.int32
        shape = [index(extent) for extent in self._problem.shape]
        calls = []
        for number in self._order:
            box = self._problem.update_box(self._statements[number])
            cells = [max(0, high - low) for low, high in reversed(box)]
            block = BLOCKS[len(cells)]
            groups = tuple(-(-each // threads) for each, threads in zip(cells, block, strict=True))
            config = self._core.LaunchConfig(grid=groups, block=block)
            calls.append((self._statements[number], self._kernels[number], config))
        with self._device.current():
            for _ in range(steps):
                for statement, kernel, config in calls:
                    arrays = [self._at(statement.field, 1), *(self._at(r.field, r.level) for r in reads(statement))]
                    self._core.launch(self._device.stream, config, kernel, *shape, *arrays, *self._scalars)
                self._now += 1
