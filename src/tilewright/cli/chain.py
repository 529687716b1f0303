"""``tilewright chain``: the plan of a matrix chain."""

from dataclasses import dataclass
from typing import Annotated

import typer

from tilewright.base.options import Options, option
from tilewright.base.tables import Shown
from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import ChainOptions


@dataclass(frozen=True, kw_only=True)
class ChainTrial(Options):
    """Whether the plan is run."""

    run: bool = option(False, "Multiply random matrices by the plan, beside numpy.linalg.multi_dot.")
    dtype: str = option("float64", "Element type of --run: float32 or float64.")


def chain(
    sizes: Annotated[
        list[int], typer.Argument(metavar="P0 P1 … Pn", help="Sizes: matrix i is P(i-1) x Pi.", show_default=False)
    ],
    asked: ChainOptions,
    trial: ChainTrial,
    as_json: Json = False,
) -> None:
    """Plan a chain of matrix products for least data movement.

    Example: tilewright chain 936 1008 552 368 1016 616 544 --memory 65536
    """
    from tilewright.verbs.chains import chain as api

    plan = api.plan(sizes, **asked.keywords())
    document = plan.to_dict()
    parts: list[Shown] = [plan.explain(), *([plan.table()] if plan.nodes else [])]
    if trial.run:
        measured = api.trial(plan, trial.dtype)
        document["run"] = measured.to_dict()
        parts.append(str(measured))
    output.show(document, lambda: parts, as_json)
