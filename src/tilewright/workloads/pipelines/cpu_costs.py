"""What a fused group of a pipeline costs on a CPU, streamed: see :mod:`tilewright.workloads.pipelines.rows`.

Our own model, with the machine's elementary parameters: the paper's is for GPUs. Per vector of cells a pass takes its
loads (those at an offset along the row cross cache lines and count twice), its stores and its operations, each at the
machine's cycles; rows beyond the first-level cache travel from the second at ``cache_bandwidth`` meanwhile; the
picture itself travels at ``dram_bandwidth``. Halos are computed again by neighbouring tiles, in
whole vectors. Arithmetic and memory time are added: the rings' traffic keeps the load ports busy, so little overlaps.
"""

from dataclasses import dataclass

from tilewright.base.constants import CACHE_LINE
from tilewright.base.errors import UsageError
from tilewright.costs.breakdown import Times
from tilewright.costs.operations import count_operations, hard_cycles
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.expression import Apply, flops
from tilewright.programs.stencil.powers import reduce_powers
from tilewright.workloads.pipelines.fusions import Group
from tilewright.workloads.pipelines.problem import ITEMSIZE, Halo, PipelineProblem, PipelineStencil
from tilewright.workloads.pipelines.rows import Pass, RowPlan, RowTile, plan_rows, ring_bytes

_SELECT = frozenset({"where", "and", "or", "not"})
"""Operators that are no arithmetic in the papers' count but take an instruction or two each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCosts(Times[float]):
    """What a group costs; its arithmetic has the loads, the stores and the rings' traffic."""

    dram_bytes: float  # bytes of inputs (halos included) and outputs
    ring: int  # bytes of a thread's rings


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

    plan: RowPlan
    passes: tuple[PassCounts, ...]


def count_group(problem: PipelineProblem, group: Group, rows: int, machine: Machine) -> GroupCounts:
    """Count what a group takes, once for all widths."""
    if machine.kind != "cpu":
        raise UsageError(f"machine {machine.name!r} is no CPU")
    at_once = 1 if problem.pipeline.rank == 3 else rows
    plan = plan_rows(problem, group, at_once)
    return GroupCounts(plan=plan, passes=tuple(_count_pass(problem, step, at_once, machine) for step in plan.passes))


def evaluate_rows(problem: PipelineProblem, counts: GroupCounts, tile: RowTile, machine: Machine) -> RowCosts:
    """Evaluate one tile of a group on a CPU."""
    ring = ring_bytes(problem, counts.plan, tile, inputs=False)
    clock, cores = machine.clock.value, machine.sm_count.value
    cycles = sum(_pass_cycles(problem, step, tile, machine, ring) for step in counts.passes)
    moved = _moved(problem, counts.plan, tile)
    return RowCosts(
        terms={
            "arithmetic": cycles / clock / max(1.0, min(cores, _tiles(problem, tile, cores))),
            "transfers": moved / machine.dram_bandwidth.value,
            "synchronisation": machine.launch_seconds.value,
        },
        dram_bytes=moved,
        ring=ring,
    )


def _tiles(problem: PipelineProblem, tile: RowTile, cores: float) -> float:
    strips = -(-problem.shape[-1] // tile.width)
    band = tile.band or -(-problem.shape[0] // int(cores))
    return float(strips * -(-problem.shape[0] // band))


def _stretch(problem: PipelineProblem, tile: RowTile, halo: Halo, cores: float) -> float:
    """How many times its own rows (and lines) a tile computes, halos included."""
    band = min(problem.shape[0], tile.band or -(-problem.shape[0] // int(cores)))
    grown = (band + sum(halo[0])) / band
    if problem.pipeline.rank == 3:
        lines = min(problem.shape[1], tile.lines)
        grown *= (lines + sum(halo[1])) / lines
    return grown


def _count_pass(problem: PipelineProblem, step: Pass, rows: int, machine: Machine) -> PassCounts:
    stencils = [problem.pipeline.stencils[i] for i in step.stencils]
    size = max(problem.itemsize(stencils[0].inputs[0]), problem.itemsize(stencils[0].output))
    reads, pointers = _reads(stencils, rows)
    aligned = sum(1 for read in reads if read[2] == 0)
    loads = (aligned + 2.0 * (len(reads) - aligned)) / rows
    cycles = (loads + len(stencils)) * machine.load_cycles.value
    return PassCounts(
        halo=step.halo,
        lanes=max(1.0, machine.vector_width.value * 4 / size),
        cycles=cycles + sum(_operation_cycles(stencil, machine, problem.dtype(stencil.output)) for stencil in stencils),
        lines=pointers / rows + len(stencils),
        call=(machine.row_pass_cycles.value + machine.row_pointer_cycles.value * pointers) / rows,
    )


def _pass_cycles(problem: PipelineProblem, step: PassCounts, tile: RowTile, machine: Machine, ring: int) -> float:
    """Cycles of one pass over the whole picture, on one core."""
    travel = _spill(machine, ring) * step.lines * CACHE_LINE / _cache_rate(machine)
    width = min(tile.width, problem.shape[-1])
    vectors = -(-(width + sum(step.halo[-1])) // step.lanes)
    per_row = vectors * max(step.cycles, travel) + step.call
    rows = problem.cells / problem.shape[-1] * (problem.shape[-1] / width)
    return per_row * rows * _stretch(problem, tile, step.halo, machine.sm_count.value)


def _reads(stencils: list[PipelineStencil], rows: int) -> tuple[set[tuple[str, tuple[int, ...], int]], int]:
    """Distinct vectors that a pass loads for its blocked rows, and the rows they lie in."""
    own = {stencil.output for stencil in stencils}
    found = set()
    for stencil in stencils:
        for read in stencil.reads:
            if read.field in own:
                continue
            for row in range(rows):
                outer = (read.offset[0] + row, *read.offset[1:-1])
                found.add((read.field, outer, read.offset[-1]))
    return found, len({(field, outer) for field, outer, _ in found})


def _operation_cycles(stencil: PipelineStencil, machine: Machine, dtype: str) -> float:
    count = count_operations(stencil.tape, dtype)
    selects = sum(isinstance(node, Apply) and node.op in _SELECT for node in stencil.tape)
    plain = flops(reduce_powers(stencil.tape)) - count.divisions - count.functions + 2 * selects
    return plain * machine.flop_cycles.value + hard_cycles(count, machine)


def _spill(machine: Machine, ring: int) -> float:
    """The share of the rings that does not stay in the first-level cache."""
    first = machine.l1_bytes.value if machine.l1_bytes is not None else 32768.0
    return max(0.0, 1.0 - first / ring) if ring else 0.0


def _cache_rate(machine: Machine) -> float:
    """Bytes per cycle from the second-level cache to a core."""
    rate = machine.cache_bandwidth.value if machine.cache_bandwidth is not None else 24.0 * machine.clock.value
    return rate / machine.clock.value


def _moved(problem: PipelineProblem, plan: RowPlan, tile: RowTile) -> float:
    """Bytes between memory and chip; neighbouring strips read their halos again, from memory at worst."""
    total = 0.0
    width = min(tile.width, problem.shape[-1])
    for grid in plan.group.inputs:
        halo = plan.grid(grid).halo
        strip = (width + sum(halo[-1])) / width if width < problem.shape[-1] else 1.0
        total += problem.cells * ITEMSIZE[problem.dtype(grid)] * strip
    return total + sum(problem.cells * problem.itemsize(grid) for grid in plan.group.outputs)
