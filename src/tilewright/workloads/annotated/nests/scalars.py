"""Scalars of a loop nest: temporaries, private variables, reductions."""

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from tilewright.workloads.annotated.nests import nest
from tilewright.workloads.annotated.nests.nest import Assign, Block, Declare, Expr, If, Item, Loop, Name, Stmt, names
from tilewright.workloads.annotated.nests.values import REAL_TYPES, limits, same, type_of, whole


@dataclass(frozen=True, slots=True)
class Reduction:
    """What every iteration adds to, multiplies, or takes the extremum with."""

    name: str  # a scalar, or an array of one dimension
    op: str  # ``+``, ``*``, ``min`` or ``max``
    count: Expr | None = None  # leading elements of an array; None for a scalar


def exposed(stmt: Stmt, name: str) -> tuple[bool, bool]:  # noqa: PLR0911
    """Return whether a statement may read a scalar before it assigns it, and whether it surely assigns it."""
    match stmt:
        case Assign(target):
            return name in names(*nest.expressions(stmt)), target == Name(name)
        case Block(body):
            for each in body:
                reads, writes = exposed(each, name)
                if reads or writes:
                    return reads, writes and not reads
            return False, False
        case If(test, then, other):
            branches = [exposed(then, name), (False, False) if other is None else exposed(other, name)]
            reads = name in names(test) or any(read for read, _ in branches)
            return reads, all(write for _, write in branches)
        case Loop(first=first, last=last, body=body):
            # The body may not run at all, so it assigns nothing surely.
            return name in names(first, last) or exposed(body, name)[0], False
        case Declare(name=declared) if declared == name:
            return False, True
        case nest.Transform(body=body):
            return exposed(body, name)
    return name in names(*nest.expressions(stmt)), False


def inline_temporaries(stmt: Stmt, types: Mapping[str, str], kept: Iterable[str] = ()) -> Stmt:
    """Put temporaries that only choose elements or conditions into the places where they are used.

    Before: ``col = i + off[j]; if (col >= 0) y[i] += x[col];`` After: ``if (i + off[j] >= 0) y[i] += x[i + off[j]];``

    What is put in is converted to the temporary's type, where that is not the value's own.
    """
    bounds = (bound for loop in nest.loops(stmt) for bound in (loop.first, loop.last))
    choosing = names(*_indices(stmt), *bounds, *(node.test for node in nest.every(stmt, If)))
    for name in sorted(choosing & nest.written(stmt) - nest.counters(stmt) - set(kept)):
        stmt = _inline(stmt, name, types)
    return stmt


def subscripts(stmt: Stmt) -> set[str]:
    """Return the scalars and arrays whose values choose elements or bound loops, also by way of other scalars."""
    exprs = _indices(stmt)
    values = defaultdict[str, set[str]](set)  # what every name is made of
    for node in nest.statements(stmt):
        match node:
            case Assign(value=value):
                values[node.variable] |= nest.mentioned(value)
            case Declare(name=name, dims=dims, value=value):
                exprs += nest.expressions(node) if dims else ()
                values[name] |= nest.mentioned(*nest.expressions(node)[len(dims) :])
            case Loop(index=index, first=first, last=last):
                exprs += (first, last)
                values[index] |= nest.mentioned(first, last)
    reached = nest.mentioned(*exprs)
    while not (more := set[str]().union(*(values[name] for name in reached))) <= reached:
        reached |= more
    return reached


def _indices(stmt: Stmt) -> list[Expr]:
    return [each for item in nest.items(stmt) for each in item.index]


def _inline(stmt: Stmt, name: str, types: Mapping[str, str]) -> Stmt:
    local = local_types(stmt, types)

    def change(node: Stmt) -> Stmt:
        if not isinstance(node, Block):
            return node
        body = list(node.body)
        for place, item in enumerate(body):
            if not (isinstance(item, Assign) and item.target == Name(name) and item.op == "="):
                continue
            rest = body[place + 1 :]
            inputs = nest.mentioned(item.value)
            if name in inputs or any(inputs & (nest.written(each) | nest.counters(each)) for each in rest):
                return node
            if any(name in nest.written(each) for each in rest):
                return node
            value = converted(item.value, local.get(name), local)
            return nest.block(*body[:place], *(nest.rename(each, {name: value}) for each in rest))
        return node

    new = nest.map_statements(stmt, change)
    return stmt if name in nest.used(new) else new


