"""Drawings of what a GPU's thread block does with one hexagon: what it loads, computes on chip and writes back."""

from pathlib import Path

from tilewright.base.errors import UsageError
from tilewright.base.extras import needed
from tilewright.base.paths import written
from tilewright.programs.stencil.problem import Problem
from tilewright.schedules.catalogue import complete
from tilewright.schedules.prism import geometry
from tilewright.schedules.tiling import Tiling

LOADED, COMPUTED, WRITTEN = "#f0a44b", "#c3d9ef", "#2f5f9e"
_INCH_PER_CELL = 0.28
Cells = set[tuple[int, int]]
"""Pairs of a row of the hexagon (negative before the first) and a cell along axis 0."""


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
    with needed("matplotlib", "a drawing", extra="plot"):
        from matplotlib.figure import Figure
        from matplotlib.patches import Patch, Rectangle
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
