"""Names in the text of a streaming kernel, and what is said of cells and functions by them.

Axes count as in :mod:`tilewright.schedules.streaming.levels`: a program in 1D runs as one in 2D with a single row.
"""

from tilewright.codegen import ir

N0, N1, N = ir.Var("n0"), ir.Var("n1"), ir.Var("n")  # extents of the grid: of the outer axes, and of the innermost one
Y0, GY, GX = ir.Var("y0"), ir.Var("gy"), ir.Var("gx")
"""The first cells that a tile holds: of an advance along axis 0, along the middle axis in 3D, along its rows."""
YA, YB, ZA, ZB, X0, X1 = BOUNDS = tuple(ir.Var(name) for name in ("ya", "yb", "za", "zb", "x0", "x1"))
"""A tile's own cells: along axis 0, along the middle axis in 3D, along the innermost axis."""
EDGE, FRESH = ir.Var("edge"), ir.Var("fresh")
"""Whether rows reach an end of the grid; whether they come from memory, with the values that cells there keep."""
LINE, FIRST, LAST = ir.Var("line"), ir.Var("first"), ir.Var("last")
"""A row of a slab in 3D, and those that a stage computes."""
V, VECTORS, PITCH, SLAB = ir.Var("V"), ir.Var("vectors"), ir.Var("pitch"), ir.Var("slab")
"""Sizes of rows: lanes, vectors of a row, distance of rows (an odd number of vectors), distance of slabs."""
LEVELS, SIDE, VERSION = ir.Var("levels"), ir.Var("side"), ir.Var("version")
"""A band: its steps, which of two sets of slots it reads, and the steps before it."""
T, START, TURN = ir.Var("t"), ir.Var("start"), ir.Var("turn")
"""A step of a band; an advance: its first row, lags apart, and which of two sets of slabs it writes."""
FROM_CALLER, TO_CALLER = ir.Var("from_caller"), ir.Var("to_caller")
"""Whether a band reads the caller's arrays, and whether it writes the caller's results."""
LIFTED_IN, LIFTED_OUT = ir.Var("lifted_in"), ir.Var("lifted_out")
"""Whether the rows that a band reads, or writes, lie lifted in memory: where tiles are as wide as the grid."""
CHUNK = ir.Var("chunk")  # cells of every row of the next planes that a stage asks for


def in_row(relative: ir.Expr) -> ir.Expr:
    """Where a cell lies in a lifted row, by its distance from the row's first cell."""
    return in_vectors(relative % VECTORS) + relative / VECTORS


def in_vectors(number: ir.Expr) -> ir.Expr:
    """A number of vectors, in elements."""
    return ir.op(ir.Operator.MUL, number, V)


def call(b: ir.Builder, function: ir.Function, /, **given: ir.Operand) -> ir.Expr:
    """Call a function by the names of its parameters; what is not given is handed on under the same name."""
    if unknown := given.keys() - {param.name for param in function.params}:
        raise TypeError(f"{function.name} has no parameter {', '.join(sorted(unknown))}")
    return b.call(function, *(given.get(param.name, param) for param in function.params))
