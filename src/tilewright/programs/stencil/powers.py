"""Powers and remainders: those by constants in cheaper operations, and which powers whole numbers have."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.expression import MOST_FACTORS, Apply, Const, Node, Read, Scalar, Tape

_LARGEST = 2**10  # divisor of a remainder that is written without a division: quotients of 16 bits are whole numbers
_MANTISSA = 0.5  # of powers of two


def refuse_negative_powers(tape: Tape, name: str, dtype: str, values: Mapping[str, Any] | None = None) -> None:
    """Refuse powers of whole numbers by negative ones, as NumPy does, where the exponent is known before a run.

    One that is computed in a run and negative gives what is left of the quotient without its fraction: 1, -1 or 0.
    ``values`` are known ones of scalars and fields; without them constants are looked at.
    """
    for node in tape:
        if not isinstance(node, Apply) or node.op != "pow":
            continue
        exponent = tape[node.args[1]]
        power: Any = 0
        if isinstance(exponent, Const) and values is None:
            power = exponent.value
        elif isinstance(exponent, Scalar | Read) and values is not None:
            power = values.get(exponent.name if isinstance(exponent, Scalar) else exponent.field, 0)
        least = np.min(power)
        if least < 0:
            raise UsageError(
                f"{name!r} takes {dtype} values to the power {least}, which whole numbers do not have",
                "write 1 / u[0], or compute in floating point: dtype='float64'",
            )


def reduce_operators(tape: Tape, *, rounds: bool = True) -> Tape:
    """Write powers by constants as products, quotients and roots, and remainders of powers of two without a division.

    Before: ``u ** -1.5``, a function of many operations. After: ``1 / (u * sqrt(u))``. Whole numbers and halves of them
    up to eight are so written, by repeated squaring; a result differs in rounding by less than four units in the last
    place. Before: ``x % 4``. After: ``x - floor(x * 0.25) * 4``, which is exact, or ``x & 3`` of whole numbers, those
    of a type that does not round.
    """
    nodes: list[Node] = []
    moved: list[int] = []

    def push(node: Node) -> int:
        nodes.append(node)
        return len(nodes) - 1

    def power(base: int, exponent: float) -> int:
        whole = int(abs(exponent))
        factors = [push(Apply("sqrt", (base,)))] if abs(exponent) != whole else []
        while whole:
            factors += [base] if whole & 1 else []
            whole >>= 1
            base = push(Apply("mul", (base, base))) if whole else base
        if exponent in {0, 1}:  # the result is the last node, as in every tape
            factors.append(push(Const(1.0)))
        result, *others = factors
        for factor in others:
            result = push(Apply("mul", (result, factor)))
        return push(Apply("div", (push(Const(1.0)), result))) if exponent < 0 else result

    def remainder(x: int, divisor: float) -> int:
        if not rounds:
            return push(Apply("bitand", (x, push(Const(int(divisor) - 1)))))
        scaled = push(Apply("mul", (x, push(Const(1.0 / divisor)))))
        quotient = push(Apply("floor", (scaled,)))
        return push(Apply("sub", (x, push(Apply("mul", (quotient, push(Const(divisor))))))))

    for node in tape:
        if not isinstance(node, Apply):
            moved.append(push(node))
            continue
        last = tape[node.args[-1]]
        if node.op == "pow" and isinstance(last, Const) and _is_short(last.value):
            moved.append(power(moved[node.args[0]], float(last.real)))
        elif node.op == "remainder" and isinstance(last, Const) and _is_power_of_two(last.value):
            moved.append(remainder(moved[node.args[0]], float(last.real)))
        else:
            moved.append(push(Apply(node.op, tuple(moved[arg] for arg in node.args))))
    return tuple(nodes)


def _is_power_of_two(divisor: complex) -> bool:
    """Whether quotients by this number, and products with it, are exact whatever the type of numbers that rounds."""
    return not isinstance(divisor, complex) and 1 <= divisor <= _LARGEST and math.frexp(divisor)[0] == _MANTISSA


def _is_short(exponent: complex) -> bool:
    """Whether a power by this number takes a few products."""
    return not isinstance(exponent, complex) and abs(exponent) <= MOST_FACTORS and 2 * exponent == int(2 * exponent)
