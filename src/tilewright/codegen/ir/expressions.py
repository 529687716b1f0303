"""Expressions of the loop-nest IR, and the operators that make them.

``a + b * n``, ``row[i]`` and ``i < n`` are nodes: they find the type that an operation works in and fold what is known.
A number beside an expression is of its type. Where an operation must stand in the text as written,
:func:`~tilewright.codegen.ir.builder.op` folds nothing.

>>> Int(2) + 3, Var("x") + 0, Var("x") * 1, 0 * Var("x")
(Int(value=5), Var(name='x', type=Index(bits=0)), Var(name='x', type=Index(bits=0)), Int(value=0))
>>> (0 - Var("x")) + Var("y") == Var("y") - Var("x")
True
"""

from dataclasses import dataclass
from typing import Union

from tilewright.codegen.ir.operators import ARITHMETIC, LOGICAL, REAL_PARTS, SAME_TYPE, Operator
from tilewright.codegen.ir.types import (
    BOOL,
    INDEX,
    WIDE,
    Bool,
    Element,
    Index,
    Mask,
    Native,
    Pointer,
    Type,
    Vector,
    mask,
    real_of,
    vector,
    weight_of,
)

Number = bool | int | float
Operand = Union["Expr", Number]


class Expr:
    """A value in the making; see the grammar in :mod:`tilewright.codegen.ir.nodes`."""

    __slots__ = ()
    __iter__ = None  # indices have no end

    def __add__(self, other: Operand) -> "Expr":
        """Return the sum; of a pointer, the place so many values behind it."""
        return _sum(self, _beside(self, other))

    def __radd__(self, other: Number) -> "Expr":
        return _sum(_beside(self, other), self)

    def __sub__(self, other: Operand) -> "Expr":
        """Return the difference; of two pointers, how many values lie between them."""
        return _difference(self, _beside(self, other))

    def __rsub__(self, other: Number) -> "Expr":
        return _difference(_beside(self, other), self)

    def __mul__(self, other: Operand) -> "Expr":
        return _product(self, _beside(self, other))

    def __rmul__(self, other: Number) -> "Expr":
        return _product(_beside(self, other), self)

    def __truediv__(self, other: Operand) -> "Expr":
        """Return the quotient; of whole numbers rounded towards zero."""
        return binary(Operator.DIV, self, _beside(self, other))

    def __mod__(self, other: Operand) -> "Expr":
        """Return the remainder of a quotient that is rounded towards zero."""
        return binary(Operator.MOD, self, _beside(self, other))

    def __lshift__(self, other: Operand) -> "Expr":
        return binary(Operator.SHL, self, _beside(self, other))

    def __rshift__(self, other: Operand) -> "Expr":
        return binary(Operator.SHR, self, _beside(self, other))

    def __neg__(self) -> "Expr":
        return Op(Operator.NEG, (self,), type_of(self))

    def __lt__(self, other: Operand) -> "Expr":
        return binary(Operator.LT, self, _beside(self, other))

    def __le__(self, other: Operand) -> "Expr":
        return binary(Operator.LE, self, _beside(self, other))

    def __gt__(self, other: Operand) -> "Expr":
        return binary(Operator.GT, self, _beside(self, other))

    def __ge__(self, other: Operand) -> "Expr":
        return binary(Operator.GE, self, _beside(self, other))

    def equals(self, other: Operand) -> "Expr":
        """Return whether two values are the same."""
        return binary(Operator.EQ, self, _beside(self, other))

    def differs(self, other: Operand) -> "Expr":
        """Return whether two values are not the same."""
        return binary(Operator.NE, self, _beside(self, other))

    def __and__(self, other: Operand) -> "Expr":
        """Return whether both conditions hold; of indices, the bits that both have."""
        return binary(Operator.AND, self, _beside(self, other))

    def __or__(self, other: Operand) -> "Expr":
        """Return whether a condition holds; of indices, the bits that one has."""
        return binary(Operator.OR, self, _beside(self, other))

    def both(self, other: "Expr") -> "Expr":
        """Return whether both conditions hold; C does not look at the second where the first does not (``&&``)."""
        return Op(Operator.BOTH, (self, other), Native("int"))

    def __getitem__(self, index: Operand) -> "Load":
        """Return the value that lies so many behind where the pointer points."""
        return Load(self, as_expr(index), pointee(self))

    def vector(self, index: Operand = 0) -> "Load":
        """Return the vector of values from there on, at any alignment."""
        kind = pointee(self)
        if not isinstance(kind, Element):
            raise TypeError(f"vectors hold numbers, not a {kind}")
        return Load(self, as_expr(index), Vector(kind))

    def lane(self, index: Operand) -> "Expr":
        """Return one number of a vector."""
        kind = type_of(self)
        if not isinstance(kind, Vector):
            raise TypeError(f"a {kind} has no lanes")
        return Op(Operator.LANE, (self, as_expr(index)), kind.element)

    def to(self, kind: Type) -> "Expr":
        """Return the same number in another type; a pointer, or a vector's bits, as that of another type."""
        if kind == type_of(self):
            return self
        if isinstance(kind, Element) and isinstance(self, Real):
            return Real(self.value, kind)
        same_bits = isinstance(kind, Pointer | Vector)
        return Op(Operator.REINTERPRET if same_bits else Operator.CONVERT, (self,), kind)

    def apply(self, operator: Operator, kind: Type, *others: Operand) -> "Expr":
        """Return an operation, that works in a type, on this value and others."""
        return Op(operator, (self, *(_beside(self, other) for other in others)), kind)


