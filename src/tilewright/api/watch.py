"""Runs that are looked at while they go on: callbacks, stopping at a residual, values that are not finite."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tilewright.api.arrays import Array, Given
from tilewright.api.forcing import Forcing
from tilewright.base.errors import UsageError
from tilewright.base.units import whole_number
from tilewright.programs.problem import Problem
from tilewright.runtime.kernels import Kernel, State
from tilewright.runtime.memory import check_memory
from tilewright.runtime.warn import warn

Callback = Callable[[int, Any], Any]
_EVERY = 64
_LOOKED_AT = 2**16
"""About so many values of a large result are looked at after a plain run."""
_REPEATED = 2**31
"""Cells times steps up to which a run that blew up is repeated to name the step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    """How a run is looked at.

    Attributes:
        every: Look every so many steps.
        callback: Called with the number of steps done and a read-only view of the updated field, or a tuple of
            views; the run ends if it returns True.
        until: End the run when no value changes by more than this per step.
        levels: Whether the callback gets every time level of a field, newest first, where there are several.
    """

    every: int
    callback: Callback | None = None
    until: float | None = None
    levels: bool = False


def make_watch(
    every: int | None, callback: Callback | None, until: float | None, *, levels: bool = False
) -> Watch | None:
    """Check the options of a watched run; None if nothing is asked for.

    Raises:
        UsageError: If a callback has no interval, or a number cannot be used.
    """
    if every is None and callback is None and until is None:
        return None
    if callback is not None and every is None:
        raise UsageError("a callback needs to know how often it is called", "pass every=100")
    if every is not None:
        every = whole_number(every, "every", 1, 2**62, "of steps, at least 1")
    if until is not None and not (isinstance(until, int | float) and math.isfinite(until) and until >= 0):
        raise UsageError(f"until is a change per step, a finite number of at least 0, got {until!r}")
    return Watch(every=_EVERY if every is None else every, callback=callback, until=until, levels=levels)


