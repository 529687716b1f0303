"""Weighted sums column by column: each weight loaded once for all rows of results, each input for all that read it.

With 32 registers the weights of most sums stay in registers all the time. With 16 they come from memory, and written
input by input every product loads its own: two vectors can be loaded per cycle, and multiply-adds wait for them. The
same holds for inputs where so many are shared by rows that registers do not hold them: gcc loads them for every use.
Here the reads that differ along one axis alone, a *column*, go together: its weights are held while the inputs go by,
so that n weights and m rows of results take 2 n + m - 1 loads for n m products.

Processors with 16 registers finish two multiply-adds per cycle and take four cycles over one, so that eight have to be
under way: where a block has fewer rows, columns are added to two sums of every result in turn.

Every sum is kept in its register by an empty instruction. Without fused operations gcc would put all of a result's
operations where it is stored (its replacement of temporary expressions), while every input waits on the stack.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tilewright.base.intmath import ceil_div
from tilewright.codegen import ir
from tilewright.codegen.row_pairs import Vectors
from tilewright.programs.expression import Read
from tilewright.programs.weights import Terms
from tilewright.tilings.body import Sum

Place = tuple[int, int]
"""A row of a block: along the axis of columns, and along the middle axis in 3D where that is another."""
Fetch = Callable[[Read, Place], ir.Var]
"""Writes the load of a read for a place of a block unless it is at hand, and names the vector."""


@dataclass(frozen=True, slots=True)
class Part:
    """Reads that are added together: of one column, or all with the same weight.

    Attributes:
        reads: The reads, in order along the columns' axis.
        weights: Their weights; one for all reads that are added up before they are multiplied.
    """

    reads: tuple[Read, ...]
    weights: tuple[float, ...]


def parts(terms: Terms, most: int, axis: int = 0) -> Iterator[Part]:
    """Cut a weighted sum into parts of at most so many weights, of columns along an axis."""
    columns: dict[object, list[Read]] = {}

    def column(read: Read) -> tuple[object, ...]:
        return read.field, -read.level, read.offset[:axis], read.offset[axis + 1 :]

    for read in sorted(terms, key=lambda read: (*column(read), read.offset[axis])):
        columns.setdefault(column(read), []).append(read)
    alone: dict[float, list[Read]] = {}
    for reads in columns.values():
        if len(reads) == 1:
            alone.setdefault(terms[reads[0]], []).append(reads[0])
            continue
        count = ceil_div(len(reads), most)
        for k in range(count):
            some = tuple(reads[len(reads) * k // count : len(reads) * (k + 1) // count])
            yield Part(some, tuple(terms[read] for read in some))
    for weight, reads in alone.items():
        yield Part(tuple(reads), (weight,))


class Columns(Vectors):
    """Writes one weighted sum for all places of a block."""

    def __init__(self, dtype: ir.Element, prefix: str, fetch: Fetch, body: list[ir.Stmt], axis: int = 0) -> None:
        """Start.

        Args:
            dtype: Element type.
            prefix: Of new names.
            fetch: Writes the load of a read and names the vector.
            body: Statements go here.
            axis: The axis of columns, along which the first index of a place counts.
        """
        super().__init__(dtype, prefix, body)
        self.fetch = fetch
        self.axis = axis

    def write(self, places: Sequence[Place], terms: Terms, form: Sum) -> dict[Place, ir.Expr]:
        """Write the results at some places as ``form`` says; return them."""
        sides: list[dict[Place, ir.Expr]] = [{} for _ in range(form.accumulators)]
        for number, part in enumerate(parts(terms, form.weights, self.axis)):
            self._part(sides[number % len(sides)], part, places, held=form.loaded)
        first, *others = sides
        for at, value in (pair for other in others for pair in other.items()):
            first[at] = self.let(ir.add(first[at], value))
        return first

    def _part(self, sums: dict[Place, ir.Expr], part: Part, places: Sequence[Place], *, held: bool) -> None:
        weights = [self._weight(weight, held=held) for weight in part.weights]
        if len(weights) == 1:
            for at in places:
                value = self.fetch(part.reads[0], at)
                for read in part.reads[1:]:
                    value = self.let(ir.add(value, self.fetch(read, at)))
                self._add(sums, at, weights[0], value)
            return
        # Input by input: what lies at one position is used by neighbouring results with neighbouring weights.
        uses = ((at[1], at[0] + read.offset[self.axis], at, k) for at in places for k, read in enumerate(part.reads))
        for _, _, at, k in sorted(uses):
            self._add(sums, at, weights[k], self.fetch(part.reads[k], at))

    def _weight(self, weight: float, *, held: bool) -> ir.Expr:
        number = ir.Real(weight, self.dtype)
        if not held or abs(weight) == 1.0:
            return number
        alone = ir.weight_of(self.dtype)
        return self.let(ir.op(ir.Operator.FRESH, ir.splat(ir.Real(weight, alone), ir.vector(alone))))

    def _add(self, sums: dict[Place, ir.Expr], at: Place, weight: ir.Expr, value: ir.Var) -> None:
        term: ir.Expr = ir.mul(weight, value)
        total: ir.Expr = ir.add(sums[at], term) if at in sums else term
        sums[at] = self.let(ir.hold(total))
