"""The cheapest tree of a matrix chain: over one given parenthesisation, or over all of them at once.

Costs of nodes add up, so dynamic programming finds the optimum of any objective that prices nodes one by one: words,
multiply-adds, a weighted sum, seconds or joules. A range of operands is computed by one product of two parts, or by
two fused products of three parts; parts are written to memory and may themselves be fused inside (D.23-D.26). Many
chains of one length are solved together.
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from tilewright.workloads.chains.problem import FUSIONS, Product, Tree, extents, nodes, span, unfused
from tilewright.workloads.chains.splits import ChainLevel, levels
from tilewright.workloads.chains.traffic import SCHEDULES, Floats, Ints, moves, tiles

_Number = TypeVar("_Number", np.float64, np.int64)
_CHUNK = 200_000
"""Cuts whose costs are computed together."""


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

    model: str  # one of ``costs.chain.MODELS``
    memory: int  # words on chip
    price: Price  # objective
    fuse: bool = True  # whether pairs may be fused


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
    """Return the objective ``operation`` times multiply-adds plus ``word`` times words.

    >>> batch = Batch(fusion="none", sizes=(), operations=np.ones(1), words=lambda: np.ones(1))
    >>> float(weighted(2.0, 3.0)(batch)[0][0])
    5.0
    """

    def price(batch: Batch) -> tuple[Floats, Floats]:
        words = batch.words()
        return operation * batch.operations + word * words, words

    return price


def operation_count(fusion: str, p: Sequence[Floats]) -> Floats:
    """Return the multiply-adds of many nodes."""
    if fusion == "left":
        return p[0] * p[2] * (p[1] + p[3])
    if fusion == "right":
        return p[1] * p[3] * (p[2] + p[0])
    return p[0] * p[1] * p[2]


def batch_of(model: str, memory: int, fusion: str, p: tuple[Floats, ...]) -> Batch:
    """Return many nodes of one kind with their operations and words."""
    return Batch(
        fusion=fusion,
        sizes=p,
        operations=operation_count(fusion, p),
        words=functools.cache(lambda: moves(model, memory, fusion, p).words),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPrices:
    """Prices of every cut of one level, arrays of shape (chains, ranges, cuts)."""

    level: ChainLevel
    single: tuple[Floats, Floats]  # what one product costs, and its tie-breaker
    # the same of the better of the two fused pairs, and 0 for left or 1 for right; None without fusion
    fused: tuple[Floats, Floats, Ints] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainGroup:
    """Some levels of chains of one length, and every node that their cuts make: what all objectives share."""

    levels: tuple[ChainLevel, ...]
    single: Batch
    pairs: tuple[Batch, ...]


def prepare(sizes: Ints, model: str, memory: int, *, fuse: bool) -> tuple[ChainGroup, ...]:
    """List every node of every tree of many chains of one length; their words are computed when first asked for."""
    # ``sizes`` has P0 … Pn per chain, shape (chains, n + 1), as in the functions below.
    known = sizes.astype(np.float64)
    groups: list[ChainGroup] = []
    levels_now: list[ChainLevel] = []
    pending = 0
    every = levels(sizes.shape[1] - 1)
    for level in every:
        levels_now.append(level)
        pending += sizes.shape[0] * level.starts.size * (level.cuts.size + level.first.size)
        if pending >= _CHUNK or level is every[-1]:
            single = batch_of(model, memory, "none", _flat(known, levels_now, fused=False))
            four = _flat(known, levels_now, fused=True) if fuse else ()
            pairs = tuple(batch_of(model, memory, fusion, four) for fusion in FUSIONS[1:] if fuse)
            groups.append(ChainGroup(levels=tuple(levels_now), single=single, pairs=pairs))
            levels_now, pending = [], 0
    return tuple(groups)


def best_trees(sizes: Ints, setting: ChainSearch) -> list[Tree]:
    """Return the best tree per chain, keeps and tiles undecided; of equal cuts the first wins, unfused before fused."""
    return best_by_each(sizes, (setting,))[0]


def best_by_each(sizes: Ints, settings: Sequence[ChainSearch]) -> list[list[Tree]]:
    """Return :func:`best_trees` for several objectives of one model and memory, solved side by side."""
    _, choice = solve(sizes, settings)
    chains, last = sizes.shape[0], sizes.shape[1] - 2
    rows = [range(number * chains, (number + 1) * chains) for number in range(len(settings))]
    return [[_build(choice[:, row], 0, last) for row in group] for group in rows]


def solve(sizes: Ints, settings: Sequence[ChainSearch]) -> tuple[Floats, Ints]:
    """Return the least cost of every range of operands, and how it is cut."""
    # Rows are all chains by the first objective, then all by the second, and so on.
    rows, count = len(settings) * sizes.shape[0], sizes.shape[1] - 1
    total = np.zeros((2, rows, count, count))  # cost and tie-breaker
    choice = np.zeros((3, rows, count, count), dtype=np.int64)  # fusion, first and second cut
    for options in priced(sizes, settings):
        _decide(options, total, choice)
    return total, choice


def priced(sizes: Ints, settings: Sequence[ChainSearch]) -> Iterator[CutPrices]:
    """Price the cuts of every level by every objective, shortest ranges first."""
    fuse = any(setting.fuse for setting in settings)
    for group in prepare(sizes, settings[0].model, settings[0].memory, fuse=fuse):
        single = _split(_joined([setting.price(group.single) for setting in settings]), group.levels, fused=False)
        pairs = (
            _split(_joined([_pair(setting, group) for setting in settings]), group.levels, fused=True) if fuse else None
        )
        for number, level in enumerate(group.levels):
            fused = None
            if pairs is not None and level.first.size:
                first, tie, kinds = pairs[number]
                fused = (first, tie, kinds.astype(np.int64))
            yield CutPrices(level=level, single=(single[number][0], single[number][1]), fused=fused)


def _pair(setting: ChainSearch, group: ChainGroup) -> tuple[Floats, Floats, Floats]:
    """Return the price and the tie-breaker of the better of the two fusions, and which it is."""
    if not setting.fuse:
        never = np.full_like(group.pairs[0].operations, np.inf)
        return never, never, np.zeros_like(never)
    (left, left_tie), (right, right_tie) = (setting.price(batch) for batch in group.pairs)
    kind = (right < left) | ((right == left) & (right_tie < left_tie))
    return np.where(kind, right, left), np.where(kind, right_tie, left_tie), kind.astype(np.float64)


def _joined(prices: Sequence[Sequence[Floats]]) -> tuple[Floats, ...]:
    """Stack the objectives' prices along the first axis."""
    return tuple(np.concatenate(column) for column in zip(*prices, strict=True))


