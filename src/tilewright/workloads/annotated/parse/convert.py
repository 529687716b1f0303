"""pycparser's trees of annotated regions as loop nests; what is no loop nest is refused by name."""

import re
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from tilewright.base.errors import UsageError
from tilewright.codegen.print.mathematics import MATH_FUNCTIONS
from tilewright.workloads.annotated.nests.nest import (
    MAX_DEPTH,
    ONE,
    Assign,
    Binary,
    Block,
    Call,
    Choose,
    Convert,
    Declare,
    Directive,
    Expr,
    If,
    Item,
    Loop,
    Name,
    Num,
    Stmt,
    Transform,
    Unary,
    block,
    names,
    swap,
    written,
)
from tilewright.workloads.annotated.nests.types import ELEMENTS, named
from tilewright.workloads.annotated.nests.values import evaluate

MATH = frozenset(name + tail for name in MATH_FUNCTIONS for tail in ("", "f")) | {"abs", "min", "max"}
"""The functions that a region may call."""
ALIASES = {
    "PetscScalar": "double",
    "PetscReal": "double",
    "PetscInt": "int",
    "ptrdiff_t": "long",
    "uint32_t": "unsigned",
    "uint64_t": "size_t",
}
LABEL = "tw_transform_"
_ASSIGNS = {"=": "=", "+=": "+=", "-=": "-=", "*=": "*=", "/=": "/=", "%=": "%="}