@dataclass(frozen=True, slots=True)
class Int(Expr):
    """A whole number of an index type."""

    value: int


@dataclass(frozen=True, slots=True)
class Real(Expr):
    """A literal of an element type, or a known condition."""

    value: bool | int | float | complex
    type: Type


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A literal of C, spelled as a user spelled it."""

    text: str
    type: Native


@dataclass(frozen=True, slots=True)
class Size(Expr):
    """Bytes of a value of a type."""

    of: Type


@dataclass(frozen=True, slots=True)
class Var(Expr):
    """A name."""

    name: str
    type: Type = INDEX


@dataclass(frozen=True, slots=True)
class Lanes(Expr):
    """How many numbers of a type a vector holds, which the compiler knows."""

    element: Element


@dataclass(frozen=True, slots=True)
class Op(Expr):
    """An operation."""

    op: Operator
    args: tuple[Expr, ...]
    # what it works in: the type of its operands where these are alike, else of the numbers that a condition chooses or
    # is turned into; the result is of this type, or a condition on values of it (:func:`type_of`)
    type: Type = INDEX


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift(Expr):
    """The vector that lies some cells beside another one in a row."""

    own: Expr  # the vector that it lies beside
    other: Expr  # the next one on that side, whose lanes it takes over; for a mapped boundary the same one
    low: bool  # whether it lies lower
    distance: int  # by how many cells
    boundary: str = ""  # how cells outside are mapped where the vector lies at the end of the grid, or ``""`` inside
    type: Vector  # the vectors' type


@dataclass(frozen=True, slots=True)
class Load(Expr):
    """The value at ``base[index]``; a vector starts there, at any alignment.

    Real numbers of another type than the vector's are converted. (CPU)
    """

    base: Expr
    index: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Call(Expr):
    """A call of a function of the same unit, or of C's library, as an expression of a type or as a statement."""

    name: str
    args: tuple[Expr, ...]
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class Intrinsic(Expr):
    """A call of a function that the dialect brings for an element type.

    ``copy`` and ``fill`` elements; ``stream`` copies past the caches and ``fence`` orders that; ``lift`` and
    ``lower`` turn a line into a dimension-lifted row and back, ``wrap`` makes the shifted vectors at its ends;
    ``prefetch`` asks for a line; ``again`` is the same address, to be read anew. ``past`` stores a vector at a
    vector's own boundary past the caches. ``await`` waits until a number that another thread will ``publish`` is at
    least an index: what that thread wrote before is seen after. ``put`` copies bytes, past the caches if asked to;
    ``prefetch_near`` asks for a line that is used soon. ``translate`` turns bytes into entries of a table, given
    how many entries and bytes there are. ``count`` adds one for all threads that come.
    """

    name: str
    args: tuple[Expr, ...]
    element: Element


def type_of(node: Expr) -> Type:
    """Return the type of an expression.

    >>> str(type_of(Op(Operator.LT, (Var("i"), Int(3)))))
    'bool'
    """
    if isinstance(node, Var):
        return node.type
    if isinstance(node, Op):
        return node.type if node.op in SAME_TYPE else _result(node.op, node.type)
    if isinstance(node, Int | Lanes | Size):
        return Native("size_t") if isinstance(node, Size) else INDEX
    if isinstance(node, Intrinsic) and node.name == "again":
        return type_of(node.args[0])
    if isinstance(node, Real | Literal | Shift | Load):
        return node.type
    if isinstance(node, Call) and node.type is not None:
        return node.type
    raise TypeError(f"{node.name if isinstance(node, Call | Intrinsic) else node} returns nothing")


def _result(op: Operator, kind: Type) -> Type:
    """The type of what comes of an operator that works in a type."""
    if op is Operator.WIDEN:
        return WIDE
    if op in REAL_PARTS:
        return real_type(kind)
    if op is Operator.ANY_GT:
        return BOOL
    if isinstance(kind, Native):
        return kind if op in {Operator.AND, Operator.OR} else BOOL
    return kind if op in LOGICAL and isinstance(kind, Index) else truth_of(kind)


