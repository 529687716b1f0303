"""Loops that add products of matrices to an array, as calls of a blocked kernel on copies of their operands.

``for (i…) for (j…) for (k…) c[i][j] += a * x[i][k] * y[k][j];`` in any order of the loops: the *row* and the *column*
say which element is added to, the *inner* counter is summed over, and every term is a product of a value of row and
inner counter and one of inner counter and column. Such sums are what BLAS computes (``gemm``, ``syrk``, ``syr2k``),
whatever is read on the way to the two factors.

After: for a range of k at a time, ``a * x`` is copied row after row and ``y`` panel after panel, whatever the
expressions are, and the kernel of :mod:`tilewright.codegen.products.matmul` adds their product to rows of c (packing:
Goto and van de Geijn, 2008). An element's terms are still added in the order of k. Where there is no memory for the
copies the loops run as they were.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, mul
from pathlib import Path

from tilewright.codegen.print.base import blocks
from tilewright.codegen.products.matmul import function_name, panel_columns
from tilewright.schedules.code import Blocking
from tilewright.workloads.annotated.lower.harness import region_text
from tilewright.workloads.annotated.lower.lowering import text
from tilewright.workloads.annotated.lower.parallel import distributed, on_cpu
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.affine import terms
from tilewright.workloads.annotated.nests.nest import Assign, Binary, Expr, Item, Loop, Name, Stmt, names
from tilewright.workloads.annotated.nests.values import ELEMENTS, REAL_TYPES, evaluate, type_of

_DEPTH = 3
_ZERO = tree.integer(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnBound:
    """A bound on the columns of a row: ``slope * row + rest``."""

    slope: int  # -1, 0 or 1
    rest: Expr  # what does not depend on the row

    def at(self, row: Expr) -> Expr:
        """Return the bound of a row."""
        if self.slope == 0:
            return self.rest
        if self.slope == 1 and self.rest == _ZERO:
            return row
        return self.rest + row if self.slope > 0 else self.rest - row


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductLoops:
    """Three loops that add products to an array."""

    row: Loop  # the loop over rows of the target
    column: Loop  # the loop over its columns, which lie side by side in memory
    inner: Loop  # the loop that is summed over
    rows: tuple[Expr, Expr]  # first and last row
    low: tuple[ColumnBound, ...]  # first columns of a row; the largest counts
    high: tuple[ColumnBound, ...]  # last columns; the smallest counts; of all bounds one at most depends on the row
    target: Item  # what is added to, in the counters of rows and columns
    # per term the factor of row and inner counter, and that of inner counter and column
    terms: tuple[tuple[Expr, Expr], ...]
    ctype: str  # of the target and all that is computed: ``float`` or ``double``

    @property
    def loops(self) -> tuple[Loop, Loop, Loop]:
        """The loops over rows, columns and what is summed over."""
        return self.row, self.column, self.inner

    @property
    def sloped(self) -> ColumnBound | None:
        """The bound that depends on the row, if there is one."""
        return next((each for each in (*self.low, *self.high) if each.slope), None)


def product_loops(stmt: Stmt, types: Mapping[str, str]) -> ProductLoops | None:  # noqa: PLR0911
    """Read three loops as products, or return None where they are something else.

    What is read may be written in no case; whether other iterations are told apart by the target is the caller's to
    ask of the dependences.
    """
    loops = tree.chain(stmt)
    body = tree.only(loops[-1].body) if loops else stmt
    if any(loop.step != 1 for loop in loops) or not isinstance(body, Assign) or not isinstance(body.target, Item):
        return None
    target, added, ctype = body.target, _added_terms(body), types.get(body.variable, "")
    if added is None or ctype not in REAL_TYPES or not len(loops) == len({loop.index for loop in loops}) == _DEPTH:
        return None
    inner = [loop for loop in loops if loop.index not in names(*target.index)]
    # Elements of neighbouring columns are neighbours in memory.
    *outer, last = target.index
    column = [loop for loop in loops if _slope(last, loop.index) == 1 and loop.index not in names(*outer)]
    if len(inner) != 1 or len(column) != 1:
        return None
    (row,) = (loop for loop in loops if loop is not inner[0] and loop is not column[0])
    if not all(_linear(each, row.index) for each in target.index):
        return None
    ranges = _ranges(row, column[0], rows_first=loops.index(row) < loops.index(column[0]))
    if ranges is None or sum(each.slope != 0 for each in (*ranges[1], *ranges[2])) > 1:
        return None
    if {row.index, column[0].index} & names(inner[0].first, inner[0].last):
        return None
    if inner[0].index in names(*(bound for loop in loops for bound in (loop.first, loop.last))):
        return None
    pairs = [_factor_pair(term, row.index, column[0].index, inner[0].index) for term in added]
    factors = [pair for pair in pairs if pair is not None]
    every = [each for pair in factors for each in pair]
    if len(factors) < len(pairs) or target.array in tree.arrays(*every):
        return None
    if any(type_of(each, types) not in {ctype, "int"} for each in every):
        return None
    return ProductLoops(
        row=row,
        column=column[0],
        inner=inner[0],
        rows=ranges[0],
        low=ranges[1],
        high=ranges[2],
        target=target,
        terms=tuple(factors),
        ctype=ctype,
    )


def _added_terms(stmt: Assign) -> list[Expr] | None:
    """Return the terms that an assignment adds to its target; None if it does something else."""
    if stmt.op in {"+=", "-="}:
        return _summands(stmt.value, minus=stmt.op == "-=")
    if stmt.op != "=":
        return None
    summands = _summands(stmt.value, minus=False)
    if stmt.target not in summands or len(summands) < 2:
        return None
    summands.remove(stmt.target)
    return summands


def _summands(expr: Expr, *, minus: bool) -> list[Expr]:
    match expr:
        case Binary("+" | "-" as op, left, right):
            return [*_summands(left, minus=minus), *_summands(right, minus=minus != (op == "-"))]
        case tree.Unary("-" | "+" as op, operand):
            return _summands(operand, minus=minus != (op == "-"))
    return [tree.Unary("-", expr) if minus else expr]


def _linear(expr: Expr, counter: str) -> bool:
    """Whether an expression is a sum of products of names in which a counter is a factor once at most."""
    summands = terms(expr)
    return summands is not None and all(factors.count(Name(counter)) <= 1 for _, factors in summands)


def _slope(expr: Expr, counter: str) -> int | None:
    """Return the factor of a counter in an expression; None if it is no such sum, or other names are its factors."""
    if counter not in names(expr):
        return 0
    summands = terms(expr)
    multiples = [(number, factors) for number, factors in summands or () if Name(counter) in factors]
    if summands is None or any(factors != (Name(counter),) for _, factors in multiples):
        return None
    return sum(number for number, _ in multiples)


def _factor_pair(term: Expr, row: str, column: str, inner: str) -> tuple[Expr, Expr] | None:
    """Return a term as a factor without the column and one without the row; None if it is no such product."""
    left: list[Expr] = []
    right: list[Expr] = []
    for factor in _factors(term):
        inside = names(factor)
        if {row, column} <= inside:
            return None
        (right if column in inside else left).append(factor)
    if row not in names(*left) or column not in names(*right) or inner not in names(*left, *right):
        return None
    return reduce(mul, left), reduce(mul, right)


def _factors(expr: Expr) -> list[Expr]:
    match expr:
        case Binary("*", left, right):
            return [*_factors(left), *_factors(right)]
        case tree.Unary("-", operand):
            first, *rest = _factors(operand)
            return [tree.Unary("-", first), *rest]
    return [expr]


def _ranges(
    row: Loop, column: Loop, *, rows_first: bool
) -> tuple[tuple[Expr, Expr], tuple[ColumnBound, ...], tuple[ColumnBound, ...]] | None:
    """Return first and last row, and the bounds of a row's columns; None where these are not affine of slope 1."""
    inside, around = (column, row) if rows_first else (row, column)
    bounds = [(each, _slope(each, around.index)) for each in (inside.first, inside.last)]
    if inside.index in names(around.first, around.last) or any(slope not in {-1, 0, 1} for _, slope in bounds):
        return None
    rests = [ColumnBound(slope=slope or 0, rest=tree.substitute(each, {around.index: _ZERO})) for each, slope in bounds]
    if rows_first:
        return (row.first, row.last), (rests[0],), (rests[1],)
    low, high = [ColumnBound(slope=0, rest=column.first)], [ColumnBound(slope=0, rest=column.last)]
    hull: list[Expr] = []
    for (bound, slope), straight, first in zip(bounds, rests, (True, False), strict=True):
        if slope == 0:
            hull.append(bound)
            continue
        # first <= row: column + rest <= row, or rest - column <= row; the last row the other way round.
        turned = ColumnBound(slope=1, rest=tree.Unary("-", straight.rest)) if slope == 1 else straight
        (high if first == (slope == 1) else low).append(turned)
        end = column.first if (slope == 1) == first else column.last
        hull.append(tree.substitute(bound, {column.index: end}))
    return (hull[0], hull[1]), tuple(low), tuple(high)


