"""Orthogonal tiles as integer sets: exact cover, legality and counts, and what the family refuses."""

import itertools

import pytest
from tests.oracles.counting import counts_table, exact_counts

from tilewright.base.errors import UsageError
from tilewright.costs.published import energy as energy_tiles
from tilewright.programs.stencil import catalogue as programs
from tilewright.programs.stencil.boundaries import Boundary
from tilewright.programs.stencil.expression import apply
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules import catalogue
from tilewright.schedules.family import Legal, Violation
from tilewright.schedules.tiling import Tiling, parse
from tilewright.schedules.tree.order import walk
from tilewright.workloads.tables import orthogonal
from tilewright.workloads.tables.catalogue import recurrence_named
from tilewright.workloads.tables.problem import recurrence

isl = pytest.importorskip("islpy")

CASES = [
    # offsets of one table, t, s, sub
    (((-1, -1), (-1, 0), (0, -1)), 4, 6, 2),
    (((-1, -1), (-1, 0), (0, -1)), 1, 1, 1),
    (((-2, -3), (0, -1)), 5, 4, 4),
    (((-1, -2), (-3, 0), (-2, -1)), 4, 3, 1),
    (((-1, 0),), 2, 3, 3),
    (((0, -2), (0, -1)), 3, 2, 1),
    (((-3, -3),), 3, 3, 3),
    (((-1, -3), (-2, -1), (-2, -2)), 2, 4, 2),
]


def _program(offsets):
    h = FieldBuilder("h")
    total = h[offsets[0]]
    for offset in offsets[1:]:
        total = apply("maximum", total, h[offset])
    return recurrence("case", {"h": total + 1})


def _tiling(t, s, sub):
    return Tiling(family="orthogonal", time=t, space=(s,), sub=(sub,))


def _schedule(t, s):
    """Cells to (wavefront, tile)."""
    return isl.Map(
        f"{{ [i, j] -> [w, a] : exists b : {t} a <= i < {t} a + {t} and {s} b <= j < {s} b + {s} and w = a + b }}"
    )


def _reads(offsets):
    return isl.Map("{ " + "; ".join(f"[i, j] -> [i + ({p}), j + ({q})]" for p, q in offsets) + " }")


def _verdict(offsets, t, s):
    schedule = _schedule(t, s)
    if not schedule.is_single_valued() or not isl.Set("{ [i, j] }").is_subset(schedule.domain()):
        return "a cell is not computed once"
    scheduled = _reads(offsets).apply_domain(schedule).apply_range(schedule)
    # A read must come from an earlier wavefront, or from the same tile, whose cells are swept row by row.
    wrong = isl.Map("{ [w, a] -> [v, b] : v > w or (v = w and a != b) }")
    return None if scheduled.intersect(wrong).is_empty() else "a dependence is broken"


def _count(points):
    return points.count_val().to_python() if not points.is_empty() else 0


@pytest.mark.parametrize(("offsets", "t", "s", "sub"), CASES)
def test_tiles_cover_the_table_and_keep_every_dependence(offsets, t, s, sub):
    assert isinstance(orthogonal.check_table(_program(offsets), _tiling(t, s, sub)), Legal)
    assert _verdict(offsets, t, s) is None


def test_a_read_to_the_right_breaks_a_dependence():
    offsets = ((-1, 1), (0, -1))
    found = orthogonal.check_table(_program(offsets), _tiling(4, 4, 4))
    assert isinstance(found, Violation)
    assert "flow dependence (0; -1, +1) from h[-1, 1]" in found.reason
    assert found.dependence is not None
    assert _verdict(offsets, 4, 4) == "a dependence is broken"


@pytest.mark.parametrize(("offsets", "t", "s", "sub"), CASES)
def test_counts_of_a_tile(offsets, t, s, sub):
    counts = counts_table(_program(offsets), (100, 100), _tiling(t, s, sub))
    tile = isl.Set(f"{{ [i, j] : 0 <= i < {t} and 0 <= j < {s} }}")
    reads = _reads(offsets)
    touched = tile.apply(reads).union(tile)
    box = 1
    for axis in (0, 1):
        box *= touched.dim_max_val(axis).to_python() - touched.dim_min_val(axis).to_python() + 1
    outside = isl.Set("{ [i, j] }").subtract(tile)
    assert counts.points == _count(tile)
    assert counts.live_in == _count(tile.apply(reads).subtract(tile))
    assert counts.live_out == _count(tile.intersect(outside.apply(reads)))
    assert counts.footprint == box


