"""Exact counts of what a schedule tree runs, by classes of tiles: no longer for large problems than for small ones."""

import math
from dataclasses import dataclass, replace

from tests.oracles.counting.tiles import Counter, Reach, reach_of
from tests.oracles.forms import number

from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import catalogue
from tilewright.schedules.counting import Counts, block_of, endless
from tilewright.schedules.tiling import Tiling
from tilewright.schedules.tree.affine import STEPS, extent_of
from tilewright.schedules.tree.nodes import Loop, Node, Private, walk
from tilewright.workloads.tables.orthogonal import live, table_tree
from tilewright.workloads.tables.problem import Recurrence


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """What a tree runs over.

    Attributes:
        shape: Cells per axis.
        steps: Time steps.
        reach: Per stage and axis, the least and the greatest offset of a read, 0 among them.
    """

    shape: tuple[int, ...]
    steps: int
    reach: tuple[Reach, ...]


def counts_of(problem: Problem, tree: Node) -> Counts:
    """Count what a problem's schedule tree runs and moves, exactly; no longer for large problems than for small ones.

    Args:
        problem: The problem.
        tree: The schedule tree of a legal tiling of it.
    """
    program, block = problem.program, block_of(problem, tree)
    reach = tuple(reach_of(program, stage) for stage in program.stages)
    return replace(
        run_of(tree, Grid(shape=problem.shape, steps=problem.steps, reach=reach)),
        points=block.points,
        live_in=block.live_in,
        live_out=block.live_out,
        footprint=block.footprint,
    )


def run_of(tree: Node, grid: Grid) -> Counts:
    """Count the wavefronts, tiles and blocks that a schedule tree runs; the words of a block are left open, as 0.

    Args:
        tree: The tree.
        grid: What it runs over.
    """
    names = {STEPS.name: number(grid.steps)}
    names |= {extent_of(axis).name: number(cells) for axis, cells in enumerate(grid.shape)}
    counter = Counter(grid.shape, grid.reach)
    run, split = counter.run(tree, names), endless(tree)
    parts = any(isinstance(each, Loop) and each.subtile for each in walk(tree))
    return Counts(
        wavefronts=run.wavefronts,
        tiles_per_wavefront=run.widest,
        tiles=run.work.tiles,
        subtiles_per_tile=run.work.longest,
        subtiles=run.work.subtiles,
        full=run.work.full_subtiles if split else run.work.full_tiles,
        total_points=grid.steps * len(grid.reach) * math.prod(grid.shape),
        blocks=run.work.tiles if parts and not split else None,
        computed=counter.area(tree, names) if any(isinstance(each, Private) for each in walk(tree)) else None,
    )


def exact_counts(problem: Problem, tiling: Tiling) -> Counts:
    """Count exactly what a tiling runs and moves.

    Raises:
        UsageError: If the tiling does not apply to the problem at all.
    """
    return counts_of(problem, catalogue.tree(problem, tiling))


def counts_table(program: Recurrence, shape: tuple[int, int], tiling: Tiling) -> Counts:
    """Count exactly what the tiles of a table run and move.

    Args:
        program: The recurrence.
        shape: Rows and columns of the table.
        tiling: A complete, legal tiling.

    Returns:
        The counts. Points, words in and out and footprint are those of a whole tile far from every edge; an input's
        value is one word; matrices, which stay on chip, are not counted.
    """
    t, s = tiling.time, tiling.space[0]
    up, left = program.reach
    live_in, live_out = live(program, t, s)
    inputs = program.kinds["row"] * t + program.kinds["column"] * s + program.kinds["cell"] * t * s
    return replace(
        run_of(table_tree(tiling), Grid(shape=shape, steps=1, reach=(((-up, 0), (-left, 0)),))),
        points=t * s,
        live_in=live_in,
        live_out=live_out,
        footprint=inputs + len(program.tables) * (t + up) * (s + left),
    )
