"""Matrix chains and the trees that multiply them.

A chain of n matrices A1 … An has the sizes P0 … Pn: matrix Ai is P(i-1) x Pi. Inside, operands are numbered from 0. A
tree of products is a nested value: a leaf is an operand's number, and a node is a :class:`Product` of two subtrees, or
of three where two products are fused so that the result of the first is never stored (thesis of Prajapati, D.5-D.6).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar, Union

from tilewright.base.errors import UsageError
from tilewright.base.units import whole_number
from tilewright.costs.arrays import Floats

MAX_OPERANDS = 200
MAX_SIZE = 2**40
FUSIONS = ("none", "left", "right")
"""``none``: A B. ``left``: (A B) C, ``right``: A (B C), the product in parentheses never stored."""

Tree = Union[int, "Product"]
Size = TypeVar("Size", int, Floats)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """One node of a tree: one product, or two fused ones."""

    children: tuple[Tree, ...]  # two subtrees, or three if fused
    fusion: str = "none"  # one of :data:`FUSIONS`
    keep: str = ""  # what stays on chip: ``R``, ``A1`` or ``A2``, of a fused pair ``T``; empty while nobody decided
    tile: tuple[int, int] = (0, 0)  # rows and columns of what stays on chip; ``(0, 0)`` while nobody decided


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """A chain of matrices."""

    sizes: tuple[int, ...]  # P0 … Pn
    operands: tuple[int, ...]  # per matrix a number that equal matrices share; all different by default
    transposed: tuple[bool, ...]  # per matrix; sizes are those after transposing

    @property
    def length(self) -> int:
        """Number of matrices."""
        return len(self.operands)

    def name(self, operand: int) -> str:
        """How a matrix is written: by the number of its first occurrence, with ' if transposed.

        >>> make_chain((4, 5, 4), operands=(0, 0), transposed=(False, True)).name(1)
        "A1'"
        """
        return f"A{self.operands[operand] + 1}{chr(39) * self.transposed[operand]}"

    @property
    def repeats(self) -> bool:
        """Whether any matrix occurs more than once."""
        return len(set(self.operands)) < self.length


def make_chain(
    sizes: Sequence[int], operands: Sequence[int] | None = None, transposed: Sequence[bool] | None = None
) -> Chain:
    """Make a checked chain; ``operands`` says per matrix where in the chain it occurs first.

    >>> make_chain((10, 20, 30)).length
    2
    """
    sizes = tuple(sizes)
    count = len(sizes) - 1
    if not 1 <= count <= MAX_OPERANDS:
        raise UsageError(
            f"a chain has 1 to {MAX_OPERANDS} matrices, got {max(0, count)}", "n matrices have n + 1 sizes: P0 P1 … Pn"
        )
    sizes = tuple(whole_number(size, "every size of a chain", 1, MAX_SIZE, "from 1 to 2^40") for size in sizes)
    sources = tuple(range(count)) if operands is None else tuple(operands)
    flipped = (False,) * count if transposed is None else tuple(bool(flag) for flag in transposed)
    if len(sources) != count or len(flipped) != count:
        raise UsageError(f"a chain of {count} matrices needs {count} operands and transpositions")
    for i, first in enumerate(sources):
        if not 0 <= first <= i or sources[first] != first:
            raise UsageError(f"operand {i} must name the first occurrence of its matrix, got {first!r}")
        shapes = [(sizes[k], sizes[k + 1])[:: -1 if flipped[k] else 1] for k in (i, first)]
        if shapes[0] != shapes[1]:
            raise UsageError(f"operands {first} and {i} are said to be one matrix but are {shapes[1]} and {shapes[0]}")
    return Chain(sizes=sizes, operands=sources, transposed=flipped)


def span(tree: Tree) -> tuple[int, int]:
    """Return the first operand of a tree, and the one behind its last.

    >>> span(Product(children=(0, Product(children=(1, 2)))))
    (0, 3)
    """
    first = last = tree
    while isinstance(first, Product):
        first = first.children[0]
    while isinstance(last, Product):
        last = last.children[-1]
    return first, last + 1


def extents(sizes: Sequence[int], node: Product) -> tuple[int, ...]:
    """Return the sizes of a node's own chain: three for a product, four for a fused pair."""
    ends = [span(child) for child in node.children]
    return (sizes[ends[0][0]], *(sizes[end] for _, end in ends))


def nodes(tree: Tree) -> Iterator[Product]:
    """Yield a tree's nodes in an order in which they can be computed."""
    if isinstance(tree, int):
        return
    for child in tree.children:
        yield from nodes(child)
    yield tree


def operation_count(fusion: str, p: Sequence[Size]) -> Size:
    """Return the multiply-adds of a node, or of many (the thesis's op count).

    >>> operation_count("none", (2, 3, 4)), operation_count("left", (2, 3, 4, 5))
    (24, 64)
    """
    if fusion == "left":
        return p[0] * p[2] * (p[1] + p[3])
    if fusion == "right":
        return p[1] * p[3] * (p[2] + p[0])
    return p[0] * p[1] * p[2]


def operations(sizes: Sequence[int], products: Iterable[Product]) -> int:
    """Return the multiply-adds of some nodes."""
    return sum(operation_count(node.fusion, extents(sizes, node)) for node in products)


def halves(node: Product) -> tuple[Tree, Tree]:
    """Return the two operands of a node's last product; a fused child becomes a node of its own."""
    first, *middle, last = node.children
    if node.fusion == "left":
        return Product(children=(first, middle[0])), last
    if node.fusion == "right":
        return first, Product(children=(middle[0], last))
    return first, last


def unfused(tree: Tree) -> Tree:
    """Return the same parenthesisation without any fusion.

    >>> text(unfused(Product(children=(0, 1, 2), fusion="right")))
    '(A1 (A2 A3))'
    """
    if isinstance(tree, int):
        return tree
    left, right = halves(tree)
    return Product(children=(unfused(left), unfused(right)))


def text(tree: Tree, chain: Chain | None = None) -> str:
    """Write a tree; a fused intermediate stands in square brackets.

    >>> text(Product(children=(0, 1, 2), fusion="left"))
    '([A1 A2] A3)'
    """
    if isinstance(tree, int):
        return f"A{tree + 1}" if chain is None else chain.name(tree)
    parts = [text(child, chain) for child in tree.children]
    if tree.fusion == "left":
        return f"([{parts[0]} {parts[1]}] {parts[2]})"
    if tree.fusion == "right":
        return f"({parts[0]} [{parts[1]} {parts[2]}])"
    return f"({parts[0]} {parts[1]})"
