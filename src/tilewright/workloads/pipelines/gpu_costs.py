"""What a fused group of a pipeline costs on a GPU: resources and time of every thread-block configuration at once.

Source: Ben Cheikh et al. (2015): (26)-(37), algorithm 2, tables 3-8. Two forms, as everywhere: as printed
(:mod:`tilewright.workloads.pipelines.published`), and by default the corrected one: both sides are padded, so
ceil(2H'/T); the threads of an SM bound its blocks in algorithm 2 too (29); occupancy counts threads; a transaction
moves 32 bytes, so (34) has those instead of ElemSize; the busiest SM has ceil(ceil(remaining / TL) / #SM) blocks more
(36); a grid that is dead frees its shared memory for later ones.

(33) gives no latency below a threshold of resident warps. Little's law does: with W of the W_min warps that hide a
latency, a share W / W_min of the throughput is reached.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import WARP
from tilewright.costs.arrays import BlockShapes, Floats, Ints
from tilewright.costs.breakdown import Times
from tilewright.costs.gpu.blocks import SECTOR
from tilewright.costs.work.threads import bank_conflicts
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import Numbers
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.expression import Apply
from tilewright.programs.stencil.operators import SPECIAL
from tilewright.workloads.pipelines.fusions import Group, GroupPlan, plan_group, slots
from tilewright.workloads.pipelines.problem import Pipeline, PipelineProblem, PipelineStencil
from tilewright.workloads.pipelines.published import Published

Tiles = Mapping[str, tuple[Ints, Ints]]
"""Rows and columns of every grid's tile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCosts(Times[Floats]):
    """Resources and time (31)-(35) per configuration; infinite where it does not fit."""

    shared: Ints  # bytes of shared memory per block (28)
    resident: Ints  # blocks per SM at a time (29); 0 where the configuration does not fit
    occupancy: Floats  # resident threads over the most possible
    rounds: Ints  # times that an SM is filled (37)
    remaining: Ints  # blocks that the busiest SM runs after that (36)


