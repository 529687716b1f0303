"""A run's arrays, scalars and options -> a checked problem with its data; what is seldom meant is warned of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.base.dtypes import is_number
from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.facts import fact
from tilewright.base.units import format_shape
from tilewright.inputs.arrays import Array, Given, gather, read_array, with_edges
from tilewright.inputs.series import level_names
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.program import Program, Statement
from tilewright.programs.stencil.regions import is_packable
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.runtime.devices.device import DeviceView
from tilewright.runtime.memory import check_memory
from tilewright.runtime.points import Look, PointData
from tilewright.runtime.session import Inputs
from tilewright.runtime.warn import warn, warn_once
from tilewright.verbs.options import RunOptions
from tilewright.verbs.running.forcing import gather_points, with_mask
from tilewright.verbs.unstable import warn_if_unstable

_ROWS = 64  # rows that are looked at together for a value other than zero: most data have one in the first of them


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedProblem:
    """A checked problem with its data."""

    given: Given  # the arrays and scalars, those of the mask included
    problem: Problem
    points: PointData | None = None  # the sources and receivers, if any
    storage: Storage = PLAIN  # where its fields lie, where kernels can do that
    added: frozenset[str] = frozenset()  # the field that came with the mask, if any

    def with_points(
        self, options: RunOptions, threads: int, *, every: int | None = None, look: Look | None = None
    ) -> "CheckedProblem":
        """Check sources and receivers, and warn of sources that add nothing.

        ``every`` is that of receivers that do not say it; ``look`` tells what fields are at some cells, by default what
        their arrays hold.
        """
        mask = next((self.given.versions[name][0] for name in self.added), None)
        points = gather_points(self.given, self.problem, options.sources, options.receivers, every, look, mask)
        if points is None:
            return self
        return replace(self, points=replace(points, threads=threads), problem=points.on(self.problem))

    def whole(self) -> "CheckedProblem":
        """Return it with arrays of the grid's shape in place of those of subdomains."""
        given, parts = self.given, dict(self.given.program.subdomains)
        spread = {f: tuple(part.spread(each, given.shape) for each in given.versions[f]) for f, part in parts.items()}
        return replace(self, given=replace(given, versions={**given.versions, **spread}), storage=PLAIN)

    def inputs(self, traces: Mapping[str, Array] | None = None, out: Mapping[str, Array] | None = None) -> Inputs:
        """Return what a kernel starts from."""
        return Inputs(
            arrays=self.given.versions, scalars=self.given.scalars, points=self.points, traces=traces, out=out
        )


def check(
    program: Program,
    arrays: Sequence[Any],
    scalars: Mapping[str, Any],
    options: RunOptions,
    *,
    packed: bool = False,  # fields that live in subdomains have memory there alone, where kernels can do that
    stands: bool = False,  # the arrays stand for others, so that their values say nothing
) -> CheckedProblem:
    """Check what a run is given, sources and receivers aside; warn of a scheme that is unstable."""
    program, boundary, scalars = with_edges(program, options.boundary, scalars)
    given = gather(program, arrays, scalars, options.dtype, options.steps, packed=packed)
    added: frozenset[str] = frozenset()
    if options.where is not None:
        own = set(given.versions)
        given = with_mask(given, options.where)
        added = frozenset(set(given.versions) - own)
    problem = make_problem(given.program, given.shape, options.steps, given.dtype, boundary, given.varying)
    case = CheckedProblem(given=given, problem=problem, added=added)
    if packed and program.subdomains:
        case = (
            replace(case, storage=Storage(subdomains=given.program.subdomains))
            if is_packable(problem)
            else case.whole()
        )
    warn_if_kept(problem)
    warn_if_unstable(problem, given.scalars, None if stands else case.given.versions)
    return case


def warn_if_at_rest(given: Given, *, files: bool = False) -> None:
    """Warn if an array that is not all zeros stands for older time levels than its own.

    Such a start is at rest, which is seldom meant of a state that was computed. Arrays on a GPU are not looked at.
    """
    for field in given.program.updated:
        history, versions = given.program.history(field), given.versions[field]
        oldest = versions[-1]
        if len(versions) == history or isinstance(oldest, DeviceView):
            continue
        check_memory(oldest.nbytes)  # of a view that repeats one value: a run of it is refused, and it is not read
        if not any(oldest[first : first + _ROWS].any() for first in range(0, len(oldest), _ROWS)):
            continue
        clause = "one array stands for all of them" if len(versions) == 1 else f"the last of {len(versions)} repeats"
        names = ", ".join(level_names(given.program, field))
        hint = f"pass ({names}), as levels=True returns it, or ({', '.join([field] * history)}) for a start at rest"
        if files:
            hint = f"give a .npz file that holds {names}, as --output state.npz writes it"
        warn(f"{field!r} of {given.program.name!r} has {history} time levels, and {clause} (hint: {hint})")


