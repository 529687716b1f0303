"""Arrays of the caller's that a run writes its results into."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tilewright.base.dtypes import is_number
from tilewright.base.errors import ArrayError, UsageError
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.devices.views import DeviceView
from tilewright.verbs.arrays import Array, read_array


def targets_of(
    problem: Problem,
    # an array, or a tuple of one per updated field; with levels, of tuples
    out: Any,  # noqa: ANN401
    shape: tuple[int, ...],
    *,
    levels: bool,
) -> tuple[dict[str, Array], ...]:
    """Check the arrays to write into; return them by field, the newest level's first."""
    program = problem.program
    given = out if isinstance(out, tuple) and not (levels and len(program.updated) == 1) else (out,)
    if len(given) != len(program.updated):
        raise UsageError(f"out needs {len(program.updated)} arrays ({', '.join(program.updated)}), got {len(given)}")
    ages = max(program.history(field) for field in program.updated) if levels else 1
    targets: tuple[dict[str, Array], ...] = tuple({} for _ in range(ages))
    for field, entry in zip(program.updated, given, strict=True):
        history = program.history(field) if levels else 1
        versions = entry if levels and isinstance(entry, tuple) else (entry,)
        if len(versions) != history:
            raise UsageError(
                f"with levels=True out needs {history} array{'s' * (history > 1)} for {field!r}, got {len(versions)}",
                "give them in the form of the result: a tuple of a field's levels, newest first",
            )
        for age, target in enumerate(versions):
            part = problem.program.subdomains and dict(problem.program.subdomains).get(field)
            targets[age][field] = _target(problem, target, part.shape(shape) if part else shape)
    return targets


def check_targets(targets: Sequence[Mapping[str, Any]], device: str | None) -> None:
    """Check that results lie on the run's CUDA device, a number or ``""`` for the only one, or on the host (None)."""
    for target in (each for level in targets for each in level.values()):
        there = isinstance(target, DeviceView)
        if there and device is None:
            raise ArrayError("'out' lies on a GPU, where it cannot be read here", "copy it to the host first")
        if not there and device is not None:
            raise ArrayError("'out' lies on the host, and the arrays of the run on a GPU", "give one that lies there")
        if there and device and target.device is not None and str(target.device) != device:
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
