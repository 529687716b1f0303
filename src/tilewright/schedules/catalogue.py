"""The tiling families by name, and what can be asked of any tiling."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.storage import PLAIN, Storage
from tilewright.schedules.family import FAMILIES, Family, Parts, Tiling, Verdict, family_named, require, require_sizes
from tilewright.schedules.tree.nodes import Node
from tilewright.schedules.tree.order import Piece, order

if TYPE_CHECKING:  # runs count nothing
    from tilewright.schedules.counting import Counts


def names() -> tuple[str, ...]:
    """Names of the families.

    >>> names()
    ('none', 'hexagonal', 'hybrid', 'streaming', 'skewed', 'diamond', 'orthogonal')
    """
    return FAMILIES


def families() -> tuple[Family, ...]:
    """Return every family."""
    return tuple(map(family_named, FAMILIES))


def complete(problem: Problem, tiling: Tiling) -> Tiling:
    """Fill in what a tiling leaves out."""
    sizes = (tiling.time, tiling.k, tiling.rows, tiling.unroll)
    if any(size is not None and size < 1 for size in (*sizes, *tiling.space, *tiling.sub, *tiling.threads)):
        raise UsageError(f"every size and number of a tiling is at least 1, got {tiling}")
    whole = tiling.family.complete(problem, tiling)
    if not (tiling.family.untiled or tiling.family.tables):
        require_sizes(whole, problem.program.rank)
    return whole


def legal(problem: Problem, tiling: Tiling, storage: Storage = PLAIN) -> Tiling:
    """Return a tiling, complete and known to be legal; refuse one that breaks a dependence."""
    whole = complete(problem, tiling)
    require(whole.family.check(problem, whole, storage))
    return whole


def check(problem: Problem, tiling: Tiling) -> Verdict:
    """Say whether a tiling keeps every dependence of a problem, flow and memory; a violation names the broken one."""
    return tiling.family.check(problem, complete(problem, tiling))


def counts(problem: Problem, tiling: Tiling) -> "Counts":
    """Count what a tiling runs and moves, tile by tile."""
    from tilewright.schedules.counting import counts_of

    return counts_of(problem, tree(problem, tiling))


def tree(problem: Problem, tiling: Tiling) -> Node:
    """Return the schedule tree of a tiling; see :mod:`tilewright.schedules.tree.nodes`."""
    return tiling.family.tree(problem, complete(problem, tiling))


def sweep(problem: Problem, tiling: Tiling) -> Parts | None:
    """Return how a completed tiling sweeps over a grid; None if it cannot."""
    return tiling.family.sweep(problem, tiling)


def scan(problem: Problem, tiling: Tiling) -> Iterator[Piece]:
    """Yield the pieces of a tiling in execution order: the order that generated code follows."""
    return order(problem, tree(problem, tiling))
