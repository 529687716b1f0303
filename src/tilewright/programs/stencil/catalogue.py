"""The built-in programs.

The papers name their benchmark stencils but define only jacobi1d and jacobi2d. The others follow the hybrid-tiling
literature's loads and flops (our reading): heat2d sums 9 points, heat3d 27, each times one weight; laplacian2d has 5
loads and 6 flops, laplacian3d 7 and 8; gradient2d 5 loads, 15 flops and a square root. Weights sum to one, so that a
field keeps its size over thousands of steps.
"""

import functools
import itertools
import re
from collections.abc import Callable

from tilewright.base.errors import UsageError, meant
from tilewright.programs.stencil.expression import Value, apply
from tilewright.programs.stencil.program import FieldBuilder, Program, stencil

_SHAPE = re.compile(r"(star|box)([123])d([1-4])r")
_U = FieldBuilder("u")


def _weighted(terms: list[tuple[float, tuple[int, ...]]]) -> Value:
    total: Value | None = None
    for weight, offset in terms:
        term = weight * _U[offset]
        total = term if total is None else total + term
    assert total is not None  # noqa: S101  (every caller has at least one term)
    return total


def _star_offsets(rank: int, reach: int) -> list[tuple[int, ...]]:
    offsets = [(0,) * rank]
    for axis in range(rank):
        for distance in range(1, reach + 1):
            offsets.extend(tuple(sign * distance if a == axis else 0 for a in range(rank)) for sign in (-1, 1))
    return offsets


def _box_offsets(rank: int, reach: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(-reach, reach + 1), repeat=rank))


def _spread(offsets: list[tuple[int, ...]]) -> list[tuple[float, tuple[int, ...]]]:
    """Distinct weights that fall with the distance and sum to one."""
    raw = [1.0 / (1.0 + sum(abs(o) for o in offset)) * (1.0 + 0.01 * i) for i, offset in enumerate(offsets)]
    total = sum(raw)
    return [(weight / total, offset) for weight, offset in zip(raw, offsets, strict=True)]


def _sum(offsets: list[tuple[int, ...]]) -> Value:
    total = _U[offsets[0]]
    for offset in offsets[1:]:
        total = total + _U[offset]
    return total


def _shape_program(kind: str, rank: int, reach: int, name: str, summary: str = "") -> Program:
    offsets = _star_offsets(rank, reach) if kind == "star" else _box_offsets(rank, reach)
    text = summary or f"{kind} of reach {reach} in {rank}D, {len(offsets)} points, weights that sum to one"
    return stencil(name, rank, {"u": _weighted(_spread(offsets))}, summary=text)


def _jacobi(rank: int) -> Program:
    offsets = [*sorted(_star_offsets(rank, 1))]
    summary = f"Jacobi iteration in {rank}D, mean of {len(offsets)} points (time-model paper)"
    return stencil(f"jacobi{rank}d", rank, {"u": _sum(offsets) * (1.0 / len(offsets))}, summary=summary)


def _heat(rank: int) -> Program:
    offsets = _box_offsets(rank, 1)
    summary = f"heat equation in {rank}D, mean of {len(offsets)} points"
    return stencil(f"heat{rank}d", rank, {"u": _sum(offsets) * (1.0 / len(offsets))}, summary=summary)


def _laplacian(rank: int) -> Program:
    ring = _star_offsets(rank, 1)[1:]
    value = 0.5 * _U[(0,) * rank] + (0.5 / len(ring)) * _sum(ring)
    summary = f"Laplacian smoothing in {rank}D, {len(ring) + 1} loads and {len(ring) + 2} flops"
    return stencil(f"laplacian{rank}d", rank, {"u": value}, summary=summary)


def _gradient2d() -> Program:
    centre = _U[0, 0]
    total: Value | None = None
    for offset in ((-1, 0), (1, 0), (0, -1), (0, 1)):
        difference = centre - _U[offset]
        square = difference * difference
        total = 0.1 + square if total is None else total + square
    value = centre + 1.0 / apply("sqrt", total)
    return stencil(
        "gradient2d", 2, {"u": value}, summary="gradient-weighted growth in 2D, 5 loads, 15 flops, square root"
    )


