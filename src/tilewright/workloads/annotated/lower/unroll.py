"""Unroll and jam: copies of a loop's body side by side, where the dependences allow it."""

from collections.abc import Sequence
from dataclasses import replace

from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.workloads.annotated.lower.transforms import NestContext, asserts, even, loops_named, reason, recheck
from tilewright.workloads.annotated.nests.affine import affine
from tilewright.workloads.annotated.nests.nest import (
    Assign,
    Binary,
    Block,
    Declare,
    Expr,
    If,
    Loop,
    Name,
    Num,
    Stmt,
    block,
    counters,
    names,
    rename,
    size,
    statements,
    swap,
    written,
)
from tilewright.workloads.annotated.nests.values import evaluate

MAX_SIZE = 5_000
"""Largest result of unrolling, in statements and parts of expressions."""
MAX_FACTOR = 512
"""Largest unroll factor."""


def unroll(stmt: Stmt, index: str, factor: int, setting: NestContext, *, jam: bool = False) -> tuple[Stmt, list[str]]:
    """Unroll every loop over a counter; notes say what is left out."""
    if not 1 <= factor <= MAX_FACTOR:
        raise UsageError(f"an unroll factor is from 1 to {MAX_FACTOR}, got {factor}")
    notes: list[str] = []
    for loop in loops_named(stmt, index) if factor > 1 else ():
        if loop.step < 0:
            raise IllegalTransformError(f"the loop over {index!r} counts down, so it is not unrolled")
        if size(stmt) + size(loop) * factor > MAX_SIZE:
            raise IllegalTransformError(f"unrolling {index!r} {factor} times makes too much code")
        fused = jam and any(isinstance(node, Loop) for node in statements(loop.body))
        forbidden = _jam_forbidden(loop, factor, setting) if fused else ""
        if forbidden:
            notes.append(f"the copies of {index!r} stay apart: {forbidden}")
        fused = fused and not forbidden
        new = _unrolled(loop, factor, fused=fused)
        if fused:
            # What is true of one copy's loop may not be true of the loop over all copies.
            inner = [node for node in statements(new) if isinstance(node, Loop) and node.index != index]
            new, lost = recheck(new, inner, setting)
            notes += lost
        stmt = swap(stmt, loop, new)
    return stmt, notes


def unroll_jam(stmt: Stmt, index: str, factor: int, setting: NestContext) -> tuple[Stmt, list[str]]:
    """Unroll every loop over a counter, and fuse the copies of the loops inside it where legal; notes say where not."""
    return unroll(stmt, index, factor, setting, jam=True)


def _jam_forbidden(loop: Loop, factor: int, setting: NestContext) -> str:
    """Say why copies of a loop's body cannot be fused, or return an empty string."""
    for node in statements(loop.body):
        if isinstance(node, Loop) and loop.index in names(node.first) | names(node.last):
            return f"the bounds of {node.index!r} depend on it"
        if isinstance(node, If) and loop.index in names(node.test) and _several(node):
            return "a condition around several statements depends on it"
    nest = setting.nest(loop)
    start = affine(loop.first, {}, nest.known, written(loop) | counters(loop))
    if start is None:
        return "its first value is not affine"
    times = {}
    for site in nest.sites:
        time = nest.time(site)
        times[site.number] = [time[0], f"floor((v0 - ({start}))/{factor * loop.step})", *time[2:]]
    # All times have one length; the copy's number comes last.
    times = {number: [*time, "v0"] for number, time in even(times).items()}
    bad = nest.violated(times, setting.reduced(loop))
    return "" if bad is None else reason(bad)


def _several(stmt: Stmt) -> bool:
    """Whether a statement holds a loop or more than one assignment."""
    inner = list(statements(stmt))
    return any(isinstance(node, Loop) for node in inner) or sum(isinstance(node, Assign) for node in inner) > 1


