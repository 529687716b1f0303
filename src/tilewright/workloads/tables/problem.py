"""Recurrences over a table: dynamic programming, whose values depend on others of the same sweep.

A recurrence fills one or several tables of m x n cells together, row by row. A table is read at offsets of cells that
come before: ``h[-1, -1]``; another table of the same cell may be read if it can be computed first. Inputs are one value
per row (``a[0]`` of a sequence along the rows), one per column, one per cell, or small matrices that are looked up by
values: ``score[a[0], b[0]]``. What lies outside the table is an expression of the row i and the column j, which are
negative there.
"""

import functools
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from tilewright.base.errors import TraceError, one_of
from tilewright.programs.stencil.analysis import Dependence
from tilewright.programs.stencil.expression import (
    LOOKUP,
    Apply,
    Operand,
    Read,
    Scalar,
    Tape,
    Value,
    as_value,
    complex_constant,
    flatten,
    reads,
)
from tilewright.programs.stencil.operators import BITWISE, OPERATORS, ORDERED

ROW, COLUMN = "i", "j"  # names of the row and the column in the expression of what lies outside
DTYPES = ("bool", "int16", "int32", "int64", "float32", "float64")
MAX_REACH = 64
_UNTYPED = (ORDERED - set(BITWISE)) | {"pow", "sin", "cos", "tan", "tanh", "conj", "real", "imag"}
Kind = Literal["row", "column", "cell", "matrix"]
Offset = tuple[int, ...]  # rows and columns from a cell to another


@dataclass(frozen=True, slots=True, kw_only=True)
class Semiring:
    """What a recurrence adds and multiplies with."""

    name: str  # such as ``max_plus``
    plus: str  # joins alternatives
    times: str  # extends one

    def zero(self, dtype: str) -> float:
        """Return what an impossible alternative is worth: it leaves room to add to it without overflow.

        Examples:
            >>> SEMIRINGS["max_plus"].zero("int16"), SEMIRINGS["or_and"].zero("bool")
            (-16384, 0)
        """
        if self.name == "or_and":
            return 0
        sign = -1 if self.name == "max_plus" else 1
        if dtype.startswith("int"):
            return sign * (1 << (int(dtype[3:]) - 2))
        return sign * float("inf")


SEMIRINGS = {
    "max_plus": Semiring(name="max_plus", plus="maximum", times="add"),
    "min_plus": Semiring(name="min_plus", plus="minimum", times="add"),
    "or_and": Semiring(name="or_and", plus="or", times="and"),
}
"""The semirings by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """An input of a recurrence."""

    name: str
    kind: Kind  # one value per ``row``, per ``column`` or per ``cell``, or a ``matrix`` to look up


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatement:
    """One assignment: the cell of ``table`` becomes ``tape``'s value."""

    table: str
    tape: Tape
    outside: Tape | None  # outside the table, of scalars, :data:`ROW` and :data:`COLUMN`; None for the semiring's zero


@dataclass(frozen=True, kw_only=True)
class Recurrence:
    """A recurrence over a table.

    Attributes:
        name: Its name.
        tables: The tables, in argument order; the first is the result.
        inputs: The inputs, in argument order.
        scalars: Names of the run-time scalars, in argument order.
        statements: The assignments of one cell, in an order in which they can be computed.
        semiring: What it adds and multiplies with.
        summary: One line on what it computes.
    """

    name: str
    tables: tuple[str, ...]
    inputs: tuple[Input, ...] = ()
    scalars: tuple[str, ...] = ()
    statements: tuple[TableStatement, ...]
    semiring: Semiring = SEMIRINGS["max_plus"]
    summary: str = ""

    @functools.cached_property
    def reads(self) -> dict[str, tuple[Offset, ...]]:
        """Per table, the distinct offsets at which cells that come before are read."""
        every = [read for statement in self.statements for read in reads(statement.tape) if any(read.offset)]
        return {name: tuple(dict.fromkeys(r.offset for r in every if r.field == name)) for name in self.tables}

    @functools.cached_property
    def reach(self) -> tuple[int, int]:
        """Rows and columns that reads of tables reach back; columns to the left only."""
        return reach_of(offset for many in self.reads.values() for offset in many)

    @property
    def tiled(self) -> bool:
        """Whether orthogonal tiles can be computed one after the other: no read goes up and to the right."""
        return all(offset[1] <= 0 for many in self.reads.values() for offset in many)

    @property
    def dependences(self) -> tuple[Dependence, ...]:
        """The distinct dependences inside the sweep."""
        return tuple(
            Dependence(time=0, offset=offset, kind="flow", cause=f"{name}[{offset[0]}, {offset[1]}]")
            for name, offsets in self.reads.items()
            for offset in offsets
        )

    @functools.cached_property
    def kinds(self) -> Counter[Kind]:
        """How many inputs are of each kind."""
        return Counter(each.kind for each in self.inputs)

    @functools.cached_property
    def applied(self) -> tuple[str, ...]:
        """The operators of a cell, one after the other."""
        return tuple(node.op for s in self.statements for node in s.tape if isinstance(node, Apply))

    @property
    def operations(self) -> int:
        """Operations per cell, a look-up as one."""
        return sum(1 if op.startswith(LOOKUP) else OPERATORS[op].flops for op in self.applied)


def reach_of(offsets: Iterable[Offset]) -> tuple[int, int]:
    """Return the rows and the columns that reads at some offsets reach back.

    >>> reach_of([(-1, 1), (-2, 0), (0, -3)])
    (2, 3)
    """
    back = [(0, 0), *((-offset[0], -offset[1]) for offset in offsets)]
    return max(up for up, _ in back), max(left for _, left in back)


