"""Transformations that put elements of arrays, and bounds of loops, into variables of their own."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.workloads.annotated.lower.transforms import NestContext, innermost
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.values import constant

MAX_COPY = 2**20
"""Largest copy of a part of an array, elements."""


def scalar_replace(stmt: tree.Stmt, setting: NestContext, prefix: str = "itv_", ctype: str = "") -> tree.Stmt:
    """Keep elements that do not change their place inside an innermost loop in scalars.

    Before: ``for (k…) c[i][j] += a[i][k] * b[k][j];``.
    After: ``{ double t = c[i][j]; for (k…) t += a[i][k] * b[k][j]; c[i][j] = t; }``.
    ``ctype`` stands in for an array's type that is not known.
    """
    taken = tree.used(stmt)
    fresh = (name for number in itertools.count(1) if (name := f"{prefix}{number}") not in taken)
    for loop in innermost(stmt):
        items = [item for item in _invariant(loop) if _alone(loop, item, setting)]
        if not items:
            continue
        values = {item: tree.Name(next(fresh)) for item in items}
        stmt = tree.swap(stmt, loop, _with_scalars(loop, values, setting, ctype))
    return stmt


def _invariant(loop: tree.Loop) -> list[tree.Item]:
    """Elements that a loop names without its counter or anything that it changes."""
    changing = tree.changed(loop)
    return [item for item in dict.fromkeys(tree.items(loop.body)) if not tree.mentioned(*item.index) & changing]


def _alone(loop: tree.Loop, item: tree.Item, setting: NestContext) -> bool:
    """Whether nothing else in a loop can touch an element that it may write."""
    if setting.shared(item.array, tree.used(loop) if item.array in tree.written(loop) else tree.written(loop)):
        return False
    if any(tree.every(loop.body, tree.If)):
        return False
    own = (part for part in tree.items(loop.body) if part.array == item.array)
    return item.array not in tree.written(loop) or all(part == item or _distinct(part, item) for part in own)


def _distinct(a: tree.Item, b: tree.Item) -> bool:
    if len(a.index) != len(b.index):
        return False
    for x, y in zip(a.index, b.index, strict=True):
        base_x, shift_x = shifted(x)
        base_y, shift_y = shifted(y)
        if base_x == base_y and shift_x != shift_y:
            return True
    return False


def shifted(expr: tree.Expr) -> tuple[tree.Expr | None, int]:
    """Split an expression into what varies and a literal that is added."""
    if (value := constant(expr)) is not None:
        return None, value
    if isinstance(expr, tree.Binary) and expr.op in {"+", "-"} and (value := constant(expr.right)) is not None:
        base, shift = shifted(expr.left)
        return base, shift + (value if expr.op == "+" else -value)
    if isinstance(expr, tree.Binary) and expr.op == "+" and (value := constant(expr.left)) is not None:
        base, shift = shifted(expr.right)
        return base, shift + value
    return expr, 0


def _with_scalars(
    loop: tree.Loop, values: Mapping[tree.Item, tree.Name], setting: NestContext, ctype: str
) -> tree.Stmt:
    new = tree.map_expressions(loop, lambda node: values.get(node, node) if isinstance(node, tree.Item) else node)
    loads = [
        tree.Declare(ctype=setting.types.get(item.array) or ctype or "double", name=name.name, value=item)
        for item, name in values.items()
    ]
    targets = {node.target for node in tree.every(loop.body, tree.Assign)}
    stores = [tree.Assign(item, "=", name) for item, name in values.items() if item in targets]
    # A loop that does not run reads and writes nothing.
    test = loop.first <= loop.last if loop.step > 0 else loop.first >= loop.last
    return tree.If(test, tree.Block((*loads, new, *stores)))


def bound_replace(stmt: tree.Stmt, lower: str = "newlb_", upper: str = "newub_") -> tree.Stmt:
    """Compute bounds that are no plain number or variable once, before their loop.

    Before: ``for (i = max(a, b); i <= min(c, d); i++)``.
    After: ``{ int newlb_i = max(a, b), newub_i = min(c, d); for (i = newlb_i; i <= newub_i; i++) }``.
    """
    taken = tree.used(stmt)

    def fresh(prefix: str, index: str) -> str:
        name = f"{prefix}{index}"
        while name in taken:
            name += "_"
        taken.add(name)
        return name

    for loop in tree.loops(stmt)[::-1]:
        made: list[tree.Declare] = []
        bounds = {}
        for key, prefix, bound in (("first", lower, loop.first), ("last", upper, loop.last)):
            if isinstance(bound, tree.Num | tree.Name):
                bounds[key] = bound
                continue
            made.append(tree.Declare(ctype=loop.ctype or "int", name=fresh(prefix, loop.index), value=bound))
            bounds[key] = tree.Name(made[-1].name)
        if made:
            new = replace(loop, first=bounds["first"], last=bounds["last"])
            stmt = tree.swap(stmt, loop, tree.Block((*made, new)))
    return stmt


def array_copy(
    stmt: tree.Stmt, aref: tree.Item, sizes: Sequence[int], suffix: str, ctype: str, setting: NestContext
) -> tuple[tree.Stmt, list[str]]:
    """Copy the part of an array that inner loops use into a small one, and back if it is written.

    Before: ``for (k = kk; k <= kk + 31; k++) c += a[i][k];``. After: the same loop on ``a_copy[k - kk]``,
    filled before it. ``aref`` is the element as the loops name it, ``ctype`` stands in for a type that is not known.
    """
    if len(sizes) != len(aref.index):
        raise UsageError(f"{aref.array!r} has {len(aref.index)} indices but the copy {len(sizes)} extents")
    total = 1
    for extent in sizes:
        total *= max(extent, 1)
    if total > MAX_COPY or min(sizes) < 1:
        raise IllegalTransformError(f"the copy of {aref.array!r} has {total} elements, more than {MAX_COPY}")
    ranges = [_range_loop(stmt, each, aref) for each in aref.index]
    outer = _first_of(stmt, [loop for loop, _ in ranges])
    _check_copy(outer, aref, ranges, sizes)
    if setting.shared(aref.array, tree.used(outer) if aref.array in tree.written(outer) else tree.written(outer)):
        raise IllegalTransformError(f"{aref.array!r} may overlap another array, so it is not copied")
    name = aref.array + suffix
    while name in tree.used(stmt):
        name += "_"
    place = tuple(each - low for each, (_, low) in zip(aref.index, ranges, strict=True))
    small = tree.Item(name, place)
    body = tree.map_expressions(outer, lambda node: small if node == aref else node)
    dims = tuple(tree.integer(extent) for extent in sizes)
    declare = tree.Declare(ctype=setting.types.get(aref.array) or ctype or "double", name=name, dims=dims)
    fill = _copy_loops(tree.Assign(small, "=", aref), [loop for loop, _ in ranges])
    items: list[tree.Stmt] = [declare, fill, body]
    if aref.array in tree.written(outer):
        items.append(_copy_loops(tree.Assign(aref, "=", small), [loop for loop, _ in ranges]))
    return tree.swap(stmt, outer, tree.Block(tuple(items))), []


def _range_loop(stmt: tree.Stmt, index: tree.Expr, aref: tree.Item) -> tuple[tree.Loop, tree.Expr]:
    """Return the loop whose counter an index is, and its first value."""
    holding = [loop for loop in tree.loops(stmt) if index == tree.Name(loop.index) and aref in tree.items(loop)]
    if len(holding) != 1:
        raise IllegalTransformError(
            f"an index of {aref.array!r} is no counter of exactly one loop, so it is not copied"
        )
    return holding[0], holding[0].first


def _first_of(stmt: tree.Stmt, loops: Sequence[tree.Loop]) -> tree.Loop:
    for node in tree.loops(stmt):
        if any(node is loop for loop in loops):
            return node
    raise IllegalTransformError("there is no loop to copy for")


def _check_copy(
    outer: tree.Loop, aref: tree.Item, ranges: Sequence[tuple[tree.Loop, tree.Expr]], sizes: Sequence[int]
) -> None:
    inside = tree.counters(outer) | tree.written(outer)
    for (loop, low), extent in zip(ranges, sizes, strict=True):
        if loop is not outer and not any(node is loop for node in tree.statements(outer)):
            raise IllegalTransformError(f"the loops of {aref.array!r} are not inside each other, so it is not copied")
        if tree.names(low, loop.last) & inside or loop.step < 0:
            raise IllegalTransformError(f"the bounds of {loop.index!r} change inside, so {aref.array!r} is not copied")
        width = _width(loop)
        if width is None or width > extent:
            raise IllegalTransformError(
                f"the copy of {aref.array!r} needs {'an unknown number of' if width is None else width} elements along "
                f"{loop.index!r}, got {extent}"
            )
    for part in tree.items(outer):
        if part.array == aref.array and part != aref:
            raise IllegalTransformError(f"{aref.array!r} is also used at another place, so it is not copied")
        if any(each != aref and aref in tree.walk(each) for each in part.index):
            raise IllegalTransformError(f"{aref.array!r} chooses elements, so it is not copied")


def _width(loop: tree.Loop) -> int | None:
    """Return the most iterations of a loop, counted in its counter, where its bounds say so."""
    parts = loop.last.args if isinstance(loop.last, tree.Call) and loop.last.function == "min" else (loop.last,)
    widths = []
    for part in parts:
        (base_a, shift_a), (base_b, shift_b) = shifted(part), shifted(loop.first)
        if base_a == base_b:
            widths.append(shift_a - shift_b + 1)
    return min(widths, default=None)


def _copy_loops(body: tree.Stmt, loops: Sequence[tree.Loop]) -> tree.Stmt:
    for loop in reversed(loops):
        body = replace(loop, body=body, pragmas=(), launch=())
    return body
