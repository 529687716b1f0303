"""Chains with repeated matrices: equal products are computed once and used again, transposed if need be.

Two ranges of operands are equal if they hold the same matrices in the same order, or the reverse order all transposed,
since (X Y)' = Y' X'. Choosing the tree that shares most is no longer a sum over ranges, so :func:`shared_tree` is a
heuristic: dynamic programming in which every range charges what its own best tree computes, each distinct product once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tilewright.workloads.chains.problem import FUSIONS, Chain, Product, Tree, span
from tilewright.workloads.chains.search import ChainSearch, Cuts, cheaper_fusions, priced

Key = tuple[tuple[int, bool], ...]
MAX_SHARED = 40
"""Longer chains are not searched for sharing."""
_SWAPPED = {"none": "none", "left": "right", "right": "left"}


def key_of(chain: Chain, first: int, end: int) -> tuple[Key, bool]:
    """Return what equal ranges of operands share, and whether this one is the transposed form of it.

    >>> from tilewright.workloads.chains.problem import make_chain
    >>> chain = make_chain((4, 5, 4, 5), operands=(0, 0, 0), transposed=(False, True, False))
    >>> key_of(chain, 0, 2)[0] == key_of(chain, 1, 3)[0], key_of(chain, 0, 1)[0] == key_of(chain, 1, 2)[0]
    (False, True)
    """
    here = tuple(zip(chain.operands[first:end], chain.transposed[first:end], strict=True))
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
    pairs = [key_of(chain, i, i + 2)[0] for i in range(chain.length - 1)]
    return len(set(pairs)) < len(pairs) and chain.length <= MAX_SHARED


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """The best tree of a distinct range, its first operand being number 0."""

    tree: Tree
    flipped: bool
    cost: tuple[float, float] = (0.0, 0.0)  # of its own node
    products: frozenset[Key] = frozenset()  # that it computes


def shared_tree(chain: Chain, search: ChainSearch) -> Tree:
    """Return a good tree of a chain with repeated matrices, keeps and tiles undecided; see the module's text."""
    known: dict[Key, _Known] = {}
    for i in range(chain.length):
        key, flipped = key_of(chain, i, i + 1)
        known[key] = _Known(tree=0, flipped=flipped)
    for (level,) in priced(np.array([chain.sizes], dtype=np.int64), (search,)):
        every = cheaper_fusions(level)
        for row in range(level[0].bounds[0].shape[0]):
            key, flipped = key_of(chain, *(int(level[0].bounds[end][row, 0]) for end in (0, -1)))
            if key not in known:
                known[key] = _best(chain, every, row, flipped, known)
    return _placed(chain, known, 0, chain.length)


def _best(chain: Chain, level: list[Cuts], row: int, flipped: bool, known: dict[Key, _Known]) -> _Known:
    """Return the best tree of the range that a row of the cuts stands for."""
    found = []
    for cuts in level:
        kinds = np.broadcast_to(cuts.kind, cuts.price.shape[1:])[0, row].tolist()
        bounds = zip(*(part[row].tolist() for part in cuts.bounds), strict=True)
        for kind, ends, cost in zip(kinds, bounds, zip(*cuts.price[:, 0, row].tolist(), strict=True), strict=True):
            parts = list(pairwise(ends))
            products = frozenset[Key]().union(*(known[key_of(chain, *part)[0]].products for part in parts))
            total = tuple(cost[t] + sum(known[each].cost[t] for each in products) for t in (0, 1))
            found.append((total, FUSIONS[kind], parts, cost, products))
    _, fusion, parts, cost, products = min(found, key=lambda way: way[0])
    start = parts[0][0]
    children = tuple(_shifted(_placed(chain, known, *part), -start) for part in parts)
    key, _ = key_of(chain, start, parts[-1][1])
    return _Known(tree=Product(children=children, fusion=fusion), flipped=flipped, cost=cost, products=products | {key})


def _placed(chain: Chain, known: dict[Key, _Known], first: int, end: int) -> Tree:
    """Return the known tree of a range, with this range's operands."""
    key, flipped = key_of(chain, first, end)
    found = known[key]
    return _shifted(found.tree if flipped == found.flipped else _mirrored(found.tree, end - first - 1), first)


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
