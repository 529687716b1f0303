"""Loops that add products of matrices, as calls of a blocked kernel on copies of their operands.

Before: ``for (i…) for (j…) for (k…) c[i][j] += a * x[i][k] * y[k][j];``. After: for a range of k at a time, ``a * x``
is copied row after row and ``y`` panel after panel, whatever the expressions are, and the kernel of
:mod:`tilewright.codegen.products.product` adds their product to rows of c (packing: Goto and van de Geijn, 2008). An
element's terms are still added in the order of k. Where there is no memory for the copies the loops run as they were.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from tilewright.codegen.products.product import function_name, panel_columns
from tilewright.schedules.code import Blocking
from tilewright.workloads.annotated.lower.harness import region_text
from tilewright.workloads.annotated.lower.lowering import text
from tilewright.workloads.annotated.lower.openmp import on_cpu
from tilewright.workloads.annotated.lower.parallel import distributed
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests.nest import (
    ONE,
    Binary,
    Block,
    Call,
    Expr,
    If,
    Item,
    Loop,
    Name,
    Stmt,
    Verbatim,
    block,
    names,
    statements,
    substitute,
    written,
)
from tilewright.workloads.annotated.nests.products import ProductLoops, product_loops, summed_in_place
from tilewright.workloads.annotated.nests.types import ELEMENTS

_CHUNK = 6
"""Blocks of the kernel's rows that a thread computes at a time."""


def block_products(stmt: Stmt, setting: NestContext, how: Blocking) -> tuple[Stmt, tuple[str, ...]]:
    """Distribute loops, and replace those that add products, whose element types are returned as well."""
    separated = _separated(summed_in_place(stmt, setting.types), setting)
    found: list[str] = []
    new = _replaced(separated, setting, how, found)
    return (_threaded(new, setting), tuple(dict.fromkeys(found))) if found else (stmt, ())


def _separated(stmt: Stmt, setting: NestContext) -> Stmt:
    """Distribute every loop as finely as its dependences allow, the innermost first."""
    match stmt:
        case Loop(body=body):
            loop = replace(stmt, body=_separated(body, setting))
            return block(*distributed(loop, loop, setting, finest=True))
        case Block(body):
            return block(*(_separated(each, setting) for each in body))
        case If(test, then, other):
            return If(test, _separated(then, setting), None if other is None else _separated(other, setting))
    return stmt


def _replaced(stmt: Stmt, setting: NestContext, how: Blocking, found: list[str]) -> Stmt:
    match stmt:
        case Loop(body=body):
            loops = _product(stmt, setting)
            if loops is not None:
                found.append(ELEMENTS[loops.ctype])
                return Verbatim(_call(loops, stmt, how))
            return replace(stmt, body=_replaced(body, setting, how, found))
        case Block(body):
            return Block(tuple(_replaced(each, setting, how, found) for each in body))
        case If(test, then, other):
            last = None if other is None else _replaced(other, setting, how, found)
            return If(test, _replaced(then, setting, how, found), last)
    return stmt


def _product(loop: Loop, setting: NestContext) -> ProductLoops | None:
    """Read a loop as products whose sums are added to different elements, and to no operand."""
    loops = product_loops(loop, setting.types)
    if loops is None:
        return None
    nest = setting.nest(loop)
    apart = all(nest.carried(each) is None for each in (loops.row, loops.column))
    bounds = {name for each in loops.loops for bound in (each.first, each.last) for name in names(bound)}
    return loops if apart and not bounds & written(loop) else None


def _threaded(stmt: Stmt, setting: NestContext) -> Stmt:
    """Run what is left of the loops on threads, where it holds no call."""
    if isinstance(stmt, Block):
        return Block(tuple(_threaded(each, setting) for each in stmt.body))
    if not isinstance(stmt, Loop) or any(isinstance(node, Verbatim) for node in statements(stmt)):
        return stmt
    return on_cpu(stmt, {}, setting)[0]


def _call(loops: ProductLoops, old: Stmt, how: Blocking) -> str:
    """Print the code that copies both operands, a range of the inner counter at a time, and adds their products."""
    ctype, dtype = loops.ctype, ELEMENTS[loops.ctype]
    row, column, inner = loops.loops
    low, high = _hull(loops)
    first: dict[str, Expr] = {row.index: Name("tw_row"), column.index: Name("tw_column")}
    beyond: dict[str, Expr] = {**first, row.index: Binary("+", Name("tw_row"), ONE)}
    to = text(_at(loops.target, first))
    out = [
        "  {",
        f"    const int64_t tw_row = {text(loops.rows[0])}, tw_rows = ({text(loops.rows[1])}) - tw_row + 1;",
        f"    const int64_t tw_column = {text(low)}, tw_columns = ({text(high)}) - tw_column + 1;",
        f"    const int64_t tw_inner = {text(inner.first)}, tw_depth = ({text(inner.last)}) - tw_inner + 1;",
        f"    const int64_t tw_deep = tw_depth < {how.depth} ? tw_depth : {how.depth};",
        f"    const int64_t tw_wide = {panel_columns(dtype, how)};",
        f"    const int64_t tw_tall = (tw_rows + {how.rows - 1}) / {how.rows} * {how.rows};",
        "    const int64_t tw_panels = (tw_columns + tw_wide - 1) / tw_wide;",
        f"    {ctype} *tw_left = 0;",
        "    if (tw_rows > 0 && tw_columns > 0 && tw_depth > 0) {",
        f"      tw_left = ({ctype} *)malloc((size_t)((tw_tall + tw_panels * tw_wide) * tw_deep) * sizeof({ctype}));",
        "    }",
        "    if (tw_left) {",
        f"      {ctype} *const tw_right = tw_left + tw_tall * tw_deep, *const tw_to = &{to};",
        f"      const int64_t tw_apart = &{text(_at(loops.target, beyond))} - tw_to;",
    ]
    for left, right in loops.terms:
        out += _added(loops, left, right, how)
    return "\n".join(
        [*out, "      free(tw_left);", "    } else {", region_text(old, 3).rstrip("\n"), "    }", "  }", ""]
    )


