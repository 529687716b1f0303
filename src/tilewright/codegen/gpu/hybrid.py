"""GPU kernels of prisms: a group of threads computes one hexagon or diamond, its classic tiles one after the other.

Launches, the loops over classic tiles and the cells of every row are those of the schedule tree
(:func:`tilewright.schedules.prism.wavefronts`), in numbers.

In a group, for every classic tile: load what no earlier tile of the group has brought on chip, compute the rows of the
hexagon one after the other with a barrier after each, all on chip; a value goes back to memory from the register it was
computed in, by the last row of the tile that writes its place. What consecutive classic tiles share stays on chip where
it is: the innermost axis is a ring.

Two bodies: whole tiles know no boundary; tiles that the grid, the first or the last step cuts test every cell.

Source: Prajapati et al. 2017, sections 3 and 4; Grosser et al. 2014.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from tilewright.codegen import ir
from tilewright.codegen.gpu.chip import ChipField, chip_of
from tilewright.codegen.gpu.site import Cell, GpuSite, Kernel, NewCell, row_index, stride, unpack
from tilewright.codegen.gpu.tiles import launch_numbers, wavefront
from tilewright.codegen.lower import Names, bound, index
from tilewright.codegen.sites import extent
from tilewright.programs.stencil.expression import Read, level_name
from tilewright.programs.stencil.program import Statement
from tilewright.schedules import catalogue
from tilewright.schedules.code import GpuSchedule
from tilewright.schedules.prism import geometry
from tilewright.schedules.tree.affine import Name
from tilewright.schedules.tree.nodes import Compute, Let, Loop, Node, walk

Span = tuple[ir.Expr | int, ir.Expr | int]
_LEFT, _START, _ROW, _STEP = ir.Var("left"), ir.Var("start"), ir.Var("row"), ir.Var("step")
"""Where the face's first row begins and when; the row of the loop, and its step from the tile's first one on."""
_X, _LOW, _HIGH = ir.Var("x"), ir.Var("low"), ir.Var("high")
"""A cell along axis 0 and those of a row, from the face's left end on."""


