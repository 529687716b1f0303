"""Integer expressions over a problem's sizes and the loops around them: bounds of loops, corners of boxes.

    expression = whole number | name | expression (+ | - | * | // | %) expression | min(…) | max(…) | ceiling(…)

They are quasi-affine: names are multiplied with, and divided by, numbers known as soon as the problem is (tile sizes,
counts of tiles). :func:`value` computes one; code generation translates the same one, so that what is counted, drawn
and proved about a tiling is what runs. The literature's name is that of isl's ``pw_aff``, with ``min`` and ``max`` in
place of pieces.

The functions of this module compute what is known at once: of two whole numbers :func:`least` is a whole number. So the
geometry of tiles can be written once, for numbers and for expressions.

``a // b`` and ``a % b`` are for an ``a`` that is never negative, so that every language's own division will do;
:func:`floor_div` rounds down for any ``a``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar, overload

from tilewright.base.intmath import ceil_div


class AffineOperator(Enum):
    """What two operands are combined by."""

    ADD = "+"
    SUB = "-"
    MUL = "*"
    DIV = "//"
    MOD = "%"
    FLOOR_DIV = "floor"
    CEIL_DIV = "ceiling"
    MIN = "min"
    MAX = "max"


class _Arithmetic:
    """Python's operators build expressions; nothing is computed but what is neutral."""

    __slots__ = ()

    def __add__(self, other: "Expr | int") -> "Expr":
        return _sum(expression(self), expression(other))

    def __radd__(self, other: int) -> "Expr":
        return _sum(expression(self), Whole(other))

    def __sub__(self, other: "Expr | int") -> "Expr":
        other = expression(other)
        if isinstance(other, Whole):
            return _sum(expression(self), Whole(-other.value))
        return Combined(AffineOperator.SUB, expression(self), other)

    def __rsub__(self, other: int) -> "Expr":
        return Whole(other) - expression(self)

    def __mul__(self, other: "Expr | int") -> "Expr":
        return _product(expression(self), expression(other))

    def __rmul__(self, other: int) -> "Expr":
        return _product(expression(self), Whole(other))

    def __floordiv__(self, other: "Expr | int") -> "Expr":
        other = expression(other)
        return expression(self) if other == Whole(1) else _combined(AffineOperator.DIV, expression(self), other)

    def __neg__(self) -> "Expr":
        return 0 - expression(self)

    def __mod__(self, other: "Expr | int") -> "Expr":
        return _combined(AffineOperator.MOD, expression(self), expression(other))


@dataclass(frozen=True, slots=True)
class Whole(_Arithmetic):
    """A whole number."""

    value: int


@dataclass(frozen=True, slots=True)
class Name(_Arithmetic):
    """A size of the problem, or a name that the tree around it binds."""

    name: str


@dataclass(frozen=True, slots=True)
class Combined(_Arithmetic):
    """Two operands under an operator."""

    operator: AffineOperator
    first: "Expr"
    second: "Expr"


Expr = Whole | Name | Combined

Integer = TypeVar("Integer", int, Expr)
"""A number, or an expression of one: the geometry of tiles is written once for both."""

STEPS = Name("steps")  # time steps of the problem


def extent_of(axis: int) -> Name:
    """Return the cells of the grid along an axis, the outermost being 0."""
    return Name(f"n{axis}")


