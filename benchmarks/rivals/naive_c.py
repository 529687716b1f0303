"""Naive C: plain loop nests over ping-pong buffers, OpenMP over the outermost axis, SIMD over the innermost.

The time loop lies inside one parallel region, every statement is one loop nest over the cells it updates, and the
literals are those of the other contenders. ``naive-c`` and ``naive-c-512`` differ in the compiler's preferred
vector width; comparisons use whichever is faster.
"""

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from case import Array, Buffers, Case, slots
from rivals import UnavailableError
from rivals.text import AXES, Dialect, body, shifted
from tilewright.programs.dependences import analyse
from tilewright.programs.problem import Problem
from tilewright.programs.stencil import Statement

FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp")
STRICT = ("-O2", "-march=native", "-ffp-contract=off", "-fopenmp")
_PREAMBLE = """#include <math.h>
#include <stdint.h>
typedef {real} real;
#define SQRT(x) {sqrt}(x)
#define CALL(f, x) ((real)f((double)(x)))
"""


def source(problem: Problem) -> str:
    """Write the whole program as one C function ``run(shape, steps, buffers, threads)``."""
    single = problem.dtype == "float32"
    program = problem.program
    counts = slots(program)
    place = {field: sum(list(counts.values())[:i]) for i, field in enumerate(program.fields)}
    lines = [_PREAMBLE.format(real="float" if single else "double", sqrt="sqrtf" if single else "sqrt")]
    lines.append("void naive_run(const int64_t *n, int64_t steps, real **b, int threads) {")
    lines += [f"  const int64_t n{axis} = n[{axis}];" for axis in range(program.rank)]
    lines += ["  #pragma omp parallel num_threads(threads)", "  for (int64_t t = 0; t < steps; ++t) {"]
    for field, count in counts.items():
        for slot in range(count):
            lines.append(f"    real *restrict const {field}_{slot} = b[{place[field]} + (t + {slot}) % {count}];")
    for stage in analyse(program).stages:
        for i in stage:
            lines += _nest(problem, program.statements[i], counts)
    lines += ["  }", "}"]
    return "\n".join(lines) + "\n"


def _nest(problem: Problem, statement: Statement, counts: dict[str, int]) -> list[str]:
    suffix = "f" if problem.dtype == "float32" else ""
    rank = problem.program.rank

    def at(field: str, level: int, offset: tuple[int, ...]) -> str:
        index = f"({shifted(0, offset[0])})"
        for axis in range(1, rank):
            index = f"({index} * n{axis} + {shifted(axis, offset[axis])})"
        return f"{field}_{level % counts[field]}[{index}]"

    def call(op: str, args: list[str]) -> str:
        special = {
            "neg": "-{0}", "minimum": "{0} < {1} ? {0} : {1}", "maximum": "{0} > {1} ? {0} : {1}",
            "where": "{0} ? {1} : {2}",
            "and": "{0} && {1}", "or": "{0} || {1}", "not": "!{0}", "sqrt": "SQRT({0})", "abs": "{0} < 0 ? -{0} : {0}",
            "pow": "(real)pow({0}, {1})",
        }  # fmt: skip
        return special.get(op, f"CALL({op}, {{0}})").format(*args)

    dialect = Dialect(
        const=lambda value: f"(real){value!r}{suffix}",
        read=lambda node: at(node.field, node.level, node.offset),
        scalar=str,
        apply=call,
        declare=lambda name, value: f"const real {name} = {value};",
    )
    definitions, result = body(statement.tape, dialect)
    box = problem.update_box(statement)
    # A recurrence over the grid allows neither: one thread goes through it in order.
    swept = bool(analyse(problem.program).sweep)
    lines = ["    #pragma omp single" if swept else f"    #pragma omp for {'simd ' * (rank == 1)}schedule(static)"]
    for axis, ((low, high), extent) in enumerate(zip(box, problem.shape, strict=True)):
        if axis == rank - 1 and axis > 0 and not swept:
            lines.append("    #pragma omp simd")
        name = AXES[axis]
        lines.append(f"    for (int64_t {name} = {low}; {name} < n{axis} - {extent - high}; ++{name}) {{")
    lines += [f"      {line}" for line in definitions]
    lines.append(f"      {at(statement.field, 1, (0,) * rank)} = {result};")
    lines.append("    " + "}" * rank)
    return lines


class Compiler:
    """The C compiler, and a folder for what it makes."""

    def __init__(self) -> None:
        found = shutil.which(os.environ.get("CC", "gcc")) or shutil.which("cc")
        if found is None:
            raise UnavailableError("no C compiler was found")
        self.path, self.directory = found, tempfile.TemporaryDirectory(prefix="naive-c-")

    def load(self, code: str, flags: tuple[str, ...]) -> ctypes.CDLL:
        """Write, compile and load a text."""
        text, library = Path(self.directory.name, "naive.c"), Path(self.directory.name, "naive.so")
        text.write_text(code)
        # The shared object is linked without -ffast-math, which would flush denormals in the whole process.
        unit = library.with_suffix(".o")
        subprocess.run([self.path, *flags, "-fPIC", "-c", str(text), "-o", str(unit)], check=True)
        subprocess.run([self.path, "-shared", "-fopenmp", str(unit), "-o", str(library), "-lm"], check=True)
        return ctypes.CDLL(str(library))

    @property
    def version(self) -> str:
        """The first line that it says of itself."""
        said = subprocess.run([self.path, "--version"], check=True, capture_output=True, text=True)
        return said.stdout.partition("\n")[0]


class NaiveC:
    """The plain C code, compiled with :data:`FLAGS`."""

    flags: tuple[str, ...] = FLAGS

    def __init__(self, case: Case) -> None:
        self.compiler = Compiler()
        self.case = case
        self.problem = case.problem()
        self.buffers = Buffers(case)
        self.entry: Any = None

    def prepare(self) -> None:
        """Write, compile and load the code."""
        self.entry = self.compiler.load(source(self.problem), self.flags).naive_run
        self.entry.restype = None

    def run(self) -> float | None:
        """Refill the buffers and run."""
        self.buffers.refill()
        every = [buffer for group in self.buffers.of.values() for buffer in group]
        pointers = (ctypes.c_void_p * len(every))(*(buffer.ctypes.data for buffer in every))
        shape = (ctypes.c_int64 * len(self.case.shape))(*self.case.shape)
        begin = time.perf_counter()
        self.entry(shape, ctypes.c_int64(self.case.steps), pointers, ctypes.c_int(self.case.threads))
        return time.perf_counter() - begin

    def result(self) -> dict[str, Array]:
        """The newest versions."""
        return self.buffers.result()

    def describe(self) -> dict[str, str]:
        """Compiler and flags."""
        return {"compiler": self.compiler.version, "flags": " ".join(self.flags)}


class NaiveC512(NaiveC):
    """The same with the widest vectors preferred."""

    flags = (*FLAGS, "-mprefer-vector-width=512")


class StrictC(NaiveC):
    """The same in the program's own order of operations; no contender, only a reference."""

    flags = STRICT
