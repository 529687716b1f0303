"""What the time models compute for tilings: every intermediate quantity, and the named terms of the time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import numpy as np

from tilewright.costs.arrays import Floats, Ints

_WHOLE = {"wavefronts", "tiles_per_wavefront", "tiles_per_prism", "tile_points", "shared_bytes", "tiles_per_sm"}
"""Quantities that are whole numbers."""


Seconds = TypeVar("Seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Times(Generic[Seconds]):
    """What every model of time returns: named terms, in seconds, and their sum; numbers, or arrays of one shape."""

    terms: Mapping[str, Seconds] = field(hash=False)
    seconds: Seconds = field(init=False)

    def __post_init__(self) -> None:
        """Add up the terms."""
        object.__setattr__(self, "seconds", sum(self.terms.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Breakdown(Times[Floats]):
    """The quantities of n tilings on one machine; every array has shape (n,).

    The terms are what T_alg is made of, infinite where not even one tile fits: ``synchronisation`` is N_w T_sync,
    ``arithmetic`` what the busiest unit computes, ``transfers`` what no arithmetic hides.

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
    # what every resource would take alone by a model that knows thread blocks; else None
    parts: Mapping[str, Floats] | None = None
    # cell updates that all tiles compute together, as the energy model charges them, or None
    updates: Floats | None = None
    energy_bytes: Floats | None = None  # bytes between chip and memory as the energy model charges them, or None
    # words between on-chip memory and registers, where they are not the accesses of all updates
    shared_words: Floats | None = None
    joules: Floats | None = None  # None where no energy was asked for

    @staticmethod
    def of_one(*, terms: Mapping[str, float], **quantities: float) -> "Breakdown":
        """Return the quantities of one run without tiles: nothing is kept on chip, and what runs together is one."""
        whole = {"tiles_per_prism": 1, "shared_bytes": 0, "tiles_per_sm": 1, **quantities}
        columns: dict[str, Any] = {
            name: np.full(1, value, dtype=np.int64 if name in _WHOLE else float) for name, value in whole.items()
        }
        return Breakdown(**columns, terms={name: np.full(1, float(value)) for name, value in terms.items()})

    @property
    def sync_seconds(self) -> Floats:
        """N_w T_sync."""
        return self.terms["synchronisation"]

    def where(self, fits: "np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]") -> "Breakdown":
        """Return the same, infinite where a tiling does not fit."""
        return replace(self, terms={**self.terms, "arithmetic": np.where(fits, self.terms["arithmetic"], np.inf)})

    def bound_by(self, index: int) -> str:
        """Name what takes most of a tiling's time: a part, or ``compute``, ``memory``, ``synchronisation``."""
        if self.parts is not None:
            seconds = {name: float(part[index]) for name, part in self.parts.items()}
            return max(seconds, key=lambda name: seconds[name])
        if self.sync_seconds[index] > 0.5 * self.seconds[index]:
            return "synchronisation"
        return "compute" if self.compute_seconds[index] >= self.io_seconds[index] else "memory"
