"""A run that is taken back: its steps forward, what is kept of them, and the steps of its adjoint."""

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.options import Options
from tilewright.inputs.arrays import Array, Given, as_array
from tilewright.inputs.memo import prepared
from tilewright.plan import read_target
from tilewright.programs.stencil.adjoint import adjoint_of
from tilewright.programs.stencil.adjoint_parts import Split
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.points import Points, SourceList
from tilewright.programs.stencil.problem import PointFields, Problem, make_problem
from tilewright.programs.stencil.program import Program, Statement
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.runtime.host import thread_count
from tilewright.runtime.kernels import CpuKernel, Kernel
from tilewright.runtime.kernels import State as StateInMemory
from tilewright.runtime.memory import frame
from tilewright.runtime.points import MOST_BYTES, PointData, Sources, bytes_of
from tilewright.runtime.session import SHARED, Inputs, Session
from tilewright.verbs.gradients.checkpoints import Forward, Reverse, StatesOnDisk, schedule, slots_of
from tilewright.verbs.gradients.edges import EdgeSums
from tilewright.verbs.gradients.points import Pulled
from tilewright.verbs.gradients.problems import Band, at_once, bands_of, split_problem
from tilewright.verbs.running.forcing import gather_points

State = dict[str, tuple[Array, ...]]  # per updated field its time levels, newest first
_Key = tuple[Program, int, PointFields]


class GradientOptions(Options):
    """What :func:`tilewright.vjp` is asked."""

    steps: int
    boundary: BoundarySpec = "fixed"
    dtype: Any = None
    backend: str = "auto"
    threads: int | None = None
    strict: bool = False
    sources: Mapping[str, SourceList] | SourceList | None = None
    receivers: Mapping[str, Points] | Points | None = None
    wrt: Sequence[str] | None = None
    memory: int | str | None = None  # bytes for forward states
    checkpoints: int | None = None  # forward states in memory at a time
    disk: str | Path | None = None  # a folder for further ones


