"""The inner loops of a streaming kernel: one stage over lifted rows, several rows blocked in registers.

Where it matters how many vector registers there are, a stage is written twice: for 32 (AVX-512), and for 16 (AVX2 and
baseline x86-64), as the kernel's body says for each. The compiler's own macros choose, so that one text serves every
processor. In 3D rows of two planes at a time may be computed by functions of their own, which every pair of planes
calls: they are given where the planes that they read start, so that one text serves all pairs of an advance.
"""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from tilewright.codegen import ir
from tilewright.codegen.streaming import names as v
from tilewright.codegen.streaming.layout import Slabs, StreamField, StreamLayout, StreamStage, level_tag
from tilewright.codegen.sums import write_sums
from tilewright.codegen.sums.carry import CarriedSum
from tilewright.codegen.sums.loop import INDEX
from tilewright.codegen.sums.registers import OperandTable, RegisterBlock, Results
from tilewright.codegen.tapes import in_any_order
from tilewright.programs.stencil.expression import Placed, Read
from tilewright.programs.stencil.weights import SUM, Apart, apart, equal_box, equal_boxes
from tilewright.schedules.code import Place, RowCode, StageCode, Sum


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """What a block reads and writes."""

    # where the slab of a version (number of its field, level) at a position along axis 0 starts
    slab: Callable[[int, int, int], ir.Expr]
    result: Callable[[StreamField, int], ir.Expr]  # where that of a field's results starts
    line: ir.Expr  # the first line, as what depends on the place alone counts them
    row: ir.Expr  # where its row starts, as the index of vectors counts
    factors: ir.Expr | None = None  # the table of weights, where sums may be loops


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """The code of one iteration, a vector of every row of a block."""

    dtype: ir.Element
    body: tuple[ir.Stmt, ...]
    start: tuple[ir.Stmt, ...]  # what comes before the first vector of a row
    ahead: int  # vectors before the first one that are gone through as well
    lead: tuple[ir.Stmt, ...]  # what is done for each of them
    weights: tuple[float, ...]  # the weights that the table holds

    def loop(self, b: ir.Builder, low: ir.Expr, high: ir.Expr) -> None:
        """Iterate from ``low`` to ``high``."""
        if not self.ahead:
            self._loop(b, low, high, self.body)
            return
        with b.scope():
            b.emit(*self.start)
            self._loop(b, moved(low, v.V, -self.ahead), low, self.lead)
            self._loop(b, low, high, self.body)

    def _loop(self, b: ir.Builder, low: ir.Expr, high: ir.Expr, body: tuple[ir.Stmt, ...]) -> None:
        with b.loop(INDEX.name, low, high, ir.Lanes(self.dtype)):
            b.emit(*body)


def moved(index: ir.Expr, unit: ir.Var, times: int) -> ir.Expr:
    """An index some units further."""
    return index + unit * times if times >= 0 else index - unit * -times


