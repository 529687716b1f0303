"""Drawings are made from the scan; what cannot be drawn is one sentence."""

import importlib
import re

import numpy as np
import pytest
from PIL import Image

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.costs.accuracy import Comparison
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.problem import make_problem
from tilewright.report import figures as drawn
from tilewright.report.drawing import draw_tiling
from tilewright.schedules.tiling import NONE, parse


def _problem(name, extent=200, steps=50, **more):
    built = program(name)
    return make_problem(built, (extent,) * built.rank, steps, **more)


@pytest.mark.parametrize(
    ("name", "tiling"),
    [
        ("jacobi1d", "hexagonal:t=8,s=4"),
        ("j2d5pt", "hybrid:t=8,s=4x12"),
        ("fdtd2d", "hybrid:t=4,s=4x12"),
        ("j3d7pt", "hybrid:t=4,s=2x8x16"),
        ("jacobi1d", "skewed:t=8,s=12,sub=4"),
        ("j2d5pt", "skewed:t=4,s=8x12"),
        ("star1d2r", "diamond:t=8,s=16"),
        ("j2d5pt", "diamond:t=4,s=4x12"),
    ],
)
def test_pictures_show_both_colours(tmp_path, name, tiling):
    target = draw_tiling(_problem(name), parse(tiling), tmp_path / "tiles.png")
    with Image.open(target) as picture:
        pixels = np.asarray(picture.convert("RGB")).reshape(-1, 3)
    shares = [(pixels == colour).all(axis=1).mean() for colour in ((0x5B, 0x8F, 0xC7), (0xF0, 0xA4, 0x4B))]
    assert min(shares) > 0.05


def test_every_wavefront_is_numbered(tmp_path, monkeypatch):
    matplotlib = importlib.import_module("matplotlib")
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")
    target = draw_tiling(_problem("j2d5pt"), parse("hybrid:t=8,s=4x12"), tmp_path / "tiles.svg")
    text = target.read_text()
    numbers = {int(number) for number in re.findall(r'<text style="[^"]*\b700\b[^>]*>(\d+)</text>', text)}
    assert set(range(6)) <= numbers
    assert "j2d5pt, hybrid:t=8,s=4x12" in text


@pytest.mark.parametrize(("extent", "steps"), [(1, 1), (3, 2), (7, 100)])
def test_tiny_problems_are_drawn(tmp_path, extent, steps):
    for tiling in ("hybrid:t=4,s=2x3", "none", *(["streaming:t=2,s=4x4"] if extent > 1 else [])):
        assert draw_tiling(_problem("j2d5pt", extent, steps), parse(tiling), tmp_path / "t.png").stat().st_size > 5000


def test_an_illegal_tiling_is_not_drawn(tmp_path):
    with pytest.raises(IllegalTilingError, match="dependences lead beyond the neighbouring tile"):
        draw_tiling(_problem("j2d9pt"), parse("hybrid:t=4,s=1x8"), tmp_path / "t.png")
    assert not (tmp_path / "t.png").exists()


def test_what_cannot_be_drawn_is_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match=r"is written as \.png, \.svg, \.pdf, got 't\.txt'"):
        draw_tiling(_problem("j2d5pt"), NONE, tmp_path / "t.txt")
    with pytest.raises(UsageError, match="0 steps"):
        draw_tiling(_problem("j2d5pt", steps=0), NONE, tmp_path / "t.png")
    with pytest.raises(UsageError, match="cannot be written"):
        draw_tiling(_problem("j2d5pt"), NONE, tmp_path / "missing" / "t.png")

    def absent(name):
        raise ModuleNotFoundError(name, name=name.partition(".")[0])

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(UsageError, match=r'pip install "tilewright\[plot\]"'):
        draw_tiling(_problem("j2d5pt"), NONE, tmp_path / "t.png")


def _text(problem, tiling, path, monkeypatch):
    matplotlib = importlib.import_module("matplotlib")
    monkeypatch.setitem(matplotlib.rcParams, "svg.fonttype", "none")
    return draw_tiling(problem, parse(tiling), path / "tiles.svg").read_text()


def test_an_axis_that_nothing_cuts_has_a_line_in_place_of_a_panel(tmp_path, monkeypatch):
    whole = _text(_problem("j2d5pt"), "diamond:t=4,s=4x400", tmp_path, monkeypatch)
    assert "axis 1 lies whole in every tile" in whole
    assert "inside the outlined tile" not in whole
    assert "axis 1 inside the outlined tile" in _text(_problem("j2d5pt"), "diamond:t=4,s=4x12", tmp_path, monkeypatch)


def test_a_sweep_is_one_colour_without_a_grid(tmp_path):
    target = draw_tiling(_problem("heat2d"), NONE, tmp_path / "tiles.png")
    with Image.open(target) as picture:
        pixels = np.asarray(picture.convert("RGB")).reshape(-1, 3)
    blue, orange = ((pixels == colour).all(axis=1).mean() for colour in ((0x5B, 0x8F, 0xC7), (0xF0, 0xA4, 0x4B)))
    assert blue > 0.2
    assert orange == 0


def test_a_scatter_plot_has_what_is_predicted_across_and_what_was_measured_upwards(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(drawn, "save", lambda figure, path: figures.append(figure) or path)
    predicted, measured = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 9.0])
    table = Comparison(predicted=predicted, measured=measured, configurations=("hybrid", "none", "hybrid"))
    drawn.scatter(table, tmp_path / "s.png", "title")
    (axes,) = figures[0].axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("predicted seconds", "measured seconds")
    lines = {line.get_label(): (list(line.get_xdata()), list(line.get_ydata())) for line in axes.get_lines()}
    assert lines == {"hybrid": ([1.0, 3.0], [4.0, 9.0]), "none": ([2.0], [5.0]), "equal": ([1.0, 9.0], [1.0, 9.0])}


def test_axes_of_a_sweep_begin_at_nothing_and_end_above_the_highest(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(drawn, "save", lambda figure, path: figures.append(figure) or path)
    rows = [
        {"factor": 1, "seconds": 2.0, "joules": 0.0, "efficiency": 0.5},
        {"factor": 2, "seconds": 0.0, "joules": 0.0, "efficiency": 0.0},
    ]
    result = {"rows": rows, "program": "heat2d", "machine": "h200", "vary": "clock"}
    drawn.draw_sweep(result, tmp_path / "s.png")
    assert [axes.get_ylim() for axes in figures[0].axes] == [(0, 2.16), (0, 1), (0, 0.54)]
