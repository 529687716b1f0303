"""The families whose tiles are priced by what they move and compute: each a module that fills the same records.

Of those without a module tiles are counted, one tiling after the other, so that families whose tiles are asked for by
the thousand have equations.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tilewright.base.facts import fact
from tilewright.costs.arrays import Floats, TileSizes
from tilewright.costs.facts import Facts
from tilewright.costs.work import diamond, hexagonal, skewed, tiles
from tilewright.costs.work.tiles import BlockWork, BoxWork, Fronts, Rows
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import catalogue
from tilewright.schedules.family import Family, Tiling

if TYPE_CHECKING:  # runs count nothing
    from tilewright.schedules.counting import BlockCounts, Spans, TileWork


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


@dataclass(frozen=True, slots=True)
class CountedTiles:
    """Tiles of a family without equations, as :meth:`tilewright.schedules.family.Family.work` counts them."""

    family: Family

    def blocks(self, sizes: TileSizes, facts: Facts) -> BlockWork:
        """Return what blocks do."""
        rows_of = zip(*(column.tolist() for column in (sizes.time, *sizes.space)), strict=True)
        tilings = [Tiling(family=self.family, time=time, space=tuple(space)) for time, *space in rows_of]
        works = [_work(facts.problem, tiling) for tiling in tilings]
        blocks, spans = [each.block for each in works], [each.spans for each in works]

        def column(parts: "list[BlockCounts] | list[Spans]", name: str) -> Floats:
            return np.array([getattr(each, name) for each in parts], dtype=np.float64)

        rows, points = sizes.time * facts.stages, column(blocks, "points")
        fronts = np.maximum(column(spans, "wavefronts").astype(np.int64), 1)
        count = np.maximum(column(spans, "tiles"), 1.0)
        return BlockWork(
            fronts=Fronts(kinds=((fronts, count / fronts),), ramp=0 * fronts),
            width=np.ceil(count / fronts).astype(np.int64),
            tiles=count,
            count=np.maximum(column(spans, "subtiles"), 1.0).astype(np.int64),
            points=points,
            rows=(Rows(count=1 + 0 * rows, first=points.astype(np.int64), step=0 * rows),),
            meetings=rows,
            input_values=column(blocks, "live_in"),
            output_values=column(blocks, "live_out"),
            shared_values=column(blocks, "footprint"),
            printed=False,
        )

    def boxes(self, sizes: TileSizes, facts: Facts) -> BoxWork:
        """Return what a CPU's cores do."""
        return tiles.clipped_boxes(sizes, facts, self.blocks(sizes, facts), tiles.moving_pieces(sizes, facts))


@fact
def _work(problem: Problem, tiling: Tiling) -> "TileWork":
    """What a family says of a tiling's tiles; it is asked again where energy is counted."""
    return tiling.family.work(problem, catalogue.complete(problem, tiling))
