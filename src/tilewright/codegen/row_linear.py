"""Weighted sums of many reads, written input by input: every vector is added to all results that read it at once.

Output by output, the 27 reads of a cube wait in registers for three planes of results each, and compilers spill them.
Input by input, only the results of a block are alive. The order of a sum changes, so strict kernels do without.
"""

from collections.abc import Sequence

from tilewright.codegen.ir import Expr, Let, Op, Real, Stmt, Var
from tilewright.programs.expression import Apply, Const, Node, Read, Tape

FEWEST = 8
"""Reads from which on a sum is written input by input."""

Terms = dict[Read, float]


def weighted_sum(tape: Tape) -> Terms | None:
    """Return the weights of a tape's reads, or None if it is no weighted sum worth writing input by input.

    Sums of mostly equal weights are not: their partial sums can be shared (:mod:`tilewright.codegen.regroup`).

    >>> from tilewright.programs.catalogue import program
    >>> len(weighted_sum(program("j3d27pt").statements[0].tape) or ())
    27
    >>> weighted_sum(program("heat3d").statements[0].tape), weighted_sum(program("gradient2d").statements[0].tape)
    (None, None)
    """
    values: list[Terms | float | None] = []
    for node in tape:
        values.append(_value(node, values))
    found = values[-1]
    if not isinstance(found, dict) or len(found) < FEWEST or 2 * len(set(found.values())) <= len(found):
        return None
    return found


def _value(node: Node, values: Sequence[Terms | float | None]) -> Terms | float | None:
    """A number, a weighted sum, or None for anything else."""
    if isinstance(node, Apply):
        return _applied(node.op, [values[arg] for arg in node.args])
    if isinstance(node, Const):
        return float(node.value)
    return {node: 1.0} if isinstance(node, Read) else None


def _applied(op: str, args: list[Terms | float | None]) -> Terms | None:
    match op, args:
        case "neg", [dict() as only]:
            return _combine({}, only, -1.0)
        case "add" | "sub", [dict() as left, dict() as right]:
            return _combine(left, right, 1.0 if op == "add" else -1.0)
        case ("mul", [float() as factor, dict() as terms]) | ("mul", [dict() as terms, float() as factor]):
            return _combine({}, terms, factor)
        case "div", [dict() as terms, float() as factor] if factor:
            return _combine({}, terms, 1.0 / factor)
    return None


def _combine(left: Terms, right: Terms, factor: float) -> Terms:
    result = dict(left)
    for read, weight in right.items():
        result[read] = result.get(read, 0.0) + factor * weight
    return result


class Sums:
    """The results of a block while its inputs go by."""

    def __init__(self, dtype: str, prefix: str) -> None:
        self.dtype = dtype
        self.prefix = prefix
        self.results: dict[tuple[int, int], Expr] = {}
        self.body: list[Stmt] = []

    def add(self, place: tuple[int, int], weight: float, value: Var) -> None:
        """Add a weighted input to the result at a place."""
        kind = f"vector:{self.dtype}"
        term: Expr = Op("mul", (Real(weight, self.dtype), value), kind)
        if place in self.results:
            term = Op("add", (self.results[place], term), kind)
        var = Var(f"{self.prefix}{len(self.body)}", kind)
        self.body.append(Let(var, term))
        self.results[place] = var
