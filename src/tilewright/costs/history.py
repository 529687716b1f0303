"""What gradients add to a problem: states that are kept or read besides those of a step, sums over a few cells.

A band of steps that keeps its states writes each of them to memory, past the caches and beside the versions that steps
read, and the band of the adjoint reads them from there. Tiles do not change that: no cell of a state is used in two
steps of the adjoint. What the cells along the sides of a
grid are worth is summed in slabs as thin as the reach, which cost next to nothing.
"""

from dataclasses import replace

from tilewright.base.facts import fact
from tilewright.programs.stencil.problem import Problem
from tilewright.programs.stencil.program import Program
from tilewright.programs.stencil.storage import Storage

_THIN = 0.25
"""Share of the cells below which what a statement updates is a slab along a side."""


@fact
def bulk(problem: Problem) -> Problem:
    """Return a problem without the statements that update thin slabs; the same one if there are none."""
    if not problem.regions:
        return problem
    regions = dict(problem.regions)
    thin = {
        each.field
        for each in problem.program.statements
        if each.field in regions and _cells(problem.update_box(each)) < _THIN * problem.cells
    }
    rest = tuple(each for each in problem.program.statements if each.field not in thin)
    if not thin or not rest:
        return problem
    read = {read.field for each in rest for read in each.reads} | {each.field for each in rest}
    fields = tuple(field for field in problem.program.fields if field in read)
    return replace(
        problem,
        program=replace(problem.program, fields=fields, statements=rest),
        boundaries=tuple(problem.sides(field) for field in fields),
        regions=tuple(pair for pair in problem.regions if pair[0] in read),
    )


def _cells(box: tuple[tuple[int, int], ...]) -> int:
    total = 1
    for low, high in box:
        total *= high - low
    return total


def of_program(storage: Storage, program: Program) -> Storage:
    """Return what a storage says of the fields of a program that has fewer."""
    return replace(storage, series=tuple(field for field in storage.series if field in program.fields))


def further_versions(problem: Problem, storage: Storage) -> int:
    """Values per cell, over all fields, that are kept or read besides those that a step needs."""
    return storage.kept * len(problem.program.updated) + max(0, problem.steps - 1) * len(storage.series)


def state_bytes(problem: Problem, storage: Storage) -> int:
    """Bytes per cell and step that states take to memory, or from it."""
    kept = len(problem.program.updated) if storage.kept else 0
    return problem.itemsize * (kept + len(storage.series))
