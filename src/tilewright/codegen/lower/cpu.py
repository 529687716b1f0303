"""Schedule trees -> loops on a CPU: the one place where a family's order becomes code for processors.

    Mark                    a comment
    Let                     a name; one for a name or a number is replaced by it
    Loop                    for (…)                        without a loop where it has a single iteration
    Wavefronts              the loop over the sums         :func:`tilewright.schedules.tree.nodes.unfolded`
    Parallel                #pragma omp for, dynamic       over all tiles of the wavefront, counted off in one number
    Guard                   if (…)
    Compute in a tile       calls of the statements' kernels, which cut the box to the grid
    Compute in no tile      a sweep that threads share     :mod:`tilewright.codegen.lower.sweeps`

One team of threads runs everything from the first node on that is not a name or a comment.
"""

from tilewright.codegen import ir
from tilewright.codegen.boxes.kernel import call_boxes
from tilewright.codegen.lower.index import Names, bound, index
from tilewright.codegen.lower.sweeps import SweepKernel
from tilewright.codegen.sites import SIZE, Site
from tilewright.schedules.tree import nodes as tree_nodes
from tilewright.schedules.tree.affine import Whole
from tilewright.schedules.tree.nodes import Compute, Guard, Let, Loop, Mark, Node, Parallel, Sequence, Wavefronts


def entry_function(site: Site, tree: Node, name: str, *, further: tuple[str, ...] = ()) -> ir.Function:
    """Return the exported function that advances the fields by ``size[0]`` steps with ``size[1]`` threads."""
    b = ir.Builder(name, kind="entry")
    b.params(*site.params)
    at = 2 * site.rank + 2  # behind the distance between versions
    for size, place in {"steps": 0, "threads": 1, **{each: at + k for k, each in enumerate(further)}}.items():
        b.let(size, SIZE[place])
    site.name_sizes(b)
    if isinstance(tree, Loop) and not any(isinstance(node, Parallel) for node in tree_nodes.nodes(tree)):
        SweepKernel(b, site, tree).write()
    else:
        _TileKernel(b, site).team(tree, {})
    return b.function()


class _TileKernel:
    """Writes the nodes of a tree of tiles."""

    def __init__(self, b: ir.Builder, site: Site) -> None:
        self.b, self.site = b, site

    def team(self, node: Node, names: Names) -> None:
        """Open a region of threads below names and comments."""
        match node:
            case Mark():
                self.b.comment(node.text)
                self.team(node.child, names)
            case Let():
                self.team(node.child, self._bound(node, names))
            case Wavefronts():
                self.team(tree_nodes.unfolded(node), names)
            case _:
                with self.b.parallel(ir.Var("threads")):
                    self.node(node, names)

    def node(self, node: Node, names: Names) -> None:
        """Write a node."""
        b = self.b
        match node:
            case Mark(text, child):
                b.comment(text)
                self.node(child, names)
            case Let():
                self.node(node.child, self._bound(node, names))
            case Sequence(children):
                for child in children:
                    if isinstance(child, Mark | Let):  # its names are its own
                        with b.scope():
                            self.node(child, names)
                    else:
                        self.node(child, names)
            case Loop():
                self._loop(node, names)
            case Parallel():
                self._tiles(node, names)
            case Wavefronts():
                self.node(tree_nodes.unfolded(node), names)
            case Guard():
                at = index(node.value, names)
                with b.when((at >= index(node.low, names)) & (at < index(node.high, names))):
                    self.node(node.child, names)
            case Compute():
                self._cells(node, names)
            case _:
                raise ValueError(f"no loops are made of a {type(node).__name__}")

    def _bound(self, let: Let, names: Names) -> Names:
        lets, names = bound(let, names)
        self.b.emit(*lets)
        return names

    def _loop(self, loop: Loop, names: Names) -> None:
        if loop.high == loop.low + 1:
            self.node(Let(loop.name, loop.low, loop.child), names)
            return
        with self.b.loop(loop.name, index(loop.low, names), index(loop.high, names), loop.step) as var:
            self.node(loop.child, {**names, loop.name: var})

    def _tiles(self, tiles: Parallel, names: Names) -> None:
        """The tiles of a wavefront, which threads take one by one, by a number whose last digit is the last range's."""
        b, ranges = self.b, tiles.ranges
        counts = [index(each.count, names) for each in ranges]
        lows = [index(each.low, names) for each in ranges]
        inner = {**names, **{each.name: ir.Var(each.name) for each in ranges}}
        if len(ranges) == 1:
            with b.loop(ranges[0].name, lows[0], lows[0] + counts[0], share="dynamic"):
                self.node(tiles.child, inner)
            return
        every = counts[0]
        for count in counts[1:]:
            every *= count
        with b.loop("place", 0, every, share="dynamic") as place:
            rest: ir.Expr = place
            for each, low, count in reversed(list(zip(ranges, lows, counts, strict=True))):
                more = each is not ranges[0]
                b.let(each.name, low + (rest % count if more else rest))
                rest = rest / count if more else rest
            self.node(tiles.child, inner)

    def _cells(self, cells: Compute, names: Names) -> None:
        step = index(cells.step, names)
        box = [(index(low, names), index(high, names)) for low, high in cells.box]
        stages = self.site.problem.program.stages
        if isinstance(cells.stage, Whole):
            call_boxes(self.b, self.site, stages[cells.stage.value], step, box)
            return
        chosen = index(cells.stage, names)
        for place, stage in enumerate(stages):
            with self.b.when(chosen.equals(place)):
                call_boxes(self.b, self.site, stage, step, box)
