"""Verdicts name the broken dependence; the catalogue and the notation refuse what does not apply."""

import dataclasses
import itertools

import pytest
from tests.oracles.precedence import broken

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.programs.stencil.catalogue import program
from tilewright.programs.stencil.dependences import Slope
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.programs.stencil.storage import Storage
from tilewright.schedules import catalogue, prism
from tilewright.schedules.family import Legal, Violation, family_named
from tilewright.schedules.geometry import Skew
from tilewright.schedules.tiling import NONE, Tiling, parse
from tilewright.tuning.spaces.cpu_schedule import cpu_schedule


def _problem(name="j2d5pt", shape=(40, 30), steps=10, boundary="fixed"):
    return make_problem(program(name), shape, steps, boundary=boundary)


@pytest.mark.parametrize("storage", [Storage(kept=4), Storage(series=("k",))])
def test_tiles_with_memory_of_their_own_do_not_keep_every_state(storage):
    problem = _problem("heat2d_var")
    streaming, hybrid = parse("streaming:t=3,s=16x32"), parse("hybrid:t=4,s=4x32")
    assert catalogue.legal(problem, streaming).time == 3
    with pytest.raises(IllegalTilingError, match="every state of 'heat2d_var' is kept or read here"):
        catalogue.legal(problem, streaming, storage)
    assert cpu_schedule(problem, catalogue.legal(problem, hybrid, storage), storage).storage is storage


def test_tiles_with_memory_of_their_own_do_not_update_some_cells_alone():
    problem, tiling = _problem("heat2d_var"), "streaming:t=3,s=16x32"
    some = dataclasses.replace(problem, regions=(("u", ((0, 1), (0, 0))),))
    assert isinstance(catalogue.check(problem, parse(tiling)), Legal)
    verdict = catalogue.check(some, parse(tiling))
    assert isinstance(verdict, Violation)
    assert "every state of 'heat2d_var' is kept or read here, or some cells alone" in str(verdict)
    assert isinstance(catalogue.check(some, parse("hybrid:t=4,s=4x32")), Legal)


@pytest.mark.parametrize(
    ("name", "tiling", "which", "size", "least"),
    [
        ("star2d3r", "hybrid:t=4,s=2x8", "first", 2, 3),
        ("star2d2r", "diamond:t=4,s=6x8", "first", 6, 8),
        ("jacobi1d", "diamond:t=8,s=6", "first", 6, 8),
    ],
)
def test_tiles_narrower_than_the_reach_are_refused_with_the_least_size(name, tiling, which, size, least):
    problem = _problem(name, (40, 30, 20)[: program(name).rank])
    verdict = catalogue.check(problem, parse(tiling))
    assert str(verdict) == (
        f"the tiles of {catalogue.complete(problem, parse(tiling))} are narrower than what {name!r} reaches: their "
        f"{which} size is {size}, and below {least} dependences lead beyond the neighbouring tile"
    )
    assert verdict.hint == f"make the {which} tile size at least {least}"
    assert broken(problem, catalogue.tree(problem, parse(tiling))) is not None


def test_a_memory_dependence_is_named(monkeypatch):
    """Reads to the left only; with two copies in time the new value must wait for the reader to its right."""
    u = FieldBuilder("u")
    wide = make_problem(stencil("wide", 2, {"u": u[0, -2] + u[0, 0]}), (50, 50), 6)
    tiling = parse("hybrid:t=4,s=2x4")
    (skew,) = prism.geometry(wide, tiling).skews
    assert skew.slope == 2
    assert broken(wide, catalogue.tree(wide, tiling)) is None
    monkeypatch.setattr(Skew, "row", lambda self, index, i: (index * self.size - i, index * self.size - i + self.size))
    found = broken(wide, catalogue.tree(wide, tiling))
    assert str(found) == "memory dependence (-1; +0, +2) from u[0, -2]"


