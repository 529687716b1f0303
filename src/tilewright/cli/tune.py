"""``tilewright tune``: find the best tiling by measuring the model's candidates."""

from pathlib import Path
from typing import Any

import typer

from tilewright.base.options import Options, option
from tilewright.base.tables import table
from tilewright.cli import output
from tilewright.cli.options import Json, ProgramName
from tilewright.verbs.options import TuneOptions

_SHOWN = 20


class TuneOutput(Options):
    """What the command gives a tuning, and makes of it."""

    scalars: tuple[str, ...] = option((), "Value of a scalar; repeat it for every one.", "--set", metavar="NAME=VALUE")
    export: Path | None = option(
        None, "Write the winner's code: .c and a header, .cu or .cl and a host.", metavar="FILE"
    )
    plot: Path | None = option(
        None, "Plot predicted against measured times (.svg, .png, .pdf).", metavar="FILE", rare=True
    )


def tune(program: ProgramName, asked: TuneOptions, made: TuneOutput, as_json: Json = False) -> None:
    """Rank tilings by the model, measure the best, and remember the winner for `run`.

    Example: tilewright tune heat2d --shape 2048x2048 --steps 256 --seconds 60
    """
    from tilewright.costs.interval import SHARE
    from tilewright.inputs.files import scalar_values
    from tilewright.verbs.dispatch import stencil_of
    from tilewright.verbs.load import load_any, steps_of
    from tilewright.verbs.tuning import study
    from tilewright.verbs.tuning import tune as api

    known = stencil_of(load_any(program), "tune")
    values: dict[str, Any] = dict(scalar_values(known, made.scalars)) if made.scalars else {}
    plan = api.tune(known, **asked.keywords() | {"steps": steps_of(known, asked.steps)}, **values)
    if made.export is not None:
        plan.export(made.export)
    if made.plot is not None:
        plan.plot(made.plot)
    columns = (
        "tiling",
        ">predicted",
        f"{SHARE:.0%} interval",
        ">bound",
        ">measured",
        ">spread",
        ">registers",
        ">spills",
        ">on chip",
        "outcome",
    )
    rows = [each.cells() for each in plan.candidates[:_SHOWN]]
    document = plan.to_dict() | {"made": study.measured_here(plan.backend, plan.threads)}
    output.show(document, lambda: (table(columns, rows), plan.explain()), as_json)
    if plan.interrupted:
        raise typer.Exit(1)