@dataclass(slots=True)
class Converter:
    """From pycparser's tree to ours."""

    where: str
    transforms: list[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=list)

    def fail(self, message: str, node: Any = None, hint: str = "") -> NoReturn:  # noqa: ANN401
        """Refuse, naming the line."""
        line = getattr(getattr(node, "coord", None), "line", None)
        where = self.where if line is None else f"{self.where}, line {max(1, line - 2)} of its code"
        raise UsageError(f"{message} in {where}", hint)

    def statement(self, node: Any, depth: int = 0) -> Stmt:  # noqa: ANN401
        """The statement of a tree."""
        if depth > MAX_DEPTH:
            self.fail(f"statements are at most {MAX_DEPTH} deep, got more", node)
        kind = type(node).__name__
        method = getattr(self, f"_{kind.lower()}", None)
        if method is None or kind in {"Constant", "ID"}:
            self.fail(f"a region is made of for, if, assignments and declarations, got {kind}", node)
        result: Stmt = method(node, depth)
        return result

    def _compound(self, node: Any, depth: int) -> Stmt:  # noqa: ANN401
        items = [self.statement(item, depth + 1) for item in node.block_items or []]
        return block(*_with_starts(_with_pragmas(items))) if items else Block(())

    def _decllist(self, node: Any, depth: int) -> Stmt:  # noqa: ANN401
        return Block(tuple(self.statement(item, depth + 1) for item in node.decls))

    def _emptystatement(self, _node: Any, _depth: int) -> Stmt:  # noqa: ANN401
        return Block(())

    def _pragma(self, node: Any, _depth: int) -> Stmt:  # noqa: ANN401
        text = str(node.string or "").strip()
        if not re.fullmatch(r"[\w ,():.+*=-]{0,300}", text):
            self.fail(f"a pragma is plain words, got {text[:60]!r}", node)
        return Directive(text)

    def _label(self, node: Any, depth: int) -> Stmt:  # noqa: ANN401
        if not node.name.startswith(LABEL):
            self.fail(f"a region has no labels, got {node.name[:40]!r}", node)
        name, args = self.transforms[int(node.name[len(LABEL) :])]
        return Transform(name, args, self.statement(node.stmt, depth + 1))

    def _if(self, node: Any, depth: int) -> Stmt:  # noqa: ANN401
        then = Block(()) if node.iftrue is None else self.statement(node.iftrue, depth + 1)
        other = None if node.iffalse is None else self.statement(node.iffalse, depth + 1)
        return If(self.expression(node.cond), then, other)

    def _for(self, node: Any, depth: int) -> Stmt:  # noqa: ANN401
        index, first, ctype = self._start(node)
        step = self._step(node.next, index, node)
        last = self._last(node.cond, index, step, node)
        if node.stmt is None:
            self.fail("a loop has a body", node)
        body = self.statement(node.stmt, depth + 1)
        if index in written(body):
            self.fail(f"the loop counter {index!r} is assigned in its body", node)
        return Loop(index=index, first=first, last=last, step=step, body=body, ctype=ctype)

    def _start(self, node: Any) -> tuple[str, Expr, str]:  # noqa: RET503, ANN401
        init = node.init
        if init is None:
            # It begins where its counter stands: what sets that is looked for in the block around.
            index = next((str(side.name) for side in _sides(node.cond) if type(side).__name__ == "ID"), "")
            if index and self._counts(node.next, index):
                return index, Name(index), ""
        kind = type(init).__name__
        if kind == "DeclList" and len(init.decls) == 1 and init.decls[0].init is not None:
            counter = init.decls[0]
            return str(counter.name), self.expression(counter.init), self.ctype(counter.type)
        if kind == "Assignment" and init.op == "=" and type(init.lvalue).__name__ == "ID":
            return str(init.lvalue.name), self.expression(init.rvalue), ""
        self.fail("a loop starts with counter = value", node, "write for (i = 0; i <= n-1; i++)")

    @staticmethod
    def _counts(node: Any, index: str) -> bool:  # noqa: ANN401
        """Whether the step of a loop changes a variable."""
        return index in {getattr(getattr(node, part, None), "name", "") for part in ("expr", "lvalue")}

    def _step(self, node: Any, index: str, loop: Any) -> int:  # noqa: ANN401
        step: int | float | None = None
        match type(node).__name__:
            case "UnaryOp" if node.op in {"p++", "++", "p--", "--"} and getattr(node.expr, "name", "") == index:
                step = 1 if "+" in node.op else -1
            case "Assignment" if getattr(node.lvalue, "name", "") == index:
                value = self.expression(node.rvalue)
                if node.op in {"+=", "-="}:
                    step = evaluate(value if node.op == "+=" else Unary("-", value), {})
                elif node.op == "=" and isinstance(value, Binary) and value.op in {"+", "-"}:
                    right = value.right if value.left == Name(index) else value.left if value.op == "+" else None
                    other = value.left if right is value.right else value.right
                    if right is not None and other == Name(index):
                        step = evaluate(right if value.op == "+" else Unary("-", right), {})
        if not isinstance(step, int) or step == 0:
            self.fail(f"the loop over {index!r} does not step by a literal", loop, "write i++ or i += 2")
        return step

    def _last(self, node: Any, index: str, step: int, loop: Any) -> Expr:  # noqa: RET503, ANN401
        if type(node).__name__ == "BinaryOp" and getattr(node.left, "name", "") == index:
            bound = self.expression(node.right)
            if index in names(bound):
                self.fail(f"the bound of the loop over {index!r} depends on its counter", loop)
            if node.op == ("<=" if step > 0 else ">="):
                return bound
            if node.op == ("<" if step > 0 else ">"):
                return minus_one(bound) if step > 0 else Binary("+", bound, ONE)
        if type(node).__name__ == "BinaryOp" and getattr(node.right, "name", "") == index:
            bound = self.expression(node.left)
            if node.op == (">=" if step > 0 else "<="):
                return bound
            if node.op == (">" if step > 0 else "<"):
                return minus_one(bound) if step > 0 else Binary("+", bound, ONE)
        self.fail(f"the loop over {index!r} does not end at a bound", loop, f"write {index} <= last")

    def _assignment(self, node: Any, _depth: int) -> Stmt:  # noqa: ANN401
        if node.op not in _ASSIGNS:
            self.fail(f"assignments are = += -= *= /= %=, got {node.op}", node)
        target = self.expression(node.lvalue)
        if not isinstance(target, Name | Item):
            self.fail("only variables and array elements are assigned", node)
        extent = self.allocation(node.rvalue) if isinstance(target, Name) else None
        if extent is not None and isinstance(target, Name):
            return Declare(ctype="void", name=target.name, dims=(extent,), heap=True)
        if type(node.rvalue).__name__ == "Assignment":
            # a = b = c: the inner one first, then its target's value.
            inner = self._assignment(node.rvalue, 0)
            last = inner.body[-1] if isinstance(inner, Block) else inner
            if not isinstance(last, Assign):
                self.fail("assignments are chained with variables", node)
            return block(inner, Assign(target, node.op, last.target))
        return Assign(target, node.op, self.expression(node.rvalue))

    def _unaryop(self, node: Any, _depth: int) -> Stmt:  # noqa: ANN401
        target = self.expression(node.expr) if node.op in {"p++", "++", "p--", "--"} else None
        if not isinstance(target, Name | Item):
            self.fail("a statement is an assignment", node)
        return Assign(target, "+=" if "+" in node.op else "-=", ONE)

    def _exprlist(self, node: Any, depth: int) -> Stmt:  # noqa: ANN401
        return block(*(self.statement(each, depth + 1) for each in node.exprs))

    def _funccall(self, node: Any, _depth: int) -> Stmt:  # noqa: RET503, ANN401
        name = getattr(node.name, "name", "a computed function")
        if name == "free":
            return Block(())
        self.fail(f"a region calls no function for its effect, got {str(name)[:40]!r}", node)

    def _decl(self, node: Any, _depth: int) -> Stmt:  # noqa: ANN401
        if node.name is None or set(node.storage or ()) - {"register", "static", "auto", "extern"}:
            self.fail("a declaration is of a variable", node)
        dims: list[Expr] = []
        inner = node.type
        while type(inner).__name__ == "ArrayDecl":
            dims.append(ONE if inner.dim is None else self.expression(inner.dim))
            inner = inner.type
        stars = 0
        while type(inner).__name__ == "PtrDecl":
            stars += 1
            inner = inner.type
        if type(inner).__name__ != "TypeDecl" or stars > 2:
            self.fail(f"the declaration of {node.name!r} is of no number or array", node)
        ctype = self.ctype(inner)
        if stars:
            return self._pointer(node, ctype, dims, stars)
        value: Expr | tuple[Expr, ...] | None = None
        if type(node.init).__name__ == "InitList":
            value = tuple(self.expression(each) for each in node.init.exprs)
        elif node.init is not None:
            value = self.expression(node.init)
        return Declare(ctype=ctype, name=node.name, dims=tuple(dims), value=value)

    def _pointer(self, node: Any, ctype: str, dims: list[Expr], stars: int) -> Stmt:  # noqa: ANN401
        """``double *t = (double *) malloc(n * sizeof(double))`` declares an array; without a value it has no extent."""
        if dims:
            self.fail(f"{node.name!r} is an array of pointers", node)
        if node.init is None:
            return Declare(ctype=ctype, name=node.name, dims=(Num("0"),) * stars, heap=True)
        extent = self.allocation(node.init)
        if extent is None or stars > 1:
            self.fail(f"the pointer {node.name!r} is set to something else than malloc of its elements", node)
        return Declare(ctype=ctype, name=node.name, dims=(extent,), heap=True)

    def allocation(self, node: Any) -> Expr | None:  # noqa: ANN401
        """Return the number of elements of a call of malloc or calloc, or None if it is none."""
        if type(node).__name__ == "Cast":
            node = node.expr
        if type(node).__name__ != "FuncCall" or getattr(node.name, "name", "") not in {"malloc", "calloc"}:
            return None
        factors = [part for each in node.args.exprs for part in _factors(each)]
        sizes = [part for part in factors if type(part).__name__ == "UnaryOp" and part.op == "sizeof"]
        others = [self.expression(part) for part in factors if part not in sizes]
        if len(sizes) != 1:
            return None
        result: Expr = others[0] if others else ONE
        for other in others[1:]:
            result = Binary("*", result, other)
        return result

    def ctype(self, node: Any) -> str:  # noqa: ANN401
        """Return the arithmetic type that a declaration names."""
        if type(node).__name__ != "TypeDecl" or type(node.type).__name__ != "IdentifierType":
            self.fail("types are numbers'", node)
        words = [word for word in getattr(node.type, "names", []) if word != "register"] or ["int"]
        ctype = ALIASES.get(" ".join(words)) or named(words)
        if ctype is None:
            self.fail(f"types are {', '.join(sorted(ELEMENTS))}, got {' '.join(words)[:40]!r}", node)
        return ctype

    def expression(self, node: Any, depth: int = 0) -> Expr:  # noqa: PLR0911, RET503, ANN401
        """The expression of a tree."""
        if depth > MAX_DEPTH:
            self.fail(f"expressions are at most {MAX_DEPTH} deep, got more", node)
        match type(node).__name__:
            case "Constant" if node.type not in {"string", "char"}:
                return Num(node.value)
            case "ID":
                return Name(node.name)
            case "ArrayRef":
                return self._reference(node, depth)
            case "BinaryOp":
                return Binary(node.op, self.expression(node.left, depth + 1), self.expression(node.right, depth + 1))
            case "UnaryOp" if node.op in {"-", "+", "!", "~"}:
                return Unary(node.op, self.expression(node.expr, depth + 1))
            case "TernaryOp":
                parts = (node.cond, node.iftrue, node.iffalse)
                return Choose(*(self.expression(part, depth + 1) for part in parts))
            case "Cast":
                return Convert(self.ctype(node.to_type.type), self.expression(node.expr, depth + 1))
            case "FuncCall":
                return self._function(node, depth)
        self.fail(f"an expression is numbers, variables, array elements and operators, got {type(node).__name__}", node)

    def _reference(self, node: Any, depth: int) -> Expr:  # noqa: ANN401
        index: list[Expr] = []
        while type(node).__name__ == "ArrayRef":
            index.insert(0, self.expression(node.subscript, depth + 1))
            node = node.name
        if type(node).__name__ != "ID" or len(index) > 8:
            self.fail("an array is named before its indices", node)
        return Item(node.name, tuple(index))

    def _function(self, node: Any, depth: int) -> Expr:  # noqa: ANN401
        name = getattr(node.name, "name", "")
        if name not in MATH:
            self.fail(
                f"a region calls mathematical functions only, got {str(name)[:40]!r}", node, "see docs: annotated C"
            )
        args = () if node.args is None else tuple(self.expression(each, depth + 1) for each in node.args.exprs)
        return Call(name, args)


