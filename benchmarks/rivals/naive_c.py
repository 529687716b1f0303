"""Naive C: plain loop nests over ping-pong buffers, OpenMP over the outermost axis, SIMD over the innermost.

The time loop lies inside one parallel region, every statement is one loop nest over the cells it updates, and the
literals are those of the other contenders. Boundaries other than ``fixed`` are ghost cells around the grid, which are
written by the thread that has just computed what they repeat, so that the loops have no conditions and a step has no
further barrier. ``naive-c`` and ``naive-c-512`` differ in the compiler's preferred vector width; comparisons use
whichever is faster, and ``naive-c-faster`` finds out by itself.
"""

import ctypes
import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from case import Array, Buffers, Case, Data, slots
from ghosts import Ghosts, copies, flat, ghosts_of, row_text, slab_text, text_of
from rivals import UnavailableError
from rivals.text import AXES, Dialect, body, shifted
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement

FLAGS = ("-O3", "-march=native", "-ffast-math", "-fopenmp")
STRICT = ("-O2", "-march=native", "-ffp-contract=off", "-fopenmp")
"""Of a compiler that ``CC`` tells which processor to compile for (``gcc -march=x86-64-v3``), ``-march`` is left out."""
TRIAL_STEPS, TRIAL_ROUNDS, TRIAL_SECONDS, LONG_TRIAL = 4, 3, 0.02, 2.0
"""Trials take three rounds, one if that is long, of so many steps that they take so long, at most those of a run."""
_PREAMBLE = """#include <math.h>
#include <stdint.h>
#include <string.h>
typedef {real} real;
#define SQRT(x) {sqrt}(x)
#define CALL(f, x) ((real)f((double)(x)))
"""


def source(problem: Problem) -> str:
    """Write the whole program as one C function ``naive_run(shape, extents of a buffer, steps, buffers, threads)``.

    A buffer is given by the address of the grid's first cell.
    """
    single = problem.dtype == "float32"
    program = problem.program
    counts = slots(program)
    place = {field: sum(list(counts.values())[:i]) for i, field in enumerate(program.fields)}
    lines = [_PREAMBLE.format(real="float" if single else "double", sqrt="sqrtf" if single else "sqrt")]
    lines.append("void naive_run(const int64_t *n, const int64_t *p, int64_t steps, real **b, int threads) {")
    lines += [
        f"  const int64_t n{axis} = n[{axis}], p{axis} = p[{axis}]; (void)n{axis}; (void)p{axis};"
        for axis in range(program.rank)
    ]
    lines += ["  #pragma omp parallel num_threads(threads)", "  for (int64_t t = 0; t < steps; ++t) {"]
    for field, count in counts.items():
        for slot in range(count):
            lines.append(f"    real *restrict const {field}_{slot} = b[{place[field]} + (t + {slot}) % {count}];")
    for stage in program.stages:
        for i in stage:
            lines += _nest(problem, program.statements[i], counts)
    lines += ["  }", "}"]
    return "\n".join(lines) + "\n"


def _nest(problem: Problem, statement: Statement, counts: dict[str, int]) -> list[str]:
    suffix = "f" if problem.dtype == "float32" else ""
    rank = problem.program.rank

    def at(field: str, level: int, offset: tuple[int, ...]) -> str:
        index = flat([f"({shifted(axis, distance)})" for axis, distance in enumerate(offset)])
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
    lines = [*definitions, f"{at(statement.field, 1, (0,) * rank)} = {result};"]
    target = f"{statement.field}_{1 % counts[statement.field]}"
    return _Loops(problem=problem, statement=statement, ghosts=ghosts_of(problem), target=target, body=lines).text()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loops:
    """The loop nest of one statement, and what keeps the ghost cells of its result up to date."""

    problem: Problem
    statement: Statement
    ghosts: Ghosts
    target: str
    body: list[str]

    def text(self) -> list[str]:
        # A recurrence over the grid allows no threads: one goes through it in order.
        swept = bool(self.problem.program.analysis.sweep)
        share = "#pragma omp single" if swept else "#pragma omp for schedule(static)"
        if self.problem.program.rank > 1:
            return [f"    {share}", *self._nest(0, swept=swept)]
        if swept:
            return [f"    {share}", *self._loop(0, self._span(0), self.body)]
        ends = list(copies(self.ghosts, self.problem, self.statement.field, 0))
        if not ends:
            return ["    #pragma omp for simd schedule(static)", *self._loop(0, self._span(0), self.body)]
        # One part per thread, so that the ghost cells are written without another barrier.
        low, high = self._span(0)
        cut = f"({low}) + (({high}) - ({low}))"
        inner = [
            f"const int64_t low = {cut} * part / threads, high = {cut} * (part + 1) / threads;",
            "#pragma omp simd",
            *self._loop(0, ("low", "high"), self.body),
        ]
        extent = self.ghosts.shape[0]
        for ghost, cell in ends:
            source, to = text_of(0, cell, extent), text_of(0, ghost, extent)
            inner.append(f"if ({source} >= low && {source} < high) {self.target}[{to}] = {self.target}[{source}];")
        return [f"    {share}", "    for (int64_t part = 0; part < threads; ++part) {", *inner, "    }"]

    def _span(self, axis: int) -> tuple[str, str]:
        low, high = self.problem.update_box(self.statement)[axis]
        return str(low), f"n{axis} - {self.problem.shape[axis] - high}"

    @staticmethod
    def _loop(axis: int, span: tuple[str, str], body: list[str]) -> list[str]:
        name = AXES[axis]
        head = f"    for (int64_t {name} = {span[0]}; {name} < {span[1]}; ++{name}) {{"
        return [head, *(f"      {line}" for line in body), "    }"]

    def _nest(self, axis: int, *, swept: bool) -> list[str]:
        """The loop of an axis: those of the inner axes, the ghost cells of their ends, then its own."""
        rank = self.problem.program.rank
        if axis == rank - 1:
            return self._loop(axis, self._span(axis), self.body)
        inner = self._nest(axis + 1, swept=swept)
        if axis == rank - 2:
            if not swept:
                inner = ["#pragma omp simd", *inner]
            row = f"{self.target} + {flat([*AXES[: rank - 1], '0'])}"
            inner += row_text(self.ghosts, self.problem, self.statement.field, row)
        inner += slab_text(self.ghosts, self.problem, self.statement.field, self.target, AXES[: axis + 1])
        return self._loop(axis, self._span(axis), inner)


