"""The loop-nest IR: expressions, statements and functions as plain frozen data.

Grammar (types: :mod:`tilewright.codegen.ir.types`; ``name`` is an identifier of the printed text)::

    unit     = function*                                             callees first

    function = Function(name, var* params, stmt* body, expr? result, type? result_type, kind, …)

    stmt = Let(var, expr)                                            a new name
         | Mutable(var, expr) | Assign(var, expr)                    a new name that Assign may change
         | Array(var, length)                                        memory of a fixed size; var points to it
         | ConstArray(var, number*)                                  the same, with numbers known now      (CPU)
         | Store(expr base, expr index, expr value, type)            base[index] = value
         | For(var, expr low, expr high, expr step, stmt* body, …)   var = low, low + step, … below high
         | While(expr condition, stmt* body)
         | If(expr condition, stmt* then, stmt* otherwise)
         | Scope(stmt* body)                                         names that nothing outside sees
         | Parallel(expr threads, stmt* body)                        every thread of a region runs it      (CPU)
         | Counters(var, expr count)                                 how often each thread has met others  (CPU)
         | Meet(var counters, expr first, expr count, expr own)      some threads of a region meet         (CPU)
         | Barrier(memory)                                           threads of a group, or a region, meet
         | Comment(text)
         | Call | Intrinsic                                          for what they do

    expr = Int(value)                                                an index
         | Real(value, type)                                         a literal of an element type, or bool
         | Var(name, type)
         | Lanes(element)                                            numbers in a vector                   (CPU)
         | Op(operator, expr* args, type)                            of operator.signature
         | Shift(expr own, expr other, side, distance, boundary, type)  a vector some cells beside         (CPU)
         | Load(expr base, expr index, type)                         base[index], or the vector from there
         | Call(name, expr* args, type?)                             a function of the same unit
         | Intrinsic(name, expr* args, element)                      a function of the dialect

Nodes are made by the constructors of :mod:`tilewright.codegen.ir.build`, which fold what is known, or by a
:class:`~tilewright.codegen.ir.builder.Builder`, which collects the statements of a function that is written by hand;
:mod:`tilewright.codegen.ir.verify` states what a unit must keep to, :mod:`tilewright.codegen.ir.rewrite` walks and
changes one. ``(CPU)`` and ``(GPU)`` mark what only one kind of target has.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from tilewright.codegen.ir.types import (
    BOOL,
    INDEX,
    WIDE,
    Element,
    Index,
    Mask,
    Type,
    Vector,
    mask,
    real_of,
    vector,
)

UNROLL_WHOLE = -1
"""Unroll a loop whole."""


class Operator(StrEnum):
    """What an :class:`Op` does; :data:`SIGNATURES` says with what and what comes of it.

    The operators of programs (:mod:`tilewright.programs.stencil.operators`) are among them, by the same names.
    """

    ADD = "add"
    SUB = "sub"
    MUL = "mul"
    DIV = "div"
    """Of whole numbers: rounded towards zero."""
    MOD = "mod"
    """The remainder of :attr:`DIV`."""
    SHR = "shr"
    SHL = "shl"
    NEG = "neg"
    ABS = "abs"
    MINIMUM = "minimum"
    MAXIMUM = "maximum"
    """Of numbers, as NumPy has them: what is not a number wins."""
    SQRT = "sqrt"
    EXP = "exp"
    LOG = "log"
    SIN = "sin"
    COS = "cos"
    TANH = "tanh"
    TAN = "tan"
    ATAN2 = "atan2"
    FLOOR = "floor"
    CEIL = "ceil"
    RINT = "rint"
    """To the nearest whole number, of two the even one."""
    TRUNC = "trunc"
    """To a whole number, towards zero."""
    POW = "pow"
    REMAINDER = "remainder"
    """As NumPy has it, of the sign of the second operand; of whole numbers by 0 it is 0."""
    FLOOR_DIVIDE = "floor_divide"
    """The quotient rounded down, as NumPy has it; of whole numbers by 0 it is 0."""
    SIGN = "sign"
    """-1, 0 or 1; NaN of NaN."""
    ADDS = "adds"
    SUBS = "subs"
    """Sum and difference of whole numbers in vectors that stay at the ends of their range."""
    ANY_GT = "any_gt"
    """Whether any number of a vector is larger than that of another one in its place."""
    OVER_SQRT = "over_sqrt"
    """``a / sqrt(b)``, with a reciprocal square root."""
    LT = "lt"
    LE = "le"
    GT = "gt"
    GE = "ge"
    EQ = "eq"
    NE = "ne"
    NONZERO = "nonzero"
    """Whether a number is another one than the second operand, 0."""
    AND = "and"
    OR = "or"
    """Of whole numbers bit by bit: a condition is 0 or 1."""
    NOT = "not"
    WHERE = "where"
    """``condition ? a : b``, for each number of a vector."""
    COMPLEX = "complex"
    """The complex number of a real one."""
    REAL = "real"
    IMAG = "imag"
    MODULUS = "modulus"
    """Of a complex number: a real one."""
    CONJ = "conj"
    TIMES_I = "times_i"
    """The product of a real number, times i, and a complex one."""
    NUMBER = "number"
    """1 where a condition holds, else 0."""
    SELECT = "select"
    """``condition ? a : b``, of which only one is evaluated."""
    MIN = "min"
    MAX = "max"
    """Of indices."""
    FLOORDIV = "floordiv"
    FLOORMOD = "floormod"
    """Rounded down, and what remains: never negative."""
    CEILDIV = "ceildiv"
    WIDEN = "wide"
    """The same index in 64 bits."""
    CONVERT = "convert"
    """The same number, as near as may be, in another element type or as an index; of reals, rounded towards zero; of a
    pointer, its address in bytes."""
    REINTERPRET = "reinterpret"
    """The same address, of values of another type; the same bits of a vector, as numbers of another type."""
    THREAD = "thread"
    """The number of the thread in its region (CPU) or group (GPU)."""
    THREADS = "threads"
    """How many threads run the region."""
    GROUP = "group"
    """The number of the thread's group."""
    GROUPS = "groups"
    """How many groups there are."""
    VECTOR_BYTES = "vector_bytes"
    """Bytes of a vector register."""
    SPLAT = "splat"
    """A vector of one number."""
    LANE = "lane"
    """One number of a vector, by its place."""
    KEEP = "keep"
    """A vector whose lanes below the third operand are the first one's, the others the second's."""
    HOLD = "hold"
    """The same vector, in a register from here on (an optimisation barrier)."""
    FRESH = "fresh"
    """The same, and never computed before here."""
    OPAQUE = "opaque"
    """The same index, of which a compiler knows nothing (an optimisation barrier)."""
    WRITABLE = "writable"
    """The same pointer without ``const``."""
    ALIGNED = "aligned"
    """The same pointer, of which the compiler may know that its address is a multiple of so many bytes."""


