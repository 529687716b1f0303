"""A user's arrays and scalars -> checked inputs of a problem, and results in the user's own array type."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from tilewright.base.dtypes import arithmetic, check_fits, is_number, is_rounded, native, numpy_type, real_whole_numbers
from tilewright.base.errors import ArrayError, UsageError, meant
from tilewright.base.units import format_shape
from tilewright.programs.stencil.boundaries import BoundarySpec, resolve
from tilewright.programs.stencil.edges import plain_edges
from tilewright.programs.stencil.expression import Apply, Const
from tilewright.programs.stencil.operators import OPERATORS
from tilewright.programs.stencil.powers import refuse_negative_powers
from tilewright.programs.stencil.problem import DTYPES, Problem, make_problem
from tilewright.programs.stencil.program import STEP, Program, with_coefficients, with_truths
from tilewright.runtime.devices.arrays import DeviceArray, view
from tilewright.runtime.devices.device import DeviceView
from tilewright.runtime.session import Inputs
from tilewright.tracing import RESERVED

Array = npt.NDArray[Any]
_TWO_BYTES = np.dtype("V2")
_KINDS = {"b": False, "i": 0, "u": 0, "f": 0.0, "V": 0.0, "c": 0j}
"""What stands for values of a kind that decide an element type no more than a number of Python's does."""
_PLAIN = {np.dtype(name): name for name in ("float32", "float64")}
"""Element types that arrays keep whatever the program, with their names, which NumPy takes a while to make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a user gave, checked."""

    program: Program  # the program; scalars that came as arrays are its coefficient fields
    versions: Mapping[str, tuple[Array, ...]]  # per field its versions, newest first
    scalars: Mapping[str, Any]  # values of the remaining scalars
    shape: tuple[int, ...]  # the common shape
    dtype: str  # element type to compute in
    # scalars with a value for every step, the step's number among them; arrays of shape (steps,)
    varying: tuple[str, ...] = ()

    def inputs(self, out: Mapping[str, Array] | None = None) -> Inputs:
        """Return what a kernel starts from, and the arrays that it is to write into, if any, by field."""
        return Inputs(arrays=self.versions, scalars=self.scalars, out=out)


@dataclass(frozen=True, slots=True, eq=False)
class PerStep:
    """Values of a scalar, one for every step; shape (steps,)."""

    values: Array


def per_step(values: Any) -> PerStep:  # noqa: ANN401
    """Say of an array that it holds a scalar's values, one for every step of a run.

    ``run`` takes an array of as many values as there are steps so by itself, unless they could as well be a
    coefficient's along the last axis of the grid.

    Args:
        values: Numbers, of shape (steps,).

    Raises:
        ArrayError: If it is no array of numbers of one axis.
    """
    array = as_array(values, "per_step")
    if array.ndim != 1:
        raise ArrayError(f"a scalar's values per step have one axis, got the shape {_text(array.shape) or '()'}")
    return PerStep(array)


def with_edges(
    program: Program, boundary: BoundarySpec, scalars: Mapping[str, Any]
) -> tuple[Program, BoundarySpec, dict[str, Any]]:
    """Make arrays of values at sides scalars that vary and coefficient fields; the scalars returned hold them."""
    sides = resolve(program, boundary)
    if not any(np.ndim(side.value) for axes in sides for pair in axes for side in pair):
        return program, boundary, dict(scalars)
    edges = plain_edges(program, dict(zip(program.fields, sides, strict=True)))
    values = {
        **{name: per_step(each) for name, each in edges.varying.items()},
        **{name: as_array(each, name) for name, each in edges.arrays.items()},
    }
    return edges.program, edges.sides, {**scalars, **values}


