"""Tracing recurrences: a Python function of tables, inputs and scalars becomes a recurrence."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal

from tilewright.base.errors import TilewrightError, TraceError
from tilewright.frontends.trace import Argument, argument_names, updates
from tilewright.programs.stencil.expression import Apply, Read, Scalar, Tape, Value, as_value, flatten
from tilewright.programs.stencil.program import FieldBuilder, refuse_places
from tilewright.programs.tables.table import COLUMN, LOOKUP, ROW, Kind, Recurrence, lookup, recurrence

Outside = Any
"""A number, a function of the row, the column and scalars by name, or a mapping of these by table."""


class _Symbol(Argument):
    """An argument: a table or an input (indexed by whole numbers), a matrix (by values) or a scalar (not indexed)."""

    __slots__ = ()

    def __getitem__(self, offset: Any) -> Value:  # noqa: ANN401  (whole numbers or values)
        items = offset if isinstance(offset, tuple) else (offset,)
        if not any(isinstance(item, Value | FieldBuilder) for item in items):
            return super().__getitem__(offset)
        if len(items) != 2:
            raise TraceError(f"a matrix is looked up by two values, got {len(items)} for {self.name!r}")
        return lookup(self.name, items[0], items[1])


def trace_recurrence(
    function: Callable[..., Any],
    name: str = "",
    *,
    rows: tuple[str, ...] = (),
    columns: tuple[str, ...] = (),
    outside: Outside = None,
    semiring: str = "max_plus",
) -> Recurrence:
    """Trace a function into a recurrence.

    Arguments that are returned are tables: a value stands for the first, a tuple for the leading ones, a dict names
    them. Arguments indexed by two whole numbers are inputs per cell, by values matrices; ``rows`` and ``columns`` name
    the inputs per row and per column. All others are scalars. Outside a table the values are the semiring's zero where
    ``outside`` does not say them.
    """
    title = name or getattr(function, "__name__", "recurrence").replace("<lambda>", "recurrence")
    arguments = argument_names(function, title)
    try:
        result = function(*(_Symbol(argument) for argument in arguments))
    except TilewrightError:
        raise
    except Exception as error:
        raise TraceError(
            f"tracing {title!r} failed: {type(error).__name__}: {error}",
            "a recurrence's body only indexes its arguments and computes with the values",
        ) from error
    values = updates(result, arguments, title)
    tapes = [flatten(value) for value in values.values()]
    for tape in tapes:
        refuse_places(tape, f"the recurrence {title!r}")
    kinds = _kinds(title, tapes, tuple(values), {"row": rows, "column": columns})
    unknown = [each for each in (*rows, *columns) if each not in kinds]
    if unknown:
        raise TraceError(f"{unknown[0]!r} is never read by {title!r}", f"index it: {unknown[0]}[0]")
    found = recurrence(
        title,
        values,
        inputs=kinds,
        order=tuple(arguments),
        outside=_outside(title, outside, tuple(values), arguments),
        semiring=semiring,
        summary=(inspect.getdoc(function) or "").partition("\n")[0],
    )
    used = {*found.tables, *found.scalars, *(each.name for each in found.inputs)}
    unused = [argument for argument in arguments if argument not in used]
    if unused:
        raise TraceError(f"the argument {unused[0]!r} of {title!r} is never used", "remove it")
    return found


def _kinds(
    title: str, tapes: list[Tape], tables: tuple[str, ...], lines: Mapping[Literal["row", "column"], tuple[str, ...]]
) -> dict[str, Kind]:
    """Find out what each input is."""
    kinds: dict[str, Kind] = {}
    for node in (node for tape in tapes for node in tape):
        if isinstance(node, Apply) and node.op.startswith(LOOKUP):
            kinds[node.op[len(LOOKUP) :]] = "matrix"
        if not isinstance(node, Read) or node.field in tables:
            continue
        kind: Kind = "cell"
        for line, names in lines.items():
            kind = line if node.field in names else kind
        if kind == "cell" and len(node.offset) == 1:
            raise TraceError(
                f"{node.field!r} of {title!r} has one index, so it is an input per row or per column",
                f"say which: @tw.recurrence(rows=({node.field!r},))",
            )
        kinds[node.field] = kind
    return kinds


def _outside(title: str, given: Outside, tables: tuple[str, ...], arguments: list[str]) -> dict[str, Value]:
    """Trace what lies outside; one value stands for every table."""
    if given is None:
        return {}
    each = given if isinstance(given, Mapping) else dict.fromkeys(tables, given)
    values = {}
    for table, what in each.items():
        if not callable(what):
            values[table] = as_value(what)
            continue
        names = list(inspect.signature(what).parameters)
        wrong = [name for name in names[2:] if name not in arguments]
        if len(names) < 2 or wrong:
            raise TraceError(
                f"what lies outside {table!r} of {title!r} is a function of the row and the column, then of scalars by "
                f"name, got arguments {names}"
            )
        symbols = [Value(Scalar(name)) for name in (ROW, COLUMN, *names[2:])]
        values[table] = as_value(what(*symbols))
    return values
