"""A run on arrays of one kind: opened, advanced from look to look, and asked for its results."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar

from tilewright.plan import Target
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.verbs.options import RunOptions


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
