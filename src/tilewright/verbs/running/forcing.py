"""Masks, sources and receivers of a run, checked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.base.dtypes import check_fits, is_number, is_rounded, real_whole_numbers
from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.facts import fact
from tilewright.base.units import format_shape
from tilewright.inputs.arrays import Array, Given, as_array, read_array
from tilewright.programs.stencil.expression import Apply, Const, Node, Read, Tape
from tilewright.programs.stencil.points import Index, Points, SourceList, Weights, joined, of_cells, weights
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program, Statement
from tilewright.runtime.devices.device import DeviceView
from tilewright.runtime.devices.reductions import cells_of, fetched
from tilewright.runtime.points import Look, PointData, Receivers, Sources, updated_entries
from tilewright.runtime.warn import warn

Cell = tuple[int, ...]


def with_mask(given: Given, where: Any) -> Given:  # noqa: ANN401
    """Add a mask to checked inputs: cells where it is false keep their first value."""
    on_device = any(isinstance(each, DeviceView) for versions in given.versions.values() for each in versions)
    mask = read_array(where, "where") if on_device else as_array(where, "where")
    if isinstance(mask, DeviceView):  # a mask is a field of the kernels' element type, made here once
        mask = fetched(mask)
    if mask.shape != given.shape:
        size = format_shape(mask.shape) or "()"
        raise ArrayError(f"the mask 'where' must have the shape {format_shape(given.shape)}, got {size}")
    if mask.dtype.kind == "c":
        raise ArrayError("the mask 'where' is an array of truth values, got complex numbers")
    program, name = masked(given.program)
    return replace(given, program=program, versions={**given.versions, name: (mask != 0,)})


@fact
def masked(program: Program) -> tuple[Program, str]:
    """Return a program whose cells are updated only where a further field is not zero, and that field's name.

    Before: ``u <- f``. After: ``u <- where(mask[0] != 0, f, u[0])``, for every updated field.
    """
    name = _unused_name(program, "mask")
    centre = (0,) * program.rank

    def guard(statement: Statement) -> Tape:
        last = len(statement.tape) - 1
        tail: tuple[Node, ...] = (
            Read(name, 0, centre),
            Const(0),
            Apply("ne", (last + 1, last + 2)),
            Read(statement.field, 0, centre),
            Apply("where", (last + 3, last, last + 4)),
        )
        return (*statement.tape, *tail)

    statements = tuple(replace(statement, tape=guard(statement)) for statement in program.statements)
    return replace(program, fields=(*program.fields, name), statements=statements), name


def _unused_name(program: Program, name: str) -> str:
    while name in program.fields or name in program.scalars:
        name += "_"
    return name


def gather_points(
    given: Given,
    problem: Problem,
    # values: a number, one per step, or one per step and point; without a field, of the first updated one
    sources: Mapping[str, SourceList] | SourceList | None,
    receivers: Mapping[str, Points] | Points | None,
    every: int | None = None,  # for receivers that do not say it
    look: Look | None = None,  # what fields are at some cells; their values in memory by default
    mask: Array | None = None,  # of the grid's shape; nothing is added where it is false
) -> PointData | None:
    """Check the sources and receivers of a run."""

    def values(field: str, cells: Index) -> Array:
        array: Any = given.versions[field][0]
        return (
            cells_of(array, cells) if isinstance(array, DeviceView) else array[np.unravel_index(cells, problem.shape)]
        )

    added = tuple(
        _sources(given, problem, field, entries, look or values, mask)
        for field, entries in _by_field(given.program, sources).items()
    )
    recorded = []
    for field, points in _by_field(given.program, receivers).items():
        if field not in given.program.fields:
            names = ", ".join(given.program.fields)
            raise UsageError(f"{given.program.name!r} has no field {field!r} to record", f"its fields are: {names}")
        _refuse_parts(given.program, field)
        if not isinstance(points, Points):
            raise UsageError(f"receivers are tw.Points, got {points!r:.60}", 'write {"u": tw.Points([(8.5, 3.0)])}')
        if points.values is not None:
            raise UsageError("receivers have no values", "give points with values as sources=")
        weighting = _typed_weights(weights(points, problem.shape, problem.sides(field)), problem.dtype)
        recorded.append(Receivers(field=field, weights=weighting, every=points.every or every or 1))
    data = PointData(sources=tuple(each for each in added if each.weights.points), receivers=tuple(recorded))
    return data if data.sources or data.receivers else None


def _refuse_parts(program: Program, field: str) -> None:
    if field in dict(program.subdomains):
        raise UsageError(f"{field!r} lives at the ends of an axis alone, where there are no sources and receivers")


def _by_field(program: Program, points: Any) -> Mapping[str, Any]:  # noqa: ANN401
    if points is None:
        return {}
    return points if isinstance(points, Mapping) else {program.updated[0]: points}


def _sources(
    given: Given,
    problem: Problem,
    field: str,
    entries: Any,  # noqa: ANN401
    look: Look,
    mask: Array | None,
) -> Sources:
    """Put all sources of a field together, in the order in which they were given."""
    if field not in problem.program.updated:
        names = ", ".join(problem.program.updated)
        raise UsageError(f"{problem.program.name!r} does not update {field!r}", f"sources are for: {names}")
    _refuse_parts(problem.program, field)
    cells: list[Cell] = []
    columns: list[Array] = []
    parts: list[tuple[Weights, Array]] = []
    scaled: list[tuple[str, Sources]] = []
    if not isinstance(entries, Points | Iterable):
        raise UsageError(f"sources are tw.Points or pairs of a cell and values, got {entries!r:.60}")
    for entry in [entries] if isinstance(entries, Points) else entries:
        if isinstance(entry, Points):
            weighting = _typed_weights(weights(entry, problem.shape, problem.sides(field)), problem.dtype)
            parts.append((_scaled_weights(problem, entry, weighting, look), _values(problem, entry)))
            if isinstance(entry.scale, str):
                scaled.append((entry.scale, Sources(field=field, weights=weighting, values=parts[-1][1])))
        else:
            cell, values = _source(entry, given, problem.steps)
            cells.append(cell)
            columns.append(values)
    if cells:
        kind = np.float64 if problem.rounds else problem.dtype
        numbers = np.ravel_multi_index(tuple(np.array(cells).T), problem.shape).astype(np.int64)
        parts.append((of_cells(numbers, problem.shape, kind), np.stack(columns, axis=1)))
    union = joined([each for each, _ in parts], problem.shape)
    values = np.concatenate([each for _, each in parts], axis=1) if parts else np.empty((problem.steps, 0))
    if problem.steps:
        _warn_if_held(problem, field, union, mask)
    if mask is not None:
        union = union.some(mask.flat[union.cells][union.column])
    return Sources(field=field, weights=union, values=values, scaled=tuple(scaled))


def _typed_weights(weighting: Weights, dtype: str) -> Weights:
    """Return weights for an element type: fields of whole numbers take points on their cells only."""
    if is_rounded(dtype):
        return weighting
    if (weighting.weight != 1).any() or (weighting.constant != np.rint(weighting.constant)).any():
        raise UsageError(
            f"points between the cells of {dtype} fields have no whole numbers as weights",
            "give whole coordinates, or compute in floating point: dtype='float32'",
        )
    return replace(weighting, weight=weighting.weight.astype(dtype))


def _values(problem: Problem, points: Points) -> Array:
    values, steps, count = points.values, problem.steps, len(points)
    if values is None:
        raise UsageError("sources have values, one per step", "write tw.Points(coordinates, values=wavelet)")
    if values.ndim and len(values) != steps:
        raise UsageError(
            f"values of sources have one row per step ({steps}), got {len(values)}", f"pass values[:{steps}] or so"
        )
    check_fits(values, problem.dtype, "the source value {}")
    if not problem.rounds:
        values = values.astype(problem.dtype)
    rows = values[:, np.newaxis] if values.ndim == 1 else values
    return np.broadcast_to(rows, (steps, count))


def _scaled_weights(problem: Problem, points: Points, weighting: Weights, look: Look) -> Weights:
    """Return the weights of sources, times what they are scaled by at their cells."""
    scale = points.scale
    if scale is None:
        return weighting
    if isinstance(scale, str):
        if scale not in problem.program.fields or scale in problem.program.updated:
            names = ", ".join(f for f in problem.program.fields if f not in problem.program.updated) or "none"
            raise UsageError(
                f"the scale of sources is a field that no statement updates, got {scale!r}", f"there are: {names}"
            )
        return _times(problem, weighting, look(scale, weighting.cell))
    values = real_whole_numbers(np.asarray(scale), "the scale {} of sources")
    if not is_number(values.dtype):
        raise ArrayError(f"the scale of sources is a number, an array or a field's name, got {scale!r:.60}")
    check_fits(values, problem.dtype, "the scale {} of sources")
    if not np.isfinite(values).all():
        raise ArrayError("the scale of sources is finite, got numbers that are not")
    if values.shape not in {(), problem.shape}:
        raise ArrayError(
            f"the scale of sources has the grid's shape {format_shape(problem.shape)}, got {format_shape(values.shape)}"
        )
    return _times(problem, weighting, values if not values.ndim else values.ravel()[weighting.cell])


def _times(problem: Problem, weighting: Weights, factor: Array) -> Weights:
    wide = np.float64 if problem.rounds and factor.dtype.kind != "c" else None
    return replace(weighting, weight=weighting.weight * (factor if wide is None else factor.astype(wide)))


def _warn_if_held(problem: Problem, field: str, added: Weights, mask: Array | None) -> None:
    """Warn of sources all of whose cells a ``fixed`` boundary or a mask holds, where nothing is ever added."""
    inside = updated_entries(problem, field, added)
    moves = inside if mask is None else inside & mask.flat[added.cell]
    entries = ~np.isin(added.point, added.point[moves])
    if not entries.any():
        return
    numbers = np.unique(added.cell[entries])
    more = f" and {len(numbers) - 1} more" if len(numbers) > 1 else ""
    cell = tuple(map(int, np.unravel_index(added.cell[entries][0], problem.shape)))
    if inside[entries][0]:
        why, hint = "where= is false in that cell, which keeps its value", "move the source"
    else:
        box = next(problem.update_box(each) for each in problem.program.statements if each.field == field)
        cells = " x ".join(f"[{low}, {high})" for low, high in box)
        why, hint = "the boundary 'fixed' holds that cell", f"cells of {cells} are updated, or take another boundary"
    warn(f"the source of {field!r} at the cell {cell}{more} adds nothing: {why} (hint: {hint})")


def _source(entry: Any, given: Given, steps: int) -> tuple[Cell, Array]:  # noqa: ANN401
    try:
        cell, values = entry
        given_place = tuple(cell) if isinstance(cell, Sequence) else (cell,)
        place = tuple(int(i) for i in given_place)
    except (TypeError, ValueError, OverflowError):
        raise UsageError(f"a source is a pair of a cell and its values, got {entry!r}", "write ((8, 8), 1.0)") from None
    if place != given_place:
        raise UsageError(f"a source's cell has whole numbers, got {cell!r}", "tw.Points takes places between cells")
    if len(place) != len(given.shape) or not all(0 <= i < n for i, n in zip(place, given.shape, strict=True)):
        raise UsageError(f"the source's cell {place} is not on the grid {format_shape(given.shape)}")
    numbers = as_array(values, "sources")
    if numbers.ndim == 0:
        numbers = np.full(steps, numbers[()])
    if numbers.shape != (steps,):
        raise UsageError(f"a source has one value, or one per step ({steps}), got {len(numbers)} at the cell {place}")
    check_fits(numbers, given.dtype, "the source value {}")
    return place, numbers.astype(given.dtype)