def _added(loops: ProductLoops, left: Expr, right: Expr, how: Blocking) -> list[str]:
    """Print one term: copies and calls, for a range of the inner counter after the other."""
    row, column, inner = loops.loops
    sloped = loops.sloped
    bounds = ["0, 0", "tw_columns - 1, 0"]
    if sloped is not None:
        place = int(sloped in loops.high)
        at = text(sloped.at(Binary("+", Name("tw_row"), Name("tw_r"))))
        bounds[place] = f"({at}) - tw_column, {sloped.slope}"
    own = f"{_type(row)} {row.index} = tw_row + tw_i"
    chunk, function = _CHUNK * how.rows, function_name(ELEMENTS[loops.ctype])
    test = f"tw_i < tw_rows{_columns(loops)}"
    return [
        f"      for (int64_t tw_k = 0; tw_k < tw_depth; tw_k += {how.depth}) {{",
        f"        const int64_t tw_n = tw_depth - tw_k < {how.depth} ? tw_depth - tw_k : {how.depth};",
        "#pragma omp parallel",
        "        {",
        "#pragma omp for schedule(static) nowait",
        "          for (int64_t tw_i = 0; tw_i < tw_tall; tw_i++) {",
        f"            const {own};",
        f"            if ({test}) {{",
        "              for (int64_t tw_d = 0; tw_d < tw_n; tw_d++) {",
        f"                const {_type(inner)} {inner.index} = tw_inner + tw_k + tw_d;",
        f"                tw_left[tw_i * tw_n + tw_d] = {text(left)};",
        "              }",
        "            } else {",
        "              for (int64_t tw_d = 0; tw_d < tw_n; tw_d++) tw_left[tw_i * tw_n + tw_d] = 0;",
        "            }",
        "          }",
        "#pragma omp for schedule(static)",
        "          for (int64_t tw_p = 0; tw_p < tw_panels; tw_p++) {",
        "            const int64_t tw_from = tw_p * tw_wide;",
        "            const int64_t tw_some = tw_columns - tw_from < tw_wide ? tw_columns - tw_from : tw_wide;",
        "            for (int64_t tw_d = 0; tw_d < tw_n; tw_d++) {",
        f"              const {_type(inner)} {inner.index} = tw_inner + tw_k + tw_d;",
        f"              {loops.ctype} *const tw_line = tw_right + (tw_p * tw_n + tw_d) * tw_wide;",
        "              for (int64_t tw_j = 0; tw_j < tw_some; tw_j++) {",
        f"                const {_type(column)} {column.index} = tw_column + tw_from + tw_j;",
        f"                tw_line[tw_j] = {text(right)};",
        "              }",
        "              for (int64_t tw_j = tw_some; tw_j < tw_wide; tw_j++) tw_line[tw_j] = 0;",
        "            }",
        "          }",
        "#pragma omp for schedule(dynamic, 1)",
        f"          for (int64_t tw_r = 0; tw_r < tw_rows; tw_r += {chunk}) {{",
        f"            const int64_t tw_m = tw_rows - tw_r < {chunk} ? tw_rows - tw_r : {chunk};",
        f"            {function}(tw_m, tw_columns, tw_n, tw_left + tw_r * tw_n, tw_n, tw_right,",
        f"                tw_n * tw_wide, tw_to + tw_r * tw_apart, tw_apart, {bounds[0]}, {bounds[1]});",
        "          }",
        "        }",
        "      }",
    ]


def _columns(loops: ProductLoops) -> str:
    """A condition that a row has columns at all, where they depend on it."""
    if loops.sloped is None:
        return ""
    row = Name(loops.row.index)
    pairs = [(low.at(row), high.at(row)) for low in loops.low for high in loops.high]
    return "".join(f" && {text(low, 8)} <= {text(high, 8)}" for low, high in pairs)


def _hull(loops: ProductLoops) -> tuple[Expr, Expr]:
    """Return the first and the last column of any row."""

    def reached(function: str, bounds: Sequence[Expr]) -> Expr:
        return reduce(lambda one, other: Call(function, (one, other)), bounds)

    ends = (Name("tw_row"), Binary("-", Binary("+", Name("tw_row"), Name("tw_rows")), ONE))
    low = [each.rest if not each.slope else Call("min", tuple(each.at(end) for end in ends)) for each in loops.low]
    high = [each.rest if not each.slope else Call("max", tuple(each.at(end) for end in ends)) for each in loops.high]
    return reached("max", low), reached("min", high)


def _at(item: Item, values: dict[str, Expr]) -> Item:
    return Item(item.array, tuple(substitute(each, values) for each in item.index))


def _type(loop: Loop) -> str:
    return loop.ctype or "int"
