"""Gaussian filters of any width: recursions in float64, whose time does not grow with the width.

R. Deriche, "Recursively implementing the Gaussian and its derivatives" (INRIA research report 1893, 1993): one half of
a Gaussian is, within 1e-4 of its sum, a sum of two damped oscillations, which a recursion over four values makes; the
other half is the same the other way. Both are sweeps of a program with new values. What lies outside is put around a
picture as far as it matters, where the recursions start as if the first value had always been there.
"""

import functools
import math
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.inputs.stencil import Stencil, stencil
from tilewright.programs.stencil.boundaries import Sides
from tilewright.programs.stencil.reference import pad
from tilewright.runtime.memory import check_memory
from tilewright.verbs.running.run import run

Array = npt.NDArray[Any]
_OSCILLATIONS = ((1.6800, 3.7350, 1.7830, 0.6318), (-0.6803, -0.2598, 1.7230, 1.9970))
"""Cosine, sine, damping and frequency of both, for a standard deviation of 1 (a0, a1, b0, w0; c0, c1, b1, w1)."""
_ORDER = 4
_ARRAYS = 6  # as large as a picture with what lies outside, at a time
_REACH = 5.0  # standard deviations after which nothing of a value is left


def recursions(sigma: float) -> tuple[Array, Array, Array]:
    """Return what the sweep ahead and the one back take of values, the cell's own first, and what of new ones."""
    (near, near_poles), (far, far_poles) = (
        (np.array([a, (b * math.sin(w / sigma) - a * math.cos(w / sigma)) * decay]), _poles(decay, w / sigma))
        for a, b, damping, w in _OSCILLATIONS
        for decay in (math.exp(-damping / sigma),)
    )
    poles = np.convolve(near_poles, far_poles)
    ahead = np.append(np.convolve(near, far_poles) + np.convolve(far, near_poles), 0.0)
    back = ahead - poles * ahead[0]
    both = (ahead.sum() + back.sum()) / poles.sum()
    return ahead / both, back / both, poles[1:]


def _poles(decay: float, angle: float) -> Array:
    return np.array([1.0, -2.0 * decay * math.cos(angle), decay * decay])


def smooth(values: Array, sigma: float, axis: int, sides: Sides, **options: Any) -> Array:  # noqa: ANN401
    """Blur a picture of float64, with channels as a last axis, along one axis."""
    distance = math.ceil(_REACH * sigma) + _ORDER
    check_memory(_ARRAYS * (values.size // values.shape[axis]) * (values.shape[axis] + 2 * distance) * values.itemsize)
    reach = [(distance, distance) if each == axis else (0, 0) for each in range(values.ndim)]
    wide = pad(values, reach, (*sides, sides[-1]))
    ahead, back, poles = recursions(sigma)
    total = _swept(wide, axis, ahead, poles, options)
    total += np.flip(_swept(np.flip(wide, axis), axis, back, poles, options), axis)
    return np.take(total, range(distance, distance + values.shape[axis]), axis)


def _swept(values: Array, axis: int, taken: Array, poles: Array, options: dict[str, Any]) -> Array:
    cells = np.ascontiguousarray(values)
    begin, channels = np.empty_like(cells), values.shape[-1] if axis else 1
    first, second = ((*(slice(None),) * axis, place) for place in (slice(_ORDER), slice(_ORDER, _ORDER + 1)))
    cells[first] = cells[second]
    begin[first] = cells[second] * (taken.sum() / (1.0 + poles.sum()))  # of new values these alone are read
    begin, rows = (each.reshape(len(values), -1) for each in (begin, cells))
    numbers = {f"n{k}": taken[k] for k in range(_ORDER + 1)} | {f"d{k + 1}": poles[k] for k in range(_ORDER)}
    result: Array = run(_recursion(axis, channels), begin, rows, steps=1, **numbers, **options)
    return result.reshape(values.shape)


@functools.cache
def _recursion(axis: int, channels: int) -> Stencil:
    """The program of a sweep along an axis of rows."""

    def sweep(new, given, n0, n1, n2, n3, n4, d1, d2, d3, d4):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        def behind(k: int) -> tuple[int, int]:
            return (-k, 0) if axis == 0 else (0, -k * channels)

        taken = sum((n * given[behind(k)] for k, n in enumerate((n1, n2, n3, n4), 1)), n0 * given[behind(0)])
        return taken - sum((d * new.new[behind(k)] for k, d in enumerate((d2, d3, d4), 2)), d1 * new.new[behind(1)])

    return stencil(sweep, name="recursion")
