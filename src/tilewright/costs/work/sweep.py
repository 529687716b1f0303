"""No time tiling: what a step's sweep over the grid moves, and in which order its cells are computed.

On a CPU one thread goes through a recurrence cell by cell; on a GPU the planes of cells that do not need each other are
a launch each (:func:`tilewright.programs.stencil.dependences.plane_weights`).
"""

import math
from dataclasses import dataclass

from tilewright.base.errors import UsageError
from tilewright.costs.facts import Facts
from tilewright.programs.stencil.dependences import plane_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepWork:
    """One step without time tiling."""

    once_bytes: int  # every value that the step needs is read once and every new one written once
    written_bytes: int
    launches: int  # sweeps or launches of a step of a recurrence; else 0
    serial_cells: int  # its cells that are computed one after the other

    @property
    def serial(self) -> bool:
        """Whether cells need new values of the same sweep."""
        return self.launches > 0


def on_cpu(facts: Facts) -> SweepWork:
    """Return a step of a CPU's code: what is overwritten is read, too."""
    program, serial_cells = facts.problem.program, 0
    if program.analysis.sweep:
        spans = zip(*map(facts.problem.update_box, program.statements), strict=True)
        serial_cells = math.prod(max(high for _, high in axis) - min(low for low, _ in axis) for axis in spans)
    values = facts.levels + facts.constants + facts.writes + facts.fetches
    return SweepWork(
        once_bytes=facts.cells * facts.itemsize * values,
        written_bytes=facts.cells * facts.itemsize * facts.writes,
        launches=facts.stages if serial_cells else 0,
        serial_cells=serial_cells,
    )


def on_gpu(facts: Facts) -> SweepWork:
    """Return a step of a GPU's code."""
    program, launches, serial_cells = facts.problem.program, 0, 0
    if found := program.analysis.sweep:
        launches = facts.stages
        if program.rank == 1:
            serial_cells = facts.cells  # one thread waits for every cell
        else:
            planes = 1 + sum(w * (n - 1) for w, n in zip(plane_weights(program), facts.shape, strict=True))
            launches += len({dependence.stage for dependence in found}) * (planes - 1)
    values = facts.levels + facts.constants + facts.updated
    return SweepWork(
        once_bytes=facts.cells * facts.itemsize * values,
        written_bytes=facts.cells * facts.itemsize * facts.updated,
        launches=launches,
        serial_cells=serial_cells,
    )


def check_order(facts: Facts) -> None:
    """Refuse a recurrence of which a GPU computes one cell after the other."""
    program = facts.problem.program
    if program.rank == 1 and (found := program.analysis.sweep):
        raise UsageError(
            f"every cell of {program.name!r} needs the one before it ({found[0].cause}): a GPU has no parallel "
            "order of them, and no model of it",
            "ask for a CPU, such as host",
        )