def _split_varying(values: dict[str, Any], shape: tuple[int, ...], steps: int | None) -> dict[str, Array]:
    """Take the scalars with a value for every step out of some values."""
    varying: dict[str, Array] = {}
    for name, value in list(values.items()):
        explicit = isinstance(value, PerStep)
        array = value.values if isinstance(value, PerStep) else value
        if not explicit:
            if not isinstance(array, np.ndarray) or array.shape != (steps,) or array.shape in {(1,), shape}:
                continue
            if array.shape == shape[-1:]:
                raise UsageError(
                    f"{name!r} has {len(array)} values, which may be one per step or a coefficient along the last axis",
                    f"write {name}=tw.per_step(values) or {name}=values[None, :]",
                )
        if steps is None or array.shape != (steps,):
            raise ArrayError(f"{name!r} has a value for each of {len(array)} steps, the run has {steps or 'one state'}")
        varying[name] = array
        del values[name]
    return varying


def _numbers_of_steps(program: Program, steps: int | None) -> dict[str, Array]:
    if STEP not in program.scalars:
        return {}
    if steps is None:
        raise UsageError(f"{program.name!r} computes with tw.t, the number of a step, and here there are no steps")
    return {STEP: np.arange(steps)}


def gather(
    program: Program,
    arrays: Sequence[Any],  # in field order; a tuple holds several time levels, newest first
    scalars: Mapping[str, Any],  # an array makes a coefficient field
    dtype: Any = None,  # noqa: ANN401
    steps: int | None = None,
    *,
    packed: bool = False,  # leave arrays of fields that live in subdomains as they are, not grid-sized
) -> Given:
    """Check arrays and scalars."""
    lines = {name: scalars[name] for name in program.profiles if name in scalars}
    values = scalar_values(program, {name: value for name, value in scalars.items() if name not in lines})
    if len(arrays) != len(program.fields):
        signature = f"{len(program.fields)} array{'s' * (len(program.fields) != 1)} ({', '.join(program.fields)})"
        raise ArrayError(
            f"{program.name!r} takes {signature}, got {len(arrays)}",
            f"scalars are given by name: {program.scalars[0]}=…" if program.scalars else "",
        )
    missing = [name for name in program.scalars if name not in values and name != STEP]
    missing += [name for name in program.profiles if name not in lines]
    if missing:
        raise UsageError(f"{program.name!r} needs a value of {missing[0]!r}", f"pass {missing[0]}=…")
    versions = {field: _versions(program, field, entry) for field, entry in zip(program.fields, arrays, strict=True)}
    varying = _split_varying(values, _shape_of(program, versions), steps) | _numbers_of_steps(program, steps)
    coefficients: dict[str, Any] = {
        name: value for name, value in values.items() if isinstance(value, np.ndarray | DeviceView)
    }
    versions |= {name: (value,) for name, value in coefficients.items()}
    plain = {name: value for name, value in values.items() if name not in coefficients}
    full = with_coefficients(program, tuple(coefficients))
    flags = frozenset(field for field, levels in versions.items() if all(array.dtype.kind == "b" for array in levels))
    full = with_truths(full, flags) if flags else full
    shape = _shape_of(full, versions)
    versions |= {
        field: tuple(_repeated_array(array, shape) for array in versions[field])
        for field in full.fields
        if field not in full.updated
    }
    parts = dict(full.subdomains)
    for field, part in parts.items():
        for array in versions[field]:
            if isinstance(array, DeviceView):
                raise ArrayError(f"{field!r} lives in a subdomain, which runs on a GPU's own arrays have not")
            part.check(array, shape, field)
    _check_shapes(full, [(f, array) for f in full.fields if f not in parts for array in versions[f]], shape)
    if not packed:
        versions |= {f: tuple(part.spread(array, shape) for array in versions[f]) for f, part in parts.items()}
    every = [(field, array) for field in full.fields for array in versions[field]]
    profiles = _profiles(program, lines, shape)
    weak = {name: _KINDS[values.dtype.kind] for name, values in [*varying.items(), *profiles.items()]}
    chosen = _dtype(full, every, {**plain, **weak}, dtype)
    check_values({**plain, **varying, **profiles}, versions, chosen)
    hosted = {f: levels[0] for f, levels in versions.items() if not isinstance(levels[0], DeviceView)}
    _check_exponents(full, {**plain, **varying, **hosted}, chosen)
    return Given(
        program=full,
        versions=versions,
        scalars={**plain, **varying, **profiles},
        shape=shape,
        dtype=chosen,
        varying=tuple(name for name in full.scalars if name in varying),
    )