def summed_in_place(stmt: Stmt, types: Mapping[str, str]) -> Stmt:
    """Let sums that a scalar of the body holds until they are stored be summed where they are stored.

    Before: ``{ double s = 0; for (k…) s += x[i][k] * y[k][j]; c[i][j] = a * s + b * c[i][j]; }``.
    After: ``c[i][j] = b * c[i][j]; for (k…) c[i][j] += a * (x[i][k] * y[k][j]);``
    """

    def change(node: Stmt) -> Stmt:
        if not isinstance(node, tree.Block):
            return node
        items = node.body
        for each in node.body:
            if isinstance(each, tree.Declare) and not each.dims and not isinstance(each.value, tuple):
                items = _sum_in_place(items, each, types) or items
        return tree.block(*items)

    return tree.map_statements(stmt, change)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sum:
    start: Expr  # what it is before the loop
    loop: Loop
    terms: tuple[Expr, ...]  # what an iteration adds
    store: Assign  # the assignment of the sum
    places: tuple[int, ...]  # in the block: of the statement that sets it, the loop and the store


def _sum_in_place(items: Sequence[Stmt], declared: tree.Declare, types: Mapping[str, str]) -> tuple[Stmt, ...] | None:
    """Sum where a scalar of a block is stored, if it is what one loop adds to and one assignment stores."""
    total = _sum(items, declared)
    if total is None or not isinstance(total.store.target, Item):
        return None
    to, loop, scalar = total.store.target, total.loop, Name(declared.name)
    linear = _linear_in(total.store.value, scalar, minus=total.store.op == "-=")
    if linear is None or types.get(to.array) != declared.ctype:
        return None
    factors, rest = linear
    read = tree.arrays(*total.terms, *factors, loop.first, loop.last)
    needed = tree.mentioned(*rest, *factors, *to.index)
    inside = [each for place, each in enumerate(items) if total.places[0] < place < total.places[-1]]
    changed = {name for each in inside for name in tree.written(each)} | {loop.index}
    if to.array in read or needed & changed or any(to.array in tree.used(each) for each in inside if each is not loop):
        return None
    base: list[Expr] = [*([to] if total.store.op != "=" else []), *rest]
    if evaluate(total.start, {}) != 0:
        base.append(reduce(mul, [*factors, total.start]))
    first = [] if base == [to] else [Assign(to, "=", reduce(add, base) if base else _ZERO)]
    body = Assign(to, "+=", reduce(mul, [*factors, reduce(add, total.terms)]))
    new: list[Stmt] = []
    for place, each in enumerate(items):
        if each is loop:
            new += [*first, replace(loop, body=body)]
        elif each is not declared and place not in total.places:
            new.append(each)
    return tuple(new)


