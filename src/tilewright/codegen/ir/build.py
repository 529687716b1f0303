"""Constructors of expressions that no operator of Python writes.

Operands may be numbers. Where an operation must stand in the text as written, :func:`op` folds nothing.
"""

import functools
import operator
from collections.abc import Iterable, Sequence

from tilewright.codegen.ir.expressions import (
    Expr,
    Int,
    Op,
    Operand,
    as_expr,
    binary,
    common_type,
    operand,
    type_of,
)
from tilewright.codegen.ir.operators import Operator
from tilewright.codegen.ir.types import Index, Mask, Native, Pointer, Vector

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


def op(operator: Operator, *args: Expr | int) -> Op:
    """Return an operation as it stands: nothing is folded, and numbers are indices."""
    operands = tuple(map(as_expr, args))
    if len(operands) == 2:
        return binary(operator, *operands)
    return Op(operator, operands, common_type(*operands))


def total(terms: Sequence[Expr]) -> Expr:
    """Return the sum of at least one index."""
    result = terms[0]
    for term in terms[1:]:
        result = result + term
    return result


def every(tests: Iterable[Expr]) -> Expr:
    """Return whether all conditions hold, of which there is at least one."""
    return functools.reduce(operator.and_, tests)


def floordiv(a: Expr, b: Expr | int) -> Expr:
    """Return ``a / b``, rounded down."""
    return op(Operator.FLOORDIV, a, b)


def floormod(a: Expr, b: Expr | int) -> Expr:
    """Return the remainder of :func:`floordiv`."""
    return op(Operator.FLOORMOD, a, b)


def ceildiv(a: Expr, b: Expr | int) -> Expr:
    """Return ``a / b``, rounded up."""
    return op(Operator.CEILDIV, a, b)


def smallest(a: Operand, b: Operand) -> Expr:
    """Return the smaller of two indices or numbers.

    >>> from tilewright.codegen.ir.expressions import Var
    >>> smallest(Var("n"), 4).op, smallest(Var("n"), Var("n"))
    (<Operator.MIN: 'min'>, Var(name='n', type=Index(bits=0)))
    """
    return _extremum(a, b, Operator.MIN, Operator.MINIMUM)


def largest(a: Operand, b: Operand) -> Expr:
    """Return the larger of two indices or numbers."""
    return _extremum(a, b, Operator.MAX, Operator.MAXIMUM)


def _extremum(a: Operand, b: Operand, of_indices: Operator, of_numbers: Operator) -> Expr:
    first, second = _alike(a, b)
    kind = type_of(first)
    return (
        first
        if first == second
        else binary(of_indices if isinstance(kind, Index | Native) else of_numbers, first, second)
    )


def _alike(a: Operand, b: Operand) -> tuple[Expr, Expr]:
    """Two values of which one may be a number of the other one's type."""
    beside = a if isinstance(a, Expr) else b
    if not isinstance(beside, Expr):
        raise TypeError(f"{a} and {b} are known now")
    kind = type_of(beside)
    return operand(a, kind), operand(b, kind)


def select(condition: Expr, a: Operand, b: Operand) -> Expr:
    """Return ``a`` where the condition holds, else ``b``; of vectors, for each number."""
    a, b = _alike(a, b)
    if isinstance(type_of(condition), Mask):
        return Op(Operator.WHERE, (condition, a, b), type_of(a))
    kind, other = common_type(a, b), type_of(b)
    if isinstance(kind, Pointer) and isinstance(other, Pointer) and other.const:
        kind = Pointer(kind.to, const=True, space=kind.space)
    return Op(Operator.SELECT, (condition, a, b), kind)


def wide(a: Expr) -> Expr:
    """Return an index in 64 bits."""
    return Op(Operator.WIDEN, (a,))


def splat(value: Operand, kind: Vector) -> Expr:
    """Return a vector of one number."""
    return Op(Operator.SPLAT, (operand(value, kind),), kind)


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