def check_values(scalars: Mapping[str, Any], versions: Mapping[str, Sequence[Any]], dtype: str) -> None:
    """Check that scalars and fields, arrays on a GPU aside, fit an element type."""
    for name, value in scalars.items():
        check_fits(value, arithmetic(dtype).name, f"{name} = {{}}")
    for field, arrays in versions.items():
        for array in arrays:
            if not isinstance(array, DeviceView):
                check_fits(array, dtype, f"the value {{}} of {field!r}")


def _check_exponents(program: Program, values: Mapping[str, Any], dtype: str) -> None:
    for statement in () if is_rounded(dtype) else program.statements:
        refuse_negative_powers(statement.tape, program.name, dtype, values)


def _profiles(program: Program, lines: Mapping[str, Any], shape: tuple[int, ...]) -> dict[str, Array]:
    profiles = {name: as_array(values, name) for name, values in lines.items()}
    for name, values in profiles.items():
        extent = shape[program.profiles[name]]
        if values.shape != (extent,):
            raise ArrayError(
                f"{name!r} has a number for each of the {extent} cells along axis {program.profiles[name]}, got the "
                f"shape {_text(values.shape) or '()'}"
            )
    return profiles


def problem_of(
    program: Program,
    scalars: Mapping[str, Any],  # any of them may be left out
    shape: tuple[int, ...],
    steps: int,
    dtype: str,
    boundary: BoundarySpec,
) -> tuple[Problem, dict[str, Any]]:
    """Return a problem as the cost models see it, arrays being coefficient fields, and the scalars that are numbers."""
    program, boundary, scalars = with_edges(program, boundary, scalars)
    values = scalar_values(program, {name: each for name, each in scalars.items() if name not in program.profiles})
    varying = _split_varying(values, shape, steps)
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray | DeviceView)}
    numbers = {name: value for name, value in values.items() if name not in arrays}
    problem = make_problem(with_coefficients(program, tuple(arrays)), shape, steps, dtype, boundary, varying)
    check_values({**numbers, **varying}, {name: (value,) for name, value in arrays.items()}, dtype)
    _check_exponents(problem.program, {**numbers, **varying}, dtype)
    return problem, numbers


def as_array(value: Any, name: str) -> Array:  # noqa: ANN401
    """Read anything that holds numbers as a NumPy array in native byte order, without a copy if possible."""
    array = read_array(value, name)
    if isinstance(array, DeviceView):
        raise ArrayError(f"{name!r} lies on a GPU, where it cannot be read here", "copy it to the host first")
    return native(array)


def read_array(value: Any, name: str) -> Array:  # noqa: ANN401
    """As :func:`as_array`, or a :class:`DeviceView` of an array on a GPU, which only a GPU's session reads."""
    if isinstance(value, np.ma.MaskedArray):
        raise ArrayError(f"{name!r} is a masked array, whose masked cells have no value", "pass array.filled(0.0)")
    if _is_labelled(value):
        return read_array(value.data, name)
    try:
        if isinstance(value, np.ndarray):
            array = value
        elif (device_view := value if isinstance(value, DeviceView) else view(value, name)) is not None:
            return cast("Array", device_view)
        elif hasattr(value, "__dlpack__"):
            array = np.from_dlpack(value)
        else:
            array = np.asarray(value)
    except ArrayError:
        raise
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        reason = str(error).partition("\n")[0]  # JAX explains at length why it cannot
        raise ArrayError(f"{name!r} is no array of numbers: {reason}", "give a NumPy array") from error
    if value is None:
        raise ArrayError(f"{name!r} is None, where numbers must be", "give a number, or a NumPy array")
    if isinstance(value, str | os.PathLike):
        hint = "give a number, or a NumPy array; np.load, or np.asarray(PIL.Image.open(…)), reads one from a file"
        raise ArrayError(f"{name!r} is the text {os.fspath(value)[:60]!r}, where numbers must be", hint)
    array = real_whole_numbers(array, f"the value {{}} of {name!r}")
    if not is_number(array.dtype):
        # NumPy's files do not keep the name of a type that is not its own.
        convert = "convert it with .astype('float32')" if isinstance(value, np.ndarray) else "give numbers"
        hint = "view it: array.view('bfloat16')" if array.dtype == _TWO_BYTES else convert
        raise ArrayError(f"{name!r} holds no numbers but {array.dtype}", hint)
    return array


