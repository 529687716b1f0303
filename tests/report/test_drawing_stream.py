"""Drawings of streaming tiles show what the tiles of a run do."""

import importlib
import re

import pytest

from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.report import drawing_stream
from tilewright.report.drawing import draw_tiling
from tilewright.report.drawing_stream import moment
from tilewright.schedules import catalogue
from tilewright.schedules.streaming import levels as stream_levels
from tilewright.schedules.tiling import parse


@pytest.mark.parametrize(
    ("name", "tile", "extent"),
    [
        ("j2d5pt", "streaming:t=4,s=48x64,rows=4", 200),
        ("star2d3r", "streaming:t=3,s=64x64,rows=6", 200),
        ("j3d7pt", "streaming:t=3,s=40x16x16", 80),
    ],
)
def test_what_an_advance_reads_is_kept_or_computed_in_it(name, tile, extent):
    built = program(name)
    problem = make_problem(built, (extent,) * built.rank, 12)
    tiling = catalogue.legal(problem, parse(tile))
    at = moment(problem, tiling)
    assert sorted(at.now) == list(range(at.last))
    below, above = built.reach[0]
    for level in range(at.last - 1):
        (kept, low), (start, stop) = at.kept[level], at.now[level + 1]
        assert low == at.now[level][0]
        assert kept == start - below
        assert stop + above <= at.now[level][1]
    assert {high - low for low, high in at.now.values()} == {tiling.rows}


@pytest.mark.parametrize("name", ["j2d5pt", "wave2d", "fdtd2d", "jacobi1d", "j3d7pt"])
def test_bands_levels_and_overlaps_are_named(tmp_path, monkeypatch, name):
    matplotlib = importlib.import_module("matplotlib")
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")
    built = program(name)
    sizes = {1: "40", 2: "24x40", 3: "24x16x40"}[built.rank]
    problem = make_problem(built, (96,) * built.rank, 32)
    text = draw_tiling(problem, parse(f"streaming:t=4,s={sizes}"), tmp_path / "tiles.svg").read_text()
    words = " ".join(re.findall(r">([^<>]*)</text>", text))
    assert "hatched: computed by both" in words
    assert ("all levels stream this way" in words) == (built.rank > 1)
    if name != "fdtd2d":
        assert "t=4" in words


def test_what_a_tile_reads_is_framed_for_every_stage(tmp_path, monkeypatch):
    """The tile in the middle, whose own box stands out, and a dashed frame as far as its stages at its levels reach."""
    boxes = []
    monkeypatch.setattr(drawing_stream, "_box", lambda panel, x, y, **style: boxes.append((x, y, style)))
    a, b = FieldBuilder("a"), FieldBuilder("b")
    new = FieldBuilder("a", 1)
    both = stencil("both", 2, {"a": b[-1, -2] + b[2, 1] + a[0, 0], "b": new[-1, -1] + new[1, 2] + b[0, 0]})
    problem, tiling = make_problem(both, (96, 96), 32), parse("streaming:t=4,s=24x40")
    draw_tiling(problem, tiling, tmp_path / "tiles.png")
    ((across, down, _),) = ((x, y, s) for x, y, s in boxes if s.get("linestyle") == "--")
    ((first, last), (top, bottom)) = next((x, y) for x, y, s in boxes if s.get("facecolor") == drawing_stream.KEPT)
    pipeline = stream_levels.of_problem(problem)
    levels, stages = tiling.time, range(len(pipeline.stages))
    for axis, (low, high), frame in ((0, (top, bottom), down), (1, (first, last), across)):
        below, above = ([side[axis].at(levels, s) for s in stages] for side in (pipeline.below, pipeline.above))
        assert frame == (max(0, low - max(below)), min(96, high + max(above)))
        assert len(set(below)) == len(set(above)) == 2
