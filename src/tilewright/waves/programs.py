"""The wave equations as programs, of any rank and any order in space, of second order in time.

Staggered grids: of a field that is half a cell further along some axes, index i stands for i + 1/2 there.
"""

import functools
import itertools
from collections.abc import Sequence

from tilewright.programs.stencil.differences import diff, laplacian
from tilewright.programs.stencil.expression import Value
from tilewright.programs.stencil.program import FieldBuilder, Program, StencilGrid, stencil
from tilewright.waves.models import check_order

AXES = {1: ("x",), 2: ("z", "x"), 3: ("z", "y", "x")}
"""Names of the axes, depth first."""


def acoustic(spacing: Sequence[float], space_order: int = 8, *, damped: bool = True) -> Program:
    """Build the acoustic wave equation of constant density, ``u_tt = v^2 laplacian(u)``.

    Args:
        spacing: Distance of neighbouring cells per axis, which says the rank; m.
        space_order: Order of the Laplacian, even.
        damped: Whether there is a taper, which multiplies new values, and old ones where they are read.

    Returns:
        A program of the fields u (two time levels), m = (v dt)^2, and, if damped, the taper g.
    """
    rank = len(spacing)
    grid = StencilGrid(rank)
    u, at = FieldBuilder("u", grid=grid), (0,) * rank
    wave = FieldBuilder("m")[at] * laplacian(u, check_order(space_order), tuple(spacing))
    if not damped:
        return stencil(f"acoustic{rank}d", rank, {"u": 2.0 * u[at] - u.prev[at] + wave}, fields=("u", "m"))
    g = FieldBuilder("g")[at]
    return stencil(f"acoustic{rank}d", rank, {"u": g * (2.0 * u[at] - g * u.prev[at] + wave)}, fields=("u", "m", "g"))


def pressure(spacing: Sequence[float], space_order: int = 8, *, damped: bool = True) -> Program:
    """Build the acoustic wave equation of any density, as pressure and velocities on a staggered grid.

    ``v_t = -grad(p) / rho``, then ``p_t = -rho c^2 div(v)``: J. Virieux, "SH-wave propagation in heterogeneous media:
    velocity-stress finite-difference method", Geophysics 49 (1984), 1933-1942, with pressure in place of stress.

    Args:
        spacing: As for :func:`acoustic`.
        space_order: Order of the differences.
        damped: Whether there is a taper.

    Returns:
        A program of p, a velocity per axis (half a cell further along it), then the coefficients: ``b_a = dt / rho``
        where the velocities are, ``k = dt rho c^2``, and, if damped, g.
    """
    rank, order, parts = len(spacing), check_order(space_order), _Parts(spacing, damped=damped)
    p, names = parts.field("p"), AXES[rank]
    values = {}
    for axis, a in enumerate(names):
        slope = diff(p, axis, 1, order, spacing[axis], at=0.5)
        values[f"v{a}"] = parts.tapered(parts.here(f"v{a}") - parts.here(f"b{a}") * slope)
    flow = _total(
        [diff(parts.field(f"v{a}").new, axis, 1, order, spacing[axis], at=-0.5) for axis, a in enumerate(names)]
    )
    values["p"] = parts.tapered(parts.here("p") - parts.here("k") * flow)
    fields = ("p", *(f"v{a}" for a in names), *(f"b{a}" for a in names), "k", *(("g",) if damped else ()))
    return stencil(f"pressure{rank}d", rank, values, fields=fields)


def elastic(spacing: Sequence[float], space_order: int = 8, *, damped: bool = True) -> Program:
    """Build the isotropic elastic wave equation, as velocities and stresses on a staggered grid.

    ``rho v_t = div(s)``, then ``s_t = lambda div(v) I + mu (grad(v) + grad(v)^T)``: J. Virieux, "P-SV wave propagation
    in heterogeneous media: velocity-stress finite-difference method", Geophysics 51 (1986), 889-901.

    Args:
        spacing: As for :func:`acoustic`; 2D and 3D.
        space_order: Order of the differences.
        damped: Whether there is a taper.

    Returns:
        A program of the velocities ``vz`` …, the stresses ``szz`` … and ``szx`` … (half a cell further along both
        axes), then the coefficients: ``b_a = dt / rho`` where the velocities are, ``l = dt lambda``, ``n = 2 dt mu``,
        ``m_ac = dt mu`` where the shear stresses are, and, if damped, g.
    """
    rank, order, parts = len(spacing), check_order(space_order), _Parts(spacing, damped=damped)
    names = AXES[rank]
    pairs = list(itertools.combinations(range(rank), 2))

    def along(name: str, axis: int, at: float, *, new: bool = False) -> Value:
        field = parts.field(name)
        return diff(field.new if new else field, axis, 1, order, spacing[axis], at=at)

    values: dict[str, Value] = {}
    for axis, a in enumerate(names):
        force = [along(f"s{a}{a}", axis, 0.5)]
        for low, high in pairs:
            if axis in {low, high}:
                force.append(along(f"s{names[low]}{names[high]}", high if axis == low else low, -0.5))
        values[f"v{a}"] = parts.tapered(parts.here(f"v{a}") + parts.here(f"b{a}") * _total(force))
    rates = [along(f"v{a}", axis, -0.5, new=True) for axis, a in enumerate(names)]
    for rate, a in zip(rates, names, strict=True):
        change = parts.here("l") * _total(rates) + parts.here("n") * rate
        values[f"s{a}{a}"] = parts.tapered(parts.here(f"s{a}{a}") + change)
    for low, high in pairs:
        a, c = names[low], names[high]
        shear = along(f"v{a}", high, 0.5, new=True) + along(f"v{c}", low, 0.5, new=True)
        values[f"s{a}{c}"] = parts.tapered(parts.here(f"s{a}{c}") + parts.here(f"m{a}{c}") * shear)
    coefficients = (*(f"b{a}" for a in names), "l", "n", *(f"m{names[low]}{names[high]}" for low, high in pairs))
    fields = (*values, *coefficients, *(("g",) if damped else ()))
    return stencil(f"elastic{rank}d", rank, values, fields=fields)


def _total(values: Sequence[Value]) -> Value:
    return functools.reduce(lambda a, b: a + b, values)


class _Parts:
    """Fields of one grid, and the taper."""

    def __init__(self, spacing: Sequence[float], *, damped: bool) -> None:
        self.grid, self.at, self.damped = StencilGrid(len(spacing)), (0,) * len(spacing), damped

    def field(self, name: str) -> FieldBuilder:
        return FieldBuilder(name, grid=self.grid)

    def here(self, name: str) -> Value:
        return FieldBuilder(name)[self.at]

    def tapered(self, value: Value) -> Value:
        return self.here("g") * value if self.damped else value
