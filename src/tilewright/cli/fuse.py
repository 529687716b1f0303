"""``tilewright fuse``: fusions and configurations of a pipeline of stencils."""

from dataclasses import dataclass
from typing import Annotated

import typer

from tilewright.base.options import Options, option
from tilewright.base.tables import Shown
from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import FuseOptions


@dataclass(frozen=True, kw_only=True)
class FuseOutput(Options):
    """Parameters of a built-in pipeline, and what is listed."""

    configurations: bool = option(False, "List every configuration of the first fusion with its resources.", rare=True)
    radius: int | None = option(None, "Radius of the filter in cells.", rare=True)
    sigma: float | None = option(None, "Standard deviation of the filter in cells.", rare=True)
    gradient: int | None = option(None, "Radius of the gradients.", rare=True)


def fuse(
    pipeline: Annotated[
        str,
        typer.Argument(
            metavar="PIPELINE",
            help="blend, convrows, blur, sobel, canny, unsharp or harris, or FILE.py:FUNCTION.",
            show_default=False,
        ),
    ],
    asked: FuseOptions,
    more: FuseOutput,
    as_json: Json = False,
) -> None:
    """Rank the legal fusions of a pipeline of stencils, with blocks and halos; nothing is run.

    Example: tilewright fuse canny --shape 2048x2048 --machine gtx780 --top 3
    """
    from tilewright.verbs.load import load_pipeline
    from tilewright.verbs.pipelines.fusion import fuse as rank

    filters = {name: getattr(more, name) for name in more.given("radius", "sigma", "gradient")}
    plan = rank(load_pipeline(pipeline, filters), **asked.keywords())
    document = plan.to_dict()
    parts: list[Shown] = [str(plan)]
    if more.configurations:
        lists = plan.configurations()
        document["configurations"] = [each.to_dict() for each in lists]
        parts += [each.table() for each in lists]
        reasons = dict.fromkeys(each.unknown for each in lists if each.unknown)
        parts += [f"registers are not all known: {reason}" for reason in reasons]
    output.show(document, lambda: parts, as_json)
