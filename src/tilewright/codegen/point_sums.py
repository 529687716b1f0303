"""What receivers between cells record: sums of a table's rows with weights, as C.

A row holds the values of one cell, step by step, so that the steps are computed together in vectors; every sum is taken
in the order of its terms, whatever the number of threads.
"""

from tilewright.codegen import ir
from tilewright.codegen.print import c
from tilewright.codegen.source import KernelSource, c_source

ENTRY = "tw_point_sums"


def sums_source(dtype: str) -> KernelSource[None]:
    """Return ``entry(table, size, place, number)``.

    ``table`` holds the address of the rows, of ``size[1]`` values each; ``place`` those of where each of ``size[2]``
    sums starts among the terms, and of every term's row; ``number`` those of the terms' weights, of what the sums
    start from, and of the result, one row per sum. ``size[0]`` is the number of threads.
    """

    def addresses(of: ir.Type) -> ir.Pointer:
        return ir.const_pointer(ir.const_pointer(of))

    double = ir.element("float64")
    b = ir.Builder(ENTRY, kind="entry")
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
    return c_source(c.print_unit([b.function()]), ENTRY, strict=True)
