"""``tilewright predict``: what a program costs on a machine."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.base.tables import Pairs, Shown
from tilewright.cli import output
from tilewright.cli.options import BoundaryText, DType, Json, ProgramName, Shape, StepsOrOnce, Tile

if TYPE_CHECKING:
    from tilewright.programs.stencil.program import Program
    from tilewright.programs.tables.table import Recurrence
    from tilewright.verbs.cluster import ClusterPrediction
    from tilewright.verbs.prediction import Prediction


def predict(
    program: ProgramName,
    shape: Shape,
    steps: StepsOrOnce = None,
    machine: Annotated[
        str, typer.Option("--machine", metavar="M", help="A machine of the catalogue, host, or a machine file.")
    ] = "host",
    tile: Tile = None,
    top: Annotated[int | None, typer.Option("--top", metavar="N", help="Rank the best N tilings.", min=1)] = None,
    within: Annotated[
        float | None,
        typer.Option("--within", metavar="SHARE", help="Rank the tilings within a share of the best: 0.1 for 10 %."),
    ] = None,
    metric: Annotated[
        str, typer.Option("--metric", help="What to rank by: time, traffic, energy, power, edp or ed2p.")
    ] = "time",
    model: Annotated[
        str, typer.Option("--model", help="exact, or published: the papers' equations as printed.")
    ] = "exact",
    dtype: DType = "float32",
    boundary: BoundaryText = "fixed",
    thread_shapes: Annotated[
        bool, typer.Option("--thread-shapes", help="Means nothing any more: thread blocks are chosen with the tiles.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain",
            help="Show bottlenecks, slack, the effect of k and the overhead; with --top, why the winner wins.",
        ),
    ] = False,
    ranks: Annotated[
        int | None, typer.Option("--ranks", metavar="N", help="Over N ranks of MPI, each a machine of its own.", min=1)
    ] = None,
    network: Annotated[
        str | None,
        typer.Option("--network", metavar="NAME", help="With --ranks: what connects them: slingshot, hdr, …"),
    ] = None,
    topology: Annotated[
        str | None, typer.Option("--topology", metavar="AxB", help="With --ranks: ranks per axis.")
    ] = None,
    scaling: Annotated[
        Path | None,
        typer.Option("--scaling", metavar="FILE", help="With --ranks: draw strong and weak scaling up to so many."),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            "--export",
            metavar="PATH",
            help="Write the code: a file in .c, .cu or .cl, or a folder with one per tiling.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict what a program costs on a machine; needs no compiler and no device.

    Every legal tiling family and size is ranked; --top N --explain compares the families and says why one wins.

    Example: tilewright predict gradient2d --machine gtx980 --shape 8192x8192 --steps 8192 --top 5
    """
    from tilewright.base.units import parse_shape
    from tilewright.programs.stencil.boundaries import parse_boundary
    from tilewright.report import energy, tables
    from tilewright.runtime.warn import warn_of
    from tilewright.verbs import predict as api
    from tilewright.verbs.bottleneck import explain as explanation
    from tilewright.verbs.load import load_any, steps_of

    ranking = top is not None or within is not None
    if tile is not None and (ranking or metric != "time"):
        raise typer.BadParameter("--tile names one tiling, so there is nothing to rank by --top, --within or --metric")
    if thread_shapes:
        warn_of("threads=")
    known = load_any(program)
    steps = steps_of(known, steps)
    extents = parse_shape(shape)
    outside = parse_boundary(boundary)
    if ranks is not None:
        if ranking or tile is not None or metric != "time" or explain or export is not None:
            raise typer.BadParameter("--ranks goes without --top, --within, --tile, --metric, --explain and --export")
        cluster = api.predict(
            known, shape=extents, steps=steps, machine=machine, dtype=dtype, boundary=outside, model=model, ranks=ranks,
            network=network, topology=None if topology is None else parse_shape(topology),
        )  # fmt: skip
        _show_cluster(cluster, scaling, as_json=as_json)
        return
    if network is not None or topology is not None or scaling is not None:
        raise typer.BadParameter("--network, --topology and --scaling are of many ranks: say how many with --ranks")
    if not ranking and metric == "time":
        one = api.predict(
            known, shape=extents, steps=steps, machine=machine, tiling=tile, dtype=dtype, boundary=outside, model=model
        )
    else:
        many = api.select(
            known, shape=extents, steps=steps, machine=machine, within=within, metric=metric,
            top=top if ranking else 1, dtype=dtype, boundary=outside, model=model,
        )  # fmt: skip
        one = many[0]
    if not ranking and (metric == "time" or explain):
        title = f"{known.name} {shape}, {steps} steps on {one.machine}"
        document = one.to_dict()
        shown = tables.prediction(str(one.tiling), one.costs, one.interval, one.constants, title)
        parts: list[Shown] = [shown, *one.notes]
        if explain:
            why = explanation(one).to_dict()
            document["explanation"] = why
            parts.append(energy.explanation(why))
        if one.tiling.family.hexagons and one.model == "exact":
            parts += _terms(one, _stencil(known), machine)
        parts += _exported([one], export, document)
        output.show(document, lambda: parts, as_json)
        return
    document, rivals = {**many[0].to_dict(), "candidates": [each.to_dict() for each in many]}, None
    if explain:
        from tilewright.verbs.tuning.supertune import supertune

        rivals = supertune(
            _stencil(known), shape=extents, steps=steps, machine=machine, metric=metric, dtype=dtype, boundary=outside,
            model=model,
        ).to_dict()  # fmt: skip
        document["strategies"] = rivals
    parts = _ranked(many, rivals, within) + _exported(many, export, document)
    output.show(document, lambda: parts, as_json)


