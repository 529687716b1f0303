"""Masks and point sources of a run: checked, and turned into fields of the program."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.api.arrays import Array, Given, as_array
from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.units import format_shape
from tilewright.programs.forcing import forced, masked
from tilewright.programs.problem import Problem
from tilewright.runtime.simulation import Forcing, Source
from tilewright.runtime.warn import warn

Cell = tuple[int, ...]
SourceList = Sequence[tuple[Any, Any]]
"""Pairs of a cell and what is added to it: a number, or one number per step."""


def with_mask(given: Given, where: Any) -> Given:  # noqa: ANN401
    """Add a mask to checked inputs: cells where it is false keep their first value.

    Raises:
        ArrayError: If it does not fit.
    """
    mask = as_array(where, "where")
    if mask.shape != given.shape:
        got = format_shape(mask.shape) or "()"
        raise ArrayError(f"the mask 'where' must have the shape {format_shape(given.shape)}, got {got}")
    if mask.dtype.kind == "c":
        raise ArrayError("the mask 'where' is an array of truth values, got complex numbers")
    program, name = masked(given.program)
    return replace(given, program=program, versions={**given.versions, name: (mask != 0,)})


def with_sources(given: Given, sources: Mapping[str, SourceList] | SourceList, steps: int) -> tuple[Given, Forcing]:
    """Add point sources to checked inputs.

    Args:
        given: Checked arrays and scalars.
        sources: A list of pairs (cell, values) for the first updated field, or one list per field by name. Values are
            a number, or one number per step.
        steps: Steps of the run.

    Returns:
        The inputs with one more field per field that has sources, holding those of step 0; and the schedule.

    Raises:
        UsageError: If a field, a cell or the number of values does not fit.
    """
    by_field = sources if isinstance(sources, Mapping) else {given.program.updated[0]: sources}
    found: list[Source] = []
    for field, entries in by_field.items():
        if field not in given.program.updated:
            known = ", ".join(given.program.updated)
            raise UsageError(f"{given.program.name!r} does not update {field!r}", f"sources are for: {known}")
        program, name = forced(given.program, field)
        summed: dict[Cell, Array] = {}
        for entry in entries:
            cell, values = _source(entry, given, steps)
            summed[cell] = summed.get(cell, 0) + values
        found += [Source(field=name, target=field, cell=cell, values=values) for cell, values in summed.items()]
        start = np.zeros(given.shape, given.dtype)
        for cell, values in summed.items():
            start[cell] = values[0] if steps else 0
        given = replace(given, program=program, versions={**given.versions, name: (start,)})
    changes = np.zeros(max(0, steps - 1), dtype=bool)
    for source in found:
        changes |= source.values[1:] != source.values[:-1]
    return given, Forcing(sources=tuple(found), steps=tuple((np.flatnonzero(changes) + 1).tolist()))


def warn_if_held(problem: Problem, forcing: Forcing) -> None:
    """Warn of sources on cells that a ``fixed`` boundary holds, where nothing is ever added.

    Args:
        problem: The problem, without or with its sources.
        forcing: The sources.
    """
    for statement in problem.program.statements:
        box = problem.update_box(statement)
        cells = [source.cell for source in forcing.sources if source.target == statement.field]
        held = [c for c in cells if not all(low <= i < high for i, (low, high) in zip(c, box, strict=True))]
        if held:
            more = f" and {len(held) - 1} more" if len(held) > 1 else ""
            inside = " x ".join(f"[{low}, {high})" for low, high in box)
            warn(
                f"the source of {statement.field!r} at the cell {held[0]}{more} adds nothing: the boundary 'fixed' "
                f"holds that cell (hint: cells of {inside} are updated, or take another boundary)"
            )


def _source(entry: Any, given: Given, steps: int) -> tuple[Cell, Array]:  # noqa: ANN401
    try:
        cell, values = entry
        place = tuple(int(i) for i in (cell if isinstance(cell, Sequence) else (cell,)))
    except (TypeError, ValueError):
        raise UsageError(f"a source is a pair of a cell and its values, got {entry!r}", "write ((8, 8), 1.0)") from None
    if len(place) != len(given.shape) or not all(0 <= i < n for i, n in zip(place, given.shape, strict=True)):
        raise UsageError(f"the source's cell {place} is not on the grid {format_shape(given.shape)}")
    numbers = as_array(values, "sources")
    if numbers.ndim == 0:
        numbers = np.full(steps, numbers[()])
    if numbers.shape != (steps,):
        raise UsageError(f"a source has one value, or one per step ({steps}), got {len(numbers)} at the cell {place}")
    if not np.can_cast(numbers.dtype, given.dtype, "same_kind"):
        raise UsageError(f"{given.dtype} fields take no source values of type {numbers.dtype}")
    return place, numbers.astype(given.dtype)
