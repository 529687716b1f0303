"""Runs in memory that write the start, the state at every look, and the end to a file."""

from dataclasses import replace

from tilewright.base.dtypes import numpy_type
from tilewright.base.errors import ArrayError, UsageError
from tilewright.base.paths import as_path
from tilewright.base.units import whole_number
from tilewright.inputs.series import Recorder, attributes, labels, load, states
from tilewright.verbs.running.grids.memory import Levels, Memory
from tilewright.verbs.running.monitor import Monitor, make_monitor
from tilewright.verbs.running.problem import CheckedProblem, check


class Series(Memory):
    """A run in memory whose states go to the path ``out``."""

    name = "a run that writes a series"

    def open(self) -> None:
        """Check what was given, and plan."""
        self._path, self.options = as_path(self.options.out, "out"), replace(self.options, out=None)
        super().open()

    def copies_levels(self) -> bool:
        """All levels are: they are written."""
        return True

    def finish(self) -> Levels:
        """Copy the results out, and write them if no look has."""
        levels = super().finish()
        step = self.before + self.done
        if self._recorder.last != step:
            kind = numpy_type(self.problem.dtype)
            self._recorder.write(step, states(self.program, {**self._recorder.constant, **levels}, kind))
        return levels

    def _checked(self) -> CheckedProblem:
        path, options, program, start = self._path, self.options, self.program, self.arrays
        if options.resume and path.exists():
            before = load(path)
            self.before, start = int(before.steps[-1]), before.state
            if before.fields != program.fields:
                raise ArrayError(
                    f"{path.name!r} holds the fields {', '.join(before.fields)}, and {program.name!r} has "
                    f"{', '.join(program.fields)}"
                )
        steps = whole_number(options.steps, "steps", 0, 2**31 - 1, "from 0 to 2^31 - 1")
        self.options = options = replace(options, steps=max(0, steps - self.before))
        case = check(program, start, self.scalars, options)
        case = case.with_points(options, self.target.threads, every=options.every)
        if self.before and (case.problem.varying or case.points is not None):
            raise UsageError(
                "values per step, sources and receivers begin anew, so such a run is not resumed", "run it whole"
            )
        return case

    def _monitor(self) -> Monitor | None:
        self._recorder = self._begun()
        options, look = self.options, self.options.callback
        if options.every is not None:
            look = self._recorder.looking(look, self.before, levels=options.levels)
        return make_monitor(options.every, look, options.until, levels=True)

    def _begun(self) -> Recorder:
        """Return what writes the states, the first of which is written where no earlier run has."""
        case, program = self.case, self.program
        newest = self.arrays[0][0] if isinstance(self.arrays[0], tuple) else self.arrays[0]
        dims, coords = labels(newest)
        attrs = attributes(case.problem, self.scalars)
        recorder = Recorder(self._path, program, dims=dims, coords=coords, attrs=attrs)
        start = states(program, case.given.versions, numpy_type(case.problem.dtype))
        recorder.constant = {field: start[field] for field in program.fields if field not in program.updated}
        if self.before:
            recorder.go_on(self.before)
        else:
            recorder.write(0, start)
        return recorder
