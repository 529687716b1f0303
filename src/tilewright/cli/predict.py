"""``tilewright predict``: what a program costs on a machine."""

from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import BoundaryText, DType, Json, ProgramName, Shape, Steps, Tile


def predict(
    program: ProgramName,
    shape: Shape,
    steps: Steps,
    machine: Annotated[
        str, typer.Option("--machine", metavar="M", help="A machine of the catalogue, host, or a machine file.")
    ] = "host",
    tile: Tile = None,
    top: Annotated[int | None, typer.Option("--top", metavar="N", help="Rank the best N tilings.", min=1)] = None,
    metric: Annotated[str, typer.Option("--metric", help="What to rank by: time or traffic.")] = "time",
    model: Annotated[
        str, typer.Option("--model", help="exact, or published: the papers' equations as printed.")
    ] = "exact",
    dtype: DType = "float32",
    boundary: BoundaryText = "fixed",
    as_json: Json = False,
) -> None:
    """Predict what a program costs on a machine; needs no compiler and no device.

    Example: tilewright predict gradient2d --machine gtx980 --shape 8192x8192 --steps 8192 --top 5
    """
    from tilewright.api import predict as api
    from tilewright.api.load import load_program
    from tilewright.base.units import parse_shape
    from tilewright.programs.problem import parse_boundary
    from tilewright.report import tables

    if tile is not None and (top is not None or metric != "time"):
        raise typer.BadParameter("--tile names one tiling, so there is nothing to rank by --top or --metric")
    known = load_program(program)
    extents = parse_shape(shape)
    outside = parse_boundary(boundary)
    if top is None and metric == "time":
        one = api.predict(
            known, shape=extents, steps=steps, machine=machine, tiling=tile, dtype=dtype, boundary=outside, model=model
        )
        title = f"{known.name} {shape}, {steps} steps on {one.machine}"
        output.show(one.to_dict(), lambda: tables.prediction(str(one.tiling), one.costs, one.c_iter, title), as_json)
        return
    many = api.select(
        known, shape=extents, steps=steps, machine=machine, within=None, metric=metric, top=top or 1, dtype=dtype,
        boundary=outside, model=model,
    )  # fmt: skip
    output.show(
        {**many[0].to_dict(), "candidates": [each.to_dict() for each in many]},
        lambda: tables.candidates([(str(each.tiling), each.costs) for each in many]),
        as_json,
    )
