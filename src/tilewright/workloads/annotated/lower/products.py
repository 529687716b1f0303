"""Loops that add products of matrices, as calls of a blocked kernel on copies of their operands.

Before: ``for (i…) for (j…) for (k…) c[i][j] += a * x[i][k] * y[k][j];``. After: for a range of k at a time, ``a * x``
is copied row after row and ``y`` panel after panel, whatever the expressions are, and the kernel of
:mod:`tilewright.codegen.products.matmul` adds their product to rows of c (packing: Goto and van de Geijn, 2008). An
element's terms are still added in the order of k. Where there is no memory for the copies the loops run as they were.
"""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from tilewright.codegen.print.base import blocks
from tilewright.codegen.products.matmul import function_name, panel_columns
from tilewright.schedules.code import Blocking
from tilewright.workloads.annotated.lower.harness import region_text
from tilewright.workloads.annotated.lower.lowering import text
from tilewright.workloads.annotated.lower.parallel import distributed, on_cpu
from tilewright.workloads.annotated.lower.transforms import NestContext
from tilewright.workloads.annotated.nests import nest as tree
from tilewright.workloads.annotated.nests.products import ProductLoops, product_loops, summed_in_place
from tilewright.workloads.annotated.nests.types import ELEMENTS

_CHUNK = 6
"""Blocks of the kernel's rows that a thread computes at a time."""


def block_products(stmt: tree.Stmt, setting: NestContext, how: Blocking) -> tuple[tree.Stmt, tuple[str, ...]]:
    """Distribute loops, and replace those that add products, whose element types are returned as well."""
    separated = _separated(summed_in_place(stmt, setting.types), setting)
    found: list[str] = []
    new = _replaced(separated, setting, how, found)
    return (_threaded(new, setting), tuple(dict.fromkeys(found))) if found else (stmt, ())


def _separated(stmt: tree.Stmt, setting: NestContext) -> tree.Stmt:
    """Distribute every loop as finely as its dependences allow, the innermost first."""
    new = tree.with_parts(stmt, tuple(_separated(each, setting) for each in tree.parts(stmt)))
    if isinstance(new, tree.Loop):
        return tree.block(*distributed(new, new, setting, finest=True))
    return tree.block(*new.body) if isinstance(new, tree.Block) else new


def _replaced(stmt: tree.Stmt, setting: NestContext, how: Blocking, found: list[str]) -> tree.Stmt:
    loops = _product(stmt, setting) if isinstance(stmt, tree.Loop) else None
    if loops is not None:
        found.append(ELEMENTS[loops.ctype])
        return tree.Verbatim(_call(loops, stmt, how))
    return tree.with_parts(stmt, tuple(_replaced(each, setting, how, found) for each in tree.parts(stmt)))


def _product(loop: tree.Loop, setting: NestContext) -> ProductLoops | None:
    """Read a loop as products whose sums are added to different elements, and to no operand."""
    loops = product_loops(loop, setting.types)
    if loops is None:
        return None
    nest = setting.nest(loop)
    apart = all(nest.carried(each) is None for each in (loops.row, loops.column))
    bounds = (bound for each in loops.loops for bound in (each.first, each.last))
    return loops if apart and not tree.names(*bounds) & tree.written(loop) else None


def _threaded(stmt: tree.Stmt, setting: NestContext) -> tree.Stmt:
    """Run what is left of the loops on threads, where it holds no call."""
    if isinstance(stmt, tree.Block):
        return tree.Block(tuple(_threaded(each, setting) for each in stmt.body))
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
        return reduce(lambda one, other: tree.Call(function, (one, other)), bounds)

    ends = (tree.Name("tw_row"), tree.Name("tw_row") + tree.Name("tw_rows") - 1)
    low = [each.rest if not each.slope else tree.Call("min", tuple(each.at(end) for end in ends)) for each in loops.low]
    high = [
        each.rest if not each.slope else tree.Call("max", tuple(each.at(end) for end in ends)) for each in loops.high
    ]
    return reached("max", low), reached("min", high)


def _at(item: tree.Item, values: dict[str, tree.Expr]) -> tree.Item:
    return tree.Item(item.array, tuple(tree.substitute(each, values) for each in item.index))
