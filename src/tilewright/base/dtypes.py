"""Element types as NumPy has them, by name; ``bfloat16`` is the one of the package ml_dtypes, where that is there."""

import functools
import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.extras import needed

NARROW = ("float16", "bfloat16")
"""Types of fields alone: arithmetic takes their values as float32, and rounds once, where a result is kept."""


def numpy_type(name: str) -> np.dtype[Any]:
    """Return a type by its name.

    Raises:
        UsageError: If NumPy has none of this name, or it is bfloat16 and ml_dtypes is missing.

    >>> numpy_type("complex64").itemsize
    8
    """
    if name == "bfloat16":
        with needed("ml_dtypes", "the element type bfloat16", extra="bfloat16"):
            importlib.import_module("ml_dtypes")  # NumPy knows the name from then on
    try:
        return np.dtype(name)
    except TypeError:
        raise UsageError(f"NumPy has no element type {name!r}", "write float32, for example") from None


def native(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array in this machine's order of bytes: itself, or a copy.

    >>> native(np.arange(3, dtype=">i4")).dtype
    dtype('int32')
    """
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def real_numbers(value: Any, name: str) -> npt.NDArray[Any]:  # noqa: ANN401
    """Return an array of real numbers that a caller gave, in this machine's order of bytes, without a copy if possible.

    Args:
        value: What was given.
        name: What it is, for the message.

    Raises:
        ArrayError: If it is none.
    """
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = np.empty(0, object)
    if array.dtype.kind not in "biuf":
        got = f"{array.dtype} values" if array.dtype.kind == "c" else f"{value!r:.60}"
        raise ArrayError(f"{name!r} holds real numbers, got {got}")
    return native(array)


def arithmetic(name: str) -> np.dtype[Any]:
    """Return the type that values of a field are computed in.

    >>> str(arithmetic("float16")), str(arithmetic("int8"))
    ('float32', 'int8')
    """
    return np.dtype(np.float32) if name in NARROW else np.dtype(name)


def is_rounded(dtype: np.dtype[Any] | str) -> bool:
    """Whether numbers of a type are rounded: real and complex ones."""
    kind = np.dtype(dtype) if not isinstance(dtype, str) else numpy_type(dtype)
    return kind.kind in "fc" or kind.name == "bfloat16"


def is_number(dtype: np.dtype[Any]) -> bool:
    """Whether a type is one of numbers or truth values."""
    return dtype.kind in "biufc" or dtype.name == "bfloat16"


@functools.cache
def limits(name: str) -> Any:  # noqa: ANN401
    """Return what ``numpy.finfo`` says of a rounded type, of a complex one of its parts."""
    if name == "bfloat16":
        numpy_type(name)
        return importlib.import_module("ml_dtypes").finfo(name)
    return np.finfo(name)
