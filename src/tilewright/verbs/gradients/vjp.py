"""Gradients through a run: the pullback of a program's steps, after JAX's conventions."""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.inputs.arrays import Array, gather, like, with_edges
from tilewright.inputs.stencil import ProgramLike, as_program
from tilewright.programs.stencil.adjoint import adjoint_of
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.points import Points, SourceList
from tilewright.programs.stencil.program import Program
from tilewright.tracing import RESERVED
from tilewright.verbs.gradients.run import DifferentiatedRun, GradientOptions, State

Gradients = tuple[tuple[Any, ...], dict[str, Any]]
"""The gradients by the arrays, in the form they were given, and by scalars and coefficients, by name."""
Pullback = Callable[[Any], Gradients]
_FLOATING = ("float32", "float64")


def adjoint(program: ProgramLike, boundary: BoundarySpec = "fixed") -> Program:
    """Return the transposed tangent-linear step of a program, as a program.

    It runs as any other, under the boundaries that :func:`tilewright.programs.stencil.adjoint.adjoint_of` says with it.
    Its fields are: ``u_bar`` (and ``u_bar1``, ``u_bar2`` for older time levels), the cotangent of a version of ``u``;
    ``u_rim``, the cotangents of cells that a ``fixed`` boundary keeps; a sum ``k_bar`` for each field or scalar that no
    step changes; forward states by their own names, where the derivative depends on them; ``position0`` and so on, a
    cell's index along an axis. ``extent0`` and so on are scalars: the grid's extents.

    Args:
        program: A stencil, a function, a program, or the name of a built-in one.
        boundary: The boundaries of the program's runs; the adjoint is exact for each.

    Raises:
        UsageError: If there is no adjoint: of recurrences, of operators without a derivative, of complex numbers.

    Examples:
        >>> adjoint("jacobi1d", boundary="wrap").updated
        ('u_bar',)
    """
    return adjoint_of(as_program(program), boundary).program


def vjp(
    program: ProgramLike,
    *arrays: Any,  # noqa: ANN401
    steps: int,
    boundary: BoundarySpec = "fixed",
    dtype: Any = None,  # noqa: ANN401
    backend: str = "auto",
    threads: int | None = None,
    strict: bool = False,
    sources: Mapping[str, SourceList] | SourceList | None = None,
    receivers: Mapping[str, Points] | Points | None = None,
    wrt: Sequence[str] | None = None,
    memory: int | str | None = None,
    checkpoints: int | None = None,
    disk: str | Path | None = None,
    **scalars: Any,  # noqa: ANN401
) -> tuple[Any, Pullback]:
    """Run a program, and return the result and what takes a cotangent of it back to the inputs.

    A program that is linear in its fields is taken back in time tiles and needs no forward state, unless the gradient
    by scalars or coefficients is wanted. Others are taken back step by step; the states that they need are computed
    again from checkpoints, in segments (A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity
    in reverse automatic differentiation", Optimization Methods and Software 1 (1992); here with equal segments).

    The pullback is that of the arrays as they were: what it reads of them is copied, which is their first state, where
    states are needed, as one of those that ``memory`` and ``checkpoints`` count, the coefficients that the way back
    depends on, and values per step.

    Args:
        program: A stencil, a function, a program, or the name of a built-in one.
        *arrays: One per field, as :func:`tilewright.run` takes them; they may be changed once this has returned.
        steps: Time steps.
        boundary: Boundaries.
        dtype: Element type, float32 or float64.
        backend: As for :func:`tilewright.run`.
        threads: Threads on the processor.
        strict: Keep the order of operations exactly.
        sources: As for :func:`tilewright.run`; the gradients by their values are returned among the scalars, as
            ``"sources"``, by field: shape (steps, points), the points in the order in which they were given.
        receivers: As for :func:`tilewright.run`: then the result is ``(state, traces)``, and so is the cotangent, of
            which either may be None: zero.
        wrt: Names of scalars and of fields that no step updates, by which gradients are wanted; all by default.
        memory: Bytes for forward states, such as ``4GiB``; half of what is free by default.
        checkpoints: Forward states that are kept at a time, at least 2, in place of ``memory``.
        disk: A folder for further forward states, in files that go with the pullback: then ``memory`` bounds the states
            of a band alone, and no step is computed more than twice.
        **scalars: The program's scalars; an array makes one a coefficient field. Gradients are not taken by values per
            step.

    Returns:
        The result, as :func:`tilewright.run` returns it, and the pullback: called with a cotangent of the result's
        form, it returns the gradients of the arrays in the form they were given (a tuple per field given as time
        levels; None for a field that ``wrt`` leaves out), and a dict of those of scalars and coefficient fields.

    Raises:
        ArrayError: If an array does not fit.
        UsageError: If the program has no adjoint, or anything else cannot be used.

    Examples:
        >>> import numpy as np
        >>> y, pullback = vjp("jacobi1d", np.zeros(5), steps=1, boundary="wrap")
        >>> (gradient,), _ = pullback(np.array([3.0, 0.0, 0.0, 0.0, 0.0]))
        >>> gradient
        array([1., 1., 0., 0., 1.])
    """
    call = _call(program, arrays, scalars, GradientOptions.of(locals()))
    run = call.run
    last, states, traces = run.forward(run.detached())
    results = tuple(like(last[field][0], arrays[run.program.fields.index(field)]) for field in run.program.updated)
    several = results[0] if len(results) == 1 else results

    def pullback(cotangent: Any) -> Gradients:  # noqa: ANN401
        """Return the gradients of the inner product of a cotangent with the result."""
        if traces is None:
            return _pull_back(call, states, cotangent, None)
        if not isinstance(cotangent, tuple) or len(cotangent) != 2:
            raise ArrayError("with receivers a cotangent is a pair: of the state, and a mapping of those of traces")
        return _pull_back(call, states, *cotangent)

    return several if traces is None else (several, traces), pullback


