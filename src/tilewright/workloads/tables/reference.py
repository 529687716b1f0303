"""The meaning of a recurrence, in NumPy: all cells that do not depend on each other at a time."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.programs.stencil.expression import LOOKUP, Apply, Const, Read, Scalar, Tape
from tilewright.programs.stencil.operators import BOOLEAN, OPERATORS
from tilewright.workloads.tables.problem import COLUMN, ROW, Recurrence, TableStatement

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TableData:
    """What a recurrence is filled from."""

    shape: tuple[int, int]  # rows and columns, each at least 1
    dtype: str  # element type of the tables, one of :data:`tilewright.workloads.tables.problem.DTYPES`
    # inputs by name: whole numbers as int32, others and matrices of the tables' type
    arrays: Mapping[str, Array]
    scalars: Mapping[str, float]


def wide_type(dtype: str) -> np.dtype[Any]:
    """Return the type that values outside a table are computed in."""
    return np.dtype(dtype if dtype.startswith("float") else np.int64)


def outside(program: Recurrence, data: TableData, table: str, rows: Array, columns: Array) -> Array:
    """Return the values of a table at rows and columns outside it, which are broadcast; no array is read."""
    shape = np.broadcast_shapes(rows.shape, columns.shape)
    statement = next(each for each in program.statements if each.table == table)
    if statement.outside is None:
        return np.full(shape, program.semiring.zero(data.dtype), dtype=data.dtype)
    kind = wide_type(data.dtype)
    indices = {ROW: rows.astype(kind), COLUMN: columns.astype(kind)}
    value = _evaluate(statement.outside, kind, lambda node: indices.get(node.name, data.scalars.get(node.name, 0)))
    return np.broadcast_to(value, shape).astype(data.dtype)


def fill(program: Recurrence, data: TableData) -> dict[str, Array]:
    """Fill the tables; each is of ``data.shape``.

    Cells with the same value of ``w i + j`` are computed at once, where w is the least number for which no dependence
    joins two of them: 1, the anti-diagonals, unless a read goes up and to the right.
    """
    offsets = [offset for many in program.reads.values() for offset in many]
    up, left = program.reach
    right = max([0, *(o[1] for o in offsets)])
    weight = 1 + max([0, *(o[1] // -o[0] for o in offsets if o[0])])
    rows = np.arange(-up, data.shape[0])[:, None]
    columns = np.arange(-left, data.shape[1] + right)[None, :]
    with np.errstate(all="ignore"):
        whole = {name: outside(program, data, name, rows, columns).copy() for name in program.tables}
        for i, j in _fronts(data.shape, weight):
            for statement in program.statements:
                whole[statement.table][i + up, j + left] = _cell(statement, data, whole, (i, j, up, left), program)
    return {name: table[up:, left : left + data.shape[1]].copy() for name, table in whole.items()}


def _fronts(shape: tuple[int, int], weight: int) -> Iterator[tuple[Array, Array]]:
    for front in range(weight * (shape[0] - 1) + shape[1]):
        low = max(0, -(-(front - shape[1] + 1) // weight))
        i = np.arange(low, min(shape[0] - 1, front // weight) + 1)
        if i.size:
            yield i, front - weight * i


def _cell(
    statement: TableStatement,
    data: TableData,
    whole: Mapping[str, Array],
    place: tuple[Array, Array, int, int],
    program: Recurrence,
) -> Array:
    i, j, up, left = place
    kinds = {each.name: each.kind for each in program.inputs}

    def leaf(node: Read | Scalar) -> Any:  # noqa: ANN401
        if isinstance(node, Scalar):
            return np.dtype(data.dtype).type(data.scalars[node.name])
        if node.field in whole:
            return whole[node.field][i + up + node.offset[0], j + left + node.offset[1]]
        values = data.arrays[node.field]
        return values[i, j] if kinds[node.field] == "cell" else values[i if kinds[node.field] == "row" else j]

    value = _evaluate(statement.tape, np.dtype(data.dtype), leaf, data.arrays)
    return np.broadcast_to(np.asarray(value), i.shape).astype(data.dtype)


def _evaluate(tape: Tape, dtype: np.dtype[Any], leaf: Any, arrays: Mapping[str, Array] | None = None) -> Any:  # noqa: ANN401
    """Evaluate a tape; every operation's result is rounded to the type, truth values aside."""
    values: list[Any] = []
    for node in tape:
        if isinstance(node, Const):
            values.append(node.value if isinstance(node.value, bool) else dtype.type(node.value))
        elif not isinstance(node, Apply):
            values.append(leaf(node))
        elif node.op.startswith(LOOKUP) and arrays is not None:
            row, column = (np.asarray(values[arg]).astype(np.int64) for arg in node.args)
            values.append(arrays[node.op[len(LOOKUP) :]][row, column])
        else:
            result = OPERATORS[node.op].evaluate(*(values[arg] for arg in node.args))
            values.append(result if node.op in BOOLEAN else np.asarray(result).astype(dtype))
    return values[-1]


def joined(program: Recurrence, values: Array) -> Any:  # noqa: ANN401  (a NumPy scalar)
    """Join values by the semiring's addition: the largest, the least, or whether any is true."""
    if program.semiring.plus == "or":
        return np.any(values)
    return np.max(values) if program.semiring.plus == "maximum" else np.min(values)
