"""Schedule trees: what a tiling family returns, and all that is known of its order of execution.

    node      = Mark(text, node)                        a line for the reader
              | Let(name, expression, node)             a name for a number
              | Sequence(node, …)                       one after the other
              | Loop(name, low, high, step, node)       one iteration after the other
              | Parallel((Range(name, low, count), …), node)   the tiles of one wavefront, at once or in any order
              | Wavefronts((Range(name, 0, count), …), node, bands)   tiles in wavefronts of equal sums
              | Guard(low, expression, high, node)      only where low <= expression < high
              | Pipeline(name, low, high, step, node)   units below advance together along axis 0
              | Unit(lag, rows, cells)                  a box of cells, computed so far behind
              | Private(buffers, …, node)               a tile's own memory, while it runs
              | Compute(step, stage, box)               the statements of a stage at a time step over a box
              | CopyIn(field, newest, age, box)         a box of a version, from the grid to the tile's own memory
              | CopyOut(field, newest, age, box)        and back
    box       = (low, high) per axis, half-open; what lies beyond the grid is left out

Expressions are those of :mod:`tilewright.schedules.tree.affine`, over the problem's ``steps``, its extents ``n0``,
``n1``, … and the names bound further up. The same tree serves every size of grid and every number of steps.

A *wavefront* is one execution of a ``Parallel``, or of a ``Compute`` that no ``Parallel`` encloses: the cells of that
one are independent of each other, unless the program has a recurrence, and whoever runs it shares them out as it likes.
A wavefront starts when the one before it is done.

In terms of isl's schedule trees and of PPCG: ``Loop`` and ``Parallel`` are members of bands, a ``Parallel`` is a band
whose members are coincident, ``Sequence`` is a sequence of filters, ``Guard`` a filter, ``Mark`` a mark, ``Private``
with its copies an extension, ``Compute`` the leaf that instances of the domain are scheduled to.

Source: Verdoolaege, Guelton, Grosser and Cohen, "Schedule trees" (IMPACT 2014); Verdoolaege et al., "Polyhedral
parallel code generation for CUDA" (TACO 9(4), 2013).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tilewright.schedules.tree.affine import Expr, Name, Whole, ceiling, least, most, names_in

Box = tuple[tuple[Expr, Expr], ...]
"""Per axis, outermost first, a half-open range of cells; perhaps empty, perhaps beyond the grid."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A line about what follows, for the reader of a kernel."""

    text: str
    child: "Node"


@dataclass(frozen=True, slots=True)
class Let:
    """A name for a number; it is bound in the child only."""

    name: str
    value: Expr
    child: "Node"


@dataclass(frozen=True, slots=True)
class Sequence:
    """One child after the other."""

    children: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Iterations one after the other: ``low, low + step, …`` below ``high``."""

    name: str  # of the number of the iteration
    low: Expr
    high: Expr
    child: "Node"  # what an iteration does
    step: int = 1
    subtile: bool = False  # whether an iteration is a sub-tile of the tile around it


@dataclass(frozen=True, slots=True)
class Range:
    """``count`` numbers from ``low`` on, none where the count is not positive."""

    name: str
    low: Expr
    count: Expr


@dataclass(frozen=True, slots=True)
class Parallel:
    """Tiles of a wavefront: one per combination of the ranges' numbers, the last fastest."""

    ranges: tuple[Range, ...]  # what they are counted by
    child: "Node"  # what one of them does


@dataclass(frozen=True, slots=True, kw_only=True)
class Wavefronts:
    """Tiles of a box of numbers: those of equal ``lag * band + sum of the others`` run at once, in rising order.

    The loops that say so are those of :func:`unfolded`.
    """

    ranges: tuple[Range, ...]  # the tiles' numbers per axis, from 0 on; the counts are names or numbers
    child: "Node"  # what a tile does
    # the bands of steps, numbered from 0 on, and the lag, by how many wavefronts each starts behind the one before;
    # None for a single band
    bands: tuple[Range, Expr] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """The child, where ``low <= value < high``."""

    low: Expr
    value: Expr
    high: Expr
    child: "Node"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """Units that advance together along axis 0: levels and stages, each behind those that it reads.

    The loop that says so is that of :func:`unfolded`.
    """

    name: str  # of the cell that an advance starts at
    low: Expr  # the first such cell
    high: Expr  # the end
    step: int  # cells of an advance
    child: "Node"  # its units, in the order in which they run within an advance


@dataclass(frozen=True, slots=True)
class Unit:
    """A box of cells that a pipeline computes, a few rows at each advance."""

    lag: Expr  # how far it is behind
    # its range along the axis of the pipeline: axis 0, or, of a grid in 1D, one that has a single cell
    rows: tuple[Expr, Expr]
    cells: "Compute"


@dataclass(frozen=True, slots=True, kw_only=True)
class Buffer:
    """Memory for versions of a field."""

    field: int  # number
    # versions that it holds, ``v`` in slot ``v`` modulo the depth; in a pipeline, rows that it holds of all versions
    depth: int
    lengths: tuple[int, ...]  # the most cells of a version, or of a row, per axis


@dataclass(frozen=True, slots=True, kw_only=True)
class Private:
    """Memory of the tile's own that the child computes in, in place of the grid's.

    The grid has two sets of versions then; bands of steps read one and write the other, in turn.
    """

    buffers: tuple[Buffer, ...]  # what it holds
    origin: tuple[Expr, ...]  # the first cell per axis that a buffer may hold
    side: Expr  # which set the tile reads, 0 or 1
    bands: Expr  # number of bands; the last versions are in the set of its parity
    child: "Node"  # what the tile does


