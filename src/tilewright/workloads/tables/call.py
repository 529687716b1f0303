"""Recurrences on this CPU: compiled, cached and called."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.intmath import ceil_div
from tilewright.runtime.call import CompiledFunction, addresses, compiled, scratch
from tilewright.workloads.tables.lower.cpu import emit_table, work_bytes
from tilewright.workloads.tables.problem import TableProblem
from tilewright.workloads.tables.reference import TableData, joined, outside
from tilewright.workloads.tables.schedule import TableSchedule

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
