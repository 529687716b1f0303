"""Numba: one parallel, fast-math, compiled function per program, ping-pong buffers, the time loop inside."""

import importlib.util
import tempfile
import time
from pathlib import Path

import numba

from case import Array, Buffers, Case, slots
from rivals.text import AXES, Dialect, body, shifted
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement

BLOCK = 8192
"""Cells of one dimension that a thread takes at a time: a parallel loop over single cells does not vectorise."""


def source(problem: Problem) -> str:
    """Write a Python module with one function per statement and ``run``, which holds the time loop."""
    program = problem.program
    counts = slots(program)
    head = ["import math", "import numba", "import numpy as np", f"real = np.{problem.dtype}"]
    loop = ["@numba.njit(fastmath=True, nogil=True)", f"def run(steps, {', '.join(program.fields)}):"]
    loop.append("    for t in range(steps):")
    parts: list[str] = []
    literals: dict[str, str] = {}
    for stage in program.stages:
        for i in stage:
            statement = program.statements[i]
            views = _views(statement, counts)
            parts += _function(problem, i, statement, views, literals)
            arguments = (f"{field}[(t + {slot}) % {counts[field]}]" for field, slot in views)
            loop.append(f"        statement{i}({', '.join(arguments)})")
    head += [f"{name} = real({value})" for value, name in literals.items()]
    return "\n".join([*head, *parts, *loop]) + "\n"


def _views(statement: Statement, counts: dict[str, int]) -> list[tuple[str, int]]:
    pairs = [(statement.field, 1 % counts[statement.field])]
    pairs += [(read.field, read.level % counts[read.field]) for read in statement.reads]
    return list(dict.fromkeys(pairs))


def _function(
    problem: Problem, number: int, statement: Statement, views: list[tuple[str, int]], literals: dict[str, str]
) -> list[str]:
    rank = problem.program.rank
    counts = slots(problem.program)

    def at(node: Read) -> str:
        index = ", ".join(shifted(axis, offset) for axis, offset in enumerate(node.offset))
        return f"{node.field}_{node.level % counts[node.field]}[{index}]"

    def call(op: str, args: list[str]) -> str:
        special = {
            "neg": "-{0}", "minimum": "min({0}, {1})", "maximum": "max({0}, {1})", "where": "({1} if {0} else {2})",
            "and": "({0} and {1})", "or": "({0} or {1})", "not": "(not {0})", "abs": "abs({0})", "pow": "{0} ** {1}",
        }  # fmt: skip
        return special.get(op, f"math.{op}({{0}})").format(*args)

    dialect = Dialect(
        const=lambda value: literals.setdefault(repr(value), f"C{len(literals)}"),
        read=at,
        scalar=str,
        apply=call,
        declare=lambda name, value: f"{name} = {value}",
    )
    definitions, result = body(statement.tape, dialect)
    names = ", ".join(f"{field}_{slot}" for field, slot in views)
    lines = ["@numba.njit(parallel=True, fastmath=True, nogil=True)", f"def statement{number}({names}):"]
    box = problem.update_box(statement)
    indent = "    "
    if rank == 1:
        (low, high), extent = box[0], problem.shape[0]
        lines.append(f"    end = {names.partition(',')[0]}.shape[0] - {extent - high}")
        lines.append(f"    for block in numba.prange((end - {low} + {BLOCK - 1}) // {BLOCK}):")
        lines.append(f"        for i in range({low} + block * {BLOCK}, min(end, {low} + (block + 1) * {BLOCK})):")
        indent = " " * 12
    else:
        for axis, (low, high) in enumerate(box):
            loop = "numba.prange" if axis == 0 else "range"
            lines.append(f"{indent}for {AXES[axis]} in {loop}({low}, {high}):")
            indent += "    "
    lines += [indent + line for line in definitions]
    centre = Read(statement.field, 1, (0,) * rank)
    lines.append(f"{indent}{at(centre)} = {result}")
    return lines


class Numba:
    """The parallel compiled loops."""

    def __init__(self, case: Case) -> None:
        numba.set_num_threads(case.threads)
        self.case = case
        self.buffers = Buffers(case)
        self.directory = tempfile.TemporaryDirectory(prefix="numba-")

    def prepare(self) -> None:
        """Write and compile the functions, by a run of no steps."""
        path = Path(self.directory.name, "numba_case.py")
        path.write_text(source(self.case.problem()))
        spec = importlib.util.spec_from_file_location("numba_case", path)
        assert spec is not None  # noqa: S101
        assert spec.loader is not None  # noqa: S101
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        self.entry = module.run
        self._call(0)

    def _call(self, steps: int) -> None:
        self.entry(steps, *(tuple(group) for group in self.buffers.of.values()))

    def run(self) -> float | None:
        """Refill the buffers and run."""
        self.buffers.refill()
        begin = time.perf_counter()
        self._call(self.case.steps)
        return time.perf_counter() - begin

    def result(self) -> dict[str, Array]:
        """The newest versions."""
        return self.buffers.result()

    def describe(self) -> dict[str, str]:
        """Version and threading layer."""
        return {"numba": numba.__version__, "options": "parallel=True, fastmath=True", "layer": numba.threading_layer()}
