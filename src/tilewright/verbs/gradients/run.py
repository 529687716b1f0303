"""A run that is taken back: its steps forward, what is kept of them, and the steps of its adjoint."""

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.units import parse_bytes, whole_number
from tilewright.inputs.arrays import Array, Given, as_array
from tilewright.inputs.memo import prepared
from tilewright.plan import Target
from tilewright.programs.stencil.adjoint import adjoint_of
from tilewright.programs.stencil.adjoint_parts import Inner
from tilewright.programs.stencil.boundaries import BoundarySpec
from tilewright.programs.stencil.points import Points, SourceList
from tilewright.programs.stencil.problem import PointFields, Problem, make_problem
from tilewright.programs.stencil.program import Program, Statement
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.runtime.host import available_bytes, thread_count
from tilewright.runtime.kernels import CpuKernel, Kernel
from tilewright.runtime.kernels import State as StateInMemory
from tilewright.runtime.memory import frame
from tilewright.runtime.points import MOST_BYTES, PointData, Sources, bytes_of
from tilewright.runtime.session import SHARED, Inputs
from tilewright.verbs.gradients.bands import BandsBack, bands_of, joined, split_problem
from tilewright.verbs.gradients.checkpoints import fits, longest, segments
from tilewright.verbs.gradients.disk import StatesOnDisk, equal_segments
from tilewright.verbs.gradients.edges import EdgeSums, inner_problem
from tilewright.verbs.gradients.points import Pulled
from tilewright.verbs.running.forcing import gather_points, unscaled_sources

State = dict[str, tuple[Array, ...]]
"""Per updated field its time levels, newest first."""
_Key = tuple[Program, int, PointFields]


