"""The plan of a matrix chain: a tree with what every node keeps on chip, and what it costs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.arguments import checked
from tilewright.base.errors import UsageError, one_of
from tilewright.base.records import Record
from tilewright.base.tables import Table, table
from tilewright.costs.arrays import Floats
from tilewright.costs.interval import unmeasured
from tilewright.verbs.options import ChainOptions, refuse
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.workloads.chains import search
from tilewright.workloads.chains.problem import (
    FUSIONS,
    Chain,
    Product,
    Tree,
    extents,
    halves,
    make_chain,
    nodes,
    operations,
    span,
    text,
    unfused,
)
from tilewright.workloads.chains.search import Batch, ChainSearch, Price, by_operations, by_words, computed, words_of
from tilewright.workloads.chains.times import ChainCost, Rates, energy, joules, machine_rates, times
from tilewright.workloads.chains.traffic import SCHEDULES, check_model, count, kept_result, moves, tile, tiles

OBJECTIVES = ("opcount", "two-step", "words", "weighted", "time", "energy")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainVariant:
    """One more tree to set beside the plan's."""

    tree: Tree
    operations: int  # its multiply-adds
    words: float  # the words it moves, by the plan's model
    counted_words: int  # words that loops with its tiles move, counted exactly
    energy: ChainCost | None = None  # its seconds and joules on the plan's machine, if one was given

    def to_dict(self, chain: Chain) -> dict[str, object]:
        """Return the tree as plain data."""
        plain: dict[str, object] = {
            "tree": text(self.tree, chain),
            "opcount": self.operations,
            "words": int(self.words),
            "counted_words": self.counted_words,
        }
        if self.energy is not None:
            plain["energy"] = self.energy.to_dict()
        return plain


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ChainPlan(Record):
    """How to multiply a chain of matrices.

    Words are matrix elements moved between memory and chip. A product that occurs twice is computed and counted once.

    Attributes:
        chain: The chain.
        model: The model of the words, one of ``costs.chain.MODELS``.
        memory: Words on chip.
        objective: What was minimised.
        tree: The tree; its nodes say what they keep on chip, in what tile.
        numpy: The order of ``numpy.linalg.multi_dot``, unfused, every product with its best schedule.
        two_step: Fewest multiply-adds first, then the best fusions of that tree: the thesis's algorithm.
        joint: The tree with the fewest words over all parenthesisations and fusions; with a machine that has energy
            figures, the one with the fewest joules.
        machine: Name of the machine that joules are for, or empty.
        rates: Where the machine's figures come from.
        energy: Seconds and joules of the plan, if a machine was given.
        pareto: Trees of which none needs both fewer multiply-adds and fewer words, if asked for.
    """

    chain: Chain
    model: str
    memory: int
    objective: str
    tree: Tree
    numpy: ChainVariant
    two_step: ChainVariant
    joint: ChainVariant
    machine: str = ""
    rates: tuple[str, ...] = ()
    energy: ChainCost | None = None
    pareto: tuple[ChainVariant, ...] = ()

    @property
    def nodes(self) -> tuple[Product, ...]:
        """The nodes that are computed, in order; equal products only once."""
        return tuple(computed(self.chain, self.tree))

    @property
    def opcount(self) -> int:
        """Multiply-adds."""
        return operations(self.chain.sizes, self.nodes)

    @property
    def _unfused(self) -> list[tuple[int, ...]]:
        return [extents(self.chain.sizes, node) for node in nodes(unfused(self.tree))]

    @property
    def unfused_words(self) -> int:
        """Words of the same parenthesisation, unfused, every product keeping its result (recurrence S, D.18)."""
        columns = np.array(self._unfused, dtype=np.float64).reshape(-1, 3).T
        return int(kept_result(self.model, self.memory, tuple(columns)).sum())

    @property
    def unfused_counted_words(self) -> int:
        """The same, counted exactly with whole tiles."""
        return sum(count("R", p, tile(self.model, self.memory, "R", p)) for p in self._unfused)

    @property
    def unfused_best(self) -> ChainVariant:
        """The same parenthesisation, unfused, every product with its best schedule."""
        return variant(self.chain, unfused(self.tree), self.model, self.memory)

    @property
    def unfused_best_words(self) -> int:
        """Words of :attr:`unfused_best`."""
        return int(self.unfused_best.words)

    @property
    def fused_words(self) -> int:
        """Words of the plan, by its model, rounded down."""
        return int(sum(words_of(self.chain.sizes, self.nodes, self.model, self.memory)))

    @property
    def counted_words(self) -> int:
        """Words that loops with the plan's tiles move, counted exactly."""
        return counted(self.chain.sizes, self.nodes)

    @property
    def products(self) -> tuple[FusionWords, ...]:
        """The thesis's table (figure D.11): every product of the plan's tree with h and F, fused with either child."""
        return tuple(fusion_words(self.chain.sizes, self.tree, self.model, self.memory))

    @property
    def shared(self) -> int:
        """How many products need not be computed because an equal one is."""
        return sum(1 for _ in nodes(self.tree)) - len(self.nodes)

    def to_dict(self) -> dict[str, object]:
        """Return the plan as plain data, the JSON document of ``tilewright chain``."""
        plain: dict[str, object] = {
            "sizes": list(self.chain.sizes),
            "memory": self.memory,
            "model": self.model,
            "objective": self.objective,
            "opcount": self.opcount,
            "tree": text(self.tree, self.chain),
            "unfused_words": self.unfused_words,
            "unfused_counted_words": self.unfused_counted_words,
            "unfused_best_words": self.unfused_best_words,
            "unfused_best_counted_words": self.unfused_best.counted_words,
            "fused_words": self.fused_words,
            "counted_words": self.counted_words,
            "saving": _saving(self.fused_words, self.unfused_words),
            "counted_saving": _saving(self.counted_words, self.unfused_counted_words),
            "saving_against_numpy": _saving(self.fused_words, self.numpy.words),
            "shared_products": self.shared,
            "nodes": [self._node(number, node) for number, node in enumerate(self.nodes)],
            "products": [
                {
                    "product": text(each.node, self.chain),
                    "h_words": {fusion: int(words) for fusion, words in each.local.items()},
                    "F_words": {fusion: int(words) for fusion, words in each.subtree.items()},
                    "planned": self._planned(each.node),
                }
                for each in self.products
            ],
            "numpy_order": self.numpy.to_dict(self.chain),
            "two_step": self.two_step.to_dict(self.chain),
            "joint": self.joint.to_dict(self.chain),
        }
        if self.energy is not None:
            plain["energy"] = {
                "machine": self.machine,
                **self.energy.to_dict(),
                "interval": unmeasured(self.energy.seconds).to_dict(),
                "rates": list(self.rates),
            }
        if self.pareto:
            plain["pareto"] = [each.to_dict(self.chain) for each in self.pareto]
        return plain

    def _node(self, number: int, node: Product) -> dict[str, object]:
        left, right = halves(node)
        return {
            "name": f"T{number + 1}",
            "left": text(left, self.chain),
            "right": text(right, self.chain),
            "fusion": node.fusion,
            "keep": node.keep,
            "tile": list(node.tile),
            "sizes": list(extents(self.chain.sizes, node)),
            "opcount": operations(self.chain.sizes, [node]),
            "words": self._moved(node),
            "counted_words": counted(self.chain.sizes, [node]),
        }

    def _moved(self, node: Product) -> int:
        return int(words_of(self.chain.sizes, [node], self.model, self.memory)[0])

    def _planned(self, product: Product) -> str:
        """Say what the plan does with a product: not fused, fused with a child, or on chip inside another."""
        fusions = {span(node): node.fusion for node in nodes(self.tree)}
        return fusions.get(span(product), "on chip")

    def explain(self) -> str:
        """Return what the plan does and why it is worth it, in lines of text.

        Examples:
            >>> from tilewright.workloads.chains.chain import plan
            >>> print(plan((300, 400, 300), memory=10_000).explain().splitlines()[0])
            (A1 A2) with 10,000 words on chip, model exact, objective opcount
        """
        chain = self.chain
        baseline = self.unfused_words, self.unfused_counted_words
        order = int(self.numpy.words), self.numpy.counted_words
        best = self.unfused_best
        head = f"{text(self.tree, chain)} with {self.memory:,} words on chip"
        lines = [
            f"{head}, model {self.model}, objective {self.objective}",
            "words are the model's; in brackets those of loops with whole tiles, counted",
            f"{self.opcount:,} multiply-adds; {_words(self.fused_words, self.counted_words)}",
            f"unfused, every product keeping its result: {_words(*baseline)}; planned {self._less(*baseline)}",
            f"unfused, every product at the model's best: {_words(best.words, best.counted_words)}",
            f"numpy.linalg.multi_dot: {self._compared(self.numpy)}; planned {self._less(*order)}",
            f"two steps (fewest multiply-adds, then fusion): {self._compared(self.two_step)}",
            f"all trees at once: {self._compared(self.joint)}",
        ]
        if self.energy is not None:
            parts = f"{self.energy.static_joules:.3g} static + {self.energy.dynamic_joules:.3g} dynamic"
            lines.append(f"on {self.machine}: {self.energy.seconds:.3g} s, {self.energy.joules:.3g} J = {parts}")
            expected = unmeasured(self.energy.seconds)
            lines.append(f"{expected.share:.0%} interval {expected}; {', '.join(self.rates)}")
        if self.shared:
            lines.append(f"{self.shared} products are not computed because equal ones are")
        for number, node in enumerate(self.nodes):
            facts = self._node(number, node)
            how = {"none": "", "left": ", fused left", "right": ", fused right"}[node.fusion]
            words = _words(self._moved(node), counted(self.chain.sizes, [node]))
            lines.append(
                f"  T{number + 1} = {facts['left']} {facts['right']}{how}: keeps {node.keep} in "
                f"{node.tile[0]} x {node.tile[1]}, {words}, {facts['opcount']:,} multiply-adds"
            )
        lines += [f"  trade-off: {self._compared(each)}" for each in self.pareto]
        return "\n".join(lines)

    def _less(self, modelled: int, whole: int) -> str:
        """Write what the plan saves against words of something else, by the model and counted."""
        return f"{_saving(self.fused_words, modelled):.1%} less ({_saving(self.counted_words, whole):.1%})"

    def _compared(self, other: ChainVariant) -> str:
        joules = "" if other.energy is None else f", {other.energy.joules:.3g} J"
        words = _words(other.words, other.counted_words)
        return f"{text(other.tree, self.chain)}, {other.operations:,} multiply-adds, {words}{joules}"

    def table(self) -> Table:
        """Return h and F of every product, in words, for people."""
        kinds = ("alone", "left", "right")
        columns = [*(f">h {kind}" for kind in kinds), *(f">F {kind}" for kind in kinds), "planned", "product"]
        rows = []
        for each in self.products:
            words = [part.get(fusion) for part in (each.local, each.subtree) for fusion in FUSIONS]
            cells = ["-" if value is None else f"{value:,.0f}" for value in words]
            rows.append((*cells, self._planned(each.node), text(each.node, self.chain)))
        about = (
            "words of a product (h) and of all below it (F), alone or fused with a child; its parent writes its result"
        )
        return table(columns, rows, about)

    def __str__(self) -> str:
        return self.explain()