def _flat(sizes: Floats, group: Sequence[ChainLevel], *, fused: bool) -> tuple[Floats, ...]:
    """Return the sizes of every cut of several levels, arrays of shape (chains, cuts of all ranges)."""
    ends = zip(*(level.ends(fused) for level in group), strict=True)
    return tuple(sizes[:, np.concatenate([each.ravel() for each in column])] for column in ends)


def _split(flat: Sequence[Floats], group: Sequence[ChainLevel], *, fused: bool) -> list[tuple[Floats, ...]]:
    """Undo :func:`_flat` for results: per level arrays of shape (chains, ranges, cuts)."""
    shapes = [(level.starts.size, (level.first if fused else level.cuts).size) for level in group]
    bounds = np.cumsum([0, *(ranges * cuts for ranges, cuts in shapes)]).tolist()
    return [
        tuple(each[:, low:high].reshape(each.shape[0], *shape) for each in flat)
        for low, high, shape in zip(bounds[:-1], bounds[1:], shapes, strict=True)
    ]


def _decide(options: CutPrices, total: Floats, choice: Ints) -> None:
    """Choose the best cut of every range of a level; ``choice`` takes fusion, first and second cut."""
    level = options.level
    i, j = level.starts, level.starts + level.length
    k = i + level.cuts
    cost = [total[t][:, i, k] + total[t][:, k + 1, j] + options.single[t] for t in (0, 1)]
    rows = i[:, 0]
    at = _first_best(cost[0], cost[1])
    best = [_at(each, at) for each in cost]
    chosen = [np.zeros_like(at), rows + level.cuts[at], np.zeros_like(at)]
    if options.fused is not None:
        k, m = i + level.first, i + level.second
        parts = [total[t][:, i, k] + total[t][:, k + 1, m] + total[t][:, m + 1, j] for t in (0, 1)]
        pair = [part + price for part, price in zip(parts, options.fused[:2], strict=True)]
        at = _first_best(pair[0], pair[1])
        first, tie, kind = _at(pair[0], at), _at(pair[1], at), _at(options.fused[2], at)
        better = (first < best[0]) | ((first == best[0]) & (tie < best[1]))
        best = [np.where(better, first, best[0]), np.where(better, tie, best[1])]
        other = (1 + kind, rows + level.first[at], rows + level.second[at])
        chosen = [np.where(better, new, old) for new, old in zip(other, chosen, strict=True)]
    for t in (0, 1):
        total[t][:, rows, rows + level.length] = best[t]
    for t in (0, 1, 2):
        choice[t][:, rows, rows + level.length] = chosen[t]


