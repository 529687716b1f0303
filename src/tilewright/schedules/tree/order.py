"""The order of execution of a schedule tree on one problem, one piece at a time."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.tree import nodes
from tilewright.schedules.tree.affine import value
from tilewright.schedules.tree.nodes import Node

Box = tuple[tuple[int, int], ...]  # per axis, outermost first, a half-open range of cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """The cells of one tile at one logical time.

    Pieces of one tile run in the order in which they are yielded. Tiles of one wavefront run in any order, at the same
    time or not; a wavefront starts when the one before it is done.
    """

    wavefront: int  # number of the wavefront, from 0; numbers of wavefronts without any cell are left out
    tile: int  # number of the tile inside its wavefront, any integer
    # number of the sub-tile per classically cut axis, in sequence inside the tile; empty where there is none
    sub: tuple[int, ...] = ()
    time: int  # logical time
    box: Box  # not empty


def clip(ranges: Box, shape: tuple[int, ...]) -> Box | None:
    """Cut a box to the grid; None where nothing of it lies inside."""
    box = tuple((max(low, 0), min(high, extent)) for (low, high), extent in zip(ranges, shape, strict=True))
    return box if all(low < high for low, high in box) else None


def volume(box: Box) -> int:
    """Cells of a box; none if a range ends before it begins."""
    return math.prod(max(0, high - low) for low, high in box)


@dataclass(slots=True)
class _Walk:
    """A walk through a tree: the sizes of the problem, the wavefronts that are done, the sub-tiles that it is in."""

    shape: tuple[int, ...]
    stages: int
    wavefronts: int = 0
    subs: list[int] = field(default_factory=list)
    cut: bool = True

    def pieces(self, node: Node, names: dict[str, int], tile: int | None = None) -> Iterator[Piece]:
        match node:
            case nodes.Mark() | nodes.Private():
                yield from self.pieces(node.child, names, tile)
            case nodes.Let(name, number, child):
                yield from self.pieces(child, {**names, name: value(number, names)}, tile)
            case nodes.Sequence(children):
                for child in children:
                    yield from self.pieces(child, names, tile)
            case nodes.Loop():
                yield from self._loop(node, names, tile)
            case nodes.Parallel():
                yield from self._wavefront(node, names)
            case nodes.Wavefronts() | nodes.Pipeline():
                yield from self.pieces(nodes.unfolded(node), names, tile)
            case nodes.Guard():
                if value(node.low, names) <= value(node.value, names) < value(node.high, names):
                    yield from self.pieces(node.child, names, tile)
            case nodes.Compute():
                yield from self._cells(node, names, tile or 0)
                self.wavefronts += tile is None
            case nodes.CopyIn() | nodes.CopyOut() | nodes.Unit():
                pass

    def _loop(self, loop: nodes.Loop, names: dict[str, int], tile: int | None) -> Iterator[Piece]:
        low, high = value(loop.low, names), value(loop.high, names)
        for number in range(low, high, loop.step):
            if loop.subtile:
                self.subs.append(number - low)
            yield from self.pieces(loop.child, {**names, loop.name: number}, tile)
            if loop.subtile:
                self.subs.pop()

    def _wavefront(self, tiles: nodes.Parallel, names: dict[str, int]) -> Iterator[Piece]:
        for place, own in _numbered(tiles, names):
            yield from self.pieces(tiles.child, own, place)
        self.wavefronts += 1

    def _cells(self, cells: nodes.Compute, names: dict[str, int], tile: int) -> Iterator[Piece]:
        whole = tuple((value(low, names), value(high, names)) for low, high in cells.box)
        box = clip(whole, self.shape) if self.cut else whole
        if box is not None:
            time = value(cells.step, names) * self.stages + value(cells.stage, names)
            yield Piece(wavefront=self.wavefronts, tile=tile, sub=tuple(self.subs), time=time, box=box)


def _numbered(many: nodes.Parallel, names: dict[str, int]) -> Iterator[tuple[int, dict[str, int]]]:
    """The tiles of a wavefront: their place, and the names inside them."""
    spans = []
    for each in many.ranges:
        low = value(each.low, names)
        spans.append(range(low, low + value(each.count, names)))
    for place, numbers in enumerate(itertools.product(*spans)):
        yield place, {**names, **dict(zip((each.name for each in many.ranges), numbers, strict=True))}


def walk(tree: Node, shape: tuple[int, ...], steps: int = 1, stages: int = 1, *, cut: bool = True) -> Iterator[Piece]:
    """Yield the pieces of a grid in the order that a schedule tree states, empty ones left out.

    Not ``cut``, they are what the tree states: cells beyond the grid included, and pieces without any.
    """
    sizes = {"steps": steps, **{f"n{axis}": cells for axis, cells in enumerate(shape)}}
    yield from _Walk(shape=shape, stages=stages, cut=cut).pieces(tree, sizes)


def order(problem: Problem, tree: Node, *, cut: bool = True) -> Iterator[Piece]:
    """Yield the pieces of a problem in the order of execution that a schedule tree states; see :func:`walk`."""
    return walk(tree, problem.shape, problem.steps, len(problem.program.stages), cut=cut)
