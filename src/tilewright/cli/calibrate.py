"""``tilewright calibrate``: micro-benchmarks -> a machine file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tilewright.cli import output
from tilewright.cli.options import Json


def calibrate(
    backend: Annotated[str, typer.Option("--backend", help="auto or c; opencl or cuda for a GPU.")] = "auto",
    programs: Annotated[
        list[str] | None,
        typer.Option(
            "--program",
            metavar="P",
            help="Measure C_iter of this program; repeat it for several. The papers' and the benchmarks' by default.",
        ),
    ] = None,
    target: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Write this .toml file in place of the user's store."),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer samples and instances.")] = False,
    thorough: Annotated[
        bool,
        typer.Option("--thorough", help="More samples and instances: three minutes, not one and a half, on two cores."),
    ] = False,
    seconds: Annotated[
        float | None,
        typer.Option(
            "--seconds",
            metavar="N",
            help="Time for measuring C_iter, on a GPU; 150 by default, less with --quick and on a processor's OpenCL.",
        ),
    ] = None,
    disk: Annotated[
        Path | None,
        typer.Option("--disk", metavar="FOLDER", help="Measure the disk of this folder alone, for runs out of core."),
    ] = None,
    network: Annotated[
        bool, typer.Option("--network", help="Under mpiexec: measure messages between ranks alone.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure this machine: bandwidths, barrier, and C_iter per program, with their spread.

    The machine `host` is what was measured from then on, as long as CPU and compiler stay the same.

    Example: tilewright calibrate --quick

    A GPU: tilewright calibrate --backend cuda --program j2d5pt -o mine.toml
    """
    from tilewright.plan import read_target
    from tilewright.verbs import calibrate as api

    if disk is not None or network:
        if programs or quick or thorough or seconds is not None or backend != "auto" or (network and disk is not None):
            raise typer.BadParameter("--disk and --network measure nothing else: give one of them, and -o at most")
        _large(disk, target, as_json=as_json)
        return
    barred = sys.stderr.isatty() and not read_target(backend).on_device  # a progress bar says what the notes say
    note = None if barred else output.note
    found = api.calibrate(
        programs, backend=backend, output=target, quick=quick, thorough=thorough, seconds=seconds, note=note
    )
    if as_json:
        output.emit(found.to_dict())
    output.say(str(found), as_json)


def _large(folder: Path | None, target: Path | None, *, as_json: bool) -> None:
    """Measure the disk of a folder, or the network where there is none; the first rank prints."""
    from tilewright.verbs.calibrate_large import calibrate_disk, calibrate_network

    found = calibrate_network(output=target) if folder is None else calibrate_disk(folder, target)
    if found is None:
        return
    if as_json:
        output.emit(found.to_dict())
    output.say(str(found), as_json)
