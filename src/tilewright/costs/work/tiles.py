"""What the tiles of a family are: the records that a family fills and that a platform takes its time for.

Blocks are the code of GPUs: whole tiles, whose words come and go and whose steps end with barriers. Boxes are the code
of CPUs: rows of vectors, clipped to the grid, in the caches of a core. No machine is in either; what hangs on its
lanes, cores or multiprocessors is asked for by their number.

Without time tiling a step sweeps the grid. On a CPU one thread goes through a recurrence cell by cell, of several rows
in turn where cells wait for others of their row; on a GPU the planes of cells that do not need each other are a launch
each
(:func:`tilewright.programs.stencil.dependences.plane_weights`).
"""

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints, TileSizes, ceil_div, ceil_sum
from tilewright.costs.facts import Facts
from tilewright.costs.operations import chains_in_turn
from tilewright.programs.stencil.dependences import plane_weights
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of cells, each ``step`` parts of a cell longer than the one before; every array has shape (n,)."""

    count: Ints
    first: Ints  # parts of a cell in the first of them
    step: Ints
    parts: Ints | int = 1  # parts of a cell
    times: int = 1  # how often there are all of them

    def vectors(self, lanes: int) -> Ints:
        """Return the vectors of so many lanes, every row rounded up to whole ones."""
        return self.times * ceil_sum(self.count, self.first, self.step, self.parts * lanes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fronts:
    """Wavefronts of tiles that run at a time; every array has shape (n,)."""

    # wavefronts of each kind, and their tiles once the pipeline is full; a fraction is what they have on average
    kinds: tuple[tuple[Ints, Ints | Floats], ...]
    ramp: Ints | int = 0  # wavefronts until the pipeline is full, and as many until it has drained

    @property
    def count(self) -> Ints:
        """N_w."""
        return np.asarray(sum(count for count, _ in self.kinds))

    def turns(self, places: Ints | int) -> Floats:
        """Return the turns over all wavefronts, so many tiles at a time: ceil(w / places) each, fewer on ramps."""
        # While it fills, wavefronts have ``u w`` tiles, u running from 0 to 1; a wavefront takes a turn at least. A
        # width below 1 is a tile wider than the grid, which costs its part inside.
        total = np.zeros(self.kinds[0][0].shape)
        for count, width in self.kinds:
            share = width / places
            full = np.where(width <= 1, width, np.ceil(share))
            ramps = np.minimum(2 * self.ramp, count)
            total = total + (count - ramps) * full
            if np.any(ramps):
                whole = np.floor(share)
                rising = (whole * (whole + 1) / 2 + (share - whole) * (whole + 1)) / np.maximum(share, 1e-300)
                total = total + ramps * np.maximum(rising, np.minimum(1.0, full))
        return total

    def shared_turns(self, tiles: Ints | Floats, cores: int) -> Floats:
        """Return the turns of a few cores over all wavefronts of one kind, which have so many tiles in all."""
        # As :meth:`turns`, but a width that is an average stands for whole numbers around it, which take
        # ``w / cores + (cores - 1) / (2 cores)`` turns on average; and tiles that the start and the end of a run cut
        # off count as what is left of them.
        ((count, width),) = self.kinds
        inside = width <= 1
        full = np.where(inside, width, np.ceil(width / cores))
        flat = np.where(inside, width, np.maximum(width / cores + 0.5 * (cores - 1) / cores, 1.0))
        piped = self.turns(cores) + (count - np.minimum(2 * self.ramp, count)) * (flat - full)
        return np.where(np.greater(self.ramp, 0), piped, tiles / np.maximum(width, 1e-300) * full)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockWork:
    """Whole tiles of n tilings as a GPU's blocks run them; every array has shape (n,)."""

    fronts: Fronts
    width: Ints  # tiles of the widest wavefronts
    tiles: Ints | Floats  # tiles in all
    count: Ints  # blocks in sequence per tile: what is on chip at a time is a block
    points: Floats  # cells of a block over its logical steps
    rows: tuple[Rows, ...]  # those of a block
    meetings: Ints  # barriers of a block: one per row of every sub-tile
    input_values: Ints | Floats  # values that a block reads, m_i
    output_values: Ints | Floats  # values that it writes, m_o
    shared_values: Ints | Floats  # values that it keeps on chip, M_tile
    printed: bool  # whether C_iter of the papers' own code is of such tiles

    def vectors(self, lanes: int) -> Ints:
        """Return the vectors of a block, every row rounded up to whole ones."""
        return np.asarray(sum(each.vectors(lanes) for each in self.rows))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxWork:
    """Tiles of n tilings as a core of a CPU runs them, box after box; every array has shape (n,)."""

    wavefronts: Ints  # N_w
    width: Ints  # tiles of the widest wavefronts
    tiles: Ints | Floats  # tiles in all, those that the grid cuts as parts
    turns: Callable[[int], Floats]  # tiles that the busiest of so many cores computes over all wavefronts
    count: Ints  # blocks in sequence per tile
    points: Ints  # cells of a block over its time steps
    boxes: Ints | Floats  # boxes of a tile, each of which starts anew
    # what a tile computes
    updates: Floats  # cells over its logical steps, inside the grid
    lines: Floats  # lines of the innermost axis of which it computes a part, over all its logical steps
    vectors: Callable[[int], Floats]  # vectors of such a line, by lanes
    pieces: Floats  # parts into which a line is cut, on average
    cuts: Floats | float = 0.0  # those of them that end where another tile writes in the same step
    breaks: Floats  # those whose cells do not follow in memory on what the tile touched before
    planes: Floats | float = 0.0  # planes of boxes that begin anew so, per line
    row: Floats | float = np.inf  # cells of a piece of a row; infinite where neighbours are never loaded one by one
    apart: bool = False  # whether a tile begins with rows on pages of their own, so that nothing is fetched ahead there
    # where it finds what it reads
    box_values: Ints | Floats  # values of every copy of every field in a mean box and around it
    tile_values: Ints | Floats  # the same of all boxes of a tile, clipped to the grid
    strip: Floats | float = 0.0  # share of a box's cells that another tile has written, and not the box before
    runs: Floats | float = 0.0  # whether boxes are one run of memory each, 0 or 1
    plane_values: Floats  # values of one field's plane of a box in 3D, with the cells around it that are read; else 0
    rim: Floats | float = 0.0  # values per cell that a box reads around its planes
    around: Floats | float = 0.0  # values per cell and time step that a block reads where blocks before it wrote
    # what it moves
    read_values: Floats  # values that a tile reads, what is overwritten included
    written_values: Floats
    input_values: Ints | Floats  # values that a block reads, m_i
    output_values: Ints | Floats  # values that it writes, m_o
    streamed: bool = False  # whether what L2 loses in between counts among what a block reads
    # values of the grid that other tiles touch before the next band reads what a tile wrote
    between: Floats | float = np.inf
    bands: Ints | float = 1.0  # bands of steps, the first of which finds nothing that another one wrote


