"""``tilewright fuse``: fusions and configurations of a pipeline of stencils."""

from typing import Annotated

import typer

from tilewright.base.tables import Shown
from tilewright.cli import output
from tilewright.cli.options import Json


def fuse(
    pipeline: Annotated[
        str,
        typer.Argument(
            metavar="PIPELINE",
            help="blend, convrows, blur, sobel, canny, unsharp or harris, or FILE.py:FUNCTION.",
            show_default=False,
        ),
    ],
    shape: Annotated[
        str, typer.Option("--shape", metavar="AxB", help="Extents, outermost first, such as 4096x4096.")
    ] = "4096x4096",
    machine: Annotated[
        str, typer.Option("--machine", metavar="M", help="A machine, see `tilewright machines`.")
    ] = "host",
    top: Annotated[int, typer.Option("--top", metavar="N", help="How many fusions to list.")] = 1,
    fusion: Annotated[
        str | None,
        typer.Option("--fusion", metavar="F", help="One fusion to look at: '(S1, S2) | S3', full or none."),
    ] = None,
    dtype: Annotated[
        str | None, typer.Option("--dtype", help="Element type of the inputs; float32 by default, uint8 for blend.")
    ] = None,
    boundary: Annotated[
        str | None,
        typer.Option(
            "--boundary",
            help="What lies outside the grids: reflect (default), nearest, mirror, wrap or constant:VALUE.",
        ),
    ] = None,
    model: Annotated[str, typer.Option("--model", help="exact, or published (the paper as printed).")] = "exact",
    exhaustive: Annotated[
        bool, typer.Option("--exhaustive", help="Look beyond the vendor's guidelines for blocks of threads.")
    ] = False,
    configurations: Annotated[
        bool, typer.Option("--configurations", help="List every configuration of the first fusion with its resources.")
    ] = False,
    radius: Annotated[int | None, typer.Option("--radius", help="Radius of the filter in cells.")] = None,
    sigma: Annotated[float | None, typer.Option("--sigma", help="Standard deviation of the filter in cells.")] = None,
    gradient: Annotated[int | None, typer.Option("--gradient", help="Radius of the gradients.")] = None,
    as_json: Json = False,
) -> None:
    """Rank the legal fusions of a pipeline of stencils, with blocks and halos; nothing is run.

    Example: tilewright fuse canny --shape 2048x2048 --machine gtx780 --top 3
    """
    from tilewright.base.units import parse_shape
    from tilewright.verbs.load import load_pipeline
    from tilewright.verbs.pipelines.fusion import fuse as rank

    options = {"radius": radius, "sigma": sigma, "gradient": gradient}
    plan = rank(
        load_pipeline(pipeline, {key: value for key, value in options.items() if value is not None}),
        shape=parse_shape(shape),
        machine=machine,
        top=top,
        fusion=fusion,
        dtype=dtype,
        boundary=boundary,
        model=model,
        exhaustive=exhaustive,
    )
    document = plan.to_dict()
    parts: list[Shown] = [str(plan)]
    if configurations:
        lists = plan.configurations()
        document["configurations"] = [each.to_dict() for each in lists]
        parts += [each.table() for each in lists]
        reasons = dict.fromkeys(each.unknown for each in lists if each.unknown)
        parts += [f"registers are not all known: {reason}" for reason in reasons]
    output.show(document, lambda: parts, as_json)
