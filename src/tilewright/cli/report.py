"""``tilewright report``: results as one HTML page."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tilewright.base.options import Options, option
from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import FileDefaults, refuse


class PageFile(Options):
    """Where the page goes."""

    target: Path = option(Path("report.html"), "The page to write.", "--output", "-o", metavar="FILE.html")


class PageContent(Options):
    """What the page shows."""

    top: int = option(40, "Rank so many tilings.", metavar="N", least=1, most=1000)
    title: str = option("tilewright report", "The page's title.")


def report(
    file: PageFile,
    context: FileDefaults,
    content: PageContent,
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

    if not results and context.program is None:
        raise typer.BadParameter("give a RESULT, or --program P, --shape S and --steps T")
    if results:
        refuse("a page of files", content)
    chosen = None if context.program is None else load_program(str(context.program))
    defaults = replace(context, program=chosen)
    studies = [api.of_file(path, defaults) for path in results or []]
    if not studies and chosen is not None:
        studies = [api.of_problem(chosen, defaults, content.top)]
    path = api.report(studies, file.target, title=content.title, command=shlex.join(["tilewright", *sys.argv[1:]]))
    size, titles = path.stat().st_size, [each.title for each in studies]
    document = {"output": str(path), "bytes": size, "results": titles}
    output.show(document, lambda: f"wrote {path}, {size / 1024:.0f} KiB: {'; '.join(titles)}", as_json)
