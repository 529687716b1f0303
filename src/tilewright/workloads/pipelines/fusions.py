"""Fusion of a pipeline: which stencils are computed together, and what that asks of every grid.

A fusion is a partition of the stencils into groups. It is legal if the groups can be run one after the other: the
graph of groups has no cycle, which also makes every group convex. Groups that share no grid may be fused, since two
readers of one grid then read it once. Halos follow Ben Cheikh et al. (2015), algorithm 1 and (24): the longest path
from a grid to an output of its group, every stencil on the way adding its reach.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.workloads.pipelines.problem import Halo, Pipeline, PipelineStencil

Group = tuple[int, ...]  # numbers of stencils, ascending, counted from 0
Fusion = tuple[Group, ...]  # groups in an order in which they can run
MAX_IDEALS = 20_000
MAX_FUSIONS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """What a group of fused stencils reads, keeps on chip and writes."""

    stencils: Group
    inputs: tuple[str, ...]  # grids from outside, in grid order
    inner: tuple[str, ...]  # grids that it computes and reads itself
    outputs: tuple[str, ...]  # grids that it writes for others; one that is also read inside is in ``inner`` too
    # per grid that a stencil of the group reads, the cells beyond a tile that are needed (H')
    halos: tuple[tuple[str, Halo], ...]

    def halo(self, grid: str) -> Halo | None:
        """Cells beyond a tile of a grid, or None for a grid that no stencil of the group reads."""
        return dict(self.halos).get(grid)

    @property
    def shared(self) -> tuple[str, ...]:
        """Grids that are kept on chip: all that are read (the white vertices of figure 9)."""
        return tuple(grid for grid, _ in self.halos)


@functools.lru_cache(maxsize=4096)
def plan_group(pipeline: Pipeline, group: Group) -> GroupPlan:
    """Return what a group reads, keeps and writes."""
    produced = {stencil.output for stencil in pipeline.members(group)}
    read = {grid for stencil in pipeline.members(group) for grid in stencil.inputs}
    outside = {grid for i, s in enumerate(pipeline.stencils) if i not in group for grid in s.inputs}
    exports = outside | set(pipeline.outputs)
    halos = longest_paths(pipeline, group, PipelineStencil.reach)
    return GroupPlan(
        stencils=group,
        inputs=tuple(g for g in pipeline.grids if g in read - produced),
        inner=tuple(g for g in pipeline.grids if g in read & produced),
        outputs=tuple(g for g in pipeline.grids if g in produced and g in exports),
        halos=tuple((g, halos[g]) for g in pipeline.grids if g in halos),
    )


def longest_paths(pipeline: Pipeline, group: Group, reach: Callable[[PipelineStencil, str], Halo]) -> dict[str, Halo]:
    """Return the cells beyond a tile that are needed of every grid that a group reads (algorithm 1, (24))."""
    zero: Halo = ((0, 0),) * pipeline.rank
    halos: dict[str, Halo] = {}
    for stencil in reversed(pipeline.members(sorted(group))):
        own = halos.get(stencil.output, zero)
        for grid in stencil.inputs:
            through = ((a + c, b + d) for (a, b), (c, d) in zip(own, reach(stencil, grid), strict=True))
            before = halos.get(grid, zero)
            halos[grid] = tuple((max(a, c), max(b, d)) for (a, b), (c, d) in zip(before, through, strict=True))
    return halos


def full(pipeline: Pipeline) -> Fusion:
    """Return the fusion of everything."""
    return (tuple(range(len(pipeline.stencils))),)


def unfused(pipeline: Pipeline) -> Fusion:
    """Return the fusion of nothing."""
    return tuple((i,) for i in range(len(pipeline.stencils)))


def predecessors(pipeline: Pipeline) -> tuple[int, ...]:
    """Per stencil, the stencils whose grids it reads, as a bit set."""
    makers = [[pipeline.producer(grid) for grid in stencil.inputs] for stencil in pipeline.stencils]
    return tuple(sum(1 << number for number in each if number is not None) for each in makers)


@functools.lru_cache(maxsize=64)
def ideals(pipeline: Pipeline) -> tuple[int, ...]:
    """Return every set of stencils that may have been computed at some moment, as bit sets, small ones first."""
    before = predecessors(pipeline)
    sets = {0}
    level = {0}
    while level:
        grown = set()
        for ideal in level:
            for i, needs in enumerate(before):
                if not ideal >> i & 1 and needs & ~ideal == 0:
                    grown.add(ideal | 1 << i)
        sets |= grown
        if len(sets) > MAX_IDEALS:
            raise UsageError(
                f"pipeline {pipeline.name!r} is too wide for a search of its fusions", "split it in several pipelines"
            )
        level = grown
    return tuple(sorted(sets, key=lambda bits: (bits.bit_count(), bits)))


def members(bits: int) -> Group:
    """Return the numbers of a bit set.

    >>> members(0b1011)
    (0, 1, 3)
    """
    return tuple(i for i in range(bits.bit_length()) if bits >> i & 1)


def groups(pipeline: Pipeline) -> tuple[Group, ...]:
    """Return every group that some legal fusion has: the differences of two ideals."""
    every = ideals(pipeline)
    differences = {b & ~a for b in every for a in every if a != b and a & ~b == 0}
    return tuple(sorted((members(bits) for bits in differences), key=lambda g: (len(g), g)))


def cheapest(pipeline: Pipeline, costs: Mapping[Group, float], top: int) -> list[tuple[float, Fusion]]:
    """Return the fusions into priced groups that cost least, the sum of their groups, best first and each once.

    The best ways to reach an ideal are the best ways to a smaller one and one more group.
    """
    every = ideals(pipeline)
    priced = {_bits(group): cost for group, cost in costs.items()}
    ways: dict[int, list[tuple[float, tuple[int, ...]]]] = {0: [(0.0, ())]}
    for ideal in every[1:]:
        candidates: dict[tuple[int, ...], float] = {}
        for smaller, reached in ways.items():
            group = ideal & ~smaller
            if not smaller & ~ideal and group in priced:
                for before, parts in reached:
                    candidates[tuple(sorted((*parts, group)))] = before + priced[group]
        ways[ideal] = sorted((cost, parts) for parts, cost in candidates.items())[:top]
    return [(cost, in_order(pipeline, [members(bits) for bits in parts])) for cost, parts in ways[every[-1]]]


def fusions(pipeline: Pipeline) -> tuple[Fusion, ...]:
    """Return every legal fusion, each once, its groups in an order in which they can run."""
    candidates = [fusion for _, fusion in cheapest(pipeline, dict.fromkeys(groups(pipeline), 0.0), MAX_FUSIONS + 1)]
    if len(candidates) > MAX_FUSIONS:
        raise UsageError(f"pipeline {pipeline.name!r} has more than {MAX_FUSIONS} fusions", "search by costs")
    return tuple(sorted(candidates, key=lambda fusion: (len(fusion), fusion)))


def in_order(pipeline: Pipeline, parts: list[Group]) -> Fusion:
    """Return groups in an order in which they can run, by their first stencils where there is a choice."""
    if sorted(i for group in parts for i in group) != list(range(len(pipeline.stencils))):
        raise IllegalTilingError(
            f"a fusion names every stencil of {pipeline.name!r} once, S1 to S{len(pipeline.stencils)}",
            f"got {text(tuple(parts))}",
        )
    before = predecessors(pipeline)
    left, bits, ordered = sorted(tuple(sorted(group)) for group in parts), 0, []
    while left:
        ready = next((g for g in left if all(before[i] & ~(bits | _bits(g)) == 0 for i in g)), None)
        if ready is None:
            raise IllegalTilingError(
                f"the groups {text(tuple(left))} of {pipeline.name!r} wait for each other's grids",
                "fuse what lies between them too",
            )
        ordered.append(ready)
        left.remove(ready)
        bits |= _bits(ready)
    return tuple(ordered)


def _bits(group: Group) -> int:
    return sum(1 << i for i in group)


def text(fusion: Fusion) -> str:
    """Write a fusion as the paper does.

    >>> text(((0, 1), (2,)))
    '(S1, S2) | S3'
    """
    parts = []
    for group in fusion:
        names = ", ".join(f"S{i + 1}" for i in group)
        parts.append(f"({names})" if len(group) > 1 else names)
    return " | ".join(parts)


def parse(pipeline: Pipeline, written: str) -> Fusion:
    """Read a fusion: groups joined by ``|``, stencils by commas or spaces; ``full`` and ``none`` are names."""
    if written.strip() in {"full", "all"}:
        return full(pipeline)
    if written.strip() in {"none", "unfused"}:
        return unfused(pipeline)
    parts: list[Group] = []
    for piece in written.split("|"):
        names = piece.replace("(", " ").replace(")", " ").replace(",", " ").split()
        numbers = [name.upper().removeprefix("S") for name in names]
        if not names or not all(n.isascii() and n.isdigit() and len(n) < 6 and int(n) >= 1 for n in numbers):
            raise UsageError(f"a fusion is written like '(S1, S2) | S3', got {written!r}", "or full, or none")
        parts.append(tuple(int(n) - 1 for n in numbers))
    return in_order(pipeline, parts)


def slots(pipeline: Pipeline, plan: GroupPlan) -> tuple[int, ...]:
    """Return a piece of shared memory, by number, per grid of ``plan.shared``; what is dead makes room for others.

    A stencil's output is written while its inputs are read, so it lies elsewhere; a piece is as large as the largest
    grid that ever lies there. Inputs are all loaded before the first stencil.
    """
    order = {number: k for k, number in enumerate(plan.stencils)}
    last = {grid: max(order[number] for number in pipeline.readers(grid, plan.stencils)) for grid in plan.shared}
    place = {grid: number for number, grid in enumerate(g for g in plan.shared if g in plan.inputs)}
    busy = {number: last[grid] for grid, number in place.items()}
    for k, stencil in enumerate(pipeline.members(plan.stencils)):
        grid = stencil.output
        if grid not in last:
            continue
        free = [number for number, until in busy.items() if until < k]
        number = free[-1] if free else len(busy)
        place[grid] = number
        busy[number] = last[grid]
    return tuple(place[grid] for grid in plan.shared)