ARITHMETIC = frozenset({Operator.ADD, Operator.SUB, Operator.MUL, Operator.DIV, Operator.MOD})
COMPARISONS = frozenset(
    {Operator.LT, Operator.LE, Operator.GT, Operator.GE, Operator.EQ, Operator.NE, Operator.NONZERO}
)
LOGICAL = frozenset({Operator.AND, Operator.OR, Operator.NOT})
REAL_PARTS = frozenset({Operator.REAL, Operator.IMAG, Operator.MODULUS})
_SAME_TYPE = frozenset(Operator) - COMPARISONS - LOGICAL - REAL_PARTS - {Operator.WIDEN, Operator.ANY_GT}
"""Operators whose result is of the type that they work in."""


@dataclass(frozen=True, slots=True)
class Int:
    """A whole number of an index type."""

    value: int


@dataclass(frozen=True, slots=True)
class Real:
    """A literal of an element type, or a known condition."""

    value: bool | int | float | complex
    type: Type


@dataclass(frozen=True, slots=True)
class Var:
    """A name."""

    name: str
    type: Type = INDEX


@dataclass(frozen=True, slots=True)
class Lanes:
    """How many numbers of a type a vector holds, which the compiler knows."""

    element: Element


@dataclass(frozen=True, slots=True)
class Op:
    """An operation.

    Attributes:
        op: The operator.
        args: Its operands.
        type: The type that it works in: of its operands where these are alike; of the numbers that a condition is
            chosen by, or turned into. The result is of this type, or a condition on values of it: :func:`type_of`.
    """

    op: Operator
    args: "tuple[Expr, ...]"
    type: Type = INDEX


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """The vector that lies some cells beside another one in a row.

    Attributes:
        own: The vector that it lies beside.
        other: The next one on that side, whose lanes it takes over; for a mapped boundary the same one.
        low: Whether it lies lower.
        distance: By how many cells.
        boundary: How cells outside are mapped where the vector lies at the end of the grid, or ``""`` inside.
        type: The vectors' type.
    """

    own: "Expr"
    other: "Expr"
    low: bool
    distance: int
    boundary: str = ""
    type: Vector


