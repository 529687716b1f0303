"""In a loop over the places along the rows, which takes the weights from a table: large boxes.

Before: y += w[0] * load(i - 4); …; y += w[728] * load(i + 4)
After:  for near = 0 … 8: at = i - 4 + near; w = table + 81 * near; y += w[0] * load(at); …; y += w[80] * load(at)

What is done with the reads at one offset along the rows is the same for every offset of a box but for the weights, so
it is written once: box3d4r, with 729 reads, is as short as one of 81. Read by read, gcc works on it for seconds. The
opposite of unrolling; what does not change from turn to turn stays, in the literature, a rolled loop over taps.
"""

import itertools
from collections.abc import Callable, Sequence

from tilewright.codegen import ir
from tilewright.codegen.sums.registers import Names, RegisterBlock, Results
from tilewright.programs.stencil.expression import Read
from tilewright.programs.stencil.weights import Terms
from tilewright.schedules.code import Place, RowCode, Sum
from tilewright.schedules.sums import Near, nears, runs

INDEX = ir.Var("i")  # where a vector starts in its row
_NEAR, _LANES = ir.Var("near"), ir.Var("V")
_OWN = "aebc"  # names of the sums that belong to one result each, by its plane


def _hidden(address: ir.Expr, dtype: ir.Element) -> ir.Intrinsic:
    """An address of which the compiler does not know what lies there."""
    return ir.Intrinsic("again", (address,), dtype)


def write(block: RegisterBlock, prefix: str, terms: Terms, form: Sum) -> Results:
    """Write a weighted sum for all places of a block, planes and lines of lifted rows."""
    return (_Weights if form.loaded else SumLoopWriter)(block, prefix, form).write(nears(terms))


class SumLoopWriter(Names):
    """Writes one weighted sum for a block of planes and lines."""

    def __init__(self, block: RegisterBlock, prefix: str, form: Sum) -> None:
        """Start; the form tells how many weights along a row registers hold while all lines go by, if any."""
        if block.table is None:
            raise ValueError("a sum in a loop takes its weights from a table, and the block has none")
        super().__init__(block.dtype, f"{prefix}_", [])
        self.block, self.source = block, block.table
        self.held = 0 if form.loaded else form.weights
        self.factor = ir.weight_of(block.dtype)
        self.table = self.source.start + len(self.source.factors)
        self.planes, self.lines = (1 + max(at[axis] for at in block.places) for axis in (0, 1))
        self.weights: ir.Expr = self.table
        self.loaded: dict[tuple[Read, int, int], ir.Var] = {}

    def write(self, near: Sequence[Near]) -> Results:
        """Write the results."""
        zero = ir.splat(ir.Real(0.0, self.dtype), self.kind)
        body: list[ir.Stmt] = [
            ir.Mutable(self.sum(line, name), zero) for line in range(self.lines) for name in self.names()
        ]
        start = 0
        for run in runs(near):
            body += self._run(run, start)
            start += sum(len(each.factors) for each in run)
        self.body = body
        results = {at: self.result(at) for at in itertools.product(range(self.planes), range(self.lines))}
        self.source.factors.extend(factor for each in near for factor in each.factors)
        self.block.body += self.body
        return results

    def names(self) -> str:
        """Names of the sums of a line."""
        return _OWN[: self.planes]

    def sum(self, line: int, name: str) -> ir.Var:
        """One of the sums of a line."""
        return ir.Var(f"{self.prefix}{name}{line}", self.kind)

    def own(self, line: int, plane: int) -> ir.Var:
        """The sum that belongs to one result alone."""
        return self.sum(line, _OWN[plane])

    def result(self, at: Place) -> ir.Var:
        """The result at a place."""
        return self.own(at[1], at[0])

    def _run(self, run: tuple[Near, ...], start: int) -> tuple[ir.Stmt, ...]:
        """The reads at offsets that are written alike: a loop, if there is more than one."""
        self.body, self.loaded = [], {}
        low, width = run[0].offset, len(run[0].factors)
        first = self.table + start
        place = INDEX + _LANES * low if low > 0 else INDEX - _LANES * -low
        if len(run) > 1:
            first += _NEAR * width
            place += _NEAR * _LANES
        at = ir.Var(f"{self.prefix}at")
        self.body.append(ir.Let(at, place))
        self.weights = ir.Var(f"{self.prefix}w", ir.const_pointer(self.factor))
        self.body.append(ir.Let(self.weights, _hidden(first, self.factor)))
        self.near(run[0], at)
        if len(run) == 1:
            return (ir.Scope(tuple(self.body)),)
        return (ir.For(var=_NEAR, low=ir.Int(0), high=ir.Int(len(run)), body=tuple(self.body)),)

    def near(self, near: Near, at: ir.Var) -> None:
        """The reads at one offset along the rows: one row of each plane after the other."""
        ys = {column.read.offset[1] for column in near.columns} | {read.offset[1] for read, _ in near.rest}
        many = len(near.factors) > self.held
        for number, row in enumerate(sorted({line + y for line in range(self.lines) for y in ys})):
            if many and number:  # the weights are loaded anew, not held
                again = ir.Var(f"{self.prefix}w{number}", ir.const_pointer(self.factor))
                self.body.append(ir.Let(again, _hidden(self.weights, self.factor)))
                self.weights = again
            self.row(near, row, at)

    def row(self, near: Near, row: int, at: ir.Var) -> None:
        """Add the reads of a row to the sums of its lines."""
        start = 4 * len(near.columns)
        uses = [
            (read.offset[0] + plane, plane, number, read)
            for number, (read, _) in enumerate(near.rest)
            for plane in range(self.planes)
        ]
        for _, plane, number, read in sorted(uses, key=lambda use: use[:3]):
            line = row - read.offset[1]
            if 0 <= line < self.lines:
                self.add(self.own(line, plane), self.weights[start + number], self.value(read, (plane, line), at))

    def value(self, read: Read, place: Place, at: ir.Var) -> ir.Var:
        """A value that is loaded once for all its uses."""
        z, y, _ = read.offset
        key = (Read(read.field, read.level, ()), z + place[0], y + place[1])
        if key not in self.loaded:
            self.loaded[key] = self.let(ir.hold(self.source.load(read, place, at)))
        return self.loaded[key]

    def add(self, into: ir.Var, weight: ir.Expr, value: ir.Var) -> None:
        """Add a weighted value to a sum."""
        self.body.append(ir.Assign(into, into + weight * value))


