"""GPU kernels of hexagonal prisms: a group of threads computes one hexagon, its classic tiles one after the other.

The wavefront loop runs on the host, one launch per wavefront. In a group, for every classic tile: load what no earlier
tile of the group has brought on chip, compute the rows of the hexagon one after the other with a barrier after each,
all on chip; a value goes back to memory from the register it was computed in, by the last row of the tile that writes
its place. What consecutive classic tiles share stays on chip, where it is (``reuse=place``: the innermost axis is a
ring) or moved to the front (``reuse=move``).

Two bodies: whole tiles know no boundary; tiles that the grid, the first or the last step cuts test every cell.

Source: Prajapati et al. 2017, sections 3 and 4; Grosser et al. 2014.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tilewright.codegen.faces import face_grown, face_note
from tilewright.codegen.gpu_chip import (
    STATIC_BYTES,
    Chip,
    ChipField,
    fixed_chip,
    hexagon_of,
    parametric_chip,
    parametric_values,
)
from tilewright.codegen.gpu_site import DeviceKernel, GpuSite, Launch, unpacked
from tilewright.codegen.gpu_sweep import conjunction, in_bounds
from tilewright.codegen.ir import (
    WHOLE,
    Barrier,
    Comment,
    Expr,
    For,
    Function,
    If,
    Int,
    Let,
    Load,
    Op,
    Scope,
    Shared,
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
from tilewright.codegen.sites import extent, stride
from tilewright.programs.dependences import analyse
from tilewright.programs.expression import Read
from tilewright.programs.problem import Problem
from tilewright.programs.stencil import Statement
from tilewright.tilings.catalogue import complete
from tilewright.tilings.prism import Prism, geometry
from tilewright.tilings.tiling import Tiling

_BLOCK_READS = 30
"""Reads of a cell up to which several cells of a column are computed together."""
_NUMBERS = ("start", "total", "first", "origin")
_SIZES = ("height", "base", "size1", "size2")


def thread_shape(problem: Problem, tiling: Tiling) -> tuple[int, ...]:
    """Threads per axis of a prism's group, those of a completed tiling or the family's own choice."""
    if tiling.threads:
        return tiling.threads
    if problem.program.rank == 1:
        return (256,)
    inner = max(32, min(256, tiling.space[-1] // 32 * 32))
    if problem.program.rank == 2:
        return (max(1, 128 // inner), inner)
    return (1, max(1, min(tiling.space[1], 256 // inner)), inner)


def prism_functions(site: GpuSite, tiling: Tiling) -> tuple[tuple[Function, DeviceKernel], ...]:
    """Make the kernel of a prism tiling."""
    cut = geometry(site.problem, complete(site.problem, tiling))
    shape = thread_shape(site.problem, complete(site.problem, tiling))
    rank = site.rank
    itemsize = site.problem.itemsize
    if tiling.variant == "param":
        names = tuple(Var(name) for name in _SIZES[: rank + 1])
        chip = parametric_chip(site.problem, cut, names)
        shared, room = 0, parametric_values(site.problem, cut) * itemsize
    else:
        names = ()
        chip = fixed_chip(site.problem, cut)
        total = chip.values.value * itemsize if isinstance(chip.values, Int) else 0
        shared, room = (total, 0) if total <= STATIC_BYTES else (0, total)
    numbers = (*_NUMBERS, *(var.name for var in names))
    maker = _Maker(site=site, tiling=complete(site.problem, tiling), cut=cut, chip=chip, shape=shape)
    kernel = DeviceKernel(
        entry=f"{site.prefix}_0", threads=math.prod(shape), numbers=numbers, shared_bytes=shared, room_bytes=room
    )
    body = maker.body()
    if shared:
        body = (Shared(Var("chip", f"chip:{site.dtype}"), shared // itemsize), *body)
    function = Function(
        name=kernel.entry,
        params=site.params(numbers, room=bool(room)),
        body=body,
        kind="kernel",
        threads=kernel.threads,
    )
    return ((function, kernel),)


def prism_launches(problem: Problem, tiling: Tiling, steps: int) -> Iterator[Launch]:
    """Yield one launch per wavefront, for some steps that start at version 0."""
    tiling = complete(problem, tiling)
    cut = geometry(problem, tiling)
    hexagon, total = cut.hexagon, steps * cut.stages
    sizes: tuple[int, ...] = ()
    if tiling.variant == "param":
        sizes = (hexagon.height, hexagon.base, *(skew.size for skew in cut.skews))
    for phase in range(hexagon.phases(0, total)):
        for colour in (0, 1):
            start = hexagon.time_origin(colour, phase)
            first, last = hexagon.indices(colour, problem.shape[0])
            if start < total and start + hexagon.height > 0 and first < last:
                origin = hexagon.space_origin(colour, 0)
                yield Launch(0, last - first, (start, total, first, origin, *sizes))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Maker:
    """Writes the kernel; names in the text: ``left`` the hexagon's place, ``z1``, ``z2`` the classic tile's."""

    site: GpuSite
    tiling: Tiling
    cut: Prism
    chip: Chip
    shape: tuple[int, ...]

    # Geometry, as numbers or names.

    @property
    def rank(self) -> int:
        return self.site.rank

    @property
    def parametric(self) -> bool:
        return self.tiling.variant == "param"

    @property
    def height(self) -> Expr:
        return Var("height") if self.parametric else Int(self.cut.hexagon.height)

    @property
    def base(self) -> Expr:
        return Var("base") if self.parametric else Int(self.cut.hexagon.base)

    @property
    def slope(self) -> int:
        return hexagon_of(self.cut).slope

    def size(self, axis: int) -> Expr:
        return Var(f"size{axis}") if self.parametric else Int(self.cut.skews[axis - 1].size)

    def lean(self, axis: int) -> int:
        """Cells by which a classic tile moves per row."""
        return self.cut.skews[axis - 1].slope

    @property
    def ring(self) -> bool:
        return self.rank > 1 and self.tiling.reuse != "move"

    def grown(self, row: Expr) -> Expr:
        """Cells by which a row extends the first one on either side."""
        if not self.parametric:
            return face_grown(self.cut.hexagon, row)
        return mul(smallest(row, sub(sub(self.height, 1), row)), self.slope)

    # The kernel.

    def body(self) -> tuple[Stmt, ...]:
        site, rank = self.site, self.rank
        threads = tuple(Var(f"i{axis}") for axis in range(rank))
        left, start = Var("left"), Var("start")
        lets: list[Stmt] = []
        if self.parametric:
            lets.append(Let(Var("waist"), Op("div", (self.height, Int(2)))))
            pitch: Expr = add(mul(self.base, 2), mul(sub(Var("waist"), 1), 2 * self.slope))
        else:
            hexagon = self.cut.hexagon
            lets.append(Comment(f"{face_note(hexagon)}, {self.tiling}"))
            pitch = Int(hexagon.pitch)
        lets += unpacked(Op("thread", ()), threads, tuple(Int(n) for n in self.shape))
        lets += [
            Let(left, add(mul(add(Var("first"), Op("group", ())), pitch), Var("origin"))),
            Let(Var("row0"), largest(Int(0), sub(Int(0), start))),
            Let(Var("row1"), smallest(self.height, sub(Var("total"), start))),
        ]
        step = Op("floordiv", (start, Int(self.cut.stages))) if self.cut.stages > 1 else start
        for copies in sorted({c for c in analyse(site.problem.program).copies if c > 1}):
            lets.append(Let(Var(f"turn{copies}"), Op("floormod", (step, Int(copies)))))
        low, high = self._span0()
        whole = [
            Op("eq", (Var("row0"), Int(0))),
            Op("eq", (Var("row1"), self.height)),
            Op("ge", (add(left, low), Int(0))),
            Op("le", (add(left, high), extent(0))),
        ]
        lets.append(Let(Var("whole", "bool"), conjunction(whole)))
        return (*lets, *self._classic_loops())

    def _span0(self) -> tuple[Expr, Expr]:
        """What a tile touches along axis 0, reads as written."""
        low, high = self.chip.pure[0]
        if self.parametric:
            over = mul(sub(Var("waist"), 1), self.slope)
            return sub(Int(low), over), add(add(self.base, high), over)
        over_cells = (self.cut.hexagon.width - self.cut.hexagon.base) // 2
        return Int(low - over_cells), Int(self.cut.hexagon.base + over_cells + high)

    def _classic_loops(self) -> tuple[Stmt, ...]:
        if self.rank == 1:
            return self._tile()
        last = self.rank - 1
        nest = self._tile()
        for axis in range(last, 0, -1):
            tile, size = Var(f"j{axis}"), self.size(axis)
            tiles = Op("ceildiv", (add(extent(axis), mul(sub(self.height, 1), self.lean(axis))), size))
            body: tuple[Stmt, ...] = (Let(Var(f"z{axis}"), mul(tile, size)), *nest)
            if axis < last:
                body = (*body, Barrier(memory=True))
            nest = (For(var=tile, low=Int(0), high=tiles, body=body, unroll=1),)
        return nest

    def _tile(self) -> tuple[Stmt, ...]:
        tests: list[Expr] = [Var("whole", "bool")]
        for axis in range(1, self.rank):
            low, high = self.chip.pure[axis]
            place = Var(f"z{axis}")
            least = sub(Int(low), mul(sub(self.height, 1), self.lean(axis)))
            tests.append(Op("ge", (add(place, least), Int(0))))
            # Columns that keep their first values are loaded whole, which whole tiles do not do.
            high += max(self.site.update_bounds(s)[axis][1] for s in self.site.problem.program.statements)
            tests.append(Op("le", (add(add(place, self.size(axis)), high), extent(axis))))
        lets: list[Stmt] = []
        fresh: Expr = Int(0)
        if self.rank > 1:
            last = self.rank - 1
            tests.append(Op("gt", (Var(f"j{last}"), Int(0))))
            kept = sub(self.chip.extent(last), self.size(last))
            fresh = kept
            lets.append(Let(Var("fresh"), select(Op("gt", (Var(f"j{last}"), Int(0))), kept, Int(0))))
            if self.ring:
                lets.append(Let(Var("ring"), Op("mod", (Var(f"z{last}"), self.chip.extent(last)))))
        else:
            lets.append(Let(Var("fresh"), Int(0)))
        full = (*self._load_whole(fresh), Barrier(memory=True), *self._rows_whole())
        cut = (*self._load_cut(), Barrier(memory=True), *self._rows_cut())
        parts: tuple[Stmt, ...] = (*lets, If(conjunction(tests), full, cut))
        if self.rank > 1 and not self.ring:
            parts = (*parts, *self._move())
        return parts

    # Places on chip.

    def _column(self, place: Expr) -> Expr:
        """Where a cell of the innermost axis lies in a row on chip; ``place`` counts from the box's start."""
        if not self.ring:
            return place
        moved = add(place, Var("ring"))
        length = self.chip.extent(self.rank - 1)
        return select(Op("ge", (moved, length)), sub(moved, length), moved)

    def _index(self, field: ChipField, x: Expr, inner: tuple[Expr, ...]) -> Expr:
        """Index in a slot on chip of a cell: ``x`` relative to the tile, inner places counted from the box's start."""
        result: Expr = sub(x, field.low) if not isinstance(field.low, Int) else add(x, -field.low.value)
        for axis, place in enumerate(inner, 1):
            result = add(mul(result, self.chip.extent(axis)), place)
        return result

    def _slot_at(self, field: ChipField, slot: Expr) -> Expr:
        """Pointer to the first value of a slot on chip."""
        result = add(Var("chip"), field.start)
        if len(field.slots) == 1:
            return result
        plane: Expr = sub(field.high, field.low)
        for axis in range(1, self.rank):
            plane = mul(plane, self.chip.extent(axis))
        return add(result, mul(plane, slot))

    def _slots(self, statement: Statement) -> tuple[Stmt, ...]:
        """Point at the slots that a statement reads and writes in a row."""
        used = dict.fromkeys([*((read.field, read.level) for read in statement.reads), (statement.field, 1)])
        return tuple(
            Let(self._slot_name(name, level), self._slot_at(self._field(name), self._slot(name, Var("step"), level)))
            for name, level in used
        )

    def _slot_name(self, field: str, level: int) -> Var:
        suffix = {1: "_new", 0: "", -1: "_prev", -2: "_prev2"}[level]
        return Var(f"u{self.site.number(field)}{suffix}", f"chip:{self.site.dtype}")

    def _field(self, name: str) -> ChipField:
        return self.chip.fields[self.site.number(name)]

    def _slot(self, field: str, step: Expr, level: int) -> Expr:
        copies = self.site.copies(field)
        return Int(0) if copies == 1 else Op("mod", (add(step, level % copies), Int(copies)))

    def _memory_slot(self, field: str, slot: Expr) -> Expr:
        copies = self.site.copies(field)
        if copies == 1:
            return slot
        return Op("mod", (add(Var(f"turn{copies}"), slot), Int(copies)))

    def _strided(self, var: Var, span: tuple[Expr, Expr], axis: int, body: tuple[Stmt, ...], unroll: int = 0) -> For:
        """A loop of one thread over its share of a range along an axis."""
        count = self.shape[axis]
        low = add(Var(f"i{axis}"), span[0]) if count > 1 else span[0]
        return For(var=var, low=low, high=span[1], step=Int(count), body=body, unroll=unroll)

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
            loop = self._strided(x, span, 0, body, 4 if not clipped else 1)
            return Scope((Let(to, self._slot_at(field, Int(slot))), loop))
        copy = Store(to, index, Load(line, offset, site.dtype), site.dtype)
        unroll = 1 if clipped or rank == 3 else 4
        window = self._window(rank - 1, fresh, starts[-1], clipped=clipped)
        body = (self._strided(inner[-1], window, rank - 1, (copy,), 1),)
        body = (Let(line, add(base, at)), *body)
        if rank == 3:
            window = self._window(1, Int(0), starts[0], clipped=clipped)
            body = (self._strided(inner[0], window, 1, body, 1 if clipped else 4),)
        return Scope((Let(to, self._slot_at(field, Int(slot))), self._strided(x, span, 0, body, unroll)))

    def _window(self, axis: int, low: Expr, start: Expr, *, clipped: bool) -> tuple[Expr, Expr]:
        """Places of a classic axis to load, counted from the box's start."""
        high = self.chip.extent(axis)
        if clipped:
            return largest(low, sub(Int(0), start)), smallest(high, sub(extent(axis), start))
        return low, high

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
        if self.shape[0] > 1 or self.rank == 1:
            return 1
        if self.tiling.rows is not None:
            return self.tiling.rows
        return 4 if len(statement.reads) <= _BLOCK_READS else 1

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
            loops = tuple(
                For(var=x, low=a, high=b, body=(store,), unroll=4) for a, b in ((low, kept[0]), (kept[1], high))
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


def _near(distance: int) -> Var:
    """Name of the place of a neighbour along the innermost axis."""
    return Var(f"c{'m' if distance < 0 else 'p'}{abs(distance)}")
