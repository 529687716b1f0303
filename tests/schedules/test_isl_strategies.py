"""Skewed and diamond schedules and ghost zones as integer sets: cover, legality, counts over the unbounded plane."""

import itertools

from tests.oracles.counting import exact_counts

from tilewright.programs.stencil.dependences import slopes
from tilewright.schedules import prism
from tilewright.schedules.families import diamond, skewed
from tilewright.schedules.geometry import Diamond
from tilewright.schedules.streaming.levels import of_problem
from tilewright.schedules.tiling import Tiling

from .test_isl import (
    _CASES_1D,
    _CASES_2D,
    _box_words,
    _count,
    _counted,
    _dependences,
    _plane,
    _problem,
    _reads,
    _space,
    _verdict,
    isl,
)

_ALL = [([(o,) for o in offsets], (base,), height) for offsets, base, height in _CASES_1D] + [
    (list(offsets), sizes, height) for offsets, sizes, height in _CASES_2D
]


def _diamond(offsets, sizes, height):
    problem = _problem(offsets, height, len(sizes))
    tiling = Tiling(family="diamond", time=height, space=(diamond.least_pitch(problem, height), *sizes[1:]))
    return problem, tiling


def test_diamonds_cover_space_keep_every_dependence_and_are_counted():
    for (offsets, sizes, height), wider in itertools.product(_ALL, [0, 2]):
        problem, tiling = _diamond(offsets, sizes, height)
        tiling = Tiling(family="diamond", time=height, space=(tiling.space[0] + wider, *sizes[1:]))
        shape = prism.geometry(problem, tiling)
        assert isinstance(shape.hexagon, Diamond), (offsets, sizes, height, wider)
        assert _verdict(problem, shape) is None, (offsets, sizes, height, wider)
        counts = exact_counts(problem, tiling)
        assert _counted(problem, offsets, shape) == (counts.points, counts.live_in, counts.live_out, counts.footprint)


def test_a_diamond_too_steep_breaks_a_dependence():
    problem, tiling = _diamond([(-2,), (0,), (2,)], (1,), 4)
    assert tiling.space == (8,)
    steep = prism.geometry(problem, Tiling(family="diamond", time=4, space=(6,)))
    assert _verdict(problem, steep) == "a dependence is broken"


