"""What a prism's kernel brings on chip for a tile, and what it moves there for the next one."""

from tilewright.codegen import ir
from tilewright.codegen.gpu.chip import ChipField
from tilewright.codegen.gpu.prism_plan import PrismPlan
from tilewright.codegen.gpu.site import stride
from tilewright.codegen.sites import extent


class PrismLoads(PrismPlan):
    """The loads of whole and of cut tiles, and the moves between tiles."""

    __slots__ = ()

    # Loading.

    def _load_whole(self, fresh: ir.Expr) -> tuple[ir.Stmt, ...]:
        body: list[ir.Stmt] = []
        for field in self.chip.fields:
            for number, slot in enumerate(field.slots):
                body += [self._load(field, number, piece, fresh, clipped=False) for piece in slot.pieces]
        return tuple(body)

    def _load_cut(self) -> tuple[ir.Stmt, ...]:
        body: list[ir.Stmt] = []
        for field in self.chip.fields:
            for number, slot in enumerate(field.slots):
                low = ir.largest(slot.hull[0], ir.sub(ir.Int(0), ir.Var("left")))
                high = ir.smallest(slot.hull[1], ir.sub(extent(0), ir.Var("left")))
                body.append(self._load(field, number, (low, high), ir.Var("fresh"), clipped=True))
        return tuple(body)

    def _load(
        self, field: ChipField, slot: int, span: tuple[ir.Expr, ir.Expr], fresh: ir.Expr, *, clipped: bool
    ) -> ir.Stmt:
        site, rank = self.site, self.rank
        x = ir.Var("x")
        inner = tuple(ir.Var(f"q{axis}") for axis in range(1, rank))
        line = ir.Var("line", ir.const_pointer(site.dtype))
        base = site.version(field.name, self._memory_slot(field.name, ir.Int(slot)))
        starts = [ir.add(ir.Var(f"z{axis}"), self.chip.box[axis - 1][0]) for axis in range(1, rank)]
        cells: list[ir.Expr] = [ir.add(start, place) for start, place in zip(starts, inner, strict=True)]
        index = self._index(field, x, (*inner[:-1], self._column(inner[-1])) if rank > 1 else ())
        to = ir.Var("to", ir.shared_pointer(site.dtype))
        at = ir.mul(ir.wide(ir.add(ir.Var("left"), x)), stride(0)) if rank > 1 else ir.add(ir.Var("left"), x)
        offset: ir.Expr = cells[-1] if rank > 1 else ir.Int(0)
        if rank == 3:
            at = ir.add(at, ir.mul(ir.wide(cells[0]), stride(1)))
        if rank == 1:
            value: ir.Expr = ir.Load(base, at, site.dtype)
            body: tuple[ir.Stmt, ...] = (ir.Store(to, index, value, site.dtype),)
            loop = self._strided(x, span, 0, body, 1 if clipped else self.schedule.copy_unroll)
            return ir.Scope((ir.Let(to, self._slot_at(field, ir.Int(slot))), loop))
        copy = ir.Store(to, index, ir.Load(line, offset, site.dtype), site.dtype)
        unroll = 1 if clipped or rank == 3 else self.schedule.copy_unroll
        window = self._window(rank - 1, fresh, starts[-1], clipped=clipped)
        body = (self._strided(inner[-1], window, rank - 1, (copy,), 1),)
        body = (ir.Let(line, ir.add(base, at)), *body)
        if rank == 3:
            window = self._window(1, ir.Int(0), starts[0], clipped=clipped)
            body = (self._strided(inner[0], window, 1, body, 1 if clipped else self.schedule.copy_unroll),)
        return ir.Scope((ir.Let(to, self._slot_at(field, ir.Int(slot))), self._strided(x, span, 0, body, unroll)))

    def _window(self, axis: int, low: ir.Expr, start: ir.Expr, *, clipped: bool) -> tuple[ir.Expr, ir.Expr]:
        """Places of a classic axis to load, counted from the box's start."""
        high = self.chip.extent(axis)
        if clipped:
            return ir.largest(low, ir.sub(ir.Int(0), start)), ir.smallest(high, ir.sub(extent(axis), start))
        return low, high

    # Moving.

    def _move(self) -> tuple[ir.Stmt, ...]:
        """Bring what the next tile shares to the front, in chunks that do not overlap their source."""
        axis = self.rank - 1
        size, kept = self.size(axis), ir.sub(self.chip.extent(axis), self.size(axis))
        chunk, place = ir.Var("chunk"), ir.Var(f"q{axis}")
        at = ir.Var("at", ir.shared_pointer(self.site.dtype))
        body: list[ir.Stmt] = []
        for field in self.chip.fields:
            for number in range(len(field.slots)):
                middle = (ir.Var("q1"),) if self.rank == 3 else ()
                target = self._index(field, ir.Var("x"), (*middle, place))
                source = self._index(field, ir.Var("x"), (*middle, ir.add(place, size)))
                copy: tuple[ir.Stmt, ...] = (
                    ir.Store(at, target, ir.Load(at, source, self.site.dtype), self.site.dtype),
                )
                copy = (self._strided(place, (chunk, ir.smallest(ir.add(chunk, size), kept)), axis, copy),)
                if self.rank == 3:
                    copy = (self._strided(ir.Var("q1"), (ir.Int(0), self.chip.extent(1)), 1, copy),)
                loop = self._strided(ir.Var("x"), (field.low, field.high), 0, copy)
                body.append(ir.Scope((ir.Let(at, self._slot_at(field, ir.Int(number))), loop)))
        return (ir.For(var=chunk, low=ir.Int(0), high=kept, step=size, body=(*body, ir.Barrier()), unroll=1),)
