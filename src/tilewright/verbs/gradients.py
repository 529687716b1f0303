"""Gradients through a run: the pullback of a program's steps, after JAX's conventions."""

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.units import parse_bytes
from tilewright.frontends.trace import RESERVED
from tilewright.plan import Target, read_target
from tilewright.programs.stencil.adjoint import adjoint_of
from tilewright.programs.stencil.points import Points
from tilewright.programs.stencil.problem import BoundarySpec, Problem, make_problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.host import available_bytes, thread_count
from tilewright.runtime.kernels import Kernel
from tilewright.runtime.kernels import State as StateInMemory
from tilewright.runtime.points import PointData, Sources
from tilewright.runtime.session import Inputs
from tilewright.verbs.arrays import Array, Given, as_array, gather, like
from tilewright.verbs.gradient_points import Pulled
from tilewright.verbs.memo import prepared
from tilewright.verbs.running.forcing import SourceList, gather_points, unscaled_sources
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
    sources: Mapping[str, SourceList] | SourceList | None = None,
    receivers: Mapping[str, Points] | Points | None = None,
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
        sources: As for :func:`tilewright.run`; what their values are worth is returned among the scalars, as
            ``"sources"``, by field: shape (steps, points), the points in the order in which they were given.
        receivers: As for :func:`tilewright.run`: then the result is ``(state, traces)``, and so is the cotangent, of
            which either may be None: worth nothing.
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
    _check_options(scalars)
    given = gather(_same(as_program(program)), arrays, scalars, dtype)
    if given.dtype not in _FLOATING:
        raise UsageError(f"gradients are of {' and '.join(_FLOATING)} values, got {given.dtype}", "pass dtype=")
    target = read_target(backend, thread_count(threads))
    if target.on_device and (sources is not None or receivers is not None):
        raise UsageError("gradients through sources and receivers are computed on the processor", "use backend='c'")
    run = _Run(given, steps, boundary, target, strict=strict, wrt=wrt)
    run.take_points(given, sources, receivers)
    slots = _slots(run, memory, checkpoints)
    start = run.start(given)
    last, kept, traces = run.forward(start, slots)
    results = tuple(like(last[field][0], arrays[run.program.fields.index(field)]) for field in run.program.updated)
    several = results[0] if len(results) == 1 else results

    def pullback(cotangent: Any) -> Gradients:  # noqa: ANN401
        """Return the gradients of what a cotangent of the result is worth."""
        of_state, of_traces = cotangent, None
        if traces is not None:
            if not isinstance(cotangent, tuple) or len(cotangent) != 2:
                raise ArrayError("with receivers a cotangent is a pair: of the state, and a mapping of those of traces")
            of_state, of_traces = cotangent
        points = run.pulled(of_traces)
        worth = run.backward(run.cotangents(of_state), kept, slots, points)
        gradients, by_name = _gradients(run, given, arrays, scalars, worth)
        if points is not None and points.values:
            by_name["sources"] = points.values
        return gradients, by_name

    return several if traces is None else (several, traces), pullback


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
        self._problems: dict[tuple[Program, int], Problem] = {}
        self._kernels: dict[tuple[Program, int], Kernel] = {}
        self._points: PointData | None = None
        self._scaled: tuple[tuple[str, Sources], ...] = ()

    @property
    def needs_states(self) -> bool:
        """Whether what a step is worth depends on the state that it began with."""
        return bool(self.adjoint.changing)

    def take_points(
        self,
        given: Given,
        sources: Mapping[str, SourceList] | SourceList | None,
        receivers: Mapping[str, Points] | Points | None,
    ) -> None:
        """Check the sources and receivers of the run, if there are any."""
        self._points = gather_points(given, self.problem, sources, receivers)
        if self._points is not None:
            self.problem = replace(self.problem, points=self._points.fields(self.problem))
            self._scaled = unscaled_sources(given, self.problem, sources)

    def pulled(self, of_traces: Mapping[str, Any] | None) -> Pulled | None:
        """Return what takes sources and receivers back; None where there are none."""
        return (
            None if self._points is None else Pulled(self.adjoint, self.problem, self._points, self._scaled, of_traces)
        )

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

    def advance(self, state: State, steps: int, first: int = 0, traces: Mapping[str, Array] | None = None) -> State:
        """Compute further steps, all time levels kept."""
        if not steps:
            return state
        inputs = Inputs(
            arrays={**self.constants, **state}, scalars=self.scalars, points=self._points, traces=traces, first=first
        )
        return self._computed(self.problem, inputs, steps)

    def forward(self, start: State, slots: int) -> tuple[State, list[tuple[int, State]], dict[str, Array] | None]:
        """Run; return the last state, the checkpoints (steps done and state), and what receivers recorded."""
        steps, points = self.problem.steps, self._points
        traces = points.traces(self.problem) if points is not None and points.receivers else None
        if not self.needs_states or steps == 0:
            return self.advance(start, steps, traces=traces), [], traces
        kept, state, done = [], start, 0
        for length in _segments(steps, slots):
            kept.append((done, state))
            state, done = self.advance(state, length, done, traces), done + length
        return state, kept, traces

    def backward(
        self, worth: dict[str, Array], kept: Sequence[tuple[int, State]], slots: int, points: Pulled | None
    ) -> dict[str, Array]:
        """Take what the last state is worth back to the first one."""
        steps = self.problem.steps
        if not self.needs_states and points is None:
            return self._at_once(worth, steps)
        if not self.needs_states:
            for number in reversed(range(steps)):
                worth = self._step_back(worth, {}, number, points)
            return worth
        end = steps
        for number, (begin, state) in reversed(list(enumerate(kept))):
            worth = self._segment(worth, state, begin, end - begin, max(2, slots - number), points)
            end = begin
        return worth

    def _step_back(self, worth: dict[str, Array], state: State, number: int, points: Pulled | None) -> dict[str, Array]:
        """Take back one step, its sources and what was recorded after it."""
        if points is None:
            return self._back(worth, state, 1, number)
        worth = points.with_traces(worth, number)
        before, worth = worth, self._back(worth, state, 1, number)
        points.sources(before, worth, number)
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
        computed = self._computed(problem, Inputs(arrays=arrays, scalars=scalars), steps)
        found = {field: levels[0] for field, levels in computed.items()}
        total = {self.adjoint.worth(field): found[name] for field, name in steady.sums.items()}
        kept = {name: worth[name] for name in self.adjoint.kept.values()}
        return {
            **self._back({**total, **kept}, {}, 1),
            **{name: found[name] for name in found if name not in steady.sums.values()},
        }

    def _segment(
        self, worth: dict[str, Array], state: State, begin: int, length: int, slots: int, points: Pulled | None
    ) -> dict[str, Array]:
        """Take back some steps that begin with a state, with so many states in memory."""
        lengths = [1] * length if length <= slots else _segments(length, slots)
        at = [begin + sum(lengths[:number]) for number in range(len(lengths))]
        starts = [state, *self._looked_at(state, at)]
        for number in reversed(range(len(lengths))):
            first = starts.pop()
            if lengths[number] == 1:
                worth = self._step_back(worth, first, at[number], points)
            else:
                left = max(2, slots - number)
                worth = self._segment(worth, first, at[number], lengths[number], left, points)
        return worth

    def _looked_at(self, state: State, at: Sequence[int]) -> Iterator[State]:
        """Advance a state from the first of some steps to each of the others."""
        if len(at) < 2:
            return
        problem = self._problem(self.problem, max(b - a for a, b in itertools.pairwise(at)))
        inputs = Inputs(arrays={**self.constants, **state}, scalars=self.scalars, points=self._points, first=at[0])
        session = self._kernel(problem).start(problem, inputs, self._threads)
        try:
            for before, after in itertools.pairwise(at):
                session.advance(after - before)
                yield _levels(session, problem)
        finally:
            session.close()

    def _back(self, worth: dict[str, Array], state: State, steps: int, number: int = 0) -> dict[str, Array]:
        """Take back steps that begin with a state, one at a time where it matters."""
        if not steps:
            return worth
        adjoint, shape = self.adjoint, self.problem.shape
        after: State = {}
        if any(level == 1 and field in state for field, level in adjoint.states.values()):
            after = self.advance(state, 1, number)
        arrays = {field: (worth.get(field, self._nothing),) for field in adjoint.program.updated}
        for name, (field, level) in adjoint.states.items():
            if field in self.constants:
                arrays[name] = (self.constants[field][0],)
            else:
                arrays[name] = (after[field][0] if level == 1 else state[field][-level],)
        arrays |= {name: (self._positions(axis),) for axis, name in adjoint.positions.items()}
        scalars = {name: self.scalars[name] for name in adjoint.program.scalars if name in self.scalars}
        scalars |= {name: float(shape[axis]) for axis, name in adjoint.extents.items()}
        computed = self._computed(self._whole, Inputs(arrays=arrays, scalars=scalars), steps)
        return {field: levels[0] for field, levels in computed.items()}

    @functools.cached_property
    def _whole(self) -> Problem:
        adjoint = self.adjoint
        return make_problem(adjoint.program, self.problem.shape, 1, self.problem.dtype, adjoint.boundary)

    @functools.cached_property
    def _nothing(self) -> Array:
        return _zeros(self.problem)

    @functools.cached_property
    def _threads(self) -> int:
        return self._target.threads or thread_count(None)

    @functools.cache  # noqa: B019  (lives as long as the pullback)
    def _positions(self, axis: int) -> Array:
        """The index of every cell along an axis."""
        shape = self.problem.shape
        along = [shape[axis] if number == axis else 1 for number in range(len(shape))]
        return np.broadcast_to(np.arange(shape[axis], dtype=self.problem.dtype).reshape(along), shape)

    def _problem(self, problem: Problem, steps: int) -> Problem:
        """The same problem for so many steps, the same object whenever it is asked for: comparing them takes long."""
        return self._problems.setdefault((problem.program, steps), replace(problem, steps=steps))

    def _kernel(self, problem: Problem) -> Kernel:
        key = problem.program, problem.steps
        if key not in self._kernels:
            self._kernels[key] = prepared(problem, self._target, None, strict=self._strict)
        return self._kernels[key]

    def _computed(self, problem: Problem, inputs: Inputs, steps: int) -> State:
        problem = self._problem(problem, steps)
        kernel = self._kernel(problem)
        if all(problem.program.history(field) == 1 for field in problem.program.updated):
            return {field: (values,) for field, values in kernel.run(problem, inputs, self._threads).items()}
        session = kernel.start(problem, inputs, self._threads)
        try:
            session.advance(steps)
            return _levels(session, problem)
        finally:
            session.close()

    def cotangents(self, given: Any) -> dict[str, Array]:  # noqa: ANN401
        """Check a cotangent of the result, and return what the last state is worth."""
        updated = self.program.updated
        if given is None and self._points is not None:
            return {self.adjoint.worth(field): _zeros(self.problem) for field in updated} | {
                name: _zeros(self.problem) for name in self.adjoint.kept.values()
            }
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
            if array.dtype.kind == "c":
                raise ArrayError(f"the cotangent of {field!r} is real, as the result is, got {array.dtype}")
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


def _levels(session: StateInMemory, problem: Problem) -> State:
    """Copy every time level that a next step reads."""
    ages = {field: problem.program.history(field) for field in problem.program.updated}
    by_age = [session.results(None, age) for age in range(max(ages.values()))]
    return {field: tuple(by_age[age][field].copy() for age in range(ages[field])) for field in ages}


def _check_options(scalars: Mapping[str, Any]) -> None:
    """Refuse options of a run that gradients have none for; no scalar has such a name."""
    unknown = [name for name in scalars if name in RESERVED]
    if unknown:
        hint = "a mask is a field of the program: tw.where(mask[0, 0] != 0, new, u[0, 0])"
        raise UsageError(f"gradients take no option {unknown[0]!r}", hint if unknown[0] == "where" else "leave it out")


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
