"""``tw.fill``: the table of a recurrence from what a user gives, compiled where possible."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.dtypes import check_fits
from tilewright.base.errors import ArrayError, UsageError, one_of
from tilewright.inputs.memo import host
from tilewright.plan import BACKENDS, read_target
from tilewright.programs.stencil.expression import LOOKUP, Apply, Read, check_constants
from tilewright.programs.stencil.program import refuse_bits
from tilewright.runtime.call import or_by_numpy
from tilewright.runtime.memory import check_memory
from tilewright.runtime.warn import warn_once
from tilewright.schedules.tiling import NONE, Tiling, as_tiling
from tilewright.workloads.tables.problem import DTYPES, Recurrence
from tilewright.workloads.tables.recurrence import RecurrenceLike, as_recurrence
from tilewright.workloads.tables.reference import TableData, joined, wide_type
from tilewright.workloads.tables.reference import fill as fill_reference
from tilewright.workloads.tables.schedule import plan_table

Array = npt.NDArray[Any]
RESULTS = ("table", "last", "sum")
"""What :func:`fill` may return: the tables, the last cell of the first one, or all its cells joined."""


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
    rule = as_recurrence(program)
    one_of("a result", result, RESULTS)
    target = read_target(str(backend), refusal=f"the backend of a recurrence is one of {', '.join(BACKENDS)}")
    one_of("the dtype of a table", dtype, DTYPES)
    data = make_data(rule, inputs, scalars, dtype, shape)
    choice = as_tiling(tiling)
    plan = plan_table(rule, data, target, choice, threads, host())
    if plan.schedule is not None:
        from tilewright.workloads.tables import call

        run = call.fill_on_device if target.on_device else call.fill_tables
        if filled := or_by_numpy(partial(run, plan, plan.schedule, data, result), fallback=target.fallback):
            values, count, seconds = filled
            tiling = plan.schedule.tiling
            return Filling(values=values, tiling=tiling, backend=target.backend, threads=count, seconds=seconds)
    elif target.backend == "c" and not target.fallback:
        raise UsageError(f"{rule.name!r} has no C code: a read goes up and to the right", "use backend='numpy'")
    elif target.fallback and choice is None:
        warn_once(
            f"running with NumPy, which is many times slower: {rule.name!r} has no C code: a read goes up and to the "
            'right (backend="numpy" says that it is meant)'
        )
    check_memory(4 * len(rule.tables) * data.shape[0] * data.shape[1] * np.dtype(dtype).itemsize)
    begin = time.perf_counter()
    tables = fill_reference(rule, data)
    seconds = time.perf_counter() - begin
    first = tables[rule.tables[0]]
    values = first[-1, -1] if result == "last" else joined(rule, first)
    if result == "table":
        values = first if len(tables) == 1 else tuple(tables[name] for name in rule.tables)
    return Filling(values=values, tiling=NONE, backend="numpy", threads=1, seconds=seconds)


def make_data(
    program: Recurrence,
    inputs: tuple[Any, ...],
    scalars: Mapping[str, float],
    dtype: str,
    shape: tuple[int, int] | None = None,
) -> TableData:
    """Check and convert what a user gives."""
    names = [each.name for each in program.inputs]
    if len(inputs) != len(names):
        listed = ", ".join(names) or "none"
        raise UsageError(f"{program.name!r} has {len(names)} inputs ({listed}), got {len(inputs)}")
    strange = [name for name in scalars if name not in program.scalars]
    if strange:
        raise UsageError(f"{program.name!r} has no scalar {strange[0]!r}", f"its scalars are {list(program.scalars)}")
    arrays = {}
    rows = columns = 0
    for each, value in zip(program.inputs, inputs, strict=True):
        array = _array(each.name, value)
        arrays[each.name] = _typed_array(each.name, array, dtype, matrix=each.kind == "matrix")
        if array.ndim != (1 if each.kind in {"row", "column"} else 2):
            need = "one dimension" if each.kind in {"row", "column"} else "two dimensions"
            raise ArrayError(f"the input {each.name!r} has {need}, got {array.ndim}")
        if each.kind in {"row", "cell"}:
            rows = array.shape[0]
        if each.kind in {"column", "cell"}:
            columns = array.shape[-1]
    extents = shape or (rows, columns)
    if len(extents) != 2 or min(extents) < 1:
        hint = "pass shape=(rows, columns)" if not rows or not columns else ""
        raise ArrayError(f"a table has at least one row and one column, got {extents}", hint)
    data = TableData(shape=(int(extents[0]), int(extents[1])), dtype=dtype, arrays=arrays, scalars=dict(scalars))
    _check_inputs(program, data)
    _check_values(program, data)
    _check_lookups(program, data)
    return data


def _check_inputs(program: Recurrence, data: TableData) -> None:
    shapes = {"row": data.shape[:1], "column": data.shape[1:], "cell": data.shape}
    for each in program.inputs:
        shape = data.arrays[each.name].shape
        if each.kind != "matrix" and shape != shapes[each.kind]:
            raise ArrayError(
                f"the input {each.name!r} of {program.name!r} must have the shape {shapes[each.kind]}, got the shape "
                f"{shape}"
            )
    missing = [name for name in program.scalars if name not in data.scalars]
    if missing:
        raise UsageError(f"{program.name!r} needs a value for {missing[0]!r}", f"pass {missing[0]}=…")


def _check_values(program: Recurrence, data: TableData) -> None:
    """Refuse numbers and operations that the tables' type does not hold."""
    element = "uint8" if data.dtype == "bool" else data.dtype
    for name, value in data.scalars.items():
        check_fits(value, element, f"{name} = {{}}")
    for statement in program.statements:
        check_constants(statement.tape, element, program.name)
        check_constants(statement.outside or (), wide_type(data.dtype).name, program.name)
    tapes = [tape for s in program.statements for tape in (s.tape, s.outside or ())]
    if data.dtype.startswith("float"):
        for tape in tapes:
            refuse_bits(tape, repr(program.name), data.dtype)
    elif any(isinstance(n, Apply) and n.op in {"div", "sqrt", "exp", "log"} for tape in tapes for n in tape):
        raise UsageError(f"{program.name!r} divides or takes roots, which {data.dtype} cannot hold", "use float32")


