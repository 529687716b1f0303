"""The cheapest tree of a matrix chain: over one given parenthesisation, or over all of them at once.

Costs of nodes add up, so dynamic programming finds the optimum of any objective that prices nodes one by one: words,
multiply-adds, a weighted sum, seconds or joules. A range of operands is computed by one product of two parts, or by
two fused products of three parts; parts are written to memory and may themselves be fused inside (D.23-D.26). Many
chains of one length are solved together.

Of chains with repeated matrices, equal products are computed once and used again, transposed if need be. Two ranges of
operands are equal if they hold the same matrices in the same order, or the reverse order all transposed, since
(X Y)' = Y' X'. Choosing the tree that shares most is no longer a sum over ranges, so :func:`shared_tree` is a
heuristic: dynamic programming in which every range charges what its own best tree computes, each distinct product once.

In the Pareto set of a chain's trees, no other tree needs fewer multiply-adds and moves fewer words: sets of undominated
pairs are combined bottom-up over all parenthesisations and fusions. A part that costs more above its own least than the
whole may cost above its least cannot be in an undominated whole, which keeps the sets small.
"""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from tilewright.costs.arrays import Floats, Ints
from tilewright.workloads.chains.problem import FUSIONS, Chain, Product, Tree, extents, nodes, operation_count, span
from tilewright.workloads.chains.traffic import moves

_CHUNK = 200_000  # cuts whose costs are computed together
Indexes = npt.NDArray[np.intp]
Key = tuple[tuple[int, bool], ...]  # what equal ranges of operands share
MAX_SHARED = 40  # longer chains are not searched for sharing
_SWAPPED = {"none": "none", "left": "right", "right": "left"}
_ROUND = 1 + 1e-12  # sums in another order may differ by a rounding


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
            for table, every in zip(tables, self.bounds, strict=True):
                bounds = every[batch.fusion]
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
    values, bounds, pending = sizes.astype(np.float64), [], 0
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
                p = tuple(values[:, np.concatenate([part.ravel() for part in column])] for column in columns)
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