def _words(modelled: float, whole: int) -> str:
    return f"{int(modelled):,} words ({whole:,})"


def _saving(words: float, reference: float) -> float:
    return 1.0 - words / reference if reference else 0.0


@checked
def plan(
    shapes: Sequence[int] | Sequence[tuple[int, int]],
    *,
    memory: int,
    model: str = "exact",
    objective: str | None = None,
    weights: tuple[float, float] = (1.0, 1.0),
    machine: MachineLike | None = None,
    itemsize: int = 4,
    pareto: bool = False,
    operands: Sequence[int] | None = None,
    transposed: Sequence[bool] | None = None,
) -> ChainPlan:
    """Plan the product of a chain of matrices; nothing is computed, compiled or measured.

    Args:
        shapes: P0 … Pn, or the shape of every matrix as it is used (after transposing).
        memory: Words (matrix elements) that fit on chip.
        model: ``exact``; ``published`` for the thesis's equations as printed; ``counts`` for the integer formulas
            alone.
        objective: ``opcount``: fewest multiply-adds, then fewest words, over all trees and fusions (the default).
            ``two-step``: the textbook's tree, then the best fusions of it (the thesis, and the default for
            ``published``). ``words``: fewest words, then fewest multiply-adds. ``weighted``: a weighted sum. ``time``,
            ``energy``: seconds or joules on ``machine``.
        weights: Of multiply-adds and words, for ``weighted``.
        machine: A machine to report seconds and joules for; it must have energy figures.
        itemsize: Bytes per element, for seconds and joules.
        pareto: Also find every tree that no other beats in both multiply-adds and words.
        operands: For chains in which a matrix occurs several times: per matrix the index of its first occurrence.
        transposed: Per matrix whether it is used transposed.

    Returns:
        The plan.

    Raises:
        UsageError: If the shapes make no chain, or an option is unknown or lacks its machine.

    Examples:
        >>> print(plan((936, 1008, 552, 368, 1016, 616, 544), memory=65536, model="published").fused_words)
        8392058
    """
    asked = ChainOptions.of(locals())
    check_model(model, memory)
    chain = make_chain(_sizes(shapes), operands, transposed)
    goal = objective or ("two-step" if model == "published" else "opcount")
    one_of("the objective of a chain", goal, OBJECTIVES)
    if goal != "weighted":
        refuse("a chain by another objective", asked)
    rates = None if machine is None else machine_rates(as_machine(machine), itemsize)
    metered = rates if rates is not None and rates.metered else None
    words_first = ChainSearch(model=model, memory=memory, price=by_words)
    chosen = replace(words_first, price=_price(goal, weights, rates))
    together = words_first if metered is None else replace(words_first, price=_price("energy", weights, metered))
    textbook, joint, *best = _optima(chain, [together] if goal == "two-step" else [together, chosen])
    (two_step,) = search.fuse_trees([chain.sizes], [textbook], words_first)

    def view(tree: Tree) -> ChainVariant:
        return variant(chain, tree, model, memory, metered)

    planned = view(best[0] if best else two_step)
    return ChainPlan(
        chain=chain,
        model=model,
        memory=memory,
        objective=goal,
        tree=with_tiles(chain.sizes, planned.tree, model, memory),
        numpy=view(textbook),
        two_step=view(two_step),
        joint=view(joint),
        machine="" if rates is None else rates.machine,
        rates=() if rates is None else rates.notes,
        energy=planned.energy,
        pareto=tuple(view(tree) for tree in search.pareto(chain.sizes, model, memory)) if pareto else (),
    )


