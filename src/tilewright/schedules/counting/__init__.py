"""Counts of what a schedule tree runs and moves, by running its order."""

import itertools
import math

from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.counting.block import block_of, endless
from tilewright.schedules.counting.counts import Counts
from tilewright.schedules.pieces import Piece, clip, volume
from tilewright.schedules.tree.nodes import Loop, Node, Parallel, Private, Wavefronts, nodes
from tilewright.schedules.tree.order import uncut


def counts_of(problem: Problem, tree: Node) -> Counts:
    """Count what the schedule tree of a legal tiling runs and moves; the longer the more tiles there are."""
    every = list(nodes(tree))
    block, split = block_of(problem, tree), endless(tree)
    parts = any(isinstance(each, Loop) and each.subtile for each in every)
    private = any(isinstance(each, Private) for each in every)
    tiled = any(isinstance(each, Parallel | Wavefronts) for each in every)
    reach = [_reach(problem, stage) for stage in problem.program.stages]
    wave, widths, subtiles, longest, full, computed = None, [0], 0, 0, 0, 0
    for (number, _), pieces in itertools.groupby(uncut(problem, tree), lambda piece: (piece.wavefront, piece.tile)):
        tile = list(pieces)
        inside = [box for piece in tile if (box := clip(piece.box, problem.shape))]
        subs = [list(each) for _, each in itertools.groupby(tile, lambda piece: piece.sub)]
        busy = sum(any(clip(piece.box, problem.shape) for piece in sub) for sub in subs)
        for each in subs if split else [tile]:
            whole = not tiled or private or sum(volume(piece.box) for piece in each) == block.points
            full += whole and _inside(problem, each, reach)
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


def _inside(problem: Problem, block: list[Piece], reach: list[list[tuple[int, int]]]) -> bool:
    """Whether a block has cells, none of which the grid cuts, and no read of it leaves the grid."""
    filled = [piece for piece in block if volume(piece.box)]
    return bool(filled) and all(
        low + least >= 0 and high + most <= extent
        for piece in filled
        for (low, high), (least, most), extent in zip(
            piece.box, reach[piece.time % len(reach)], problem.shape, strict=True
        )
    )
