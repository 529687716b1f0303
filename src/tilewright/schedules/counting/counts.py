"""What counting finds out about a tiling."""

from dataclasses import dataclass


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