class BlockWriter:
    """Writes some rows along axis 0, and some along the middle axis in 3D; it says where their vectors come from."""

    def __init__(self, stage: StreamStage, code: RowCode, operands: Operands) -> None:
        self.stage, self.code, self.operands = stage, code, operands
        self.layout, self.dtype = stage.layout, stage.layout.dtype
        self.table = None if operands.factors is None else OperandTable(start=operands.factors, load=self.along)
        self.registers = RegisterBlock(self, code.places, table=self.table, placed=self._placed)

    def iteration(self) -> Iteration:
        """Write one iteration."""
        registers, outputs = self.registers, self.stage.outputs
        carried = [self._carried(field) if self.code.carried else () for field in outputs]
        sums = [each for some in carried for each in some]
        advance = tuple(statement for each in sums for statement in each.advance())
        lead = (*registers.body, *advance)
        stores: list[ir.Stmt] = []
        for field, forms, some in zip(outputs, self.code.sums, carried, strict=True):
            for at, value in self._values(field, forms, some).items():
                place = moved(INDEX, v.PITCH, at[1])
                stores.append(ir.Store(self.operands.result(field, at[0]), place, value, registers.kind))
        return Iteration(
            dtype=self.dtype,
            body=(*registers.finish(), *stores, *advance),
            start=tuple(statement for each in sums for statement in each.start()),
            ahead=max((each.ahead for each in sums), default=0),
            lead=lead,
            weights=tuple(self.table.factors if self.table else ()),
        )

    def _carried(self, field: StreamField) -> tuple[CarriedSum, ...]:
        """Write what is carried of a field's sums over boxes with one weight."""
        boxes = [equal_box(terms) for terms in equal_boxes(field.statement).sums] if field.statement else []
        return tuple(
            CarriedSum(self.registers, f"{field.name}_s{number}", box) for number, box in enumerate(boxes) if box
        )

    def _values(self, field: StreamField, forms: tuple[Sum, ...], carried: Sequence[CarriedSum]) -> Results:
        """Write the new values of a field; one that is only handed on is loaded."""
        name, statement, code = field.name, field.statement, self.code
        if statement is None:
            read = Read(name, 0, (0,) * self.layout.rank)
            return {at: self.registers.load(read, at) for at in self.registers.places}
        if carried:
            split = equal_boxes(statement)
            sums: dict[str, Results] = {f"{SUM}{number}": each.results() for number, each in enumerate(carried)}
        else:
            split = apart(statement, pairs=code.pairs) if forms else Apart(statement.tape, ())
            sums = write_sums(self.registers, split, forms, lambda number: f"{name}_s{number}" if number else name)
        tape = in_any_order(split.tape, self.layout.site)
        return self.registers.values(tape, lambda at: f"{name}{at[0]}{at[1]}_", sums, in_turn=code.in_turn)

    def _placed(self, node: Placed, at: Place) -> ir.Expr:
        """The numbers of a block that depend on the place alone: one for all of a row, or a vector."""
        start, axis = self.layout.site.place_name(node), self.layout.axis_of(node.axis)
        if axis == self.layout.rank - 1:
            return start.vector(INDEX - self.operands.row)
        return start[at[0] if axis == 0 else self.operands.line + at[1]]

    # Where vectors come from: lifted rows of slabs

    def key(self, read: Read, at: Place) -> tuple[int, int, Place, int]:
        """What reads of one vector have in common."""
        return self._field(read).number, read.level, self._position(read, at), read.offset[-1]

    def vector(self, read: Read, at: Place) -> ir.Load:
        """The vector of a read."""
        return self.along(read, at, moved(INDEX, v.V, read.offset[-1]))

    def along(self, read: Read, at: Place, index: ir.Expr) -> ir.Load:
        """The vector of a read, from an index along the rows that its offset is already part of."""
        position, line = self._position(read, at)
        slab = self.operands.slab(self._field(read).number, read.level, position)
        return slab.vector(moved(index, v.PITCH, line))

    def _field(self, read: Read) -> StreamField:
        return self.layout.fields[self.layout.site.problem.program.fields.index(read.field)]

    def _position(self, read: Read, at: Place) -> Place:
        """Where a read of a place lies: the slab's position along axis 0, and its line."""
        rank = self.layout.rank
        offset = (0,) * (rank - len(read.offset)) + read.offset
        behind = self.layout.lag(self._field(read).stage, self.stage.number, 1 - read.level)
        return at[0] + offset[0] - behind, at[1] + (offset[1] if rank == 3 else 0)


