"""What waves run through: speeds and densities on a grid, and the longest time step that is stable there."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.arguments import checked
from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.units import format_shape
from tilewright.programs.stencil.differences import weights

Floats = npt.NDArray[np.float64]


class Model:
    """Speeds and densities in the cells of a grid.

    Attributes:
        velocity: Speed of (pressure) waves; shape of the grid; m/s.
        spacing: Distance of neighbouring cells per axis; m.
        density: Density, or None where it is the same everywhere; kg/m^3.
        shear: Speed of shear waves, or None in fluids; m/s.

    Examples:
        >>> Model(np.full((50, 60), 1500.0), spacing=5.0)
        Model(50x60 cells of 5 x 5 m, 1500 to 1500 m/s)
    """

    __slots__ = ("density", "shear", "spacing", "velocity")

    def __init__(
        self,
        velocity: Any,  # noqa: ANN401
        spacing: float | Sequence[float],
        *,
        density: Any = None,  # noqa: ANN401
        shear: Any = None,  # noqa: ANN401
    ) -> None:
        """Check a model.

        Args:
            velocity: Speed of (pressure) waves, in 1D to 3D, depth first; m/s.
            spacing: Distance of neighbouring cells: one, or one per axis; m.
            density: Density, a number or an array; kg/m^3.
            shear: Speed of shear waves, a number or an array, less than ``velocity``; m/s.

        Raises:
            ArrayError: If an array is none of positive numbers, or of another shape.
            UsageError: If the spacing is not positive.
        """
        self.velocity = _positive(velocity, "velocity", None)
        shape = self.velocity.shape
        if not 1 <= len(shape) <= 3 or not self.velocity.size:
            raise ArrayError(f"a model has 1 to 3 dimensions, got the shape {format_shape(shape) or '()'}")
        try:
            steps = np.broadcast_to(_reals(spacing), (len(shape),))
        except (TypeError, ValueError):
            steps = np.zeros(len(shape))
        if not (np.isfinite(steps) & (steps > 0)).all():
            raise UsageError(f"the spacing is positive, one or one per axis, got {spacing!r:.60}")
        self.spacing: tuple[float, ...] = tuple(steps.tolist())
        self.density = None if density is None else _positive(density, "density", shape)
        self.shear = None if shear is None else _positive(shear, "shear", shape, zero=True)
        if self.shear is not None and not (self.shear < self.velocity).all():
            raise ArrayError("shear waves are slower than pressure waves, got some that are not")

    def __repr__(self) -> str:
        cells = " x ".join(f"{each:g}" for each in self.spacing)
        speeds = f"{self.velocity.min():g} to {self.velocity.max():g} m/s"
        return f"Model({format_shape(self.velocity.shape)} cells of {cells} m, {speeds})"


def _reals(values: Any) -> Floats:  # noqa: ANN401
    """An array of real numbers; times, texts and others are none, though NumPy makes numbers of some."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        raise TypeError(array.dtype)
    return array.astype(np.float64)


def _positive(values: Any, name: str, shape: tuple[int, ...] | None, *, zero: bool = False) -> Floats:  # noqa: ANN401
    try:
        array = _reals(values)
        array = array if shape is None else np.broadcast_to(array, shape)
    except (TypeError, ValueError):
        like = "numbers" if shape is None else f"a number or an array of shape {format_shape(shape)}"
        raise ArrayError(f"the model's {name} is {like}, got {values!r:.60}") from None
    if not (np.isfinite(array) & ((array >= 0) if zero else (array > 0))).all():
        raise ArrayError(f"the model's {name} is finite and {'not negative' if zero else 'positive'} everywhere")
    return array


@checked
def longest_step(model: Model, space_order: int = 8) -> float:
    """Return the longest time step for which a model's scheme is stable.

    Waves of the shortest length that the grid holds decide: with weights w of the second derivative
    ``(dt v)^2 sum_axes(sum |w| / h^2) <= 4``, with those of a staggered first one ``(dt v)^2 sum_axes((sum |w| / h)^2)
    <= 4`` (R. Courant, K. Friedrichs and H. Lewy, Mathematische Annalen 100 (1928), 32-74; for these orders
    A. R. Levander, "Fourth-order finite-difference P-SV seismograms", Geophysics 53 (1988), 1425-1436).

    Args:
        model: The model.
        space_order: Order of the differences in space, even.

    Returns:
        The step; s.
    """
    half = check_order(space_order) // 2
    if model.density is None and model.shear is None:
        size = float(sum(map(abs, weights(range(-half, half + 1), 2))))
        total = sum(size / h**2 for h in model.spacing)
    else:
        size = float(sum(map(abs, weights(range(1 - half, half + 1), 1, 0.5))))
        total = sum((size / h) ** 2 for h in model.spacing)
    return 2.0 / (float(model.velocity.max()) * math.sqrt(total))


def check_order(space_order: int) -> int:
    """Return a checked order of differences in space."""
    whole = hasattr(space_order, "__index__") and not isinstance(space_order, bool)
    if not whole or int(space_order) not in range(2, 17, 2):
        raise UsageError(f"the space order is an even number from 2 to 16, got {space_order!r}")
    return int(space_order)
