"""``tilewright validate``: predicted against measured."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.base.options import Options, option
from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import MeasureOptions, ValidateOptions


class ValidateFiles(Options):
    """What is compared: logs of a machine, or a program that is measured here."""

    log: tuple[Path, ...] = option(
        (), "StencilBench logs, Kernel Tuner caches or T4 results.", metavar="FILE", shown=False
    )
    machine: str | None = option(None, "The GPU that the logs are of.", metavar="M", shown=False)
    program: str | None = option(None, "Measure this program here, or what a log without a name is of.", metavar="P")
    plots: Path | None = option(None, "Write figures and a CSV of the scores there.", metavar="DIR")


def validate(
    files: ValidateFiles,
    measured: MeasureOptions,
    asked: ValidateOptions,
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Further logs.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare predictions with measurements: errors, rank correlation, and how good the model's choices are.

    Example: tilewright validate --log j2d5pt.log gradient2d.log --machine v100
    """
    from tilewright.report import validation as report
    from tilewright.verbs import validate as api

    program, plots = files.program, files.plots
    paths = [*files.log, *(more or [])]
    if paths:
        if files.machine is None:
            raise typer.BadParameter("name the GPU that the logs are of: --machine v100")
        logs = [api.read_log(path, program, measured.shape, measured.steps) for path in paths]
        result = api.validate(logs, files.machine, **asked.keywords())
    elif program is not None and measured.shape is not None and measured.steps is not None:
        result = api.validate_here(program, **measured.keywords())
    else:
        raise typer.BadParameter("give --log FILE and --machine M, or --program P, --shape S and --steps T")
    rows = [*((one.name, one.scores) for one in result.stencils), ("mean", result.overall)]
    compared = [(one.name, one.strategies) for one in result.stencils if one.strategies]
    parts = [report.score_table(rows), *([report.strategy_table(compared)] if compared else [])]
    output.show(result.to_dict(), lambda: parts, as_json)
    if result.skipped:
        output.note(result.left_out())
    if plots is not None:
        made = report.draw(result.stencils, plots)
        report.write_scores(plots / "scores.csv", rows)
        output.note(f"wrote {', '.join(path.name for path in made)} and scores.csv to {plots}")
