"""Hybrid tiles for 2D and 3D programs: hexagons on (time, axis 0), classic skewed cuts on the other axes."""

from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import prism
from tilewright.schedules.legality import Verdict
from tilewright.schedules.tiling import Tiling
from tilewright.schedules.traits import Traits
from tilewright.schedules.tree.nodes import Node

NAME = "hybrid"
RANKS: tuple[int, ...] = (2, 3)
SUMMARY = "hexagons on (time, axis 0), classic skewed cuts on the other axes, in sequence inside a tile (2D, 3D)"
TRAITS = Traits(hexagons=True, sweep=prism.sweep)
_DEFAULTS = {2: Tiling(family=NAME, time=16, space=(32, 512)), 3: Tiling(family=NAME, time=8, space=(8, 16, 256))}


def complete(problem: Problem, tiling: Tiling) -> Tiling:
    """Fill in the height and the sizes; see :func:`tilewright.schedules.prism.complete`."""
    return prism.complete(problem, tiling, RANKS, _DEFAULTS.get(problem.program.rank, _DEFAULTS[2]))


def check(problem: Problem, tiling: Tiling) -> Verdict:
    """Say whether a completed tiling keeps every dependence."""
    return prism.check(problem, tiling)


def tree(problem: Problem, tiling: Tiling) -> Node:
    """Return the order of execution of a completed tiling."""
    return prism.tree(problem, tiling)
