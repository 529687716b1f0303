"""Column by column: each weight loaded once for all rows of results, each input for all that read it.

Before: for every input: y0 += w[0] * a; y1 += w[1] * a   After: for every column: u0 = w[0]; u1 = w[1]; …, then inputs

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

from tilewright.codegen import ir
from tilewright.codegen.sums.registers import Names, RegisterBlock, Results
from tilewright.programs.stencil.weights import Terms
from tilewright.schedules.code import Place, Sum
from tilewright.schedules.sums import SumPart, parts


def write(block: RegisterBlock, prefix: str, terms: Terms, form: Sum) -> Results:
    """Write a weighted sum for all places of a block."""
    return _Columns(block, prefix).write(terms, form)


class _Columns(Names):
    def __init__(self, block: RegisterBlock, prefix: str) -> None:
        super().__init__(block.dtype, f"{prefix}_", block.body)
        self.block = block

    def write(self, terms: Terms, form: Sum) -> Results:
        sides: list[dict[Place, ir.Expr]] = [{} for _ in range(form.accumulators)]
        for number, part in enumerate(parts(terms, form.weights, self.block.axis)):
            self._part(sides[number % len(sides)], part, held=form.loaded)
        first, *others = sides
        for at, value in (pair for other in others for pair in other.items()):
            first[at] = self.let(first[at] + value)
        return first

    def _part(self, sums: dict[Place, ir.Expr], part: SumPart, *, held: bool) -> None:
        fetch, places, axis = self.block.fetch, self.block.places, self.block.axis
        weights = [self._weight(weight, held=held) for weight in part.weights]
        if len(weights) == 1:
            for at in places:
                value = fetch(part.reads[0], at)
                for read in part.reads[1:]:
                    value = self.let(value + fetch(read, at))
                self._add(sums, at, weights[0], value)
            return
        # Input by input: what lies at one position is used by neighbouring results with neighbouring weights.
        uses = ((at[1], at[0] + read.offset[axis], at, k) for at in places for k, read in enumerate(part.reads))
        for _, _, at, k in sorted(uses):
            self._add(sums, at, weights[k], fetch(part.reads[k], at))

    def _weight(self, weight: float, *, held: bool) -> ir.Expr:
        number = ir.Real(weight, self.dtype)
        if not held or abs(weight) == 1.0:
            return number
        alone = ir.weight_of(self.dtype)
        return self.let(ir.op(ir.Operator.FRESH, ir.splat(ir.Real(weight, alone), ir.vector(alone))))

    def _add(self, sums: dict[Place, ir.Expr], at: Place, weight: ir.Expr, value: ir.Var) -> None:
        term = weight * value
        total = sums[at] + term if at in sums else term
        sums[at] = self.let(ir.hold(total))