@dataclass(frozen=True, slots=True)
class Compute:
    """The statements of one stage at one time step, over a box."""

    step: Expr
    stage: Expr
    box: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyIn:
    """A box of a version, from the grid to the tile's own memory."""

    field: int  # number
    newest: Expr  # the newest version that there is
    age: int  # by how much older the copied one is
    box: Box


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOut:
    """A box of a version, from the tile's own memory to the grid; attributes as of :class:`CopyIn`."""

    field: int
    newest: Expr
    age: int
    box: Box


Node = (
    Mark
    | Let
    | Sequence
    | Loop
    | Parallel
    | Wavefronts
    | Guard
    | Pipeline
    | Unit
    | Private
    | Compute
    | CopyIn
    | CopyOut
)


def unfolded(node: Wavefronts | Pipeline) -> Node:
    """Return wavefronts of equal sums as a loop over the sums, a pipeline as one over its advances."""
    return _sums(node) if isinstance(node, Wavefronts) else _advances(node)


def _sums(node: Wavefronts) -> Node:
    """The loop over the sums of tiles' numbers.

    The bands that have tiles on a wavefront and the numbers of all axes but the first are counted off, and the number
    on axis 0 follows from them; where it is out of range there is no tile.
    """
    wave, first, *others = Name("wave"), *node.ranges
    last_sum = sum((each.count - 1 for each in node.ranges), Whole(0))
    place: Expr = wave
    waves: Expr = last_sum + 1
    ranges = [Range(each.name, Whole(0), each.count) for each in others]
    names: list[tuple[str, Expr]] = []
    if node.bands is not None:
        bands, lag = node.bands
        start = Name(f"first_{bands.name}")
        ends = least(bands.count, wave // lag + 1)
        ranges.insert(0, Range(bands.name, start, most(ends - start, 0)))
        names.append((start.name, most(0, ceiling(wave - last_sum, lag))))
        place = wave - Name(bands.name) * lag
        waves = least(bands.count, 1) * ((bands.count - 1) * lag + waves)
    for each in others:
        place = place - Name(each.name)
    tile = Guard(low=Whole(0), value=Name(first.name), high=first.count, child=node.child)
    tiles = Parallel(tuple(ranges), Let(first.name, place, tile))
    return Let("waves", waves, Loop(name="wave", low=Whole(0), high=Name("waves"), child=nest(tiles, *names)))


def _advances(pipeline: Pipeline) -> Node:
    child = _rows_at(pipeline.child, Name(pipeline.name), pipeline.step)
    return Loop(name=pipeline.name, low=pipeline.low, high=pipeline.high, step=pipeline.step, child=child)


def _rows_at(node: Node, start: Name, step: int) -> Node:
    """The rows that units compute in the advance that starts at a cell."""
    match node:
        case Unit(lag, (low, high), cells):
            rows = most(start - lag, low), least(start - lag + step, high)
            if cells.box[0] == (low, high):
                return replace(cells, box=(rows, *cells.box[1:]))
            return Guard(low=rows[0], value=rows[0], high=rows[1], child=cells)
        case Sequence(several):
            return Sequence(tuple(_rows_at(each, start, step) for each in several))
        case Loop() | Let():
            return replace(node, child=_rows_at(node.child, start, step))
        case _:
            raise ValueError(f"a pipeline has no {type(node).__name__}")


def logical_step(number: Expr, stages: int, box: Box) -> Node:
    """Return the statements of a logical step, of which every time step has so many, with names for step and stage."""
    if stages == 1:
        return Let("t", number, Compute(Name("t"), Whole(0), box))
    return nest(Compute(Name("t"), Name("stage"), box), ("t", number // stages), ("stage", number % stages))


def nest(child: Node, *around: tuple[str, Expr]) -> Node:
    """Put names around a node, the first outermost."""
    for name, value in reversed(around):
        child = Let(name, value, child)
    return child


def children(node: Node) -> tuple[Node, ...]:
    """Return the nodes right below a node."""
    if isinstance(node, Sequence):
        return node.children
    if isinstance(node, Wavefronts | Pipeline):
        return (unfolded(node),)
    return () if isinstance(node, Compute | CopyIn | CopyOut | Unit) else (node.child,)


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and all that is below it."""
    yield node
    for child in children(node):
        yield from walk(child)


def free_names(node: Node) -> frozenset[str]:
    """Return the names that a node uses and nothing in it binds, the sizes of the problem among them."""
    below = frozenset[str]().union(*map(free_names, children(node)))
    return (below - _bound_names(node)).union(*map(names_in, _expressions(node)))


def _bound_names(node: Node) -> frozenset[str]:
    if isinstance(node, Parallel):
        return frozenset(each.name for each in node.ranges)
    return frozenset({node.name}) if isinstance(node, Let | Loop) else frozenset()


def _expressions(node: Node) -> tuple[Expr, ...]:
    match node:
        case Let():
            own: tuple[Expr, ...] = (node.value,)
        case Loop():
            own = (node.low, node.high)
        case Parallel():
            own = tuple(end for each in node.ranges for end in (each.low, each.count))
        case Guard():
            own = (node.low, node.value, node.high)
        case Private():
            own = (*node.origin, node.side, node.bands)
        case Compute():
            own = (node.step, node.stage, *(end for pair in node.box for end in pair))
        case CopyIn() | CopyOut():
            own = (node.newest, *(end for pair in node.box for end in pair))
        case _:
            own = ()
    return own
