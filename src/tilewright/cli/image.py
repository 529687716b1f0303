"""``tilewright image``: the pipelines on a picture."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import Json


def image(
    operation: Annotated[str, typer.Argument(metavar="OPERATION", help="blur, canny or sobel.", show_default=False)],
    source: Annotated[Path, typer.Argument(metavar="IN", help="A PNG, TIFF or JPEG picture.", show_default=False)],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="Where the result goes.", show_default=False)],
    sigma: Annotated[
        float, typer.Option("--sigma", help="Standard deviation of the blur in cells, for blur and canny.")
    ] = 1.0,
    low: Annotated[
        float, typer.Option("--low", help="Lower threshold of canny, of the picture's range (0 to 1).")
    ] = 0.1,
    high: Annotated[float, typer.Option("--high", help="Upper threshold of canny.")] = 0.2,
    boundary: Annotated[
        str | None,
        typer.Option(
            "--boundary",
            help="reflect (default), nearest, mirror, wrap or constant:VALUE; canny's default is scikit-image's.",
        ),
    ] = None,
    threads: Annotated[int | None, typer.Option("--threads", metavar="N", help="Threads; all by default.")] = None,
    as_json: Json = False,
) -> None:
    """Blur a picture, or find its edges: grey or colour, 8 or 16 bits.

    Example: tilewright image canny photo.png edges.png --sigma 1.4 --low 0.1 --high 0.2
    """
    from tilewright.verbs.pipelines.image import process

    done = process(operation, source, target, sigma=sigma, low=low, high=high, boundary=boundary, threads=threads)
    if as_json:
        output.emit(done.to_dict())
    output.say(str(done), as_json)