def like(result: Any, original: Any) -> Any:  # noqa: ANN401
    """Return a result as the caller's kind of array, without a copy; of several time levels the newest counts."""
    # No library is imported: whoever hands over its arrays has done so.
    if isinstance(original, tuple) and original:
        original = original[0]
    if isinstance(original, np.ndarray | list | tuple | DeviceArray):
        return result
    if _is_labelled(original):
        return original.copy(deep=False, data=like(result, original.data))
    if not hasattr(original, "__dlpack__"):
        return result
    if hasattr(original, "__array_namespace__"):  # the array API standard's; JAX's is not its arrays' own package
        library = original.__array_namespace__()
    else:
        library = sys.modules.get(type(original).__module__.partition(".")[0])
    reader = getattr(library, "from_dlpack", None)
    return result if reader is None else reader(result)


def _is_labelled(value: Any) -> bool:  # noqa: ANN401
    """Whether a value is an array of xarray's: values under ``data``, and labels that a copy keeps."""
    xarray = sys.modules.get("xarray")
    return xarray is not None and isinstance(value, xarray.DataArray)


def is_integral(program: Program) -> bool:
    """Whether a program computes whole numbers from whole numbers."""
    return all(
        OPERATORS[node.op].integral if isinstance(node, Apply) else isinstance(node.value, bool | int)
        for statement in program.statements
        for node in statement.tape
        if isinstance(node, Apply | Const)
    )


def scalar_values(program: Program, scalars: Mapping[str, Any]) -> dict[str, Any]:
    """Check scalars, numbers or arrays; return them in the program's order, with defaults for those not given."""
    unknown = [name for name in scalars if name not in program.scalars or name == STEP]
    if unknown:
        raise UsageError(f"{program.name!r} has no scalar {unknown[0]!r}", hint_for_name(program, unknown[0]))
    arguments = {**dict(program.defaults), **scalars}
    values: dict[str, Any] = {}
    for name in program.scalars:
        if name not in arguments:
            continue
        value = arguments[name]
        if isinstance(value, bool | int | float | complex | PerStep):
            values[name] = value
            continue
        array = read_array(value, name)
        values[name] = array[()] if array.ndim == 0 else array
    return values


def _versions(program: Program, field: str, argument: Any) -> tuple[Array, ...]:  # noqa: ANN401
    levels = argument if isinstance(argument, tuple) else (argument,)
    history = program.history(field)
    if not 1 <= len(levels) <= history:
        raise ArrayError(
            f"{field!r} of {program.name!r} has {history} time level{'s' * (history != 1)}, got {len(levels)} arrays",
            "give one array, or a tuple of them, newest first",
        )
    return tuple(read_array(level, field) for level in levels)


def _shape_of(program: Program, versions: Mapping[str, tuple[Array, ...]]) -> tuple[int, ...]:
    """Return the shape of the grid: that of the first array of the first updated field that lives everywhere."""
    parts = dict(program.subdomains)
    first = (field for field in program.fields if field in program.updated and field not in parts)
    return versions[next(first, program.fields[0])][0].shape