class StageFunctions:
    """The functions that compute one stage over the rows of one advance, the ends of the rows included."""

    def __init__(self, stage: StreamStage, ends: Sequence[ir.Function]) -> None:
        self.stage, self.layout, self.site = stage, stage.layout, stage.layout.site
        self.ends = ends  # per field, the function that finishes the ends of a row
        self.places = {node: self.site.place_name(node) for node in stage.places}
        # where a row starts, by the index of vectors
        self.row = v.LINE * v.PITCH if self.layout.rank == 3 else ir.Int(0)

    @functools.cached_property
    def functions(self) -> tuple[ir.Function, ...]:
        """All of them; the one that computes the stage comes last, after functions that it calls."""
        code = self.site.body.stages[self.stage.number]
        many, few = self._functions(code.many), self._functions(code.few)
        if many == few:
            return many
        return (*(replace(each, registers=32) for each in many), *(replace(each, registers=16) for each in few))

    @functools.cached_property
    def middles(self) -> tuple[tuple[tuple[int, ...], "StageFunctions"], ...]:
        """The same for rows that meet no edge of a region along some axes of the program, the most axes first."""
        middles = []
        for number, (axes, site) in enumerate(self.site.inner):
            named = replace(site, prefix=self.site.prefix)
            inner = StreamLayout(named, self.layout.tiling, variant=f"_inner{number or ''}")
            stage = inner.stages[self.stage.number]
            if stage.statements != self.stage.statements:
                middles.append((axes, StageFunctions(stage, self.ends)))
        return tuple(middles)

    # Calls

    def compute(
        self, b: ir.Builder, lines: tuple[ir.Expr, ir.Expr] | None, given: Mapping[str, ir.Expr], skipped: int = 0
    ) -> None:
        """Call the stage for its rows: where they meet no edge of a region, the function that knows of none."""
        if skipped == len(self.middles):
            self.call(b, lines, given)
            return
        axes, inner = self.middles[skipped]
        with b.when(self._in_middle(axes)):
            if lines and 1 in axes:
                first, end = (at - v.GY for at in self.site.middle[1])
                low = b.let("middle_a", ir.smallest(ir.largest(lines[0], first), lines[1]))
                high = b.let("middle_b", ir.largest(low, ir.smallest(lines[1], end)))
                self.call(b, (lines[0], low), given)
                inner.call(b, (low, high), given)
                self.call(b, (high, lines[1]), given)
            else:
                inner.call(b, lines, given)
        with b.otherwise():
            self.compute(b, lines, given, skipped + 1)

    def call(self, b: ir.Builder, lines: tuple[ir.Expr, ir.Expr] | None, given: Mapping[str, ir.Expr]) -> None:
        """Call the function that computes the stage."""
        moves = (v.Y0, v.GY, ir.Int(0)) if lines else (v.Y0, ir.Int(0))
        places = self.layout.places_at(self.places, moves)
        ends = {"first": lines[0], "last": lines[1]} if lines else {}
        v.call(b, self.functions[-1], **given, **places, **ends)

    def _in_middle(self, axes: Sequence[int]) -> ir.Expr:
        """Whether the rows of an advance, as far as the grid has them, meet no edge of a region along some axes.

        Lines of a slab in 3D are told apart one by one.
        """
        layout, rank = self.layout, self.site.rank
        inside: ir.Expr = ir.Int(1)
        for axis in axes:
            of_rows = layout.axis_of(axis) == 0
            if of_rows or axis == rank - 1:
                begin, length, extent = (v.Y0, layout.rows, v.N0) if of_rows else (v.GX, layout.width, v.N)
                low, high = self.site.middle[axis]
                inside = inside & ((ir.largest(begin, 0) >= low) & (ir.smallest(begin + length, extent) <= high))
        return inside

    # Functions

    def _functions(self, code: StageCode) -> tuple[ir.Function, ...]:
        """All of them for many registers, or for few."""
        stage, layout = self.stage, self.layout
        new = ", ".join(field.name for field in stage.outputs)
        about = f"New values ({new}) in the rows of one advance of one level."
        name = layout.name(f"stage_{stage.number}{layout.variant}")
        b = ir.Builder(name, distinct=code.distinct and not code.planes, about=about)
        b.params(self.site.scalar, *(var for key in stage.sources for var in stage.source(*key).params))
        b.params(*(var for field in stage.outputs for var in field.out.params[:2]), *self.places.values())
        if layout.rank == 3:
            b.params(v.FIRST, v.LAST, *(var for each in stage.loaded for var in next_rows(*each)), v.CHUNK)
        b.params(v.GX, v.N, v.EDGE)
        layout.name_sizes(b)
        return (*(self._in_planes(b, code) if code.planes else self._in_one(b, code)), b.function())

    def _in_one(self, b: ir.Builder, code: StageCode) -> tuple[ir.Function, ...]:
        """A loop that computes all rows of the advance and calls no further function."""
        b.emit(*self.scalars())
        operands = Operands(
            slab=lambda number, level, position: self.stage.source(number, level).at(position),
            result=lambda field, position: field.out.at(position),
            line=v.LINE,
            row=self.row,
        )
        sizes = dict.fromkeys((code.lines, 1))
        blocks = {n: BlockWriter(self.stage, code.of(self.layout.rows, n), operands).iteration() for n in sizes}

        def compute(lines: int) -> None:
            blocks[lines].loop(b, self.row, self.row + v.in_vectors(v.VECTORS))

        self._over_lines(b, code.lines, compute)
        return ()

    def _in_planes(self, b: ir.Builder, code: StageCode) -> tuple[ir.Function, ...]:
        """Calls of functions that compute some planes each, which are returned."""
        functions: dict[tuple[int, int], PlanesFunction] = {}
        for block in itertools.product((code.lines, 1), code.planes):
            if block not in functions:
                functions[block] = PlanesFunction(self, code.of(block[1], block[0]))
        b.emit(*dict.fromkeys(each.table for each in functions.values()))
        shifts = [sum(code.planes[:number]) for number in range(len(code.planes))]

        def compute(lines: int) -> None:
            for shift, planes in zip(shifts, code.planes, strict=True):
                functions[lines, planes].call(b, shift)

        self._over_lines(b, code.lines, compute)
        return tuple(each.function for each in functions.values())

    def _over_lines(self, b: ir.Builder, lines: int, compute: Callable[[int], None]) -> None:
        """Compute and finish the rows of an advance, in 3D some of a plane at a time, then what is left one by one."""

        def rows(count: int) -> None:
            compute(count)
            self._finish(b, count)

        if self.layout.rank == 2:
            rows(1)
            return
        single: ir.Expr = v.FIRST
        if lines > 1:
            single = b.let("whole", v.LAST - ir.largest(v.LAST - v.FIRST, 0) % lines)
            with b.loop("line", v.FIRST, single, lines):
                rows(lines)
        with b.loop("line", single, v.LAST):
            rows(1)

    def _finish(self, b: ir.Builder, lines: int) -> None:
        """Finish the ends of some rows; in 3D ask for cells that the next advance loads, so that memory works, too."""
        layout, number = self.layout, self.stage.number
        back = layout.lag(number, number, 1)
        for field, shift, line in itertools.product(self.stage.outputs, range(layout.rows), range(lines)):
            at = moved(self.row, v.PITCH, line)
            old = field.version("now").at(shift - back)
            v.call(b, self.ends[field.number], row=field.out.at(shift) + at, old=old + at)
        if layout.rank == 2:
            return
        for line, (field, age), r in itertools.product(range(lines), self.stage.loaded, range(layout.rows)):
            start, plane, row = next_rows(field, age)
            with b.loop("x", 0, v.CHUNK, layout.line_cells) as x:
                b.intrinsic("prefetch", layout.dtype, start + (v.LINE + line) * row + plane * r + x)

    def scalars(self) -> tuple[ir.Stmt, ...]:
        """Name the scalars that the stage uses."""
        return self.site.scalar_lets(self.stage.statements)