def warn_if_kept(problem: Problem) -> None:
    """Warn, once, of fields no cell of which a step changes: all have a read beyond a ``fixed`` side."""
    for statement in _kept_statements(problem) if problem.steps else ():
        least = tuple(low + high + 1 for low, high in problem.margins(statement))
        warn_once(
            f"no cell of {statement.field!r} is updated: on a grid of {format_shape(problem.shape)} every cell of "
            f"{problem.program.name!r} reads beyond a side that is 'fixed' (hint: give at least {format_shape(least)} "
            "cells, or another boundary, such as boundary='nearest')"
        )


@fact
def _kept_statements(problem: Problem) -> tuple[Statement, ...]:
    """Return the statements that update no cell."""
    boxes = ((statement, problem.update_box(statement)) for statement in problem.program.statements)
    return tuple(statement for statement, box in boxes if not all(low < high for low, high in box))


def levels_of_out(program: Program, out: Any, *, levels: bool) -> dict[str, tuple[Any, ...]]:  # noqa: ANN401
    """Return what is written into, by updated field and newest first.

    ``out`` is an array, or a tuple of one per updated field; with ``levels``, of tuples.
    """
    entries = out if isinstance(out, tuple) and not (levels and len(program.updated) == 1) else (out,)
    if len(entries) != len(program.updated):
        raise UsageError(f"out needs {len(program.updated)} arrays ({', '.join(program.updated)}), got {len(entries)}")
    levels_by_field: dict[str, tuple[Any, ...]] = {}
    for field, entry in zip(program.updated, entries, strict=True):
        history = program.history(field) if levels else 1
        levels_by_field[field] = entry if levels and isinstance(entry, tuple) else (entry,)
        if len(levels_by_field[field]) != history:
            raise UsageError(
                f"with levels=True out needs {history} array{'s' * (history > 1)} for {field!r}, "
                f"got {len(levels_by_field[field])}",
                "give them in the form of the result: a tuple of a field's levels, newest first",
            )
    return levels_by_field


def targets_of(
    problem: Problem,
    out: Any,  # noqa: ANN401
    shape: tuple[int, ...],
    *,
    levels: bool,
) -> dict[str, tuple[Any, ...]]:
    """Check the arrays to write into; return them as :func:`levels_of_out` does."""
    parts = dict(problem.program.subdomains)
    return {
        field: tuple(_target(problem, each, parts[field].shape(shape) if field in parts else shape) for each in entries)
        for field, entries in levels_of_out(problem.program, out, levels=levels).items()
    }


def check_targets(targets: Mapping[str, Sequence[Any]], device: str | None) -> None:
    """Check that results lie on the run's CUDA device, a number or ``""`` for the only one, or on the host (None)."""
    for target in (each for levels in targets.values() for each in levels):
        on_device = isinstance(target, DeviceView)
        if on_device and device is None:
            raise ArrayError("'out' lies on a GPU, where it cannot be read here", "copy it to the host first")
        if not on_device and device is not None:
            raise ArrayError("'out' lies on the host, and the arrays of the run on a GPU", "give one that lies there")
        if on_device and device and target.device is not None and str(target.device) != device:
            raise ArrayError(f"'out' lies on GPU {target.device}, and the arrays of the run on GPU {device}")


def _target(problem: Problem, array: Any, shape: tuple[int, ...]) -> Any:  # noqa: ANN401
    target: Any = array if isinstance(array, np.ndarray) else read_array(array, "out")
    if target.shape != shape:
        raise ArrayError(f"out must have the shape {shape}, got {target.shape}")
    if isinstance(target, DeviceView):
        if target.dtype != problem.dtype:
            raise ArrayError(f"out on a GPU must hold {problem.dtype} values, it has the dtype {target.dtype}")
        writeable = target.writeable
    else:
        if not is_number(target.dtype) or not np.can_cast(problem.dtype, target.dtype, "same_kind"):
            raise ArrayError(f"out cannot hold {problem.dtype} values, it has the dtype {target.dtype}")
        writeable = target.flags.writeable
    if not writeable:
        raise ArrayError("out is read-only", "pass an array that may be written")
    return target
