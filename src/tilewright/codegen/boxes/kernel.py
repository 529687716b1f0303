"""One statement over a box of cells at one time: the kernels that every tiling calls.

Two functions per statement, ``cells`` and ``box``, and ``chains`` for rows of a recurrence whose cells wait for each
other. ``cells`` computes part of one row cell by cell, reads outside the grid included.
``box`` computes a box: whole vectors along the inside of every row, several rows at a time so that neighbouring rows
share their loads. Ends of rows that are ends of the grid are vectors like the others, whose lanes outside are filled
with the cells that they stand for; other ends are computed by ``cells``. Large sums over boxes are loops over their
reads (:mod:`tilewright.codegen.boxes.loops`).

What a box function does is told apart step by step, each in a function of its own::

    functions    sources, receivers and kept states behind the values
    _regions     around the middle of the program's regions: cut in pieces, or nested (fields in subdomains)
    values       of a slab along a side of the grid, which most boxes miss, one that looks
    _rows        long rows, whose neighbours are put together, or short ones; few cells one by one
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace

from tilewright.base.constants import CACHE_LINE, WORD
from tilewright.codegen import ir, points
from tilewright.codegen.boxes import vectors
from tilewright.codegen.boxes.loops import LoopSum
from tilewright.codegen.boxes.rows import AT_HIGH, AT_LOW, START, STOP, BoxStatement, split_row
from tilewright.codegen.expression import Leaves, lower_tape
from tilewright.codegen.layouts import Kept, stride
from tilewright.codegen.sites import Pair, Site, extent
from tilewright.codegen.sums.loop import write_lines
from tilewright.programs.stencil.expression import Read, placed
from tilewright.programs.stencil.problem import cells_at_end
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.regions import nested_axes

STEP = ir.Var("t")
Functions = tuple[ir.Function, ...]  # functions of which the last one is called, behind those that it calls


def cells_name(site: Site, number: int) -> str:
    """Name of the cell-by-cell function of a statement."""
    return f"{site.prefix}_cells_{number}"


def chains_name(site: Site, number: int) -> str:
    """Name of the function of a recurrence's statement over several rows."""
    return f"{site.prefix}_chains_{number}"


def box_name(site: Site, number: int) -> str:
    """Name of the function of a statement over boxes."""
    return f"{site.prefix}_box_{number}"


def call_boxes(b: ir.Builder, site: Site, statements: Iterable[int], step: ir.Expr, box: Sequence[Pair]) -> None:
    """Compute some statements over a box at a time step."""
    for number in statements:
        b.call(box_name(site, number), *site.params, step, *(bound for pair in box for bound in pair))


