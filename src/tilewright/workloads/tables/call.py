"""Tables filled on this CPU by compiled code, or on a GPU: edges in its memory, a launch per wavefront of tiles."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ArrayError
from tilewright.base.intmath import ceil_div
from tilewright.base.units import format_over
from tilewright.runtime.call import CompiledFunction, addresses, compiled, scratch
from tilewright.runtime.devices.device import Device
from tilewright.workloads.tables.lower.cpu import emit_table, work_bytes
from tilewright.workloads.tables.lower.gpu import ABOVE, BESIDE, emit_gpu_table
from tilewright.workloads.tables.problem import Recurrence, TableProblem
from tilewright.workloads.tables.reference import TableData, joined, outside
from tilewright.workloads.tables.schedule import TableSchedule, TableShape

Array = npt.NDArray[Any]
_FLAG_WORDS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """What is left of filled tables."""

    tables: dict[str, Array]  # by name; empty unless asked for
    last: Any  # last cell of the first table
    folded: Any  # all cells of the first table, joined by the semiring's addition; None unless asked for


def kernel_of(problem: TableProblem, schedule: TableSchedule) -> CompiledFunction:
    """Compile a table's kernel, or find what an earlier call or run made of it."""
    return compiled(emit_table, problem.program, problem.dtype, problem.floating, schedule.kept)[0]


def fill_tables(
    problem: TableProblem, schedule: TableSchedule, threads: int, data: TableData, wanted: tuple[bool, bool]
) -> Filled:
    """Fill tables in orthogonal tiles; ``wanted`` are the tables (else memory is linear), all cells joined."""
    program, kernel = problem.program, kernel_of(problem, schedule)
    tile = (schedule.tiling.time, schedule.tiling.space[0])
    (m, n), (up, left) = data.shape, program.reach
    tall = ceil_div(m, tile[0])
    count = kernel.team(threads, parts=tall)
    itemsize = np.dtype(data.dtype).itemsize
    own = work_bytes(program, itemsize, tile, schedule.kept)
    per_table = up * (left + n) + m * left + (m * n if wanted[0] else 1)
    work = scratch(own * count, len(program.tables) * per_table * itemsize)
    arrays: list[Array] = []
    results: dict[str, Array] = {}
    for name in program.tables:
        rows, columns = np.arange(-up, 0)[:, None], np.arange(-left, n)[None, :]
        arrays.append(np.ascontiguousarray(outside(program, data, name, rows, columns)))
        rows, columns = np.arange(m)[:, None], np.arange(-left, 0)[None, :]
        arrays.append(np.ascontiguousarray(outside(program, data, name, rows, columns)))
        results[name] = np.empty(data.shape if wanted[0] else (1, 1), dtype=data.dtype)
        arrays.append(results[name])
    arrays += [np.ascontiguousarray(data.arrays[each.name]) for each in program.inputs]
    last = np.zeros(1, dtype=data.dtype)
    folded = np.full(tall, program.semiring.zero(data.dtype), dtype=data.dtype)
    arrays += [np.zeros(tall * _FLAG_WORDS, dtype=np.int64), last, folded]
    widths = [data.arrays[each.name].shape[1] for each in program.inputs if each.kind == "matrix"]
    sizes = [m, n, *tile, count, *wanted, own, *widths]
    scalars = [np.array([data.scalars[name]], dtype=data.dtype) for name in program.scalars]
    kernel(arrays, sizes, work, addresses(scalars))
    total = joined(program, folded) if wanted[1] else None
    return Filled(tables=results if wanted[0] else {}, last=last[0], folded=total)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableKernel:
    """A recurrence's kernel on a device."""

    device: Device
    handle: Any  # the driver's handle
    shape: TableShape  # threads and sub-tiles
    rows: int  # rows of a tile


def load_table(device: Device, dialect: str, problem: TableProblem, shape: TableShape, rows: int) -> TableKernel:
    """Compile a table's kernel for a device, with the threads of its blocks, for tiles of so many rows."""
    handle = _built(device, dialect, problem.program, problem.dtype, problem.floating, shape)
    return TableKernel(device=device, handle=handle, shape=shape, rows=rows)


