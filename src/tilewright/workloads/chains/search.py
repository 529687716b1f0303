"""The cheapest tree of a matrix chain: over one given parenthesisation, or over all of them at once.

Costs of nodes add up, so dynamic programming finds the optimum of any objective that prices nodes one by one: words,
multiply-adds, a weighted sum, seconds or joules. A range of operands is computed by one product of two parts, or by
two fused products of three parts; parts are written to memory and may themselves be fused inside (D.23-D.26). Many
chains of one length are solved together.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tilewright.costs.arrays import Floats, Ints
from tilewright.workloads.chains.problem import FUSIONS, Product, Tree, extents, nodes, operation_count, span
from tilewright.workloads.chains.traffic import moves

_CHUNK = 200_000
"""Cuts whose costs are computed together."""
Indexes = npt.NDArray[np.intp]


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Nodes to price, arrays of one shape."""

    fusion: str  # of all of them, one of ``FUSIONS``
    sizes: tuple[Floats, ...]  # P0, P1, P2, and P3 for fused pairs
    operations: Floats  # multiply-adds
    words: Callable[[], Floats]  # moved; computed once, for the objectives that need them


Price = Callable[[Batch], tuple[Floats, Floats]]
"""What nodes cost: first what is minimised, then what decides between equals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainSearch:
    """What a search needs besides the sizes."""

    model: str  # one of :data:`tilewright.workloads.chains.traffic.MODELS`
    memory: int  # words on chip
    price: Price  # objective
    fuse: bool = True  # whether pairs may be fused

    def batch(self, fusion: str, p: tuple[Floats, ...]) -> Batch:
        """Return many nodes of one kind with their operations and words."""
        words = functools.cache(lambda: moves(self.model, self.memory, fusion, p).words)
        return Batch(fusion=fusion, sizes=p, operations=operation_count(fusion, p), words=words)


def by_operations(batch: Batch) -> tuple[Floats, Floats]:
    """Fewest multiply-adds, then fewest words."""
    return batch.operations, batch.words()


def by_words(batch: Batch) -> tuple[Floats, Floats]:
    """Fewest words, then fewest multiply-adds."""
    return batch.words(), batch.operations


def by_operations_only(batch: Batch) -> tuple[Floats, Floats]:
    """Fewest multiply-adds; of equals the first cut, as the textbook's algorithm (algorithm 10)."""
    return batch.operations, np.zeros_like(batch.operations)


def weighted(operation: float, word: float) -> Price:
    """Return the objective ``operation`` times multiply-adds plus ``word`` times words."""
    return lambda batch: (operation * batch.operations + word * batch.words(), batch.words())


@dataclass(frozen=True, slots=True, kw_only=True)
class Cuts:
    """All ranges of some number of operands, and what it costs to cut them, each in every way."""

    kind: Ints  # of the nodes, index into ``FUSIONS``; broadcasts with the prices
    bounds: tuple[Indexes, ...]  # first operand of the range and of its later parts, and its end; (ranges, cuts)
    price: Floats  # of the nodes, and what decides between equals: shape (2, chains, ranges, cuts)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """Some lengths of ranges, and every node that cuts them, so that they are priced together."""

    bounds: list[dict[str, tuple[Indexes, ...]]]  # by fusion, per length
    batches: list[Batch]  # by fusion, those of all lengths one behind the other

    def priced(self, search: ChainSearch) -> Iterator[list[Cuts]]:
        """Yield, per length, the products and the left and right fusions."""
        tables: list[list[Cuts]] = [[] for _ in self.bounds]
        for batch in self.batches if search.fuse else self.batches[:1]:
            prices, begin = np.stack(search.price(batch)), 0
            for table, by_fusion in zip(tables, self.bounds, strict=True):
                bounds = by_fusion[batch.fusion]
                end = begin + bounds[0].size
                price = prices[:, :, begin:end].reshape(*prices.shape[:2], *bounds[0].shape)
                if end > begin:
                    kind = np.array(FUSIONS.index(batch.fusion))
                    table.append(Cuts(kind=kind, bounds=bounds, price=price))
                begin = end
        yield from tables


