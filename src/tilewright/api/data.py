"""The arrays of one run as the command line gives them: files, pictures, or random numbers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.units import format_shape, parse_shape
from tilewright.programs.stencil import Program
from tilewright.runtime.files import read_planes
from tilewright.runtime.memory import check_memory

Array = npt.NDArray[Any]
Planes = tuple[tuple[Array, ...], ...]
"""One tuple of arrays per plane, each with one array per field."""
_LARGEST_INTEGER = 10
_COEFFICIENTS = 0.25


def planes(
    program: Program, files: Sequence[Path], shape: str | None, dtype: str | None = None, seed: int = 0
) -> Planes:
    """Return the arrays of every field.

    Args:
        program: The program.
        files: One file per field in field order, or none for random numbers.
        shape: Extents as text; those of the files by default.
        dtype: Element type; by default that of the first file if the code can compute in it, else float32.
        seed: Seed of the random numbers.

    Returns:
        Once the arrays of all fields; three times where a file is a colour picture: red, green and blue. Grey data
        serve all three.

    Raises:
        ArrayError: If a file is no array or does not fit.
        UsageError: If the number of files is not that of the fields, or neither files nor a shape are given.
    """
    asked = None if shape is None else parse_shape(shape)
    if not files:
        if asked is None:
            raise UsageError("a run needs a shape or data", "give --shape 2048x2048 or --input FILE")
        return (random_arrays(program, asked, dtype or "float32", seed),)
    if len(files) != len(program.fields):
        raise UsageError(
            f"{program.name!r} has the fields {', '.join(program.fields)}, so it needs as many --input, "
            f"got {len(files)}"
        )
    given = [read_planes(path) for path in files]
    for path, parts in zip(files, given, strict=True):
        if asked is not None and parts[0].shape != asked:
            raise ArrayError(
                f"{str(path)!r} has the shape {format_shape(parts[0].shape)}, got --shape {format_shape(asked)}",
                "leave --shape out",
            )
    count = max(len(parts) for parts in given)
    return tuple(tuple(parts[i if len(parts) > 1 else 0] for parts in given) for i in range(count))


def random_arrays(program: Program, shape: tuple[int, ...], dtype: str, seed: int) -> tuple[Array, ...]:
    """Return random data for every field, never zeros.

    Numbers from 0 to 1, a quarter of that in fields that are never updated (coefficients), whole numbers from 0 to 9
    for integer types.

    Raises:
        ArrayError: If they would not fit into memory.
        UsageError: If the shape's rank is not the program's.

    >>> from tilewright.programs.catalogue import program
    >>> random_arrays(program("jacobi1d"), (3,), "float32", 0)[0].dtype
    dtype('float32')
    """
    if len(shape) != program.rank:
        plural = "s" * (program.rank > 1)
        raise UsageError(
            f"{program.name!r} has {program.rank} dimension{plural}, got the shape {format_shape(shape)}",
            f"write --shape {format_shape((256,) * program.rank)}",
        )
    kind = _numeric(dtype)
    cells = int(np.prod(shape, dtype=object))
    check_memory(cells * kind.itemsize * (len(program.fields) + 1))
    generator = np.random.default_rng(seed)
    arrays = []
    for field in program.fields:
        if kind.kind in "iu":
            arrays.append(generator.integers(0, _LARGEST_INTEGER, shape, dtype=kind))
            continue
        narrow = np.float32 if kind.itemsize <= np.dtype(np.float32).itemsize else np.float64
        values = generator.random(shape, dtype=narrow).astype(kind, copy=False)
        arrays.append(values if field in program.updated else values * kind.type(_COEFFICIENTS))
    return tuple(arrays)


def scalar_values(program: Program, texts: Sequence[str]) -> dict[str, float]:
    """Read the scalars that a user sets as ``name=value``.

    Raises:
        UsageError: If one is unknown, missing, given twice or no number.

    >>> from tilewright.api.stencil import stencil
    >>> scalar_values(stencil(lambda u, a: a * u[0]).program, ["a=0.5"])
    {'a': 0.5}
    """
    values: dict[str, float] = {}
    for text in texts:
        name, separator, number = (part.strip() for part in text.partition("="))
        if not separator or name not in program.scalars or name in values:
            known = ", ".join(program.scalars) or "none"
            problem = "twice" if name in values else "which it has not" if separator else "without a value"
            raise UsageError(f"--set names a scalar of {program.name!r} {problem}: {text!r}", f"its scalars: {known}")
        try:
            values[name] = int(number) if number.lstrip("+-").isdecimal() else float(number)
        except ValueError:
            raise UsageError(f"the value of a scalar is a number, got {text!r}", f"write --set {name}=0.5") from None
    missing = [name for name in program.scalars if name not in values]
    if missing:
        raise UsageError(f"{program.name!r} needs a value of {missing[0]!r}", f"give --set {missing[0]}=VALUE")
    return values


def _numeric(dtype: str) -> np.dtype[Any]:
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind.kind not in "iufc":
        raise UsageError(f"the dtype is a number's type, got {dtype!r}", "write float32, float64, int32 or int64")
    return kind
