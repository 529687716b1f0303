"""Loops whose conditions tell their first and last iterations from the others, split into edges and interior.

Branches at a grid's boundary keep a compiler from vectorising what is the same everywhere else. The first and the last
iteration get copies of the body of their own, and what is left has no condition on the counter (index-set splitting:
Kennedy and Allen, Optimizing Compilers for Modern Architectures, section 5.7; loop peeling). The order of the
iterations stays the same, so that this is always legal.
"""

from collections import Counter
from dataclasses import replace

from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.affine import terms
from tilewright.workloads.annotated.nests.values import constant, evaluate

MOST = 4000  # largest result, in statements and parts of expressions
_COMPARES = frozenset({"<", "<=", ">", ">=", "==", "!="})
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def has_edges(stmt: tree.Stmt) -> bool:
    """Whether a loop of a statement has a condition that holds or fails at its ends alone."""
    return any(map(_compares_bound, tree.loops(stmt)))


def split_edges(stmt: tree.Stmt) -> tree.Stmt:
    """Split loops into their ends and the interior, the outer ones first.

    Before: ``for (i = 0; i <= n; i++) if (i == 0 || i == n) y[i] = 0; else y[i] = x[i-1] + x[i+1];``. After:
    ``if (0 <= n) y[0] = 0; for (i = 1; i <= n - 1; i++) y[i] = x[i-1] + x[i+1]; if (0 < n) y[n] = 0;``
    """
    new = _split(stmt)
    return new if tree.size(new) <= MOST else stmt


def _split(stmt: tree.Stmt) -> tree.Stmt:
    if isinstance(stmt, tree.Loop) and _compares_bound(stmt):
        return _parts(stmt)
    return tree.with_parts(stmt, tuple(map(_split, tree.parts(stmt))))


def _compares_bound(loop: tree.Loop) -> bool:
    """Whether a condition inside a loop compares its counter with one of its bounds, which nothing inside changes."""
    inside = tree.written(loop.body) | tree.counters(loop.body)
    if loop.step != 1 or loop.pragmas or loop.launch:
        return False
    if tree.mentioned(loop.first, loop.last) & inside:
        return False
    tests = [node.test for node in tree.every(loop.body, tree.If)]
    return any(_side(part, loop) is not None for test in tests for part in tree.walk(test))


def _side(expr: tree.Expr, loop: tree.Loop) -> bool | None:
    """Return whether a comparison of a counter with an end of its loop holds in the interior; None for another one."""
    if not isinstance(expr, tree.Binary) or expr.op not in _COMPARES:
        return None
    op, left, right = expr.op, expr.left, expr.right
    if right == tree.Name(loop.index):
        op, left, right = _MIRRORED[op], right, left
    if left != tree.Name(loop.index):
        return None
    for end, below in ((loop.first, True), (loop.last, False)):
        if _same(right, end):
            # In the interior the counter is above the first and below the last value.
            return op in ({">", ">=", "!="} if below else {"<", "<=", "!="})
    above, below_all = loop.last + 1, loop.first - 1
    if (op in {"<", ">="} and _same(right, above)) or (op in {"<=", ">"} and _same(right, below_all)):
        return op in {"<", ">"}
    return None


def _same(expr: tree.Expr, other: tree.Expr) -> bool:
    total = _sum(expr)
    return expr == other or (total is not None and total == _sum(other))


def _sum(expr: tree.Expr) -> dict[str, int] | None:
    """Return the factors of names and the constant (under an empty name) of a sum, or None if it is none."""
    summands = terms(expr)
    if summands is None or any(isinstance(part, tree.Binary) and part.op == "*" for part in tree.walk(expr)):
        return None
    total = Counter[str]()
    for number, factors in summands:
        total["".join(tree.names(*factors))] += number
    return {name: factor for name, factor in total.items() if factor}


def _parts(loop: tree.Loop) -> tree.Stmt:
    first, last = loop.first, loop.last
    ends = [tree.rename(loop.body, {loop.index: bound}) for bound in (first, last)]
    inside = simplified(tree.map_expressions(loop.body, lambda part: _outcome(part, loop)))
    after, before = (_sum_of(first, 1), _sum_of(last, -1))
    interior = replace(loop, first=after, last=before, body=_split(inside))
    return tree.block(
        tree.If(first <= last, _split(simplified(ends[0]))),
        interior,
        tree.If(first < last, _split(simplified(ends[1]))),
    )


def _sum_of(bound: tree.Expr, amount: int) -> tree.Expr:
    if (value := constant(bound)) is not None:
        return tree.integer(value + amount)
    return bound + amount if amount > 0 else bound - -amount


def _outcome(part: tree.Expr, loop: tree.Loop) -> tree.Expr:
    side = _side(part, loop)
    return part if side is None else tree.integer(int(side))


def simplified(stmt: tree.Stmt) -> tree.Stmt:
    """Return a statement without conditions whose value is known, and without sums with such values in conditions."""

    def change(node: tree.Stmt) -> tree.Stmt:
        if not isinstance(node, tree.If):
            return node
        test = tree.rebuild(node.test, _folded_condition)
        value = evaluate(test, {})
        if value is None:
            return tree.If(test, node.then, node.other)
        return node.then if value else node.other or tree.Block(())

    return tree.map_statements(stmt, change)


def _folded_condition(expr: tree.Expr) -> tree.Expr:
    """Return a part of a condition with what is known of it worked out."""
    match expr:
        case tree.Binary("||" | "&&" as op, left, right):
            decides = op == "||"
            for side, other in ((left, right), (right, left)):
                value = evaluate(side, {})
                if value is not None and bool(value) == decides:
                    return tree.integer(int(decides))
                if value is not None and _is_truth(other):
                    return other
        case tree.Unary("!", operand):
            value = evaluate(operand, {})
            return expr if value is None else tree.integer(not value)
        case tree.Binary(op, left, right) if op in _COMPARES:
            apart = _sum(left - right)
            if apart is not None and not apart.keys() - {""}:
                value = evaluate(tree.Binary(op, tree.integer(apart.get("", 0)), tree.integer(0)), {})
                return expr if value is None else tree.integer(int(value))
    return expr


def _is_truth(expr: tree.Expr) -> bool:
    return (isinstance(expr, tree.Binary) and expr.op in _COMPARES | {"&&", "||"}) or (
        isinstance(expr, tree.Unary) and expr.op == "!"
    )
