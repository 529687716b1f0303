"""The Pareto set of a chain's trees: no other tree needs fewer multiply-adds and moves fewer words.

Sets of undominated pairs are combined bottom-up over all parenthesisations and fusions. A part that costs more above
its own least than the whole may cost above its least cannot be in an undominated whole, which keeps the sets small.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.workloads.chains.problem import FUSIONS, Product, Tree
from tilewright.workloads.chains.search import ChainSearch, batch_of, by_operations, by_words, solve
from tilewright.workloads.chains.splits import levels
from tilewright.workloads.chains.traffic import Floats, Ints

_ROUND = 1 + 1e-12
"""Sums in another order may differ by a rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trade:
    """One undominated tree."""

    operations: float  # multiply-adds
    words: float  # moved
    tree: Tree  # keeps and tiles undecided


@dataclass(frozen=True, slots=True, kw_only=True)
class _Front:
    """Undominated costs of one range, by rising operations; ``origin`` holds fusion, k, m and a point of every part."""

    cost: Floats
    origin: Ints


_LEAF = _Front(cost=np.zeros((2, 1)), origin=np.zeros((6, 1), dtype=np.int64))
_Range = tuple[int, int]


def pareto(sizes: Sequence[int], model: str, memory: int) -> tuple[Trade, ...]:
    """Return the undominated trees of a chain by rising operations and falling words; ``memory`` is in words.

    >>> [trade.words for trade in pareto((10, 20, 30), "counts", 4096)]
    [1100.0]
    """
    count = len(sizes) - 1
    chain = np.array([sizes], dtype=np.int64)
    settings = [ChainSearch(model=model, memory=memory, price=price) for price in (by_operations, by_words)]
    total, _ = solve(chain, settings)
    fewest, least = total[:, 0], total[:, 1]
    # Costs as (operations, words): least per range, and how much more a part of an undominated whole may cost.
    lowest = np.stack([fewest[0], least[0]])
    spare = np.array([least[1, 0, -1] - fewest[0, 0, -1], fewest[1, 0, -1] - least[0, 0, -1]])
    fronts: dict[_Range, _Front] = {(i, i): _LEAF for i in range(count)}
    for level in levels(count):
        for start in level.starts[:, 0].tolist():
            end = start + level.length
            limit = (lowest[:, start, end] + spare) * _ROUND
            cuts = _cuts(chain[0].astype(np.float64), model, memory, (start, end), level.cuts)
            pairs = _pairs(chain[0].astype(np.float64), model, memory, (start, end), (level.first, level.second))
            fronts[start, end] = _undominated(
                [_sums(fronts, (start, end), option, limit) for option in (*cuts, *pairs)]
            )
    front = fronts[0, count - 1]
    return tuple(
        Trade(
            operations=float(front.cost[0, point]),
            words=float(front.cost[1, point]),
            tree=_build(fronts, (0, count - 1), point),
        )
        for point in range(front.cost.shape[1])
    )


_Option = tuple[int, int, int, float, float]
"""Fusion, k, m, operations and words of one way to cut a range."""


def _cuts(sizes: Floats, model: str, memory: int, ends: _Range, cuts: Ints) -> list[_Option]:
    start, end = ends
    p = (np.full(cuts.size, sizes[start]), sizes[start + cuts + 1], np.full(cuts.size, sizes[end + 1]))
    batch = batch_of(model, memory, "none", p)
    costs = zip(batch.operations.tolist(), batch.words().tolist(), strict=True)
    return [(0, start + cut, 0, *cost) for cut, cost in zip(cuts.tolist(), costs, strict=True)]


def _pairs(sizes: Floats, model: str, memory: int, ends: _Range, cuts: tuple[Ints, Ints]) -> list[_Option]:
    start, end = ends
    first, second = cuts
    p = (np.full(first.size, sizes[start]), sizes[start + first + 1], sizes[start + second + 1])
    options: list[_Option] = []
    for fusion in FUSIONS[1:] if first.size else ():
        batch = batch_of(model, memory, fusion, (*p, np.full(first.size, sizes[end + 1])))
        costs = zip(batch.operations.tolist(), batch.words().tolist(), strict=True)
        kind = FUSIONS.index(fusion)
        options += [
            (kind, start + k, start + m, *cost)
            for k, m, cost in zip(first.tolist(), second.tolist(), costs, strict=True)
        ]
    return options


def _parts(ends: _Range, fusion: int, k: int, m: int) -> tuple[_Range, ...]:
    if fusion == 0:
        return (ends[0], k), (k + 1, ends[1])
    return (ends[0], k), (k + 1, m), (m + 1, ends[1])


def _sums(fronts: dict[_Range, _Front], ends: _Range, option: _Option, limit: Floats) -> _Front:
    """Return every sum of the parts' points that stays within the limit."""
    fusion, k, m, operations, words = option
    cost = np.array([[operations], [words]])
    points = np.zeros((0, 1), dtype=np.int64)
    for part in _parts(ends, fusion, k, m):
        more = fronts[part].cost
        grown = (cost[:, :, None] + more[:, None, :]).reshape(2, -1)
        index = np.indices((cost.shape[1], more.shape[1])).reshape(2, -1)
        points = np.vstack([points[:, index[0]], index[1:]])
        inside = np.all(grown <= limit[:, None], axis=0)
        cost, points = grown[:, inside], points[:, inside]
    fixed = np.repeat(np.array([[fusion], [k], [m]], dtype=np.int64), cost.shape[1], axis=1)
    missing = np.zeros((3 - points.shape[0], cost.shape[1]), dtype=np.int64)
    return _Front(cost=cost, origin=np.vstack([fixed, points, missing]))


def _undominated(many: Sequence[_Front]) -> _Front:
    cost = np.concatenate([front.cost for front in many], axis=1)
    origin = np.concatenate([front.origin for front in many], axis=1)
    order = np.lexsort((cost[1], cost[0]))
    cost, origin = cost[:, order], origin[:, order]
    before = np.minimum.accumulate(np.concatenate([[np.inf], cost[1, :-1]]))
    kept = cost[1] < before
    return _Front(cost=cost[:, kept], origin=origin[:, kept])


def _build(fronts: dict[_Range, _Front], ends: _Range, point: int) -> Tree:
    if ends[0] == ends[1]:
        return ends[0]
    fusion, k, m, *points = fronts[ends].origin[:, point].tolist()
    parts = itertools.zip_longest(_parts(ends, fusion, k, m), points[: 2 + bool(fusion)])
    return Product(children=tuple(_build(fronts, part, at) for part, at in parts), fusion=FUSIONS[fusion])
