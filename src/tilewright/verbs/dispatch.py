"""Which workload serves a program: one table, whose entries are loaded when they are asked for."""

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, cast

from tilewright.base.errors import UsageError
from tilewright.base.tables import Shown
from tilewright.inputs.arrays import problem_of
from tilewright.inputs.stencil import ProgramLike, Stencil, as_program
from tilewright.machines.machine import Machine
from tilewright.programs.stencil.program import Program
from tilewright.verbs.unstable import warn_if_unstable
from tilewright.workload import Named, Request, Workload

if TYPE_CHECKING:
    from tilewright.verbs.options import RunFiles, RunOptions

AnyProgram = ProgramLike | Named  # whatever stands for a program of some workload


class Serving(Protocol):
    """What a module offers that serves another kind of programs than stencils."""

    KIND: str
    """What messages call such a program."""
    LACKS: Mapping[str, str]
    """What messages say of verbs that it does not offer, where there is more to say."""
    HINT: str
    """What it offers instead."""

    def program_of(self, given: Any) -> Named | None:  # noqa: ANN401
        """Return the program that a user means; None where it is of another kind."""

    def on_machine(
        self, program: Named, scalars: Mapping[str, Any] | None, asked: Request, machine: Machine
    ) -> Workload:
        """Return it on a machine."""

    def listing(self) -> tuple[str, list[dict[str, object]], Shown]:
        """Return what the built-in ones are called together, and list them as plain data and for people."""

    def described(self, program: Named) -> tuple[dict[str, object], Shown]:
        """Return what there is to know about one, as plain data and for people."""

    def run_files(self, program: Named, options: "RunOptions", files: "RunFiles", note: Callable[[str], None]) -> Any:  # noqa: ANN401
        """Run one from files to files; return a report, as :func:`tilewright.verbs.files.run_files` does."""


_SERVING = ("tilewright.workloads.tables.workload",)


def serving() -> tuple[Serving, ...]:
    """Return what serves other kinds of programs than stencils."""
    return tuple(cast("Serving", importlib.import_module(name)) for name in _SERVING)


def server_of(program: Named) -> Serving:
    """Return what serves a program that is no stencil."""
    return next(each for each in serving() if each.program_of(program) is not None)


def program_of(program: AnyProgram) -> Program | Named:
    """Return the program that a user means; a name that a stencil has, too, is another kind's."""
    if not isinstance(program, Program | Stencil):
        for each in serving():
            match = each.program_of(program)
            if match is not None:
                return match
    return as_program(cast("ProgramLike", program))


def stencil_of(program: AnyProgram, verb: str = "") -> Program:
    """Return the stencil that a user means, for a verb that only stencils offer."""
    definition = program_of(program)
    if isinstance(definition, Program):
        return definition
    server = server_of(definition)
    lack = server.LACKS.get(verb, "this command does not take")
    raise UsageError(f"{definition.name!r} is a {server.KIND}, which {lack}", server.HINT)


def workload_of(subject: AnyProgram, scalars: Mapping[str, Any] | None, request: Request, machine: Machine) -> Workload:
    """Return what a user asks about, on a machine; any scalar may be left out, and all are None if unknown."""
    program = program_of(subject)
    if not isinstance(program, Program):
        return server_of(program).on_machine(program, scalars, request, machine)
    from tilewright.tuning import stencil

    problem, numbers = problem_of(program, scalars or {}, request.shape, request.steps, request.dtype, request.boundary)
    if scalars is not None:
        warn_if_unstable(problem, numbers)
    return stencil.on_machine(problem, machine, model=request.model, scope=request.scope)
