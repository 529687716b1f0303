"""Constructors of expressions: they find the type that an operation works in, and fold what is known.

Operands may be whole numbers. Where an operation must stand in the text as written, :func:`op` folds nothing.
"""

from collections.abc import Sequence

from tilewright.codegen.ir.nodes import (
    Expr,
    Int,
    Op,
    Var,
    type_of,
)
from tilewright.codegen.ir.operators import ARITHMETIC, Operator
from tilewright.codegen.ir.types import BOOL, INDEX, WIDE, Element, Mask, Pointer, Type, Vector, weight_of

THREAD = Op(Operator.THREAD, ())
"""The number of the thread in its region (CPU) or group (GPU)."""
THREADS = Op(Operator.THREADS, ())
"""How many threads run the region."""
WANTED = Op(Operator.WANTED, ())
"""Whether the results of the call are still wanted (CPU)."""
GROUP = Op(Operator.GROUP, ())
"""The number of the thread's group (GPU)."""
GROUPS = Op(Operator.GROUPS, ())
"""How many groups there are (GPU)."""

VECTOR_BYTES = Op(Operator.VECTOR_BYTES, ())
"""Bytes of a vector register (CPU)."""


def common_type(*args: Expr) -> Type:
    """Return the type in which operands are computed together: the widest of theirs.

    A pointer and an index make a pointer, a vector and a number a vector, an index of 64 bits and one of fewer one of
    64, a condition and an index a condition; a whole number is of any index type.

    >>> str(common_type(Var("p", Pointer(INDEX)), Int(1))), common_type(Int(1), Var("i", WIDE))
    ('pointer to index', Index(bits=64))
    """
    found: Type = INDEX
    for arg in args:
        kind = type_of(arg)
        if kind is not found and kind is not INDEX:
            found = _wider(found, kind)
    return found


_WIDEST = (Vector, Pointer, Mask)
_WIDER = (*_WIDEST, Element)


def _wider(one: Type, other: Type) -> Type:
    """The type in which values of two types are computed together."""
    if isinstance(one, _WIDEST):
        return other if isinstance(one, Vector) and isinstance(other, Vector) and _scales(one.element, other) else one
    if isinstance(one, Element) and isinstance(other, Element):
        return one if _scales(other, one) else other
    return other if one is INDEX or isinstance(other, _WIDER) or other == WIDE else one


def _scales(weight: Element, kind: Vector | Element) -> bool:
    """Whether real numbers of one type multiply those of another, of a vector or alone, as real numbers do."""
    element = kind.element if isinstance(kind, Vector) else kind
    return element is not weight and weight_of(element) == weight


def pointee(address: Var) -> Type:
    """Return the type of what a pointer points to."""
    if not isinstance(address.type, Pointer):
        raise TypeError(f"{address.name} is no pointer but a {address.type}")
    return address.type.to


def op(operator: Operator, *args: Expr | int) -> Op:
    """Return an operation as it stands: nothing is folded. In arithmetic a condition is 0 or 1."""
    if len(args) == 2:
        return _binary(operator, *args)
    operands = tuple(Int(arg) if isinstance(arg, int) else arg for arg in args)
    return Op(operator, operands, common_type(*operands))


def _binary(operator: Operator, a: Expr | int, b: Expr | int) -> Op:
    if isinstance(a, int):
        a = Int(a)
    if isinstance(b, int):
        b = Int(b)
    kind, other = type_of(a), type_of(b)
    if kind is not other and other is not INDEX:
        kind = _wider(kind, other)
    return Op(operator, (a, b), INDEX if kind is BOOL and operator in ARITHMETIC else kind)


def add(a: Expr, b: Expr | int) -> Expr:
    """Return ``a + b``, folded where both are known.

    >>> add(Int(2), 3), add(Var("x"), 0), add(sub(Int(0), Var("x")), Var("y")) == sub(Var("y"), Var("x"))
    (Int(value=5), Var(name='x', type=Index(bits=0)), True)
    """
    b = Int(b) if isinstance(b, int) else b
    if isinstance(a, Int) and isinstance(b, Int):
        return Int(a.value + b.value)
    if isinstance(a, Int):
        a, b = b, a
    if isinstance(b, Int) and b.value <= 0:
        return a if b.value == 0 else op(Operator.SUB, a, -b.value)
    for one, other in ((a, b), (b, a)):
        if isinstance(other, Op) and other.op is Operator.SUB and other.args[0] == Int(0):
            return _binary(Operator.SUB, one, other.args[1])
    return _binary(Operator.ADD, a, b)


def sub(a: Expr, b: Expr | int) -> Expr:
    """Return ``a - b``, folded where possible; of two pointers, how many values lie between them."""
    if isinstance(b, int):
        return add(a, -b)
    if isinstance(b, Int):
        return add(a, -b.value)
    if isinstance(type_of(b), Pointer):
        return Op(Operator.SUB, (a, b))
    return _binary(Operator.SUB, a, b)


