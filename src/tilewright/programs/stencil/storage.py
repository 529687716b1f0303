"""Where a run has its fields' versions and cells, beside the problem: what is computed does not depend on it.

Fields that live at the ends of an axis alone are what absorbing layers remember. Outside its subdomain such a field is
0 and stays 0, which its statement says. A run keeps the cells of the subdomain only, as a ``Function`` on a
``SubDomain`` of Devito's has them (M. Louboutin et al., "Devito (v3.1.0): an embedded domain-specific language for
finite differences and geophysical exploration", Geoscientific Model Development 12 (2019), 1165-1187).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.units import format_shape
from tilewright.programs.stencil.expression import Inside, Value, apply

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Subdomain:
    """Cells at both ends of an axis."""

    axis: int
    low: int  # cells from its first one on
    high: int  # cells up to its last one

    def __post_init__(self) -> None:
        if min(self.low, self.high) < 0 or not self.low + self.high:
            raise UsageError(f"a subdomain has cells at an end of its axis, got {self.low} and {self.high}")

    def extent(self, whole: int) -> int:
        """Return the cells that it has of an axis of so many.

        >>> Subdomain(0, 20, 21).extent(300), Subdomain(0, 20, 21).extent(30)
        (41, 30)
        """
        return min(whole, self.low + self.high)

    def shape(self, whole: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a field that lives there."""
        return tuple(self.extent(n) if axis == self.axis else n for axis, n in enumerate(whole))

    def parts(self, whole: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """Return the cells of a grid at both ends; in an array of :meth:`shape` they lie one after the other."""
        n, axis = whole[self.axis], self.axis
        low = min(self.low, n)
        spans = slice(0, low), slice(max(low, n - self.high), n)
        low_end, high_end = (
            tuple(span if each == axis else slice(None) for each in range(len(whole))) for span in spans
        )
        return low_end, high_end

    def held(self, value: Value) -> Value:
        """Return a value where it is inside, and 0 elsewhere."""
        ends = [Value(Inside(self.axis, 0, self.low))] if self.low else []
        ends += [Value(Inside(self.axis, -self.high, None))] if self.high else []
        return apply("where", ends[0] if len(ends) == 1 else ends[0] | ends[1], value, 0)

    def cut(self, array: Array) -> Array:
        """Return what an array of the whole grid has there."""
        return np.concatenate([array[part] for part in self.parts(array.shape)], axis=self.axis)

    def spread(self, array: Array, whole: tuple[int, ...]) -> Array:
        """Return an array of a whole grid that is 0 elsewhere."""
        result = np.zeros(whole, array.dtype)
        self.fill(result, array)
        return result

    def fill(self, whole: Array, array: Array) -> None:
        """Put an array of the subdomain where it belongs in one of a grid."""
        low_end, high_end = self.parts(whole.shape)
        first = low_end[self.axis].stop
        turned = np.moveaxis(array, self.axis, 0)
        np.moveaxis(whole[low_end], self.axis, 0)[...] = turned[:first]
        np.moveaxis(whole[high_end], self.axis, 0)[...] = turned[first:]

    def check(self, array: Array, whole: tuple[int, ...], field: str) -> None:
        """Refuse an array that has not the subdomain's shape."""
        if array.shape != self.shape(whole):
            raise ArrayError(
                f"{field!r} lives in {self.low} and {self.high} cells at the ends of axis {self.axis}, so its array "
                f"has the shape {format_shape(self.shape(whole))}, got {format_shape(array.shape) or '()'}"
            )


Subdomains = tuple[tuple[str, Subdomain], ...]  # fields that live at the ends of an axis alone, and where


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """What is in memory where that is not the versions that steps need, of all cells."""

    # versions of updated fields, where more than the steps need: after a run of fewer steps every state is there
    kept: int = 0
    series: tuple[str, ...] = ()  # fields that no statement updates, with a version per step
    subdomains: Subdomains = ()  # updated fields whose arrays have the cells of their subdomains alone

    @property
    def states(self) -> bool:
        """Whether the states of all steps are kept or read."""
        return bool(self.kept or self.series)

    def shape(self, field: str, grid: tuple[int, ...]) -> tuple[int, ...]:
        """Shape of a field's arrays: the grid's but in subdomains."""
        part = dict(self.subdomains).get(field)
        return grid if part is None else part.shape(grid)


PLAIN = Storage()  # the versions that steps need, of all cells
