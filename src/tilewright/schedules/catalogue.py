"""The tiling families by name, and what can be asked of any tiling."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from tilewright.base.deprecations import GONE
from tilewright.base.errors import UsageError
from tilewright.base.names import meant
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.families import diamond, hexagonal, hybrid, none, orthogonal, skewed, streaming
from tilewright.schedules.legality import Verdict, require
from tilewright.schedules.parts import Parts
from tilewright.schedules.pieces import Piece
from tilewright.schedules.tiling import Tiling
from tilewright.schedules.traits import Traits
from tilewright.schedules.tree.nodes import Node
from tilewright.schedules.tree.order import order

if TYPE_CHECKING:  # runs count nothing
    from tilewright.schedules.counting.counts import Counts


class Family(Protocol):
    """What the module of a tiling family exports. ``check`` and ``tree`` take completed tilings."""

    NAME: str
    RANKS: tuple[int, ...]
    SUMMARY: str
    TRAITS: Traits

    def complete(self, problem: Problem, tiling: Tiling) -> Tiling:
        """Fill in defaults; raise UsageError for keys and values that do not apply."""

    def check(self, problem: Problem, tiling: Tiling) -> Verdict:
        """Say whether every dependence is kept."""

    def tree(self, problem: Problem, tiling: Tiling) -> Node:
        """Return the schedule tree: the order of execution, as data that others interpret."""


FAMILIES: dict[str, Family] = {
    module.NAME: module for module in (none, hexagonal, hybrid, streaming, skewed, diamond, orthogonal)
}
"""Every family by name."""


def names() -> tuple[str, ...]:
    """Names of the families.

    >>> names()
    ('none', 'hexagonal', 'hybrid', 'streaming', 'skewed', 'diamond', 'orthogonal')
    """
    return tuple(FAMILIES)


def family(name: str) -> Family:
    """Return a family.

    >>> family("hybrid").RANKS
    (2, 3)
    """
    if name in FAMILIES:
        return FAMILIES[name]
    if name in GONE:
        raise GONE[name].error()
    hint = meant(name, names(), f"the families are {', '.join(names())}")
    raise UsageError(f"there is no tiling family {name!r}", hint)


def traits(name: str) -> Traits:
    """Return what distinguishes a family from others.

    >>> traits("none").untiled, traits("hybrid").prisms
    (True, True)
    """
    return family(name).TRAITS


def complete(problem: Problem, tiling: Tiling) -> Tiling:
    """Fill in what a tiling leaves out."""
    one = (tiling.time, tiling.k, tiling.rows, tiling.unroll)
    if any(size is not None and size < 1 for size in (*one, *tiling.space, *tiling.sub, *tiling.threads)):
        raise UsageError(f"every size and number of a tiling is at least 1, got {tiling}")
    return family(tiling.family).complete(problem, tiling)


def legal(problem: Problem, tiling: Tiling) -> Tiling:
    """Return a tiling, complete and known to be legal; refuse one that breaks a dependence."""
    whole = complete(problem, tiling)
    require(family(whole.family).check(problem, whole))
    return whole


def check(problem: Problem, tiling: Tiling) -> Verdict:
    """Say whether a tiling keeps every dependence of a problem, flow and memory; a violation names the broken one."""
    return family(tiling.family).check(problem, complete(problem, tiling))


def counts(problem: Problem, tiling: Tiling) -> "Counts":
    """Count what a tiling runs and moves, tile by tile."""
    from tilewright.schedules.counting import counts_of

    return counts_of(problem, tree(problem, tiling))


def tree(problem: Problem, tiling: Tiling) -> Node:
    """Return the schedule tree of a tiling; see :mod:`tilewright.schedules.tree.nodes`."""
    return family(tiling.family).tree(problem, complete(problem, tiling))


def sweep(problem: Problem, tiling: Tiling) -> Parts | None:
    """Return how a completed tiling sweeps over a grid; None if it cannot."""
    own = traits(tiling.family).sweep
    return None if own is None else own(problem, tiling)


def scan(problem: Problem, tiling: Tiling) -> Iterator[Piece]:
    """Yield the pieces of a tiling in execution order: the order that generated code follows."""
    return order(problem, tree(problem, tiling))
