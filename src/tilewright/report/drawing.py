"""Drawings of tilings: the pieces of a schedule tree on (space, time)."""

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import Problem
from tilewright.report import figures
from tilewright.report.drawing_stream import Rows, draw_stream, outline, spans
from tilewright.schedules import catalogue
from tilewright.schedules.tiling import Tiling
from tilewright.schedules.tree.affine import Expr, names_in
from tilewright.schedules.tree.nodes import Compute, Let, Loop, Node, Parallel, children, walk
from tilewright.schedules.tree.order import Piece

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = (("#5b8fc7", "#86aedb"), ("#f0a44b", "#f6c483"))
"""Per colour of hexagons, two shades that alternate from phase to phase."""
_WAVEFRONTS = ("#5b8fc7", "#f0a44b", "#7fb77e", "#c97b84")
"""Wavefronts of a table's tiles take turns."""
_EDGE = figures.INK
_UNTILED_CELLS = 24
_UNTILED_STEPS = 8
_SHOWN_HEIGHTS = 2.5
_SHOWN_TILES = 3
_GRID_CELLS = 80
_PANEL_INCHES = 4.4
_SUB_PANEL = 0.6  # height of a sub-tile panel relative to the first
_NEARLY_ALL = 0.95  # a sub-tile with this share of a tile's cells gets no panel
_LABEL_SHARE = 0.02  # tiles narrower than this share of the picture get no number
_CORNER_TILES = (4, 5)  # rows and columns of a table's tiles that are shown
Key = tuple[int, ...]
Roots = Mapping[str, frozenset[str]]  # per name of a schedule tree the loops and ranges that it depends on


def draw_tiling(problem: Problem, tiling: Tiling, path: str | Path) -> Path:
    """Draw the tiles of a tiling to a file; see :func:`drawn`."""
    target = Path(path)
    figures.check_format(target, "drawing")
    return figures.save(drawn(problem, tiling), target, dpi=150)


def drawn(problem: Problem, tiling: Tiling) -> Any:  # noqa: ANN401  (a figure of matplotlib)
    """Return the figure of a tiling: its tiles, numbered in the order in which they run."""
    # One panel shows time and the axis along which tiles of a wavefront lie side by side, axis 0 if there are several,
    # with the number of the wavefront in every tile; one panel per classically cut axis shows the sub-tiles of the
    # outlined tile with their place in its sequence. Everything drawn comes from the family's schedule tree of the
    # problem, cut to a few tiles. Streaming tiles and those of tables have drawings of their own.
    tiling = catalogue.legal(problem, tiling)
    if problem.steps == 0:
        raise UsageError("a tiling is drawn over time, got a problem of 0 steps", "give at least one step")
    if tiling.family.tables or tiling.family.streams:
        draw = _draw_table if tiling.family.tables else draw_stream
        return draw(figures.new_figure((7.2, 5.4), "drawing"), problem, tiling)
    tree = catalogue.tree(problem, tiling)
    first = _axis_of_tiles(tree)
    shown = _corner(problem, tiling, first)
    pieces = list(catalogue.scan(shown, tiling))
    chosen = _largest_tile(pieces)
    inside = [piece for piece in pieces if (piece.wavefront, piece.tile) == chosen]
    cut = _cut_axes(tiling, tree, pieces)
    panelled = {axis: number for axis, number in cut.items() if _several(inside, axis, number)}
    ratios = [1.0] + [_SUB_PANEL] * len(panelled)
    figure = figures.new_figure((7.2, _PANEL_INCHES * sum(ratios)), "drawing")
    axes = figure.subplots(len(ratios), 1, squeeze=False, height_ratios=ratios)[:, 0]
    figure.suptitle(f"{problem.program.name}, {tiling}", fontweight="bold")
    whole = [f"axis {axis} lies whole in every tile" for axis in cut if axis not in panelled]
    section = _section(shown, pieces, first)
    _draw_wavefronts(axes[0], section, first, chosen if panelled else None, whole)
    for (axis, number), panel in zip(panelled.items(), axes[1:], strict=True):
        _draw_sub_tiles(panel, inside, axis, number)
    for axis, panel in zip((first, *panelled), axes, strict=True):
        _finish(panel, shown, axis, cells=bool(tiling.space))
    if tiling.space:
        _mark_height(axes[0], [piece for piece in section if piece.wavefront == chosen[0]], tiling)
    return figure


