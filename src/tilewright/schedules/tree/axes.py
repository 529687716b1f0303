"""Which axes of the grid the tiles and sub-tiles of a schedule tree lie along."""

from collections.abc import Iterator, Mapping

from tilewright.schedules.tree.affine import Expr, names_in
from tilewright.schedules.tree.nodes import Compute, Let, Loop, Node, Parallel, children, nodes

Roots = Mapping[str, frozenset[str]]
"""Per name the loops and ranges that it depends on."""


def axis_of_tiles(tree: Node) -> int:
    """Return the axis along which tiles of a wavefront lie side by side, the first if there are several; 0 for none."""
    axes = _axes(tree)
    found = (axes.get(each.ranges[0].name, 0) for each in nodes(tree) if isinstance(each, Parallel))
    return next(found, 0)


def axes_of_subtiles(tree: Node) -> tuple[int, ...]:
    """Return the axis along which the sub-tiles of every loop over sub-tiles lie, outermost loop first."""
    axes = _axes(tree)
    loops = dict.fromkeys(each.name for each in nodes(tree) if isinstance(each, Loop) and each.subtile)
    return tuple(axes.get(name, 0) for name in loops)


def _axes(tree: Node) -> dict[str, int]:
    """Per loop and range the first axis on which cells depend on it."""
    found: dict[str, int] = {}
    for axis, name in sorted(_dependent(tree, {})):
        found.setdefault(name, axis)
    return found


def _dependent(node: Node, roots: Roots) -> Iterator[tuple[int, str]]:
    if isinstance(node, Compute):
        for axis, (low, high) in enumerate(node.box):
            yield from ((axis, root) for root in _roots(low, roots) | _roots(high, roots))
        return
    if isinstance(node, Let):
        roots = {**roots, node.name: _roots(node.value, roots)}
    own = (node,) if isinstance(node, Loop) else node.ranges if isinstance(node, Parallel) else ()
    roots = {**roots, **{each.name: frozenset({each.name}) for each in own}}
    for child in children(node):
        yield from _dependent(child, roots)


def _roots(expression: Expr, roots: Roots) -> frozenset[str]:
    return frozenset[str]().union(*(roots.get(name, frozenset()) for name in names_in(expression)))
