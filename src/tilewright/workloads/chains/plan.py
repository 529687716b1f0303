"""The plan of a matrix chain: a tree with what every node keeps on chip, and what it costs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tilewright.base.records import Record
from tilewright.base.tables import Table, table
from tilewright.costs.interval import unmeasured
from tilewright.workloads.chains.problem import (
    FUSIONS,
    Chain,
    Product,
    Tree,
    extents,
    halves,
    node_operations,
    nodes,
    span,
    text,
    unfused,
)
from tilewright.workloads.chains.search import FusionWords, fusion_words, with_tiles, words_of
from tilewright.workloads.chains.shared import computed
from tilewright.workloads.chains.time import ChainCost
from tilewright.workloads.chains.traffic import count, kept_result, tile


def kept_words(sizes: Sequence[int], tree: Tree, model: str, memory: int) -> float:
    """Return the words of a tree without fusion in which every product keeps its result: recurrence S (D.18)."""
    columns = np.array([extents(sizes, node) for node in nodes(unfused(tree))], dtype=np.float64).reshape(-1, 3).T
    return float(kept_result(model, memory, tuple(columns)).sum())


def counted(sizes: Sequence[int], some: Iterable[Product]) -> int:
    """Return the words that loops with the tiles of some decided nodes move, counted exactly."""
    return sum(
        count(node.keep if node.fusion == "none" else node.fusion, extents(sizes, node), node.tile) for node in some
    )


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
        return sum(node_operations(self.chain.sizes, node) for node in self.nodes)

    @property
    def unfused_words(self) -> int:
        """Words of the same parenthesisation, unfused, every product keeping its result (recurrence S, D.18)."""
        return int(kept_words(self.chain.sizes, self.tree, self.model, self.memory))

    @property
    def unfused_counted_words(self) -> int:
        """The same, counted exactly with whole tiles."""
        every = [extents(self.chain.sizes, node) for node in nodes(unfused(self.tree))]
        return sum(count("R", p, tile(self.model, self.memory, "R", p)) for p in every)

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
            "opcount": node_operations(self.chain.sizes, node),
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
        kept = self.unfused_words, self.unfused_counted_words
        order = int(self.numpy.words), self.numpy.counted_words
        best = self.unfused_best
        head = f"{text(self.tree, chain)} with {self.memory:,} words on chip"
        lines = [
            f"{head}, model {self.model}, objective {self.objective}",
            "words are the model's; in brackets those of loops with whole tiles, counted",
            f"{self.opcount:,} multiply-adds; {_words(self.fused_words, self.counted_words)}",
            f"unfused, every product keeping its result: {_words(*kept)}; planned {self._less(*kept)}",
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
    """Write words by the model, and counted with whole tiles."""
    return f"{int(modelled):,} words ({whole:,})"


def _saving(words: float, reference: float) -> float:
    """Return the share saved against a reference."""
    return 1.0 - words / reference if reference else 0.0


def variant(chain: Chain, tree: Tree, model: str, memory: int) -> ChainVariant:
    """Return a tree with its costs, equal products counted once."""
    done = tuple(computed(chain, with_tiles(chain.sizes, tree, model, memory)))
    return ChainVariant(
        tree=tree,
        operations=sum(node_operations(chain.sizes, node) for node in done),
        words=sum(words_of(chain.sizes, done, model, memory)),
        counted_words=counted(chain.sizes, done),
    )
