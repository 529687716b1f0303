"""What a tiling for a GPU leaves open, decided: thread shapes, cells computed together, what is written out.

A schedule depends on the program, its element type and the tiling; on neither the machine, the shape of the grid nor
its steps, as the text does.
"""

import math

from tilewright.base.errors import IllegalTilingError
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.catalogue import complete
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.tiling import NONE, Tiling
from tilewright.tuning.spaces.gpu_tiles import default_threads

_PLANE_THREADS, _COPY_THREADS = 128, 256
_ROWS, _BLOCK_READS = 4, 30
"""Cells of a column that a thread computes together, and the reads of a cell up to which it does."""
_PIECES, _COPY_UNROLL = 3, 4
_FEW_LEVELS = 4
"""Levels of a streaming tile up to which it pays to write out so many advances that what is fetched needs no moves."""


def gpu_schedule(problem: Problem, tiling: Tiling) -> GpuSchedule:
    """Return a tiling with everything decided that it leaves open."""
    if tiling.family.streams:
        return _streaming(problem, tiling)
    tiling = complete(problem, tiling)
    threads = tiling.threads or default_threads(problem, tiling)
    return GpuSchedule(
        tiling=tiling,
        threads=threads,
        plane_threads=_PLANE_THREADS,
        copy_threads=_COPY_THREADS,
        rows=_rows(problem, tiling, threads),
        pieces=_PIECES,
        copy_unroll=_COPY_UNROLL,
    )


def _rows(problem: Problem, tiling: Tiling, threads: tuple[int, ...]) -> tuple[int, ...]:
    """Cells of a column per thread and statement: one where several threads share a prism's column, and in 1D."""
    statements = problem.program.statements
    untiled = tiling.family.untiled
    if (threads[0] > 1 and not untiled) or problem.program.rank == 1:
        return (1,) * len(statements)
    if untiled:
        short = all(len(statement.reads) <= _BLOCK_READS for statement in statements)
        return (_ROWS if short else 1,) * len(statements)
    if tiling.rows is not None:
        return (tiling.rows,) * len(statements)
    return tuple(_ROWS if len(statement.reads) <= _BLOCK_READS else 1 for statement in statements)


def _streaming(problem: Problem, tiling: Tiling) -> GpuSchedule:
    if problem.program.rank == 1:
        raise IllegalTilingError(
            f"streaming tiles of GPUs are for 2D and 3D programs, {problem.program.name!r} is 1D", "use hexagonal"
        )
    tiling = complete(problem, stream_block.threads_for(problem, tiling))
    tile = stream_block.tile_of(problem, tiling)
    if not tile.written:
        raise IllegalTilingError(
            f"a thread of a streaming tile on a GPU has at most {tile.growth.most_reads} reads written out, "
            f"got {tile.written_reads} of {tiling}",
            "take fewer levels or more threads, or the tiling none",
        )
    return GpuSchedule(
        tiling=tiling,
        threads=tiling.threads,
        plane_threads=_PLANE_THREADS,
        copy_threads=_COPY_THREADS,
        advances=_advances(tile),
        rest=gpu_schedule(problem, NONE) if tiling.time > 1 else None,
    )


def _advances(tile: stream_block.BlockTile) -> int:
    """Advances of a streaming tile that are written out: as many as rows are in use, or more."""
    # What a thread fetches passes through one more set of registers than rows are in use, and one while it is fetched.
    # All are back in their places after a common multiple; after fewer advances a value is moved once per advance, a
    # share of a level's work that few levels feel.
    rows = math.lcm(tile.rims.rows, int(tile.passage.rows) if tile.passage.needed else 1)
    turn = math.lcm(rows, rows + 2)
    if not tile.rims.taken or tile.levels > _FEW_LEVELS:
        return rows
    return turn if tile.written_reads // rows * turn <= tile.growth.most_reads else rows