def _cut_axes(tiling: Tiling, tree: Node, pieces: list[Piece]) -> dict[int, int]:
    """The axes along which tiles have sub-tiles, each with its place in the sub-tiles' numbers; some may not be cut."""
    axes = _axes_of_subtiles(tree)
    every = len(axes) == len(tiling.space)
    positions = {axis: place for place, axis in enumerate(axes)}
    return {
        axis: place
        for axis, place in sorted(positions.items())
        if not every or len({piece.sub[place] for piece in pieces}) > 1
    }


def _several(inside: list[Piece], axis: int, number: int) -> bool:
    """Whether an axis of a tile has sub-tiles worth a picture: none that has nearly all of its cells."""
    cells: dict[int, int] = {}
    for piece in inside:
        low, high = piece.box[axis]
        cells[piece.sub[number]] = cells.get(piece.sub[number], 0) + high - low
    return max(cells.values()) < _NEARLY_ALL * sum(cells.values())


def _section(shown: Problem, pieces: list[Piece], axis: int) -> list[Piece]:
    """The pieces with the cell in the middle of every axis but one: what a cut through the grid shows."""
    middle = [extent // 2 for extent in shown.shape]
    across = [each for each in range(len(middle)) if each != axis]
    cut = [p for p in pieces if all(p.box[each][0] <= middle[each] < p.box[each][1] for each in across)]
    return cut or pieces


def _corner(problem: Problem, tiling: Tiling, axis: int) -> Problem:
    """Cut a problem to a few tiles per axis, most along that of tiles side by side, and a few wavefronts."""
    stages = len(problem.program.stages)
    if not tiling.space:
        shape = tuple(min(extent, _UNTILED_CELLS) for extent in problem.shape)
        return dataclasses.replace(problem, shape=shape, steps=min(problem.steps, _UNTILED_STEPS))
    height = tiling.time * stages
    lengths = [size + slope.widest * height for size, slope in zip(tiling.space, slopes(problem), strict=True)]
    lengths = [
        _SHOWN_TILES * (length + size) if number == axis else length + (_SHOWN_TILES - 1) * size * bool(number or axis)
        for number, (length, size) in enumerate(zip(lengths, tiling.space, strict=True))
    ]
    shape = tuple(min(extent, length) for extent, length in zip(problem.shape, lengths, strict=True))
    return dataclasses.replace(problem, shape=shape, steps=min(problem.steps, math.ceil(_SHOWN_HEIGHTS * tiling.time)))


def _largest_tile(pieces: list[Piece]) -> tuple[int, int]:
    """The first of the tiles that have the most cells: one that nothing cuts."""
    cells: dict[tuple[int, int], int] = {}
    for piece in pieces:
        tile = (piece.wavefront, piece.tile)
        cells[tile] = cells.get(tile, 0) + math.prod(high - low for low, high in piece.box)
    return max(cells, key=lambda tile: cells[tile])


def _draw_wavefronts(panel: "Axes", pieces: list[Piece], axis: int, chosen: Key | None, notes: Sequence[str]) -> None:
    parts: dict[Key, list[Piece]] = {}
    for piece in pieces:
        parts.setdefault((piece.wavefront, piece.tile), []).append(piece)
    tiles = {key: spans(part, axis) for key, part in parts.items()}
    number = {wave: i for i, wave in enumerate(sorted({piece.wavefront for piece in pieces}))}
    labels = {key: (str(number[key[0]]), _COLOURS[key[0] % 2][key[0] // 2 % 2]) for key in tiles}
    title = "tiles, numbered by wavefront: equal numbers run at the same time"
    if len({tile for _, tile in tiles}) == 1:
        labels = {key: (text, _COLOURS[0][number[key[0]] % 2]) for key, (text, _) in labels.items()}
        title = "one sweep over the grid per statement and step, numbered in their order"
    _draw(panel, tiles, labels)
    for rows in tiles.values():  # once more, above all fills
        figures.polygon(panel, outline(rows), fill=False, edgecolor=_EDGE, linewidth=0.9)
    if chosen in tiles:
        corners = outline(tiles[chosen])
        panel.plot(*zip(*corners, corners[0], strict=True), color="#10161d", linewidth=2.4, solid_joinstyle="miter")
    panel.set_title("\n".join([title, *notes]), fontsize=10)


def _mark_height(panel: "Axes", pieces: list[Piece], tiling: Tiling) -> None:
    """Mark ``t`` beside the time axis, along a tile that nothing cuts."""
    low, high = min(piece.time for piece in pieces), max(piece.time for piece in pieces) + 1
    transform = panel.get_yaxis_transform()
    panel.annotate(
        "", (1.015, high), (1.015, low), xycoords=transform, textcoords=transform, annotation_clip=False,
        arrowprops={"arrowstyle": "<->", "color": _EDGE, "shrinkA": 0, "shrinkB": 0},
    )  # fmt: skip
    panel.text(1.03, (low + high) / 2, f"t={tiling.time}", transform=transform, fontsize=9, va="center")


def _draw_sub_tiles(panel: "Axes", pieces: list[Piece], axis: int, number: int) -> None:
    tiles: dict[Key, Rows] = {}
    for piece in pieces:
        tiles.setdefault((piece.sub[number],), {})[piece.time] = piece.box[axis]
    shades = _COLOURS[pieces[0].wavefront % 2]
    labels = {key: (str(i), shades[i % 2]) for i, key in enumerate(sorted(tiles))}
    _draw(panel, tiles, labels)
    panel.set_title(f"axis {axis} inside the outlined tile: its sub-tiles run one after the other", fontsize=10)


def _draw(panel: "Axes", tiles: Mapping[Key, Rows], labels: Mapping[Key, tuple[str, str]]) -> None:
    spans = [span for rows in tiles.values() for span in rows.values()]
    times = [time for rows in tiles.values() for time in rows]
    panel.set_xlim(min(low for low, _ in spans), max(high for _, high in spans))
    panel.set_ylim(min(times), max(times) + 1)
    narrow = _LABEL_SHARE * (panel.get_xlim()[1] - panel.get_xlim()[0])
    for key, rows in tiles.items():
        text, colour = labels[key]
        figures.polygon(panel, outline(rows), facecolor=colour, edgecolor=_EDGE, linewidth=0.9, joinstyle="miter")
        cells = sum(high - low for low, high in rows.values())
        if cells > narrow * len(rows):
            x = sum((high - low) * (low + high) / 2 for low, high in rows.values()) / cells
            y = sum((high - low) * (time + 0.5) for time, (low, high) in rows.items()) / cells
            left, right = rows.get(int(y), (x, x))
            if min(x - left, right - x) < narrow:  # of a tile that the panel cuts
                continue
            panel.text(x, y, text, ha="center", va="center", fontsize=10, color="#10161d", fontweight="bold")


def _finish(panel: "Axes", shown: Problem, axis: int, *, cells: bool) -> None:
    """Label an axis of cells and one of time; with ``cells``, a grid shows every cell where they are few."""
    stages = len(shown.program.stages)
    low, high = (round(limit) for limit in panel.get_ylim())
    few = cells and shown.shape[axis] <= _GRID_CELLS
    panel.set_xlabel(f"cell on axis {axis}" + (" (the grid: one cell, one step)" if few else ""))
    panel.set_ylabel("time step" if stages == 1 else f"logical time ({stages} per time step)")
    ticker = figures.matplotlib("ticker", "drawing")
    panel.xaxis.set_major_locator(ticker.MaxNLocator("auto", integer=True))
    panel.yaxis.set_major_locator(ticker.MaxNLocator(8, integer=True))
    if few:
        panel.set_xticks(range(shown.shape[axis] + 1), minor=True)
        panel.set_yticks(range(low, high + 1), minor=True)
        panel.grid(which="minor", color="white", linewidth=0.4, alpha=0.6)
    panel.tick_params(which="minor", length=0)
    figures.open_frame(panel)


def _draw_table(figure: Any, problem: Problem, tiling: Tiling) -> Any:  # noqa: ANN401  (a figure of matplotlib)
    """Draw a corner of a table: tiles numbered by wavefront, sub-tiles of the first tile, where values come from."""
    limits = (_CORNER_TILES[0] * tiling.time, _CORNER_TILES[1] * tiling.space[0])
    shape = tuple(min(extent, limit) for extent, limit in zip(problem.shape, limits, strict=True))
    shown = dataclasses.replace(problem, shape=shape, steps=1)
    panel = figure.subplots()
    panel.set_xlim(0, shape[1])
    panel.set_ylim(shape[0], 0)
    tiles: dict[tuple[int, int], list[tuple[tuple[int, int], ...]]] = {}
    for piece in catalogue.scan(shown, tiling):
        tiles.setdefault((piece.wavefront, piece.tile), []).append(piece.box)
    for (wavefront, _), boxes in tiles.items():
        _table_tile(panel, wavefront, boxes)
    for box in tiles[0, 0][1:]:
        panel.plot([box[1][0]] * 2, box[0], color=_EDGE, linewidth=0.6, linestyle=":")
    figure.suptitle(f"{problem.program.name}, {tiling}", fontweight="bold")
    panel.set_title("tiles, numbered by wavefront: equal numbers run at the same time; dotted: sub-tiles", fontsize=10)
    panel.set_xlabel("column (axis 1)")
    panel.set_ylabel("row (axis 0)")
    figures.open_frame(panel)
    return figure


def _table_tile(panel: "Axes", wavefront: int, boxes: list[tuple[tuple[int, int], ...]]) -> None:
    (top, bottom), (left, _) = boxes[0]
    right = boxes[-1][1][1]
    corners = [left, right, right, left], [top, top, bottom, bottom]
    panel.fill(*corners, facecolor=_WAVEFRONTS[wavefront % len(_WAVEFRONTS)], edgecolor=_EDGE, linewidth=0.9)
    x, y = (left + right) / 2, (top + bottom) / 2
    panel.text(x, y, str(wavefront), ha="center", va="center", fontsize=10, color="#10161d", fontweight="bold")


def _axis_of_tiles(tree: Node) -> int:
    """Return the axis along which tiles of a wavefront lie side by side, the first if there are several; 0 for none."""
    axes = _axes_of(tree)
    tile_axes = (axes.get(each.ranges[0].name, 0) for each in walk(tree) if isinstance(each, Parallel))
    return next(tile_axes, 0)


def _axes_of_subtiles(tree: Node) -> tuple[int, ...]:
    """Return the axis along which the sub-tiles of every loop over sub-tiles lie, outermost loop first."""
    axes = _axes_of(tree)
    loops = dict.fromkeys(each.name for each in walk(tree) if isinstance(each, Loop) and each.subtile)
    return tuple(axes.get(name, 0) for name in loops)


def _axes_of(tree: Node) -> dict[str, int]:
    """Per loop and range the first axis on which cells depend on it."""
    first_axes: dict[str, int] = {}
    for axis, name in sorted(_dependent(tree, {})):
        first_axes.setdefault(name, axis)
    return first_axes


def _dependent(node: Node, roots: Roots) -> Iterator[tuple[int, str]]:
    if isinstance(node, Compute):
        for axis, (low, high) in enumerate(node.box):
            yield from ((axis, root) for root in _roots(low, roots) | _roots(high, roots))
        return
    if isinstance(node, Let):
        roots = {**roots, node.name: _roots(node.value, roots)}
    own = (node,) if isinstance(node, Loop) else node.ranges if isinstance(node, Parallel) else ()
    roots = {**roots, **{each.name: frozenset({each.name}) for each in own}}
    for child in children(node):
        yield from _dependent(child, roots)


def _roots(expression: Expr, roots: Roots) -> frozenset[str]:
    return frozenset[str]().union(*(roots.get(name, frozenset()) for name in names_in(expression)))
