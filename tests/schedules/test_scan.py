"""Every family covers every computation once and keeps every read, checked by brute force on random problems."""

import pytest
from tests.oracles.counting import exact_counts
from tests.sampling import some

from tilewright.programs.stencil import dependences
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules import catalogue
from tilewright.schedules.family import Legal, Violation
from tilewright.schedules.geometry import Hexagon, Skew
from tilewright.schedules.tiling import NONE, Tiling, parse
from tilewright.schedules.tree.affine import ceiling, least, most


@pytest.mark.parametrize(("rank", "seeds"), [(1, 400), (2, 300), (3, 150)])
@pytest.mark.parametrize("part", some([6, 1], 1))
def test_random_programs_keep_every_read(oracle, random_case, rank, seeds, part):
    """The first sixth by default."""
    wide = 0
    for seed in range(seeds // part):
        problem, tiling = random_case(seed, rank)
        assert isinstance(catalogue.check(problem, tiling), Legal), (seed, str(tiling))
        assert oracle(problem, tiling) is None, (seed, str(tiling), problem)
        wide += exact_counts(problem, tiling).tiles >= 4
    assert wide > seeds // part // 4


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_no_tiling_keeps_every_read(oracle, random_case, seed, rank):
    problem, _ = random_case(seed, rank, kinds=("fixed", "mirror", "constant"))
    assert oracle(problem, NONE) is None


@pytest.mark.parametrize("boundary", ["fixed", "mirror", "reflect", "nearest", "constant", "wrap"])
def test_no_tiling_is_legal_for_every_boundary(oracle, boundary):
    problem = make_problem(program("j2d9pt"), (5, 7), 3, boundary=boundary)
    assert isinstance(catalogue.check(problem, NONE), Legal)
    assert oracle(problem, NONE) is None


@pytest.mark.parametrize("name", names())
def test_catalogue_is_tiled_or_says_why_not(oracle, name):
    built_in = program(name)
    problem = make_problem(built_in, {1: (60,), 2: (19, 17), 3: (9, 8, 7)}[built_in.rank], 5)
    base = max(1, *(max(pair) for pair in built_in.reach))
    tiling = parse("hexagonal:t=4,s=9" if built_in.rank == 1 else f"hybrid:t=4,s={base}" + "x3" * (built_in.rank - 1))
    verdict = catalogue.check(problem, tiling)
    if isinstance(verdict, Violation):
        assert name == "smith_waterman"
        assert verdict.dependence is not None
        assert str(verdict.dependence) in verdict.reason
    elif built_in.loads <= 125:
        assert oracle(problem, tiling) is None


@pytest.mark.parametrize("reach", [2, 3, 4])
def test_a_base_below_the_slope_is_really_broken(oracle, reach):
    problem = make_problem(program(f"star1d{reach}r"), (60,), 12)
    narrow = Tiling(family="hexagonal", time=4, space=(reach - 1,))
    assert isinstance(catalogue.check(problem, narrow), Violation)
    assert oracle(problem, narrow).startswith(("flow", "memory"))
    assert oracle(problem, Tiling(family="hexagonal", time=4, space=(reach,))) is None


def _late(self, i):
    return least(i, self.height - i) * self.slope


def _wide(self, i):
    middle = most(0, least(i - self.half + 1, self.half + 1 - i))
    return least(i, self.height - 1 - i) * self.slope + middle


_HEXAGON_FAULTS = {
    "rows shrink one step late": ("grown", _late),
    "one row is too wide": ("grown", _wide),
    "pitch too long": ("pitch", property(lambda self: self.width + self.base + 1)),
    "printed pitch": ("pitch", property(lambda self: 2 * self.base + self.height)),
    "pitch too short": ("pitch", property(lambda self: self.width + self.base - 1)),
    "colour 1 shifted": (
        "space_origin",
        lambda self, colour, index: index * self.pitch + (self.base + self.slope * (self.half - 1) + 1) * colour,
    ),
    "colour 0 one step late": (
        "time_origin",
        lambda self, colour, phase: phase * self.height - (1 - colour) * (self.half - 1),
    ),
    "colours swapped in time": (
        "time_origin",
        lambda self, colour, phase: phase * self.height - colour * self.half,
    ),
    "one phase too few": ("phases", lambda self, colour, steps: steps // self.height),
    "one tile too few": ("tiles", lambda self, colour, extent: extent // self.pitch),
}
_SKEW_FAULTS = {
    "slope one too small": ("row", lambda self, index, i: (index * self.size - (self.slope - 1) * i,) * 2),
    "one cell late": ("row", lambda self, index, i: (index * self.size - self.slope * i + 1,) * 2),
    "one tile too few": ("tiles", lambda self, extent, height: ceiling(extent, self.size)),
}


def _sized(method):
    return lambda self, index, i: (method(self, index, i)[0], method(self, index, i)[1] + self.size)


@pytest.mark.parametrize("fault", _HEXAGON_FAULTS)
@pytest.mark.parametrize(("name", "tiling"), [("star1d2r", "hexagonal:t=6,s=4"), ("j2d5pt", "hybrid:t=4,s=3x4")])
def test_a_fault_in_the_hexagon_is_found(monkeypatch, oracle, fault, name, tiling):
    built_in = program(name)
    problem = make_problem(built_in, {1: (70,), 2: (31, 20)}[built_in.rank], 16)
    assert oracle(problem, parse(tiling)) is None
    method, wrong = _HEXAGON_FAULTS[fault]
    monkeypatch.setattr(Hexagon, method, wrong)
    assert oracle(problem, parse(tiling)) is not None


@pytest.mark.parametrize("fault", _SKEW_FAULTS)
@pytest.mark.parametrize("name", ["j2d5pt", "j3d7pt"])
def test_a_fault_in_the_classic_cut_is_found(monkeypatch, oracle, fault, name):
    built_in = program(name)
    problem = make_problem(built_in, {2: (20, 15), 3: (9, 8, 12)}[built_in.rank], 8)
    tiling = parse("hybrid:t=4,s=3x4" if built_in.rank == 2 else "hybrid:t=4,s=2x3x4")
    assert oracle(problem, tiling) is None
    method, wrong = _SKEW_FAULTS[fault]
    monkeypatch.setattr(Skew, method, _sized(wrong) if method == "row" else wrong)
    assert oracle(problem, tiling) is not None


def test_a_slope_that_ignores_mirror_is_found(monkeypatch, oracle):
    u = FieldBuilder("u")
    one_sided = stencil("one_sided", 2, {"u": u[-1, -2] + u[0, 0]})
    three = stencil("three", 2, {"u": u[0, -2] + u[0, -1] + u.prev[0, 0] + u.prev2[0, 0]})
    for built_in in (one_sided, three):
        problem = make_problem(built_in, (9, 9), 9, boundary="mirror")
        tiling = parse("hybrid:t=4,s=2x2")
        assert oracle(problem, tiling) is None
    monkeypatch.setattr(dependences, "distances", lambda problem, dependence, axis: (dependence.offset[axis],))
    assert oracle(make_problem(three, (9, 9), 9, boundary="mirror"), parse("hybrid:t=4,s=2x2")) is not None