def _at(values: npt.NDArray[_Number], at: Ints) -> npt.NDArray[_Number]:
    """Return ``values[chain, range, at[chain, range]]``."""
    return values.reshape(-1, values.shape[2])[np.arange(at.size), at.ravel()].reshape(at.shape)


def _first_best(cost: Floats, tie: Floats) -> Ints:
    """Return the index along the last axis of the least cost, by the tie among equals, then the first."""
    least = cost.min(axis=-1, keepdims=True)
    return np.asarray(np.argmin(np.where(cost == least, tie, np.inf), axis=-1), dtype=np.int64)


def _build(choice: Ints, first: int, last: int) -> Tree:
    if first == last:
        return first
    fusion, k, m = (int(value) for value in choice[:, first, last])
    if fusion == 0:
        return Product(children=(_build(choice, first, k), _build(choice, k + 1, last)))
    parts = ((first, k), (k + 1, m), (m + 1, last))
    return Product(children=tuple(_build(choice, a, b) for a, b in parts), fusion=FUSIONS[fusion])


def fuse_trees(sizes: Sequence[Sequence[int]], trees: Sequence[Tree], setting: ChainSearch) -> list[Tree]:
    """Fuse pairs of products of given trees as the objective wants: the hyper-node recurrence (D.23-D.26)."""
    wanted: dict[str, list[tuple[int, Product]]] = {fusion: [] for fusion in FUSIONS}
    for number, tree in enumerate(trees):
        for node in nodes(tree):
            for candidate in _candidates(node):
                wanted[candidate.fusion].append((number, candidate))
    prices: _Prices = {}
    for fusion, items in wanted.items():
        if items:
            columns = np.array([extents(sizes[number], node) for number, node in items], dtype=np.float64).T
            first, tie = setting.price(batch_of(setting.model, setting.memory, fusion, tuple(columns)))
            for (number, node), a, b in zip(items, first.tolist(), tie.tolist(), strict=True):
                prices[number, fusion, span(node)] = (a, b)
    return [_fuse(number, tree, prices, {})[0] for number, tree in enumerate(trees)]


def _candidates(node: Product) -> Iterator[Product]:
    """Yield a node unfused and fused with either child; grandchildren stay as they are."""
    left, right = node.children
    yield node
    if isinstance(left, Product):
        yield Product(children=(*left.children, right), fusion="left")
    if isinstance(right, Product):
        yield Product(children=(left, *right.children), fusion="right")


_Cost = tuple[float, float]
_Prices = dict[tuple[int, str, tuple[int, int]], _Cost]
_Done = dict[tuple[int, int], tuple[Tree, _Cost]]