def test_numbers_of_tiles():
    for shape, (offsets, t, s, sub) in itertools.product([(17, 23), (4, 40), (1, 1), (12, 12), (13, 6)], CASES[:5]):
        tiling = _tiling(t, s, sub)
        counts = counts_table(_program(offsets), shape, tiling)
        grid = isl.Set(f"{{ [i, j] : 0 <= i < {shape[0]} and 0 <= j < {shape[1]} }}")
        tiles = _schedule(t, s).intersect_domain(grid).range()
        fronts = tiles.project_out(isl.dim_type.set, 1, 1)
        pieces = list(walk(orthogonal.table_tree(tiling), shape))
        widest = max(len({piece.tile for piece in pieces if piece.wavefront == w}) for w in range(counts.wavefronts))
        assert counts.tiles == _count(tiles), (shape, offsets, t, s, sub)
        assert counts.wavefronts == _count(fronts), (shape, offsets, t, s, sub)
        assert counts.tiles_per_wavefront == widest, (shape, offsets, t, s, sub)
        assert counts.subtiles == len(pieces), (shape, offsets, t, s, sub)
        assert counts.subtiles_per_tile == max(piece.sub[0] for piece in pieces) + 1, (shape, offsets, t, s, sub)
        up, left = _program(offsets).reach
        inside = isl.Set(f"{{ [i, j] : {up} <= i < {shape[0]} and {left} <= j < {shape[1]} }}")
        cut = _schedule(t, s).intersect_domain(isl.Set("{ [i, j] }").subtract(inside)).range()
        assert counts.full == _count(tiles.subtract(cut)), (shape, offsets, t, s, sub)
        assert counts.partial == counts.tiles - counts.full, (shape, offsets, t, s, sub)
        assert sum((a - b) * (c - d) for (b, a), (d, c) in (piece.box for piece in pieces)) == counts.total_points


def test_a_scan_yields_every_cell_once_and_in_order():
    seen = {}
    for piece in walk(orthogonal.table_tree(_tiling(3, 4, 2)), (11, 13)):
        for i in range(*piece.box[0]):
            for j in range(*piece.box[1]):
                assert (i, j) not in seen
                seen[i, j] = (piece.wavefront, piece.tile, piece.sub[0])
    assert len(seen) == 11 * 13
    for (i, j), (wave, tile, sub) in seen.items():
        for p, q in ((-1, -1), (-1, 0), (0, -1)):
            before = seen.get((i + p, j + q))
            if before is not None:
                assert before[0] < wave or (before[:2] == (wave, tile) and before[2] <= sub)


def test_the_tile_of_smith_waterman_moves_what_the_thesis_says():
    """M_io = 4.25 (t_S + t_T), a letter being a quarter of a word: section B.6.2."""
    program = recurrence_named("smith_waterman")
    for t, s in ((16, 32), (7, 100), (1, 1)):
        counts = counts_table(program, (1000, 1000), _tiling(t, s, s))
        tables = counts.live_in + counts.live_out - (t + s)
        assert tables + 0.25 * (t + s) == energy_tiles.smith_waterman((1000, 1000), s, t, s).global_words


def test_a_stencil_that_sweeps_is_a_table():
    problem = make_problem(programs.program("smith_waterman"), (40, 50), 2, "int32", Boundary(kind="constant"))
    tiling = catalogue.complete(problem, parse("orthogonal:t=8,s=16,sub=4"))
    assert isinstance(catalogue.check(problem, tiling), Legal)
    counts = exact_counts(problem, tiling)
    assert (counts.wavefronts, counts.tiles, counts.total_points) == (2 * 8, 2 * 5 * 4, 2 * 2000)
    pieces = list(catalogue.scan(problem, tiling))
    assert len(pieces) == counts.subtiles
    assert [piece.wavefront for piece in pieces] == sorted(piece.wavefront for piece in pieces)


@pytest.mark.parametrize(
    ("tile", "message"),
    [
        ("orthogonal:t=4,s=8,sub=3", "a sub-tile is a whole part"),
        ("orthogonal:t=4", "has rows t and columns s"),
        ("orthogonal:t=4,s=8x8", "has rows t and columns s"),
        ("orthogonal:t=4,s=8,rows=2", "have no rows"),
        ("hybrid:t=4,s=8x8", "is cut into orthogonal tiles"),
    ],
)
def test_what_does_not_apply(tile, message):
    with pytest.raises(UsageError, match=message):
        orthogonal.complete_table(recurrence_named("lcs"), parse(tile))


@pytest.mark.parametrize("sub", [1, 4, 8, 32, 256])
def test_the_name_alone_stands_for_usual_sizes_and_keeps_a_sub_tile_that_is_given(sub):
    usual = orthogonal.complete_table(recurrence_named("lcs"), parse("orthogonal"))
    given = orthogonal.complete_table(recurrence_named("lcs"), parse(f"orthogonal:sub={sub}"))
    assert (given.time, given.space) == (usual.time, usual.space) == (64, (256,))
    assert (given.sub, usual.sub) == ((sub,), (8,))


def test_a_tile_holds_the_reach():
    program = _program(((-2, -3),))
    for tile, name in ((_tiling(1, 3, 3), "t at least 2"), (_tiling(2, 2, 2), "s at least 3")):
        found = orthogonal.check_table(program, tile)
        assert isinstance(found, Violation)
        assert name in found.hint


def test_a_stencil_has_no_orthogonal_tiles():
    u = FieldBuilder("u")
    for program in (programs.program("jacobi2d"), stencil("late", 2, {"u": u[0, 0], "v": u.new[0, 0]})):
        with pytest.raises(UsageError, match="filled in one sweep"):
            catalogue.complete(make_problem(program, (20, 20), 4), parse("orthogonal:t=4,s=8"))
