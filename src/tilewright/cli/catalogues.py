"""``tilewright programs``, ``machines`` and ``tilings``: the catalogues."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.base.tables import table
from tilewright.cli import output
from tilewright.cli.options import Json


def programs(
    name: Annotated[str | None, typer.Argument(help="One program, or FILE.py:FUNCTION.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """List the built-in programs, or show one: its expression, counts, reach and dependences.

    Example: tilewright programs gradient2d
    """
    from tilewright.programs.stencil import catalogue
    from tilewright.programs.stencil.program import Program
    from tilewright.report import tables
    from tilewright.verbs.dispatch import server_of, serving
    from tilewright.verbs.load import load_any

    if name is None:
        every = [catalogue.program(each) for each in catalogue.names()]
        listings = [each.listing() for each in serving()]
        document = {"programs": [tables.program_dict(p) for p in every]} | {title: many for title, many, _ in listings}
        output.show(document, lambda: (tables.programs(every), *(listed for _, _, listed in listings)), as_json)
        return
    definition = load_any(name)
    if isinstance(definition, Program):
        output.show(tables.program_dict(definition), lambda: tables.program(definition), as_json)
    else:
        facts, shown = server_of(definition).described(definition)
        output.show(facts, lambda: shown, as_json)


def machines(
    name: Annotated[str | None, typer.Argument(help="One machine.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """List the machines, or show one: every value with its unit and where it comes from.

    Example: tilewright machines h200
    """
    from tilewright.machines.files import names
    from tilewright.report import tables
    from tilewright.verbs.predict import as_machine

    if name is None:
        every = [as_machine(each) for each in names()]
        output.show({"machines": [m.to_dict() for m in every]}, lambda: tables.machines(every), as_json)
    else:
        machine = as_machine(name)
        output.show(machine.to_dict(), lambda: tables.machine(machine), as_json)


def tilings(
    name: Annotated[str | None, typer.Argument(help="One family, or a whole TILE.", show_default=False)] = None,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw it to this file (.svg, .png or .pdf).")] = None,
    program: Annotated[str, typer.Option("--program", help="Program whose tiling is drawn.")] = "",
    as_json: Json = False,
) -> None:
    """List the tiling families, or show one; --plot draws its tiles in time and space.

    Example: tilewright tilings hybrid --plot hybrid.svg
    """
    from tilewright.verbs import explain

    if name is None and plot is not None:
        raise typer.BadParameter("--plot needs the name of a tiling, such as: tilewright tilings hybrid --plot h.svg")
    if name is None:
        rows = explain.families()
        columns = ("family, with sizes", "ranks", "what it is")
        output.show(
            {"tilings": [row.outline() for row in rows]},
            lambda: table(columns, [r.cells() for r in rows]),
            as_json,
        )
        return
    shown = explain.family(name, program)
    if plot is not None:
        explain.draw(shown, plot)
        output.note(f"drew {shown.example} of {shown.program} to {plot}")
    output.show({**shown.to_dict(), "plot": plot and str(plot)}, shown.shown, as_json)
