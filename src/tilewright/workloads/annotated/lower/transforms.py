"""Transformations of loop nests: each a function from tree to tree, made only where the dependences allow it.

A transformation that a dependence forbids raises :class:`IllegalTransformError`, which names the dependence.
"""

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tilewright.base.errors import IllegalTransformError, UsageError
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.dependences import LoopDependence, Nest, analyse
from tilewright.workloads.annotated.nests.scalars import accumulated, reductions, renamed
from tilewright.workloads.annotated.nests.values import constant

MAX_TILE = 2**24  # largest tile size
MAX_SIZE = 5_000  # largest result of unrolling, in statements and parts of expressions
MAX_FACTOR = 512  # largest unroll factor
_ARRAY_SUM = re.compile(r"reduction\(([^:()]+):(\w+)\[")
_ASSERTS = re.compile(r"^omp\b|\b(?:ivdep|simd|vector|assume_safety|independent)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class NestContext:
    """What is known of the place where a nest stands."""

    known: Mapping[str, int] = field(default_factory=dict)  # values of names, the same wherever it runs
    types: Mapping[str, str] = field(default_factory=dict)  # types of its scalars and elements of its arrays
    # types of arrays that may overlap others of the same type; all others are distinct
    overlap: Mapping[str, str] = field(default_factory=dict)

    def shared(self, array: str, arrays: Collection[str]) -> bool:
        """Whether an array may overlap one of some others."""
        own = self.overlap.get(array)
        return own is not None and any(each != array and self.overlap.get(each) == own for each in arrays)

    def nest(self, stmt: tree.Stmt) -> Nest:
        """Return the dependences of a nest."""
        return analyse(stmt, self.known, self.overlap)

    def reduced(self, loop: tree.Loop) -> set[str]:
        """Return what a loop reduces, which dependences do not count for: its order is free up to rounding."""
        return {each.name for each in reductions(loop, self.types)}


def loops_named(stmt: tree.Stmt, index: str) -> list[tree.Loop]:
    """Return the loops over a counter, in the order of the text."""
    return [loop for loop in tree.loops(stmt) if loop.index == index]


def illegal(action: str, dependence: LoopDependence) -> IllegalTransformError:
    """Return the error that names the dependence which forbids something."""
    return IllegalTransformError(f"{action} is illegal: {reason(dependence)}")


def reason(dependence: LoopDependence) -> str:
    """Say what forbids something."""
    return str(dependence) if dependence.array != "?" else "its dependences cannot be analysed"


def asserts(pragma: str) -> bool:
    """Whether a directive lets a compiler run iterations together, which is wrong where they depend on each other.

    >>> asserts("GCC ivdep"), asserts("omp parallel for"), asserts("GCC unroll 4")
    (True, True, False)
    """
    return _ASSERTS.search(pragma) is not None


def recheck(stmt: tree.Stmt, loops: Sequence[tree.Loop], setting: NestContext) -> tuple[tree.Stmt, list[str]]:
    """Take directives away that a transformation of the loops around has made untrue, with a note for each."""
    notes: list[str] = []
    for loop in loops:
        pragmas: list[str] = []
        for pragma in loop.pragmas:
            bad = _untrue(pragma, loop, setting)
            if bad is None:
                pragmas.append(pragma)
            else:
                why = str(bad) if bad.array != "?" else "the dependences cannot be analysed"
                notes.append(f"the directive {pragma!r} before the loop over {loop.index!r} is left out: {why}")
        if len(pragmas) < len(loop.pragmas):
            stmt = tree.swap(stmt, loop, replace(loop, pragmas=tuple(pragmas)))
    return stmt, notes


def _untrue(pragma: str, loop: tree.Loop, setting: NestContext) -> LoopDependence | None:
    if not asserts(pragma):
        return None
    nest = setting.nest(loop)
    if not pragma.startswith("omp"):
        return nest.carried(loop)
    arrays = {array for op, array in _ARRAY_SUM.findall(pragma) if accumulated(loop, array, setting.types) == op}
    return nest.carried(loop, setting.reduced(loop) | arrays)


def strip(loop: tree.Loop, count: int, index: str, unit: int = 1) -> tree.Loop:
    """Cut a loop into strips; the order of the iterations stays the same.

    Before: ``for (i = 0; i <= n; i++)``. After, 4 at a time:
    ``for (ii = 0; ii <= n; ii += 4) for (i = ii; i <= min(n, ii + 3); i++)``. Where the loop is one over strips itself,
    ``unit`` is the step of the original one, whose iterations ``count`` counts.
    """
    if loop.step < 0:
        raise IllegalTransformError(f"the loop over {loop.index!r} counts down, so it is not tiled")
    width = count * unit
    if width % loop.step:
        raise IllegalTransformError(f"the tile size {count} of {index!r} is no multiple of the inner tile's")
    end = tree.Name(index) + (width - loop.step)
    inner = replace(loop, first=tree.Name(index), last=tree.Call("min", (loop.last, end)))
    return tree.Loop(index=index, first=loop.first, last=loop.last, step=width, body=inner, ctype=loop.ctype)


def permute(stmt: tree.Stmt, order: Sequence[str], setting: NestContext) -> tuple[tree.Stmt, list[str]]:
    """Put the loops of a perfect nest into an order (others keep their places), with notes on directives left out."""
    loops = tree.chain(stmt)
    named = [loop for loop in loops if loop.index in order]
    target = [loop for index in order for loop in named if loop.index == index]
    if target == named or len(named) < 2:
        return stmt, []
    fill = iter(target)
    new = [next(fill) if loop in named else loop for loop in loops]
    _check_bounds(new)
    nest = setting.nest(stmt)
    positions = [next(i for i, each in enumerate(loops) if each is loop) for loop in new]
    times = nest.times(
        lambda time: [each for position in positions for each in ("0", time[2 * position + 1])] + time[2 * len(loops) :]
    )
    bad = nest.violated(times, setting.reduced(loops[0]))
    if bad is not None:
        raise illegal(f"the order ({', '.join(loop.index for loop in new)})", bad)
    # A dependence that a loop around it carried is the loop's own once that loop has gone inside.
    outward = {id(loop) for loop in new if not _around(loop, loops) <= _around(loop, new)}
    stmt, copies = _reorder(stmt, loops, new)
    return recheck(stmt, [each for loop, each in zip(new, copies, strict=True) if id(loop) in outward], setting)


def _around(loop: tree.Loop, loops: Sequence[tree.Loop]) -> set[int]:
    return {id(each) for each in itertools.takewhile(lambda each: each is not loop, loops)}


def _reorder(stmt: tree.Stmt, old: Sequence[tree.Loop], new: Sequence[tree.Loop]) -> tuple[tree.Stmt, list[tree.Loop]]:
    body = old[-1].body
    copies: list[tree.Loop] = []
    for loop in reversed(new):
        body = replace(loop, body=body)
        copies.insert(0, body)
    return tree.swap(stmt, old[0], body), copies


def _check_bounds(loops: Sequence[tree.Loop]) -> None:
    for place, loop in enumerate(loops):
        inside = {each.index for each in loops[place:]}
        bad = tree.names(loop.first, loop.last) & inside
        if bad:
            raise IllegalTransformError(
                f"the loop over {loop.index!r} cannot stand outside that over {min(bad)!r}, on which its bounds depend"
            )


def tile(
    stmt: tree.Stmt, tiles: Sequence[tuple[Sequence[str], int, str]], setting: NestContext
) -> tuple[tree.Stmt, list[str]]:
    """Cut loops into tiles and bring the loops over tiles outside, as far as that is legal; notes say which stay."""
    notes: list[str] = []
    counters: list[str] = []
    units: dict[str, int] = {}
    # the first of the counters that is there is cut; iterations per tile; the counter over the tiles
    for choices, count, index in tiles:
        if not 1 <= count <= MAX_TILE:
            raise UsageError(f"a tile size is from 1 to {MAX_TILE}, got {count}")
        cut = next((each for each in choices if loops_named(stmt, each)), None)
        if count == 1 or cut is None:
            continue
        if index in tree.used(stmt):
            raise UsageError(f"the tile counter {index!r} is in use", "name one that the code does not have")
        for loop in loops_named(stmt, cut):
            unit = units.setdefault(index, units.get(cut, loop.step))
            stmt = tree.swap(stmt, loop, strip(loop, count, index, unit))
        counters.append(index)
    # The last that were made are the largest tiles: they go outermost, in the order of the specification.
    ids: set[int] = set()
    for head in tree.loops(stmt):
        inside = tree.chain(head)
        if id(head) in ids or len(inside) < 2:
            continue
        ids |= {id(loop) for loop in inside}
        own = [index for index in _outermost_first(tiles, counters) if index in {loop.index for loop in inside}]
        rest = [loop.index for loop in inside if loop.index not in counters]
        if not own or not rest:
            continue
        try:
            new, more = permute(head, [*own, *rest], setting)
            stmt = tree.swap(stmt, head, new)
            notes += more
        except IllegalTransformError as error:
            notes.append(f"loops over tiles stay inside: {error.message}")
    return stmt, notes


def _outermost_first(tiles: Sequence[tuple[Sequence[str], int, str]], counters: Collection[str]) -> list[str]:
    """Loops over tiles of tiles before those over tiles."""
    level: dict[str, int] = {}
    for choices, _, index in tiles:
        if index in counters:
            level[index] = 1 + max((level.get(each, 0) for each in choices), default=0)
    return sorted(level, key=lambda index: -level[index])


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
        fused = jam and bool(tree.loops(loop.body))
        forbidden = _jam_forbidden(loop, factor, setting) if fused else ""
        if forbidden:
            notes.append(f"the copies of {index!r} stay apart: {forbidden}")
        fused = fused and not forbidden
        new = _unrolled_loop(loop, factor, fused=fused)
        if fused:
            # What is true of one copy's loop may not be true of the loop over all copies.
            new, lost = recheck(new, [each for each in tree.loops(new) if each.index != index], setting)
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
        if isinstance(node, tree.Loop) and own & tree.mentioned(node.first, node.last):
            return f"the bounds of {node.index!r} depend on it"
        several = bool(tree.loops(node)) or len(list(tree.every(node, tree.Assign))) > 1
        if isinstance(node, tree.If) and own & tree.mentioned(node.test) and several:
            return "a condition around several statements depends on it"
    nest = setting.nest(loop)
    start = nest.names.affine(loop.first)
    if start is None:
        return "its first value is not affine"
    block = f"floor((v0 - ({start}))/{factor * loop.step})"
    times = nest.times(lambda time: [time[0], block, *time[2:]])
    # The copy's number comes last.
    bad = nest.violated({number: [*time, "v0"] for number, time in times.items()}, setting.reduced(loop))
    return "" if bad is None else reason(bad)


def _unrolled_loop(loop: tree.Loop, factor: int, *, fused: bool) -> tree.Stmt:
    """Return the main loop with copies and the loop over what remains.

    Before: ``for (i = 0; i <= n; i++) y[i] = 0;``. After, twice:
    ``for (i = 0; i <= n - 1; i += 2) { y[i] = 0; y[i + 1] = 0; }`` and a loop from ``(n + 1) / 2 * 2``.
    """
    span = factor * loop.step
    shifts = [tree.Name(loop.index) + copy * loop.step for copy in range(1, factor)]
    copies = [loop.body, *(tree.rename(loop.body, {loop.index: shift}) for shift in shifts)]
    body = _jam(copies) if fused else tree.block(*copies)
    last = _minus(loop.last, span - loop.step)
    main = replace(loop, last=last, step=span, body=body)
    start: tree.Expr = (loop.last + loop.step) / span * span
    if loop.first != tree.integer(0):
        start = loop.first + (loop.last - loop.first + loop.step) / span * span
    low, high = constant(loop.first), constant(loop.last)
    if low is not None and high is not None:
        total = max(0, (high - low) // loop.step + 1)
        if total % factor == 0:
            return main
    rest = tuple(pragma for pragma in loop.pragmas if asserts(pragma))
    return tree.block(main, replace(loop, first=start, pragmas=rest))


def _minus(expr: tree.Expr, amount: int) -> tree.Expr:
    if isinstance(expr, tree.Binary) and expr.op == "-" and (value := constant(expr.right)) is not None:
        return expr.left - (value + amount)
    if (value := constant(expr)) is not None:
        return tree.integer(value - amount)
    return expr - amount


def _jam(copies: Sequence[tree.Stmt]) -> tree.Stmt:
    """Fuse copies of one statement: loops become one loop over all copies, declarations get names of their own."""
    first, columns = copies[0], list(zip(*map(tree.parts, copies), strict=True))
    match first:
        case tree.Loop():
            return replace(first, body=_jam(columns[0]))
        case tree.Block():
            renamed = [_own_names(copy, number) for number, copy in enumerate(copies)]
            return tree.Block(tuple(item for column in zip(*renamed, strict=True) for item in _column(column)))
        case tree.If(test):
            if len({copy.test for copy in copies if isinstance(copy, tree.If)}) == 1:
                return tree.If(test, *map(_jam, columns))
            return tree.Block(tuple(copies))
    return tree.block(*copies)


def _column(column: Sequence[tree.Stmt]) -> Sequence[tree.Stmt]:
    if isinstance(column[0], tree.Declare):
        return column
    fused = _jam(column)
    return fused.body if isinstance(fused, tree.Block) and not fused.scoped else [fused]


def _own_names(block: tree.Stmt, number: int) -> tuple[tree.Stmt, ...]:
    """Return what a copy of a block holds, with names for what it declares that may live beside other copies."""
    names = tree.used(block)
    for item in tree.parts(block) if number else ():
        if isinstance(item, tree.Declare):
            fresh = (f"{item.name}_{number}{'_' * more}" for more in itertools.count())
            block = renamed(block, item.name, next(name for name in fresh if name not in names))
    return tree.parts(block)


def add_pragma(stmt: tree.Stmt, loop: tree.Loop, pragmas: Sequence[str]) -> tree.Stmt:
    """Put directives before a loop that does not have them yet."""
    return tree.swap(stmt, loop, replace(loop, pragmas=tuple(dict.fromkeys((*loop.pragmas, *pragmas)))))


def innermost(stmt: tree.Stmt) -> list[tree.Loop]:
    """Return the loops that hold no loop."""
    return [loop for loop in tree.loops(stmt) if not tree.loops(loop.body)]


MAX_COPY = 2**20  # largest copy of a part of an array, elements


def scalar_replace(stmt: tree.Stmt, setting: NestContext, prefix: str = "itv_", ctype: str = "") -> tree.Stmt:
    """Keep elements that do not change their place inside an innermost loop in scalars.

    Before: ``for (k…) c[i][j] += a[i][k] * b[k][j];``.
    After: ``{ double t = c[i][j]; for (k…) t += a[i][k] * b[k][j]; c[i][j] = t; }``.
    ``ctype`` stands in for an array's type that is not known.
    """
    names = tree.used(stmt)
    fresh = (name for number in itertools.count(1) if (name := f"{prefix}{number}") not in names)
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
    names = tree.used(stmt)

    def fresh(prefix: str, index: str) -> str:
        name = f"{prefix}{index}"
        while name in names:
            name += "_"
        names.add(name)
        return name

    for loop in tree.loops(stmt)[::-1]:
        declarations: list[tree.Declare] = []
        bounds = {}
        for key, prefix, bound in (("first", lower, loop.first), ("last", upper, loop.last)):
            if isinstance(bound, tree.Num | tree.Name):
                bounds[key] = bound
                continue
            declarations.append(tree.Declare(ctype=loop.ctype or "int", name=fresh(prefix, loop.index), value=bound))
            bounds[key] = tree.Name(declarations[-1].name)
        if declarations:
            new = replace(loop, first=bounds["first"], last=bounds["last"])
            stmt = tree.swap(stmt, loop, tree.Block((*declarations, new)))
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
