"""``tilewright petsc``: the matrix type ``seqdia`` for the installed PETSc."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import Json


def petsc(
    target: Annotated[
        Path | None, typer.Option("--output", "-o", help="A folder, or a file called libseqdia.so.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compile the matrix type seqdia (diagonals without padding) for the installed PETSc.

    A program that was built without knowing of it takes it with the options that are printed.

    Example: ./ex2 $(tilewright petsc) -ksp_monitor
    """
    from tilewright.sparse.petsc import build

    plugin = build(target)
    if as_json:
        output.emit(plugin.to_dict())
    else:
        typer.echo(" ".join(plugin.options))
    output.note(f"compiled against PETSc {plugin.petsc} ({plugin.dtype}) by {plugin.compiler}")
