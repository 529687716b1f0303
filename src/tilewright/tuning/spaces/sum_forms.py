"""What the rules of boxes and of streaming tiles share about weighted sums: their forms, and how long these take."""

import functools
from collections.abc import Sequence

from tilewright.base.errors import UsageError
from tilewright.costs.operations import sum_cycles
from tilewright.machines.numbers import FEW, VectorUnits
from tilewright.programs.stencil.expression import Apply, Const, Tape
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.weights import Terms, apart
from tilewright.schedules.code import Block, Sum
from tilewright.schedules.sums import SumWork, input_loads, work
from tilewright.schedules.tiling import Tiling

UNDER_WAY = 8  # multiply-adds to different sums that keep the arithmetic busy: two per cycle, and four cycles for each
_WORK = 4  # registers for inputs and products, with one or two to spare for compilers that order them in their own way
_OVERLAPPING = 16  # reads up to which sums of neighbouring blocks overlap by themselves


def asked_form(problem: Problem, tiling: Tiling, *, strict: bool) -> str:
    """The form of weighted sums that a tiling asks for, or that must be; empty where every sum's own is chosen."""
    form, name = tiling.sums or "", problem.program.name
    if strict or not problem.rounds:
        if form not in {"", "outputs"}:
            raise UsageError(
                f"sums={form} changes the order of sums, which strict runs and whole numbers keep", "leave sums out"
            )
        return "outputs"
    sums = (apart(each, pairs=form == "winograd").sums for each in problem.program.statements)
    if form not in {"", "outputs"} and not any(sums):
        raise UsageError(f"sums={form} is for long weighted sums of different weights, which {name!r} has not")
    if form in {"columns", "winograd", "loop"} and problem.program.rank == 1:
        raise UsageError(f"sums={form} is for programs in 2D and 3D, {name!r} is 1D", "write sums=inputs")
    return form


def column_sum(terms: Terms, results: int) -> Sum:
    """How a sum is written column by column for so many results."""
    # With 16 registers weights come from memory, and written input by input every product loads its own: two vectors
    # can be loaded per cycle, and multiply-adds wait for them. A column's weights are held while its inputs go by, so
    # that n weights and m results take 2 n + m - 1 loads for n m products. Where few results are computed together,
    # columns are added to two sums of every one in turn.
    two = len(terms) > _OVERLAPPING and 2 * results <= UNDER_WAY
    # Processors with more registers keep the weights of most sums in them all the time.
    most = max(2, FEW.registers - _WORK - results * (1 + two))
    loaded = results > 1 and len(set(terms.values())) > most
    return Sum(form="columns", accumulators=1 + two, weights=most, loaded=loaded)


def fastest(terms: Terms, results: Block, options: Sequence[Sum], units: VectorUnits) -> Sum:
    """Return the form in which a sum takes the fewest cycles; the first one of those that take as long."""
    if len(options) == 1:
        return options[0]
    weights = len({abs(weight) for weight in terms.values()} - {1.0})
    return min(options, key=lambda form: sum_cycles(work(terms, results, form), units, results.count, weights))


def statement_cycles(
    statement: Statement, results: Block, sums: tuple[Sum, ...], units: VectorUnits, *, pairs: bool = False
) -> float:
    """Return the cycles of one statement per vector; as it stands where ``sums`` has no forms."""
    split = apart(statement, pairs=pairs or not sums)
    if sums:
        parts = [work(terms, results, form) for terms, form in zip(split.sums, sums, strict=True)]
    else:
        loads = input_loads(statement.reads, results)
        parts = [_grouped_work(terms, results) for terms in split.sums]
        parts.append(SumWork(products=0, additions=0, fused=0, loads=loads, weights=0))
    rest = _plain_work(split.tape, results)
    every = functools.reduce(_both, parts, rest)
    constants = {abs(node.value) for node in statement.tape if isinstance(node, Const)} - {1.0}
    return sum_cycles(every, units, results.count, len(constants)) / results.count


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
    additions = sum(isinstance(node, Apply) for node in tape) - len(products)
    weighted = sum(any(isinstance(tape[arg], Const) for arg in node.args) for node in products)
    added = sum(isinstance(node, Apply) and node.op in {"add", "sub"} for node in tape)
    return SumWork(
        products=results.count * len(products),
        additions=results.count * additions,
        fused=results.count * min(len(products), added),
        loads=0,
        weights=results.count * weighted,
    )
