"""The search for a fusion: every legal group has its best configuration, and a fusion costs the sum of its groups.

A configuration is a block of threads on a GPU, a tile of rows on a CPU. What a machine offers is :class:`Blocks` or
:class:`Strips`, and what is chosen says itself in JSON, in words and in a table. Nothing is run.
"""

import functools
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.base.constants import MAX_BLOCK_THREADS, WARP
from tilewright.base.errors import UsageError
from tilewright.base.units import format_bytes, format_seconds
from tilewright.costs.arrays import BlockShapes
from tilewright.machines.machine import Machine
from tilewright.machines.numbers import vector_units
from tilewright.report.progress import waiting
from tilewright.workloads.pipelines.cpu_costs import RowCosts, count_group
from tilewright.workloads.pipelines.fusions import Fusion, Group, cheapest, groups
from tilewright.workloads.pipelines.gpu_costs import BlockCosts, card, evaluate
from tilewright.workloads.pipelines.problem import PipelineProblem
from tilewright.workloads.pipelines.rows import RowTile, streamable

MAX_PER_THREAD = 8
WIDTHS = (128, 256, 512, 1024, 2048, 4096)
ROWS = (1, 2, 4, 8)
LINES = (8, 16, 32, 64)
BASIC = (16, 16, 1, 1)  # the block of a basic implementation, which the paper compares with (section 5)
THREADS = (128, 512)  # fewest and most threads of a block, whole warps, by CUDA's guides
OCCUPANCY = 0.5  # least occupancy by CUDA's guides; where nothing reaches it, the highest there is counts
Mask = np.ndarray[tuple[int], np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockChoice:
    """A thread-block configuration of a group and what it uses."""

    block: tuple[int, int, int, int]  # (T_y, T_x, N_y, N_x)
    seconds: float  # of the group
    shared_bytes: int  # shared memory of a block
    resident: int  # blocks per multiprocessor at a time
    occupancy: float  # resident threads over the most possible
    rounds: int  # times that a multiprocessor is filled
    remaining: int  # blocks that the busiest one runs after that
    registers: int | None = field(default=None, compare=False)  # per thread, as the compiler says
    # blocks that the registers of a multiprocessor are enough for
    register_blocks: int | None = field(default=None, compare=False)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1]

    def facts(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            **dict(zip(("T_y", "T_x", "N_y", "N_x"), self.block, strict=True)),
            "threads": self.threads,
            "shared_bytes": self.shared_bytes,
            "resident_blocks": self.resident,
            "occupancy": self.occupancy,
            "iterations": self.rounds,
            "remaining_blocks": self.remaining,
        }

    def listed(self) -> dict[str, Any]:
        """Return it as plain data, with what the compiler says."""
        return {**self.facts(), "registers": self.registers, "register_blocks": self.register_blocks}

    def __str__(self) -> str:
        ty, tx, ny, nx = self.block
        return (
            f"T {ty}x{tx} N {ny}x{nx}, {format_bytes(self.shared_bytes)} shared, occupancy {self.occupancy:.0%}, "
            f"{format_seconds(self.seconds)}"
        )

    def cells(self) -> dict[str, str]:
        """Return its row of a table, by columns."""
        (ty, tx, ny, nx), most = self.block, self.register_blocks
        fewer = "" if most is None or most >= self.resident else f", {most} by registers"
        return {
            "T": f"{ty}x{tx}",
            "N": f"{ny}x{nx}",
            ">threads": str(self.threads),
            ">registers": "-" if self.registers is None else str(self.registers),
            ">shared": format_bytes(self.shared_bytes),
            "blocks per SM": f"{self.resident}{fewer}",
            ">occupancy": f"{self.occupancy:.0%}",
            ">rounds": str(self.rounds),
            ">remaining": str(self.remaining),
        }


Choice = BlockChoice | RowCosts  # a configuration of a group and what it uses


