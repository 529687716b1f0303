"""``tilewright tune``: find the best tiling by measuring the model's candidates."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tilewright.base.tables import table
from tilewright.cli import output
from tilewright.cli.options import BoundaryText, DType, Json, ProgramName, Shape, StepsOrOnce

_SHOWN = 20


def tune(
    program: ProgramName,
    shape: Shape,
    steps: StepsOrOnce = None,
    backend: Annotated[
        str, typer.Option("--backend", help="auto or c; --effort none plans for opencl and cuda as well.")
    ] = "auto",
    metric: Annotated[
        str, typer.Option("--metric", help="What is to be small: time, traffic, energy, power, edp or ed2p.")
    ] = "time",
    effort: Annotated[
        str, typer.Option("--effort", help="none runs nothing; quick, full and exhaustive try more and more.")
    ] = "quick",
    seconds: Annotated[
        str | None,
        typer.Option("--seconds", metavar="N", help="Begin nothing new after this time, such as 30 or 5min."),
    ] = None,
    candidates: Annotated[
        int | None, typer.Option("--candidates", metavar="N", help="Try at most so many candidates.", min=1)
    ] = None,
    machine: Annotated[
        str, typer.Option("--machine", metavar="M", help="Whose model ranks; any machine with --effort none.")
    ] = "host",
    dtype: DType = "float32",
    boundary: BoundaryText = "fixed",
    threads: Annotated[int | None, typer.Option("--threads", metavar="N", help="Threads; all by default.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Keep the order of operations exactly.")] = False,
    model: Annotated[str, typer.Option("--model", help="exact or published.")] = "exact",
    scalars: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Value of a scalar; repeat it for every one."),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Measure anew what an earlier tuning has measured.")] = False,
    source: Annotated[
        Path | None,
        typer.Option(
            "--export", metavar="FILE", help="Write the winner's code: .c and a header, .cu or .cl and a host."
        ),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option("--plot", metavar="FILE", help="Plot predicted against measured times (.svg, .png, .pdf)."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Rank tilings by the model, measure the best, and remember the winner for `run`.

    Example: tilewright tune heat2d --shape 2048x2048 --steps 256 --seconds 60
    """
    from tilewright.base.units import parse_seconds, parse_shape
    from tilewright.costs.interval import SHARE
    from tilewright.programs.stencil.boundaries import parse_boundary
    from tilewright.verbs import provenance
    from tilewright.verbs.data import scalar_values
    from tilewright.verbs.dispatch import stencil_of
    from tilewright.verbs.load import load_any, steps_of
    from tilewright.verbs.tuning import tune as api

    known = stencil_of(load_any(program), "tune")
    steps = steps_of(known, steps)
    values: dict[str, Any] = dict(scalar_values(known, scalars)) if scalars else {}
    plan = api.tune(
        known,
        shape=parse_shape(shape),
        steps=steps,
        machine=machine,
        backend=backend,
        metric=metric,
        effort=effort,
        seconds=None if seconds is None else parse_seconds(seconds),
        candidates=candidates,
        dtype=dtype,
        boundary=parse_boundary(boundary),
        threads=threads,
        strict=strict,
        model=model,
        resume=not fresh,
        **values,
    )
    if source is not None:
        plan.export(source)
    if plot is not None:
        plan.plot(plot)
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
    document = plan.to_dict() | {"made": provenance.measured_here(plan.backend, plan.threads)}
    output.show(document, lambda: (table(columns, rows), plan.explain()), as_json)
    if plan.interrupted:
        raise typer.Exit(1)
