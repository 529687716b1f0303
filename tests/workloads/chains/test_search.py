import itertools

import numpy as np
import pytest
from tests.oracles.chains import every_fusion, every_tree

from tilewright.workloads.chains import problem
from tilewright.workloads.chains.plan import with_tiles
from tilewright.workloads.chains.problem import (
    Product,
    make_chain,
    nodes,
    text,
    unfused,
)
from tilewright.workloads.chains.search import (
    ChainSearch,
    best_trees,
    by_operations,
    by_operations_only,
    by_words,
    can_share,
    computed,
    fuse_trees,
    pareto,
    shared_tree,
    weighted,
    words_of,
)

MODELS = ("exact", "published", "counts")


def words(sizes, tree, model, memory):
    return sum(words_of(sizes, list(nodes(tree)), model, memory))


def operations(sizes, tree):
    return problem.operations(sizes, nodes(tree))


def everything(count):
    return [fused for tree in every_tree(0, count - 1) for fused in every_fusion(tree)]


def random_sizes(rng, count, low=1, high=90):
    return rng.integers(low, high, count + 1).tolist()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_the_optimum_over_all_trees_is_the_brute_force_minimum(model, count):
    rng = np.random.default_rng(count)
    for memory in (7, 64, 400):
        sizes = random_sizes(rng, count)
        costs = {tree: (operations(sizes, tree), words(sizes, tree, model, memory)) for tree in everything(count)}
        for price, key in (
            (by_operations, lambda cost: cost),
            (by_words, lambda cost: cost[::-1]),
            (weighted(1.0, 30.0), lambda cost: cost[0] + 30 * cost[1]),
        ):
            (found,) = best_trees(np.array([sizes]), ChainSearch(model=model, memory=memory, price=price))
            best = min(key(cost) for cost in costs.values())
            assert key((operations(sizes, found), words(sizes, found, model, memory))) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("model", MODELS)
def test_the_recurrence_over_a_given_tree_is_the_brute_force_minimum(model):
    rng = np.random.default_rng(5)
    setting = ChainSearch(model=model, memory=300, price=by_words)
    for tree in every_tree(0, 4):
        sizes = random_sizes(rng, 5)
        (found,) = fuse_trees([sizes], [tree], setting)
        assert text(unfused(found)) == text(tree)
        best = min(words(sizes, fused, model, 300) for fused in every_fusion(tree))
        assert words(sizes, found, model, 300) == pytest.approx(best, rel=1e-12)


def test_many_chains_are_solved_as_one_by_one():
    rng = np.random.default_rng(8)
    sizes = rng.integers(1, 500, (30, 9))
    setting = ChainSearch(model="exact", memory=2000, price=by_words)
    together = best_trees(sizes, setting)
    assert together == [best_trees(row[None], setting)[0] for row in sizes]


def test_the_textbook_tree_is_numpys():
    from numpy.linalg import _linalg

    rng = np.random.default_rng(11)
    setting = ChainSearch(model="published", memory=1, price=by_operations_only, fuse=False)
    for _ in range(50):
        sizes = random_sizes(rng, 8, 1, 40)
        arrays = [np.empty((a, b)) for a, b in itertools.pairwise(sizes)]
        order = _linalg._multi_dot_matrix_chain_order(arrays)

        def build(i, j, order=order):
            k = int(order[i, j])
            return i if i == j else Product(children=(build(i, k), build(k + 1, j)))

        assert best_trees(np.array([sizes]), setting)[0] == build(0, 7)


@pytest.mark.parametrize("model", MODELS)
def test_the_pareto_set_is_the_brute_force_one(model):
    rng = np.random.default_rng(21)
    for memory in (9, 100):
        for _ in range(8):
            sizes = random_sizes(rng, 5)
            costs = {(operations(sizes, t), round(words(sizes, t, model, memory), 6)) for t in everything(5)}
            undominated = sorted(c for c in costs if not any(o != c and o[0] <= c[0] and o[1] <= c[1] for o in costs))
            found = pareto(sizes, model, memory)
            assert [(operations(sizes, t), round(words(sizes, t, model, memory), 6)) for t in found] == undominated


def test_tiles_fit_the_memory():
    rng = np.random.default_rng(2)
    sizes = random_sizes(rng, 9, 1, 700)
    for memory in (1, 50, 5000):
        (tree,) = best_trees(np.array([sizes]), ChainSearch(model="counts", memory=memory, price=by_words))
        for node in nodes(with_tiles(sizes, tree, "counts", memory)):
            assert 1 <= node.tile[0] * node.tile[1] <= memory
            assert node.keep in {"R", "A1", "A2", "T"}


def test_powers_are_computed_by_squaring():
    chain = make_chain((50,) * 9, operands=(0,) * 8)
    assert can_share(chain)
    tree = shared_tree(chain, ChainSearch(model="counts", memory=10_000, price=by_operations, fuse=False))
    assert len(list(computed(chain, tree))) == 3  # A^2, A^4, A^8
    assert len(list(nodes(tree))) == 7


def test_transposed_products_are_shared():
    sizes = (40, 30, 20, 30, 40, 30, 20)  # A B B' A' A B: (A B) (A B)' (A B)
    chain = make_chain(sizes, operands=(0, 1, 1, 0, 0, 1), transposed=(False, False, True, True, False, False))
    tree = shared_tree(chain, ChainSearch(model="counts", memory=4000, price=by_words, fuse=False))
    done = [text(node, chain) for node in computed(chain, tree)]
    assert len(done) == len(set(done)) < len(list(nodes(tree)))


def test_a_chain_of_different_matrices_shares_nothing():
    chain = make_chain((3, 4, 5, 6))
    assert not can_share(chain)
    tree = Product(children=(Product(children=(0, 1)), 2))
    assert list(computed(chain, tree)) == list(nodes(tree))
