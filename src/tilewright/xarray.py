"""The accessor ``DataArray.tw`` of xarray, which ``import tilewright.xarray`` registers.

``da.tw.run(heat, steps=100, dims=("y", "x"), boundary={"x": "wrap"})`` names axes where :func:`tilewright.run` counts
them. Coordinates, attributes and the order of dimensions are kept.
"""

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np

from tilewright.base.errors import ArrayError, UsageError, needed
from tilewright.inputs.stencil import ProgramLike, as_program
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.verbs.running.record import Run
from tilewright.verbs.running.run import run

with needed("xarray", "tilewright.xarray"):
    import xarray


@xarray.register_dataarray_accessor("tw")  # type: ignore[no-untyped-call]
class Accessor:
    """Programs on a ``DataArray``."""

    def __init__(self, array: xarray.DataArray) -> None:
        self._array = array

    def run(
        self,
        program: ProgramLike,
        *others: Any,  # noqa: ANN401
        steps: int,
        dims: Sequence[str] | None = None,
        boundary: BoundarySpec = "fixed",
        where: Any = None,  # noqa: ANN401
        **options: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401
        """Run a program for a number of steps; see :func:`tilewright.run`.

        Args:
            program: A stencil, a function, a program, or the name of a built-in one; this array is its first field.
            *others: The other fields, in field order. Each ``DataArray`` among them has the same dimensions, in any
                order, or those of ``dims`` alone, and the same coordinates.
            steps: Number of time steps.
            dims: The dimensions that the program's axes are, outermost first; those of this array, as they lie, by
                default. Others number the grids of a batch, as ``axes`` of :func:`tilewright.run` leaves them.
            boundary: As for :func:`tilewright.run`, or a mapping whose names are dimensions: those that it leaves out
                are ``fixed``.
            where: Truth values, a ``DataArray`` or an array that lies as ``dims`` do.
            **options: Options of :func:`tilewright.run` but ``out``, and scalars, of which a ``DataArray`` is a
                coefficient field. A ``callback`` gets NumPy views, which lie as ``dims`` do.

        Returns:
            A ``DataArray`` with the dimensions, coordinates, name and attributes of its field's, or a tuple of them.

        Raises:
            ArrayError: If dimensions or coordinates differ, or anything else does not fit.
            UsageError: If a name, an option or a scalar cannot be used.

        Examples:
            >>> import numpy, xarray, tilewright.xarray
            >>> da = xarray.DataArray(numpy.eye(4), dims=("x", "y"), coords={"x": [0.0, 0.5, 1.0, 1.5]})
            >>> da.tw.run("j2d5pt", steps=1, dims=("y", "x"), boundary={"x": "wrap"}).dims
            ('x', 'y')
        """
        rank = as_program(program).rank
        own = tuple(self._array.dims)
        order = own if dims is None else tuple(dims) if isinstance(dims, Iterable) else (dims,)
        if not all(order.count(each) == 1 and each in own for each in order):
            raise UsageError(f"dims are those of the array, {_listing(own)}, got {order!r:.60}")
        if len(order) != rank:
            hint = f"name {rank} of them: dims={own[-rank:]}" if len(order) > rank else ""
            raise ArrayError(f"the program has {rank} axes, got {len(order)} dimensions: {_listing(order)}", hint)
        if "out" in options:
            raise UsageError("the accessor returns a new array, so it takes no out=", "call tilewright.run")
        if "axes" in options:
            raise UsageError("dims say which axes are the program's, so the accessor takes no axes=")
        named = {name: self._turned(value, order, name) for name, value in options.items()}
        if len(own) > rank:
            named["axes"] = tuple(range(-rank, 0))
        arrays = [self._turned(value, order, f"array {n}") for n, value in enumerate((self._array, *others), 1)]
        mask = None if where is None else np.asarray(self._turned(where, order, "where"))
        results = run(program, *arrays, steps=steps, boundary=_of_dims(boundary, order), where=mask, **named)
        return self._back(results)

    def _turned(self, value: Any, order: tuple[Hashable, ...], name: str) -> Any:  # noqa: ANN401
        """Return a ``DataArray``, or a tuple of them, with its dimensions in an order; anything else as it is."""
        if isinstance(value, tuple):
            return tuple(self._turned(each, order, name) for each in value)
        if not isinstance(value, xarray.DataArray):
            return value
        own, extra_dims = set(value.dims), [each for each in self._array.dims if each not in order]
        full = own == {*extra_dims, *order}
        if not full and own != set(order):
            raise ArrayError(f"{name} has the dimensions {_listing(value.dims)}, not {_listing([*extra_dims, *order])}")
        try:
            xarray.align(self._array, value, join="exact", copy=False)
        except ValueError as error:
            raise ArrayError(f"{name} has other coordinates: {error}", "align the arrays: xarray.align") from None
        return value.transpose(*(extra_dims if full else ()), *order)

    def _back(self, result: Any) -> Any:  # noqa: ANN401
        """Return results with the dimensions in this array's order, wherever they stand."""
        if isinstance(result, xarray.DataArray):
            return result.transpose(*self._array.dims)
        if isinstance(result, Run):
            return dataclasses.replace(result, state=self._back(result.state), levels=self._back(result.levels))
        if isinstance(result, tuple):
            return tuple(self._back(each) for each in result)
        return result


def _listing(names: Iterable[Hashable]) -> str:
    return ", ".join(map(str, names))


def _of_dims(boundary: BoundarySpec, order: tuple[Hashable, ...]) -> BoundarySpec:
    """Return boundaries by axis, of those that are given by dimension."""
    if not isinstance(boundary, Mapping) or not set(boundary) & set(order):
        return boundary
    unknown = sorted(map(str, set(boundary) - set(order)))
    if unknown:
        raise UsageError(f"boundaries are of the dimensions {_listing(order)}, got {', '.join(unknown)} as well")
    return cast("BoundarySpec", tuple(boundary.get(cast("str", name), "fixed") for name in order))
