"""The families whose tiles are priced by what they move and compute: each a module that fills the same records."""

from typing import Protocol

from tilewright.costs.arrays import TileSizes
from tilewright.costs.facts import Facts
from tilewright.costs.work import diamond, hexagonal, skewed
from tilewright.costs.work.tiles import BlockWork, BoxWork
from tilewright.schedules.catalogue import traits


class TileFamily(Protocol):
    """What is known of a family's tiles, of many sizes at once."""

    def blocks(self, sizes: TileSizes, facts: Facts) -> BlockWork:
        """Return what a GPU's blocks do."""

    def boxes(self, sizes: TileSizes, facts: Facts) -> BoxWork:
        """Return what a CPU's cores do."""


TILES: dict[str, TileFamily] = {"hexagonal": hexagonal, "hybrid": hexagonal, "skewed": skewed, "diamond": diamond}
"""Every one of them by its name."""
STRATEGIES = tuple(name for name in TILES if not traits(name).hexagons)
"""Those besides hexagons, of which no equations are printed."""