def _groups(sizes: Ints, search: ChainSearch, *, fuse: bool) -> Iterator[_Group]:
    """Yield every node of every tree of many chains of one length, the shortest ranges first."""
    count = sizes.shape[1] - 1
    known, bounds, pending = sizes.astype(np.float64), [], 0
    for length in range(2, count + 1):
        starts = np.arange(count - length + 1)[:, None]

        def between(*cuts: Indexes, starts: Indexes = starts, length: int = length) -> tuple[Indexes, ...]:
            return tuple(np.broadcast_arrays(starts, *(starts + 1 + cut for cut in cuts), starts + length))

        bounds.append({"none": between(np.arange(length - 1))})
        if fuse:
            bounds[-1] |= dict.fromkeys(FUSIONS[1:], between(*np.triu_indices(length - 1, 1)))
        pending += sizes.shape[0] * sum(each[0].size for each in bounds[-1].values())
        if pending >= _CHUNK or length == count:
            batches = []
            for fusion in bounds[0]:
                columns = zip(*(each[fusion] for each in bounds), strict=True)
                p = tuple(known[:, np.concatenate([part.ravel() for part in column])] for column in columns)
                batches.append(search.batch(fusion, p))
            yield _Group(bounds=bounds, batches=batches)
            bounds, pending = [], 0


def priced(sizes: Ints, searches: Sequence[ChainSearch]) -> Iterator[list[list[Cuts]]]:
    """Yield, per length of ranges, the priced cuts of every search of one model and memory, by fusion."""
    # ``sizes`` has P0 … Pn per chain, shape (chains, n + 1), as in the functions below.
    for group in _groups(sizes, searches[0], fuse=any(search.fuse for search in searches)):
        yield from (list(each) for each in zip(*(group.priced(search) for search in searches), strict=True))


def cheaper_fusions(level: Sequence[Cuts]) -> list[Cuts]:
    """Leave of the left and the right fusion of every pair the cheaper one."""
    if len(level) < 2:
        return list(level)
    single, left, right = level
    better = _less(right.price, left.price)
    return [single, Cuts(kind=1 + better, bounds=left.bounds, price=np.where(better, right.price, left.price))]


