"""``tw.chain``: matrix chains planned for least data movement, and multiplied.

``tw.chain.plan`` needs neither data nor a compiler. ``tw.chain.multi_dot`` multiplies arrays; whether a fused kernel
or the array library's products are faster is decided by times that ``tw.chain.calibrate`` measured, or by estimates.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tilewright.base.arguments import checked
from tilewright.base.errors import UsageError, one_of
from tilewright.verbs.predict import MachineLike, as_machine
from tilewright.workloads.chains.pareto import pareto as pareto_trees
from tilewright.workloads.chains.plan import ChainPlan, ChainVariant, variant
from tilewright.workloads.chains.problem import Chain, Tree, extents, make_chain, node_operations
from tilewright.workloads.chains.run import ChainTrial, calibrate, choose, multi_dot, trial
from tilewright.workloads.chains.search import (
    Batch,
    ChainSearch,
    Price,
    batch_of,
    best_by_each,
    by_operations,
    by_operations_only,
    by_words,
    fuse_trees,
    weighted,
    with_tiles,
    words_of,
)
from tilewright.workloads.chains.shared import can_share, computed, shared_tree
from tilewright.workloads.chains.time import ChainCost, HostTimes, Rates, energy, joules, machine_rates, times
from tilewright.workloads.chains.traffic import Floats, check_model

OBJECTIVES = ("opcount", "two-step", "words", "weighted", "time", "energy")
_ITEMSIZE = 4

__all__ = ["OBJECTIVES", "ChainPlan", "ChainTrial", "HostTimes", "calibrate", "choose", "multi_dot", "plan", "trial"]


@checked
def plan(
    shapes: Sequence[int] | Sequence[tuple[int, int]],
    *,
    memory: int,
    model: str = "exact",
    objective: str | None = None,
    weights: tuple[float, float] = (1.0, 1.0),
    machine: MachineLike | None = None,
    itemsize: int = _ITEMSIZE,
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
    check_model(model, memory)
    chain = make_chain(_sizes(shapes), operands, transposed)
    goal = objective or ("two-step" if model == "published" else "opcount")
    one_of("the objective of a chain", goal, OBJECTIVES)
    rates = None if machine is None else machine_rates(as_machine(machine), itemsize)
    price = _price(goal, weights, rates)
    metered = rates if rates is not None and rates.metered else None
    view = _View(chain=chain, model=model, memory=memory, rates=metered)
    words_first = ChainSearch(model=model, memory=memory, price=by_words)
    together = by_words if metered is None else _price("energy", weights, metered)
    goals = [replace(words_first, price=each) for each in (together, price)]
    textbook, *optima = _optima(chain, goals[: 1 if goal == "two-step" else 2])
    first = fuse_trees([chain.sizes], [textbook], words_first)[0]
    joint, chosen = optima if len(optima) > 1 else (*optima, first)
    return ChainPlan(
        chain=chain,
        model=model,
        memory=memory,
        objective=goal,
        tree=with_tiles(chain.sizes, chosen, model, memory),
        numpy=view.variant(textbook),
        two_step=view.variant(first),
        joint=view.variant(joint),
        machine="" if rates is None else rates.machine,
        rates=() if rates is None else rates.notes,
        energy=view.energy(chosen),
        pareto=tuple(view.variant(each.tree) for each in pareto_trees(chain.sizes, model, memory)) if pareto else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """How trees of one chain are priced."""

    chain: Chain
    model: str
    memory: int
    rates: Rates | None

    def variant(self, tree: Tree) -> ChainVariant:
        """Return a tree with its costs."""
        found = variant(self.chain, tree, self.model, self.memory)
        return found if self.rates is None else replace(found, energy=self.energy(tree))

    def energy(self, tree: Tree) -> ChainCost | None:
        """Return a tree's seconds and joules, if there is a machine that has energy figures."""
        if self.rates is None:
            return None
        done = tuple(computed(self.chain, tree))
        words = words_of(self.chain.sizes, done, self.model, self.memory)
        operations = [float(node_operations(self.chain.sizes, node)) for node in done]
        return energy(self.rates, list(zip(operations, words, strict=True))) if done else None


def _sizes(shapes: Sequence[int] | Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Return P0 … Pn of sizes or shapes."""
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
            raise UsageError(f"the weights of multiply-adds and words are numbers of at least 0, got {weights!r}")
        return weighted(*weights)
    if rates is None:
        raise UsageError(f"the objective {goal!r} needs a machine", "add machine='k20c', or --machine k20c")
    known = rates

    def by_machine(batch: Batch) -> tuple[Floats, Floats]:
        words = batch.words()
        if goal == "time":
            return times(known, batch.operations, words).seconds, words
        static, dynamic = joules(known, batch.operations, words)
        return static + dynamic, words

    return by_machine


def _optima(chain: Chain, goals: Sequence[ChainSearch]) -> list[Tree]:
    """Return the textbook's tree, as numpy.linalg.multi_dot chooses it, and the best tree by every goal.

    With repeated matrices, a goal's tree is the better of the optimum and one that seeks equal products.
    """
    textbook = replace(goals[0], price=by_operations_only, fuse=False)
    sizes = np.array([chain.sizes], dtype=np.int64)
    first, *found = (trees[0] for trees in best_by_each(sizes, (textbook, *goals)))
    if can_share(chain):
        for number, goal in enumerate(goals):
            pair = (found[number], shared_tree(chain, goal))
            found[number] = min(pair, key=lambda tree, goal=goal: _total(chain, tree, goal))  # type: ignore[misc]
    return [first, *found]


def _total(chain: Chain, tree: Tree, setting: ChainSearch) -> tuple[float, float]:
    total = np.zeros(2)
    for node in computed(chain, tree):
        columns = tuple(np.array([size], dtype=np.float64) for size in extents(chain.sizes, node))
        first, tie = setting.price(batch_of(setting.model, setting.memory, node.fusion, columns))
        total += (first[0], tie[0])
    return float(total[0]), float(total[1])