def _array(name: str, value: Any) -> Array:  # noqa: ANN401
    if isinstance(value, str):
        return np.frombuffer(value.encode("utf-32-le"), dtype=np.uint32)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise ArrayError(f"the input {name!r} is made of numbers or is a text, got {array.dtype}")
    return array


def _typed_array(name: str, array: Array, dtype: str, *, matrix: bool) -> Array:
    """Whole numbers become int32, others the tables' type; so do matrices."""
    if matrix:
        check_fits(array, "uint8" if dtype == "bool" else dtype, f"the entry {{}} of the matrix {name!r}")
        return array.astype(dtype)
    if array.dtype.kind == "f":
        if not dtype.startswith("float"):
            raise ArrayError(f"the input {name!r} holds {array.dtype} values, which {dtype} tables cannot use")
        return array.astype(dtype)
    if array.size and (array.max() >= 2**31 or array.min() < -(2**31)):
        raise ArrayError(f"the input {name!r} holds whole numbers beyond 32 bits")
    return array.astype(np.int32)


def _check_lookups(program: Recurrence, data: TableData) -> None:
    """Refuse values that no matrix has a row or a column for: a kernel would read beyond it."""
    for statement in program.statements:
        for node in statement.tape:
            if not isinstance(node, Apply) or not node.op.startswith(LOOKUP):
                continue
            matrix = data.arrays[node.op[len(LOOKUP) :]]
            for axis, place in enumerate(node.args):
                leaf = statement.tape[place]
                if not isinstance(leaf, Read) or leaf.field in program.tables:
                    raise UsageError(f"{program.name!r} looks {node.op[len(LOOKUP) :]!r} up by something computed")
                values = data.arrays[leaf.field]
                if values.dtype.kind == "f" or values.min() < 0 or values.max() >= matrix.shape[axis]:
                    raise ArrayError(
                        f"the input {leaf.field!r} holds values from {values.min()} to {values.max()}, the matrix "
                        f"{node.op[len(LOOKUP) :]!r} has {matrix.shape[axis]} {('rows', 'columns')[axis]}"
                    )
