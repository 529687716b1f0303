"""How many cycles a statement takes, its sums in forms that are given, by exact counts of each."""

import functools

from tilewright.costs.sums import cycles
from tilewright.machines.vectors import VectorUnits
from tilewright.programs.stencil.expression import Apply, Const, Tape
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.weights import Terms, apart
from tilewright.schedules.code import Block, Sum
from tilewright.schedules.sums import SumWork, input_loads, work


def statement_cycles(
    statement: Statement, results: Block, sums: tuple[Sum, ...], units: VectorUnits, *, pairs: bool = False
) -> float:
    """Return the cycles of one statement per vector; as it stands where ``sums`` has no forms."""
    found = apart(statement, pairs=pairs or not sums)
    if sums:
        parts = [work(terms, results, form) for terms, form in zip(found.sums, sums, strict=True)]
    else:
        loads = input_loads(statement.reads, results)
        parts = [_grouped_work(terms, results) for terms in found.sums]
        parts.append(SumWork(products=0, additions=0, fused=0, loads=loads, weights=0))
    rest = _plain_work(found.tape, results)
    every = functools.reduce(_both, parts, rest)
    constants = {abs(node.value) for node in statement.tape if isinstance(node, Const)} - {1.0}
    return cycles(every, units, results.count, len(constants)) / results.count


def _both(first: SumWork, second: SumWork) -> SumWork:
    return SumWork(
        products=first.products + second.products,
        additions=first.additions + second.additions,
        fused=first.fused + second.fused,
        loads=first.loads + second.loads,
        weights=first.weights + second.weights,
    )


def _grouped_work(terms: Terms, results: Block) -> SumWork:
    """What a sum takes as it stands: inputs with the same weight are added up before they are multiplied."""
    weights = len(set(terms.values()))
    return SumWork(
        products=results.count * weights,
        additions=results.count * (len(terms) - 1),
        fused=results.count * (weights - 1),
        loads=0,
        weights=results.count * weights,
    )


def _plain_work(tape: Tape, results: Block) -> SumWork:
    """What operations take that are written one by one: all of them, a product fused with an addition that follows."""
    products = [node for node in tape if isinstance(node, Apply) and node.op == "mul"]
    others = sum(isinstance(node, Apply) for node in tape) - len(products)
    weighted = sum(any(isinstance(tape[arg], Const) for arg in node.args) for node in products)
    added = sum(isinstance(node, Apply) and node.op in {"add", "sub"} for node in tape)
    return SumWork(
        products=results.count * len(products),
        additions=results.count * others,
        fused=results.count * min(len(products), added),
        loads=0,
        weights=results.count * weighted,
    )
