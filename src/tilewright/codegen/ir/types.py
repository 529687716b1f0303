"""Types of the IR, as values: what a name, a literal or a place in memory holds.

Grammar::

    type    = element | truth | index | native | vector | mask | pointer
    element = Element(name, kind, bits)         a number as NumPy names it: float32, int16, complex64
    truth   = Bool()                            one condition
    index   = Index(bits)                       a signed position; 0 bits: as wide as the target counts cells with
    native  = Native(name)                      a type of C, as a user spells it: int, double, size_t
    vector  = Vector(element)                   as many numbers as a register of the target holds
    mask    = Mask(element)                     one condition for each number of such a vector
    pointer = Pointer(type, const, space)       the first of several values that lie one behind the other

An index of no stated width is MLIR's ``index``: 64 bits on CPUs, 32 on GPUs, where :data:`WIDE` is used for what 32
bits cannot count. How a dialect writes a type stands with its printer.

A native type is C's: numbers of such types meet in C's own conversions, and what C promotes is promoted. Texts that
users read and compile with their own have them; one without a name is that of a variable which the user declares
elsewhere.

What a register holds of a number is not always what lies in memory:

- Of a complex number both hold its real part and its imaginary part, in this order (NumPy's and C's ``complex``), so
  vectors are vectors of parts. A real number beside complex ones stands in both places (:func:`real_of`,
  ``float32x2``): it is added to, compared with and divided by its like as a vector of parts is, and multiplies complex
  numbers so, too.
- Of a number of 16 bits a register holds a ``float32``: loads widen it, stores round it (to nearest, ties to even).
"""

from dataclasses import dataclass
from enum import StrEnum

from tilewright.base.dtypes import NARROW
from tilewright.base.errors import UsageError


class Kind(StrEnum):
    """What a number is."""

    FLOAT = "float"
    INT = "int"
    UINT = "uint"
    COMPLEX = "complex"


class AddressSpace(StrEnum):
    """Which memory a pointer points into; on CPUs there is one."""

    GLOBAL = "global"
    SHARED = "shared"
    """Memory on chip that the threads of a group share (``__shared__`` in CUDA, ``__local`` in OpenCL)."""
    PRIVATE = "private"
    """A thread's own: registers or its stack."""


@dataclass(frozen=True, slots=True)
class Element:
    """A type of numbers."""

    name: str  # NumPy's name
    kind: Kind  # what the numbers are
    bits: int

    @property
    def bytes(self) -> int:
        """Bytes of one number."""
        return self.bits // 8

    @property
    def parts(self) -> int:
        """Numbers that stand for one in memory and in a register: 2 of a complex one and of a real one beside it."""
        return 1 + int(self.kind is Kind.COMPLEX or self.name in _COMPLEX_OF)

    @property
    def register_bytes(self) -> int:
        """Bytes of one number in a register."""
        return scalar_of(self).bytes

    @property
    def is_narrow(self) -> bool:
        """Whether registers hold a wider number than memory."""
        return self.name in NARROW

    @property
    def is_float(self) -> bool:
        """Whether it is a real number whose results are rounded."""
        return self.kind is Kind.FLOAT

    @property
    def rounds(self) -> bool:
        """Whether results are rounded: of real and of complex numbers."""
        return self.is_float or self.is_complex

    @property
    def is_complex(self) -> bool:
        """Whether it is a complex number."""
        return self.kind is Kind.COMPLEX

    @property
    def is_integer(self) -> bool:
        """Whether the numbers are whole ones."""
        return self.kind in {Kind.INT, Kind.UINT}

    @property
    def range(self) -> tuple[int, int]:
        """Lowest and highest whole number of an integer type."""
        if self.kind is Kind.UINT:
            return 0, 2**self.bits - 1
        return -(2 ** (self.bits - 1)), 2 ** (self.bits - 1) - 1

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Bool:
    """A condition."""

    def __str__(self) -> str:
        return "bool"


@dataclass(frozen=True, slots=True)
class Index:
    """A signed position or count, of 32 or 64 bits, or of as many as the target counts cells with (0)."""

    bits: int = 0

    def __str__(self) -> str:
        return f"index{self.bits or ''}"


@dataclass(frozen=True, slots=True)
class Native:
    """A type of C, by the name that it has in a user's text; without a name, one that stands elsewhere."""

    name: str = ""

    def __str__(self) -> str:
        return f"C's {self.name or 'numbers'}"


@dataclass(frozen=True, slots=True)
class Vector:
    """Numbers of one type that a register holds."""

    element: Element

    def __str__(self) -> str:
        return f"vector of {self.element}"


