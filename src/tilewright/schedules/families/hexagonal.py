"""Hexagonal tiles of (time, x) for 1D programs."""

from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import prism
from tilewright.schedules.legality import Verdict
from tilewright.schedules.tiling import Tiling
from tilewright.schedules.traits import Traits
from tilewright.schedules.tree.nodes import Node

NAME = "hexagonal"
RANKS: tuple[int, ...] = (1,)
SUMMARY = "hexagons on (time, x) in two colours; all tiles of a wavefront run at once (1D)"
TRAITS = Traits(hexagons=True, sweep=prism.sweep)
_DEFAULT = Tiling(family=NAME, time=32, space=(1024,))


def complete(problem: Problem, tiling: Tiling) -> Tiling:
    """Fill in the height and the base; see :func:`tilewright.schedules.prism.complete`."""
    return prism.complete(problem, tiling, RANKS, _DEFAULT)


def check(problem: Problem, tiling: Tiling) -> Verdict:
    """Say whether a completed tiling keeps every dependence."""
    return prism.check(problem, tiling)


def tree(problem: Problem, tiling: Tiling) -> Node:
    """Return the order of execution of a completed tiling."""
    return prism.tree(problem, tiling)
