"""Plain code from a program's expression tape, shared by the rivals that are given source text."""

from collections.abc import Callable
from dataclasses import dataclass

from tilewright.programs.stencil.expression import Const, Read, Scalar, Tape

INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}
AXES = ("i", "j", "k")


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one language writes leaves and operators.

    Attributes:
        const: Writes a literal.
        read: Writes a read of a field.
        scalar: Writes a run-time scalar.
        apply: Writes an operator that is no plain infix one, from its name and operands.
        declare: Writes the definition of a temporary from its name and value.
    """

    const: Callable[[float], str]
    read: Callable[[Read], str]
    scalar: Callable[[str], str]
    apply: Callable[[str, list[str]], str]
    declare: Callable[[str, str], str]


def body(tape: Tape, dialect: Dialect) -> tuple[list[str], str]:
    """Write a tape as definitions of temporaries and the text of its result."""
    lines: list[str] = []
    texts: list[str] = []
    for position, node in enumerate(tape):
        if isinstance(node, Const):
            texts.append(dialect.const(float(node.value)))
        elif isinstance(node, Read):
            texts.append(dialect.read(node))
        elif isinstance(node, Scalar):
            texts.append(dialect.scalar(node.name))
        else:
            args = [texts[arg] for arg in node.args]
            value = f"{args[0]} {INFIX[node.op]} {args[1]}" if node.op in INFIX else dialect.apply(node.op, args)
            lines.append(dialect.declare(f"v{position}", value))
            texts.append(f"v{position}")
    return lines, texts[-1]


def shifted(axis: int, offset: int) -> str:
    """Write an index with its offset.

    >>> shifted(0, -1), shifted(1, 0)
    ('i - 1', 'j')
    """
    return AXES[axis] + (f" {'-' if offset < 0 else '+'} {abs(offset)}" if offset else "")
