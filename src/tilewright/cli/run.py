"""``tilewright run`` and ``tune``: compute, and find the best tiling by measuring the model's candidates."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from tilewright.base.options import Options, option
from tilewright.base.tables import table
from tilewright.cli import output
from tilewright.cli.options import Json, ProgramName
from tilewright.verbs.options import RunFiles, RunOptions, TuneOptions, refuse

_SHOWN = 20  # candidates in the table of ``tune``


def run(program: ProgramName, files: RunFiles, options: RunOptions, as_json: Json = False) -> None:
    """Compute a program on your own array or picture, or on random data in 0 to 1.

    A recurrence fills a table from two sequences: their best alignment, or their distance.

    Example: tilewright run heat2d --shape 2048x2048 --steps 256 --check

    Example: tilewright run smith_waterman --input a.fasta --input b.fasta --set gap_open=11

    Example: mpiexec -n 4 tilewright run heat2d --distributed --shape 8192x8192 --steps 1000
    """
    from tilewright.programs.stencil.program import Program
    from tilewright.verbs.dispatch import server_of
    from tilewright.verbs.files import run_files, run_files_on_ranks
    from tilewright.verbs.load import load_program, load_run

    once = replace(options, steps=1 if options.steps is None else options.steps)
    if files.distributed:
        result = run_files_on_ranks(load_program(program), once, files)
        if result is not None:  # the first rank tells
            output.tell(result, as_json)
        return
    refuse("a run on one process", options, files)
    definition = load_run(program, options.steps)
    if isinstance(definition, Program):
        report = run_files(definition, once, files, output.note)
    else:
        report = server_of(definition).run_files(definition, once, files, output.note)
    output.tell(report, as_json)
    report.raise_if_wrong()


class TuneOutput(Options):
    """What the command gives a tuning, and makes of it."""

    scalars: tuple[str, ...] = option((), "Value of a scalar; repeat it for every one.", "--set", metavar="NAME=VALUE")
    export: Path | None = option(
        None, "Write the winner's code: .c and a header, .cu or .cl and a host.", metavar="FILE"
    )
    plot: Path | None = option(
        None, "Plot predicted against measured times (.svg, .png, .pdf).", metavar="FILE", rare=True
    )


def tune(program: ProgramName, asked: TuneOptions, extras: TuneOutput, as_json: Json = False) -> None:
    """Rank tilings by the model, measure the best, and remember the winner for `run`.

    Example: tilewright tune heat2d --shape 2048x2048 --steps 256 --seconds 60
    """
    from tilewright.costs.interval import SHARE
    from tilewright.inputs.files import scalar_values
    from tilewright.verbs.dispatch import stencil_of
    from tilewright.verbs.load import load_any, steps_of
    from tilewright.verbs.tuning import study
    from tilewright.verbs.tuning import tune as api

    definition = stencil_of(load_any(program), "tune")
    values: dict[str, Any] = dict(scalar_values(definition, extras.scalars)) if extras.scalars else {}
    plan = api.tune(definition, **asked.keywords() | {"steps": steps_of(definition, asked.steps)}, **values)
    if extras.export is not None:
        plan.export(extras.export)
    if extras.plot is not None:
        plan.plot(extras.plot)
    times = ("tiling", ">predicted", f"{SHARE:.0%} interval", ">bound", ">measured", ">spread")
    columns = (*times, ">registers", ">spills", ">on chip", "outcome")
    rows = [each.cells() for each in plan.candidates[:_SHOWN]]
    document = plan.to_dict() | {"made": study.measured_here(plan.backend, plan.threads)}
    output.show(document, lambda: (table(columns, rows), plan.explain()), as_json)
    if plan.interrupted:
        raise typer.Exit(1)
