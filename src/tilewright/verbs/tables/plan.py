"""How a table is to be filled: what was asked for, else what the cost model expects."""

import math
from dataclasses import replace

from tilewright.base.errors import UsageError
from tilewright.machines.machine import Machine
from tilewright.plan import Plan, Target
from tilewright.programs.tables.reference import TableData
from tilewright.programs.tables.table import Recurrence, TableProblem
from tilewright.runtime.devices.found import device_machine, open_device
from tilewright.runtime.host import thread_count
from tilewright.schedules.code import TableSchedule
from tilewright.schedules.families import orthogonal
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.spaces.unrolling import KEPT_DIAGONALS, table_shape
from tilewright.tuning.table_default import cut_for_threads, table_default

_THREADED = 1_000_000
"""Cells below which a second thread costs more than it brings."""


def plan_table(
    program: Recurrence, data: TableData, target: Target, asked: Tiling | None, threads: int | None, cpu: Machine
) -> Plan[TableProblem]:
    """Decide how a table is filled; without a schedule only NumPy can fill it."""
    count = 1 if threads is None and math.prod(data.shape) < _THREADED else thread_count(threads)
    floating = (each for each in program.inputs if each.kind != "matrix" and data.arrays[each.name].dtype.kind == "f")
    problem = TableProblem(
        program=program, shape=data.shape, dtype=data.dtype, floating=tuple(each.name for each in floating)
    )
    target = replace(target, threads=count)
    given = None if asked is None else asked if asked.family.untiled else orthogonal.legal_table(program, asked)
    if given is None and (target.backend == "numpy" or not _tiled(program)):
        given = NONE
    shape = None
    if target.on_device:
        tiling = _on_device(program, data, target, given, whole=asked is None or bool(asked.sub))
        shape = table_shape(tiling, sum(data.arrays[e.name].nbytes for e in program.inputs if e.kind == "matrix"))
    else:
        tiling = given or table_default(program, data.shape, data.dtype, cpu, count)
    schedule = TableSchedule(tiling=tiling, kept=KEPT_DIAGONALS, shape=shape)
    return Plan(problem=problem, target=target, schedule=None if tiling.family.untiled else schedule)


def _on_device(program: Recurrence, data: TableData, target: Target, given: Tiling | None, *, whole: bool) -> Tiling:
    """Return a GPU's tiling, its sub-tiles chosen unless it is whole."""
    if given is not None and not given.family.tables:
        raise UsageError(
            f"on a GPU {program.name!r} runs in orthogonal tiles, got {str(given)!r}", "leave the tile out"
        )
    machine = device_machine(open_device(target))
    tiling = given or table_default(program, data.shape, data.dtype, machine)
    return tiling if whole else cut_for_threads(program, data.shape, data.dtype, machine, tiling)


def _tiled(program: Recurrence) -> bool:
    """Say whether orthogonal tiles are legal: no read goes up and to the right."""
    return all(offset[1] <= 0 for many in program.reads.values() for offset in many)