def warn_if_wild(problem: Problem, given: Given, results: Mapping[str, Array], first: Callable[[], int | None]) -> None:
    """Warn if values became infinite or undefined in the course of a run; large results are only sampled.

    Args:
        problem: The problem.
        given: The inputs; if they hold such values already, nothing is said.
        results: The results by field.
        first: Returns the first step after which a value is not finite, or None where that would take too long.
    """
    if np.dtype(problem.dtype).kind not in "fc":
        return
    for field, result in results.items():
        seen = result.ravel()[:: max(1, result.size // _LOOKED_AT)] if result.flags.c_contiguous else result
        if np.isfinite(seen).all():
            continue
        if all(np.isfinite(version).all() for versions in given.versions.values() for version in versions):
            step = first()
            where = "" if step is None else f", from step {step} on"
            more = "; every=… names the step at which it begins" if step is None else ""
            warn(
                f"values of {field!r} are not finite after {problem.steps} steps of {problem.program.name!r}{where} "
                f"(hint: an explicit scheme may need a smaller time step{more})"
            )
        return


def first_wild_step(kernel: Kernel, problem: Problem, given: Given, threads: int, forcing: Forcing) -> int | None:
    """Repeat a run to find the first step after which a value is not finite.

    Args:
        kernel: As for :func:`march`; so are problem, given, threads and forcing.
        problem: The problem.
        given: Checked arrays and scalars, finite.
        threads: Threads to use.
        forcing: The sources that change while it runs.

    Returns:
        The step; None if the run is too long to repeat, or every value stays finite.
    """
    if problem.cells * problem.steps > _REPEATED:
        return None
    watch = Watch(every=math.isqrt(problem.steps) + 1)
    found: list[int] = []
    state = kernel.start(problem, given.inputs(), threads)
    try:
        look = _Look(kernel, problem, given, threads, watch, forcing, state)

        def seek(done: int) -> bool:
            found.extend(look.wild_step(done))
            if not found:
                look.settle(done)
            return bool(found)

        _advance(state, problem.steps, forcing, watch.every, seek)
    finally:
        state.close()
    return found[0] if found else None


def march(
    kernel: Kernel,
    problem: Problem,
    given: Given,
    threads: int,
    watch: Watch | None,
    forcing: Forcing,
    *,
    levels: bool = False,
) -> State:
    """Run a problem in portions, after which the state holds every time level that a next step reads.

    Args:
        kernel: The prepared problem.
        problem: The problem.
        given: Checked arrays and scalars.
        threads: Threads to use.
        watch: How it is looked at, or None.
        forcing: The sources that change while it runs.
        levels: Whether every time level will be copied out, so that there must be memory for that.

    Returns:
        The state at the end; to be closed.

    Raises:
        ArrayError: If memory does not hold the run.
    """
    state = kernel.start(problem, given.inputs(), threads)
    try:
        if levels:
            copied = sum(problem.program.history(field) for field in problem.program.updated)
            check_memory(copied * problem.cells * problem.itemsize)
        look = None if watch is None else _Look(kernel, problem, given, threads, watch, forcing, state)
        _advance(state, problem.steps, forcing, 0 if watch is None else watch.every, look)
    except BaseException:
        state.close()
        raise
    return state


def _advance(
    state: State, steps: int, forcing: Forcing, every: int, look: "Callable[[int], bool] | None", first: int = 0
) -> None:
    """Advance from step ``first`` to ``steps``, changing the sources and looking at the state on the way."""
    changes = set(forcing.steps)
    done = first
    for stop in _stops(first, steps, forcing, every):
        state.advance(stop - done)
        done = stop
        if done in changes and done < steps:
            for source in forcing.sources:
                if source.values[done] != source.values[done - 1]:
                    state.put(source.field, source.cell, source.values[done])
        if look is not None and (done == steps or (done - first) % every == 0) and look(done):
            return


def _stops(first: int, steps: int, forcing: Forcing, every: int) -> Iterator[int]:
    looks = range(first + every, steps, every) if every else range(0)
    yield from sorted({*looks, *(step for step in forcing.steps if first < step < steps), steps} - {first})


class _Look:
    """Looks at a state; says whether the run is to end."""

    def __init__(
        self,
        kernel: Kernel,
        problem: Problem,
        given: Given,
        threads: int,
        watch: Watch,
        forcing: Forcing,
        state: State,
    ) -> None:
        self._parts = (kernel, problem, given, threads)
        self._watch, self._forcing, self._state = watch, forcing, state
        self._fields = problem.program.updated
        self._finite = np.dtype(problem.dtype).kind in "fc" and self._all_finite(state)
        self._done = 0
        self._before = self._remember()

    def __call__(self, done: int) -> bool:
        """Look at the state after so many steps."""
        for step in self.wild_step(done):
            warn(
                f"values of {self._parts[1].program.name!r} are not finite from step {step} on, so the run ended at "
                f"step {done} (hint: an explicit scheme may need a smaller time step)"
            )
            return True
        ended = False
        if self._watch.callback is not None:
            views = tuple(self._view(field) for field in self._fields)
            answer = self._watch.callback(done, views[0] if len(views) == 1 else views)
            ended = answer is not None and bool(answer)
        if self._watch.until is not None and not ended:
            change = self._change() / (done - self._done)
            ended = change <= self._watch.until
            if not ended and done == self._parts[1].steps:
                warn(
                    f"{self._parts[1].program.name!r} still changes by {change:.3g} per step after {done} steps, "
                    f"more than until={self._watch.until:g}"
                )
        if not ended:
            self.settle(done)
        return ended

    def _view(self, field: str) -> Array | tuple[Array, ...]:
        history = self._parts[1].program.history(field) if self._watch.levels else 1
        seen = tuple(_readonly(self._state.newest(field, age)) for age in range(history))
        return seen[0] if history == 1 else seen

    def wild_step(self, done: int) -> tuple[int, ...]:
        """The first step since the last look after which a value is not finite, if there is one."""
        if not self._finite or self._all_finite(self._state):
            return ()
        return (self._first_wild_step(done),)

    def settle(self, done: int) -> None:
        """Keep the state after so many steps as that of the last look."""
        self._done, self._before = done, self._remember()

    def _all_finite(self, state: State) -> bool:
        return all(bool(np.isfinite(state.newest(field)).all()) for field in self._fields)

    def _remember(self) -> dict[str, tuple[Array, ...]]:
        """Copy every version that the next step reads, to compare with and to find a step again."""
        program = self._parts[1].program
        if not self._finite and self._watch.until is None:
            return {}
        return {f: tuple(self._state.newest(f, a).copy() for a in range(program.history(f))) for f in self._fields}

    def _change(self) -> float:
        """The largest change of any value since the last look."""
        largest = 0.0
        for field in self._fields:
            newest, old = self._state.newest(field), self._before[field][0]
            largest = max(largest, float(np.max(np.abs(np.subtract(newest, old, dtype=_wide(newest))), initial=0.0)))
        return largest

    def _first_wild_step(self, done: int) -> int:
        """Repeat the steps since the last look one by one and return the first with a value that is not finite."""
        kernel, problem, given, threads = self._parts
        sources = {source.field: (self._state_of_source(source.field),) for source in self._forcing.sources}
        again = replace(given, versions={**given.versions, **self._before, **sources})
        state = kernel.start(problem, again.inputs(), threads)
        found = [done]

        def look(step: int) -> bool:
            found[0] = step
            return not self._all_finite(state)

        try:
            _advance(state, done, self._forcing, 1, look, first=self._done)
        finally:
            state.close()
        return found[0]

    def _state_of_source(self, field: str) -> Array:
        """A field of sources as it was at the last look."""
        values = np.array(self._state.newest(field))
        for source in self._forcing.sources:
            if source.field == field:
                values[source.cell] = source.values[self._done]
        return values


def _wide(array: Array) -> Any:  # noqa: ANN401
    return np.complex128 if array.dtype.kind == "c" else np.float64


def _readonly(array: Array) -> Array:
    seen = array.view()
    seen.flags.writeable = False
    return seen