def _sum(items: Sequence[Stmt], declared: tree.Declare) -> _Sum | None:
    """Read what a block does with a scalar as a sum: set, added to in a loop, and stored; None if it is more."""
    positions = [place for place, each in enumerate(items) if each is not declared and declared.name in tree.used(each)]
    start = declared.value
    first = items[positions[0]] if positions else declared
    if isinstance(first, Assign) and first.target == Name(declared.name) and first.op == "=":
        start = first.value
    elif positions:
        positions = [items.index(declared), *positions]
    if len(positions) != 3 or start is None or isinstance(start, tuple) or declared.name in names(start):
        return None
    loop, store = (items[place] for place in positions[1:])
    body = tree.only(loop.body) if isinstance(loop, Loop) else None
    if not isinstance(body, Assign) or not isinstance(loop, Loop) or not isinstance(store, Assign):
        return None
    added = _added_terms(body) if body.target == Name(declared.name) else None
    if added is None or store.op not in {"=", "+=", "-="} or not isinstance(store.target, Item):
        return None
    if declared.name in names(*added, loop.first, loop.last, *store.target.index):
        return None
    return _Sum(start=start, loop=loop, terms=tuple(added), store=store, places=tuple(positions))


def _linear_in(expr: Expr, scalar: Name, *, minus: bool) -> tuple[list[Expr], list[Expr]] | None:
    """Return the factors of a scalar in an expression and the other terms; None if it is not linear in it."""
    summands = _summands(expr, minus=minus)
    matches = [each for each in summands if scalar.name in names(each)]
    if len(matches) != 1:
        return None
    factors = _factors(matches[0])
    negative = tree.Unary("-", scalar) in factors
    bare = tree.Unary("-", scalar) if negative else scalar
    if factors.count(bare) != 1 or sum(scalar.name in names(each) for each in factors) != 1:
        return None
    factors.remove(bare)
    return [*([tree.integer(-1)] if negative else []), *factors], [each for each in summands if each is not matches[0]]


