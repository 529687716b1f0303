"""Every family covers every computation once, keeps every read and is counted exactly, checked by brute force."""

import itertools

import pytest
from tests.oracles.counting import exact_counts
from tests.sampling import some

from tilewright.programs.stencil import dependences
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules import catalogue
from tilewright.schedules.family import Legal, Violation, family_named
from tilewright.schedules.geometry import Diamond, Hexagon, Skew
from tilewright.schedules.tiling import NONE, Tiling, parse
from tilewright.schedules.tree.affine import ceiling, least, most

from .conftest import reads_stay_inside, size_of, subtiles, tiling_of

SEEDS = {"prism": (400, 300, 150), "skewed": (120, 70, 25), "diamond": (120, 70, 25), "none": (48, 48, 48)}
"""Random problems of each family, per rank; prisms are hexagons in 1D and hybrids otherwise."""


def counted_by_hand(problem, tiling, counts):
    """What is counted of pieces of which no two have a cell in common, which the oracle has seen to."""
    found = subtiles(problem, tiling)
    waves = [wave for wave, _ in found]
    parts = [pieces for subs in found.values() for pieces in subs.values()]
    blocks = parts if counts.blocks is None else [list(itertools.chain(*subs.values())) for subs in found.values()]
    full = sum(size_of(block) == counts.points and reads_stay_inside(problem, block) for block in blocks)
    return {
        "wavefronts": len(set(waves)),
        "tiles": len(found),
        "tiles_per_wavefront": max([0, *(waves.count(wave) for wave in set(waves))]),
        "subtiles": len(parts),
        "subtiles_per_tile": max([0, *(len(subs) for subs in found.values())]),
        "total_points": sum(map(size_of, parts)),
        "full": full,
        "partial": len(blocks) - counts.full,
    }


@pytest.mark.parametrize(("family", "rank"), [(family, rank) for family in SEEDS for rank in (1, 2, 3)])
@pytest.mark.parametrize("part", some([6, 1], 1))
def test_random_programs_keep_every_read_and_are_counted(oracle, random_case, family, rank, part):
    """The first sixth by default."""
    wide = full = 0
    seeds = SEEDS[family][rank - 1] // part
    for seed in range(seeds):
        problem, prism = random_case(seed, rank)
        tiling = {"prism": prism, "none": NONE}.get(family) or tiling_of(problem, family, seed)
        assert isinstance(catalogue.check(problem, tiling), Legal), (seed, str(tiling))
        assert oracle(problem, tiling) is None, (seed, str(tiling), problem)
        counts = catalogue.counts(problem, catalogue.complete(problem, tiling))
        assert counts == exact_counts(problem, tiling), (seed, str(tiling), problem)
        if family == "none":
            continue
        by_hand = counted_by_hand(problem, tiling, counts)
        assert by_hand == {name: getattr(counts, name) for name in by_hand}, (seed, str(tiling), problem.shape)
        wide += counts.tiles >= 4
        full += counts.full
    assert family == "none" or wide > seeds // 4
    assert full > 0 or rank == 3 or family == "none"


@pytest.mark.parametrize("boundary", ["fixed", "mirror", "reflect", "nearest", "constant", "wrap"])
def test_no_tiling_is_legal_for_every_boundary(oracle, boundary):
    problem = make_problem(program("j2d9pt"), (5, 7), 3, boundary=boundary)
    assert isinstance(catalogue.check(problem, NONE), Legal)
    assert oracle(problem, NONE) is None


def of_catalogue(problem, family):
    """A tiling of small sizes."""
    built_in = problem.program
    if family != "prism":
        return tiling_of(problem, family, 3)
    base = max(1, *(max(pair) for pair in built_in.reach))
    return parse("hexagonal:t=4,s=9" if built_in.rank == 1 else f"hybrid:t=4,s={base}" + "x3" * (built_in.rank - 1))


@pytest.mark.parametrize("family", ["prism", "skewed", "diamond"])
def test_the_catalogue_is_tiled_or_says_why_not(oracle, family):
    for name in names():
        built_in = program(name)
        problem = make_problem(built_in, {1: (60,), 2: (17, 19), 3: (9, 8, 7)}[built_in.rank], 5)
        tiling = of_catalogue(problem, family)
        verdict = catalogue.check(problem, tiling)
        if isinstance(verdict, Violation):
            assert name == "smith_waterman"
            assert family != "prism" or str(verdict.dependence) in verdict.reason
        elif built_in.loads <= 30:
            assert oracle(problem, tiling) is None, name


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


def _swapped(self, colour, phase):
    return phase * self.height - colour * self.half


def _row(low):
    return lambda self, index, i: (low(self, index, i), low(self, index, i) + self.size)


