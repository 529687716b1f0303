"""How loops are unrolled and cut that no tiling of a grid describes: products of matrices, diagonals, tables on GPUs.

Plain values without defaults: :mod:`tilewright.tuning.spaces.unrolling` decides, or whoever writes others.
"""

from dataclasses import dataclass

from tilewright.base.constants import WIDEST_VECTOR


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocking:
    """Register and cache blocking of the micro-kernel.

    Attributes:
        rows: Rows of A per call.
        vectors: Vectors per row of a panel.
        depth: Rows of a panel that are used before the next panel's turn.
    """

    rows: int
    vectors: int
    depth: int

    def panel(self, itemsize: int) -> int:
        """Return the most columns that a panel of values of so many bytes has: where registers are the widest."""
        return self.vectors * WIDEST_VECTOR // itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class Unrolling:
    """How the loops over rows are unrolled.

    Attributes:
        vectors: Vectors of rows per iteration.
        depth: Diagonals per pass.
        block: Rows that are finished before the next, where there are several passes.
    """

    vectors: int
    depth: int
    block: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBlock:
    """How a group of threads cuts its work.

    Attributes:
        tile: X and Y, the block of the intermediate on chip.
        cells: ROWS and COLUMNS that one thread computes; they divide the tile.
        depth: Z, the depth of the staged slices.
    """

    tile: tuple[int, int]
    cells: tuple[int, int]
    depth: int

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
    """What of a tile decides the text.

    Attributes:
        threads: Sub-tiles of a tile.
        sub: Columns of a sub-tile.
        chip: Whether matrices are copied to the chip.
    """

    threads: int
    sub: int
    chip: bool
