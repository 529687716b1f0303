"""No tiling: one sweep over the grid per logical step."""

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.family import Family, Legal, Tiling, Verdict
from tilewright.schedules.tree.affine import STEPS, Name, Whole, extent_of
from tilewright.schedules.tree.nodes import Compute, Loop, Node, Sequence


class Untiled(Family):
    """Sweeps over the grid, without tiles and sizes."""

    ranks = (1, 2, 3, 4)
    summary = "no tiling: one sweep over the grid per statement and step; legal for every program"
    untiled = gpu = trusted = True
    cpu_range = (0.63, 1.31)

    def complete(self, problem: Problem, tiling: Tiling) -> Tiling:
        """Return the tiling itself, which has no sizes."""
        keys = {"t": tiling.time != 1, "s": tiling.space, "sub": tiling.sub, "k": tiling.k, "rows": tiling.rows}
        for key, value in keys.items():
            if value:
                raise UsageError(
                    f"the tiling {self} has no tiles, so {key} means nothing, got {str(tiling)!r}", f"write: {self}"
                )
        if tiling.threads and len(tiling.threads) != problem.program.rank:
            raise UsageError(f"threads are given per axis, {problem.program.rank} here, got {str(tiling)!r}")
        return tiling

    def check(self, problem: Problem, tiling: Tiling, storage: Storage = PLAIN) -> Verdict:  # noqa: ARG002
        """Every program is legal; one with a recurrence only cell by cell, which the verdict names."""
        sweep = problem.program.analysis.sweep
        return Legal(sequential=sweep[0] if sweep else None)

    def tree(self, problem: Problem, tiling: Tiling) -> Node:  # noqa: ARG002
        """Return the sweeps: the stages of a step one after the other, each over the whole grid."""
        grid = tuple((Whole(0), extent_of(axis)) for axis in range(problem.program.rank))
        stages = range(len(problem.program.stages))
        step = Name("t")
        sweeps = Sequence(tuple(Compute(step, Whole(stage), grid) for stage in stages))
        return Loop(name="t", low=Whole(0), high=STEPS, child=sweeps)


FAMILY = Untiled("none")
