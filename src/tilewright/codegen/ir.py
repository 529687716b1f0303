"""The loop-nest IR: expressions, statements and functions as plain frozen data.

Types are names: ``index`` (signed 64-bit), ``bool``, an element type such as ``float32``, ``vector:float32`` and
``mask:float32`` (as many lanes as the target's registers hold), and ``pointer:T`` / ``array:T`` (read-only) to any of
them. On GPUs ``index`` has 32 bits, ``wide`` 64, and ``chip:T`` points into memory that the threads of a group share. A
dialect turns the names into its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

INDEX = "index"
WHOLE = -1
"""Unroll a loop whole."""


@dataclass(frozen=True, slots=True)
class Int:
    """A whole number of type ``index``."""

    value: int


@dataclass(frozen=True, slots=True)
class Real:
    """A literal of an element type."""

    value: bool | int | float
    type: str


@dataclass(frozen=True, slots=True)
class Var:
    """A name, or a named constant of the dialect such as ``LANES:float32``."""

    name: str
    type: str = INDEX


@dataclass(frozen=True, slots=True)
class Op:
    """An operator. ``type`` is the type of its operands, which decides how it is written."""

    name: str
    args: "tuple[Expr, ...]"
    type: str = INDEX


@dataclass(frozen=True, slots=True)
class Load:
    """The value at ``base[index]``; of a vector type it starts there, at any alignment."""

    base: "Expr"
    index: "Expr"
    type: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call as an expression or as a statement.

    The function is one of the same unit, or one of the dialect's own, which is named with the element type it is for:
    ``copy:float32``.
    """

    name: str
    args: "tuple[Expr, ...]"


Expr = Int | Real | Var | Op | Load | Call


@dataclass(frozen=True, slots=True)
class Let:
    """A new immutable name."""

    var: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Mutable:
    """A new name whose value :class:`Assign` may change; C only."""

    var: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Assign:
    """A new value of a :class:`Mutable` name."""

    var: Var
    value: Expr


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers known now, in memory for as long as the program runs; C only. ``var`` is of type ``array:T``."""

    var: Var
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Room:
    """A small array of a thread's own, of a fixed number of elements and with arbitrary content.

    ``var`` has the type of a pointer to its first element.
    """

    var: Var
    length: int


@dataclass(frozen=True, slots=True)
class Store:
    """``base[index] = value``."""

    base: Expr
    index: Expr
    value: Expr
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class For:
    """A counted loop over ``low, low + step, …`` below ``high``.

    Attributes:
        share: How the iterations are shared by the threads of the enclosing :class:`Parallel`: ``""`` (not at all),
            ``static`` or ``dynamic``. A shared loop ends with a barrier.
        unroll: On GPUs, iterations to unroll: 0 leaves it to the compiler, :data:`WHOLE` means all.
    """

    var: Var
    low: Expr
    high: Expr
    step: Expr = field(default_factory=lambda: Int(1))
    body: "tuple[Stmt, ...]"
    share: str = ""
    unroll: int = 0


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
    """Statements that every thread of a team runs."""

    threads: Expr
    body: "tuple[Stmt, ...]"


@dataclass(frozen=True, slots=True)
class Shared:
    """An array on chip that the threads of a group share, of a size known at compile time."""

    var: Var
    count: int


@dataclass(frozen=True, slots=True)
class Barrier:
    """The threads of a group wait for each other and then see what the others wrote: on chip, or also off chip."""

    memory: bool = False


@dataclass(frozen=True, slots=True)
class Comment:
    """A line for the reader of the kernel."""

    text: str


Stmt = Let | Mutable | Assign | Table | Room | Store | For | If | Scope | Parallel | Shared | Barrier | Comment | Call


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """A function.

    Attributes:
        name: Its name, unique in a unit.
        params: Names and types.
        body: Its statements.
        result: Expression to return, or None.
        result_type: Type of ``result``.
        kind: ``entry`` (exported), ``inline``, ``local``, ``apart`` (never inlined; C only), or ``kernel`` (a GPU's).
        distinct: Whether what one pointer parameter writes is reached through no other one.
        threads: Threads per group of a kernel.
        about: A line for the reader of the kernel; C only.
        registers: Vector registers of the processors that it is for, 16 or 32; 0 for all. C only.
    """

    name: str
    params: tuple[Var, ...]
    body: tuple[Stmt, ...]
    result: Expr | None = None
    result_type: str = ""
    kind: str = "local"
    distinct: bool = False
    threads: int = 0
    about: str = ""
    registers: int = 0


def add(a: Expr, b: Expr | int) -> Expr:
    """Return ``a + b``, folded where both are known.

    >>> add(Int(2), 3), add(Var("x"), 0)
    (Int(value=5), Var(name='x', type='index'))
    """
    b = Int(b) if isinstance(b, int) else b
    if isinstance(a, Int) and isinstance(b, Int):
        return Int(a.value + b.value)
    if isinstance(a, Int):
        a, b = b, a
    if isinstance(b, Int) and b.value <= 0:
        return a if b.value == 0 else Op("sub", (a, Int(-b.value)))
    return Op("add", (a, b))


def sub(a: Expr, b: Expr | int) -> Expr:
    """Return ``a - b``, folded where possible."""
    if isinstance(b, int):
        return add(a, -b)
    return add(a, -b.value) if isinstance(b, Int) else Op("sub", (a, b))


def mul(a: Expr, b: Expr | int) -> Expr:
    """Return ``a * b``, folded where possible.

    >>> mul(Var("x"), 1), mul(Int(0), Var("x"))
    (Var(name='x', type='index'), Int(value=0))
    """
    b = Int(b) if isinstance(b, int) else b
    if isinstance(a, Int):
        a, b = b, a
    if isinstance(b, Int) and isinstance(a, Int):
        return Int(a.value * b.value)
    if isinstance(b, Int) and b.value in {0, 1}:
        return a if b.value else Int(0)
    return Op("mul", (a, b))


def smallest(a: Expr, b: Expr) -> Expr:
    """Return the smaller of two indices."""
    return a if a == b else Op("min", (a, b))


def largest(a: Expr, b: Expr) -> Expr:
    """Return the larger of two indices."""
    return a if a == b else Op("max", (a, b))


def below(a: Expr, b: Expr) -> Expr:
    """Return whether ``a < b``."""
    return Op("lt", (a, b))


def select(condition: Expr, a: Expr, b: Expr) -> Expr:
    """Return ``a`` where the condition holds, else ``b``."""
    return Op("select", (condition, a, b))


def total(terms: Sequence[Expr]) -> Expr:
    """Return the sum of at least one index."""
    result = terms[0]
    for term in terms[1:]:
        result = add(result, term)
    return result