def _less(cost: Floats, other: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray((cost[0] < other[0]) | ((cost[0] == other[0]) & (cost[1] < other[1])))


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
    optimum, count = None, table.shape[-1]
    costs = table[:2].reshape(2, table.shape[1], -1)
    for cuts in level:
        parts = (costs.take(first * count + end, axis=-1) for first, end in pairwise(cuts.bounds))
        cost = sum(parts) + cuts.price
        least = cost[0].min(axis=-1, keepdims=True)
        at = np.argmin(np.where(cost[0] == least, cost[1], np.inf), axis=-1)
        chain, row = np.arange(at.shape[0])[:, None], np.arange(at.shape[1])
        kind = np.broadcast_to(cuts.kind, cost[0].shape)[chain, row, at]
        best = np.stack([*cost[:, chain, row, at], kind, *(cut[row, at] for cut in cuts.bounds[1:3])])
        optimum = best if optimum is None else np.where(_less(best, optimum), best, optimum)
    first, *_, end = level[0].bounds
    table[:, :, first[:, 0], end[:, 0]] = optimum


def tree_of(choice: Floats, first: int = 0, end: int = -1) -> Tree:
    """Return the tree of a range of one chain; ``choice`` is what :func:`solve` says of its cuts."""
    end %= choice.shape[-1]
    if end == first + 1:
        return first
    kind, *cuts = (int(value) for value in choice[:, first, end])
    bounds = (first, *cuts[: 2 if kind else 1], end)
    return Product(children=tuple(tree_of(choice, *part) for part in pairwise(bounds)), fusion=FUSIONS[kind])


def by_fusion(pairs: Iterable[tuple[Sequence[int], Product]]) -> Iterator[tuple[str, list[int], tuple[Floats, ...]]]:
    """Sort nodes, each of a chain of some sizes, by their fusion: yield it, their places, and their own sizes."""
    every = [(node.fusion, extents(sizes, node)) for sizes, node in pairs]
    for fusion in FUSIONS:
        at = [place for place, (kind, _) in enumerate(every) if kind == fusion]
        if at:
            yield fusion, at, tuple(np.array([every[place][1] for place in at], dtype=np.float64).T)


def node_costs(pairs: Sequence[tuple[Sequence[int], Product]], search: ChainSearch) -> list[tuple[float, float]]:
    """Return what nodes, each of a chain of some sizes, cost, and what decides between equals."""
    result: dict[int, tuple[float, float]] = {}
    for fusion, at, p in by_fusion(pairs):
        cost, tie = search.price(search.batch(fusion, p))
        result |= zip(at, zip(cost.tolist(), tie.tolist(), strict=True), strict=True)
    return [result[place] for place in range(len(pairs))]


def words_of(sizes: Sequence[int], products: Sequence[Product], model: str, memory: int) -> list[float]:
    """Return the words that each of some nodes moves, by a model."""
    search = ChainSearch(model=model, memory=memory, price=by_words)
    return [words for words, _ in node_costs([(sizes, node) for node in products], search)]


def fuse_trees(sizes: Sequence[Sequence[int]], trees: Sequence[Tree], search: ChainSearch) -> list[Tree]:
    """Fuse pairs of products of given trees as the objective wants: the hyper-node recurrence (D.23-D.26)."""
    pairs = zip(sizes, trees, strict=True)
    costs = iter(
        node_costs([(p, each) for p, tree in pairs for node in nodes(tree) for each in candidates(node)], search)
    )
    return [_best_fusion(tree, costs) for tree in trees]


def candidates(node: Product) -> Iterator[Product]:
    """Yield a node unfused and fused with either child; grandchildren stay as they are."""
    left, right = node.children
    yield node
    if isinstance(left, Product):
        yield Product(children=(*left.children, right), fusion="left")
    if isinstance(right, Product):
        yield Product(children=(left, *right.children), fusion="right")


def _best_fusion(tree: Tree, costs: Iterator[tuple[float, float]]) -> Tree:
    """Return the best fusion of a tree; ``costs`` are those of its nodes' candidates, in order."""
    table: dict[tuple[int, int], tuple[tuple[float, ...], Tree]] = {}
    for node in nodes(tree):
        options: list[tuple[tuple[float, ...], Tree]] = []
        for candidate in candidates(node):
            parts = [table.get(span(child), ((0.0, 0.0), child)) for child in candidate.children]
            total = tuple(sum(each) for each in zip(next(costs), *(cost for cost, _ in parts), strict=True))
            options.append((total, Product(children=tuple(part for _, part in parts), fusion=candidate.fusion)))
        table[span(node)] = min(options, key=lambda item: item[0])
    return table[span(tree)][1] if isinstance(tree, Product) else tree


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


def computed(chain: Chain, tree: Tree, memo: set[Key] | None = None) -> Iterator[Product]:
    """Yield the nodes that are really computed, in order: of equal products only the first."""
    keys = set() if memo is None else memo
    if isinstance(tree, int):
        return
    key, _ = key_of(chain, *span(tree))
    if key in keys:
        return
    for child in tree.children:
        yield from computed(chain, child, keys)
    keys.add(key)
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
    table: dict[Key, _Known] = {}
    for i in range(chain.length):
        key, flipped = key_of(chain, i, i + 1)
        table[key] = _Known(tree=0, flipped=flipped)
    for (level,) in priced(np.array([chain.sizes], dtype=np.int64), (search,)):
        every = cheaper_fusions(level)
        for row in range(level[0].bounds[0].shape[0]):
            key, flipped = key_of(chain, *(int(level[0].bounds[end][row, 0]) for end in (0, -1)))
            if key not in table:
                table[key] = _best_of(chain, every, row, flipped, table)
    return _range_tree(chain, table, 0, chain.length)


def _best_of(chain: Chain, level: list[Cuts], row: int, flipped: bool, table: dict[Key, _Known]) -> _Known:
    """Return the best tree of the range that a row of the cuts stands for."""
    ways = []
    for cuts in level:
        kinds = np.broadcast_to(cuts.kind, cuts.price.shape[1:])[0, row].tolist()
        bounds = zip(*(part[row].tolist() for part in cuts.bounds), strict=True)
        for kind, ends, cost in zip(kinds, bounds, zip(*cuts.price[:, 0, row].tolist(), strict=True), strict=True):
            parts = list(pairwise(ends))
            products = frozenset[Key]().union(*(table[key_of(chain, *part)[0]].products for part in parts))
            total = tuple(cost[t] + sum(table[each].cost[t] for each in products) for t in (0, 1))
            ways.append((total, FUSIONS[kind], parts, cost, products))
    _, fusion, parts, cost, products = min(ways, key=lambda way: way[0])
    start = parts[0][0]
    children = tuple(_shifted_tree(_range_tree(chain, table, *part), -start) for part in parts)
    key, _ = key_of(chain, start, parts[-1][1])
    return _Known(tree=Product(children=children, fusion=fusion), flipped=flipped, cost=cost, products=products | {key})


def _range_tree(chain: Chain, table: dict[Key, _Known], first: int, end: int) -> Tree:
    """Return the known tree of a range, with this range's operands."""
    key, flipped = key_of(chain, first, end)
    entry = table[key]
    return _shifted_tree(entry.tree if flipped == entry.flipped else _mirror_tree(entry.tree, end - first - 1), first)


def _shifted_tree(tree: Tree, offset: int) -> Tree:
    if isinstance(tree, int):
        return tree + offset
    return Product(children=tuple(_shifted_tree(child, offset) for child in tree.children), fusion=tree.fusion)


def _mirror_tree(tree: Tree, last: int) -> Tree:
    """Return the tree of the transposed product: the operands in reverse order."""
    if isinstance(tree, int):
        return last - tree
    children = tuple(_mirror_tree(child, last) for child in reversed(tree.children))
    return Product(children=children, fusion=_SWAPPED[tree.fusion])


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
            fronts[first, end] = _range_front(fronts, level, row, limit)
    whole = 0, len(sizes) - 1
    return tuple(_tree_at(fronts, whole, point) for point in range(fronts[whole].cost.shape[1]))


def _range_front(fronts: _Fronts, level: Sequence[Cuts], row: int, limit: Floats) -> _Front:
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
    mask = cost[1] < np.minimum.accumulate(np.concatenate([[np.inf], cost[1, :-1]]))
    return _Front(cost=cost[:, mask], cuts=cuts, origin=origin[:, mask])


def _tree_at(fronts: _Fronts, ends: tuple[int, ...], point: int) -> Tree:
    if ends[1] == ends[0] + 1:
        return ends[0]
    cut, *points = fronts[ends].origin[:, point].tolist()
    fusion, bounds = fronts[ends].cuts[cut]
    parts = zip(pairwise(bounds), points, strict=False)
    return Product(children=tuple(_tree_at(fronts, part, at) for part, at in parts), fusion=fusion)
