"""Skewed and diamond tiles: legality read by read, cover and counts, by brute force."""

import math
import random

import pytest
from tests.oracles.counting import exact_counts
from tests.sampling import some

from tilewright.base.errors import IllegalTilingError, UsageError
from tilewright.programs.stencil.catalogue import names, program
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules import catalogue
from tilewright.schedules.families import diamond
from tilewright.schedules.family import Legal, Violation, family_named
from tilewright.schedules.geometry import Diamond, Skew
from tilewright.schedules.tiling import Tiling, parse
from tilewright.schedules.tree.affine import least

from .test_counts import _cells, _footprint, _read_outside, _reads_stay_inside, _subtiles, _values


def tiling_of(problem, family, seed):
    """A random legal tiling."""
    rng, rank = random.Random(f"{family}/{seed}"), problem.program.rank  # noqa: S311
    if family == "diamond":
        time = rng.choice((2, 4, 6))
        least = diamond.least_pitch(problem, time)
        rest = (rng.randint(1, 6) for _ in range(rank - 1))
        return Tiling(family=family, time=time, space=(least + rng.choice((0, 0, 2, 4)), *rest))
    sub = tuple(rng.randint(1, 5) for _ in range(rank))
    space = tuple(part * rng.choice((1, 1, 2, 3)) for part in sub)
    given = sub if family == "skewed" and rng.random() < 0.7 else ()
    return Tiling(family=family, time=rng.randint(1, 5), space=space, sub=given)


