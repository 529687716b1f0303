"""What a schedule tree runs and moves: counted by running its order, or a tile and the bounds of the loops above it."""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.counting.block import BlockCounts, block_of, endless
from tilewright.schedules.tree.affine import STEPS, extent_of, value
from tilewright.schedules.tree.nodes import (
    Compute,
    Let,
    Loop,
    Mark,
    Node,
    Parallel,
    Private,
    Sequence,
    Wavefronts,
    nodes,
    unfolded,
)
from tilewright.schedules.tree.order import Piece, clip, order, volume

_FEW = 8
"""Iterations above tiles that are looked at one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What a tiling runs and moves.

    A *tile* runs at once with the others of its wavefront (a thread block's or a thread's work); its *sub-tiles* run
    in sequence. What must be on chip at once is a *block*: a sub-tile where a tile has the more of them the larger the
    grid is (hexagonal, hybrid, diamond), a whole tile elsewhere. A block is *full* if no row of it is cut by the grid
    or by the first or last step and no read of it leaves the grid. ``points`` to ``footprint`` describe one full block
    far from every edge; words are values of the problem's dtype.
    """

    wavefronts: int  # wavefronts with any cell
    tiles_per_wavefront: int  # tiles in the widest wavefront
    tiles: int  # tiles in all wavefronts
    subtiles_per_tile: int  # sub-tiles in the longest tile
    subtiles: int  # sub-tiles with any cell, in all tiles
    full: int  # full blocks
    total_points: int  # cells times logical steps of the whole problem
    points: int = 0  # cells that a block computes, summed over its logical steps
    # words that a block reads, that its own tile does not compute and that no earlier sub-tile of its tile has read:
    # what must be loaded if a tile keeps on chip whatever its later sub-tiles need
    live_in: int = 0
    live_out: int = 0  # words that it computes and that another tile reads
    # words of the boxes, one per field and kept version, that hold all that it reads and writes, or of a block's own
    # memory
    footprint: int = 0
    blocks: int | None = None  # number of blocks where they are not the sub-tiles, else None
    # cells times logical steps that all tiles together compute where they overlap; None where every cell is computed
    # once
    computed: int | None = None

    @property
    def partial(self) -> int:
        """Blocks that are not full."""
        return (self.subtiles if self.blocks is None else self.blocks) - self.full


def counts_of(problem: Problem, tree: Node) -> Counts:
    """Count what the schedule tree of a legal tiling runs and moves; the longer the more tiles there are."""
    every = list(nodes(tree))
    block, split = block_of(problem, tree), endless(tree)
    parts = any(isinstance(each, Loop) and each.subtile for each in every)
    private = any(isinstance(each, Private) for each in every)
    tiled = any(isinstance(each, Parallel | Wavefronts) for each in every)
    reach = [_reach(problem, stage) for stage in problem.program.stages]
    wave, widths, subtiles, longest, full, computed = None, [0], 0, 0, 0, 0
    for (number, _), pieces in itertools.groupby(
        order(problem, tree, cut=False), lambda piece: (piece.wavefront, piece.tile)
    ):
        tile = list(pieces)
        inside = [box for piece in tile if (box := clip(piece.box, problem.shape))]
        subs = [list(each) for _, each in itertools.groupby(tile, lambda piece: piece.sub)]
        busy = sum(any(clip(piece.box, problem.shape) for piece in sub) for sub in subs)
        for each in subs if split else [tile]:
            whole = not tiled or private or sum(volume(piece.box) for piece in each) == block.points
            full += whole and _uncut(problem, each, reach)
        if not inside:
            continue
        if number != wave:
            wave = number
            widths.append(0)
        widths[-1] += 1
        subtiles, longest, computed = subtiles + busy, max(longest, busy), computed + sum(map(volume, inside))
    return Counts(
        wavefronts=len(widths) - 1,
        tiles_per_wavefront=max(widths),
        tiles=sum(widths),
        subtiles_per_tile=longest,
        subtiles=subtiles,
        full=full,
        total_points=problem.steps * len(reach) * math.prod(problem.shape),
        points=block.points,
        live_in=block.live_in,
        live_out=block.live_out,
        footprint=block.footprint,
        blocks=sum(widths) if parts and not split else None,
        computed=computed if private else None,
    )


def _reach(problem: Problem, stage: tuple[int, ...]) -> list[tuple[int, int]]:
    """Per axis, the least and the greatest offset of the reads of a stage, 0 among them."""
    offsets = [read.offset for number in stage for read in problem.program.statements[number].reads]
    return [(min(axis), max(axis)) for axis in zip((0,) * problem.program.rank, *offsets, strict=True)]


def _uncut(problem: Problem, block: list[Piece], reach: list[list[tuple[int, int]]]) -> bool:
    """Whether a block has cells, none of which the grid cuts, and no read of it leaves the grid."""
    filled = [piece for piece in block if volume(piece.box)]
    return bool(filled) and all(
        low + least >= 0 and high + most <= extent
        for piece in filled
        for (low, high), (least, most), extent in zip(
            piece.box, reach[piece.time % len(reach)], problem.shape, strict=True
        )
    )


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
