"""Drawings of streaming tiles: a band from above, how two of its tiles overlap, and what advances inside one."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tilewright.base.errors import UsageError
from tilewright.programs.stencil.problem import Problem
from tilewright.report import figures
from tilewright.schedules import catalogue
from tilewright.schedules.families import streaming
from tilewright.schedules.tiling import Tiling
from tilewright.schedules.tree.order import Piece

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NOW, KEPT, DONE = figures.BLUE, "#86aedb", "#e4edf6"
"""Cells that this advance computes, that a later one still reads, and that nobody reads again."""
_TILES = ("#86aedb", "#f6c483")
_EDGE = figures.INK
_MOST_TILES = 12  # tiles per axis that are drawn from above
_AROUND = 3  # halos that are shown on either side of the border between two tiles
Rows = dict[int, tuple[int, int]]  # per logical time, a half-open range of cells


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One advance of a tile along axis 0."""

    now: Rows  # the cells that it computes
    # likewise, but for the last time of the band, the cells of earlier advances that lie in cache for it
    kept: Rows
    last: int  # one past the last logical time of the band


def spans(pieces: Iterable[Piece], axis: int) -> Rows:
    """Return what pieces of one tile cover along an axis."""
    rows: Rows = {}
    for piece in pieces:
        low, high = rows.get(piece.time, piece.box[axis])
        rows[piece.time] = (min(low, piece.box[axis][0]), max(high, piece.box[axis][1]))
    return rows


def outline(rows: Rows) -> list[tuple[int, int]]:
    """Return the corners of a tile, up its right side and down its left side."""
    right = [(rows[time][1], edge) for time in sorted(rows) for edge in (time, time + 1)]
    left = [(rows[time][0], edge) for time in sorted(rows, reverse=True) for edge in (time + 1, time)]
    return right + left


