"""What a GPU's kernels are written from and launched by: a tiling, and a value for everything that it leaves open."""

from dataclasses import dataclass

from tilewright.schedules.tiling import Tiling


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSchedule:
    """A tiling for a GPU with every choice made; :mod:`tilewright.tuning.spaces.gpu_schedule` makes those left open.

    Attributes:
        tiling: The completed tiling as it was asked for or chosen, which comments in the text show.
        threads: Threads per axis of a thread block.
        plane_threads: Threads of a block that computes a plane of a recurrence, a line of cells each.
        copy_threads: Threads of a block that refreshes the periodic copies around a grid, a cell each.
        rows: Per statement, the cells of a column along axis 0 that a thread computes together: of a prism, and where
            time is not tiled.
        pieces: Of a prism, the most pieces in which a version of a field is loaded; more are loaded as one.
        copy_unroll: Of a prism, the unroll factor of the loops that bring whole tiles on chip and write them back.
        written: Of a streaming tile, whether whole tiles have a kernel of their own, with everything written out.
        advances: Of such a tile, the advances that are written out: a multiple of the rows in use.
    """

    tiling: Tiling
    threads: tuple[int, ...]
    plane_threads: int
    copy_threads: int
    rows: tuple[int, ...] = ()
    pieces: int = 1
    copy_unroll: int = 1
    written: bool = False
    advances: int = 1

    @property
    def column(self) -> int:
        """Cells along axis 0 that a thread computes where time is not tiled."""
        return max(self.rows, default=1)

    @property
    def cells(self) -> tuple[int, ...]:
        """Cells per axis that a block computes where time is not tiled."""
        return (self.threads[0] * self.column, *self.threads[1:])
