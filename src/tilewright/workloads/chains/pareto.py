"""The Pareto set of a chain's trees: no other tree needs fewer multiply-adds and moves fewer words.

Sets of undominated pairs are combined bottom-up over all parenthesisations and fusions. A part that costs more above
its own least than the whole may cost above its least cannot be in an undominated whole, which keeps the sets small.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tilewright.costs.arrays import Floats, Ints
from tilewright.workloads.chains.problem import FUSIONS, Product, Tree
from tilewright.workloads.chains.search import ChainSearch, Cuts, by_operations, by_words, priced, solve

_ROUND = 1 + 1e-12
"""Sums in another order may differ by a rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Front:
    """The undominated ways to compute one range, by rising operations."""

    cost: Floats  # operations and words, shape (2, n)
    cuts: Sequence[tuple[str, tuple[int, ...]]] = ()  # fusion, and bounds of the parts
    origin: Ints  # index of the cut, and the point of every part: shape (4, n)


_LEAF = _Front(cost=np.zeros((2, 1)), origin=np.zeros((4, 1), dtype=np.int64))
_Fronts = dict[tuple[int, ...], _Front]


def pareto(sizes: Sequence[int], model: str, memory: int) -> tuple[Tree, ...]:
    """Return the undominated trees of a chain by rising operations and falling words; ``memory`` is in words.

    >>> pareto((10, 20, 30), "counts", 4096)
    (Product(children=(0, 1), fusion='none', keep='', tile=(0, 0)),)
    """
    chain = np.array([sizes], dtype=np.int64)
    searches = [ChainSearch(model=model, memory=memory, price=price) for price in (by_operations, by_words)]
    fewest, least = (table[:2, 0] for table in solve(chain, searches))
    # Costs as (operations, words): least per range, and how much more a part of an undominated whole may cost.
    lowest = np.stack([fewest[0], least[0]])
    spare = np.array([least[1, 0, -1] - fewest[0, 0, -1], fewest[1, 0, -1] - least[0, 0, -1]])
    fronts: _Fronts = {(i, i + 1): _LEAF for i in range(len(sizes) - 1)}
    for (level,) in priced(chain, searches[:1]):
        for row in range(level[0].bounds[0].shape[0]):
            first, *_, end = (int(each[row, 0]) for each in level[0].bounds)
            limit = (lowest[:, first, end] + spare) * _ROUND
            fronts[first, end] = _undominated(fronts, level, row, limit)
    whole = 0, len(sizes) - 1
    return tuple(_tree(fronts, whole, point) for point in range(fronts[whole].cost.shape[1]))


def _undominated(fronts: _Fronts, level: Sequence[Cuts], row: int, limit: Floats) -> _Front:
    """Combine the fronts of all parts of one range; costs above the limit are left out."""
    cuts: list[tuple[str, tuple[int, ...]]] = []
    costs, origins = [], []
    for each in level:
        ways = zip(*(part[row].tolist() for part in each.bounds), strict=True)
        for bounds, price in zip(ways, each.price[:, 0, row].T, strict=True):
            cost, points = price[:, None], np.array([[len(cuts)]])
            for part in pairwise(bounds):
                more = fronts[part].cost
                grown = (cost[:, :, None] + more[:, None, :]).reshape(2, -1)
                index = np.indices((cost.shape[1], more.shape[1])).reshape(2, -1)
                inside = np.all(grown <= limit[:, None], axis=0)
                cost, points = grown[:, inside], np.vstack([points[:, index[0]], index[1:]])[:, inside]
            cuts.append((FUSIONS[int(each.kind)], bounds))
            costs.append(cost)
            origins.append(np.pad(points, ((0, 4 - len(points)), (0, 0))))
    cost, origin = np.concatenate(costs, axis=1), np.concatenate(origins, axis=1)
    order = np.lexsort((cost[1], cost[0]))
    cost, origin = cost[:, order], origin[:, order]
    kept = cost[1] < np.minimum.accumulate(np.concatenate([[np.inf], cost[1, :-1]]))
    return _Front(cost=cost[:, kept], cuts=cuts, origin=origin[:, kept])


def _tree(fronts: _Fronts, ends: tuple[int, ...], point: int) -> Tree:
    if ends[1] == ends[0] + 1:
        return ends[0]
    cut, *points = fronts[ends].origin[:, point].tolist()
    fusion, bounds = fronts[ends].cuts[cut]
    parts = zip(pairwise(bounds), points, strict=False)
    return Product(children=tuple(_tree(fronts, part, at) for part, at in parts), fusion=fusion)
