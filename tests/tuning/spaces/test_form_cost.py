"""What the form of sums that a tiling asks for does to predictions: as much as its exact counts say."""

from dataclasses import replace

import pytest

import tilewright as tw
from tilewright.base.errors import UsageError
from tilewright.costs import time as time_model
from tilewright.costs.setting import make_setting
from tilewright.machines.files import load
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.problem import make_problem
from tilewright.schedules.tiling import parse
from tilewright.tuning.spaces.cpu_schedule import arithmetic_ratio

FEW = load("zen3")
MANY = replace(FEW, vector_width=replace(FEW.vector_width, value=16.0))
"""The same computer with vectors of 64 bytes, and 32 of them."""


def _ratio(name, tiling, machine=MANY):
    known = program(name)
    return arithmetic_ratio(make_problem(known, (256,) * known.rank, 64), parse(tiling), machine)


@pytest.mark.parametrize(
    ("name", "form", "ratio"),
    [
        # 27 products of each of two results become 9 times 4: with one unit that multiplies they bind.
        ("j3d27pt", "loop", 27 * 2 / (9 * 4)),
        ("j3d27pt", "inputs", 27 * 2 / (9 * 4)),
        ("j3d27pt", "winograd", 1.0),
        # 125 products per result become, of five planes of 25 columns, 25 times (4 + 2 * 2) for two.
        ("box3d2r", "outputs", 125 * 2 / (25 * 8)),
        ("j2d5pt", "winograd", 1.0),
    ],
)
def test_streaming_tiles_by_hand(name, form, ratio):
    assert _ratio(name, f"streaming:sums={form}") == pytest.approx(ratio)


def test_where_weights_fit_into_registers_the_forms_of_boxes_take_as_long():
    for name in names():
        for family in ("none", "hybrid" if program(name).rank > 1 else "hexagonal"):
            try:
                ratio = _ratio(name, f"{family}:sums=inputs")
            except UsageError:
                continue
            assert ratio == pytest.approx(1.0, rel=4e-3), (name, family)


def test_few_registers_load_weights_with_every_product_but_column_by_column():
    assert _ratio("j3d27pt", "none:sums=inputs", FEW) > 1.3
    assert _ratio("star2d3r", "none:sums=columns", FEW) < 0.8
    assert _ratio("j3d27pt", "none:sums=columns", FEW) == 1.0


def test_nothing_asked_for_changes_nothing():
    assert _ratio("j3d27pt", "streaming") == 1.0
    assert _ratio("j3d27pt", "hybrid:t=4,s=4x8x64", load("h100")) == 1.0


@pytest.mark.parametrize(
    ("tiling", "form", "part"),
    [
        ("streaming", "outputs", "blocked"),
        ("none", "inputs", "swept"),
        ("hybrid:t=4,s=4x8x64", "inputs", "c_iter"),
    ],
)
def test_predictions_take_the_form_that_is_asked_for(tiling, form, part):
    asked = f"{tiling}{',' if ':' in tiling else ':'}sums={form}"
    machine = MANY if tiling == "streaming" else FEW
    plain, other = (
        tw.predict("j3d27pt", shape=(256, 256, 256), steps=64, tiling=each, machine=machine).costs.seconds
        for each in (tiling, asked)
    )
    assert other > 1.02 * plain
    problem = make_problem(program("j3d27pt"), (256,) * 3, 64)
    setting, known = make_setting(problem, machine), _ratio("j3d27pt", asked, machine)
    slower = getattr(setting.rates, part)
    setting = setting.at(**{part: replace(slower, value=known * slower.value)})
    whole = tw.predict("j3d27pt", shape=(256,) * 3, steps=64, tiling=asked, machine=machine).tiling
    result = time_model.evaluate(whole.family, time_model.sizes_of(whole, setting), setting)
    assert float(result.seconds[0]) == pytest.approx(other)


def test_periodic_grids_take_it_too():
    plain, other = (
        tw.predict("j3d27pt", shape=(96, 96, 96), steps=64, tiling=tiling, machine=MANY, boundary="wrap").costs.seconds
        for tiling in ("streaming", "streaming:sums=inputs")
    )
    assert other > 1.02 * plain


def test_a_form_that_cannot_be_written_is_refused_as_in_runs():
    with pytest.raises(UsageError, match="sums=winograd is a form of streaming tiles"):
        tw.predict("j3d27pt", shape=(64, 64, 64), steps=8, tiling="none:sums=winograd")
