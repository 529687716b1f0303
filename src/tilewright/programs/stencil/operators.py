"""The operators an expression may apply, with their operation counts and their NumPy meaning."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """One operator."""

    name: str  # in expressions
    arity: int
    flops: int  # per application; the papers count every operator as one, square root and division included
    evaluate: Callable[..., Any]  # its meaning on NumPy arrays
    integral: bool = True  # whether integer operands give an integer result
    # ``"both"`` if linear in its operands together, ``"left"`` if linear in the first operand for a constant second
    # one, ``"either"`` if linear in one operand while the other is constant, else ``""``
    linear: str = ""


def _real(x: Any) -> Any:  # noqa: ANN401
    return np.asarray(x).real


def _imag(x: Any) -> Any:  # noqa: ANN401
    return np.asarray(x).imag


def _power(a: Any, b: Any) -> Any:  # noqa: ANN401
    """A power; of a whole number by a negative one, which NumPy refuses, the quotient without its fraction."""
    if np.result_type(a, b).kind not in "iu" or not np.any(np.less(b, 0)):
        return np.power(a, b)
    power = np.power(a, np.maximum(b, 0))
    quotient = np.where(np.equal(a, -1), 1 - 2 * np.remainder(b, 2), np.equal(a, 1))
    return np.where(np.less(b, 0), quotient, power).astype(power.dtype)


def _unless_whole(rounded: Callable[..., Any]) -> Callable[..., Any]:
    """A function that leaves whole numbers as they are, in their own type."""
    return lambda x: x if np.asarray(x).dtype.kind in "biu" else rounded(x)


_TABLE = (
    Operator(name="add", arity=2, flops=1, evaluate=np.add, linear="both"),
    Operator(name="sub", arity=2, flops=1, evaluate=np.subtract, linear="both"),
    Operator(name="neg", arity=1, flops=1, evaluate=np.negative, linear="both"),
    Operator(name="mul", arity=2, flops=1, evaluate=np.multiply, linear="either"),
    Operator(name="div", arity=2, flops=1, evaluate=np.divide, integral=False, linear="left"),
    Operator(name="pow", arity=2, flops=1, evaluate=_power),
    Operator(name="sqrt", arity=1, flops=1, evaluate=np.sqrt, integral=False),
    Operator(name="exp", arity=1, flops=1, evaluate=np.exp, integral=False),
    Operator(name="log", arity=1, flops=1, evaluate=np.log, integral=False),
    Operator(name="sin", arity=1, flops=1, evaluate=np.sin, integral=False),
    Operator(name="cos", arity=1, flops=1, evaluate=np.cos, integral=False),
    Operator(name="tanh", arity=1, flops=1, evaluate=np.tanh, integral=False),
    Operator(name="tan", arity=1, flops=1, evaluate=np.tan, integral=False),
    Operator(name="atan2", arity=2, flops=1, evaluate=np.arctan2, integral=False),
    Operator(name="floor", arity=1, flops=1, evaluate=_unless_whole(np.floor)),
    Operator(name="ceil", arity=1, flops=1, evaluate=_unless_whole(np.ceil)),
    Operator(name="rint", arity=1, flops=1, evaluate=_unless_whole(np.rint)),
    Operator(name="remainder", arity=2, flops=1, evaluate=np.remainder),
    Operator(name="floor_divide", arity=2, flops=1, evaluate=np.floor_divide),
    Operator(name="sign", arity=1, flops=1, evaluate=np.sign),
    Operator(name="abs", arity=1, flops=1, evaluate=np.abs),
    Operator(name="conj", arity=1, flops=0, evaluate=np.conjugate, linear="both"),
    Operator(name="real", arity=1, flops=0, evaluate=_real, linear="both"),
    Operator(name="imag", arity=1, flops=0, evaluate=_imag, linear="both"),
    Operator(name="shr", arity=2, flops=1, evaluate=np.right_shift),
    Operator(name="bitand", arity=2, flops=1, evaluate=np.bitwise_and),
    Operator(name="bitor", arity=2, flops=1, evaluate=np.bitwise_or),
    Operator(name="invert", arity=1, flops=1, evaluate=np.invert),
    Operator(name="minimum", arity=2, flops=1, evaluate=np.minimum),
    Operator(name="maximum", arity=2, flops=1, evaluate=np.maximum),
    Operator(name="lt", arity=2, flops=1, evaluate=np.less),
    Operator(name="le", arity=2, flops=1, evaluate=np.less_equal),
    Operator(name="gt", arity=2, flops=1, evaluate=np.greater),
    Operator(name="ge", arity=2, flops=1, evaluate=np.greater_equal),
    Operator(name="eq", arity=2, flops=1, evaluate=np.equal),
    Operator(name="ne", arity=2, flops=1, evaluate=np.not_equal),
    Operator(name="and", arity=2, flops=0, evaluate=np.logical_and),
    Operator(name="or", arity=2, flops=0, evaluate=np.logical_or),
    Operator(name="not", arity=1, flops=0, evaluate=np.logical_not),
    Operator(name="where", arity=3, flops=0, evaluate=np.where),
)

OPERATORS: dict[str, Operator] = {operator.name: operator for operator in _TABLE}  # every operator by name

ROUNDINGS = frozenset({"floor", "ceil", "rint"})
"""Operators that take a number to a whole one, and whole numbers to themselves."""

FUNCTIONS = ROUNDINGS | {"sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "pow", "atan2"}
"""Operators that are functions of C's library, by the same name."""

SPECIAL = (FUNCTIONS - ROUNDINGS) | {"div", "remainder", "floor_divide"}
"""Divisions, roots and functions: operators that take an arithmetic unit many cycles."""

BITWISE = {"bitand": "&", "bitor": "|", "invert": "~", "shr": ">>"}
"""Operators on the bits of whole numbers, and how they are written."""

FLAT = ROUNDINGS | {"sign", "floor_divide", *BITWISE}
"""Operators whose result is a step function of numbers: of derivative zero wherever there is one."""

ORDERED = FLAT | {"remainder", "atan2"}  # operators that complex numbers do not have

BOOLEAN = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not"})  # operators whose result is a truth value

OF_TRUTHS = {
    **dict.fromkeys(("add", "maximum", "bitor"), "or"),
    **dict.fromkeys(("mul", "minimum", "bitand"), "and"),
    "invert": "not",
    "abs": "",
}
"""What operators are on truth values alone, whose result is a truth value again; nothing for ``abs``."""
