"""What a prism's kernel brings on chip for a tile, and what it moves there for the next one."""

from tilewright.codegen.gpu_chip import (
    ChipField,
)
from tilewright.codegen.gpu_prism_plan import PrismPlan
from tilewright.codegen.ir import (
    Barrier,
    Expr,
    For,
    Int,
    Let,
    Load,
    Op,
    Scope,
    Stmt,
    Store,
    Var,
    add,
    largest,
    mul,
    smallest,
    sub,
)
from tilewright.codegen.sites import extent, stride


class PrismLoads(PrismPlan):
    """The loads of whole and of cut tiles, and the moves between tiles."""

    __slots__ = ()

    # Loading.

    def _load_whole(self, fresh: Expr) -> tuple[Stmt, ...]:
        body: list[Stmt] = []
        for field in self.chip.fields:
            for number, slot in enumerate(field.slots):
                body += [self._load(field, number, piece, fresh, clipped=False) for piece in slot.pieces]
        return tuple(body)

    def _load_cut(self) -> tuple[Stmt, ...]:
        body: list[Stmt] = []
        for field in self.chip.fields:
            for number, slot in enumerate(field.slots):
                low = largest(slot.hull[0], sub(Int(0), Var("left")))
                high = smallest(slot.hull[1], sub(extent(0), Var("left")))
                body.append(self._load(field, number, (low, high), Var("fresh"), clipped=True))
        return tuple(body)

    def _load(self, field: ChipField, slot: int, span: tuple[Expr, Expr], fresh: Expr, *, clipped: bool) -> Stmt:
        site, rank = self.site, self.rank
        x = Var("x")
        inner = tuple(Var(f"q{axis}") for axis in range(1, rank))
        line = Var("line", f"array:{site.dtype}")
        base = site.version(field.name, self._memory_slot(field.name, Int(slot)))
        starts = [add(Var(f"z{axis}"), self.chip.box[axis - 1][0]) for axis in range(1, rank)]
        cells: list[Expr] = [add(start, place) for start, place in zip(starts, inner, strict=True)]
        index = self._index(field, x, (*inner[:-1], self._column(inner[-1])) if rank > 1 else ())
        to = Var("to", f"chip:{site.dtype}")
        at = mul(Op("wide", (add(Var("left"), x),)), stride(0)) if rank > 1 else add(Var("left"), x)
        offset: Expr = cells[-1] if rank > 1 else Int(0)
        if rank == 3:
            at = add(at, mul(Op("wide", (cells[0],)), stride(1)))
        if rank == 1:
            value: Expr = Load(base, at, site.dtype)
            body: tuple[Stmt, ...] = (Store(to, index, value, site.dtype),)
            loop = self._strided(x, span, 0, body, 1 if clipped else self.schedule.copy_unroll)
            return Scope((Let(to, self._slot_at(field, Int(slot))), loop))
        copy = Store(to, index, Load(line, offset, site.dtype), site.dtype)
        unroll = 1 if clipped or rank == 3 else self.schedule.copy_unroll
        window = self._window(rank - 1, fresh, starts[-1], clipped=clipped)
        body = (self._strided(inner[-1], window, rank - 1, (copy,), 1),)
        body = (Let(line, add(base, at)), *body)
        if rank == 3:
            window = self._window(1, Int(0), starts[0], clipped=clipped)
            body = (self._strided(inner[0], window, 1, body, 1 if clipped else self.schedule.copy_unroll),)
        return Scope((Let(to, self._slot_at(field, Int(slot))), self._strided(x, span, 0, body, unroll)))

    def _window(self, axis: int, low: Expr, start: Expr, *, clipped: bool) -> tuple[Expr, Expr]:
        """Places of a classic axis to load, counted from the box's start."""
        high = self.chip.extent(axis)
        if clipped:
            return largest(low, sub(Int(0), start)), smallest(high, sub(extent(axis), start))
        return low, high

    # Moving.

    def _move(self) -> tuple[Stmt, ...]:
        """Bring what the next tile shares to the front, in chunks that do not overlap their source."""
        axis = self.rank - 1
        size, kept = self.size(axis), sub(self.chip.extent(axis), self.size(axis))
        chunk, place = Var("chunk"), Var(f"q{axis}")
        at = Var("at", f"chip:{self.site.dtype}")
        body: list[Stmt] = []
        for field in self.chip.fields:
            for number in range(len(field.slots)):
                middle = (Var("q1"),) if self.rank == 3 else ()
                target = self._index(field, Var("x"), (*middle, place))
                source = self._index(field, Var("x"), (*middle, add(place, size)))
                copy: tuple[Stmt, ...] = (Store(at, target, Load(at, source, self.site.dtype), self.site.dtype),)
                copy = (self._strided(place, (chunk, smallest(add(chunk, size), kept)), axis, copy),)
                if self.rank == 3:
                    copy = (self._strided(Var("q1"), (Int(0), self.chip.extent(1)), 1, copy),)
                loop = self._strided(Var("x"), (field.low, field.high), 0, copy)
                body.append(Scope((Let(at, self._slot_at(field, Int(number))), loop)))
        return (For(var=chunk, low=Int(0), high=kept, step=size, body=(*body, Barrier()), unroll=1),)