def _less(one: Floats, other: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray((one[0] < other[0]) | ((one[0] == other[0]) & (one[1] < other[1])))


def best_trees(sizes: Ints, search: ChainSearch) -> list[Tree]:
    """Return the best tree per chain, keeps and tiles undecided; of equal cuts the first wins, unfused before fused."""
    (best,) = solve(sizes, (search,))
    return [tree_of(best[2:, row]) for row in range(sizes.shape[0])]


def solve(sizes: Ints, searches: Sequence[ChainSearch]) -> list[Floats]:
    """Return, for every search, the least costs of all ranges of operands, and how these are cut.

    Each has shape (5, chains, n + 1, n + 1): of the ranges from one operand up to another the cost, its tie-breaker,
    the index of the fusion and the first operands of the second and third part.
    """
    count = sizes.shape[1]
    tables: list[Floats] = [np.zeros((5, sizes.shape[0], count, count)) for _ in searches]
    for levels in priced(sizes, searches):
        for table, level in zip(tables, levels, strict=True):
            _decide(cheaper_fusions(level), table)
    return tables


def _decide(level: Sequence[Cuts], table: Floats) -> None:
    """Put the best cut of every range of a level into a table."""
    found, count = None, table.shape[-1]
    costs = table[:2].reshape(2, table.shape[1], -1)
    for cuts in level:
        parts = (costs.take(first * count + end, axis=-1) for first, end in pairwise(cuts.bounds))
        cost = sum(parts) + cuts.price
        least = cost[0].min(axis=-1, keepdims=True)
        at = np.argmin(np.where(cost[0] == least, cost[1], np.inf), axis=-1)
        chain, row = np.arange(at.shape[0])[:, None], np.arange(at.shape[1])
        kind = np.broadcast_to(cuts.kind, cost[0].shape)[chain, row, at]
        best = np.stack([*cost[:, chain, row, at], kind, *(cut[row, at] for cut in cuts.bounds[1:3])])
        found = best if found is None else np.where(_less(best, found), best, found)
    first, *_, end = level[0].bounds
    table[:, :, first[:, 0], end[:, 0]] = found


def tree_of(choice: Floats, first: int = 0, end: int = -1) -> Tree:
    """Return the tree of a range of one chain; ``choice`` is what :func:`solve` says of its cuts."""
    end %= choice.shape[-1]
    if end == first + 1:
        return first
    kind, *cuts = (int(value) for value in choice[:, first, end])
    bounds = (first, *cuts[: 2 if kind else 1], end)
    return Product(children=tuple(tree_of(choice, *part) for part in pairwise(bounds)), fusion=FUSIONS[kind])


def by_fusion(some: Iterable[tuple[Sequence[int], Product]]) -> Iterator[tuple[str, list[int], tuple[Floats, ...]]]:
    """Sort nodes, each of a chain of some sizes, by their fusion: yield it, their places, and their own sizes."""
    every = [(node.fusion, extents(sizes, node)) for sizes, node in some]
    for fusion in FUSIONS:
        at = [place for place, (kind, _) in enumerate(every) if kind == fusion]
        if at:
            yield fusion, at, tuple(np.array([every[place][1] for place in at], dtype=np.float64).T)


def node_costs(some: Sequence[tuple[Sequence[int], Product]], search: ChainSearch) -> list[tuple[float, float]]:
    """Return what nodes, each of a chain of some sizes, cost, and what decides between equals."""
    result: dict[int, tuple[float, float]] = {}
    for fusion, at, p in by_fusion(some):
        cost, tie = search.price(search.batch(fusion, p))
        result |= zip(at, zip(cost.tolist(), tie.tolist(), strict=True), strict=True)
    return [result[place] for place in range(len(some))]


def words_of(sizes: Sequence[int], some: Sequence[Product], model: str, memory: int) -> list[float]:
    """Return the words that each of some nodes moves, by a model."""
    search = ChainSearch(model=model, memory=memory, price=by_words)
    return [words for words, _ in node_costs([(sizes, node) for node in some], search)]


def fuse_trees(sizes: Sequence[Sequence[int]], trees: Sequence[Tree], search: ChainSearch) -> list[Tree]:
    """Fuse pairs of products of given trees as the objective wants: the hyper-node recurrence (D.23-D.26)."""
    pairs = zip(sizes, trees, strict=True)
    costs = iter(
        node_costs([(p, each) for p, tree in pairs for node in nodes(tree) for each in candidates(node)], search)
    )
    return [_fused(tree, costs) for tree in trees]


def candidates(node: Product) -> Iterator[Product]:
    """Yield a node unfused and fused with either child; grandchildren stay as they are."""
    left, right = node.children
    yield node
    if isinstance(left, Product):
        yield Product(children=(*left.children, right), fusion="left")
    if isinstance(right, Product):
        yield Product(children=(left, *right.children), fusion="right")


def _fused(tree: Tree, costs: Iterator[tuple[float, float]]) -> Tree:
    """Return the best fusion of a tree; ``costs`` are those of its nodes' candidates, in order."""
    done: dict[tuple[int, int], tuple[tuple[float, ...], Tree]] = {}
    for node in nodes(tree):
        found: list[tuple[tuple[float, ...], Tree]] = []
        for candidate in candidates(node):
            parts = [done.get(span(child), ((0.0, 0.0), child)) for child in candidate.children]
            total = tuple(sum(each) for each in zip(next(costs), *(cost for cost, _ in parts), strict=True))
            found.append((total, Product(children=tuple(part for _, part in parts), fusion=candidate.fusion)))
        done[span(node)] = min(found, key=lambda item: item[0])
    return done[span(tree)][1] if isinstance(tree, Product) else tree
