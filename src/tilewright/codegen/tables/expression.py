"""Expressions of a recurrence as C: one named value per operation, each rounded to the table's type."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tilewright.base.errors import UsageError
from tilewright.codegen import ir
from tilewright.codegen.print.elements import C_ELEMENTS
from tilewright.programs.expression import Apply, Const, Read, Scalar, Tape
from tilewright.programs.operators import BOOLEAN
from tilewright.programs.table import LOOKUP

_INFIX = {
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
_LOGIC = {"and": "&", "or": "|"}
_FUNCTIONS = frozenset({"sqrt", "exp", "log"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How a language writes what differs between C and the languages of GPUs.

    Attributes:
        types: Its element types.
        leaf: The type that a read's own value is declared with.
        literal: A number of a type.
        function: The function that computes a root, an exponential or a logarithm in a type.
        unsigned: Per type, the unsigned type in which whole numbers wrap around, where signed ones need not.
    """

    types: Mapping[str, str]
    leaf: Callable[[Read], str]
    literal: Callable[[float, str], str]
    function: Callable[[str, str], str]
    unsigned: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where leaves are found.

    Attributes:
        read: C of the value of a read.
        lookup: C of an entry of a matrix, of its name and two C expressions.
        dtype: Element type of the tables.
        words: The language.
    """

    read: Callable[[Read], str]
    lookup: Callable[[str, str, str], str]
    dtype: str
    words: Words


def literal(value: float, dtype: str) -> str:
    """Write a number of a type.

    Raises:
        UsageError: If a whole number does not fit.
    """
    if dtype.startswith("float"):
        number = float(value)
        if number in {float("inf"), float("-inf")}:
            return "__builtin_inf()" if number > 0 else "(-__builtin_inf())"
        return f"(({C_ELEMENTS[dtype]}){number!r})"
    check_fits(value, dtype)
    return f"(({C_ELEMENTS[dtype]}){int(value)})"


def check_fits(value: float, dtype: str) -> None:
    """Refuse a number that a whole type cannot hold.

    Raises:
        UsageError: If it cannot.
    """
    low, high = (0, 1) if dtype == "bool" else ir.element(dtype).range
    if value != int(value) or not low <= value <= high:
        raise UsageError(f"the constant {value!r} does not fit {dtype}")


C = Words(
    types=C_ELEMENTS,
    leaf=lambda _: "__auto_type",
    literal=literal,
    function=lambda name, dtype: f"__builtin_{name}{'f' if dtype == 'float32' else ''}",
    unsigned={},
)
"""C as gcc and clang know it, compiled so that whole numbers wrap around."""


def lower(tape: Tape, places: Places, prefix: str) -> tuple[list[str], str]:
    """Write a tape as C declarations and the name of its value.

    Args:
        tape: The expression.
        places: Where its leaves are.
        prefix: Start of the names.

    Returns:
        One declaration per node, and the value, of the table's type.
    """
    kind = places.words.types[places.dtype]
    names: list[str] = []
    truths: list[bool] = []
    lines: list[str] = []
    for number, node in enumerate(tape):
        name, truth = f"{prefix}{number}", False
        if isinstance(node, Const):
            truth = isinstance(node.value, bool)
            text = str(int(node.real)) if truth else places.words.literal(node.real, places.dtype)
        elif isinstance(node, Scalar):
            text = f"c_{node.name}"
        elif isinstance(node, Read):
            text = places.read(node)
        else:
            args = [names[arg] for arg in node.args]
            truth = node.op in BOOLEAN
            text = _operation(node, args, [truths[arg] for arg in node.args], places)
        # A leaf keeps its own type, so that codes of letters compare whole; an operation's result is of the table's.
        declared = "int" if truth else places.words.leaf(node) if isinstance(node, Read) else kind
        value = f"({kind})({text})" if isinstance(node, Apply) and not truth else text
        lines.append(f"const {declared} {name} = {value};")
        names.append(name)
        truths.append(truth)
    return lines, f"({kind}){names[-1]}"


def _operation(node: Apply, args: list[str], truths: list[bool], places: Places) -> str:
    op = node.op
    if op.startswith(LOOKUP):
        return places.lookup(op[len(LOOKUP) :], args[0], args[1])
    if op in _LOGIC:
        return f" {_LOGIC[op]} ".join(
            arg if truth else f"({arg} != 0)" for arg, truth in zip(args, truths, strict=True)
        )
    if op in _INFIX:
        wrapping = places.words.unsigned.get(places.dtype) if op in {"add", "sub", "mul"} else None
        cast = f"({wrapping})" if wrapping else ""
        return f"{cast}{args[0]} {_INFIX[op]} {cast}{args[1]}"
    if op in {"minimum", "maximum"}:
        sign = "<" if op == "minimum" else ">"
        # No short circuit: a condition of two tests in sequence keeps the loop from becoming vectors.
        nan = f" | ({args[0]} != {args[0]})" if places.dtype.startswith("float") else ""
        return f"(({args[0]} {sign} {args[1]}){nan}) ? {args[0]} : {args[1]}"
    others = {
        "where": " ? ".join(args[:2]) + f" : {args[-1]}",
        "neg": f"-{args[0]}",
        "not": f"!{args[0]}",
        "abs": f"{args[0]} < 0 ? -{args[0]} : {args[0]}",
    }
    if op in others:
        return others[op]
    if op in _FUNCTIONS:
        return f"{places.words.function(op, places.dtype)}({args[0]})"
    raise UsageError(f"a recurrence has no C code for {op!r}", "use backend='numpy'")
