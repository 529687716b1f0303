"""How a prism's kernel computes the rows of a tile, and what it writes back."""

from collections.abc import Callable

from tilewright.codegen import ir
from tilewright.codegen.gpu.points import pointed
from tilewright.codegen.gpu.prism_load import PrismLoads
from tilewright.codegen.gpu.site import stride
from tilewright.codegen.gpu.sweep import in_bounds
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.program import Statement


class PrismRows(PrismLoads):
    """The rows of whole tiles, without conditions, and of tiles that something cuts."""

    __slots__ = ()

    # Whole tiles.

    def _rows_whole(self) -> tuple[ir.Stmt, ...]:
        whole = (self.tiling.unroll or 0) >= self.cut.hexagon.height
        body = self._rows(self._row_whole)
        return (
            ir.For(
                var=ir.Var("row"), low=ir.Int(0), high=self.height, body=body, unroll=ir.UNROLL_WHOLE if whole else 1
            ),
        )

    def _rows(self, one: Callable[[Statement], tuple[ir.Stmt, ...]]) -> tuple[ir.Stmt, ...]:
        """One row: the statements of its stage, then a barrier."""
        row, step = ir.Var("row"), ir.Var("step")
        statements = self.site.problem.program.statements
        work: list[ir.Stmt] = []
        for stage, numbers in enumerate(self.site.stages):
            body = tuple(ir.Scope((*self._slots(statements[n]), *one(statements[n]))) for n in numbers)
            if self.cut.stages == 1:
                work += body
            else:
                work.append(ir.If((row % self.cut.stages).equals(stage), body))
        quotient = (row / self.cut.stages) if self.cut.stages > 1 else row
        return (ir.Let(ir.Var("grow"), self.grown(row)), ir.Let(step, quotient), *work, ir.Barrier())

    def _block(self, statement: Statement) -> int:
        """Cells of a column that are computed together."""
        return self.schedule.rows[self.site.problem.program.statements.index(statement)]

    def _row_whole(self, statement: Statement) -> tuple[ir.Stmt, ...]:
        """The cells of one row of a tile that nothing cuts: compute on chip, then write back what leaves the chip."""
        low, high = ir.Var("low"), ir.Var("high")
        x, block = ir.Var("x"), self._block(statement)
        unroll = self.tiling.unroll or 1
        loops: list[ir.Stmt] = []
        if block > 1:
            end = ir.Var("end")
            loops.append(ir.Let(end, high - (high - low) % block))
            for span, cells in (((low, end), block), ((end, high), 1)):
                body = self._cells(statement, cells)
                loops.append(
                    ir.For(
                        var=x,
                        low=span[0],
                        high=span[1],
                        step=ir.Int(cells),
                        body=body,
                        unroll=unroll if cells > 1 else 1,
                    )
                )
        else:
            loops.append(self._strided(x, (low, high), 0, self._cells(statement, 1), unroll))
        nest: tuple[ir.Stmt, ...] = (*self._columns(statement), *loops, *self._write_back(statement))
        for axis in range(self.rank - 1, 0, -1):
            nest = (self._strided(ir.Var(f"y{axis}"), (ir.Int(0), self.size(axis)), axis, nest, 1),)
        lets = (ir.Let(name, cell) for name, cell in zip((low, high), self.row_span(), strict=True))
        return (*lets, *nest)

    def _write_back(self, statement: Statement) -> tuple[ir.Stmt, ...]:
        """Write the cells of a column whose place no later row of the tile writes: those outside ``kept0 … kept1``."""
        later = ir.Var("row") + self.site.copies(statement.field) * self.cut.stages
        low, high = ir.Var("low"), ir.Var("high")
        everything: ir.Expr = later >= self.height
        if self.rank == 3:
            again = self.site.copies(statement.field) * self.cut.stages
            edge = self.size(1) - self.lean(1) * again
            everything = everything | (ir.Var("y1") >= edge)
        grow, all_, kept = ir.Var("later"), ir.Var("all", ir.BOOL), (ir.Var("kept0"), ir.Var("kept1"))
        lets = (
            ir.Let(all_, everything),
            ir.Let(grow, self.grown(later)),
            ir.Let(kept[0], ir.select(all_, high, ir.smallest(high, ir.largest(low, ir.Int(0) - grow)))),
            ir.Let(kept[1], ir.select(all_, high, ir.smallest(high, ir.largest(low, self.base + grow)))),
        )
        x = ir.Var("x")
        at = self._index(self._field(statement.field), x, self._inner_places((0,) * self.rank))
        index = (ir.wide(x) * stride(0)) if self.rank > 1 else x
        value = ir.Load(self._slot_name(statement.field, 1), at, self.site.dtype)
        store = ir.Store(self._out, index, value, self.site.dtype)
        if self.shape[0] > 1:  # every thread writes what it computed itself: no barrier is needed before
            test = (x < kept[0]) | (x >= kept[1])
            loops: tuple[ir.Stmt, ...] = (self._strided(x, (low, high), 0, (ir.If(test, (store,)),), 1),)
        else:
            unroll = self.schedule.copy_unroll
            loops = tuple(
                ir.For(var=x, low=a, high=b, body=(store,), unroll=unroll) for a, b in ((low, kept[0]), (kept[1], high))
            )
        return (*lets, *self._target(statement), *loops)

    def _inner_reads(self, statement: Statement) -> list[int]:
        return sorted({0, *(read.offset[-1] for read in statement.reads)})

    def _columns(self, statement: Statement) -> tuple[ir.Stmt, ...]:
        """Name the places on chip of the innermost axis that a statement's reads touch."""
        if self.rank == 1:
            return ()
        axis = self.rank - 1
        return (
            ir.Let(ir.Var("own"), self._from_box(axis, self._cell(axis))),
            *(ir.Let(_near(d), self._column(ir.Var("own") + d)) for d in self._inner_reads(statement)),
        )

    def _inner_places(self, offset: tuple[int, ...]) -> tuple[ir.Expr, ...]:
        """Places on chip of a read's classic axes."""
        if self.rank == 1:
            return ()
        if self.rank == 2:
            return (_near(offset[-1]),)
        return (self._from_box(1, self._cell(1)) + offset[1], _near(offset[-1]))

    @property
    def _out(self) -> ir.Var:
        """Where results go in memory."""
        return ir.Var("out", ir.pointer(self.site.dtype))

    def _target(self, statement: Statement) -> tuple[ir.Stmt, ...]:
        """Point at the column's place in memory."""
        site = self.site
        slot = self._memory_slot(statement.field, self._slot(statement.field, ir.Var("step"), 1))
        result = site.version(statement.field, slot)
        if self.rank == 1:
            return (ir.Let(self._out, result + ir.wide(ir.Var("left"))),)
        result = result + ir.wide(ir.Var("left")) * stride(0)
        cells = self._places(0)[1:]
        if self.rank == 3:
            result = result + ir.wide(cells[0]) * stride(1)
        return (ir.Let(self._out, result + cells[-1]),)

    def _places(self, cell: int) -> tuple[ir.Expr, ...]:
        """Indices in the grid of a cell of a column."""
        cells = ((ir.Var(f"z{axis}") + self._cell(axis)) for axis in range(1, self.rank))
        return (ir.Var("left") + ir.Var("x") + cell, *cells)

    @property
    def _time(self) -> ir.Expr:
        """The step of a row, counted from the first launch's."""
        start = ir.Var("start")
        return (ir.floordiv(start, self.cut.stages) if self.cut.stages > 1 else start) + ir.Var("step")

    def _cells(self, statement: Statement, block: int) -> tuple[ir.Stmt, ...]:
        """Some cells of a column: loads, operations, stores on chip."""
        site = self.site
        names: dict[tuple[object, ...], ir.Var] = {}
        loads: list[ir.Stmt] = []
        work: list[ir.Stmt] = []
        stores: list[ir.Stmt] = []
        for cell in range(block):

            def read(node: Read, cell: int = cell) -> ir.Expr:
                key = (node.field, node.level, node.offset[0] + cell, node.offset[1:])
                if key not in names:
                    names[key] = var = ir.Var(f"r{len(names)}", site.dtype)
                    x = ir.Var("x") + (node.offset[0] + cell)
                    at = self._index(self._field(node.field), x, self._inner_places(node.offset))
                    loads.append(ir.Let(var, ir.Load(self._slot_name(node.field, node.level), at, site.dtype)))
                return names[key]

            here = self._places(cell)
            body, value = site.lower(statement, read, f"t{cell}_" if cell else "t", at=here, step=self._time)
            work += body
            value = pointed(site, statement.field, value, here, self._time)
            at = self._index(self._field(statement.field), ir.Var("x") + cell, self._inner_places((0,) * self.rank))
            stores.append(ir.Store(self._slot_name(statement.field, 1), at, value, site.dtype))
        return (*loads, *work, *stores)

    def _leaves(self, statement: Statement, x: ir.Expr, end: ir.Expr) -> ir.Expr:
        """Whether no later row of the tile writes a cell's place, so that its value goes to memory."""
        again = self.site.copies(statement.field) * self.cut.stages
        later = ir.Var("row") + again
        grow = self.grown(later)
        outside = (x < ir.Int(0) - grow) | (x >= self.base + grow)
        test: ir.Expr = (later >= end) | outside
        if self.rank == 3:
            edge = self.size(1) - self.lean(1) * again
            test = test | (ir.Var("y1") >= edge)
        return test

    # Tiles that something cuts.

    def _rows_cut(self) -> tuple[ir.Stmt, ...]:
        body = self._rows(lambda statement: (self._row_cut(statement),))
        return (ir.For(var=ir.Var("row"), low=ir.Var("row0"), high=ir.Var("row1"), body=body, unroll=1),)

    def _row_cut(self, statement: Statement) -> ir.Stmt:
        site = self.site
        field = self._field(statement.field)
        x = ir.Var("x")
        cells: list[ir.Expr] = [ir.Var("left") + x]
        own: list[ir.Expr] = []
        for axis in range(1, self.rank):
            place = self._cell(axis)
            cells.append(ir.Var(f"z{axis}") + place)
            own.append(self._from_box(axis, place))
        here = tuple(ir.Var(f"x{axis}") for axis in range(self.rank))

        def load(node: Read, inner: tuple[ir.Expr, ...]) -> ir.Expr:
            places = [self._from_box(axis, inner[axis] - ir.Var(f"z{axis}")) for axis in range(1, self.rank)]
            if places:
                places[-1] = self._column(places[-1])
            at = self._index(self._field(node.field), inner[0] - ir.Var("left"), tuple(places))
            return ir.Load(self._slot_name(node.field, node.level), at, site.dtype)

        body, value = site.lower(
            statement,
            lambda node: site.guarded(node, here, lambda inner: load(node, inner)),
            "t",
            at=here,
            step=self._time,
        )
        if own:
            own[-1] = self._column(own[-1])
        slot = self._slot(statement.field, ir.Var("step"), 1)
        result = ir.Var("v", site.dtype)
        memory = site.version(statement.field, self._memory_slot(statement.field, slot))
        index: ir.Expr = here[-1]
        for axis in range(self.rank - 1):
            index = ir.wide(here[axis]) * stride(axis) + index
        then: tuple[ir.Stmt, ...] = (
            *body,
            ir.Let(result, pointed(site, statement.field, value, here, self._time)),
            ir.Store(self._slot_name(statement.field, 1), self._index(field, x, tuple(own)), result, site.dtype),
            ir.If(self._leaves(statement, x, ir.Var("row1")), (ir.Store(memory, index, result, site.dtype),)),
        )
        lets = tuple(ir.Let(var, value) for var, value in zip(here, cells, strict=True))
        nest: tuple[ir.Stmt, ...] = (*lets, ir.If(in_bounds(site, statement, here), then))
        for axis in range(self.rank - 1, 0, -1):
            nest = (self._strided(ir.Var(f"y{axis}"), (ir.Int(0), self.size(axis)), axis, nest, 1),)
        return self._strided(x, self.row_span(), 0, nest, 1)

    def _cell(self, axis: int) -> ir.Expr:
        """A cell along a classic axis of the row of the loop, from the classic tile's ``z`` on."""
        return self.row_start(axis, ir.Var("row")) + ir.Var(f"y{axis}")

    def _from_box(self, axis: int, place: ir.Expr) -> ir.Expr:
        """A place relative to the classic tile, counted from its box's start."""
        return place - self.chip.box[axis - 1][0]


def _near(distance: int) -> ir.Var:
    """Name of the place of a neighbour along the innermost axis."""
    return ir.Var(f"c{'m' if distance < 0 else 'p'}{abs(distance)}")
