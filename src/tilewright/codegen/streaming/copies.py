"""How a streaming kernel reads rows of the grid and writes them."""

import functools

from tilewright.codegen import ir
from tilewright.codegen.layouts import stride
from tilewright.codegen.streaming import names as v
from tilewright.codegen.streaming.layout import StreamField, StreamLayout


def fetch_function(layout: StreamLayout) -> ir.Function:
    """The cells of a row as one piece: in place, or copied where they would lie before the first cell of all.

    Cells outside the grid may hold anything, but nothing outside the array is read.
    """
    about = "The cells of a row of memory, copied where some of them would lie outside the array."
    b = ir.Builder(layout.name("fetch"), about=about)
    b.params(layout.spare)
    base, line = (b.param(name, ir.const_pointer(layout.dtype)) for name in ("base", "line"))
    b.params(v.GX, v.N)
    cells = b.param("cells")
    # Of rows of fewer vectors than lanes up to a vector behind their end is read.
    behind = layout.line_cells if layout.width < layout.widest else 0
    low, high = b.let("low", ir.largest(v.GX, 0)), b.let("high", ir.smallest(v.GX + layout.width, v.N))
    start = b.let("start", line - base + v.GX)
    whole = b.let("whole", (start >= 0) & (start + (layout.width + behind) <= cells), ir.INDEX)
    with b.when(whole.equals(0)):
        b.intrinsic("copy", layout.dtype, layout.spare + (low - v.GX), line + low, high - low)
    return b.function(ir.select(whole, line + v.GX, layout.spare), ir.const_pointer(layout.dtype))


