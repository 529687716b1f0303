"""``tilewright annotate``: annotated C in, tuned code out."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import AnnotateOptions


def annotate(
    file: Annotated[Path, typer.Argument(metavar="FILE.c", help="The annotated file.", show_default=False)],
    asked: AnnotateOptions,
    as_json: Json = False,
) -> None:
    """Tune the annotated loops of a C file, every variant compared with the original.

    Example: tilewright annotate axpy.c -o axpy.tuned.c --seconds 30
    """
    from tilewright.verbs.annotated.annotate import annotate as api

    result = api(file, **asked.keywords())
    if as_json:
        output.emit(result.to_dict())
    output.say(str(result), as_json)
    if asked.out is None and not as_json:
        typer.echo(result.text)
