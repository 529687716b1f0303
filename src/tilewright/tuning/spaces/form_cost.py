"""What the form of sums that a tiling asks for does to the arithmetic, by the exact counts of each form."""

import functools
from dataclasses import replace

from tilewright.costs.sums import FEW, MANY, Ports, cycles
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.expression import Apply, Const, Tape
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Statement
from tilewright.programs.stencil.weights import apart
from tilewright.schedules.bodies.body import Body, Sum
from tilewright.schedules.bodies.sums import Results, SumWork, input_loads, work
from tilewright.schedules.streaming.levels import of_problem
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.bodies import choose_body

_WIDE = 16
"""Words of a vector from which on processors have 32 vector registers."""


def arithmetic_ratio(problem: Problem, tiling: Tiling, machine: Machine) -> float:
    """Return by how much a tiling's ``sums`` lengthen the arithmetic of a cell, over the rule's choice.

    The model's seconds per vector are of code as the rule writes it, calibrated or estimated; what another form of its
    sums takes is to that as the cycles of both are by their counts (:func:`tilewright.costs.sums.cycles`).

    Args:
        problem: The problem.
        tiling: A tiling; 1 where it asks for no form.
        machine: Where; 1 on GPUs, whose code has no such forms.

    Raises:
        UsageError: If the problem has no sums that can be written so.
    """
    if tiling.sums is None or machine.kind != "cpu":
        return 1.0
    few = machine.vector_width.value < _WIDE
    asked, plain = (
        _cycles(problem, choose_body(problem, each), few=few) for each in (tiling, replace(tiling, sums=None))
    )
    return asked / plain


def _cycles(problem: Problem, body: Body, *, few: bool) -> float:
    """Cycles per vector of all statements, those of a block of results shared among these."""
    rank, ports, total = problem.program.rank, FEW if few else MANY, 0.0
    for box, statement in zip(body.boxes, problem.program.statements, strict=False):
        results = Results(axis=max(rank - 2, 0), planes=box.block.rows)
        total += _statement_cycles(statement, results, box.block.sums, ports)
    produced = {each.field: each for each in problem.program.statements}
    for number, stage in enumerate(body.stages[: len(of_problem(problem).stages)]):
        code = stage.few if few else stage.many
        block, stage_of = code.blocks[0], of_problem(problem).stage_of
        fields = [field for field, own in zip(problem.program.fields, stage_of, strict=True) if own == number]
        for field, sums in zip(fields, block.sums, strict=True):
            if field in produced:
                results = Results(axis=0, planes=block.planes, lines=block.lines)
                total += _statement_cycles(produced[field], results, sums, ports, pairs=code.pairs)
    return total


def _statement_cycles(
    statement: Statement, results: Results, sums: tuple[Sum, ...], ports: Ports, *, pairs: bool = False
) -> float:
    """Cycles of one statement per vector."""
    found = apart(statement.tape, pairs=pairs) if sums else None
    rest = _plain_work(statement.tape if found is None else found.tape, results)
    parts = [] if found is None else [work(terms, results, form) for terms, form in zip(found.sums, sums, strict=True)]
    if found is None:
        loads = input_loads(statement.reads, results)
        parts = [SumWork(products=0, additions=0, fused=0, loads=loads, weights=0)]
    every = functools.reduce(_both, parts, rest)
    constants = {abs(node.value) for node in statement.tape if isinstance(node, Const)} - {1.0}
    return cycles(every, ports, results.count, len(constants)) / results.count


def _both(first: SumWork, second: SumWork) -> SumWork:
    return SumWork(
        products=first.products + second.products,
        additions=first.additions + second.additions,
        fused=first.fused + second.fused,
        loads=first.loads + second.loads,
        weights=first.weights + second.weights,
    )


def _plain_work(tape: Tape, results: Results) -> SumWork:
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
