"""Element types as NumPy has them, by name; ``bfloat16`` is the one of the package ml_dtypes, where that is there."""

import functools
import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ArrayError, UsageError, needed

NARROW = ("float16", "bfloat16")
"""Types of fields alone: arithmetic takes their values as float32, and rounds once, where a result is kept."""


def numpy_type(name: str) -> np.dtype[Any]:
    """Return a type by its name.

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
    """Return an array of real numbers that a caller gave, in this machine's byte order, without a copy if possible."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        array = np.empty(0, object)
    if array.dtype.kind not in "biuf":
        text = f"{array.dtype} values" if array.dtype.kind == "c" else f"{value!r:.60}"
        raise ArrayError(f"{name!r} holds real numbers, got {text}")
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


def check_fits(values: Any, dtype: str, subject: str) -> None:  # noqa: ANN401
    """Check that numbers fit an element type: whole ones exactly, others as NumPy rounds its weak scalars.

    >>> check_fits(0.1, "float32", "the constant {}")
    >>> check_fits(300, "uint8", "the constant {}")
    Traceback (most recent call last):
    tilewright.base.errors.UsageError: the constant 300 does not fit uint8 (hint: it holds whole numbers from 0 to 255)
    """
    low, high = _bounds(dtype)
    if isinstance(values, int | float) and low <= values <= high and (is_rounded(dtype) or int(values) == values):
        return
    array, kind = np.asarray(values), numpy_type(dtype)
    if array.dtype == kind or np.can_cast(array.dtype, kind, "safe"):
        return
    # What is repeated over a grid is looked at once.
    array = array[(*(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides), ...)]
    bad = np.flatnonzero(~_fits(array, kind))
    if len(bad):
        numbers = "numbers" if kind.kind == "c" else "real numbers" if is_rounded(dtype) else "whole numbers"
        first, last = (f"{each:.6g}" if isinstance(each, float) else str(each) for each in (low, high))
        number = _number_text(array.flat[bad[0]])
        raise UsageError(
            f"{subject.replace('{}', number)} does not fit {dtype}", f"it holds {numbers} from {first} to {last}"
        )


def real_whole_numbers(array: npt.NDArray[Any], subject: str) -> npt.NDArray[Any]:
    """Return whole numbers beyond 64 bits, which NumPy keeps as objects, as real ones; other arrays as they are."""
    if array.dtype != object or not array.size or not all(isinstance(each, int) for each in array.flat):
        return array
    check_fits(array, "float64", subject)
    return array.astype(np.float64)


@functools.cache
def _bounds(dtype: str) -> tuple[float, float]:
    bounds = limits(dtype) if is_rounded(dtype) else np.iinfo(dtype)
    number = float if is_rounded(dtype) else int
    return number(bounds.min), number(bounds.max)


def _fits(array: Any, kind: np.dtype[Any]) -> Any:  # noqa: ANN401
    if array.dtype == object:  # whole numbers of more than 64 bits
        return np.array([_large_fits(value, kind) for value in array.flat]).reshape(array.shape)
    if kind.kind in "iu":
        low, high = np.iinfo(kind).min, np.iinfo(kind).max
        if array.dtype.kind in "biu":
            return (array >= low) & (array <= high)
        real = array.real
        return (array.imag == 0) & (real == np.rint(real)) & (real >= low) & (real < high + 1.0)
    if array.dtype.kind == "c" and kind.kind != "c":
        return np.zeros(array.shape, bool)
    with np.errstate(all="ignore"):
        return np.isfinite(array.astype(kind)) | ~np.isfinite(array)


def _large_fits(value: Any, kind: np.dtype[Any]) -> bool:  # noqa: ANN401
    try:
        return kind.kind not in "biu" and bool(np.isfinite(np.float64(value).astype(kind)))
    except OverflowError:
        return False


def _number_text(value: Any) -> str:  # noqa: ANN401
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, int) and value.bit_length() > np.iinfo(np.int64).bits:
        return f"(a whole number of {value.bit_length()} bits)"
    return repr(value)
