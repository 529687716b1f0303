"""Many grids of one shape, one thread for each: what is done to every grid, as a list of copies and calls.

Small grids leave a team of threads nothing to share but waiting for each other; grids of a batch need not meet at all.
A worker copies a grid into memory of its own, calls the kernel, and copies the results out, so that a grid stays in the
worker's caches. The list is made at run time: it depends on strides and steps.
"""

from collections.abc import Callable, Sequence

from tilewright.codegen import ir

HEAD = 4
"""Numbers before the list: workers, grids, entries of the list, and pointers of a worker to constants."""
ENTRY = 18
"""Numbers of an entry of the list."""


def batch_name(entry: str) -> str:
    """Return the name of the function that calls a kernel grid by grid."""
    return f"{entry}_batch"


def batch_function(entry: str, params: Sequence[ir.Var]) -> ir.Function:
    """Write ``entry_batch(field, size, scalar, constant)``, which shares the grids among the workers.

    ``size`` holds :data:`HEAD` numbers, then the list. An entry of a copy is 0; place among ``field``, and its step
    per worker, of the pointer to the target; first element, and its step per grid; the same four of the source; three
    extents; three strides of the target; three of the source. An entry of a call is 1; place among ``field`` of the
    kernel's own pointers, and its step per worker; place among ``size`` of the kernel's own sizes.
    """
    field, size, scalar, constant = params
    workers, count, length, pointers = (ir.Var(name) for name in ("workers", "count", "length", "pointers"))
    worker, begin, end, grid, number = (ir.Var(name) for name in ("worker", "begin", "end", "grid", "number"))
    row = ir.Var("row", size.type)

    def entry_number(place: int) -> ir.Expr:
        return ir.Load(row, ir.Int(place), ir.INDEX)

    def moving(place: int, what: ir.Expr) -> ir.Expr:
        return entry_number(place) + what * entry_number(place + 1)

    call = ir.Call(
        entry,
        (
            field + moving(1, worker),
            size + entry_number(3),
            scalar,
            constant + worker * pointers,
        ),
    )
    copy = _copy(field, worker, grid, entry_number, moving)
    each = (
        ir.Let(row, size + (number * ENTRY + HEAD)),
        ir.If(entry_number(0).differs(0), (call,), copy),
    )
    entries = ir.For(var=number, low=ir.Int(0), high=length, body=each)
    share = (
        ir.Let(begin, worker * count / workers),
        ir.Let(end, (worker + 1) * count / workers),
        ir.For(var=grid, low=begin, high=end, body=(ir.If(ir.WANTED, (entries,)),)),
    )
    names = (workers, count, length, pointers)
    lets = tuple(ir.Let(var, ir.Load(size, ir.Int(place), ir.INDEX)) for place, var in enumerate(names))
    team = ir.Parallel(workers, (ir.For(var=worker, low=ir.Int(0), high=workers, body=share, share="static"),))
    return ir.Function(name=batch_name(entry), params=tuple(params), body=(*lets, team), kind="entry")


def _copy(
    field: ir.Var,
    worker: ir.Var,
    grid: ir.Var,
    entry_number: Callable[[int], ir.Expr],
    moving: Callable[[int, ir.Expr], ir.Expr],
) -> tuple[ir.Stmt, ...]:
    """Copy a box of up to three axes, row by row; rows that lie cell by cell in both arrays become vectors."""
    pointer = element_pointer(field)
    target, source = ir.Var("target", pointer), ir.Var("source", pointer)
    outer, middle, at = ir.Var("outer"), ir.Var("middle"), ir.Var("at")
    into, start = ir.Var("into", pointer), ir.Var("start", pointer)
    far, near = ir.Var("target_step"), ir.Var("source_step")
    cells = entry_number(11)

    def move(to: ir.Expr, of: ir.Expr, *, independent: bool) -> ir.For:
        store = ir.Store(into, to, ir.Load(start, of, pointer.to), pointer.to)
        return ir.For(var=at, low=ir.Int(0), high=cells, body=(store,), independent=independent)

    def strided(base: ir.Var, place: int) -> ir.Expr:
        return base + (outer * entry_number(place) + middle * entry_number(place + 1))

    plain = far.equals(1) & near.equals(1)
    rows = (
        ir.Let(into, strided(target, 12)),
        ir.Let(start, strided(source, 15)),
        ir.If(
            plain,
            (move(at, at, independent=True),),
            (move(at * far, at * near, independent=False),),
        ),
    )
    return (
        ir.Let(target, ir.Load(field, moving(1, worker), pointer) + moving(3, grid)),
        ir.Let(source, ir.Load(field, moving(5, worker), pointer) + moving(7, grid)),
        ir.Let(far, entry_number(14)),
        ir.Let(near, entry_number(17)),
        ir.For(
            var=outer,
            low=ir.Int(0),
            high=entry_number(9),
            body=(ir.For(var=middle, low=ir.Int(0), high=entry_number(10), body=rows),),
        ),
    )


def element_pointer(field: ir.Var) -> ir.Pointer:
    """Return the type of what the kernels' first parameter points to: a pointer to cells."""
    outer = field.type
    if not isinstance(outer, ir.Pointer) or not isinstance(outer.to, ir.Pointer):
        raise TypeError(f"the fields are pointers to pointers, got {outer}")
    return outer.to
