"""What makes a tiling legal: the rules that families share. All of them start from the dependences of the program."""

from dataclasses import dataclass

from tilewright.base.errors import IllegalTilingError
from tilewright.base.intmath import ceil_div
from tilewright.programs.stencil.dependences import Dependence, analyse, distances
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.geometry import Diamond, Hexagon, Skew


@dataclass(frozen=True, slots=True, kw_only=True)
class Legal:
    """The tiling computes what the program says.

    Attributes:
        sequential: The recurrence that makes a sweep run cell by cell in order, if there is one.
    """

    sequential: Dependence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """The tiling would compute something else.

    Attributes:
        reason: One sentence for the user.
        dependence: The broken dependence, flow or memory; None where the reason is another.
        hint: What to do about it.
    """

    reason: str
    dependence: Dependence | None = None
    hint: str = ""

    def __str__(self) -> str:
        return self.reason


Verdict = Legal | Violation
_NTH = ("first", "second", "third")


def require(verdict: Verdict) -> None:
    """Refuse a tiling that would compute something else.

    Raises:
        IllegalTilingError: If the verdict is a violation.
    """
    if isinstance(verdict, Violation):
        raise IllegalTilingError(verdict.reason, verdict.hint)


def untileable(problem: Problem) -> Violation | None:
    """Say why no time tile can be legal: a recurrence inside the sweep, or a read that wraps around the grid."""
    name = problem.program.name
    sweep = analyse(problem.program).sweep
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


def broken_by_hexagon(problem: Problem, hexagon: Hexagon) -> Violation | None:
    """Find a dependence that hexagons on (time, axis 0) break.

    A dependence ``(d, o)`` is kept if the rows grow and shrink fast enough, ``|o| <= slope * d``, and if it cannot
    reach across the tile of the other colour to one of the same wavefront: the first and the last row must hold the
    reach per logical step, ``base >= ceil(|o| / d)``.
    """
    for dependence in analyse(problem.program).dependences:
        for distance in distances(problem, dependence, 0):
            reach = ceil_div(abs(distance), dependence.time)
            if reach > hexagon.slope:
                return _too_steep("a hexagon on axis 0 grows by", hexagon.slope, reach, dependence)
            if reach > hexagon.base:
                return Violation(
                    reason=f"a hexagon of base {hexagon.base} on axis 0 is narrower than the {reach} cells per logical "
                    f"step of the {dependence}",
                    dependence=dependence,
                    hint=f"make the first tile size at least {reach}",
                )
    return None


def broken_by_diamond(problem: Problem, diamond: Diamond, axis: int = 0) -> Violation | None:
    """Find a dependence that diamonds on time and an axis break: one that is steeper than their sides."""
    for dependence in analyse(problem.program).dependences:
        for distance in distances(problem, dependence, axis):
            reach = ceil_div(abs(distance), dependence.time)
            least, nth = reach * diamond.height, _NTH[axis]
            if least > diamond.pitch:
                return Violation(
                    reason=f"diamonds of {diamond.height} rows, {diamond.pitch} cells apart on axis {axis}, are "
                    f"steeper than the {reach} cells per logical step of the {dependence}",
                    dependence=dependence,
                    hint=f"make the {nth} tile size at least {least}",
                )
    return None


def broken_by_skew(problem: Problem, skew: Skew, axis: int) -> Violation | None:
    """Find a dependence that classic cuts of an axis break: one with ``o > slope * d``, towards a later tile."""
    for dependence in analyse(problem.program).dependences:
        for distance in distances(problem, dependence, axis):
            reach = ceil_div(distance, dependence.time)
            if reach > skew.slope:
                return _too_steep(f"a classic tile of axis {axis} moves by", skew.slope, reach, dependence)
    return None


def _too_steep(what: str, slope: int, reach: int, dependence: Dependence) -> Violation:
    cells = f"{slope} cell{'s' * (slope != 1)}"
    return Violation(
        reason=f"{what} {cells} per logical step, which does not cover the {reach} of the {dependence}",
        dependence=dependence,
    )
