"""Schemes past their stability limit are warned of before they run, are tuned or are predicted."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.programs.stencil import stability
from tilewright.programs.stencil.dependences import analyse
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.reference import Array
from tilewright.runtime.warn import warn_once

_STABLE: dict[tuple[Any, ...], Program] = {}
"""Programs, with their scalars' values and their coefficients' extremes, that are known to be stable: hashing a program
takes as long as a small run."""
_MOST_STABLE = 256
_SAMPLED = 2**16
"""Cells of a coefficient array that are looked at."""
_AROUND = {1: 32, 2: 10, 3: 4, 4: 2}
"""Cells on each side of a cell, by rank, in which a wave must grow that its coefficients let grow."""
_STEPS = 120
_LEAST_FACTOR = 1.02
"""What does not grow shakes by less in so many steps."""


def warn_if_unstable(
    problem: Problem, scalars: Mapping[str, Any], versions: Mapping[str, Sequence[Any]] | None = None
) -> None:
    """Warn, once, if a run is past the stability limit of its scheme, where that can be derived.

    Where coefficients vary from cell to cell, the cells at which one of them is extreme are looked at, as if their
    coefficients were those of the whole grid; a wave that grows then must grow in the cells around it as they are, too.

    Args:
        problem: The problem.
        scalars: Values of the program's scalars, as far as they are known.
        versions: The arrays of its fields, where they are in memory.
    """
    program = problem.program
    scalars = {name: value for name, value in scalars.items() if not np.ndim(value)}
    arrays = {} if versions is None or problem.steps < stability.FEWEST_STEPS else _coefficients(problem, versions)
    cells = _extreme_cells(arrays)
    values = [tuple((field, array[cell].item()) for field, array in arrays.items()) for cell in cells]
    key = (id(program), *scalars.values(), *values)
    if _STABLE.get(key) is program or not problem.rounds:
        return
    numbers = tuple(scalars.items())
    waves: list[tuple[stability.GrowingWave | None, tuple[int, ...] | None]] = [
        (stability.growth(program, numbers, each), cell) for each, cell in zip(values, cells, strict=True)
    ] or [(stability.growth(program, numbers), None)]
    grown = False
    for wave, cell in waves:
        found = wave if wave is None or cell is None else _there(problem, scalars, arrays, wave, cell)
        grown = grown or found is not None
        text = stability.advice(program, found, problem.steps, "" if cell is None else f" near the cell {cell}")
        if text:
            warn_once(text)
            return
    if not grown:
        if len(_STABLE) >= _MOST_STABLE:
            _STABLE.clear()
        _STABLE[key] = program


def _coefficients(problem: Problem, versions: Mapping[str, Sequence[Any]]) -> dict[str, Array]:
    """Return the arrays of the fields that no statement updates; none where what stands for them is not in memory."""
    program = problem.program
    fields = [field for field in program.fields if field not in program.updated]
    arrays = {field: versions[field][0] for field in fields}
    usable = all(isinstance(each, np.ndarray) and each.shape == problem.shape for each in arrays.values())
    return arrays if usable and not problem.varying and not analyse(program).sweep else {}


def _extreme_cells(arrays: Mapping[str, Array]) -> list[tuple[int, ...]]:
    """Return the cells at which an array is least and largest, of a sample of its cells."""
    cells: dict[tuple[int, ...], None] = {}
    for array in arrays.values():
        stride = max(1, round((array.size / _SAMPLED) ** (1 / array.ndim)))
        sample = array[(slice(None, None, stride),) * array.ndim]
        for place in () if sample.dtype.kind == "c" else (int(sample.argmin()), int(sample.argmax())):
            cells[tuple(stride * int(i) for i in np.unravel_index(place, sample.shape))] = None
    return list(cells)


def _there(
    problem: Problem,
    scalars: Mapping[str, Any],
    arrays: Mapping[str, Array],
    wave: stability.GrowingWave,
    cell: tuple[int, ...],
) -> stability.GrowingWave | None:
    """Return a wave with the factor by which it grows in the cells around one, or None if it does not."""
    program, around = problem.program, _AROUND[problem.program.rank]
    box = tuple(slice(max(0, i - around), i + around + 1) for i in cell)
    part = {field: np.array(array[box], np.float64) for field, array in arrays.items()}
    sides = {field: "constant" if field in program.updated else "nearest" for field in program.fields}
    small = make_problem(program, next(iter(part.values())).shape, _STEPS, "float64", sides)
    factor = stability.measured_growth(small, part, scalars)
    return replace(wave, factor=factor) if factor > _LEAST_FACTOR else None
