"""``tilewright report``: results as one HTML page."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.base.options import Count, Options, option
from tilewright.base.units import parse_shape
from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import BOUNDARY, DTYPE, MACHINE, boundary_of, refuse

if TYPE_CHECKING:
    from tilewright.programs.stencil.boundaries import BoundarySpec


class Reported(Options):
    """The page, and what is said of results beside what their files hold."""

    target: Path = option(Path("report.html"), "The page to write.", "--output", "-o", metavar="FILE.html")
    program: str | None = option(None, "Report this program by the models alone, or what a file is of.", metavar="P")
    shape: tuple[int, ...] | None = option(None, "Extents, outermost first.", metavar="AxB", reader=parse_shape)
    steps: int | None = option(None, "Number of time steps.", kind=Count, metavar="T")
    machine: str | None = option(None, MACHINE, metavar="M")
    dtype: str = option("float32", DTYPE)
    boundary: "BoundarySpec" = option("fixed", BOUNDARY, reader=boundary_of)
    top: int = option(40, "Rank so many tilings.", metavar="N", least=1, most=1000)
    title: str = option("tilewright report", "The page's title.")


def report(
    asked: Reported,
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RESULT]...",
            help="Files that `tune --json` or `predict --json` printed, or tuning logs (.jsonl).",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Write one self-contained HTML page: roofline, predicted against measured, candidates, Pareto set, explanation.

    Without a RESULT the page is of --program, --shape and --steps on --machine, by the models alone.

    Example: tilewright report --program heat2d --shape 4096x4096 --steps 256 --machine h200 -o heat.html
    """
    from tilewright.verbs import report as api
    from tilewright.verbs.load import load_program

    if not results and asked.program is None:
        raise typer.BadParameter("give a RESULT, or --program P, --shape S and --steps T")
    if results:
        refuse("a page of files", asked)
    chosen = None if asked.program is None else load_program(asked.program)
    defaults = api.FileDefaults(
        program=chosen,
        shape=asked.shape,
        steps=asked.steps,
        machine=asked.machine,
        boundary=asked.boundary,
        dtype=asked.dtype,
    )
    studies = [api.of_file(path, defaults) for path in results or []]
    if not studies and chosen is not None:
        studies = [api.of_problem(chosen, defaults, asked.top)]
    path = api.report(studies, asked.target, title=asked.title, command=shlex.join(["tilewright", *sys.argv[1:]]))
    size, titles = path.stat().st_size, [each.title for each in studies]
    document = {"output": str(path), "bytes": size, "results": titles}
    output.show(document, lambda: f"wrote {path}, {size / 1024:.0f} KiB: {'; '.join(titles)}", as_json)
