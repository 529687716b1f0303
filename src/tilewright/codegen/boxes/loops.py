"""Weighted sums over boxes, for sweeps and tiles of boxes, as loops over the reads along the rows.

Written read by read, a box of 343 or 729 reads is text that gcc works on for seconds, once for blocks of rows, once for
single ones, and again for both ends. What is done at one offset along the rows is the same for all but for the weights:
it stands in a loop that takes them from a table, as in streaming kernels
(:mod:`tilewright.codegen.sums.loop`), in a function that is told where rows start. These places are found in loops,
too: a box is complete, whatever lies outside the grid. At the ends of the grid's rows the function reads copies of the
rows' first or last cells, with what lies beyond them.
"""

import math
from collections.abc import Iterable, Sequence

from tilewright.codegen import ir
from tilewright.codegen.boundary import inside
from tilewright.codegen.boxes.rows import BoxStatement, RowPointers, vector_beyond
from tilewright.codegen.layouts import stride
from tilewright.codegen.sites import extent
from tilewright.codegen.sums.loop import write_lines
from tilewright.programs.stencil.weights import box_sum, boxes
from tilewright.schedules.sums import Near, nears

_COPIED = 48  # cells of a copied end of a row: three vectors


class LoopSum:
    """A statement that is one sum in a loop, if it is one."""

    def __init__(self, of: BoxStatement) -> None:
        self.of = of
        number = of.site.problem.program.statements.index(of.statement)
        self.name = f"{of.site.prefix}_sum_{number}"
        self.starts_type = ir.pointer(ir.const_pointer(of.site.dtype))
        self.starts = ir.Var("rows", self.starts_type)  # where rows start, in the order of RowPointers

    @property
    def near(self) -> tuple[Near, ...]:
        """The reads by their offset along the rows; none of a statement that is no sum in a loop over them."""
        terms = box_sum(self.of.statement) if self.of.code.block.loops else None
        return () if terms is None else nears(terms)

    def found(self, rows: RowPointers, starts: ir.Expr | None = None) -> dict[ir.Var, ir.Expr]:
        """What :meth:`find` has stored for every row, by its name."""
        return {name: (starts or self.starts)[number] for number, name in enumerate(rows.names.values())}

    def find(self, b: ir.Builder, block: int) -> None:
        """Find where all rows start that some neighbouring rows of results read."""
        every = {
            level: [*outer, range(last.start, last.stop + block - 1)]
            for level, (*outer, last) in boxes(self.of.statement).items()
        }
        first = 0
        b.array(self.starts.name, self.starts_type, sum(math.prod(map(len, box)) for box in every.values()))
        for level, box in every.items():
            self._find_box(b, (self.of.statement.reads[0].field, level), box, first)
            first += math.prod(map(len, box))

    def _find_box(self, b: ir.Builder, version: tuple[str, int], box: Sequence[range], first: int) -> None:
        """Find the rows of one version of a field; so many others are stored before."""
        of, (field, _) = self.of, version

        def rows(at: tuple[ir.Expr, ...], number: ir.Expr, row: ir.Expr) -> None:
            axis = len(at)
            if axis == len(box):
                b.set(self.starts[number + first], of.or_constants(field, at, row))
                return
            with b.loop(f"d{axis}", 0, len(box[axis])) as turn:
                here = b.let(f"at{axis}", of.places[axis] + box[axis].start + turn)
                stands_for = inside(here, extent(axis), of.site.problem.sides(field)[axis])
                start = b.let(f"from{axis}", row + stands_for * stride(axis))
                rows((*at, here), number * len(box[axis]) + turn, start)

        rows((), ir.Int(0), of.version(*version))

    def functions(self, blocks: Iterable[tuple[int, RowPointers]]) -> tuple[ir.Function, ...]:
        """A function for every number of rows that are computed together, and for the rows' ends, if it is a sum."""
        near = self.near
        if not near:
            return ()
        sides = zip((True, False), self.of.vectors_at_ends, strict=True)
        sums = [self._sum_function(near, rows, lines) for lines, rows in blocks]
        return (*sums, *(self._beyond_function(low_side=low_side) for low_side, asked in sides if asked))

    def _sum_function(self, near: Sequence[Near], rows: RowPointers, lines: int) -> ir.Function:
        """A function ``sum(rows, to, stride, place, into[, done])`` for a vector of rows; lanes below ``done`` stay."""
        of, b = self.of, ir.Builder(f"{self.name}_of_{lines}", kind="apart")
        where = b.param(self.starts.name, ir.const_pointer(ir.const_pointer(of.site.dtype)))
        to, apart = b.param("to", ir.pointer(of.site.dtype)), b.param("stride")
        place, into = b.param("place"), b.param("into")
        done = b.param("done") if of.in_place else None
        starts = self.found(rows, where)
        values = write_lines(
            b, of.kind, near, of.code.of(lines), place, lambda read, line, at: starts[rows.of(read, line)].vector(at)
        )
        for line, value in enumerate(values):
            target = to.vector(into + apart * line)
            b.set(target, value if done is None else ir.op(ir.Operator.KEEP, target, value, done))
        return b.function()

    def _beyond_function(self, *, low_side: bool) -> ir.Function:
        """A function ``beyond(row, to, n)`` that copies what a vector at an end of a row reads, with what lies beyond.

        The row's own first, or last, vector is copied to ``to[0]``.
        """
        of, (left, right), b = self.of, self.of.reach, ir.Builder(self._beyond_name(low_side=low_side))
        row, to = b.param("row", ir.const_pointer(of.site.dtype)), b.param("to", ir.pointer(of.site.dtype))
        size, field = b.param(extent(of.site.rank - 1).name), of.statement.reads[0].field
        first: ir.Expr = ir.Int(0) if low_side else size - of.lanes
        low = vector_beyond(of, field, row, -left) if low_side else row.vector(first - left)
        high = row.vector(first + right) if low_side else vector_beyond(of, field, row, right)
        for at, value in ((-left, low), (right, high), (0, row.vector(first))):
            b.set(to.vector(at), value)
        return b.function()

    def _beyond_name(self, *, low_side: bool) -> str:
        return f"{self.name}_{'low' if low_side else 'high'}"

    def copied_end(self, b: ir.Builder, rows: RowPointers, *, low_side: bool) -> ir.Expr:
        """Copy the ends of rows and what lies beyond them: where each copy starts."""
        many = len(rows.names)
        copies = b.array("copies", ir.pointer(self.of.site.dtype), _COPIED * many)
        ends = b.array("ends", self.starts_type, many)
        with b.loop("number", 0, many) as number:
            start = copies + (number * _COPIED + _COPIED // 3)
            b.call(self._beyond_name(low_side=low_side), self.starts[number], start, extent(self.of.site.rank - 1))
            b.set(ends[number], start)
        return ends

    def call(self, b: ir.Builder, lines: int, where: tuple[ir.Expr, ir.Expr, ir.Expr], done: ir.Expr | None) -> None:
        """Compute one vector of so many rows; ``where``: the rows, the place in them, and where it is stored."""
        keeps = ((ir.Int(0) if done is None else done),) if self.of.in_place else ()
        rows, place, into = where
        arguments = (self.of.target(0), stride(self.of.site.rank - 2), place, into)
        b.call(f"{self.name}_of_{lines}", rows, *arguments, *keeps)
