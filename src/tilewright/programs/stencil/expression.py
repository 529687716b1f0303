"""Expressions: built with Python's operators, kept as flat tapes.

A *tape* is a tuple of nodes in evaluation order; an :class:`Apply` names its operands by their positions, and the
last node is the result. Equal sub-expressions are one node. A flat form needs no recursion, so a box of reach 4 in
three dimensions (729 reads) is as easy as a three-point stencil, and it prints, hashes and compares as plain data.
"""

import cmath
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tilewright.base.dtypes import check_fits
from tilewright.base.errors import TraceError, UsageError
from tilewright.base.fingerprint import identity
from tilewright.programs.stencil.operators import BITWISE, BOOLEAN, FLAT, OF_TRUTHS, OPERATORS

MAX_NODES = 100_000
LOOKUP = "lookup "  # start of the operator that looks a matrix up; the matrix's name follows
_FOLDED = (FLAT - set(BITWISE)) | {
    *("add", "sub", "mul", "div", "neg", "abs", "sqrt", "exp", "log", "sin", "cos", "tan", "tanh", "atan2", "remainder")
}
MOST_FACTORS = 8  # powers up to this one are products
_WHOLE = 2**31  # numbers of this size and above are left as they are written


@dataclass(frozen=True, slots=True, eq=False)
class Const:
    """A literal number. Constants are equal if type, value and sign are: 0.0 and -0.0, 1 and True are not."""

    value: bool | int | float | complex

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and identity(self.value) == identity(other.value)

    def __hash__(self) -> int:
        # Not a number is unlike itself, and hashed by its place in memory.
        return hash(self.value) if self.value == self.value else 0

    @property
    def real(self) -> bool | int | float:
        """The value for generated code, which computes in real numbers."""
        if isinstance(self.value, complex):
            raise UsageError(f"generated code computes in real numbers, got the constant {self.value}")
        return self.value


LEVEL_NAMES = {1: "new", 0: "", -1: "prev", -2: "prev2"}  # time levels by the attributes of fields that they are


def level_name(field: str, level: int) -> str:
    """Return a name of a time level of a field: ``u_new``, ``u``, ``u_prev``, ``u_prev2``."""
    return f"{field}_{LEVEL_NAMES[level]}" if level else field


@dataclass(frozen=True, slots=True)
class Read:
    """A read of a field at a constant offset."""

    field: str
    level: int  # time level: 1 is the value computed in this step, 0 the current, -1 the previous, -2 the one before
    offset: tuple[int, ...]  # per axis, outermost first

    @property
    def text(self) -> str:
        """The read as a stencil's body has it.

        >>> Read("u", -1, (0, 1)).text
        'u.prev[0, 1]'
        """
        return f"{self.field}{'.' * bool(self.level)}{LEVEL_NAMES[self.level]}[{', '.join(map(str, self.offset))}]"

    def beyond(self, axis: int) -> "Inside | None":
        """Return the cells from which it lies outside the grid along an axis; None where it lies in the cell's own row.

        >>> Read("u", 0, (-2, 0, 1)).beyond(0), Read("u", 0, (-2, 0, 1)).beyond(1)
        (Inside(axis=0, low=0, high=2, shift=0, wraps=False), None)
        """
        offset = self.offset[axis]
        if not offset:
            return None
        return Inside(axis, -offset, None) if offset > 0 else Inside(axis, 0, -offset)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar that is given when the program runs."""

    name: str


@dataclass(frozen=True, slots=True)
class Index:
    """The index of the cell in the grid along an axis, as a number of the program's element type."""

    axis: int
    shift: int = 0  # the index is that of the cell so many further: adjoints look at the cells that read theirs
    wraps: bool = False  # whether the first cell follows the last one where that cell is outside


@dataclass(frozen=True, slots=True)
class Inside:
    """Whether the cell lies in a range of cells along an axis: a truth value."""

    axis: int
    low: int  # first cell of the range, counted from the end of the axis where it is negative
    high: int | None  # the first cell after the range, counted in the same way; None for the end of the axis
    shift: int = 0  # as for :class:`Index`
    wraps: bool = False  # as for :class:`Index`

    def span(self, extent: int) -> tuple[int, int]:
        """Return the range on an axis of so many cells, cut to the axis as NumPy cuts a slice.

        >>> Inside(0, -3, None).span(10), Inside(0, 2, -12).span(10)
        ((7, 10), (2, 2))
        """
        low, high, _ = slice(self.low, self.high).indices(extent)
        return low, max(low, high)


