"""``tilewright calibrate``, ``validate`` and ``doctor``: a machine measured, held against predictions, examined."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tilewright.base.options import Options, option
from tilewright.cli import output
from tilewright.cli.options import Json
from tilewright.verbs.options import CalibrateOptions, MeasureOptions, ValidateOptions, refuse


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
    calibration = api.calibrate(measured.programs or None, **asked.keywords())
    output.tell(calibration, as_json)


def _large(folder: Path | None, target: str | Path | None, *, as_json: bool) -> None:
    """Measure the disk of a folder, or the network where there is none; the first rank prints."""
    from tilewright.verbs.calibrate import calibrate_disk, calibrate_network

    calibration = calibrate_network(output=target) if folder is None else calibrate_disk(folder, target)
    if calibration is None:
        return
    output.tell(calibration, as_json)


def doctor(as_json: Json = False) -> None:
    """Say what this machine has, what is missing, and the command that fixes it.

    Example: tilewright doctor
    """
    from tilewright.verbs.doctor import diagnose

    diagnosis = diagnose()
    output.show(diagnosis.to_dict(), diagnosis.shown, as_json)


class ValidateFiles(Options):
    """What is compared: logs of a machine, or a program that is measured here."""

    log: tuple[Path, ...] = option(
        (), "StencilBench logs, Kernel Tuner caches or T4 results.", metavar="FILE", shown=False
    )
    machine: str | None = option(None, "The GPU that the logs are of.", metavar="M", shown=False)
    program: str | None = option(None, "Measure this program here, or what a log without a name is of.", metavar="P")
    plots: Path | None = option(None, "Write figures and a CSV of the scores there.", metavar="DIR")


def validate(
    files: ValidateFiles,
    measured: MeasureOptions,
    asked: ValidateOptions,
    more: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Further logs.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare predictions with measurements: errors, rank correlation, and how good the model's choices are.

    Example: tilewright validate --log j2d5pt.log gradient2d.log --machine v100
    """
    from tilewright.report import validation as report
    from tilewright.verbs import validate as api

    program, plots = files.program, files.plots
    paths = [*files.log, *(more or [])]
    if paths:
        if files.machine is None:
            raise typer.BadParameter("name the GPU that the logs are of: --machine v100")
        refuse("a validation by logs", measured)
        logs = [api.read_log(path, program, measured.shape, measured.steps) for path in paths]
        result = api.validate(logs, files.machine, **asked.keywords())
    elif program is not None and measured.shape is not None and measured.steps is not None:
        refuse("a validation by measuring", asked)
        result = api.validate_here(program, **measured.keywords())
    else:
        raise typer.BadParameter("give --log FILE and --machine M, or --program P, --shape S and --steps T")
    rows = [*((stencil.name, stencil.scores) for stencil in result.stencils), ("mean", result.overall)]
    compared = [(stencil.name, stencil.strategies) for stencil in result.stencils if stencil.strategies]
    parts = [report.score_table(rows), *([report.strategy_table(compared)] if compared else [])]
    output.show(result.to_dict(), lambda: parts, as_json)
    if result.skipped:
        output.note(result.left_out())
    if plots is not None:
        from tilewright.report.figures import draw_validation

        drawings = draw_validation(result.stencils, plots)
        report.write_scores(plots / "scores.csv", rows)
        output.note(f"wrote {', '.join(path.name for path in drawings)} and scores.csv to {plots}")