def _show_cluster(cluster: "ClusterPrediction", path: Path | None, *, as_json: bool) -> None:
    """Print the prediction of many ranks, and draw how it scales."""
    document = cluster.to_dict()
    if path is not None:
        from tilewright.report import plots
        from tilewright.verbs.cluster import scaling

        plots.check_format(path)
        plots.matplotlib()
        found = scaling(cluster)
        document["scaling"] = found.to_dict()
        panels = {}
        for name, points in {"strong": found.strong, "weak": found.weak}.items():
            counts, first = [each.ranks for each in points], points[0]
            ideal = [first.seconds / (each if name == "strong" else 1) for each in counts]
            panels[f"{name} scaling"] = {
                "best exchanges": (counts, [each.seconds for each in points]),
                "every step": (counts, [each.every.seconds for each in points]),
                "ideal": (counts, ideal),
            }
        title = f"{cluster.problem.program.name}, {cluster.hardware.name}, {cluster.network.title}"
        plots.draw_scaling(panels, path, title)
    if as_json:
        output.emit(document)
    output.say(str(cluster), as_json)


def _stencil(program: "Program | Recurrence") -> "Program":
    """Return the stencil, or refuse a table."""
    from tilewright.programs.stencil.program import Program

    if not isinstance(program, Program):
        raise typer.BadParameter(
            "--top with --explain compares the families of a stencil's tiles; a table has one: leave --top out"
        )
    return program


def _ranked(many: Sequence["Prediction"], rivals: dict[str, object] | None, within: float | None) -> list[Shown]:
    """Make the table of ranked tilings, and of the strategies if they were compared."""
    from tilewright.report import energy, tables

    rows = [(str(each.tiling), each.costs, each.interval) for each in many]
    band = "" if within is None else f", {len(many)} tiling{'s'[: len(many) > 1]} within {within:.4g} of the best"
    shown = tables.candidates(rows, many[0].constants, f"{many[0].title}{band}")
    return [shown, *many[0].notes, *([] if rivals is None else [energy.strategies(rivals)])]


def _exported(many: Sequence["Prediction"], path: Path | None, document: dict[str, object]) -> list[Shown]:
    """Write the kernels of the predicted tilings if asked, and say where they are and which have none."""
    if path is None:
        return []
    from tilewright.verbs.kernel_files import export

    done = export([each.kernel for each in many], path, many[0].dialect)
    document["export"] = done.to_dict()
    reasons = [f"no code of {tiling}: {reason}" for tiling, reason in done.left_out]
    return [*reasons, f"{len(done.tilings)} of {len(many)} tilings written to {path}"]


def _terms(one: "Prediction", program: "Program", machine: str) -> list[Shown]:
    """Say what a GPU's time with thread blocks is made of; a CPU has no thread blocks."""
    from tilewright.report import tables
    from tilewright.verbs.predict import as_machine, gpu_terms

    if as_machine(machine).kind != "gpu" or len(one.shape) == 1:
        return []
    terms = gpu_terms(program, shape=one.shape, steps=one.steps, machine=machine, tiling=one.tiling, dtype=one.dtype)
    facts = {name.replace("_", " "): tables.number(value) for name, value in terms.items()}
    return [Pairs(facts, "terms of the time, seconds by part")]
