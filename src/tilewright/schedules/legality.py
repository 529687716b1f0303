"""What makes a tiling legal: the rules that families share. All of them start from the dependences of the program."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tilewright.base.errors import IllegalTilingError
from tilewright.programs.stencil.dependences import Dependence, analyse, distances
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.tiling import Tiling
from tilewright.schedules.tree.nodes import Node, Wavefronts, nodes
from tilewright.schedules.tree.precedence import Distance, TreeSizes, breaks


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


def without_own_memory(problem: Problem) -> Violation | None:
    """Say why no tile can compute in memory of its own: all versions of a step belong into the grid's."""
    if problem.plain:
        return None
    return Violation(
        reason=f"every state of {problem.program.name!r} is kept or read here, or some cells alone are updated, which "
        "tiles with memory of their own cannot do",
        hint="use the tiling hybrid or none",
    )


def broken(problem: Problem, tree: Node) -> Dependence | None:
    """Return a dependence that a tree breaks whose tiles compute in the grid's memory, or None; recurrences aside.

    The order has to keep it in a grid without end, so that a tiling is legal for any number of steps and any size, and
    in this grid where the order itself hangs on the size. ``mirror`` and ``reflect`` bend reads to the other side,
    ``nearest`` makes them shorter, which is taken to happen anywhere; ``wrap`` is not looked at, see
    :func:`untileable`.

    Args:
        problem: The problem.
        tree: The tree of a tiling of it.
    """
    analysis = analyse(problem.program)
    shapes = [(_ENDLESS,) * problem.program.rank]
    if any(isinstance(node, Wavefronts) for node in nodes(tree)):
        shapes.append(problem.shape)
    groups: dict[tuple[int, int], list[Dependence]] = {}
    for dependence in analysis.dependences:
        groups.setdefault((dependence.time, dependence.stage), []).append(dependence)
    for shape in shapes:
        sizes = TreeSizes(shape=shape, steps=_ENDLESS, stages=len(analysis.stages))
        for group in groups.values():
            found = _first(problem, tree, sizes, group)
            if found is not None:
                return found
    return None


def _first(problem: Problem, tree: Node, sizes: TreeSizes, several: list[Dependence]) -> Dependence | None:
    """The first broken one of some dependences, of one time and stage, looked for where any of them may be."""
    if not breaks(tree, _hull(problem, several), sizes):
        return None
    half = len(several) // 2
    if not half:
        return several[0]
    return _first(problem, tree, sizes, several[:half]) or _first(problem, tree, sizes, several[half:])


def verdict(problem: Problem, tiling: Tiling, tree: Node, *, axis: int, least: int) -> Verdict:
    """Say whether tiles whose size along an axis is below one that is always large enough keep every dependence.

    Args:
        problem: The problem.
        tiling: A completed tiling.
        tree: Its tree.
        axis: The axis.
        least: The size that is large enough.
    """
    found = broken(problem, tree) if tiling.space[axis] < least else None
    if found is None:
        return Legal()
    return Violation(
        reason=f"the tiles of {tiling} break the {found}: what has to run first would run later, or at the same time",
        dependence=found,
        hint=f"make the {_NTH[axis]} tile size at least {least}",
    )


_NTH = ("first", "second", "third")
_ENDLESS = 2**32
"""Cells, and steps, of a grid without end."""


def _offsets(problem: Problem, dependence: Dependence) -> Iterator[tuple[int, int]]:
    """Per axis the least and the greatest distance: as it is written, and all that boundaries may make of it."""
    for axis, offset in enumerate(dependence.offset):
        kinds = {side.kind for sides in problem.boundaries for side in sides[axis]}
        found = distances(problem, dependence, axis) if kinds & {"nearest", "mirror", "reflect"} else (offset,)
        yield min(found), max(found)


def _hull(problem: Problem, several: Sequence[Dependence]) -> Distance:
    """A distance that is broken if any of several dependences is, all of one time and stage."""
    axes = zip(*(_offsets(problem, each) for each in several), strict=True)
    offsets = tuple((min(low for low, _ in axis), max(high for _, high in axis)) for axis in map(tuple, axes))
    return Distance(time=several[0].time, offsets=offsets, stage=several[0].stage)