@dataclass(frozen=True, slots=True, kw_only=True)
class Strips:
    """What a CPU offers the groups of a pipeline: tiles of rows."""

    problem: PipelineProblem
    machine: Machine
    coarse: bool = False  # two tiles per group alone

    def every(self, group: Group) -> tuple[RowCosts, ...]:
        """Return the tiles of a group, best first."""
        return tuple(sorted(self._priced(group), key=lambda choice: choice.seconds))

    def best(self, group: Group) -> tuple[RowCosts | None, tuple[int, int, int]]:
        """Return a group's best tile, if any, and how many were looked at, fit and are relevant."""
        every = self.every(group)
        return next(iter(every), None), (len(every),) * 3

    def basic(self, group: Group) -> None:
        """The paper compares with blocks of GPUs alone."""

    def _priced(self, group: Group) -> Iterator[RowCosts]:
        if len(group) > 1 and streamable(self.problem, group):
            return
        widest = -(-self.problem.shape[-1] // 64) * 64
        widths = sorted({min(width, widest) for width in (WIDTHS[1:4:2] if self.coarse else WIDTHS)})
        flat = self.problem.pipeline.rank == 2
        # A row's sum and what is added to it are in registers together, those of all rows in turn.
        held = [rows for rows in ROWS if 2 * rows < vector_units(self.machine).registers]
        for rows in (ROWS[2:3] if self.coarse else held) if flat else (1,):
            counted = count_group(self.problem, group, rows, self.machine)
            for width, lines in itertools.product(widths, (1,) if flat else LINES):
                yield counted.costs(RowTile(width=width, rows=rows, lines=lines))


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """What a GPU offers the groups of a pipeline: blocks of threads."""

    problem: PipelineProblem
    machine: Machine
    model: str = "exact"
    exhaustive: bool = False  # everything that fits, not only what follows CUDA's guides

    def every(self, group: Group) -> tuple[BlockChoice, ...]:
        """Return what fits of a group and is relevant, best first."""
        blocks, costs, mask = self._priced(group)
        index = np.flatnonzero(mask)
        order = index[np.argsort(costs.seconds[index], kind="stable")]
        return tuple(choice_at(costs, blocks, place) for place in order.tolist())

    def best(self, group: Group) -> tuple[BlockChoice | None, tuple[int, int, int]]:
        """Return a group's best block, if any, and how many were looked at, fit and are relevant."""
        blocks, costs, mask = self._priced(group)
        index = int(np.argmin(np.where(mask, costs.seconds, np.inf)))
        choice = choice_at(costs, blocks, index) if mask.any() else None
        return choice, (len(mask), int((costs.resident > 0).sum()), int(mask.sum()))

    def basic(self, group: Group) -> BlockChoice | None:
        """Return a group with the block :data:`BASIC`, or None where it does not fit."""
        blocks = _shapes([BASIC])
        costs = evaluate(self.problem, group, blocks, card(self.machine, self.model), self.model)
        return choice_at(costs, blocks, 0) if costs.resident[0] else None

    def _priced(self, group: Group) -> tuple[BlockShapes, BlockCosts, Mask]:
        gpu = card(self.machine, self.model)
        blocks = all_blocks(gpu.max_block_threads)
        costs = evaluate(self.problem, group, blocks, gpu, self.model)
        return blocks, costs, np.asarray(costs.resident > 0) if self.exhaustive else relevant(costs, blocks)


Space = Strips | Blocks


def space_of(problem: PipelineProblem, machine: Machine, model: str, *, exhaustive: bool) -> Space:
    """Return what a machine offers the groups of a pipeline."""
    if machine.kind == "cpu":
        return Strips(problem=problem, machine=machine)
    return Blocks(problem=problem, machine=machine, model=model, exhaustive=exhaustive)


@functools.cache
def all_blocks(most_threads: int = MAX_BLOCK_THREADS) -> BlockShapes:
    """Return every configuration: T_y and T_x powers of two within a block's threads, N_y and N_x from 1."""
    powers = [2**k for k in range(most_threads.bit_length())]
    each = range(1, MAX_PER_THREAD + 1)
    return _shapes([(a, b, c, d) for a in powers for b in powers if a * b <= most_threads for c in each for d in each])


def _shapes(blocks: Sequence[tuple[int, int, int, int]]) -> BlockShapes:
    columns = np.array(blocks, dtype=np.int64).T
    return BlockShapes(ty=columns[0], tx=columns[1], ny=columns[2], nx=columns[3])


def relevant(costs: BlockCosts, blocks: BlockShapes) -> Mask:
    """Return which configurations fit and follow CUDA's guides; all that fit where none does."""
    fits = costs.resident > 0
    sized = fits & (blocks.threads % WARP == 0) & (blocks.threads >= THREADS[0]) & (blocks.threads <= THREADS[1])
    if not sized.any():
        return np.asarray(fits)
    return np.asarray(sized & (costs.occupancy >= min(OCCUPANCY, float(costs.occupancy[sized].max()))))


def choice_at(costs: BlockCosts, blocks: BlockShapes, index: int) -> BlockChoice:
    """Return one configuration with what it uses."""
    return BlockChoice(
        block=(int(blocks.ty[index]), int(blocks.tx[index]), int(blocks.ny[index]), int(blocks.nx[index])),
        seconds=float(costs.seconds[index]),
        shared_bytes=int(costs.shared_bytes[index]),
        resident=int(costs.resident[index]),
        occupancy=float(costs.occupancy[index]),
        rounds=int(costs.rounds[index]),
        remaining=int(costs.remaining[index]),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Explored:
    """Statistics of a search."""

    groups: int  # groups that some legal fusion has
    configurations: int  # configurations looked at, all groups together
    feasible: int  # those that fit the machine
    relevant: int  # those that the vendor's guidelines leave
    seconds: float  # wall time of the search


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionCandidate:
    """A fusion with the best configuration of each group."""

    fusion: Fusion
    choices: tuple[Choice, ...]
    seconds: float

    @property
    def tiles(self) -> tuple[RowTile, ...]:
        """The tiles of its groups on a CPU."""
        return tuple(choice.tile for choice in self.choices if isinstance(choice, RowCosts))


def search(space: Space, top: int = 1) -> tuple[tuple[FusionCandidate, ...], Explored]:
    """Rank the fusions of a pipeline with their configurations, best first, and say how they were found."""
    begin = time.perf_counter()
    pipeline = space.problem.pipeline
    if isinstance(space, Blocks) and pipeline.rank != 2:
        raise UsageError("the GPU model is for pipelines of two dimensions", "take a CPU: machine='host'")
    every = groups(pipeline)
    bests = dict[Group, tuple[Choice | None, tuple[int, int, int]]]()
    with waiting(f"fusing {pipeline.name}", lambda: (len(bests) / len(every), None)):
        for group in every:
            bests[group] = space.best(group)
    best = {group: choice for group, (choice, _) in bests.items() if choice is not None}
    ranked = cheapest(pipeline, {group: choice.seconds for group, choice in best.items()}, top)
    if not ranked:
        raise UsageError(f"no configuration of {pipeline.name!r} fits machine {space.machine.name!r}")
    looked_at, fitting, followed = map(sum, zip(*(counts for _, counts in bests.values()), strict=True))
    seconds = time.perf_counter() - begin
    candidates = tuple(
        FusionCandidate(fusion=fusion, choices=tuple(best[group] for group in fusion), seconds=cost)
        for cost, fusion in ranked
    )
    return candidates, Explored(
        groups=len(bests), configurations=looked_at, feasible=fitting, relevant=followed, seconds=seconds
    )


def best_choices(space: Space, fusion: Fusion) -> FusionCandidate:
    """Return one fusion with the best configuration of each group."""
    chosen = []
    for group in fusion:
        best, _ = space.best(group)
        if best is None:
            raise UsageError(
                f"a group of this fusion fits no configuration on machine {space.machine.name!r}", "fuse less"
            )
        chosen.append(best)
    return FusionCandidate(fusion=fusion, choices=tuple(chosen), seconds=sum(choice.seconds for choice in chosen))