class _Weights(SumLoopWriter):
    """The same where registers are short: each weight is loaded once for all planes.

    A row of four planes of a box of reach 1 takes six inputs and, for each of two lines, nine weights for 36 products.
    """

    def row(self, near: Near, row: int, at: ir.Var) -> None:
        uses = [
            (read.field, read.level, read.offset[0], row - read.offset[1], number)
            for number, (read, _) in enumerate(near.rest)
            if 0 <= row - read.offset[1] < self.lines
        ]
        for *_, line, number in sorted(uses):
            weight = self.let(ir.hold(ir.splat(self.weights[number], ir.vector(self.factor))))
            for plane in range(self.planes):
                self.add(self.own(line, plane), weight, self.value(near.rest[number][0], (plane, line), at))


Fetch = Callable[[Read, int, ir.Expr], ir.Expr]
"""The value of a read for a line of a block, from a place along the rows that its offset is already part of."""


def write_lines(
    b: ir.Builder,
    kind: ir.Element | ir.Vector,
    near: Sequence[Near],
    block: RowCode,
    place: ir.Expr,
    fetch: Fetch,
) -> tuple[ir.Expr, ...]:
    """Write a sum for neighbouring rows as they lie in memory, of cells or of vectors (``kind``)."""
    dtype = kind.element if isinstance(kind, ir.Vector) else kind
    factor = ir.weight_of(dtype)
    numbers = [number for each in near for number in each.factors]
    factors = b.numbers("factors", ir.const_pointer(factor), numbers)
    ways = range(block.sums[0][0].accumulators)
    sums = [[b.mutable(f"s{line}_{way}", ir.Real(0.0, dtype), kind) for way in ways] for line in range(block.rows)]
    start = 0
    for number, run in enumerate(runs(near)):
        with b.loop(f"near{number}", 0, len(run)) as step:
            at = b.let("at", place + run[0].offset + step)
            weights = b.let("w", _hidden(factors + start + step * len(run[0].factors), factor))
            _at_one_offset(b, run[0], sums, fetch, (at, weights))
        start += sum(len(each.factors) for each in run)
    return tuple(ir.total(line) for line in sums)


def _at_one_offset(
    b: ir.Builder, near: Near, sums: Sequence[Sequence[ir.Expr]], fetch: Fetch, where: tuple[ir.Expr, ir.Expr]
) -> None:
    """Every value is loaded once and added to all lines that read it."""
    loaded: dict[tuple[int, ...], ir.Expr] = {}
    uses = sorted(
        ((read.level, *read.offset[:-2], read.offset[-2] + line), line, number, read)
        for number, (read, _) in enumerate(near.rest)
        for line in range(len(sums))
    )
    turns, (at, weights) = [0] * len(sums), where
    for key, line, number, read in uses:
        if key not in loaded:
            value = fetch(read, line, at)
            loaded[key] = b.let(f"l{len(loaded)}", ir.hold(value) if len(sums) > 1 else value, ir.type_of(sums[0][0]))
        into = sums[line][turns[line] % len(sums[line])]
        turns[line] += 1
        b.set(into, into + weights[number] * loaded[key])
