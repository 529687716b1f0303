"""The printed instances of the energy model: SW, J1D and J2D (Prajapati, thesis, section B.6).

All are E = P_stat T_alg + N_tiles E_tile. What a tile uses is returned as amounts, so that one function prices it and
the same amounts are the columns of the regression. Sizes may be numbers or arrays.
"""

from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, TileSizes
from tilewright.costs.energy.price import Usage
from tilewright.schedules.tiling import Tiling

Numbers = Floats | float
SW_OPERATIONS = 5  # additions with a comparison per cell of Smith-Waterman with affine gaps
J2D_ACCESSES = 6  # mu_sr of J2D: five loads and a store per point
INSTANCES = {"smith_waterman": "orthogonal", "jacobi1d": "skewed", "jacobi2d": "hybrid"}
"""The programs with a printed instance, and the family of tiles it is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tile:
    """What one tile uses, and how many tiles there are."""

    tiles: Numbers  # N_tiles
    points: Numbers  # V_tile
    global_words: Numbers  # M_io
    shared_words: Numbers  # words between on-chip memory and registers
    # per point, in the order of :attr:`tilewright.costs.energy.price.EnergyRule.operations`
    operations: tuple[float, ...]

    def usage(self, seconds: float) -> Usage:
        """Return the amounts of the whole run, which takes so many seconds."""
        tiles = float(self.tiles)
        return Usage.of(
            seconds=seconds,
            global_words=tiles * float(self.global_words),
            shared_words=tiles * float(self.shared_words),
            updates=tiles * float(self.points),
            operations=self.operations,
        )


def smith_waterman(shape: tuple[float, float], t_s: Numbers, t_t: Numbers, s_s: Numbers) -> Tile:
    """Smith-Waterman in orthogonal tiles with sub-tiles.

    E_tile = 4.25 (t_S + t_T) e_gs + (V + 5 t_T t_S / s_S) e_sr + 5 V (e_iadd + e_imax), V = t_S t_T, N_tiles = S T / V.
    """
    points = t_s * t_t
    return Tile(
        tiles=shape[0] * shape[1] / points,
        points=points,
        global_words=4.25 * (t_s + t_t),
        shared_words=points + 5 * t_t * t_s / s_s,
        operations=(0.0, 0.0, float(SW_OPERATIONS), float(SW_OPERATIONS), 0.0),
    )


def jacobi1d(extent: float, steps: float, t_s: Numbers, t_t: Numbers, s_s: Numbers) -> Tile:
    """Jacobi 1D in skewed tiles with sub-tiles.

    E_tile = 2 e_gs (2 t_T + t_S) + 4 e_sr (2 t_S + 4 t_T t_S / s_S) + (2 e_fadd + e_fmul) V, V = t_S t_T,
    N_tiles = S T / V.
    """
    points = t_s * t_t
    return Tile(
        tiles=extent * steps / points,
        points=points,
        global_words=2 * (2 * t_t + t_s),
        shared_words=4 * (2 * t_s + 4 * t_t * t_s / s_s),
        operations=(2.0, 1.0, 0.0, 0.0, 0.0),
    )


def jacobi2d(shape: tuple[float, float], steps: float, t_t: Numbers, t_s1: Numbers, t_s2: Numbers) -> Tile:
    """Jacobi 2D in hybrid tiles: equations (B.3) to (B.6).

    M_io = 2 t_S2 (t_S1 + 2 t_T), V = t_S2 t_T (2 t_S1 + t_T - 2) / 2, N_tiles = (2 T / t_T) (S_1 / (t_S1 + w_tile))
    ((S_2 + t_T) / t_S2), E_tile = e_gs M_io + 6 e_sr V + (4 e_fadd + e_fmul) V.
    """
    pitch = 2 * t_s1 + t_t - 2
    points = t_s2 * t_t * pitch / 2
    return Tile(
        tiles=2 * steps * shape[0] * (shape[1] + t_t) / (t_t * t_s2 * pitch),
        points=points,
        global_words=2 * t_s2 * (t_s1 + 2 * t_t),
        shared_words=J2D_ACCESSES * points,
        operations=(4.0, 1.0, 0.0, 0.0, 0.0),
    )


def printed(program: str, shape: tuple[int, ...], steps: int, tiling: Tiling) -> Tile | None:
    """Return the printed instance of a program in a tiling, or None; of Smith-Waterman the shape is T and S."""
    if INSTANCES.get(program) != tiling.family:
        return None
    rank = 2 if program == "jacobi2d" else 1
    if len(tiling.space) != rank or (rank == 1 and len(tiling.sub) != 1):
        needed = "s=8x64" if rank == 2 else "s=128,sub=32"
        raise UsageError(
            f"the printed energy of {program} needs sizes such as {tiling.family}:t=32,{needed}, got {str(tiling)!r}"
        )
    if program == "smith_waterman":
        return smith_waterman((shape[0], shape[1]), tiling.space[0], tiling.time, tiling.sub[0])
    if program == "jacobi1d":
        return jacobi1d(shape[0], steps, tiling.space[0], tiling.time, tiling.sub[0])
    return jacobi2d((shape[0], shape[1]), steps, tiling.time, tiling.space[0], tiling.space[1])


def printed_amounts(shape: tuple[int, ...], steps: int, itemsize: int, sizes: TileSizes) -> tuple[Floats, Floats]:
    """Return the bytes and the updates of all tiles of a 2D hybrid tiling by (B.3) to (B.5); both of shape (n,)."""
    time, first, second = (1.0 * each for each in (sizes.time, *sizes.space))
    tile = jacobi2d((shape[0], shape[1]), steps, time, first, second)
    words = np.asarray(tile.tiles * tile.global_words)
    return words * itemsize, np.asarray(tile.tiles * tile.points)