def local_types(stmt: Stmt, types: Mapping[str, str]) -> dict[str, str]:
    """Return types of names with those of a statement's own variables and counters among them."""
    kinds = dict(types)
    for node in nest.statements(stmt):
        if isinstance(node, Declare):
            kinds[node.name] = node.ctype
        elif isinstance(node, Loop):
            kinds[node.index] = node.ctype or types.get(node.index, "int")
    return kinds


def converted(value: Expr, ctype: str | None, types: Mapping[str, str]) -> Expr:
    """Return a value as an assignment to a variable of a type leaves it there."""
    return value if ctype is None or same(type_of(value, types), ctype) else nest.Convert(ctype, value)


def localise(stmt: Stmt, types: Mapping[str, str], kept: Iterable[str] = ()) -> Stmt:
    """Declare scalars in the innermost loop body that assigns them before it reads them.

    Before: ``for (i…) { s = 0; for (k…) s += a[k]; c[i] = s; }``, s of the function.
    After: ``for (i…) { double s; s = 0; … }``: iterations share no scalar.
    """
    keep = set(kept) | nest.counters(stmt) | nest.declared(stmt)
    for name in sorted(nest.assigned(stmt) - keep):
        stmt = _localise(stmt, name, types.get(name, "double"), _mentions(stmt, name))
    return stmt


def _localise(stmt: Stmt, name: str, ctype: str, total: int) -> Stmt:
    """Declare one scalar in every loop that mentions it, if each assigns it before reading it and nothing else does."""
    loops = [node for node in nest.outermost(stmt) if _mentions(node.body, name)]
    counts = [_mentions(node.body, name) for node in loops]
    if not loops or sum(counts) != total or any(exposed(node.body, name)[0] for node in loops):
        return stmt
    for node, count in zip(loops, counts, strict=True):
        inner = _localise(node.body, name, ctype, count)
        if inner is node.body:
            inner = Block((Declare(ctype=ctype, name=name), *nest.sequence(node.body)))
        stmt = nest.swap(stmt, node, replace(node, body=inner))
    return stmt


def distinct_names(stmt: Stmt, outer: Collection[str]) -> Stmt:
    """Give the variables of a region names that mean nothing else where it stands, nor another type elsewhere in it.

    Before, ``t`` declared outside: ``for (i…) { int t = i; … }``. After: ``for (i…) { int t_2 = i; … }``
    """
    return _distinct(stmt, frozenset(outer), nest.used(stmt) | set(outer), {})


def _distinct(stmt: Stmt, outside: frozenset[str], identifiers: set[str], kinds: dict[str, tuple[str, int]]) -> Stmt:
    counts = Counter(name for part in nest.parts(stmt) for name in _free(part))
    own = nest.mentioned(*nest.expressions(stmt))
    inner = [
        _distinct(part, outside | own | (counts - Counter(_free(part))).keys(), identifiers, kinds)
        if nest.declared(part)
        else part
        for part in nest.parts(stmt)
    ]
    for place, node in enumerate(inner):
        if not isinstance(stmt, Block) or not isinstance(node, Declare):
            continue
        kind = (node.ctype, len(node.dims))
        if node.name in outside or kinds.setdefault(node.name, kind) != kind:
            new = next(name for number in itertools.count(2) if (name := f"{node.name}_{number}") not in identifiers)
            identifiers.add(new)
            kinds[new] = kind
            inner[place:] = [renamed(each, node.name, new) for each in inner[place:]]
    return nest.with_parts(stmt, tuple(inner))


def _free(stmt: Stmt) -> set[str]:
    """Return the names that a statement mentions and does not declare, and that of a declaration."""
    own = nest.mentioned(*nest.expressions(stmt))
    match stmt:
        case Declare(name=name):
            return own | {name}
        case Assign():
            own.add(stmt.variable)
        case Loop(index=index):
            own.add(index)
    inner: set[str] = set()
    for part in reversed(nest.parts(stmt)):
        inner |= _free(part)
        if isinstance(part, Declare) and isinstance(stmt, Block):
            inner.discard(part.name)
    return (own | inner) - ({stmt.index} if isinstance(stmt, Loop) and stmt.ctype else set())


def renamed(stmt: Stmt, old: str, new: str) -> Stmt:
    """Return a statement with another name for a variable, but for loops that count with one of their own."""

    def change(node: Expr) -> Expr:
        if isinstance(node, Item) and node.array == old:
            return Item(new, node.index)
        return Name(new) if node == Name(old) else node

    if isinstance(stmt, Loop) and stmt.ctype and stmt.index == old:
        return nest.with_expressions(stmt, change)
    inner = tuple(renamed(each, old, new) for each in nest.parts(stmt))
    stmt = nest.with_expressions(nest.with_parts(stmt, inner), change)
    match stmt:
        case Declare(name=name) if name == old:
            return replace(stmt, name=new)
        case nest.Directive(text):
            return nest.Directive(re.sub(rf"\b{old}\b", new, text))
        case Loop(index=index, pragmas=pragmas):
            words = tuple(re.sub(rf"\b{old}\b", new, each) for each in pragmas)
            return replace(stmt, index=new if index == old else index, pragmas=words)
    return stmt