def _sides(node: Any) -> tuple[Any, ...]:  # noqa: ANN401
    return (node.left, node.right) if type(node).__name__ == "BinaryOp" else ()


def _with_starts(items: list[Stmt]) -> list[Stmt]:
    """Let a loop without a start of its own begin with what the statement before it gives its counter.

    Before: ``i = 0; for (; i < n; i++) …``. After: ``for (i = 0; i < n; i++) …``
    """
    out: list[Stmt] = []
    for item in items:
        loop, last = item, out[-1] if out else None
        while isinstance(loop, Transform):
            loop = loop.body
        if isinstance(loop, Loop) and loop.first == Name(loop.index):
            if isinstance(last, Assign) and last.target == loop.first and last.op == "=":
                out[-1] = swap(item, loop, replace(loop, first=last.value))
                continue
            if isinstance(last, Declare) and last.name == loop.index and isinstance(last.value, Expr):
                out.append(swap(item, loop, replace(loop, first=last.value)))
                continue
        out.append(item)
    return out


def _factors(node: Any) -> list[Any]:  # noqa: ANN401
    if type(node).__name__ == "BinaryOp" and node.op == "*":
        return [*_factors(node.left), *_factors(node.right)]
    return [node]


def minus_one(bound: Expr) -> Expr:
    """Return bound - 1, simplified where it is x + 1 or a literal.

    >>> minus_one(Num("8"))
    Num(text='7')
    """
    if isinstance(bound, Num) and isinstance(value := evaluate(bound, {}), int):
        return Num(str(value - 1))
    if isinstance(bound, Binary) and bound.op == "+" and bound.right == ONE:
        return bound.left
    return Binary("-", bound, ONE)


def _with_pragmas(items: list[Stmt]) -> list[Stmt]:
    """A directive before a loop is a part of it."""
    out: list[Stmt] = []
    for item in items:
        if out and isinstance(out[-1], Directive) and isinstance(item, Loop):
            pragma = out.pop()
            if isinstance(pragma, Directive):
                item = replace(item, pragmas=(pragma.text, *item.pragmas))  # noqa: PLW2901
        out.append(item)
    return out
