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

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.boxes.statements import box_call
from tilewright.codegen.lower import sweeps
from tilewright.codegen.lower.index import index
from tilewright.codegen.sites import Site, unpack
from tilewright.schedules.tree.affine import Whole
from tilewright.schedules.tree.nodes import (
    Compute,
    Guard,
    Let,
    Loop,
    Mark,
    Node,
    Parallel,
    Sequence,
    Wavefronts,
    nodes,
    unfolded,
)

Names = Mapping[str, ir.Expr]


def entry_function(site: Site, tree: Node, name: str, *, further: tuple[str, ...] = ()) -> ir.Function:
    """Return the exported function that advances the fields by ``size[0]`` steps with ``size[1]`` threads."""
    at = 2 * site.rank + 2  # behind the distance between versions
    places = {"steps": 0, "threads": 1, **{each: at + number for number, each in enumerate(further)}}
    sizes = [ir.Let(ir.Var(each), ir.Load(site.params[1], ir.Int(i), ir.INDEX)) for each, i in places.items()]
    body = (*sizes, *unpack(site), *_loops(site, tree))
    return ir.Function(name=name, params=site.params, body=body, kind="entry")


def _loops(site: Site, tree: Node) -> tuple[ir.Stmt, ...]:
    if isinstance(tree, Loop) and not any(isinstance(node, Parallel) for node in nodes(tree)):
        recurrent = site.problem.program.analysis.sweep
        return sweeps.cell_by_cell(site, tree) if recurrent else sweeps.sweeps(site, tree)
    return _Lowering(site=site).team(tree, {})


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lowering:
    """What nodes need to know of their surroundings besides the names."""

    site: Site

    def team(self, node: Node, names: Names) -> tuple[ir.Stmt, ...]:
        """Open a region of threads below names and comments."""
        if isinstance(node, Mark):
            return (ir.Comment(node.text), *self.team(node.child, names))
        if isinstance(node, Let):
            lets, names = bound(node, names)
            return (*lets, *self.team(node.child, names))
        if isinstance(node, Wavefronts):
            return self.team(unfolded(node), names)
        return (ir.Parallel(ir.Var("threads"), self.node(node, names)),)

    def node(self, node: Node, names: Names) -> tuple[ir.Stmt, ...]:  # noqa: PLR0911
        """Return the statements of a node."""
        match node:
            case Mark(text, child):
                return (ir.Comment(text), *self.node(child, names))
            case Let():
                lets, names = bound(node, names)
                return (*lets, *self.node(node.child, names))
            case Sequence(children):
                return tuple(stmt for child in children for stmt in self._apart(child, names))
            case Loop():
                return self._loop(node, names)
            case Parallel():
                return (self._tiles(node, names),)
            case Wavefronts():
                return self.node(unfolded(node), names)
            case Guard():
                at = index(node.value, names)
                holds = (at >= index(node.low, names)) & (at < index(node.high, names))
                return (ir.If(holds, self.node(node.child, names)),)
            case Compute():
                return self._cells(node, names)
            case _:
                raise ValueError(f"no loops are made of a {type(node).__name__}")

    def _apart(self, child: Node, names: Names) -> tuple[ir.Stmt, ...]:
        """A child among others: its names are its own."""
        body = self.node(child, names)
        return (ir.Scope(body),) if isinstance(child, Mark | Let) else body

    def _loop(self, loop: Loop, names: Names) -> tuple[ir.Stmt, ...]:
        if loop.high == loop.low + 1:
            return self.node(Let(loop.name, loop.low, loop.child), names)
        inner = {**names, loop.name: ir.Var(loop.name)}
        low, high = index(loop.low, names), index(loop.high, names)
        body = self.node(loop.child, inner)
        return (ir.For(var=ir.Var(loop.name), low=low, high=high, step=ir.Int(loop.step), body=body),)

    def _tiles(self, tiles: Parallel, names: Names) -> ir.For:
        """The tiles of a wavefront, which threads take one by one, by a number whose last digit is the last range's."""
        ranges, child = tiles.ranges, tiles.child
        counts = [index(each.count, names) for each in ranges]
        lows = [index(each.low, names) for each in ranges]
        inner = {**names, **{each.name: ir.Var(each.name) for each in ranges}}
        body = self.node(child, inner)
        if len(ranges) == 1:
            high = lows[0] + counts[0]
            return ir.For(var=ir.Var(ranges[0].name), low=lows[0], high=high, body=body, share="dynamic")
        rest: ir.Expr = ir.Var("place")
        every, digits = counts[0], []
        for count in counts[1:]:
            every = every * count
        for number in range(len(ranges) - 1, -1, -1):
            digit = (rest % counts[number]) if number else rest
            digits.append(ir.Let(ir.Var(ranges[number].name), lows[number] + digit))
            rest = (rest / counts[number]) if number else rest
        return ir.For(var=ir.Var("place"), low=ir.Int(0), high=every, body=(*digits, *body), share="dynamic")

    def _cells(self, cells: Compute, names: Names) -> tuple[ir.Stmt, ...]:
        step = index(cells.step, names)
        box = [(index(low, names), index(high, names)) for low, high in cells.box]
        stages = self.site.problem.program.stages
        if isinstance(cells.stage, Whole):
            return tuple(box_call(self.site, number, step, box) for number in stages[cells.stage.value])
        chosen = index(cells.stage, names)
        every = (tuple(box_call(self.site, number, step, box) for number in stage) for stage in stages)
        return tuple(ir.If(chosen.equals(place), calls) for place, calls in enumerate(every))


def bound(let: Let, names: Names) -> tuple[tuple[ir.Stmt, ...], Names]:
    """The statement that binds a name, if it needs one, and the names below it."""
    number = index(let.value, names)
    if isinstance(number, ir.Var | ir.Int):
        return (), {**names, let.name: number}
    return (ir.Let(ir.Var(let.name), number),), {**names, let.name: ir.Var(let.name)}
