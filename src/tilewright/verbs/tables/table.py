"""``@tw.recurrence`` and ``tw.fill``: dynamic programming over a table."""

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from tilewright.base.errors import ToolchainError, UsageError, one_of
from tilewright.base.intmath import ceil_div
from tilewright.frontends.recurrence import Outside, trace_recurrence
from tilewright.inputs.memo import host
from tilewright.inputs.stencil import without_function
from tilewright.plan import BACKENDS, Plan, read_target
from tilewright.programs.tables import catalogue as recurrences
from tilewright.programs.tables.reference import TableData, joined
from tilewright.programs.tables.reference import fill as fill_reference
from tilewright.programs.tables.table import DTYPES, Recurrence, TableProblem
from tilewright.runtime.devices.found import open_device
from tilewright.runtime.memory import check_memory
from tilewright.runtime.warn import warn_once
from tilewright.schedules.code import TableSchedule, TableShape
from tilewright.schedules.tiling import NONE, Tiling, as_tiling
from tilewright.verbs.tables.data import make_data
from tilewright.verbs.tables.plan import plan_table

if TYPE_CHECKING:
    from tilewright.runtime.tables.table import Filled

RESULTS = ("table", "last", "sum")
"""What :func:`fill` may return: the tables, the last cell of the first one, or all its cells joined."""


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
        from tilewright.report.recurrences import describe

        return describe(self.recurrence)


