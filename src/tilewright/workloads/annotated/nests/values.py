"""C's arithmetic: its types, those in which it computes (C11, 6.3.1), and what expressions of a loop nest are worth.

A type is called by a name that C has for it; what it holds is an element type (:data:`ELEMENTS`), by the data model
LP64 of Linux and macOS: ``long`` has 64 bits.
"""

import operator
from collections.abc import Callable, Mapping, Sequence

from tilewright.base.dtypes import numpy_type
from tilewright.codegen.print.elements import MATH_FUNCTIONS
from tilewright.workloads.annotated.nests.nest import Binary, Call, Choose, Convert, Expr, Item, Name, Num, Unary

ELEMENTS = {
    "char": "int8",
    "short": "int16",
    "int": "int32",
    "int32_t": "int32",
    "unsigned": "uint32",
    "long": "int64",
    "long long": "int64",
    "int64_t": "int64",
    "size_t": "uint64",
    "float": "float32",
    "double": "float64",
}
"""Element types by C's names."""
REAL_TYPES = frozenset({"float", "double"})
INTEGER_TYPES = ELEMENTS.keys() - REAL_TYPES
NARROW = frozenset({"char", "short", "int8_t", "uint8_t", "int16_t", "uint16_t", "_Bool", "bool"})
"""Words of types that C computes with as ``int``, those that we have none of among them."""
_RESULTS = {"int32": "int", "uint32": "unsigned", "int64": "long", "uint64": "size_t"}
"""What whole numbers are computed in; narrower ones are promoted to ``int``, whose range holds theirs."""

_SPECIFIERS: dict[tuple[str, ...], str] = {
    **{(name,): name for name in ELEMENTS if " " not in name},
    ("long", "long"): "int64_t",
    ("long", "unsigned"): "size_t",
    ("long", "long", "unsigned"): "size_t",
}
"""Types by their specifiers in alphabetical order, without ``signed``, and without ``int`` where that says nothing."""
_WIDTHS = {"short", "long", "unsigned"}


def named(words: Sequence[str]) -> str | None:
    """Return the type that specifiers name, in any order (6.7.2), or None if we have none of it.

    >>> named(["long", "unsigned", "int"]), named(["signed"]), named(["long", "double"]), named(["unsigned", "char"])
    ('size_t', 'int', None, None)
    """
    plain = sorted(word for word in words if word != "signed")
    if _WIDTHS & set(plain) or (words and not plain):
        plain = [word for word in plain if word != "int"] or ["int"]
    return _SPECIFIERS.get(tuple(plain))


def bytes_of(ctype: str) -> int:
    """Return the bytes of a number.

    >>> bytes_of("short"), bytes_of("size_t")
    (2, 8)
    """
    return numpy_type(ELEMENTS[ctype]).itemsize


def is_unsigned(ctype: str | None) -> bool:
    """Whether the numbers of a type have no sign."""
    return ELEMENTS.get(ctype or "", "").startswith("uint")


def same(left: str | None, right: str | None) -> bool:
    """Whether two names are those of one type, or of types that compute alike.

    >>> same("long", "int64_t"), same("char", "int"), same(None, None)
    (True, False, False)
    """
    return left is not None and right is not None and ELEMENTS.get(left, left) == ELEMENTS.get(right, right)


def promoted(ctype: str | None) -> str | None:
    """Return the type in which C computes with one operand (6.3.1.1).

    >>> promoted("char"), promoted("int64_t"), promoted("float")
    ('int', 'long', 'float')
    """
    if ctype not in INTEGER_TYPES:
        return ctype
    return _RESULTS.get(ELEMENTS[ctype], "int")


def common(left: str | None, right: str | None) -> str | None:
    """Return the type in which C joins two operands (6.3.1.8); None stands for a whole number of unknown width.

    >>> common("unsigned", "int"), common("unsigned", "long"), common("size_t", "long"), common("size_t", "float")
    ('unsigned', 'long', 'size_t', 'float')
    """
    sides = [promoted(left), promoted(right)]
    for ctype in ("double", "float"):
        if ctype in sides:
            return ctype
    integers = [side for side in sides if side in INTEGER_TYPES]
    if len(integers) < 2:
        return None
    # Of one width the unsigned type wins; a wider one holds every number of a narrower one.
    return max(integers, key=lambda side: (bytes_of(side), is_unsigned(side)))


def limits(ctype: str) -> tuple[str, str]:
    """Return the least and the greatest number of a type, as text of C, CUDA or OpenCL.

    >>> limits("short"), limits("unsigned")
    (('(-32767 - 1)', '32767'), ('0', '4294967295u'))
    """
    if ctype in REAL_TYPES:
        limit = "FLT_MAX" if ctype == "float" else "DBL_MAX"
        return f"(-{limit})", limit
    bits = 8 * bytes_of(ctype)
    suffix = "l" if bits == 64 else ""
    if is_unsigned(ctype):
        return "0", f"{2**bits - 1}u{suffix}"
    return f"(-{2 ** (bits - 1) - 1}{suffix} - 1)", f"{2 ** (bits - 1) - 1}{suffix}"


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


def evaluate(expr: Expr, values: Mapping[str, int | float]) -> int | float | None:  # noqa: PLR0911
    """Return the value of a scalar expression with C's arithmetic, or None if it is not known.

    >>> evaluate(Binary("/", Num("7"), Unary("-", Num("2"))), {})
    -3
    """
    match expr:
        case Num(text):
            return literal(text)
        case Name(name):
            return values.get(name)
        case Unary("-", operand):
            value = evaluate(operand, values)
            return None if value is None else -value
        case Convert(ctype, operand):
            value = evaluate(operand, values)
            if value is None:
                return None
            return float(value) if ctype in REAL_TYPES else int(value) if abs(value) < 2**62 else None
        case Binary(op, left, right):
            a, b = evaluate(left, values), evaluate(right, values)
            return None if a is None or b is None else _binary(op, a, b)
        case Choose(test, then, other):
            chosen = evaluate(test, values)
            return None if chosen is None else evaluate(then if chosen else other, values)
        case Call("min" | "max" as function, (left, right)):
            a, b = evaluate(left, values), evaluate(right, values)
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
