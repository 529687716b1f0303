"""``tilewright image``: the pipelines on a picture."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import ImageOptions


def image(
    operation: Annotated[str, typer.Argument(metavar="OPERATION", help="blur, canny or sobel.", show_default=False)],
    source: Annotated[Path, typer.Argument(metavar="IN", help="A PNG, TIFF or JPEG picture.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Where the result goes.", show_default=False)],
    asked: ImageOptions,
    as_json: Json = False,
) -> None:
    """Blur a picture, or find its edges: grey or colour, 8 or 16 bits.

    Example: tilewright image canny photo.png edges.png --sigma 1.4 --low 0.1 --high 0.2
    """
    from tilewright.verbs.pipelines.image import process

    done = process(operation, source, target, **asked.keywords())
    if as_json:
        output.emit(done.to_dict())
    output.say(str(done), as_json)