def _sizes(shapes: Sequence[int] | Sequence[tuple[int, int]]) -> tuple[int, ...]:
    plain = [each for each in shapes if not isinstance(each, Sequence)]
    pairs = [each for each in shapes if isinstance(each, Sequence)]
    if not pairs:
        return tuple(plain)
    for number, pair in enumerate(pairs):
        if plain or len(pair) != 2:
            raise UsageError("a chain is given by P0 P1 … Pn, or by one pair (rows, columns) per matrix")
        if number and pairs[number - 1][1] != pair[0]:
            raise UsageError(f"matrix {number + 1} must have {pairs[number - 1][1]} rows, got {pair[0]}")
    return (pairs[0][0], *(pair[1] for pair in pairs))


def _price(goal: str, weights: tuple[float, float], rates: Rates | None) -> Price:
    if goal in {"opcount", "two-step"}:
        return by_operations
    if goal == "words":
        return by_words
    if goal == "weighted":
        if not (min(weights) >= 0 and max(weights) > 0 and np.isfinite(weights).all()):
            raise UsageError(
                f"the weights of multiply-adds and words are numbers of at least 0 and not both 0, got {weights!r}"
            )
        return search.weighted(*weights)
    if rates is None:
        raise UsageError(f"the objective {goal!r} needs a machine", "add machine='k20c', or --machine k20c")

    def by_machine(batch: Batch) -> tuple[Floats, Floats]:
        words = batch.words()
        if goal == "time":
            return times(rates, batch.operations, words).seconds, words
        static, dynamic = joules(rates, batch.operations, words)
        return static + dynamic, words

    return by_machine


