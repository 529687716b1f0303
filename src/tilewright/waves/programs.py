"""The wave equations as programs, of any rank and any order in space, of second order in time.

Staggered grids: of a field that is half a cell further along some axes, index i stands for i + 1/2 there.
"""

import functools
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.arguments import checked
from tilewright.base.errors import UsageError
from tilewright.programs.stencil.differences import diff, laplacian
from tilewright.programs.stencil.expression import Inside, Leaf, Profile, Read, Value, apply, flatten
from tilewright.programs.stencil.program import FieldBuilder, Program, StencilGrid, stencil
from tilewright.programs.stencil.slopes import values_of
from tilewright.programs.stencil.storage import Subdomain
from tilewright.waves.models import check_order

Absorbed = Sequence[int] | Mapping[int, tuple[int, int]]  # axes, or the cells of layers below and above by axis
AXES = {1: ("x",), 2: ("z", "x"), 3: ("z", "y", "x")}  # names of the axes, depth first


@checked
def acoustic(
    spacing: Sequence[float],
    space_order: int = 8,
    *,
    damped: bool = True,
    absorbed: Absorbed = (),
    free: Sequence[tuple[int, int]] = (),
) -> Program:
    """Build the acoustic wave equation of constant density, ``u_tt = v^2 laplacian(u)``.

    Along an absorbed axis ``u_zz`` becomes ``w + r``, ``w = u_zz + q_z``, with memories q of u_z and r of w: D. Pasalic
    and R. McGarry, "Convolutional perfectly matched layer for isotropic and anisotropic acoustic wave equations", SEG
    Technical Program Expanded Abstracts 29 (2010), 2925-2929. The differences that q feels and acts through are
    :func:`root_of_laplacian` and its transpose, whose product is the difference of ``u_zz``.

    Args:
        spacing: Distance of neighbouring cells per axis, which says the rank; m.
        space_order: Order of the Laplacian, even.
        damped: Whether there is a taper, which multiplies new values, and old ones where they are read.
        absorbed: Axes with a :class:`~tilewright.waves.layers.CPML`, in ascending order: with the cells of the layers
            below and above by axis, the memories live there alone.
        free: Sides with a free surface, each an axis and 0 or 1, below or above. u is run with ``mirror`` there, which
            the program turns into images of the other sign.

    Returns:
        A program of the fields u (two time levels), per absorbed axis the memories ``u_a`` (further along it by what
        :func:`root_of_laplacian` says) and ``u_aa``, m = (v dt)^2 and, if damped, the taper g; with the profiles of
        :func:`absorption_profiles`.
    """
    return wave_equation("acoustic", spacing, space_order, damped=damped, absorbed=absorbed, free=free).program


def _acoustic(parts: "_Parts") -> "WaveEquation":
    rank, spacing, order = len(parts.spacing), parts.spacing, parts.order
    u, at = parts.field("u"), (0,) * rank
    curved = laplacian(u, order, spacing)
    root, between = root_of_laplacian(order)
    for axis in parts.absorbed:
        a = AXES[rank][axis]
        parts.remember(f"u_{a}", axis, parts.weighted(u, axis, root), half=True)
        change = parts.weighted(parts.field(f"u_{a}").new, axis, [-weight for weight in root], back=True)
        memory = parts.remember(f"u_{a}{a}", axis, diff(u, axis, 2, order, spacing[axis]) + change, half=False)
        curved = curved + (change + memory)
    old = parts.here("g") * u.prev[at] if parts.damped else u.prev[at]
    parts.values["u"] = parts.tapered(2.0 * u[at] - old + parts.here("m") * curved)
    surface = {"u": Beyond("mirror", turned=True)}
    return parts.equation(f"acoustic{rank}d", ("u",), ("m",), lambda _: surface, between)


