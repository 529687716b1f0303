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
         | Parallel(expr threads, stmt* body, flush)                 every thread of a region runs it      (CPU)
         | Barrier(memory)                                           threads of a group, or a region, meet
         | Declare(var, expr* extents, expr* values)                 a variable or an array of a user's    (C)
         | Update(expr place, operator, expr value)                  place += value                        (C)
         | Directive(text)                                           #pragma text                          (C)
         | Verbatim(text)                                            statements as somebody wrote them     (C)
         | Comment(text)
         | Call | Intrinsic                                          for what they do

    expr = Int(value)                                                an index
         | Real(value, type)                                         a literal of an element type, or bool
         | Literal(text, type)                                       a literal of C as it is spelled       (C)
         | Size(type)                                                sizeof                                (C)
         | Var(name, type)
         | Lanes(element)                                            numbers in a vector                   (CPU)
         | Op(operator, expr* args, type)                            of operator.signature
         | Shift(expr own, expr other, side, distance, boundary, type)  a vector some cells beside         (CPU)
         | Load(expr base, expr index, type)                         base[index], or the vector from there
         | Call(name, expr* args, type?)                             a function of the same unit, or of C's library
         | Intrinsic(name, expr* args, element)                      a function of the dialect

Nodes are made by the constructors of :mod:`tilewright.codegen.ir.build`, which fold what is known, or by a
:class:`~tilewright.codegen.ir.builder.Builder`, which collects the statements of a function that is written by hand;
``verify`` of the tests' ``oracles`` states what a unit must keep to, :mod:`tilewright.codegen.ir.rewrite` walks and
changes one. ``(CPU)`` and ``(GPU)`` mark what only one kind of target has, ``(C)`` what stands in texts that users read
(:mod:`tilewright.codegen.print.source`), beside C's own types. There loops may be closed and may fall.
"""

from dataclasses import dataclass, field

from tilewright.codegen.ir.operators import LOGICAL, REAL_PARTS, SAME_TYPE, Operator
from tilewright.codegen.ir.types import (
    BOOL,
    INDEX,
    WIDE,
    Element,
    Index,
    Mask,
    Native,
    Type,
    Vector,
    mask,
    real_of,
    vector,
)

UNROLL_WHOLE = -1
"""Unroll a loop whole."""


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
class Literal:
    """A literal of C, spelled as a user spelled it."""

    text: str
    type: Native


@dataclass(frozen=True, slots=True)
class Size:
    """Bytes of a value of a type."""

    of: Type


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
    """An operation."""

    op: Operator
    args: "tuple[Expr, ...]"
    # what it works in: the type of its operands where these are alike, else of the numbers that a condition chooses or
    # is turned into; the result is of this type, or a condition on values of it (:func:`type_of`)
    type: Type = INDEX


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """The vector that lies some cells beside another one in a row."""

    own: "Expr"  # the vector that it lies beside
    other: "Expr"  # the next one on that side, whose lanes it takes over; for a mapped boundary the same one
    low: bool  # whether it lies lower
    distance: int  # by how many cells
    boundary: str = ""  # how cells outside are mapped where the vector lies at the end of the grid, or ``""`` inside
    type: Vector  # the vectors' type


@dataclass(frozen=True, slots=True)
class Load:
    """The value at ``base[index]``; a vector starts there, at any alignment."""

    base: "Expr"
    index: "Expr"
    type: Type


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function of the same unit, or of C's library, as an expression of a type or as a statement."""

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
    """What an intrinsic takes."""

    # a letter each: ``w`` a pointer that is written through, ``r`` one that is read, ``i`` an index, ``e`` a number,
    # ``v`` a vector, ``b`` a pointer to bytes that are read
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
}
"""``copy`` and ``fill`` elements; ``stream`` copies past the caches and ``fence`` orders that; ``lift`` and ``lower``
turn a line into a dimension-lifted row and back, ``wrap`` makes the shifted vectors at its ends; ``prefetch`` asks for
a line; ``again`` is the same address, to be read anew. ``past`` stores a vector at a vector's own boundary past the
caches. ``await`` waits until a number that another thread will ``publish`` is at least an index: what that thread wrote
before is seen after. ``put`` copies bytes, past the caches if asked to; ``prefetch_near`` asks for a line that is used
soon. ``translate`` turns bytes into entries of a table, given how many entries and bytes there are. ``count`` adds one
for all threads that come."""

