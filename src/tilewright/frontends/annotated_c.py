"""The C of annotated regions, as loop nests. pycparser reads it; what is no loop nest is refused by name.

``transform NAME(…) statement`` is not C: it is read here, and stands for its place as a label while pycparser parses.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from tilewright.base.errors import UsageError
from tilewright.frontends.annotated_spec import arguments
from tilewright.programs.loopnest import (
    INTEGER_TYPES,
    MAX_DEPTH,
    ONE,
    REAL_TYPES,
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
    evaluate,
    names,
    written,
)
from tilewright.programs.loopnest_math import MATH_FUNCTIONS

MAX_CODE = 2**17
"""Longest code of a region, characters."""
_MOST_BRACKETS = 60
MATH = frozenset(name + tail for name in MATH_FUNCTIONS for tail in ("", "f")) | {"abs", "min", "max"}
"""The functions that a region may call."""
_TYPEDEFS = "typedef int int32_t; typedef long int64_t; typedef unsigned long size_t; typedef double PetscScalar; "
_TYPEDEFS += "typedef double PetscReal; typedef int PetscInt; typedef int bool;\n"
_ALIASES = {"PetscScalar": "double", "PetscReal": "double", "PetscInt": "int", "bool": "int", "long long": "int64_t"}
_TRANSFORM = re.compile(r"\btransform\s+(?P<name>[A-Za-z_]\w*)\s*\(")
_LABEL = "tw_transform_"
_KEYWORDS = re.compile(r"\b(?:asm|__asm__|__attribute__|goto|_Pragma|__builtin_\w+|_Generic|typeof|__typeof__)\b")
_ASSIGNS = {"=": "=", "+=": "+=", "-=": "-=", "*=": "*=", "/=": "/=", "%=": "%="}


@dataclass(slots=True)
class _Converter:
    """From pycparser's tree to ours."""

    where: str
    transforms: list[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=list)

    def fail(self, message: str, node: Any = None, hint: str = "") -> NoReturn:  # noqa: ANN401
        line = getattr(getattr(node, "coord", None), "line", None)
        where = self.where if line is None else f"{self.where}, line {max(1, line - 2)} of its code"
        raise UsageError(f"{message} in {where}", hint)

    def statement(self, node: Any, depth: int = 0) -> Stmt:  # noqa: ANN401
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
        return block(*_pragmas_attached(items)) if items else Block(())

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
        if not node.name.startswith(_LABEL):
            self.fail(f"a region has no labels, got {node.name[:40]!r}", node)
        name, args = self.transforms[int(node.name[len(_LABEL) :])]
        return Transform(name, args, self.statement(node.stmt, depth + 1))

    def _if(self, node: Any, depth: int) -> Stmt:  # noqa: ANN401
        then = Block(()) if node.iftrue is None else self.statement(node.iftrue, depth + 1)
        other = None if node.iffalse is None else self.statement(node.iffalse, depth + 1)
        return If(self.expression(node.cond), then, other)

    def _for(self, node: Any, depth: int) -> Stmt:  # noqa: ANN401
        index, first = self._start(node)
        step = self._step(node.next, index, node)
        last = self._last(node.cond, index, step, node)
        if node.stmt is None:
            self.fail("a loop has a body", node)
        body = self.statement(node.stmt, depth + 1)
        if index in written(body):
            self.fail(f"the loop counter {index!r} is assigned in its body", node)
        return Loop(index=index, first=first, last=last, step=step, body=body)

    def _start(self, node: Any) -> tuple[str, Expr]:  # noqa: RET503, ANN401
        init = node.init
        kind = type(init).__name__
        if kind == "DeclList" and len(init.decls) == 1 and init.decls[0].init is not None:
            return str(init.decls[0].name), self.expression(init.decls[0].init)
        if kind == "Assignment" and init.op == "=" and type(init.lvalue).__name__ == "ID":
            return str(init.lvalue.name), self.expression(init.rvalue)
        self.fail("a loop starts with counter = value", node, "write for (i = 0; i <= n-1; i++)")

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
        words = [word for word in getattr(node.type, "names", []) if word not in {"signed", "register"}]
        text = " ".join(words) or "int"
        text = "unsigned" if "unsigned" in words else _ALIASES.get(text, text)
        text = {"long int": "long", "short int": "short", "long double": "double"}.get(text, text)
        if text not in INTEGER_TYPES | REAL_TYPES:
            self.fail(f"types are {', '.join(sorted(INTEGER_TYPES | REAL_TYPES))}, got {text[:40]!r}", node)
        return text

    def expression(self, node: Any, depth: int = 0) -> Expr:  # noqa: PLR0911, RET503, ANN401
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