class DifferentiatedRun:
    """A program on a grid and its adjoint, with the kernels of both."""

    def __init__(self, given: Given, boundary: BoundarySpec, options: GradientOptions) -> None:
        self._target = read_target(options.backend, thread_count(options.threads))
        sources, receivers = options.sources, options.receivers
        if self._target.on_device and (sources is not None or receivers is not None):
            raise UsageError("gradients through sources and receivers are computed on the processor", "use backend='c'")
        self.program = given.program
        self.problem = make_problem(given.program, given.shape, options.steps, given.dtype, boundary, given.varying)
        self.adjoint = adjoint_of(given.program, boundary, options.wrt, given.varying)
        _check_extents(self.problem)
        self.scalars = dict(given.scalars)
        updated = given.program.updated
        self.constants = {field: given.versions[field] for field in given.program.fields if field not in updated}
        self._strict = options.strict
        self._problems: dict[_Key, Problem] = {}
        self._kernels: dict[tuple[Program, int, PointFields, Storage], Kernel] = {}
        self._points = gather_points(given, self.problem, sources, receivers)
        if self._points is not None:
            self.problem = self._points.on(self.problem)
        levels = sum(given.program.history(field) for field in updated)
        size = levels * self.problem.cells * self.problem.itemsize
        self._slots = slots_of(size, options.memory, options.checkpoints)
        self._disk: StatesOnDisk | None = None
        if options.disk is not None:
            disk = StatesOnDisk(options.disk)
            if self.needs_states and options.steps:
                self._disk = disk
                disk.check_room(sum(isinstance(action, Reverse) for action in self._schedule) - 1, size)
        self.start = self._first_state(given)

    @property
    def needs_states(self) -> bool:
        """Whether the cotangent of a step depends on the state that it began with."""
        return bool(self.adjoint.changing)

    def detached(self) -> State:
        """Copy what is read of the caller's arrays on the way back, and return such a first state."""
        read = {field for field, _ in self.adjoint.states.values()}
        self.constants = {
            field: tuple(map(self._copied, levels)) if self.needs_states or field in read else levels
            for field, levels in self.constants.items()
        }
        self.scalars = {
            name: value.copy() if isinstance(value, np.ndarray) else value for name, value in self.scalars.items()
        }
        if self._points is not None:
            self._points = replace(self._points, sources=tuple(map(_with_own_values, self._points.sources)))
        if self.needs_states or not self.problem.steps:
            return {field: tuple(map(self._copied, levels)) for field, levels in self.start.items()}
        return self.start

    def _copied(self, array: Array) -> Array:
        """Copy an array; one that is repeated along axes stays so."""
        once = array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]
        own = SHARED.copied(once, self.threads)
        return own if own.shape == array.shape else np.broadcast_to(own, array.shape)

    def pulled(self, of_traces: Mapping[str, Any] | None) -> Pulled | None:
        """Return what takes sources and receivers back; None where there are none."""
        return None if self._points is None else Pulled(self.adjoint, self.problem, self._points, of_traces)

    def _first_state(self, given: Given) -> State:
        """Return the first state, as a run takes it: missing levels repeat the oldest, kept edges the newest."""
        state: State = {}
        for field in self.program.updated:
            versions = given.versions[field]
            missing = self.program.history(field) - len(versions)
            levels = [np.asarray(each, self.problem.dtype) for each in (*versions, *[versions[-1]] * missing)]
            if field in self.adjoint.kept:
                edges = self._edges(field)
                for number, older in enumerate(levels[1:], 1):
                    if any(not np.array_equal(older[slab], levels[0][slab]) for slab in edges):
                        levels[number] = own = SHARED.copied(older, self.threads)
                        for slab in edges:
                            own[slab] = levels[0][slab]
            state[field] = tuple(levels)
        return state

    def _advanced(self, state: State, steps: int, first: int, traces: Mapping[str, Array] | None = None) -> State:
        return self._computed(self.problem, self.inputs(state, first, traces), steps, newest=True) if steps else state

    def inputs(self, state: State, first: int, traces: Mapping[str, Array] | None = None) -> Inputs:
        """Return what a run starts from after some steps."""
        arrays = {**self.constants, **state}
        return Inputs(arrays=arrays, scalars=self.scalars, points=self._points, traces=traces, first=first)

    @property
    def _schedule(self) -> tuple[Forward | Reverse, ...]:
        steps = self.problem.steps
        if not self.needs_states:
            return Forward((0, steps)), Reverse(0, steps)
        return schedule(steps, self._slots, on_disk=self._disk is not None)

    def forward(self, start: State) -> tuple[State, list[State], dict[str, Array] | None]:
        """Run; return the last state, those that are kept, and what receivers recorded."""
        steps, points = self.problem.steps, self._points
        traces = points.traces(self.problem) if points is not None and points.receivers else None
        if not self.needs_states or steps == 0:
            return self._advanced(start, steps, 0, traces), [], traces
        first, disk = self._schedule[0], self._disk
        assert isinstance(first, Forward)  # noqa: S101  (as in every schedule)
        states = [start]
        for number, state in enumerate(self.states_at(start, first.at, traces), 2):
            states.append(state if disk is None or number == len(first.at) else disk.keep(state))
        return states.pop(), states, traces

    def backward(self, cotangents: dict[str, Array], bases: Sequence[State], points: Pulled | None) -> dict[str, Array]:
        """Take the cotangents of the last state back to the first one."""
        if not self.problem.steps:
            return cotangents
        tabled = points is None or points.fits(self._by_cells.program)
        at_any_time = not self.needs_states and not self.problem.varying
        if at_any_time and points is None:
            whole = replace(self._whole, steps=self.problem.steps)
            runs = at_once(whole, self.adjoint, on_device=self._target.on_device)
            ways: dict[str, Callable[..., dict[str, Array]]] = {
                "whole": self._whole_back,
                "steady": self._steady_back,
                "edges": self._edges_back,
            }
            if runs.way in ways:
                return ways[runs.way](cotangents, *map(self._same, runs.problems))
        bands = self._bands(cotangents, points) if tabled and (at_any_time or self.needs_states) else None
        back = OneByOne(self, cotangents, points) if bands is None else bands
        states = list(bases) or [{}]
        try:
            for action in self._schedule[1:]:
                if isinstance(action, Forward):
                    states += self.states_at(states[-1], action.at)
                else:
                    back.take_back(states.pop(), action.begin, action.steps)
            return back.results()
        finally:
            back.close()

    def _bands(self, cotangents: dict[str, Array], points: Pulled | None) -> "Bands | None":
        back, forward = Band(problem=replace(self._by_cells, steps=self.problem.steps)), None
        if self.needs_states:
            if self._target.on_device:
                return None
            most = max(action.steps for action in self._schedule if isinstance(action, Reverse))
            whole = self.problem if self._points is None else replace(self._points, receivers=()).on(self.problem)
            bands = bands_of(whole, self._by_cells, self.adjoint, most)
            if bands is None or most * bytes_of(whole) > MOST_BYTES:
                return None  # a band is one call of a kernel
            band, back = bands
            kernel = self._kernel(self._same(band.problem), band.storage)
            if not isinstance(kernel, CpuKernel):
                return None
            forward = kernel, self._same(band.problem)
        data = PointData() if points is None else points.tabled(cotangents)
        problem = self._same(data.on(back.problem))
        kernel_back = self._kernel(problem, back.storage)
        if forward is not None and not isinstance(kernel_back, CpuKernel):
            raise UsageError("the adjoint is not compiled though the program is", "use backend='numpy'")
        inputs = self._inputs_back(cotangents, problem.program)
        if points is not None:
            inputs = replace(inputs, points=data, traces=points.records)
        return Bands(self, kernel_back.start(problem, inputs, self.threads), forward, cotangents, points)

    def _whole_back(self, cotangents: dict[str, Array], problem: Problem) -> dict[str, Array]:
        inputs = self._inputs_back(cotangents, problem.program)
        return {field: levels[0] for field, levels in self._computed(problem, inputs, problem.steps).items()}

    def _steady_back(self, cotangents: dict[str, Array], problem: Problem, last: Problem) -> dict[str, Array]:
        """Take back what changes from step to step, then all that follows from its sums in one step."""
        steady = self.adjoint.steady
        assert steady is not None  # noqa: S101  (as of this way)
        result = self._whole_back(cotangents, problem)
        total = {self.adjoint.cotangent(field): result.pop(name) for field, name in steady.sums.items()}
        rims = {name: cotangents[name] for name in self.adjoint.kept.values()}
        return {**self._whole_back({**total, **rims}, last), **result}

    def _edges_back(
        self, cotangents: dict[str, Array], plain: Problem, older: Problem | None = None
    ) -> dict[str, Array]:
        """Take back updated cells alone, then the cotangents of kept cells."""
        inner = self.adjoint.inner
        assert inner is not None  # noqa: S101  (as of this way)
        margins = {rim: self.problem.margins(self._statement(field)) for field, rim in self.adjoint.kept.items()}
        edges = EdgeSums(plain, inner, margins)
        data = PointData(faces=edges.sums)
        inputs = replace(self._inputs_back(cotangents, plain.program), points=data)
        first = {name: (inputs.arrays[name][0], self._nothing) for name in plain.program.updated}
        if older is not None:
            inputs = replace(inputs, arrays={**inputs.arrays, **first})
        versions = self._computed(data.on(plain), inputs, plain.steps)
        constants = self._held_back()
        edges.add(cotangents, (first, versions), lambda name: constants.get(name, self._nothing), inputs.scalars)
        result = {name: levels[0] for name, levels in versions.items()} | {rim: cotangents[rim] for rim in margins}
        if older is not None:
            before = {name: levels[1] for name, levels in versions.items()}
            result |= self._whole_back(before, older)
        return result

    def states_at(self, state: State, at: Sequence[int], traces: Mapping[str, Array] | None = None) -> Iterator[State]:
        """Advance a state from the first of some steps to each of the others.

        Where a kernel works on the caller's arrays and a state is the newest versions alone, nothing is copied.
        """
        if len(at) < 2:
            return
        problem = self._problem(self.problem, max(b - a for a, b in itertools.pairwise(at)))
        kernel, inputs = self._kernel(problem), self.inputs(state, at[0], traces)
        newest = all(problem.program.history(field) == 1 for field in problem.program.updated)
        if newest and isinstance(kernel, CpuKernel) and kernel.copies_nothing(problem, inputs):
            for before, after in itertools.pairwise(at):
                part = self._problem(self.problem, after - before)
                results = kernel.run(part, self.inputs(state, before, traces), self.threads)
                state = {field: (values,) for field, values in results.items()}
                yield state
            return
        session = kernel.start(problem, inputs, self.threads)
        try:
            for before, after in itertools.pairwise(at):
                session.advance(after - before)
                yield _levels(session, problem)
        finally:
            session.close()

    def _inputs_back(self, cotangents: Mapping[str, Array], program: Program) -> Inputs:
        """Return what a program of the adjoint starts from: cotangents and forward states by its names, else zero."""
        values = {**self._held_back(), **cotangents}
        arrays = {name: (values.get(name, self._nothing),) for name in program.fields}
        scalars = {name: self.scalars[name] for name in self.adjoint.program.scalars if name in self.scalars}
        scalars |= {name: self.scalars[name][::-1] for name in scalars if name in self.problem.varying}
        scalars |= {name: float(self.problem.shape[axis]) for axis, name in self.adjoint.extents.items()}
        scalars |= {name: self.scalars[name] for name in self.program.profiles}
        return Inputs(arrays=arrays, scalars=scalars)

    def _held_back(self) -> dict[str, Array]:
        """Return what no step changes, by the adjoint's names: forward fields, and the index of every cell."""
        states, shape = self.adjoint.states.items(), self.problem.shape
        constants = {name: self.constants[field][0] for name, (field, _) in states if field in self.constants}
        for axis, name in self.adjoint.positions.items():
            along = [shape[axis] if number == axis else 1 for number in range(len(shape))]
            constants[name] = np.broadcast_to(np.arange(shape[axis], dtype=self.problem.dtype).reshape(along), shape)
        return constants

    def states_back(self, state: State, number: int) -> dict[str, Array]:
        """Return the forward states that taking back a step needs, by the adjoint's names."""
        changing = {name: self.adjoint.states[name] for name in self.adjoint.changing}
        after = self._advanced(state, 1, number) if any(level == 1 for _, level in changing.values()) else {}
        return {
            name: after[field][0] if level == 1 else state[field][-level] for name, (field, level) in changing.items()
        }

    def start_back(self, cotangents: Mapping[str, Array]) -> StateInMemory:
        """Start a session of the adjoint that takes back a step at a time; forward states are among the cotangents."""
        problem = self._same(self._whole)
        return self._kernel(problem).start(problem, self._inputs_back(cotangents, problem.program), self.threads)

    @functools.cached_property
    def _whole(self) -> Problem:
        adjoint = self.adjoint
        varying = self.problem.varying
        return make_problem(adjoint.program, self.problem.shape, 1, self.problem.dtype, adjoint.boundary, varying)

    @functools.cached_property
    def _by_cells(self) -> Problem:
        """The problem of a step of the adjoint, by regions of cells where cells are told apart."""
        split = self.adjoint.split
        return self._whole if split is None else split_problem(self._whole, split)

    @functools.cached_property
    def _nothing(self) -> Array:
        return np.broadcast_to(np.zeros((), self.problem.dtype), self.problem.shape)

    def zeros(self) -> Array:
        """Return a field of zeros in memory that is there already."""
        return SHARED.copied(self._nothing, self.threads)

    @functools.cached_property
    def threads(self) -> int:
        """Threads of the processor."""
        return self._target.threads or thread_count(None)

    def _problem(self, problem: Problem, steps: int) -> Problem:
        """The same problem for so many steps, the same object whenever it is asked for: comparing them takes long."""
        return self._same(replace(problem, steps=steps))

    def _same(self, problem: Problem) -> Problem:
        return self._problems.setdefault(_key(problem), problem)

    def _kernel(self, problem: Problem, storage: Storage = PLAIN) -> Kernel:
        key = (*_key(problem), storage)
        if key not in self._kernels:
            several = problem.steps > 1  # a kernel of one step is called for one step after the other
            self._kernels[key] = prepared(
                problem, self._target, None, strict=self._strict, copies=several, storage=storage
            )
        return self._kernels[key]

    def _computed(self, problem: Problem, inputs: Inputs, steps: int, *, newest: bool = False) -> State:
        problem = self._problem(problem, steps)
        kernel = self._kernel(problem)
        if newest or all(problem.program.history(field) == 1 for field in problem.program.updated):
            return {field: (values,) for field, values in kernel.run(problem, inputs, self.threads).items()}
        session = kernel.start(problem, inputs, self.threads)
        try:
            session.advance(steps)
            return _levels(session, problem)
        finally:
            session.close()

    def cotangents(self, cotangent: Any) -> dict[str, Array]:  # noqa: ANN401
        """Check a cotangent of the result, and return the cotangent of the last state."""
        updated = self.program.updated
        if cotangent is None and self._points is not None:
            return {self.adjoint.cotangent(field): self.zeros() for field in updated} | {
                name: self.zeros() for name in self.adjoint.kept.values()
            }
        several = cotangent if isinstance(cotangent, tuple) else (cotangent,)
        if len(several) != len(updated):
            raise ArrayError(f"a cotangent is needed for each of {', '.join(updated)}, got {len(several)}")
        cotangents = {}
        for field, each in zip(updated, several, strict=True):
            array = as_array(each, f"the cotangent of {field}")
            if array.shape != self.problem.shape:
                raise ArrayError(
                    f"the cotangent of {field!r} has the result's shape {self.problem.shape}, got {array.shape}"
                )
            if array.dtype.kind == "c":
                raise ArrayError(f"the cotangent of {field!r} is real, as the result is, got {array.dtype}")
            values = SHARED.copied(array, self.threads, self.problem.dtype)
            cotangents[self.adjoint.cotangent(field)] = values
            if field in self.adjoint.kept:
                edges = cotangents[self.adjoint.kept[field]] = self.zeros()
                for slab in self._edges(field):
                    edges[slab] = values[slab]
                    values[slab] = 0.0
        return cotangents

    def _statement(self, field: str) -> Statement:
        return next(each for each in self.program.statements if each.field == field)

    def _edges(self, field: str) -> list[tuple[slice, ...]]:
        """Return the slabs of cells that no step updates."""
        return frame(self.problem.shape, self.problem.update_box(self._statement(field)))

    def levels(self, cotangents: Mapping[str, Array], field: str) -> list[Array]:
        """Return the cotangents of the versions of an updated field that a run began with, newest first.

        A run puts the newest version's values into the cells of older ones that no step updates. What is given is added
        to in place.
        """
        levels = [cotangents[self.adjoint.cotangent(field, level)] for level in range(self.program.history(field))]
        if field in self.adjoint.kept:
            for slab in self._edges(field):
                levels[0][slab] += cotangents[self.adjoint.kept[field]][slab]
                for older in levels[1:]:
                    levels[0][slab] += older[slab]
                    older[slab] = 0.0
        return levels


