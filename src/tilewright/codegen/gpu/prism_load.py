"""What a prism's kernel brings on chip for a tile."""

from tilewright.codegen import ir
from tilewright.codegen.gpu.chip import ChipField
from tilewright.codegen.gpu.prism_plan import PrismPlan
from tilewright.codegen.gpu.site import stride
from tilewright.codegen.sites import extent


class PrismLoads(PrismPlan):
    """The loads of whole and of cut tiles."""

    __slots__ = ()

    def _load_whole(self, fresh: ir.Expr) -> tuple[ir.Stmt, ...]:
        body: list[ir.Stmt] = []
        for field in self.chip.fields:
            for number, slot in enumerate(field.slots):
                for low, high in slot.pieces:
                    body.append(self._load(field, number, (ir.Int(low), ir.Int(high)), fresh, clipped=False))
        return tuple(body)

    def _load_cut(self) -> tuple[ir.Stmt, ...]:
        body: list[ir.Stmt] = []
        for field in self.chip.fields:
            for number, slot in enumerate(field.slots):
                low = ir.largest(ir.Int(slot.hull[0]), ir.Int(0) - ir.Var("left"))
                high = ir.smallest(ir.Int(slot.hull[1]), extent(0) - ir.Var("left"))
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
        starts = [(ir.Var(f"z{axis}") + self.chip.box[axis - 1][0]) for axis in range(1, rank)]
        cells: list[ir.Expr] = [(start + place) for start, place in zip(starts, inner, strict=True)]
        index = self._index(field, x, (*inner[:-1], self._column(inner[-1])) if rank > 1 else ())
        to = ir.Var("to", ir.shared_pointer(site.dtype))
        at = (ir.wide(ir.Var("left") + x) * stride(0)) if rank > 1 else (ir.Var("left") + x)
        offset: ir.Expr = cells[-1] if rank > 1 else ir.Int(0)
        if rank == 3:
            at = at + ir.wide(cells[0]) * stride(1)
        if rank == 1:
            value: ir.Expr = ir.Load(base, at, site.dtype)
            body: tuple[ir.Stmt, ...] = (ir.Store(to, index, value, site.dtype),)
            loop = self._strided(x, span, 0, body, 1 if clipped else self.schedule.copy_unroll)
            return ir.Scope((ir.Let(to, self._slot_at(field, ir.Int(slot))), loop))
        copy = ir.Store(to, index, ir.Load(line, offset, site.dtype), site.dtype)
        unroll = 1 if clipped or rank == 3 else self.schedule.copy_unroll
        window = self._window(rank - 1, fresh, starts[-1], clipped=clipped)
        body = (self._strided(inner[-1], window, rank - 1, (copy,), 1),)
        body = (ir.Let(line, base + at), *body)
        if rank == 3:
            window = self._window(1, ir.Int(0), starts[0], clipped=clipped)
            body = (self._strided(inner[0], window, 1, body, 1 if clipped else self.schedule.copy_unroll),)
        return ir.Scope((ir.Let(to, self._slot_at(field, ir.Int(slot))), self._strided(x, span, 0, body, unroll)))

    def _window(self, axis: int, low: ir.Expr, start: ir.Expr, *, clipped: bool) -> tuple[ir.Expr, ir.Expr]:
        """Places of a classic axis to load, counted from the box's start."""
        high = self.chip.extent(axis)
        if clipped:
            return ir.largest(low, ir.Int(0) - start), ir.smallest(high, extent(axis) - start)
        return low, high
