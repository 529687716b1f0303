"""Matrices of diagonals and vector operations on a device: the kernels of :mod:`tilewright.sparse.lower.gpu` called."""

from collections.abc import Sequence

import numpy as np

from tilewright.runtime.devices import call
from tilewright.runtime.devices.device import Device
from tilewright.runtime.memory import Array
from tilewright.sparse.dia import Dia
from tilewright.sparse.lower.gpu import emit_dia_gpu, emit_vectors_gpu
from tilewright.sparse.lower.vectors import VectorKernel

THREADS = 256  # of a group
GROUPS = 1024  # most of a launch: their threads take what is longer in turns


def multiply(device: Device, matrix: Dia, x: Array, *, threads: int = THREADS, unroll: int = 1) -> Array:
    """Return a matrix times a vector, with so many diagonals in an iteration."""
    source = emit_dia_gpu(matrix.dtype.name, device.dialect, threads, unroll)
    starts = np.cumsum([0, *(each.size for each in matrix.diagonals)], dtype=np.int64)[:-1]
    values = np.concatenate([*matrix.diagonals, np.zeros(0, matrix.dtype)])
    product: Array = np.empty(matrix.shape[0], matrix.dtype)
    arrays = (values, starts, np.array(matrix.offsets, np.int64), np.ascontiguousarray(x, matrix.dtype), product)
    sizes = map(np.int64, (*matrix.shape, len(matrix.offsets)))
    call.run(device, source, [(0, _groups(len(product), threads), (*arrays, *sizes))], [product])
    return product


def apply(
    device: Device, what: VectorKernel, vectors: Sequence[Array], scalars: Sequence[float], *, threads: int = THREADS
) -> tuple[float, ...]:
    """Run a kernel on contiguous vectors, of which those that it assigns are changed in place; return its sums."""
    first = vectors[0]
    source = emit_vectors_gpu(what, first.dtype.name, device.dialect, threads)
    groups = _groups(first.size, threads)
    sums: list[Array] = [np.empty(groups * what.sums, first.dtype)] if what.sums else []
    arguments = (*vectors, *map(first.dtype.type, scalars), *sums, np.int64(first.size))
    launches: list[call.Launch] = [(0, groups, arguments)]
    launches += [(1, 1, (each, np.int32(groups))) for each in sums]
    written = [each for name, each in zip(what.vectors, vectors, strict=True) if name in what.written]
    call.run(device, source, launches, [*written, *sums])
    return tuple(float(each) for part in sums for each in part[: what.sums])


def _groups(elements: int, threads: int) -> int:
    return max(1, min(GROUPS, -(-elements // threads)))
