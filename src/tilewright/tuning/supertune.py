"""Tuning across strategies: their feasible sets, intersected and apart (Prajapati, thesis, section 2.3.2).

Tile sizes are common coordinates of all families: a height and one size per axis. Every family of a set S of strategies
can be evaluated at every point; where it cannot be, the point lies outside its feasible set. The points fall into
classes by the families that are feasible there: with two families the intersection and both differences, which are the
problems (a), (b) and (c) of the thesis. The least of all classes is the least over the strategies.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.costs.arrays import Floats, Ints, TileSizes
from tilewright.schedules.family import Family


@dataclass(frozen=True, slots=True, kw_only=True)
class FeasibleSet:
    """The sizes at which exactly these families are feasible."""

    families: tuple[Family, ...]  # in the order of the strategies
    points: int  # how many sizes
    winner: Family  # of the least cost there
    index: int  # of the size of the least cost
    cost: float  # the least
    wins: tuple[int, ...]  # per family, at how many of the sizes it costs the least


def union(spaces: Sequence[TileSizes]) -> TileSizes:
    """Return the sizes of several spaces, each once, in lexicographic order; k left open."""
    if not spaces:
        raise UsageError("strategies are compared over at least one space, got none")
    rows = np.concatenate([np.stack([space.time, *space.space], axis=1) for space in spaces])
    distinct = np.unique(rows, axis=0)
    return TileSizes(
        time=distinct[:, 0].copy(),
        space=tuple(distinct[:, axis].copy() for axis in range(1, distinct.shape[1])),
        k=np.zeros(len(distinct), dtype=np.int64),
    )


def feasible_sets(families: Sequence[Family], costs: Sequence[Floats]) -> tuple[FeasibleSet, ...]:
    """Split sizes by the families that are feasible there, the cheapest class first.

    >>> a, b = np.array([1.0, 2.0, np.inf]), np.array([np.inf, 1.5, 3.0])
    >>> [(each.families, each.winner, each.cost) for each in feasible_sets(("a", "b"), (a, b))]
    [(('a',), 'a', 1.0), (('a', 'b'), 'b', 1.5), (('b',), 'b', 3.0)]
    """
    table = np.stack([np.asarray(cost, dtype=np.float64) for cost in costs])
    inside = np.isfinite(table)
    found = []
    for chosen in itertools.product((True, False), repeat=len(families)):
        if not any(chosen):
            continue
        index: Ints = np.flatnonzero((inside == np.array(chosen)[:, None]).all(axis=0))
        if not len(index):
            continue
        here = table[:, index]
        winners = np.argmin(here, axis=0)
        best = int(np.argmin(here.min(axis=0)))
        members = [number for number, member in enumerate(chosen) if member]
        found.append(
            FeasibleSet(
                families=tuple(families[number] for number in members),
                points=len(index),
                winner=families[int(winners[best])],
                index=int(index[best]),
                cost=float(here[winners[best], best]),
                wins=tuple(int((winners == number).sum()) for number in members),
            )
        )
    return tuple(sorted(found, key=lambda each: (each.cost, each.families)))
