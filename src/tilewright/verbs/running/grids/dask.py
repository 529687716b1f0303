"""Lazy runs on Dask arrays, or xarray's over them; arrays in memory are cut as the first Dask one."""

from typing import Any

import dask.array as da
import numpy as np

from tilewright.base.errors import UsageError
from tilewright.distributed import chunks
from tilewright.inputs import memo
from tilewright.programs.stencil.points import Index
from tilewright.verbs.options import refuse
from tilewright.verbs.running.grids.choice import flat, is_lazy, module_of
from tilewright.verbs.running.grids.engine import Large, state_of


class Dask(Large):
    """A lazy run, whose result describes it."""

    name = "a run on Dask arrays"

    def open(self) -> None:
        """Check the arrays."""
        refuse(self.name, self.options)
        program = self.program
        fields = [tuple(map(_lazy_array, flat((array,)))) for array in self.arrays]
        values = {
            name: _lazy_array(value)
            for name, value in self.scalars.items()
            if is_lazy(value) or (isinstance(value, np.ndarray) and value.ndim == program.rank > 1)
        }
        if any(size != size for array in flat(fields) for size in array.shape):  # noqa: PLR0124
            raise UsageError("a Dask array of a run has a known shape", "compute_chunk_sizes() finds it")
        case = self._checked(fields, values)
        levels = {**dict(zip(program.fields, fields, strict=True)), **{name: (each,) for name, each in values.items()}}
        versions = case.given.versions
        levels |= {name: (da.asarray(versions[name][0]),) for name in versions if name not in levels}
        self._levels = levels
        self._case = self._with_points(case, lambda field, cells: _values_of(levels[field][0], cells))
        self.problem = self._case.problem

    def advance(self, step: int) -> None:  # noqa: ARG002  (nothing is computed yet)
        """Describe the run as tasks."""
        first = next(each for each in flat(self.arrays) if is_lazy(each))
        computer, points = self._computer(self._case, 1), self._case.points
        self._found = chunks.run(self.problem, self._levels, _lazy_array(first).chunks, memo.host(), computer, points)

    def results(self) -> Any:  # noqa: ANN401
        """Return the described arrays, of the kinds of the caller's."""
        kinds = dict(zip(self.program.fields, self.arrays, strict=True))
        arrays = [[_like(each, flat((kinds[field],))[0]) for each in levels] for field, levels in self._found.items()]
        return state_of(arrays, deep=self.options.levels)


def _lazy_array(value: Any) -> Any:  # noqa: ANN401
    plain = value.data if module_of(value) == "xarray" else value
    return plain if module_of(plain) == "dask" else da.asarray(plain)


def _like(result: Any, original: Any) -> Any:  # noqa: ANN401
    return original.copy(deep=False, data=result) if module_of(original) == "xarray" else result


def _values_of(array: Any, cells: Index) -> Any:  # noqa: ANN401
    index = np.unravel_index(cells, array.shape)
    return array.vindex[tuple(index)].compute() if len(cells) else np.zeros(0, array.dtype)
