"""What others may ask about a tiling family; a family answers with one value, ``TRAITS``."""

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.parts import Parts
from tilewright.schedules.tiling import Tiling


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What distinguishes a family from others, wherever that matters; nothing holds unless it is said."""

    untiled: bool = False  # no tiles and no sizes: every step sweeps over the grid
    hexagons: bool = False  # tiles are hexagons on (time, axis 0), so that heights are even and bases hold the reach
    # tiles are diamonds on (time, axis 0), so that heights and pitches are even and pitches grow with heights
    diamonds: bool = False
    # a tile computes cells of its neighbours again, in a band of steps no longer than the run, whose levels follow each
    # other along axis 0 inside it; it has code and models of its own for that
    streams: bool = False
    tables: bool = False  # tiles cut a table that a recurrence fills
    # returns how a completed tiling sweeps over a grid, on a CPU; None if it cannot
    sweep: Callable[[Problem, Tiling], Parts | None] | None = None

    @property
    def prisms(self) -> bool:
        """Whether tiles are prisms over hexagons or diamonds, whose other axes are cut in sequence."""
        return self.hexagons or self.diamonds
