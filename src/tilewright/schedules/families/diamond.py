"""Diamond tiles: diamonds on (time, axis 0), classic skewed cuts on the other axes."""

from dataclasses import replace

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.base.intmath import round_up
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import prism
from tilewright.schedules.legality import Verdict
from tilewright.schedules.tiling import Tiling
from tilewright.schedules.traits import Traits
from tilewright.schedules.tree.nodes import Node

NAME = prism.DIAMOND
RANKS: tuple[int, ...] = (1, 2, 3)
SUMMARY = "diamonds on (time, axis 0), all tiles of a wavefront at once; classic skewed cuts on the other axes"
TRAITS = Traits(diamonds=True, sweep=prism.sweep)
_TIMES = {1: 256, 2: 16, 3: 8}
_SIZES: dict[int, tuple[int, ...]] = {1: (), 2: (4096,), 3: (16, 4096)}


def least_pitch(problem: Problem, time: int) -> int:
    """Return the smallest first size: the reach per logical step times the height, at least 2."""
    return max(2, slopes(problem)[0].widest * time * len(problem.program.stages))


def complete(problem: Problem, tiling: Tiling) -> Tiling:
    """Fill in the height and the sizes; see :func:`tilewright.schedules.prism.complete`.

    Without sizes, the diamonds are as narrow as the reach allows.
    """
    rank = problem.program.rank
    if rank not in RANKS:
        raise IllegalTilingError(f"{NAME} tiles cut 1D to 3D programs, {problem.program.name!r} is {rank}D", "use none")
    time = _TIMES[rank] if tiling.time == 1 and not tiling.space else tiling.time
    if not tiling.space:
        tiling = replace(tiling, time=time, space=(least_pitch(problem, time), *_SIZES[rank]))
    default = Tiling(family=NAME, time=_TIMES[rank], space=(_TIMES[rank], *_SIZES[rank]))
    done = prism.complete(problem, tiling, RANKS, default)
    if done.space[0] % 2:
        raise UsageError(
            f"the first size of a {NAME} tile is the distance of neighbouring diamonds, an even number, got "
            f"s={done.space[0]}",
            f"take {round_up(done.space[0], 2)}",
        )
    return done


def check(problem: Problem, tiling: Tiling) -> Verdict:
    """Say whether a completed tiling keeps every dependence."""
    return prism.check(problem, tiling)


def tree(problem: Problem, tiling: Tiling) -> Node:
    """Return the order of execution of a completed tiling."""
    return prism.tree(problem, tiling)
