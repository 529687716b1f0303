"""Programs as users write them: what the catalogue does not have. Benchmarks take them by name like built-in ones."""

import itertools

import tilewright as tw
from tilewright.programs.stencil import catalogue
from tilewright.programs.stencil.expression import Value
from tilewright.programs.stencil.program import FieldBuilder, Program

_CENTRE = -205 / 72
_RING = (8 / 5, -1 / 5, 8 / 315, -1 / 560)
"""Second derivative of eighth order: the weights of the cell itself and of those 1 to 4 cells away."""


@tw.stencil
def acoustic3d(u: FieldBuilder, v: FieldBuilder) -> Value:
    """Acoustic waves of eighth order in 3D: two time levels, 25 points, squared velocities (times a constant) in v."""
    total = 3 * _CENTRE * u[0, 0, 0]
    for k, weight in enumerate(_RING, start=1):
        axes = u[-k, 0, 0] + u[k, 0, 0] + u[0, -k, 0] + u[0, k, 0] + u[0, 0, -k] + u[0, 0, k]
        total = total + weight * axes
    return 2 * u[0, 0, 0] - u.prev[0, 0, 0] + 0.5 * v[0, 0, 0] * total


@tw.stencil
def laplace27(u: FieldBuilder) -> Value:
    """Heat in 3D by the 27-point Laplacian: one weight each for the cell, faces, edges and corners."""
    rings: list[list[Value]] = [[], [], [], []]
    for offset in itertools.product((-1, 0, 1), repeat=3):
        rings[sum(map(abs, offset))].append(u[offset])
    centre, faces, edges, corners = (sum(ring[1:], ring[0]) for ring in rings)
    return centre + 0.1 / 30 * (14 * faces + 3 * edges + corners - 128 * centre)


@tw.stencil
def diffusion27(u: FieldBuilder, k: FieldBuilder) -> Value:
    """Diffusion in 3D with a coefficient field: a box of 27 different weights inside a larger expression."""
    total = 0
    for z, y, x in itertools.product((-1, 0, 1), repeat=3):
        total = total + (1 + 0.05 * z + 0.03 * y + 0.01 * x) / (2 + abs(z) + abs(y) + abs(x)) * u[z, y, x]
    return u[0, 0, 0] + 0.5 * k[0, 0, 0] * (0.15 * total - u[0, 0, 0])


@tw.stencil
def limited2d(u: FieldBuilder, k: FieldBuilder) -> Value:
    """A 5x5 smoothing that is not let grow: a weighted sum beside a coefficient and under a minimum."""
    total = 0
    for y, x in itertools.product(range(-2, 3), repeat=2):
        total = total + (1 + 0.03 * y + 0.01 * x) / (25 + y * y + x * x) * u[y, x]
    return tw.minimum(u[0, 0] + k[0, 0] * (total - u[0, 0]), 1.0)


_KNOWN = {each.program.name: each.program for each in (acoustic3d, laplace27, diffusion27, limited2d)}


def program(name: str) -> Program:
    """Return a program of this file, or else a built-in one.

    Raises:
        UsageError: If there is none of that name.
    """
    return _KNOWN.get(name) or catalogue.program(name)
