"""The contenders: one file each. A new rival is one more file and one more line here.

A contender is a class with ``__init__(case)``, which imports its library and allocates; ``prepare()``, which generates
and compiles (its duration is the compile latency); ``run()``, one whole run from the initial arrays, returning
the seconds spent inside the kernel if it knows them; ``result()``, the arrays that the last run computed; and
``describe()``, versions and flags. ``__init__`` raises ``ImportError`` or :class:`UnavailableError` where it
cannot take part.
"""

import importlib
from typing import Any, Protocol

import numpy.typing as npt

from case import Case


class UnavailableError(Exception):
    """A contender that cannot run this case here; the message says why."""


class Contender(Protocol):
    """What :mod:`worker` calls."""

    def prepare(self) -> None:
        """Generate and compile."""

    def run(self) -> float | None:
        """Run once; return the seconds inside the kernel, if known."""

    def result(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that the last run computed."""

    def describe(self) -> dict[str, str]:
        """Versions, flags and choices, for the record."""


CONTENDERS = {
    "tilewright": ("rivals.own", "Tuned"),
    "tilewright-hexagons": ("rivals.own", "Hexagons"),
    "tilewright-skewed": ("rivals.own", "Skewed"),
    "tilewright-diamond": ("rivals.own", "Diamonds"),
    "tilewright-streaming": ("rivals.own", "Streaming"),
    "tilewright-orthogonal": ("rivals.tables", "Orthogonal"),
    "tilewright-none": ("rivals.own", "Untiled"),
    "naive-c": ("rivals.naive_c", "NaiveC"),
    "naive-c-512": ("rivals.naive_c", "NaiveC512"),
    "naive-c-faster": ("rivals.naive_c", "NaiveFaster"),
    "pystencils": ("rivals.with_pystencils", "Pystencils"),
    "numba": ("rivals.with_numba", "Numba"),
    "halide": ("rivals.with_halide", "Halide"),
    "devito": ("rivals.with_devito", "Devito"),
    "jax": ("rivals.with_jax", "Jax"),
    "numpy": ("rivals.with_numpy", "Numpy"),
}
"""Every contender's module and class, by name, in the order of the interleaved run."""
OF_TABLES = {
    "tilewright": ("rivals.tables", "Filled"),
    "tilewright-orthogonal": ("rivals.tables", "Orthogonal"),
    "naive-c": ("rivals.tables", "NaiveTable"),
    "numba": ("rivals.tables", "NumbaTable"),
}
"""The contenders that fill the tables of recurrences."""


def create(name: str, case: Case) -> Contender:
    """Make a contender for a case."""
    if case.table and name not in OF_TABLES:
        raise UnavailableError("computes stencils, no tables")
    if case.boundary != "fixed" and not name.startswith(("tilewright", "naive-c")):
        raise UnavailableError(f"is written for fixed boundaries, not {case.boundary}")
    module, attribute = (OF_TABLES if case.table else CONTENDERS)[name]
    contender: Contender = getattr(importlib.import_module(module), attribute)(case)
    return contender
