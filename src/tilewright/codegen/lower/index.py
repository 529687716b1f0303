"""Expressions and names of a schedule tree -> indices of the IR, for processors and GPUs."""

from collections.abc import Callable, Mapping
from operator import add, mod, mul, sub, truediv

from tilewright.codegen import ir
from tilewright.schedules.tree.affine import AffineOperator, Combined, Expr, Name, Whole
from tilewright.schedules.tree.nodes import Let

Names = Mapping[str, ir.Expr]
"""What the tree's names stand for, where not for variables of the same name."""

_BUILD: Mapping[AffineOperator, Callable[[ir.Expr, ir.Expr], ir.Expr]] = {
    AffineOperator.ADD: add,
    AffineOperator.SUB: sub,
    AffineOperator.MUL: mul,
    AffineOperator.DIV: truediv,
    AffineOperator.MOD: mod,
    AffineOperator.FLOOR_DIV: ir.floordiv,
    AffineOperator.CEIL_DIV: ir.ceildiv,
    AffineOperator.MIN: ir.smallest,
    AffineOperator.MAX: ir.largest,
}


def index(expression: Expr, names: Names) -> ir.Expr:
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


def bound(let: Let, names: Names) -> tuple[tuple[ir.Stmt, ...], Names]:
    """The statement that binds a name, if it needs one, and the names below it."""
    number = index(let.value, names)
    if isinstance(number, ir.Var | ir.Int):
        return (), {**names, let.name: number}
    return (ir.Let(ir.Var(let.name), number),), {**names, let.name: ir.Var(let.name)}