class PlanesFunction:
    """A function that computes rows of some planes, with a table that holds the factors."""

    def __init__(self, of: StageFunctions, code: RowCode) -> None:
        stage, layout = of.stage, of.layout
        self.stage, self.places = stage, of.places
        # what it is given pointers to, the version and the position for planes from 0 on
        self.reads: dict[ir.Var, tuple[Slabs, int]] = {}
        self.results = {self._result(f, plane): (f.out, plane) for f in stage.outputs for plane in range(code.rows)}
        factors = ir.Var("factors", ir.const_pointer(ir.weight_of(layout.dtype)))
        operands = Operands(slab=self._slab, result=self._result, line=ir.Int(0), row=ir.Int(0), factors=factors)
        each = BlockWriter(stage, code, operands).iteration()
        self.table = ir.ConstArray(ir.Var(f"factors_{code.rows}", factors.type), each.weights)
        name = f"rows_{stage.number}{layout.variant}_{code.rows}x{code.lines}"
        b = ir.Builder(layout.name(name), about=_about(code))
        scalars = of.scalars()
        b.params(*([layout.site.scalar] if scalars else []), *self.places.values(), factors)
        b.params(*self.reads, *self.results)
        layout.name_sizes(b, v.PITCH)
        b.emit(*scalars)
        each.loop(b, ir.Int(0), v.in_vectors(v.VECTORS))
        self.function = b.function()

    def call(self, b: ir.Builder, shift: int) -> None:
        """Call it for planes from ``shift`` on, at the line that a loop goes through."""
        moves = (ir.Int(shift), v.LINE, ir.Int(0))
        places = self.stage.layout.places_at(self.places, moves)
        slabs = {**self.reads, **self.results}
        starts = {
            var.name: version.at(position + shift) + v.LINE * v.PITCH for var, (version, position) in slabs.items()
        }
        v.call(b, self.function, factors=self.table.var, **places, **starts)

    def _slab(self, number: int, level: int, position: int) -> ir.Var:
        name = f"{self.stage.layout.fields[number].name}_{level_tag(level)}_{'m' * (position < 0)}{abs(position)}"
        var = ir.Var(name, ir.const_pointer(self.stage.layout.dtype))
        self.reads[var] = self.stage.source(number, level), position
        return var

    def _result(self, field: StreamField, plane: int) -> ir.Var:
        return ir.Var(f"{field.name}_out_{plane}", ir.pointer(self.stage.layout.dtype))


def next_rows(field: StreamField, age: int) -> tuple[ir.Var, ir.Var, ir.Var]:
    """Names of the pointer to what the next advance loads, in 3D, and of the distances of planes and rows there."""
    name = f"next_{field.name}{age or ''}"
    return ir.Var(name, ir.const_pointer(field.layout.dtype)), ir.Var(f"{name}_plane"), ir.Var(f"{name}_row")


def _about(code: RowCode) -> str:
    """What a function computes, and how pairs of planes are where it does not say."""
    loaded = any(each.loaded for some in code.sums for each in some)
    pairs = "" if loaded else ", of pairs of planes by y0 = (b + c) + a and y1 = (b - c) + e"
    numbers = f"{code.rows}, {code.lines}"
    return f"New values in so many planes and rows of each: {numbers}{pairs}; a table holds the factors."