def sectors(tx: Ints, size: int, shift: int) -> Floats:
    """Return the transactions of a warp's access to memory by blocks ``tx`` wide (tables 4-6).

    A tile's first column lies ``shift`` elements before a multiple of a transaction; its rows are aligned.

    >>> [sectors(np.array([tx]), 4, shift).tolist() for tx, shift in ((32, 0), (32, 7), (4, 0))]
    [[4.0], [5.0], [8.0]]
    """
    width = np.minimum(tx, WARP)
    return np.asarray(1.0 * (WARP // width) * -(-(-shift * size % SECTOR + width * size) // SECTOR))


class _Exact(Published):
    """The corrected form."""

    def bandwidth(self, machine: Machine) -> Quantity:
        return machine.dram_bandwidth

    def shared_bandwidth(self, machine: Machine, known: float) -> float:  # noqa: ARG002
        return known

    def padding(self, halo: tuple[int, int]) -> int:
        return sum(halo)

    def shared_bytes(self, pipeline: Pipeline, plan: GroupPlan, sizes: Mapping[str, Ints]) -> Ints:
        pieces = slots(pipeline, plan)
        largest = [
            np.max([sizes[grid] for grid, piece in zip(plan.shared, pieces, strict=True) if piece == number], axis=0)
            for number in sorted(set(pieces))
        ]
        return np.asarray(np.sum(largest, axis=0), dtype=np.int64)

    def launches(self, problem: PipelineProblem, blocks: BlockShapes, resident: Ints, sms: int) -> tuple[Ints, Ints]:
        tiles = -(-problem.shape[-1] // (blocks.tx * blocks.nx)) * -(-problem.shape[-2] // (blocks.ty * blocks.ny))
        rounds = tiles // (resident * sms)
        return rounds, -(-(tiles - rounds * resident * sms) // sms)

    def transaction(self, size: int) -> int:  # noqa: ARG002
        return SECTOR

    def cycles(self, stencil: PipelineStencil, lanes: float, special_lanes: float) -> float:
        special = sum(1 for node in stencil.tape if isinstance(node, Apply) and node.op in SPECIAL)
        return (stencil.flops - special) / max(lanes, 1e-9) + special / special_lanes


FORMS: Mapping[str, Published] = {"published": Published(), "exact": _Exact()}
MODELS = tuple(FORMS)


def card(machine: Machine, model: str = "exact") -> Numbers:
    """Return a GPU's numbers with the bandwidths of a form of the model."""
    form, known = FORMS[model], Numbers(machine)
    shared = form.shared_bandwidth(machine, known.shared_bandwidth)
    return known.at(dram_bandwidth=form.bandwidth(machine).value, shared_bandwidth=shared)


def evaluate(
    problem: PipelineProblem, group: Group, blocks: BlockShapes, machine: Numbers, model: str = "exact"
) -> BlockCosts:
    """Evaluate every configuration of a group."""
    form, plan = FORMS[model], plan_group(problem.pipeline, group)
    tiles = _tiles(problem, plan, blocks, form)
    shared = _shared(problem, plan, tiles, form)
    fits = (shared <= machine.block_shared_bytes) & (blocks.threads <= machine.max_block_threads)
    resident = np.minimum(machine.max_threads // blocks.threads, machine.max_blocks)
    resident = np.where(fits, np.minimum(resident, machine.shared_bytes // np.maximum(shared, 1)), 0)
    rounds, remaining = form.launches(problem, blocks, np.maximum(resident, 1), machine.sm_count)
    work = _Work(problem, plan, blocks, machine, form)
    full, rest = work.seconds(resident, tiles), work.seconds(remaining, tiles)
    transfers, chip, operations = (rounds * a + b for a, b in zip(full, rest, strict=True))
    return BlockCosts(
        terms={
            "transfers": transfers,  # (34)
            "on-chip memory": chip,
            "arithmetic": operations,  # (32)
            "synchronisation": np.where(resident > 0, machine.launch_seconds, np.inf),
        },
        shared=shared,
        resident=resident,
        occupancy=resident * blocks.threads / machine.max_threads,
        rounds=rounds,
        remaining=remaining,
    )


def _tiles(problem: PipelineProblem, plan: GroupPlan, blocks: BlockShapes, form: Published) -> Tiles:
    """Rows and columns of every grid's tile, with its halo, in whole blocks of threads (27)."""
    zero = ((0, 0),) * problem.pipeline.rank
    names = [*plan.inputs, *(problem.pipeline.stencils[i].output for i in plan.stencils)]
    halos = {grid: plan.halo(grid) or zero for grid in names}
    return {
        grid: (
            (blocks.ny + -(-form.padding(halo[-2]) // blocks.ty)) * blocks.ty,
            (blocks.nx + -(-form.padding(halo[-1]) // blocks.tx)) * blocks.tx,
        )
        for grid, halo in halos.items()
    }


def uses_shared(plan: GroupPlan) -> bool:
    """Whether a group keeps grids on chip: not if every stencil reads the cell itself only."""
    return any(sum(map(sum, halo)) for _, halo in plan.halos)


def _shared(problem: PipelineProblem, plan: GroupPlan, tiles: Tiles, form: Published) -> Ints:
    """Bytes per block (28)."""
    if not uses_shared(plan):
        return np.zeros_like(next(iter(tiles.values()))[0])
    sizes = {grid: tiles[grid][0] * tiles[grid][1] * problem.itemsize(grid) for grid in plan.shared}
    return form.shared_bytes(problem.pipeline, plan, sizes)


class _Work:
    """Seconds that an SM takes for a number of resident blocks."""

    def __init__(
        self, problem: PipelineProblem, plan: GroupPlan, blocks: BlockShapes, machine: Numbers, form: Published
    ) -> None:
        self.problem, self.plan, self.blocks, self.machine, self.form = problem, plan, blocks, machine, form
        self.on_chip = uses_shared(plan)

    def hidden(self, resident: Ints) -> Floats:
        """The share of a throughput that the resident warps reach."""
        warps = resident * -(-self.blocks.threads // WARP)
        share: Floats = np.minimum(1.0, np.maximum(warps, 1e-9) / self.machine.hiding_warps)
        return share

    def seconds(self, resident: Ints, tiles: Tiles) -> tuple[Floats, Floats, Floats]:
        """Global accesses, shared accesses with barriers, operations."""
        reached = self.hidden(resident)
        some = resident > 0
        outside = self.outside(tiles) * resident / reached
        inside = self.inside(tiles) * resident / reached
        barriers = (len(self.plan.stencils) if self.on_chip else 0) * self.machine.barrier_seconds
        operations = self.operations(tiles) * resident / reached
        latency = self.machine.global_latency / self.machine.clock * (1 - reached)
        near = self.machine.shared_latency / self.machine.clock * (1 - reached) * len(self.plan.stencils)
        none = np.zeros_like(reached)
        return (
            np.where(some, outside + latency, none),
            np.where(some, inside + near + barriers, none) if self.on_chip else none,
            np.where(some, operations, none),
        )

    def outside(self, tiles: Tiles) -> Floats:
        """Seconds of one block's accesses to memory, at one SM's share of the bandwidth (34)."""
        total = np.zeros(len(self.blocks.tx))
        rate = self.machine.dram_bandwidth / self.machine.sm_count
        for grid in self.plan.inputs:
            size = self.problem.itemsize(grid)
            halo = self.plan.halo(grid)
            cells = tiles[grid][0] * tiles[grid][1]
            if not self.on_chip:
                cells = self.blocks.cells * self._reads(grid)
            unit = self.form.transaction(size)
            total += sectors(self.blocks.tx, size, halo[-1][0] if halo else 0) * cells / WARP * unit / rate
        for grid in self.plan.outputs:
            size = self.problem.itemsize(grid)
            unit = self.form.transaction(size)
            total += sectors(self.blocks.tx, size, 0) * self.blocks.cells / WARP * unit / rate
        return total

    def _reads(self, grid: str) -> int:
        stencils = (self.problem.pipeline.stencils[i] for i in self.plan.stencils)
        return sum(1 for s in stencils for read in s.reads if read.field == grid)

    def inside(self, tiles: Tiles) -> Floats:
        """Seconds of one block's accesses to shared memory."""
        words = np.zeros(len(self.blocks.tx))
        if not self.on_chip:
            return words
        rate = self.machine.shared_bandwidth / self.machine.sm_count
        conflicts = {grid: bank_conflicts(tiles[grid][1], self.blocks.tx) for grid in self.plan.shared}
        for grid in self.plan.inputs:
            words += tiles[grid][0] * tiles[grid][1] * conflicts[grid]
        for number in self.plan.stencils:
            stencil = self.problem.pipeline.stencils[number]
            cells = tiles[stencil.output][0] * tiles[stencil.output][1]
            if stencil.output in self.plan.outputs and stencil.output not in self.plan.shared:
                cells = self.blocks.cells
            for grid in stencil.inputs:
                words += cells * sum(1 for read in stencil.reads if read.field == grid) * conflicts[grid]
            if stencil.output in self.plan.shared:
                words += cells * conflicts[stencil.output]
        return words * 4 / rate

    def operations(self, tiles: Tiles) -> Floats:
        """Seconds of one block's arithmetic (32)."""
        total = np.zeros(len(self.blocks.tx))
        for number in self.plan.stencils:
            stencil = self.problem.pipeline.stencils[number]
            kind = self.problem.dtype(stencil.inputs[0])
            lanes = {
                "float32": self.machine.vector_width,
                "float64": self.machine.vector_width * self.machine.fp64_ratio,
            }.get(kind, self.machine.int_lanes)
            cells = tiles[stencil.output][0] * tiles[stencil.output][1]
            if stencil.output in self.plan.outputs and stencil.output not in self.plan.shared:
                cells = self.blocks.cells
            cycles = self.form.cycles(stencil, lanes, self.machine.special_lanes)
            total += cells * cycles / self.machine.clock
        return total