def test_a_slope_too_small_names_the_dependence(monkeypatch):
    problem, tiling = _problem("star2d2r"), parse("hybrid:t=4,s=4x4")
    assert broken(problem, catalogue.tree(problem, tiling)) is None
    monkeypatch.setattr(prism, "slopes", lambda problem: (Slope(left=1, right=1),) * problem.program.rank)
    assert "flow dependence (-1; -2, +0)" in str(broken(problem, catalogue.tree(problem, tiling)))


def test_wrap_is_a_long_range_dependence():
    for boundary in ("wrap", ("wrap", "fixed"), ("fixed", "wrap")):
        problem = _problem(boundary=boundary)
        verdict = catalogue.check(problem, parse("hybrid:t=4,s=4x4"))
        assert isinstance(verdict, Violation)
        assert "long-range dependence" in verdict.reason
        assert isinstance(catalogue.check(problem, NONE), Legal)


def test_wrap_that_no_read_crosses_is_harmless():
    u = FieldBuilder("u")
    problem = make_problem(stencil("rows", 2, {"u": u[-1, 0] + u[1, 0]}), (20, 20), 4, boundary=("fixed", "wrap"))
    assert isinstance(catalogue.check(problem, parse("hybrid:t=2,s=2x4")), Legal)


def test_a_recurrence_is_named():
    problem = _problem("smith_waterman")
    verdict = catalogue.check(problem, parse("hybrid"))
    assert isinstance(verdict, Violation)
    assert "flow dependence (0; -1, -1) from h.new[-1, -1]" in verdict.reason
    sequential = catalogue.check(problem, NONE)
    assert isinstance(sequential, Legal)
    assert sequential.sequential == verdict.dependence


@pytest.mark.parametrize(
    ("name", "tiling", "expected"),
    [
        ("jacobi1d", "hexagonal", "hexagonal:t=32,s=1024"),
        ("j2d5pt", "hybrid:rows=4", "hybrid:t=16,s=32x512,rows=4"),
        ("j3d7pt", "hybrid:t=4", "hybrid:t=4,s=8x16x256"),
        (
            "j2d5pt",
            "hybrid:t=8,s=4x64,threads=1x64,k=2,variant=param",
            "hybrid:t=8,s=4x64,threads=1x64,k=2",
        ),
        ("j2d5pt", "none", "none"),
    ],
)
def test_defaults(name, tiling, expected):
    rank = program(name).rank
    problem = make_problem(program(name), (64,) * rank, 4)
    completed = catalogue.complete(problem, parse(tiling))
    assert str(completed) == expected
    assert catalogue.complete(problem, completed) == completed
    assert parse(expected) == completed


def test_the_default_base_covers_the_slope():
    u = FieldBuilder("u")
    far = stencil("far", 2, {"u": u[-60, 0] + u[0, 0]})
    problem = make_problem(far, (300, 20), 4)
    assert catalogue.complete(problem, parse("hybrid")).space == (60, 512)
    assert isinstance(catalogue.check(problem, parse("hybrid")), Legal)


