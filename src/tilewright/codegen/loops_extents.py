"""How large arrays must be for a loop nest, where nobody says so: the largest subscript, in terms of the bounds."""

from tilewright.codegen.loop_scalars import shifted
from tilewright.codegen.loops_c import text
from tilewright.programs.loopnest import (
    Assign,
    Binary,
    Block,
    Expr,
    If,
    Item,
    Loop,
    Name,
    Num,
    Stmt,
    expressions,
    names,
    substitute,
    walk,
    written,
)


def extents_of(stmt: Stmt) -> dict[str, tuple[str, ...]]:
    """Return the number of elements of arrays of one dimension as C text.

    Only subscripts that grow with every counter in them, and hold nothing that the nest changes, are understood; other
    arrays are left out.

    Args:
        stmt: The nest.
    """
    found: dict[str, list[Expr]] = {}
    unknown: set[str] = set()
    changed = written(stmt)
    _visit(stmt, (), found, unknown)
    out: dict[str, tuple[str, ...]] = {}
    for array, tops in found.items():
        distinct = list(dict.fromkeys(tops))
        if array in unknown or len(distinct) > 8 or any(names(top) & changed for top in distinct):
            continue
        largest = text(_plus_one(distinct[0]), 9)
        for other in distinct[1:]:
            next_one = text(_plus_one(other), 9)
            largest = f"(({largest}) > ({next_one}) ? ({largest}) : ({next_one}))"
        out[array] = (largest,)
    return out


def _plus_one(expr: Expr) -> Expr:
    base, shift = shifted(expr)
    if base is None:
        return Num(str(shift + 1))
    if shift == -1:
        return base
    return Binary("+", base, Num(str(shift + 1))) if shift >= 0 else Binary("-", base, Num(str(-shift - 1)))


def _visit(stmt: Stmt, loops: tuple[Loop, ...], found: dict[str, list[Expr]], unknown: set[str]) -> None:
    match stmt:
        case Loop(body=body):
            _visit(body, (*loops, stmt), found, unknown)
        case Block(body):
            for each in body:
                _visit(each, loops, found, unknown)
        case If(_, then, other):
            _visit(then, loops, found, unknown)
            if other is not None:
                _visit(other, loops, found, unknown)
    targets = (stmt.target,) if isinstance(stmt, Assign) else ()
    for expr in (*expressions(stmt), *targets):
        for part in walk(expr):
            if isinstance(part, Item):
                top = _top(part.index[0], loops) if len(part.index) == 1 else None
                if top is None:
                    unknown.add(part.array)
                else:
                    found.setdefault(part.array, []).append(top)


def _top(index: Expr, loops: tuple[Loop, ...]) -> Expr | None:
    """Return the largest value of a subscript, or None if it is not seen."""
    counters = {loop.index for loop in loops}
    if not _grows(index, counters):
        return None
    for loop in reversed(loops):
        bound = loop.last if loop.step > 0 else loop.first
        index = substitute(index, {loop.index: bound})
    return None if names(index) & counters else index


def _grows(expr: Expr, counters: set[str]) -> bool:
    match expr:
        case Name() | Num():
            return True
        case Binary("+" | "*", left, right):
            return _grows(left, counters) and _grows(right, counters)
        case Binary("-", left, right):
            return (
                _grows(left, counters)
                and not names(right) & counters
                and not any(isinstance(p, Item) for p in walk(right))
            )
    return False
