"""The time levels of a run: what a next one must be given to go on where it ended, and what no step changes."""

from tilewright.base.facts import fact
from tilewright.base.units import format_shape
from tilewright.inputs.arrays import Given
from tilewright.inputs.series import level_names
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement
from tilewright.runtime.devices.device import DeviceView
from tilewright.runtime.memory import check_memory
from tilewright.runtime.warn import warn, warn_once

_ROWS = 64
"""Rows that are looked at together for a value other than zero: most data have one in the first of them."""


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
        got = "one array stands for all of them" if len(versions) == 1 else f"the last of {len(versions)} repeats"
        names = ", ".join(level_names(given.program, field))
        hint = f"pass ({names}), as levels=True returns it, or ({', '.join([field] * history)}) for a start at rest"
        if files:
            hint = f"give a .npz file that holds {names}, as --output state.npz writes it"
        warn(f"{field!r} of {given.program.name!r} has {history} time levels, and {got} (hint: {hint})")


def warn_if_kept(problem: Problem) -> None:
    """Warn, once, of fields no cell of which a step changes: all have a read beyond a ``fixed`` side."""
    for statement in _kept(problem) if problem.steps else ():
        least = tuple(low + high + 1 for low, high in problem.margins(statement))
        warn_once(
            f"no cell of {statement.field!r} is updated: on a grid of {format_shape(problem.shape)} every cell of "
            f"{problem.program.name!r} reads beyond a side that is 'fixed' (hint: give at least {format_shape(least)} "
            "cells, or another boundary, such as boundary='nearest')"
        )


@fact
def _kept(problem: Problem) -> tuple[Statement, ...]:
    """Return the statements that update no cell."""
    boxes = ((statement, problem.update_box(statement)) for statement in problem.program.statements)
    return tuple(statement for statement, box in boxes if not all(low < high for low, high in box))
