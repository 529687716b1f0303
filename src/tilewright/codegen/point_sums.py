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
    element, double = ir.element(dtype), ir.element("float64")
    tables = ir.Var("table", ir.const_pointer(ir.const_pointer(element)))
    size = ir.Var("size", ir.const_pointer(ir.INDEX))
    places = ir.Var("place", ir.const_pointer(ir.const_pointer(ir.INDEX)))
    numbers = ir.Var("number", ir.const_pointer(ir.const_pointer(double)))
    rows = ir.Var("rows", ir.const_pointer(element))
    starts, source = ir.Var("starts", ir.const_pointer(ir.INDEX)), ir.Var("source", ir.const_pointer(ir.INDEX))
    weights, first = ir.Var("weights", ir.const_pointer(double)), ir.Var("first", ir.const_pointer(double))
    result = ir.Var("result", ir.pointer(double))
    steps, count, threads = ir.Var("steps"), ir.Var("count"), ir.Var("threads")
    number, term, at = ir.Var("sum"), ir.Var("term"), ir.Var("at")
    total, row = ir.Var("total", result.type), ir.Var("row", rows.type)
    weight, value, start = ir.Var("weight", double), ir.Var("value", double), ir.Var("start", double)
    product = ir.op(ir.Operator.MUL, weight, value)
    add = (
        ir.Let(value, ir.Load(row, at, element)),
        ir.Store(total, at, ir.op(ir.Operator.ADD, ir.Load(total, at, double), product), double),
    )
    terms = (
        ir.Let(weight, ir.Load(weights, term, double)),
        ir.Let(row, rows + ir.Load(source, term, ir.INDEX) * steps),
        ir.For(var=at, low=ir.Int(0), high=steps, body=add),
    )
    begin, end = ir.Load(starts, number, ir.INDEX), ir.Load(starts, number + 1, ir.INDEX)
    each = (
        ir.Let(total, result + number * steps),
        ir.Let(start, ir.Load(first, number, double)),
        ir.For(var=at, low=ir.Int(0), high=steps, body=(ir.Store(total, at, start, double),)),
        ir.For(var=term, low=begin, high=end, body=terms),
    )
    body = (
        ir.Let(threads, ir.Load(size, ir.Int(0), ir.INDEX)),
        ir.Let(steps, ir.Load(size, ir.Int(1), ir.INDEX)),
        ir.Let(count, ir.Load(size, ir.Int(2), ir.INDEX)),
        ir.Let(rows, ir.Load(tables, ir.Int(0), rows.type)),
        ir.Let(starts, ir.Load(places, ir.Int(0), starts.type)),
        ir.Let(source, ir.Load(places, ir.Int(1), source.type)),
        ir.Let(weights, ir.Load(numbers, ir.Int(0), weights.type)),
        ir.Let(first, ir.Load(numbers, ir.Int(1), first.type)),
        ir.Let(result, ir.writable(ir.Load(numbers, ir.Int(2), first.type))),
        ir.Parallel(threads, (ir.For(var=number, low=ir.Int(0), high=count, body=each, share="static"),)),
    )
    function = ir.Function(name=ENTRY, params=(tables, size, places, numbers), body=body, kind="entry")
    return c_source(c.print_unit([function]), ENTRY, strict=True)