def clipped_boxes(sizes: TileSizes, facts: Facts, whole: BlockWork, parts: Floats, **own: Any) -> BoxWork:  # noqa: ANN401
    """Return the boxes of whole tiles that share the grid's cells, block by block, lines cut into ``parts``."""
    # Partial blocks are what they compute and move. What a block overwrites is read first; ``own`` is what a family
    # says besides, or otherwise.
    own = {"breaks": breaks(sizes, parts), "around": around(sizes, facts, range(len(sizes.space))), **own}
    extent, cells = facts.shape[-1], 1.0 * facts.cells * facts.steps * facts.stages
    share = whole.count * np.minimum(1.0, cells / np.maximum(whole.tiles * whole.count * whole.points, 1.0))
    values = np.minimum(1.0 * whole.shared_values, 1.0 * facts.copies * facts.cells)
    return BoxWork(
        wavefronts=whole.fronts.count,
        width=whole.width,
        tiles=whole.tiles,
        turns=functools.partial(whole.fronts.shared_turns, whole.tiles),
        count=whole.count,
        points=np.minimum(whole.points / facts.stages, 2.0**62).astype(np.int64),
        boxes=whole.count * whole.meetings,
        updates=cells / whole.tiles,
        lines=cells / extent / whole.tiles,
        vectors=functools.partial(_mean_vectors, extent, parts),
        pieces=parts,
        box_values=values,
        tile_values=values,
        plane_values=plane_values(sizes, facts),
        read_values=(1.0 * whole.input_values + whole.output_values) * share,
        written_values=1.0 * whole.output_values * share,
        input_values=whole.input_values,
        output_values=whole.output_values,
        bands=np.maximum(ceil_div(facts.steps + 0 * sizes.time, sizes.time), 1),
        **own,
    )


def _mean_vectors(extent: int, parts: Floats, lanes: int) -> Floats:
    """Vectors of a line whose parts each end with one that is half empty, on average."""
    return np.asarray(extent / lanes + 0.5 * parts)


def around(sizes: TileSizes, facts: Facts, axes: Sequence[int]) -> Floats:
    """Return the values per cell and time step around a block, along axes where it is cut and as wide at every step."""
    values = np.zeros(len(sizes.time))
    for axis in axes:
        size = sizes.space[axis]
        values = values + np.where(size < facts.shape[axis], facts.further[axis] / size, 0.0)
    return values


