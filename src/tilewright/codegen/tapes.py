"""Sums as processors like them: shared between neighbouring rows, and in chains that are not too long.

Before: ``((a + b) + c) + …``, one addition waiting for the other. After: partial sums that are added at the end
(LLVM: reassociation; Halide: ``rfactor`` of a reduction). A sum of plain reads is grouped by rows, so that the rows'
sums are common to neighbouring results, which the compiler then computes once (array subexpression elimination: Deitz,
Chamberlain and Snyder, ICS 2001). The result differs in rounding, so strict kernels keep the program's order.
"""

import itertools
from collections.abc import Sequence

from tilewright.base.intmath import ceil_div
from tilewright.codegen import ir
from tilewright.codegen.sites import Site
from tilewright.programs.stencil.expression import Apply, Const, Node, Read, Tape
from tilewright.programs.stencil.powers import reduce_operators
from tilewright.schedules.code import KernelCode


def in_any_order(tape: Tape, site: Site) -> Tape:
    """Regroup the sums of a tape, write short powers as products, and take divisions by roots together.

    A kernel that keeps its order keeps them all.
    """
    if site.keeps_order:
        return tape
    return regroup(fuse(tape, site.dtype), site.body)


def fuse(tape: Tape, dtype: ir.Element) -> Tape:
    """Write short powers as products and some remainders as differences, and take divisions by roots together."""
    tape = tape if dtype.is_complex else reduce_operators(tape, rounds=dtype.is_float)
    return fuse_roots(tape) if dtype.name == "float32" else tape


def fuse_roots(tape: Tape) -> Tape:
    """Name divisions by a square root, which processors do much faster together.

    Before: ``a / sqrt(b)``, two operations. After: ``over_sqrt(a, b)``, one, written as the product with a reciprocal
    square root that one step refines, where the processor approximates one.
    """
    result: list[Node] = list(tape)
    for position, node in enumerate(tape):
        if isinstance(node, Apply) and node.op == "div":
            left, right = node.args
            root = tape[right]
            if isinstance(root, Apply) and root.op == "sqrt" and not isinstance(tape[root.args[0]], Const):
                result[position] = Apply("over_sqrt", (left, root.args[0]))
    return tuple(result)


def regroup(tape: Tape, body: KernelCode) -> Tape:
    """Regroup every sum of a tape: into chains as long as ``body`` says, and by rows where it says so.

    >>> from tilewright.programs.stencil.catalogue import program
    >>> tape = program("heat2d").statements[0].tape
    >>> new = regroup(tape, KernelCode(chain=12, grouped=6, piece=1, part=1))
    >>> len(new) == len(tape), new == tape
    (True, False)
    """
    inner = _inner_sums(tape)
    builder = _Builder(tape, inner, body)
    for position in range(len(tape)):
        builder.add(position)
    return tuple(builder.nodes)


def _is_sum(node: Node) -> bool:
    return isinstance(node, Apply) and node.op == "add"


def _inner_sums(tape: Tape) -> frozenset[int]:
    """Sums that only a larger sum uses, and that once."""
    users: dict[int, list[int]] = {}
    for position, node in enumerate(tape):
        if isinstance(node, Apply):
            for arg in node.args:
                users.setdefault(arg, []).append(position)
    return frozenset(
        position
        for position, node in enumerate(tape)
        if _is_sum(node) and len(users.get(position, [])) == 1 and _is_sum(tape[users[position][0]])
    )


class _Builder:
    def __init__(self, tape: Tape, inner: frozenset[int], body: KernelCode) -> None:
        self.body = body
        self.tape = tape
        self.inner = inner
        self.nodes: list[Node] = []
        self.moved: dict[int, int] = {}

    def add(self, position: int) -> None:
        node = self.tape[position]
        if position in self.inner:
            return
        if not isinstance(node, Apply):
            self.moved[position] = self.push(node)
        elif node.op == "add":
            self.moved[position] = self.total(self.groups(self.terms(position)))
        else:
            self.moved[position] = self.push(Apply(node.op, tuple(self.moved[arg] for arg in node.args)))

    def push(self, node: Node) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def terms(self, position: int) -> list[int]:
        terms: list[int] = []
        stack = [position]
        while stack:
            at = stack.pop()
            node = self.tape[at]
            if (at == position or at in self.inner) and isinstance(node, Apply):
                stack.extend(reversed(node.args))
            else:
                terms.append(at)
        return terms

    def groups(self, terms: list[int]) -> list[int]:
        """Partial sums, as positions of new nodes."""
        reads = [self.tape[term] for term in terms]
        if len(terms) >= self.body.grouped and all(isinstance(read, Read) for read in reads):
            return self.by_rows(terms, 1)
        chunks = ceil_div(len(terms), self.body.chain)
        cuts = [len(terms) * i // chunks for i in range(chunks + 1)]
        return [self.total([self.moved[term] for term in terms[a:b]]) for a, b in itertools.pairwise(cuts)]

    def by_rows(self, terms: list[int], depth: int) -> list[int]:
        """Sums of the reads that share field, level and the first ``depth`` offsets, inner ones first."""
        groups: dict[object, list[int]] = {}
        for term in terms:
            read = self.tape[term]
            if isinstance(read, Read):
                groups.setdefault((read.field, read.level, read.offset[:depth]), []).append(term)
        result = []
        for group in groups.values():
            first = self.tape[group[0]]
            deeper = isinstance(first, Read) and depth < len(first.offset) - 1
            parts = self.by_rows(group, depth + 1) if deeper else [self.moved[term] for term in group]
            result.append(self.total(parts))
        return result

    def total(self, parts: Sequence[int]) -> int:
        result = parts[0]
        for part in parts[1:]:
            result = self.push(Apply("add", (result, part)))
        return result
