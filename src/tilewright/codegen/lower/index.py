"""Expressions of a schedule tree -> indices of the IR."""

import operator as op
from collections.abc import Callable, Mapping

from tilewright.codegen import ir
from tilewright.schedules.tree.affine import AffineOperator, Combined, Expr, Name, Whole

_BUILD: Mapping[AffineOperator, Callable[[ir.Expr, ir.Expr], ir.Expr]] = {
    AffineOperator.ADD: op.add,
    AffineOperator.SUB: op.sub,
    AffineOperator.MUL: op.mul,
    AffineOperator.DIV: op.truediv,
    AffineOperator.MOD: op.mod,
    AffineOperator.FLOOR_DIV: ir.floordiv,
    AffineOperator.CEIL_DIV: ir.ceildiv,
    AffineOperator.MIN: ir.smallest,
    AffineOperator.MAX: ir.largest,
}


def index(expression: Expr, names: Mapping[str, ir.Expr]) -> ir.Expr:
    """Return an expression as an index; names that ``names`` lacks are variables of the same name.

    >>> index(Name("n0") - 1, {"n0": ir.Int(8)})
    Int(value=7)
    """
    match expression:
        case Whole(number):
            return ir.Int(number)
        case Name(name):
            return names.get(name, ir.Var(name))
        case Combined(operator, first, second):
            return _BUILD[operator](index(first, names), index(second, names))
