"""What a tile of a schedule tree does, by running one, and how many tiles there are, by the bounds of the loops."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.counting.block import BlockCounts, block_of
from tilewright.schedules.tree.affine import STEPS, extent_of, value
from tilewright.schedules.tree.nodes import Compute, Let, Loop, Mark, Node, Parallel, Sequence, Wavefronts, unfolded

_FEW = 8
"""Iterations above tiles that are looked at one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TileWork:
    """What the tiles of a tiling are."""

    block: BlockCounts  # what a block does that nothing cuts: all of a tile, or a sub-tile
    spans: "Spans"  # how many wavefronts, tiles and sub-tiles there are


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """Lengths of loops, a few of whose iterations may have no cell."""

    wavefronts: int
    tiles: float  # of all wavefronts, those between the first and the last counted as two in the middle
    subtiles: int  # of a tile in the middle


def work_of(problem: Problem, tree: Node) -> TileWork:
    """Return what the tiles of a problem's schedule tree are: those of one that nothing cuts stand for all."""
    return TileWork(block=block_of(problem, tree), spans=spans_of(problem, tree))


def spans_of(problem: Problem, tree: Node) -> Spans:
    """Return the lengths of the loops of a problem's tree, down one path through the middle of each."""
    names = {STEPS.name: problem.steps}
    names |= {extent_of(axis).name: cells for axis, cells in enumerate(problem.shape)}
    return _above(tree, names)


def _above(node: Node, names: Mapping[str, int]) -> Spans:  # noqa: PLR0911  (kinds of nodes)
    match node:
        case Mark(_, child):
            return _above(child, names)
        case Let(name, of, child):
            return _above(child, {**names, name: value(of, names)})
        case Sequence(children):
            return _after([(1.0, _above(child, names)) for child in children])
        case Compute():  # a sweep that threads share
            return Spans(wavefronts=1, tiles=1, subtiles=1)
        case Wavefronts():
            every = node.ranges if node.bands is None else (node.bands[0], *node.ranges)
            found = _above(unfolded(node), names)
            return replace(found, tiles=math.prod(value(each.count, names) for each in every))
        case Loop():
            numbers = range(value(node.low, names), value(node.high, names), node.step)
            if len(numbers) <= _FEW:
                return _after([(1.0, _above(node.child, {**names, node.name: number})) for number in numbers])
            ends, middle = (numbers[0], numbers[-1]), numbers[len(numbers) // 2 :][:2]
            parts = [(1.0, number) for number in ends]
            parts += [((len(numbers) - 2) / 2, number) for number in middle]
            return _after([(times, _above(node.child, {**names, node.name: number})) for times, number in parts])
        case Parallel():
            counts = [max(0, value(each.count, names)) for each in node.ranges]
            tile = {each.name: value(each.low, names) for each in node.ranges}
            for each, count in zip(node.ranges, counts, strict=True):
                tile[each.name] += count // 2
            parts_of = _inside(node.child, {**names, **tile})
            return Spans(wavefronts=int(parts_of > 0), tiles=math.prod(counts) * (parts_of > 0), subtiles=parts_of)
        case _:
            raise UsageError(
                f"the tiles of a schedule tree lie in loops alone, got a {type(node).__name__} above them",
                "put a Sequence inside the tiles, or into the body of a loop over them",
            )


def _inside(node: Node, names: Mapping[str, int]) -> int:
    """Sub-tiles of a tile."""
    match node:
        case Let(name, of, child):
            return _inside(child, {**names, name: value(of, names)})
        case Loop(subtile=True):
            numbers = range(value(node.low, names), value(node.high, names), node.step)
            middle = {**names, node.name: numbers[len(numbers) // 2]} if numbers else names
            return len(numbers) * _inside(node.child, middle) if numbers else 0
        case Loop():
            return int(value(node.low, names) < value(node.high, names))
        case _:
            return 1


def _after(parts: list[tuple[float, Spans]]) -> Spans:
    return Spans(
        wavefronts=round(sum(times * each.wavefronts for times, each in parts)),
        tiles=sum(times * each.tiles for times, each in parts),
        subtiles=max((each.subtiles for _, each in parts), default=0),
    )