RecurrenceLike = Table | Recurrence | str
"""A decorated function, a recurrence, or the name of a built-in one."""


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
        >>> int(fill(common, "GATTACA", "ATTIC", result="last"))
        4
    """

    def make(body: Callable[..., Any]) -> Table:
        traced = trace_recurrence(
            body, name, rows=_names(rows), columns=_names(columns), outside=outside, semiring=semiring
        )
        return Table(body, traced)

    return make if function is None else make(function)


def _names(given: tuple[str, ...] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def as_recurrence(given: RecurrenceLike) -> Recurrence:
    """Return the recurrence that a user means."""
    if isinstance(given, Recurrence):
        return given
    if isinstance(given, Table):
        return given.recurrence
    if isinstance(given, str):
        return recurrences.recurrence_named(given)
    raise UsageError(f"a recurrence was expected, got a {type(given).__name__}", "decorate a function by tw.recurrence")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filling:
    """What filling did."""

    values: Any  # the result that was asked for
    tiling: Tiling  # the tiling; ``none`` for NumPy
    backend: str  # ``c``, ``numpy``, or the GPU's
    threads: int  # threads that were used, on a GPU those of a group
    seconds: float  # time of filling, without compiling; on a GPU by its own clock, without copies to and from it


def fill(
    program: RecurrenceLike,
    *inputs: Any,  # noqa: ANN401
    result: str = "table",
    dtype: str = "int32",
    shape: tuple[int, int] | None = None,
    tiling: Tiling | str | None = None,
    backend: str = "auto",
    threads: int | None = None,
    **scalars: float,
) -> Any:  # noqa: ANN401
    """Fill the table of a recurrence, in orthogonal tiles and compiled where possible.

    Args:
        program: A recurrence, or the name of a built-in one: ``edit_distance``, ``lcs``, ``smith_waterman``,
            ``needleman_wunsch``, ``monotone_paths``.
        *inputs: Its inputs in order: arrays, or texts, whose letters count by their code points.
        result: ``table`` for the table (a tuple for several), ``last`` for the last cell of the first one, ``sum`` for
            all its cells joined by the semiring's addition, such as the largest. The last two take linear memory.
        dtype: Element type of the tables: bool, int16, int32, int64, float32 or float64. Whole numbers wrap around.
        shape: Rows and columns, where no input gives them.
        tiling: Such as ``orthogonal:t=512,s=2048``.
        backend: ``auto``, ``c``, ``numpy``, ``opencl`` or ``cuda``, the last two with ``:`` and a number or part of a
            name for a certain device; ``auto`` is C where there is a compiler.
        threads: Threads; every CPU that the process may use by default.
        **scalars: The recurrence's scalars.

    Returns:
        The result.

    Raises:
        UsageError: If a name, an option or a scalar cannot be used.
        ArrayError: If an input does not fit.
        IllegalTilingError: If the tiling breaks a dependence.
        ToolchainError: If ``backend`` is named and there is no compiler or no device that works.

    Examples:
        >>> int(fill("edit_distance", "kitten", "sitting", result="last"))
        3
    """
    options = {"tiling": tiling, "backend": backend, "threads": threads}
    return filling(program, inputs, scalars, result=result, dtype=dtype, shape=shape, **options).values


def filling(
    program: RecurrenceLike,
    inputs: tuple[Any, ...],
    scalars: Mapping[str, float],
    *,
    result: str = "table",
    dtype: str = "int32",
    shape: tuple[int, int] | None = None,
    tiling: Any = None,  # noqa: ANN401  (a Tiling, a text or None)
    backend: Any = "auto",  # noqa: ANN401  (one of the backends)
    threads: Any = None,  # noqa: ANN401  (a number or None)
) -> Filling:
    """Fill a table as :func:`fill` does, and say how."""
    known = as_recurrence(program)
    one_of("a result", result, RESULTS)
    target = read_target(str(backend), refusal=f"the backend of a recurrence is one of {', '.join(BACKENDS)}")
    one_of("the dtype of a table", dtype, DTYPES)
    data = make_data(known, inputs, scalars, dtype, shape)
    asked = as_tiling(tiling)
    plan = plan_table(known, data, target, asked, threads, host())
    schedule = plan.schedule
    if isinstance(schedule, TableSchedule):
        if schedule.shape is not None:
            return _on_gpu(plan, schedule.shape, data, result)
        try:
            return _compiled(plan, schedule, data, result)
        except ToolchainError as error:
            if not target.fallback:
                raise
            warn_once(f"running with NumPy, which is many times slower: {error}")
    elif target.backend == "c" and not target.fallback:
        raise UsageError(f"{known.name!r} has no C code: a read goes up and to the right", "use backend='numpy'")
    elif target.fallback and asked is None:
        warn_once(
            f"running with NumPy, which is many times slower: {known.name!r} has no C code: a read goes up and to the "
            'right (backend="numpy" says that it is meant)'
        )
    check_memory(4 * len(known.tables) * data.shape[0] * data.shape[1] * np.dtype(dtype).itemsize)
    begin = time.perf_counter()
    tables = fill_reference(known, data)
    seconds = time.perf_counter() - begin
    first = tables[known.tables[0]]
    values: Any = first[-1, -1] if result == "last" else joined(known, first)
    if result == "table":
        values = first if len(tables) == 1 else tuple(tables[name] for name in known.tables)
    return Filling(values=values, tiling=NONE, backend="numpy", threads=1, seconds=seconds)


def _on_gpu(plan: Plan[TableProblem], shape: TableShape, data: TableData, result: str) -> Filling:
    from tilewright.runtime.tables import table_gpu

    problem, backend, rows = plan.problem, plan.target.backend, plan.tiling.time
    # Compiling is not part of the time.
    kernel = table_gpu.load_table(open_device(plan.target), backend, problem, shape, rows)
    found, seconds = table_gpu.fill_on_device(kernel, problem.program, data, (result == "table", result == "sum"))
    values = _values(problem.program, found, result)
    return Filling(values=values, tiling=plan.tiling, backend=backend, threads=shape.threads, seconds=seconds)


def _compiled(plan: Plan[TableProblem], schedule: TableSchedule, data: TableData, result: str) -> Filling:
    from tilewright.runtime.tables import table as kernels

    problem, threads, wanted = plan.problem, plan.target.threads, (result == "table", result == "sum")
    kernels.kernel_of(problem, schedule)  # compiles, which is not part of the time
    begin = time.perf_counter()
    found = kernels.fill_tables(problem, schedule, threads, data, wanted)
    seconds = time.perf_counter() - begin
    used = min(threads, ceil_div(data.shape[0], plan.tiling.time))
    values = _values(problem.program, found, result)
    return Filling(values=values, tiling=plan.tiling, backend="c", threads=used, seconds=seconds)


def _values(known: Recurrence, found: "Filled", result: str) -> Any:  # noqa: ANN401
    """Return the part of what was filled that was asked for."""
    if result != "table":
        return found.last if result == "last" else found.folded
    tables = tuple(found.tables[name] for name in known.tables)
    return tables[0] if len(tables) == 1 else tables
