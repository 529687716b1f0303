"""The order in which a tiling computes a problem, one piece at a time."""

import math
from dataclasses import dataclass

Box = tuple[tuple[int, int], ...]
"""Per axis, outermost first, a half-open range of cells."""


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
