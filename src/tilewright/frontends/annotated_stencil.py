"""Iterated stencils among annotated loops: recognised in C, or written as an expression.

C: a time loop around a sweep ``b[i][j] = f(a near (i, j), coefficients)`` and a copy of b back into a over the same
box.
As an expression: ``Stencil(steps=T, u = u[0, 0] + k*(u[-1, 0] + u[1, 0] - 2*u[0, 0]))`` around an old body that says
what it replaces.
"""

import ast
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from tilewright.base.errors import TraceError, UsageError
from tilewright.frontends.annotated_eval import formula
from tilewright.frontends.annotated_spec import arguments
from tilewright.programs.expression import Const, Scalar, Value, apply, as_value
from tilewright.programs.loopnest import (
    Assign,
    Binary,
    Block,
    Call,
    Expr,
    Item,
    Loop,
    Name,
    Num,
    Stmt,
    Unary,
    evaluate,
    literal,
    names,
)
from tilewright.programs.stencil import FieldBuilder, Program, stencil

_OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
_PYTHON = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}
_FUNCTIONS = {
    "sqrt": "sqrt",
    "exp": "exp",
    "log": "log",
    "sin": "sin",
    "cos": "cos",
    "tanh": "tanh",
    "fabs": "abs",
    "abs": "abs",
    "floor": "floor",
    "min": "minimum",
    "max": "maximum",
    "fmin": "minimum",
    "fmax": "maximum",
    "pow": "pow",
}
_MAX_DEPTH = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Recognised:
    """A stencil found in a region.

    Attributes:
        program: The stencil; its first field is updated.
        steps: Number of steps, as an expression of C.
        box: Cells that a step updates, per axis first and last.
        mirror: Array that holds the newest values of the box as well, or empty.
    """

    program: Program
    steps: Expr
    box: tuple[tuple[int, int], ...] = ()
    mirror: str = ""


def recognise(stmt: Stmt, known: Mapping[str, int]) -> Recognised | None:  # noqa: PLR0911
    """Return the iterated stencil that a nest is, or None.

    Args:
        stmt: The nest, without transforms.
        known: Values of names.
    """
    if isinstance(stmt, Block) and len(stmt.body) == 1:
        stmt = stmt.body[0]
    if not isinstance(stmt, Loop) or stmt.step != 1 or not isinstance(stmt.body, Block) or len(stmt.body.body) != 2:
        return None
    sweep, copy = (_perfect(part) for part in stmt.body.body)
    if sweep is None or copy is None:
        return None
    loops, update = sweep
    others, back = copy
    a, b = back.target, update.target
    if not isinstance(a, Item) or not isinstance(b, Item) or update.op != "=" or back.op != "=":
        return None
    counters = [loop.index for loop in loops]
    if not _centre(b, counters) or not _centre(a, [loop.index for loop in others]) or a.array == b.array:
        return None
    if back.value != Item(b.array, a.index) or stmt.index in names(update.value):
        return None
    box = _box(loops, known)
    if box is None or box != _box(others, known):
        return None
    try:
        value = _value(update.value, counters, {b.array}, 0)
        program = stencil(f"line_{a.array}", len(counters), {a.array: value})
    except (TraceError, UsageError):
        return None
    steps = Binary("+", Binary("-", stmt.last, stmt.first), Num("1"))
    return Recognised(program=program, steps=steps, box=box, mirror=b.array)


def _perfect(stmt: Stmt) -> tuple[list[Loop], Assign] | None:
    loops: list[Loop] = []
    while isinstance(stmt, Loop):
        if stmt.step != 1:
            return None
        loops.append(stmt)
        stmt = stmt.body
        if isinstance(stmt, Block) and len(stmt.body) == 1:
            stmt = stmt.body[0]
    return (loops, stmt) if isinstance(stmt, Assign) and 1 <= len(loops) <= 3 else None


def _centre(item: Item, counters: list[str]) -> bool:
    return item.index == tuple(Name(index) for index in counters)


def _box(loops: list[Loop], known: Mapping[str, int]) -> tuple[tuple[int, int], ...] | None:
    found = []
    for loop in loops:
        first, last = evaluate(loop.first, known), evaluate(loop.last, known)
        if not isinstance(first, int) or not isinstance(last, int):
            return None
        found.append((first, last))
    return tuple(found)


