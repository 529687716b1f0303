"""Absorbing layers around a model."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import UsageError
from tilewright.base.units import real_number, whole_number

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
        _set_width(self)
        if self.decay is not None:
            real_number(self.decay, "the decay of a sponge")

    def taper(self) -> Floats:
        """Return the factors from the outside in; shape (width,)."""
        decay = 0.3 / self.width if self.decay is None else self.decay
        factors: Floats = np.exp(-((decay * (self.width - np.arange(self.width))) ** 2))
        return factors


@dataclass(frozen=True, slots=True)
class CPML:
    """A convolutional perfectly matched layer: a medium of which waves of no angle are reflected.

    Every derivative d along the layer's axis becomes ``d + q``, with a memory ``q = decay q + gain d``, after
    J. A. Roden and S. D. Gedney, "Convolution PML (CPML): an efficient FDTD implementation of the CFS-PML for arbitrary
    media", Microwave and Optical Technology Letters 27 (2000), 334-339, for waves in the ground D. Komatitsch and
    R. Martin, "An unsplit convolutional perfectly matched layer improved at grazing incidence for the seismic wave
    equation", Geophysics 72 (2007), SM155-SM167. With kappa = 1 there, ``decay = exp(-(d + alpha) dt)`` and ``gain =
    d / (d + alpha) (decay - 1)``, where the damping d grows with the square of the depth x in a layer of thickness L,
    ``d = -3 v log(reflection) / (2 L) (x / L)^2``, and ``alpha = pi frequency (1 - x / L)``.

    Memories live in the layers' cells alone: two per absorbed axis of an acoustic model, of constant density or not,
    and one per derivative of an elastic one (4 in 2D and 9 in 3D, with layers along all axes). The differences that
    memories are fed by are those whose products the equations hold (:mod:`tilewright.waves.programs`), so that what is
    in a layer decays for as long as a shot runs.

    Attributes:
        width: Cells, at least 1.
        frequency: The source's dominant one, by default that of the shot; Hz.
        reflection: Share of a wave at normal incidence that comes back in theory, between 0 and 1.
    """

    width: int = 20
    frequency: float | None = None
    reflection: float = 1e-6

    def __post_init__(self) -> None:
        _set_width(self)
        if self.frequency is not None:
            real_number(self.frequency, "the frequency of a CPML")
        if not 0 < real_number(self.reflection, "the reflection of a CPML") < 1:
            raise UsageError(f"the reflection of a CPML lies between 0 and 1, got {self.reflection!r}")

    def memory(self, depth: Floats, thickness: float, speed: float, step: float) -> tuple[Floats, Floats]:
        """Return how a memory decays in a step, and what it gains of its derivative.

        Args:
            depth: Depths in the layer over its thickness, from 0 to 1; any shape.
            thickness: Thickness of the layer; m.
            speed: The largest speed of waves; m/s.
            step: Time step; s.

        Returns:
            Factors of the shape of ``depth``: 0 at a depth of 0.

        Raises:
            UsageError: If the layer has no frequency.
        """
        if self.frequency is None:
            raise UsageError("a CPML around a wavelet needs its frequency", "write CPML(20, frequency=15.0)")
        damping = -3.0 * speed * math.log(self.reflection) / (2.0 * thickness) * depth**2
        total = damping + math.pi * self.frequency * (1.0 - depth)
        decay = np.where(depth > 0, np.exp(-total * step), 0.0)
        gain: Floats = damping / total * (decay - 1.0)
        return decay, gain


@dataclass(frozen=True, slots=True)
class FreeSurface:
    """A surface without traction, through the centres of a side's outermost cells: waves come back from it.

    Beyond it lie images: the pressure, or the stresses that meet the surface, are there what they are as far inside,
    with the other sign (A. R. Levander, "Fourth-order finite-difference P-SV seismograms", Geophysics 53 (1988),
    1425-1436, for stresses).

    Attributes:
        width: Cells around the model: 0.
    """

    width: ClassVar[int] = 0


FREE = FreeSurface()  # the free surface


def _set_width(layer: "Sponge | CPML") -> None:
    width = whole_number(layer.width, "the width of a layer", 1, 2**31, "of at least one cell")
    object.__setattr__(layer, "width", width)


Side = Sponge | CPML | FreeSurface | None
Layers = Side | Sequence[Side | Sequence[Side]]
"""One for all sides, or per axis one for both, or a pair: before the first cell and behind the last."""


def sides_of(layers: Layers, rank: int) -> tuple[tuple[Side, Side], ...]:
    """Return the layer of every side, per axis below and above."""
    if layers is None or isinstance(layers, Sponge | CPML | FreeSurface):
        return ((layers, layers),) * rank
    if not isinstance(layers, Sequence) or len(layers) != rank:
        raise UsageError(
            f"layers are one for all sides or one entry per axis ({rank}), got {layers!r:.60}",
            "write ((None, Sponge(20)), Sponge(20)) for a model without a layer at its top",
        )
    sides: list[tuple[Side, Side]] = []
    for entry in layers:
        pair = tuple(entry) if isinstance(entry, Sequence) else (entry, entry)
        if len(pair) != 2 or not all(isinstance(side, Sponge | CPML | FreeSurface | None) for side in pair):
            raise UsageError(f"an axis has one layer or two, below and above, got {entry!r:.60}")
        sides.append((pair[0], pair[1]))
    return tuple(sides)


def parse_layers(text: str) -> Layers:
    """Parse layers as the command line writes them.

    ``sponge:20``, ``cpml:20``, ``free`` or ``none``; per axis ``cpml:20,sponge:30``; per side ``free/cpml:20``.

    >>> parse_layers("free/cpml:20,sponge")
    ((FreeSurface(), CPML(width=20, frequency=None, reflection=1e-06)), Sponge(width=20, decay=None))
    """
    axes = tuple(
        _side(parts[0]) if len(parts) == 1 else tuple(map(_side, parts))
        for parts in (entry.split("/") for entry in text.split(","))
    )
    return axes[0] if len(axes) == 1 and not isinstance(axes[0], tuple) else axes


def _side(text: str) -> Side:
    kind, _, width = text.strip().lower().partition(":")
    makes: dict[str, Callable[[int], Side]] = {"sponge": Sponge, "cpml": CPML}
    try:
        if kind in makes:
            return makes[kind](int(width) if width else 20)
    except ValueError:
        raise UsageError(f"the width of a layer is a number of cells, got {width!r}", "write cpml:20") from None
    if kind not in {"free", "none"} or width:
        raise UsageError(f"a layer is sponge, cpml, free or none, got {text!r}", "write free/cpml:20,cpml:20")
    return FREE if kind == "free" else None


def taper_of(sides: Sequence[tuple[Side, Side]], shape: Sequence[int]) -> Floats:
    """Return the factor of every cell of a grid with layers at its ends: 1 but in sponges."""
    result: Floats = np.ones(tuple(shape))
    for axis, (extent, (below, above)) in enumerate(zip(shape, sides, strict=True)):
        along = np.ones(extent)
        if isinstance(below, Sponge):
            along[: below.width] *= below.taper()
        if isinstance(above, Sponge):
            along[extent - above.width :] *= above.taper()[::-1]
        result *= along.reshape([-1 if each == axis else 1 for each in range(len(shape))])
    return result


def memory_along(
    pair: tuple[Side, Side], extent: int, spacing: float, speed: float, step: float, *, shift: float
) -> tuple[Floats, Floats]:
    """Return the decays and gains of memories along an axis with layers at its ends: 0 but in CPMLs.

    ``extent`` includes the layers; lengths, speeds and times are in SI units. ``shift`` says how far beyond the cells
    the memories are, from 0 to below 1 cell.
    """
    decay, gain = np.zeros(extent), np.zeros(extent)
    positions = np.arange(extent) + shift
    for side, away in zip(pair, (positions, extent - 1 - positions), strict=True):
        if isinstance(side, CPML):
            depth = np.clip(1.0 - away / side.width, 0.0, 1.0)
            parts = side.memory(depth, side.width * spacing, speed, step)
            decay, gain = decay + parts[0], gain + parts[1]
    return decay, gain