@dataclass(frozen=True, slots=True)
class Mask:
    """Conditions, one for each number of a vector."""

    element: Element

    def __str__(self) -> str:
        return f"mask of {self.element}"


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address."""

    to: "Type"  # type of what lies there
    const: bool = False  # whether nothing is stored through it
    space: AddressSpace = AddressSpace.GLOBAL  # the memory that it points into

    def __str__(self) -> str:
        words = ["const"] if self.const else []
        words += [] if self.space is AddressSpace.GLOBAL else [str(self.space)]
        return " ".join([*words, "pointer to", str(self.to)])


Type = Element | Bool | Index | Native | Vector | Mask | Pointer

BOOL = Bool()
INDEX = Index()
WIDE = Index(64)

ELEMENTS: dict[str, Element] = {
    f"{kind}{bits}": Element(f"{kind}{bits}", kind, bits)
    for kind, widths in {
        Kind.FLOAT: (16, 32, 64),
        Kind.INT: (8, 16, 32, 64),
        Kind.UINT: (8, 16, 32, 64),
        Kind.COMPLEX: (64, 128),
    }.items()
    for bits in widths
}
"""Types of numbers by NumPy's names."""
ELEMENTS["bfloat16"] = Element("bfloat16", Kind.FLOAT, 16)

_REAL_OF = {
    each.name: Element(f"float{each.bits // 2}x2", Kind.FLOAT, each.bits)
    for each in ELEMENTS.values()
    if each.kind is Kind.COMPLEX
}
_COMPLEX_OF = {_REAL_OF[name].name: ELEMENTS[name] for name in _REAL_OF}
_EVERY = {**ELEMENTS, **{each.name: each for each in _REAL_OF.values()}}
_VECTORS = {name: Vector(each) for name, each in _EVERY.items()}
_MASKS = {name: Mask(_COMPLEX_OF.get(name, each)) for name, each in _EVERY.items()}


def element(name: str) -> Element:
    """Return the type of numbers that NumPy calls ``name``.

    >>> element("int16").bytes, element("uint8").range
    (2, (0, 255))
    """
    if name not in _EVERY:
        raise UsageError(f"kernels hold numbers of {', '.join(ELEMENTS)}, got {name}", "use backend='numpy'")
    return _EVERY[name]


def pointer(to: Type) -> Pointer:
    """Return the type of pointers to values that may be changed."""
    return Pointer(to)


def const_pointer(to: Type) -> Pointer:
    """Return the type of pointers to values that are only read.

    >>> str(const_pointer(pointer(element("float32"))))
    'const pointer to pointer to float32'
    """
    return Pointer(to, const=True)


def shared_pointer(to: Type) -> Pointer:
    """Return the type of pointers into memory that the threads of a group share."""
    return Pointer(to, space=AddressSpace.SHARED)


def private_pointer(to: Type) -> Pointer:
    """Return the type of pointers into a thread's own memory."""
    return Pointer(to, space=AddressSpace.PRIVATE)


def vector(of: Element) -> Vector:
    """Return the type of vectors of numbers."""
    return _VECTORS[of.name]


def mask(of: Element) -> Mask:
    """Return the type of conditions on vectors of numbers; real ones beside complex ones share theirs with those."""
    return _MASKS[of.name]


def real_of(of: Element) -> Element:
    """Return the type of a real number beside complex ones: of their parts, of its size what it is itself.

    >>> str(real_of(element("complex64"))), str(real_of(element("float32")))
    ('float32x2', 'float32')
    """
    return _REAL_OF.get(of.name, of)


def weight_of(of: Element) -> Element:
    """Return the type of the real numbers that multiply others of a type without a rounding of their own.

    >>> str(weight_of(element("complex128"))), str(weight_of(element("float16"))), str(weight_of(element("int8")))
    ('float64x2', 'float32', 'int8')
    """
    return ELEMENTS["float32"] if of.is_narrow else real_of(of)


def scalar_of(of: Element) -> Element:
    """Return the type of a program's scalars: where memory rounds more than arithmetic, that of the arithmetic."""
    return ELEMENTS["float32"] if of.is_narrow else of


def element_of(kind: Type) -> Element | None:
    """Return the type of the numbers that values of a type are made of, behind however many pointers.

    >>> str(element_of(pointer(Vector(element("float64"))))), element_of(INDEX)
    ('float64', None)
    """
    while isinstance(kind, Pointer):
        kind = kind.to
    if isinstance(kind, Vector | Mask):
        return kind.element
    return kind if isinstance(kind, Element) else None
