"""What expressions of a loop nest are worth where names are known: C's arithmetic on literals."""

from collections.abc import Callable, Mapping

from tilewright.programs.loops.nest import REAL_TYPES, Binary, Call, Choose, Convert, Expr, Name, Num, Unary


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
    simple: dict[str, Callable[[int | float, int | float], int | float]] = {
        "+": lambda x, y: x + y,
        "-": lambda x, y: x - y,
        "*": lambda x, y: x * y,
        "<": lambda x, y: int(x < y),
        "<=": lambda x, y: int(x <= y),
        ">": lambda x, y: int(x > y),
        ">=": lambda x, y: int(x >= y),
        "==": lambda x, y: int(x == y),
        "!=": lambda x, y: int(x != y),
        "&&": lambda x, y: int(bool(x) and bool(y)),
        "||": lambda x, y: int(bool(x) or bool(y)),
    }
    result = simple[op](a, b) if op in simple else None
    return None if result is None or abs(result) > 2**62 else result