class Bands:
    """Bands that are taken back one after the other."""

    def __init__(
        self,
        run: DifferentiatedRun,
        back: StateInMemory,  # of the adjoint, by regions of cells where cells are told apart
        forward: tuple[CpuKernel, Problem] | None,  # what computes a band's states; None where none are needed
        cotangents: Mapping[str, Array],  # of the last state; those of kept cells are added to in place
        points: Pulled | None,
    ) -> None:
        self._run, self._back, self._kernel, self._cotangents, self._points = run, back, forward, cotangents, points
        self._forward: Session | None = None

    def take_back(self, state: State, begin: int, steps: int) -> None:
        """Take back some steps, at most those of a band."""
        if self._kernel is None:
            self._back.advance(steps)
        else:
            self._with_states(self._kernel, state, begin, steps)

    def _with_states(self, forward: tuple[CpuKernel, Problem], state: State, begin: int, steps: int) -> None:
        adjoint, inputs = self._run.adjoint, self._run.inputs(state, begin)
        if self._forward is None:
            kernel, problem = forward
            self._forward = kernel.start(problem, inputs, self._run.threads)
        else:
            self._forward.begin(inputs.arrays, inputs.first)
        after = {name: adjoint.states[name] for name in adjoint.changing}
        # The last step's own new values are read by no derivative but that of statements that read them.
        self._forward.advance(steps if any(level == 1 for _, level in after.values()) else steps - 1, last=True)
        assert isinstance(self._back, Session)  # noqa: S101  (as wherever there are states)
        for name, (field, level) in after.items():
            self._back.read_from(name, self._forward.address(field, self._forward.steps - (steps - 1 + level)))
        self._back.advance(steps, last=True)

    def results(self) -> dict[str, Array]:
        """Return all cotangents."""
        split = self._run.adjoint.split
        cotangents = self._back.results() if split is None else self._joined(split, self._back.newest)
        if self._points is not None:
            self._points.take_records(cotangents.__getitem__)
        return cotangents

    def _joined(self, split: Split, newest: Callable[[str], Array]) -> dict[str, Array]:
        """Put each side's kept cells together."""
        parts = {name for names in split.rims.values() for name in names}
        threads = self._run.threads
        result = {name: SHARED.copied(newest(name), threads) for name in split.program.updated if name not in parts}
        for rim, names in split.rims.items():
            total = result[rim] = self._cotangents[rim]
            for name in names:
                box = tuple(slice(low, high or None) for low, high in split.regions[name])
                total[box] += newest(name)[box]
        return result

    def close(self) -> None:
        """Hand the memory back."""
        self._back.close()
        if self._forward is not None:
            self._forward.close()


