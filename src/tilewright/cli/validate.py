"""``tilewright validate``: predicted against measured."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import Json, whole


def validate(
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Further logs.", show_default=False)
    ] = None,
    log: Annotated[
        list[Path] | None,
        typer.Option(
            "--log", metavar="FILE", help="StencilBench logs, Kernel Tuner caches or T4 results.", show_default=False
        ),
    ] = None,
    machine: Annotated[
        str | None, typer.Option("--machine", metavar="M", help="The GPU that the logs are of.", show_default=False)
    ] = None,
    program: Annotated[
        str | None,
        typer.Option("--program", metavar="P", help="Measure this program here, or what a log without a name is of."),
    ] = None,
    backend: Annotated[str, typer.Option("--backend", help="What to measure with: auto or c.")] = "auto",
    shape: Annotated[str | None, typer.Option("--shape", metavar="AxB", help="Extents, outermost first.")] = None,
    steps: Annotated[
        int | None, typer.Option("--steps", metavar="T", parser=whole, help="Number of time steps.")
    ] = None,
    model: Annotated[
        str, typer.Option("--model", help="exact, or published: the papers' equations as printed.")
    ] = "exact",
    points: Annotated[
        int,
        typer.Option("--points", metavar="N", help="Calibration points per stencil, never scored.", min=0, max=1000),
    ] = 10,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the choice of those points.", min=0)] = 0,
    held_out: Annotated[
        bool, typer.Option("--held-out", help="Fit every stencil's constants on the other stencils only.")
    ] = False,
    off: Annotated[
        list[str] | None, typer.Option("--off", metavar="TERM", help="Switch a term of the exact model off.")
    ] = None,
    candidates: Annotated[
        int, typer.Option("--candidates", metavar="N", help="Tilings to measure with --program.", min=2)
    ] = 40,
    plots: Annotated[
        Path | None, typer.Option("--plots", metavar="DIR", help="Write figures and a CSV of the scores there.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare predictions with measurements: errors, rank correlation, and how good the model's choices are.

    Example: tilewright validate --log j2d5pt.log gradient2d.log --machine v100
    """
    from tilewright.base.units import parse_shape
    from tilewright.report import validation as report
    from tilewright.verbs import validate as api

    files = [*(log or []), *(more or [])]
    extents = None if shape is None else parse_shape(shape)
    if files:
        if machine is None:
            raise typer.BadParameter("name the GPU that the logs are of: --machine v100")
        logs = [api.read_log(path, program, extents, steps) for path in files]
        result = api.validate(
            logs, machine, model=model, points=points, seed=seed, off=tuple(off or ()), held_out=held_out
        )
    elif program is not None and extents is not None and steps is not None:
        result = api.validate_here(program, shape=extents, steps=steps, backend=backend, candidates=candidates)
    else:
        raise typer.BadParameter("give --log FILE and --machine M, or --program P, --shape S and --steps T")
    rows = [*((one.name, one.scores) for one in result.stencils), ("mean", result.overall)]
    compared = [(one.name, one.strategies) for one in result.stencils if one.strategies]
    parts = [report.score_table(rows), *([report.strategy_table(compared)] if compared else [])]
    output.show(result.to_dict(), lambda: parts, as_json)
    if result.skipped:
        output.note(result.left_out())
    if plots is not None:
        panels = [
            report.StencilPanel(
                title=one.name,
                predicted=one.scored[0],
                measured=one.scored[1],
                space=one.space,
                strategies=one.strategies,
            )
            for one in result.stencils
        ]
        made = report.draw(panels, plots)
        report.write_scores(plots / "scores.csv", rows)
        output.note(f"wrote {', '.join(path.name for path in made)} and scores.csv to {plots}")
