"""Fused pairs of matrix products on this CPU: compiled, cached and called."""

import numpy as np

from tilewright.base.intmath import ceil_div, round_up
from tilewright.codegen.products.matmul import emit_fused, work_elements
from tilewright.runtime.call import by_cells, compiled, scratch
from tilewright.runtime.memory import Array
from tilewright.runtime.toolchains.cpu import target_cpu
from tilewright.schedules.code import Blocking
from tilewright.tuning.spaces.cpu_schedule import blocking

DTYPES = ("float32", "float64")
_THREADED = 500_000  # multiply-adds below which a second thread costs more than it brings


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


def host_blocking() -> Blocking:
    """Return the registers' blocks of kernels of this CPU."""
    return blocking(target_cpu().simd_bits)


def fused_product(
    fusion: str, operands: tuple[Array, Array, Array], tile: tuple[int, int], threads: int, how: Blocking
) -> Array:
    """Multiply (A1 A2) A3 (``left``) or A1 (A2 A3) (``right``) without storing the product in brackets."""
    a1, a2, a3 = operands  # of any strides, no extent 0
    dtype = str(a1.dtype)
    (kernel,) = compiled(emit_fused, fusion, dtype, how)
    p = (a1.shape[0], a1.shape[1], a2.shape[1], a3.shape[1])
    work_size = p[0] * p[2] * (p[1] + p[3]) if fusion == "left" else p[1] * p[3] * (p[2] + p[0])
    count = kernel.team(threads, worth=work_size >= _THREADED)
    x, y = block_sizes(fusion, p, tile, count)
    a1, a2, a3 = by_cells(a1, rows=True), by_cells(a2, rows=fusion == "right"), by_cells(a3)
    needed = work_elements(fusion, how.panel(a1.itemsize), p, (x, y), count) * a1.itemsize
    work = scratch(needed, p[0] * p[3] * a1.itemsize)
    result = np.empty((p[0], p[3]), dtype)
    strides = [stride // a1.itemsize for stride in (a1.strides[0], *a2.strides, *a3.strides, result.strides[0])]
    kernel((a1, a2, a3, result), (*p, *strides, x, y, count), work)
    return result