def _pragmas_attached(items: list[Stmt]) -> list[Stmt]:
    """A directive before a loop is a part of it."""
    out: list[Stmt] = []
    for item in items:
        if out and isinstance(out[-1], Directive) and isinstance(item, Loop):
            pragma = out.pop()
            if isinstance(pragma, Directive):
                item = Loop(  # noqa: PLW2901
                    index=item.index,
                    first=item.first,
                    last=item.last,
                    step=item.step,
                    body=item.body,
                    pragmas=(pragma.text, *item.pragmas),
                )
        out.append(item)
    return out


def parse_code(text: str, where: str) -> Stmt:
    """Read a region's code: statements of C, some of them with ``transform NAME(…)`` before them.

    Args:
        text: The code, without comments and with its macros expanded.
        where: What an error calls it.

    Returns:
        The statements.

    Raises:
        UsageError: If it is no loop nest.
    """
    converter = _Converter(where)
    plain = _labelled(text, converter)
    items = _parse(plain, converter)
    converter.where = where
    try:
        return converter.statement(items)
    except RecursionError:
        converter.fail("the code is nested too deeply")


def _parse(plain: str, converter: _Converter) -> Any:  # noqa: ANN401
    """Parse statements into a compound statement of pycparser's."""
    unit = _parsed(f"{_TYPEDEFS}void tw_region(void)\n{{{_checked(plain, converter)}\n}}\n", converter)
    if len(unit.ext) == 0 or type(unit.ext[-1]).__name__ != "FuncDef" or unit.ext[-1].decl.name != "tw_region":
        converter.fail("the code is statements only, got something outside them")
    return unit.ext[-1].body


def _checked(plain: str, converter: _Converter) -> str:
    """Return code that is worth parsing: of bounded length and depth, and without what C adds for compilers."""
    if len(plain) > MAX_CODE:
        converter.fail(f"a region has at most {MAX_CODE} characters of code, got {len(plain)}")
    bad = _KEYWORDS.search(plain)
    if bad is not None:
        converter.fail(f"a region is plain C, got {bad[0]!r}")
    depth = 0
    for character in plain:
        depth += (character in "([{") - (character in ")]}")
        if depth > _MOST_BRACKETS:
            converter.fail(f"code is at most {_MOST_BRACKETS} brackets deep, got more")
        if depth < 0:
            converter.fail("a bracket is closed that was not opened")
    return plain


def _parsed(text: str, converter: _Converter) -> Any:  # noqa: ANN401
    try:
        from pycparser import c_parser  # noqa: PLC0415  (an optional dependency)
    except ImportError:
        raise UsageError(
            "annotated C is read by pycparser, which is missing", "pip install 'tilewright[annotate]'"
        ) from None
    try:
        return c_parser.CParser().parse(text)
    except RecursionError:
        converter.fail("the code is nested too deeply")
    except Exception as error:  # noqa: BLE001  (pycparser has several, some without a common base)
        reason = re.sub(r"^:?\d*:?\d*:?\s*", "", str(error))[:80]
        converter.fail(f"the code cannot be read as C: {reason}", hint="a region is for, if, assignments, declarations")


