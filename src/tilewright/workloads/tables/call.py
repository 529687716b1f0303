"""Tables filled on this CPU by compiled code, or on a GPU: edges in its memory, a launch per wavefront of tiles."""

import functools
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ArrayError
from tilewright.base.intmath import ceil_div
from tilewright.base.units import format_over
from tilewright.codegen.source import KernelSource
from tilewright.runtime.call import addresses, compiled, scratch
from tilewright.runtime.devices import call
from tilewright.runtime.devices.drivers import open_device
from tilewright.workloads.tables.lower.cpu import emit_table, work_bytes
from tilewright.workloads.tables.lower.gpu import ABOVE, BESIDE, emit_gpu_table
from tilewright.workloads.tables.problem import Recurrence
from tilewright.workloads.tables.reference import TableData, joined, outside
from tilewright.workloads.tables.schedule import TablePlan, TableSchedule, TableShape

Array = npt.NDArray[Any]
_FLAG_WORDS = 16


def fill_tables(plan: TablePlan, schedule: TableSchedule, data: TableData, result: str) -> tuple[Any, int, float]:
    """Fill tables in orthogonal tiles on this CPU; return the result, the threads that took part, and the seconds."""
    program = plan.program
    kernel = compiled(emit_table, program, plan.dtype, plan.floating, schedule.kept)[0]
    begin = time.perf_counter()  # without compiling
    outputs, tile = (result == "table", result == "sum"), (schedule.tiling.time, schedule.tiling.space[0])
    (m, n), (up, left) = data.shape, program.reach
    tall = ceil_div(m, tile[0])
    count = kernel.team(plan.target.threads, parts=tall)
    itemsize = np.dtype(data.dtype).itemsize
    own = work_bytes(program, itemsize, tile, schedule.kept)
    per_table = up * (left + n) + m * left + (m * n if outputs[0] else 1)
    work = scratch(own * count, len(program.tables) * per_table * itemsize)
    arrays, last, folded = _arrays(program, data, (1, 1), tall, tables=outputs[0])
    flags = np.zeros(tall * _FLAG_WORDS, dtype=np.int64)
    widths = [data.arrays[each.name].shape[1] for each in program.inputs if each.kind == "matrix"]
    sizes = [m, n, *tile, count, *outputs, own, *widths]
    scalars = [np.array([data.scalars[name]], dtype=data.dtype) for name in program.scalars]
    kernel((*arrays, flags, last, folded), sizes, work, addresses(scalars))
    values = _values(program, result, arrays[2 : 3 * len(program.tables) : 3], last, folded)
    return values, min(plan.target.threads, tall), time.perf_counter() - begin


def _values(program: Recurrence, result: str, tables: Sequence[Array], last: Array, folded: Array) -> Any:  # noqa: ANN401
    """Return what was asked for of the tables, the last cell of the first one, and its cells joined in parts."""
    if result != "table":
        return last[0] if result == "last" else joined(program, folded)
    return tables[0] if len(tables) == 1 else tuple(tables)


@functools.lru_cache(maxsize=64)
def _source(
    program: Recurrence, dtype: str, floating: tuple[str, ...], shape: TableShape, dialect: str
) -> KernelSource[None]:
    return emit_gpu_table(program, dtype, floating, shape, dialect)


def fill_on_device(plan: TablePlan, schedule: TableSchedule, data: TableData, result: str) -> tuple[Any, int, float]:
    """Fill tables on a device; return the result, the threads of a group, and the seconds by the device's clock."""
    device, shape, rows = open_device(plan.target), schedule.shape, schedule.tiling.time
    assert shape is not None  # noqa: S101  (a device's schedule has one)
    program = plan.program
    source = _source(program, plan.dtype, plan.floating, shape, plan.target.backend)
    outputs, threads = (result == "table", result == "sum"), shape.threads
    tall, wide = ceil_div(data.shape[0], rows), ceil_div(data.shape[1], threads * shape.sub)
    edges, last, folded = _arrays(program, data, (ABOVE, BESIDE), tall * threads, tables=outputs[0])
    scalars = np.array([data.scalars[name] for name in program.scalars] or [0], dtype=data.dtype)
    arrays = [*edges, last, folded, scalars]
    total = sum(each.nbytes for each in arrays)
    if total > device.memory_bytes:
        needed, memory = format_over(total, device.memory_bytes)
        raise ArrayError(
            f"this table needs {needed}, {device.name} has {memory}",
            "ask for its last cell or its sum alone",
        )
    matrices = [data.arrays[each.name] for each in program.inputs if each.kind == "matrix"]
    room = sum(each.nbytes for each in matrices) if shape.chip else 0
    sizes = [np.int32(extent) for each in matrices for extent in each.shape]
    head, launches = (*map(np.int32, data.shape), np.int32(rows)), list[call.Launch]()
    for wave in range(tall + wide - 1):
        first = max(0, wave - wide + 1)
        numbers = (*head, np.int32(wave), np.int32(first), *map(np.int32, outputs), *sizes)
        launches.append((0, min(tall, wave + 1) - first, (*arrays, *numbers)))
    tables = arrays[2 : 3 * len(program.tables) : 3]
    results = [*(tables if outputs[0] else ()), last, folded]
    seconds = call.run(device, source, launches, results, room)
    return _values(program, result, tables, last, folded), threads, seconds


def _arrays(
    program: Recurrence, data: TableData, sets: tuple[int, int], parts: int, *, tables: bool
) -> tuple[list[Array], Array, Array]:
    """Return every table with sets of its edges, and the inputs; the last cell; and what so many parts join to."""
    (m, n), (up, left) = data.shape, program.reach
    arrays: list[Array] = []
    for name in program.tables:
        above = np.zeros((sets[0], max(1, up), max(1, left + n)), dtype=data.dtype)
        beside = np.zeros((sets[1], m, max(1, left)), dtype=data.dtype)
        if up:
            above[0] = outside(program, data, name, np.arange(-up, 0)[:, None], np.arange(-left, n)[None, :])
        if left:
            beside[0] = outside(program, data, name, np.arange(m)[:, None], np.arange(-left, 0)[None, :])
        arrays += [above, beside, np.empty(data.shape if tables else (1, 1), dtype=data.dtype)]
    arrays += [np.ascontiguousarray(data.arrays[each.name]) for each in program.inputs]
    return arrays, np.zeros(1, data.dtype), np.full(parts, program.semiring.zero(data.dtype), data.dtype)
