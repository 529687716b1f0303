"""What a fused group of a pipeline costs on a GPU: resources and time of every thread-block configuration at once.

Source: Ben Cheikh et al. (2015): (26)-(37), algorithm 2, tables 3-8. Two forms, as everywhere. As printed, errata
included: (27) pads for the wider side of a halo alone; (28) keeps a grid's shared memory when nothing reads it any
more; (32) counts the window of (18); (34) moves #Elem x ElemSize at the bandwidths of table 8; (36) counts the
remaining blocks by threads. By default the corrected one: both sides are padded, so ceil(2H'/T); the threads of an SM
bound its blocks in algorithm 2 too (29); occupancy counts threads; a transaction moves 32 bytes, so (34) has those
instead of ElemSize; the busiest SM has ceil(ceil(remaining / TL) / #SM) blocks more (36); a grid that is dead frees its
shared memory for later ones.

(33) gives no latency below a threshold of resident warps. Little's law does: with W of the W_min warps that hide a
latency, a share W / W_min of the throughput is reached.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import SECTOR, WARP
from tilewright.costs.arrays import BlockShapes, Floats, Ints
from tilewright.costs.breakdown import Times
from tilewright.costs.work.threads import bank_conflicts
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import Numbers
from tilewright.machines.parameters import Quantity
from tilewright.programs.stencil.expression import Apply
from tilewright.programs.stencil.operators import SPECIAL
from tilewright.workloads.pipelines.fusions import Group, GroupPlan, plan_group, slots
from tilewright.workloads.pipelines.problem import Pipeline, PipelineProblem, PipelineStencil

TABLE_8 = {"gtx590": (164e9, 1476e9), "gtx780": (288e9, 2592e9), "gtx750": (224e9, 2016e9)}
"""Bandwidths of global and shared memory in B/s as printed; the catalogue has those that the GTX 750 really reaches."""
Tiles = Mapping[str, tuple[Ints, Ints]]  # rows and columns of every grid's tile


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockCosts(Times[Floats]):
    """Resources and time (31)-(35) per configuration; infinite where it does not fit."""

    shared_bytes: Ints  # shared memory per block (28)
    resident: Ints  # blocks per SM at a time (29); 0 where the configuration does not fit
    occupancy: Floats  # resident threads over the most possible
    rounds: Ints  # times that an SM is filled (37)
    remaining: Ints  # blocks that the busiest SM runs after that (36)


class _Published:
    """What the two forms of the model differ in, as printed."""

    def bandwidth(self, machine: Machine) -> Quantity:
        """Bandwidth of memory: of the paper's cards that of table 8, of others the theoretical one."""
        if machine.name in TABLE_8:
            return Quantity(value=TABLE_8[machine.name][0], unit="B/s", source="paper", note="table 8")
        return machine.peak_dram_bandwidth or machine.dram_bandwidth

    def shared_bandwidth(self, machine: Machine, bandwidth: float) -> float:
        return TABLE_8[machine.name][1] if machine.name in TABLE_8 else bandwidth

    def padding(self, halo: tuple[int, int]) -> int:
        """Cells that threads beside a tile's own load along one axis (27)."""
        return max(halo)

    def shared_bytes(self, pipeline: Pipeline, plan: GroupPlan, sizes: Mapping[str, Ints]) -> Ints:  # noqa: ARG002
        """Shared memory of a block, of whose grids the bytes are given (28)."""
        return np.asarray(np.sum(list(sizes.values()), axis=0), dtype=np.int64)

    def launches(self, problem: PipelineProblem, blocks: BlockShapes, resident: Ints, sms: int) -> tuple[Ints, Ints]:
        """Times that every SM is filled (37), and the blocks that the busiest one runs after that (36)."""
        at_once = resident * sms * blocks.cells
        rounds = problem.cells // at_once
        return rounds, -(-(problem.cells - rounds * at_once) // blocks.threads)

    def transaction(self, size: int) -> int:
        """Bytes that a transaction moves for elements of ``size`` bytes (34)."""
        return size

    def cycles(self, stencil: PipelineStencil, lanes: float, special_lanes: float) -> float:  # noqa: ARG002
        """Cycles of a cell's operations on so many lanes (18), (32)."""
        return stencil.window / max(lanes, 1e-9)


class _Exact(_Published):
    """The corrected form."""

    def bandwidth(self, machine: Machine) -> Quantity:
        return machine.dram_bandwidth

    def shared_bandwidth(self, machine: Machine, bandwidth: float) -> float:  # noqa: ARG002
        return bandwidth

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


FORMS: Mapping[str, _Published] = {"published": _Published(), "exact": _Exact()}


def bandwidth(machine: Machine, model: str) -> Quantity:
    """Return the bandwidth of a machine's memory, on a GPU as a form of the model has it."""
    return machine.dram_bandwidth if machine.kind == "cpu" else FORMS[model].bandwidth(machine)


def card(machine: Machine, model: str = "exact") -> Numbers:
    """Return a GPU's numbers with the bandwidths of a form of the model."""
    form, numbers = FORMS[model], Numbers(machine)
    shared = form.shared_bandwidth(machine, numbers.shared_bandwidth)
    return numbers.at(dram_bandwidth=form.bandwidth(machine).value, shared_bandwidth=shared)


def evaluate(
    problem: PipelineProblem, group: Group, blocks: BlockShapes, machine: Numbers, model: str = "exact"
) -> BlockCosts:
    """Evaluate every configuration of a group."""
    form, plan = FORMS[model], plan_group(problem.pipeline, group)
    work = _Work(problem, plan, blocks, machine, form)
    fits = (work.shared_bytes <= machine.block_shared_bytes) & (blocks.threads <= machine.max_block_threads)
    resident = np.minimum(machine.max_threads // blocks.threads, machine.max_blocks)
    resident = np.where(fits, np.minimum(resident, machine.shared_bytes // np.maximum(work.shared_bytes, 1)), 0)
    rounds, remaining = form.launches(problem, blocks, np.maximum(resident, 1), machine.sm_count)
    full, rest = work.seconds(resident), work.seconds(remaining)
    transfers, chip, operations = (rounds * a + b for a, b in zip(full, rest, strict=True))
    return BlockCosts(
        terms={
            "transfers": transfers,  # (34)
            "on-chip memory": chip,
            "arithmetic": operations,  # (32)
            "synchronisation": np.where(resident > 0, machine.launch_seconds, np.inf),
        },
        shared_bytes=work.shared_bytes,
        resident=resident,
        occupancy=resident * blocks.threads / machine.max_threads,
        rounds=rounds,
        remaining=remaining,
    )


def sectors(tx: Ints, size: int, shift: int) -> Floats:
    """Return the transactions of a warp's access to memory by blocks ``tx`` wide (tables 4-6).

    A tile's first column lies ``shift`` elements before a multiple of a transaction; its rows are aligned.

    >>> [sectors(np.array([tx]), 4, shift).tolist() for tx, shift in ((32, 0), (32, 7), (4, 0))]
    [[4.0], [5.0], [8.0]]
    """
    width = np.minimum(tx, WARP)
    return np.asarray(1.0 * (WARP // width) * -(-(-shift * size % SECTOR + width * size) // SECTOR))


class _Work:
    """What one block takes, and the seconds that an SM takes for a number of resident ones."""

    def __init__(
        self, problem: PipelineProblem, plan: GroupPlan, blocks: BlockShapes, machine: Numbers, form: _Published
    ) -> None:
        self.problem, self.plan, self.blocks, self.machine, self.form = problem, plan, blocks, machine, form
        self.stencils = problem.pipeline.members(plan.stencils)
        # Grids are kept on chip unless every stencil reads the cell itself only.
        self.on_chip = any(sum(map(sum, halo)) for _, halo in plan.halos)
        zero = ((0, 0),) * problem.pipeline.rank
        self.halos = {g: plan.halo(g) or zero for g in (*plan.inputs, *(s.output for s in self.stencils))}
        self.tiles = self._tiles()
        self.shared_bytes = np.zeros_like(blocks.threads)
        if self.on_chip:
            sizes = {grid: self.tile_cells(grid) * problem.itemsize(grid) for grid in plan.shared}
            self.shared_bytes = form.shared_bytes(problem.pipeline, plan, sizes)
        self.accesses, self.words, self.arithmetic = self._accesses(), self._words(), self._arithmetic()

    def _tiles(self) -> Tiles:
        """Rows and columns of every grid's tile, with its halo, in whole blocks of threads (27)."""
        blocks = self.blocks
        return {
            grid: (
                (blocks.ny + -(-self.form.padding(halo[-2]) // blocks.ty)) * blocks.ty,
                (blocks.nx + -(-self.form.padding(halo[-1]) // blocks.tx)) * blocks.tx,
            )
            for grid, halo in self.halos.items()
        }

    def tile_cells(self, grid: str) -> Ints:
        rows, columns = self.tiles[grid]
        return rows * columns

    def computed_cells(self, stencil: PipelineStencil) -> Ints:
        """Cells that a block computes of a stencil's grid: the tile's own where nothing on chip reads them."""
        grid = stencil.output
        alone = grid in self.plan.outputs and grid not in self.plan.shared
        return self.blocks.cells if alone else self.tile_cells(grid)

    def seconds(self, resident: Ints) -> tuple[Floats, Floats, Floats]:
        """Global accesses, shared accesses with barriers, operations."""
        machine, count, mask = self.machine, len(self.stencils), resident > 0
        warps = resident * -(-self.blocks.threads // WARP)
        reached: Floats = np.minimum(1.0, np.maximum(warps, 1e-9) / machine.hiding_warps)  # share of the throughput
        latency = machine.global_latency / machine.clock * (1 - reached)
        near = machine.shared_latency / machine.clock * (1 - reached) * count
        none = np.zeros_like(reached)
        inside = self.words * resident / reached + near + count * machine.barrier_seconds
        return (
            np.where(mask, self.accesses * resident / reached + latency, none),
            np.where(mask, inside, none) if self.on_chip else none,
            np.where(mask, self.arithmetic * resident / reached, none),
        )

    def _accesses(self) -> Floats:
        """Seconds of one block's accesses to memory, at one SM's share of the bandwidth (34)."""
        total = np.zeros(len(self.blocks.tx))
        rate = self.machine.dram_bandwidth / self.machine.sm_count
        for grid in (*self.plan.inputs, *self.plan.outputs):
            size, shift, cells = self.problem.itemsize(grid), 0, self.blocks.cells
            if grid in self.plan.inputs:
                shift = self.halos[grid][-1][0]
                reads = sum(read.field == grid for stencil in self.stencils for read in stencil.reads)
                cells = self.tile_cells(grid) if self.on_chip else cells * reads
            unit = self.form.transaction(size)
            total += sectors(self.blocks.tx, size, shift) * cells / WARP * unit / rate
        return total

    def _words(self) -> Floats:
        """Seconds of one block's accesses to shared memory."""
        words = np.zeros(len(self.blocks.tx))
        if not self.on_chip:
            return words
        rate = self.machine.shared_bandwidth / self.machine.sm_count
        conflicts = {grid: bank_conflicts(self.tiles[grid][1], self.blocks.tx) for grid in self.plan.shared}
        for grid in self.plan.inputs:
            words += self.tile_cells(grid) * conflicts[grid]
        for stencil in self.stencils:
            cells = self.computed_cells(stencil)
            for grid in stencil.inputs:
                words += cells * sum(1 for read in stencil.reads if read.field == grid) * conflicts[grid]
            if stencil.output in self.plan.shared:
                words += cells * conflicts[stencil.output]
        return words * 4 / rate

    def _arithmetic(self) -> Floats:
        """Seconds of one block's arithmetic (32)."""
        machine, total = self.machine, np.zeros(len(self.blocks.tx))
        real = {"float32": machine.vector_width, "float64": machine.vector_width * machine.fp64_ratio}
        for stencil in self.stencils:
            lanes = real.get(self.problem.dtype(stencil.inputs[0]), machine.int_lanes)
            cycles = self.form.cycles(stencil, lanes, machine.special_lanes)
            total += self.computed_cells(stencil) * cycles / machine.clock
        return total
