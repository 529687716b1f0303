"""Absorbing layers around a model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import UsageError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sponge:
    """A layer in which waves are damped a little in every step.

    Values are multiplied by ``exp(-(decay * (width - i))^2)`` in the i-th cell from the outside, after C. Cerjan,
    D. Kosloff, R. Kosloff and M. Reshef, "A nonreflecting boundary condition for discrete acoustic and elastic wave
    equations", Geophysics 50 (1985), 705-708, who take 20 cells and a decay of 0.015.

    Attributes:
        width: Cells, at least 1.
        decay: Damping per cell; 0.3 over the width by default, which is their 0.015 for 20 cells.
    """

    width: int = 20
    decay: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        if isinstance(self.width, bool) or not isinstance(self.width, int) or self.width < 1:
            raise UsageError(f"a layer is at least one cell wide, got {self.width!r}")
        if self.decay is not None and not 0 < self.decay < np.inf:
            raise UsageError(f"the decay of a sponge is positive, got {self.decay!r}")

    def taper(self) -> Floats:
        """Return the factors from the outside in; shape (width,)."""
        decay = 0.3 / self.width if self.decay is None else self.decay
        found: Floats = np.exp(-((decay * (self.width - np.arange(self.width))) ** 2))
        return found


Side = Sponge | None
Layers = Side | Sequence[Side | Sequence[Side]]
"""One for all sides, or per axis one for both, or a pair: before the first cell and behind the last."""


def sides_of(layers: Layers, rank: int) -> tuple[tuple[Side, Side], ...]:
    """Return the layer of every side, per axis below and above.

    Raises:
        UsageError: If they are not as :data:`Layers` says.
    """
    if layers is None or isinstance(layers, Sponge):
        return ((layers, layers),) * rank
    if not isinstance(layers, Sequence) or len(layers) != rank:
        raise UsageError(
            f"layers are one for all sides or one entry per axis ({rank}), got {layers!r:.60}",
            "write ((None, Sponge(20)), Sponge(20)) for a model without a layer at its top",
        )
    found: list[tuple[Side, Side]] = []
    for entry in layers:
        pair = tuple(entry) if isinstance(entry, Sequence) else (entry, entry)
        if len(pair) != 2 or not all(side is None or isinstance(side, Sponge) for side in pair):
            raise UsageError(f"an axis has one layer or two, below and above, got {entry!r:.60}")
        found.append((pair[0], pair[1]))
    return tuple(found)


def taper_of(sides: Sequence[tuple[Side, Side]], shape: Sequence[int]) -> Floats:
    """Return the factor of every cell of a grid with layers at its ends."""
    result: Floats = np.ones(tuple(shape))
    for axis, (extent, (below, above)) in enumerate(zip(shape, sides, strict=True)):
        along = np.ones(extent)
        if below is not None:
            along[: below.width] *= below.taper()
        if above is not None:
            along[extent - above.width :] *= above.taper()[::-1]
        result *= along.reshape([-1 if each == axis else 1 for each in range(len(shape))])
    return result