def mul(a: Expr, b: Expr | int) -> Expr:
    """Return ``a * b``, folded where possible.

    >>> mul(Var("x"), 1), mul(Int(0), Var("x"))
    (Var(name='x', type=Index(bits=0)), Int(value=0))
    """
    b = Int(b) if isinstance(b, int) else b
    if isinstance(a, Int):
        a, b = b, a
    if isinstance(b, Int) and isinstance(a, Int):
        return Int(a.value * b.value)
    if isinstance(b, Int) and b.value in {0, 1}:
        return a if b.value else Int(0)
    return _binary(Operator.MUL, a, b)


def total(terms: Sequence[Expr]) -> Expr:
    """Return the sum of at least one index."""
    result = terms[0]
    for term in terms[1:]:
        result = add(result, term)
    return result


def div(a: Expr, b: Expr | int) -> Expr:
    """Return ``a / b``; of indices, rounded towards zero."""
    return _binary(Operator.DIV, a, b)


def mod(a: Expr, b: Expr | int) -> Expr:
    """Return the remainder of :func:`div`."""
    return _binary(Operator.MOD, a, b)


def floordiv(a: Expr, b: Expr | int) -> Expr:
    """Return ``a / b``, rounded down."""
    return _binary(Operator.FLOORDIV, a, b)


def floormod(a: Expr, b: Expr | int) -> Expr:
    """Return the remainder of :func:`floordiv`."""
    return _binary(Operator.FLOORMOD, a, b)


def ceildiv(a: Expr, b: Expr | int) -> Expr:
    """Return ``a / b``, rounded up."""
    return _binary(Operator.CEILDIV, a, b)


def smallest(a: Expr, b: Expr | int) -> Expr:
    """Return the smaller of two indices."""
    return a if a == b else _binary(Operator.MIN, a, b)


def largest(a: Expr | int, b: Expr | int) -> Expr:
    """Return the larger of two indices."""
    a = Int(a) if isinstance(a, int) else a
    return a if a == b else _binary(Operator.MAX, a, b)


def lt(a: Expr, b: Expr | int) -> Expr:
    """Return whether ``a < b``."""
    return _binary(Operator.LT, a, b)


def le(a: Expr, b: Expr | int) -> Expr:
    """Return whether ``a <= b``."""
    return _binary(Operator.LE, a, b)


def gt(a: Expr, b: Expr | int) -> Expr:
    """Return whether ``a > b``."""
    return _binary(Operator.GT, a, b)


def ge(a: Expr, b: Expr | int) -> Expr:
    """Return whether ``a >= b``."""
    return _binary(Operator.GE, a, b)


def eq(a: Expr, b: Expr | int) -> Expr:
    """Return whether ``a == b``."""
    return _binary(Operator.EQ, a, b)


def ne(a: Expr, b: Expr | int) -> Expr:
    """Return whether ``a != b``."""
    return _binary(Operator.NE, a, b)


def and_(a: Expr, b: Expr) -> Expr:
    """Return whether both conditions hold."""
    return _binary(Operator.AND, a, b)


def or_(a: Expr, b: Expr | int) -> Expr:
    """Return whether one of two conditions holds; of indices, their bits together."""
    return _binary(Operator.OR, a, b)


def select(condition: Expr, a: Expr, b: Expr) -> Expr:
    """Return ``a`` where the condition holds, else ``b``."""
    kind, other = common_type(a, b), type_of(b)
    if isinstance(kind, Pointer) and isinstance(other, Pointer) and other.const:
        kind = Pointer(kind.to, const=True, space=kind.space)
    return Op(Operator.SELECT, (condition, a, b), kind)


def wide(a: Expr) -> Expr:
    """Return an index in 64 bits."""
    return Op(Operator.WIDEN, (a,))


def splat(number: Expr, kind: Vector) -> Expr:
    """Return a vector of one number."""
    return Op(Operator.SPLAT, (number,), kind)


def hold(vector: Expr) -> Expr:
    """Return the same vector, in a register from here on."""
    return op(Operator.HOLD, vector)


def aligned(address: Expr, size: int) -> Expr:
    """Return the same pointer, whose address is a multiple of ``size`` bytes: a promise to the compiler."""
    return Op(Operator.ALIGNED, (address, Int(size)), type_of(address))


def writable(address: Expr) -> Expr:
    """Return the same pointer without ``const``."""
    kind = type_of(address)
    if not isinstance(kind, Pointer):
        raise TypeError(f"only pointers become writable, not a {kind}")
    return Op(Operator.WRITABLE, (address,), Pointer(kind.to, space=kind.space))