_CHUNK = 6  # blocks of the kernel's rows that a thread computes at a time


def block_products(stmt: tree.Stmt, setting: NestContext, how: Blocking) -> tuple[tree.Stmt, tuple[str, ...]]:
    """Distribute loops, and replace those that add products, whose element types are returned as well."""
    separated = _distribution(summed_in_place(stmt, setting.types), setting)
    elements: list[str] = []
    new = _block_calls(separated, setting, how, elements)
    return (_rest_on_threads(new, setting), tuple(dict.fromkeys(elements))) if elements else (stmt, ())


def _distribution(stmt: tree.Stmt, setting: NestContext) -> tree.Stmt:
    """Distribute every loop as finely as its dependences allow, the innermost first."""
    new = tree.with_parts(stmt, tuple(_distribution(each, setting) for each in tree.parts(stmt)))
    if isinstance(new, tree.Loop):
        return tree.block(*distributed(new, new, setting, finest=True))
    return tree.block(*new.body) if isinstance(new, tree.Block) else new


def _block_calls(stmt: tree.Stmt, setting: NestContext, how: Blocking, elements: list[str]) -> tree.Stmt:
    loops = _product(stmt, setting) if isinstance(stmt, tree.Loop) else None
    if loops is not None:
        elements.append(ELEMENTS[loops.ctype])
        return tree.Verbatim(_call(loops, stmt, how))
    return tree.with_parts(stmt, tuple(_block_calls(each, setting, how, elements) for each in tree.parts(stmt)))


def _product(loop: tree.Loop, setting: NestContext) -> ProductLoops | None:
    """Read a loop as products whose sums are added to different elements, and to no operand."""
    loops = product_loops(loop, setting.types)
    if loops is None:
        return None
    nest = setting.nest(loop)
    apart = all(nest.carried(each) is None for each in (loops.row, loops.column))
    bounds = (bound for each in loops.loops for bound in (each.first, each.last))
    return loops if apart and not tree.names(*bounds) & tree.written(loop) else None