def gradients(
    program: ProgramLike,
    cotangent: Any,  # noqa: ANN401
    *arrays: Any,  # noqa: ANN401
    steps: int,
    **options: Any,  # noqa: ANN401
) -> Gradients:
    """Return what :func:`vjp`'s pullback does of a cotangent, without the result: no run, where no state is needed.

    Examples:
        >>> import numpy as np
        >>> cotangent = np.array([3.0, 0.0, 0.0, 0.0, 0.0])
        >>> gradients("jacobi1d", cotangent, np.zeros(5), steps=1, boundary="wrap")[0][0]
        array([1., 1., 0., 0., 1.])
    """
    if options.get("receivers") is not None:
        raise UsageError("a cotangent of traces needs the run that records them", "take it back by vjp's pullback")
    own = {name: options.pop(name) for name in GradientOptions.__dataclass_fields__ if name in options}
    call = _call(program, arrays, options, GradientOptions(steps=steps, **own))
    states = call.run.forward(call.run.start)[1] if call.run.needs_states else []
    return _pull_back(call, states, cotangent, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    """A gradient that is asked for: the run, and the arrays and scalars as they were given."""

    run: DifferentiatedRun
    arrays: Sequence[Any]
    scalars: Mapping[str, Any]


def _call(program: ProgramLike, arrays: Sequence[Any], scalars: Mapping[str, Any], options: GradientOptions) -> _Call:
    _check_scalars(scalars)
    source, boundary, scalars = with_edges(as_program(program), options.boundary, scalars)
    given = gather(_same(source), arrays, scalars, options.dtype, options.steps)
    if given.dtype not in _FLOATING:
        raise UsageError(f"gradients are of {' and '.join(_FLOATING)} values, got {given.dtype}", "pass dtype=")
    return _Call(run=DifferentiatedRun(given, boundary, options), arrays=arrays, scalars=scalars)


def _pull_back(call: _Call, states: Sequence[State], of_state: Any, of_traces: Any) -> Gradients:  # noqa: ANN401
    run = call.run
    points = run.pulled(of_traces)
    cotangents = run.backward(run.cotangents(of_state), states, points)
    of_arrays, by_name = _gradients(call, cotangents)
    if points is not None and points.values:
        by_name["sources"] = points.values
    return of_arrays, by_name


def value_and_grad(
    program: ProgramLike,
    misfit: Callable[[Any], tuple[float, Any]],
    *arrays: Any,  # noqa: ANN401
    steps: int,
    **options: Any,  # noqa: ANN401
) -> tuple[float, Gradients]:
    """Return the value of a function of a run's result, and its gradients by the run's inputs.

    Args:
        program: A stencil, a function, a program, or the name of a built-in one.
        misfit: Takes the result of the run, returns a number and its cotangent: the number's gradient by the result.
        *arrays: One per field.
        steps: Time steps.
        **options: Options and scalars of :func:`vjp`.

    Returns:
        The number and the gradients, see :func:`vjp`.

    Examples:
        >>> import numpy as np
        >>> target = np.ones(8)
        >>> square = lambda y: (0.5 * float(((y - target) ** 2).sum()), y - target)
        >>> value, ((gradient,), _) = value_and_grad("jacobi1d", square, np.zeros(8), steps=3, boundary="wrap")
        >>> value, gradient.round(12)
        (4.0, array([-1., -1., -1., -1., -1., -1., -1., -1.]))
    """
    result, pullback = vjp(program, *arrays, steps=steps, **options)
    value, cotangent = misfit(result)
    return value, pullback(cotangent)


@functools.lru_cache(maxsize=64)
def _same(program: Program) -> Program:
    """Return the first of equal programs: every lookup compares, and the same object is found at once."""
    return program


def _gradients(call: _Call, cotangents: Mapping[str, Array]) -> Gradients:
    run, arrays, scalars = call.run, call.arrays, call.scalars
    adjoint, fields = run.adjoint, run.program.fields
    ages = [(field, level) for field in run.program.updated for level in range(run.program.history(field))]
    names = [*itertools.starmap(adjoint.cotangent, ages), *adjoint.sums.values(), *adjoint.kept.values()]
    cotangents = {name: cotangents[name] if name in cotangents else run.zeros() for name in names}
    of_arrays: list[Any] = []
    own = [field for field in fields if field not in scalars]
    for field, array in zip(own, arrays, strict=True):
        if field in run.program.updated:
            levels = run.levels(cotangents, field)
            count = len(array) if isinstance(array, tuple) else 1
            rest = levels[count - 1 :]
            levels = [*levels[: count - 1], rest[0] if len(rest) == 1 else np.sum(rest, axis=0)]
            gradient = tuple(like(each, array) for each in levels)
            of_arrays.append(gradient if isinstance(array, tuple) else gradient[0])
        elif field in adjoint.sums:
            of_arrays.append(like(_sum_to(cotangents[adjoint.sums[field]], np.shape(array)), array))
        else:
            of_arrays.append(None)
    by_name: dict[str, Any] = {}
    for name in adjoint.sums:
        if name in own:
            continue
        total = cotangents[adjoint.sums[name]]
        by_name[name] = (
            like(_sum_to(total, np.shape(scalars[name])), scalars[name])
            if name in fields
            else float(total.sum(dtype=np.float64))
        )
    return tuple(of_arrays), by_name


def _sum_to(total: Array, shape: tuple[int, ...]) -> Array:
    if total.shape == shape:
        return total
    missing = total.ndim - len(shape)
    total = total.sum(axis=tuple(range(missing)))
    axes = tuple(axis for axis, extent in enumerate(shape) if extent == 1 and total.shape[axis] != 1)
    return total.sum(axis=axes, keepdims=True) if axes else total


def _check_scalars(scalars: Mapping[str, Any]) -> None:
    """Refuse options of a run that gradients have none for; no scalar has such a name."""
    unknown = [name for name in scalars if name in RESERVED]
    if unknown:
        hint = "a mask is a field of the program: tw.where(mask[0, 0] != 0, new, u[0, 0])"
        raise UsageError(f"gradients take no option {unknown[0]!r}", hint if unknown[0] == "where" else "leave it out")
