"""The families whose tiles are priced by what they move and compute: each a module that fills the same records."""

from typing import Protocol

from tilewright.costs.arrays import TileSizes
from tilewright.costs.facts import Facts
from tilewright.costs.work import diamond, hexagonal, skewed
from tilewright.costs.work.counted import CountedTiles
from tilewright.costs.work.tiles import BlockWork, BoxWork
from tilewright.schedules.family import Family


class TileFamily(Protocol):
    """What is known of a family's tiles, of many sizes at once."""

    def blocks(self, sizes: TileSizes, facts: Facts) -> BlockWork:
        """Return what a GPU's blocks do."""

    def boxes(self, sizes: TileSizes, facts: Facts) -> BoxWork:
        """Return what a CPU's cores do."""


def tiles_of(family: Family) -> TileFamily:
    """Return what is known of a family's tiles: equations, or counts where there are none."""
    if family.hexagons:
        return hexagonal
    if family.diamonds:
        return diamond
    return skewed if family.parallelograms else CountedTiles(family)
