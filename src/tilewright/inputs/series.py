"""Runs that write their states to a file as they go, and what such a file holds: zarr, HDF5, VTK's image data."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.documents import today, version
from tilewright.base.errors import ArrayError, UsageError, needed, told
from tilewright.base.paths import as_path
from tilewright.base.units import whole_number
from tilewright.inputs.arrays import as_array
from tilewright.programs.stencil.printing import describe
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.formats import series
from tilewright.runtime.memory import Array
from tilewright.runtime.simulation import Callback

_DIMS = ("w", "z", "y", "x")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Results:
    """States that a run wrote, as :func:`load` reads them.

    Attributes:
        path: The file.
        steps: Steps done at every record, the start among them; shape (records,).
        fields: Names of the program's fields, in their order.
        values: By name (``u``, ``u_prev``), the records along the first axis.
        constant: Fields that no step changes, by name.
        dims: Names of the grid's axes.
        coords: Coordinates along them, where there are any.
        attrs: What was computed: ``program``, ``boundary``, ``scalars``, ``made_by``, ``date``.
    """

    path: Path
    steps: Array
    fields: tuple[str, ...]
    values: Mapping[str, Any]
    constant: Mapping[str, Array]
    dims: tuple[str, ...]
    coords: Mapping[str, Array]
    attrs: Mapping[str, Any]

    @property
    def state(self) -> tuple[Any, ...]:
        """The last record as a run takes it: per field an array, or a tuple of its time levels, newest first."""
        return self.at(len(self.steps) - 1)

    def at(self, record: int) -> tuple[Any, ...]:
        """Return a record as a run takes it.

        Raises:
            ArrayError: If it cannot be read.
            UsageError: If there is no such record.
        """
        count = len(self.steps)
        record = whole_number(record, "a record", -count, count - 1) % count
        fields = []
        for field in self.fields:
            with told(f"record {record} of {str(self.path)!r} cannot be read"):
                levels = [np.asarray(self.values[name][record]) for name in _names(field) if name in self.values]
            levels = levels or [np.asarray(self.constant[field])]
            fields.append(tuple(levels) if len(levels) > 1 else levels[0])
        return tuple(fields)

    def to_xarray(self) -> Any:  # noqa: ANN401
        """Return an ``xarray.Dataset``: a variable per field and time level, along ``step`` and the grid's axes.

        Raises:
            UsageError: If xarray is not installed.
        """
        with needed("xarray", "to_xarray"):
            import xarray

        records = {
            name: ((series.STEP, *self.dims), np.asarray(each[: len(self.steps)])) for name, each in self.values.items()
        }
        constant = {name: (self.dims, each) for name, each in self.constant.items()}
        coords = {series.STEP: self.steps, **self.coords}
        return xarray.Dataset({**records, **constant}, coords=coords, attrs=dict(self.attrs))

    def __repr__(self) -> str:
        names = ", ".join((*self.values, *self.constant))
        return f"{self.path.name}: {names}; {len(self.steps)} records to step {self.steps[-1]}"


def load(path: str | os.PathLike[str]) -> Results:
    """Read the states that a run wrote with ``out=``: a ``.zarr`` or an ``.h5`` file.

    ``tw.run(program, *tw.load("u.zarr").state, steps=n)`` goes on from the last of them.

    Args:
        path: The file.

    Raises:
        ArrayError: If there is none, or no run wrote it.
        UsageError: If its ending is another, or the library that reads it is not installed.

    Examples:
        >>> import tempfile
        >>> import numpy as np
        >>> from tilewright.verbs.running.run import run
        >>> path = tempfile.mkdtemp() + "/u.zarr"
        >>> _ = run("wave2d", np.zeros((8, 9)), steps=6, out=path, every=2)
        >>> load(path)
        u.zarr: u, u_prev; 4 records to step 6
    """
    place = as_path(path, "a series of states")
    if not series.is_series(place):
        raise UsageError(f"results end in {', '.join(series.ENDINGS)}, got {place.name!r}")
    saved = series.read(place)
    attrs = dict(saved.layout.attrs)
    fields = attrs.pop("fields", None)
    names = {*saved.values, *saved.layout.constant}
    if not isinstance(fields, str) or not fields.split() or not names.issuperset(fields.split()):
        raise ArrayError(f"{str(place)!r} is no series that a run wrote: it names no fields that it holds")
    return Results(
        path=place,
        steps=saved.steps,
        fields=tuple(fields.split()),
        values=saved.values,
        constant=saved.layout.constant,
        dims=saved.layout.dims,
        coords=saved.layout.coords,
        attrs=attrs,
    )


class Recorder:
    """Writes the states of a run."""

    def __init__(
        self,
        path: Path,
        program: Program,
        *,
        dims: Sequence[str] = (),  # names of the grid's axes, the last of w, z, y, x by default
        coords: Mapping[str, Array] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        series.check_series(path)
        reserved = {*program.fields, *(name for field in program.updated for name in _names(field))}
        plain = dims or _DIMS[-program.rank :]
        renamed = {name: f"{name}_axis" if name in reserved else name for name in plain}
        self._dims = tuple(renamed.values())
        self._coords = {renamed[name]: values for name, values in (coords or {}).items()}
        self._path, self._program, self._attrs = path, program, dict(attrs or {})
        self._series: series.Series | None = None
        self.last: int | None = None

    def go_on(self, step: int) -> None:
        """Append to what is there, of which the last record is of some step."""
        self._series, self.last = series.open_to_append(self._path), step

    def write(self, step: int, state: Mapping[str, Sequence[Array]]) -> None:
        """Write a record; levels come newest first, and those that no step updates are written once."""
        values = {
            name: level
            for field in self._program.updated
            for name, level in zip(level_names(self._program, field), state[field], strict=True)
        }
        if self._series is None:
            constant = {field: state[field][0] for field in self._program.fields if field not in self._program.updated}
            layout = series.Layout(
                dims=self._dims,
                coords=self._coords,
                constant=constant,
                attrs={
                    "program": describe(self._program),
                    "fields": " ".join(self._program.fields),
                    **self._attrs,
                    "made_by": f"tilewright {version()}",
                    "date": today(),
                },
            )
            self._series = series.create(self._path, layout, step, values)
        else:
            self._series.append(step, values)
        self.last = step

    def looking(self, callback: Callback | None, start: int, *, levels: bool) -> Callback:
        """Return a callback that writes every time level and calls another one, which gets them with ``levels``."""
        updated = self._program.updated

        def look(step: int, views: Any) -> Any:  # noqa: ANN401
            each = views if len(updated) > 1 else (views,)
            state = {
                field: view if isinstance(view, tuple) else (view,) for field, view in zip(updated, each, strict=True)
            }
            self.write(start + step, {**self.constant, **state})
            if callback is None:
                return None
            newest = tuple(levels_[0] for levels_ in state.values())
            return callback(start + step, views if levels else newest[0] if len(newest) == 1 else newest)

        return look

    constant: Mapping[str, Sequence[Array]] = {}
    """Fields that no step updates."""


def attributes(problem: Problem, scalars: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a file says of a run's circumstances."""
    sides = {
        field: ", ".join("/".join(map(str, pair)) for pair in problem.sides(field)) for field in problem.program.updated
    }
    plain = {name: value for name, value in scalars.items() if isinstance(value, int | float)}
    return {
        "boundary": "; ".join(f"{field}: {text}" for field, text in sides.items()),
        "scalars": ", ".join(f"{name}={value!r}" for name, value in plain.items()),
    }


