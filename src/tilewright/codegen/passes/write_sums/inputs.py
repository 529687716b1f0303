"""Weighted sums of many reads, written input by input: every vector is added to all results that read it at once.

Output by output, the 27 reads of a cube wait in registers for three planes of results each, and compilers spill them.
Input by input, only the results of a block are alive. Vectors that one result alone reads, with the same weight, are
added up before they are multiplied. The order of a sum changes, so strict kernels do without.
"""

from collections.abc import Mapping, MutableMapping, Sequence

from tilewright.codegen import ir

Uses = Sequence[tuple[tuple[int, int], float]]
"""Places of a block that read a vector, with their weights."""


class Sums:
    """The results of a block while its inputs go by."""

    def __init__(self, dtype: ir.Element, prefix: str, ways: int = 1) -> None:
        """Start.

        Args:
            dtype: Element type.
            prefix: Of new names.
            ways: Sums that every result is made of, until :meth:`join`; inputs are added to them in turn.
        """
        self.dtype = dtype
        self.prefix = prefix
        self.ways = ways
        self.results: dict[tuple[int, int], ir.Expr] = {}
        self.waiting: dict[tuple[int, int], list[ir.Expr]] = {}
        self.body: list[ir.Stmt] = []
        self.count = 0

    def add(self, place: tuple[int, int], weight: float, value: ir.Var) -> None:
        """Add a weighted input to the result at a place."""
        term: ir.Expr = ir.mul(ir.Real(weight, self.dtype), value)
        waiting = self.waiting.setdefault(place, [])
        if place in self.results and len(waiting) + 1 < self.ways:
            waiting.append(self.let(term))
            return
        if place in self.results:
            waiting.append(self.results[place])
            term = ir.add(waiting.pop(0), term)
        self.results[place] = self.let(term)

    def join(self) -> list[ir.Stmt]:
        """Add up the sums that every result is made of."""
        for place, waiting in self.waiting.items():
            while waiting:
                term = ir.add(self.results[place], waiting.pop())
                self.results[place] = self.let(term)
        body, self.body = self.body, []
        return body

    def let(self, value: ir.Expr) -> ir.Var:
        """Name a value."""
        self.count += 1
        var = ir.Var(f"{self.prefix}{self.count}", ir.vector(self.dtype))
        self.body.append(ir.Let(var, value))
        return var


def add_up(sums: Sums, uses: Mapping[ir.Var, Uses], pending: MutableMapping[ir.Expr, ir.Let]) -> list[ir.Stmt]:
    """Add inputs to the results that read them.

    Before: ``y += w * a; y += w * b`` where only ``y`` reads a and b. After: ``y += w * (a + b)``.

    Args:
        sums: The results so far.
        uses: Who reads which input, in the order in which they go by.
        pending: Loads of inputs that are not written yet; those that are needed are taken out.

    Returns:
        The statements.
    """
    alike: dict[tuple[tuple[int, int], float], list[ir.Var]] = {}
    for var, readers in uses.items():
        if len(readers) == 1:
            alike.setdefault(readers[0], []).append(var)
    for var, readers in uses.items():
        if len(readers) > 1:
            _need(sums, var, pending)
            for place, weight in readers:
                sums.add(place, weight, var)
        elif alike[readers[0]][0] == var:
            together, *others = alike[readers[0]]
            _need(sums, together, pending)
            for other in others:
                _need(sums, other, pending)
                together = sums.let(ir.add(together, other))
            sums.add(*readers[0], together)
    body, sums.body = sums.body, []
    return body


def _need(sums: Sums, var: ir.Var, pending: MutableMapping[ir.Expr, ir.Let]) -> None:
    load = pending.pop(var, None)
    if load is not None:
        sums.body.append(load)
