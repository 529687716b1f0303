"""Walking over IR, and changing it from the leaves up.

What stays the same stays the same object, so that ``after is before`` says that nothing was found to change; an
expression that stands in several places as one object is changed once.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeVar, cast

from tilewright.codegen.ir import nodes
from tilewright.codegen.ir.expressions import Call, Expr, Intrinsic, Load, Op, Shift
from tilewright.codegen.ir.nodes import Function, Stmt

Pass = Callable[[Function], Function]
"""What a rewriting of kernels is: a function for a function. Its docstring says what was there before and after."""
Body = tuple[Stmt, ...]
ExprChange = Callable[[Expr], Expr]
"""What stands in place of an expression whose operands are changed already; itself if nothing does."""
StmtChange = Callable[[Stmt], Body]
"""What stands in place of a statement whose parts are changed already; itself alone if nothing does."""
_Node = TypeVar("_Node", Expr, Stmt)

_OPERANDS: dict[type, tuple[str, ...]] = {
    Op: ("args",),
    Load: ("base", "index"),
    Call: ("args",),
    Intrinsic: ("args",),
    Shift: ("own", "other"),
    nodes.Let: ("value",),
    nodes.Mutable: ("value",),
    nodes.Assign: ("value",),
    nodes.Store: ("base", "index", "value"),
    nodes.For: ("low", "high", "step"),
    nodes.While: ("condition",),
    nodes.If: ("condition",),
    nodes.Parallel: ("threads",),
    nodes.Declare: ("extents", "values"),
    nodes.Update: ("place", "value"),
}
"""Fields that hold an expression or several."""
_BODIES: dict[type, tuple[str, ...]] = {
    nodes.For: ("body",),
    nodes.While: ("body",),
    nodes.If: ("then", "otherwise"),
    nodes.Scope: ("body",),
    nodes.Parallel: ("body",),
}
"""Fields that hold statements."""


def operands(node: Expr | Stmt) -> tuple[Expr, ...]:
    """Return the expressions that a node holds itself, in the order in which they are written."""
    expressions: list[Expr] = []
    for name in _OPERANDS.get(type(node), ()):
        part = getattr(node, name)
        if isinstance(part, tuple):
            expressions += part
        else:
            expressions.append(part)
    return tuple(expressions)


def bodies(node: Expr | Stmt) -> tuple[Body, ...]:
    """Return the sequences of statements that a statement holds."""
    return tuple(getattr(node, name) for name in _BODIES.get(type(node), ()))


def walk(root: Expr | Stmt | Function | Iterable[Stmt]) -> Iterator[Expr | Stmt]:
    """Yield every statement and expression, those that hold others first.

    >>> from tilewright.codegen import ir
    >>> [type(node).__name__ for node in walk(ir.Let(ir.Var("x"), ir.Var("y") + 1))]
    ['Let', 'Op', 'Var', 'Int']
    """
    left: list[Expr | Stmt] = list(reversed(_roots(root)))
    while left:
        node = left.pop()
        yield node
        inside: list[Expr | Stmt] = list(operands(node))
        for body in bodies(node):
            inside += body
        left += reversed(inside)


def _roots(root: Expr | Stmt | Function | Iterable[Stmt]) -> list[Expr | Stmt]:
    if isinstance(root, Function):
        return [*root.body, *([] if root.result is None else [root.result])]
    return list(root) if isinstance(root, Iterable) else [root]


class _Mapper:
    """Changes expressions and statements, remembering every expression that was met."""

    def __init__(self, expr: ExprChange | None, stmt: StmtChange | None) -> None:
        self.change_expr, self.change_stmt = expr, stmt
        self.known: dict[int, Expr] = {}

    def expr(self, node: Expr) -> Expr:
        change = self.change_expr
        if change is None:
            return node
        changed = self.known.get(id(node))
        if changed is None:
            changed = self.known[id(node)] = change(self.parts(node))
        return changed

    def parts(self, node: _Node) -> _Node:
        changed: dict[str, Any] = {}
        for name in _OPERANDS.get(type(node), ()):
            old = getattr(node, name)
            new: Any
            if isinstance(old, tuple):
                new = tuple(self.expr(each) for each in old)
                if all(a is b for a, b in zip(old, new, strict=True)):
                    continue
            else:
                new = self.expr(old)
            if new is not old:
                changed[name] = new
        return cast("_Node", replace(cast("Any", node), **changed)) if changed else node

    def body(self, body: Body) -> Body:
        new: list[Stmt] = []
        for node in body:
            new += self.stmt(node)
        return body if len(new) == len(body) and all(map(_same, new, body)) else tuple(new)

    def stmt(self, node: Stmt) -> Body:
        node = self.parts(node)
        changed: dict[str, Any] = {}
        for name in _BODIES.get(type(node), ()):
            old = getattr(node, name)
            new = self.body(old)
            if new is not old:
                changed[name] = new
        node = replace(node, **changed) if changed else node
        return (node,) if self.change_stmt is None else self.change_stmt(node)


def _same(one: object, other: object) -> bool:
    return one is other


def map_function(function: Function, *, expr: ExprChange | None = None, stmt: StmtChange | None = None) -> Function:
    """Return a function with every expression and statement changed, inner ones first.

    Names that statements introduce, and those that are assigned to, are no expressions: ``expr`` does not see them.
    """
    mapper = _Mapper(expr, stmt)
    body = mapper.body(function.body)
    result = None if function.result is None else mapper.expr(function.result)
    if body is function.body and result is function.result:
        return function
    return replace(function, body=body, result=result)
