"""Copies of arrays whose rows lie apart, by the threads that kernels compute with, as C."""

from tilewright.codegen import ir
from tilewright.codegen.print import c
from tilewright.codegen.products.registers import ARRAYS, BYTE, INDICES
from tilewright.codegen.source import KernelSource, c_source

ENTRY = "tw_copy"
SIZES = ("threads", "planes", "rows", "bytes", "to_plane", "to_row", "from_plane", "from_row")
"""What ``size`` holds: how many copy, how many planes of how many rows of how many bytes, and how far planes and rows
lie apart in both arrays, in bytes."""


def copy_source() -> KernelSource[None]:
    """Return ``entry(array, size, work, value)``: copies the array at ``array[1]`` to ``array[0]``.

    ``size`` holds what :data:`SIZES` says; the other two are not read.
    """
    b = ir.Builder(ENTRY, kind="entry")
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
    return c_source(c.print_unit([b.function()]), ENTRY)