@overload
def floor_div(a: int, b: int) -> int: ...
@overload
def floor_div(a: Expr, b: Expr | int) -> Expr: ...
def floor_div(a: Expr | int, b: Expr | int) -> Expr | int:
    """Return ``a / b`` rounded down, whatever the sign of ``a``."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return _combined(AffineOperator.FLOOR_DIV, expression(a), expression(b))


@overload
def ceiling(a: int, b: int) -> int: ...
@overload
def ceiling(a: Expr, b: Expr | int) -> Expr: ...
def ceiling(a: Expr | int, b: Expr | int) -> Expr | int:
    """Return ``a / b`` rounded up."""
    if isinstance(a, int) and isinstance(b, int):
        return ceil_div(a, b)
    return (
        expression(a) if expression(b) == Whole(1) else _combined(AffineOperator.CEIL_DIV, expression(a), expression(b))
    )


@overload
def least(a: int, b: int) -> int: ...
@overload
def least(a: Expr, b: Expr | int) -> Expr: ...
@overload
def least(a: int, b: Expr) -> Expr: ...
def least(a: Expr | int, b: Expr | int) -> Expr | int:
    """Return the smaller of two numbers."""
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else _choice(AffineOperator.MIN, a, b)


@overload
def most(a: int, b: int) -> int: ...
@overload
def most(a: Expr, b: Expr | int) -> Expr: ...
@overload
def most(a: int, b: Expr) -> Expr: ...
def most(a: Expr | int, b: Expr | int) -> Expr | int:
    """Return the larger of two numbers."""
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else _choice(AffineOperator.MAX, a, b)


def _choice(operator: AffineOperator, a: Expr | int, b: Expr | int) -> Expr:
    a, b = expression(a), expression(b)
    return a if a == b else _combined(operator, a, b)


def _combined(operator: AffineOperator, a: Expr, b: Expr) -> Expr:
    """Two operands under an operator; of two numbers, the number."""
    if isinstance(a, Whole) and isinstance(b, Whole):
        return Whole(_COMPUTE[operator](a.value, b.value))
    return Combined(operator, a, b)


def expression(operand: "Expr | int | _Arithmetic") -> Expr:
    """Return a number as an expression, and an expression as it is."""
    return operand if isinstance(operand, Whole | Name | Combined) else Whole(operand)  # type: ignore[arg-type]


def _sum(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Whole):
        a, b = b, a
    if isinstance(a, Whole) and isinstance(b, Whole):
        return Whole(a.value + b.value)
    if b == Whole(0):
        return a
    if isinstance(a, Combined) and isinstance(a.second, Whole) and isinstance(b, Whole):
        if a.operator is AffineOperator.ADD:
            return _sum(a.first, Whole(a.second.value + b.value))
        if a.operator is AffineOperator.SUB:
            return _sum(a.first, Whole(b.value - a.second.value))
    if isinstance(b, Whole) and b.value < 0:
        return Combined(AffineOperator.SUB, a, Whole(-b.value))
    return Combined(AffineOperator.ADD, a, b)


def _product(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Whole):
        a, b = b, a
    if isinstance(a, Whole) and isinstance(b, Whole):
        return Whole(a.value * b.value)
    if b in (Whole(0), Whole(1)):
        return a if b == Whole(1) else b
    return Combined(AffineOperator.MUL, a, b)


def _nonnegative(a: int) -> int:
    if a < 0:
        raise ArithmeticError(f"the division of a number that is never negative got {a}")
    return a


_COMPUTE: Mapping[AffineOperator, Callable[[int, int], int]] = {
    AffineOperator.ADD: lambda a, b: a + b,
    AffineOperator.SUB: lambda a, b: a - b,
    AffineOperator.MUL: lambda a, b: a * b,
    AffineOperator.DIV: lambda a, b: _nonnegative(a) // b,
    AffineOperator.MOD: lambda a, b: _nonnegative(a) % b,
    AffineOperator.FLOOR_DIV: lambda a, b: a // b,
    AffineOperator.CEIL_DIV: ceil_div,
    AffineOperator.MIN: min,
    AffineOperator.MAX: max,
}


def value(expression: Expr, names: Mapping[str, int]) -> int:
    """Compute an expression; an ArithmeticError if a number turns out negative that never should.

    >>> value(ceiling(extent_of(0) + 3, 4) * 2, {"n0": 10})
    8
    """
    match expression:
        case Whole(number):
            return number
        case Name(name):
            return names[name]
        case Combined(operator, first, second):
            return _COMPUTE[operator](value(first, names), value(second, names))


def names_in(expression: Expr) -> frozenset[str]:
    """Return the names in an expression.

    >>> sorted(names_in(extent_of(0) * Name("wave") + 1))
    ['n0', 'wave']
    """
    match expression:
        case Whole():
            return frozenset()
        case Name(name):
            return frozenset({name})
        case Combined(_, first, second):
            return names_in(first) | names_in(second)
