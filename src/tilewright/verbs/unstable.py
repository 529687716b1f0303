"""Schemes past their stability limit are warned of before they run, are tuned or are predicted."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.base.fingerprint import digest
from tilewright.programs.stencil import stability
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.reference import Array
from tilewright.runtime.warn import warn_once

_STABLE: dict[tuple[Any, ...], Program] = {}
"""Programs, with their scalars' values and their coefficients' extremes, that are known to be stable: hashing a program
takes as long as a small run."""
_MOST_STABLE = 256
_SAMPLED = 2**15  # cells of a coefficient array that are looked at, at most
_MOST_CELLS = 24
_MOST_MEASURED = 3
_AROUND = {1: (32, 128), 2: (10, 30), 3: (4, 8), 4: (2, 3)}
"""Cells on each side of a cell, by rank, in which a wave must grow that its coefficients let grow: few, or more."""
_STEPS = (120, 240)
_LEAST_RATIO = 3.2  # what does not grow shakes by less in the second half of so many steps


def warn_if_unstable(
    problem: Problem, scalars: Mapping[str, Any], versions: Mapping[str, Sequence[Any]] | None = None
) -> None:
    """Warn, once, if a run is past the stability limit of its scheme, where that can be derived.

    Where coefficients vary from cell to cell, the cells are looked at where one of them is extreme, or the product or
    the quotient of two, as if their coefficients were those of the whole grid. A wave that grows then must grow as well
    in the cells around that cell as they are, or around the middle of the cells like it.
    """
    program = problem.program
    if problem.steps < stability.FEWEST_STEPS or not problem.rounds:
        return
    varying = {name: scalars[name] for name in problem.varying if np.shape(scalars.get(name, 0)) == (problem.steps,)}
    scalars = {name: value for name, value in scalars.items() if not np.ndim(value)}
    arrays = {} if versions is None else _coefficients(problem, versions)
    cells = _extreme_cells(arrays)
    values = [_values(arrays, cell) for cell in cells]
    key = (id(program), *scalars.values(), *values, *(np.asarray(each).tobytes() for each in varying.values()))
    if _STABLE.get(key) is program:
        return
    numbers = tuple(scalars.items())
    if cells:
        alone = [(stability.growth(program, numbers, each), cell) for each, cell in zip(values, cells, strict=True)]
        grown = sorted(((wave.factor, cell) for wave, cell in alone if wave is not None), reverse=True)
        # Whether a wave grows as well among the cells around depends on all of them.
        key = (*key, *(digest(_sample(array).tobytes()) for array in arrays.values())) if grown else key
        if _STABLE.get(key) is program:
            return
        waves = [near for _, cell in grown[:_MOST_MEASURED] for near in _growth_near(problem, scalars, arrays, cell)]
    else:
        wave = stability.growth(program, numbers)
        if wave is None and varying:
            wave = stability.growth_in_time(program, numbers, varying)
        waves = [] if wave is None else [(wave, "")]
    for wave, where in waves:
        text = stability.advice(program, wave, problem.steps, where)
        if text:
            warn_once(text)
            return
    if not waves:
        if len(_STABLE) >= _MOST_STABLE:
            _STABLE.clear()
        _STABLE[key] = program


def _values(arrays: Mapping[str, Array], cell: tuple[int, ...]) -> stability.Numbers:
    return tuple((field, array[cell].item()) for field, array in arrays.items())


def _coefficients(problem: Problem, versions: Mapping[str, Sequence[Any]]) -> dict[str, Array]:
    """Return the arrays of the fields that no statement updates; none where what stands for them is not in memory."""
    program = problem.program
    fields = [field for field in program.fields if field not in program.updated]
    arrays = {field: versions[field][0] for field in fields}
    usable = all(isinstance(each, np.ndarray) and each.shape == problem.shape for each in arrays.values())
    return arrays if usable and not problem.varying and not program.analysis.sweep else {}


def _extreme_cells(arrays: Mapping[str, Array]) -> list[tuple[int, ...]]:
    """Return the cells at which an array, or two arrays' product or quotient, is extreme, of a sample of the cells."""
    samples = [_sample(array).astype(np.float64) for array in arrays.values() if array.dtype.kind != "c"]
    cells: dict[tuple[int, ...], None] = {}
    with np.errstate(all="ignore"):
        pairs = ((a * b, a / b) for a, b in itertools.combinations(samples, 2))
        for sample in itertools.chain(samples, itertools.chain.from_iterable(pairs)):
            finite = np.isfinite(sample)
            data = sample if finite.all() else np.where(finite, sample, sample[finite].mean() if finite.any() else 0.0)
            stride = _stride(next(iter(arrays.values())))
            for place in (int(data.argmin()), int(data.argmax())):
                cells[tuple(stride * int(i) for i in np.unravel_index(place, data.shape))] = None
            if len(cells) >= _MOST_CELLS:
                break
    return list(cells)


def _stride(array: Array) -> int:
    stride: float = (array.size / _SAMPLED) ** (1 / array.ndim)
    return math.ceil(stride)


def _sample(array: Array) -> Array:
    sample: Array = array[(slice(None, None, _stride(array)),) * array.ndim]
    return sample


def _growth_near(
    problem: Problem, scalars: Mapping[str, Any], arrays: Mapping[str, Array], cell: tuple[int, ...]
) -> list[tuple[stability.GrowingWave, str]]:
    """Return the wave that grows around a cell, or around the middle of the cells like it, and where; or nothing."""
    rank = problem.program.rank
    sizes = list(zip(_AROUND[rank], _STEPS, strict=True))
    for around, steps, at in dict.fromkeys((n, s, at) for n, s in sizes for at in (cell, _centre(arrays, cell, n))):
        wave = stability.growth(problem.program, tuple(scalars.items()), _values(arrays, at))
        factor = 0.0 if wave is None else _growth_around(problem, scalars, arrays, at, around, steps)
        if wave is not None and factor ** (steps / 2) > _LEAST_RATIO:
            return [(replace(wave, factor=factor), f" near the cell {at}")]
    return []


def _centre(arrays: Mapping[str, Array], cell: tuple[int, ...], around: int) -> tuple[int, ...]:
    """Return the cell of the sample that has the most cells around whose coefficients are like a cell's."""
    like: Array = np.zeros(())
    for array in arrays.values():
        sample = _sample(array)
        distance = np.abs(sample - array[cell])
        like = like - distance / (distance.max() or 1.0)
    like = like - like.min() + 1.0
    stride = _stride(array)
    width = max(1, around // stride)
    for axis in range(like.ndim):
        edges = [(width + 1, width) if each == axis else (0, 0) for each in range(like.ndim)]
        total = np.moveaxis(np.cumsum(np.pad(like, edges), axis=axis), axis, 0)
        like = np.moveaxis(total[2 * width + 1 :] - total[: -2 * width - 1], 0, axis)
    return tuple(stride * int(i) for i in np.unravel_index(int(like.argmax()), like.shape))


def _growth_around(
    problem: Problem,
    scalars: Mapping[str, Any],
    arrays: Mapping[str, Array],
    cell: tuple[int, ...],
    around: int,
    steps: int,
) -> float:
    """Return the factor per step by which a disturbance grows in the cells around one, so far on each side."""
    program = problem.program
    box = tuple(slice(max(0, i - around), i + around + 1) for i in cell)
    part = {field: np.array(array[box], np.float64) for field, array in arrays.items()}
    sides = {field: "constant" if field in program.updated else "nearest" for field in program.fields}
    small = make_problem(program, next(iter(part.values())).shape, steps, "float64", sides)
    return stability.measured_growth(small, part, scalars)
