"""Arrays of the caller's that a run writes its results into."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.base.dtypes import is_number
from tilewright.base.errors import ArrayError, UsageError
from tilewright.inputs.arrays import read_array
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.devices.device import DeviceView


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
        field: tuple(_target(problem, each, parts[field].shape(shape) if field in parts else shape) for each in given)
        for field, given in levels_of_out(problem.program, out, levels=levels).items()
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


def _target(problem: Problem, given: Any, shape: tuple[int, ...]) -> Any:  # noqa: ANN401
    target: Any = given if isinstance(given, np.ndarray) else read_array(given, "out")
    if isinstance(target, DeviceView):
        if target.shape != shape:
            raise ArrayError(f"out must have the shape {shape}, got {target.shape}")
        if target.dtype != problem.dtype:
            raise ArrayError(f"out on a GPU must hold {problem.dtype} values, it has the dtype {target.dtype}")
        if not target.writeable:
            raise ArrayError("out is read-only", "pass an array that may be written")
        return target
    if target.shape != shape:
        raise ArrayError(f"out must have the shape {shape}, got {target.shape}")
    if not is_number(target.dtype) or not np.can_cast(problem.dtype, target.dtype, "same_kind"):
        raise ArrayError(f"out cannot hold {problem.dtype} values, it has the dtype {target.dtype}")
    if not target.flags.writeable:
        raise ArrayError("out is read-only", "pass an array that may be written")
    return target
