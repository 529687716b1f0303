"""Runs on the ranks of MPI, every one of which calls the same."""

from typing import Any

from tilewright.base.errors import UsageError
from tilewright.base.paths import as_path
from tilewright.distributed import rank_arrays, rank_runs
from tilewright.distributed.checkpoints import Checkpoints
from tilewright.inputs import memo
from tilewright.verbs.options import refuse
from tilewright.verbs.running.grids.choice import flat, is_distributed
from tilewright.verbs.running.grids.engine import Large, state_of
from tilewright.verbs.running.monitor import make_monitor
from tilewright.verbs.running.problem import CheckedProblem


class Ranks(Large):
    """A run on distributed arrays."""

    name = "a run on distributed arrays"

    def open(self) -> None:
        """Check the arrays on all ranks, so that a mistake of one is an error on all."""
        program, options = self.program, self.options
        comm = next(each.comm for each in flat(self.arrays) if is_distributed(each))
        values = {name: value for name, value in self.scalars.items() if is_distributed(value)}

        def check() -> CheckedProblem:
            refuse(self.name, self.options)
            make_monitor(options.every, None, None)
            if options.checkpoint is None and (options.resume or options.every is not None):
                raise UsageError(
                    "a run on distributed arrays goes on from a checkpoint, and got no checkpoint=",
                    "name a folder: checkpoint='state', every=1000",
                )
            if not all(map(is_distributed, flat(self.arrays))):
                raise UsageError("some arrays of a run are distributed over ranks, and some are not")
            return self._checked([flat((array,)) for array in self.arrays], values)

        case = rank_arrays.together(comm, check)
        levels = {name: tuple(flat((array,))) for name, array in zip(program.fields, self.arrays, strict=True)}
        levels |= {name: (value,) for name, value in values.items()}
        like, versions = levels[program.fields[0]][0], case.given.versions
        for name in versions.keys() - levels.keys():  # every rank has all of an array of fewer axes
            part = rank_arrays.Array(like.shape, versions[name][0].dtype, comm=comm, topology=like.topology)
            part.local[...] = versions[name][0][tuple(slice(*each) for each in like.box)]
            levels[name] = (part,)
        case = rank_runs.looked(levels, comm, lambda look: self._with_points(case, look))
        self.problem = case.problem
        threads = self.target.threads
        if options.threads is None:
            threads = rank_arrays.threads_per_rank(comm, threads)
        self._parts = self._computer(case, threads)
        checkpoints = None
        if options.checkpoint is not None:
            folder = as_path(options.checkpoint, "checkpoint").absolute()
            checkpoints = Checkpoints(folder=folder, every=options.every, resume=options.resume)
        self._job = rank_runs.RankRun(problem=case.problem, arrays=levels, points=case.points, checkpoints=checkpoints)

    def advance(self, step: int) -> None:  # noqa: ARG002  (nothing is seen before the last)
        """Run to the end, or from the last checkpoint to it."""
        self._found, self._traces = rank_runs.run(self._job, memo.host(), self._parts)

    def results(self) -> Any:  # noqa: ANN401
        """Return this rank's part of the results."""
        return self._with_traces(state_of(list(self._found.values()), deep=self.options.levels))