def test_what_does_not_apply_is_refused():
    for name, tiling, message in [
        ("j2d5pt", "hexagonal", "hexagonal tiles cut 1D programs, 'j2d5pt' is 2D"),
        ("jacobi1d", "hybrid", "hybrid tiles cut 2D or 3D programs"),
        ("j2d5pt", "hybrid:t=4,s=8", "has 2 sizes, got s=8"),
        ("j2d5pt", "hybrid:t=5,s=8x8", "even number from 2 to 4096, got t=5"),
        ("j2d5pt", "hybrid:s=8x8", "even number from 2 to 4096, got t=1"),
        ("j2d5pt", "hybrid:t=9998,s=8x8", "got t=9998"),
        ("j2d5pt", "hybrid:t=4,s=8x8,sub=2x2", "no sub-tiles"),
        ("j2d5pt", "hybrid:t=4,s=8x8,threads=64", "threads are given per axis"),
        ("j2d5pt", "none:t=4", "t means nothing"),
        ("j2d5pt", "none:s=4x4", "s means nothing"),
        ("j2d5pt", "none:k=2", "k means nothing"),
        ("j2d5pt", "none:threads=2", "threads are given per axis"),
        ("j2d5pt", "hybird", "there is no tiling family 'hybird'"),
        ("j2d5pt", "skewed:t=4,s=8", "has 2 sizes, got s=8"),
        ("j2d5pt", "skewed:t=4,s=9x8,sub=2x8", "multiples of its sub-tiles', got s=9x8 and sub=2x8"),
        ("j2d5pt", "skewed:t=4,s=8x8,sub=2", "sub-tiles have 2 sizes here"),
        ("j2d5pt", "skewed:t=5000,s=8x8", "from 1 to 4096, got t=5000"),
        ("j2d5pt", "diamond:t=3,s=8x8", "even number from 2 to 4096, got t=3"),
        ("j2d5pt", "diamond:t=4,s=9x8", "an even number, got s=9"),
        ("j2d5pt", "diamond:t=4,s=8x8,sub=2x2", "no sub-tiles"),
        ("j2d5pt", "streaming:t=2,s=8", "has 2 sizes"),
        ("j2d5pt", "streaming:t=2,s=8x8,k=2", "has no k"),
        ("j2d5pt", "streaming:t=1025,s=64x64", "at most 1024"),
    ]:
        problem = make_problem(program(name), (64,) * program(name).rank, 4)
        for ask in (catalogue.complete, catalogue.check, catalogue.counts, catalogue.scan):
            with pytest.raises(UsageError) as caught:
                ask(problem, parse(tiling))
            assert message in str(caught.value), (name, tiling, message)
            assert caught.value.exit_status == 2, (name, tiling, message)


def test_every_size_of_a_tile_is_at_least_one():
    for family, wrong in itertools.product(
        ["hybrid", "skewed", "streaming"],
        [
            {"space": (0, 8)},
            {"space": (8, -1)},
            {"sub": (0, 4)},
            {"threads": (1, 0)},
            {"time": 0},
            {"rows": 0},
            {"k": 0},
        ],
    ):
        problem = make_problem(program("j2d5pt"), (64, 64), 4)
        with pytest.raises(UsageError, match="is at least 1"):
            catalogue.complete(problem, dataclasses.replace(Tiling(family=family, time=4, space=(8, 8)), **wrong))


def test_a_rank_that_does_not_fit_is_illegal():
    with pytest.raises(IllegalTilingError):
        catalogue.check(_problem(), parse("hexagonal"))


def test_close_names_are_offered():
    with pytest.raises(UsageError, match="did you mean hybrid"):
        family_named("hybird")
    with pytest.raises(UsageError, match="the families are none, hexagonal, hybrid"):
        family_named("zzz")
    assert list(catalogue.families()) == list(catalogue.names())


@pytest.mark.parametrize(
    "text",
    [
        "none",
        "hexagonal:t=16,s=64",
        "hybrid:t=16,s=8x64,threads=1x64,k=2,rows=4,unroll=8",
        "skewed:t=8,s=8x8,sub=2x2",
    ],
)
def test_notation_round_trips(text):
    assert str(parse(text)) == text
    assert parse(str(parse(text))) == parse(text)


def test_bad_notation_is_one_sentence():
    for text in [
        "hybrid:t=0",
        "hybrid:t=-2",
        "hybrid:t=1.5",
        "hybrid:t=",
        "hybrid:t=4,t=6",
        "hybrid:t=4,time=6",
        "hybrid:s=8x",
        "hybrid:s=0x8",
        "hybrid:q=1",
        "hybrid:family=none",
        "hybrid:variant=other",
        "hybrid:t=99999999999999999999",
        "hybrid:t=\u0664",
        "hybrid:,",
    ]:
        with pytest.raises(UsageError) as caught:
            parse(text)
        assert "\n" not in str(caught.value), text