@checked
def pressure(
    spacing: Sequence[float],
    space_order: int = 8,
    *,
    damped: bool = True,
    absorbed: Absorbed = (),
    free: Sequence[tuple[int, int]] = (),
) -> Program:
    """Build the acoustic wave equation of any density, as pressure and velocities on a staggered grid.

    ``v_t = -grad(p) / rho``, then ``p_t = -rho c^2 div(v)``: J. Virieux, "SH-wave propagation in heterogeneous media:
    velocity-stress finite-difference method", Geophysics 49 (1984), 1933-1942, with pressure in place of stress.

    Args:
        spacing: As for :func:`acoustic`.
        space_order: Order of the differences.
        damped: Whether there is a taper.
        absorbed: As for :func:`acoustic`.
        free: The same, below axes alone. p is run with ``mirror`` there, the velocity along the axis with ``reflect``.

    Returns:
        A program of p, a velocity per axis (half a cell further along it), the memories of derivatives along absorbed
        axes (``p_a``, ``va_a``), then the coefficients: ``b_a = dt / rho`` where the velocities are, ``k = dt rho
        c^2`` and, if damped, g; with the profiles of :func:`absorption_profiles`.
    """
    return wave_equation("pressure", spacing, space_order, damped=damped, absorbed=absorbed, free=free).program


def _pressure(parts: "_Parts") -> "WaveEquation":
    rank, names = len(parts.spacing), parts.names
    for axis, a in enumerate(names):
        slope = parts.slope("p", axis, 0.5)
        parts.values[f"v{a}"] = parts.tapered(parts.here(f"v{a}") - parts.here(f"b{a}") * slope)
    flow = _total([parts.slope(f"v{a}", axis, -0.5, new=True) for axis, a in enumerate(names)])
    parts.values["p"] = parts.tapered(parts.here("p") - parts.here("k") * flow)
    waves, coefficients = ("p", *(f"v{a}" for a in names)), (*(f"b{a}" for a in names), "k")

    def beyond(a: str) -> dict[str, Beyond]:
        return {"p": Beyond("mirror", turned=True), f"v{a}": Beyond("reflect")}

    return parts.equation(f"pressure{rank}d", waves, coefficients, beyond)


@checked
def elastic(
    spacing: Sequence[float],
    space_order: int = 8,
    *,
    damped: bool = True,
    absorbed: Absorbed = (),
    free: Sequence[tuple[int, int]] = (),
) -> Program:
    """Build the isotropic elastic wave equation, as velocities and stresses on a staggered grid.

    ``rho v_t = div(s)``, then ``s_t = lambda div(v) I + mu (grad(v) + grad(v)^T)``: J. Virieux, "P-SV wave propagation
    in heterogeneous media: velocity-stress finite-difference method", Geophysics 51 (1986), 889-901.

    Args:
        spacing: As for :func:`acoustic`; 2D and 3D.
        space_order: Order of the differences.
        damped: Whether there is a taper.
        absorbed: As for :func:`acoustic`.
        free: The same, below axes alone. The stresses that meet the surface are images, with ``mirror`` for ``szz`` and
            ``reflect`` for ``szx`` below z. Velocities above it are not read: their differences along the axis are of
            lower order in the cells next to it (2 i in the i-th, as in R. W. Graves, Bulletin of the Seismological
            Society of America 86 (1996), 1091-1106), and at it that along the axis follows from ``szz = 0``.

    Returns:
        A program of the velocities ``vz`` …, the stresses ``szz`` … and ``szx`` … (half a cell further along both
        axes), the memories of derivatives along absorbed axes (``szx_z``: of szx along z), then the coefficients:
        ``b_a = dt / rho`` where the velocities are, ``l = dt lambda``, ``n = 2 dt mu``, ``m_ac = dt mu`` where the
        shear stresses are and, if damped, g; with the profiles of :func:`absorption_profiles`.
    """
    return wave_equation("elastic", spacing, space_order, damped=damped, absorbed=absorbed, free=free).program


