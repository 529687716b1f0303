"""C's arithmetic types of loop nests, and the types in which C computes with them (C11, 6.3.1).

A type is called by a name that C has for it; what it holds is an element type (:data:`ELEMENTS`), by the data model
LP64 of Linux and macOS: ``long`` has 64 bits.
"""

from collections.abc import Sequence

from tilewright.base.dtypes import numpy_type

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
    known = [side for side in sides if side in INTEGER_TYPES]
    if len(known) < 2:
        return None
    # Of one width the unsigned type wins; a wider one holds every number of a narrower one.
    return max(known, key=lambda side: (bytes_of(side), is_unsigned(side)))


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
