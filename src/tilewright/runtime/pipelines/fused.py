"""Fused pairs of matrix products on this CPU: compiled, cached and called."""

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.intmath import ceil_div, round_up
from tilewright.codegen.matrices.matmul import emit_fused, work_elements
from tilewright.runtime.cpu import CompiledFunction, functions
from tilewright.runtime.memory import allocate, check_memory
from tilewright.schedules.bodies.unrolling import Blocking

Array = npt.NDArray[Any]
DTYPES = ("float32", "float64")
_THREADED = 500_000
"""Multiply-adds below which a second thread costs more than it brings."""


@functools.lru_cache(maxsize=8)
def _kernel(fusion: str, dtype: str, how: Blocking) -> CompiledFunction:
    return functions(emit_fused(fusion, dtype, how))[0]


def block_sizes(fusion: str, p: tuple[int, int, int, int], tile: tuple[int, int], threads: int) -> tuple[int, int]:
    """Cut a tile so that it fits the product, fills the micro-kernel and leaves every thread a block.

    >>> block_sizes("left", (1000, 64, 24, 64), (5000, 50), 2)
    (504, 24)
    """
    rows, columns = (p[0], p[2]) if fusion == "left" else (p[1], p[3])
    x, y = min(tile[0], rows), min(tile[1], columns)
    if fusion == "left":
        x = min(x, ceil_div(rows, threads))
        return min(rows, round_up(x, 8)), y
    y = min(y, ceil_div(columns, threads))
    return x, min(columns, round_up(y, 8))


def fused_product(
    fusion: str, operands: tuple[Array, Array, Array], tile: tuple[int, int], threads: int, how: Blocking
) -> Array:
    """Multiply (A1 A2) A3 (``left``) or A1 (A2 A3) (``right``) without storing the product in brackets."""
    a1, a2, a3 = operands  # of any strides, no extent 0
    dtype = str(a1.dtype)
    compiled = _kernel(fusion, dtype, how)
    p = (a1.shape[0], a1.shape[1], a2.shape[1], a3.shape[1])
    work_size = p[0] * p[2] * (p[1] + p[3]) if fusion == "left" else p[1] * p[3] * (p[2] + p[0])
    count = threads if compiled.parallel and work_size >= _THREADED else 1
    x, y = block_sizes(fusion, p, tile, count)
    a1 = _rows(a1)
    a2 = _rows(a2) if fusion == "right" else _plain(a2)
    a3 = _plain(a3)
    needed = work_elements(fusion, how.panel(a1.itemsize), p, (x, y), count) * a1.itemsize
    check_memory(needed + p[0] * p[3] * a1.itemsize)
    work = allocate(needed)
    result = np.empty((p[0], p[3]), dtype=dtype)
    strides = [stride // a1.itemsize for stride in (a1.strides[0], *a2.strides, *a3.strides, result.strides[0])]
    compiled((a1, a2, a3, result), (*p, *strides, x, y, count), work)
    return result


def _rows(array: Array) -> Array:
    """Return an array whose rows are contiguous and aligned."""
    straight = array.strides[1] == array.itemsize or array.shape[1] == 1
    return array if straight and _usable(array) else np.ascontiguousarray(array)


def _plain(array: Array) -> Array:
    return array if _usable(array) else np.ascontiguousarray(array)


def _usable(array: Array) -> bool:
    whole = all(stride % array.itemsize == 0 for stride in array.strides)
    return array.flags.aligned and array.dtype.isnative and whole