def _elastic(parts: "_Parts") -> "WaveEquation":
    rank, names = len(parts.spacing), parts.names
    pairs = list(itertools.combinations(range(rank), 2))
    for axis, a in enumerate(names):
        force = [parts.slope(f"s{a}{a}", axis, 0.5)]
        for low, high in pairs:
            if axis in {low, high}:
                force.append(parts.slope(f"s{names[low]}{names[high]}", high if axis == low else low, -0.5))
        parts.values[f"v{a}"] = parts.tapered(parts.here(f"v{a}") + parts.here(f"b{a}") * _total(force))
    rates = [parts.slope(f"v{a}", axis, -0.5, new=True, near=True) for axis, a in enumerate(names)]
    for axis, _ in parts.free:  # there is no stress along the axis at the surface
        rate_across = _total([rate for each, rate in enumerate(rates) if each != axis])
        stiff = parts.here("l") + parts.here("n")
        rates[axis] = apply("where", Value(Inside(axis, 0, 1)), -(parts.here("l") / stiff) * rate_across, rates[axis])
    for rate, a in zip(rates, names, strict=True):
        change = parts.here("l") * _total(rates) + parts.here("n") * rate
        parts.values[f"s{a}{a}"] = parts.tapered(parts.here(f"s{a}{a}") + change)
    for low, high in pairs:
        a, c = names[low], names[high]
        slopes = [parts.slope(f"v{name}", axis, 0.5, new=True, near=True) for name, axis in ((a, high), (c, low))]
        shear = slopes[0] + slopes[1]
        parts.values[f"s{a}{c}"] = parts.tapered(parts.here(f"s{a}{c}") + parts.here(f"m{a}{c}") * shear)
    shears = [f"{names[low]}{names[high]}" for low, high in pairs]
    waves = (*(f"v{a}" for a in names), *(f"s{a}{a}" for a in names), *(f"s{each}" for each in shears))
    coefficients = (*(f"b{a}" for a in names), "l", "n", *(f"m{each}" for each in shears))

    def beyond(a: str) -> dict[str, Beyond]:
        stresses = {f"s{each}": Beyond("reflect", turned=True) for each in shears if a in each}
        return {f"s{a}{a}": Beyond("mirror", turned=True), **stresses}

    return parts.equation(f"elastic{rank}d", waves, coefficients, beyond)


@dataclass(frozen=True, slots=True)
class Beyond:
    """What a field is beyond a free surface."""

    kind: str  # its boundary there: what lies as far inside
    turned: bool = False  # whether with the other sign, which the program changes


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveEquation:
    """A program, and the boundaries that it is run with."""

    program: Program
    # by axis and side with a free surface, the kinds of the fields' boundaries there that are not those of other sides
    surfaces: Mapping[tuple[int, int], Mapping[str, str]]
    between: float  # cells by which memories between cells are behind them, along their axis

    def boundaries(self, sides: Sequence[Sequence[str]]) -> dict[str, tuple[tuple[str, ...], ...]]:
        """Return the boundaries of every field, for those of sides without a free surface; per axis below and above."""
        pairs: dict[str, tuple[tuple[str, ...], ...]] = {}
        for field in self.program.fields:
            own = [list(pair) for pair in sides]
            for (axis, side), kinds in self.surfaces.items():
                own[axis][side] = kinds.get(field, own[axis][side])
            pairs[field] = tuple(map(tuple, own))
        return pairs


