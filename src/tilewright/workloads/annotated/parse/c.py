"""The C of annotated regions, as loop nests. pycparser reads it; what is no loop nest is refused by name.

``transform NAME(…) statement`` is not C: it is read here, and stands for its place as a label while pycparser parses.
"""

import contextlib
import re
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from tilewright.base.errors import UsageError, needed
from tilewright.codegen.print.elements import MATH_FUNCTIONS
from tilewright.workloads.annotated.nests import nest
from tilewright.workloads.annotated.nests.nest import MAX_DEPTH, ONE, Assign, Binary, Block, Declare, Expr, Name, Stmt
from tilewright.workloads.annotated.nests.values import ELEMENTS, evaluate, named
from tilewright.workloads.annotated.parse.spec import arguments, find

MAX_CODE = 2**17  # longest code of a region, characters
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
_MOST_BRACKETS = 60
TYPES = frozenset({*ALIASES, "bool", *(name for name in ELEMENTS if name.endswith("_t"))})
"""Types that C does not know by itself; pycparser has to be told that they are types, not which."""
NO_TYPES = frozenset(
    {"if", "else", "for", "while", "do", "switch", "case", "default", "break", "continue", "return", "goto", "sizeof"}
    | {"void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "struct", "union", "enum"}
    | {"typedef", "extern", "static", "auto", "register", "inline", "const", "volatile", "restrict", "_Thread_local"}
    | {"_Bool", "_Complex", "_Atomic", "_Alignas", "_Alignof", "_Noreturn", "_Static_assert", "_Pragma"}
    | {"__int128", "offsetof"}
)
"""C's own words, which are no names of types."""
_HEAD = "".join(f"typedef int {name}; " for name in sorted(TYPES)) + "\n"
_WORD = re.compile(r"[A-Za-z_]\w*")
_WORD_BEFORE = re.compile(r"[A-Za-z_]\w*\s*\Z|\(\s*[A-Za-z_]\w*\s*\)\s*\Z")
_LABEL = "tw_transform_"
_TRANSFORM = re.compile(r"\btransform\s+(?P<name>[A-Za-z_]\w*)\s*\(")
_KEYWORDS = re.compile(r"\b(?:asm|__asm__|__attribute__|goto|_Pragma|__builtin_\w+|_Generic|typeof|__typeof__)\b")
_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_FOR, _ALONE = "write for (i = first; i <= last; i++)", "write it as a statement of its own"
# What C programmers call what a region does not have, and what to write instead.
_CONSTRUCTS = {
    "While": ("a while loop", _FOR),
    "DoWhile": ("a do loop", _FOR),
    "Switch": ("switch", "write if and else"),
    "Break": ("break", "put what the rest of the loop does into if"),
    "Continue": ("continue", "put what the rest of the body does into if"),
    "Return": ("return", "end the region before it"),
    "Typedef": ("typedef", "put it before the region"),
    "StructRef": ("a member of a structure", "put it into a variable or array of its own before the region"),
    "CompoundLiteral": ("a compound literal", "declare a variable"),
    "Assignment": ("an assignment", _ALONE),
    "ExprList": ("a comma", "write two statements"),
    "++": ("'++'", _ALONE),
    "--": ("'--'", _ALONE),
    "&": ("'&', an address", "name the variable or array itself"),
    "*": ("'*', what a pointer points to", "write an array with a subscript, such as p[0]"),
    "sizeof": ("sizeof", "write the number"),
    "string": ("a text", ""),
    "char": ("a character", "write its number"),
}

Node = Any  # a node of pycparser's, which is loaded on first use; its class is asked for by name


def parse_code(text: str, where: str, *, around: bool = False) -> Stmt:
    """Read a region's code, without comments and macros: statements, some with ``transform NAME(…)`` before them."""
    # ``around``: what regions stand in, of which only what is known of them is taken
    converter = _Converter(where, around=around)
    plain = _labelled_text(text, converter)
    unit = _unit(f"{_HEAD}void tw_region(void)\n{{{_checked_code(plain, converter)}\n}}\n", converter)
    if len(unit.ext) == 0 or kind(unit.ext[-1]) != "FuncDef" or unit.ext[-1].decl.name != "tw_region":
        converter.fail("the code is statements only, got something outside them")
    try:
        return converter.statement(unit.ext[-1].body)
    except RecursionError:
        converter.fail("the code is nested too deeply")


def parse_expression(text: str, where: str) -> Expr:
    """Read one expression of C."""
    stmt = parse_code(f"tw_value = {text};", where)
    if isinstance(stmt, Assign) and stmt.op == "=" and stmt.target == Name("tw_value"):
        return stmt.value
    raise UsageError(f"{where} is one expression, got {text[:40]!r}")


def parse_unit(text: str, where: str) -> tuple[list[Declare], dict[str, Stmt]]:
    """Read a file of declarations and functions without arguments: variables, and bodies of functions by name."""
    converter = _Converter(where, around=True)
    variables: list[Declare] = []
    bodies: dict[str, Stmt] = {}
    for item in _unit(f"{_HEAD}{_checked_code(text, converter)}", converter).ext:
        if kind(item) == "FuncDef":
            bodies[item.decl.name] = converter.statement(item.body)
        elif kind(item) == "Decl" and kind(item.type) != "FuncDecl":
            declared = converter.statement(item)
            variables += [declared] if isinstance(declared, Declare) else []
        elif kind(item) not in {"Typedef", "Pragma", "Decl"}:
            converter.fail(f"a file of inputs holds declarations and functions, got {kind(item)}")
    return variables, bodies


def without_transforms(text: str) -> str:
    """Return a region's code with its ``transform NAME(…)`` taken out, as C text."""
    return re.sub(rf"\b{_LABEL}\d+:", "", _labelled_text(text, _Converter("a region")))


def _labelled_text(text: str, converter: "_Converter") -> str:
    """Replace ``transform NAME(…)`` by labels; what has no statement behind it gets an empty one."""
    out: list[str] = []
    place = 0
    while (match := _TRANSFORM.search(text, place)) is not None:
        end = find(text, ")", match.end())
        if end < 0:
            converter.fail(f"the arguments of transform {match['name'][:40]} are not closed")
        if len(converter.transforms) >= 500:
            converter.fail("a region has at most 500 transforms, got more")
        args = arguments(text[match.end() : end], f"transform {match['name'][:40]} of {converter.where}")
        out += [text[place : match.start()], f" {_LABEL}{len(converter.transforms)}: "]
        converter.transforms.append((match["name"], args))
        place = end + 1
    plain = "".join([*out, text[place:]])
    return plain + (" ;" if re.search(rf"{_LABEL}\d+:\s*$", plain) else "")


def _checked_code(plain: str, converter: "_Converter") -> str:
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


@dataclass(frozen=True, slots=True)
class Misread:
    """Why a text is no C."""

    place: int  # where in the text
    word: str  # what stands there and has to be a type, or an empty text
    reason: str


def parsed(text: str) -> Node:
    """Return a text as a tree of pycparser's, or as a :class:`Misread`."""
    with needed("pycparser", "the reader of annotated C", extra="annotate"):
        from pycparser import c_parser
    reader = c_parser.CParser()
    try:
        return reader.parse(text)
    except RecursionError:
        raise
    except Exception as error:  # noqa: BLE001  (pycparser has several, some without a common base)
        message = str(error)
    if said := re.match(r":?(\d+):(\d+):?\s*", message):
        line, column, reason = int(said[1]), int(said[2]), message[said.end() :]
    else:
        # It is before the next token that would have been read, if that is one.
        token = None
        with contextlib.suppress(Exception):
            token = reader.clex.token()
        line, column = getattr(token, "lineno", text.count("\n") + 2), getattr(token, "column", 1)
        reason = message.lstrip(": ")
    place = -1
    for _ in range(line - 1):
        place = text.find("\n", place + 1)
    place += column
    word = None
    if said and not reason.startswith("before:"):
        word = _WORD.match(text, place)
    elif re.match(r"[A-Za-z_*]", text[place : place + 1]):
        word = _WORD_BEFORE.search(text, 0, place)
    name = word[0].strip("() \t\n") if word else ""
    place = place if said else len(text[:place].rstrip()) - 1
    return Misread(place, "" if name in NO_TYPES | TYPES else name, reason)


def source(node: Node) -> str:
    """Return the text of an expression."""
    from pycparser import c_generator

    return str(c_generator.CGenerator().visit(node))


def extent(node: Node) -> Expr:
    """Return what a declarator's brackets hold; 0 where that is nothing, or no expression."""
    try:
        return nest.Num("0") if node is None else _Converter("an extent").expression(node)
    except UsageError:
        return nest.Num("0")


def shape(declaration: Node) -> tuple[Node, list[Node], int]:
    """Return what a declaration has elements of, its extents in brackets, and how many pointers there are."""
    inner, extents, stars = declaration.type, [], 0
    while kind(inner) in {"ArrayDecl", "PtrDecl"}:
        stars += kind(inner) == "PtrDecl"
        extents += [inner.dim] if kind(inner) == "ArrayDecl" else []
        inner = inner.type
    return inner, extents, stars


def _unit(text: str, converter: "_Converter") -> Node:  # noqa: RET503
    try:
        unit = parsed(text)
    except RecursionError:
        converter.fail("the code is nested too deeply")
    if not isinstance(unit, Misread):
        return unit
    if unit.word:
        hint = f"types are {', '.join(sorted(ELEMENTS))}, and the names that typedef gives them before the region"
        converter.fail(f"the type {unit.word!r} is none of numbers that are known here", hint=hint)
    hint = "a region is for, if, assignments, declarations"
    converter.fail(f"the code cannot be read as C: {unit.reason[:80]}", hint=hint)


def kind(node: Node) -> str:
    """Return the name of a node's class."""
    return type(node).__name__


@dataclass(slots=True)
class _Converter:
    where: str
    transforms: list[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=list)
    inside: str = ""  # of what an expression is a part
    around: bool = False  # whether it is what regions stand in, or a file of inputs

    def fail(self, message: str, node: Node = None, hint: str = "") -> NoReturn:
        """Refuse, naming the line."""
        line = getattr(getattr(node, "coord", None), "line", None)
        where = self.where if line is None else f"{self.where}, line {max(1, line - 2)} of its code"
        raise UsageError(f"{message} in {where}", hint)

    def unknown(self, rule: str, node: Node) -> NoReturn:
        key = {"UnaryOp": "op", "Constant": "type"}.get(kind(node), "")
        word = getattr(node, key).removeprefix("p") if key else kind(node)
        name, hint = _CONSTRUCTS.get(word, (f"{word!r}" if key else word, ""))
        self.fail(f"{rule}, got {name}{self.inside}", node, hint)

    def statement(self, node: Node, depth: int = 0) -> Stmt:  # noqa: RET503
        if depth > MAX_DEPTH:
            self.fail(f"statements are at most {MAX_DEPTH} deep, got more", node)
        method = getattr(self, f"_{kind(node).lower()}", None)
        if method is not None:
            result: Stmt = method(node, depth)
            return result
        rule = "a region is made of for, if, assignments and declarations"
        if kind(node) in {"Constant", "ID", "ArrayRef", "BinaryOp", "TernaryOp", "Cast"}:
            self.fail(f"{rule}, got a value that is not kept", node, "assign it to something")
        self.unknown(rule, node)

    def _compound(self, node: Node, depth: int) -> Stmt:
        items = [self.statement(item, depth + 1) for item in node.block_items or []]
        return nest.block(*_with_starts(_with_pragmas(items))) if items else Block(())

    def _decllist(self, node: Node, depth: int) -> Stmt:
        return Block(tuple(self.statement(item, depth + 1) for item in node.decls))

    def _emptystatement(self, _node: Node, _depth: int) -> Stmt:
        return Block(())

    def _pragma(self, node: Node, _depth: int) -> Stmt:
        text = str(node.string or "").strip()
        if not re.fullmatch(r"[\w ,():.+*=-]{0,300}", text):
            self.fail(f"a pragma is plain words, got {text[:60]!r}", node)
        return nest.Directive(text)

    def _label(self, node: Node, depth: int) -> Stmt:
        if not node.name.startswith(_LABEL):
            self.fail(f"a region has no labels, got {node.name[:40]!r}", node)
        name, args = self.transforms[int(node.name[len(_LABEL) :])]
        return nest.Transform(name, args, self.statement(node.stmt, depth + 1))

    def _if(self, node: Node, depth: int) -> Stmt:
        then = Block(()) if node.iftrue is None else self.statement(node.iftrue, depth + 1)
        other = None if node.iffalse is None else self.statement(node.iffalse, depth + 1)
        return nest.If(self.expression(node.cond), then, other)

    def _for(self, node: Node, depth: int) -> Stmt:
        index, first, ctype = self._start(node)
        step = self._step(node.next, index, node)
        last = self._last(node.cond, index, step, node)
        if node.stmt is None:
            self.fail("a loop has a body", node)
        body = self.statement(node.stmt, depth + 1)
        if index in nest.written(body):
            self.fail(f"the loop counter {index!r} is assigned in its body", node)
        return nest.Loop(index=index, first=first, last=last, step=step, body=body, ctype=ctype)

    def _start(self, node: Node) -> tuple[str, Expr, str]:  # noqa: RET503
        init = node.init
        if init is None and kind(node.cond) == "BinaryOp":
            # It begins where its counter stands: what sets that is looked for in the block around.
            index = next((str(side.name) for side in (node.cond.left, node.cond.right) if kind(side) == "ID"), "")
            if index and index in {getattr(getattr(node.next, part, None), "name", "") for part in ("expr", "lvalue")}:
                return index, Name(index), ""
        if kind(init) == "DeclList" and len(init.decls) == 1 and init.decls[0].init is not None:
            counter = init.decls[0]
            return str(counter.name), self.expression(counter.init), self.ctype(counter.type)
        if kind(init) == "Assignment" and init.op == "=" and kind(init.lvalue) == "ID":
            return str(init.lvalue.name), self.expression(init.rvalue), ""
        self.fail("a loop starts with counter = value", node, "write for (i = 0; i <= n-1; i++)")

    def _step(self, node: Node, index: str, loop: Node) -> int:
        step: int | float | None = None
        match kind(node):
            case "UnaryOp" if node.op in {"p++", "++", "p--", "--"} and getattr(node.expr, "name", "") == index:
                step = 1 if "+" in node.op else -1
            case "Assignment" if node.op in {"=", "+=", "-="} and getattr(node.lvalue, "name", "") == index:
                counter, value = Name(index), self.expression(node.rvalue)
                match value if node.op == "=" else Binary(node.op[0], counter, value):
                    case Binary("+", left, right) if counter in {left, right}:
                        step = evaluate(right if left == counter else left, {})
                    case Binary("-", left, right) if left == counter:
                        step = evaluate(nest.Unary("-", right), {})
        if not isinstance(step, int) or step == 0:
            self.fail(f"the loop over {index!r} does not step by a literal", loop, "write i++ or i += 2")
        return step

    def _last(self, node: Node, index: str, step: int, loop: Node) -> Expr:  # noqa: RET503
        if kind(node) == "BinaryOp" and node.op in _FLIPPED:
            left = getattr(node.left, "name", "") == index
            op, other = (node.op, node.right) if left else (_FLIPPED[node.op], node.left)
            if op[0] == ("<" if step > 0 else ">") and (left or getattr(node.right, "name", "") == index):
                bound = self.expression(other)
                if index in nest.names(bound):
                    self.fail(f"the bound of the loop over {index!r} depends on its counter", loop)
                return bound if "=" in op else _minus_one(bound) if step > 0 else Binary("+", bound, ONE)
        self.fail(f"the loop over {index!r} does not end at a bound", loop, f"write {index} <= last")

    def _assignment(self, node: Node, _depth: int) -> Stmt:
        if node.op not in {"=", "+=", "-=", "*=", "/=", "%="}:
            self.fail(f"assignments are = += -= *= /= %=, got {node.op}", node)
        target = self.expression(node.lvalue)
        if not isinstance(target, Name | nest.Item):
            self.fail("only variables and array elements are assigned", node)
        extent = self._allocation(node.rvalue) if isinstance(target, Name) else None
        if extent is not None and isinstance(target, Name):
            return Declare(ctype="void", name=target.name, dims=(extent,), heap=True)
        if kind(node.rvalue) == "Assignment":
            # a = b = c: the inner one first, then its target's value.
            inner = self._assignment(node.rvalue, 0)
            last = inner.body[-1] if isinstance(inner, Block) else inner
            if not isinstance(last, Assign):
                self.fail("assignments are chained with variables", node)
            return nest.block(inner, Assign(target, node.op, last.target))
        return Assign(target, node.op, self.expression(node.rvalue))

    def _unaryop(self, node: Node, _depth: int) -> Stmt:
        target = self.expression(node.expr) if node.op in {"p++", "++", "p--", "--"} else None
        if not isinstance(target, Name | nest.Item):
            self.fail("a statement is an assignment", node)
        return Assign(target, "+=" if "+" in node.op else "-=", ONE)

    def _exprlist(self, node: Node, depth: int) -> Stmt:
        return nest.block(*(self.statement(each, depth + 1) for each in node.exprs))

    def _funccall(self, node: Node, _depth: int) -> Stmt:  # noqa: RET503
        name = getattr(node.name, "name", "a computed function")
        if name == "free":
            return Block(())
        self.fail(f"a region calls no function for its effect, got {str(name)[:40]!r}", node)

    def _decl(self, node: Node, _depth: int) -> Stmt:
        if node.name is None or set(node.storage or ()) - {"register", "static", "auto", "extern"}:
            self.fail("a declaration is of a variable", node)
        inner, sizes, stars = shape(node)
        dims = [ONE if each is None else self.expression(each) for each in sizes]
        if kind(inner) != "TypeDecl" or stars > 2:
            self.fail(f"the declaration of {node.name!r} is of no number or array", node)
        lasting = {*node.storage, *node.quals} & {"static", "extern", "const"}
        if not self.around and lasting & {"static", "extern"} and lasting != {"static", "const"}:
            got = f"{min(lasting - {'const'})} {node.name}"
            self.fail(f"what a region declares ends with it, got {got!r}", node, "declare it before the region")
        ctype = self.ctype(inner)
        if stars:
            return self._pointer(node, ctype, dims, stars)
        value: Expr | tuple[Expr, ...] | None = None
        if kind(node.init) == "InitList":
            value = tuple(self.expression(each) for each in node.init.exprs)
        elif node.init is not None:
            value = self.expression(node.init)
        return Declare(ctype=ctype, name=node.name, dims=tuple(dims), value=value)

    def _pointer(self, node: Node, ctype: str, dims: list[Expr], stars: int) -> Stmt:
        """``double *t = (double *) malloc(n * sizeof(double))`` declares an array; without a value it has no extent."""
        if dims:
            self.fail(f"{node.name!r} is an array of pointers", node)
        if node.init is None:
            return Declare(ctype=ctype, name=node.name, dims=(nest.Num("0"),) * stars, heap=True)
        extent = self._allocation(node.init)
        if extent is None or stars > 1:
            self.fail(f"the pointer {node.name!r} is set to something else than malloc of its elements", node)
        return Declare(ctype=ctype, name=node.name, dims=(extent,), heap=True)

    def _allocation(self, node: Node) -> Expr | None:
        """Return the number of elements of a call of malloc or calloc, or None if it is none."""
        if kind(node) == "Cast":
            node = node.expr
        if kind(node) != "FuncCall" or getattr(node.name, "name", "") not in {"malloc", "calloc"}:
            return None
        factors = [part for each in node.args.exprs for part in _factors(each)]
        sizes = [part for part in factors if kind(part) == "UnaryOp" and part.op == "sizeof"]
        counts = [self.expression(part) for part in factors if part not in sizes]
        if len(sizes) != 1:
            return None
        if node.name.name == "calloc" and not self.around:
            self.fail("a region has its memory from malloc, got calloc", node, "write malloc and a loop of zeros")
        result: Expr = counts[0] if counts else ONE
        for other in counts[1:]:
            result = Binary("*", result, other)
        return result

    def ctype(self, node: Node) -> str:
        if kind(node) != "TypeDecl" or kind(node.type) != "IdentifierType":
            self.fail("types are numbers'", node)
        words = [word for word in node.type.names if word != "register"] or ["int"]
        ctype = ALIASES.get(" ".join(words)) or named(words)
        if ctype is None:
            self.fail(f"types are {', '.join(sorted(ELEMENTS))}, got {' '.join(words)[:40]!r}", node)
        return ctype

    def expression(self, node: Node, depth: int = 0) -> Expr:  # noqa: PLR0911, RET503
        if depth > MAX_DEPTH:
            self.fail(f"expressions are at most {MAX_DEPTH} deep, got more", node)
        match kind(node):
            case "Constant" if node.type not in {"string", "char"}:
                return nest.Num(node.value)
            case "ID":
                return Name(node.name)
            case "ArrayRef":
                return self._reference(node, depth)
            case "BinaryOp":
                return Binary(node.op, self.expression(node.left, depth + 1), self.expression(node.right, depth + 1))
            case "UnaryOp" if node.op in {"-", "+", "!", "~"}:
                return nest.Unary(node.op, self.expression(node.expr, depth + 1))
            case "TernaryOp":
                parts = (node.cond, node.iftrue, node.iffalse)
                return nest.Choose(*(self.expression(part, depth + 1) for part in parts))
            case "Cast":
                return nest.Convert(self.ctype(node.to_type.type), self.expression(node.expr, depth + 1))
            case "FuncCall":
                name = getattr(node.name, "name", "")
                if name not in MATH:
                    rule = f"a region calls mathematical functions only, got {str(name)[:40]!r}"
                    self.fail(rule, node, "see docs: annotated C")
                args = () if node.args is None else node.args.exprs
                return nest.Call(name, tuple(self.expression(each, depth + 1) for each in args))
        self.unknown("an expression is numbers, variables, array elements and operators", node)

    def _reference(self, node: Node, depth: int) -> Expr:
        index: list[Expr] = []
        outer, self.inside = self.inside, " inside a subscript"
        while kind(node) == "ArrayRef":
            index.insert(0, self.expression(node.subscript, depth + 1))
            node = node.name
        self.inside = outer
        if kind(node) != "ID" or len(index) > 8:
            self.fail("an array is named before its indices", node)
        return nest.Item(node.name, tuple(index))


def _with_starts(items: list[Stmt]) -> list[Stmt]:
    """Let a loop without a start of its own begin with what the statement before it gives its counter.

    Before: ``i = 0; for (; i < n; i++) …``. After: ``for (i = 0; i < n; i++) …``
    """
    out: list[Stmt] = []
    for item in items:
        loop, last = item, out[-1] if out else None
        while isinstance(loop, nest.Transform):
            loop = loop.body
        if isinstance(loop, nest.Loop) and loop.first == Name(loop.index):
            if isinstance(last, Assign) and last.target == loop.first and last.op == "=":
                out[-1] = nest.swap(item, loop, replace(loop, first=last.value))
                continue
            if isinstance(last, Declare) and last.name == loop.index and isinstance(last.value, Expr):
                out.append(nest.swap(item, loop, replace(loop, first=last.value)))
                continue
        out.append(item)
    return out


def _with_pragmas(items: list[Stmt]) -> list[Stmt]:
    """Let a directive before a loop be a part of it."""
    out: list[Stmt] = []
    for item in items:
        if out and isinstance(out[-1], nest.Directive) and isinstance(item, nest.Loop):
            out[-1] = replace(item, pragmas=(out[-1].text, *item.pragmas))
        else:
            out.append(item)
    return out


def _factors(node: Node) -> list[Node]:
    if kind(node) == "BinaryOp" and node.op == "*":
        return [*_factors(node.left), *_factors(node.right)]
    return [node]


def _minus_one(bound: Expr) -> Expr:
    """Return bound - 1, simplified where it is x + 1 or a literal.

    >>> _minus_one(nest.Num("8"))
    Num(text='7')
    """
    if isinstance(bound, nest.Num) and isinstance(value := evaluate(bound, {}), int):
        return nest.Num(str(value - 1))
    if isinstance(bound, Binary) and bound.op == "+" and bound.right == ONE:
        return bound.left
    return Binary("-", bound, ONE)