@dataclass(frozen=True, slots=True)
class Profile:
    """A number for every cell along an axis, which are given when the program runs."""

    name: str  # by which they are given
    axis: int
    shift: int = 0  # as for :class:`Index`; beyond the ends of the axis it has the number of the cell there
    wraps: bool = False  # as for :class:`Index`


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator applied to earlier nodes of the tape."""

    op: str
    args: tuple[int, ...]


Placed = Index | Inside | Profile  # what depends on the cell's place alone
Leaf = Const | Read | Scalar | Index | Inside | Profile
Node = Leaf | Apply
Tape = tuple[Node, ...]
Operand = Any

_UFUNCS = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "negative": "neg",
    "power": "pow",
    "absolute": "abs",
    "conjugate": "conj",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
    "equal": "eq",
    "not_equal": "ne",
    "logical_and": "and",
    "logical_or": "or",
    "logical_not": "not",
    "arctan2": "atan2",
    "fabs": "abs",
}
"""NumPy's functions by the operators that they are, where the names differ."""


class Value:
    """A value under construction: a leaf, or an operator over other values.

    Python's arithmetic and comparison operators, ``abs`` and NumPy's ufuncs of the same names build larger values.
    """

    __slots__ = ("args", "op")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, op: str | Leaf, args: "tuple[Value, ...]" = ()) -> None:
        self.op = op
        self.args = args

    def __add__(self, other: Operand) -> "Value":
        return apply("add", self, other)

    def __radd__(self, other: Operand) -> "Value":
        return apply("add", other, self)

    def __sub__(self, other: Operand) -> "Value":
        return apply("sub", self, other)

    def __rsub__(self, other: Operand) -> "Value":
        return apply("sub", other, self)

    def __mul__(self, other: Operand) -> "Value":
        return apply("mul", self, other)

    def __rmul__(self, other: Operand) -> "Value":
        return apply("mul", other, self)

    def __truediv__(self, other: Operand) -> "Value":
        return apply("div", self, other)

    def __rtruediv__(self, other: Operand) -> "Value":
        return apply("div", other, self)

    @property
    def real(self) -> "Value":
        """The real part; of a real number itself."""
        return apply("real", self)

    @property
    def imag(self) -> "Value":
        """The imaginary part; of a real number 0."""
        return apply("imag", self)

    def conj(self) -> "Value":
        """The complex conjugate; of a real number itself."""
        return apply("conj", self)

    conjugate = conj

    def __pow__(self, other: Operand) -> "Value":
        if isinstance(other, int | np.integer | np.bool_):
            other = int(other)
            if 1 <= other <= MOST_FACTORS:
                return _integer_power(self, other)
        return apply("pow", self, other)

    def __rpow__(self, other: Operand) -> "Value":
        return apply("pow", other, self)

    def __mod__(self, other: Operand) -> "Value":
        return apply("remainder", self, other)

    def __rmod__(self, other: Operand) -> "Value":
        return apply("remainder", other, self)

    def __floordiv__(self, other: Operand) -> "Value":
        return apply("floor_divide", self, other)

    def __rfloordiv__(self, other: Operand) -> "Value":
        return apply("floor_divide", other, self)

    def __floor__(self) -> "Value":
        return apply("floor", self)

    def __ceil__(self) -> "Value":
        return apply("ceil", self)

    def __round__(self, digits: int | None = None) -> "Value":
        return rounded(self, digits or 0)

    def __neg__(self) -> "Value":
        return apply("neg", self)

    def __pos__(self) -> "Value":
        return self

    def __abs__(self) -> "Value":
        return apply("abs", self)

    def __lt__(self, other: Operand) -> "Value":
        return apply("lt", self, other)

    def __le__(self, other: Operand) -> "Value":
        return apply("le", self, other)

    def __gt__(self, other: Operand) -> "Value":
        return apply("gt", self, other)

    def __ge__(self, other: Operand) -> "Value":
        return apply("ge", self, other)

    def __eq__(self, other: object) -> "Value":  # type: ignore[override]
        return apply("eq", self, other)

    def __ne__(self, other: object) -> "Value":  # type: ignore[override]
        return apply("ne", self, other)

    def __and__(self, other: Operand) -> "Value":
        return bitwise("bitand", self, other)

    def __rand__(self, other: Operand) -> "Value":
        return bitwise("bitand", other, self)

    def __or__(self, other: Operand) -> "Value":
        return bitwise("bitor", self, other)

    def __ror__(self, other: Operand) -> "Value":
        return bitwise("bitor", other, self)

    def __rshift__(self, other: Operand) -> "Value":
        return bitwise("shr", self, other)

    def __invert__(self) -> "Value":
        return bitwise("invert", self)

    def __xor__(self, other: Operand) -> "Value":
        raise TraceError("a stencil has &, |, ~ and >> of whole numbers, got ^", "of truth values ^ is !=")

    def __lshift__(self, other: Operand) -> "Value":
        raise TraceError("a stencil has &, |, ~ and >> of whole numbers, got <<", "u[0, 0] << 2 is u[0, 0] * 4")

    __rxor__, __rlshift__ = __xor__, __lshift__

    def __bool__(self) -> bool:
        raise TraceError(
            "a stencil's value has no truth while it is traced, so 'if', 'and', 'or', 'min' and 'max' cannot use it",
            "use tw.where, '&', '|', tw.minimum and tw.maximum",
        )

    def __getitem__(self, index: object) -> "Value":
        raise TraceError(
            "a stencil's value is one number per cell and takes no index", "all offsets stand in one bracket: u[-1, 0]"
        )

    def __iter__(self) -> "Value":
        raise TraceError("a stencil's value is one number per cell and cannot be unpacked", "index its field instead")

    def __array_ufunc__(self, ufunc: Callable[..., object], method: str, *inputs: object, **options: object) -> "Value":
        name = _UFUNCS.get(ufunc.__name__, ufunc.__name__)
        is_operator = name in OPERATORS or name in _COMPOSED
        if method != "__call__" or options or not is_operator:
            raise _no_operator(ufunc)
        return apply(name, *inputs) if name in OPERATORS else _COMPOSED[name](*inputs)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: object,
        args: tuple[Any, ...],
        options: dict[str, Any],
    ) -> "Value":
        composed = _COMPOSED.get(function.__name__)
        if composed is None:
            raise _no_operator(function)
        try:
            return composed(*args, **options)
        except TypeError as error:
            raise TraceError(f"NumPy's {function.__name__!r} does not take that in a stencil: {error}") from None


