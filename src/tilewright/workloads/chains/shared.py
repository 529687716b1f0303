"""Chains with repeated matrices: equal products are computed once and used again, transposed if need be.

Two ranges of operands are equal if they hold the same matrices in the same order, or the reverse order all transposed,
since (X Y)' = Y' X'. Choosing the tree that shares most is no longer a sum over ranges, so :func:`shared_tree` is a
heuristic: dynamic programming in which every range charges what its own best tree computes, each distinct product once.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.workloads.chains.problem import FUSIONS, Chain, Product, Tree, span
from tilewright.workloads.chains.search import ChainSearch, CutPrices, priced

Key = tuple[tuple[int, bool], ...]
MAX_SHARED = 40
"""Longer chains are not searched for sharing."""
_SWAPPED = {"none": "none", "left": "right", "right": "left"}


def key_of(chain: Chain, first: int, last: int) -> tuple[Key, bool]:
    """Return what equal ranges of operands share, and whether this one is the transposed form of it.

    >>> from tilewright.workloads.chains.problem import make_chain
    >>> chain = make_chain((4, 5, 4, 5), operands=(0, 0, 0), transposed=(False, True, False))
    >>> key_of(chain, 0, 1)[0] == key_of(chain, 1, 2)[0], key_of(chain, 0, 0)[0] == key_of(chain, 1, 1)[0]
    (False, True)
    """
    here = tuple(zip(chain.operands[first : last + 1], chain.transposed[first : last + 1], strict=True))
    other = tuple((operand, not flag) for operand, flag in reversed(here))
    return min(here, other), other < here


def computed(chain: Chain, tree: Tree, seen: set[Key] | None = None) -> Iterator[Product]:
    """Yield the nodes that are really computed, in order: of equal products only the first."""
    known = set() if seen is None else seen
    if isinstance(tree, int):
        return
    key, _ = key_of(chain, *span(tree))
    if key in known:
        return
    for child in tree.children:
        yield from computed(chain, child, known)
    known.add(key)
    yield tree


def can_share(chain: Chain) -> bool:
    """Whether any product of two or more operands occurs twice."""
    pairs = [key_of(chain, i, i + 1)[0] for i in range(chain.length - 1)]
    return len(set(pairs)) < len(pairs) and chain.length <= MAX_SHARED


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """The best tree of a distinct range, its first operand being number 0, and what it computes."""

    tree: Tree
    flipped: bool
    products: frozenset[Key]


def shared_tree(chain: Chain, setting: ChainSearch) -> Tree:
    """Return a good tree of a chain with repeated matrices, keeps and tiles undecided; see the module's text."""
    known: dict[Key, _Known] = {}
    cost: dict[Key, tuple[float, float]] = {}
    for i in range(chain.length):
        key, flipped = key_of(chain, i, i)
        known[key] = _Known(tree=0, flipped=flipped, products=frozenset())
    for options in priced(np.array([chain.sizes], dtype=np.int64), (setting,)):
        for row, start in enumerate(options.level.starts[:, 0].tolist()):
            key, flipped = key_of(chain, start, start + options.level.length)
            if key not in known:
                known[key] = _best(chain, (start, key, flipped), _ways(options, row), known, cost)
    return _placed(chain, known, 0, chain.length - 1)


_Way = tuple[int, tuple[int, ...], tuple[float, float]]
"""Fusion, relative ends of every part but the last, and the cost of the node."""


def _ways(options: CutPrices, row: int) -> list[_Way]:
    level = options.level
    costs = zip(*(part[0, row].tolist() for part in options.single), strict=True)
    ways: list[_Way] = [(0, (cut,), (a, b)) for cut, (a, b) in zip(level.cuts.tolist(), costs, strict=True)]
    if options.fused is not None:
        first, tie, kind = (part[0, row].tolist() for part in options.fused)
        cuts = zip(level.first.tolist(), level.second.tolist(), strict=True)
        ways += [(1 + f, pair, (a, b)) for f, pair, a, b in zip(kind, cuts, first, tie, strict=True)]
    return ways


def _best(
    chain: Chain,
    which: tuple[int, Key, bool],
    ways: Sequence[_Way],
    known: dict[Key, _Known],
    cost: dict[Key, tuple[float, float]],
) -> _Known:
    start, key, flipped = which
    last = start + len(key) - 1
    found = []
    for number, (_, cuts, own) in enumerate(ways):
        products = frozenset[Key]().union(
            *(known[key_of(chain, *part)[0]].products for part in _parts(start, last, cuts))
        )
        total = tuple(own[t] + sum(cost[each][t] for each in products) for t in (0, 1))
        found.append((total, number, products))
    _, number, products = min(found, key=lambda item: item[:2])
    fusion, cuts, own = ways[number]
    cost[key] = own
    children = tuple(_shifted(_placed(chain, known, *part), -start) for part in _parts(start, last, cuts))
    return _Known(tree=Product(children=children, fusion=FUSIONS[fusion]), flipped=flipped, products=products | {key})


def _parts(start: int, last: int, cuts: Sequence[int]) -> list[tuple[int, int]]:
    bounds = [start, *(start + cut + 1 for cut in cuts), last + 1]
    return [(low, high - 1) for low, high in itertools.pairwise(bounds)]


def _placed(chain: Chain, known: dict[Key, _Known], first: int, last: int) -> Tree:
    """Return the known tree of a range, with this range's operands."""
    key, flipped = key_of(chain, first, last)
    found = known[key]
    return _shifted(found.tree if flipped == found.flipped else _mirrored(found.tree, last - first), first)


def _shifted(tree: Tree, offset: int) -> Tree:
    if isinstance(tree, int):
        return tree + offset
    return Product(children=tuple(_shifted(child, offset) for child in tree.children), fusion=tree.fusion)


def _mirrored(tree: Tree, last: int) -> Tree:
    """Return the tree of the transposed product: the operands in reverse order."""
    if isinstance(tree, int):
        return last - tree
    children = tuple(_mirrored(child, last) for child in reversed(tree.children))
    return Product(children=children, fusion=_SWAPPED[tree.fusion])
