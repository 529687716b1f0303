"""Stencils that are written as an expression in the place of annotated loops.

``Stencil(steps=T, u = u[0, 0] + k*(u[-1, 0] + u[1, 0] - 2*u[0, 0]))`` around an old body that says what it replaces.
"""

import ast
from collections.abc import Mapping

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.expression import Scalar, Value, apply, as_value
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.workloads.annotated.nests.nest import Num
from tilewright.workloads.annotated.parse.evaluate import formula
from tilewright.workloads.annotated.parse.spec import arguments
from tilewright.workloads.annotated.parse.sweeps import FUNCTIONS, MAX_DEPTH, Recognised

_PYTHON = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow"}


def read_stencil(text: str, lets: Mapping[str, int | float], line: int) -> Recognised:
    """Read a stencil that is written as an expression."""
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
    if depth > MAX_DEPTH:
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
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in FUNCTIONS:
            return apply(FUNCTIONS[name], *(_traced(arg, where, depth + 1) for arg in args))
    raise UsageError(
        f"a stencil is made of fields, scalars, numbers and operators, got {type(node).__name__} in {where}"
    )
