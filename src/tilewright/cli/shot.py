"""``tilewright shot``: a seismic shot through a velocity model in a file."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import Json


def shot(
    model: Annotated[
        Path, typer.Argument(metavar="MODEL", help="A .npy file of speeds in m/s, depth first.", show_default=False)
    ],
    spacing: Annotated[str, typer.Option("--spacing", metavar="H", help="Cells' distance in m: 10, or 10,12.5.")],
    source: Annotated[str, typer.Option("--source", metavar="Z,X", help="Place of the source in m, depth first.")],
    time: Annotated[float, typer.Option("--time", metavar="S", help="Time to compute in seconds.")],
    frequency: Annotated[float, typer.Option("--frequency", metavar="HZ", help="Of the Ricker wavelet.")] = 15.0,
    receivers: Annotated[
        Path | None,
        typer.Option("--receivers", metavar="FILE", help="A .npy or text file of places in m, one receiver a row."),
    ] = None,
    depth: Annotated[
        float | None,
        typer.Option("--receiver-depth", metavar="M", help="Receivers above every column of the model, so deep."),
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where traces go: .npz, or .npy of the first.")
    ] = None,
    density: Annotated[Path | None, typer.Option("--density", metavar="FILE", help="A .npy file, kg/m^3.")] = None,
    shear: Annotated[
        Path | None, typer.Option("--shear", metavar="FILE", help="A .npy file of speeds of shear waves: elastic.")
    ] = None,
    layer: Annotated[
        int | None, typer.Option("--layer", metavar="N", help="Cells of a sponge around: 20 by default, 0 for none.")
    ] = None,
    cpml: Annotated[
        int | None, typer.Option("--cpml", metavar="N", help="Cells of a convolutional PML around, in place of it.")
    ] = None,
    absorb: Annotated[
        str | None,
        typer.Option("--absorb", metavar="SIDES", help="Layers per axis and side: free/cpml:20,sponge:30; or none."),
    ] = None,
    space_order: Annotated[int, typer.Option("--space-order", help="Order of the differences, 2 to 16.")] = 8,
    time_step: Annotated[
        float | None, typer.Option("--time-step", metavar="S", help="Half of the longest stable one by default.")
    ] = None,
    interpolation: Annotated[str, typer.Option("--interpolation", help="linear or sinc.")] = "linear",
    every: Annotated[int, typer.Option("--every", metavar="N", help="Record every so many steps.")] = 1,
    dtype: Annotated[str, typer.Option("--dtype", help="float32 or float64.")] = "float32",
    threads: Annotated[int | None, typer.Option("--threads", metavar="N", help="Threads; all by default.")] = None,
    as_json: Json = False,
) -> None:
    """Compute what receivers record of a source in a velocity model.

    Example: tilewright shot v.npy --spacing 10 --source 20,1500 --receiver-depth 20 --time 0.5 --cpml 20 -o traces.npz
    """
    from tilewright.waves.files import ShotRequest, shoot_files

    asked = ShotRequest(
        model=model,
        spacing=spacing,
        source=source,
        time=time,
        frequency=frequency,
        receivers=receivers,
        depth=depth,
        target=target,
        density=density,
        shear=shear,
        layer=layer,
        cpml=cpml,
        absorb=absorb,
        space_order=space_order,
        time_step=time_step,
        interpolation=interpolation,
        every=every,
        dtype=dtype,
        threads=threads,
    )
    done = shoot_files(asked)
    if as_json:
        output.emit(done.to_dict())
    output.say(str(done), as_json)