def _rest_on_threads(stmt: tree.Stmt, setting: NestContext) -> tree.Stmt:
    """Run what is left of the loops on threads, where it holds no call."""
    if isinstance(stmt, tree.Block):
        return tree.Block(tuple(_rest_on_threads(each, setting) for each in stmt.body))
    whole = isinstance(stmt, tree.Loop) and not any(tree.every(stmt, tree.Verbatim))
    return on_cpu(stmt, {}, setting)[0] if whole else stmt


def _call(loops: ProductLoops, old: tree.Stmt, how: Blocking) -> str:
    """Print the code that copies both operands, a range of the inner counter at a time, and adds their products."""
    texts, dtype = blocks("products.h", Path(__file__).parent), ELEMENTS[loops.ctype]
    row, column, inner = loops.loops
    low, high = _hull(loops)
    corner: dict[str, tree.Expr] = {row.index: tree.Name("tw_row"), column.index: tree.Name("tw_column")}
    below: dict[str, tree.Expr] = {**corner, row.index: tree.Name("tw_row") + 1}
    bounds = ["0, 0", "tw_columns - 1, 0"]
    sloped = loops.sloped
    if sloped is not None:
        at = text(sloped.at(tree.Name("tw_row") + tree.Name("tw_r")))
        bounds[sloped in loops.high] = f"({at}) - tw_column, {sloped.slope}"
    words = {
        "first_row": text(loops.rows[0]),
        "last_row": text(loops.rows[1]),
        "first_column": text(low),
        "last_column": text(high),
        "first_inner": text(inner.first),
        "last_inner": text(inner.last),
        "origin": text(_at(loops.target, corner)),
        "below": text(_at(loops.target, below)),
        "type": loops.ctype,
        "row": f"{row.ctype or 'int'} {row.index}",
        "column": f"{column.ctype or 'int'} {column.index}",
        "inner": f"{inner.ctype or 'int'} {inner.index}",
        "has_columns": _columns(loops),
        "low": bounds[0],
        "high": bounds[1],
        "rows": str(how.rows),
        "more": str(how.rows - 1),
        "depth": str(how.depth),
        "panel": str(panel_columns(dtype, how)),
        "chunk": str(_CHUNK * how.rows),
        "kernel": function_name(dtype),
    }
    terms = [texts["term"].filled({**words, "left": text(left), "right": text(right)}) for left, right in loops.terms]
    return texts["call"].filled({**words, "terms": "".join(terms), "old": region_text(old, 3)})


def _columns(loops: ProductLoops) -> str:
    """A condition that a row has columns at all, where they depend on it."""
    if loops.sloped is None:
        return ""
    row = tree.Name(loops.row.index)
    pairs = [(low.at(row), high.at(row)) for low in loops.low for high in loops.high]
    return "".join(f" && {text(low, 8)} <= {text(high, 8)}" for low, high in pairs)


def _hull(loops: ProductLoops) -> tuple[tree.Expr, tree.Expr]:
    """Return the first and the last column of any row."""

    def reached(function: str, bounds: Sequence[tree.Expr]) -> tree.Expr:
        return reduce(lambda left, right: tree.Call(function, (left, right)), bounds)

    ends = (tree.Name("tw_row"), tree.Name("tw_row") + tree.Name("tw_rows") - 1)
    low = [each.rest if not each.slope else tree.Call("min", tuple(each.at(end) for end in ends)) for each in loops.low]
    high = [
        each.rest if not each.slope else tree.Call("max", tuple(each.at(end) for end in ends)) for each in loops.high
    ]
    return reached("max", low), reached("min", high)


def _at(item: tree.Item, values: dict[str, tree.Expr]) -> tree.Item:
    return tree.Item(item.array, tuple(tree.substitute(each, values) for each in item.index))
