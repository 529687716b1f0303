"""What the time model computes for tilings: every intermediate quantity, by name."""

from collections.abc import Mapping
from dataclasses import dataclass

from tilewright.costs.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown:
    """The time model's quantities for n tilings; every array has shape (n,).

    A *tile* is what is on chip at a time: in 2D and 3D one of the sub-tiles that a block runs in sequence along a
    prism (2D) or slab (3D). Words have 4 bytes.
    """

    wavefronts: Ints  # N_w
    tiles_per_wavefront: Ints  # w, prisms or slabs in 2D and 3D; the larger of the two colours in the exact form
    tiles_per_prism: Ints  # tiles in sequence per prism or slab, 1 in 1D
    tile_points: Ints  # cell updates of a whole tile
    input_words: Floats  # m_i
    output_words: Floats  # m_o
    shared_bytes: Ints  # M_tile in bytes
    tiles_per_sm: Ints  # k; 0 where not even one tile fits
    io_seconds: Floats  # m', transfers of one tile
    compute_seconds: Floats  # c, computation of one tile
    prism_seconds: Floats  # T_tile(k), T_prism(k) or T_slab(k): k of them together on one SM
    dram_bytes: Floats  # bytes between chip and memory in all
    sync_seconds: Floats  # N_w T_sync
    seconds: Floats  # T_alg; infinite where not even one tile fits
    # what the seconds are made of by a model that knows thread blocks, each part alone; else None
    parts: Mapping[str, Floats] | None = None
    # cell updates that all tiles compute together, as the energy model charges them, or None
    updates: Floats | None = None
    energy_bytes: Floats | None = None  # bytes between chip and memory as the energy model charges them, or None
    # words between on-chip memory and registers, where they are not the accesses of all updates
    shared_words: Floats | None = None
    joules: Floats | None = None  # None where no energy was asked for

    def bound_by(self, index: int) -> str:
        """Name what takes most of a tiling's time: a part, or ``compute``, ``memory``, ``synchronisation``."""
        if self.parts is not None:
            felt = {name: float(part[index]) for name, part in self.parts.items()}
            return max(felt, key=lambda name: felt[name])
        if self.sync_seconds[index] > 0.5 * self.seconds[index]:
            return "synchronisation"
        return "compute" if self.compute_seconds[index] >= self.io_seconds[index] else "memory"
