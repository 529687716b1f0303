"""What makes a tiling legal: the rules that families share. All of them start from the dependences of the program."""

from dataclasses import dataclass

from tilewright.base.errors import IllegalTilingError
from tilewright.base.facts import fact
from tilewright.programs.stencil.analysis import Dependence
from tilewright.programs.stencil.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Legal:
    """The tiling computes what the program says."""

    sequential: Dependence | None = None  # the recurrence that makes a sweep run cell by cell in order, if there is one


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """The tiling would compute something else."""

    reason: str  # one sentence for the user
    dependence: Dependence | None = None  # the broken dependence, flow or memory; None where the reason is another
    hint: str = ""  # what to do about it

    def __str__(self) -> str:
        return self.reason


Verdict = Legal | Violation


def require(verdict: Verdict) -> None:
    """Refuse a tiling that would compute something else."""
    if isinstance(verdict, Violation):
        raise IllegalTilingError(verdict.reason, verdict.hint)


@fact
def untileable(problem: Problem) -> Violation | None:
    """Say why no time tile can be legal: a recurrence inside the sweep, or a read that wraps around the grid."""
    name = problem.program.name
    sweep = problem.program.analysis.sweep
    if sweep:
        return Violation(
            reason=f"{name!r} cannot be tiled in time: the {sweep[0]} lies inside one sweep (a recurrence)",
            dependence=sweep[0],
            hint="use the tiling none",
        )
    for statement in problem.program.statements:
        for read in statement.reads:
            for axis, (below, _) in enumerate(problem.sides(read.field)):
                if below.kind == "wrap" and read.offset[axis]:
                    where = f"{read.field}[{', '.join(map(str, read.offset))}]"
                    return Violation(
                        reason=f"{name!r} cannot be tiled in time here: with the boundary wrap on axis {axis}, "
                        f"{where} depends on cells at the far end of the grid (a long-range dependence)",
                        hint="use the tiling none, or another boundary",
                    )
    return None
