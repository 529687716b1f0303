"""Whole tables of recurrences: tilewright's orthogonal tiles against the plain double loop in C and in Numba.

The double loop runs on one thread, as whoever writes it finds it: every cell waits for its left neighbour and for the
row above. All keep the whole table, with the row and the column that lie outside where the loop needs them.
"""

import ctypes
import time
from typing import Any

import numpy as np

import tilewright as tw
from case import Array, Case, sequences
from rivals import UnavailableError
from rivals.naive_c import FLAGS, Compiler
from tilewright.workloads.tables.catalogue import recurrence_named
from tilewright.workloads.tables.fill import filling

_CELLS = {
    "edit_distance": "LEAST(above[j - 1] + (a[i - 1] != b[j - 1]), LEAST(above[j], row[j - 1]) + 1)",
    "lcs": "MOST(MOST(above[j], row[j - 1]), above[j - 1] + (a[i - 1] == b[j - 1]))",
}
_SOURCE = """#include <stdint.h>
#define LEAST(x, y) ((x) < (y) ? (x) : (y))
#define MOST(x, y) ((x) > (y) ? (x) : (y))
void naive_fill(int64_t m, int64_t n, const int32_t *a, const int32_t *b, int32_t *table) {
  for (int64_t i = 1; i <= m; ++i) {
    const int32_t *above = table + (i - 1) * (n + 1);
    int32_t *row = table + i * (n + 1);
    for (int64_t j = 1; j <= n; ++j) row[j] = CELL;
  }
}
"""


class Filled:
    """``tw.fill`` with the tiling left to it."""

    def __init__(self, case: Case) -> None:
        if not case.table:
            raise UnavailableError("orthogonal tiles are legal for recurrences alone")
        self.case, self.inputs = case, sequences(case)
        self.tiling: str | None = None
        self.table: Array = np.empty(0)

    def prepare(self) -> None:
        """Compile, which the first call would do; later calls find the kernel."""
        small = tuple(each[:8] for each in self.inputs)
        filling(self.case.program, small, {}, backend="c", threads=1)

    def run(self) -> float | None:
        """Make the call."""
        options: dict[str, Any] = {"tiling": self.tiling, "threads": self.case.threads}
        found = filling(self.case.program, self.inputs, {}, dtype=self.case.dtype, backend="c", **options)
        self.table, self.chosen = found.values, str(found.tiling)
        return found.seconds

    def result(self) -> dict[str, Array]:
        """What the call returned."""
        return {recurrence_named(self.case.program).tables[0]: self.table}

    def describe(self) -> dict[str, str]:
        """The tiling that ran."""
        return {"tilewright": tw.__version__, "tiling": self.chosen}


class Orthogonal(Filled):
    """``tw.fill`` with the model's best orthogonal tiling."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        known = recurrence_named(case.program)
        best = tw.predict(known, shape=case.shape, steps=1, machine="host", dtype=case.dtype)
        self.tiling = str(best.tiling)


class _Loop:
    """The double loop's data: the table with one more row and column."""

    def __init__(self, case: Case) -> None:
        self.case, (self.a, self.b) = case, sequences(case)
        m, n = case.shape
        self.table = np.zeros((m + 1, n + 1), np.int32)
        if case.program == "edit_distance":
            self.table[0], self.table[:, 0] = np.arange(n + 1), np.arange(m + 1)

    def result(self) -> dict[str, Array]:
        """The table without what lies outside."""
        return {recurrence_named(self.case.program).tables[0]: self.table[1:, 1:]}


class NaiveTable(_Loop):
    """The double loop in C."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        self.compiler = Compiler()
        self.entry: Any = None

    def prepare(self) -> None:
        """Write, compile and load the code."""
        self.entry = self.compiler.load(_SOURCE.replace("CELL", _CELLS[self.case.program]), FLAGS).naive_fill
        self.entry.restype = None

    def run(self) -> float | None:
        """Fill the table."""
        m, n = (ctypes.c_int64(extent) for extent in self.case.shape)
        pointers = (ctypes.c_void_p(each.ctypes.data) for each in (self.a, self.b, self.table))
        begin = time.perf_counter()
        self.entry(m, n, *pointers)
        return time.perf_counter() - begin

    def describe(self) -> dict[str, str]:
        """Compiler and flags."""
        return {"compiler": self.compiler.version, "flags": " ".join(FLAGS), "threads": "1"}


class NumbaTable(_Loop):
    """The double loop in Numba."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        import numba

        self.version = numba.__version__
        jit = numba.njit(fastmath=True)
        self.loop = jit({"edit_distance": _edit_distance, "lcs": _lcs}[case.program])

    def prepare(self) -> None:
        """Compile, by filling."""
        self.run()

    def run(self) -> float | None:
        """Fill the table."""
        begin = time.perf_counter()
        self.loop(self.a, self.b, self.table)
        return time.perf_counter() - begin

    def describe(self) -> dict[str, str]:
        """The version."""
        return {"numba": self.version, "threads": "1"}


def _edit_distance(a: Array, b: Array, d: Array) -> None:
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i, j] = min(d[i - 1, j - 1] + (a[i - 1] != b[j - 1]), min(d[i - 1, j], d[i, j - 1]) + 1)


def _lcs(a: Array, b: Array, c: Array) -> None:
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            c[i, j] = max(c[i - 1, j], c[i, j - 1], c[i - 1, j - 1] + (a[i - 1] == b[j - 1]))
