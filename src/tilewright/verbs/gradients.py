"""Gradients through a run: the pullback of a program's steps, after JAX's conventions."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.units import parse_bytes
from tilewright.plan import Target, read_target
from tilewright.programs.stencil.adjoint import adjoint_of
from tilewright.programs.stencil.problem import BoundarySpec, Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.host import available_bytes, thread_count
from tilewright.runtime.session import Inputs
from tilewright.verbs.arrays import Array, Given, as_array, gather, like
from tilewright.verbs.memo import prepared
from tilewright.verbs.stencil import ProgramLike, as_program

State = dict[str, tuple[Array, ...]]
"""Per updated field its time levels, newest first."""
Gradients = tuple[tuple[Any, ...], dict[str, Any]]
"""What the arrays are worth, in the form they were given, and what scalars and coefficients are worth, by name."""
Pullback = Callable[[Any], Gradients]
_FLOATING = ("float32", "float64")


def adjoint(program: ProgramLike, boundary: BoundarySpec = "fixed") -> Program:
    """Return the transposed tangent-linear step of a program, as a program.

    It runs as any other, under the boundaries that :func:`tilewright.programs.stencil.adjoint.adjoint_of` says with it.
    Its fields are: ``u_bar`` (and ``u_bar1``, ``u_bar2`` for older time levels), what a version of ``u`` is worth;
    ``u_rim``, what cells are worth that a ``fixed`` boundary keeps; a sum ``k_bar`` for each field or scalar that no
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
    wrt: Sequence[str] | None = None,
    memory: int | str | None = None,
    checkpoints: int | None = None,
    **scalars: Any,  # noqa: ANN401
) -> tuple[Any, Pullback]:
    """Run a program, and return the result and what takes a cotangent of it back to the inputs.

    A program that is linear in its fields is taken back in time tiles and needs no forward state, unless the worth of
    scalars or coefficients is wanted. Others are taken back step by step; the states that they need are computed again
    from checkpoints, in segments (A. Griewank, "Achieving logarithmic growth of temporal and spatial complexity in
    reverse automatic differentiation", Optimization Methods and Software 1 (1992); here with equal segments).

    Args:
        program: A stencil, a function, a program, or the name of a built-in one.
        *arrays: One per field, as :func:`tilewright.run` takes them.
        steps: Time steps.
        boundary: Boundaries.
        dtype: Element type, float32 or float64.
        backend: As for :func:`tilewright.run`.
        threads: Threads on the processor.
        strict: Keep the order of operations exactly.
        wrt: Names of scalars and of fields that no step updates whose worth is wanted; all of them by default.
        memory: Bytes for forward states, such as ``4GiB``; half of what is free by default.
        checkpoints: Forward states that are kept at a time, at least 2, in place of ``memory``.
        **scalars: The program's scalars; an array makes one a coefficient field.

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
    given = gather(as_program(program), arrays, scalars, dtype)
    if given.dtype not in _FLOATING:
        raise UsageError(f"gradients are of {' and '.join(_FLOATING)} values, got {given.dtype}", "pass dtype=")
    run = _Run(given, steps, boundary, read_target(backend, thread_count(threads)), strict=strict, wrt=wrt)
    slots = _slots(run, memory, checkpoints)
    start = run.start(given)
    last, kept = run.forward(start, slots)
    results = tuple(like(last[field][0], arrays[run.program.fields.index(field)]) for field in run.program.updated)
    several = results[0] if len(results) == 1 else results

    def pullback(cotangent: Any) -> Gradients:  # noqa: ANN401
        """Return the gradients of what a cotangent of the result is worth."""
        worth = run.backward(run.cotangents(cotangent), kept, slots)
        return _gradients(run, given, arrays, scalars, worth)

    return several, pullback


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


class _Run:
    """A program on a grid and its adjoint, with the kernels of both."""

    def __init__(
        self,
        given: Given,
        steps: int,
        boundary: BoundarySpec,
        target: Target,
        *,
        strict: bool,
        wrt: Sequence[str] | None,
    ) -> None:
        self.program = given.program
        self.problem = make_problem(given.program, given.shape, steps, given.dtype, boundary)
        self.adjoint = adjoint_of(given.program, boundary, wrt)
        _check_extents(self.problem)
        self.scalars = dict(given.scalars)
        self.constants = {
            field: given.versions[field] for field in given.program.fields if field not in given.program.updated
        }
        self._target, self._strict = target, strict

    @property
    def needs_states(self) -> bool:
        """Whether what a step is worth depends on the state that it began with."""
        return bool(self.adjoint.changing)

    def start(self, given: Given) -> State:
        """Return the first state, as a run takes it: missing levels repeat the oldest, kept edges the newest."""
        state: State = {}
        for field in self.program.updated:
            versions = given.versions[field]
            missing = self.program.history(field) - len(versions)
            levels = [np.asarray(each, self.problem.dtype) for each in (*versions, *[versions[-1]] * missing)]
            if field in self.adjoint.kept:
                _, edge = self._split(field, levels[0])
                levels[1:] = [self._split(field, each)[0] + edge for each in levels[1:]]
            state[field] = tuple(levels)
        return state

    def advance(self, state: State, steps: int) -> State:
        """Compute further steps, all time levels kept."""
        if not steps:
            return state
        return self._computed(self.problem, {**self.constants, **state}, self.scalars, steps)

    def forward(self, start: State, slots: int) -> tuple[State, list[tuple[int, State]]]:
        """Run; return the last state, and the checkpoints: steps done and state."""
        steps = self.problem.steps
        if not self.needs_states or steps == 0:
            return self.advance(start, steps), []
        kept, state, done = [], start, 0
        for length in _segments(steps, slots):
            kept.append((done, state))
            state, done = self.advance(state, length), done + length
        return state, kept

    def backward(self, worth: dict[str, Array], kept: Sequence[tuple[int, State]], slots: int) -> dict[str, Array]:
        """Take what the last state is worth back to the first one."""
        steps = self.problem.steps
        if not self.needs_states:
            return self._at_once(worth, steps)
        end = steps
        for number, (begin, state) in reversed(list(enumerate(kept))):
            worth = self._segment(worth, state, end - begin, max(2, slots - number))
            end = begin
        return worth

    def _at_once(self, worth: dict[str, Array], steps: int) -> dict[str, Array]:
        """Take back steps that depend on no state, in time tiles."""
        steady = self.adjoint.steady
        if steady is None or not steps:
            return self._back(worth, {}, steps)
        zeros = _zeros(self.problem)
        arrays = {name: (worth.get(name, zeros),) for name in steady.program.updated}
        arrays |= {
            name: (self.constants[field][0],)
            for name, (field, _) in self.adjoint.states.items()
            if name in steady.program.fields
        }
        scalars = {name: self.scalars[name] for name in steady.program.scalars}
        problem = make_problem(steady.program, self.problem.shape, steps, self.problem.dtype, steady.boundary)
        found = {field: levels[0] for field, levels in self._computed(problem, arrays, scalars, steps).items()}
        total = {self.adjoint.worth(field): found[name] for field, name in steady.sums.items()}
        kept = {name: worth[name] for name in self.adjoint.kept.values()}
        return {
            **self._back({**total, **kept}, {}, 1),
            **{name: found[name] for name in found if name not in steady.sums.values()},
        }

    def _segment(self, worth: dict[str, Array], state: State, length: int, slots: int) -> dict[str, Array]:
        """Take back some steps that begin with a state, with so many states in memory."""
        lengths = [1] * length if length <= slots else _segments(length, slots)
        starts = [state]
        for part in lengths[:-1]:
            starts.append(self.advance(starts[-1], part))
        for number in reversed(range(len(lengths))):
            first = starts.pop()
            if lengths[number] == 1:
                worth = self._back(worth, first, 1)
            else:
                worth = self._segment(worth, first, lengths[number], max(2, slots - number))
        return worth

    def _back(self, worth: dict[str, Array], state: State, steps: int) -> dict[str, Array]:
        """Take back steps that begin with a state, one at a time where it matters."""
        if not steps:
            return worth
        adjoint, shape = self.adjoint, self.problem.shape
        after: State = {}
        if any(level == 1 and field in state for field, level in adjoint.states.values()):
            after = self.advance(state, 1)
        arrays = {field: (worth.get(field, _zeros(self.problem)),) for field in adjoint.program.updated}
        for name, (field, level) in adjoint.states.items():
            if field in self.constants:
                arrays[name] = (self.constants[field][0],)
            else:
                arrays[name] = (after[field][0] if level == 1 else state[field][-level],)
        for axis, name in adjoint.positions.items():
            along = [1] * len(shape)
            along[axis] = shape[axis]
            arrays[name] = (np.broadcast_to(np.arange(shape[axis], dtype=self.problem.dtype).reshape(along), shape),)
        scalars = {name: self.scalars[name] for name in adjoint.program.scalars if name in self.scalars}
        scalars |= {name: float(shape[axis]) for axis, name in adjoint.extents.items()}
        problem = make_problem(adjoint.program, shape, steps, self.problem.dtype, adjoint.boundary)
        return {field: levels[0] for field, levels in self._computed(problem, arrays, scalars, steps).items()}

    def _computed(
        self, problem: Problem, arrays: Mapping[str, tuple[Array, ...]], scalars: Mapping[str, Any], steps: int
    ) -> State:
        problem = replace(problem, steps=steps)
        kernel = prepared(problem, self._target, None, strict=self._strict)
        inputs, threads = Inputs(arrays=arrays, scalars=scalars), self._target.threads or thread_count(None)
        ages = {field: problem.program.history(field) for field in problem.program.updated}
        if max(ages.values()) == 1:
            return {field: (values,) for field, values in kernel.run(problem, inputs, threads).items()}
        session = kernel.start(problem, inputs, threads)
        try:
            session.advance(steps)
            by_age = [session.results(None, age) for age in range(max(ages.values()))]
        finally:
            session.close()
        return {field: tuple(by_age[age][field] for age in range(ages[field])) for field in ages}

    def cotangents(self, given: Any) -> dict[str, Array]:  # noqa: ANN401
        """Check a cotangent of the result, and return what the last state is worth."""
        updated = self.program.updated
        several = given if isinstance(given, tuple) else (given,)
        if len(several) != len(updated):
            raise ArrayError(f"a cotangent is needed for each of {', '.join(updated)}, got {len(several)}")
        worth = {}
        for field, each in zip(updated, several, strict=True):
            array = as_array(each, f"the cotangent of {field}")
            if array.shape != self.problem.shape:
                raise ArrayError(
                    f"the cotangent of {field!r} has the result's shape {self.problem.shape}, got {array.shape}"
                )
            worth[self.adjoint.worth(field)] = values = array.astype(self.problem.dtype)
            if field in self.adjoint.kept:
                worth[self.adjoint.worth(field)], worth[self.adjoint.kept[field]] = self._split(field, values)
        return worth

    def _split(self, field: str, array: Array) -> tuple[Array, Array]:
        """Split values into those of cells that steps update, and those of the others."""
        statement = next(each for each in self.program.statements if each.field == field)
        box = tuple(slice(*span) for span in self.problem.update_box(statement))
        inside = np.zeros_like(array)
        inside[box] = array[box]
        return inside, array - inside

    def levels(self, worth: Mapping[str, Array], field: str) -> list[Array]:
        """Return what the versions of an updated field are worth that a run began with, newest first.

        A run puts the newest version's values into the cells of older ones that no step updates.
        """
        levels = [worth[self.adjoint.worth(field, level)] for level in range(self.program.history(field))]
        if field in self.adjoint.kept:
            levels[0] = levels[0] + worth[self.adjoint.kept[field]]
            for level in range(1, len(levels)):
                levels[level], outside = self._split(field, levels[level])
                levels[0] = levels[0] + outside
        return levels


def _check_extents(problem: Problem) -> None:
    """Refuse grids so small that a boundary maps a read outside onto the far side and back."""
    for axis, reach in enumerate(problem.program.reach):
        kinds = {side.kind for sides in problem.boundaries for side in sides[axis]}
        if kinds & {"reflect", "mirror"} and problem.shape[axis] <= max(reach):
            raise UsageError(
                f"a gradient needs more than {max(reach)} cells along axis {axis}, whose boundary reflects, got "
                f"{problem.shape[axis]}"
            )


def _zeros(problem: Problem) -> Array:
    return np.zeros(problem.shape, problem.dtype)


def _slots(run: _Run, memory: int | str | None, checkpoints: int | None) -> int:
    """Return how many forward states may be in memory at a time."""
    if checkpoints is not None:
        if memory is not None:
            raise UsageError("memory and checkpoints both say how many states are kept", "give one of them")
        if not isinstance(checkpoints, int) or checkpoints < 2:
            raise UsageError(f"checkpoints is a number of states, at least 2, got {checkpoints!r}")
        return checkpoints
    levels = sum(run.program.history(field) for field in run.program.updated)
    size = max(1, levels * run.problem.cells * run.problem.itemsize)
    room = parse_bytes(memory) if isinstance(memory, str) else memory
    if room is None:
        room = (available_bytes() or 2**31) // 2
    return max(2, int(room) // size)


def _segments(steps: int, slots: int) -> list[int]:
    """Cut steps into segments whose starts are kept, so that the states of one more fit.

    >>> _segments(9, 6), _segments(5, 8), _segments(100, 4)
    ([3, 3, 3], [5], [34, 33, 33])
    """
    if steps <= slots:
        return [steps]
    count = next((n for n in range(2, slots) if n + math.ceil(steps / n) <= slots), max(2, slots - 1))
    return [steps // count + (number < steps % count) for number in range(count)]


def _gradients(
    run: _Run, given: Given, arrays: Sequence[Any], scalars: Mapping[str, Any], worth: Mapping[str, Array]
) -> Gradients:
    """Return what was summed in the form of what was given."""
    adjoint = run.adjoint
    zeros = _zeros(run.problem)
    of_arrays: list[Any] = []
    own = [field for field in given.program.fields if field not in scalars]
    for field, array in zip(own, arrays, strict=True):
        if field in run.program.updated:
            levels = run.levels({name: worth.get(name, zeros) for name in adjoint.program.updated}, field)
            count = len(array) if isinstance(array, tuple) else 1
            levels = [*levels[: count - 1], np.sum(levels[count - 1 :], axis=0)]
            found = tuple(like(each, array) for each in levels)
            of_arrays.append(found if isinstance(array, tuple) else found[0])
        elif field in adjoint.sums:
            of_arrays.append(like(_summed(worth.get(adjoint.sums[field], zeros), np.shape(array)), array))
        else:
            of_arrays.append(None)
    by_name: dict[str, Any] = {}
    for name in adjoint.sums:
        if name in own:
            continue
        total = worth.get(adjoint.sums[name], zeros)
        by_name[name] = (
            like(_summed(total, np.shape(scalars[name])), scalars[name])
            if name in given.program.fields
            else float(total.sum(dtype=np.float64))
        )
    return tuple(of_arrays), by_name


def _summed(total: Array, shape: tuple[int, ...]) -> Array:
    """Sum over the axes along which an array was repeated."""
    if total.shape == shape:
        return total
    missing = total.ndim - len(shape)
    total = total.sum(axis=tuple(range(missing)))
    axes = tuple(axis for axis, extent in enumerate(shape) if extent == 1 and total.shape[axis] != 1)
    return total.sum(axis=axes, keepdims=True) if axes else total
