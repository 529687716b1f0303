"""Waves in the ground: acoustic and elastic programs, absorbing layers, and shots with sources and receivers."""

from tilewright.waves.inversion import misfit
from tilewright.waves.layers import CPML, FREE, FreeSurface, Sponge
from tilewright.waves.models import Model, longest_step
from tilewright.waves.programs import acoustic, elastic, pressure
from tilewright.waves.shots import Shot, ricker, shot

__all__ = [
    "CPML",
    "FREE",
    "FreeSurface",
    "Model",
    "Shot",
    "Sponge",
    "acoustic",
    "elastic",
    "longest_step",
    "misfit",
    "pressure",
    "ricker",
    "shot",
]