def _unrolled(loop: Loop, factor: int, *, fused: bool) -> Stmt:
    """Return the main loop with copies and the loop over what remains.

    Before: ``for (i = 0; i <= n; i++) y[i] = 0;``. After, twice:
    ``for (i = 0; i <= n - 1; i += 2) { y[i] = 0; y[i + 1] = 0; }`` and a loop from ``(n + 1) / 2 * 2``.
    """
    span = factor * loop.step
    copies = [loop.body]
    for number in range(1, factor):
        shift = Binary("+", Name(loop.index), Num(str(number * loop.step)))
        copies.append(rename(loop.body, {loop.index: shift}))
    body = _jammed(copies) if fused else block(*copies)
    last = _minus(loop.last, span - loop.step)
    main = replace(loop, last=last, step=span, body=body)
    count = Binary("/", Binary("+", Binary("-", loop.last, loop.first), Num(str(loop.step))), Num(str(span)))
    if loop.first == Num("0"):
        count = Binary("/", Binary("+", loop.last, Num(str(loop.step))), Num(str(span)))
    start: Expr = Binary("*", count, Num(str(span)))
    if loop.first != Num("0"):
        start = Binary("+", loop.first, start)
    low, high = evaluate(loop.first, {}), evaluate(loop.last, {})
    if isinstance(low, int) and isinstance(high, int):
        total = max(0, (high - low) // loop.step + 1)
        if total % factor == 0:
            return main
    rest = tuple(pragma for pragma in loop.pragmas if asserts(pragma))
    return block(main, replace(loop, first=start, pragmas=rest))


def _minus(expr: Expr, amount: int) -> Expr:
    if isinstance(expr, Binary) and expr.op == "-" and isinstance(value := evaluate(expr.right, {}), int):
        return Binary("-", expr.left, Num(str(value + amount)))
    if isinstance(value := evaluate(expr, {}), int):
        return Num(str(value - amount))
    return Binary("-", expr, Num(str(amount)))


def _jammed(copies: Sequence[Stmt]) -> Stmt:
    """Fuse copies of one statement: loops become one loop over all copies, declarations get names of their own."""
    first = copies[0]
    match first:
        case Loop():
            bodies = [copy.body for copy in copies if isinstance(copy, Loop)]
            return replace(first, body=_jammed(bodies))
        case Block(body):
            renamed = [_own_names(copy, number) for number, copy in enumerate(copies)]
            columns = [[copy.body[place] for copy in renamed if isinstance(copy, Block)] for place in range(len(body))]
            items = [item for column in columns for item in _column(column)]
            return Block(tuple(items))
        case If(test, _, other):
            tests = {copy.test for copy in copies if isinstance(copy, If)}
            if len(tests) == 1:
                others = [copy.other for copy in copies if isinstance(copy, If) and copy.other is not None]
                thens = [copy.then for copy in copies if isinstance(copy, If)]
                return If(test, _jammed(thens), _jammed(others) if others and other is not None else None)
            return Block(tuple(copies))
    return block(*copies)


def _column(column: Sequence[Stmt]) -> list[Stmt]:
    if isinstance(column[0], Declare):
        return list(column)
    fused = _jammed(column)
    return (
        list(fused.body)
        if isinstance(fused, Block) and not any(isinstance(x, Declare) for x in fused.body)
        else [fused]
    )


def _own_names(stmt: Stmt, number: int) -> Stmt:
    """Rename what a copy of a block declares, so that the copies may live together."""
    if not isinstance(stmt, Block) or number == 0:
        return stmt
    own = {item.name: Name(f"{item.name}_{number}") for item in stmt.body if isinstance(item, Declare)}
    if not own:
        return stmt
    renamed = rename(stmt, dict(own))
    if not isinstance(renamed, Block):
        return renamed
    items = tuple(
        replace(item, name=own[item.name].name) if isinstance(item, Declare) else item for item in renamed.body
    )
    return Block(items)