class OneByOne:
    """Steps back, one at a time: a session of the adjoint, whose forward states are given anew for each."""

    def __init__(self, run: DifferentiatedRun, cotangents: Mapping[str, Array], points: Pulled | None) -> None:
        self._run, self._cotangents, self._points = run, cotangents, points
        self._session: StateInMemory | None = None

    def take_back(self, state: State, begin: int, steps: int) -> None:
        """Take back some steps, whose states are all in memory meanwhile."""
        states = [state, *self._run.states_at(state, range(begin, begin + steps))] if state else [state] * steps
        for number in reversed(range(begin, begin + steps)):
            self.step(states.pop(), number)

    def step(self, state: State, number: int) -> None:
        """Take back one step, its sources and what was recorded after it."""
        states = self._run.states_back(state, number)
        if self._session is None:
            self._session = self._run.start_back({**self._cotangents, **states})
        else:
            for name, values in states.items():
                self._session.replace(name, values)
        if self._points is None:
            self._session.advance(1)
            return
        self._points.add_traces(self._session.newest, number)
        before = self._points.before(self._session.newest)
        self._session.advance(1)
        self._points.take_sources(self._session.newest, before, number)

    def results(self) -> dict[str, Array]:
        """Return all cotangents."""
        return dict(self._cotangents) if self._session is None else self._session.results()

    def close(self) -> None:
        """Hand the memory back."""
        if self._session is not None:
            self._session.close()


def _levels(session: StateInMemory, problem: Problem) -> State:
    ages = {field: problem.program.history(field) for field in problem.program.updated}
    by_age = [session.results(None, age) for age in range(max(ages.values()))]
    return {field: tuple(by_age[age][field] for age in range(ages[field])) for field in ages}


def _check_extents(problem: Problem) -> None:
    """Refuse grids so small that a boundary maps a read outside onto the far side and back."""
    for axis, reach in enumerate(problem.program.reach):
        kinds = {side.kind for sides in problem.boundaries for side in sides[axis]}
        if kinds & {"reflect", "mirror"} and problem.shape[axis] <= max(reach):
            raise UsageError(
                f"a gradient needs more than {max(reach)} cells along axis {axis}, whose boundary reflects, got "
                f"{problem.shape[axis]}"
            )


def _with_own_values(sources: Sources) -> Sources:
    scaled = tuple((scale, _with_own_values(each)) for scale, each in sources.scaled)
    return replace(sources, values=sources.values.copy(), scaled=scaled)


def _key(problem: Problem) -> _Key:
    return problem.program, problem.steps, problem.points
