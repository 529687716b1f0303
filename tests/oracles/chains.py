"""Every tree of a matrix chain, listed plainly: what searches are held against."""

from collections.abc import Iterator

from tilewright.workloads.chains.problem import Product, Tree


def every_tree(first: int, last: int) -> Iterator[Tree]:
    """Yield every parenthesisation of operands ``first`` to ``last``, without fusion (as many as Catalan's numbers).

    >>> from tilewright.workloads.chains.problem import text
    >>> [text(tree) for tree in every_tree(0, 2)]
    ['(A1 (A2 A3))', '((A1 A2) A3)']
    """
    if first == last:
        yield first
        return
    for split in range(first, last):
        for left in every_tree(first, split):
            for right in every_tree(split + 1, last):
                yield Product(children=(left, right))


def every_fusion(tree: Tree) -> Iterator[Tree]:
    """Yield every way to fuse pairs of adjacent products of a parenthesisation, none at all included.

    >>> from tilewright.workloads.chains.problem import text
    >>> [text(each) for each in every_fusion(Product(children=(0, Product(children=(1, 2)))))]
    ['(A1 (A2 A3))', '(A1 [A2 A3])']
    """
    if isinstance(tree, int):
        yield tree
        return
    left, right = tree.children
    for a in every_fusion(left):
        for b in every_fusion(right):
            yield Product(children=(a, b))
    if isinstance(left, Product):
        for a in every_fusion(left.children[0]):
            for b in every_fusion(left.children[1]):
                for c in every_fusion(right):
                    yield Product(children=(a, b, c), fusion="left")
    if isinstance(right, Product):
        for a in every_fusion(left):
            for b in every_fusion(right.children[0]):
                for c in every_fusion(right.children[1]):
                    yield Product(children=(a, b, c), fusion="right")
