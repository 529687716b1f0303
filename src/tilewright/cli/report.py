"""``tilewright report``: results as one HTML page."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import BoundaryText, DType, Json, whole


def report(
    results: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[RESULT]...",
            help="Files that `tune --json` or `predict --json` printed, or tuning logs (.jsonl).",
            show_default=False,
        ),
    ] = None,
    target: Annotated[Path, typer.Option("-o", "--output", metavar="FILE.html", help="The page to write.")] = Path(
        "report.html"
    ),
    program: Annotated[
        str | None,
        typer.Option("--program", metavar="P", help="Report this program by the models alone, or what a file is of."),
    ] = None,
    shape: Annotated[str | None, typer.Option("--shape", metavar="AxB", help="Extents, outermost first.")] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="T", parser=whole, help="Number of time steps.")
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option("--machine", metavar="M", help="A machine of the catalogue, host, or a machine file."),
    ] = None,
    dtype: DType = "float32",
    boundary: BoundaryText = "fixed",
    top: Annotated[int, typer.Option("--top", metavar="N", help="Rank so many tilings.", min=1, max=1000)] = 40,
    title: Annotated[str, typer.Option("--title", help="The page's title.")] = "tilewright report",
    as_json: Json = False,
) -> None:
    """Write one self-contained HTML page: roofline, predicted against measured, candidates, Pareto set, explanation.

    Without a RESULT the page is of --program, --shape and --steps on --machine, by the models alone.

    Example: tilewright report --program heat2d --shape 4096x4096 --steps 256 --machine h200 -o heat.html
    """
    from tilewright.base.units import parse_shape
    from tilewright.programs.stencil.boundaries import parse_boundary
    from tilewright.verbs import report as api
    from tilewright.verbs.load import load_program

    if not results and program is None:
        raise typer.BadParameter("give a RESULT, or --program P, --shape S and --steps T")
    chosen = None if program is None else load_program(program)
    known = api.FileDefaults(
        program=chosen,
        shape=None if shape is None else parse_shape(shape),
        steps=steps,
        machine=machine,
        boundary=parse_boundary(boundary),
        dtype=dtype,
    )
    studies = [api.of_file(path, known) for path in results or []]
    if not studies and chosen is not None:
        studies = [api.of_problem(chosen, known, top)]
    path = api.report(studies, target, title=title, command=shlex.join(["tilewright", *sys.argv[1:]]))
    document = {"output": str(path), "bytes": path.stat().st_size, "results": [each.title for each in studies]}
    if as_json:
        output.emit(document)
    output.say(
        f"wrote {path}, {path.stat().st_size / 1024:.0f} KiB: {'; '.join(each.title for each in studies)}", as_json
    )