def _value(expr: Expr, counters: list[str], forbidden: Collection[str], depth: int) -> Value:
    """Return an expression of C as a stencil's value.

    Raises:
        TraceError: If it is none.
    """
    if depth > _MAX_DEPTH:
        raise TraceError("the expression is too deep for a stencil")

    def inner(each: Expr) -> Value:
        return _value(each, counters, forbidden, depth + 1)

    match expr:
        case Num(text) if (number := literal(text)) is not None:
            # An integer literal beside floating-point values is one of them; divisions of two would not be.
            return Value(Const(float(number)))
        case Name(name) if name not in counters:
            return Value(Scalar(name))
        case Item(array, index) if array not in forbidden and len(index) == len(counters):
            shifts = tuple(_shift(each, name) for each, name in zip(index, counters, strict=True))
            return FieldBuilder(array)[shifts]
        case Unary("-", operand):
            return apply("neg", inner(operand))
        case Binary(op, left, right) if op in _OPERATORS:
            if op == "/" and _whole(left) and _whole(right):
                raise TraceError("a division of whole numbers is no stencil's")
            return apply(_OPERATORS[op], inner(left), inner(right))
        case Call(function, args) if function in _FUNCTIONS:
            return apply(_FUNCTIONS[function], *(inner(each) for each in args))
    raise TraceError("the expression is no stencil's")


def _whole(expr: Expr) -> bool:
    match expr:
        case Num(text):
            return isinstance(literal(text), int)
        case Binary(_, left, right):
            return _whole(left) and _whole(right)
        case Unary(_, operand):
            return _whole(operand)
    return False


def _shift(expr: Expr, counter: str) -> int:
    match expr:
        case Name(name) if name == counter:
            return 0
        case Binary("+" | "-" as op, left, Num(text)) if isinstance(number := literal(text), int):
            return _shift(left, counter) + (number if op == "+" else -number)
        case Binary("+", Num(text), right) if isinstance(number := literal(text), int):
            return number + _shift(right, counter)
    raise TraceError("an index of a stencil is its counter and a literal")


def read_stencil(text: str, lets: Mapping[str, int | float], line: int) -> Recognised:
    """Read a stencil that is written as an expression.

    Args:
        text: What stands in the annotation's parentheses.
        lets: Names of numbers.
        line: The annotation's line.

    Returns:
        The stencil.

    Raises:
        UsageError: If it is no stencil.
    """
    where = f"the stencil of line {line}"
    given = dict(arguments(text, where))
    steps = given.pop("steps", None)
    if steps is None or len(given) != 1:
        raise UsageError(f"{where} has steps=… and one field=expression, got {', '.join(given) or 'nothing'}")
    ((field, body),) = given.items()
    count = formula(steps, where).value(dict(lets))
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < 2**31:
        raise UsageError(f"steps is a whole number, got {str(count)[:40]!r} in {where}")
    value = _traced(formula(body, where).tree, where, 0)
    rank = _rank(formula(body, where).tree, where)
    return Recognised(program=stencil(f"line_{field}", rank, {field: value}), steps=Num(str(count)))


def _rank(tree: ast.expr, where: str) -> int:
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript):
            return len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
    raise UsageError(f"{where} reads no field")


def _traced(node: ast.expr, where: str, depth: int) -> Value:
    """Return a parsed expression as a stencil's value; nothing is evaluated."""
    if depth > _MAX_DEPTH:
        raise UsageError(f"{where} is too deep")
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return as_value(number)
        case ast.Name(id=name):
            return Value(Scalar(name))
        case ast.Subscript(value=ast.Name(id=name), slice=index):
            items = index.elts if isinstance(index, ast.Tuple) else [index]
            offsets = [formula(ast.unparse(item), where).value({}) for item in items]
            if not all(isinstance(each, int) for each in offsets):
                raise UsageError(f"offsets are whole numbers in {where}")
            return FieldBuilder(name)[tuple(each for each in offsets if isinstance(each, int))]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return apply("neg", _traced(operand, where, depth + 1))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _PYTHON:
            return apply(_PYTHON[type(op)], _traced(left, where, depth + 1), _traced(right, where, depth + 1))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return apply(_FUNCTIONS[name], *(_traced(arg, where, depth + 1) for arg in args))
    raise UsageError(
        f"a stencil is made of fields, scalars, numbers and operators, got {type(node).__name__} in {where}"
    )
