"""Schedule trees -> loops on a CPU: the one place where a family's order becomes code for processors.

    Mark                    a comment
    Let                     a name; one for a name or a number is replaced by it
    Loop                    for (…)                        without a loop where it has a single iteration
    Wavefronts              the loop over the sums         :func:`tilewright.schedules.tree.nodes.unfolded`
    Parallel                #pragma omp for, dynamic       over all tiles of the wavefront, counted off in one number
    Guard                   if (…)
    Compute in a tile       calls of the statements' kernels, which cut the box to the grid
    Compute in no tile      a sweep that threads share: :class:`SweepKernel`

One team of threads runs everything from the first node on that is not a name or a comment. What a tree's expressions
and names become is the same for GPUs (:func:`index`, :func:`bound`).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from operator import add, mod, mul, sub, truediv

from tilewright.base.constants import CACHE_LINE
from tilewright.base.intmath import round_up
from tilewright.codegen import ir, points
from tilewright.codegen.boxes.kernel import call_boxes, cells_name, chains_name
from tilewright.codegen.layouts import stride
from tilewright.codegen.sites import SIZE, KernelSite, Pair, Site, extent
from tilewright.programs.stencil.dependences import chained_reads
from tilewright.programs.stencil.program import Program
from tilewright.schedules.tree import nodes
from tilewright.schedules.tree.affine import AffineOperator, Combined, Expr, Name, Whole
from tilewright.schedules.tree.nodes import Node

Names = Mapping[str, ir.Expr]  # what the tree's names stand for, where not for variables of the same name
BLOCK = 2**18
"""Cells after which a thread asks whether the results are still wanted: at a microsecond each a fourth of a second."""
_STRETCH_STEPS = 64  # steps after which it asks at the latest: asking in each costs up to 3 % of the shortest ones

_BUILD: Mapping[AffineOperator, Callable[[ir.Expr, ir.Expr], ir.Expr]] = {
    AffineOperator.ADD: add,
    AffineOperator.SUB: sub,
    AffineOperator.MUL: mul,
    AffineOperator.DIV: truediv,
    AffineOperator.MOD: mod,
    AffineOperator.FLOOR_DIV: ir.floordiv,
    AffineOperator.CEIL_DIV: ir.ceildiv,
    AffineOperator.MIN: ir.smallest,
    AffineOperator.MAX: ir.largest,
}


def index(expression: Expr, names: Names) -> ir.Expr:
    """Return an expression as an index; names that ``names`` lacks are variables of the same name.

    >>> index(Name("n0") - 1, {"n0": ir.Int(8)})
    Int(value=7)
    """
    match expression:
        case Whole(number):
            return ir.Int(number)
        case Name(name):
            return names.get(name, ir.Var(name))
        case Combined(operator, first, second):
            return _BUILD[operator](index(first, names), index(second, names))


def bound(let: nodes.Let, names: Names) -> tuple[tuple[ir.Stmt, ...], Names]:
    """The statement that binds a name, if it needs one, and the names below it."""
    number = index(let.value, names)
    if isinstance(number, ir.Var | ir.Int):
        return (), {**names, let.name: number}
    return (ir.Let(ir.Var(let.name), number),), {**names, let.name: ir.Var(let.name)}


def entry_function(site: Site, tree: Node, name: str, *, further: tuple[str, ...] = ()) -> ir.Function:
    """Return the exported function that advances the fields by ``size[0]`` steps with ``size[1]`` threads."""
    b = ir.Builder(name, kind="entry")
    b.params(*site.params)
    at = 2 * site.rank + 2  # behind the distance between versions
    for size, place in {"steps": 0, "threads": 1, **{each: at + k for k, each in enumerate(further)}}.items():
        b.let(size, SIZE[place])
    site.name_sizes(b)
    if isinstance(tree, nodes.Loop) and not any(isinstance(node, nodes.Parallel) for node in nodes.walk(tree)):
        SweepKernel(b, site, tree).write()
    else:
        _TeamWriter(b, site).team(tree, {})
    return b.function()


class TreeWriter(ABC):
    """Writes those nodes of a tree that are the same on processors and GPUs."""

    b: ir.Builder
    site: KernelSite

    @abstractmethod
    def cells(self, stage: int, step: ir.Expr, box: Sequence[Pair]) -> None:
        """Write the statements of a stage at a time step over a box."""

    def node(self, node: Node, names: Names) -> None:
        """Write a node."""
        match node:
            case nodes.Let():
                self.node(node.child, self.bound(node, names))
            case nodes.Loop() if node.high == node.low + 1:
                self.node(nodes.Let(node.name, node.low, node.child), names)
            case nodes.Loop():
                low, high = index(node.low, names), index(node.high, names)
                with self.b.loop(node.name, low, high, node.step, unroll=1) as number:
                    self.node(node.child, {**names, node.name: number})
            case nodes.Guard():
                at = index(node.value, names)
                with self.b.when((at >= index(node.low, names)) & (at < index(node.high, names))):
                    self.node(node.child, names)
            case nodes.Compute():
                self.compute(node, names)
            case _:
                raise ValueError(f"no loops are made of a {type(node).__name__} here")

    def bound(self, let: nodes.Let, names: Names) -> Names:
        """Bind a name, by a statement if it needs one; return the names below."""
        lets, names = bound(let, names)
        self.b.emit(*lets)
        return names

    def compute(self, node: nodes.Compute, names: Names) -> None:
        """Write the cells of a box, of whichever stage it is."""
        step, box = index(node.step, names), [(index(low, names), index(high, names)) for low, high in node.box]
        if isinstance(node.stage, Whole):
            self.cells(node.stage.value, step, box)
            return
        chosen = index(node.stage, names)
        for stage in range(len(self.site.problem.program.stages)):
            with self.b.when(chosen.equals(stage)):
                self.cells(stage, step, box)


class _TeamWriter(TreeWriter):
    """Writes a tree of tiles for a team of threads."""

    site: Site

    def __init__(self, b: ir.Builder, site: Site) -> None:
        self.b, self.site = b, site

    def team(self, node: Node, names: Names) -> None:
        """Open a region of threads below names and comments."""
        match node:
            case nodes.Mark():
                self.b.comment(node.text)
                self.team(node.child, names)
            case nodes.Let():
                self.team(node.child, self.bound(node, names))
            case nodes.Wavefronts():
                self.team(nodes.unfolded(node), names)
            case _:
                with self.b.parallel(ir.Var("threads")):
                    self.node(node, names)

    def node(self, node: Node, names: Names) -> None:
        match node:
            case nodes.Mark(text, child):
                self.b.comment(text)
                self.node(child, names)
            case nodes.Sequence(children):
                for child in children:
                    # names of a child are its own
                    with self.b.scope() if isinstance(child, nodes.Mark | nodes.Let) else nullcontext():
                        self.node(child, names)
            case nodes.Parallel():
                self._tiles(node, names)
            case nodes.Wavefronts():
                self.node(nodes.unfolded(node), names)
            case _:
                super().node(node, names)

    def _tiles(self, tiles: nodes.Parallel, names: Names) -> None:
        """The tiles of a wavefront, which threads take one by one, by a number whose last digit is the last range's."""
        b, ranges = self.b, tiles.ranges
        counts = [index(each.count, names) for each in ranges]
        lows = [index(each.low, names) for each in ranges]
        inner = {**names, **{each.name: ir.Var(each.name) for each in ranges}}
        if len(ranges) == 1:
            with b.loop(ranges[0].name, lows[0], lows[0] + counts[0], share="dynamic"):
                self.node(tiles.child, inner)
            return
        every = counts[0]
        for count in counts[1:]:
            every *= count
        with b.loop("place", 0, every, share="dynamic") as place:
            rest: ir.Expr = place
            for each, low, count in reversed(list(zip(ranges, lows, counts, strict=True))):
                more = each is not ranges[0]
                b.let(each.name, low + (rest % count if more else rest))
                rest = rest / count if more else rest
            self.node(tiles.child, inner)

    def cells(self, stage: int, step: ir.Expr, box: Sequence[Pair]) -> None:
        call_boxes(self.b, self.site, self.site.problem.program.stages[stage], step, box)


