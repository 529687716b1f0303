import pytest
from tests.oracles.chains import every_fusion, every_tree

from tilewright.base.errors import UsageError
from tilewright.workloads.chains.problem import (
    Product,
    extents,
    make_chain,
    nodes,
    operations,
    span,
    text,
    unfused,
)


@pytest.mark.parametrize(("count", "catalan"), [(1, 1), (2, 1), (3, 2), (4, 5), (5, 14), (6, 42)])
def test_every_tree_is_listed_once(count, catalan):
    trees = [text(tree) for tree in every_tree(0, count - 1)]
    assert len(trees) == len(set(trees)) == catalan


def test_every_fusion_keeps_the_parenthesisation():
    for tree in every_tree(0, 4):
        fused = list(every_fusion(tree))
        assert len({text(each) for each in fused}) == len(fused) > 1
        assert {text(unfused(each)) for each in fused} == {text(tree)}


def test_fusing_does_not_change_the_operations():
    sizes = (3, 5, 7, 11, 13, 2)
    for tree in every_tree(0, 4):
        for fused in every_fusion(tree):
            assert operations(sizes, nodes(fused)) == operations(sizes, nodes(tree))
            assert span(fused) == (0, 5)


def test_a_fused_node_counts_both_its_products():
    node = Product(children=(0, 1, 2), fusion="right")
    assert operations((2, 3, 5, 7), [node]) == 3 * 5 * 7 + 2 * 3 * 7
    assert extents((2, 3, 5, 7), node) == (2, 3, 5, 7)
    assert list(nodes(node)) == [node]


@pytest.mark.parametrize(
    ("sizes", "options", "words"),
    [
        ((5,), {}, "matrices, got 0"),
        ((5, 0, 3), {}, "whole number from 1"),
        ((5, 2.5, 3), {}, "got 2.5"),
        ((5, True, 3), {}, "got True"),
        ((5,) * 300, {}, "got 299"),
        ((5, 6, 7), {"operands": (0, 0)}, "are said to be one matrix"),
        ((5, 6, 5), {"operands": (1, 1)}, "first occurrence"),
        ((5, 6, 5), {"operands": (0,)}, "needs 2 operands"),
    ],
)
def test_what_is_no_chain_is_refused(sizes, options, words):
    with pytest.raises(UsageError, match=words):
        make_chain(sizes, **options)


def test_a_transposed_repeat_is_accepted():
    chain = make_chain((5, 6, 5), operands=(0, 0), transposed=(False, True))
    assert chain.repeats
    assert text(Product(children=(0, 1)), chain) == "(A1 A1')"