def _fuse(number: int, tree: Tree, prices: _Prices, done: _Done) -> tuple[Tree, _Cost]:
    """Return the best fusion of a subtree, and its cost; what is done is remembered by its operands."""
    if isinstance(tree, int):
        return tree, (0.0, 0.0)
    ends = span(tree)
    if ends in done:
        return done[ends]
    found: list[tuple[Tree, _Cost]] = []
    for candidate in _candidates(tree):
        parts = [_fuse(number, child, prices, done) for child in candidate.children]
        costs = [prices[number, candidate.fusion, ends], *(cost for _, cost in parts)]
        fused = Product(children=tuple(part for part, _ in parts), fusion=candidate.fusion)
        found.append((fused, (sum(cost[0] for cost in costs), sum(cost[1] for cost in costs))))
    done[ends] = min(found, key=lambda item: item[1])
    return done[ends]


@dataclass(frozen=True, slots=True, kw_only=True)
class FusionWords:
    """Words of one product of a tree by what it is fused with: nothing, its left or its right child.

    A product's own result is written at its parent's cost, as the thesis counts it.
    """

    node: Product  # the product, with its two operands
    local: dict[str, float]  # h of (D.20) to (D.22) by fusion: the product with the writing of what it reads
    subtree: dict[str, float]  # F of (D.24) to (D.26) by fusion: h and the least F of everything below

    @property
    def least(self) -> float:
        """F of (D.23)."""
        return min(self.subtree.values())


def fusion_words(sizes: Sequence[int], tree: Tree, model: str, memory: int) -> list[FusionWords]:
    """Return the thesis's table of h and F (figure D.11), one entry per product; the tree's own fusions are ignored."""

    def written(part: Tree) -> int:
        first, last = span(part)
        return sizes[first] * sizes[last + 1] if isinstance(part, Product) else 0

    options = [(node, each) for node in nodes(unfused(tree)) for each in _candidates(node)]
    words = words_of(sizes, [each for _, each in options], model, memory)
    found: dict[tuple[int, int], FusionWords] = {}
    for (node, each), moved in zip(options, words, strict=True):
        entry = found.setdefault(span(node), FusionWords(node=node, local={}, subtree={}))
        entry.local[each.fusion] = moved - written(node) + sum(map(written, each.children))
        below = [found[span(child)].least for child in each.children if isinstance(child, Product)]
        entry.subtree[each.fusion] = entry.local[each.fusion] + sum(below)
    return list(found.values())


def with_tiles(sizes: Sequence[int], tree: Tree, model: str, memory: int) -> Tree:
    """Return a tree whose every node says what it keeps on chip, and in what tile."""
    decided: dict[tuple[int, int], tuple[str, tuple[int, int]]] = {}
    for fusion in FUSIONS:
        found = [node for node in nodes(tree) if node.fusion == fusion]
        if found:
            columns = np.array([extents(sizes, node) for node in found], dtype=np.float64).T
            schedules = moves(model, memory, fusion, tuple(columns)).schedule
            for number in sorted(set(schedules.tolist())):
                at = np.flatnonzero(schedules == number)
                shapes = tiles(model, memory, SCHEDULES[number], [column[at] for column in columns])
                keep = SCHEDULES[number] if fusion == "none" else "T"
                decided |= {span(found[i]): (keep, shape) for i, shape in zip(at.tolist(), shapes, strict=True)}
    return _decided(tree, decided)


def _decided(tree: Tree, known: dict[tuple[int, int], tuple[str, tuple[int, int]]]) -> Tree:
    if isinstance(tree, int):
        return tree
    keep, shape = known[span(tree)]
    children = tuple(_decided(child, known) for child in tree.children)
    return Product(children=children, fusion=tree.fusion, keep=keep, tile=shape)


def words_of(sizes: Sequence[int], some: Sequence[Product], model: str, memory: int) -> list[float]:
    """Return the words that each of some nodes moves, by a model."""
    result: dict[int, float] = {}
    for fusion in FUSIONS:
        at = [i for i, node in enumerate(some) if node.fusion == fusion]
        if at:
            columns = np.array([extents(sizes, some[i]) for i in at], dtype=np.float64).T
            result |= dict(zip(at, moves(model, memory, fusion, tuple(columns)).words.tolist(), strict=True))
    return [result[i] for i in range(len(some))]