def _mentions(stmt: Stmt, name: str) -> int:
    return sum(part == Name(name) for part in nest.mentions(stmt))


def reductions(loop: Loop, types: Mapping[str, str]) -> tuple[Reduction, ...]:
    """Return the scalars that a loop only accumulates.

    An integer that floating-point terms are added to is none: every step truncates, so that the order counts.
    """
    targets = dict.fromkeys(node.target for node in nest.every(loop.body, Assign))
    scalars = [each for each in targets if isinstance(each, Name) and each.name not in nest.declared(loop.body)]
    operations = [(each.name, _operation(loop, each, types)) for each in scalars]
    return tuple(Reduction(name, op) for name, op in operations if op is not None)


def accumulated(loop: Loop, array: str, types: Mapping[str, str]) -> str | None:
    """Return the operation by which a loop only accumulates into elements of an array of one dimension, or None.

    >>> accumulated(Loop(index="i", first=Name("a"), last=Name("b"),
    ...     body=Assign(Item("s", (Item("c", (Name("i"),)),)), "+=", Name("a"))), "s", {"s": "double"})
    '+'
    """
    return None if array in nest.declared(loop) else _operation(loop, Item(array, ()), types)


def _operation(loop: Loop, target: Name | Item, types: Mapping[str, str]) -> str | None:
    """Return the operation by which a loop accumulates into a scalar or array, if that is all that it does with it."""
    variable = target.array if isinstance(target, Item) else target.name
    inner = local_types(loop, types)
    ops: set[str | None] = set()
    own = 0
    for node in nest.every(loop.body, Assign):
        if node.variable != variable or type(node.target) is not type(target):
            continue
        exact = types.get(variable) in REAL_TYPES or whole(node.value, inner)
        flat = isinstance(node.target, Name) or len(node.target.index) == 1
        ops.add(accumulation(node) if exact and flat else None)
        own += sum(part == node.target for expr in nest.expressions(node) for part in nest.walk(expr))
    parts = (part for part in nest.reads(loop) if isinstance(part, type(target)))
    mentions = sum((part.array if isinstance(part, Item) else part.name) == variable for part in parts)
    return ops.pop() if len(ops) == 1 and own == mentions else None


def accumulation(node: Assign) -> str | None:
    """Return the operation by which an assignment accumulates into its target, or None.

    >>> accumulation(Assign(Name("s"), "=", nest.Binary("+", Name("s"), Name("x"))))
    '+'
    """
    target, value = node.target, node.value
    if node.op in {"+=", "-=", "*="}:
        return None if target in nest.walk(value) else "*" if node.op == "*=" else "+"
    if node.op != "=":
        return None
    if isinstance(value, nest.Binary) and value.op in {"+", "-"}:
        return "+" if _sum_holds(value, target) else None
    sides = nest.children(value)
    if len(sides) != 2 or target not in sides or target in nest.walk(sides[1 - sides.index(target)]):
        return None
    if isinstance(value, nest.Call) and value.function in {"min", "max", "fmin", "fmax"}:
        return value.function.removeprefix("f")
    return "*" if isinstance(value, nest.Binary) and value.op == "*" else None


def _sum_holds(value: Expr, target: Expr) -> bool:
    """Whether a sum has the target as one positive term and nowhere else."""
    positive = 0
    stack = [(value, True)]
    while stack:
        node, sign = stack.pop()
        if isinstance(node, nest.Binary) and node.op in {"+", "-"}:
            stack += [(node.left, sign), (node.right, sign if node.op == "+" else not sign)]
        elif node == target:
            if not sign:
                return False
            positive += 1
        elif target in nest.walk(node):
            return False
    return positive == 1


def neutral(op: str, ctype: str) -> str:
    """Return the value that a reduction starts from, as C text.

    >>> neutral("*", "double"), neutral("+", "int"), neutral("min", "short"), neutral("max", "unsigned")
    ('1.0', '0', '32767', '0')
    """
    if op in {"min", "max"}:
        return limits(ctype)[op == "min"]
    return {"+": "0", "*": "1"}[op] + (".0" if ctype in REAL_TYPES else "")
