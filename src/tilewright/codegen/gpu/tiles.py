"""Schedule trees -> kernels of a GPU, one per kind of wavefront.

    above a Parallel        the host's loops: one launch per wavefront, with what the tile's names stand for as numbers
    Parallel                a group of threads per tile
    Loop, Let, Guard        the same in every thread
    Compute                 cells of the box, shared by the threads of the group, and a barrier

Nothing is kept on chip by the text: what a group writes it reads again later, from its caches.
"""

import math
from collections.abc import Iterator, Mapping, Sequence

from tilewright.codegen import ir
from tilewright.codegen.gpu.site import GpuSite, Kernel, Launch, in_turn, unpack
from tilewright.codegen.lower import Names, TreeWriter, index
from tilewright.codegen.sites import Pair
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import MAX_RANK
from tilewright.schedules.catalogue import tree
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.tree import nodes
from tilewright.schedules.tree.affine import Whole, extent_of, names_in, value
from tilewright.schedules.tree.nodes import Node


def tile_launches(problem: Problem, schedule: GpuSchedule, steps: int) -> Iterator[Launch]:
    """Yield one launch per wavefront with any tile, for some steps that start at version 0."""
    extents = {f"n{axis}": cells for axis, cells in enumerate(problem.shape)}
    return _launches(tree(problem, schedule.tiling), {"steps": steps, **extents})


def _launches(node: Node, names: dict[str, int]) -> Iterator[Launch]:
    match node:
        case nodes.Mark():
            yield from _launches(node.child, names)
        case nodes.Let(name, of, child):
            yield from _launches(child, {**names, name: value(of, names)})
        case nodes.Wavefronts():
            yield from _launches(nodes.unfolded(node), names)
        case nodes.Loop():
            for number in range(value(node.low, names), value(node.high, names), node.step):
                yield from _launches(node.child, {**names, node.name: number})
        case nodes.Parallel(ranges):
            groups = math.prod(value(each.count, names) for each in ranges)
            if groups > 0 and not _idle(node.child, names):
                yield Launch(0, groups, tuple(names[name] for name in launch_numbers(node)))
        case _:
            raise ValueError(f"no launch is made of a {type(node).__name__} above tiles")


def _idle(node: Node, names: Mapping[str, int]) -> bool:
    """Whether a loop that all tiles have alike has no iteration."""
    match node:
        case nodes.Loop():
            constant = names_in(node.low) | names_in(node.high) <= names.keys()
            return (constant and value(node.low, names) >= value(node.high, names)) or _idle(node.child, names)
        case nodes.Let() | nodes.Guard():
            return _idle(node.child, names)
        case _:
            return False


def wavefront(node: Node) -> tuple[list[str], nodes.Parallel]:
    """The notes above the tiles of a tree, and the tiles."""
    notes: list[str] = []
    while not isinstance(node, nodes.Parallel):
        (below,) = nodes.children(node)
        notes += [node.text] if isinstance(node, nodes.Mark) else []
        node = below
    return notes, node


def launch_numbers(tiles: nodes.Parallel) -> tuple[str, ...]:
    """Names of the numbers that a launch gives, sorted: all but the extents, and how often the first range counts."""
    first, *others = tiles.ranges
    names = nodes.free_names(tiles.child) - {each.name for each in tiles.ranges}
    names = names.union(names_in(first.low), *(names_in(end) for each in others for end in (each.low, each.count)))
    return tuple(sorted(names - {extent_of(axis).name for axis in range(MAX_RANK)}))


class TileKernel(TreeWriter):
    """The kernel of the tiles of a tree."""

    site: GpuSite

    def __init__(self, site: GpuSite, schedule: GpuSchedule) -> None:
        self.site, self.schedule = site, schedule

    def kernel(self) -> Kernel:
        """Make the kernel."""
        site, threads = self.site, self.schedule.threads
        notes, tiles = wavefront(tree(site.problem, self.schedule.tiling))
        b, entry = site.begin(0, math.prod(threads), launch_numbers(tiles))
        self.b = b
        for note in notes:
            b.comment(note)
        unpack(b, ir.THREAD, site.axes("i"), threads)
        moved = [each for each in tiles.ranges if each.low != Whole(0)]
        digits = [f"place_{each.name}" if each in moved else each.name for each in tiles.ranges]
        unpack(b, ir.GROUP, digits, [index(each.count, {}) for each in tiles.ranges])
        for each in moved:
            b.let(each.name, index(each.low, {}) + ir.Var(f"place_{each.name}"))
        self.node(tiles.child, {})
        return b.function(), entry

    def compute(self, node: nodes.Compute, names: Names) -> None:
        """Write the cells of a box, each by one thread, and wait."""
        super().compute(node, names)
        self.b.barrier(memory=True)

    def cells(self, stage: int, step: ir.Expr, box: Sequence[Pair]) -> None:
        """Write the statements of a stage over a box, which the threads of the group share."""
        with in_turn(self.b, box, self.schedule.threads):
            for statement in self.site.stages[stage]:
                self.site.cell(self.b, statement, self.site.places, step)
