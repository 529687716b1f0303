"""``tilewright predict``, ``whatif`` and ``energy``: what a program costs on a machine, as it moves, and in joules."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.base.options import Options, option
from tilewright.base.paths import write_text
from tilewright.base.tables import Pairs, Shown
from tilewright.base.units import format_shape
from tilewright.cli import output
from tilewright.cli.options import Json, ProgramName
from tilewright.verbs import options

if TYPE_CHECKING:
    from tilewright.programs.stencil.program import Program
    from tilewright.verbs.cluster import ClusterPrediction
    from tilewright.verbs.predict import MachineLike
    from tilewright.verbs.prediction import Prediction
    from tilewright.workload import Named


class PredictOutput(Options):
    """What the command shows and writes beside the costs."""

    explain: bool = option(
        False, "Show bottlenecks, slack, the effect of k and the overhead; with --top, why the winner wins."
    )
    export: Path | None = option(
        None, "Write the code: a file in .c, .cu or .cl, or a folder with one per tiling.", metavar="PATH"
    )
    thread_shapes: bool = option(False, "Means nothing any more: thread blocks are chosen with the tiles.", rare=True)
    scaling: Path | None = option(
        None, "With --ranks: draw strong and weak scaling up to so many.", metavar="FILE", rare=True
    )


def predict(
    program: ProgramName,
    asked: options.PredictOptions,
    selected: options.SelectOptions,
    shown: PredictOutput,
    as_json: Json = False,
) -> None:
    """Predict what a program costs on a machine; needs no compiler and no device.

    Every legal tiling family and size is ranked; --top N --explain compares the families and says why one wins.

    Example: tilewright predict gradient2d --machine gtx980 --shape 8192x8192 --steps 8192 --top 5
    """
    from tilewright.report import energy as energies
    from tilewright.report import tables
    from tilewright.runtime.warn import warn_of
    from tilewright.verbs import predict as api
    from tilewright.verbs.bottleneck import explain as explanation
    from tilewright.verbs.load import load_any, steps_of

    ranking = selected.top is not None or selected.within is not None
    by_time, machine = selected.metric == "time", asked.machine
    if asked.tiling is not None:
        options.refuse("--tile", selected)
    if shown.thread_shapes:
        warn_of("threads=")
    definition = load_any(program)
    asked = replace(asked, steps=steps_of(definition, asked.steps))
    if asked.ranks is not None:
        options.refuse("--ranks", asked, selected, shown)
        _show_cluster(api.predict(definition, **asked.keywords()), shown.scaling, as_json=as_json)
        return
    options.refuse("a prediction of one machine", asked, shown)
    if not ranking and by_time:
        result = api.predict(definition, **asked.keywords())
    else:
        top = selected.top if ranking else 1
        many = api.select(definition, **replace(selected, steps=asked.steps, top=top).keywords())
        result = many[0]
    if not ranking and (by_time or shown.explain):
        title = f"{definition.name} {format_shape(asked.shape)}, {asked.steps} steps on {result.machine}"
        document = result.to_dict()
        costs = tables.prediction(str(result.tiling), result.costs, result.interval, result.constants, title)
        parts: list[Shown] = [costs, *result.notes]
        if shown.explain:
            why = explanation(result).to_dict()
            document["explanation"] = why
            parts.append(energies.explanation(why))
        if result.tiling.family.hexagons and result.model == "exact":
            parts += _terms(result, _stencil(definition), machine)
        parts += _export_notes([result], shown.export, document)
        output.show(document, lambda: parts, as_json)
        return
    document, rivals = many.to_dict(), None
    if shown.explain:
        from tilewright.verbs.tuning.supertune import supertune

        compared = options.SupertuneOptions.of(replace(selected, steps=asked.steps).keywords())
        rivals = supertune(_stencil(definition), **compared.keywords()).to_dict()
        document["strategies"] = rivals
    parts = _ranking(many, rivals, selected.within) + _export_notes(many, shown.export, document)
    output.show(document, lambda: parts, as_json)


def _show_cluster(cluster: "ClusterPrediction", path: Path | None, *, as_json: bool) -> None:
    """Print the prediction of many ranks, and draw how it scales."""
    document = cluster.to_dict()
    if path is not None:
        from tilewright.report import figures
        from tilewright.verbs.cluster import scaling

        figures.check_format(path)
        figures.matplotlib()
        scaled = scaling(cluster)
        document["scaling"] = scaled.to_dict()
        panels = {}
        for name, points in {"strong": scaled.strong, "weak": scaled.weak}.items():
            counts, first = [each.ranks for each in points], points[0]
            ideal = [first.seconds / (each if name == "strong" else 1) for each in counts]
            panels[f"{name} scaling"] = {
                "best exchanges": (counts, [each.seconds for each in points]),
                "every step": (counts, [each.every.seconds for each in points]),
                "ideal": (counts, ideal),
            }
        title = f"{cluster.problem.program.name}, {cluster.hardware.name}, {cluster.network.title}"
        figures.draw_scaling(panels, path, title)
    output.show(document, lambda: str(cluster), as_json)


def _stencil(program: "Named") -> "Program":
    """Return the stencil, or refuse anything else."""
    from tilewright.programs.stencil.program import Program

    if not isinstance(program, Program):
        raise typer.BadParameter(
            "--top with --explain compares the families of a stencil's tiles; a table has one: leave --top out"
        )
    return program


def _ranking(ranked: Sequence["Prediction"], rivals: dict[str, object] | None, within: float | None) -> list[Shown]:
    """Make the table of ranked tilings, and of the strategies if they were compared."""
    from tilewright.report import energy as energies
    from tilewright.report import tables

    rows = [(str(each.tiling), each.costs, each.interval) for each in ranked]
    band = "" if within is None else f", {len(ranked)} tiling{'s'[: len(ranked) > 1]} within {within:.4g} of the best"
    shown = tables.candidates(rows, ranked[0].constants, f"{ranked[0].title}{band}")
    return [shown, *ranked[0].notes, *([] if rivals is None else [energies.strategies(rivals)])]


def _export_notes(ranked: Sequence["Prediction"], path: Path | None, document: dict[str, object]) -> list[Shown]:
    """Write the kernels of the predicted tilings if asked, and say where they are and which have none."""
    if path is None:
        return []
    from tilewright.verbs.kernel_files import export

    exports = export([each.kernel for each in ranked], path, ranked[0].dialect)
    document["export"] = exports.to_dict()
    reasons = [f"no code of {tiling}: {reason}" for tiling, reason in exports.left_out]
    return [*reasons, f"{len(exports.tilings)} of {len(ranked)} tilings written to {path}"]


def _terms(prediction: "Prediction", program: "Program", machine: "MachineLike") -> list[Shown]:
    """Say what a GPU's time with thread blocks is made of; a CPU has no thread blocks."""
    from tilewright.report import tables
    from tilewright.verbs.predict import as_machine, gpu_terms

    if as_machine(machine).kind != "gpu" or len(prediction.shape) == 1:
        return []
    terms = gpu_terms(
        program,
        shape=prediction.shape,
        steps=prediction.steps,
        machine=machine,
        tiling=prediction.tiling,
        dtype=prediction.dtype,
    )
    facts = {name.replace("_", " "): tables.number(value) for name, value in terms.items()}
    return [Pairs(facts, "terms of the time, seconds by part")]


