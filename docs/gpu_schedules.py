"""Drawings of a GPU's thread block: what it does with one hexagon, and a streaming tile's rows and levels."""

from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from tilewright.base.errors import UsageError
from tilewright.base.paths import written
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.catalogue import complete
from tilewright.schedules.prism import geometry
from tilewright.schedules.streaming import block as stream_block
from tilewright.schedules.tiling import Tiling

LOADED, COMPUTED, WRITTEN = "#f0a44b", "#c3d9ef", "#2f5f9e"
_INCH_PER_CELL = 0.28
_INCH = 0.2
Cells = set[tuple[int, int]]
"""Pairs of a row of the hexagon (negative before the first) and a cell along axis 0; or of a version and a cell along
an axis."""


def schedule(problem: Problem, tiling: Tiling) -> dict[str, Cells]:
    """Return the cells of one hexagon's first field that a block loads, computes, and writes back.

    A loaded cell stands at the row whose version it is.
    """
    cut = geometry(problem, complete(problem, tiling))
    if cut.stages > 1:
        raise UsageError("a schedule is drawn for programs of one stage", "such as jacobi2d")
    hexagon, statement = cut.hexagon, problem.program.statements[0]
    again = problem.program.analysis.copies[problem.program.fields.index(statement.field)]
    computed = {(i, x) for i in range(hexagon.height) for x in range(*hexagon.row(i))}
    loaded: Cells = set()
    for i in range(hexagon.height):
        for read in statement.reads:
            if read.field == statement.field:
                low, high = hexagon.row(i)
                loaded |= {(i + read.level - 1, x + read.offset[0]) for x in range(low, high)}
    return {
        "loaded": loaded - computed,
        "computed": computed,
        "written": {(i, x) for i, x in computed if (i + again, x) not in computed},
    }


def draw_schedule(problem: Problem, tiling: Tiling, path: str | Path) -> Path:
    """Draw :func:`schedule`, time upwards."""
    cells = schedule(problem, tiling)
    every = cells["loaded"] | cells["computed"]
    rows, columns = sorted({i for i, _ in every}), sorted({x for _, x in every})
    size = (_INCH_PER_CELL * (len(columns) + 6), _INCH_PER_CELL * (len(rows) + 5))
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    for key, colour in (("loaded", LOADED), ("computed", COMPUTED), ("written", WRITTEN)):
        for i, x in sorted(cells[key]):
            axes.add_patch(Rectangle((x - 0.45, i - 0.45), 0.9, 0.9, facecolor=colour, edgecolor="none"))
    axes.set_xlim(columns[0] - 1, columns[-1] + 1)
    axes.set_ylim(rows[0] - 1, rows[-1] + 1)
    axes.set_aspect("equal")
    axes.set_xlabel("axis 0, cells from the left end of the first row")
    axes.set_ylabel("row of the hexagon (time)")
    names = {LOADED: "loaded", COMPUTED: "computed, stays on chip", WRITTEN: "computed and written back"}
    axes.legend(
        handles=[Patch(facecolor=colour, label=name) for colour, name in names.items()],
        loc="upper center",
        bbox_to_anchor=(0.5, 1.16),
        ncols=3,
        frameon=False,
        fontsize="small",
    )
    with written(Path(path)) as target:
        figure.savefig(target)
    return Path(path)


def rows_at(problem: Problem, tiling: Tiling, front: int) -> dict[str, Cells]:
    """Return the rows of axis 0 that a block holds of every version of the first field, when the front is at a row.

    Args:
        problem: A problem of one stage.
        tiling: A streaming tiling with threads.
        front: The row that level 0 computes.

    Returns:
        Rows by ``loaded``, ``computed``, ``written`` (computed and written to memory) and ``kept``, counted from 0.

    Raises:
        UsageError: If a step has several stages.
    """
    block = stream_block.tile_of(problem, complete(problem, tiling))
    pipeline, levels = block.growth.pipeline, block.levels
    if len(pipeline.stages) > 1:
        raise UsageError("a schedule is drawn for programs of one stage", "such as j2d5pt")
    ages = pipeline.history[0]
    versions, *_ = block.growth.kept(levels)
    depth = block.rims.rows
    newest = {version: front - pipeline.lag.at(version - 1, 0) for version in range(1 - ages, levels + 1)}
    kept = {(version, newest[version] - back) for version in list(newest)[:versions] for back in range(1, depth)}
    return {
        "loaded": {(version, row) for version, row in newest.items() if version <= 0},
        "computed": {(version, row) for version, row in newest.items() if 0 < version <= levels - ages},
        "written": {(version, row) for version, row in newest.items() if version > levels - ages},
        "kept": kept,
    }


def widths(problem: Problem, tiling: Tiling) -> dict[str, Cells]:
    """Return the cells along the last axis that a tile loads, computes and writes, counted from its first own one."""
    block = stream_block.tile_of(problem, complete(problem, tiling))
    pipeline, levels = block.growth.pipeline, block.levels
    own, below, above = block.space[-1], pipeline.below[-1], pipeline.above[-1]

    def row(version: int) -> Cells:
        left = levels - version
        return {(version, x) for x in range(-below.at(left, 0), own + above.at(left, 0))}

    computed = set().union(*(row(version) for version in range(1, levels)))
    return {"loaded": row(0), "computed": computed, "written": row(levels), "kept": set()}


def draw_streaming(problem: Problem, tiling: Tiling, path: str | Path) -> Path:
    """Draw both.

    Args:
        problem: A problem of one stage.
        tiling: A streaming tiling with threads.
        path: A .png, .svg or .pdf file.

    Returns:
        The path.

    Raises:
        UsageError: If a step has several stages.
    """
    panels = (rows_at(problem, tiling, 20), widths(problem, tiling))
    spans = []
    for panel in panels:
        every = set().union(*panel.values())
        cells, versions = [x for _, x in every], [v for v, _ in every]
        spans.append((min(cells) - 1, max(cells) + 1, min(versions) - 1, max(versions) + 1))
    wide = [high - low for low, high, _, _ in spans]
    figure = Figure(figsize=(_INCH * (sum(wide) + 8), _INCH * (spans[0][3] - spans[0][2] + 7)), layout="constrained")
    names = ("axis 0: rows in registers\nat one advance", "last axis: cells from the tile's first own one")
    colours = {"kept": "#e4edf6", "loaded": LOADED, "computed": COMPUTED, "written": WRITTEN}
    for axes, panel, span, name in zip(figure.subplots(1, 2, width_ratios=wide), panels, spans, names, strict=True):
        for key, colour in colours.items():
            for version, x in sorted(panel[key]):
                axes.add_patch(Rectangle((x - 0.45, version - 0.45), 0.9, 0.9, facecolor=colour, edgecolor="none"))
        axes.set_xlim(span[0], span[1])
        axes.set_ylim(span[2], span[3])
        axes.set_aspect("equal")
        axes.set_xlabel(name)
        axes.set_ylabel("version (time)")
    meaning = ("kept", "loaded", "computed and kept", "computed and written")
    handles = [Patch(facecolor=colour, label=text) for colour, text in zip(colours.values(), meaning, strict=True)]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
    with written(Path(path)) as target:
        figure.savefig(target, dpi=150)
    return Path(path)
