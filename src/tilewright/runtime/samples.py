"""Random data of programs: what runs without input compute, and what kernels are checked and timed with."""

from typing import Any

import numpy as np

from tilewright.base.dtypes import is_number, numpy_type
from tilewright.base.errors import UsageError
from tilewright.base.units import format_shape
from tilewright.programs.stencil.program import Program
from tilewright.runtime.memory import Array, check_memory

_LARGEST_INTEGER = 10
_COEFFICIENTS = 0.25


def random_arrays(program: Program, shape: tuple[int, ...], dtype: str, seed: int) -> tuple[Array, ...]:
    """Return random data for every field, never zeros.

    Numbers from 0 to 1, a quarter of that in fields that are never updated (coefficients), whole numbers from 0 to 9
    for integer types.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> random_arrays(program("jacobi1d"), (3,), "float32", 0)[0].dtype
    dtype('float32')
    """
    if len(shape) != program.rank:
        plural = "s" * (program.rank > 1)
        raise UsageError(
            f"{program.name!r} has {program.rank} dimension{plural}, got the shape {format_shape(shape)}",
            f"write --shape {format_shape((256,) * program.rank)}",
        )
    kind = _numeric_type(dtype)
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


def random_profiles(program: Program, shape: tuple[int, ...], seed: int) -> dict[str, Array]:
    """Return random numbers from 0 to a quarter for every profile of a program, by name."""
    generator = np.random.default_rng(seed)
    return {name: _COEFFICIENTS * generator.random(shape[axis]) for name, axis in program.profiles.items()}


def _numeric_type(dtype: str) -> np.dtype[Any]:
    try:
        kind = numpy_type(dtype)
    except UsageError:
        kind = np.dtype(object)
    if not is_number(kind) or kind.kind == "b":
        raise UsageError(f"the dtype is a number's type, got {dtype!r}", "write float32, int32 or uint8, for example")
    return kind