class DifferentiatedRun:
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
        self.problem = make_problem(given.program, given.shape, steps, given.dtype, boundary, given.varying)
        self.adjoint = adjoint_of(given.program, boundary, wrt, given.varying)
        _check_extents(self.problem)
        self.scalars = dict(given.scalars)
        self.constants = {
            field: given.versions[field] for field in given.program.fields if field not in given.program.updated
        }
        self._target, self._strict = target, strict
        self._problems: dict[_Key, Problem] = {}
        self._kernels: dict[tuple[Program, int, PointFields, Storage], Kernel] = {}
        self._points: PointData | None = None
        self._scaled: tuple[tuple[str, Sources], ...] = ()
        self._disk: StatesOnDisk | None = None

    @property
    def needs_states(self) -> bool:
        """Whether what a step is worth depends on the state that it began with."""
        return bool(self.adjoint.changing)

    def keep_on_disk(self, folder: str | Path, slots: int) -> None:
        """Let the states at the starts of segments lie in a folder; so many are in memory at a time."""
        disk = StatesOnDisk(folder)
        if self.needs_states and self.problem.steps:
            disk.check_room(len(equal_segments(self.problem.steps, slots)) - 1, _state_bytes(self.problem))
            self._disk = disk

    def _segments(self, slots: int) -> tuple[int, ...]:
        steps = self.problem.steps
        return segments(steps, slots) if self._disk is None else equal_segments(steps, slots)

    def _beside(self, number: int, slots: int) -> int:
        """States that fit into memory beside the starts of so many segments."""
        return max(1, slots - number) if self._disk is None else slots

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

    def detached(self, start: State) -> State:
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
            self._scaled = tuple((name, _with_own_values(each)) for name, each in self._scaled)
        if self.needs_states or not self.problem.steps:
            return {field: tuple(map(self._copied, levels)) for field, levels in start.items()}
        return start

    def _copied(self, array: Array) -> Array:
        """Copy an array; one that is repeated along axes stays so."""
        once = array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]
        own = SHARED.copied(once, self._threads)
        return own if own.shape == array.shape else np.broadcast_to(own, array.shape)

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
                edges = self._edges(field)
                for number, older in enumerate(levels[1:], 1):
                    if any(not np.array_equal(older[slab], levels[0][slab]) for slab in edges):
                        levels[number] = own = SHARED.copied(older, self._threads)
                        for slab in edges:
                            own[slab] = levels[0][slab]
            state[field] = tuple(levels)
        return state

    def advance(
        self,
        state: State,
        steps: int,
        first: int = 0,
        traces: Mapping[str, Array] | None = None,
        *,
        newest: bool = False,
    ) -> State:
        """Compute further steps, all time levels kept or the newest alone."""
        if not steps:
            return state
        return self._computed(self.problem, self._inputs(state, first, traces), steps, newest=newest)

    def _inputs(self, state: State, first: int, traces: Mapping[str, Array] | None = None) -> Inputs:
        """Return what a run starts from after some steps."""
        arrays = {**self.constants, **state}
        return Inputs(arrays=arrays, scalars=self.scalars, points=self._points, traces=traces, first=first)

    def forward(self, start: State, slots: int) -> tuple[State, list[tuple[int, State]], dict[str, Array] | None]:
        """Run; return the last state, the checkpoints (steps done and state), and what receivers recorded."""
        steps, points = self.problem.steps, self._points
        traces = points.traces(self.problem) if points is not None and points.receivers else None
        if not self.needs_states or steps == 0:
            return self.advance(start, steps, traces=traces, newest=True), [], traces
        at = list(itertools.accumulate(self._segments(slots), initial=0))
        states = [start]
        for number, state in enumerate(self._looked_at(start, at, traces), 2):
            states.append(state if self._disk is None or number == len(at) else self._disk.keep(state))
        return states.pop(), list(zip(at, states, strict=False)), traces

    def backward(
        self, worth: dict[str, Array], kept: Sequence[tuple[int, State]], slots: int, points: Pulled | None
    ) -> dict[str, Array]:
        """Take what the last state is worth back to the first one."""
        steps = self.problem.steps
        if not steps:
            return worth
        tabled = points is not None and points.fits(self._by_cells.program)
        if not self.needs_states and not self.problem.varying and (points is None or tabled):
            return self._at_once(worth, steps) if points is None else self._by_regions(worth, steps, points)
        bands = self._in_bands(worth, kept, slots, points) if points is None or tabled else None
        back = _StepsBack(self, worth, points) if bands is None else bands
        try:
            if isinstance(back, _StepsBack) and not self.needs_states:
                for number in reversed(range(steps)):
                    back.step({}, number)
            end = steps
            for number, (begin, state) in reversed(list(enumerate(kept))):
                self._segment(back, state, begin, end - begin, self._beside(number, slots))
                end = begin
            found = back.results()
            if points is not None and isinstance(back, BandsBack):
                points.take_records(found.__getitem__)
            return found
        finally:
            back.close()

    def _by_regions(self, worth: dict[str, Array], steps: int, points: Pulled | None) -> dict[str, Array]:
        """Take back steps that depend on no state, between sources and receivers, what edges are worth in slabs."""
        data = None if points is None else points.tabled(worth)
        problem = self._same(_with_points(replace(self._by_cells, steps=steps), data))
        inputs = self.inputs_back(worth, {}, problem.program)
        if points is not None:
            inputs = replace(inputs, points=data, traces=points.records)
        session = self._kernel(problem).start(problem, inputs, self._threads)
        try:
            session.advance(steps)
            found = self._joined(session, worth)
        finally:
            session.close()
        if points is not None:
            points.take_records(found.__getitem__)
        return found

    def _joined(self, session: StateInMemory, worth: Mapping[str, Array]) -> dict[str, Array]:
        split = self.adjoint.split
        return session.results() if split is None else joined(split, session.newest, worth, self._threads)

    def _at_once(self, worth: dict[str, Array], steps: int) -> dict[str, Array]:
        """Take back steps that depend on no state, in time tiles."""
        if self.adjoint.split is not None and not self.adjoint.sums and not self._target.on_device:
            inner = self.adjoint.inner
            return self._by_regions(worth, steps, None) if inner is None else self._from_edges(worth, steps, inner)
        steady = self.adjoint.steady
        if steady is None:
            return self._back(worth, steps)
        arrays = {name: (worth.get(name, self._nothing),) for name in steady.program.updated}
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
            **self._back({**total, **kept}, 1),
            **{name: found[name] for name in found if name not in steady.sums.values()},
        }

    def _in_bands(
        self, worth: dict[str, Array], kept: Sequence[tuple[int, State]], slots: int, points: Pulled | None
    ) -> "BandsBack | None":
        """Return what takes bands of steps back; None where that cannot be."""
        if not self.needs_states or self._target.on_device:
            return None
        ends = [*[begin for begin, _ in kept[1:]], self.problem.steps]
        most = max(
            longest(end - begin, self._beside(number, slots))
            for number, ((begin, _), end) in enumerate(zip(kept, ends, strict=True))
        )
        adding = None if self._points is None else replace(self._points, receivers=())
        whole = _with_points(self.problem, adding)
        bands = bands_of(whole, self._by_cells, self.adjoint, most)
        if bands is None or most * bytes_of(whole) > MOST_BYTES:
            return None  # a band is one call of a kernel
        forward = self._kernel(self._same(bands[0].problem), bands[0].storage)
        if not isinstance(forward, CpuKernel):
            return None
        data = None if points is None else points.tabled(worth)
        problem = self._same(_with_points(bands[1].problem, data))
        back = self._kernel(problem, bands[1].storage)
        if not isinstance(back, CpuKernel):
            raise UsageError("the adjoint is not compiled though the program is", "use backend='numpy'")
        inputs = self.inputs_back(worth, {}, problem.program)
        if points is not None:
            inputs = replace(inputs, points=data, traces=points.records)
        return BandsBack(self.adjoint, (bands[0].problem, problem), (forward, back), inputs, worth, self._threads)

    def _from_edges(self, worth: dict[str, Array], steps: int, inner: Inner) -> dict[str, Array]:
        """Take back steps that depend on no state: updated cells alone, then what kept cells are worth."""
        plain = self._same(inner_problem(replace(self._whole, steps=steps), inner))
        margins = {rim: self.problem.margins(self._statement(field)) for field, rim in self.adjoint.kept.items()}
        edges = EdgeSums(plain, inner, margins)
        data = PointData(faces=edges.sums)
        inputs = self.inputs_back(worth, {}, plain.program)
        bars = plain.program.updated
        first = {name: (inputs.arrays[name][0], self._nothing) for name in bars}
        if inner.older is not None:
            inputs = replace(inputs, arrays={**inputs.arrays, **first})
        own = {name: inputs.arrays[name] for name in plain.program.fields}
        found = self._computed(_with_points(plain, data), replace(inputs, arrays=own, points=data), steps)
        edges.add(worth, (first, found), lambda name: inputs.arrays.get(name, (self._nothing,))[0], inputs.scalars)
        result = {name: levels[0] for name, levels in found.items()} | {rim: worth[rim] for rim in margins}
        if inner.older is not None:
            before = {name: levels[1:] for name, levels in found.items()}
            result |= self._older(inner.older, inner.older_boundary, {**inputs.arrays, **before}, inputs.scalars)
        return result

    def _older(
        self,
        program: Program,
        boundary: BoundarySpec,
        arrays: Mapping[str, Sequence[Array]],
        scalars: Mapping[str, Any],
    ) -> dict[str, Array]:
        """Return what older versions are worth."""
        given = {name: arrays.get(name, (self._nothing,)) for name in program.fields}
        own = {name: scalars[name] for name in program.scalars}
        problem = make_problem(program, self.problem.shape, 1, self.problem.dtype, boundary)
        computed = self._computed(problem, Inputs(arrays=given, scalars=own), 1)
        return {field: levels[0] for field, levels in computed.items()}

    def _segment(self, back: "_StepsBack | BandsBack", state: State, begin: int, length: int, slots: int) -> None:
        """Take back some steps that begin with a state, with so many states in memory."""
        if fits(length, slots) and isinstance(back, BandsBack):
            back.take_back(self._inputs(state, begin), length)
            return
        lengths = [1] * length if fits(length, slots) else segments(length, slots)
        at = [begin + sum(lengths[:number]) for number in range(len(lengths))]
        starts = [state, *self._looked_at(state, at)]
        for number in reversed(range(len(lengths))):
            first = starts.pop()
            if lengths[number] == 1 and isinstance(back, _StepsBack):
                back.step(first, at[number])
            else:
                self._segment(back, first, at[number], lengths[number], max(1, slots - number))

    def _looked_at(self, state: State, at: Sequence[int], traces: Mapping[str, Array] | None = None) -> Iterator[State]:
        """Advance a state from the first of some steps to each of the others.

        Where a kernel works on the caller's arrays and a state is the newest versions alone, nothing is copied.
        """
        if len(at) < 2:
            return
        problem = self._problem(self.problem, max(b - a for a, b in itertools.pairwise(at)))
        kernel, inputs = self._kernel(problem), self._inputs(state, at[0], traces)
        newest = all(problem.program.history(field) == 1 for field in problem.program.updated)
        if newest and isinstance(kernel, CpuKernel) and kernel.copies_nothing(problem, inputs):
            for before, after in itertools.pairwise(at):
                part = self._problem(self.problem, after - before)
                found = kernel.run(part, self._inputs(state, before, traces), self._threads)
                state = {field: (values,) for field, values in found.items()}
                yield state
            return
        session = kernel.start(problem, inputs, self._threads)
        try:
            for before, after in itertools.pairwise(at):
                session.advance(after - before)
                yield _levels(session, problem)
        finally:
            session.close()

    def _back(self, worth: Mapping[str, Array], steps: int) -> dict[str, Array]:
        """Take back steps that depend on no state."""
        computed = self._computed(self._whole, self.inputs_back(worth, {}), steps)
        return {field: levels[0] for field, levels in computed.items()}

    def inputs_back(
        self, worth: Mapping[str, Array], states: Mapping[str, Array], program: Program | None = None
    ) -> Inputs:
        """Return what the adjoint starts from: worths, where none is given zero, and forward states by its names."""
        adjoint, shape = self.adjoint, self.problem.shape
        updated = (program or adjoint.program).updated
        arrays = {field: (worth.get(field, self._nothing),) for field in updated}
        arrays |= {name: (self.constants[f][0],) for name, (f, _) in adjoint.states.items() if f in self.constants}
        arrays |= {name: (state,) for name, state in states.items()}
        arrays |= {name: (self._positions(axis),) for axis, name in adjoint.positions.items()}
        scalars = {name: self.scalars[name] for name in adjoint.program.scalars if name in self.scalars}
        scalars |= {name: self.scalars[name][::-1] for name in scalars if name in self.problem.varying}
        scalars |= {name: float(shape[axis]) for axis, name in adjoint.extents.items()}
        scalars |= {name: self.scalars[name] for name in self.program.profiles}
        return Inputs(arrays=arrays, scalars=scalars)

    def states_back(self, state: State, number: int) -> dict[str, Array]:
        """Return the forward states that taking back a step needs, by the adjoint's names."""
        changing = {name: self.adjoint.states[name] for name in self.adjoint.changing}
        after = self.advance(state, 1, number) if any(level == 1 for _, level in changing.values()) else {}
        return {
            name: after[field][0] if level == 1 else state[field][-level] for name, (field, level) in changing.items()
        }

    def start_back(self, inputs: Inputs) -> StateInMemory:
        """Start a session of the adjoint that takes back a step at a time."""
        problem = self._problem(self._whole, 1)
        return self._kernel(problem).start(problem, inputs, self._threads)

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
        """A field of zeros that is only read."""
        return np.broadcast_to(np.zeros((), self.problem.dtype), self.problem.shape)

    def zeros(self) -> Array:
        """Return a field of zeros in memory that is there already."""
        return SHARED.copied(self._nothing, self._threads)

    @functools.cached_property
    def _threads(self) -> int:
        return self._target.threads or thread_count(None)

    def _positions(self, axis: int) -> Array:
        """The index of every cell along an axis."""
        shape = self.problem.shape
        along = [shape[axis] if number == axis else 1 for number in range(len(shape))]
        return np.broadcast_to(np.arange(shape[axis], dtype=self.problem.dtype).reshape(along), shape)

    def _problem(self, problem: Problem, steps: int) -> Problem:
        """The same problem for so many steps, the same object whenever it is asked for: comparing them takes long."""
        return self._same(replace(problem, steps=steps))

    def _same(self, problem: Problem) -> Problem:
        return self._problems.setdefault(_key(problem), problem)

    def _kernel(self, problem: Problem, storage: Storage = PLAIN) -> Kernel:
        key = (*_key(problem), storage)
        if key not in self._kernels:
            self._kernels[key] = prepared(problem, self._target, None, strict=self._strict, storage=storage)
        return self._kernels[key]

    def _computed(self, problem: Problem, inputs: Inputs, steps: int, *, newest: bool = False) -> State:
        problem = self._problem(problem, steps)
        kernel = self._kernel(problem)
        if newest or all(problem.program.history(field) == 1 for field in problem.program.updated):
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
            return {self.adjoint.worth(field): self.zeros() for field in updated} | {
                name: self.zeros() for name in self.adjoint.kept.values()
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
            values = SHARED.copied(array, self._threads, self.problem.dtype)
            worth[self.adjoint.worth(field)] = values
            if field in self.adjoint.kept:
                edges = worth[self.adjoint.kept[field]] = self.zeros()
                for slab in self._edges(field):
                    edges[slab] = values[slab]
                    values[slab] = 0.0
        return worth

    def _statement(self, field: str) -> Statement:
        return next(each for each in self.program.statements if each.field == field)

    def _edges(self, field: str) -> list[tuple[slice, ...]]:
        """Return the slabs of cells that no step updates."""
        return frame(self.problem.shape, self.problem.update_box(self._statement(field)))

    def levels(self, worth: Mapping[str, Array], field: str) -> list[Array]:
        """Return what the versions of an updated field are worth that a run began with, newest first.

        A run puts the newest version's values into the cells of older ones that no step updates. What is given is added
        to in place.
        """
        levels = [worth[self.adjoint.worth(field, level)] for level in range(self.program.history(field))]
        if field in self.adjoint.kept:
            for slab in self._edges(field):
                levels[0][slab] += worth[self.adjoint.kept[field]][slab]
                for older in levels[1:]:
                    levels[0][slab] += older[slab]
                    older[slab] = 0.0
        return levels


def _levels(session: StateInMemory, problem: Problem) -> State:
    """Copy every time level that a next step reads."""
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


class _StepsBack:
    """Steps back, one at a time: a session of the adjoint, whose forward states are given anew for each."""

    def __init__(self, run: DifferentiatedRun, worth: Mapping[str, Array], points: Pulled | None) -> None:
        self._run, self._worth, self._points = run, worth, points
        self._session: StateInMemory | None = None

    def step(self, state: State, number: int) -> None:
        """Take back one step, its sources and what was recorded after it."""
        states = self._run.states_back(state, number)
        if self._session is None:
            self._session = self._run.start_back(self._run.inputs_back(self._worth, states))
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
        """Return what everything is worth."""
        return dict(self._worth) if self._session is None else self._session.results()

    def close(self) -> None:
        """Hand the memory back."""
        if self._session is not None:
            self._session.close()


def _with_own_values(sources: Sources) -> Sources:
    return replace(sources, values=sources.values.copy())


def _state_bytes(problem: Problem) -> int:
    levels = sum(problem.program.history(field) for field in problem.program.updated)
    return levels * problem.cells * problem.itemsize


def _with_points(problem: Problem, data: PointData | None) -> Problem:
    return replace(problem, points=PointFields() if data is None else data.fields(problem))


def _key(problem: Problem) -> _Key:
    return problem.program, problem.steps, problem.points


def slots_of(run: DifferentiatedRun, memory: int | str | None, checkpoints: int | None) -> int:
    """Return how many forward states may be in memory at a time."""
    if checkpoints is not None:
        if memory is not None:
            raise UsageError("memory and checkpoints both say how many states are kept", "give one of them")
        return whole_number(checkpoints, "checkpoints", 2, 2**62, "of states, at least 2")
    size = max(1, _state_bytes(run.problem))
    room = (available_bytes() or 2**31) // 2 if memory is None else parse_bytes(memory)
    return max(2, room // size)
