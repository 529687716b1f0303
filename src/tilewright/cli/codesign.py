"""``tilewright area`` and ``tilewright codesign``."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tilewright.base.tables import Shown
from tilewright.cli import output
from tilewright.cli.options import Json

if TYPE_CHECKING:
    from tilewright.verbs.codesign.codesign import Codesign


def area(
    machine: Annotated[str | None, typer.Argument(help="A GPU of the catalogue.", show_default=False)] = None,
    model: Annotated[str, typer.Option("--model", help="exact (C.6), or published: the truncated (C.7).")] = "exact",
    process: Annotated[
        str, typer.Option("--process", help="Scaling to the machine's process: none, optical or density.")
    ] = "none",
    caches: Annotated[bool, typer.Option("--caches/--no-caches", help="Count the L1 and L2 caches.")] = True,
    width_cost: Annotated[
        bool, typer.Option("--width-cost", help="Charge what grows with the width of an SM (our extension).")
    ] = False,
    points: Annotated[
        Path | None,
        typer.Option("--points", metavar="FILE.csv", help="Calibrate memories from memory,kb,mm2 points."),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Compare the model with every published die.")] = False,
    as_json: Json = False,
) -> None:
    """Model the silicon area of a GPU's die, part by part; needs no compiler and no device.

    Example: tilewright area gtx980
    """
    from tilewright.report import codesign as tables
    from tilewright.verbs.codesign import area as api

    if check:
        every = api.check()
        document = {"areas": [one.to_dict() for many in every for one in many]}
        rows = [
            (many[0].machine, many[0].published or 0.0, {one.process: one.error or 0.0 for one in many})
            for many in every
        ]
        output.show(document, lambda: tables.check(rows), as_json)
        return
    if machine is None:
        raise typer.BadParameter("give a machine, such as: tilewright area gtx980, or --check")
    known = None if points is None else api.read_points(points)
    one = api.area(
        machine, form=model, process=process, caches=caches, width_cost=width_cost, points=known
    ).to_dict()  # fmt: skip
    output.show(one, lambda: (tables.area(one), *([] if known is None else [tables.fits(one)])), as_json)


def codesign(
    workload: Annotated[
        str, typer.Option("--workload", metavar="W", help="2d, 3d, all, a program, or FILE.toml.")
    ] = "all",
    area: Annotated[
        str, typer.Option("--area", metavar="LO:HI", help="Range of areas in mm^2; HI alone is a budget.")
    ] = ("200:650"),
    weights: Annotated[
        list[str] | None,
        typer.Option("--weight", metavar="NAME=X", help="Weight of a stencil; those not named get 0."),
    ] = None,
    metric: Annotated[str, typer.Option("--metric", help="time, energy, edp or per_area.")] = "time",
    caches: Annotated[bool, typer.Option("--caches/--no-caches", help="Give every design the Maxwell caches.")] = False,
    insight: Annotated[
        list[str] | None,
        typer.Option(
            "--insight", help="sensitivity, shared, cacheless, robustness, marginal, power or all; repeatable."
        ),
    ] = None,
    machine: Annotated[
        str, typer.Option("--machine", metavar="M", help="The technology: C_iter, bandwidth, area coefficients.")
    ] = "gtx980",
    energy: Annotated[
        str | None, typer.Option("--energy-of", metavar="M", help="The machine whose energies are taken, such as k20c.")
    ] = None,
    model: Annotated[str, typer.Option("--model", help="Time model: exact or published.")] = "exact",
    pitch: Annotated[
        str | None, typer.Option("--pitch", help="exact or published; the model's own by default.")
    ] = None,
    single: Annotated[str, typer.Option("--single", help="One tile per SM: serial or overlapped.")] = "serial",
    scope: Annotated[str, typer.Option("--scope", help="Who shares the bandwidth: device or per_sm.")] = "device",
    strategies: Annotated[
        str,
        typer.Option("--strategies", help="tiled, none, skewed, diamond, several by commas, or best: all."),
    ] = "tiled",
    blocks: Annotated[int, typer.Option("--blocks", help="A tile uses at most M_SM over this.", min=1)] = 2,
    registers: Annotated[
        int, typer.Option("--thread-registers", help="Registers per thread that bound k; 0 for no bound.", min=0)
    ] = 0,
    threads: Annotated[int, typer.Option("--block-threads", help="Threads per block, for that bound.", min=1)] = 256,
    width_cost: Annotated[
        bool | None,
        typer.Option(
            "--width-cost/--no-width-cost",
            help="Charge what grows with the width of an SM, our extension; not with --model published.",
            show_default="charged",
        ),
    ] = None,
    axis: Annotated[
        list[str] | None,
        typer.Option(
            "--axis",
            metavar="NAME=VALUES",
            help="Hardware axis: sm, width, shared, registers, l1, l2 (kB) or bandwidth; 12,24,48:480:48.",
        ),
    ] = None,
    grid: Annotated[str, typer.Option("--grid", help="Grid of tile sizes: fine or coarse.")] = "fine",
    top: Annotated[int, typer.Option("--top", metavar="N", help="Rows of the Pareto set to show.", min=1)] = 12,
    folder: Annotated[
        Path | None, typer.Option("--output", metavar="DIR", help="Write both figures and the tables there.")
    ] = None,
    save: Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Keep the solved tables.")] = None,
    tables: Annotated[
        Path | None, typer.Option("--tables", metavar="FILE", help="Weigh kept tables again instead of solving.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Choose a GPU's hardware and the tile sizes together, for a workload within an area.

    Example: tilewright codesign --workload 2d --area 200:650 --insight sensitivity
    """
    from tilewright.cli.jobs import codesign_output as files
    from tilewright.cli.jobs import codesign_parse as parse
    from tilewright.costs.pipelines.separable import SeparableForm
    from tilewright.tuning.codesign.design import DesignOptions
    from tilewright.verbs.codesign import codesign as api

    between, weighted = parse.area_range(area), parse.weights(weights or [])
    wanted = parse.insights(insight or [])
    if tables is not None:
        result = files.load(tables).between(*between)
        result = result if weighted is None else result.reweighted(weighted)
        result = result if width_cost is None else result.charged(width_cost)
    else:
        options = DesignOptions(
            form=SeparableForm(model=model, pitch=pitch, single=single), scope=scope, blocks_per_sm=blocks,
            metric=metric, strategies=tuple(strategies.split(",")), grid=grid, block_threads=threads,
            thread_registers=registers,
        )  # fmt: skip
        with _progress("solving") as report:
            result = api.codesign(
                workload, area=between, machine=machine, axes=parse.axes(axis or [], caches=caches), options=options,
                weights=weighted, width_cost=width_cost, energy=energy, progress=report,
            )  # fmt: skip
    if folder is not None:
        output.note("wrote " + ", ".join(str(path) for path in files.write(result, folder)))
    if save is not None:
        files.save(result, save)
    _show(result, wanted, top, as_json)


@contextmanager
def _progress(title: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a bar on standard error if that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _show(result: "Codesign", wanted: tuple[str, ...], top: int, as_json: bool) -> None:
    from tilewright.report import codesign as tables

    document = result.to_dict()
    found = {name: result.insight(name) for name in wanted}
    if as_json:
        output.emit({**document, "insights": found})
        return
    front = result.pareto
    shown = front[:: max(1, -(-len(front) // top))]
    title = f"{len(front)} Pareto-optimal of {result.feasible} designs, {len(shown)} of them"
    parts: list[Shown] = [
        "\n".join([str(result), *(f"note: {note}" for note in result.notes)]),
        tables.designs([d.to_dict() for d in (*shown, result.best)], f"{title} and the best"),
        tables.stock([{"name": name, **design.to_dict()} for name, design in result.stock_designs()]),
        tables.tilings(result.tilings(result.best)),
        *(tables.insight(name, rows) for name, rows in found.items()),
    ]
    if found:
        parts.append("note: docs/codesign.md (Insights) says which of the thesis' answers do not reproduce, and why")
    output.show(None, lambda: parts, as_json=False)
