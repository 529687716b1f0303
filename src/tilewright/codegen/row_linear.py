"""Weighted sums of many reads, written input by input: every vector is added to all results that read it at once.

Output by output, the 27 reads of a cube wait in registers for three planes of results each, and compilers spill them.
Input by input, only the results of a block are alive. The order of a sum changes, so strict kernels do without.
"""

from tilewright.codegen.ir import Expr, Let, Op, Real, Stmt, Var


class Sums:
    """The results of a block while its inputs go by."""

    def __init__(self, dtype: str, prefix: str) -> None:
        self.dtype = dtype
        self.prefix = prefix
        self.results: dict[tuple[int, int], Expr] = {}
        self.body: list[Stmt] = []
        self.count = 0

    def add(self, place: tuple[int, int], weight: float, value: Var) -> None:
        """Add a weighted input to the result at a place."""
        kind = f"vector:{self.dtype}"
        term: Expr = Op("mul", (Real(weight, self.dtype), value), kind)
        if place in self.results:
            term = Op("add", (self.results[place], term), kind)
        self.count += 1
        var = Var(f"{self.prefix}{self.count}", kind)
        self.body.append(Let(var, term))
        self.results[place] = var
