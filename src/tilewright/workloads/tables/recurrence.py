"""``@tw.recurrence``: a Python function of tables, inputs and scalars becomes a recurrence by being called once."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, overload

from tilewright.base.errors import TilewrightError, TraceError, UsageError
from tilewright.inputs.stencil import without_function
from tilewright.programs.stencil.expression import Scalar, Value, as_value, flatten, reads
from tilewright.programs.stencil.program import FieldBuilder, refuse_places
from tilewright.tracing import Argument, argument_names, updates
from tilewright.workloads.tables import catalogue, problem
from tilewright.workloads.tables.problem import COLUMN, ROW, Kind, Recurrence, lookup
from tilewright.workloads.tables.report import describe

Outside = Any  # a number, a function of the row, the column and scalars by name, or a mapping of these by table


class Table:
    """A recurrence written as a Python function.

    Attributes:
        recurrence: The traced recurrence.
    """

    recurrence: Recurrence
    __name__: str
    __wrapped__: Callable[..., Any]

    def __init__(self, function: Callable[..., Any], traced: Recurrence) -> None:
        self.recurrence = traced
        functools.update_wrapper(self, function)
        self.__name__ = traced.name

    def __getstate__(self) -> dict[str, Any]:
        return without_function(vars(self))

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401
        """Recurrences are not called but filled.

        Raises:
            UsageError: Always, with the call that was meant.
        """
        raise UsageError(
            f"the recurrence {self.__name__!r} was called with {len(arguments)} values",
            f"fill its table with tw.fill({self.__name__}, …)",
        )

    def __repr__(self) -> str:
        return describe(self.recurrence)


RecurrenceLike = Table | Recurrence | str  # a decorated function, a recurrence, or the name of a built-in one


@overload
def recurrence(function: Callable[..., Any], /) -> Table: ...


@overload
def recurrence(
    function: None = None,
    /,
    *,
    rows: tuple[str, ...] | str = ...,
    columns: tuple[str, ...] | str = ...,
    outside: Outside = ...,
    semiring: str = ...,
    name: str = ...,
) -> Callable[[Callable[..., Any]], Table]: ...


def recurrence(
    function: Callable[..., Any] | None = None,
    /,
    *,
    rows: tuple[str, ...] | str = (),
    columns: tuple[str, ...] | str = (),
    outside: Outside = None,
    semiring: str = "max_plus",
    name: str = "",
) -> Table | Callable[[Callable[..., Any]], Table]:
    """Make a recurrence over a table from a Python function, which is traced.

    The function's first arguments are the tables, read at cells that come before: ``h[-1, -1]``. It returns the value
    of the cell, a tuple for several tables, or a dict by name.

    Args:
        function: The function.
        rows: Names of inputs with one value per row, read as ``a[0]``.
        columns: Names of inputs with one value per column.
        outside: What lies outside the table: a number, or a function of the row and the column (negative there) and of
            scalars by name; or a mapping of these by table. The semiring's zero by default.
        semiring: ``max_plus``, ``min_plus`` or ``or_and``.
        name: Its name; the function's own by default.

    Returns:
        The recurrence, for :func:`fill`.

    Raises:
        TraceError: If the function does something that a recurrence cannot.

    Examples:
        >>> @recurrence(rows="a", columns="b", outside=0)
        ... def common(c, a, b):
        ...     import tilewright as tw
        ...
        ...     return tw.where(a[0] == b[0], c[-1, -1] + 1, tw.maximum(c[-1, 0], c[0, -1]))
        >>> from tilewright.workloads.tables.fill import fill
        >>> int(fill(common, "GATTACA", "ATTIC", result="last"))
        4
    """

    def make(body: Callable[..., Any]) -> Table:
        traced = trace_recurrence(
            body, name, rows=_names(rows), columns=_names(columns), outside=outside, semiring=semiring
        )
        return Table(body, traced)

    return make if function is None else make(function)


def _names(names: tuple[str, ...] | str) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def as_recurrence(value: RecurrenceLike) -> Recurrence:
    """Return the recurrence that a user means."""
    if isinstance(value, Recurrence):
        return value
    if isinstance(value, Table):
        return value.recurrence
    if isinstance(value, str):
        return catalogue.recurrence_named(value)
    raise UsageError(f"a recurrence was expected, got a {type(value).__name__}", "decorate a function by tw.recurrence")


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
    fields = {each.field for tape in tapes for each in reads(tape)} - values.keys()
    lines: dict[str, Kind] = {each: "row" for each in rows if each in fields}
    recurrence = problem.recurrence(
        title,
        values,
        inputs=lines | {each: "column" for each in columns if each in fields},
        order=tuple(arguments),
        outside=_outside(title, outside, tuple(values), arguments),
        semiring=semiring,
        summary=(inspect.getdoc(function) or "").partition("\n")[0],
    )
    inputs = [each.name for each in recurrence.inputs]
    unread = [each for each in (*rows, *columns) if each not in inputs]
    if unread:
        raise TraceError(f"{unread[0]!r} is never read by {title!r}", f"index it: {unread[0]}[0]")
    unused = [argument for argument in arguments if argument not in {*recurrence.tables, *recurrence.scalars, *inputs}]
    if unused:
        raise TraceError(f"the argument {unused[0]!r} of {title!r} is never used", "remove it")
    return recurrence


def _outside(title: str, boundary: Outside, tables: tuple[str, ...], arguments: list[str]) -> dict[str, Value]:
    """Trace what lies outside; one value stands for every table."""
    if boundary is None:
        return {}
    each = boundary if isinstance(boundary, Mapping) else dict.fromkeys(tables, boundary)
    values = {}
    for table, entry in each.items():
        if not callable(entry):
            values[table] = as_value(entry)
            continue
        names = list(inspect.signature(entry).parameters)
        wrong = [name for name in names[2:] if name not in arguments]
        if len(names) < 2 or wrong:
            raise TraceError(
                f"what lies outside {table!r} of {title!r} is a function of the row and the column, then of scalars by "
                f"name, got arguments {names}"
            )
        symbols = [Value(Scalar(name)) for name in (ROW, COLUMN, *names[2:])]
        values[table] = as_value(entry(*symbols))
    return values
