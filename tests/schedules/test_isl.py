"""Hexagonal and hybrid schedules as integer sets: exact cover, legality and counts over the unbounded plane."""

import pytest
from tests.oracles.counting import exact_counts
from tests.oracles.precedence import broken

from tilewright.programs.stencil.dependences import slopes
from tilewright.programs.stencil.problem import make_problem
from tilewright.programs.stencil.program import FieldBuilder, stencil
from tilewright.schedules import catalogue, prism
from tilewright.schedules.geometry import Hexagon
from tilewright.schedules.tiling import Tiling

isl = pytest.importorskip("islpy")

_CASES_1D = [
    # offsets, base, height
    ((-1, 0, 1), 1, 2),
    ((-1, 0, 1), 3, 6),
    ((-2, -1, 0, 1, 2), 2, 4),
    ((-3, 1), 3, 6),
    ((0, 2), 5, 4),
    ((-4, 0, 4), 4, 8),
    ((0,), 2, 4),
]
_CASES_2D = [
    # offsets, sizes, height
    (((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)), (2, 3), 4),
    (((0, 0), (-2, 1), (1, 0), (0, -1)), (3, 2), 4),
    (((1, 1), (-1, -1), (0, 2)), (1, 5), 2),
    (((0, 0), (0, -1)), (2, 1), 6),
    (tuple((i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)), (1, 4), 4),
]


def _problem(offsets, height, rank):
    u = FieldBuilder("u")
    total = u[offsets[0]]
    for offset in offsets[1:]:
        total = total + u[offset]
    program = stencil("case", rank, {"u": total})
    return make_problem(program, (400, 200)[:rank], 4 * height)


def _space(rank):
    return ", ".join(["t", *("x", "y", "z")[:rank]])


def _schedule(shape):
    """Computations to (wavefront, tile, sub-tile, row), row by row from the geometry's own methods."""
    hexagon, rank = shape.hexagon, 1 + len(shape.skews)
    pieces = []
    for colour in (0, 1):
        start, origin = hexagon.time_origin(colour, 0), hexagon.space_origin(colour, 0)
        for i in range(hexagon.height):
            low, high = hexagon.row(i)
            conditions = [
                f"t = {hexagon.height} p + {start + i}",
                f"{origin + low} + {hexagon.pitch} k <= x < {origin + high} + {hexagon.pitch} k",
            ]
            if shape.skews:
                skew = shape.skews[0]
                low, high = skew.row(0, i)
                conditions.append(f"{skew.size} j + {low} <= y < {skew.size} j + {high}")
            sub = "j" if shape.skews else "0"
            exists = "p, w, k, j" if shape.skews else "p, w, k"
            pieces.append(
                f"[{_space(rank)}] -> [ww, kk, jj, ii] : exists {exists} : w = 2 p + {colour} and ww = w and kk = k "
                f"and jj = {sub} and ii = {i} and {' and '.join(conditions)}"
            )
    return isl.Map("{ " + "; ".join(pieces) + " }")


def _plane(rank):
    return isl.Set("{ [" + _space(rank) + "] }")


def _dependences(problem):
    """The map from a computation to those that must come later because of it."""
    rank = problem.program.rank
    names = ("x", "y", "z")[:rank]
    pieces = []
    for d in problem.program.analysis.dependences:
        later = ", ".join([f"t + {d.time}", *(f"{n} - ({o})" for n, o in zip(names, d.offset, strict=True))])
        pieces.append(f"[{_space(rank)}] -> [{later}]")
    return isl.Map("{ " + "; ".join(pieces) + " }")


_WRONG_ORDER = isl.Map(
    "{ [w, k, j, i] -> [v, l, m, h] : v < w or (v = w and k != l) or (v = w and k = l and m < j) "
    "or (v = w and k = l and m = j and h <= i) }"
)


def _verdict(problem, shape):
    rank = problem.program.rank
    schedule = _schedule(shape)
    if not schedule.is_single_valued():
        return "a computation runs twice"
    if not _plane(rank).is_subset(schedule.domain()):
        return "a computation never runs"
    scheduled = _dependences(problem).apply_domain(schedule).apply_range(schedule)
    return None if scheduled.intersect(_WRONG_ORDER).is_empty() else "a dependence is broken"


def _geometry(problem, height, space):
    family = "hexagonal" if problem.program.rank == 1 else "hybrid"
    return prism.geometry(problem, Tiling(family=family, time=height, space=space))


@pytest.mark.parametrize(("offsets", "base", "height"), _CASES_1D)
def test_hexagons_cover_the_plane_and_keep_every_dependence(offsets, base, height):
    problem = _problem([(o,) for o in offsets], height, 1)
    assert _verdict(problem, _geometry(problem, height, (base,))) is None


@pytest.mark.parametrize(("offsets", "sizes", "height"), _CASES_2D)
def test_hybrid_tiles_cover_space_and_keep_every_dependence(offsets, sizes, height):
    problem = _problem(offsets, height, 2)
    assert _verdict(problem, _geometry(problem, height, sizes)) is None


