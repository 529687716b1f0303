"""Hexagonal tiles of (time, x) for 1D programs."""

from typing import ClassVar

from tilewright.schedules.prism import Prisms


class Hexagonal(Prisms):
    """Hexagons on (time, x)."""

    ranks = (1,)
    summary = "hexagons on (time, x) in two colours; all tiles of a wavefront run at once (1D)"
    hexagons = trusted = True
    defaults: ClassVar = {1: (32, (1024,))}


FAMILY = Hexagonal("hexagonal")