def recurrence(
    name: str,
    values: Mapping[str, Operand],
    *,
    inputs: Mapping[str, Kind] | None = None,
    order: tuple[str, ...] = (),
    outside: Mapping[str, Operand] | None = None,
    semiring: str = "max_plus",
    summary: str = "",
) -> Recurrence:
    """Make a recurrence from one expression per table.

    Args:
        name: Its name.
        values: The value of each table's cell.
        inputs: Which inputs have one value per row or per column; of others the kind is found.
        order: Names in argument order; what is not named follows as it is met.
        outside: Each table's value outside, of :data:`ROW`, :data:`COLUMN` and scalars; the semiring's zero by default.
        semiring: One of :data:`SEMIRINGS`.
        summary: One line on what it computes.

    Returns:
        The checked recurrence.

    Raises:
        TraceError: If it reads a cell that is not computed yet, or something that is no input.
        UsageError: If there is no such semiring.
    """
    one_of("a semiring", semiring, SEMIRINGS)
    edges = dict(outside or {})
    tapes = {table: flatten(as_value(value)) for table, value in values.items()}
    around = {table: flatten(as_value(edges[table])) if table in edges else None for table in tapes}
    number = complex_constant(*tapes.values(), *(tape for tape in around.values() if tape is not None))
    if number is not None:
        raise TraceError(f"a recurrence computes in real numbers, {name!r} has the constant {number}")
    unknown = [table for table in edges if table not in tapes]
    if unknown:
        raise TraceError(f"{unknown[0]!r} is no table of {name!r}, so nothing lies outside it")
    kinds = _input_kinds(name, tapes, inputs or {})
    met = [node.name for tape in (*tapes.values(), *around.values()) for node in tape or () if isinstance(node, Scalar)]
    scalars = [each for each in dict.fromkeys(met) if each not in {ROW, COLUMN}]
    place = {each: number for number, each in enumerate(order)}
    last = len(place)
    return Recurrence(
        name=name,
        tables=tuple(tapes),
        inputs=tuple(
            Input(name=each, kind=kind)
            for each, kind in sorted(kinds.items(), key=lambda pair: place.get(pair[0], last))
        ),
        scalars=tuple(sorted(scalars, key=lambda each: place.get(each, last))),
        statements=tuple(
            TableStatement(table=table, tape=tapes[table], outside=around[table]) for table in _order(name, tapes)
        ),
        semiring=SEMIRINGS[semiring],
        summary=summary,
    )


def lookup(matrix: str, row: Operand, column: Operand) -> Value:
    """Look a matrix up by two values."""
    return Value(LOOKUP + matrix, (as_value(row), as_value(column)))


def _input_kinds(name: str, tapes: Mapping[str, Tape], inputs: Mapping[str, Kind]) -> dict[str, Kind]:
    """Check what tapes read, and find the kinds of the inputs among it."""
    kinds = dict(inputs)
    for node in (node for tape in tapes.values() for node in tape):
        if isinstance(node, Apply) and node.op in _UNTYPED:
            raise TraceError(f"a recurrence cannot use {node.op!r}, in {name!r}")
        if isinstance(node, Apply) and node.op.startswith(LOOKUP):
            matrix = node.op[len(LOOKUP) :]
            if kinds.setdefault(matrix, "matrix") != "matrix":
                raise TraceError(f"{matrix!r} of {name!r} is looked up but is no matrix")
        if not isinstance(node, Read):
            continue
        text = f"{node.field}[{', '.join(map(str, node.offset))}]"
        if node.field in tapes:
            _check_read(name, node, text)
            continue
        if len(node.offset) == 1 and node.field not in kinds:
            raise TraceError(
                f"{node.field!r} of {name!r} has one index, so it is an input per row or per column",
                f"say which: @tw.recurrence(rows=({node.field!r},))",
            )
        kind = kinds.setdefault(node.field, "cell")
        if kind == "matrix":
            raise TraceError(f"{text} of {name!r} is neither a table nor an input")
        if len(node.offset) != (2 if kind == "cell" else 1) or any(node.offset):
            where = "[0, 0]" if kind == "cell" else "[0]"
            raise TraceError(f"an input is read at the cell, got {text} in {name!r}", f"write {node.field}{where}")
    return kinds


def _check_read(name: str, read: Read, text: str) -> None:
    if read.level != 0 or len(read.offset) != 2:
        raise TraceError(f"a table has two indices and one sweep, got {text} in {name!r}", "write h[-1, 0]")
    if read.offset > (0, 0):
        raise TraceError(
            f"{text} of {name!r} is not computed yet when it is read",
            "a recurrence reads rows above, or the same row on the left",
        )
    if max(abs(distance) for distance in read.offset) > MAX_REACH:
        raise TraceError(f"a recurrence may reach {MAX_REACH} cells far, got {text} in {name!r}")


def _order(name: str, tapes: Mapping[str, Tape]) -> tuple[str, ...]:
    """Order tables so that what the same cell needs of others is computed first."""
    needs = {
        table: {read.field for read in reads(tape) if read.field in tapes and not any(read.offset)}
        for table, tape in tapes.items()
    }
    order: list[str] = []
    while len(order) < len(tapes):
        ready = [table for table in tapes if table not in order and needs[table] <= set(order)]
        if not ready:
            stuck = min(table for table in tapes if table not in order)
            raise TraceError(f"the cell of {stuck!r} in {name!r} needs itself", "read a cell above or on the left")
        order.append(ready[0])
    return tuple(order)
