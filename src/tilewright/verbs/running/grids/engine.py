"""A run on arrays of one kind: opened, advanced from look to look, and asked for its results."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tilewright.base.errors import ArrayError
from tilewright.base.units import format_shape
from tilewright.inputs import memo
from tilewright.plan import Target
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.runtime.points import Look
from tilewright.verbs.options import RunOptions
from tilewright.verbs.running.problem import CheckedProblem, check


class Engine:
    """A run of a program. Kinds of runs differ in what they say here."""

    name: ClassVar[str]  # what a run of this kind is called in errors, and in the table of refused options
    every = 0  # steps between two looks; 0 for none
    problem: Problem  # from ``open`` on

    def __init__(
        self,
        program: Program,
        arrays: Sequence[Any],
        scalars: Mapping[str, Any],
        options: RunOptions,
        target: Target,  # where it is computed; on ranks, by every one of them
    ) -> None:
        self.program, self.arrays, self.scalars, self.options, self.target = program, arrays, scalars, options, target

    def open(self) -> None:
        """Check what was given, and plan."""
        raise NotImplementedError

    def advance(self, step: int) -> None:
        """Go on to a step; those of which nothing is seen meanwhile have one step, the last."""
        raise NotImplementedError

    def look(self) -> bool:
        """Look at the state, and say whether the run ends here."""
        return False

    def results(self) -> Any:  # noqa: ANN401
        """Return what :func:`tilewright.run` returns."""
        raise NotImplementedError

    def close(self) -> None:
        """Hand back what the run has taken."""

    def telling(self) -> AbstractContextManager[None]:
        """Return what says how far the run is while its block is computed."""
        return nullcontext()


def computed(engine: Engine) -> Any:  # noqa: ANN401
    """Run to the end, or until a look ends it, and return the results."""
    try:
        engine.open()
        with engine.telling():
            for step in stops(engine.problem.steps, engine.every):
                engine.advance(step)
                if engine.look():
                    break
            return engine.results()
    finally:
        engine.close()


def stops(steps: int, every: int) -> Iterator[int]:
    """Yield the steps after which a run is looked at, and the last.

    >>> list(stops(7, 3)), list(stops(7, 0)), list(stops(0, 3))
    ([3, 6, 7], [7], [])
    """
    if every:
        yield from range(every, steps, every)
    if steps or not every:
        yield steps


def state_of(levels: Sequence[Sequence[Any]], *, deep: bool) -> Any:  # noqa: ANN401
    """Return fields' levels, newest first, as a run returns them: all that a next run needs, or the newest.

    >>> state_of([("u", "u_prev"), ("v",)], deep=True), state_of([("u", "u_prev")], deep=False)
    ((('u', 'u_prev'), 'v'), 'u')
    """
    entries = [tuple(each) if deep and len(each) > 1 else each[0] for each in levels]
    return entries[0] if len(entries) == 1 else tuple(entries)


if TYPE_CHECKING:
    from tilewright.distributed.compute import Computer


class Large(Engine):
    """A run on arrays that lie elsewhere."""

    _traces: Mapping[str, Any] = {}
    """By field what receivers recorded."""

    def _checked(self, fields: Sequence[Sequence[Any]], coefficients: Mapping[str, Any]) -> CheckedProblem:
        """Check stand-ins of a program's fields and coefficients as arrays in memory are checked."""
        stands = [tuple(stand_in(each) for each in levels) for levels in fields]
        stand_ins = {name: stand_in(each) for name, each in coefficients.items()}
        return check(self.program, stands, {**self.scalars, **stand_ins}, self.options, stands=True)

    def _with_points(self, case: CheckedProblem, look: Look) -> CheckedProblem:
        from tilewright.distributed.points import check_target

        complete = case.with_points(self.options, self.target.threads, look=look)
        if complete.points is not None:
            check_target(self.target)
        return complete

    def _computer(self, case: CheckedProblem, threads: int) -> "Computer":
        from tilewright.distributed.compute import Computer

        return Computer(
            target=self.target,
            threads=threads,
            tiling=self.options.tiling,
            strict=self.options.strict,
            scalars=case.given.scalars,
            make=memo.prepared,
        )

    def _with_traces(self, state: Any) -> Any:  # noqa: ANN401
        """Return a run's state, with what receivers recorded where there are any."""
        return state if self.options.receivers is None else (state, dict(self._traces))


def stand_in(array: Any) -> np.ndarray[Any, Any]:  # noqa: ANN401
    """Return an array of the shape and element type of another that takes no memory, to be checked in its place."""
    shape, dtype = tuple(array.shape), np.dtype(array.dtype)
    if math.prod(shape) * dtype.itemsize >= 2**63:
        raise ArrayError(f"an array of {format_shape(shape)} cells is larger than any disk")
    return np.broadcast_to(np.zeros((), dtype), shape)