class WhatIfOutput(Options):
    """What the command compares and draws beside the sweep."""

    reuse: str | None = option(None, "Also: the loss of these programs' best tilings on each other.", metavar="P,P")
    plot: Path | None = option(None, "Draw the sweep: .png, .svg.", metavar="FILE")


def whatif(program: ProgramName, asked: options.WhatIfOptions, more: WhatIfOutput, as_json: Json = False) -> None:
    """Vary the problem or the machine and choose again; needs no compiler and no device.

    Example: tilewright whatif heat2d --machine gtx980 --shape 4096x4096 --steps 512 --vary bandwidth
    """
    from tilewright.programs.stencil.program import Program
    from tilewright.report import energy as tables
    from tilewright.verbs import whatif as api
    from tilewright.verbs.dispatch import server_of
    from tilewright.verbs.load import load_any, load_program, steps_of

    definition = load_any(program)
    asked = replace(asked, steps=steps_of(definition, asked.steps))
    if more.reuse is not None and not isinstance(definition, Program):
        raise typer.BadParameter(f"--reuse compares stencils, and {definition.name} is a {server_of(definition).KIND}")
    document = api.whatif(definition, **asked.keywords()).to_dict()
    parts: list[Shown] = [tables.sweep(document)]
    if more.reuse is not None:
        names = [load_program(name) for name in (program, *more.reuse.split(","))]
        losses = api.reuse(names, **options.ReuseOptions.of(asked.keywords()).keywords())
        document["reuse"] = losses
        parts.append(tables.losses(losses))
    if more.plot is not None:
        from tilewright.report.figures import draw_sweep

        draw_sweep(document, more.plot)
    output.show(document, lambda: parts, as_json)


