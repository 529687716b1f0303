"""Drawings of orthogonal tiles: a table's corner, its wavefronts, and the sub-tiles of one tile."""

import dataclasses
from typing import TYPE_CHECKING, Any

from tilewright.programs.stencil.problem import Problem
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import Tiling

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#5b8fc7", "#f0a44b", "#7fb77e", "#c97b84")
"""Wavefronts take turns."""
_EDGE = "#26323f"
_TILES = (4, 5)
"""Rows and columns of tiles that are shown."""


def draw_table(figure: Any, problem: Problem, tiling: Tiling) -> Any:  # noqa: ANN401  (a figure of matplotlib)
    """Draw a corner of a table: tiles numbered by wavefront, sub-tiles of the first tile, where values come from."""
    limits = (_TILES[0] * tiling.time, _TILES[1] * tiling.space[0])
    shape = tuple(min(extent, limit) for extent, limit in zip(problem.shape, limits, strict=True))
    shown = dataclasses.replace(problem, shape=shape, steps=1)
    panel = figure.subplots()
    panel.set_xlim(0, shape[1])
    panel.set_ylim(shape[0], 0)
    tiles: dict[tuple[int, int], list[tuple[tuple[int, int], ...]]] = {}
    for piece in catalogue.scan(shown, tiling):
        tiles.setdefault((piece.wavefront, piece.tile), []).append(piece.box)
    for (wavefront, _), boxes in tiles.items():
        _tile(panel, wavefront, boxes)
    for box in tiles[0, 0][1:]:
        panel.plot([box[1][0]] * 2, box[0], color=_EDGE, linewidth=0.6, linestyle=":")
    figure.suptitle(f"{problem.program.name}, {tiling}", fontweight="bold")
    panel.set_title("tiles, numbered by wavefront: equal numbers run at the same time; dotted: sub-tiles", fontsize=10)
    panel.set_xlabel("column (axis 1)")
    panel.set_ylabel("row (axis 0)")
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)
    return figure


def _tile(panel: "Axes", wavefront: int, boxes: list[tuple[tuple[int, int], ...]]) -> None:
    (top, bottom), (left, _) = boxes[0]
    right = boxes[-1][1][1]
    panel.fill(
        [left, right, right, left],
        [top, top, bottom, bottom],
        facecolor=_COLOURS[wavefront % len(_COLOURS)],
        edgecolor=_EDGE,
        linewidth=0.9,
    )
    x, y = (left + right) / 2, (top + bottom) / 2
    panel.text(x, y, str(wavefront), ha="center", va="center", fontsize=10, color="#10161d", fontweight="bold")
