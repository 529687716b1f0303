"""What expressions of a loop nest are worth where names are known, and of which type: C's arithmetic."""

import operator
from collections.abc import Callable, Mapping

from tilewright.codegen.print.elements import MATH_FUNCTIONS
from tilewright.workloads.annotated.nests.nest import Binary, Call, Choose, Convert, Expr, Item, Name, Num, Unary
from tilewright.workloads.annotated.nests.types import (
    INTEGER_TYPES,
    REAL_TYPES,
    bytes_of,
    common,
    is_unsigned,
    promoted,
)

_OPERATIONS: Mapping[str, Callable[[int | float, int | float], int | float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&&": lambda a, b: bool(a) and bool(b),
    "||": lambda a, b: bool(a) or bool(b),
}


def evaluate(expr: Expr, known: Mapping[str, int | float]) -> int | float | None:  # noqa: PLR0911
    """Return the value of a scalar expression with C's arithmetic, or None if it is not known.

    >>> evaluate(Binary("/", Num("7"), Unary("-", Num("2"))), {})
    -3
    """
    match expr:
        case Num(text):
            return literal(text)
        case Name(name):
            return known.get(name)
        case Unary("-", operand):
            value = evaluate(operand, known)
            return None if value is None else -value
        case Convert(ctype, operand):
            value = evaluate(operand, known)
            if value is None:
                return None
            return float(value) if ctype in REAL_TYPES else int(value) if abs(value) < 2**62 else None
        case Binary(op, left, right):
            a, b = evaluate(left, known), evaluate(right, known)
            return None if a is None or b is None else _binary(op, a, b)
        case Choose(test, then, other):
            chosen = evaluate(test, known)
            return None if chosen is None else evaluate(then if chosen else other, known)
        case Call("min" | "max" as function, (left, right)):
            a, b = evaluate(left, known), evaluate(right, known)
            return None if a is None or b is None else (min if function == "min" else max)(a, b)
    return None


def constant(expr: Expr) -> int | None:
    """Return the whole number that an expression is whatever its names are, or None."""
    value = evaluate(expr, {})
    return value if isinstance(value, int) else None


def type_of(expr: Expr, types: Mapping[str, str]) -> str | None:  # noqa: PLR0911
    """Return the type in which C computes an expression, or None where it is not known.

    >>> type_of(Binary("*", Name("k"), Num("0.5")), {"k": "int"})
    'double'
    >>> type_of(Binary("-", Name("n"), Num("1")), {"n": "size_t"})
    'size_t'
    """
    match expr:
        case Num(text):
            return _literal_type(text)
        case Name(name) | Item(name, _):
            return types.get(name)
        case Convert(ctype, _):
            return ctype
        case Unary("!", _) | Binary("<" | "<=" | ">" | ">=" | "==" | "!=" | "&&" | "||", _, _):
            return "int"
        case Unary(_, operand):
            return promoted(type_of(operand, types))
        case Binary("<<" | ">>", left, _):
            return promoted(type_of(left, types))
        case Binary(_, left, right) | Choose(_, left, right) | Call("min" | "max", (left, right)):
            return common(type_of(left, types), type_of(right, types))
        case Call("abs", _):
            return "int"
        case Call(function, _):
            return "float" if function.endswith("f") and function.removesuffix("f") in MATH_FUNCTIONS else "double"
    return None


def _literal_type(text: str) -> str | None:
    """Return the first type that holds a literal, of those that its form allows (C11, 6.4.4.1)."""
    value, plain = literal(text), text.lower()
    if value is None:
        return None
    if not isinstance(value, int):
        return "float" if plain.endswith("f") else "double"
    digits = plain.rstrip("ul")
    suffix = plain[len(digits) :]
    decimal = digits == "0" or digits[0] != "0"
    for ctype in ("int", "unsigned", "long", "size_t")[2 if "l" in suffix else 0 :]:
        unsigned = is_unsigned(ctype)
        # A literal is without a sign where it says so, or where it is not decimal and fits no other type.
        allowed = unsigned if "u" in suffix else not (unsigned and decimal)
        if allowed and value < 2 ** (8 * bytes_of(ctype) - (not unsigned)):
            return ctype
    return None


def whole(expr: Expr, types: Mapping[str, str]) -> bool:
    """Whether C surely computes an expression in whole numbers."""
    return type_of(expr, types) in INTEGER_TYPES


def literal(text: str) -> int | float | None:
    """Return the value of a C literal.

    >>> literal("0x10"), literal("2.5f"), literal("10L")
    (16, 2.5, 10)
    """
    plain = text.lower()
    try:
        if plain.startswith("0x"):
            return int(plain.rstrip("ul"), 16)
        if not set(plain) & {".", "e"} and not plain.endswith("f"):
            digits = plain.rstrip("ul")
            return int(digits, 8) if len(digits) > 1 and digits.startswith("0") else int(digits)
        return float(plain.rstrip("fl"))
    except ValueError:
        return None


def _binary(op: str, a: float, b: float) -> int | float | None:
    whole = isinstance(a, int) and isinstance(b, int)
    if op in {"/", "%"}:
        if b == 0:
            return None
        if not whole:
            return a / b if op == "/" else None
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return int(quotient) if op == "/" else int(a - quotient * b)
    result = _OPERATIONS[op](a, b) if op in _OPERATIONS else None
    return None if result is None or abs(result) > 2**62 else result if op in {"+", "-", "*"} else int(result)
