"""What kernels are written from beside their problem: a tiling, and a value for everything that it leaves open."""

from dataclasses import dataclass

from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.bodies.body import Body
from tilewright.schedules.bodies.unrolling import TableShape
from tilewright.schedules.tiling import Tiling


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuSchedule:
    """A tiling for a processor with every choice made; :mod:`tilewright.tuning.spaces.bodies` makes those left open."""

    tiling: Tiling  # the order of computation, and what was asked for of the code
    body: Body  # how the code is written
    storage: Storage = PLAIN  # where the fields' versions and cells lie
    batch: bool = False  # whether there are many grids, each of which one thread computes
    # whether a call computes some parts of a sweep alone (:mod:`tilewright.schedules.parts`); the first one and their
    # end follow the distance between slots in ``size``
    swept: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSchedule:
    """A tiling of a table that is filled once."""

    tiling: Tiling  # orthogonal
    kept: int  # anti-diagonals after which a wanted table's cells are copied into it
    shape: TableShape | None = None  # on a GPU, threads and sub-tiles of a tile; else None


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
