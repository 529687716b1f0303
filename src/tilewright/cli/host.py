"""``tilewright calibrate`` and ``doctor``: this machine, measured and examined."""

import sys
from dataclasses import replace
from pathlib import Path

import typer

from tilewright.base.options import Options, option
from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import CalibrateOptions


class Measured(Options):
    """What is measured: programs, or a disk or a network alone."""

    programs: tuple[str, ...] = option(
        (),
        "Measure C_iter of this program; repeat it for several. The papers' and the benchmarks' by default.",
        "--program",
        metavar="P",
    )
    disk: Path | None = option(None, "Measure the disk of this folder alone, for runs out of core.", metavar="FOLDER")
    network: bool = option(False, "Under mpiexec: measure messages between ranks alone.")


def calibrate(measured: Measured, asked: CalibrateOptions, as_json: Json = False) -> None:
    """Measure this machine: bandwidths, barrier, and C_iter per program, with their spread.

    The machine `host` is what was measured from then on, as long as CPU and compiler stay the same.

    Example: tilewright calibrate --quick

    A GPU: tilewright calibrate --backend cuda --program j2d5pt -o mine.toml
    """
    from tilewright.plan import read_target
    from tilewright.verbs import calibrate as api

    if alone := measured.given("disk", "network"):
        if len(alone) > 1 or measured.given("programs") or asked.given("backend", "quick", "thorough", "seconds"):
            raise typer.BadParameter("--disk and --network measure nothing else: give one of them, and -o at most")
        _large(measured.disk, asked.output, as_json=as_json)
        return
    barred = sys.stderr.isatty() and not read_target(asked.backend).on_device  # a bar says what the notes say
    asked = replace(asked, note=None if barred else output.note)
    found = api.calibrate(measured.programs or None, **asked.keywords())
    output.tell(found, as_json)


def _large(folder: Path | None, target: str | Path | None, *, as_json: bool) -> None:
    """Measure the disk of a folder, or the network where there is none; the first rank prints."""
    from tilewright.verbs.calibrate import calibrate_disk, calibrate_network

    found = calibrate_network(output=target) if folder is None else calibrate_disk(folder, target)
    if found is None:
        return
    output.tell(found, as_json)


def doctor(as_json: Json = False) -> None:
    """Say what this machine has, what is missing, and the command that fixes it.

    Example: tilewright doctor
    """
    from tilewright.verbs.doctor import diagnose

    diagnosis = diagnose()
    output.show(diagnosis.to_dict(), diagnosis.shown, as_json)