def _repeated_array(array: Array, shape: tuple[int, ...]) -> Array:
    """Return an array that is only read as NumPy repeats it over a grid, or as it is where that cannot be."""
    if isinstance(array, DeviceView) or array.shape == shape:
        return array
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        return array


def _check_shapes(program: Program, every: Sequence[tuple[str, Array]], shape: tuple[int, ...]) -> None:
    first = next((field for field in program.fields if field in program.updated), program.fields[0])
    for field, array in every:
        if array.ndim != program.rank:
            raise ArrayError(
                f"{program.name!r} has {program.rank} dimension{'s' * (program.rank != 1)}, "
                f"{field!r} has {array.ndim} (shape {_text(array.shape)})",
                f"axes={tuple(range(-program.rank, 0))} runs it over the last ones of an array that has more"
                if array.ndim > program.rank
                else "",
            )
        if 0 in array.shape:
            raise ArrayError(f"every extent must be at least 1, {field!r} has the shape {_text(array.shape)}")
        if array.shape != shape:
            raise ArrayError(
                f"all arrays have one shape, {first!r} has {_text(shape)} and {field!r} {_text(array.shape)}"
            )


def _text(shape: tuple[int, ...]) -> str:
    return format_shape(shape) or "()"


def _dtype(program: Program, every: Sequence[tuple[str, Array]], scalars: Mapping[str, Any], dtype: Any) -> str:  # noqa: ANN401
    first = every[0][1].dtype
    if dtype is not None:  # whether numbers fit it is looked at one by one
        scalars = {n: _KINDS[v.dtype.kind] if isinstance(v, np.generic) else v for n, v in scalars.items()}
    numbers = [*scalars.values(), *([] if program.complex_constant is None else [1j])]
    if dtype is None and not numbers and first in _PLAIN and all(array.dtype == first for _, array in every):
        return _PLAIN[first]
    natural = _promoted_type([array.dtype for _, array in every], numbers)
    if natural.kind in "biu":
        natural = np.result_type(natural, 1 if is_integral(program) else 1.0)
    if dtype is None:
        chosen = natural
    else:
        try:
            chosen = numpy_type(dtype) if isinstance(dtype, str) and dtype in DTYPES else np.dtype(dtype)
        except TypeError:
            raise UsageError(f"the dtype must be one of {', '.join(DTYPES)}, got {dtype!r}") from None
    name = chosen.newbyteorder("=").name
    if name not in DTYPES:
        raise ArrayError(f"the dtype must be one of {', '.join(DTYPES)}, got {name}", "pass dtype='float32'")
    if not np.can_cast(natural, name, "same_kind"):
        raise ArrayError(
            f"{program.name!r} computes {natural} values here, which {name} cannot hold", "leave dtype out"
        )
    return name


def _promoted_type(types: Sequence[np.dtype[Any]], numbers: Sequence[Any]) -> np.dtype[Any]:
    """Return NumPy's promotion; a number of Python's widens bfloat16 as little as it does any type of NumPy's own."""
    if any(each.name == "bfloat16" for each in types):
        numbers = [number for number in numbers if type(number) not in {bool, int, float}]
    try:
        return np.result_type(*types, *numbers)
    except TypeError:
        names = " and ".join(dict.fromkeys(each.name for each in types))
        raise ArrayError(f"{names} have no common type", "convert one of the arrays, or pass dtype=…") from None


def hint_for_name(program: Program, name: str) -> str:
    """Return what somebody may have meant by a name that is no scalar of a program: a field, a scalar or an option."""
    if name in program.fields:
        return f"it is a field: pass the arrays of {', '.join(program.fields)} in this order, without names"
    scalars = f"its scalars are {', '.join(program.scalars)}" if program.scalars else "it takes no scalars"
    if name in RESERVED - {"tw_t"}:
        return f"{name} is an option of other functions, not of this one; {scalars}"
    return f"{meant(name, [*program.scalars, *sorted(RESERVED)])} {scalars}".strip()
