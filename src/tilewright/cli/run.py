"""``tilewright run``: compute."""

from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import BoundaryText, Json, ProgramName, StepsOrOnce, Tile


def run(
    program: ProgramName,
    steps: StepsOrOnce = None,
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
            help="A .npy file or a picture; repeat it for every field. A .npz file holds fields and levels by name "
            "(u, u_prev), and so does a .zarr or .h5 file that a run wrote. "
            "A colour picture is computed by channel. A recurrence takes FASTA files.",
        ),
    ] = None,
    target: Annotated[
        list[Path] | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="A .npy file or a picture; repeat it for every updated field. A .npz, .zarr or .h5 file holds all "
            "that a run needs to go on from it.",
        ),
    ] = None,
    scalars: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Value of a scalar; repeat it for every one. smith_waterman: matrix, match, mismatch, gap_open, "
            "gap_extend.",
        ),
    ] = None,
    every: Annotated[
        int | None,
        typer.Option(
            "--every", metavar="K", help="Look every K steps; a value that is not finite ends the run.", min=1
        ),
    ] = None,
    until: Annotated[
        float | None,
        typer.Option("--until", metavar="CHANGE", help="End when no value changes by more than this per step."),
    ] = None,
    snapshots: Annotated[
        Path | None,
        typer.Option(
            "--snapshots",
            metavar="FILE",
            help="Write u-000100.npy beside u.npy, and so on, every K steps; .npz files can be gone on from. A .zarr "
            "or .h5 file gets all of them, .vti files are for ParaView.",
        ),
    ] = None,
    where: Annotated[
        Path | None,
        typer.Option("--where", metavar="FILE", help="A .npy file or picture: cells where it is 0 keep their value."),
    ] = None,
    sources: Annotated[
        list[str] | None,
        typer.Option("--source", metavar="CELL=VALUE", help="Add a value to a cell in every step, such as 8,8=1.0."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random data that replaces --input.", min=0)] = 0,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare every cell with the float64 NumPy reference; exit 1 beyond the bound."),
    ] = False,
    distributed: Annotated[
        bool, typer.Option("--distributed", help="Under mpiexec: on all ranks, each with a block of the grid.")
    ] = False,
    topology: Annotated[
        str | None, typer.Option("--topology", metavar="AxB", help="Ranks per axis, -1 where MPI decides.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FOLDER", help="With --distributed: keep the state, every --every steps."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --checkpoint: go on from there, on any number of ranks.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compute a program on your own array or picture, or on random data in 0 to 1.

    A recurrence fills a table from two sequences: their best alignment, or their distance.

    Example: tilewright run heat2d --shape 2048x2048 --steps 256 --check

    Example: tilewright run smith_waterman --input a.fasta --input b.fasta --set gap_open=11

    Example: mpiexec -n 4 tilewright run heat2d --distributed --shape 8192x8192 --steps 1000
    """
    from tilewright.cli.jobs import job
    from tilewright.cli.jobs import table as table_job
    from tilewright.programs.stencil.program import Program
    from tilewright.verbs.load import load_run

    asked = job.Job(
        program=program,
        steps=1 if steps is None else steps,
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
        every=every,
        until=until,
        where=where,
        sources=tuple(sources or ()),
        snapshots=snapshots,
    )
    if not distributed and (topology is not None or checkpoint is not None or resume):
        raise typer.BadParameter("--topology, --checkpoint and --resume go with --distributed")
    if distributed:
        from tilewright.cli.jobs.distributed import perform as perform_on_ranks

        told = perform_on_ranks(asked, topology, checkpoint, resume=resume)
        if told is not None:
            if as_json:
                output.emit(told.to_dict())
            output.say(str(told), as_json)
        return
    perform = job.perform if isinstance(load_run(program, steps), Program) else table_job.perform
    report: job.Report | table_job.TableReport = perform(asked, output.note)
    if as_json:
        output.emit(report.to_dict())
    output.say(str(report), as_json)
    report.raise_if_wrong()