class Copies:
    """The functions that move rows of a field between memory and a tile, and their calls.

    Rows of a field in a subdomain lie in two pieces, or at some places along an outer axis alone; a tile holds 0
    elsewhere.
    """

    def __init__(self, field: StreamField, fetch: ir.Function, ends: ir.Function) -> None:
        self.field, self.layout, self.dtype, self.part = field, field.layout, field.layout.dtype, field.part
        self.fetch, self.ends = fetch, ends
        self.base = ir.Var("base", ir.const_pointer(self.dtype))

    # Calls

    def load(self, b: ir.Builder, base: ir.Expr) -> None:
        """Bring the rows of the advance in."""
        lifted = {} if self.part else {"lifted_in": v.LIFTED_IN if self.field.updated else 0}
        v.call(b, self.load_function, base=base, **self._strides(self.letter), **lifted)

    def ahead(self, b: ir.Builder, base: ir.Expr, y0: ir.Expr) -> None:
        """Ask for a step's share of the rows that start at ``y0``; in 2D."""
        arguments = {"base": base, "y0": y0, "gx": self.first_cell, "part": v.T, "shares": v.LEVELS}
        v.call(b, self.ahead_function, **arguments, **self._strides(self.letter))

    def store(self, b: ir.Builder, base: ir.Expr, count: ir.Expr) -> None:
        """Write the tile's own cells of the advance, ``count`` of every row."""
        arguments = {} if self.part else {"count": count, **self._strides("o")}
        v.call(b, self.store_function, base=base, **arguments)

    @property
    def letter(self) -> str:
        """First letter of the names of the strides with which rows are read; see :meth:`_strides`."""
        return "i" if self.field.updated else "p"

    @property
    def first_cell(self) -> ir.Expr:
        """The place in a row of memory at which a tile's rows start."""
        return ir.select(v.LIFTED_IN, 0, v.GX) if self.field.updated else v.GX

    def _strides(self, letter: str) -> dict[str, ir.Var]:
        """Strides of the outer axes: of the caller's arrays (p), or of what this band reads (i) or writes (o)."""
        return {} if self.part else {f"s{axis}": ir.Var(f"{letter}{axis}") for axis in range(self.layout.site.rank - 1)}

    # Functions

    def _builder(self, what: str, about: str) -> ir.Builder:
        """Start a function with the extents and where rows lie: strides, or what is found of a subdomain."""
        b = ir.Builder(self.layout.name(f"{what}_{self.field.number}"), about=f"{about} ({self.field.name}).")
        if self.part is None:
            b.params(v.N0, v.N1, *map(stride, range(self.layout.site.rank - 1)))
        else:
            b.params(self.layout.site.constant, v.N0, v.N1)
        return b

    def _sizes(self, b: ir.Builder) -> None:
        b.emit(*(self.part.lets if self.part else ()))
        self.layout.name_sizes(b)

    def _places(self, y: ir.Expr, z: ir.Expr) -> tuple[ir.Expr, ...]:
        return (y, z)[: self.layout.site.rank - 1]

    def _row(self, base: ir.Expr, y: ir.Expr, z: ir.Expr) -> ir.Expr:
        return self.field.stored.row(base, self._places(y, z))

    @functools.cached_property
    def load_function(self) -> ir.Function:
        """Brings the rows of one advance in."""
        layout, part, dtype, new, width = self.layout, self.part, self.dtype, self.field.out, self.layout.width
        b = self._builder("load", "Reads the rows of one advance from memory")
        b.params(new.passing, new.fresh, self.base, layout.spare, v.Y0, v.GX, v.GY, v.N, v.EDGE)
        b.params(*(() if part else (v.LIFTED_IN,)))
        self._sizes(b)
        axis, outer = part.axis if part else None, self._places(v.N0, v.N1)
        extents = [n - part.left if part and axis == number else n for number, n in enumerate((*outer, v.N))]
        distance = part.strides[0] if part and outer else stride(0)
        b.let("cells", extents[0] * distance if outer else extents[0])

        def fill(r: int, y: ir.Expr) -> None:
            row = new.at(r) + (v.LINE * v.PITCH if layout.rank == 3 else 0)
            start = self._row(self.base, y, v.GY + v.LINE)
            if part is None:
                with b.when(v.LIFTED_IN):
                    b.intrinsic("copy", dtype, row, start, width)
                with b.when(v.LIFTED_IN.equals(0)):
                    b.intrinsic("lift", dtype, row, v.call(b, self.fetch, line=start), v.VECTORS)
            elif axis == layout.site.rank - 1:
                b.intrinsic("fill", dtype, layout.spare, ir.Real(0.0, dtype), width)
                low, high = ir.largest(v.GX, 0), ir.smallest(v.GX + width, v.N)
                for first, end, moved in part.pieces(b, low, high):
                    packed, spare = self._piece(start, first, moved)
                    b.intrinsic("copy", dtype, spare, packed, end - first)
                b.intrinsic("lift", dtype, row, layout.spare, v.VECTORS)
            else:
                with b.when(part.outside(self._places(y, v.GY + v.LINE)[part.axis])):
                    b.intrinsic("fill", dtype, row, ir.Real(0.0, dtype), width)
                with b.otherwise():
                    b.intrinsic("lift", dtype, row, v.call(b, self.fetch, line=start), v.VECTORS)
            v.call(b, self.ends, row=row, old=row)

        layout.over_rows(b, (0, v.N0), (ir.largest(0, 0 - v.GY), ir.smallest(layout.lines, v.N1 - v.GY)), fill)
        return b.function()

    @functools.cached_property
    def ahead_function(self) -> ir.Function:
        """Asks for a share of the rows that the next advance loads, before they are needed; in 2D, of a whole field."""
        b = self._builder("ahead", "Asks for the rows that the next advance reads")
        b.params(self.base, v.Y0, v.GX)
        part, shares = b.param("part"), b.param("shares")
        low, high = (v.GX + ir.op(ir.Operator.ADD, part, k) * self.layout.width / shares for k in (0, 1))
        for r in range(self.layout.rows):
            y = v.Y0 + r
            with b.when((y >= 0) & (y < v.N0)), b.loop("x", low, high, self.layout.line_cells) as x:
                b.intrinsic("prefetch", self.dtype, self._row(self.base, y, ir.Int(0)) + x)
        return b.function()

    @functools.cached_property
    def store_function(self) -> ir.Function:
        """Writes the tile's own cells of one advance to the grid; of a subdomain, what is inside."""
        layout, part, dtype, new = self.layout, self.part, self.dtype, self.field.out
        base, count = ir.Var("base", ir.pointer(dtype)), ir.Var("count")
        b = self._builder("store", "Writes a tile's own cells of the rows of one advance to memory")
        last = () if part else (count, v.LIFTED_OUT)
        b.params(new.passing, new.fresh, base, layout.spare, v.Y0, *v.BOUNDS, v.GX, v.GY, *last)
        self._sizes(b)

        def write(r: int, y: ir.Expr) -> None:
            row = new.at(r) + ((v.LINE - v.GY) * v.PITCH if layout.rank == 3 else 0)
            start = self._row(base, y, v.LINE)
            if part is None:
                with b.when(v.LIFTED_OUT):
                    b.intrinsic("stream", dtype, start + v.X0, row, layout.width)
                with b.when(v.LIFTED_OUT.equals(0)):
                    b.intrinsic("lower", dtype, layout.spare, row, v.VECTORS)
                    b.intrinsic("stream", dtype, start + v.X0, layout.spare + (v.X0 - v.GX), count)
            elif part.axis == layout.site.rank - 1:
                b.intrinsic("lower", dtype, layout.spare, row, v.VECTORS)
                for first, end, moved in part.pieces(b, v.X0, v.X1):
                    packed, spare = self._piece(start, first, moved)
                    b.intrinsic("stream", dtype, packed, spare, end - first)
            else:
                with b.when(part.outside(self._places(y, v.LINE)[part.axis]).equals(0)):
                    b.intrinsic("lower", dtype, layout.spare, row, v.VECTORS)
                    b.intrinsic("stream", dtype, start + v.X0, layout.spare + (v.X0 - v.GX), v.X1 - v.X0)

        layout.over_rows(b, (v.YA, v.YB), (v.ZA, v.ZB), write)
        return b.function()

    def _piece(self, start: ir.Expr, first: ir.Expr, moved: ir.Expr) -> tuple[ir.Expr, ir.Expr]:
        """Where cells from a first one on lie: in a packed row, ``moved`` cells before their places, and in a spare."""
        return start + (first - moved), self.layout.spare + (first - v.GX)