HEXAGONS = [("star1d2r", "hexagonal:t=6,s=4", (70,), 16), ("j2d5pt", "hybrid:t=4,s=3x4", (31, 20), 16)]
CUTS = [("j2d5pt", "hybrid:t=4,s=3x4", (20, 15), 8), ("j3d7pt", "hybrid:t=4,s=2x3x4", (9, 8, 12), 8)]
DIAMONDS = [("star1d2r", "diamond:t=4,s=8", (70,), 16)]
FAULTS = {
    "rows shrink one step late": (HEXAGONS, Hexagon, "grown", _late),
    "one row is too wide": (HEXAGONS, Hexagon, "grown", _wide),
    "pitch too long": (HEXAGONS, Hexagon, "pitch", property(lambda self: self.width + self.base + 1)),
    "printed pitch": (HEXAGONS, Hexagon, "pitch", property(lambda self: 2 * self.base + self.height)),
    "pitch too short": (HEXAGONS, Hexagon, "pitch", property(lambda self: self.width + self.base - 1)),
    "colour 1 shifted": (
        HEXAGONS,
        Hexagon,
        "space_origin",
        lambda self, colour, index: index * self.pitch + (self.base + self.slope * (self.half - 1) + 1) * colour,
    ),
    "colour 0 one step late": (
        HEXAGONS,
        Hexagon,
        "time_origin",
        lambda self, colour, phase: phase * self.height - (1 - colour) * (self.half - 1),
    ),
    "colours swapped in time": (HEXAGONS, Hexagon, "time_origin", _swapped),
    "one phase too few": (HEXAGONS, Hexagon, "phases", lambda self, colour, steps: steps // self.height),
    "one tile too few": (HEXAGONS, Hexagon, "tiles", lambda self, colour, extent: extent // self.pitch),
    "slope one too small": (
        CUTS,
        Skew,
        "row",
        _row(lambda self, index, i: index * self.size - (self.slope - 1) * i),
    ),
    "one cell late": (CUTS, Skew, "row", _row(lambda self, index, i: index * self.size - self.slope * i + 1)),
    "one tile of a cut too few": (CUTS, Skew, "tiles", lambda self, extent, height: ceiling(extent, self.size)),
    "a parallelogram that leans too little": (
        [("j2d5pt", "skewed:t=4,s=6x4,sub=3x4", (20, 15), 8)],
        Skew,
        "row",
        _row(lambda self, index, i: index * self.size - max(0, self.slope - 1) * i),
    ),
    "bands that follow too early": (
        [("jacobi1d", "skewed:t=4,s=3", (90,), 16)],
        Skew,
        "delay",
        lambda self, height, tiles: tiles * 0,
    ),
    "rows of a diamond grow at once": (
        DIAMONDS,
        Diamond,
        "grown",
        lambda self, i: least(i, self.height - 1 - i),
    ),
    "diamonds swapped in time": (DIAMONDS, Diamond, "time_origin", _swapped),
    "diamonds shifted": (
        DIAMONDS,
        Diamond,
        "space_origin",
        lambda self, colour, index: index * self.pitch + colour * (self.pitch // 2 + 1),
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_geometry_is_found(monkeypatch, oracle, fault):
    tiled, shape, method, wrong = FAULTS[fault]
    cases = [(make_problem(program(name), extents, steps), parse(text)) for name, text, extents, steps in tiled]
    assert [oracle(*case) for case in cases] == [None] * len(cases)
    monkeypatch.setattr(shape, method, wrong)
    complaints = [oracle(*case) for case in cases]
    assert None not in complaints
    assert method != "delay" or complaints[0].startswith(("flow", "memory"))


def test_a_diamond_that_is_too_narrow_is_found(monkeypatch, oracle):
    problem = make_problem(program("star1d2r"), (70,), 16)
    monkeypatch.setattr(family_named("diamond"), "check", lambda *_: Legal())
    assert oracle(problem, parse("diamond:t=4,s=6")) is not None


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


@pytest.mark.parametrize("text", ["skewed:t=3,s=9x8", "skewed:t=2,s=8x16,sub=4x8"])
def test_tiles_are_numbered_from_zero_and_apart(text):
    problem = make_problem(program("j2d5pt"), (40, 50), 7)
    tiling = catalogue.complete(problem, parse(text))
    found: dict[tuple[int, int], set[int]] = {}
    for piece in catalogue.scan(problem, tiling):
        found.setdefault((piece.wavefront, piece.tile), set()).add(piece.time // tiling.time)
    assert min(tile for _, tile in found) == 0
    assert all(len(bands) == 1 for bands in found.values())
    assert len(found) == exact_counts(problem, tiling).blocks