def _no_operator(function: Callable[..., object]) -> TraceError:
    hint = "it has sqrt, exp, log, sin, where, clip, round, remainder and their like, as tw.sqrt is one"
    return TraceError(f"NumPy's {function.__name__!r} is no operator of a stencil", hint)


def _integer_power(base: Value, exponent: int) -> Value:
    """Return ``base`` multiplied by itself, by repeated squaring."""
    result: Value | None = None
    square = base
    while exponent:
        if exponent & 1:
            result = square if result is None else apply("mul", result, square)
        exponent >>= 1
        if exponent:
            square = apply("mul", square, square)
    return cast("Value", result)


def as_value(operand: Operand) -> Value:
    """Turn a number or a value into a value."""
    if isinstance(operand, Value):
        return operand
    if hasattr(operand, "as_value"):
        return cast("Value", operand.as_value())
    if hasattr(operand, "item") and getattr(operand, "ndim", 0) == 0:
        operand = operand.item()
    if isinstance(operand, bool | int | float | complex):
        return Value(Const(operand))
    raise TraceError(
        f"an expression is made of fields, scalars and numbers, got a {type(operand).__name__}",
        "pass arrays as arguments of the stencil and index them",
    )


def apply(op: str, *operands: Operand) -> Value:
    """Apply an operator to values or numbers; of numbers alone it makes a number.

    >>> apply("div", 1.0, 4.0).op
    Const(value=0.25)
    """
    values = tuple(as_value(operand) for operand in operands)
    number = _number(op, [value.op for value in values])
    return Value(op, values) if number is None else Value(Const(number))


def bitwise(op: str, *operands: Operand) -> Value:
    """Apply one of :data:`~tilewright.programs.stencil.operators.BITWISE`; of truth values it is a logical operator."""
    values = tuple(as_value(operand) for operand in operands)
    for value in values:
        if isinstance(value.op, Const) and not isinstance(value.op.value, int):
            raise TraceError(f"{BITWISE[op]} works on the bits of whole numbers, got {value.op.value!r}", COMPARE_FIRST)
    if all(_is_truth(value.op) for value in values):
        op = OF_TRUTHS.get(op, op)
    return apply(op, *values)


def _is_truth(op: str | Leaf) -> bool:
    """Whether a leaf, or any result of an operator, is a truth value."""
    return op in BOOLEAN or isinstance(op, Inside) or (isinstance(op, Const) and isinstance(op.value, bool))


def truths(tape: Tape, fields: Collection[str] = ()) -> list[bool]:
    """Say of every value of a tape whether it is a truth value, as NumPy has it; ``fields`` hold such values.

    >>> x = Value(Read("u", 0, (0,)))
    >>> truths(flatten((x > 0) * (x < 1)))
    [False, False, True, False, True, True]
    """
    results: list[bool] = []
    for node in tape:
        if isinstance(node, Apply):
            results.append(node.op in BOOLEAN or (node.op in OF_TRUTHS and all(results[arg] for arg in node.args)))
        else:
            results.append(node.field in fields if isinstance(node, Read) else _is_truth(node))
    return results


def of_truths(tape: Tape, fields: Collection[str]) -> Tape:
    """Return a tape whose bitwise operators on truth values, those of some fields among them, are logical ones."""
    are_truths = truths(tape, fields)
    return tuple(
        Apply(OF_TRUTHS[node.op], node.args)
        if are_truths[place] and isinstance(node, Apply) and node.op in BITWISE
        else node
        for place, node in enumerate(tape)
    )


