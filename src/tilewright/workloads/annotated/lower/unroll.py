"""Unroll and jam: copies of a loop's body side by side, where the dependences allow it."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.workloads.annotated.lower.transforms import NestContext, asserts, even, loops_named, reason, recheck
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.affine import affine
from tilewright.workloads.annotated.nests.scalars import renamed
from tilewright.workloads.annotated.nests.values import evaluate

MAX_SIZE = 5_000
"""Largest result of unrolling, in statements and parts of expressions."""
MAX_FACTOR = 512
"""Largest unroll factor."""


def unroll(
    stmt: tree.Stmt, index: str, factor: int, setting: NestContext, *, jam: bool = False
) -> tuple[tree.Stmt, list[str]]:
    """Unroll every loop over a counter; notes say what is left out."""
    if not 1 <= factor <= MAX_FACTOR:
        raise UsageError(f"an unroll factor is from 1 to {MAX_FACTOR}, got {factor}")
    notes: list[str] = []
    for loop in loops_named(stmt, index) if factor > 1 else ():
        if loop.step < 0:
            raise IllegalTransformError(f"the loop over {index!r} counts down, so it is not unrolled")
        if tree.size(stmt) + tree.size(loop) * factor > MAX_SIZE:
            raise IllegalTransformError(f"unrolling {index!r} {factor} times makes too much code")
        fused = jam and any(isinstance(node, tree.Loop) for node in tree.statements(loop.body))
        forbidden = _jam_forbidden(loop, factor, setting) if fused else ""
        if forbidden:
            notes.append(f"the copies of {index!r} stay apart: {forbidden}")
        fused = fused and not forbidden
        new = _unrolled(loop, factor, fused=fused)
        if fused:
            # What is true of one copy's loop may not be true of the loop over all copies.
            inner = [node for node in tree.statements(new) if isinstance(node, tree.Loop) and node.index != index]
            new, lost = recheck(new, inner, setting)
            notes += lost
        stmt = tree.swap(stmt, loop, new)
    return stmt, notes


def unroll_jam(stmt: tree.Stmt, index: str, factor: int, setting: NestContext) -> tuple[tree.Stmt, list[str]]:
    """Unroll every loop over a counter, and fuse the copies of the loops inside it where legal; notes say where not."""
    return unroll(stmt, index, factor, setting, jam=True)


def _jam_forbidden(loop: tree.Loop, factor: int, setting: NestContext) -> str:
    """Say why copies of a loop's body cannot be fused, or return an empty string."""
    own = {loop.index} | tree.written(loop.body)
    for node in tree.statements(loop.body):
        if isinstance(node, tree.Loop) and own & (tree.mentioned(node.first) | tree.mentioned(node.last)):
            return f"the bounds of {node.index!r} depend on it"
        if isinstance(node, tree.If) and own & tree.mentioned(node.test) and _several(node):
            return "a condition around several statements depends on it"
    nest = setting.nest(loop)
    start = affine(loop.first, {}, nest.known, tree.written(loop) | tree.counters(loop))
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


def _several(stmt: tree.Stmt) -> bool:
    inner = list(tree.statements(stmt))
    return (
        any(isinstance(node, tree.Loop) for node in inner) or sum(isinstance(node, tree.Assign) for node in inner) > 1
    )


def _unrolled(loop: tree.Loop, factor: int, *, fused: bool) -> tree.Stmt:
    """Return the main loop with copies and the loop over what remains.

    Before: ``for (i = 0; i <= n; i++) y[i] = 0;``. After, twice:
    ``for (i = 0; i <= n - 1; i += 2) { y[i] = 0; y[i + 1] = 0; }`` and a loop from ``(n + 1) / 2 * 2``.
    """
    span = factor * loop.step
    shifts = [tree.Name(loop.index) + copy * loop.step for copy in range(1, factor)]
    copies = [loop.body, *(tree.rename(loop.body, {loop.index: shift}) for shift in shifts)]
    body = _jammed(copies) if fused else tree.block(*copies)
    last = _minus(loop.last, span - loop.step)
    main = replace(loop, last=last, step=span, body=body)
    start: tree.Expr = (loop.last + loop.step) / span * span
    if loop.first != tree.integer(0):
        start = loop.first + (loop.last - loop.first + loop.step) / span * span
    low, high = evaluate(loop.first, {}), evaluate(loop.last, {})
    if isinstance(low, int) and isinstance(high, int):
        total = max(0, (high - low) // loop.step + 1)
        if total % factor == 0:
            return main
    rest = tuple(pragma for pragma in loop.pragmas if asserts(pragma))
    return tree.block(main, replace(loop, first=start, pragmas=rest))


def _minus(expr: tree.Expr, amount: int) -> tree.Expr:
    if isinstance(expr, tree.Binary) and expr.op == "-" and isinstance(value := evaluate(expr.right, {}), int):
        return expr.left - (value + amount)
    if isinstance(value := evaluate(expr, {}), int):
        return tree.integer(value - amount)
    return expr - amount


def _jammed(copies: Sequence[tree.Stmt]) -> tree.Stmt:
    """Fuse copies of one statement: loops become one loop over all copies, declarations get names of their own."""
    first = copies[0]
    match first:
        case tree.Loop():
            bodies = [copy.body for copy in copies if isinstance(copy, tree.Loop)]
            return replace(first, body=_jammed(bodies))
        case tree.Block(body):
            renamed = [_own_names(copy, number) for number, copy in enumerate(copies)]
            columns = [
                [copy.body[place] for copy in renamed if isinstance(copy, tree.Block)] for place in range(len(body))
            ]
            items = [item for column in columns for item in _column(column)]
            return tree.Block(tuple(items))
        case tree.If(test, _, other):
            tests = {copy.test for copy in copies if isinstance(copy, tree.If)}
            if len(tests) == 1:
                others = [copy.other for copy in copies if isinstance(copy, tree.If) and copy.other is not None]
                thens = [copy.then for copy in copies if isinstance(copy, tree.If)]
                return tree.If(test, _jammed(thens), _jammed(others) if others and other is not None else None)
            return tree.Block(tuple(copies))
    return tree.block(*copies)


def _column(column: Sequence[tree.Stmt]) -> list[tree.Stmt]:
    if isinstance(column[0], tree.Declare):
        return list(column)
    fused = _jammed(column)
    return (
        list(fused.body)
        if isinstance(fused, tree.Block) and not any(isinstance(x, tree.Declare) for x in fused.body)
        else [fused]
    )


def _own_names(stmt: tree.Stmt, number: int) -> tree.Stmt:
    """Rename what a copy of a block declares, so that the copies may live together."""
    taken = tree.used(stmt)
    for item in stmt.body if isinstance(stmt, tree.Block) and number else ():
        if isinstance(item, tree.Declare):
            fresh = (f"{item.name}_{number}{'_' * more}" for more in itertools.count())
            stmt = renamed(stmt, item.name, next(name for name in fresh if name not in taken))
    return stmt
