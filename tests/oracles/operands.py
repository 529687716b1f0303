"""Which operands every operator takes, and of which types, given the type that it works in."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tilewright.codegen.ir.expressions import real_type
from tilewright.codegen.ir.operators import Operator
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
    element_of,
    mask,
    real_of,
    vector,
    weight_of,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntrinsicSignature:
    """What an intrinsic takes."""

    # a letter each: ``w`` a pointer that is written through, ``r`` one that is read, ``i`` an index, ``e`` a number,
    # ``v`` a vector, ``b`` a pointer to bytes that are read; ``p`` and ``s`` pointers to a thread's own memory and to
    # the chip
    operands: str
    returns: bool = False  # whether it gives the pointer back that it took
    gpu: bool = False  # whether GPUs have it, not CPUs


INTRINSICS: dict[str, IntrinsicSignature] = {
    "copy": IntrinsicSignature(operands="wri"),
    "fill": IntrinsicSignature(operands="wei"),
    "stream": IntrinsicSignature(operands="wri"),
    "lift": IntrinsicSignature(operands="wri"),
    "lower": IntrinsicSignature(operands="wri"),
    "wrap": IntrinsicSignature(operands="wiii"),
    "prefetch": IntrinsicSignature(operands="r"),
    "fence": IntrinsicSignature(operands=""),
    "again": IntrinsicSignature(operands="r", returns=True),
    "past": IntrinsicSignature(operands="wv"),
    "await": IntrinsicSignature(operands="ri"),
    "publish": IntrinsicSignature(operands="wi"),
    "put": IntrinsicSignature(operands="wrii"),
    "prefetch_near": IntrinsicSignature(operands="r"),
    "translate": IntrinsicSignature(operands="wbrii"),
    "count": IntrinsicSignature(operands="w", gpu=True),
    **{
        f"{name}{lanes}": IntrinsicSignature(operands=operands + "e" * values * lanes, gpu=True)
        for name, operands, values in (("fetch", "pr", 0), ("store", "w", 1), ("stage", "s", 1), ("pass", "ws", 0))
        for lanes in (2, 4)
    },
}
"""What the functions of dialects take."""
Kinds = list[Type | None]
"""Types of the operands of an operator."""


def _numbers(kind: Type, kinds: Kinds) -> bool:
    """Numbers of one type, of which some may be broadcast to vectors; or indices."""
    if isinstance(kind, Vector):
        return kind in kinds and all(each in {kind, kind.element} for each in kinds)
    return _alike(kind, kinds)


def _scaled(kind: Type, kinds: Kinds) -> bool:
    """The same, of which some may be real numbers beside complex ones, or wider than those in memory."""
    element = element_of(kind)
    if element is None or (weight := weight_of(element)) == element:
        return _numbers(kind, kinds)
    if isinstance(kind, Vector):
        return all(each in {kind, element, weight, vector(weight)} for each in kinds) and any(
            isinstance(each, Vector) for each in kinds
        )
    return all(each in {kind, weight} for each in kinds)


def _of_complex(kind: Type, kinds: Kinds) -> bool:
    """One complex number."""
    element = element_of(kind)
    return element is not None and element.is_complex and _alike(kind, kinds)


def _of_real(kind: Type, kinds: Kinds) -> bool:
    """A real number that becomes a complex one."""
    element = element_of(kind)
    return element is not None and element.is_complex and kinds[0] == real_type(kind)


def _turned(kind: Type, kinds: Kinds) -> bool:
    """A real number, for all, and a complex one."""
    element = element_of(kind)
    return element is not None and element.is_complex and kinds == [real_of(element), kind]


def _alike(kind: Type, kinds: Kinds) -> bool:
    """Values of one type: numbers, vectors, or indices with conditions, which are 0 or 1."""
    if isinstance(kind, Index):
        return all(each == BOOL or (isinstance(each, Index) and (each != WIDE or kind == WIDE)) for each in kinds)
    return isinstance(kind, Element | Vector) and all(each == kind for each in kinds)


def _addends(kind: Type, kinds: Kinds) -> bool:
    """Numbers, a pointer and an index, or two pointers."""
    first, second = kinds
    if isinstance(kind, Pointer):
        return first == kind and isinstance(second, Index | Native)
    if kind == INDEX and isinstance(first, Pointer) and isinstance(second, Pointer):
        return first.to == second.to
    return _numbers(kind, kinds)


def _comparable(kind: Type, kinds: Kinds) -> bool:
    """Numbers, or conditions with indices: these are 0 or 1."""
    return _truths(kind, kinds) if kind == BOOL else _numbers(kind, kinds)


def _indices(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Index) and _alike(kind, kinds)


def _whole(kind: Type, kinds: Kinds) -> bool:
    """Indices, or whole numbers."""
    number = kind.element if isinstance(kind, Vector) else kind
    return (isinstance(number, Index) or (isinstance(number, Element) and number.is_integer)) and _numbers(kind, kinds)


def _truths(kind: Type, kinds: Kinds) -> bool:
    """Conditions on values of a type; where it is no type of numbers an index stands for one, or for its bits."""
    if isinstance(kind, Vector | Mask):
        return all(each == mask(kind.element) for each in kinds)
    if isinstance(kind, Element):
        return all(each == BOOL for each in kinds)
    return all(isinstance(each, Index) or (each == BOOL and kind == BOOL) for each in kinds)


def _choice(kind: Type, kinds: Kinds) -> bool:
    """A condition on numbers and two of them."""
    condition = mask(kind.element) if isinstance(kind, Vector) else BOOL
    return isinstance(kind, Element | Vector) and kinds[0] == condition and kinds[1:] == [kind, kind]


def _branches(kind: Type, kinds: Kinds) -> bool:
    """A condition and two values that are a type, or indices or pointers that become one."""
    if not isinstance(kinds[0], Bool | Index):
        return False
    if isinstance(kind, Pointer):
        return all(
            isinstance(each, Pointer) and replace(each, const=kind.const or each.const) == kind for each in kinds[1:]
        )
    return all(each == kind or (kind == WIDE and each == INDEX) for each in kinds[1:])


def _condition(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Element | Vector) and kinds[0] == (mask(kind.element) if isinstance(kind, Vector) else BOOL)


def _one_index(kind: Type, kinds: Kinds) -> bool:
    return kind == INDEX and isinstance(kinds[0], Index)


def _nothing(kind: Type, _kinds: Kinds) -> bool:
    return kind == INDEX


def _number_for_all(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Vector) and kinds[0] == kind.element


def _vectors(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Vector) and _alike(kind, kinds)


def _whole_vectors(kind: Type, kinds: Kinds) -> bool:
    return _vectors(kind, kinds) and _whole(kind, kinds)


def _kept(kind: Type, kinds: Kinds) -> bool:
    return _vectors(kind, kinds[:2]) and kinds[2] == INDEX


def _converted(kind: Type, kinds: Kinds) -> bool:
    """A number, an index or a condition that becomes a number or an index; a pointer, its address in bytes."""
    if isinstance(kinds[0], Pointer):
        return isinstance(kind, Index)
    return isinstance(kind, Element | Index) and isinstance(kinds[0], Element | Index | Bool)


def _same_bits(kind: Type, kinds: Kinds) -> bool:
    """A pointer into the same memory, or a vector of numbers as wide; ``const`` may be added."""
    found = kinds[0]
    if isinstance(kind, Vector) and isinstance(found, Vector):
        return kind.element.bits == found.element.bits
    if not (isinstance(kind, Pointer) and isinstance(found, Pointer)):
        return False
    return kind.space is found.space and (kind.const or not found.const)


def _lane(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Element) and kinds[0] == Vector(kind) and isinstance(kinds[1], Index)


def _without_const(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Pointer) and kinds[0] == Pointer(kind.to, const=True, space=kind.space)


def _pointer_and_size(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Pointer) and kinds[0] == kind and isinstance(kinds[1], Index)


def _meet(kinds: Kinds) -> bool:
    """Values that C's own conversions bring together."""
    return all(isinstance(each, Native | Index | Bool) for each in kinds)