def _optima(chain: Chain, goals: Sequence[ChainSearch]) -> list[Tree]:
    """Return the textbook's tree, as numpy.linalg.multi_dot chooses it, and the best tree by every goal.

    With repeated matrices, a goal's tree is the better of the optimum and one that seeks equal products.
    """
    textbook = replace(goals[0], price=search.by_operations_only, fuse=False)
    tables = search.solve(np.array([chain.sizes], dtype=np.int64), (textbook, *goals))
    first, *trees = (search.tree_of(each[2:, 0]) for each in tables)
    if search.can_share(chain):
        for number, goal in enumerate(goals):

            def total(tree: Tree, goal: ChainSearch = goal) -> tuple[float, ...]:
                costs = search.node_costs([(chain.sizes, node) for node in computed(chain, tree)], goal)
                return tuple(sum(column) for column in zip(*costs, strict=True))

            trees[number] = min(trees[number], search.shared_tree(chain, goal), key=total)
    return [first, *trees]


def with_tiles(sizes: Sequence[int], tree: Tree, model: str, memory: int) -> Tree:
    """Return a tree whose every node says what it keeps on chip, and in what tile."""
    decided: dict[tuple[int, int], tuple[str, tuple[int, int]]] = {}
    every = list(nodes(tree))
    for fusion, positions, p in search.by_fusion((sizes, node) for node in every):
        schedules = moves(model, memory, fusion, p).schedule
        for number in sorted(set(schedules.tolist())):
            at = np.flatnonzero(schedules == number)
            shapes = tiles(model, memory, SCHEDULES[number], [column[at] for column in p])
            keep = SCHEDULES[number] if fusion == "none" else "T"
            decided |= {span(every[positions[i]]): (keep, shape) for i, shape in zip(at, shapes, strict=True)}

    def complete(part: Tree) -> Tree:
        if isinstance(part, int):
            return part
        keep, shape = decided[span(part)]
        children = tuple(complete(child) for child in part.children)
        return Product(children=children, fusion=part.fusion, keep=keep, tile=shape)

    return complete(tree)