@pytest.mark.parametrize(
    ("family", "rank", "seeds"),
    [
        *((family, *many) for family in ("skewed", "diamond") for many in ((1, 120), (2, 70), (3, 25))),
    ],
)
@pytest.mark.parametrize("part", some([6, 1], 1))
def test_random_programs_keep_every_read_and_are_counted(oracle, random_case, family, rank, seeds, part):
    """The first sixth by default."""
    wide = full = 0
    for seed in range(seeds // part):
        problem, _ = random_case(seed, rank)
        tiling = tiling_of(problem, family, seed)
        assert isinstance(catalogue.check(problem, tiling), Legal), (seed, str(tiling))
        assert oracle(problem, tiling) is None, (seed, str(tiling), problem)
        counts, found = exact_counts(problem, tiling), _subtiles(problem, tiling)
        waves = [wave for wave, _ in found]
        cells = [_cells(pieces) for subs in found.values() for pieces in subs.values()]
        blocks = cells
        if counts.blocks is not None:
            blocks = [set().union(*map(_cells, subs.values())) for subs in found.values()]
        by_hand = {
            "wavefronts": len(set(waves)),
            "tiles": len(found),
            "tiles_per_wavefront": max([0, *(waves.count(wave) for wave in set(waves))]),
            "subtiles": len(cells),
            "subtiles_per_tile": max([0, *(len(subs) for subs in found.values())]),
            "full": sum(len(b) == counts.points and _reads_stay_inside(problem, b) for b in blocks),
            "total_points": sum(map(len, cells)),
            "partial": len(blocks) - counts.full,
        }
        assert by_hand == {name: getattr(counts, name) for name in by_hand}, (seed, str(tiling), problem.shape)
        wide += counts.tiles >= 4
        full += counts.full
    assert wide > seeds // part // 4
    assert full > 0 or rank == 3


def test_the_longest_tile_where_the_grid_is_shorter_than_a_tile():
    """Then it may be any tile, neither the first ones nor the one in the middle."""
    rng, cut = random.Random(7), 0  # noqa: S311
    for _ in range(60):
        offsets = [tuple(rng.randint(-2, 3) for _ in range(2)) for _ in range(rng.randint(1, 3))]
        u = FieldBuilder("u")
        program_ = stencil("case", 2, {"u": sum((u[offset] for offset in offsets[1:]), u[offsets[0]])})
        sub, shape = [rng.randint(1, 3) for _ in range(2)], tuple(rng.randint(1, 8) for _ in range(2))
        space = tuple(size * rng.randint(1, 5) for size in sub)
        problem = make_problem(program_, shape, rng.randint(1, 12))
        tiling = Tiling(family="skewed", time=problem.steps, space=space, sub=tuple(sub))
        longest = max(len(subs) for subs in _subtiles(problem, tiling).values())
        assert exact_counts(problem, tiling).subtiles_per_tile == longest, (offsets, shape, str(tiling))
        cut += longest < math.prod(space) // math.prod(sub)
    assert cut > 20


def _words_of_a_whole_tile(problem, tiling):
    """Points, live-in, live-out and footprint of a full skewed tile, from the definitions."""
    found = _subtiles(problem, tiling)
    points = exact_counts(problem, tiling).points
    tiles = [set().union(*map(_cells, subs.values())) for subs in found.values()]
    own = next(tile for tile in tiles if len(tile) == points and _reads_stay_inside(problem, tile))
    reads, writes, touched = _values(problem.program, own)
    out = sum(_read_outside(problem.program, value, own) for value in writes)
    return len(own), len(reads - writes), out, _footprint(problem.program, touched)


@pytest.mark.parametrize("seed", range(24))
@pytest.mark.parametrize("rank", [1, 2])
def test_words_of_random_programs(random_case, rank, seed):
    small, _ = random_case(seed, rank)
    tiling = tiling_of(small, "skewed", seed)
    tiling = Tiling(family="skewed", time=min(3, tiling.time), space=tiling.space)
    problem = make_problem(small.program, (260, 44)[:rank] if rank == 1 else (44, 40), 2 * tiling.time)
    counts = exact_counts(problem, tiling)
    assert counts.full > 0
    assert _words_of_a_whole_tile(problem, tiling) == (
        counts.points,
        counts.live_in,
        counts.live_out,
        counts.footprint,
    )


@pytest.mark.parametrize("name", ["wave3d", "j3d7pt"])
def test_words_in_3d(name):
    problem, tiling = make_problem(program(name), (14, 13, 15), 4), parse("skewed:t=2,s=3x2x4")
    counts = exact_counts(problem, tiling)
    assert counts.full > 0
    expected = (counts.points, counts.live_in, counts.live_out, counts.footprint)
    assert _words_of_a_whole_tile(problem, tiling) == expected


@pytest.mark.parametrize(("size", "height"), [(4, 2), (64, 16), (32, 64)])
def test_the_thesis_words_of_jacobi_1d(size, height):
    """M_io of the thesis' J1D is 2 (t_S + 2 t_T): exact for what comes in, one row too many for what goes out."""
    problem = make_problem(program("jacobi1d"), (100_000,), 1000)
    counts = exact_counts(problem, Tiling(family="skewed", time=height, space=(size,)))
    assert counts.points == size * height
    assert counts.live_in == size + 2 * height
    assert counts.live_out == size + 2 * (height - 1)
    bands, tiles = -(-1000 // height), -(-(100_000 + height - 1) // size)
    assert counts.wavefronts == (bands - 1) * (1 + -(-height // size)) + tiles


def test_counts_of_huge_problems_do_not_walk():
    problem = make_problem(program("j2d5pt"), (2**22, 2**22), 2**31 - 1)
    for text in ("skewed:t=4,s=4096x1048576,sub=64x1048576", "diamond:t=4,s=8x1048576"):
        counts = exact_counts(problem, parse(text))
        assert counts.total_points == 2**44 * (2**31 - 1)


def test_a_diamond_is_a_hexagon_of_one_cell():
    problem = make_problem(program("jacobi1d"), (500,), 60)
    pair = [exact_counts(problem, parse(text)) for text in ("diamond:t=8,s=8", "hexagonal:t=8,s=1")]
    assert pair[0] == pair[1]


@pytest.mark.parametrize("name", names())
def test_the_catalogue_is_tiled_or_says_why_not(oracle, name):
    built_in = program(name)
    problem = make_problem(built_in, {1: (60,), 2: (17, 19), 3: (9, 8, 7)}[built_in.rank], 5)
    for family in ("skewed", "diamond"):
        tiling = tiling_of(problem, family, 3)
        verdict = catalogue.check(problem, tiling)
        if isinstance(verdict, Violation):
            assert name == "smith_waterman"
        elif built_in.loads <= 30:
            assert oracle(problem, tiling) is None


def test_illegal_and_impossible():
    star = make_problem(program("star2d2r"), (60, 60), 6)
    verdict = catalogue.check(star, parse("diamond:t=4,s=6x8"))
    assert isinstance(verdict, Violation)
    assert "their first size is 6, and below 8 dependences lead beyond the neighbouring tile" in str(verdict)
    assert verdict.hint == "make the first tile size at least 8"
    wrap = make_problem(program("j2d5pt"), (30, 30), 3, boundary="wrap")
    for family in ("skewed", "diamond"):
        assert isinstance(catalogue.check(wrap, parse(family)), Violation)
        assert isinstance(catalogue.check(star, parse(family)), Legal)
        complete = catalogue.complete(star, parse(family))
        assert catalogue.complete(star, parse(str(complete))) == complete


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("skewed:t=4,s=8", "has 2 sizes, got s=8"),
        ("skewed:t=4,s=9x8,sub=2x8", "multiples of its sub-tiles', got s=9x8 and sub=2x8"),
        ("skewed:t=4,s=8x8,sub=2", "sub-tiles have 2 sizes here"),
        ("skewed:t=5000,s=8x8", "from 1 to 4096, got t=5000"),
        ("diamond:t=3,s=8x8", "even number from 2 to 4096, got t=3"),
        ("diamond:t=4,s=9x8", "an even number, got s=9"),
        ("diamond:t=4,s=8x8,sub=2x2", "no sub-tiles"),
    ],
)
def test_what_does_not_apply_is_refused(text, message):
    problem = make_problem(program("j2d5pt"), (64, 64), 4)
    with pytest.raises((UsageError, IllegalTilingError)) as caught:
        catalogue.check(problem, parse(text))
    assert message in str(caught.value)


def _lean_less(self, index, i):
    low = index * self.size - max(0, self.slope - 1) * i
    return low, low + self.size


def test_a_parallelogram_that_leans_too_little_is_found(monkeypatch, oracle):
    problem = make_problem(program("j2d5pt"), (20, 15), 8)
    assert oracle(problem, parse("skewed:t=4,s=6x4,sub=3x4")) is None
    monkeypatch.setattr(Skew, "row", _lean_less)
    assert oracle(problem, parse("skewed:t=4,s=6x4,sub=3x4")) is not None


def test_bands_that_follow_too_early_are_found(monkeypatch, oracle):
    problem = make_problem(program("jacobi1d"), (90,), 16)
    assert oracle(problem, parse("skewed:t=4,s=3")) is None
    monkeypatch.setattr(Skew, "delay", lambda self, height, tiles: tiles * 0)
    assert oracle(problem, parse("skewed:t=4,s=3")).startswith(("flow", "memory"))


@pytest.mark.parametrize(
    ("method", "wrong"),
    [
        ("grown", lambda self, i: least(i, self.height - 1 - i)),
        ("pitch", None),
        ("time_origin", lambda self, colour, phase: phase * self.height - colour * self.half),
        ("space_origin", lambda self, colour, index: index * self.pitch + colour * (self.pitch // 2 + 1)),
    ],
)
def test_a_fault_in_the_diamond_is_found(monkeypatch, oracle, method, wrong):
    problem = make_problem(program("star1d2r"), (70,), 16)
    tiling = parse("diamond:t=4,s=8")
    assert oracle(problem, tiling) is None
    if wrong is None:
        monkeypatch.setattr(family_named("diamond"), "check", lambda *_: Legal())
        tiling = parse("diamond:t=4,s=6")
    else:
        monkeypatch.setattr(Diamond, method, wrong)
    assert oracle(problem, tiling) is not None


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
