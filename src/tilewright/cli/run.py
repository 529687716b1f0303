"""``tilewright run``: compute."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import BoundaryText, Json, ProgramName, Steps, Tile


def run(
    program: ProgramName,
    steps: Steps,
    shape: Annotated[
        str | None,
        typer.Option("--shape", metavar="AxB", help="Extents, outermost first; those of --input by default."),
    ] = None,
    backend: Annotated[
        str, typer.Option("--backend", help="auto, c, numpy, opencl or cuda; opencl:NAME takes a certain device.")
    ] = "auto",
    dtype: Annotated[
        str | None, typer.Option("--dtype", help="Element type; that of --input by default, else float32.")
    ] = None,
    boundary: BoundaryText = "fixed",
    tile: Tile = None,
    threads: Annotated[int | None, typer.Option("--threads", metavar="N", help="Threads; all by default.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Keep the order of operations exactly: bit-equal for + - * / and sqrt.")
    ] = False,
    inputs: Annotated[
        list[Path] | None,
        typer.Option(
            "--input",
            metavar="FILE",
            help="A .npy file or a picture; repeat it for every field. A colour picture is computed by channel.",
        ),
    ] = None,
    target: Annotated[
        list[Path] | None,
        typer.Option("--output", metavar="FILE", help="A .npy file or a picture; repeat it for every updated field."),
    ] = None,
    scalars: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Value of a scalar; repeat it for every one."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random data that replaces --input.", min=0)] = 0,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare every cell with the float64 NumPy reference; exit 1 beyond the bound."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compute a program on your own array or picture, or on random data in 0 to 1.

    Example: tilewright run heat2d --shape 2048x2048 --steps 256 --check
    """
    from tilewright.api import job

    report = job.perform(
        job.Job(
            program=program,
            steps=steps,
            shape=shape,
            backend=backend,
            dtype=dtype,
            boundary=boundary,
            tile=tile,
            threads=threads,
            strict=strict,
            inputs=tuple(inputs or ()),
            outputs=tuple(target or ()),
            scalars=tuple(scalars or ()),
            seed=seed,
            check=check,
        ),
        output.note,
    )
    if as_json:
        output.emit(report.to_dict())
    output.say(str(report), as_json)
    report.raise_if_wrong()
