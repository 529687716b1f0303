"""Monitored runs as a caller asks for them: callbacks, a bound on the change per step, values that are not finite."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.base.units import real_number, whole_number
from tilewright.runtime.memory import Array
from tilewright.runtime.simulation import Callback, Simulation, Watch
from tilewright.runtime.warn import warn

_EVERY = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Monitor:
    """How a run is looked at."""

    every: int  # steps between two looks
    # called with the steps done and a read-only view of the updated field, or a tuple of views; True ends the run
    callback: Callback | None = None
    until: float | None = None  # the run ends when no value changes by more per step
    levels: bool = False  # the callback gets every time level of a field, newest first
    # makes of a version of a field what the callback gets, where that is no view on the host
    shown: Callable[[Simulation, str, int], Any] | None = None

    def of(self, run: Simulation) -> Callable[[], bool]:
        """Return what looks at a run that has not begun, and says whether it is to end."""
        watch, name = Watch(run, changes=self.until is not None), run.problem.program.name

        def look() -> bool:
            step = watch.nonfinite_step()
            if step is not None:
                warn(
                    f"values of {name!r} are not finite from step {step} on, so the run ended at step {run.done} "
                    "(hint: an explicit scheme may need a smaller time step)"
                )
                return True
            if self._called(run):
                return True
            if self.until is not None:
                change = watch.change()
                if change <= self.until:
                    return True
                if run.done == run.problem.steps:
                    warn(
                        f"{name!r} still changes by {change:.3g} per step after {run.done} steps, "
                        f"more than until={self.until:g}"
                    )
            watch.keep()
            return False

        return look

    def _called(self, run: Simulation) -> bool:
        """Call the callback, if there is one; return whether it ends the run."""
        if self.callback is None:
            return False
        views = tuple(self._view(run, field, history) for field, history in run.histories.items())
        answer = self.callback(run.done, views[0] if len(views) == 1 else views)
        return answer is not None and bool(answer)

    def _view(self, run: Simulation, field: str, history: int) -> Any:  # noqa: ANN401
        show = self.shown or _readonly_view
        views = tuple(show(run, field, age) for age in range(history if self.levels else 1))
        return views[0] if len(views) == 1 else views


def make_monitor(
    every: int | None, callback: Callback | None, until: float | None, *, levels: bool = False
) -> Monitor | None:
    """Check the options of a monitored run; None if nothing is asked for."""
    if every is None and callback is None and until is None:
        return None
    if callback is not None and every is None:
        raise UsageError("a callback needs to know how often it is called", "pass every=100")
    if every is not None:
        every = whole_number(every, "every", 1, 2**62, "of steps, at least 1")
    if until is not None:
        until = real_number(until, "until, a change per step,", zero=True)
    return Monitor(every=_EVERY if every is None else every, callback=callback, until=until, levels=levels)


def _readonly_view(run: Simulation, field: str, age: int) -> Array:
    view = run.state.newest(field, age).view()
    view.flags.writeable = False
    return view