def _leaning(shape, sub):
    """Computations to (wavefront, band, tile and sub-tile per axis, row) of a skewed tiling of the unbounded plane."""
    rank, names = len(shape.skews), ("x", "y", "z")[: len(shape.skews)]
    tiles, subs = [f"q{n}" for n in names], [f"s{n}" for n in names]
    conditions = [f"i = t - {shape.height} b and 0 <= i < {shape.height}"]
    for name, tile, part, skew, size in zip(names, tiles, subs, shape.skews, sub, strict=True):
        leaning = f"{name} + {skew.slope} i"
        conditions.append(f"{skew.size} {tile} <= {leaning} < {skew.size} {tile} + {skew.size}")
        conditions.append(f"{size} {part} <= {leaning} < {size} {part} + {size}")
    lag = 1 + sum(-(-skew.slope * shape.height // skew.size) for skew in shape.skews)
    conditions.append(f"w = {lag} b + {' + '.join(tiles)}")
    target = ", ".join(["w", "b", *tiles, *subs, "i"])
    return isl.Map(f"{{ [{_space(rank)}] -> [{target}] : {' and '.join(conditions)} }}")


def _wrong_order(rank):
    """Pairs of which the second may not come after the first: in an earlier wavefront, tile, sub-tile or row."""
    first = ["w", "b", *(f"q{n}" for n in range(rank)), *(f"s{n}" for n in range(rank)), "i"]
    second = [name + "_" for name in first]
    tile = " and ".join(f"{a} = {b}" for a, b in zip(first[1 : 2 + rank], second[1 : 2 + rank], strict=True))
    cases = ["w_ < w"]
    for a, b in zip(first[1 : 2 + rank], second[1 : 2 + rank], strict=True):
        cases.append(f"w = w_ and {a} != {b}")
    equal = f"w = w_ and {tile}"
    inner = list(zip(first[2 + rank :], second[2 + rank :], strict=True))
    for place, (a, b) in enumerate(inner):
        before = "".join(f" and {p} = {q}" for p, q in inner[:place])
        last = place + 1 == len(inner)
        cases.append(f"{equal}{before} and {b} {'<=' if last else '<'} {a}")
    return isl.Map(f"{{ [{', '.join(first)}] -> [{', '.join(second)}] : {' or '.join(f'({c})' for c in cases)} }}")


def test_parallelograms_cover_space_and_keep_every_dependence():
    for (offsets, sizes, height), parts in itertools.product(_ALL, [1, 3]):
        rank = len(sizes)
        problem = _problem(offsets, height, rank)
        tiling = Tiling(family="skewed", time=height, space=tuple(parts * size for size in sizes), sub=sizes)
        shape = skewed.geometry(problem, tiling)
        schedule = _leaning(shape, sizes)
        assert schedule.is_single_valued(), (offsets, sizes, height, parts)
        assert _plane(rank).is_subset(schedule.domain()), (offsets, sizes, height, parts)
        scheduled = _dependences(problem).apply_domain(schedule).apply_range(schedule)
        assert scheduled.intersect(_wrong_order(rank)).is_empty(), (offsets, sizes, height, parts)


def test_counts_of_parallelograms():
    for offsets, sizes, height in _ALL:
        rank = len(sizes)
        problem = _problem(offsets, height, rank)
        tiling = Tiling(family="skewed", time=height, space=sizes)
        shape = skewed.geometry(problem, tiling)
        schedule, reads = _leaning(shape, sizes), _reads(offsets, rank)
        where = ", ".join(["w", "0", *["0"] * rank, *["j", "k"][:rank], "i"])
        own = schedule.intersect_range(isl.Set(f"{{ [{where}] }}")).domain()
        read = own.apply(reads)
        live_out = own.intersect(_plane(rank).subtract(own).apply(reads))
        copies = problem.program.analysis.copies[0]
        by_isl = _count(own), _count(read.subtract(own)), _count(live_out), _box_words(read.union(own), rank, copies)
        counts = exact_counts(problem, tiling)
        assert by_isl == (counts.points, counts.live_in, counts.live_out, counts.footprint), (offsets, sizes, height)


def test_a_band_that_follows_too_early_breaks_a_dependence():
    problem = _problem([(-1,), (0,), (1,)], 4, 1)
    shape = skewed.geometry(problem, Tiling(family="skewed", time=4, space=(3,)))
    schedule = _leaning(shape, (3,))
    early = isl.Map("{ [w, b, q, s, i] -> [b + q, b, q, s, i] }")
    hurried = schedule.apply_range(early)
    scheduled = _dependences(problem).apply_domain(hurried).apply_range(hurried)
    assert not scheduled.intersect(_wrong_order(1)).is_empty()


def test_ghost_zones_are_the_hulls_of_what_is_needed():
    """Back from the own cells of the last step, read by read: the boxes that a tile computes are no larger."""
    for offsets, sizes, height in _ALL:
        rank = len(sizes)
        problem = _problem(offsets, height, rank)
        pipeline = of_problem(problem)
        names = ("x", "y", "z")[:rank]
        box = " and ".join(f"0 <= {n} < {size}" for n, size in zip(names, sizes, strict=True))
        needed = isl.Set(f"{{ [{_space(rank)}] : t = {height} and {box} }}")
        own = tuple((0, size) for size in sizes)
        for left in range(1, height + 1):
            needed = needed.apply(_reads(offsets, rank))
            places = needed.project_out(isl.dim_type.set, 0, 1)
            sides = zip(own, pipeline.below[-rank:], pipeline.above[-rank:], strict=True)
            computed = [(a - below.at(left, 0), b + above.at(left, 0)) for (a, b), below, above in sides]
            for axis, (low, high) in enumerate(computed):
                reach = slopes(problem)[axis]
                assert places.dim_min_val(axis).to_python() >= low, (offsets, sizes, height)
                assert places.dim_max_val(axis).to_python() < high, (offsets, sizes, height)
                # Cells that are not updated come from the version before: the tile keeps its own cells at least.
                assert low == min(0, places.dim_min_val(axis).to_python()), (offsets, sizes, height)
                assert high == max(sizes[axis], places.dim_max_val(axis).to_python() + 1), (offsets, sizes, height)
                assert high - low <= sizes[axis] + left * (reach.left + reach.right), (offsets, sizes, height)
