"""``tilewright whatif``: the costs as the problem or the machine moves."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.base.tables import Shown
from tilewright.cli import output
from tilewright.cli.options import DType, Json, ProgramName, Shape, StepsOrOnce


def whatif(
    program: ProgramName,
    shape: Shape,
    steps: StepsOrOnce = None,
    machine: Annotated[
        str, typer.Option("--machine", metavar="M", help="A machine of the catalogue, host, or a machine file.")
    ] = "host",
    vary: Annotated[
        str, typer.Option("--vary", help="size, steps, sms, lanes, shared, bandwidth, launch or clock.")
    ] = "size",
    factors: Annotated[
        str | None, typer.Option("--factors", metavar="F,F", help="By what it is multiplied, such as 0.5,1,2.")
    ] = None,
    reuse: Annotated[
        str | None,
        typer.Option("--reuse", metavar="P,P", help="Also: the loss of these programs' best tilings on each other."),
    ] = None,
    metric: Annotated[str, typer.Option("--metric", help="time, traffic, energy, power, edp or ed2p.")] = "time",
    model: Annotated[str, typer.Option("--model", help="exact or published.")] = "exact",
    scope: Annotated[
        str | None, typer.Option("--scope", help="Who shares the bandwidth: device (as printed) or per_sm.")
    ] = None,
    plot: Annotated[Path | None, typer.Option("--plot", metavar="FILE", help="Draw the sweep: .png, .svg.")] = None,
    dtype: DType = "float32",
    as_json: Json = False,
) -> None:
    """Vary the problem or the machine and choose again; needs no compiler and no device.

    Example: tilewright whatif heat2d --machine gtx980 --shape 4096x4096 --steps 512 --vary bandwidth
    """
    from tilewright.base.units import parse_shape
    from tilewright.programs.tables.table import Recurrence
    from tilewright.report import energy as tables
    from tilewright.verbs import whatif as api
    from tilewright.verbs.load import load_any, load_program, steps_of

    known, extents = load_any(program), parse_shape(shape)
    steps = steps_of(known, steps)
    if reuse is not None and isinstance(known, Recurrence):
        raise typer.BadParameter(f"--reuse compares stencils, and {known.name} is a recurrence")
    try:
        scales = tuple(float(part) for part in factors.split(",")) if factors else ()
    except ValueError:
        raise typer.BadParameter(f"factors are numbers such as 0.5,1,2, got {factors!r}") from None
    one = api.whatif(
        known, shape=extents, steps=steps, machine=machine, vary=vary, factors=scales, metric=metric, dtype=dtype,
        model=model, scope=scope,
    ).to_dict()  # fmt: skip
    parts: list[Shown] = [tables.sweep(one)]
    if reuse is not None:
        names = [load_program(name) for name in (program, *reuse.split(","))]
        lost = api.reuse(
            names, shape=extents, steps=steps, machine=machine, metric=metric, model=model, scope=scope
        )  # fmt: skip
        one["reuse"] = lost
        parts.append(tables.losses(lost))
    if plot is not None:
        tables.draw_sweep(one, plot)
    output.show(one, lambda: parts, as_json)
