"""Prints loop nests as C, also the parts of CUDA and OpenCL kernels that are C."""

from collections.abc import Mapping

from tilewright.programs.loops.nest import (
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
    Verbatim,
)

_LEVEL = {
    "||": 1,
    "&&": 2,
    "|": 3,
    "^": 4,
    "&": 5,
    "==": 6,
    "!=": 6,
    "<": 7,
    "<=": 7,
    ">": 7,
    ">=": 7,
    "<<": 8,
    ">>": 8,
    "+": 9,
    "-": 9,
    "*": 10,
    "/": 10,
    "%": 10,
}
_UNARY = 11
_ATOM = 12
_INDENT = "  "


def text(expr: Expr, level: int = 0, functions: Mapping[str, str] | None = None) -> str:
    """Print an expression with the parentheses that its tree needs.

    >>> text(Binary("*", Binary("+", Name("a"), Name("b")), Num("2")))
    '(a + b) * 2'
    """
    printed, own = _printed(expr, functions or {})
    return f"({printed})" if own < level else printed


def _printed(expr: Expr, functions: Mapping[str, str]) -> tuple[str, int]:  # noqa: PLR0911
    match expr:
        case Num(number):
            return number, _ATOM
        case Name(name):
            return name, _ATOM
        case Item(array, index):
            return array + "".join(f"[{text(each, 0, functions)}]" for each in index), _ATOM
        case Call("min" | "max" as function, (left, right)):
            a, b = text(left, 8, functions), text(right, 8, functions)
            return f"{a} {'<' if function == 'min' else '>'} {b} ? {a} : {b}", 0
        case Call(function, args):
            inner = ", ".join(text(each, 0, functions) for each in args)
            return f"{functions.get(function, function)}({inner})", _ATOM
        case Unary(op, operand):
            inner = text(operand, _UNARY, functions)
            return f"{op}({inner})" if inner[0] in "+-" else f"{op}{inner}", _UNARY
        case Convert(ctype, operand):
            return f"({ctype}){text(operand, _UNARY, functions)}", _UNARY
        case Binary(op, left, right):
            own = _LEVEL[op]
            # && inside || and the like keep parentheses of their own: compilers warn without.
            least = own if own > 5 or op in {"||", "&&"} else 6
            left_level = least if not (op == "||" and isinstance(left, Binary) and left.op == "&&") else 3
            right_level = own + 1 if not (op == "||" and isinstance(right, Binary) and right.op == "&&") else 3
            return f"{text(left, left_level, functions)} {op} {text(right, right_level, functions)}", own
        case Choose(test, then, other):
            parts = (text(test, 1, functions), text(then, 1, functions), text(other, 1, functions))
            return f"{parts[0]} ? {parts[1]} : {parts[2]}", 0
    raise TypeError(f"{expr} is no expression")


def lines(stmt: Stmt, depth: int = 0, functions: Mapping[str, str] | None = None) -> list[str]:  # noqa: PLR0911
    """Print a statement as lines of C; every loop declares its own counter."""
    pad = _INDENT * depth
    match stmt:
        case Assign(target, op, value):
            return [f"{pad}{text(target, 0, functions)} {op} {text(value, 0, functions)};"]
        case Loop():
            return _loop(stmt, depth, functions)
        case If(test, then, other):
            out = [f"{pad}if ({text(test, 0, functions)}) {{", *inside(then, depth + 1, functions)]
            if other is not None:
                out += [f"{pad}}} else {{", *inside(other, depth + 1, functions)]
            return [*out, f"{pad}}}"]
        case Block(body):
            if not body:
                return []
            if any(isinstance(each, Declare) for each in body):
                return [f"{pad}{{", *inside(stmt, depth + 1, functions), f"{pad}}}"]
            return [line for each in body for line in lines(each, depth, functions)]
        case Declare():
            return [pad + line for line in declaration(stmt, functions)]
        case Directive(pragma):
            return [f"#pragma {pragma}"]
        case Verbatim(written):
            return written.splitlines()
        case Transform(body=body):
            return lines(body, depth, functions)
    raise TypeError(f"{stmt} is no statement")


def inside(stmt: Stmt, depth: int, functions: Mapping[str, str] | None = None) -> list[str]:
    """Print what stands between braces: a block without braces of its own."""
    items = stmt.body if isinstance(stmt, Block) else (stmt,)
    return [line for each in items for line in lines(each, depth, functions)]


def loop_head(loop: Loop, functions: Mapping[str, str] | None = None) -> str:
    """Print the first line of a loop, which declares its counter."""
    i, compare = loop.index, "<=" if loop.step > 0 else ">="
    step = {1: f"{i}++", -1: f"{i}--"}.get(loop.step, f"{i} += {loop.step}")
    start, end = text(loop.first, 0, functions), text(loop.last, 8, functions)
    return f"for ({loop.ctype or 'int'} {i} = {start}; {i} {compare} {end}; {step}) {{"


def _loop(loop: Loop, depth: int, functions: Mapping[str, str] | None) -> list[str]:
    pad = _INDENT * depth
    # A directive of OpenMP stands right before its loop: nothing comes between them.
    parallel = [pragma for pragma in loop.pragmas if pragma.startswith("omp")][:1]
    return [
        *(f"#pragma {pragma}" for pragma in parallel or loop.pragmas),
        pad + loop_head(loop, functions),
        *inside(loop.body, depth + 1, functions),
        f"{pad}}}",
    ]


def declaration(stmt: Declare, functions: Mapping[str, str] | None = None) -> list[str]:
    """Print a declaration; an array from the heap is allocated."""
    dims = "".join(f"[{text(each, 0, functions)}]" for each in stmt.dims)
    if stmt.heap:
        if stmt.dims and stmt.dims[0] == Num("0"):
            return [f"{stmt.ctype} {'*' * len(stmt.dims)}{stmt.name};"]
        count = text(stmt.dims[0], 0, functions)
        return [f"{stmt.ctype} *{stmt.name} = ({stmt.ctype} *)malloc(sizeof({stmt.ctype}) * (size_t)({count}));"]
    if isinstance(stmt.value, tuple):
        return [f"{stmt.ctype} {stmt.name}{dims} = {{{', '.join(text(each, 0, functions) for each in stmt.value)}}};"]
    value = "" if stmt.value is None else f" = {text(stmt.value, 0, functions)}"
    return [f"{stmt.ctype} {stmt.name}{dims}{value};"]


def code(stmt: Stmt, depth: int = 0, functions: Mapping[str, str] | None = None) -> str:
    """Print a statement as C text that ends with a line end."""
    return "".join(f"{line}\n" for line in lines(stmt, depth, functions))
