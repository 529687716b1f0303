"""The search for a fusion: every legal group has its best configuration, and a fusion costs the sum of its groups.

So the best fusions come out of one pass over the *ideals* (the sets of stencils that may have been computed at some
moment): the best ways to reach an ideal are the best ways to a smaller one and one more group. Nothing is run.
"""

import functools
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.constants import MAX_BLOCK_THREADS, WARP
from tilewright.base.errors import UsageError
from tilewright.costs.arrays import BlockShapes
from tilewright.machines.machine import Machine
from tilewright.workloads.pipelines.cpu_costs import count_group, evaluate_rows
from tilewright.workloads.pipelines.fusions import Fusion, Group, groups, ideals, in_order, members
from tilewright.workloads.pipelines.gpu_costs import BlockCosts, card, evaluate
from tilewright.workloads.pipelines.problem import PipelineProblem
from tilewright.workloads.pipelines.rows import RowTile, streamable

MAX_PER_THREAD = 8
WIDTHS = (128, 256, 512, 1024, 2048, 4096)
ROWS = (1, 2, 4, 8)
LINES = (8, 16, 32, 64)


@dataclass(frozen=True, slots=True, kw_only=True)
class VendorFilter:
    """What CUDA's guides advise: whole warps, blocks of a middling size, a good occupancy."""

    least: int = 128  # fewest threads of a block
    most: int = 512  # most threads of a block
    occupancy: float = 0.5  # least occupancy; where nothing reaches it, the highest there is counts


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

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChoice:
    """A tile of a group on a CPU and what it uses."""

    tile: RowTile
    seconds: float
    dram_bytes: float
    ring_bytes: int


Choice = BlockChoice | RowChoice
BASIC = (16, 16, 1, 1)
"""The block of a basic implementation, which the paper compares with (section 5)."""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionSearch:
    """The best fusions, and how they were found."""

    candidates: tuple[FusionCandidate, ...]
    explored: Explored


@functools.cache
def all_blocks(most_threads: int = MAX_BLOCK_THREADS) -> BlockShapes:
    """Return every configuration: T_y and T_x powers of two within a block's threads, N_y and N_x from 1."""
    powers = [2**k for k in range(most_threads.bit_length())]
    each = range(1, MAX_PER_THREAD + 1)
    return _shapes([(a, b, c, d) for a in powers for b in powers if a * b <= most_threads for c in each for d in each])


def _shapes(blocks: Sequence[tuple[int, int, int, int]]) -> BlockShapes:
    columns = np.array(blocks, dtype=np.int64).T
    return BlockShapes(ty=columns[0], tx=columns[1], ny=columns[2], nx=columns[3])


def basic_choice(problem: PipelineProblem, group: Group, machine: Machine, model: str = "exact") -> BlockChoice | None:
    """Return a group on a GPU with the block :data:`BASIC`, or None where it does not fit."""
    blocks = _shapes([BASIC])
    costs = evaluate(problem, group, blocks, card(machine, model), model)
    return choice_at(costs, blocks, 0) if costs.resident[0] else None


def configurations(
    problem: PipelineProblem,
    group: Group,
    machine: Machine,
    *,
    model: str = "exact",
    vendor: VendorFilter | None = VendorFilter(),
) -> tuple[Choice, ...]:
    """Return every configuration of a group that fits and follows the guidelines, best first."""
    if machine.kind == "cpu":
        return tuple(sorted(_row_choices(problem, group, machine), key=lambda choice: choice.seconds))
    gpu = card(machine, model)
    blocks = all_blocks(gpu.max_block_threads)
    costs = evaluate(problem, group, blocks, gpu, model)
    kept = np.flatnonzero(filtered(costs, blocks, vendor))
    order = kept[np.argsort(costs.seconds[kept], kind="stable")]
    return tuple(choice_at(costs, blocks, index) for index in order.tolist())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Space:
    """Where the configurations of groups are looked for."""

    problem: PipelineProblem
    machine: Machine
    model: str = "exact"
    vendor: VendorFilter | None = VendorFilter()
    coarse: bool = False  # on CPUs, two tiles per group alone

    def best(self, group: Group) -> tuple[Choice | None, tuple[int, int, int]]:
        """Return a group's best configuration, if any, and how many were looked at, fit and are relevant."""
        if self.machine.kind == "cpu":
            rows = list(_row_choices(self.problem, group, self.machine, coarse=self.coarse))
            return min(rows, key=lambda choice: choice.seconds, default=None), (len(rows),) * 3
        gpu = card(self.machine, self.model)
        blocks = all_blocks(gpu.max_block_threads)
        costs = evaluate(self.problem, group, blocks, gpu, self.model)
        kept = filtered(costs, blocks, self.vendor)
        index = int(np.argmin(np.where(kept, costs.seconds, np.inf)))
        found = choice_at(costs, blocks, index) if kept.any() else None
        return found, (len(kept), int((costs.resident > 0).sum()), int(kept.sum()))


