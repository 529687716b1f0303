"""How loops are unrolled and cut that no tiling of a grid describes: products of matrices, diagonals, tables on GPUs.

Plain values without defaults: :mod:`tilewright.tuning.spaces.unrolling` decides, or whoever writes others.
"""

from dataclasses import dataclass

from tilewright.base.constants import WIDEST_VECTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocking:
    """Register and cache blocking of the micro-kernel."""

    rows: int  # rows of A per call
    vectors: int  # vectors per row of a panel
    depth: int  # rows of a panel that are used before the next panel's turn

    def panel(self, itemsize: int) -> int:
        """Return the most columns that a panel of values of so many bytes has: where registers are the widest."""
        return self.vectors * WIDEST_VECTOR // itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrolling:
    """How the loops over rows are unrolled."""

    vectors: int  # vectors of rows per iteration
    depth: int  # diagonals per pass
    block: int  # rows that are finished before the next, where there are several passes


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBlock:
    """How a group of threads cuts its work."""

    tile: tuple[int, int]  # X and Y, the block of the intermediate on chip
    cells: tuple[int, int]  # ROWS and COLUMNS that one thread computes; they divide the tile
    depth: int  # Z, the depth of the staged slices

    @property
    def threads(self) -> int:
        """Threads per group."""
        return self.tile[0] // self.cells[0] * (self.tile[1] // self.cells[1])

    def groups(self, fusion: str, sizes: tuple[int, int, int, int]) -> int:
        """Return how many groups to start, in one dimension, for matrices of sizes P0 … P3."""
        extent, size = (sizes[0], self.tile[0]) if fusion == "left" else (sizes[3], self.tile[1])
        return -(-extent // size)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableShape:
    """What of a tile decides the text."""

    threads: int  # sub-tiles of a tile
    sub: int  # columns of a sub-tile
    chip: bool  # whether matrices are copied to the chip
