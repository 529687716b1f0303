"""Hybrid tiles for 2D and 3D programs: hexagons on (time, axis 0), classic skewed cuts on the other axes."""

from typing import ClassVar

from tilewright.schedules.prism import Prisms


class Hybrid(Prisms):
    """Hexagons on (time, axis 0) with classic cuts."""

    ranks = (2, 3)
    summary = "hexagons on (time, axis 0), classic skewed cuts on the other axes, in sequence inside a tile (2D, 3D)"
    hexagons = trusted = True
    cpu_range = (0.80, 1.11)
    defaults: ClassVar = {2: (16, (32, 512)), 3: (8, (8, 16, 256))}


FAMILY = Hybrid("hybrid")
