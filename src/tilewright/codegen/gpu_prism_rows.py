"""How a prism's kernel computes the rows of a tile, and what it writes back."""

from collections.abc import Callable

from tilewright.codegen.gpu_prism_load import PrismLoads
from tilewright.codegen.gpu_sweep import in_bounds
from tilewright.codegen.ir import (
    WHOLE,
    Barrier,
    Expr,
    For,
    If,
    Int,
    Let,
    Load,
    Op,
    Scope,
    Stmt,
    Store,
    Var,
    add,
    below,
    largest,
    mul,
    select,
    smallest,
    sub,
)
from tilewright.codegen.sites import stride
from tilewright.programs.expression import Read
from tilewright.programs.stencil import Statement


class PrismRows(PrismLoads):
    """The rows of whole tiles, without conditions, and of tiles that something cuts."""

    __slots__ = ()

    # Whole tiles.

    def _rows_whole(self) -> tuple[Stmt, ...]:
        whole = not self.parametric and (self.tiling.unroll or 0) >= self.cut.hexagon.height
        body = self._rows(self._row_whole)
        return (For(var=Var("row"), low=Int(0), high=self.height, body=body, unroll=WHOLE if whole else 1),)

    def _rows(self, one: Callable[[Statement], tuple[Stmt, ...]]) -> tuple[Stmt, ...]:
        """One row: the statements of its stage, then a barrier."""
        row, step = Var("row"), Var("step")
        statements = self.site.problem.program.statements
        work: list[Stmt] = []
        for stage, numbers in enumerate(self.site.stages):
            body = tuple(Scope((*self._slots(statements[n]), *one(statements[n]))) for n in numbers)
            if self.cut.stages == 1:
                work += body
            else:
                work.append(If(Op("eq", (Op("mod", (row, Int(self.cut.stages))), Int(stage))), body))
        quotient = Op("div", (row, Int(self.cut.stages))) if self.cut.stages > 1 else row
        return (Let(Var("grow"), self.grown(row)), Let(step, quotient), *work, Barrier())

    def _block(self, statement: Statement) -> int:
        """Cells of a column that are computed together."""
        return self.schedule.rows[self.site.problem.program.statements.index(statement)]

    def _row_whole(self, statement: Statement) -> tuple[Stmt, ...]:
        """The cells of one row of a tile that nothing cuts: compute on chip, then write back what leaves the chip."""
        low, high = Var("low"), Var("high")
        x, block = Var("x"), self._block(statement)
        unroll = self.tiling.unroll or 1
        loops: list[Stmt] = []
        if block > 1:
            end = Var("end")
            loops.append(Let(end, sub(high, Op("mod", (sub(high, low), Int(block))))))
            for span, cells in (((low, end), block), ((end, high), 1)):
                body = self._cells(statement, cells)
                loops.append(
                    For(var=x, low=span[0], high=span[1], step=Int(cells), body=body, unroll=unroll if cells > 1 else 1)
                )
        else:
            loops.append(self._strided(x, (low, high), 0, self._cells(statement, 1), unroll))
        nest: tuple[Stmt, ...] = (*self._columns(statement), *loops, *self._write_back(statement))
        for axis in range(self.rank - 1, 0, -1):
            nest = (self._strided(Var(f"y{axis}"), (Int(0), self.size(axis)), axis, nest, 1),)
        return (Let(low, sub(Int(0), Var("grow"))), Let(high, add(self.base, Var("grow"))), *nest)

    def _write_back(self, statement: Statement) -> tuple[Stmt, ...]:
        """Write the cells of a column whose place no later row of the tile writes: those outside ``kept0 … kept1``."""
        later = add(Var("row"), self.site.copies(statement.field) * self.cut.stages)
        low, high = Var("low"), Var("high")
        everything: Expr = Op("ge", (later, self.height))
        if self.rank == 3:
            again = self.site.copies(statement.field) * self.cut.stages
            edge = sub(self.size(1), self.lean(1) * again)
            everything = Op("or", (everything, Op("ge", (Var("y1"), edge))))
        grow, all_, kept = Var("later"), Var("all", "bool"), (Var("kept0"), Var("kept1"))
        lets = (
            Let(all_, everything),
            Let(grow, self.grown(later)),
            Let(kept[0], select(all_, high, smallest(high, largest(low, sub(Int(0), grow))))),
            Let(kept[1], select(all_, high, smallest(high, largest(low, add(self.base, grow))))),
        )
        x = Var("x")
        at = self._index(self._field(statement.field), x, self._inner_places((0,) * self.rank))
        index = mul(Op("wide", (x,)), stride(0)) if self.rank > 1 else x
        value = Load(self._slot_name(statement.field, 1), at, self.site.dtype)
        store = Store(Var("out"), index, value, self.site.dtype)
        if self.shape[0] > 1:  # every thread writes what it computed itself: no barrier is needed before
            test = Op("or", (below(x, kept[0]), Op("ge", (x, kept[1]))))
            loops: tuple[Stmt, ...] = (self._strided(x, (low, high), 0, (If(test, (store,)),), 1),)
        else:
            unroll = self.schedule.copy_unroll
            loops = tuple(
                For(var=x, low=a, high=b, body=(store,), unroll=unroll) for a, b in ((low, kept[0]), (kept[1], high))
            )
        return (*lets, *self._target(statement), *loops)

    def _inner_reads(self, statement: Statement) -> list[int]:
        return sorted({0, *(read.offset[-1] for read in statement.reads)})

    def _columns(self, statement: Statement) -> tuple[Stmt, ...]:
        """Name the places on chip of the innermost axis that a statement's reads touch."""
        if self.rank == 1:
            return ()
        axis = self.rank - 1
        low = self.chip.box[axis - 1][0]
        place = sub(Var(f"y{axis}"), mul(Var("row"), self.lean(axis)))
        own = sub(place, low) if not isinstance(low, Int) else add(place, -low.value)
        lets: list[Stmt] = [Let(Var("own"), own)]
        return (*lets, *(Let(_near(d), self._column(add(Var("own"), d))) for d in self._inner_reads(statement)))

    def _inner_places(self, offset: tuple[int, ...]) -> tuple[Expr, ...]:
        """Places on chip of a read's classic axes."""
        if self.rank == 1:
            return ()
        if self.rank == 2:
            return (_near(offset[-1]),)
        low = self.chip.box[0][0]
        place = sub(Var("y1"), mul(Var("row"), self.lean(1)))
        middle = sub(place, low) if not isinstance(low, Int) else add(place, -low.value)
        return (add(middle, offset[1]), _near(offset[-1]))

    def _target(self, statement: Statement) -> tuple[Stmt, ...]:
        """Point at the column's place in memory."""
        site = self.site
        slot = self._memory_slot(statement.field, self._slot(statement.field, Var("step"), 1))
        result = site.version(statement.field, slot)
        if self.rank == 1:
            return (Let(Var("out", f"pointer:{site.dtype}"), add(result, Op("wide", (Var("left"),)))),)
        result = add(result, mul(Op("wide", (Var("left"),)), stride(0)))
        cells = [
            add(Var(f"z{axis}"), sub(Var(f"y{axis}"), mul(Var("row"), self.lean(axis)))) for axis in range(1, self.rank)
        ]
        if self.rank == 3:
            result = add(result, mul(Op("wide", (cells[0],)), stride(1)))
        return (Let(Var("out", f"pointer:{site.dtype}"), add(result, cells[-1])),)

    def _cells(self, statement: Statement, block: int) -> tuple[Stmt, ...]:
        """Some cells of a column: loads, operations, stores on chip."""
        site = self.site
        names: dict[tuple[object, ...], Var] = {}
        loads: list[Stmt] = []
        work: list[Stmt] = []
        stores: list[Stmt] = []
        for cell in range(block):

            def read(node: Read, cell: int = cell) -> Expr:
                key = (node.field, node.level, node.offset[0] + cell, node.offset[1:])
                if key not in names:
                    names[key] = var = Var(f"r{len(names)}", site.dtype)
                    x = add(Var("x"), node.offset[0] + cell)
                    at = self._index(self._field(node.field), x, self._inner_places(node.offset))
                    loads.append(Let(var, Load(self._slot_name(node.field, node.level), at, site.dtype)))
                return names[key]

            body, value = site.lower(statement, read, f"t{cell}_" if cell else "t")
            work += body
            at = self._index(self._field(statement.field), add(Var("x"), cell), self._inner_places((0,) * self.rank))
            stores.append(Store(self._slot_name(statement.field, 1), at, value, site.dtype))
        return (*loads, *work, *stores)

    def _leaves(self, statement: Statement, x: Expr, end: Expr) -> Expr:
        """Whether no later row of the tile writes a cell's place, so that its value goes to memory."""
        again = self.site.copies(statement.field) * self.cut.stages
        later = add(Var("row"), again)
        grow = self.grown(later)
        outside = Op("or", (below(x, sub(Int(0), grow)), Op("ge", (x, add(self.base, grow)))))
        test: Expr = Op("or", (Op("ge", (later, end)), outside))
        if self.rank == 3:
            edge = sub(self.size(1), self.lean(1) * again)
            test = Op("or", (test, Op("ge", (Var("y1"), edge))))
        return test

    # Tiles that something cuts.

    def _rows_cut(self) -> tuple[Stmt, ...]:
        body = self._rows(lambda statement: (self._row_cut(statement),))
        return (For(var=Var("row"), low=Var("row0"), high=Var("row1"), body=body, unroll=1),)

    def _row_cut(self, statement: Statement) -> Stmt:
        site = self.site
        field = self._field(statement.field)
        x = Var("x")
        cells: list[Expr] = [add(Var("left"), x)]
        own: list[Expr] = []
        for axis in range(1, self.rank):
            place = sub(Var(f"y{axis}"), mul(Var("row"), self.lean(axis)))
            cells.append(add(Var(f"z{axis}"), place))
            own.append(self._from_box(axis, place))
        here = tuple(Var(f"x{axis}") for axis in range(self.rank))

        def load(node: Read, inner: tuple[Expr, ...]) -> Expr:
            places = [self._from_box(axis, sub(inner[axis], Var(f"z{axis}"))) for axis in range(1, self.rank)]
            if places:
                places[-1] = self._column(places[-1])
            at = self._index(self._field(node.field), sub(inner[0], Var("left")), tuple(places))
            return Load(self._slot_name(node.field, node.level), at, site.dtype)

        body, value = site.lower(statement, lambda node: site.guarded(node, here, lambda inner: load(node, inner)), "t")
        if own:
            own[-1] = self._column(own[-1])
        slot = self._slot(statement.field, Var("step"), 1)
        result = Var("v", site.dtype)
        memory = site.version(statement.field, self._memory_slot(statement.field, slot))
        index: Expr = here[-1]
        for axis in range(self.rank - 1):
            index = add(mul(Op("wide", (here[axis],)), stride(axis)), index)
        then: tuple[Stmt, ...] = (
            *body,
            Let(result, value),
            Store(self._slot_name(statement.field, 1), self._index(field, x, tuple(own)), result, site.dtype),
            If(self._leaves(statement, x, Var("row1")), (Store(memory, index, result, site.dtype),)),
        )
        lets = tuple(Let(var, value) for var, value in zip(here, cells, strict=True))
        nest: tuple[Stmt, ...] = (*lets, If(in_bounds(site, statement, here), then))
        for axis in range(self.rank - 1, 0, -1):
            nest = (self._strided(Var(f"y{axis}"), (Int(0), self.size(axis)), axis, nest, 1),)
        low, high = sub(Int(0), Var("grow")), add(self.base, Var("grow"))
        return self._strided(x, (low, high), 0, nest, 1)

    def _from_box(self, axis: int, place: Expr) -> Expr:
        """A place relative to the classic tile, counted from its box's start."""
        low = self.chip.box[axis - 1][0]
        return add(place, -low.value) if isinstance(low, Int) else sub(place, low)


def _near(distance: int) -> Var:
    """Name of the place of a neighbour along the innermost axis."""
    return Var(f"c{'m' if distance < 0 else 'p'}{abs(distance)}")
