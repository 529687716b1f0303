"""The tiles of tables and alignments where nobody has named one: what their cost models say is fastest.

Functions of a problem and a machine. Neither a compiler nor a device takes part, and what was chosen once is kept.
"""

import functools

from tilewright.base.constants import ALIGNMENT_LANES
from tilewright.base.intmath import ceil_div, round_up
from tilewright.costs.tables import alignment, orthogonal
from tilewright.costs.tables.alignment import AlignmentCase
from tilewright.machines.machine import Machine, with_threads
from tilewright.programs.tables.table import Recurrence
from tilewright.schedules.tiling import Tiling

_ROWS = (*(2**power for power in range(3, 17)), 96, 192, 384, 768)
_COLUMNS = tuple(2**power for power in range(6, 17))
_PARTS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 32, 48, 64)
"""Columns of tiles that a thread may take, so that all threads end together."""
_KEPT_BYTES = 2**28
"""What a traced alignment may keep where smaller tiles would be faster."""
_MOST_CELLS = 2**31


@functools.lru_cache(maxsize=256)
def table_default(
    program: Recurrence, shape: tuple[int, int], dtype: str, machine: Machine, threads: int | None = None
) -> Tiling:
    """Return the tile that a run of a table takes: the fastest, or the smallest legal one if none fits a GPU."""
    case = orthogonal.make_case(program, shape, dtype, with_threads(machine, threads))
    up, left = program.reach
    smallest = Tiling(family="orthogonal", time=max(1, up), space=(max(1, left),), sub=(max(1, left),))
    return min(orthogonal.times(case), key=lambda pair: pair[1], default=(smallest, 0.0))[0]


def cut_for_threads(
    program: Recurrence, shape: tuple[int, int], dtype: str, machine: Machine, tiling: Tiling
) -> Tiling:
    """Return a GPU's tile of given rows and columns with the fastest sub-tiles, one for each thread, if any fit."""
    case = orthogonal.make_case(program, shape, dtype, machine)
    ways = orthogonal.split(case, tiling) or (tiling,)
    return min(orthogonal.times(case, ways), key=lambda pair: pair[1], default=(ways[0], 0.0))[0]


@functools.lru_cache(maxsize=256)
def alignment_default(
    lengths: tuple[int, int], letters: int, machine: Machine, threads: int | None = None, *, traced: bool
) -> tuple[int, int]:
    """Return rows and columns of the fastest tiles of an alignment; ``traced`` if more than the score is wanted."""
    case = AlignmentCase(lengths=lengths, letters=letters, traced=traced, machine=with_threads(machine, threads))
    return min(alignment_tiles(case), key=lambda tile: alignment.times(case, *tile).seconds)


def alignment_tiles(case: AlignmentCase) -> tuple[tuple[int, int], ...]:
    """Return the tiles among which an alignment's is chosen, smaller ones first.

    Rows and columns are powers of two up to the lengths, and columns also such that every thread has as many tiles.
    What a traced alignment keeps stays below a limit, or twice the least that any tile keeps.
    """
    (m, n), threads = case.lengths, int(case.machine.sm_count.value)
    parts = {ceil_div(n, threads * part) for part in _PARTS} | {min(size, n) for size in _COLUMNS}
    columns = sorted({round_up(each, ALIGNMENT_LANES) for each in parts})
    rows = sorted({min(size, m) for size in _ROWS})
    every = tuple((t, s) for t in rows for s in columns if t * s <= _MOST_CELLS)
    if not case.traced:
        return every
    kept = [alignment.kept_bytes(case, *tile) for tile in every]
    most = max(_KEPT_BYTES, 2 * min(kept))
    return tuple(tile for tile, size in zip(every, kept, strict=True) if size <= most)