def truth_of(kind: Type) -> Type:
    """Return the type of conditions on values of a type."""
    return mask(kind.element) if isinstance(kind, Vector | Mask) else BOOL


def real_type(kind: Type) -> Type:
    """Return the type of real numbers beside those of an element type, or of vectors of them.

    >>> from tilewright.codegen.ir.types import element
    >>> str(real_type(vector(element("complex64"))))
    'vector of float32x2'
    """
    if isinstance(kind, Vector):
        return vector(real_of(kind.element))
    return real_of(kind) if isinstance(kind, Element) else kind


def common_type(*args: Expr) -> Type:
    """Return the type in which operands are computed together: the widest of theirs.

    A pointer and an index make a pointer, a vector and a number a vector, an index of 64 bits and one of fewer one of
    64, a condition and an index a condition; a whole number is of any index type.

    >>> str(common_type(Var("p", Pointer(INDEX)), Int(1))), common_type(Int(1), Var("i", WIDE))
    ('pointer to index', Index(bits=64))
    """
    widest: Type = INDEX
    for arg in args:
        kind = type_of(arg)
        if kind is not widest and kind is not INDEX:
            widest = _wider(widest, kind)
    return widest


_WIDEST = (Vector, Pointer, Mask)
_WIDER = (*_WIDEST, Element)


def _wider(one: Type, other: Type) -> Type:
    if isinstance(one, _WIDEST):
        return other if isinstance(one, Vector) and isinstance(other, Vector) and _scales(one.element, other) else one
    if isinstance(one, Element) and isinstance(other, Element):
        return one if _scales(other, one) else other
    return other if one is INDEX or isinstance(other, _WIDER) or other == WIDE else one


def _scales(weight: Element, kind: Vector | Element) -> bool:
    """Whether real numbers of one type multiply those of another, of a vector or alone, as real numbers do."""
    element = kind.element if isinstance(kind, Vector) else kind
    return element is not weight and weight_of(element) == weight


def number(value: Number, kind: Type) -> Expr:
    """Return a literal that stands beside, or in place of, values of a type.

    >>> number(2, Index()), number(1, Bool())
    (Int(value=2), Real(value=True, type=Bool()))
    """
    if isinstance(kind, Vector | Mask):
        kind = kind.element
    if isinstance(kind, Element):
        return Real(value, kind)
    return Real(bool(value), BOOL) if isinstance(kind, Bool) else Int(int(value))


def operand(value: Operand, kind: Type) -> Expr:
    """Return a value as an expression, and a number as a literal of a type."""
    return value if isinstance(value, Expr) else number(value, kind)


def as_expr(index: Operand) -> Expr:
    """Return an index as an expression."""
    return operand(index, INDEX)


def _beside(value: Expr, other: Operand) -> Expr:
    return other if isinstance(other, Expr) else number(other, type_of(value))


def pointee(address: Expr) -> Type:
    """Return the type of what a pointer points to."""
    kind = type_of(address)
    if not isinstance(kind, Pointer):
        raise TypeError(f"only pointers are indexed, not a {kind}")
    return kind.to


def binary(operator: Operator, a: Expr, b: Expr) -> Op:
    """Return an operation of two operands as it stands. In arithmetic a condition is 0 or 1."""
    kind, other = type_of(a), type_of(b)
    if kind is not other and other is not INDEX:
        kind = _wider(kind, other)
    return Op(operator, (a, b), INDEX if kind is BOOL and operator in ARITHMETIC else kind)


def _sum(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Int) and isinstance(b, Int):
        return Int(a.value + b.value)
    if isinstance(a, Int):
        a, b = b, a
    if isinstance(b, Int) and b.value <= 0:
        return a if b.value == 0 else binary(Operator.SUB, a, Int(-b.value))
    for one, other in ((a, b), (b, a)):
        if isinstance(other, Op) and other.op is Operator.SUB and other.args[0] == Int(0):
            return binary(Operator.SUB, one, other.args[1])
    return binary(Operator.ADD, a, b)


def _difference(a: Expr, b: Expr) -> Expr:
    if isinstance(b, Int):
        return _sum(a, Int(-b.value))
    if isinstance(type_of(b), Pointer):
        return Op(Operator.SUB, (a, b))
    return binary(Operator.SUB, a, b)


def _product(a: Expr, b: Expr) -> Expr:
    if isinstance(a, Int):
        a, b = b, a
    if isinstance(b, Int) and isinstance(a, Int):
        return Int(a.value * b.value)
    if isinstance(b, Int) and b.value in {0, 1}:
        return a if b.value else Int(0)
    return binary(Operator.MUL, a, b)
