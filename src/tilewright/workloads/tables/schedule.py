"""How a table is filled: what was asked for, else what the cost model says is fastest."""

import functools
import math
from dataclasses import dataclass, replace

from tilewright.base.errors import UsageError
from tilewright.machines.machine import Machine, with_threads
from tilewright.plan import Target
from tilewright.runtime.devices.drivers import device_machine, open_device
from tilewright.runtime.host import thread_count
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.workloads.tables import costs, orthogonal
from tilewright.workloads.tables.problem import Recurrence
from tilewright.workloads.tables.reference import TableData

KEPT_DIAGONALS = 16
"""Anti-diagonals after which a wanted table's cells are copied into it: a line of cells of 4 bytes at a time."""
_CHIP_BYTES = 16 * 1024
"""Matrices up to this size are copied to a GPU's shared memory, where they leave room for what tiles hand on."""
_THREADED = 1_000_000  # cells below which a second thread costs more than it brings


@dataclass(frozen=True, slots=True, kw_only=True)
class TableShape:
    """What of a tile of a table decides a GPU's text."""

    threads: int  # sub-tiles of a tile
    sub: int  # columns of a sub-tile
    chip: bool  # whether matrices are copied to the chip


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchedule:
    """A tiling of a table that is filled once."""

    tiling: Tiling  # orthogonal
    kept: int  # anti-diagonals after which a wanted table's cells are copied into it
    shape: TableShape | None = None  # on a GPU, threads and sub-tiles of a tile; else None


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePlan:
    """Every decision about filling a table."""

    program: Recurrence
    dtype: str  # of the tables
    floating: tuple[str, ...]  # inputs whose values are of the tables' type; the others are whole numbers
    target: Target
    schedule: TableSchedule | None  # None for NumPy, which needs none


def plan_table(
    program: Recurrence, data: TableData, target: Target, choice: Tiling | None, threads: int | None, cpu: Machine
) -> TablePlan:
    """Decide how a table is filled; without a schedule only NumPy can fill it."""
    count = 1 if threads is None and math.prod(data.shape) < _THREADED else thread_count(threads)
    floating = (each for each in program.inputs if each.kind != "matrix" and data.arrays[each.name].dtype.kind == "f")
    target = replace(target, threads=count)
    candidate = None if choice is None else choice if choice.family.untiled else orthogonal.legal_table(program, choice)
    if candidate is None and (target.backend == "numpy" or not program.tiled):
        candidate = NONE
    shape = None
    if target.on_device:
        tiling = _on_device(program, data, target, candidate, whole=choice is None or bool(choice.sub))
        matrices = sum(data.arrays[each.name].nbytes for each in program.inputs if each.kind == "matrix")
        chip = 0 < matrices <= _CHIP_BYTES
        shape = TableShape(threads=tiling.space[0] // tiling.sub[0], sub=tiling.sub[0], chip=chip)
    else:
        tiling = candidate or table_default(program, data.shape, data.dtype, cpu, count)
    schedule = TableSchedule(tiling=tiling, kept=KEPT_DIAGONALS, shape=shape)
    return TablePlan(
        program=program,
        dtype=data.dtype,
        floating=tuple(each.name for each in floating),
        target=target,
        schedule=None if tiling.family.untiled else schedule,
    )


def _on_device(program: Recurrence, data: TableData, target: Target, choice: Tiling | None, *, whole: bool) -> Tiling:
    """Return a GPU's tiling, its sub-tiles chosen unless it is whole."""
    if choice is not None and not choice.family.tables:
        raise UsageError(
            f"on a GPU {program.name!r} runs in orthogonal tiles, got {str(choice)!r}", "leave the tile out"
        )
    machine = device_machine(open_device(target))
    tiling = choice or table_default(program, data.shape, data.dtype, machine)
    return tiling if whole else cut_for_threads(program, data.shape, data.dtype, machine, tiling)


@functools.lru_cache(maxsize=256)
def table_default(
    program: Recurrence, shape: tuple[int, int], dtype: str, machine: Machine, threads: int | None = None
) -> Tiling:
    """Return the tile that a run of a table takes: the fastest, or the smallest legal one if none fits a GPU."""
    case = costs.make_case(program, shape, dtype, with_threads(machine, threads))
    up, left = program.reach
    smallest = Tiling(family="orthogonal", time=max(1, up), space=(max(1, left),), sub=(max(1, left),))
    return min(costs.times(case), key=lambda pair: pair[1], default=(smallest, 0.0))[0]


def cut_for_threads(
    program: Recurrence, shape: tuple[int, int], dtype: str, machine: Machine, tiling: Tiling
) -> Tiling:
    """Return a GPU's tile of given rows and columns with the fastest sub-tiles, one for each thread, if any fit."""
    case = costs.make_case(program, shape, dtype, machine)
    ways = costs.split(case, tiling) or (tiling,)
    return min(costs.times(case, ways), key=lambda pair: pair[1], default=(ways[0], 0.0))[0]