class BoxKernel:
    """What computes a statement over boxes of cells."""

    def __init__(self, site: Site, number: int) -> None:
        self.site, self.of = site, BoxStatement(site, number)
        self.statement, self.code, self.places = self.of.statement, self.of.code, self.of.places

    # Parts of functions

    def begin(self, name: str, kind: str = "apart") -> tuple[ir.Builder, list[Pair]]:
        """Start a function ``name(…, t, low0, high0, …)``."""
        b = ir.Builder(name, kind=kind)
        b.params(*self.site.params, STEP)
        axes = range(self.site.rank)
        return b, [(b.param(f"low{axis}"), b.param(f"high{axis}")) for axis in axes]

    def clip(self, b: ir.Builder, box: Sequence[Pair]) -> list[Pair]:
        """Name the cells of a box that the statement updates."""
        return [self.clip_axis(b, axis, span) for axis, span in enumerate(box)]

    def clip_axis(self, b: ir.Builder, axis: int, span: Pair) -> Pair:
        """The same along one axis."""
        (low, high), (least, end) = span, self.of.bounds[axis]
        return b.let(f"a{axis}", ir.largest(low, least)), b.let(f"b{axis}", ir.smallest(high, end))

    def call(self, b: ir.Builder, function: ir.Function, box: Sequence[Pair]) -> None:
        """Call a function of a box."""
        b.call(function.name, *self.site.params, STEP, *(end for pair in box for end in pair))

    def call_cells(self, b: ir.Builder, places: Sequence[ir.Expr], row: Pair) -> None:
        """Compute part of a row cell by cell."""
        b.call(cells_name(self.site, self.of.number), *self.site.params, STEP, *places, *row)

    def name_fields(self, b: ir.Builder, low: ir.Expr) -> None:
        """Name what the statement reads and writes; ``low`` starts pieces of rows."""
        self.site.name_sizes(b)
        self.of.name_versions(b, low, STEP)
        b.emit(*self.site.scalar_lets([self.statement], STEP))
        for node in placed(self.statement.tape):
            b.let(self.site.place_name(node).name, self.site.place_table(node))

    # The functions

    def cells_function(self) -> ir.Function:
        """A function ``cells(…, t, x0[, x1], low, high)`` that computes part of one row, cell by cell."""
        site, places = self.site, self.places
        b = ir.Builder(cells_name(site, self.of.number))
        b.params(*site.params, STEP, *places)
        low, high, x = b.param("low"), b.param("high"), ir.Var("x")
        rows, loop = self.of.rows(places, 1), LoopSum(self.of)
        near = loop.near
        self.name_fields(b, low)
        if near:
            loop.find(b, 1)
        else:
            for axis in range(len(places)):
                self.of.name_inside(b, axis)
            b.emit(*rows.lets)
        target = self.of.name_target(b, 0, places)
        with b.loop(x.name, low, high):
            if near:
                starts = loop.found(rows)
                (value,) = write_lines(
                    b,
                    site.dtype,
                    near,
                    self.code.rest,
                    x,
                    lambda node, _, at: self._cell(node, starts[rows.of(node)], at),
                )
            else:
                value = self._value(b, (*places, x), lambda node: self._read(node, rows.of(node), x))
            b.set(target[x], value)
        return b.function()

    def _value(
        self, b: ir.Builder, cell: Sequence[ir.Expr], read: Callable[[Read], ir.Expr], prefix: str = "t"
    ) -> ir.Expr:
        """Compute the statement at a cell."""
        leaves = Leaves(
            dtype=self.site.dtype,
            read=read,
            vector=False,
            placed=lambda node: self.site.place_name(node)[cell[node.axis]],
        )
        body, value = lower_tape(self.statement.tape, leaves, prefix)
        b.emit(*body)
        return value

    def _read(self, node: Read, row: ir.Expr, at: ir.Expr) -> ir.Expr:
        return self._cell(node, row, at + node.offset[-1]) if node.offset[-1] else row[at]

    def _cell(self, node: Read, row: ir.Expr, at: ir.Expr) -> ir.Expr:
        """A cell of a row that may lie outside the grid."""
        function = self.site.cell_function(node.field)
        if function is None:
            return row[at]
        return ir.Call(function.name, (row, at, extent(self.site.rank - 1)), function.result_type)

    def chains_function(self) -> ir.Function:
        """A function ``chains(…, t, x0[, x1], low, high)`` that computes part of some rows of a recurrence.

        Cells of a row wait for each other, each as long as its operations follow one another. So a cell of each of
        several rows is computed in turn, every row some cells behind the one before it, and as many chains are under
        way (loop skewing and unroll-and-jam). The new values that the next cells need stay in registers.

        Before, row after row:       After, of three rows, each a cell behind the one before it:
            1  2  3  4                   1 3 6 9 …
            5  6  7  8                   2 5 8 …
            9 …                          4 7 …
        """
        site, places, code = self.site, self.places, self.code
        b, count, behind = ir.Builder(chains_name(site, self.of.number)), code.chains, code.behind
        b.params(*site.params, STEP, *places)
        low, high = b.param("low"), b.param("high")
        beside = [(*places[:-1], places[-1] + shift) for shift in range(count)]
        rows = self.of.rows(places, count)
        self.name_fields(b, low)
        for axis in range(len(places)):
            self.of.name_inside(b, axis, count)
        b.emit(*rows.lets)
        targets = [self.of.name_target(b, shift, at) for shift, at in enumerate(beside)]
        whole = b.let("whole", low + (count - 1) * behind)  # from here on all rows are under way

        def edge(first: ir.Expr, last: ir.Expr) -> None:
            with b.loop("j", first, last) as j, b.loop("ahead", 0, count) as rest:
                shift = b.let("shift", count - 1 - rest)
                x = b.let("x", j - shift * behind)
                with b.when((x >= low) & (x < high)):
                    self.call_cells(b, (*places[:-1], places[-1] + shift), (x, x + 1))

        edge(low, whole)
        own = Read(field=self.statement.field, level=1, offset=(*(0 for _ in places), -1))
        ahead = replace(own, offset=(*(0 for _ in places[1:]), -1, behind - 1))
        held: dict[tuple[int, Read], ir.Expr] = {}
        with b.when(whole < high):
            if own in self.statement.reads and site.problem.itemsize >= WORD:  # shorter ones are rounded when stored
                for shift in range(count):
                    before = self._read(own, rows.of(own, shift), whole - shift * behind)
                    held[shift, own] = held[shift + 1, ahead] = b.mutable(f"last{shift}", before, site.dtype)
            with b.loop("j", whole, high) as j:
                for shift, at in reversed(list(enumerate(beside))):
                    x = b.let(f"j{shift}", j - shift * behind)

                    def read(node: Read, shift: int = shift, x: ir.Expr = x) -> ir.Expr:
                        return held.get((shift, node)) or self._read(node, rows.of(node, shift), x)

                    value = self._value(b, (*at, x), read, f"t{shift}_")
                    b.set(targets[shift][x], value)
                    if held:
                        b.set(held[shift, own], value)
        edge(ir.largest(whole, high), high + (count - 1) * behind)
        return b.function()

    def functions(self) -> Functions:
        """A function ``box(…, t, low0, high0, …)`` for the cells of a box that the statement updates."""
        site, field, name = self.site, self.statement.field, box_name(self.site, self.of.number)
        after = [points.points_function(site, field, STEP)] if points.touches(site.problem, field) else []
        after += [self._state_function()] if site.streams_states else []
        if not after:
            return self._regions(name)
        *others, values = self._regions(f"{name}_values")
        b, box = self.begin(name, "local")
        for each in (values, *after):
            self.call(b, each, box)
        return (*others, values, *after, b.function())

    def _regions(self, name: str) -> Functions:
        inner = self.site.inner
        if not inner or inner[0][1].problem.program.statements[self.of.number] == self.statement:
            return self.values(name)
        if self.site.packed:
            return self._nested(name, dict(inner))
        return self._split(name, BoxKernel(inner[0][1], self.of.number))

    def _split(self, name: str, inner: "BoxKernel") -> Functions:
        """Cut a box at the edges of the regions' middle: what lies around it is computed with all regions."""
        every, inside = self.values(f"{name}_every"), inner.values(f"{name}_middle")
        b, box = self.begin(name)
        self.site.name_sizes(b)
        whole: list[Pair] = []
        cut: list[Pair] = []
        for axis, (first, end) in enumerate(self.site.middle):
            low, high = self.clip_axis(b, axis, box[axis])
            whole.append((low, high))
            cut.append((b.let(f"c{axis}", ir.largest(low, first)), b.let(f"d{axis}", ir.smallest(high, end))))
        with b.when(ir.every(low < high for low, high in cut)):
            for axis, (start, stop) in enumerate(cut):
                for low, high in ((whole[axis][0], start), (stop, whole[axis][1])):
                    with b.when(low < high):
                        self.call(b, every[-1], [*cut[:axis], (low, high), *whole[axis + 1 :]])
            self.call(b, inside[-1], cut)
        with b.otherwise():
            self.call(b, every[-1], whole)
        return (*every, inner.cells_function(), *inside, b.function())

    def _nested(self, name: str, known: dict[tuple[int, ...], Site]) -> Functions:
        """The same where fields lie in memory at the ends of axes alone.

        A box is cut along one axis after the other, the innermost first: its ends are computed with all that is not
        known yet, its middle is cut further. Of a field of a subdomain there is nothing in the middle.
        """
        own = dict(self.site.storage.subdomains).get(self.statement.field)
        order = nested_axes(self.site.problem.program) if own is None else (own.axis,)
        counts = range(1, len(order) + 1) if own is None else range(0)
        kernels = [self, *(BoxKernel(known[tuple(sorted(order[:count]))], self.of.number) for count in counts)]
        made: dict[Statement, Functions] = {}
        for place, each in enumerate(kernels):
            if each.statement not in made:
                cells = () if each is self else (each.cells_function(),)
                made[each.statement] = (*cells, *each.values(f"{name}_of{place}"))
        b, box = self.begin(name)
        self.site.name_sizes(b)

        def call(place: int, cells: list[Pair]) -> None:
            self.call(b, made[kernels[place].statement][-1], cells)

        def cut(place: int, cells: list[Pair]) -> None:
            if place == len(order):
                call(place, cells)
                return
            axis = order[place]
            (low, high), (first, end) = cells[axis], self.site.middle[axis]

            def span(start: ir.Expr, stop: ir.Expr) -> list[Pair]:
                return [*cells[:axis], (start, stop), *cells[axis + 1 :]]

            stop, start = b.let(f"c{axis}", ir.smallest(high, first)), b.let(f"d{axis}", ir.largest(low, end))
            with b.when(low < stop):
                call(place, span(low, stop))
            with b.when(start < high):
                call(place, span(start, high))
            if own is None:
                start, stop = b.let(f"e{axis}", ir.largest(low, first)), b.let(f"f{axis}", ir.smallest(high, end))
                with b.when(start < stop):
                    cut(place + 1, span(start, stop))

        cut(0, self.clip(b, box))
        return (*(each for group in made.values() for each in group), b.function())

    def values(self, name: str) -> Functions:
        """What computes the values of a box; of a slab along a side of the grid, one that looks first."""
        sides = [axis for axis, span in enumerate(self.site.problem.spans(self.statement)) if cells_at_end(span)]
        if not sides:
            return self._rows(name)
        made = self._rows(f"{name}_slab")
        b, box = self.begin(name, "inline")
        self.site.name_sizes(b)
        hit: list[ir.Expr] = []
        for axis in sides:
            (low, high), (first, end) = box[axis], self.of.bounds[axis]
            hit += [low < end, first < high]
        with b.when(ir.every(hit)):
            self.call(b, made[-1], box)
        return (*made, b.function())

    def _rows(self, name: str) -> Functions:
        block = self.code.block
        if self.code.single:
            return (self._cell_loops(name),)
        if block.neighbours != "shuffles":
            blocks = [(rows, self.of.rows(self.places, rows)) for rows in sorted({1, block.rows})]
            return (*LoopSum(self.of).functions(blocks), _VectorLoops(self, name).function(block.rows))
        short = _VectorLoops(self, f"{name}_short").function(self.code.short)
        long = _VectorLoops(self, f"{name}_long", together=True).function(block.rows)
        b, box = self.begin(name, "inline")
        low, high = box[-1]
        with b.when(vectors.are_long(self.of, high - low)):
            self.call(b, long, box)
        with b.otherwise():
            self.call(b, short, box)
        return (short, long, b.function())

    def _cell_loops(self, name: str) -> ir.Function:
        b, box = self.begin(name)
        self.site.name_sizes(b)
        cells = self.clip(b, box)
        with b.nest([place.name for place in self.places], cells[:-1]):
            self.call_cells(b, self.places, cells[-1])
        return b.function()

    def _state_function(self) -> ir.Function:
        """A function ``state(…, t, low0, high0, …)`` that writes what is computed of a box where a band keeps states.

        Steps read and write as few versions in turn as they need, which stay in the caches; behind these lie the
        states, which are written past the caches: a line that is only overwritten is not fetched before (non-temporal
        stores). Of a row that is not cut whole lines are written, its ends included, which no step changes: a line of
        which a part is written is fetched after all, and every later store waits for it.
        """
        site, size, layout = self.site, self.site.problem.itemsize, self.of.layouts[self.statement.field]
        if not isinstance(layout, Kept):
            raise TypeError(f"no states are kept of {self.statement.field}")
        b, box = self.begin(f"{site.prefix}_state_{self.of.number}")
        site.name_sizes(b)
        cells = self.clip(b, box)
        target, state = b.let("target", layout.version(1, STEP)), b.let("state", layout.state(STEP))
        count = b.let("cells", (extent(0) * stride(0) if site.rank > 1 else extent(0)) * (site.storage.kept * size))
        past = b.let("past", count > (site.body.streamed or 0), ir.INDEX)
        (start, stop), (least, end) = cells[-1], self.of.bounds[-1]
        first, last = start, stop
        if site.rank > 1:  # in 1D the next version lies behind the only row
            line, whole = CACHE_LINE // size, start.equals(least) & stop.equals(end)
            first = ir.select(whole, 0, start)
            last = ir.select(whole, ir.ceildiv(extent(site.rank - 1), line) * line, stop)
        first, last = b.let("first", first), b.let("last", last)
        with b.when(start < stop):
            with b.nest([place.name for place in self.places], cells[:-1]) as places:
                offset = layout.row(first, places)
                b.intrinsic("put", site.dtype, state + offset, target + offset, (last - first) * size, past)
            b.intrinsic("fence", site.dtype)
        return b.function()