def counted(sizes: Sequence[int], products: Iterable[Product]) -> int:
    """Return the words that loops with the tiles of some decided nodes move, counted exactly."""
    return sum(
        count(node.keep if node.fusion == "none" else node.fusion, extents(sizes, node), node.tile) for node in products
    )


def variant(chain: Chain, tree: Tree, model: str, memory: int, rates: Rates | None = None) -> ChainVariant:
    """Return a tree with its costs, equal products counted once."""
    products = tuple(computed(chain, with_tiles(chain.sizes, tree, model, memory)))
    words = words_of(chain.sizes, products, model, memory)
    costs = [(float(operations(chain.sizes, [node])), moved) for node, moved in zip(products, words, strict=True)]
    return ChainVariant(
        tree=tree,
        operations=operations(chain.sizes, products),
        words=sum(words),
        counted_words=counted(chain.sizes, products),
        energy=None if rates is None or not products else energy(rates, costs),
    )


def fusion_words(sizes: Sequence[int], tree: Tree, model: str, memory: int) -> list[FusionWords]:
    """Return the thesis's table of h and F (figure D.11), one entry per product; the tree's own fusions are ignored."""

    def written(part: Tree) -> int:
        first, end = span(part)
        return sizes[first] * sizes[end] if isinstance(part, Product) else 0

    options = [(node, each) for node in nodes(unfused(tree)) for each in search.candidates(node)]
    words = words_of(sizes, [each for _, each in options], model, memory)
    entries: dict[tuple[int, int], FusionWords] = {}
    for (node, each), moved in zip(options, words, strict=True):
        entry = entries.setdefault(span(node), FusionWords(node=node, local={}, subtree={}))
        entry.local[each.fusion] = moved - written(node) + sum(map(written, each.children))
        below = [entries[span(child)].least for child in each.children if isinstance(child, Product)]
        entry.subtree[each.fusion] = entry.local[each.fusion] + sum(below)
    return list(entries.values())
