"""What the form of sums that a tiling asks for does to the arithmetic, by the exact counts of each form."""

from dataclasses import replace

from tilewright.machines.machine import Machine
from tilewright.machines.vectors import FEW, VectorUnits, vector_units
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.code import KernelCode
from tilewright.schedules.streaming.levels import of_problem
from tilewright.schedules.tiling import Tiling
from tilewright.tuning.spaces.bodies import choose_body
from tilewright.tuning.spaces.statement_cycles import statement_cycles


def arithmetic_ratio(problem: Problem, tiling: Tiling, machine: Machine) -> float:
    """Return by how much a tiling's ``sums`` lengthen the arithmetic of a cell, over the rule's choice.

    The model's seconds per vector are of code as the rule writes it, calibrated or estimated; what another form of its
    sums takes is to that as the cycles of both are by their counts (:func:`tilewright.costs.sums.cycles`).
    """
    if tiling.sums is None or machine.kind != "cpu":
        return 1.0  # GPUs have no such forms
    units = vector_units(machine)
    asked, plain = (
        _cycles(problem, choose_body(problem, each), units) for each in (tiling, replace(tiling, sums=None))
    )
    return asked / plain


def _cycles(problem: Problem, body: KernelCode, units: VectorUnits) -> float:
    """Cycles per vector of all statements, those of a block of results shared among these."""
    total = 0.0
    for box, statement in zip(body.boxes, problem.program.statements, strict=False):
        total += statement_cycles(statement, box.block, box.block.sums[0], units)
    produced = {each.field: each for each in problem.program.statements}
    pipeline = of_problem(problem)
    for number, stage in enumerate(body.stages[: len(pipeline.stages)]):
        block = (stage.few if units == FEW else stage.many).blocks[0]
        fields = [field for field, own in zip(problem.program.fields, pipeline.stage_of, strict=True) if own == number]
        for field, sums in zip(fields, block.sums, strict=True):
            if field in produced:
                total += statement_cycles(produced[field], block, sums, units, pairs=block.pairs)
    return total
