"""Ways back: what takes steps of a run back, given the state that they begin with.

The adjoint reads a forward state per step. In a *band* of steps all their states are computed again in one run, which
keeps them, one behind the other in its memory; the kernel of the adjoint goes through them from the end, so that no
state is copied and both runs are tiled in time. Steps that depend on no state are a band without a run forwards, or one
of the runs of :class:`AtOnce`; others, and those between which something else is done, are taken back one by one.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tilewright.inputs.arrays import Array
from tilewright.programs.stencil.adjoint_parts import Adjoint, Split
from tilewright.programs.stencil.problem import Problem, make_problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.runtime.kernels import CpuKernel
from tilewright.runtime.kernels import State as StateInMemory
from tilewright.runtime.session import SHARED, Session
from tilewright.verbs.gradients.edges import inner_problem
from tilewright.verbs.gradients.points import Pulled

if TYPE_CHECKING:
    from tilewright.verbs.gradients.run import DifferentiatedRun, State


@dataclass(frozen=True, slots=True, kw_only=True)
class AtOnce:
    """Runs, one after the other, that take back steps that depend on no state."""

    way: Literal["whole", "regions", "edges", "steady"]
    problems: tuple[Problem, ...]


def at_once(whole: Problem, adjoint: Adjoint, *, on_device: bool = False) -> AtOnce:
    """Return the cheapest runs for as many steps as the adjoint's problem has."""
    inner, steady = adjoint.inner, adjoint.steady
    if adjoint.split is not None and not adjoint.sums and not on_device:
        if inner is None:
            return AtOnce(way="regions", problems=(split_problem(whole, adjoint.split),))
        first, older = inner_problem(whole, inner), inner.older
        rest = () if older is None else (make_problem(older, whole.shape, 1, whole.dtype, inner.older_boundary),)
        return AtOnce(way="edges", problems=(first, *rest))
    if steady is not None:
        some = make_problem(steady.program, whole.shape, whole.steps, whole.dtype, steady.boundary)
        return AtOnce(way="steady", problems=(some, replace(whole, steps=1)))
    return AtOnce(way="whole", problems=(whole,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """Some steps of a run or of its adjoint, and the states that they keep or read."""

    problem: Problem
    storage: Storage = PLAIN


def bands_of(problem: Problem, back: Problem, adjoint: Adjoint, steps: int) -> tuple[Band, Band] | None:
    """Return bands of at most so many steps, and back; None if a step back needs states older than its first."""
    if any(adjoint.states[name][1] < 0 for name in adjoint.changing):
        return None
    most = max(problem.program.history(field) for field in problem.program.updated)
    forward = Band(problem=replace(problem, steps=steps), storage=Storage(kept=steps + most))
    return forward, Band(problem=replace(back, steps=steps), storage=Storage(series=adjoint.changing))


def split_problem(whole: Problem, split: Split) -> Problem:
    """Return an adjoint's problem by regions of cells."""
    problem = make_problem(split.program, whole.shape, whole.steps, whole.dtype, split.boundary, whole.varying)
    return replace(problem, regions=tuple(split.regions.items()))


class Bands:
    """Bands that are taken back one after the other."""

    def __init__(
        self,
        run: "DifferentiatedRun",
        back: StateInMemory,  # of the adjoint, by regions of cells where cells are told apart
        forward: tuple[CpuKernel, Problem] | None,  # what computes a band's states; None where none are needed
        worth: Mapping[str, Array],  # the last state's; what kept cells are worth is added to in place
        points: Pulled | None,
    ) -> None:
        """Start with what the last state is worth."""
        self._run, self._back, self._kernel, self._worth, self._points = run, back, forward, worth, points
        self._forward: Session | None = None

    def take_back(self, state: "State", begin: int, steps: int) -> None:
        """Take back some steps, at most those of a band."""
        if self._kernel is not None:
            self._read_states(self._kernel, state, begin, steps)
        self._back.advance(steps)

    def _read_states(self, forward: tuple[CpuKernel, Problem], state: "State", begin: int, steps: int) -> None:
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

    def results(self) -> dict[str, Array]:
        """Return what everything is worth."""
        split = self._run.adjoint.split
        found = self._back.results() if split is None else self._joined(split, self._back.newest)
        if self._points is not None:
            self._points.take_records(found.__getitem__)
        return found

    def _joined(self, split: Split, newest: Callable[[str], Array]) -> dict[str, Array]:
        """Put each side's kept cells together."""
        parts = {name for names in split.rims.values() for name in names}
        threads = self._run.threads
        found = {name: SHARED.copied(newest(name), threads) for name in split.program.updated if name not in parts}
        for rim, names in split.rims.items():
            total = found[rim] = self._worth[rim]
            for name in names:
                box = tuple(slice(low, high or None) for low, high in split.regions[name])
                total[box] += newest(name)[box]
        return found

    def close(self) -> None:
        """Hand the memory back."""
        self._back.close()
        if self._forward is not None:
            self._forward.close()


class OneByOne:
    """Steps back, one at a time: a session of the adjoint, whose forward states are given anew for each."""

    def __init__(self, run: "DifferentiatedRun", worth: Mapping[str, Array], points: Pulled | None) -> None:
        """Start with what the last state is worth."""
        self._run, self._worth, self._points = run, worth, points
        self._session: StateInMemory | None = None

    def take_back(self, state: "State", begin: int, steps: int) -> None:
        """Take back some steps, whose states are all in memory meanwhile."""
        states = [state, *self._run.states_at(state, range(begin, begin + steps))] if state else [state] * steps
        for number in reversed(range(begin, begin + steps)):
            self.step(states.pop(), number)

    def step(self, state: "State", number: int) -> None:
        """Take back one step, its sources and what was recorded after it."""
        states = self._run.states_back(state, number)
        if self._session is None:
            self._session = self._run.start_back({**self._worth, **states})
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