def _of_c(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Native) and _meet(kinds)


def _bits(kind: Type, kinds: Kinds) -> bool:
    return _of_c(kind, kinds) or _whole(kind, kinds)


def _address(kind: Type, kinds: Kinds) -> bool:
    return isinstance(kind, Pointer) and kind.to == kinds[0]


OPERATORS: dict[Operator, tuple[int, Callable[[Type, Kinds], bool]]] = {
    **dict.fromkeys((Operator.ADD, Operator.SUB), (2, _addends)),
    **dict.fromkeys((Operator.MUL, Operator.DIV), (2, _scaled)),
    **dict.fromkeys((Operator.MOD, Operator.SHR, Operator.SHL, Operator.BITAND, Operator.BITOR), (2, _whole)),
    **dict.fromkeys((Operator.MINIMUM, Operator.MAXIMUM, Operator.POW, Operator.OVER_SQRT), (2, _alike)),
    **dict.fromkeys((Operator.ATAN2, Operator.REMAINDER, Operator.FLOOR_DIVIDE), (2, _alike)),
    **dict.fromkeys((Operator.NEG, Operator.ABS, Operator.SQRT, Operator.EXP, Operator.LOG), (1, _alike)),
    **dict.fromkeys((Operator.SIN, Operator.COS, Operator.TAN, Operator.TANH, Operator.SIGN), (1, _alike)),
    **dict.fromkeys((Operator.FLOOR, Operator.CEIL, Operator.RINT, Operator.TRUNC), (1, _alike)),
    **dict.fromkeys((Operator.LT, Operator.LE, Operator.GT, Operator.GE, Operator.EQ, Operator.NE), (2, _comparable)),
    Operator.NONZERO: (2, _numbers),
    **dict.fromkeys((Operator.ADDS, Operator.SUBS, Operator.ANY_GT), (2, _whole_vectors)),
    **dict.fromkeys((Operator.AND, Operator.OR), (2, _truths)),
    Operator.NOT: (1, _truths),
    Operator.WHERE: (3, _choice),
    **dict.fromkeys((Operator.REAL, Operator.IMAG, Operator.MODULUS, Operator.CONJ), (1, _of_complex)),
    Operator.COMPLEX: (1, _of_real),
    Operator.TIMES_I: (2, _turned),
    Operator.NUMBER: (1, _condition),
    Operator.SELECT: (3, _branches),
    **dict.fromkeys((Operator.MIN, Operator.MAX), (2, _indices)),
    **dict.fromkeys((Operator.FLOORDIV, Operator.FLOORMOD, Operator.CEILDIV), (2, _indices)),
    Operator.WIDEN: (1, _one_index),
    Operator.CONVERT: (1, _converted),
    Operator.REINTERPRET: (1, _same_bits),
    **dict.fromkeys((Operator.THREAD, Operator.THREADS, Operator.GROUP, Operator.GROUPS), (0, _nothing)),
    **dict.fromkeys((Operator.VECTOR_BYTES, Operator.WANTED), (0, _nothing)),
    Operator.SPLAT: (1, _number_for_all),
    Operator.LANE: (2, _lane),
    Operator.KEEP: (3, _kept),
    **dict.fromkeys((Operator.HOLD, Operator.FRESH), (1, _vectors)),
    Operator.OPAQUE: (1, _one_index),
    Operator.WRITABLE: (1, _without_const),
    Operator.ALIGNED: (2, _pointer_and_size),
    **dict.fromkeys((Operator.BOTH, Operator.EITHER), (2, _of_c)),
    Operator.XOR: (2, _bits),
    Operator.INVERT: (1, _bits),
    Operator.PLUS: (1, _of_c),
    Operator.ADDRESS: (1, _address),
}
"""How many operands an operator takes, and whether their types fit the one that it works in."""
_C = frozenset(
    {
        *(Operator.ADD, Operator.SUB, Operator.MUL, Operator.DIV, Operator.MOD, Operator.SHR, Operator.SHL),
        *(Operator.LT, Operator.LE, Operator.GT, Operator.GE, Operator.EQ, Operator.NE, Operator.NEG),
        *(Operator.AND, Operator.OR, Operator.NOT, Operator.MIN, Operator.MAX, Operator.SELECT, Operator.CONVERT),
    }
)
"""Operators that C has for its own types, too; places in memory it compares and subtracts."""


def fits(op: Operator, kind: Type, kinds: Kinds) -> bool:
    """Whether the types of the operands of an operator fit the one that it works in."""
    if isinstance(kind, Native) and op in _C:
        pointers = op not in {Operator.MUL, Operator.DIV} and all(isinstance(each, Pointer) for each in kinds)
        return _meet(kinds) or (pointers and len(set(kinds)) == 1)
    return OPERATORS[op][1](kind, kinds)
