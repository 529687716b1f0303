"""``tilewright chain``: the plan of a matrix chain."""

from typing import Annotated

import typer

from tilewright.base.tables import Shown
from tilewright.cli import output
from tilewright.cli.options import Json


def chain(
    sizes: Annotated[
        list[int], typer.Argument(metavar="P0 P1 … Pn", help="Sizes: matrix i is P(i-1) x Pi.", show_default=False)
    ],
    memory: Annotated[
        int,
        typer.Option(
            "--memory",
            metavar="WORDS",
            help="On-chip memory in words, that is matrix elements: 65536 are 512 KiB in float64.",
            show_default=False,
        ),
    ],
    model: Annotated[
        str,
        typer.Option("--model", help="exact, published (the thesis as printed) or counts (integer formulas alone)."),
    ] = "exact",
    objective: Annotated[
        str | None,
        typer.Option(
            "--objective", help="opcount (default), two-step, words, weighted, time or energy.", show_default=False
        ),
    ] = None,
    weights: Annotated[
        tuple[float, float], typer.Option("--weights", help="Of multiply-adds and words, for the objective 'weighted'.")
    ] = (1.0, 1.0),
    machine: Annotated[
        str | None,
        typer.Option("--machine", metavar="M", help="Also report seconds and joules on this machine, such as k20c."),
    ] = None,
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Also list every tree that no other beats in both costs.")
    ] = False,
    run: Annotated[
        bool, typer.Option("--run", help="Multiply random matrices by the plan, beside numpy.linalg.multi_dot.")
    ] = False,
    dtype: Annotated[str, typer.Option("--dtype", help="Element type of --run: float32 or float64.")] = "float64",
    as_json: Json = False,
) -> None:
    """Plan a chain of matrix products for least data movement.

    Example: tilewright chain 936 1008 552 368 1016 616 544 --memory 65536
    """
    from tilewright.verbs.chains import chain as api

    plan = api.plan(
        sizes, memory=memory, model=model, objective=objective, weights=weights, machine=machine, pareto=pareto
    )  # fmt: skip
    document = plan.to_dict()
    parts: list[Shown] = [plan.explain(), *([plan.table()] if plan.nodes else [])]
    if run:
        trial = api.trial(plan, dtype)
        document["run"] = trial.to_dict()
        parts.append(str(trial))
    output.show(document, lambda: parts, as_json)