class Compiler:
    """The C compiler."""

    def __init__(self) -> None:
        asked, *self.options = os.environ.get("CC", "").split() or ["gcc"]
        found = shutil.which(asked) or shutil.which("cc")
        if found is None:
            raise UnavailableError("no C compiler was found")
        self.path = found
        self.told = any(option.startswith("-march=") for option in self.options)

    def effective(self, flags: tuple[str, ...]) -> tuple[str, ...]:
        """Flags as they are used: the processor that the compiler's own options name stays."""
        return (*self.options, *(flag for flag in flags if not (self.told and flag == "-march=native")))

    def load(self, code: str, flags: tuple[str, ...]) -> ctypes.CDLL:
        """Write, compile and load a text."""
        with tempfile.TemporaryDirectory(prefix="naive-c-") as directory:
            text, library = Path(directory, "naive.c"), Path(directory, "naive.so")
            text.write_text(code)
            # The shared object is linked without -ffast-math, which would flush denormals in the whole process.
            unit = library.with_suffix(".o")
            subprocess.run([self.path, *self.effective(flags), "-fPIC", "-c", str(text), "-o", str(unit)], check=True)
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

    def __init__(self, case: Case, problem: Problem | None = None, data: Data | None = None) -> None:
        """Prepare for a case, or for another problem and its initial data."""
        self.compiler = Compiler()
        self.case = case
        self.problem = case.problem() if problem is None else problem
        self.buffers = Buffers(case, self.problem, data)
        self.entry: Any = None

    def prepare(self) -> None:
        """Write, compile and load the code."""
        self.entry = self.compiler.load(source(self.problem), self.flags).naive_run

    def run(self) -> float | None:
        """Refill the buffers and run."""
        self.buffers.refill()
        return self.advance(self.problem.steps)

    def advance(self, steps: int) -> float:
        """Run from whatever the buffers hold; return the seconds that it took."""
        inside = self.buffers.ghosts.inside
        every = [inside(buffer) for group in self.buffers.of.values() for buffer in group]
        pointers = (ctypes.c_void_p * len(every))(*(grid.ctypes.data for grid in every))
        rank = len(self.problem.shape)
        shape = (ctypes.c_int64 * rank)(*self.problem.shape)
        extents = (ctypes.c_int64 * rank)(*self.buffers.ghosts.extents)
        begin = time.perf_counter()
        self.entry(shape, extents, ctypes.c_int64(steps), pointers, ctypes.c_int(self.case.threads))
        return time.perf_counter() - begin

    def result(self) -> dict[str, Array]:
        """The newest versions."""
        return self.buffers.result()

    def describe(self) -> dict[str, str]:
        """Compiler and flags."""
        return {"compiler": self.compiler.version, "flags": " ".join(self.compiler.effective(self.flags))}


class NaiveC512(NaiveC):
    """The same with the widest vectors preferred."""

    flags = (*FLAGS, "-mprefer-vector-width=512")


class NaiveFaster(NaiveC):
    """The faster of the two on the case's own grid, as short trials say."""

    def prepare(self) -> None:
        """Write the code, compile it with both sets of flags and load both."""
        code = source(self.problem)
        with ThreadPoolExecutor(2) as pool:
            loads = [pool.submit(self.compiler.load, code, kind.flags) for kind in (NaiveC, NaiveC512)]
            self.entries = {
                kind.flags: load.result().naive_run for kind, load in zip((NaiveC, NaiveC512), loads, strict=True)
            }
        self.entry = self.entries[self.flags]

    def choose(self) -> None:
        """Time some steps with both, in turn, and stay with the one whose best is better."""
        best = dict.fromkeys(self.entries, float("inf"))
        steps, rounds = TRIAL_STEPS, 0
        while rounds < TRIAL_ROUNDS:
            for flags in best:
                self.entry = self.entries[flags]
                seconds = self.advance(steps)
                best[flags] = min(best[flags], seconds / steps)
            rounds += 1 if seconds < LONG_TRIAL else TRIAL_ROUNDS
            if seconds < TRIAL_SECONDS and steps < self.problem.steps:
                steps, rounds = min(4 * steps, self.problem.steps), 0
        self.flags = min(best, key=lambda flags: best[flags])
        self.entry = self.entries[self.flags]


class StrictC(NaiveC):
    """The same in the program's own order of operations; no contender, only a reference."""

    flags = STRICT