Expr = Int | Real | Literal | Size | Var | Lanes | Op | Shift | Load | Call | Intrinsic


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
    """Memory for a fixed number of values, with arbitrary content, until the enclosing statements end."""

    var: Var  # its name, of the type of a pointer to its first value: into shared memory, or a thread's own
    length: int  # how many values


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
    """A counted loop over ``low, low + step, …`` below ``high``."""

    var: Var
    low: Expr
    high: Expr
    step: Expr = field(default_factory=lambda: Int(1))
    body: "tuple[Stmt, ...]"
    closed: bool = False  # whether the loop runs up to ``high`` itself: C's own types only
    falling: bool = False  # whether it falls, by a negative step, to ``high`` as its least value; closed loops only
    # how the iterations are shared by the threads of the enclosing :class:`Parallel`: ``""`` (not at all), ``static``
    # or ``dynamic``; a shared loop ends with a barrier
    share: str = ""
    brief: bool = False  # whether it is over too soon to ask in it whether its results are wanted; CPU only
    unroll: int = 0  # on GPUs, iterations to unroll: 0 leaves it to the compiler, :data:`UNROLL_WHOLE` means all
    # whether no iteration reads or writes what another one writes: a promise to a compiler that makes vectors; CPU only
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

    threads: Expr  # how many they are
    body: "tuple[Stmt, ...]"
    # whether the threads take subnormal numbers for zero meanwhile, and afterwards do as before
    flush: bool = False


@dataclass(frozen=True, slots=True)
class Barrier:
    """The threads of a group, or of a region on a CPU, wait for each other and then see what the others wrote."""

    memory: bool = False  # on GPUs, whether also what they wrote to global memory, not only to shared memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Declare:
    """A variable or an array of a user's, which may change."""

    var: Var  # its name; of an array, of the type of a pointer: to its first value, or to its first row
    extents: tuple[Expr, ...] = ()  # of an array, its extents, the outermost first
    values: tuple[Expr, ...] = ()  # its first values, or nothing


@dataclass(frozen=True, slots=True)
class Update:
    """``place op= value``: the place is found once, and the result turned into its type."""

    place: Var | Load  # a name, or a place in memory
    op: Operator  # what is done
    value: Expr  # the second operand


@dataclass(frozen=True, slots=True)
class Directive:
    """What a compiler is told, without ``#pragma``."""

    text: str


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Statements as somebody wrote them: nothing looks inside."""

    text: str


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
    | Barrier
    | Declare
    | Update
    | Directive
    | Verbatim
    | Comment
    | Call
    | Intrinsic
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function."""

    name: str  # unique in a unit
    params: tuple[Var, ...]  # names and types
    body: tuple[Stmt, ...]
    result: Expr | None = None
    result_type: Type | None = None
    # ``entry`` (exported), ``inline``, ``local``, ``apart`` (never inlined; CPU only), or ``kernel`` (a GPU's)
    kind: str = "local"
    distinct: bool = False  # whether what one pointer parameter writes is reached through no other one
    threads: int = 0  # threads per group of a kernel
    about: str = ""  # a line for the reader of the kernel; CPU only
    vectorized: bool = False  # whether the compiler is asked to make vectors of its loops; CPU only
    registers: int = 0  # vector registers of the processors that it is for, 16 or 32; 0: any (CPU only)


def type_of(node: Expr) -> Type:
    """Return the type of an expression.

    >>> str(type_of(Op(Operator.LT, (Var("i"), Int(3)))))
    'bool'
    """
    if isinstance(node, Var):
        return node.type
    if isinstance(node, Op):
        return node.type if node.op in SAME_TYPE else _result(node.op, node.type)
    if isinstance(node, (Int, Lanes)):
        return INDEX
    if isinstance(node, Size):
        return Native("size_t")
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
