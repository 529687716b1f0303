"""Weighted sums of boxes in 3D: two planes at a time, in a loop over the places along the rows.

What is done with the reads at one offset along the rows is the same for every offset of a box but for the weights. So
it is written once, in a loop that takes the weights from a table: box3d4r, with 729 reads, is as short as one of 81.
Columns of three reads along axis 0 give two results by four products (:mod:`tilewright.codegen.row_pairs`); other reads
are added to a and e, which belong to one result each.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.codegen import ir
from tilewright.codegen.row_block import INDEX
from tilewright.codegen.row_pairs import TURNED, A, B, C, E, Vectors
from tilewright.programs.expression import Read
from tilewright.programs.weights import Column, Terms

Fetch = Callable[[Read, int, int, ir.Expr], ir.Load]
"""The load of a read for a plane and a line of a block, from a place along the rows."""
_NEAR = ir.Var("near")
_OWN = (A, E, B, C)
"""Sums that belong to one result each, by its plane; without columns all of them."""


@dataclass(frozen=True, slots=True)
class Near:
    """The reads at one offset along the rows.

    Attributes:
        offset: The offset.
        columns: Columns of three along axis 0, in order.
        rest: Other reads with their weights, in order.
    """

    offset: int
    columns: tuple[Column, ...]
    rest: tuple[tuple[Read, float], ...]

    @property
    def shape(self) -> object:
        """What has to be the same for two offsets to be written alike."""
        reads = [column.read for column in self.columns], [read for read, _ in self.rest]
        return [[(read.field, read.level, read.offset[:-1]) for read in some] for some in reads]

    @property
    def factors(self) -> tuple[float, ...]:
        """The part of the table for this offset."""
        products = [factor for column in self.columns for factor in column.factors]
        return (*products, *(weight for _, weight in self.rest))


def nears(found: Sequence[Column], rest: Terms, *, alike: bool = False) -> tuple[Near, ...]:
    """Sort reads by their offset along the rows.

    With ``alike``, columns whose weights allow two results at a time at some offsets only are taken read by read, so
    that all offsets are written alike.
    """
    if alike:
        found, rest = _alike(found, rest)

    def order(read: Read) -> tuple[object, ...]:
        return (read.field, read.level, read.offset)

    offsets = sorted({c.read.offset[-1] for c in found} | {read.offset[-1] for read in rest})
    return tuple(
        Near(
            offset,
            tuple(sorted((c for c in found if c.read.offset[-1] == offset), key=lambda c: order(c.read))),
            tuple(sorted(((r, w) for r, w in rest.items() if r.offset[-1] == offset), key=lambda t: order(t[0]))),
        )
        for offset in offsets
    )


def _alike(found: Sequence[Column], rest: Terms) -> tuple[Sequence[Column], Terms]:
    """Take columns apart that are none at another offset where all three of their reads are, too."""
    every = dict(rest)
    for column in found:
        every |= dict(zip(column.reads, column.weights, strict=True))
    offsets = {read.offset[-1] for read in every}
    whole = {column.reads for column in found}

    def kept(column: Column) -> bool:
        moved = (tuple(_along(read, offset) for read in column.reads) for offset in offsets)
        return all(reads in whole or not set(reads) <= every.keys() for reads in moved)

    left = [column for column in found if kept(column)]
    done = {read for column in left for read in column.reads}
    return left, {read: weight for read, weight in every.items() if read not in done}


def _along(read: Read, offset: int) -> Read:
    """A read at another offset along the rows."""
    return Read(read.field, read.level, (*read.offset[:-1], offset))


def runs(near: Sequence[Near]) -> Iterator[tuple[Near, ...]]:
    """Offsets one after the other that are written alike."""
    run: list[Near] = []
    for each in near:
        if run and (each.offset != run[-1].offset + 1 or each.shape != run[-1].shape):
            yield tuple(run)
            run = []
        run.append(each)
    yield tuple(run)


class Boxes(Vectors):
    """Writes one weighted sum for a block of planes and lines."""

    def __init__(self, dtype: ir.Element, prefix: str, fetch: Fetch, table: ir.Expr, held: int) -> None:
        """Start.

        Args:
            dtype: Element type.
            prefix: Of new names.
            fetch: Writes the load of a read.
            table: The table of factors, from this sum's first one on.
            held: Most factors of a place along the rows that are held in registers while all lines go by.
        """
        super().__init__(dtype, prefix, [])
        self.fetch, self.table, self.held = fetch, table, held
        self.factor = ir.weight_of(dtype)
        self.weights: ir.Expr = table
        self.loaded: dict[tuple[Read, int, int], ir.Var] = {}

    def write(self, planes: int, lines: int, near: Sequence[Near]) -> dict[tuple[int, int], ir.Var]:
        """Write the results of some planes, two if there are columns, and lines.

        Returns:
            The results by plane and line.
        """
        paired = any(each.columns for each in near)
        sums = (A, B, C, E) if paired else _OWN[:planes]
        zero = ir.splat(ir.Real(0.0, self.dtype), self.kind)
        body: list[ir.Stmt] = [ir.Mutable(self._sum(line, k), zero) for line in range(lines) for k in sums]
        start = 0
        for run in runs(near):
            body += self._run(run, start, planes, lines)
            start += sum(len(each.factors) for each in run)
        self.body = body
        return {at: self._result(at, paired=paired) for at in itertools.product(range(planes), range(lines))}

    def _sum(self, line: int, k: int) -> ir.Var:
        return ir.Var(f"{self.prefix}{'abce'[k]}{line}", self.kind)

    def _result(self, at: tuple[int, int], *, paired: bool) -> ir.Var:
        """Put b and c together, and onto them what belongs to one result alone."""
        plane, line = at
        own = self._sum(line, _OWN[plane])
        if not paired:
            return own
        both = (ir.sub if plane else ir.add)(self._sum(line, B), self._sum(line, C))
        return self.let(ir.add(both, own))

    def _run(self, run: tuple[Near, ...], start: int, planes: int, lines: int) -> tuple[ir.Stmt, ...]:
        """The reads at offsets that are written alike: a loop, if there is more than one."""
        self.body, self.loaded = [], {}
        low, width = run[0].offset, len(run[0].factors)
        first: ir.Expr = ir.add(self.table, start)
        place: ir.Expr = (
            ir.add(INDEX, ir.mul(ir.Var("V"), low)) if low > 0 else ir.sub(INDEX, ir.mul(ir.Var("V"), -low))
        )
        if len(run) > 1:
            first = ir.add(first, ir.mul(_NEAR, width))
            place = ir.add(place, ir.mul(_NEAR, ir.Var("V")))
        at = ir.Var(f"{self.prefix}at")
        self.body.append(ir.Let(at, place if low or len(run) > 1 else INDEX))
        self.weights = ir.Var(f"{self.prefix}w", ir.const_pointer(self.factor))
        self.body.append(ir.Let(self.weights, self._again(first)))
        self._near(run[0], at, planes, lines)
        if len(run) == 1:
            return (ir.Scope(tuple(self.body)),)
        return (ir.For(var=_NEAR, low=ir.Int(0), high=ir.Int(len(run)), body=tuple(self.body)),)

    def _again(self, address: ir.Expr) -> ir.Intrinsic:
        """An address of which the compiler does not know what lies there."""
        return ir.Intrinsic("again", (address,), self.factor)

    def _near(self, near: Near, at: ir.Var, planes: int, lines: int) -> None:
        """The reads at one offset along the rows: one row of each plane after the other."""
        many = len(near.factors) > self.held
        ys = {c.read.offset[1] for c in near.columns} | {read.offset[1] for read, _ in near.rest}
        for number, row in enumerate(sorted({line + y for line in range(lines) for y in ys})):
            if many and number:
                again = ir.Var(f"{self.prefix}w{number}", ir.const_pointer(self.factor))
                self.body.append(ir.Let(again, self._again(self.weights)))
                self.weights = again
            self._columns(near, row, lines, at)
            self._rest(near, (row, planes, lines), at)

    def _columns(self, near: Near, row: int, lines: int, at: ir.Var) -> None:
        """Add what columns find in a row to the sums of its lines."""
        turned: dict[Read, list[ir.Var]] = {}
        for number, column in enumerate(near.columns):
            read = column.read
            line = row - read.offset[1]
            if not 0 <= line < lines:
                continue
            key = Read(read.field, read.level, (read.offset[0], 0, 0))
            if key not in turned:
                values = [self._held(read, j, line, at) for j in range(4)]
                turned[key] = [self.let(operation(values[p], values[q])) for operation, p, q in TURNED]
            for k in (A, B, C, E):
                self._add(line, k, 4 * number + k, turned[key][k])

    def _rest(self, near: Near, block: tuple[int, int, int], at: ir.Var) -> None:
        """Add the other reads of a row to the sums of its lines."""
        row, planes, lines = block
        start = 4 * len(near.columns)
        uses = [
            (read.offset[0] + plane, plane, number, read)
            for number, (read, _) in enumerate(near.rest)
            for plane in range(planes)
        ]
        for _, plane, number, read in sorted(uses, key=lambda use: use[:3]):
            line = row - read.offset[1]
            if 0 <= line < lines:
                self._add(line, _OWN[plane], start + number, self._held(read, plane, line, at))

    def _held(self, read: Read, plane: int, line: int, at: ir.Var) -> ir.Var:
        """A value that is loaded once for all its uses."""
        z, y, _ = read.offset
        key = (Read(read.field, read.level, ()), z + plane, y + line)
        if key not in self.loaded:
            load = self.fetch(read, plane, line, at)
            self.loaded[key] = self.let(ir.hold(load))
        return self.loaded[key]

    def _add(self, line: int, k: int, number: int, value: ir.Var) -> None:
        into = self._sum(line, k)
        product = ir.mul(ir.Load(self.weights, ir.Int(number), self.factor), value)
        self.body.append(ir.Assign(into, ir.add(into, product)))


class FewBoxes(Boxes):
    """The same where registers are short: without columns, each weight loaded once for all planes.

    A row of four planes of a box of reach 1 takes six inputs and, for each of two lines, nine weights for 36 products.
    """

    def _near(self, near: Near, at: ir.Var, planes: int, lines: int) -> None:
        rows = sorted({line + read.offset[1] for line in range(lines) for read, _ in near.rest})
        for row in rows:
            if row != rows[0]:
                again = ir.Var(f"{self.prefix}w{row - rows[0]}", ir.const_pointer(self.factor))
                self.body.append(ir.Let(again, self._again(self.weights)))
                self.weights = again
            self._rest(near, (row, planes, lines), at)

    def _rest(self, near: Near, block: tuple[int, int, int], at: ir.Var) -> None:
        row, planes, lines = block
        uses = [
            (read.field, read.level, read.offset[0], row - read.offset[1], number)
            for number, (read, _) in enumerate(near.rest)
            if 0 <= row - read.offset[1] < lines
        ]
        for *_, line, number in sorted(uses):
            splat = ir.splat(ir.Load(self.weights, ir.Int(number), self.factor), ir.vector(self.factor))
            weight = self.let(ir.hold(splat))
            for plane in range(planes):
                into, value = self._sum(line, _OWN[plane]), self._held(near.rest[number][0], plane, line, at)
                product = ir.mul(weight, value)
                self.body.append(ir.Assign(into, ir.add(into, product)))