@dataclass(frozen=True, slots=True)
class Load:
    """The value at ``base[index]``; a vector starts there, at any alignment."""

    base: "Expr"
    index: "Expr"
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function of the same unit, as an expression of a type or as a statement."""

    name: str
    args: "tuple[Expr, ...]"
    type: Type | None = None


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """A call of a function that the dialect brings for an element type: one of :data:`INTRINSICS`."""

    name: str
    args: "tuple[Expr, ...]"
    element: Element


@dataclass(frozen=True, slots=True, kw_only=True)
class IntrinsicSignature:
    """What an intrinsic takes.

    Attributes:
        operands: Each as a letter: ``w`` a pointer that is written through, ``r`` one that is read, ``i`` an index,
            ``e`` a number, ``v`` a vector, ``b`` a pointer to bytes that are read.
        returns: Whether it gives the pointer back that it took.
        gpu: Whether GPUs have it, not CPUs.
    """

    operands: str
    returns: bool = False
    gpu: bool = False


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
}
"""``copy`` and ``fill`` elements; ``stream`` copies past the caches and ``fence`` orders that; ``lift`` and ``lower``
turn a line into a dimension-lifted row and back, ``wrap`` makes the shifted vectors at its ends; ``prefetch`` asks for
a line; ``again`` is the same address, to be read anew. ``past`` stores a vector at a vector's own boundary past the
caches. ``await`` waits until a number that another thread will ``publish`` is at least an index: what that thread wrote
before is seen after. ``put`` copies bytes, past the caches if asked to; ``prefetch_near`` asks for a line that is used
soon. ``translate`` turns bytes into entries of a table, given how many entries and bytes there are. ``count`` adds one
for all threads that come."""

Expr = Int | Real | Var | Lanes | Op | Shift | Load | Call | Intrinsic


@dataclass(frozen=True, slots=True)
class Let:
    """A new immutable name."""

    var: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Mutable:
    """A new name whose value :class:`Assign` may change."""

    var: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Assign:
    """A new value of a :class:`Mutable` name."""

    var: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Array:
    """Memory for a fixed number of values, with arbitrary content, until the enclosing statements end.

    Attributes:
        var: Its name, of the type of a pointer to its first value: into shared memory, or a thread's own.
        length: How many values.
    """

    var: Var
    length: int


@dataclass(frozen=True, slots=True)
class ConstArray:
    """Numbers known now, in memory for as long as the program runs; ``var`` points to the first."""

    var: Var
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Store:
    """``base[index] = value``; a vector starts there, at any alignment."""

    base: Expr
    index: Expr
    value: Expr
    type: Type


@dataclass(frozen=True, slots=True, kw_only=True)
class For:
    """A counted loop over ``low, low + step, …`` below ``high``.

    Attributes:
        share: How the iterations are shared by the threads of the enclosing :class:`Parallel`: ``""`` (not at all),
            ``static`` or ``dynamic``. A shared loop ends with a barrier.
        unroll: On GPUs, iterations to unroll: 0 leaves it to the compiler, :data:`UNROLL_WHOLE` means all.
        independent: Whether no iteration reads or writes what another one writes: a promise to a compiler that makes
            vectors of it. CPU only.
    """

    var: Var
    low: Expr
    high: Expr
    step: Expr = field(default_factory=lambda: Int(1))
    body: "tuple[Stmt, ...]"
    share: str = ""
    unroll: int = 0
    independent: bool = False


@dataclass(frozen=True, slots=True)
class While:
    """Statements that are repeated as long as a condition holds."""

    condition: Expr
    body: "tuple[Stmt, ...]"


@dataclass(frozen=True, slots=True)
class If:
    """Statements under a condition, and perhaps others where it does not hold."""

    condition: Expr
    then: "tuple[Stmt, ...]"
    otherwise: "tuple[Stmt, ...]" = ()


@dataclass(frozen=True, slots=True)
class Scope:
    """Statements whose names nothing outside sees."""

    body: "tuple[Stmt, ...]"


@dataclass(frozen=True, slots=True)
class Parallel:
    """Statements that every thread of a region runs."""

    threads: Expr
    body: "tuple[Stmt, ...]"


@dataclass(frozen=True, slots=True)
class Counters:
    """A number per thread of the regions that follow, each 0: how often the thread has met others.

    Attributes:
        var: Their name, of the type of a pointer to an index.
        count: Number of threads.
    """

    var: Var
    count: Expr


@dataclass(frozen=True, slots=True)
class Meet:
    """Some threads of a region wait for each other and then see what the others wrote.

    Attributes:
        counters: The :class:`Counters` of the region.
        first: The first of the threads, which have consecutive numbers and always meet each other.
        count: How many they are.
        own: The number of the thread itself.
    """

    counters: Var
    first: Expr
    count: Expr
    own: Expr


@dataclass(frozen=True, slots=True)
class Barrier:
    """The threads of a group, or of a region on a CPU, wait for each other and then see what the others wrote.

    Attributes:
        memory: On GPUs, whether also what they wrote to global memory, not only to shared memory.
    """

    memory: bool = False


@dataclass(frozen=True, slots=True)
class Comment:
    """A line for the reader of the kernel."""

    text: str


Stmt = (
    Let
    | Mutable
    | Assign
    | Array
    | ConstArray
    | Store
    | For
    | While
    | If
    | Scope
    | Parallel
    | Counters
    | Meet
    | Barrier
    | Comment
    | Call
    | Intrinsic
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function.

    Attributes:
        name: Its name, unique in a unit.
        params: Names and types.
        body: Its statements.
        result: Expression to return, or None.
        result_type: Type of ``result``.
        kind: ``entry`` (exported), ``inline``, ``local``, ``apart`` (never inlined; CPU only), or ``kernel`` (a GPU's).
        distinct: Whether what one pointer parameter writes is reached through no other one.
        threads: Threads per group of a kernel.
        about: A line for the reader of the kernel; CPU only.
        vectorized: Whether the compiler is asked to make vectors of its loops; CPU only.
        registers: Vector registers of the processors that it is for, 16 or 32; 0 for all. CPU only.
    """

    name: str
    params: tuple[Var, ...]
    body: tuple[Stmt, ...]
    result: Expr | None = None
    result_type: Type | None = None
    kind: str = "local"
    distinct: bool = False
    threads: int = 0
    about: str = ""
    vectorized: bool = False
    registers: int = 0


def type_of(node: Expr) -> Type:
    """Return the type of an expression.

    Raises:
        TypeError: If it is a call of something that returns nothing.

    >>> str(type_of(Op(Operator.LT, (Var("i"), Int(3)))))
    'bool'
    """
    if isinstance(node, Var):
        return node.type
    if isinstance(node, Op):
        return node.type if node.op in _SAME_TYPE else _result(node.op, node.type)
    if isinstance(node, (Int, Lanes)):
        return INDEX
    if isinstance(node, Intrinsic) and INTRINSICS[node.name].returns:
        return type_of(node.args[0])
    if isinstance(node, Intrinsic) or node.type is None:
        raise TypeError(f"{node.name} returns nothing")
    return node.type


def _result(op: Operator, kind: Type) -> Type:
    """The type of what comes of an operator that works in a type."""
    if op is Operator.WIDEN:
        return WIDE
    if op in REAL_PARTS:
        return real_type(kind)
    if op is Operator.ANY_GT:
        return BOOL
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
