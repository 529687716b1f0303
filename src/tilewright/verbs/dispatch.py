"""Which workload serves a program: one table, whose entries are loaded when they are asked for."""

from collections.abc import Callable, Mapping
from typing import Any

from tilewright.base.errors import UsageError
from tilewright.base.names import meant
from tilewright.inputs.arrays import problem_of
from tilewright.inputs.stencil import ProgramLike, as_program
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.program import Program
from tilewright.programs.tables import catalogue as recurrences
from tilewright.programs.tables.table import Recurrence
from tilewright.verbs.tables.table import Table
from tilewright.verbs.unstable import warn_if_unstable
from tilewright.workload import Request, Workload

AnyProgram = ProgramLike | Table | Recurrence
"""Whatever stands for a program of some workload."""
_LACKS = {
    "tune": "is not tuned by measuring",
    "supertune": "has orthogonal tiles alone, no strategies to compare",
}
"""What messages say of verbs that recurrences do not offer, where there is more to say."""


def program_of(given: AnyProgram) -> Program | Recurrence:
    """Return the program that a user means; a name that both a recurrence and a stencil have is the recurrence's."""
    if isinstance(given, Table):
        return given.recurrence
    if isinstance(given, Recurrence):
        return given
    if isinstance(given, str) and given in recurrences.names():
        return recurrences.recurrence_named(given)
    return as_program(given)


def stencil_of(given: AnyProgram, verb: str = "") -> Program:
    """Return the stencil that a user means, for a verb that only stencils offer."""
    known = program_of(given)
    if isinstance(known, Recurrence):
        raise UsageError(
            f"{known.name!r} is a recurrence, which {_LACKS.get(verb, 'this command does not take')}",
            "`predict --top 5` ranks its tiles, `whatif` moves the problem, `run --tile` takes one",
        )
    return known


def workload_of(given: AnyProgram, scalars: Mapping[str, Any] | None, asked: Request, machine: Machine) -> Workload:
    """Return what a user asks about, on a machine; any scalar may be left out, and all are None if unknown."""
    program = program_of(given)
    return _SERVED[type(program)](program, scalars, asked, machine)


def _stencil(program: Program, scalars: Mapping[str, Any] | None, asked: Request, machine: Machine) -> Workload:
    from tilewright.tuning import stencil

    problem, numbers = problem_of(program, scalars or {}, asked.shape, asked.steps, asked.dtype, asked.boundary)
    if scalars is not None:
        warn_if_unstable(problem, numbers)
    return stencil.on_machine(problem, machine, model=asked.model, scope=asked.scope)


def _table(program: Recurrence, scalars: Mapping[str, Any] | None, asked: Request, machine: Machine) -> Workload:
    from tilewright.tuning import table

    unknown = [name for name in scalars or () if name not in program.scalars]
    if unknown:
        known = f"its scalars are {', '.join(program.scalars)}" if program.scalars else "it takes no scalars"
        raise UsageError(f"{program.name!r} has no scalar {unknown[0]!r}", meant(unknown[0], program.scalars, known))
    return table.on_machine(program, asked, machine)


_SERVED: dict[type, Callable[[Any, Mapping[str, Any] | None, Request, Machine], Workload]] = {
    Program: _stencil,
    Recurrence: _table,
}
"""By the type of a program, what makes its workload."""
