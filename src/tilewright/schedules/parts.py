"""Sweeps: an order over all steps that is cut into parts, which follow each other along axis 0 and lean through time.

While a part begins at a row's first step, it ends as many rows behind as all steps lean. Only rows between are needed
at once, and nothing is computed twice.
"""

from dataclasses import dataclass

from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.tree.affine import Name
from tilewright.schedules.tree.nodes import Node

BEGIN, END = Name("begin"), Name("end")
"""The parts of a sweep that run, half-open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """How a tiling sweeps over a grid."""

    tree: Node  # the order of the parts from :data:`BEGIN` to :data:`END`
    count: int  # parts that cover the grid
    pitch: int  # cells along axis 0 by which a part goes beyond the one before
    behind: int  # cells below its number times the pitch that a part touches at most, reads included
    ahead: int  # the cell, from its number times the pitch, from which on the parts before one touch nothing

    def ends(self, part: int) -> int:
        """Return the cell below which a part and later ones touch nothing."""
        return part * self.pitch - self.behind

    def begins(self, part: int) -> int:
        """Return the cell from which on the parts before one have touched nothing."""
        return part * self.pitch + self.ahead


def reach(problem: Problem) -> int:
    """Return the rows that a cell reads across at most."""
    return max(abs(read.offset[0]) for each in problem.program.statements for read in each.reads)
