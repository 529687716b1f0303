"""Loop nests: the C subset that annotated regions are written in, as plain data.

A nest is a tree of frozen nodes. A :class:`Loop` counts from ``first`` to ``last`` *inclusive*; what a region computes
can be read off the tree alone, so that every transformation is a function from tree to tree.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any


class _Operand:
    """What operators of Python join to C's expressions; whole numbers beside it are literals."""

    __slots__ = ()

    def __add__(self, other: "Expr | int") -> "Binary":
        return _binary("+", self, other)

    def __sub__(self, other: "Expr | int") -> "Binary":
        return _binary("-", self, other)

    def __mul__(self, other: "Expr | int") -> "Binary":
        return _binary("*", self, other)

    def __truediv__(self, other: "Expr | int") -> "Binary":
        return _binary("/", self, other)

    def __lt__(self, other: "Expr | int") -> "Binary":
        return _binary("<", self, other)

    def __le__(self, other: "Expr | int") -> "Binary":
        return _binary("<=", self, other)

    def __gt__(self, other: "Expr | int") -> "Binary":
        return _binary(">", self, other)

    def __ge__(self, other: "Expr | int") -> "Binary":
        return _binary(">=", self, other)


@dataclass(frozen=True, slots=True)
class Num(_Operand):
    """A literal, spelled as in C."""

    text: str


@dataclass(frozen=True, slots=True)
class Name(_Operand):
    """A scalar variable."""

    name: str


@dataclass(frozen=True, slots=True)
class Item(_Operand):
    """An element of an array."""

    array: str
    index: "tuple[Expr, ...]"


@dataclass(frozen=True, slots=True)
class Call(_Operand):
    """A call of a mathematical function."""

    function: str
    args: "tuple[Expr, ...]"


@dataclass(frozen=True, slots=True)
class Unary(_Operand):
    """``-``, ``+``, ``!`` or ``~``."""

    op: str
    operand: "Expr"


@dataclass(frozen=True, slots=True)
class Binary(_Operand):
    """An operator of C between two values."""

    op: str
    left: "Expr"
    right: "Expr"


@dataclass(frozen=True, slots=True)
class Choose(_Operand):
    """``test ? then : other``."""

    test: "Expr"
    then: "Expr"
    other: "Expr"


@dataclass(frozen=True, slots=True)
class Convert(_Operand):
    """A cast to an arithmetic type."""

    ctype: str
    operand: "Expr"


Expr = Num | Name | Item | Call | Unary | Binary | Choose | Convert


def integer(value: int) -> Num:
    """Return a whole number as a literal."""
    return Num(str(int(value)))


def _binary(op: str, left: Any, right: Expr | int) -> Binary:  # noqa: ANN401  (a part of an expression)
    return Binary(op, left, integer(right) if isinstance(right, int) else right)


@dataclass(frozen=True, slots=True)
class Assign:
    """``target op value`` with ``=``, ``+=``, ``-=``, ``*=``, ``/=``, ``%=``."""

    target: Name | Item
    op: str
    value: Expr

    @property
    def variable(self) -> str:
        """The scalar or array that is assigned."""
        return self.target.array if isinstance(self.target, Item) else self.target.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Run the body for ``index`` = first, first + step, … while not beyond ``last``."""

    index: str  # its counter
    first: Expr
    last: Expr  # inclusive
    step: int = 1  # a literal, not 0; with a negative one the counter falls
    body: "Stmt"
    pragmas: tuple[str, ...] = ()  # directives printed before it, without ``#pragma``
    ctype: str = ""  # of the counter, where the loop declares it; empty where the file does, before the loop
    # arguments of the CUDA or OpenCL transform that makes it a kernel, its kind among them
    launch: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class If:
    """A conditional."""

    test: Expr
    then: "Stmt"
    other: "Stmt | None" = None


@dataclass(frozen=True, slots=True)
class Block:
    """Statements in order; ``scoped`` ones have braces of their own."""

    body: "tuple[Stmt, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Declare:
    """A variable of the region."""

    ctype: str  # an arithmetic type
    name: str
    dims: tuple[Expr, ...] = ()  # extents of an array, or empty
    value: "Expr | tuple[Expr, ...] | None" = None  # initial value, a tuple of them for an array, or None
    heap: bool = False  # given by ``malloc``


@dataclass(frozen=True, slots=True)
class Directive:
    """A ``#pragma`` that the region itself holds."""

    text: str


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text that a generator wrote: it stands for statements, and nothing looks inside it."""

    text: str


@dataclass(frozen=True, slots=True)
class Transform:
    """``transform NAME(arguments) body``: arguments by name, each still an expression's text."""

    name: str
    arguments: tuple[tuple[str, str], ...]
    body: "Stmt"