def _wave(rank: int) -> Program:
    centre = (0,) * rank
    ring = _star_offsets(rank, 1)[1:]
    value = 2.0 * _U[centre] - _U.prev[centre] + 0.1 * (_sum(ring) - float(len(ring)) * _U[centre])
    summary = f"wave equation in {rank}D, second order, two time levels, Courant number sqrt(0.1)"
    return stencil(f"wave{rank}d", rank, {"u": value}, summary=summary)


def _heat2d_var() -> Program:
    k = FieldBuilder("k")
    value = _U[0, 0] + k[0, 0] * (_sum([(-1, 0), (1, 0), (0, -1), (0, 1)]) - 4.0 * _U[0, 0])
    return stencil(
        "heat2d_var", 2, {"u": value}, summary="heat equation in 2D with a coefficient field k (stable for k <= 0.25)"
    )


def _fdtd2d() -> Program:
    ey, ex, hz = FieldBuilder("ey"), FieldBuilder("ex"), FieldBuilder("hz")
    values = {
        "ey": ey[0, 0] - 0.5 * (hz[0, 0] - hz[-1, 0]),
        "ex": ex[0, 0] - 0.5 * (hz[0, 0] - hz[0, -1]),
        "hz": hz[0, 0] - 0.5 * (ex.new[0, 1] - ex.new[0, 0] + ey.new[1, 0] - ey.new[0, 0]),
    }
    return stencil(
        "fdtd2d", 2, values, summary="Maxwell's equations in 2D, three fields, the third from the new first two"
    )


def _smith_waterman() -> Program:
    h, match = FieldBuilder("h"), FieldBuilder("match")
    gap = 1
    best = apply("maximum", h.new[-1, -1] + match[0, 0], 0)
    value = apply("maximum", best, apply("maximum", h.new[-1, 0], h.new[0, -1]) - gap)
    return stencil(
        "smith_waterman", 2, {"h": value}, summary="local alignment with linear gaps, a recurrence over a table"
    )


_NAMED: dict[str, Callable[[], Program]] = {
    "jacobi1d": lambda: _jacobi(1),
    "jacobi2d": lambda: _jacobi(2),
    "heat2d": lambda: _heat(2),
    "laplacian2d": lambda: _laplacian(2),
    "gradient2d": _gradient2d,
    "heat3d": lambda: _heat(3),
    "laplacian3d": lambda: _laplacian(3),
    "smith_waterman": _smith_waterman,
    "j1d3pt": lambda: _shape_program("star", 1, 1, "j1d3pt", "3-point Jacobi in 1D, weights that sum to one"),
    "j2d5pt": lambda: _shape_program("star", 2, 1, "j2d5pt", "5-point Jacobi in 2D, weights that sum to one"),
    "j2d9pt": lambda: _shape_program("star", 2, 2, "j2d9pt", "9-point star of reach 2 in 2D, weights that sum to one"),
    "j2d9pt-gol": lambda: _shape_program("box", 2, 1, "j2d9pt-gol", "3x3 box in 2D, weights that sum to one"),
    "j3d7pt": lambda: _shape_program("star", 3, 1, "j3d7pt", "7-point Jacobi in 3D, weights that sum to one"),
    "j3d27pt": lambda: _shape_program("box", 3, 1, "j3d27pt", "3x3x3 box in 3D, weights that sum to one"),
    "wave2d": lambda: _wave(2),
    "wave3d": lambda: _wave(3),
    "heat2d_var": _heat2d_var,
    "fdtd2d": _fdtd2d,
}


def names() -> tuple[str, ...]:
    """Every built-in program, the named ones first."""
    shapes = [f"{kind}{rank}d{reach}r" for kind in ("star", "box") for rank in (1, 2, 3) for reach in (1, 2, 3, 4)]
    return (*_NAMED, *shapes)


@functools.lru_cache(maxsize=256)
def program(name: str) -> Program:
    """Return a built-in program.

    Raises:
        UsageError: If there is none of that name.

    Examples:
        >>> program("gradient2d").flops, program("heat2d").loads
        (15, 9)
    """
    if name in _NAMED:
        return _NAMED[name]()
    match = _SHAPE.fullmatch(name)
    if match is None:
        hint = f"{meant(name, names())} `tilewright programs` lists them all".strip()
        raise UsageError(f"there is no built-in program {name!r}", hint)
    return _shape_program(match[1], int(match[2]), int(match[3]), name)
