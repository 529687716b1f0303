"""A run from its first step to its last: advanced in portions, its sources changed and its state looked at between.

Values that stop being finite are traced to the step at which they did.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np

from tilewright.base.errors import ArrayError
from tilewright.programs.stencil.problem import Problem
from tilewright.runtime.kernels import Kernel, State
from tilewright.runtime.memory import Array
from tilewright.runtime.session import Inputs
from tilewright.runtime.warn import warn

Callback = Callable[[int, Any], Any]  # gets the steps done and the state; True ends the run
_LOOKED_AT = 2**16  # about so many values of a large result are looked at after a plain run
_REPEATED = 2**31  # cells times steps up to which a run that blew up is repeated to name the step


@dataclass(frozen=True, slots=True, kw_only=True)
class Calculation:
    """A prepared problem with its data; it may be run any number of times."""

    kernel: Kernel
    problem: Problem
    inputs: Inputs  # only read
    threads: int

    def warn_if_nonfinite(self, results: Mapping[str, Array]) -> None:
        """Warn if values became infinite or undefined in the course of a run; large results are only sampled."""
        problem = self.problem
        if not problem.rounds:
            return
        for field, result in results.items():
            sample = result.ravel()[:: max(1, result.size // _LOOKED_AT)] if result.flags.c_contiguous else result
            if np.isfinite(sample).all():
                continue
            if all(np.isfinite(version).all() for versions in self.inputs.arrays.values() for version in versions):
                step = self._first_nonfinite_step()
                since = "" if step is None else f", from step {step} on"
                more = "; every=… names the step at which it begins" if step is None else ""
                warn(
                    f"values of {field!r} are not finite after {problem.steps} steps of {problem.program.name!r}{since}"
                    f" (hint: an explicit scheme may need a smaller time step{more})"
                )
            return

    def _first_nonfinite_step(self) -> int | None:
        """Repeat a run to find the first step after which a value is not finite; None if it is too long to repeat."""
        if self.problem.cells * self.problem.steps > _REPEATED:
            return None
        step: list[int | None] = [None]
        again = replace(self, inputs=replace(self.inputs, traces=None, out=None))
        with Simulation(again) as run:
            watch = Watch(run)

            def seek() -> bool:
                step[0] = watch.nonfinite_step()
                watch.keep()
                return step[0] is not None

            run.advance(self.problem.steps, math.isqrt(self.problem.steps) + 1, seek)
        return step[0]


class Simulation:
    """A calculation in memory, advanced from stop to stop; leaving its block hands the memory back.

    Not for several threads at a time.
    """

    def __init__(self, calculation: Calculation, first: int = 0) -> None:
        """Take memory and copy the first versions in; ``first`` steps lie behind them."""
        self.calculation, self.problem, self.done = calculation, calculation.problem, first
        program = self.problem.program
        self.histories = {field: program.history(field) for field in program.updated}
        """Versions that the next step reads, per updated field."""
        self.state: State = calculation.kernel.start(self.problem, calculation.inputs, calculation.threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.state.close()

    def advance(self, steps: int, every: int = 0, look: Callable[[], bool] | None = None) -> None:
        """Go on to step ``steps``; ``look``, called after so many and at the end, ends the run if it is True."""
        first = self.done
        for stop in _stops(first, steps, every):
            self.state.advance(stop - self.done)
            self.done = stop
            if look is not None and (stop == steps or (stop - first) % every == 0) and look():
                return

    def again(self, versions: Mapping[str, Sequence[Array]], first: int) -> "Simulation":
        """Start anew from other versions of the updated fields, which so many steps led to."""
        calculation = self.calculation
        arrays = {**calculation.inputs.arrays, **versions}
        inputs = replace(calculation.inputs, arrays=arrays, traces=None, first=first)
        return Simulation(replace(calculation, inputs=inputs), first)

    def probe(self) -> "Probe":
        """Return what compares states of this run where they are: on its device, or in memory."""
        return self.state if isinstance(self.state, Probe) else _HostProbe(self)

    def levels(self, targets: Mapping[str, Sequence[Array]], *, deep: bool) -> dict[str, tuple[Array, ...]]:
        """Copy the updated fields, all levels that a next step reads or the newest, to targets or anew."""
        ages = max(self.histories.values()) if deep else 1
        by_age = []
        for age in range(ages):
            out = {field: each[age] for field, each in targets.items() if age < len(each)}
            by_age.append(self.state.results(out or None, age))
        return {field: tuple(results[field] for results in by_age if field in results) for field in self.histories}


def _stops(first: int, steps: int, every: int) -> Iterator[int]:
    stops = range(first + every, steps, every) if every else range(0)
    yield from sorted({*stops, steps} - {first})


@runtime_checkable
class Probe(Protocol):
    """A state of a run that is kept, and compared with a later one."""

    def finite(self) -> bool:
        """Whether every value of the updated fields is finite."""

    def keep(self) -> None:
        """Keep every version of the updated fields that the next step reads."""

    def kept(self) -> dict[str, tuple[Array, ...]]:
        """Return what was kept, newest first."""

    def change(self) -> float:
        """Return the largest change of any value since a state was kept."""


class _HostProbe:
    """A probe of states in memory."""

    def __init__(self, run: Simulation) -> None:
        self._run, self._before = run, dict[str, tuple[Array, ...]]()

    def finite(self) -> bool:
        return all(bool(np.isfinite(self._run.state.newest(field)).all()) for field in self._run.histories)

    def keep(self) -> None:
        newest, histories = self._run.state.newest, self._run.histories
        self._before = {f: tuple(newest(f, age).copy() for age in range(ages)) for f, ages in histories.items()}

    def kept(self) -> dict[str, tuple[Array, ...]]:
        return self._before

    def change(self) -> float:
        largest = 0.0
        for field, (old, *_) in self._before.items():
            newest = self._run.state.newest(field)
            wide = np.complex128 if newest.dtype.kind == "c" else np.float64
            largest = max(largest, float(np.max(np.abs(np.subtract(newest, old, dtype=wide)), initial=0.0)))
        return largest


class Watch:
    """What became of a run since its state was last kept."""

    def __init__(self, run: Simulation, *, changes: bool = False) -> None:
        self._run, self._changes = run, changes
        self._probe: Probe = run.probe()
        self._finite = run.problem.rounds and self._probe.finite()
        self.keep()

    def keep(self) -> None:
        """Keep the state, to compare with and to find a step again."""
        self._done = self._run.done
        if not (self._finite or self._changes):
            return
        try:
            self._probe.keep()
        except ArrayError:  # there is no room for it where the run is
            self._probe = _HostProbe(self._run)
            self._probe.keep()

    def change(self) -> float:
        """Return the largest change of any value, per step."""
        return self._probe.change() / (self._run.done - self._done)

    def nonfinite_step(self) -> int | None:
        """Return the first step after which a value is not finite, if all were at first: the steps are repeated."""
        if not self._finite or self._probe.finite():
            return None
        with self._run.again(self._probe.kept(), self._done) as again:
            probe = again.probe()
            again.advance(self._run.done, 1, lambda: not probe.finite())
            return again.done
