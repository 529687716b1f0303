"""Kernels over rows of arrays that are no stencil, in C: copies, and the weighted sums that receivers record."""

from tilewright.codegen import ir
from tilewright.codegen.print import c
from tilewright.codegen.products.registers import ARRAYS, BYTE, INDICES
from tilewright.codegen.source import KernelSource, c_source

SIZES = ("threads", "planes", "rows", "bytes", "to_plane", "to_row", "from_plane", "from_row")
"""What ``size`` holds: how many copy, how many planes of how many rows of how many bytes, and how far planes and rows
lie apart in both arrays, in bytes."""


def copy_source() -> KernelSource[None]:
    """Return ``entry(array, size, work, value)``: copies the array at ``array[1]`` to ``array[0]``.

    ``size`` holds what :data:`SIZES` says; the other two are not read.
    """
    b = ir.Builder("tw_copy", kind="entry")
    array, size = b.param("array", ARRAYS), b.param("size", INDICES)
    for name in ("work", "value"):
        b.param(name, ir.pointer(BYTE))
    target, source = (b.let(name, array[place]) for place, name in enumerate(("target", "source")))
    at = {name: b.let(name, size[place]) for place, name in enumerate(SIZES)}
    with b.parallel(at["threads"]), b.loop("line", 0, at["planes"] * at["rows"], share="static") as line:
        plane, row = b.let("plane", line / at["rows"]), b.let("row", line % at["rows"])
        to = b.let("to", target + plane * at["to_plane"] + row * at["to_row"])
        begin = b.let("begin", source + plane * at["from_plane"] + row * at["from_row"])
        b.intrinsic("copy", BYTE, to, begin, at["bytes"])
    return c_source(c.print_unit([b.function()]), "tw_copy")


def sums_source(dtype: str) -> KernelSource[None]:
    """Return ``entry(table, size, place, number)``.

    ``table`` holds the address of the rows, of ``size[1]`` values each; ``place`` those of where each of ``size[2]``
    sums starts among the terms, and of every term's row; ``number`` those of the terms' weights, of what the sums
    start from, and of the result, one row per sum. ``size[0]`` is the number of threads.

    Every sum is taken in the order of its terms, whatever the number of threads; a row holds the values of one cell,
    step by step, so that the steps are computed together in vectors.
    """

    def addresses(of: ir.Type) -> ir.Pointer:
        return ir.const_pointer(ir.const_pointer(of))

    double = ir.element("float64")
    b = ir.Builder("tw_point_sums", kind="entry")
    table, size = b.param("table", addresses(ir.element(dtype))), b.param("size", ir.const_pointer(ir.INDEX))
    place, number = b.param("place", addresses(ir.INDEX)), b.param("number", addresses(double))
    threads, steps, count = (b.let(name, size[k]) for k, name in enumerate(("threads", "steps", "count")))
    rows = b.let("rows", table[0])
    starts, source = b.let("starts", place[0]), b.let("source", place[1])
    weights, first = b.let("weights", number[0]), b.let("first", number[1])
    result = b.let("result", ir.writable(number[2]))
    with b.parallel(threads), b.loop("sum", 0, count, share="static") as each:
        total = b.let("total", result + each * steps)
        start = b.let("start", first[each])
        with b.loop("at", 0, steps) as at:
            b.set(total[at], start)
        with b.loop("term", starts[each], starts[each + 1]) as term:
            weight = b.let("weight", weights[term])
            row = b.let("row", rows + source[term] * steps)
            with b.loop("at", 0, steps) as at:
                value = b.let("value", row[at], double)
                b.set(total[at], total[at] + weight * value)
    return c_source(c.print_unit([b.function()]), "tw_point_sums", strict=True)