def labels(array: Any) -> tuple[tuple[str, ...], dict[str, Array]]:  # noqa: ANN401
    """Return the dimensions and the coordinates of an array of xarray's; none of others."""
    dims, coords = getattr(array, "dims", None), getattr(array, "coords", None)
    if not isinstance(dims, tuple) or coords is None:
        return (), {}
    names = tuple(map(str, dims))
    along = {str(name): as_array(coords[name], str(name)) for name in dims if name in coords and coords[name].ndim == 1}
    return names, {name: values for name, values in along.items() if values.dtype.kind in "iuf"}


def states(program: Program, versions: Mapping[str, Sequence[Any]], dtype: Any) -> dict[str, tuple[Array, ...]]:  # noqa: ANN401
    """Return every field's time levels as a run starts from them: missing ones repeat the oldest."""
    by_field = {}
    for field in program.fields:
        levels = [np.asarray(as_array(each, field), dtype) for each in versions[field]]
        missing = program.history(field) - len(levels) if field in program.updated else 0
        by_field[field] = (*levels, *(levels[-1],) * missing)
    return by_field


def _names(field: str) -> tuple[str, ...]:
    return (field, f"{field}_prev", f"{field}_prev2")


def level_names(program: Program, field: str) -> tuple[str, ...]:
    """Return the names of a field's time levels in a file, newest first.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> level_names(program("wave2d"), "u")
    ('u', 'u_prev')
    """
    return tuple(field + ("", "_prev", "_prev2")[age] for age in range(program.history(field)))
