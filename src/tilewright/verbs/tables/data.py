"""What a user gives to fill a table from: checked and converted."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.dtypes import check_fits
from tilewright.base.errors import ArrayError, UsageError
from tilewright.programs.stencil.expression import Apply, Read
from tilewright.programs.tables.reference import TableData, check_data
from tilewright.programs.tables.table import LOOKUP, Recurrence

Array = npt.NDArray[Any]


def make_data(
    known: Recurrence,
    inputs: tuple[Any, ...],
    scalars: Mapping[str, float],
    dtype: str,
    shape: tuple[int, int] | None = None,
) -> TableData:
    """Check and convert what a user gives."""
    names = [each.name for each in known.inputs]
    if len(inputs) != len(names):
        listed = ", ".join(names) or "none"
        raise UsageError(f"{known.name!r} has {len(names)} inputs ({listed}), got {len(inputs)}")
    strange = [name for name in scalars if name not in known.scalars]
    if strange:
        raise UsageError(f"{known.name!r} has no scalar {strange[0]!r}", f"its scalars are {list(known.scalars)}")
    arrays = {}
    rows = columns = 0
    for each, value in zip(known.inputs, inputs, strict=True):
        array = _array(each.name, value)
        arrays[each.name] = _typed(each.name, array, dtype, matrix=each.kind == "matrix")
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
    check_data(known, data)
    _check_lookups(known, data)
    return data


def _array(name: str, value: Any) -> Array:  # noqa: ANN401
    if isinstance(value, str):
        return np.frombuffer(value.encode("utf-32-le"), dtype=np.uint32)
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise ArrayError(f"the input {name!r} is made of numbers or is a text, got {array.dtype}")
    return array


def _typed(name: str, array: Array, dtype: str, *, matrix: bool) -> Array:
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


def _check_lookups(known: Recurrence, data: TableData) -> None:
    """Refuse values that no matrix has a row or a column for: a kernel would read beyond it."""
    for statement in known.statements:
        for node in statement.tape:
            if not isinstance(node, Apply) or not node.op.startswith(LOOKUP):
                continue
            matrix = data.arrays[node.op[len(LOOKUP) :]]
            for axis, place in enumerate(node.args):
                leaf = statement.tape[place]
                if not isinstance(leaf, Read) or leaf.field in known.tables:
                    raise UsageError(f"{known.name!r} looks {node.op[len(LOOKUP) :]!r} up by something computed")
                values = data.arrays[leaf.field]
                if values.dtype.kind == "f" or values.min() < 0 or values.max() >= matrix.shape[axis]:
                    raise ArrayError(
                        f"the input {leaf.field!r} holds values from {values.min()} to {values.max()}, the matrix "
                        f"{node.op[len(LOOKUP) :]!r} has {matrix.shape[axis]} {('rows', 'columns')[axis]}"
                    )
