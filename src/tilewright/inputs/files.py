"""The arrays of one run as the command line gives them: files, pictures, or random numbers."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.units import format_shape, parse_number, parse_shape
from tilewright.inputs.series import Recorder, level_names, load
from tilewright.programs.stencil.program import Program
from tilewright.runtime.formats.files import is_archive, read_archive, read_planes, write_archive
from tilewright.runtime.formats.series import is_series
from tilewright.runtime.samples import random_arrays

Array = npt.NDArray[Any]
Levels = Array | tuple[Array, ...]  # one array, or several time levels of a field, newest first
Planes = tuple[tuple[Levels, ...], ...]  # one tuple of arrays per plane, each with one entry per field


def planes(
    program: Program, files: Sequence[Path], shape: str | None, dtype: str | None = None, seed: int = 0
) -> Planes:
    """Return all fields' arrays: once, or thrice for a colour picture (red, green, blue); at random without files."""
    extents = None if shape is None else parse_shape(shape)
    if not files:
        if extents is None:
            raise UsageError("a run needs a shape or data", "give --shape 2048x2048 or --input FILE")
        arrays = zip(program.fields, random_arrays(program, extents, dtype or "float32", seed), strict=True)
        return (tuple(_at_rest(program, field, array) for field, array in arrays),)
    states: dict[str, Levels] = {}
    for path in filter(holds_state, files):
        for field, levels in _read_state(path, program).items():
            if field in states:
                raise UsageError(f"{str(path)!r} holds {field!r}, which another --input holds as well")
            states[field] = levels
    unnamed = [field for field in program.fields if field not in states]
    paths = [path for path in files if not holds_state(path)]
    if len(paths) != len(unnamed):
        also = f" besides {', '.join(states)}" if states else ""
        raise UsageError(
            f"{program.name!r} has the fields {', '.join(program.fields)}, so it needs as many --input{also}, "
            f"got {len(paths)}",
            "a .npz file holds several fields by name",
        )
    inputs: dict[str, tuple[Levels, ...]] = {field: (levels,) for field, levels in states.items()}
    inputs |= {field: read_planes(path) for field, path in zip(unnamed, paths, strict=True)}
    for field, parts in inputs.items():
        shape_ = _newest_level(parts[0]).shape
        if extents is not None and shape_ != extents:
            path = next(filter(holds_state, files)) if field in states else paths[unnamed.index(field)]
            raise ArrayError(
                f"{str(path)!r} has the shape {format_shape(shape_)}, got --shape {format_shape(extents)}",
                "leave --shape out",
            )
    count = max(len(parts) for parts in inputs.values())
    return tuple(
        tuple(inputs[field][i if len(inputs[field]) > 1 else 0] for field in program.fields) for i in range(count)
    )


def holds_state(path: Path) -> bool:
    """Whether a file's name is that of one that holds all fields and time levels."""
    return is_archive(path) or is_series(path)


def archive_names(program: Program) -> dict[str, tuple[str, ...]]:
    """Name every field's time levels as a ``.npz`` file holds them, newest first: ``u``, ``u_prev``, ``u_prev2``."""
    names = {field: level_names(program, field) for field in program.fields}
    older = [name for each in names.values() for name in each[1:]]
    for name in older:
        if name in names:
            raise UsageError(
                f"{name!r} is both a field of {program.name!r} and an older time level, which a .npz file cannot hold",
                "rename the field",
            )
    return names


def write_state(path: Path, program: Program, state: Mapping[str, Sequence[Array]], step: int = 0) -> None:
    """Write time levels, newest first, that a next run needs to a ``.npz`` file, or as the one record of a series."""
    if is_series(path):
        Recorder(path, program).write(step, state)
        return
    named = {
        name: level
        for field, names in archive_names(program).items()
        for name, level in zip(names, state[field], strict=False)
    }
    write_archive(path, named)


def _read_state(path: Path, program: Program) -> dict[str, Levels]:
    """Read the fields that a file holds, each with as many of its time levels as are there; of a series the last."""
    names = archive_names(program)
    if is_series(path):
        saved = load(path)
        arrays = {name: np.asarray(values[len(saved.steps) - 1]) for name, values in saved.values.items()}
        arrays |= saved.constant
    else:
        arrays = read_archive(path)
    expected = [name for each in names.values() for name in each]
    for name in arrays:
        if name not in expected:
            raise ArrayError(
                f"{str(path)!r} holds {name!r}, which is no array of {program.name!r}", f"it has {', '.join(expected)}"
            )
    fields: dict[str, Levels] = {}
    for field, each in names.items():
        present = [name for name in each if name in arrays]
        if present != list(each[: len(present)]):
            missing = next(name for name in each if name not in present)
            raise ArrayError(f"{str(path)!r} holds {present[-1]!r} but not {missing!r}, which is newer")
        if present:
            fields[field] = tuple(arrays[name] for name in present) if len(present) > 1 else arrays[field]
    return fields


def _newest_level(levels: Levels) -> Array:
    return levels[0] if isinstance(levels, tuple) else levels


def _at_rest(program: Program, field: str, array: Array) -> Levels:
    history = program.history(field)
    return array if history == 1 else (array,) * history


def scalar_values(program: Program, texts: Sequence[str]) -> dict[str, float]:
    """Read the scalars that a user sets as ``name=value``.

    >>> from tilewright.inputs.stencil import stencil
    >>> scalar_values(stencil(lambda u, a: a * u[0]).program, ["a=0.5"])
    {'a': 0.5}
    """
    values: dict[str, float] = {}
    for text in texts:
        name, separator, number = (part.strip() for part in text.partition("="))
        if not separator or name not in program.scalars or name in values:
            names = ", ".join(program.scalars) or "none"
            problem = "twice" if name in values else "which it has not" if separator else "without a value"
            raise UsageError(f"--set names a scalar of {program.name!r} {problem}: {text!r}", f"its scalars: {names}")
        try:
            values[name] = parse_number(number, whole=True)
        except ValueError:
            raise UsageError(f"the value of a scalar is a number, got {text!r}", f"write --set {name}=0.5") from None
    missing = [name for name in program.scalars if name not in values and name not in dict(program.defaults)]
    if missing:
        raise UsageError(f"{program.name!r} needs a value of {missing[0]!r}", f"give --set {missing[0]}=VALUE")
    return values
