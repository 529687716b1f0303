"""Loop nests: the C subset that annotated regions are written in, as plain data.

A nest is a tree of frozen nodes. A :class:`Loop` counts from ``first`` to ``last`` *inclusive*; what a region computes
can be read off the tree alone, so that every transformation is a function from tree to tree.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from tilewright.codegen import ir


def _operator(sign: str) -> Callable[[Any, "Expr | int"], "Binary"]:
    def joined(left: Any, right: "Expr | int") -> "Binary":  # noqa: ANN401  (a part of an expression)
        return Binary(sign, left, integer(right) if isinstance(right, int) else right)

    return joined


class _Operand:
    """What operators of Python join to C's expressions; whole numbers beside it are literals."""

    __slots__ = ()
    __add__ = _operator("+")
    __sub__ = _operator("-")
    __mul__ = _operator("*")
    __truediv__ = _operator("/")
    __lt__ = _operator("<")
    __le__ = _operator("<=")
    __gt__ = _operator(">")
    __ge__ = _operator(">=")


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
    """Statements in order."""

    body: "tuple[Stmt, ...]"

    @property
    def scoped(self) -> bool:
        """Whether it declares variables, and so has braces of its own."""
        return any(isinstance(each, Declare) for each in self.body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Declare:
    """A variable of the region."""

    ctype: str  # an arithmetic type
    name: str
    dims: tuple[Expr, ...] = ()  # extents of an array, or empty
    value: "Expr | tuple[Expr, ...] | None" = None  # initial value, a tuple of them for an array, or None
    heap: bool = False  # given by ``malloc``, or a pointer where its extent is 0

    @property
    def allocated(self) -> bool:
        """Whether memory is taken for it, which somebody has to give back."""
        return self.heap and self.dims[:1] != (Num("0"),)


@dataclass(frozen=True, slots=True)
class Foreign:
    """A statement of somebody else's, who prints it: nothing here looks inside it."""


@dataclass(frozen=True, slots=True)
class Transform:
    """``transform NAME(arguments) body``: arguments by name, each still an expression's text."""

    name: str
    arguments: tuple[tuple[str, str], ...]
    body: "Stmt"


Directive = ir.Directive  # a ``#pragma`` that the region itself holds
Verbatim = ir.Verbatim  # text that a generator wrote
Stmt = Assign | Loop | If | Block | Declare | Directive | Verbatim | Foreign | Transform
_Node = TypeVar("_Node", Expr, Stmt)
_Kind = TypeVar("_Kind")
ONE = Num("1")
MAX_DEPTH = 64  # deepest nesting of expressions or statements


_OPERANDS: Mapping[type, tuple[str, ...]] = {
    Item: ("index",),
    Call: ("args",),
    Unary: ("operand",),
    Convert: ("operand",),
    Binary: ("left", "right"),
    Choose: ("test", "then", "other"),
    Assign: ("target", "value"),
    Loop: ("first", "last"),
    If: ("test",),
    Declare: ("dims", "value"),
}
"""Fields that hold expressions: one, several, or none."""
_BODIES: Mapping[type, tuple[str, ...]] = {
    Loop: ("body",),
    Transform: ("body",),
    If: ("then", "other"),
    Block: ("body",),
}
"""Fields that hold statements."""


def _parts(node: Expr | Stmt, fields: Mapping[type, tuple[str, ...]]) -> tuple[Any, ...]:
    parts: list[Any] = []
    for name in fields.get(type(node), ()):
        part = getattr(node, name)
        parts += part if isinstance(part, tuple) else () if part is None else (part,)
    return tuple(parts)


def _changed_node(node: _Node, fields: Mapping[type, tuple[str, ...]], change: Callable[[Any], Any]) -> _Node:
    """Return a node with what it holds in some fields changed, in the order of the text."""
    new: dict[str, Any] = {}
    for name in fields.get(type(node), ()):
        part = getattr(node, name)
        new[name] = tuple(map(change, part)) if isinstance(part, tuple) else None if part is None else change(part)
    return replace(node, **new) if new else node


def children(expr: Expr) -> tuple[Expr, ...]:
    """Return the operands of an expression."""
    return _parts(expr, _OPERANDS)


def with_children(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return an expression with its operands changed."""
    return _changed_node(expr, _OPERANDS, change)


def walk(expr: Expr) -> Iterator[Expr]:
    """Yield an expression and all its parts, outermost first."""
    stack = [expr]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(children(node)))


def rebuild(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return an expression with every part changed, innermost first."""
    return change(with_children(expr, lambda part: rebuild(part, change)))


def substitute(expr: Expr, values: Mapping[str, Expr]) -> Expr:
    """Replace variables by expressions."""
    return rebuild(expr, lambda node: values.get(node.name, node) if isinstance(node, Name) else node)


def names(*exprs: Expr) -> set[str]:
    """Return the scalars of expressions."""
    return {node.name for expr in exprs for node in walk(expr) if isinstance(node, Name)}


def arrays(*exprs: Expr) -> set[str]:
    """Return the arrays of expressions."""
    return {node.array for expr in exprs for node in walk(expr) if isinstance(node, Item)}


def mentioned(*exprs: Expr) -> set[str]:
    """Return the scalars and arrays of expressions."""
    return names(*exprs) | arrays(*exprs)


def parts(stmt: Stmt) -> "tuple[Stmt, ...]":
    """Return the statements directly inside a statement."""
    return _parts(stmt, _BODIES)


def statements(stmt: Stmt) -> Iterator[Stmt]:
    """Yield a statement and all those inside it, in the order of the text."""
    stack = [stmt]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(parts(node)))


def every(stmt: Stmt, kind: type[_Kind]) -> Iterator[_Kind]:
    """Yield the statements of a kind among a statement and those inside it, in the order of the text."""
    return (node for node in statements(stmt) if isinstance(node, kind))


def loops(stmt: Stmt) -> list[Loop]:
    """Return the loops of a statement, in the order of the text."""
    return list(every(stmt, Loop))


def expressions(stmt: Stmt) -> tuple[Expr, ...]:
    """Return the expressions that a statement reads by itself, those of inner statements not among them."""
    if isinstance(stmt, Assign):
        return (*children(stmt.target), *(() if stmt.op == "=" else (stmt.target,)), stmt.value)
    return _parts(stmt, _OPERANDS)


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


def items(stmt: Stmt) -> Iterator[Item]:
    """Yield every element of an array that a statement and those inside it mention, as often as they do."""
    return (part for part in mentions(stmt) if isinstance(part, Item))


def elements(stmt: Stmt) -> set[str]:
    """Return the arrays of which a statement mentions elements."""
    return {item.array for item in items(stmt)}


def only(stmt: Stmt) -> Stmt:
    """Return what a block of one statement holds, and any other statement as it is."""
    return stmt.body[0] if isinstance(stmt, Block) and len(stmt.body) == 1 else stmt


def chain(stmt: Stmt) -> list[Loop]:
    """Return the loops of the perfect nest that a statement begins with."""
    loops: list[Loop] = []
    while isinstance(stmt := only(stmt), Loop):
        loops.append(stmt)
        stmt = stmt.body
    return loops


def sequence(stmt: Stmt) -> "tuple[Stmt, ...]":
    """Return the statements of a block, and any other statement alone."""
    return stmt.body if isinstance(stmt, Block) else (stmt,)


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
    if all(a is b for a, b in zip(inner, parts(stmt), strict=True)):
        return stmt
    rest = iter(inner)
    return _changed_node(stmt, _BODIES, lambda _: next(rest))


def map_statements(stmt: Stmt, change: Callable[[Stmt], Stmt]) -> Stmt:
    """Return a statement with every one inside it changed, innermost first; all that hold others are other objects."""
    return change(_changed_node(stmt, _BODIES, lambda part: map_statements(part, change)))


def map_expressions(stmt: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """Return a statement with every part of every expression changed, targets and bounds among them."""
    return map_statements(stmt, lambda node: with_expressions(node, change))


def with_expressions(node: Stmt, change: Callable[[Expr], Expr]) -> Stmt:
    """Return a statement with every part of its own expressions changed, those of inner statements not among them."""
    new = _changed_node(node, _OPERANDS, lambda part: rebuild(part, change))
    if isinstance(new, Assign) and not isinstance(new.target, Name | Item):
        raise TypeError(f"{new.target} cannot be assigned to")
    return new


def rename(stmt: Stmt, values: Mapping[str, Expr]) -> Stmt:
    """Replace variables in a whole statement."""
    return map_expressions(stmt, lambda node: values.get(node.name, node) if isinstance(node, Name) else node)


def written(stmt: Stmt) -> set[str]:
    """Return the names of the scalars and arrays that a statement assigns, counters not among them."""
    return {node.variable for node in every(stmt, Assign)} | {
        node.name for node in every(stmt, Declare) if node.value is not None
    }


def assigned(stmt: Stmt) -> set[str]:
    """Return the scalars that a statement assigns, those that it only declares with a value not among them."""
    return names(*(node.target for node in every(stmt, Assign) if isinstance(node.target, Name)))


def counters(stmt: Stmt) -> set[str]:
    """Return the counters of the loops of a statement."""
    return {loop.index for loop in loops(stmt)}


def declared(stmt: Stmt) -> set[str]:
    """Return the names of the variables that a statement declares."""
    return {node.name for node in every(stmt, Declare)}


def scalars(stmt: Stmt) -> set[str]:
    """Return every scalar that the expressions of a statement mention, targets among them."""
    return {part.name for part in mentions(stmt) if isinstance(part, Name)}


def changed(stmt: Stmt) -> set[str]:
    """Return every name that has no one value, or no meaning, around a statement: assigned, counted with, declared."""
    return written(stmt) | counters(stmt) | declared(stmt)


def used(stmt: Stmt) -> set[str]:
    """Return every scalar and array that a statement mentions."""
    return changed(stmt).union(*(mentioned(*expressions(node)) for node in statements(stmt)))


def block(*items: Stmt) -> Stmt:
    """Join statements; blocks without declarations are merged into their surroundings.

    >>> block(Block(())) == Block(())
    True
    """
    flat: list[Stmt] = []
    for item in items:
        flat += item.body if isinstance(item, Block) and not item.scoped else (item,)
    return flat[0] if len(flat) == 1 else Block(tuple(flat))


def size(stmt: Stmt) -> int:
    """Return the number of statements and of parts of expressions."""
    return sum(1 for _ in statements(stmt)) + sum(1 for _ in reads(stmt))
