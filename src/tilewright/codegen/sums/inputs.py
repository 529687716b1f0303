"""Input by input: every vector is added to all results that read it at once.

Before: y = w0 * a + w1 * b + …, for every result.  After: for every input a: y0 += w0 * a; y1 += w1 * a; …

Output by output, the 27 reads of a cube wait in registers for three planes of results each, and compilers spill them.
Input by input, only the results of a block are alive. Vectors that one result alone reads, with the same weight, are
added up before they are multiplied. The order of a sum changes, so strict kernels do without. The literature:
statement reordering for high-order stencils, scatter form (Stock et al., PLDI 2014).
"""

from collections.abc import Sequence

from tilewright.codegen import ir
from tilewright.codegen.sums.registers import Names, RegisterBlock, Results
from tilewright.programs.stencil.weights import Terms
from tilewright.schedules.code import Place, Sum
from tilewright.schedules.sums import inputs


def write(block: RegisterBlock, prefix: str, terms: Terms, form: Sum) -> Results:
    """Write a weighted sum for all places of a block."""
    sums = InputSums(block, f"{prefix}_", form.accumulators)
    sums.add_up(block.places, terms)
    sums.join()
    return sums.results


class InputSums(Names):
    """The results of a block while its inputs go by."""

    def __init__(self, block: RegisterBlock, prefix: str, accumulators: int = 1) -> None:
        """Start; every result is made of so many sums until :meth:`join`, to which inputs are added in turn."""
        super().__init__(block.dtype, prefix, block.body)
        self.block, self.accumulators = block, accumulators
        self.results: dict[Place, ir.Expr] = {}
        self.waiting: dict[Place, list[ir.Expr]] = {}

    def add_up(self, places: Sequence[Place], terms: Terms) -> None:
        """Add weighted inputs to the results of some places, in the order of memory.

        Before: ``y += w * a; y += w * b`` where only ``y`` reads a and b. After: ``y += w * (a + b)``.
        """
        for vectors, uses in inputs(terms, places, self.block.load, self.block.keys.__getitem__):
            together, *others = vectors
            self.block.need(together)
            for other in others:
                self.block.need(other)
                together = self.let(together + other)
            for at, weight in uses:
                self._add(at, weight, together)

    def _add(self, place: Place, weight: float, value: ir.Var) -> None:
        term: ir.Expr = weight * value
        waiting = self.waiting.setdefault(place, [])
        if place in self.results and len(waiting) + 1 < self.accumulators:
            waiting.append(self.let(term))
            return
        if place in self.results:
            waiting.append(self.results[place])
            term = waiting.pop(0) + term
        self.results[place] = self.let(term)

    def join(self) -> None:
        """Add up the sums that every result is made of."""
        for place, waiting in self.waiting.items():
            while waiting:
                self.results[place] = self.let(self.results[place] + waiting.pop())