def plane_values(sizes: TileSizes, facts: Facts) -> Floats:
    """Return the values of one field's plane of a box, with the cells around it that are read; 0 but in 3D."""
    if len(facts.shape) != 3:
        return np.zeros(len(sizes.time))
    plane = np.ones(len(sizes.time))
    for size, side, extent in zip(sizes.space[1:], facts.sides[1:], facts.shape[1:], strict=True):
        plane = plane * np.minimum(size + sum(side), extent)
    return plane


def moving_pieces(sizes: TileSizes, facts: Facts) -> Floats:
    """Return the parts of a line where cuts move with the steps, so that tiles as long as a line cut it too."""
    last, rows = sizes.space[-1], sizes.time * facts.stages
    return pieces(last, ceil_div(facts.shape[-1] + facts.slopes[-1] * (rows - 1), last), facts)


def pieces(size: Ints, count: Ints, facts: Facts) -> Floats:
    """Return the parts of a line of the innermost axis, on average: no more than there are tiles."""
    extent = facts.shape[-1]
    return np.where(count <= 1, 1.0, np.minimum(1.0 * ceil_div(extent + 0 * size, size) + 0.5, extent / size + 1.0))


def breaks(sizes: TileSizes, parts: Floats) -> Floats:
    """Return the parts of a line that start anew in memory: every one where lines are cut, else one of many in 3D."""
    return np.where(parts > 1, parts, 1.0 / sizes.space[-2] if len(sizes.space) > 2 else 0.0)


def product(columns: Sequence[Ints | Floats]) -> Floats:
    """Return the product of columns as floats; shape (n,)."""
    total = np.ones(columns[0].shape)
    for column in columns:
        total = total * column
    return total


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepWork:
    """One step without time tiling."""

    once_bytes: int  # every value that the step needs is read once and every new one written once
    written_bytes: int
    launches: int  # sweeps or launches of a step of a recurrence; else 0
    serial_cells: int  # its cells that are computed one after the other
    alone_cells: int = 0  # those of them that are computed without cells of other rows in turn

    @property
    def serial(self) -> bool:
        """Whether cells need new values of the same sweep."""
        return self.launches > 0


def on_cpu(facts: Facts) -> SweepWork:
    """Return a step of a CPU's code: what is overwritten is read, too."""
    program, serial_cells, alone_cells = facts.problem.program, 0, 0
    if program.analysis.sweep:
        spans = zip(*map(facts.problem.update_box, program.statements), strict=True)
        extents = [max(high for _, high in axis) - min(low for low, _ in axis) for axis in spans]
        serial_cells = math.prod(extents)
        if serial_cells and program.rank > 1:
            alone_cells = max(_alone(facts.problem, each, extents) for each in program.statements)
    values = facts.levels + facts.constants + facts.writes + facts.fetches
    return SweepWork(
        once_bytes=facts.cells * facts.itemsize * values,
        written_bytes=facts.cells * facts.itemsize * facts.writes,
        launches=facts.stages if serial_cells else 0,
        serial_cells=serial_cells,
        alone_cells=alone_cells,
    )


def _alone(problem: Problem, statement: Statement, extents: Sequence[int]) -> int:
    """Cells of the rows that no group has, and of the ends of the others, where not all rows are under way."""
    (*outer, rows, length), (count, behind) = extents, chains_in_turn(problem, statement)
    if count == 1:
        return 0
    ends = min(length, (count - 1) * behind)
    return math.prod(outer) * (rows % count * length + rows // count * count * ends)


def on_gpu(facts: Facts) -> SweepWork:
    """Return a step of a GPU's code."""
    program, launches, serial_cells = facts.problem.program, 0, 0
    if dependences := program.analysis.sweep:
        launches = facts.stages
        if program.rank == 1:
            serial_cells = facts.cells  # one thread waits for every cell
        else:
            planes = 1 + sum(w * (n - 1) for w, n in zip(plane_weights(program), facts.shape, strict=True))
            launches += len({dependence.stage for dependence in dependences}) * (planes - 1)
    values = facts.levels + facts.constants + facts.updated
    return SweepWork(
        once_bytes=facts.cells * facts.itemsize * values,
        written_bytes=facts.cells * facts.itemsize * facts.updated,
        launches=launches,
        serial_cells=serial_cells,
    )


def check_order(facts: Facts) -> None:
    """Refuse a recurrence of which a GPU computes one cell after the other."""
    program = facts.problem.program
    if program.rank == 1 and (dependences := program.analysis.sweep):
        raise UsageError(
            f"every cell of {program.name!r} needs the one before it ({dependences[0].cause}): a GPU has no parallel "
            "order of them, and no model of it",
            "ask for a CPU, such as host",
        )
