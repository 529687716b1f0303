"""The time levels of a run: what a next one must be given to go on where it ended."""

from collections.abc import Mapping, Sequence

from tilewright.api.arrays import Array
from tilewright.api.watch import State
from tilewright.programs.problem import Problem
from tilewright.programs.stencil import Program


def level_names(program: Program, field: str) -> tuple[str, ...]:
    """Return the names of a field's time levels in a file, newest first.

    >>> from tilewright.programs.catalogue import program
    >>> level_names(program("wave2d"), "u")
    ('u', 'u_prev')
    """
    return tuple(field + ("", "_prev", "_prev2")[age] for age in range(program.history(field)))


def several_levels(problem: Problem) -> bool:
    """Whether a step reads more of an updated field than its newest level."""
    return any(problem.program.history(field) > 1 for field in problem.program.updated)


def copy_levels(
    state: State, problem: Problem, targets: Sequence[Mapping[str, Array]] = (), *, deep: bool = True
) -> dict[str, tuple[Array, ...]]:
    """Copy the updated fields of a state.

    Args:
        state: The state.
        problem: The problem.
        targets: By age, arrays to copy into, by field; ages beyond get new ones.
        deep: Whether every level that a next step reads is copied, or the newest alone.

    Returns:
        Per field its levels, newest first.
    """
    program = problem.program
    ages = max(program.history(field) for field in program.updated) if deep else 1
    by_age = [state.results(targets[age] if age < len(targets) else None, age) for age in range(ages)]
    return {field: tuple(found[field] for found in by_age if field in found) for field in program.updated}