Stmt = Assign | Loop | If | Block | Declare | Directive | Verbatim | Transform
ONE = Num("1")
MAX_DEPTH = 64
"""Deepest nesting of expressions or statements."""


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands of an expression."""
    match expr:
        case Item(_, index):
            return index
        case Call(_, args):
            return args
        case Unary(_, operand) | Convert(_, operand):
            return (operand,)
        case Binary(_, left, right):
            return (left, right)
        case Choose(test, then, other):
            return (test, then, other)
    return ()


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield an expression and all its parts, outermost first."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def rebuild(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return an expression with every part changed, innermost first."""
    match expr:
        case Item(array, index):
            new: Expr = Item(array, tuple(rebuild(each, change) for each in index))
        case Call(function, args):
            new = Call(function, tuple(rebuild(each, change) for each in args))
        case Unary(op, operand):
            new = Unary(op, rebuild(operand, change))
        case Convert(ctype, operand):
            new = Convert(ctype, rebuild(operand, change))
        case Binary(op, left, right):
            new = Binary(op, rebuild(left, change), rebuild(right, change))
        case Choose(test, then, other):
            new = Choose(rebuild(test, change), rebuild(then, change), rebuild(other, change))
        case _:
            new = expr
    return change(new)


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replace variables by expressions."""
    return rebuild(expr, lambda node: values.get(node.name, node) if isinstance(node, Name) else node)


def names(expr: Expr) -> set[str]:
    """Return the scalars of an expression."""
    return {node.name for node in walk(expr) if isinstance(node, Name)}


def arrays(expr: Expr) -> set[str]:
    """Return the arrays of an expression."""
    return {node.array for node in walk(expr) if isinstance(node, Item)}


def mentioned(expr: Expr) -> set[str]:
    """Return the scalars and arrays of an expression."""
    return names(expr) | arrays(expr)


def parts(stmt: Stmt) -> "tuple[Stmt, ...]":
    """Return the statements directly inside a statement."""
    match stmt:
        case Loop(body=body) | Transform(body=body):
            return (body,)
        case If(_, then, other):
            return (then,) if other is None else (then, other)
        case Block(body):
            return body
    return ()


def statements(stmt: Stmt) -> Iterator[Stmt]:
    """Yield a statement and all those inside it, in the order of the text."""
    stack = [stmt]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(parts(node)))


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """Return the expressions that a statement reads by itself, those of inner statements not among them."""
    match stmt:
        case Assign(target, op, value):
            index = target.index if isinstance(target, Item) else ()
            return (*index, value) if op == "=" else (*index, target, value)
        case Loop(first=first, last=last):
            return (first, last)
        case If(test, _, _):
            return (test,)
        case Declare(dims=dims, value=value):
            values = value if isinstance(value, tuple) else () if value is None else (value,)
            return (*dims, *values)
    return ()


def reads(stmt: Stmt) -> Iterator[Expr]:
    """Yield every part of every expression that a statement and those inside it read."""
    for node in statements(stmt):
        for expr in expressions(node):
            yield from walk(expr)


def mentions(stmt: Stmt) -> Iterator[Expr]:
    """Yield every part of every expression of a statement and of those inside it, targets among them."""
    for node in statements(stmt):
        for expr in (*expressions(node), *((node.target,) if isinstance(node, Assign) else ())):
            yield from walk(expr)


def only(stmt: Stmt) -> Stmt:
    """Return what a block of one statement holds, and any other statement as it is."""
    return stmt.body[0] if isinstance(stmt, Block) and len(stmt.body) == 1 else stmt


def outermost(stmt: Stmt) -> "list[Loop]":
    """Return the loops that are in no loop."""
    return [stmt] if isinstance(stmt, Loop) else [loop for part in parts(stmt) for loop in outermost(part)]


def swap(stmt: Stmt, old: Stmt, new: Stmt) -> Stmt:
    """Replace one object in a tree; everything beside it stays the same object."""
    if stmt is old:
        return new
    return with_parts(stmt, tuple(swap(each, old, new) for each in parts(stmt)))


def with_parts(stmt: Stmt, inner: tuple[Stmt, ...]) -> Stmt:
    """Return a statement with others directly inside it; the same object where they are the same objects."""
    return stmt if all(a is b for a, b in zip(inner, parts(stmt), strict=True)) else _made_of(stmt, inner)


def _made_of(stmt: Stmt, inner: tuple[Stmt, ...]) -> Stmt:
    match stmt:
        case Loop() | Transform():
            return replace(stmt, body=inner[0])
        case If(test, _, _):
            return If(test, *inner)
        case Block():
            return Block(inner)
    return stmt


def map_statements(stmt: Stmt, change: Callable[[Stmt], Stmt]) -> Stmt:
    """Return a statement with every one inside it changed, innermost first; all of them are other objects."""
    return change(_made_of(stmt, tuple(map_statements(each, change) for each in parts(stmt))))


def map_expressions(stmt: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """Return a statement with every part of every expression changed, targets and bounds among them."""
    return map_statements(stmt, lambda node: with_expressions(node, change))


def with_expressions(node: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """Return a statement with every part of its own expressions changed, those of inner statements not among them."""
    match node:
        case Assign(target, op, value):
            new = rebuild(target, change)
            if not isinstance(new, Name | Item):
                raise TypeError(f"{new} cannot be assigned to")
            return Assign(new, op, rebuild(value, change))
        case Loop(first=first, last=last):
            return replace(node, first=rebuild(first, change), last=rebuild(last, change))
        case If(test, then, other):
            return If(rebuild(test, change), then, other)
        case Declare(dims=dims, value=value):
            if isinstance(value, tuple):
                value = tuple(rebuild(each, change) for each in value)
            elif value is not None:
                value = rebuild(value, change)
            return replace(node, dims=tuple(rebuild(each, change) for each in dims), value=value)
    return node


def rename(stmt: Stmt, values: Mapping[str, Expr]) -> Stmt:
    """Replace variables in a whole statement."""
    return map_expressions(stmt, lambda node: values.get(node.name, node) if isinstance(node, Name) else node)


def written(stmt: Stmt) -> set[str]:
    """Return the names of the scalars and arrays that a statement assigns, counters not among them."""
    found = set()
    for node in statements(stmt):
        if isinstance(node, Assign):
            found.add(node.variable)
        elif isinstance(node, Declare) and node.value is not None:
            found.add(node.name)
    return found


def counters(stmt: Stmt) -> set[str]:
    """Return the counters of the loops of a statement."""
    return {node.index for node in statements(stmt) if isinstance(node, Loop)}


def used(stmt: Stmt) -> set[str]:
    """Return every scalar and array that a statement mentions."""
    found = written(stmt) | counters(stmt)
    for node in statements(stmt):
        found |= {node.name} if isinstance(node, Declare) else set()
        found = found.union(*map(mentioned, expressions(node)))
    return found


def block(*items: Stmt) -> Stmt:
    """Join statements; blocks without declarations are merged into their surroundings.

    >>> block(Block(())) == Block(())
    True
    """
    flat: list[Stmt] = []
    for item in items:
        if isinstance(item, Block) and not any(isinstance(each, Declare) for each in item.body):
            flat.extend(item.body)
        else:
            flat.append(item)
    return flat[0] if len(flat) == 1 else Block(tuple(flat))


def size(stmt: Stmt) -> int:
    """Return the number of statements and of parts of expressions."""
    return sum(1 for _ in statements(stmt)) + sum(1 for _ in reads(stmt))
