"""Which rows tiles in 3D compute together: those of two planes, or of one."""

from tilewright.programs.stencil.program import Statement


def planes_together(statement: Statement) -> bool:
    """Whether the rows that a tile in 3D computes together are those of two planes, not of one.

    A star reads one row of each of several planes for a row of results, together more than L1 holds from one plane of a
    tile to the next. So these come from L2 for every plane that reads them, and for every other one where two planes
    are computed together: of radius r, r + 1 lines for a result in place of 2 r + 1. Rows read at several places, as
    those of a cube, gain more from rows of their own plane.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> [planes_together(program(name).statements[0]) for name in ("star3d4r", "heat3d", "j3d27pt", "j2d5pt")]
    [True, False, False, False]
    """
    rank = len(statement.reads[0].offset) if statement.reads else 0
    if rank < 3 or shares_rows(statement):
        return False
    planes = {(read.field, read.level, read.offset[rank - 3]) for read in statement.reads}
    return len(planes) > len({plane[:2] for plane in planes})


def shares_rows(statement: Statement) -> bool:
    """Whether several rows are read at several places each."""
    outer = [(read.field, read.level, read.offset[:-1]) for read in statement.reads]
    return sum(outer.count(row) > 1 for row in set(outer)) > 1
