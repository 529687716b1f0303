"""The plan of a matrix chain: a tree with what every node keeps on chip, and what it costs."""

import html
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from tilewright.costs.chains.time import ChainCost
from tilewright.costs.chains.traffic import count, kept_result
from tilewright.programs.chains.chain import (
    Chain,
    Product,
    Tree,
    extents,
    halves,
    node_operations,
    nodes,
    text,
    unfused,
)
from tilewright.tuning.chains.search import words_of
from tilewright.tuning.chains.shared import computed


def kept_words(sizes: Sequence[int], tree: Tree, model: str, memory: int) -> float:
    """Return the words of a tree without fusion in which every product keeps its result: recurrence S (D.18)."""
    columns = np.array([extents(sizes, node) for node in nodes(unfused(tree))], dtype=np.float64).reshape(-1, 3).T
    return float(kept_result(model, memory, tuple(columns)).sum())


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainVariant:
    """One more tree to set beside the plan's.

    Attributes:
        tree: The tree.
        operations: Its multiply-adds.
        words: The words it moves, by the plan's model.
        energy: Its seconds and joules on the plan's machine, if one was given.
    """

    tree: Tree
    operations: int
    words: float
    energy: ChainCost | None = None

    def to_dict(self, chain: Chain) -> dict[str, object]:
        """Return the tree as plain data."""
        plain: dict[str, object] = {
            "tree": text(self.tree, chain),
            "opcount": self.operations,
            "words": int(self.words),
        }
        if self.energy is not None:
            plain["energy"] = {**asdict(self.energy), "joules": self.energy.joules}
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainPlan:
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
    def unfused_best_words(self) -> int:
        """Words of the same parenthesisation, unfused, every product with its best schedule."""
        every = tuple(computed(self.chain, unfused(self.tree)))
        return int(sum(words_of(self.chain.sizes, every, self.model, self.memory)))

    @property
    def fused_words(self) -> int:
        """Words of the plan, by its model, rounded down."""
        return int(sum(words_of(self.chain.sizes, self.nodes, self.model, self.memory)))

    @property
    def counted_words(self) -> int:
        """Words that loops with the plan's tiles move, counted exactly."""
        return sum(self._counted(node) for node in self.nodes)

    @property
    def shared(self) -> int:
        """How many products need not be computed because an equal one is."""
        return sum(1 for _ in nodes(self.tree)) - len(self.nodes)

    def _counted(self, node: Product) -> int:
        schedule = node.keep if node.fusion == "none" else node.fusion
        return count(schedule, extents(self.chain.sizes, node), node.tile)

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
            "unfused_best_words": self.unfused_best_words,
            "fused_words": self.fused_words,
            "counted_words": self.counted_words,
            "saving": _saving(self.fused_words, self.unfused_words),
            "saving_against_numpy": _saving(self.fused_words, self.numpy.words),
            "shared_products": self.shared,
            "nodes": [self._node(number, node) for number, node in enumerate(self.nodes)],
            "numpy_order": self.numpy.to_dict(self.chain),
            "two_step": self.two_step.to_dict(self.chain),
            "joint": self.joint.to_dict(self.chain),
        }
        if self.energy is not None:
            plain["energy"] = {
                "machine": self.machine,
                **asdict(self.energy),
                "joules": self.energy.joules,
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
            "words": int(words_of(self.chain.sizes, [node], self.model, self.memory)[0]),
            "counted_words": self._counted(node),
        }

    def explain(self) -> str:
        """Return what the plan does and why it is worth it, in lines of text.

        Examples:
            >>> from tilewright.verbs.chains.chain import plan
            >>> print(plan((300, 400, 300), memory=10_000).explain().splitlines()[0])
            (A1 A2) with 10,000 words on chip, model exact, objective opcount
        """
        chain = self.chain
        numpy_saving = _saving(self.fused_words, self.numpy.words)
        saving = _saving(self.fused_words, self.unfused_words)
        order = self._compared(self.numpy)
        head = f"{text(self.tree, chain)} with {self.memory:,} words on chip"
        lines = [
            f"{head}, model {self.model}, objective {self.objective}",
            f"{self.opcount:,} multiply-adds; {self.fused_words:,} words",
            f"unfused, every product keeping its result: {self.unfused_words:,} words; planned {saving:.1%} less",
            f"unfused, every product at its best: {self.unfused_best_words:,} words",
            f"counted with whole tiles: {self.counted_words:,} words",
            f"numpy.linalg.multi_dot: {order}; planned {numpy_saving:.1%} less words",
            f"two steps (fewest multiply-adds, then fusion): {self._compared(self.two_step)}",
            f"all trees at once: {self._compared(self.joint)}",
        ]
        if self.energy is not None:
            parts = f"{self.energy.static_joules:.3g} static + {self.energy.dynamic_joules:.3g} dynamic"
            lines.append(f"on {self.machine}: {self.energy.seconds:.3g} s, {self.energy.joules:.3g} J = {parts}")
        if self.shared:
            lines.append(f"{self.shared} products are not computed because equal ones are")
        for number, node in enumerate(self.nodes):
            facts = self._node(number, node)
            how = {"none": "", "left": ", fused left", "right": ", fused right"}[node.fusion]
            lines.append(
                f"  T{number + 1} = {facts['left']} {facts['right']}{how}: keeps {node.keep} in "
                f"{node.tile[0]} x {node.tile[1]}, {facts['words']:,} words, {facts['opcount']:,} multiply-adds"
            )
        lines += [f"  trade-off: {self._compared(each)}" for each in self.pareto]
        return "\n".join(lines)

    def _compared(self, other: ChainVariant) -> str:
        joules = "" if other.energy is None else f", {other.energy.joules:.3g} J"
        return f"{text(other.tree, self.chain)}, {other.operations:,} multiply-adds, {int(other.words):,} words{joules}"

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.explain())}</pre>"


def _saving(words: float, reference: float) -> float:
    """Return the share saved against a reference."""
    return 1.0 - words / reference if reference else 0.0


def variant(chain: Chain, tree: Tree, model: str, memory: int) -> ChainVariant:
    """Return a tree with its costs, equal products counted once."""
    done = tuple(computed(chain, tree))
    return ChainVariant(
        tree=tree,
        operations=sum(node_operations(chain.sizes, node) for node in done),
        words=sum(words_of(chain.sizes, done, model, memory)),
    )