def test_a_narrow_base_breaks_a_dependence():
    problem = _problem([(-2,), (0,), (2,)], 4, 1)
    assert slopes(problem)[0].widest == 2
    assert _verdict(problem, _geometry(problem, 4, (1,))) == "a dependence is broken"


@pytest.mark.parametrize(
    ("method", "wrong", "verdict"),
    [
        ("pitch", property(lambda self: self.width + self.base + 1), "a computation never runs"),
        ("pitch", property(lambda self: self.width + self.base - 1), "a computation runs twice"),
        ("time_origin", lambda self, colour, phase: phase * self.height + (0 if colour else self.half), "broken"),
    ],
)
def test_a_fault_in_the_hexagon_is_found(monkeypatch, method, wrong, verdict):
    problem = _problem([(-1,), (0,), (1,)], 4, 1)
    monkeypatch.setattr(Hexagon, method, wrong)
    assert verdict in _verdict(problem, _geometry(problem, 4, (3,)))


def _count(points):
    return points.count_val().to_python() if not points.is_empty() else 0


def _reads(offsets, rank):
    names = ("x", "y", "z")[:rank]
    pieces = []
    for offset in offsets:
        source = ", ".join(["t - 1", *(f"{n} + ({o})" for n, o in zip(names, offset, strict=True))])
        pieces.append(f"[{_space(rank)}] -> [{source}]")
    return isl.Map("{ " + "; ".join(pieces) + " }")


def _box_words(points, rank, copies):
    places = points.project_out(isl.dim_type.set, 0, 1)
    total = copies
    for axis in range(rank):
        low, high = places.dim_min_val(axis), places.dim_max_val(axis)
        total *= high.to_python() - low.to_python() + 1
    return total


def _counted(problem, offsets, shape):
    """Points, live-in, live-out and footprint of sub-tile 0 of tile 0 of wavefront 0, in the unbounded plane."""
    rank = problem.program.rank
    schedule, reads = _schedule(shape), _reads(offsets, rank)
    tile = schedule.intersect_range(isl.Set("{ [0, 0, j, i] }")).domain()
    sub = schedule.intersect_range(isl.Set("{ [0, 0, 0, i] }")).domain()
    before = schedule.intersect_range(isl.Set("{ [0, 0, j, i] : j < 0 }")).domain()
    read = sub.apply(reads)
    live_in = read.subtract(tile).subtract(before.apply(reads))
    live_out = sub.intersect(_plane(rank).subtract(tile).apply(reads))
    copies = problem.program.analysis.copies[0]
    return _count(sub), _count(live_in), _count(live_out), _box_words(read.union(sub), rank, copies)


@pytest.mark.parametrize(("offsets", "base", "height"), _CASES_1D)
def test_counts_of_hexagons(offsets, base, height):
    offsets = [(o,) for o in offsets]
    problem = _problem(offsets, height, 1)
    tiling = Tiling(family="hexagonal", time=height, space=(base,))
    counts = exact_counts(problem, tiling)
    by_isl = _counted(problem, offsets, prism.geometry(problem, tiling))
    assert by_isl == (counts.points, counts.live_in, counts.live_out, counts.footprint)


@pytest.mark.parametrize(("offsets", "sizes", "height"), _CASES_2D)
def test_counts_of_hybrid_tiles(offsets, sizes, height):
    problem = _problem(offsets, height, 2)
    tiling = Tiling(family="hybrid", time=height, space=sizes)
    counts = exact_counts(problem, tiling)
    by_isl = _counted(problem, offsets, prism.geometry(problem, tiling))
    assert by_isl == (counts.points, counts.live_in, counts.live_out, counts.footprint)


@pytest.mark.parametrize(("extent", "steps"), [(37, 11), (5, 9), (64, 4)])
def test_numbers_of_tiles(extent, steps):
    problem = make_problem(stencil("case", 1, {"u": FieldBuilder("u")[-1] + FieldBuilder("u")[1]}), (extent,), steps)
    tiling = Tiling(family="hexagonal", time=4, space=(2,))
    schedule = _schedule(prism.geometry(problem, tiling))
    grid = isl.Set(f"{{ [t, x] : 0 <= t < {steps} and 0 <= x < {extent} }}")
    tiles = schedule.intersect_domain(grid).range().project_out(isl.dim_type.set, 2, 2)
    counts = exact_counts(problem, tiling)
    assert _count(tiles) == counts.tiles
    assert _count(tiles.project_out(isl.dim_type.set, 1, 1)) == counts.wavefronts


@pytest.mark.parametrize("base", [1, 2, 3, 4])
@pytest.mark.parametrize(("offsets", "height"), [((-3, 0, 3), 4), ((-1, 2), 2), ((0, 4), 6), ((-2, 1), 4)])
def test_the_verdict_over_the_tree_is_isls(offsets, height, base):
    problem = _problem([(o,) for o in offsets], height, 1)
    tiling = Tiling(family="hexagonal", time=height, space=(base,))
    found = broken(problem, catalogue.tree(problem, tiling))
    by_isl = _verdict(problem, _geometry(problem, height, (base,)))
    assert by_isl in {None, "a dependence is broken"}
    assert (found is None) == (by_isl is None)