class SweepKernel:
    """Writes the loops of a tree without tiles."""

    def __init__(self, b: ir.Builder, site: Site, steps: nodes.Loop) -> None:
        self.b, self.site, self.program = b, site, site.problem.program
        self.step = ir.Var(steps.name)
        self.low, self.high = index(steps.low, {}), index(steps.high, {})

    def write(self) -> None:
        """Write the loops."""
        if self.program.analysis.sweep:
            self._cell_by_cell()
        else:
            self._swept()

    def _swept(self) -> None:
        """The threads share the outermost axis.

        A thread goes through the statements piece by piece, so that what they have in common is still in its cache. A
        stage follows the one that it needs at the distance of dependent rows. So many rows at both ends of the part,
        whose neighbours are another thread's or beyond the other end of the grid, it leaves until all threads have met;
        of a part that is one piece it leaves all.
        """
        b, alone = self.b, len(self.program.statements) == 1
        parts = b.let("parts", ir.smallest(self._units(), ir.Var("threads")))
        rows = b.let("piece", self._block_rows() if alone else self._piece_rows())
        stretch = b.let("stretch", self._stretch_steps())
        with b.parallel(ir.Var("threads")), b.loop("since", self.low, self.high, stretch) as since:
            # compilers know by the 0 that no step has a negative number: its remainders are cheaper
            first, end = ir.largest(since, 0), ir.smallest(since + stretch, self.high)
            # In a loop that asks, GCC also asks anew in every iteration how many threads there are.
            with b.loop(self.step.name, first, end, brief=True):
                if alone:
                    with self._shared(parts) as part:
                        self._blocks(part, rows)
                else:
                    self._stages(parts, rows)

    def _stages(self, parts: ir.Expr, rows: ir.Expr) -> None:
        """Every stage over a thread's part, piece by piece, then what each has left."""
        b, left = self.b, []
        distances = list(enumerate(zip(stage_distances(self.program), self.program.stages, strict=True)))
        with self._shared(parts) as part:
            first, last = part
            behind = {k: self._behind(k, distance, part, rows) for k, (distance, _) in distances if distance}
            with self._asking(first, last, rows) as low:
                high = b.let("high", ir.smallest(low + rows, last))
                for number, (_, stage) in distances:
                    if number not in behind:
                        self._stage(stage, low, high)
                        continue
                    gap = behind[number]
                    self._stage(stage, ir.largest(low - gap, first + gap), high - gap)
                    left.append((number, stage))
        for number, stage in left:
            with self._shared(parts) as part:
                first, last = part
                gap = self._behind(number, distances[number][1][0], part, rows)
                begin, end = first + gap, last - gap
                self._stage(stage, first, ir.smallest(begin, last))
                self._stage(stage, ir.largest(begin, end), last)

    def _behind(self, number: int, distance: int, part: Pair, rows: ir.Expr) -> ir.Expr:
        """Name by how many rows a stage follows the first."""
        first, last = part
        return self.b.let(f"behind{number}", ir.select(rows < last - first, distance, extent(0)))

    @contextmanager
    def _asking(self, low: ir.Expr, high: ir.Expr, rows: ir.Expr | int) -> Iterator[ir.Expr]:
        """A loop over pieces of so many rows; before each but the first the thread asks whether it goes on."""
        with self.b.loop("low", low, high, rows) as start:
            goes_on = start.equals(low).apply(ir.Operator.EITHER, ir.Native("int"), ir.WANTED)
            with self.b.when(goes_on):
                yield start

    def _blocks(self, part: Pair, rows: ir.Expr) -> None:
        """Write the only statement over a thread's part, in blocks.

        Rows that are computed together are the same ones as without blocks: these are counted from the first row that
        the statement updates. The first block has the rows before that, too, of which receivers record.
        """
        first, last = part
        begin: ir.Expr = first
        margin = self.site.bounds(self.program.statements[0])[0][0]
        if self.site.rank > 1 and margin != ir.Int(0):
            begin = self.b.let("begin", ir.smallest(ir.largest(first, margin), last - 1))
        with self._asking(begin, last, rows) as low:
            start = low if begin is first else ir.select(begin < low, low, first)
            self._stage((0,), start, ir.smallest(low + rows, last))

    def _cell_by_cell(self) -> None:
        """The same for a program with a recurrence: one thread, in lexicographic order but for rows in turn."""
        b, names = self.b, [f"x{axis}" for axis in range(self.site.rank - 1)]
        with b.loop(self.step.name, self.low, self.high):
            for number in (number for stage in self.program.stages for number in stage):
                *outer, row = self.site.bounds(self.program.statements[number])
                if not outer:
                    self._row(number, (), row)
                    continue
                with ExitStack() as loops:
                    places: list[ir.Expr] = []
                    for name, span in zip(names[:-1], outer[:-1], strict=True):
                        places.append(loops.enter_context(b.loop(name, *span)))
                    if places:
                        loops.enter_context(b.when(ir.WANTED))
                    self._rows(number, names[-1], places, outer[-1], row)

    def _rows(self, number: int, name: str, places: Sequence[ir.Expr], span: Pair, row: Pair) -> None:
        """Rows along the last axis but one: several at a time whose chains overlap, then one by one."""
        b, count = self.b, self.site.code(self.program.statements[number]).chains
        asked = nullcontext if places else lambda: b.when(ir.WANTED)
        start, end = span
        if count > 1:
            first = start
            start = b.let(f"whole{number}", first + ir.largest(end - first, 0) / count * count)
            with b.loop(name, first, start, count) as place, asked():
                b.call(chains_name(self.site, number), *self.site.params, self.step, *places, place, *row)
        with b.loop(name, start, end) as place, asked():
            self._row(number, (*places, place), row)

    def _row(self, number: int, places: tuple[ir.Expr, ...], bounds: Pair) -> None:
        """One row of a recurrence: vectors, or cell by cell where cells wait for each other.

        Where there are points it is cell by cell, since the next cells read what is added.
        """
        b, site, field = self.b, self.site, self.program.statements[number].field
        cells, arguments = cells_name(site, number), (*site.params, self.step)
        if points.touches(site.problem, field):
            with b.loop("x", *bounds) as x:
                b.call(cells, *arguments, *places, x, x + 1)
                spans = [end for at in (*places, x) for end in (at, at + 1)]
                b.call(points.function_name(site.prefix, site.problem, field), *arguments, *spans)
        elif places and chained_reads(self.program.statements[number]):
            b.call(cells, *arguments, *places, *bounds)
        elif places:
            call_boxes(b, site, (number,), self.step, [*((at, at + 1) for at in places), bounds])
        else:
            with self._asking(*bounds, BLOCK) as low:
                b.call(cells, *arguments, low, ir.smallest(low + BLOCK, bounds[1]))

    @contextmanager
    def _shared(self, parts: ir.Expr) -> Iterator[Pair]:
        b, units = self.b, self._units()
        with b.loop("part", 0, parts, share="static") as part:
            first, last = units * part / parts, units * (part + 1) / parts
            if self.site.rank == 1:
                size = self.site.body.part
                first, last = first * size, ir.smallest(last * size, extent(0))
            yield b.let("first", first), b.let("last", last)

    def _units(self) -> ir.Expr:
        """What threads share: rows, or blocks of cells in 1D."""
        return ir.ceildiv(extent(0), self.site.body.part) if self.site.rank == 1 else extent(0)

    def _stretch_steps(self) -> ir.Expr:
        cells = extent(0) if self.site.rank == 1 else extent(0) * stride(0)
        return ir.largest(1, ir.smallest(ir.Int(BLOCK) / cells, _STRETCH_STEPS))

    def _block_rows(self) -> ir.Expr:
        """Rows of a block: several times those that a statement computes together."""
        if self.site.rank == 1:
            return ir.Int(BLOCK)
        together = ir.Int(math.lcm(*(max(1, each.block.rows) for each in self.site.body.boxes)))
        return together * ir.largest(1, ir.Int(BLOCK) / (together * stride(0)))

    def _piece_rows(self) -> ir.Expr:
        """Rows of a piece, at least those that a statement computes together."""
        values = ir.Int(self.site.body.piece)
        if self.site.rank == 1:
            return values
        together = max(each.block.rows for each in self.site.body.boxes)
        return ir.largest(together if self.site.rank == 2 else 1, values / stride(0))

    def _stage(self, statements: tuple[int, ...], low: ir.Expr, high: ir.Expr) -> None:
        box = [(low, high), *((ir.Int(0), extent(axis)) for axis in range(1, self.site.rank))]
        call_boxes(self.b, self.site, statements, self.step, box)


def stage_distances(program: Program) -> tuple[int, ...]:
    """Rows by which each stage of a step follows the first: no computation closer to it depends on it, or it on that.

    Boundaries bend no read further from its cell than it is written, but for ``wrap``: what it takes to the other end
    of the grid is among the rows that wait at the ends of parts.
    """
    analysis = program.analysis
    copies = dict(zip(program.fields, analysis.copies, strict=True))
    stage_of = {program.statements[number].field: s for s, stage in enumerate(analysis.stages) for number in stage}
    # in 1D, where rows are cells, a cache line: no two threads write to one
    unit = CACHE_LINE if program.rank == 1 else 1
    result = [0] * len(analysis.stages)
    for last in range(1, len(result)):
        for statement, read in ((each, read) for each in program.statements for read in each.reads):
            first, then = stage_of.get(read.field, 0), stage_of[statement.field]
            if read.level != 1:  # what is overwritten is read before
                first, then = (then, first) if read.level == 1 - copies[read.field] else (0, 0)
            if first < then == last:
                result[last] = max(result[last], result[first] + round_up(abs(read.offset[0]), unit))
    return tuple(result)