def wave_equation(
    kind: str,
    spacing: Sequence[float],
    space_order: int,
    *,
    damped: bool,
    absorbed: Absorbed,
    free: Sequence[tuple[int, int]],
) -> WaveEquation:
    """Build :func:`acoustic`, :func:`pressure` or :func:`elastic`, with what their free surfaces want."""
    make = {"acoustic": _acoustic, "pressure": _pressure, "elastic": _elastic}[kind]
    if len(spacing) not in AXES or not all(math.isfinite(each) and each > 0 for each in spacing):
        raise UsageError(f"the spacing is one to three positive numbers, one per axis, got {spacing!r:.60}")
    beyond = [axis for axis in (*absorbed, *(axis for axis, _ in free)) if not 0 <= axis < len(spacing)]
    if beyond:
        raise UsageError(f"layers and free surfaces lie along the axes 0 to {len(spacing) - 1}, got {beyond[0]}")
    return make(_Parts(spacing, check_order(space_order), damped=damped, absorbed=absorbed, free=free))


@functools.lru_cache
def root_of_laplacian(space_order: int) -> tuple[tuple[float, ...], float]:
    """Return a first difference d whose product with its transpose is the second difference of an order: -d^T d.

    Memories must be fed by differences whose product is the one that they change, or a discrete energy can grow: with
    the stretch ``s = 1 + d / (alpha + i omega)`` of a layer, ``-(i omega)^2 s u / v^2 = d^T (1 / s) d u`` damps every
    u in one dimension, while ``d^T d`` of the usual staggered difference is more than the second difference for short
    waves, and what is left over pushes them on. A wave of the phase k per cell has the second difference
    ``-4 x (1 + x / 3 + 8 x^2 / 45 + ...)``, ``x = sin^2(k / 2)``, of as many terms as half of the order: the series of
    ``arcsin^2``. It is nowhere positive, so that it has such a root (L. Fejer, "Ueber trigonometrische Polynome", and
    F. Riesz, "Ueber ein Problem des Herrn Caratheodory", Journal fuer die reine und angewandte Mathematik 146 (1916),
    53-82 and 83-87): with each factor ``1 - x / r`` is taken the zero z of ``x = (2 - z - 1 / z) / 4 = r`` outside the
    unit circle, which makes the first weights the largest.

    Returned are the weights at a cell and those behind it, half of the order plus one, for cells of size 1; and how far
    behind the cell, in cells, is the place whose derivative they give: half a cell for order 2, less for others.

    Examples:
        >>> root_of_laplacian(2)
        ((-1.0, 1.0), 0.5)
        >>> [round(weight, 4) for weight in root_of_laplacian(4)[0]]
        [-1.0774, 1.1547, -0.0774]
    """
    terms = range(check_order(space_order) // 2)
    series = [2.0 * 4.0**j * math.factorial(j) ** 2 / math.factorial(2 * j + 2) for j in terms]
    weights = np.array([-1.0, 1.0])
    for zero in np.roots(series[::-1]):
        middle = 1.0 - 2.0 * zero
        apart = np.sqrt(middle**2 - 1.0)
        z = max(middle + apart, middle - apart, key=abs)
        weights = np.convolve(weights, np.array([-z, 1.0]) / (1.0 - z))
    return tuple(weights.real.tolist()), float(weights.real @ np.arange(len(weights)) ** 2) / 2.0


def absorption_profiles(axis: str) -> tuple[str, ...]:
    """Name the profiles along an absorbed axis: decays and gains of memories, then those of memories between cells."""
    return (f"decay_{axis}", f"gain_{axis}", f"decay_{axis}_half", f"gain_{axis}_half")


def _total(values: Sequence[Value]) -> Value:
    return functools.reduce(lambda a, b: a + b, values)


def _with_images(value: Value, surfaces: Sequence[tuple[int, int, Sequence[str]]]) -> Value:
    """Change the sign of reads beyond free surfaces: each an axis, a side and the fields that it is changed of."""

    def leaf(node: Leaf) -> Value:
        image = Value(node)
        if not isinstance(node, Read):
            return image
        for axis, side, fields in surfaces:
            beyond = node.beyond(axis)
            if beyond is not None and node.field in fields and (node.offset[axis] > 0) == bool(side):
                image = apply("where", Value(beyond), -image, image)
        return image

    return values_of(flatten(value), leaf)[-1] if surfaces else value


class _Parts:
    """A program under way: fields of one grid, the taper, and the memories of absorbing layers."""

    def __init__(
        self,
        spacing: Sequence[float],
        order: int,
        *,
        damped: bool,
        absorbed: Absorbed,
        free: Sequence[tuple[int, int]],
    ) -> None:
        self.spacing, self.order, self.damped, self.absorbed = tuple(spacing), order, damped, absorbed
        self.free = tuple(free)
        self.grid, self.at, self.names = StencilGrid(len(spacing)), (0,) * len(spacing), AXES[len(spacing)]
        self.values: dict[str, Value] = {}
        self.memories: list[str] = []
        self.subdomains: dict[str, Subdomain] = {}

    def field(self, name: str) -> FieldBuilder:
        return FieldBuilder(name, grid=self.grid)

    def here(self, name: str) -> Value:
        return FieldBuilder(name)[self.at]

    def tapered(self, value: Value) -> Value:
        return self.here("g") * value if self.damped else value

    def weighted(self, field: FieldBuilder, axis: int, weights: Sequence[float], *, back: bool = False) -> Value:
        """The sum of a cell and those behind it along an axis, or before it, by weights over the axis' spacing."""
        step = -1 if back else 1
        offsets = [tuple(step * i if each == axis else 0 for each in range(len(self.at))) for i in range(len(weights))]
        size = self.spacing[axis]
        return _total([weight / size * field[place] for weight, place in zip(weights, offsets, strict=True)])

    def slope(self, name: str, axis: int, at: float, *, new: bool = False, near: bool = False) -> Value:
        """The derivative of a field along an axis, and its memory where a layer absorbs along it.

        With ``near`` nothing is read beyond a free surface: the order is lower next to it.
        """
        field = self.field(name)
        read = field.new if new else field
        slope = diff(read, axis, 1, self.order, self.spacing[axis], at=at)
        if near and (axis, 0) in self.free:
            first = 1 if at < 0 else 0
            for row in range(first, self.order // 2 - 1 + first):
                order = 2 * (row + 1 - first)
                lower = diff(read, axis, 1, order, self.spacing[axis], at=at)
                slope = apply("where", Value(Inside(axis, row, row + 1)), lower, slope)
        if axis not in self.absorbed:
            return slope
        return slope + self.remember(f"{name}_{self.names[axis]}", axis, slope, half=at > 0)

    def remember(self, name: str, axis: int, value: Value, *, half: bool) -> Value:
        """The new value of a memory, which this states."""
        decay, gain = (
            Value(Profile(each, axis)) for each in absorption_profiles(self.names[axis])[2 * half : 2 * half + 2]
        )
        self.memories.append(name)
        if isinstance(self.absorbed, Mapping):
            low, high = self.absorbed[axis]
            self.subdomains[name] = Subdomain(axis, low, high + (1 if half and high else 0))
        self.values[name] = decay * self.here(name) + gain * value
        return self.field(name).new[self.at]

    def equation(
        self,
        name: str,
        waves: Sequence[str],
        coefficients: Sequence[str],
        beyond: Callable[[str], Mapping[str, Beyond]],
        between: float = 0.5,
    ) -> WaveEquation:
        """The program, and its boundaries at free surfaces along an axis, by the axis's name."""
        mirrors = {(axis, side): beyond(self.names[axis]) for axis, side in self.free}
        turned = [
            (axis, side, [field for field, each in fields.items() if each.turned])
            for (axis, side), fields in mirrors.items()
        ]
        self.values = {field: _with_images(value, turned) for field, value in self.values.items()}
        fields = (*waves, *self.memories, *coefficients, *(("g",) if self.damped else ()))
        return WaveEquation(
            program=stencil(name, len(self.spacing), self.values, fields=fields, subdomains=self.subdomains),
            surfaces={side: {field: each.kind for field, each in fields.items()} for side, fields in mirrors.items()},
            between=between,
        )
