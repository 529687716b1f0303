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

Nodes are made by the operators of expressions (:mod:`tilewright.codegen.ir.expressions`), which fold what is known, and
by the functions of :mod:`tilewright.codegen.ir.builder`, whose ``Builder`` collects statements; ``verify`` of the
tests' ``oracles`` states what a unit must keep to, :mod:`tilewright.codegen.ir.rewrite` walks and changes one.
``(CPU)`` and ``(GPU)`` mark what only one kind of target has, ``(C)`` what stands in texts that users read
(:mod:`tilewright.codegen.print.source`), beside C's own types. There loops may be closed and may fall.
"""

from dataclasses import dataclass, field

from tilewright.codegen.ir.expressions import Call, Expr, Int, Intrinsic, Load, Var
from tilewright.codegen.ir.operators import Operator
from tilewright.codegen.ir.types import Type

UNROLL_WHOLE = -1  # unroll a loop whole


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
    """``base[index] = value``; a vector starts there, at any alignment.

    Where numbers of another type lie than the vector's, its own are converted, fractions towards zero; whole numbers
    saturate, and NaN becomes 0. (CPU)
    """

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
