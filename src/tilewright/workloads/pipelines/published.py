"""What a fused group of a pipeline costs on a GPU, as printed: Ben Cheikh et al. (2015), (26)-(37), tables 3-8.

The equations are kept as they stand, errata included: (27) pads for the wider side of a halo alone; (28) keeps a grid's
shared memory when nothing reads it any more; (32) counts the window of (18); (34) moves #Elem x ElemSize at the
bandwidths of table 8; (36) counts the remaining blocks by threads. What both forms share, and what the corrected one
says in place of these, is in :mod:`tilewright.workloads.pipelines.gpu_costs`.
"""

from collections.abc import Mapping

import numpy as np

from tilewright.costs.arrays import BlockShapes, Ints
from tilewright.machines.machine import Machine
from tilewright.machines.parameters import Quantity
from tilewright.workloads.pipelines.fusions import GroupPlan
from tilewright.workloads.pipelines.problem import Pipeline, PipelineProblem, PipelineStencil

TABLE_8 = {"gtx590": (164e9, 1476e9), "gtx780": (288e9, 2592e9), "gtx750": (224e9, 2016e9)}
"""Bandwidths of global and shared memory in B/s as printed; the catalogue has those that the GTX 750 really reaches."""


class Published:
    """What the two forms of the model differ in, as printed."""

    def bandwidth(self, machine: Machine) -> Quantity:
        """Bandwidth of memory: of the paper's cards that of table 8, of others the theoretical one."""
        if machine.name in TABLE_8:
            return Quantity(value=TABLE_8[machine.name][0], unit="B/s", source="paper", note="table 8")
        return machine.peak_dram_bandwidth or machine.dram_bandwidth

    def shared_bandwidth(self, machine: Machine, known: float) -> float:
        """Bandwidth of shared memory in B/s: of the paper's cards that of table 8."""
        return TABLE_8[machine.name][1] if machine.name in TABLE_8 else known

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
