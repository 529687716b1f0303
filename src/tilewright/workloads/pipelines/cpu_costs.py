"""What a fused group of a pipeline costs on a CPU, streamed: see :mod:`tilewright.workloads.pipelines.rows`.

Our own model, with the machine's elementary parameters: the paper's is for GPUs. Per vector of cells a pass takes its
loads (those at an offset along the row cross cache lines and count twice), its stores and its operations, each at the
machine's cycles; rows beyond the first-level cache travel from the second at ``cache_bandwidth`` meanwhile; the
picture itself travels at ``dram_bandwidth``. Halos are computed again by neighbouring tiles, in
whole vectors. Arithmetic and memory time are added: the rings' traffic keeps the load ports busy, so little overlaps.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.base.constants import CACHE_LINE
from tilewright.base.units import format_bytes, format_seconds
from tilewright.costs.breakdown import Times
from tilewright.costs.operations import count_operations, hard_cycles
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.expression import Apply, flops
from tilewright.programs.stencil.powers import reduce_operators
from tilewright.workloads.pipelines.fusions import Group
from tilewright.workloads.pipelines.problem import Halo, PipelineProblem, PipelineStencil
from tilewright.workloads.pipelines.rows import Pass, RowPlan, RowTile, computed_in, plan_rows, ring_bytes

_SELECT = frozenset({"where", "and", "or", "not"})
"""Operators that are no arithmetic in the papers' count but take an instruction or two each."""
_LOAD_CONVERSION, _STORE_CONVERSION = 2, 7
"""Instructions, beside the load or the store, of vectors of another type than their rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCosts(Times[float]):
    """What a group costs in a tile; its arithmetic has the loads, the stores and the rings' traffic."""

    tile: RowTile
    dram_bytes: float  # bytes of inputs (halos included) and outputs
    ring_bytes: int  # bytes of a thread's rings

    def listed(self) -> dict[str, Any]:
        """Return it as plain data."""
        sizes = {"width": self.tile.width, "rows": self.tile.rows, "lines": self.tile.lines}
        return {**sizes, "dram_bytes": self.dram_bytes, "ring_bytes": self.ring_bytes}

    facts = listed

    def __str__(self) -> str:
        return (
            f"strips of {self.tile.width}, {self.tile.rows} rows at a time, "
            f"rings of {format_bytes(self.ring_bytes)}, {format_seconds(self.seconds)}"
        )

    def cells(self) -> dict[str, str]:
        """Return its row of a table, by columns."""
        sizes = {f">{name}": str(getattr(self.tile, name)) for name in ("width", "rows", "lines")}
        return {**sizes, ">rings": format_bytes(self.ring_bytes), ">off chip": format_bytes(self.dram_bytes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PassCounts:
    """What one vector of a pass takes, whatever the tile's width."""

    halo: Halo  # cells beyond a tile that it computes
    lanes: float  # cells of a vector
    cycles: float  # loads, stores and operations per vector
    lines: float  # vectors of rows that travel if the rings are not in the first-level cache
    call: float  # cycles per row


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCounts:
    """A group laid out for some rows at a time, with its passes' counts."""

    problem: PipelineProblem
    machine: Machine
    plan: RowPlan
    passes: tuple[PassCounts, ...]

    def costs(self, tile: RowTile) -> RowCosts:
        """Evaluate one tile of the group."""
        problem, machine = self.problem, self.machine
        ring = ring_bytes(problem, self.plan, tile, inputs=False)
        extent, cores = problem.shape[0], machine.sm_count.value
        band = tile.band or -(-extent // int(cores))
        tiles = float(-(-problem.shape[-1] // tile.width) * -(-extent // band))
        cycles = sum(self._cycles(step, tile, min(extent, band), ring) for step in self.passes)
        moved = self._moved(tile)
        return RowCosts(
            terms={
                "arithmetic": cycles / machine.clock.value / max(1.0, min(cores, tiles)),
                "transfers": moved / machine.dram_bandwidth.value,
                "synchronisation": machine.launch_seconds.value,
            },
            tile=tile,
            dram_bytes=moved,
            ring_bytes=ring,
        )

    def _cycles(self, step: PassCounts, tile: RowTile, band: int, ring: int) -> float:
        """Cycles of one pass over the whole picture, on one core; of a tile's halos too."""
        problem, machine = self.problem, self.machine
        # The rings travel from the second-level cache where they do not stay in the first one.
        first = machine.l1_bytes.value if machine.l1_bytes is not None else 32768.0
        spilled = max(0.0, 1.0 - first / ring) if ring else 0.0
        rate = machine.cache_bandwidth.value if machine.cache_bandwidth is not None else 24.0 * machine.clock.value
        travel = spilled * step.lines * CACHE_LINE / (rate / machine.clock.value)
        width = min(tile.width, problem.shape[-1])
        vectors = -(-(width + sum(step.halo[-1])) // step.lanes)
        rows = problem.cells / problem.shape[-1] * (problem.shape[-1] / width)
        grown = (band + sum(step.halo[0])) / band
        if problem.pipeline.rank == 3:
            lines = min(problem.shape[1], tile.lines)
            grown *= (lines + sum(step.halo[1])) / lines
        return (vectors * max(step.cycles, travel) + step.call) * rows * grown

    def _moved(self, tile: RowTile) -> float:
        """Bytes between memory and chip; neighbouring strips read their halos again, from memory at worst."""
        problem, total = self.problem, 0.0
        width = min(tile.width, problem.shape[-1])
        for grid in self.plan.group.inputs:
            halo = self.plan.grid(grid).halo
            strip = (width + sum(halo[-1])) / width if width < problem.shape[-1] else 1.0
            total += problem.cells * problem.itemsize(grid) * strip
        return total + sum(problem.cells * problem.itemsize(grid) for grid in self.plan.group.outputs)


def count_group(problem: PipelineProblem, group: Group, rows: int, machine: Machine) -> GroupCounts:
    """Count what a group takes, once for all widths."""
    at_once = 1 if problem.pipeline.rank == 3 else rows
    plan = plan_rows(problem, group, at_once)
    passes = tuple(_count_pass(problem, plan, step, at_once, machine) for step in plan.passes)
    return GroupCounts(problem=problem, machine=machine, plan=plan, passes=passes)


def _count_pass(problem: PipelineProblem, plan: RowPlan, step: Pass, rows: int, machine: Machine) -> PassCounts:
    stencils = problem.pipeline.members(step.stencils)
    kind = computed_in(problem, stencils[0])
    size = np.dtype(kind).itemsize
    reads, lines = _reads(stencils, rows)
    pointers = len(lines)
    widened = sum(problem.dtype(plan.kept(read[0])) != kind for read in reads) / rows
    narrowed = sum(problem.dtype(stencil.output) != kind for stencil in stencils)
    converted = (_LOAD_CONVERSION * widened + _STORE_CONVERSION * narrowed) * machine.flop_cycles.value
    aligned = sum(1 for read in reads if read[2] == 0)
    loads = (aligned + 2.0 * (len(reads) - aligned)) / rows
    cycles = (loads + len(stencils)) * machine.load_cycles.value + converted
    moved = sum(problem.itemsize(plan.kept(line[0])) for line in lines) / rows
    moved += sum(problem.itemsize(stencil.output) for stencil in stencils)
    return PassCounts(
        halo=step.halo,
        lanes=max(1.0, machine.vector_width.value * 4 / size),
        cycles=cycles + sum(_operation_cycles(stencil, machine, problem.dtype(stencil.output)) for stencil in stencils),
        lines=moved / size,
        call=(machine.row_pass_cycles.value + machine.row_pointer_cycles.value * pointers) / rows,
    )


def _reads(
    stencils: Sequence[PipelineStencil], rows: int
) -> tuple[set[tuple[str, tuple[int, ...], int]], set[tuple[str, tuple[int, ...]]]]:
    """Distinct vectors that a pass loads for its blocked rows, and the rows they lie in."""
    own = {stencil.output for stencil in stencils}
    vectors = set()
    for stencil in stencils:
        for read in stencil.reads:
            if read.field in own:
                continue
            for row in range(rows):
                outer = (read.offset[0] + row, *read.offset[1:-1])
                vectors.add((read.field, outer, read.offset[-1]))
    return vectors, {(field, outer) for field, outer, _ in vectors}


def _operation_cycles(stencil: PipelineStencil, machine: Machine, dtype: str) -> float:
    count = count_operations(stencil.tape, dtype)
    selects = sum(isinstance(node, Apply) and node.op in _SELECT for node in stencil.tape)
    plain = flops(reduce_operators(stencil.tape)) - count.divisions - count.functions + 2 * selects
    return plain * machine.flop_cycles.value + hard_cycles(count, machine)