COMPARE_FIRST = "compare first, as in tw.where((u[0, 0] > 0) & (u[1, 0] < 1), …), or give an integer type"


def rounded(x: Operand, decimals: int = 0) -> Value:
    """The nearest whole number, of two the even one."""
    if decimals != 0:
        raise TraceError(f"a stencil rounds to whole numbers, got {decimals!r} decimals", "scale before and after")
    return apply("rint", x)


def clipped(x: Operand, low: Operand = None, high: Operand = None) -> Value:
    """A value kept between two others, either of which may be None; NaN stays NaN.

    Where they cross the result is the upper one, as in ``numpy.clip``.
    """
    value = as_value(x) if low is None else apply("maximum", x, low)
    return value if high is None else apply("minimum", value, high)


def _numpy_clip(a: Operand, a_min: Operand = None, a_max: Operand = None, **named: Operand) -> Value:
    return clipped(a, named.pop("min", a_min), named.pop("max", a_max), **named)


_COMPOSED: dict[str, Callable[..., Value]] = {
    "where": lambda condition, x, y: apply("where", condition, x, y),
    "clip": _numpy_clip,
    "round": lambda a, decimals=0: rounded(a, decimals),
    "around": lambda a, decimals=0: rounded(a, decimals),
    "isnan": lambda x: apply("ne", x, x),
    "real": lambda val: apply("real", val),
    "imag": lambda val: apply("imag", val),
    "square": lambda x: apply("mul", x, x),
    "bitwise_and": lambda a, b: bitwise("bitand", a, b),
    "bitwise_or": lambda a, b: bitwise("bitor", a, b),
    "right_shift": lambda a, b: bitwise("shr", a, b),
    "invert": lambda x: bitwise("invert", x),
    "positive": as_value,
}
"""NumPy's functions that are made of operators, or are no ufuncs."""


def _number(op: str, operands: list[str | Leaf]) -> int | float | complex | None:
    """Return what an operator makes of numbers alone, in float64 or complex128, or None.

    Left to NumPy, its result would no longer take the type of the field that it meets: float32 would become float64.
    """
    numbers = [each.value for each in operands if isinstance(each, Const) and type(each.value) is not bool]
    if op not in _FOLDED or len(numbers) < len(operands) or any(abs(number) >= _WHOLE for number in numbers):
        return None
    with np.errstate(all="ignore"):
        result = OPERATORS[op].evaluate(*numbers).item()
    return result if cmath.isfinite(result) else None


def flatten(root: Value) -> Tape:
    """Turn a value into its tape; equal sub-expressions become one node.

    >>> x = Value(Read("u", 0, (0,)))
    >>> flatten(x * x + 1)[-1]
    Apply(op='add', args=(1, 2))
    """
    tape: list[Node] = []
    index: dict[Node, int] = {}
    done: dict[int, int] = {}
    stack = [root]
    while stack:
        value = stack[-1]
        missing = [arg for arg in value.args if id(arg) not in done]
        if id(value) in done:
            stack.pop()
        elif missing:
            stack.extend(reversed(missing))
        else:
            stack.pop()
            node: Node
            node = (
                value.op if not isinstance(value.op, str) else Apply(value.op, tuple(done[id(a)] for a in value.args))
            )
            done[id(value)] = index.setdefault(node, len(tape))
            if done[id(value)] == len(tape):
                tape.append(node)
            if len(tape) > MAX_NODES:
                raise TraceError(
                    f"an expression may have at most {MAX_NODES} operations", "split the stencil in several"
                )
    return tuple(tape)


def complex_constant(*tapes: Tape) -> complex | None:
    """Return the first constant of some tapes that is a complex number, or None."""
    values = (node.value for tape in tapes for node in tape if isinstance(node, Const))
    return next((value for value in values if isinstance(value, complex)), None)


def check_constants(tape: Tape, dtype: str, name: str) -> None:
    """Check that the constants of a program's tape fit the type that it is computed in."""
    for node in tape:
        if isinstance(node, Const):
            check_fits(node.value, dtype, f"the constant {{}} of {name!r}")


def reads(tape: Tape) -> tuple[Read, ...]:
    """Return the distinct reads of a tape, in order."""
    return tuple(node for node in tape if isinstance(node, Read))


def placed(*tapes: Tape) -> tuple[Placed, ...]:
    """Return the distinct leaves of some tapes that depend on the cell's place alone, in order."""
    leaves = dict.fromkeys(node for tape in tapes for node in tape if isinstance(node, Placed))
    return tuple(leaves)


def flops(tape: Tape) -> int:
    """Count the floating-point operations of one evaluation, every operator as one (the papers' count)."""
    return sum(OPERATORS[node.op].flops for node in tape if isinstance(node, Apply))