def search(
    problem: PipelineProblem,
    machine: Machine,
    *,
    top: int = 1,
    model: str = "exact",
    vendor: VendorFilter | None = VendorFilter(),  # None for an exhaustive search, on GPUs
    coarse: bool = False,  # on CPUs, rank by two tiles per group and refine those of the fusions returned
) -> FusionSearch:
    """Rank the fusions of a pipeline with their configurations, best first, without running anything."""
    begin = time.perf_counter()
    if machine.kind != "cpu" and problem.pipeline.rank != 2:
        raise UsageError("the GPU model is for pipelines of two dimensions", "take a CPU: machine='host'")
    every = groups(problem.pipeline)
    space = _Space(problem=problem, machine=machine, model=model, vendor=vendor, coarse=coarse)
    found = {group: space.best(group) for group in every}
    ranked = _rank(problem, {group: choice for group, (choice, _) in found.items() if choice is not None}, top)
    if coarse and machine.kind == "cpu":
        ranked = tuple(best_choices(problem, machine, candidate.fusion) for candidate in ranked)
    if not ranked:
        raise UsageError(f"no configuration of {problem.pipeline.name!r} fits machine {machine.name!r}")
    configurations, feasible, relevant = map(sum, zip(*(counts for _, counts in found.values()), strict=True))
    explored = Explored(
        groups=len(every),
        configurations=configurations,
        feasible=feasible,
        relevant=relevant,
        seconds=time.perf_counter() - begin,
    )
    return FusionSearch(candidates=ranked, explored=explored)


def best_choices(
    problem: PipelineProblem,
    machine: Machine,
    fusion: Fusion,
    *,
    model: str = "exact",
    vendor: VendorFilter | None = VendorFilter(),
) -> FusionCandidate:
    """Return one fusion with the best configuration of each group."""
    space = _Space(problem=problem, machine=machine, model=model, vendor=vendor)
    chosen = []
    for group in fusion:
        found, _ = space.best(group)
        if found is None:
            raise UsageError(f"a group of this fusion fits no configuration on machine {machine.name!r}", "fuse less")
        chosen.append(found)
    return FusionCandidate(fusion=fusion, choices=tuple(chosen), seconds=sum(choice.seconds for choice in chosen))


def _row_choices(
    problem: PipelineProblem, group: Group, machine: Machine, *, coarse: bool = False
) -> Iterator[RowChoice]:
    """Yield the tiles of a group on a CPU; none of one that cannot be streamed."""
    if len(group) > 1 and streamable(problem, group):
        return
    widest = -(-problem.shape[-1] // 64) * 64
    widths = sorted({min(width, widest) for width in (WIDTHS[1:4:2] if coarse else WIDTHS)})
    flat = problem.pipeline.rank == 2
    for rows in (ROWS[2:3] if coarse else ROWS) if flat else (1,):
        counted = count_group(problem, group, rows, machine)
        for width, lines in itertools.product(widths, (1,) if flat else LINES):
            tile = RowTile(width=width, rows=rows, lines=lines)
            costs = evaluate_rows(problem, counted, tile, machine)
            yield RowChoice(tile=tile, seconds=costs.seconds, dram_bytes=costs.dram_bytes, ring_bytes=costs.ring)


def filtered(
    costs: BlockCosts, blocks: BlockShapes, vendor: VendorFilter | None
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return which configurations fit and follow the guidelines."""
    fits = costs.resident > 0
    if vendor is None or not fits.any():
        return np.asarray(fits)
    sized = fits & (blocks.threads % WARP == 0) & (blocks.threads >= vendor.least) & (blocks.threads <= vendor.most)
    if not sized.any():
        return np.asarray(fits)
    enough = min(vendor.occupancy, float(costs.occupancy[sized].max()))
    return np.asarray(sized & (costs.occupancy >= enough))


def choice_at(costs: BlockCosts, blocks: BlockShapes, index: int) -> BlockChoice:
    """Return one configuration with what it uses."""
    block = (int(blocks.ty[index]), int(blocks.tx[index]), int(blocks.ny[index]), int(blocks.nx[index]))
    return BlockChoice(
        block=block,
        seconds=float(costs.seconds[index]),
        shared_bytes=int(costs.shared[index]),
        resident=int(costs.resident[index]),
        occupancy=float(costs.occupancy[index]),
        rounds=int(costs.rounds[index]),
        remaining=int(costs.remaining[index]),
    )


def _rank(problem: PipelineProblem, best: dict[Group, Choice], top: int) -> tuple[FusionCandidate, ...]:
    """Find the cheapest partitions: per ideal the ``top`` best ways to reach it, each partition once."""
    every = ideals(problem.pipeline)
    seconds = {_bits(group): choice.seconds for group, choice in best.items()}
    ways: dict[int, list[tuple[float, tuple[int, ...]]]] = {0: [(0.0, ())]}
    for ideal in every[1:]:
        found: dict[tuple[int, ...], float] = {}
        for smaller, reached in ways.items():
            if smaller & ~ideal or smaller == ideal:
                continue
            cost = seconds.get(ideal & ~smaller)
            if cost is None:
                continue
            for before, parts in reached:
                found[tuple(sorted((*parts, ideal & ~smaller)))] = before + cost
        ways[ideal] = sorted((cost, parts) for parts, cost in found.items())[:top]
    ranked: Sequence[tuple[float, tuple[int, ...]]] = ways[every[-1]]
    result = []
    for cost, parts in ranked:
        fusion = in_order(problem.pipeline, [members(bits) for bits in parts])
        result.append(FusionCandidate(fusion=fusion, choices=tuple(best[group] for group in fusion), seconds=cost))
    return tuple(result)


def _bits(group: Group) -> int:
    return sum(1 << i for i in group)