class _VectorLoops:
    """A function for boxes, row by row; ``together`` says whether neighbours along rows are put together."""

    def __init__(self, kernel: BoxKernel, name: str, *, together: bool = False) -> None:
        self.kernel, self.of, self.code, self.together = kernel, kernel.of, kernel.code, together
        self.b, box = kernel.begin(name)
        kernel.name_fields(self.b, box[-1][0])
        self.box = kernel.clip(self.b, box)
        split_row(self.b, self.of, self.box[-1])
        self.bytes = extent(0) * stride(0) * self.of.site.problem.itemsize  # of a field
        if self.code.asked is not None:
            self.b.let(vectors.AHEAD.name, ir.select(ir.Int(self.code.asked) < self.bytes, ir.Int(1), 0))
        if together:
            vectors.name_bounds(self.b, self.of)

    def function(self, block: int) -> ir.Function:
        if not self.of.places:
            self._block(1)
            return self.b.function()
        axis = self.code.of(block).axis
        with ExitStack() as loops:
            for outer, place in enumerate(self.of.places[:axis]):
                loops.enter_context(self.b.loop(place.name, *self.box[outer]))
                if not self.code.block.loops:
                    self.of.name_inside(self.b, outer)
            self._blocks(axis, block)
        return self.b.function()

    def _blocks(self, axis: int, block: int) -> None:
        """Blocks of rows, where the field is small enough for them, then single rows."""
        start, end = self.box[axis]
        if block > 1:
            length = ir.largest(end - start, 0)
            whole = start + (length - length % block)
            if self.code.cached is not None:
                whole = ir.select(self.bytes <= self.code.cached, whole, start)
            stop = self.b.let("whole", whole)
            self._rows(axis, (start, stop), block)
            start = stop
        self._rows(axis, (start, end), 1)

    def _rows(self, axis: int, span: Pair, block: int) -> None:
        """The loop over an axis, by blocks if they lie along it, and over those after it."""
        b, place = self.b, self.of.places[axis]
        step = block if axis == self.code.of(block).axis else 1
        if axis == self.of.site.rank - 2:
            # Compilers would carry a dozen addresses from row to row, and have no registers left for the vectors' loop.
            with b.loop("row", *span, step) as row:
                b.let(place.name, ir.op(ir.Operator.OPAQUE, row))
                self._block(block)
            return
        with b.loop(place.name, *span, step):
            self.of.name_inside(b, axis, block)
            self._rows(axis + 1, self.box[axis + 1], block)

    def _block(self, block: int) -> None:
        """``block`` neighbouring rows: whole vectors, or cell by cell at ends that are none of the grid's.

        The first and the last vector of a row overlap others where it must be, so that the others are aligned and no
        scalar remainder is left: some cells are computed twice, with the same result. Where the new version overwrites
        one that is read, lanes that are already done keep their values.
        """
        b, of, (start, stop) = self.b, self.of, self.box[-1]
        rows = of.rows(of.places, block)
        carried = vectors.carried_rows(of, rows, self.code.of(block)) if self.together else ()
        group = vectors.RowGroup(b=b, of=of, rows=rows, carried=carried, block=block)
        beside = [
            tuple(place + shift if axis == rows.axis else place for axis, place in enumerate(of.places))
            for shift in range(block)
        ]
        group.find()
        for shift, places in enumerate(beside):
            of.name_target(b, shift, places)
        group.inside()

        def slow(low: ir.Expr, high: ir.Expr) -> None:
            with b.when(low < high):
                for places in beside:
                    self.kernel.call_cells(b, places, (low, high))

        sides = ((True, AT_LOW, (start, START)), (False, AT_HIGH, (STOP, stop)))
        for (low_side, at_end, span), as_vector in zip(sides, of.vectors_at_ends, strict=True):
            if not as_vector:
                slow(*span)
                continue
            with b.when(at_end.differs(0)):
                group.end(low_side=low_side)
            with b.otherwise():
                slow(*span)
