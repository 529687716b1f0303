"""Schedule trees -> kernels of a GPU, one per kind of wavefront.

    above a Parallel        the host's loops: one launch per wavefront, with what the tile's names stand for as numbers
    Parallel                a group of threads per tile
    Loop, Let, Guard        the same in every thread
    Compute                 cells of the box, shared by the threads of the group, and a barrier

Nothing is kept on chip by the text: what a group writes it reads again later, from its caches.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.gpu.site import GpuSite, Launch, unpacked
from tilewright.codegen.gpu.sweep import guarded_cell, places
from tilewright.codegen.lower.cpu import Names, bound
from tilewright.codegen.lower.index import index
from tilewright.codegen.sites import extent
from tilewright.codegen.source import EntryPoint
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import MAX_RANK
from tilewright.schedules.catalogue import tree
from tilewright.schedules.schedule import GpuSchedule
from tilewright.schedules.tree.affine import Whole, extent_of, names_in, value
from tilewright.schedules.tree.nodes import (
    Box,
    Compute,
    Guard,
    Let,
    Loop,
    Mark,
    Node,
    Parallel,
    Wavefronts,
    children,
    free_names,
    unfolded,
)


def tile_functions(site: GpuSite, schedule: GpuSchedule) -> tuple[tuple[ir.Function, EntryPoint], ...]:
    """Make the kernel of a tree with one kind of wavefront."""
    notes, tiles = wavefront(tree(site.problem, schedule.tiling))
    numbers = told(tiles)
    kernel = EntryPoint(entry=f"{site.prefix}_0", threads=math.prod(schedule.threads), numbers=numbers)
    threads = tuple(ir.Var(f"i{axis}") for axis in range(site.rank))
    moved = [each for each in tiles.ranges if each.low != Whole(0)]
    digits = tuple(ir.Var(f"place_{each.name}" if each in moved else each.name) for each in tiles.ranges)
    counts = tuple(index(each.count, {}) for each in tiles.ranges)
    lets = [ir.Let(ir.Var(each.name), index(each.low, {}) + ir.Var(f"place_{each.name}")) for each in moved]
    body = (
        *map(ir.Comment, notes),
        *unpacked(ir.THREAD, threads, tuple(map(ir.Int, schedule.threads))),
        *unpacked(ir.GROUP, digits, counts),
        *lets,
        *_Lowering(site=site, threads=schedule.threads).node(tiles.child, {}),
    )
    function = ir.Function(
        name=kernel.entry,
        params=site.params(numbers),
        body=body,
        kind="kernel",
        threads=kernel.threads,
    )
    return ((function, kernel),)


def tile_launches(problem: Problem, schedule: GpuSchedule, steps: int) -> Iterator[Launch]:
    """Yield one launch per wavefront with any tile, for some steps that start at version 0."""
    yield from wavefront_launches(tree(problem, schedule.tiling), problem, {"steps": steps})


def wavefront_launches(node: Node, problem: Problem, sizes: Mapping[str, int]) -> Iterator[Launch]:
    """Yield one launch per wavefront of a tree with any tile; ``sizes``: its free names but the extents."""
    yield from _launches(node, {**sizes, **{f"n{axis}": cells for axis, cells in enumerate(problem.shape)}})


def _launches(node: Node, names: dict[str, int]) -> Iterator[Launch]:
    match node:
        case Mark():
            yield from _launches(node.child, names)
        case Let(name, of, child):
            yield from _launches(child, {**names, name: value(of, names)})
        case Wavefronts():
            yield from _launches(unfolded(node), names)
        case Loop():
            for number in range(value(node.low, names), value(node.high, names), node.step):
                yield from _launches(node.child, {**names, node.name: number})
        case Parallel(ranges):
            groups = math.prod(value(each.count, names) for each in ranges)
            if groups > 0 and not _idle(node.child, names):
                yield Launch(0, groups, tuple(names[name] for name in told(node)))
        case _:
            raise ValueError(f"no launch is made of a {type(node).__name__} above tiles")


def _idle(node: Node, names: Mapping[str, int]) -> bool:
    """Whether a loop that all tiles have alike has no iteration."""
    match node:
        case Loop():
            known = names_in(node.low) | names_in(node.high) <= names.keys()
            return (known and value(node.low, names) >= value(node.high, names)) or _idle(node.child, names)
        case Let() | Guard():
            return _idle(node.child, names)
        case _:
            return False


def wavefront(node: Node) -> tuple[list[str], Parallel]:
    """The notes above the tiles of a tree, and the tiles."""
    notes: list[str] = []
    while not isinstance(node, Parallel):
        (below,) = children(node)
        notes += [node.text] if isinstance(node, Mark) else []
        node = below
    return notes, node


def told(tiles: Parallel) -> tuple[str, ...]:
    """What a group is told, in alphabetical order: all but the grid's extents, and how often the first range counts."""
    first, *others = tiles.ranges
    used = free_names(tiles.child) - {each.name for each in tiles.ranges}
    used = used.union(names_in(first.low), *(names_in(end) for each in others for end in (each.low, each.count)))
    return tuple(sorted(used - {extent_of(axis).name for axis in range(MAX_RANK)}))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lowering:
    """What a thread does inside a tile."""

    site: GpuSite
    threads: tuple[int, ...]  # threads of a group per axis

    def node(self, node: Node, names: Names) -> tuple[ir.Stmt, ...]:
        match node:
            case Let():
                lets, names = bound(node, names)
                return (*lets, *self.node(node.child, names))
            case Loop():
                if node.high == node.low + 1:
                    return self.node(Let(node.name, node.low, node.child), names)
                low, high = index(node.low, names), index(node.high, names)
                body = self.node(node.child, {**names, node.name: ir.Var(node.name)})
                step = ir.Int(node.step)
                return (ir.For(var=ir.Var(node.name), low=low, high=high, step=step, body=body, unroll=1),)
            case Guard():
                at = index(node.value, names)
                holds = (at >= index(node.low, names)) & (at < index(node.high, names))
                return (ir.If(holds, self.node(node.child, names)),)
            case Compute():
                return (*self._cells(node, names), ir.Barrier(memory=True))
            case _:
                raise ValueError(f"no thread code is made of a {type(node).__name__} in memory")

    def _cells(self, cells: Compute, names: Names) -> tuple[ir.Stmt, ...]:
        """The cells of a box, cut to the grid, each by one thread."""
        here, step, stage = places(self.site), index(cells.step, names), index(cells.stage, names)
        work: list[ir.Stmt] = []
        for number, statements in enumerate(self.site.stages):
            every = (self.site.problem.program.statements[statement] for statement in statements)
            body = tuple(guarded_cell(self.site, each, here, step) for each in every)
            nest = self._over(cells.box, body, names)
            if isinstance(cells.stage, Whole):
                work += nest if cells.stage.value == number else ()
            else:
                work.append(ir.If(stage.equals(number), nest))
        return tuple(work)

    def _over(self, box: Box, body: tuple[ir.Stmt, ...], names: Names) -> tuple[ir.Stmt, ...]:
        """The cells of a box that the grid has, shared by the threads of the group."""
        for axis in range(self.site.rank - 1, -1, -1):
            low, high = (index(end, names) for end in box[axis])
            first = ir.largest(low, ir.Int(0)) + ir.Var(f"i{axis}")
            last, step = ir.smallest(high, extent(axis)), ir.Int(self.threads[axis])
            body = (ir.For(var=places(self.site)[axis], low=first, high=last, step=step, body=body),)
        return body