def moment(problem: Problem, tiling: Tiling) -> Moment:
    """Return the advance half way through the first tile of a complete tiling."""
    pipeline = streaming.geometry(problem, tiling).pipeline
    stages = len(pipeline.stages)
    keep = [
        max((k for k, s in zip(pipeline.keep, pipeline.stage_of, strict=True) if s == n), default=0)
        for n in range(stages)
    ]
    advances: list[Rows] = []
    before = math.inf
    for piece in _first_tile(problem, tiling):
        if piece.time <= before:
            advances.append({})
        before = piece.time
        advances[-1][piece.time] = piece.box[0]
    if not advances:
        raise UsageError("there is nothing to draw of a problem without a step")
    whole = max(len(rows) for rows in advances)
    full = [rows for rows in advances if len(rows) == whole]
    now = full[len(full) // 2]
    last = max(now) + 1
    history = {time: (low - keep[time % stages], low) for time, (low, _) in now.items() if time < last - stages}
    return Moment(now=now, kept=history, last=last)


def draw_stream(figure: Any, problem: Problem, tiling: Tiling) -> Any:  # noqa: ANN401  (a figure of matplotlib)
    """Draw a streaming tiling to scale: a band from above, the overlap of two tiles, the levels inside one."""
    stream = streaming.geometry(problem, tiling)
    figure.suptitle(f"{problem.program.name}, {tiling}", fontweight="bold")
    tiling = dataclasses.replace(tiling, time=max(stream.levels))
    shown = _two_tiles(problem, tiling)
    if problem.program.rank == 1:
        figure.set_size_inches(7.2, 3.6)
        _overlap(figure.subplots(), shown, tiling, 0)
        return figure
    figure.set_size_inches(7.6, 7.4)
    upper, lower = figure.subfigures(2, 1, height_ratios=(1.0, 0.9))
    above, beside = upper.subplots(1, 2, width_ratios=(1.0, 1.25))
    _from_above(above, problem, tiling)
    parts = [len(cuts) - 1 for cuts in streaming.geometry(shown, tiling).cuts]
    axis = max(range(1, problem.program.rank), key=lambda n: (parts[n] > 1, n))
    _overlap(beside, shown, tiling, axis)
    _levels(lower.subplots(), shown, tiling, len(stream.pipeline.stages))
    return figure


def _two_tiles(problem: Problem, tiling: Tiling) -> Problem:
    """Cut a problem to two tiles per axis, and to so many steps that every band has ``t`` of them."""
    shape = tuple(min(extent, 2 * size) for extent, size in zip(problem.shape, tiling.space, strict=True))
    versions = max(problem.program.history(field) for field in problem.program.fields)
    return dataclasses.replace(problem, shape=shape, steps=2 * versions * tiling.time)


def _first_tile(problem: Problem, tiling: Tiling, number: int = 0) -> list[Piece]:
    pieces = catalogue.scan(problem, tiling)
    return [p for p in itertools.takewhile(lambda p: p.wavefront == 0 and p.tile <= number, pieces) if p.tile == number]


def _from_above(panel: "Axes", problem: Problem, tiling: Tiling) -> None:
    """The tiles of one band on axis 0 and the last axis, with the way that they stream and what one of them loads."""
    stream = streaming.geometry(problem, tiling)
    rows, columns = stream.cuts[0], stream.cuts[-1]
    counts = tuple(len(cuts) - 1 for cuts in stream.cuts)
    rows, columns = rows[: _MOST_TILES + 1], columns[: _MOST_TILES + 1]
    every = list(itertools.product(itertools.pairwise(rows), itertools.pairwise(columns)))
    top, left = rows[len(rows) // 2 - 1], columns[len(columns) // 2 - 1]
    bottom, right = rows[len(rows) // 2], columns[len(columns) // 2]
    styles = [*((box, DONE, 1.0) for box in every), (((top, bottom), (left, right)), KEPT, 2.0)]
    for ((upper, lower), (first, last)), colour, thick in styles:
        _box(panel, (first, last), (upper, lower), facecolor=colour, edgecolor=_EDGE, lw=0.8)
        x, margin = (first + last) / 2, (lower - upper) / 6
        _arrow(panel, (x, upper + margin), (x, lower - margin), color=NOW, lw=thick)
    levels, stages = max(stream.levels), range(len(stream.pipeline.stages))
    (up, down), (before, behind) = (
        (max(b.at(levels, s) for s in stages), max(a.at(levels, s) for s in stages))
        for b, a in ((stream.pipeline.below[n], stream.pipeline.above[n]) for n in (0, -1))
    )
    box = (max(0, left - before), max(0, top - up))
    ends = (min(problem.shape[-1], right + behind), min(problem.shape[0], bottom + down))
    _box(panel, (box[0], ends[0]), (box[1], ends[1]), fill=False, edgecolor=figures.RED, lw=1.2, linestyle="--")
    panel.set(xlim=(0, columns[-1]), ylim=(rows[-1], 0))
    panel.set_xlabel(f"cell on axis {problem.program.rank - 1}")
    panel.set_ylabel("cell on axis 0")
    panel.locator_params(nbins=5)
    tiles = " x ".join(map(str, counts))
    panel.set_title(
        f"a band: {tiles} tiles stream along axis 0,\nin any order; dashed: what the blue one loads", fontsize=9
    )


def _overlap(panel: "Axes", shown: Problem, tiling: Tiling, axis: int) -> None:
    """What two neighbours along an axis compute, level by level, around the border between them."""
    stream = streaming.geometry(shown, tiling)
    cuts = stream.cuts[axis - shown.program.rank]
    stride = math.prod(len(other) - 1 for other in stream.cuts[len(stream.cuts) - shown.program.rank + axis + 1 :])
    numbers = (0, stride) if len(cuts) > 2 else (0,)
    ranges = [spans(_first_tile(shown, tiling, number), axis) for number in numbers]
    for rows, colour in zip(ranges, _TILES, strict=False):
        figures.polygon(panel, outline(rows), facecolor=colour, edgecolor=_EDGE, lw=0.9, alpha=0.75)
    top = max(ranges[0]) + 1
    panel.set_ylim(0, top)
    _time_axis(panel, len(stream.pipeline.stages), top)
    panel.set_xlabel(f"cell on axis {axis}")
    if len(numbers) == 1:
        panel.set_xlim(0, shown.shape[axis])
        panel.set_title(f"axis {axis} is not cut: nothing is computed twice", fontsize=9)
        return
    border = cuts[1]
    wide = max(max(high for _, high in ranges[0].values()) - border, border - min(a for a, _ in ranges[1].values()), 1)
    panel.set_xlim(max(0, border - _AROUND * wide), min(shown.shape[axis], border + _AROUND * wide))
    for time in sorted(set(ranges[0]) & set(ranges[1])):
        low, high = ranges[1][time][0], ranges[0][time][1]
        if low < high:
            _box(panel, (low, high), (time, time + 1), fill=False, hatch="////", edgecolor=_EDGE, lw=0)
    panel.axvline(border, color=_EDGE, linewidth=0.8, linestyle=":")
    left, right = panel.get_xlim()
    for x, text in (((left + border - wide) / 2, "one\ntile"), ((right + border + wide) / 2, "the\nnext")):
        panel.text(x, top / 2, text, ha="center", va="center", fontsize=9)
    title = f"where two tiles of {tiling.space[axis]} cells meet;\nhatched: computed by both, at most {2 * wide} cells"
    panel.set_title(title, fontsize=9)


def _levels(panel: "Axes", shown: Problem, tiling: Tiling, stages: int) -> None:
    """The levels of one tile along axis 0, half way through."""
    at = moment(shown, tiling)
    rows = max(high - low for low, high in at.now.values())
    first, last = min(low for low, _ in at.now.values()), max(high for _, high in at.now.values())
    span = last - first
    limits = (max(0, first - span), min(tiling.space[0], last + span))
    for time, (low, high) in at.now.items():
        edge = max(at.kept.get(time, (low, low))[0], limits[0])
        for start, stop, colour in ((limits[0], edge, DONE), (edge, low, KEPT), (low, high, NOW)):
            if start < stop:
                _box(panel, (start, stop), (time, time + 1), facecolor=colour, edgecolor="white", lw=0.6)
    room = 0.16 * at.last
    panel.set(xlim=limits, ylim=(-room, at.last + room))
    _time_axis(panel, stages, at.last)
    panel.set_xlabel("cell on axis 0")
    ends = (
        (at.now[min(at.now)], 0, -room, "loaded from memory"),
        (at.now[at.last - 1], at.last + room, at.last, "written to memory"),
    )
    for cells_, tip, tail, text in ends:
        middle = sum(cells_) / 2
        _arrow(panel, (middle, tail), (middle, tip), shrinkA=0, shrinkB=0)
        panel.text(middle, (tip + tail) / 2, f"  {text}", fontsize=8, va="center")
    centre = (last + limits[1]) / 2
    _arrow(panel, (last, at.last / 2), (limits[1], at.last / 2), color=NOW, lw=1.5)
    panel.text(centre, 0.52 * at.last, "all levels stream this way", ha="center", va="bottom", fontsize=8)
    cells = f"{rows} cell{'s' if rows > 1 else ''}"
    panel.set_title(
        f"inside a tile: an advance takes every level {cells} further, each behind the one below", fontsize=9
    )
    meaning = ((NOW, "computed in this advance"), (KEPT, "kept in cache for it"), (DONE, "computed before"))
    patch = figures.matplotlib("patches", "drawing").Patch
    handles = [patch(facecolor=colour, label=text) for colour, text in meaning]
    panel.legend(handles=handles, loc="upper center", fontsize=8, ncols=3, frameon=False, bbox_to_anchor=(0.5, -0.16))


def _time_axis(panel: "Axes", stages: int, top: int) -> None:
    """Label the levels of a band; its height is ``t`` of the tiling, or less where bands are made equal."""
    ticks: Sequence[int] = [*range(0, top, max(1, math.ceil(top / 8))), top]
    if len(ticks) > 2 and ticks[-1] - ticks[-2] < math.ceil(top / 8) / 2:
        ticks = [*ticks[:-2], top]
    panel.set_yticks(ticks, [*map(str, ticks[:-1]), f"t={top // stages}" if stages == 1 else str(top)])
    panel.xaxis.set_major_locator(figures.matplotlib("ticker", "drawing").MaxNLocator(6, integer=True))
    panel.set_ylabel("time step" if stages == 1 else f"logical time ({stages} per step)")
    figures.open_frame(panel)


def _box(panel: "Axes", across: tuple[float, float], along: tuple[float, float], **style: Any) -> None:  # noqa: ANN401
    (left, right), (low, high) = across, along
    rectangle = figures.matplotlib("patches", "drawing").Rectangle
    panel.add_patch(rectangle((left, low), right - left, high - low, **style))


def _arrow(panel: "Axes", tail: tuple[float, float], tip: tuple[float, float], **style: Any) -> None:  # noqa: ANN401
    panel.annotate("", tip, tail, arrowprops={"arrowstyle": "->", **style})