@functools.lru_cache(maxsize=64)
def _built(
    device: Device, dialect: str, program: Recurrence, dtype: str, floating: tuple[str, ...], shape: TableShape
) -> Any:  # noqa: ANN401
    return device.build(emit_gpu_table(program, dtype, floating, shape, dialect))[0]


def fill_on_device(
    kernel: TableKernel, program: Recurrence, data: TableData, wanted: tuple[bool, bool]
) -> tuple[Filled, float]:
    """Fill the tables of a recurrence, ``wanted`` as on CPUs; returns the device's seconds as well."""
    device, threads = kernel.device, kernel.shape.threads
    tall, wide = ceil_div(data.shape[0], kernel.rows), ceil_div(data.shape[1], threads * kernel.shape.sub)
    arrays = _arrays(program, data, tall * threads, tables=wanted[0])
    total = sum(each.nbytes for each in arrays)
    if total > device.memory_bytes:
        needed, there = format_over(total, device.memory_bytes)
        raise ArrayError(
            f"this table needs {needed}, {device.name} has {there}",
            "ask for its last cell or its sum alone",
        )
    matrices = [data.arrays[each.name] for each in program.inputs if each.kind == "matrix"]
    room = sum(each.nbytes for each in matrices) if kernel.shape.chip else 0
    sizes = [np.int32(extent) for each in matrices for extent in each.shape]
    buffers: list[Any] = []
    try:
        for each in arrays:
            buffers.append(device.allocate(each.nbytes))
            device.write(buffers[-1], 0, each)

        def work() -> None:
            head = (*map(np.int32, data.shape), np.int32(kernel.rows))
            for wave in range(tall + wide - 1):
                first = max(0, wave - wide + 1)
                numbers = (*head, np.int32(wave), np.int32(first), *map(np.int32, wanted), *sizes)
                groups = min(tall, wave + 1) - first
                device.start(kernel.handle, (groups, threads), (*buffers, *numbers), room)

        seconds = device.timed(work)
        return _results(program, data, wanted, lambda number: _read(device, buffers[number], arrays[number])), seconds
    finally:
        for buffer in buffers:
            device.release(buffer)


def _arrays(program: Recurrence, data: TableData, sums: int, *, tables: bool) -> list[Array]:
    """What the kernel's pointers point to, in order."""
    (m, n), (up, left) = data.shape, program.reach
    arrays: list[Array] = []
    for name in program.tables:
        above = np.zeros((ABOVE, max(1, up), max(1, left + n)), dtype=data.dtype)
        beside = np.zeros((BESIDE, m, max(1, left)), dtype=data.dtype)
        if up:
            above[0] = outside(program, data, name, np.arange(-up, 0)[:, None], np.arange(-left, n)[None, :])
        if left:
            beside[0] = outside(program, data, name, np.arange(m)[:, None], np.arange(-left, 0)[None, :])
        arrays += [above, beside, np.zeros(data.shape if tables else (1, 1), dtype=data.dtype)]
    arrays += [np.ascontiguousarray(data.arrays[each.name]) for each in program.inputs]
    scalars = np.array([data.scalars[name] for name in program.scalars] or [0], dtype=data.dtype)
    return [*arrays, np.zeros(1, data.dtype), np.full(sums, program.semiring.zero(data.dtype), data.dtype), scalars]


def _read(device: Device, buffer: Any, like: Array) -> Array:  # noqa: ANN401
    found = np.empty_like(like)
    device.read(buffer, 0, found)
    device.finish()
    return found


def _results(program: Recurrence, data: TableData, wanted: tuple[bool, bool], read: Callable[[int], Array]) -> Filled:
    after = 3 * len(program.tables) + len(program.inputs)
    tables = {name: read(3 * number + 2) for number, name in enumerate(program.tables)} if wanted[0] else {}
    return Filled(
        tables={name: table.reshape(data.shape) for name, table in tables.items()},
        last=read(after)[0],
        folded=joined(program, read(after + 1)) if wanted[1] else None,
    )
