"""What loops leave in their counters.

A :class:`~tilewright.programs.loopnest.Loop` has a counter of its own, which ends with it; in C a counter that was
declared before the loop keeps the first value beyond the bound. Where that is read later, the value is put in.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

from tilewright.programs.loopnest import (
    INTEGER_TYPES,
    ONE,
    REAL_TYPES,
    Assign,
    Binary,
    Block,
    Call,
    Choose,
    Convert,
    Declare,
    Expr,
    If,
    Item,
    Loop,
    Name,
    Num,
    Stmt,
    Transform,
    arrays,
    counters,
    expressions,
    names,
    parts,
    substitute,
    walk,
    written,
)
from tilewright.programs.loopnest_values import evaluate, literal

Refuse = Callable[[str], NoReturn]
"""Refuses a region because of a counter whose value behind its loop is not known."""


def settle(
    stmt: Stmt, live: Collection[str], own: Collection[str], types: Mapping[str, str], refuse: Refuse
) -> tuple[Stmt, tuple[Assign, ...]]:
    """Put the values that loops leave in their counters into the places that read them.

    Before: ``for (j = 0; j <= n; j++) s += a[j]; y[0] = j;`` After: ``…; y[0] = 0 <= n ? n + 1 : 0;``

    Args:
        stmt: The region.
        live: Counters that are read behind it.
        own: Counters that their loops declare: they end with them in C, too.
        types: Types of scalars and of arrays' elements.
        refuse: Called with a counter that is read where its value is not known.

    Returns:
        The region, and assignments of what it leaves in the counters that are read behind it.
    """
    walker = _Walker(own=frozenset(own), types=types, refuse=refuse)
    new = walker.visit(stmt)
    finals = []
    for name in sorted(live):
        if name in walker.left:
            value = walker.left[name]
            finals.append(Assign(Name(name), "=", refuse(name) if value is None else value))
    targets = {name for each in finals for name in names(each.target)}
    # A value that is made of another counter's earlier one comes before that is overwritten.
    finals.sort(key=lambda each: not (names(each.value) - names(each.target)) & targets)
    return new, tuple(finals)


def read_outside(stmt: Stmt, name: str) -> bool:
    """Whether a statement reads a scalar somewhere else than in loops that count with it."""
    if any(name in names(expr) for expr in expressions(stmt)):
        return True
    if isinstance(stmt, Loop) and stmt.index == name:
        return False
    return any(read_outside(part, name) for part in parts(stmt))


@dataclass(slots=True, kw_only=True)
class _Walker:
    """A walk in the order of the text.

    Attributes:
        own: Counters that their loops declare.
        types: Types of names.
        refuse: Called where a value is not known.
        left: Values of counters behind their loops; None where they are not known.
    """

    own: frozenset[str]
    types: Mapping[str, str]
    refuse: Refuse
    left: dict[str, Expr | None] = field(default_factory=dict)

    def visit(self, stmt: Stmt) -> Stmt:  # noqa: PLR0911
        match stmt:
            case Block(body):
                return Block(tuple(self.visit(each) for each in body))
            case Transform(name, arguments, body):
                return Transform(name, arguments, self.visit(body))
            case Assign(target, op, value):
                return self._assign(stmt, target, op, value)
            case Declare(name=name, dims=dims, value=value):
                fresh = tuple(map(self._read, value)) if isinstance(value, tuple) else value and self._read(value)
                self.left.pop(name, None)
                self._changed({name})
                return replace(stmt, dims=tuple(map(self._read, dims)), value=fresh)
            case If(test, then, other):
                return self._if(self._read(test), then, other)
            case Loop():
                return self._loop(stmt)
        return stmt

    def _read(self, expr: Expr) -> Expr:
        values: dict[str, Expr] = {}
        for name in names(expr) & self.left.keys():
            value = self.left[name]
            values[name] = self.refuse(name) if value is None else value
        return substitute(expr, values) if values else expr

    def _changed(self, changed: Collection[str]) -> None:
        """Forget values that are made of what is overwritten."""
        for name, value in self.left.items():
            if value is not None and (names(value) | arrays(value)) & set(changed):
                self.left[name] = None

    def _assign(self, stmt: Assign, target: Name | Item, op: str, value: Expr) -> Assign:
        value = self._read(value)
        if isinstance(target, Item):
            target = Item(target.array, tuple(self._read(each) for each in target.index))
            self._changed({target.array})
            return Assign(target, op, value)
        if op != "=" and target.name in self.left:
            stmt = Assign(target, "=", Binary(op[0], self._read(target), value))
        else:
            stmt = Assign(target, op, value)
        self.left.pop(target.name, None)
        self._changed({target.name})
        return stmt

    def _if(self, test: Expr, then: Stmt, other: Stmt | None) -> If:
        before = dict(self.left)
        new = self.visit(then)
        one = self.left
        self.left = before
        more = None if other is None else self.visit(other)
        ends = one.keys() | self.left.keys()
        same = {name: self.left.get(name) for name in ends}
        self.left = {name: value if one.get(name) == value else None for name, value in same.items()}
        return If(test, new, more)

    def _loop(self, loop: Loop) -> Loop:
        first, last = self._read(loop.first), self._read(loop.last)
        before = dict(self.left)
        changed = written(loop.body)
        inner = counters(loop.body) - self.own
        # An iteration begins with what the one before has left.
        self._changed(changed)
        self.left |= dict.fromkeys(inner)
        self.left.pop(loop.index, None)
        body = self.visit(loop.body)
        steady = not (names(first) | names(last) | arrays(first) | arrays(last)) & changed
        exact = steady and self._whole(first) and self._whole(last)
        runs = Binary("<=" if loop.step > 0 else ">=", first, last)
        for name in inner:
            value = self.left[name] if exact else None
            self.left[name] = _joined(runs, value, before.get(name, Name(name)), loop.index, _last(loop, first, last))
        if loop.index in self.own:
            if loop.index in before:
                self.left[loop.index] = before[loop.index]
        else:
            end = _end(loop, first, last)
            self.left[loop.index] = _chosen(runs, end, first) if exact else None
        return replace(loop, first=first, last=last, body=body)

    def _whole(self, expr: Expr) -> bool:
        """Whether an expression has no part that is computed in floating point."""
        for part in walk(expr):
            match part:
                case Num(text) if not isinstance(literal(text), int):
                    return False
                case Name(name) if self.types.get(name) in REAL_TYPES:
                    return False
                case Item(array, _) if self.types.get(array) not in INTEGER_TYPES:
                    return False
                case Call(function, _) if function not in {"min", "max", "abs"}:
                    return False
                case Convert(ctype, _) if ctype in REAL_TYPES:
                    return False
        return True


def _joined(runs: Expr, value: Expr | None, before: Expr | None, index: str, last: Expr) -> Expr | None:
    """Return what a loop leaves in a counter of its body: that of its last iteration, if there is one."""
    if value is None:
        return None
    inside = substitute(value, {index: last})
    if evaluate(runs, {}) == 1:
        return inside
    return None if before is None else Choose(runs, inside, before)


def _chosen(runs: Expr, then: Expr, other: Expr) -> Expr:
    known = evaluate(runs, {})
    return Choose(runs, then, other) if known is None else then if known else other


def _last(loop: Loop, first: Expr, last: Expr) -> Expr:
    """Return the counter of the last iteration of a loop that runs."""
    if abs(loop.step) == 1:
        return last
    step = Num(str(abs(loop.step)))
    far, near = (last, first) if loop.step > 0 else (first, last)
    span = Binary("*", Binary("/", Binary("-", far, near), step), step)
    return Binary("+" if loop.step > 0 else "-", first, span)


def _end(loop: Loop, first: Expr, last: Expr) -> Expr:
    """Return the first counter beyond the bound of a loop that runs."""
    if loop.step == 1 and isinstance(last, Binary) and last.op == "-" and last.right == ONE:
        return last.left
    return Binary("+" if loop.step > 0 else "-", _last(loop, first, last), Num(str(abs(loop.step))))
