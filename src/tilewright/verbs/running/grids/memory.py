"""Runs in this process's memory, by a processor or by way of a device."""

import time
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from tilewright.inputs.arrays import like
from tilewright.inputs.memo import prepared
from tilewright.runtime.busy import unoccupied
from tilewright.runtime.kernels import CpuKernel
from tilewright.runtime.memory import check_memory
from tilewright.runtime.simulation import Calculation, Simulation
from tilewright.verbs.options import refuse
from tilewright.verbs.running.grids.engine import Engine, state_of
from tilewright.verbs.running.monitor import Monitor, make_monitor
from tilewright.verbs.running.problem import CheckedProblem, check, check_targets, targets_of, warn_if_at_rest
from tilewright.verbs.running.record import Run, log_choice, predicted_seconds, threads_of, while_running

Levels = dict[str, tuple[Any, ...]]  # by updated field its levels, newest first


class Memory(Engine):
    """A run on arrays in memory."""

    name = "a run in memory"
    copies_out = True  # whether results are copied to this process's memory
    at_once = True  # whether a kernel may do the whole run in one call
    packed = True  # whether fields that live in subdomains have memory there alone, where kernels can do that
    case: CheckedProblem
    before = 0  # steps that an earlier run has done
    _looked = 0  # steps done at the last look
    _found: Levels | None = None  # the results, once they are copied out

    def open(self) -> None:
        """Check what was given, and plan."""
        refuse(self.name, self.options)
        self._deep = self.copies_levels()
        self.case = self._checked()
        self.problem = self.case.problem
        self.monitor = self._monitor()
        self.every = self.monitor.every if self.monitor else 0
        self.warn_if_at_rest()
        out = self.options.out
        self._targets = (
            {} if out is None else targets_of(self.problem, out, self.problem.shape, levels=self.options.levels)
        )
        self._place()
        self._plan()
        self._begin = time.perf_counter()

    def advance(self, step: int) -> None:
        """Go on to a step."""
        if self._at_once:
            calculation = self.calculation
            results = calculation.kernel.run(self.problem, calculation.inputs, calculation.threads)
            self._found = {field: (values,) for field, values in results.items()}
        else:
            self._simulation.advance(step)

    def look(self) -> bool:
        """Look at the state, and say whether the run ends here."""
        if self.monitor is None:
            return False
        self._looked = self._simulation.done
        return self._look()

    def results(self) -> Any:  # noqa: ANN401
        """Return what :func:`tilewright.run` returns, of the kinds of the caller's arrays."""
        levels = self.finish()
        fields = self.problem.program.fields
        arrays = [tuple(like(values, self.arrays[fields.index(field)]) for values in levels[field]) for field in levels]
        options, points = self.options, self.case.points
        state = state_of(arrays, deep=options.levels) if options.out is None else options.out
        traces = {} if points is None or self._traces is None else points.done(self._traces, self.done)
        if not options.record:
            return state if self._traces is None else (state, traces)
        return Run(
            state=state,
            levels=tuple(entry if len(entry) > 1 else entry[0] for entry in arrays),
            traces=traces,
            steps_done=self.before + self.done,
            seconds=self.seconds,
            predicted_seconds=predicted_seconds(self.calculation.kernel, self.problem, self.done),
            **self.computed_by(),
        )

    def computed_by(self) -> dict[str, Any]:
        """Return what a record says of the problem and of what computes it."""
        kernel = self.calculation.kernel
        return {
            "problem": self.problem,
            "backend": kernel.plan.target.backend,
            "tiling": kernel.plan.tiling,
            "threads": threads_of(kernel, self.calculation.threads),
        }

    def close(self) -> None:
        """Hand the memory back."""
        simulation = self.__dict__.pop("_simulation", None)
        if simulation is not None:
            simulation.state.close()

    def telling(self) -> AbstractContextManager[None]:
        """Say how far the run is, where that takes long."""
        return while_running(self.calculation.kernel, self.problem, lambda: self._looked)

    def finish(self) -> Levels:
        """Copy the results out, and note how long the run took and how many steps it did."""
        levels = self._copied() if self._found is None else self._found
        self.done = self.problem.steps if self._at_once else self._simulation.done
        self.close()
        self.seconds = time.perf_counter() - self._begin
        if self.monitor is None:
            self.warn_if_nonfinite(levels)
        for field, part in self._spread.items():
            levels[field] = tuple(part.cut(each) for each in levels[field])
        if self._spread:
            for field, targets in self._targets.items():
                for into, values in zip(targets, levels[field], strict=False):
                    np.copyto(into, values, casting="unsafe")
        return levels

    def copies_levels(self) -> bool:
        """Whether all levels that a next run needs are copied out."""
        return self.options.levels or self.options.record

    def warn_if_at_rest(self) -> None:
        """Warn if one array stands for several time levels."""
        warn_if_at_rest(self.case.given)

    def warn_if_nonfinite(self, levels: Levels) -> None:
        """Warn if values became infinite or undefined."""
        self.calculation.warn_if_nonfinite({field: versions[0] for field, versions in levels.items()})

    def _checked(self) -> CheckedProblem:
        packed = self.packed and not (self.target.on_device or self.options.strict)
        case = check(self.program, self.arrays, self.scalars, self.options, packed=packed)
        return case.with_points(self.options, self.target.threads, every=self.options.every)

    def _monitor(self) -> Monitor | None:
        options = self.options
        return make_monitor(options.every, options.callback, options.until, levels=options.levels)

    def _place(self) -> None:
        """Check that the results can be written from where the run is."""
        if self._targets:
            check_targets(self._targets, None)

    def _plan(self) -> None:
        problem, target, tiling, strict = self.problem, self.target, self.options.tiling, self.options.strict
        part = problem if not 0 < self.every < problem.steps else replace(problem, steps=self.every)
        whole = part is problem
        kernel = prepared(part, target, tiling, strict=strict, copies=whole, storage=self.case.storage)
        if self.case.storage.subdomains and not isinstance(kernel, CpuKernel):  # there is no compiler
            self.case = self.case.whole()
            kernel = prepared(part, target, tiling, strict=strict, copies=whole)
        threads = unoccupied(target.threads) if target.yields and kernel.parallel else target.threads
        log_choice(kernel, problem, threads)
        self._spread = {} if kernel.plan.storage.subdomains else dict(problem.program.subdomains)
        history = problem.program.history
        several = self._deep and any(history(field) > 1 for field in problem.program.updated)
        self._at_once = self.at_once and self.monitor is None and not several
        points = self.case.points
        self._traces = points.traces(problem) if points is not None and points.receivers else None
        into = {} if self._spread or not self._at_once else {f: each[0] for f, each in self._targets.items()}
        inputs = self.case.inputs(self._traces, into or None)
        self.calculation = Calculation(kernel=kernel, problem=problem, inputs=inputs, threads=threads)

    @cached_property
    def _simulation(self) -> Simulation:
        simulation = self.__dict__["_simulation"] = Simulation(self.calculation)  # it is closed whatever fails below
        if self._deep and self.copies_out:
            check_memory(sum(simulation.histories.values()) * self.problem.cells * self.problem.itemsize)
        if self.monitor is not None:
            self._look = self.monitor.of(simulation)
        return simulation

    def _copied(self) -> Levels:
        return self._simulation.levels({} if self._spread else self._targets, deep=self._deep)