class EnergyFiles(Options):
    """Metered runs, and the machine that is fitted to them."""

    fit: Path | None = option(None, "Fit the machine's constants to metered runs instead.", metavar="RUNS.csv")
    save: Path | None = option(None, "Write the fitted machine to a file.", "--output", "-o", metavar="FILE")
    append: Path | None = option(None, "Add the metered run to a file for --fit.", metavar="RUNS.csv", rare=True)


def energy(
    asked: options.EnergyOptions,
    compared: options.CompareOptions,
    metered: options.MeterOptions,
    fitted: options.FitOptions,
    files: EnergyFiles,
    program: Annotated[
        str | None, typer.Argument(metavar="PROGRAM", help="As for predict.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """Model the energy of a program: P_stat T + N_tiles E_tile; needs no compiler and no device.

    Example: tilewright energy jacobi2d --machine k20c --shape 4096x4096 --steps 512
    """
    from tilewright.report import energy as tables

    if files.fit is not None:
        options.refuse("--fit", asked, compared, metered, files)
        if program is not None:
            raise typer.BadParameter(f"--fit takes its programs from the metered runs, so leave {program!r} out")
        document = _fit_result(files.fit, asked.machine, fitted, files.save)
        output.show(document, lambda: tables.fit(document), as_json)
        return
    options.refuse("an energy without a fit", fitted, files)
    if program is None or asked.shape is None:
        raise typer.BadParameter("give a program and its shape, such as: tilewright energy jacobi2d --shape 4096x4096")
    if metered.meter is not None:
        options.refuse("--meter", asked, compared)
        _show_metered(program, asked, metered, files.append, as_json=as_json)
        return
    options.refuse("an energy that is not metered", metered, files)
    from tilewright.programs.stencil.program import Program
    from tilewright.verbs.energy import energy as api
    from tilewright.verbs.load import load_any

    definition = load_any(program)
    if asked.tiling is not None:
        options.refuse("an energy of one tiling", compared)
    result = api.energy(definition, **asked.keywords()).to_dict()
    if asked.tiling is not None or not isinstance(definition, Program):
        output.show(result, lambda: tables.metered(result), as_json)
        return
    many = api.compare(definition, **compared.keywords()).to_dict()
    output.show({**result, "comparison": many}, lambda: (tables.metered(result), tables.comparison(many)), as_json)


def _show_metered(
    program: str, asked: options.EnergyOptions, metered: options.MeterOptions, append: Path | None, *, as_json: bool
) -> None:
    """Run a program under a power meter, or take a recorded trace, and possibly keep the run."""
    from tilewright.verbs.energy import runs as api

    run = api.meter_run(program, shape=asked.shape, steps=asked.steps, tiling=asked.tiling, **metered.keywords())
    if append is not None:
        count = api.append_run(append, run)
        output.note(f"{append} holds {count} run{'s' * (count != 1)}")
    output.tell(run, as_json)


def _fit_result(path: Path, machine: "MachineLike", fitted: options.FitOptions, save: Path | None) -> dict[str, object]:
    """Fit the runs of a file and possibly write the machine."""
    from tilewright.verbs.energy import runs as api

    fit = api.fit_energy(api.read_runs(path), machine, **fitted.keywords())
    if save is not None:
        from tilewright.machines.files import to_toml

        write_text(save, to_toml(api.with_fit(machine, fit)))
    return fit.to_dict()
