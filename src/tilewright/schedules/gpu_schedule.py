"""What a GPU's kernels are written from and launched by: a tiling, and a value for everything that it leaves open."""

from dataclasses import dataclass

from tilewright.schedules.family import Tiling


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSchedule:
    """A tiling for a GPU with every choice made; :mod:`tilewright.tuning.spaces.gpu_schedule` makes those left open."""

    tiling: Tiling  # the completed tiling as it was asked for or chosen, which comments in the text show
    threads: tuple[int, ...]  # threads per axis of a thread block
    plane_threads: int  # threads of a block that computes a plane of a recurrence, a line of cells each
    copy_threads: int  # threads of a block that refreshes the periodic copies around a grid, a cell each
    # per statement, the cells along axis 0 that a thread computes together: of a prism, or where time is not tiled
    rows: tuple[int, ...] = ()
    pieces: int = 1  # of a prism, the most pieces in which a version of a field is loaded; more are loaded as one
    # of a prism, the unroll factor of the loops that bring whole tiles on chip and write them back
    copy_unroll: int = 1
    # of a streaming tile, whether whole tiles have a kernel of their own, with everything written out
    written: bool = False
    advances: int = 1  # of such a tile, the advances that are written out: a multiple of the rows in use

    @property
    def column(self) -> int:
        """Cells along axis 0 that a thread computes where time is not tiled."""
        return max(self.rows, default=1)

    @property
    def cells(self) -> tuple[int, ...]:
        """Cells per axis that a block computes where time is not tiled."""
        return (self.threads[0] * self.column, *self.threads[1:])