class HybridKernel:
    """The kernel; in its text ``z1``, ``z2`` are the classic tile's place, ``y1``, ``y2`` a cell's in its row."""

    def __init__(self, site: GpuSite, schedule: GpuSchedule) -> None:
        self.site, self.schedule, self.rank = site, schedule, site.rank
        self.cut = geometry(site.problem, schedule.tiling)
        self.face, self.skews = self.cut.hexagon, self.cut.skews
        self.tiles = wavefront(catalogue.tree(site.problem, schedule.tiling))[1]
        self.rows = next(node for node in walk(self.tiles) if isinstance(node, Loop) and not node.subtile)
        self.chip = chip_of(site.problem, self.cut, schedule.pieces)

    def kernel(self) -> Kernel:
        """Make the kernel."""
        shape, height = self.schedule.threads, self.face.height
        self.b, entry = self.site.begin(0, math.prod(shape), launch_numbers(self.tiles), self.chip.values)
        b = self.b
        b.comment(f"{self.face.note}, {self.schedule.tiling}")
        unpack(b, ir.THREAD, self.site.axes("i"), shape)
        below: Node = self.tiles.child
        names: Names = {self.tiles.ranges[0].name: ir.GROUP}
        while isinstance(below, Let):
            lets, names = bound(below, names)
            b.emit(*lets)
            below = below.child
        row0 = b.let("row0", index(self.rows.low, {}) - _START)
        row1 = b.let("row1", index(self.rows.high, {}) - _START)
        for copies in sorted({c for c in self.site.problem.program.analysis.copies if c > 1}):
            b.let(f"turn{copies}", ir.floormod(self._first_step, copies))
        (low, high), over = self.chip.pure[0], self.face.overhang
        inside = (_LEFT + (low - over) >= 0, _LEFT + (over + self.face.base + high) <= extent(0))
        b.let("whole", ir.every([row0.equals(0), row1.equals(height), *inside]))
        self._classic(below)
        return b.function(), entry

    def _classic(self, node: Node, axis: int = 1) -> None:
        """The loops over classic tiles, one in the other, and what is done for one of them."""
        if not isinstance(node, Loop) or not node.subtile:
            self._tile()
            return
        with self.b.loop(node.name, index(node.low, {}), index(node.high, {}), unroll=1) as number:
            self.b.let(f"z{axis}", self._row(0, {node.name: number})[axis][0])
            self._classic(node.child, axis + 1)
            if isinstance(node.child, Loop) and node.child.subtile:
                self.b.barrier(memory=True)

    def _tile(self) -> None:
        b, last = self.b, self.rank - 1
        tests: list[ir.Expr] = [ir.Var("whole", ir.BOOL)]
        for axis in range(1, self.rank):
            (low, high), place = self.chip.pure[axis], ir.Var(f"z{axis}")
            tests.append(place + self._row(self.face.height - 1, {})[axis][0] + low >= 0)
            # Columns that keep their first values are loaded over their whole length, which the fast load does not do.
            high += max(self.site.problem.margins(s)[axis][1] for s in self.site.problem.program.statements)
            tests.append(place + self._classic_size(axis) + high <= extent(axis))
        if self.rank > 1:
            extent_on_chip = self.chip.extent(last)
            tests.append(ir.Var(f"classic{last}") > 0)  # the tile before has filled the ring up to what is fresh
            fresh = b.let("fresh", ir.select(tests[-1], ir.Int(extent_on_chip - self._classic_size(last)), 0))
            b.let("ring", ir.Var(f"z{last}") % extent_on_chip)
        else:
            fresh = b.let("fresh", 0)
        with b.when(ir.every(tests)):
            self._load_whole()
            b.barrier(memory=True)
            self._rows_whole()
        with b.otherwise():
            self._load_cut(fresh)
            b.barrier(memory=True)
            self._rows(ir.Var("row0"), ir.Var("row1"), 1, self._row_cut)

    # Loads.

    def _load_whole(self) -> None:
        last = self.rank - 1
        fresh = self.chip.extent(last) - self._classic_size(last) if last else 0
        windows = [(fresh if axis == last else 0, self.chip.extent(axis)) for axis in range(1, self.rank)]
        for field in self.chip.fields:
            for number, slot in enumerate(field.slots):
                for piece in slot.pieces:
                    self._load(field, number, [piece, *windows], self.schedule.copy_unroll)

    def _load_cut(self, fresh: ir.Expr) -> None:
        """Load what the grid has of all that any tile reads."""
        windows: list[Span] = []
        for axis in range(1, self.rank):
            start, first = self._box_start(axis), fresh if axis == self.rank - 1 else ir.Int(0)
            end = ir.smallest(self.chip.extent(axis), extent(axis) - start)
            windows.append((ir.largest(first, 0 - start), end))
        for field in self.chip.fields:
            for number, slot in enumerate(field.slots):
                low, high = slot.hull
                span = (ir.largest(low, 0 - _LEFT), ir.smallest(high, extent(0) - _LEFT))
                self._load(field, number, [span, *windows], 1)

    def _load(self, field: ChipField, number: int, box: list[Span], unroll: int) -> None:
        """Bring the cells of a box of a slot: along axis 0 from the face on, then from the box's start."""
        b, rank = self.b, self.rank
        base = self._memory(field.name, ir.Int(number))
        cell: list[ir.Expr] = [_LEFT + _X, *(self._box_start(axis) + ir.Var(f"q{axis}") for axis in range(1, rank))]
        inner: list[ir.Expr] = [ir.Var(f"q{axis}") for axis in range(1, rank)]
        with ExitStack() as nest:
            nest.enter_context(b.scope())
            to = b.let("to", self._slot_at(field, ir.Int(number)))
            for axis, span in enumerate(box[: max(1, rank - 1)]):
                unrolled = unroll if axis == max(0, rank - 2) else 1
                nest.enter_context(self._strided(f"q{axis}" if axis else "x", span, axis, unrolled))
            if rank == 1:
                b.set(to[self._place(field, _X, ())], base[cell[0]])
                return
            line = b.let("line", base + row_index(cell[:-1]), ir.const_pointer(self.site.dtype))
            nest.enter_context(self._strided(f"q{rank - 1}", box[-1], rank - 1))
            inner[-1] = self._on_ring(inner[-1])
            b.set(to[self._place(field, _X, inner)], line[cell[-1]])

    # Rows.

    def _rows(self, low: ir.Expr | int, high: ir.Expr | int, unroll: int, compute: Callable[[Statement], None]) -> None:
        """The rows of a tile: the statements of a row's stage, then a barrier."""
        b, stages = self.b, self.cut.stages
        with b.loop(_ROW.name, low, high, unroll=unroll):
            b.let("grow", self._grown(_ROW))
            b.let(_STEP.name, _ROW / stages if stages > 1 else _ROW)
            for stage, statements in enumerate(self.site.stages):
                with ExitStack() as chosen:
                    if stages > 1:
                        chosen.enter_context(b.when((_ROW % stages).equals(stage)))
                    for statement in statements:
                        with b.scope():
                            self._slots(statement)
                            compute(statement)
            b.barrier()

    def _slots(self, statement: Statement) -> None:
        """Point at the slots that a statement reads and writes in a row."""
        used = dict.fromkeys([*((read.field, read.level) for read in statement.reads), (statement.field, 1)])
        for name, level in used:
            slot = self._slot_at(self._field(name), self._slot(name, level))
            self.b.let(self._slot_name(name, level).name, slot)

    def _over_columns(self, nest: ExitStack) -> None:
        for axis in range(1, self.rank):
            nest.enter_context(self._strided(f"y{axis}", (0, self._classic_size(axis)), axis))

    # Rows of whole tiles.

    def _rows_whole(self) -> None:
        height = self.face.height
        whole = (self.schedule.tiling.unroll or 0) >= height
        self._rows(0, height, ir.UNROLL_WHOLE if whole else 1, self._row_whole)

    def _row_whole(self, statement: Statement) -> None:
        """The cells of one row of a tile that nothing cuts: compute on chip, then write back what leaves the chip."""
        b, unroll = self.b, self.schedule.tiling.unroll or 1
        block = self.schedule.rows[self.site.problem.program.statements.index(statement)]
        for var, cell in zip((_LOW, _HIGH), self._row(_ROW, {})[0], strict=True):
            b.let(var.name, cell)
        with ExitStack() as nest:
            self._over_columns(nest)
            self._columns(statement)
            if block > 1:
                end = b.let("end", _HIGH - (_HIGH - _LOW) % block)
                with b.loop(_X.name, _LOW, end, block, unroll=unroll):
                    self._cells(statement, block)
                with b.loop(_X.name, end, _HIGH, unroll=1):
                    self._cells(statement, 1)
            else:
                with self._strided(_X.name, (_LOW, _HIGH), 0, unroll):
                    self._cells(statement, 1)
            self._write_back(statement)

    def _columns(self, statement: Statement) -> None:
        """Name the places on chip of the innermost axis that a statement's reads touch."""
        if self.rank > 1:
            own = self.b.let("own", self._from_box(self.rank - 1))
            for distance in sorted({0, *(read.offset[-1] for read in statement.reads)}):
                self.b.let(_beside(distance).name, self._on_ring(own + distance))

    def _cells(self, statement: Statement, block: int) -> None:
        site, work, loads = self.site, ir.Builder(), dict[tuple[object, ...], ir.Let]()
        own, stores = (0,) * self.rank, list[tuple[ir.Expr, ir.Expr]]()
        for cell in range(block):

            def read(node: Read, cell: int = cell) -> ir.Expr:
                key = (node.field, node.level, node.offset[0] + cell, node.offset[1:])
                if key not in loads:
                    x, inner = _X + (node.offset[0] + cell), self._near(node.offset)
                    var = ir.Var(f"r{len(loads)}", site.dtype)
                    loads[key] = ir.Let(var, self._on_chip(node.field, node.level, x, inner))
                return loads[key].var

            prefix = f"t{cell}_" if cell else "t"
            value = site.value(work, statement, read, NewCell(self._cell(cell), self._time), prefix)
            stores.append((self._on_chip(statement.field, 1, _X + cell, self._near(own)), value))
        self.b.emit(*loads.values(), *work.statements())
        for place, value in stores:
            self.b.set(place, value)

    def _write_back(self, statement: Statement) -> None:
        """Write the cells of a column whose place no later row of the tile writes: those outside ``kept0 … kept1``."""
        b, base = self.b, self.face.base
        later = self._later(statement)
        everything = b.let("all", self._or_edge(later >= self.face.height, statement))
        grow = b.let("later", self._grown(later))
        bounds = [
            b.let(f"kept{end}", ir.select(everything, _HIGH, ir.smallest(_HIGH, ir.largest(_LOW, cell))))
            for end, cell in enumerate((0 - grow, base + grow))
        ]
        cell = self._cell(0)
        memory = self._memory(statement.field, self._slot(statement.field, 1))
        if self.rank == 1:
            target = b.let("out", memory + ir.wide(_LEFT))[_X]
        else:
            row = self.site.layout(statement.field).row(memory, (_LEFT, *cell[1:-1]))
            target = b.let("out", row + cell[-1])[ir.wide(_X) * stride(0)]
        value = self._on_chip(statement.field, 1, _X, self._near((0,) * self.rank))
        if self.schedule.threads[0] > 1:  # every thread writes what it computed itself: no barrier is needed before
            with self._strided(_X.name, (_LOW, _HIGH), 0), b.when((_X < bounds[0]) | (_X >= bounds[1])):
                b.set(target, value)
        else:
            for low, high in ((_LOW, bounds[0]), (bounds[1], _HIGH)):
                with b.loop(_X.name, low, high, unroll=self.schedule.copy_unroll):
                    b.set(target, value)

    # Rows of tiles that something cuts.

    def _row_cut(self, statement: Statement) -> None:
        b, site, here = self.b, self.site, self.site.places

        def read(node: Read) -> ir.Expr:
            def load(cell: Cell) -> ir.Expr:
                places = [cell[axis] - ir.Var(f"z{axis}") for axis in range(1, self.rank)]
                places = [self._from_box(axis, place) for axis, place in enumerate(places, 1)]
                return self._on_chip(node.field, node.level, cell[0] - _LEFT, self._ringed(places))

            return site.guarded(node, here, load)

        with ExitStack() as nest:
            nest.enter_context(self._strided(_X.name, self._row(_ROW, {})[0], 0))
            self._over_columns(nest)
            for x, place in zip(here, self._cell(0), strict=True):
                b.let(x.name, place)
            nest.enter_context(b.when(site.in_bounds(statement, here)))
            value = b.let("v", site.value(b, statement, read, NewCell(here, self._time)))
            own = self._ringed([self._from_box(axis) for axis in range(1, self.rank)])
            b.set(self._on_chip(statement.field, 1, _X, own), value)
            with b.when(self._leaves(statement)):
                memory = self._memory(statement.field, self._slot(statement.field, 1))
                b.set(memory[_index(here)], value)

    def _leaves(self, statement: Statement) -> ir.Expr:
        """Whether no later row of the tile writes a cell's place, so that its value goes to memory."""
        later = self._later(statement)
        grow = self._grown(later)
        outside = (_X < 0 - grow) | (_X >= self.face.base + grow)
        return self._or_edge((later >= ir.Var("row1")) | outside, statement)

    # Geometry.

    @property
    def _first_step(self) -> ir.Expr:
        """The step of a tile's first row, counted from the first launch's."""
        return ir.floordiv(_START, self.cut.stages) if self.cut.stages > 1 else _START

    @property
    def _time(self) -> ir.Expr:
        """The step of a row, counted from the first launch's."""
        return self._first_step + _STEP

    def _classic_size(self, axis: int) -> int:
        return self.skews[axis - 1].size

    def _grown(self, row: ir.Expr) -> ir.Expr:
        """Cells by which a row extends the first one on either side."""
        return index(self.face.symbolic().grown(Name("row")), {"row": row})

    def _later(self, statement: Statement) -> ir.Expr:
        """The next row that writes where this one does."""
        return _ROW + self.site.copies(statement.field) * self.cut.stages

    def _or_edge(self, test: ir.Expr, statement: Statement) -> ir.Expr:
        """Whether a test holds, or a later row has moved along the outer classic axis beyond a cell."""
        if self.rank < 3:
            return test
        again = self.site.copies(statement.field) * self.cut.stages
        return test | (ir.Var("y1") >= self._classic_size(1) - self.skews[0].slope * again)

    def _row(self, row: ir.Expr | int, numbers: Names) -> tuple[tuple[ir.Expr, ir.Expr], ...]:
        """Cells of a row as the tree states them, of tiles 0 unless they are numbered and from the left end on."""
        zeros = {name: ir.Int(0) for name in ("left", *(f"classic{axis}" for axis in range(1, self.rank)))}
        first = ir.Int(row) if isinstance(row, int) else row
        names = {**zeros, "row": first, "grow": ir.Var("grow"), **numbers}
        node = self.rows.child
        while isinstance(node, Let):
            names.setdefault(node.name, index(node.value, names))
            node = node.child
        if not isinstance(node, Compute):
            raise TypeError(f"a row of a prism is computed, not a {type(node).__name__}")
        return tuple((index(low, names), index(high, names)) for low, high in node.box)

    def _in_row(self, axis: int) -> ir.Expr:
        """A cell along a classic axis of the row of the loop, from the classic tile's ``z`` on."""
        return self._row(_ROW, {})[axis][0] + ir.Var(f"y{axis}")

    def _cell(self, further: int) -> Cell:
        """Indices in the grid of a cell of a column, so many cells further along axis 0."""
        inner = (ir.Var(f"z{axis}") + self._in_row(axis) for axis in range(1, self.rank))
        return (_LEFT + _X + further, *inner)

    @contextmanager
    def _strided(self, name: str, span: Span, axis: int, unroll: int = 1) -> Iterator[None]:
        """A loop of one thread over its share of a range along an axis."""
        b, (low, high), count = self.b, span, self.schedule.threads[axis]
        own = ir.Var(f"i{axis}")
        with ExitStack() as nest:
            if count == 1:
                nest.enter_context(b.loop(name, low, high, unroll=unroll))
            elif isinstance(low, int) and isinstance(high, int):
                # All threads take as many turns: half the machine code of loops that each thread enters elsewhere; and
                # PoCL 3.0 puts a barrier into the first loop of a branch with barriers.
                first = nest.enter_context(b.loop(f"{name}_first", low, high, count, unroll=unroll))
                place = b.let(name, first + own)
                if (high - low) % count:
                    nest.enter_context(b.when(place < high))
            else:
                nest.enter_context(b.loop(name, own + low, high, count, unroll=unroll))
            yield

    # Places on chip.

    def _box_start(self, axis: int) -> ir.Expr:
        """Index in the grid at which the box on chip of a classic tile starts."""
        return ir.Var(f"z{axis}") + self.chip.box[axis - 1][0]

    def _from_box(self, axis: int, place: ir.Expr | None = None) -> ir.Expr:
        """A place relative to the classic tile, by default the thread's cell, counted from its box's start."""
        return (self._in_row(axis) if place is None else place) - self.chip.box[axis - 1][0]

    def _on_ring(self, place: ir.Expr) -> ir.Expr:
        """Where a cell of the innermost axis, a ring, lies on chip; ``place`` counts from the box's start."""
        moved, length = place + ir.Var("ring"), self.chip.extent(self.rank - 1)
        return ir.select(moved >= length, moved - length, moved)

    def _ringed(self, places: list[ir.Expr]) -> list[ir.Expr]:
        return [*places[:-1], *map(self._on_ring, places[-1:])]

    def _near(self, offset: tuple[int, ...]) -> list[ir.Expr]:
        """Places on chip of a read's classic axes, beside the thread's cell."""
        outer: list[ir.Expr] = [self._from_box(axis) + offset[axis] for axis in range(1, self.rank - 1)]
        return [*outer, _beside(offset[-1])] if self.rank > 1 else []

    def _on_chip(self, field: str, level: int, x: ir.Expr, inner: Sequence[ir.Expr]) -> ir.Load:
        """A cell of a version, by its level from a row's step on."""
        return self._slot_name(field, level)[self._place(self._field(field), x, inner)]

    def _place(self, field: ChipField, x: ir.Expr, inner: Sequence[ir.Expr]) -> ir.Expr:
        """Index in a slot on chip of a cell: ``x`` relative to the tile, inner places counted from the box's start."""
        result = x - field.low
        for axis, place in enumerate(inner, 1):
            result = result * self.chip.extent(axis) + place
        return result

    def _field(self, name: str) -> ChipField:
        return self.chip.fields[self.site.number(name)]

    def _slot(self, field: str, level: int) -> ir.Expr:
        """The slot on chip of a version by its level from a row's step on."""
        return self.site.layout(field).slot(level, _STEP)

    def _slot_at(self, field: ChipField, slot: ir.Expr) -> ir.Expr:
        """Pointer to the first value of a slot on chip."""
        start = self.site.shared + field.start
        if len(field.slots) == 1:
            return start
        plane = math.prod([field.high - field.low, *(self.chip.extent(axis) for axis in range(1, self.rank))])
        return start + ir.Int(plane) * slot

    def _slot_name(self, field: str, level: int) -> ir.Var:
        return ir.Var(level_name(f"u{self.site.number(field)}", level), ir.shared_pointer(self.site.dtype))

    def _memory(self, field: str, slot: ir.Expr) -> ir.Expr:
        """Pointer to cell zero in memory of a slot on chip."""
        layout = self.site.layout(field)
        return layout.version(0, ir.Var(f"turn{layout.copies}") + slot)


def _index(here: Cell) -> ir.Expr:
    """Index of a cell in a version: the sum from the innermost axis on."""
    result = here[-1]
    for axis, place in enumerate(here[:-1]):
        result = ir.wide(place) * stride(axis) + result
    return result


def _beside(distance: int) -> ir.Var:
    """Name of the place of a neighbour along the innermost axis."""
    return ir.Var(f"c{'m' if distance < 0 else 'p'}{abs(distance)}")
