"""Masks as programs: a mask says which cells are updated."""

from dataclasses import replace

from tilewright.base.facts import fact
from tilewright.programs.stencil.expression import Apply, Const, Node, Read, Tape
from tilewright.programs.stencil.program import Program, Statement


@fact
def masked(program: Program) -> tuple[Program, str]:
    """Return a program whose cells are updated only where a further field is not zero, and that field's name.

    Before: ``u <- f``. After: ``u <- where(mask[0] != 0, f, u[0])``, for every updated field.
    """
    name = _unused(program, "mask")
    centre = (0,) * program.rank

    def guard(statement: Statement) -> Tape:
        last = len(statement.tape) - 1
        tail: tuple[Node, ...] = (
            Read(name, 0, centre),
            Const(0),
            Apply("ne", (last + 1, last + 2)),
            Read(statement.field, 0, centre),
            Apply("where", (last + 3, last, last + 4)),
        )
        return (*statement.tape, *tail)

    statements = tuple(replace(statement, tape=guard(statement)) for statement in program.statements)
    return replace(program, fields=(*program.fields, name), statements=statements), name


def _unused(program: Program, name: str) -> str:
    while name in program.fields or name in program.scalars:
        name += "_"
    return name
