"""Hexagonal tiles of (time, x) for 1D programs."""

from tilewright.programs.problem import Problem
from tilewright.tilings import prism
from tilewright.tilings.legality import Verdict
from tilewright.tilings.tiling import Tiling
from tilewright.tilings.traits import Traits
from tilewright.tilings.tree import Node

NAME = "hexagonal"
RANKS: tuple[int, ...] = (1,)
SUMMARY = "hexagons on (time, x) in two colours; all tiles of a wavefront run at once (1D)"
TRAITS = Traits(hexagons=True)
_DEFAULT = Tiling(family=NAME, time=32, space=(1024,))


def complete(problem: Problem, tiling: Tiling) -> Tiling:
    """Fill in the height and the base; see :func:`tilewright.tilings.prism.complete`."""
    return prism.complete(problem, tiling, RANKS, _DEFAULT)


def check(problem: Problem, tiling: Tiling) -> Verdict:
    """Say whether a completed tiling keeps every dependence."""
    return prism.check(problem, tiling)


def tree(problem: Problem, tiling: Tiling) -> Node:
    """Return the order of execution of a completed tiling."""
    return prism.tree(problem, tiling)
