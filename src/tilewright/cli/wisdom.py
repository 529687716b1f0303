"""``tilewright wisdom list``, ``export``, ``import`` and ``forget``: what tuning has learned."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.base.tables import table
from tilewright.cli import output
from tilewright.cli.options import Json

app = typer.Typer(
    name="wisdom",
    add_completion=False,
    help="What tuning has learned: list, export, import, forget.\n\nExample: tilewright wisdom list",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_OfProgram = Annotated[str | None, typer.Option("--program", metavar="NAME", help="Only what is about this program.")]
_COLUMNS = ("id", "program", "shape", ">steps", "dtype", ">threads", "tiling", ">seconds", "state", "when")


@app.command("list")
def list_entries(program: _OfProgram = None, as_json: Json = False) -> None:
    """List what is known; what was measured in another environment is flagged.

    Example: tilewright wisdom list --program heat2d
    """
    from tilewright.verbs import wisdom

    entries = wisdom.known(program)
    document = {"entries": [each.to_dict() for each in entries]}
    output.show(document, lambda: table(_COLUMNS, wisdom.rows(entries)), as_json)


@app.command("export")
def export(
    target: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="File to write; standard output by default.")
    ] = None,
    program: _OfProgram = None,
    as_json: Json = False,
) -> None:
    """Write what is known as JSON, for another account or machine.

    Example: tilewright wisdom export -o wisdom.json
    """
    from tilewright.verbs import wisdom

    count = len(wisdom.known(program))
    text = wisdom.export(target, program)
    if target is None:
        typer.echo(text, nl=False)
    elif as_json:
        output.emit({"exported": count, "file": str(target)})
    output.note(f"exported {count} entries" + (f" to {target}" if target else ""))


@app.command("import")
def import_entries(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file that `wisdom export` wrote.", show_default=False)
    ],
    as_json: Json = False,
) -> None:
    """Add what another machine or account has learned; only what fits this machine is ever used.

    Example: tilewright wisdom import wisdom.json
    """
    from tilewright.verbs import wisdom

    added = wisdom.take_in(file)
    stale = sum(bool(each.stale) for each in added)
    text = f"imported {len(added)} entries, {stale} of them measured in another environment"
    output.show({"imported": len(added), "stale": stale}, lambda: text, as_json)


@app.command("forget")
def forget(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Ids as `wisdom list` shows them.")] = None,
    program: _OfProgram = None,
    stale: Annotated[bool, typer.Option("--stale", help="What was measured in another environment.")] = False,
    everything: Annotated[bool, typer.Option("--all", help="Everything.")] = False,
    as_json: Json = False,
) -> None:
    """Forget entries of the store.

    Example: tilewright wisdom forget --stale
    """
    from tilewright.verbs import wisdom

    count = wisdom.forget(tuple(ids or ()), program, stale=stale, everything=everything)
    output.show({"forgotten": count}, lambda: f"forgot {count} entries", as_json)