def parse_unit(text: str, where: str) -> tuple[list[Declare], dict[str, Stmt]]:
    """Read a file of declarations and functions without arguments.

    Args:
        text: The file, without comments and directives.
        where: What an error calls it.

    Returns:
        The variables, and the bodies of the functions by name.

    Raises:
        UsageError: If there is anything else in it.
    """
    converter = _Converter(where)
    variables: list[Declare] = []
    bodies: dict[str, Stmt] = {}
    for item in _parsed(f"{_TYPEDEFS}{_checked(text, converter)}", converter).ext:
        kind = type(item).__name__
        if kind == "FuncDef":
            bodies[item.decl.name] = converter.statement(item.body)
        elif kind == "Decl" and type(item.type).__name__ != "FuncDecl":
            declared = converter.statement(item)
            variables += [declared] if isinstance(declared, Declare) else []
        elif kind not in {"Typedef", "Pragma", "Decl"}:
            converter.fail(f"a file of inputs holds declarations and functions, got {kind}")
    return variables, bodies


def _labelled(text: str, converter: _Converter) -> str:
    """Replace ``transform NAME(…)`` by labels; what has no statement behind it gets an empty one."""
    out: list[str] = []
    place = 0
    while (match := _TRANSFORM.search(text, place)) is not None:
        end = _closing(text, match.end())
        if end < 0:
            converter.fail(f"the arguments of transform {match['name'][:40]} are not closed")
        if len(converter.transforms) >= 500:
            converter.fail("a region has at most 500 transforms, got more")
        args = arguments(text[match.end() : end], f"transform {match['name'][:40]} of {converter.where}")
        out += [text[place : match.start()], f" {_LABEL}{len(converter.transforms)}: "]
        converter.transforms.append((match["name"], args))
        place = end + 1
    out.append(text[place:])
    plain = "".join(out)
    return plain + (" ;" if re.search(rf"{_LABEL}\d+:\s*$", plain) else "")


def _closing(text: str, start: int) -> int:
    depth, quote = 0, ""
    for place in range(start, len(text)):
        character = text[place]
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in "([{":
            depth += 1
        elif character in ")]}":
            if depth == 0:
                return place
            depth -= 1
    return -1


def parse_parameters(text: str) -> dict[str, Declare]:
    """Read a function's parameter list; what is no number or array is left out, what holds pointers is on the heap.

    >>> parse_parameters("int n, double *y")["y"].dims
    (Num(text='0'),)
    """
    found: dict[str, Declare] = {}
    for part in text.split(","):
        plain = re.sub(r"\b(const|restrict|__restrict__|__restrict|register|static)\b", " ", part).strip()
        match = re.fullmatch(
            r"(?P<type>[A-Za-z_][\w ]*?)\s*(?P<stars>\**)\s*(?P<name>[A-Za-z_]\w*)\s*(?P<dims>(?:\[[^\]]*\]\s*)*)",
            plain,
        )
        if match is None:
            continue
        ctype = _ALIASES.get(" ".join(match["type"].split()), " ".join(match["type"].split()))
        if ctype not in INTEGER_TYPES | REAL_TYPES:
            continue
        rank = len(match["stars"]) + match["dims"].count("[")
        found[match["name"]] = Declare(
            ctype=ctype, name=match["name"], dims=(Num("0"),) * rank, heap=len(match["stars"]) > 1
        )
    return found


_FUNCTION = re.compile(r"\b[A-Za-z_]\w*\s*\((?P<params>[^(){};]*)\)\s*\{")


def enclosing_parameters(text: str) -> Mapping[str, Declare]:
    """Return the parameters of the last function that begins in a text (without comments)."""
    best: Mapping[str, Declare] = {}
    for match in _FUNCTION.finditer(text):
        head = text[: match.start()].rstrip()
        word = re.search(r"(\w+)\s*$", text[: match.end()].partition("(")[0])
        if head and not head.endswith(("if", "for", "while", "switch")) and word is not None:
            best = parse_parameters(match["params"])
    return best
