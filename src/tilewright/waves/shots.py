"""A shot: a source, waves through a model, and what receivers record of them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.base.arguments import checked
from tilewright.base.dtypes import is_rounded, numpy_type
from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.options import Options
from tilewright.base.units import format_shape, real_number, whole_number
from tilewright.programs.stencil.points import Points, in_cells
from tilewright.programs.stencil.problem import DTYPES
from tilewright.programs.stencil.program import Program
from tilewright.runtime.memory import Array
from tilewright.runtime.warn import warn
from tilewright.verbs.running.record import Run
from tilewright.verbs.running.run import run
from tilewright.waves.layers import CPML, FREE, FreeSurface, Layers, Side, Sponge, memory_along, sides_of, taper_of
from tilewright.waves.models import Floats, Model, longest_step
from tilewright.waves.programs import AXES, WaveEquation, absorption_profiles, wave_equation

Wavelet = Callable[[Floats], Floats]
_SHARE = 0.5  # time step over the longest stable one: the error of second order in time is then below that in space
_OWN = ("steps", "boundary", "sources", "record")  # options of a run that a shot sets
_SHORTEST = 4  # cells per wave of a Ricker wavelet's frequency below which the grid does not hold its shorter waves


def ricker(frequency: float, peak: float | None = None) -> Wavelet:
    """Return the second derivative of a Gaussian, as a function of time.

    N. Ricker, "The form and laws of propagation of seismic wavelets", Geophysics 18 (1953), 10-40.

    Args:
        frequency: That of the largest amplitude; Hz.
        peak: Time of the largest value, by default 1.2 periods; s.

    Raises:
        UsageError: If the frequency is not positive.

    Examples:
        >>> float(ricker(10.0)(np.array([0.12]))[0])
        1.0
    """
    frequency = real_number(frequency, "the frequency of a wavelet")
    centre = 1.2 / frequency if peak is None else peak

    def wavelet(times: Floats) -> Floats:
        square = (math.pi * frequency * (times - centre)) ** 2
        return (1.0 - 2.0 * square) * np.exp(-square)

    return wavelet


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shot:
    """What a shot recorded.

    Attributes:
        traces: By field what the receivers recorded; shapes (records, receivers). Fields are ``u`` or ``p``, or ``vz``,
            ``vx`` and so on of an elastic model.
        times: Times of the records; shape (records,); s.
        time_step: Time step; s.
        model: The model.
        run: The run: its time, tiling and state, layers included.
        around: Cells of the layers, per axis below and above.
    """

    traces: Mapping[str, Array]
    times: Floats
    time_step: float
    model: Model
    run: Run
    around: tuple[tuple[int, int], ...]

    def wavefield(self, field: str) -> Array:
        """Return a field at the end, without layers; shape of the model."""
        updated = self.run.problem.program.updated
        waves = [name for name in updated if name not in dict(self.run.problem.program.subdomains)]
        if field not in waves:
            raise UsageError(f"the fields of this shot are {', '.join(waves)}, got {field!r}")
        states = self.run.state if len(updated) > 1 else (self.run.state,)
        inner = tuple(slice(low, low + n) for (low, _), n in zip(self.around, self.model.velocity.shape, strict=True))
        grid: Array = states[updated.index(field)][inner]
        return grid

    def __repr__(self) -> str:
        count = next(iter(self.traces.values())).shape[1]
        content = f"{', '.join(self.traces)} at {count} receiver{'s' * (count != 1)}, {len(self.times)} records"
        return f"Shot({content}, {self.run.problem.steps} steps of {self.time_step:.4g} s)"


@checked
def shot(  # noqa: PLR0913  (a public verb)
    model: Model,
    source: Any,  # noqa: ANN401
    receivers: Any,  # noqa: ANN401
    *,
    time: float,
    frequency: float | None = None,
    wavelet: Wavelet | None = None,
    time_step: float | None = None,
    space_order: int = 8,
    layers: Layers = Sponge(20),  # noqa: B008  (a frozen value)
    interpolation: str = "linear",
    every: int = 1,
    dtype: str = "float32",
    **options: Any,  # noqa: ANN401
) -> Shot:
    """Compute what receivers record of a source in a model.

    A model of constant density is computed by ``u_tt = v^2 (laplacian(u) + s)``, where s is the wavelet at the source,
    per volume; one of varying density by pressure and velocities with the same source; one with shear waves by
    velocities and stresses, where the source is an explosion: the wavelet is the rate of its moment.

    Args:
        model: The model; layers are put around it, with the speeds of its outermost cells.
        source: Coordinates of one source, or of several with the same wavelet, from the centre of the model's first
            cell; shape (rank,) or (n, rank); m.
        receivers: Coordinates of the receivers; shape (n, rank); m.
        time: Time to compute; s.
        frequency: That of a Ricker wavelet; Hz. One whose waves are shorter than four cells anywhere gives a warning.
        wavelet: A function of times in place of it, which is not looked at.
        time_step: Time step; half of the longest stable one by default; s.
        space_order: Order of the differences in space: 2 to 16.
        layers: Absorbing layers, of either kind: one for all sides, or per axis one or a pair. Beyond sides without one
            values are 0.
        interpolation: ``linear`` or ``sinc``, of source and receivers.
        every: Record every so many steps.
        dtype: Element type, as text: one of a floating point.
        **options: Further options of :func:`tilewright.run`, such as ``threads``, ``tiling`` or ``until``.

    Returns:
        The shot.

    Raises:
        ArrayError: If an array does not fit.
        UsageError: If a number is out of its range, a point outside the model, or the time step too long.

    Examples:
        >>> model = Model(np.full((60, 80), 2000.0), spacing=10.0)
        >>> shot(model, (100.0, 400.0), [(20.0, 100.0), (20.0, 300.0)], time=0.2, frequency=20.0).traces["u"].shape
        (145, 2)
    """
    own = [name for name in _OWN if name in options]
    if own:
        raise UsageError(f"a shot sets {own[0]} by itself, so it is no option of one", "options are those of tw.run")
    setup = prepare(model, source, receivers, ShotTerms.of(locals()))
    scheme = setup.scheme
    result: Run = run(scheme.program, *scheme.arrays(), **setup.keywords(), record=True, **options)
    records = len(next(iter(result.traces.values())))  # fewer where an option ended the run
    times = scheme.step * every * np.arange(1, records + 1, dtype=np.float64)
    return Shot(traces=result.traces, times=times, time_step=scheme.step, model=model, run=result, around=scheme.around)


class ShotTerms(Options):
    """What is said of a shot beside its model and places, see :func:`shot`."""

    time: float  # s
    frequency: float | None = None  # Hz
    wavelet: Wavelet | None = None
    time_step: float | None = None  # s
    space_order: int = 8
    layers: Layers = Sponge(20)
    interpolation: str = "linear"
    every: int = 1
    dtype: str = "float32"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Setup:
    """A shot that is ready to run."""

    scheme: "Scheme"  # the model with its layers, and the program
    steps: int  # time steps
    sources: Mapping[str, Points]  # by field
    receivers: Mapping[str, Points]  # by field

    def keywords(self) -> dict[str, Any]:
        """Return the options and scalars of the run."""
        scheme = self.scheme
        return {
            "steps": self.steps,
            "boundary": scheme.boundary(),
            "dtype": scheme.dtype,
            "sources": self.sources,
            "receivers": self.receivers,
            **scheme.profiles(),
        }


def prepare(model: Model, source: Any, receivers: Any, terms: ShotTerms) -> Setup:  # noqa: ANN401
    """Check the arguments of :func:`shot`, whose errors it raises, and make ready what it runs."""
    dtype, frequency, space_order = terms.dtype, terms.frequency, terms.space_order
    time = real_number(terms.time, "the time of a shot", zero=True)
    if not isinstance(dtype, str) or dtype not in DTYPES or not is_rounded(dtype):
        raise UsageError(f"a shot computes in a floating-point type, such as float32 or float64, got {dtype!r:.60}")
    longest = longest_step(model, space_order)
    step = _SHARE * longest if terms.time_step is None else real_number(terms.time_step, "the time step")
    if step > longest:
        raise UsageError(
            f"a time step of {step:.4g} s is not stable: with speeds up to {model.velocity.max():g} m/s and order "
            f"{space_order} it is at most {longest:.4g} s",
            "leave time_step out, or take a coarser grid",
        )
    if (frequency is None) == (terms.wavelet is None):
        raise UsageError("a shot has a frequency or a wavelet", "write frequency=15.0")
    form = ricker(frequency) if frequency is not None else terms.wavelet
    if not callable(form):
        raise UsageError(f"a wavelet is a function of times, got {terms.wavelet!r:.60}")
    if frequency is not None:
        _warn_if_short(model, frequency)
    every = whole_number(terms.every, "every", 1, 2**31 - 1)
    steps = whole_number(math.ceil(time / step - 1e-9), "the steps of a shot, its time over a time step,", 0, 2**31 - 1)
    sides = _with_frequency(sides_of(terms.layers, model.velocity.ndim), frequency)
    _check_free(model, sides, space_order)
    scheme = Scheme(model=model, sides=sides, step=step, order=space_order, dtype=dtype)
    values = np.asarray(form(step * np.arange(steps, dtype=np.float64)), dtype=np.float64)
    if values.shape != (steps,):
        raise ArrayError(f"a wavelet gives one value per time ({steps}), got the shape {format_shape(values.shape)}")
    sources = scheme.sources(_places(source, model, "source"), values, terms.interpolation)
    recorders = scheme.receivers(_places(receivers, model, "receivers"), terms.interpolation, every)
    return Setup(scheme=scheme, steps=steps, sources=sources, receivers=recorders)


def _check_free(model: Model, sides: tuple[tuple[Side, Side], ...], space_order: int) -> None:
    """Refuse free surfaces where a staggered grid has none, and beneath which there is no room for images."""
    for axis, (below, above) in enumerate(sides):
        staggered = model.shear is not None or model.density is not None
        if isinstance(above, FreeSurface) and staggered:
            raise UsageError(
                "a model of varying density, or an elastic one, has a free surface before the first cells of an axis, "
                f"got one behind the last ones of axis {axis}",
                "turn the model around",
            )
        if FREE in (below, above) and model.velocity.shape[axis] <= space_order // 2:
            raise UsageError(
                f"a free surface needs more than {space_order // 2} cells along axis {axis}, got "
                f"{model.velocity.shape[axis]}"
            )


def _with_frequency(sides: tuple[tuple[Side, Side], ...], frequency: float | None) -> tuple[tuple[Side, Side], ...]:
    def given(side: Side) -> Side:
        return replace(side, frequency=frequency) if isinstance(side, CPML) and side.frequency is None else side

    return tuple((given(low), given(high)) for low, high in sides)


def _warn_if_short(model: Model, frequency: float) -> None:
    # 99 % of a Ricker wavelet's energy, of density f^4 exp(-2 (f / frequency)^2), lies below 1.94 times its frequency,
    # and a grid holds no waves shorter than two cells.
    slowest = model.velocity if model.shear is None else np.where(model.shear > 0, model.shear, model.velocity)
    speed, cell = float(slowest.min()), max(model.spacing)
    length = speed / frequency
    if length < _SHORTEST * cell:
        warn(
            f"waves of {frequency:g} Hz are {length:.3g} m long where they are slowest ({speed:g} m/s), which is "
            f"{length / cell:.2g} cells: the grid does not carry them (hint: take a frequency of at most "
            f"{speed / (_SHORTEST * cell):.3g} Hz, or cells of at most {length / _SHORTEST:.3g} m)"
        )


def _places(value: Any, model: Model, name: str) -> Floats:  # noqa: ANN401
    """Return coordinates in cells of the model; shape (n, rank)."""
    rank = model.velocity.ndim
    try:
        points = np.asarray(value)
    except (TypeError, ValueError):
        points = np.empty(0)
    if points.ndim == 1 and rank in {1, len(points)}:
        points = points.reshape(-1, rank)
    if points.ndim != 2 or points.shape[1] != rank or not len(points) or points.dtype.kind not in "biuf":
        raise ArrayError(f"{name}: coordinates have the shape (n, {rank}), got {value!r:.60}", "in metres, depth first")
    if not np.isfinite(points).all():
        raise ArrayError(f"{name}: coordinates are finite, got some that are not")
    cells, ends = in_cells(points, model.spacing), np.array(model.velocity.shape) - 1
    lost = np.flatnonzero(((cells < 0) | (cells > ends)).any(axis=1))
    if len(lost):
        size = " x ".join(f"{end:g}" for end in ends * model.spacing)
        raise UsageError(
            f"{name}: point {lost[0]} at {tuple(points[lost[0]].tolist())} m lies outside the model, {size} m"
        )
    return cells


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    """A model with layers around it, and the program that computes waves there."""

    model: Model
    sides: tuple[tuple[Side, Side], ...]
    step: float
    order: int
    dtype: str

    @property
    def around(self) -> tuple[tuple[int, int], ...]:
        """Cells of the layers below and above the model, per axis."""
        widths = [[0 if side is None else side.width for side in pair] for pair in self.sides]
        return tuple((low, high) for low, high in widths)

    @property
    def damped(self) -> bool:
        """Whether there is a sponge at any side."""
        return any(isinstance(side, Sponge) for pair in self.sides for side in pair)

    @property
    def absorbed(self) -> dict[int, tuple[int, int]]:
        """Cells of the layers that have memories, below and above by axis."""
        widths = [[side.width if isinstance(side, CPML) else 0 for side in pair] for pair in self.sides]
        return {axis: (low, high) for axis, (low, high) in enumerate(widths) if low or high}

    @property
    def free(self) -> tuple[tuple[int, int], ...]:
        """Sides with a free surface: axis and 0 or 1, below or above."""
        sides = [(axis, side) for axis in range(len(self.sides)) for side in (0, 1)]
        return tuple((axis, side) for axis, side in sides if isinstance(self.sides[axis][side], FreeSurface))

    @property
    def equation(self) -> WaveEquation:
        """What computes a step, and its boundaries at free surfaces."""
        model = self.model
        kind = "elastic" if model.shear is not None else "pressure" if model.density is not None else "acoustic"
        return wave_equation(
            kind, model.spacing, self.order, damped=self.damped, absorbed=self.absorbed, free=self.free
        )

    @property
    def program(self) -> Program:
        """What computes a step."""
        return self.equation.program

    def boundary(self) -> Any:  # noqa: ANN401
        """Values beyond the grid are 0; behind a sponge cells at the end may as well stay 0, which is cheaper."""
        plain = tuple(
            tuple("fixed" if isinstance(side, Sponge) else "constant" for side in pair) for pair in self.sides
        )
        return self.equation.boundaries(plain) if self.free else plain

    def padded(self, values: Floats) -> Floats:
        """Return values of the model's cells with the outermost ones repeated in the layers."""
        return np.pad(values, self.around, mode="edge")

    def arrays(self) -> list[Any]:
        """The fields at rest, and the coefficients."""
        model, dt = self.model, self.step
        speed = self.padded(model.velocity)
        rank, names = speed.ndim, AXES[speed.ndim]
        rest = np.zeros(speed.shape, numpy_type(self.dtype))
        taper = [taper_of(self.sides, speed.shape)] if self.damped else []
        parts = dict(self.program.subdomains)
        fields = [
            np.zeros(parts[field].shape(rest.shape), rest.dtype) if field in parts else rest
            for field in self.program.updated[1:]
        ]
        if model.shear is None and model.density is None:
            return [(rest, rest), *fields, *self._typed([(speed * dt) ** 2, *taper])]
        density = self.padded(np.ones_like(model.velocity) if model.density is None else model.density)
        light = [dt / _between(density, (axis,)) for axis in range(rank)]
        if model.shear is None:
            return [rest, *fields, *self._typed([*light, dt * density * speed**2, *taper])]
        stiff = density * self.padded(model.shear) ** 2
        with np.errstate(divide="ignore"):
            shears = [
                dt / _between(1.0 / stiff, (low, high)) for low in range(rank) for high in range(low + 1, len(names))
            ]
        first = density * speed**2 - 2.0 * stiff
        return [rest, *fields, *self._typed([*light, dt * first, 2.0 * dt * stiff, *shears, *taper])]

    def profiles(self) -> dict[str, Any]:
        """Decays and gains along absorbed axes, of memories at the cells and between them, by name."""
        model, equation, table = self.model, self.equation, dict[str, Any]()
        for axis in self.absorbed:
            extent = sum(self.around[axis]) + model.velocity.shape[axis]
            lines = [
                line
                for shift in (0.0, equation.between)
                for line in memory_along(
                    self.sides[axis], extent, model.spacing[axis], float(model.velocity.max()), self.step, shift=shift
                )
            ]
            names = absorption_profiles(AXES[model.velocity.ndim][axis])
            table |= {name: line for name, line in zip(names, lines, strict=True) if name in equation.program.profiles}
        return table

    def _typed(self, arrays: Sequence[Floats]) -> list[Array]:
        return [array.astype(numpy_type(self.dtype)) for array in arrays]

    def _shifted(self, points: Floats, field: str = "") -> Floats:
        """Places in cells of the padded grid, as a field counts them."""
        shift = np.array([low for low, _ in self.around], dtype=np.float64)
        if field.startswith("v"):
            shift[AXES[self.model.velocity.ndim].index(field[1:])] -= 0.5
        ends = [low + n + high - 1 for n, (low, high) in zip(self.model.velocity.shape, self.around, strict=True)]
        return np.clip(points + shift, 0, ends)

    def sources(self, points: Floats, values: Floats, interpolation: str) -> dict[str, Points]:
        """Return the sources at places in cells of the model, by field."""
        volume = math.prod(self.model.spacing)
        where = self._shifted(points)
        if self.model.shear is None and self.model.density is None:
            return {"u": Points(where, values / volume, interpolation=interpolation, scale="m")}
        summed = np.cumsum(values) * self.step / volume
        if self.model.shear is None:
            squares = self.padded(self.model.velocity) ** 2 * self.step
            return {"p": Points(where, summed, interpolation=interpolation, scale=squares)}
        moment = Points(where, values * self.step / volume, interpolation=interpolation)
        return {f"s{a}{a}": moment for a in AXES[self.model.velocity.ndim]}

    def receivers(self, points: Floats, interpolation: str, every: int) -> dict[str, Points]:
        """Return the receivers at places in cells of the model, by field."""
        if self.model.shear is not None:
            fields = [f"v{a}" for a in AXES[self.model.velocity.ndim]]
        else:
            fields = ["u" if self.model.density is None else "p"]
        return {f: Points(self._shifted(points, f), interpolation=interpolation, every=every) for f in fields}


def _between(values: Floats, axes: Sequence[int]) -> Floats:
    """Means of neighbours, half a cell further along some axes."""
    for axis in axes:
        last = np.take(values, [-1], axis=axis)
        after = np.concatenate([np.delete(values, 0, axis=axis), last], axis=axis)
        values = 0.5 * (values + after)
    return values
